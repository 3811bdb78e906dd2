"""``unspool serve`` as a process: what it says, and that it ends cleanly."""

from __future__ import annotations

import asyncio
import json
import re
import signal
import socket
from asyncio.subprocess import PIPE, Process
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from unspool.events import RunEnded
from unspool.journal import Journal
from unspool.testing import Ask, Behaviour

from .conftest import LOOK, SECONDS, Cli, MakeCli, submits
from .test_cli_stop import children_of, running


def script(ask: Ask) -> Behaviour:
    messages = ask.body["messages"]
    assert isinstance(messages, list)
    return Behaviour(LOOK if len(messages) < 3 else submits("context"), delay=0.05)


def never_done(ask: Ask) -> Behaviour:
    return Behaviour(LOOK, delay=0.1)


@asynccontextmanager
async def served(
    cli: Cli, *options: str, **environment: str
) -> AsyncIterator[tuple[Process, int, list[str]]]:
    """The process, its port, and what it has said so far."""
    process = await asyncio.create_subprocess_exec(
        *cli.command("serve", "--model", "openai:test-model", "--port", "0", *options),
        cwd=cli.folder, env={**cli.environment, **environment}, stdout=PIPE, stderr=PIPE,
    )  # fmt: skip
    assert process.stderr is not None
    said: list[str] = []
    try:
        async with asyncio.timeout(SECONDS):
            while not said or not said[-1].startswith("Ctrl-C"):
                line = await process.stderr.readline()
                assert line, said
                said.append(line.decode().rstrip())
        port = re.search(r":(\d+)/v1$", said[1])
        assert port is not None
        yield process, int(port[1]), said
    finally:
        if process.returncode is None:
            process.kill()
        await process.wait()


async def asked(port: int, **more: object) -> bytes:
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    body = json.dumps({"messages": [{"role": "user", "content": "Say it."}], **more}).encode()
    head = f"Host: 127.0.0.1\r\nContent-Type: application/json\r\nContent-Length: {len(body)}\r\nConnection: close"
    writer.write(f"POST /v1/chat/completions HTTP/1.1\r\n{head}\r\n\r\n".encode() + body)
    async with asyncio.timeout(SECONDS):
        reply = await reader.read()
    writer.close()
    return reply


async def test_it_says_where_it_is_answers_and_logs_a_line_a_request(make_cli: MakeCli) -> None:
    cli = make_cli(script)
    async with served(cli) as (process, port, said):
        assert said[0] == "unspool serves openai:test-model"
        assert f"http://127.0.0.1:{port}/v1" in said[1]
        assert all(len(line) <= 80 for line in said)
        assert b'"content":"hello"' in await asked(port, unspool={"context": "hello"})
        assert process.stderr is not None
        line = (await process.stderr.readline()).decode()
        assert re.fullmatch(r"/v1/chat/completions 200 \d+\.\d s run \S+ answered\n", line)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
async def test_a_signal_ends_its_runs_and_leaves_nothing_behind(
    make_cli: MakeCli, number: signal.Signals
) -> None:
    cli = make_cli(never_done)
    async with served(cli, "--runs", "kept", "--max-turns", "1000") as (process, port, _):
        clients = [asyncio.create_task(asked(port, stream=bool(i))) for i in range(2)]
        await cli.server.until(lambda: len(cli.server.asks) >= 4, seconds=SECONDS)
        children = children_of(process.pid)
        assert children
        process.send_signal(number)
        async with asyncio.timeout(SECONDS):
            assert await process.wait() == 0
            whole, stream = await asyncio.gather(*clients)
        assert whole.startswith(b"HTTP/1.1 503 ")
        assert b"shutting_down" in whole
        assert b"shutting_down" in stream
        assert stream.endswith(b"data: [DONE]\n\n\r\n0\r\n\r\n")
        sent = len(cli.server.asks)
        async with asyncio.timeout(SECONDS):
            while any(map(running, children)):  # noqa: ASYNC110 (other processes have no event of ours)
                await asyncio.sleep(0.01)
        assert len(cli.server.asks) == sent
        journal = Journal(cli.folder / "kept")
        runs = list(journal.runs())
        assert len(runs) == 2
        last = [list(journal.read(run))[-1] for run in runs]
        assert all(isinstance(event, RunEnded) for event in last)
        assert {(event.status, event.reason) for event in last} == {("cancelled", "the server was stopped")}  # type: ignore[attr-defined]


async def test_a_token_from_the_environment_is_asked_for(make_cli: MakeCli) -> None:
    async with served(make_cli(script), UNSPOOL_TOKEN="right") as (_, port, said):
        assert "the token" in said[3]
        assert "right" not in " ".join(said)
        assert (await asked(port)).startswith(b"HTTP/1.1 401 ")


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--host", "0.0.0.0"], "needs a token: set UNSPOOL_TOKEN"),
        (["--port", "99999"], "there are 0 to 65535"),
        (["--seconds", "0"], "give a time above zero"),
        (["--seconds", "nan"], "give a time above zero"),
        (["--token", " "], "the token is empty"),
        (["--token", ""], "the token is empty"),
        (["--runs-at-once", "0"], "runs-at-once"),
        (["--model", "nosuch:model"], "there is no model"),
    ],
)
def test_what_cannot_be_served_is_said_before_anything_starts(
    make_cli: MakeCli, options: list[str], words: str
) -> None:
    cli = make_cli(["ok"])
    done = cli.run(cli.command("serve", "--port", "0", *options))
    assert done.returncode == 2
    assert words in done.stderr.decode()
    assert "Traceback" not in done.stderr.decode()


def test_a_port_that_is_taken_is_said(make_cli: MakeCli) -> None:
    cli = make_cli(["ok"])
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        done = cli.run(cli.command("serve", "--model", "openai:m", "--port", port))
    assert done.returncode == 2
    assert f"127.0.0.1 port {port} cannot be had: Address already in use" in done.stderr.decode()
