"""A real server on a real socket, in the test's own loop, with a scripted model behind it."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field, replace
from typing import Any

import pytest

from unspool import RLM, Budget
from unspool.sandbox import _launch
from unspool.server.app import Service
from unspool.server.process import Server, listen
from unspool.server.settings import ServerSettings
from unspool.testing import MemoryStore, ScriptedModel

SECONDS = 60  # a hang is a failure, not a stuck suite
LOOK = "```python\nprint(type(context))\n```"


@pytest.fixture(scope="session", autouse=True)
def warm() -> Iterator[None]:
    """The zygote lives from one server to the next; each would start one of its own otherwise."""
    kind = _launch.Kind(hardened=False)
    _launch.use(kind)
    yield
    _launch.release(kind)


def submits(expression: str) -> str:
    return f"```python\nprint(type(context))\nsubmit({expression})\n```"


@dataclass
class Reply:
    """What came back over the wire."""

    status: int
    headers: Mapping[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.body)

    @property
    def error(self) -> Any:
        return self.json["error"]

    @property
    def events(self) -> list[Any]:
        """The data of a stream; the comments and the mark at its end are left out."""
        lines = self.body.decode().split("\n")
        data = [line.removeprefix("data: ") for line in lines if line.startswith("data: ")]
        return [json.loads(each) for each in data if each != "[DONE]"]


@dataclass
class Up:
    """A server that is up."""

    service: Service
    server: Server
    port: int
    model: ScriptedModel
    store: MemoryStore
    logged: list[str] = field(default_factory=list)

    @property
    def base_url(self) -> str:
        return f"http://127.0.0.1:{self.port}/v1"

    async def connect(self) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        return await asyncio.open_connection("127.0.0.1", self.port, limit=2**28)

    async def send(
        self,
        path: str,
        body: object = None,
        *,
        method: str | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> Reply:
        """One request over a connection of its own."""
        data = body if isinstance(body, bytes) else b"" if body is None else json.dumps(body).encode()
        reader, writer = await self.connect()
        try:
            head = {
                "Host": f"127.0.0.1:{self.port}",
                "Content-Type": "application/json",
                "Content-Length": str(len(data)),
                "Connection": "close",
                **(headers or {}),
            }
            verb = method or ("GET" if body is None else "POST")
            lines = [f"{verb} {path} HTTP/1.1", *(f"{name}: {value}" for name, value in head.items())]
            writer.write("\r\n".join(lines).encode() + b"\r\n\r\n" + data)
            async with asyncio.timeout(SECONDS):
                return read_reply(await reader.read())
        finally:
            writer.close()

    async def chat(self, text: str = "How long?", **more: object) -> Reply:
        return await self.send("/v1/chat/completions", chat_body(text, **more))

    async def until(self, condition: Callable[[], bool]) -> None:
        async with asyncio.timeout(SECONDS):
            while not condition():  # noqa: ASYNC110 (the run is on another thread's loop)
                await asyncio.sleep(0.01)


def chat_body(text: str, **more: object) -> dict[str, object]:
    return {"model": "unspool", "messages": [{"role": "user", "content": text}], **more}


def read_reply(data: bytes) -> Reply:
    head, _, body = data.partition(b"\r\n\r\n")
    first, *lines = head.decode("latin-1").split("\r\n")
    headers = {n.strip().lower(): v.strip() for n, _, v in (line.partition(":") for line in lines)}
    if headers.get("transfer-encoding") == "chunked":
        whole = b""
        while body:
            size, _, body = body.partition(b"\r\n")
            whole += body[: int(size, 16)]
            body = body[int(size, 16) + 2 :]
        body = whole
    return Reply(int(first.split()[1]), headers, body)


Start = Callable[..., Awaitable["Up"]]


@asynccontextmanager
async def started(
    model: ScriptedModel,
    *,
    sub_model: ScriptedModel | None = None,
    settings: ServerSettings | None = None,
    budget: Budget = Budget(),  # noqa: B008 (frozen)
    **more: object,
) -> AsyncIterator[Up]:
    store = MemoryStore()
    engine = RLM(model, sub_model=sub_model, store=store, budget=budget, sandbox="none")
    settings = replace(settings or ServerSettings(), port=0, **more)  # type: ignore[arg-type]
    logged: list[str] = []
    service = Service(engine, settings, name=model.info.name, log=logged.append)
    bound = listen(settings)
    server = Server(service)
    serving = asyncio.create_task(server.serve(sockets=[bound]))
    try:
        yield Up(service, server, bound.getsockname()[1], model, store, logged)
    finally:
        server.stop()
        async with asyncio.timeout(SECONDS):
            await serving
        await asyncio.to_thread(engine.close)


@pytest.fixture
async def serve() -> AsyncIterator[Start]:
    """``await serve(model, …)``: a server that is stopped after the test."""
    async with AsyncExitStack() as stack:

        async def start(*arguments: object, **named: object) -> Up:
            return await stack.enter_async_context(started(*arguments, **named))  # type: ignore[arg-type]

        yield start
