"""REPLs for tests: opened through the protocol, with a host that is scripted."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping

import pytest

from unspool.errors import HostCallError
from unspool.sandbox.process import ProcessRepl, ProcessSandbox
from unspool.sandbox.protocol import CellResult, HostCall, HostReply, ReplSpec


class Host:
    """The host's side: replies by name (a value, or a function of the call), and every call it got."""

    def __init__(self, **replies: object) -> None:
        self.calls: list[HostCall] = []
        self.replies: dict[str, object] = replies
        self.open = 0
        self.most_open = 0

    async def __call__(self, call: HostCall) -> HostReply:
        self.calls.append(call)
        self.open += 1
        self.most_open = max(self.most_open, self.open)
        try:
            return await self._reply(call)
        finally:
            self.open -= 1

    async def _reply(self, call: HostCall) -> HostReply:
        if call.name == "submit" and "submit" not in self.replies:
            return HostReply(end=True)
        reply = self.replies.get(call.name)
        if callable(reply):
            reply = reply(call)
        if isinstance(reply, Awaitable):
            reply = await reply
        if isinstance(reply, BaseException):
            raise reply
        return reply if isinstance(reply, HostReply) else HostReply(reply)

    def named(self, name: str) -> list[HostCall]:
        return [call for call in self.calls if call.name == name]


class Session:
    """One REPL and its host."""

    def __init__(self, repl: ProcessRepl, host: Host) -> None:
        self.repl = repl
        self.host = host

    async def run(self, code: str, seconds: float = 20.0) -> CellResult:
        return await self.repl.execute(code, seconds=seconds)

    async def show(self, code: str, seconds: float = 20.0) -> str:
        """What a cell that has to go well prints."""
        result = await self.run(code, seconds)
        assert result.outcome == "ok", (result.error, result.notes)
        return result.output.rstrip("\n")


Opener = Callable[..., Awaitable[Session]]


@pytest.fixture(scope="session")
def sandboxes() -> Iterator[Mapping[str, ProcessSandbox]]:
    """One sandbox of each kind: their zygotes stay warm between tests."""
    made = {name: ProcessSandbox(name) for name in ("process", "none")}
    made["landlock"] = ProcessSandbox("process", namespaces=False)
    yield made

    async def close() -> None:
        for sandbox in made.values():
            await sandbox.close()

    asyncio.run(close())


@pytest.fixture
async def open_repl(sandboxes: Mapping[str, ProcessSandbox]) -> AsyncIterator[Opener]:
    """Opens REPLs that are closed with the test: ``await open_repl(context, host=…, tools=(…))``."""
    opened: list[Session] = []

    async def open_one(
        context: object = "", *, host: Host | None = None, kind: str = "process", **spec: object
    ) -> Session:
        host = host or Host()
        repl = await sandboxes[kind].open(ReplSpec(context, **spec), host)  # type: ignore[arg-type]
        opened.append(Session(repl, host))
        return opened[-1]

    yield open_one
    for session in opened:
        await session.repl.close()


@pytest.fixture
async def repl(open_repl: Opener) -> Session:
    return await open_repl("the context")


def refused(message: str) -> HostCallError:
    return HostCallError("AnswerRefused", message)
