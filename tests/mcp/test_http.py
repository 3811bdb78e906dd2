"""``unspool mcp --http`` as a process: who may use it, clients that come back, and its end."""

from __future__ import annotations

import asyncio
import json
import re
import signal
import urllib.error
import urllib.parse
import urllib.request
from asyncio.subprocess import PIPE, Process
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

pytest.importorskip("mcp", reason="needs the extra mcp")

import anyio
from mcp.client.streamable_http import streamable_http_client
from mcp.shared._httpx_utils import create_mcp_http_client

from mcp import Client
from unspool.journal import Journal
from unspool.testing import FaultyServer

from ..cli.test_cli_stop import children_of
from .helpers import SECONDS, Agent, server_command, server_environment
from .test_roots import giving
from .test_stdio import gone, hang, played
from .test_tools import ERAS

TOKEN = "a token of the tests"


@dataclass
class Up:
    """A server that is up."""

    process: Process
    url: str

    @asynccontextmanager
    async def agent(self, *, token: str = TOKEN, **settings: object) -> AsyncIterator[Agent]:
        async with (
            create_mcp_http_client({"Authorization": f"Bearer {token}"}) as http,
            Client(streamable_http_client(self.url, http_client=http), **settings) as client,
        ):
            yield Agent(client)

    def status(self, path: str = "", *, body: bytes | None = None, **headers: str) -> int:
        """Of one plain request."""
        request = urllib.request.Request(self.url + path, data=body, headers=headers)
        try:
            with urllib.request.urlopen(request, timeout=SECONDS) as reply:
                return int(reply.status)
        except urllib.error.HTTPError as error:
            with error:
                return error.code

    async def announced(self, headers: Mapping[str, str], size: int) -> int:
        """The status of a request that says how large its body is, and sends none of it."""
        place = urllib.parse.urlsplit(self.url)
        reader, writer = await asyncio.open_connection(place.hostname, place.port)
        head = {"Host": place.netloc, **headers, "Content-Length": str(size)}
        lines = [f"POST {place.path} HTTP/1.1", *(f"{name}: {value}" for name, value in head.items())]
        writer.write("\r\n".join(lines).encode() + b"\r\n\r\n")
        async with asyncio.timeout(SECONDS):
            first = await reader.readline()
        writer.close()
        return int(first.split()[1])


@asynccontextmanager
async def started(server: FaultyServer, folder: Path, *options: str) -> AsyncIterator[Up]:
    process = await asyncio.create_subprocess_exec(
        *server_command("--http", "--port", "0", "--runs", "kept", *options),
        cwd=folder, env=server_environment(server, UNSPOOL_TOKEN=TOKEN), stdout=PIPE, stderr=PIPE,
    )  # fmt: skip
    try:
        assert process.stderr is not None
        async with asyncio.timeout(SECONDS):
            first = (await process.stderr.readline()).decode()
        found = re.fullmatch(r"unspool mcp: (http://127\.0\.0\.1:\d+/mcp)\n", first)
        assert found is not None, first
        assert TOKEN not in first
        yield Up(process, found[1])
    finally:
        if process.returncode is None:
            process.kill()
        await process.wait()


async def test_only_who_has_the_token_is_served(tmp_path: Path) -> None:
    with FaultyServer(played) as server:
        async with started(server, tmp_path) as up:
            for headers in ({}, {"Authorization": "Bearer wrong"}, {"Authorization": TOKEN}):
                assert await asyncio.to_thread(up.status, **headers) == 401
                assert await asyncio.to_thread(up.status, body=b"{}", **headers) == 401
            assert await asyncio.to_thread(up.status, "/other") == 404
            known = {"Authorization": f"Bearer {TOKEN}", "Content-Type": "application/json"}
            accepts = {"Accept": "application/json, text/event-stream"}
            assert await up.announced({**known, **accepts}, 17 << 20) == 413
            for body in (b"no json", b"[]", b"{}", b"[" * 5_000, b"\xff"):
                assert 400 <= await asyncio.to_thread(up.status, body=body, **known, **accepts) < 500
            health = up.url.removesuffix("/mcp") + "/health"
            with await asyncio.to_thread(urllib.request.urlopen, health, timeout=SECONDS) as reply:
                assert json.load(reply) == {"status": "ok"}


@pytest.mark.parametrize("mode", ERAS)
async def test_a_client_that_comes_back_goes_on_with_its_handle(tmp_path: Path, mode: str) -> None:
    (tmp_path / "a.txt").write_text("one two three")
    (tmp_path / "beside").mkdir()
    with FaultyServer(played) as server:
        async with started(server, tmp_path) as up:
            roots = giving(tmp_path / "beside")
            async with up.agent(mode=mode, list_roots_callback=roots) as agent:
                refused = await agent.call("open_context", path=str(tmp_path / "a.txt"))
                assert "is outside of what may be opened here" in refused.text
            async with up.agent(mode=mode) as agent:
                handle = await agent.open(path=str(tmp_path / "a.txt"))
                await agent.run(handle, "kept = llm_query(context)")
            async with up.agent(mode=mode) as agent, up.agent(mode=ERAS[mode == ERAS[0]]) as other:
                assert (await agent.run(handle, "kept")).text == "'3 words'"
                asked = await other.call("ask", handle=handle, question="How many?")
                assert asked.text == "13 files; 3 words"
                assert asked.told
            assert up.process.returncode is None


@pytest.mark.parametrize("mode", ERAS)
async def test_two_clients_at_once_and_one_that_cancels(tmp_path: Path, mode: str) -> None:
    with FaultyServer(hang) as server:
        async with started(server, tmp_path) as up, up.agent(mode=mode) as one, up.agent(mode=mode) as other:
            mine, yours = await one.open(text="a"), await other.open(text="b")
            await one.run(mine, "kept = 1")
            async with anyio.create_task_group() as group:
                group.start_soon(one.run, mine, "llm_query('x')")
                with anyio.fail_after(SECONDS):
                    while len(server.asks) < 1:  # noqa: ASYNC110 (the server has a thread of its own)
                        await anyio.sleep(0.01)
                assert (await other.run(yours, "context * 3")).text == "'bbb'"  # meanwhile
                group.cancel_scope.cancel()
            with anyio.fail_after(SECONDS):
                while not server.cancelled:  # noqa: ASYNC110
                    await anyio.sleep(0.01)
            assert (await one.run(mine, "kept")).text == "1"


async def test_a_signal_ends_it_with_streams_open_and_calls_under_way(tmp_path: Path) -> None:
    said: list[str] = []
    with FaultyServer(hang) as server:
        async with started(server, tmp_path) as up, up.agent(mode="legacy") as agent:  # which listens
            handle = await agent.open(text="text")

            async def ask() -> None:
                said.append((await agent.call("ask", handle=handle, question="What?")).text)

            async with anyio.create_task_group() as group:
                group.start_soon(ask)
                with anyio.fail_after(SECONDS):
                    while not server.asks:  # noqa: ASYNC110
                        await anyio.sleep(0.01)
                children = children_of(up.process.pid)
                up.process.send_signal(signal.SIGTERM)
                async with asyncio.timeout(SECONDS):
                    assert await up.process.wait() == 0
                await gone(children)
                group.cancel_scope.cancel()
    assert said == ["the server is shutting down"]
    journal = Journal(tmp_path / "kept")
    assert [list(journal.read(run))[-1].kind for run in journal.runs()] == ["run.ended"] * 2
