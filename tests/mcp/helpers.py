"""A client of the official SDK: of a server in this process, or of ``unspool mcp`` as a process of its own."""

from __future__ import annotations

import json
import sys
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("mcp", reason="needs the extra mcp")

import anyio
from mcp.client.stdio import stdio_client

from mcp import Client, StdioServerParameters
from unspool import RLM, Budget
from unspool.mcp.bounds import MOST
from unspool.mcp.desk import Desk
from unspool.mcp.handles import Handles
from unspool.mcp.places import Places
from unspool.mcp.sdk import make_server
from unspool.testing import FaultyServer, MemoryStore, ScriptedModel

from ..cli.conftest import clean_environment

MakeDesk = Callable[..., Awaitable["Desktop"]]
SECONDS = 60  # a hang is a failure, not a stuck suite
LOOK = "```python\nprint(type(context))\n```"


def submits(expression: str) -> str:
    return f"```python\nprint(type(context))\nsubmit({expression})\n```"


@dataclass
class Got:
    """What a call gave."""

    texts: list[str]
    error: bool
    told: list[str]  # the progress

    @property
    def text(self) -> str:
        return self.texts[0]

    @property
    def figures(self) -> Any:
        return json.loads(self.texts[-1])


@dataclass
class Agent:
    """A client, as an agent uses it; no result may be larger than is documented."""

    client: Client
    sizes: list[int] = field(default_factory=list)  # characters of each result

    async def call(self, tool: str, **arguments: object) -> Got:
        told: list[str] = []

        async def progress(number: float, total: float | None, message: str | None) -> None:
            told.append(message or "")
            assert len(message or "") <= 200

        with anyio.fail_after(SECONDS):
            result = await self.client.call_tool(tool, dict(arguments), progress_callback=progress)
        texts = [block.text for block in result.content]
        assert result.structured_content is None
        self.sizes.append(sum(map(len, texts)))
        assert self.sizes[-1] <= MOST
        return Got(texts, bool(result.is_error), told)

    async def open(self, **arguments: object) -> str:
        got = await self.call("open_context", **arguments)
        assert not got.error, got.texts
        return str(got.figures["handle"])

    async def run(self, handle: str, code: str) -> Got:
        return await self.call("run_code", handle=handle, code=code)


@dataclass
class Desktop:
    """A server in this process."""

    desk: Desk
    model: ScriptedModel
    store: MemoryStore

    @asynccontextmanager
    async def agent(self, **settings: object) -> AsyncIterator[Agent]:
        async with Client(make_server(self.desk), **settings) as client:
            yield Agent(client)


@asynccontextmanager
async def desks() -> AsyncIterator[MakeDesk]:
    """What makes servers in this process; their sessions are closed when the block is left."""
    async with AsyncExitStack() as stack:

        async def make(
            model: ScriptedModel | None = None,
            *,
            places: Places = Places(),  # noqa: B008 (frozen)
            budget: Budget = Budget(),  # noqa: B008 (frozen)
            cell_seconds: float = 20,
            most: int = 16,
            idle: float = 3_600,
        ) -> Desktop:
            model = model or ScriptedModel(lambda messages: messages[-1].text.upper())
            store = MemoryStore()
            engine = RLM(model, store=store, budget=budget, sandbox="none", cell_seconds=cell_seconds)
            desk = Desk(
                engine, places, asks=Budget(seconds=30), handles=Handles(engine, most=most, idle=idle)
            )
            stack.push_async_callback(desk.end)
            return Desktop(desk, model, store)

        yield make


@dataclass
class Wire:
    """Of the connection to a process: the characters of each of its messages."""

    messages: list[int] = field(default_factory=list)


def server_command(*options: str) -> list[str]:
    return [sys.executable, "-m", "unspool", "mcp", "--model", "openai:test-model", *options]


def server_environment(server: FaultyServer, **more: str) -> dict[str, str]:
    return clean_environment(OPENAI_BASE_URL=server.base_url, OPENAI_API_KEY="test", **more)


@asynccontextmanager
async def process_agent(
    server: FaultyServer,
    folder: Path,
    *options: str,
    wire: Wire | None = None,
    environment: Mapping[str, str] | None = None,
    **settings: object,
) -> AsyncIterator[Agent]:
    """An agent with an ``unspool mcp`` of its own, over stdio."""
    command, *arguments = server_command(*options)
    given = {**server_environment(server), **(environment or {})}
    params = StdioServerParameters(command=command, args=arguments, env=given, cwd=folder)
    async with Client(_watched(params, wire or Wire()), **settings) as client:
        yield Agent(client)


@asynccontextmanager
async def _watched(params: StdioServerParameters, wire: Wire) -> AsyncIterator[Any]:
    async with stdio_client(params) as (read, write), anyio.create_task_group() as group:
        put, get = anyio.create_memory_object_stream[Any](0)

        async def pump() -> None:
            async with put:
                async for item in read:
                    assert not isinstance(item, Exception), item  # something else than the protocol on stdout
                    wire.messages.append(len(item.message.model_dump_json(exclude_unset=True)))
                    await put.send(item)

        group.start_soon(pump)
        yield get, write
        group.cancel_scope.cancel()
