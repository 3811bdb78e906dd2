"""What checks are made of: a bench with a sandbox on it, a scripted host, and a list that checks join.

Contract: :func:`check` makes a coroutine function into a :class:`Check` and puts it on :data:`CHECKS`. A
check opens REPLs on its :class:`Bench` alone and raises :class:`Fails` where the sandbox does not keep the
protocol.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Literal

from ...errors import HostCallError
from ...sandbox.protocol import CellResult, HostCall, HostReply, Repl, ReplSpec, Sandbox
from ...types import CellError

Capability = Literal["rollback", "memory", "files", "raw_output", "sabotage", "apart", "forks"]
CAPABILITIES: Mapping[Capability, str] = MappingProxyType(
    {
        "rollback": "a cell that crashes, or cannot be interrupted, is undone: earlier variables are kept",
        "memory": "a cell that takes more than ReplSpec.memory is stopped, and the machine stays usable",
        "files": "descriptors that come with a host's reply can be read in the REPL (ReplSpec.files)",
        "raw_output": "what is written to the descriptors 1 and 2, past Python, is shown, too",
        "sabotage": "a cell that writes to or closes the REPL's own descriptors harms that REPL alone",
        "apart": "two REPLs are two interpreters: modules and builtins are not shared",
        "forks": "a REPL can be made of another one between two cells (Forking)",
    }
)
SECONDS = 30.0  # for a cell that has to end by itself, on a slow machine


class Fails(AssertionError):
    """The sandbox does not do what the protocol says."""


def same(got: object, wanted: object, what: str) -> None:
    if type(got) is not type(wanted) or got != wanted:
        raise Fails(f"{what}: {got!r:.300} in the place of {wanted!r:.300}")


def holds(fact: bool, what: str) -> None:
    if not fact:
        raise Fails(what)


Reply = Callable[[HostCall], Awaitable[object]]


class ScriptedHost:
    """Answers host calls by name; ``submit`` ends the cell, any other gives its first argument back."""

    def __init__(self, **replies: Reply) -> None:
        self.calls: list[HostCall] = []
        self._replies = replies

    async def __call__(self, call: HostCall) -> HostReply:
        self.calls.append(call)
        if call.name in self._replies:
            reply = await self._replies[call.name](call)
            return reply if isinstance(reply, HostReply) else HostReply(reply)
        if call.name == "submit":
            return HostReply(end=True)
        return HostReply(call.args[0] if call.args else None)

    def names(self) -> list[str]:
        return [call.name for call in self.calls]


async def refused(call: HostCall) -> object:
    """A host that takes no answer."""
    raise HostCallError("AnswerRefused", "this is not the answer")


@dataclass(frozen=True, slots=True)
class Session:
    """One REPL and its host."""

    repl: Repl
    host: ScriptedHost

    async def run(self, code: str, seconds: float = SECONDS) -> CellResult:
        return await self.repl.execute(code, seconds=seconds)

    async def shows(self, code: str, wanted: str, seconds: float = SECONDS) -> None:
        """A cell that has to go well, and what it prints."""
        result = await self.run(code, seconds)
        if result.outcome != "ok":
            why = result.error.traceback if result.error else "; ".join(result.notes)
            raise Fails(f"{code[:300]!r} ended as {result.outcome}: {why[:1_000]}")
        same(result.output.rstrip("\n"), wanted, f"output of {code[:300]!r}")

    async def fails(self, code: str, wanted: str) -> tuple[CellResult, CellError]:
        """A cell that has to end with an exception of this type."""
        result = await self.run(code)
        same((result.outcome, result.error and result.error.type), ("error", wanted), f"{code[:300]!r}")
        assert result.error is not None
        return result, result.error


class Bench:
    """Opens REPLs in the sandbox under test; the runner closes it."""

    def __init__(self, sandbox: Sandbox) -> None:
        self.sandbox = sandbox

    async def open(
        self,
        context: object = "the context",
        *,
        host: ScriptedHost | None = None,
        tools: tuple[str, ...] = ("tool",),
        imports: tuple[str, ...] = (),
        memory: int | None = None,
        shown: int = 8_000,
        seed: int | None = None,
        files: bool = False,
        without: tuple[str, ...] = (),
    ) -> Session:
        host = host or ScriptedHost()
        spec = ReplSpec(context, tools, imports, memory, shown, seed, files=files, without=without)
        return Session(await self.sandbox.open(spec, host), host)


@dataclass(frozen=True, slots=True)
class Check:
    """One behaviour. ``needs``: what a sandbox has to be able to do for it."""

    name: str
    needs: tuple[Capability, ...]
    test: Callable[[Bench], Awaitable[None]]

    def __str__(self) -> str:
        return self.name


CHECKS: list[Check] = []


def check(
    name: str, *needs: Capability
) -> Callable[[Callable[[Bench], Awaitable[None]]], Callable[[Bench], Awaitable[None]]]:
    def join(test: Callable[[Bench], Awaitable[None]]) -> Callable[[Bench], Awaitable[None]]:
        CHECKS.append(Check(name, needs, test))
        return test

    return join
