"""``unspool mcp`` as a process: an agent's whole work over stdio, and its end in every way."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import subprocess
import sys
from asyncio.subprocess import PIPE, Process
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("mcp", reason="needs the extra mcp")

import anyio

from unspool.journal import Journal
from unspool.mcp.bounds import MOST
from unspool.testing import Ask, Behaviour, FaultyServer

from ..cli.test_cli_stop import children_of, running
from .helpers import (
    LOOK,
    SECONDS,
    Wire,
    process_agent,
    server_command,
    server_environment,
    submits,
)

FILES, LINES = 50, 20_000  # of 50 bytes each: 50 MB


def played(ask: Ask) -> Behaviour | str:
    """The root model of a question, and sub-calls that count the words they are given."""
    messages = ask.body["messages"]
    assert isinstance(messages, list)
    if messages[0]["role"] != "system":
        return f"{len(ask.prompt.split())} words"
    return LOOK if len(messages) < 3 else submits("f'{len(context)} files; ' + llm_query('one two three')")


def make_folder(folder: Path) -> None:
    folder.mkdir()
    for number in range(FILES):
        lines = (f"{number:02d} {line:05d} the unit said nothing that anybody reads" for line in range(LINES))
        text = "".join(f"{line:<49.49}\n" for line in lines)
        (folder / f"part{number:02d}.log").write_text(text)
    with open(folder / "part31.log", "a") as file:
        file.write("the needle is under the third bridge\n")


async def test_an_agent_works_through_fifty_megabytes_and_never_gets_more_than_the_bound(
    tmp_path: Path,
) -> None:
    make_folder(tmp_path / "logs")
    assert sum(path.stat().st_size for path in (tmp_path / "logs").iterdir()) >= 50_000_000
    wire = Wire()
    with FaultyServer(played) as server:
        async with process_agent(server, tmp_path, "--runs", "kept", wire=wire) as agent:
            opened = await agent.call("open_context", path="logs")
            handle = opened.figures["handle"]
            assert "50 files, 50.0 MB" in opened.text
            turns = [
                "names = list(context)\nprint(len(names), sum(context.sizes().values()))",
                "hits = context.grep('needle')\nprint(*hits)",
                "print(*(str(text) for text in context.values()))",  # all of it
                "heads = [context[name][:100] for name in names]\nprint(llm_query_batched(heads)[:2])",
                "print(llm_map('How many words?', heads[:3]), cite(hits[0].split(': ', 1)[1]).line)",
            ]
            got = [await agent.run(handle, code) for code in turns]
            assert got[0].text == "50 50000037"
            assert got[1].text == f"part31.log:{LINES + 1}: the needle is under the third bridge"
            assert got[2].figures["characters_cut"] > 49_000_000
            assert got[3].text == "['18 words', '18 words']"
            assert got[3].figures["sub_calls"] == 50
            assert got[4].text.endswith(str(LINES + 1))
            answer = await agent.call("ask", handle=handle, question="How many files are there?")
            assert answer.text == "50 files; 3 words"
            assert answer.figures["status"] == "answered"
            assert answer.told
            spent = (await agent.call("close", handle=handle)).figures
            assert spent["turns"] == len(turns)
    assert max(agent.sizes) <= MOST
    assert sum(agent.sizes) < 8 * MOST  # of 50 MB
    assert max(wire.messages) < 2 * MOST  # as JSON, the list of tools included
    journal = Journal(tmp_path / "kept")
    codes = [event.code for event in journal.read(handle) if event.kind == "cell.started"]  # type: ignore[attr-defined]
    assert codes == turns
    shown = await asyncio.to_thread(
        subprocess.check_output,
        [sys.executable, "-m", "unspool", "runs", "show", handle, "--runs", "kept"],
        cwd=tmp_path, text=True, timeout=SECONDS,
    )  # fmt: skip
    assert "a session of mcp" in shown
    assert "5 turns, 5" in shown


async def test_what_code_and_its_processes_write_never_reaches_the_protocol(tmp_path: Path) -> None:
    wire = Wire()
    with FaultyServer(played) as server:
        async with process_agent(
            server, tmp_path, "--runs", "kept", wire=wire
        ) as agent:  # asserts on each message
            handle = await agent.open(text="text")
            got = await agent.run(
                handle, "import os, sys\nos.write(1, b'raw\\n'); sys.__stdout__.write('odd\\n')"
            )
            assert "raw" in got.text
            await agent.run(handle, "os.write(2, b'also raw')")
            assert (await agent.run(handle, "1")).text == "1"
    assert wire.messages


async def test_two_clients_have_a_server_each(tmp_path: Path) -> None:
    with FaultyServer(played) as server:
        async with (
            process_agent(server, tmp_path, "--runs", "kept") as one,
            process_agent(server, tmp_path, "--runs", "kept", mode="legacy") as other,
        ):
            mine, yours = await one.open(text="a b"), await other.open(text="c d e")
            async with anyio.create_task_group() as group:
                for agent, handle in ((one, mine), (other, yours)):
                    group.start_soon(agent.run, handle, "kept = llm_query(context)")
            assert (await one.run(mine, "kept")).text == "'2 words'"
            assert (await other.run(yours, "kept")).text == "'3 words'"
            assert "is not known here" in (await other.run(mine, "kept")).text


@asynccontextmanager
async def spoken(server: FaultyServer, folder: Path) -> AsyncIterator[Process]:
    """A server that is spoken to in lines, with a context that is open."""
    process = await asyncio.create_subprocess_exec(
        *server_command("--runs", "kept"), cwd=folder, env=server_environment(server),
        stdin=PIPE, stdout=PIPE, stderr=PIPE,
    )  # fmt: skip
    try:
        await ask(process, 1, "initialize", HELLO)
        await send(process, {"method": "notifications/initialized"})
        yield process
    finally:
        if process.returncode is None:
            process.kill()
        await process.wait()


HELLO = {
    "protocolVersion": "2025-06-18",
    "capabilities": {},
    "clientInfo": {"name": "a test", "version": "1"},
}


async def send(process: Process, message: dict[str, object]) -> None:
    assert process.stdin is not None
    process.stdin.write(json.dumps({"jsonrpc": "2.0", **message}).encode() + b"\n")
    await process.stdin.drain()


async def ask(process: Process, number: int, method: str, params: object) -> Any:
    await send(process, {"id": number, "method": method, "params": params})
    assert process.stdout is not None
    async with asyncio.timeout(SECONDS):
        reply = json.loads(await process.stdout.readline())
    assert reply["id"] == number
    return reply["result"]


async def hanging(process: Process, server: FaultyServer) -> str:
    """Begins a sub-call, a question and a loop that never end; the handle of the first."""
    opened = await ask(process, 2, "tools/call", {"name": "open_context", "arguments": {"text": "text"}})
    handle = str(json.loads(opened["content"][1]["text"])["handle"])
    for number, (tool, arguments) in enumerate(
        [("run_code", {"code": "llm_query('x')"}), ("ask", {"question": "What?"})], start=3
    ):
        call = {"name": tool, "arguments": {"handle": handle, **arguments}}
        await send(process, {"id": number, "method": "tools/call", "params": call})
    async with asyncio.timeout(SECONDS):
        while len(server.asks) < 2:  # noqa: ASYNC110 (the server has a thread of its own)
            await asyncio.sleep(0.01)
    return handle


def hang(_: Ask) -> Behaviour:
    return Behaviour(LOOK, delay=120)


async def gone(pids: set[int]) -> None:
    async with asyncio.timeout(SECONDS):
        while any(map(running, pids)):  # noqa: ASYNC110 (other processes have no event of ours)
            await asyncio.sleep(0.01)


@pytest.mark.parametrize("way", ["eof", "SIGTERM", "SIGINT"])
async def test_its_end_cancels_all_and_leaves_whole_journals_and_no_process(tmp_path: Path, way: str) -> None:
    with FaultyServer(hang) as server:
        async with spoken(server, tmp_path) as process:
            await hanging(process, server)
            children = children_of(process.pid)
            assert children
            if way == "eof":
                assert process.stdin is not None
                process.stdin.close()
            else:
                process.send_signal(signal.Signals[way])
            async with asyncio.timeout(SECONDS):
                assert await process.wait() == 0
            assert process.stderr is not None
            assert b"Traceback" not in await process.stderr.read()
            await gone(children)
    journal = Journal(tmp_path / "kept")
    ends = [list(journal.read(run))[-1] for run in journal.runs()]
    assert [(end.kind, end.status) for end in ends] == [("run.ended", "cancelled")] * 2  # type: ignore[attr-defined]


CLIENT = """
import json, subprocess, sys, time
server = subprocess.Popen(sys.argv[1:], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
def send(**message):
    server.stdin.write(json.dumps({"jsonrpc": "2.0", **message}).encode() + b"\\n"); server.stdin.flush()
def call(number, tool, **arguments):
    send(id=number, method="tools/call", params={"name": tool, "arguments": arguments})
send(id=1, method="initialize", params=%r)
server.stdout.readline()
send(method="notifications/initialized")
call(2, "open_context", text="text")
handle = json.loads(json.loads(server.stdout.readline())["result"]["content"][1]["text"])["handle"]
call(3, "run_code", handle=handle, code="llm_query('x')")
call(4, "ask", handle=handle, question="What?")
print(server.pid, flush=True)
time.sleep(600)
"""


async def test_a_client_that_is_killed_takes_its_server_and_all_workers_with_it(tmp_path: Path) -> None:
    with FaultyServer(hang) as server:
        client = await asyncio.create_subprocess_exec(
            sys.executable, "-c", CLIENT % (HELLO,), *server_command("--runs", "kept"),
            cwd=tmp_path, env=server_environment(server), stdout=PIPE, stderr=PIPE,
        )  # fmt: skip
        try:
            assert client.stdout is not None
            async with asyncio.timeout(SECONDS):
                pid = int(await client.stdout.readline())
                while len(server.asks) < 2:  # noqa: ASYNC110
                    await asyncio.sleep(0.01)
            family = {pid, *children_of(pid)}
            assert len(family) > 2
            os.kill(client.pid, signal.SIGKILL)
            await client.wait()
            await gone(family)
        finally:
            if client.returncode is None:
                client.kill()
    journal = Journal(tmp_path / "kept")
    assert {list(journal.read(run))[-1].kind for run in journal.runs()} == {"run.ended"}


async def test_lines_that_are_no_protocol_are_passed_over(tmp_path: Path) -> None:
    with FaultyServer(played) as server:
        async with spoken(server, tmp_path) as process:
            assert process.stdin is not None
            process.stdin.write(b"no json\n\n[]\n{}\n\xff\xfe\n" + b"[" * 10_000 + b"\n")
            tools = await ask(process, 9, "tools/list", {})
            assert len(tools["tools"]) == 6
