"""The sandboxes ``process`` and ``none``: a REPL in a process that can be forked.

Contract: :class:`Sandbox` and :class:`Repl` of :mod:`unspool.sandbox.protocol`. ``process`` is
hardened, or raises :class:`SandboxUnavailable` with what to do; ``none`` is the same without any
hardening, for code that is trusted, and only by name. See :mod:`unspool.sandbox.zygote`,
:mod:`~unspool.sandbox.keeper` and :mod:`~unspool.sandbox.worker` for the processes.

>>> async def main():
...     async def on_call(call):
...         return HostReply(end=call.name == "submit")
...     sandbox = ProcessSandbox("none")
...     repl = await sandbox.open(ReplSpec(context="a\\nb"), on_call)
...     result = await repl.execute("len(context)", seconds=5)
...     await sandbox.close()
...     return result.output
>>> asyncio.run(main())
'3\\n'
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import sys
import time
from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Literal, cast

from ..errors import ConfigError, ContextError, SandboxError, SandboxLost, SandboxUnavailable
from ..shortage import shortage_told
from ..types import CellOutcome, TextPart
from . import _launch
from ._cell import CellEnd, CellRun
from ._handover import Handed, hand_over_async
from ._libraries import names_a_library
from ._memory import free_memory
from ._processes import Maker, NodeProcesses
from ._request import Libraries, Request
from ._small import may_begin_small, more_memory
from ._why import why_killed
from .protocol import CellResult, HostReply, OnCall, ReplSpec

__all__ = ["HostReply", "ProcessRepl", "ProcessSandbox"]

_LEAST_MEMORY = 64 << 20
_LOOK_AGAIN = 0.05  # seconds: a crowd of REPLs that open together need not each ask what is free
_SMALL = 4 << 20  # bytes
TRIES = 5  # to open a REPL: of the processes that wait ready, all may have been killed
MAX_CLOSING = 16  # REPLs that close at once before another one is opened
_AS_BEFORE = "everything is as it was before this cell"


class Home(ABC):
    """A sandbox whose REPLs are nodes of processes: those that there are, and what each needs of it."""

    proven = False  # until one has opened

    def __init__(self) -> None:
        self._repls: set[ProcessRepl] = set()
        self._free, self._looked = 0, -_LOOK_AGAIN  # bytes of memory, and when that was

    async def open(self, spec: ReplSpec, on_call: OnCall) -> ProcessRepl:
        repl = ProcessRepl(self, spec, on_call)
        self.join(repl)
        try:
            await repl.start()
        except BaseException:  # cancelled too: no process is left of a REPL that nobody has
            await repl.close()
            raise
        self.proven = True
        return repl

    async def close(self) -> None:
        if self._repls:
            await asyncio.gather(*[repl.close() for repl in self._repls])

    @abstractmethod
    def maker(self, spec: ReplSpec) -> Maker:
        """Who makes the processes of a REPL that begins, or begins anew."""

    def small(self, spec: ReplSpec) -> _launch.Small | None:
        """Who makes those of a REPL that needs no libraries yet, where that is sooner."""
        return None

    def default_memory(self) -> int:
        """Bytes for a REPL that was not told: half of what is free, shared by those that live. 0 where only
        the other side can know."""
        if (now := time.monotonic()) - self._looked >= _LOOK_AGAIN:
            self._looked, self._free = now, free_memory()
        return max(_LEAST_MEMORY, self._free // 2 // max(1, len(self._repls)))

    def handed_on(self, context: object) -> Handed | None:
        """A context that another REPL of this sandbox has in memory already."""
        return None

    def join(self, repl: ProcessRepl) -> None:
        """It has processes, or is about to."""
        self._repls.add(repl)

    def forget(self, repl: ProcessRepl) -> None:
        """It has no processes any more."""
        self._repls.discard(repl)


class ProcessSandbox(Home):
    """A maker of REPLs in processes. ``name`` is ``"process"`` (hardened) or ``"none"``.

    ``namespaces=False`` does without namespaces even where they are to be had: the second tier, as
    on a machine that refuses them. It is for tests and for a look at what such a machine gives.
    ``libraries`` says when numpy, pandas and pyarrow are imported: ``"beside"`` REPLs that do without, for
    those whose first cell names one; ``"before"`` any REPL, for all; ``"never"``: by code that asks for one.
    """

    takes_parts = True
    proven = True
    forks = True

    def __init__(
        self, name: Literal["process", "none"] | str = "process", *, namespaces: bool = True,
        libraries: Libraries = "beside",
    ) -> None:  # fmt: skip
        if name not in ("process", "none"):
            raise ConfigError(f"there is no process sandbox {name!r}: use 'process' or 'none'")
        super().__init__()
        self.name = name
        self.kind = _launch.Kind(name == "process", namespaces, libraries)
        self._waiting: list[asyncio.Future[None]] = []  # for room
        self._using = False

    async def open(self, spec: ReplSpec, on_call: OnCall) -> ProcessRepl:
        self.prepare()
        await self._room()
        return await super().open(spec, on_call)

    async def close(self) -> None:
        for repl in list(self._repls):
            await repl.close()
        if self._using:
            self._using = False
            if (zygote := _launch.release(self.kind)) is not None:
                # No thread waits for it: when the interpreter ends, none is to be had any more.
                await asyncio.wait([asyncio.wrap_future(zygote.ended)], timeout=5.0)

    async def _room(self) -> None:
        """Until few REPLs are closing: they take memory until they are gone."""
        while True:
            # In the line before the look, so that no end of a close is missed: it may be another thread's.
            turn: asyncio.Future[None] = asyncio.get_running_loop().create_future()
            self._waiting.append(turn)
            if sum(repl.closing for repl in tuple(self._repls)) < MAX_CLOSING:
                with contextlib.suppress(ValueError):  # it was let go already
                    self._waiting.remove(turn)
                return
            await turn

    def forget(self, repl: ProcessRepl) -> None:
        super().forget(repl)
        waiting, self._waiting = self._waiting, []
        for turn in waiting:  # of any loop
            with contextlib.suppress(RuntimeError):  # it is closed
                turn.get_loop().call_soon_threadsafe(_let_go, turn)

    def handed_on(self, context: object) -> Handed | None:
        """A text, or a part of one, that another REPL has in memory already."""
        whole, start, length = context, 0, 0
        if isinstance(context, TextPart):
            whole, start, length = context.whole, context.start, context.length
        elif type(context) is str:
            length = len(context)
        for repl in tuple(self._repls):
            handed = repl.handed
            if handed is not None and repl.context is whole and handed.has(start, length):
                return handed.part(start, length)
        return None

    def maker(self, spec: ReplSpec) -> Maker:
        return _launch.zygote(self.kind)

    def prepare(self) -> None:
        """For who is going to open a REPL: what it needs is started, and not waited for."""
        if not self._using:
            self._using = True
            _launch.use(self.kind)
        with contextlib.suppress(SandboxUnavailable):  # which open will say
            _launch.zygote(self.kind)

    def small(self, spec: ReplSpec) -> _launch.Small | None:
        return _launch.zygote(self.kind).small(likely=spec.libraries or spec.tables)


class ProcessRepl:
    """One node's REPL."""

    def __init__(self, sandbox: Home, spec: ReplSpec, on_call: OnCall) -> None:
        self._sandbox = sandbox
        self._spec = spec
        self._on_call = on_call
        self._memory = spec.memory or 0
        self._handed: Handed | None = None
        self._node: NodeProcesses | None = None
        self._cells = 0  # the number of the last that has begun
        self._made: list[str] = []
        self._fresh = True  # no cell has run in it
        self._small: _launch.Small | None = None  # who has made its node, until a cell runs in it
        self._turn = asyncio.Lock()
        self._closed = False

    async def start(self, *, small: bool = True) -> None:
        """Opens the processes, with the context alone in the namespace."""
        with shortage_told():
            await self._begin(small)

    async def _begin(self, small: bool) -> None:
        context = self._spec.context
        if self._handed is None:
            self._handed = context if isinstance(context, Handed) else self._sandbox.handed_on(context)
        if self._handed is None:
            self._handed = await hand_over_async(context)
        handed = self._handed
        self._memory = self._memory or self._sandbox.default_memory()
        request: Request = {
            "memory": 0,
            "mapped": handed.size,
            "context": handed.layout,
            "start": handed.start,
            "length": handed.length,
            "files": self._spec.files,
        }
        may_be_small = small and not self._cells and may_begin_small(self._spec, handed, self._memory)
        for left in reversed(range(TRIES)):
            made_by = self._sandbox.small(self._spec) if may_be_small else None
            request["memory"] = self._memory + (0 if made_by is None else more_memory(self._memory))
            node = NodeProcesses(made_by or self._sandbox.maker(self._spec))
            try:
                await node.open(self._spec, handed, request)
                break
            except _launch.Died:  # what was ready has been killed in its sleep: nothing has run yet
                if not left:
                    raise
        if self._closed:
            await node.close()
            raise SandboxLost("the REPL was closed while it was opened")
        self._node = node
        self._fresh = True
        self._small = made_by
        if made_by is None:
            self._keep_what_is_shared(handed)

    def _keep_what_is_shared(self, handed: Handed) -> None:
        # What is small can be handed over again: with hundreds of nodes, descriptors are dear. What the
        # worker has not mapped but read would lie in memory twice. What has no seal may have been changed.
        whole = os.fstat(handed.fd).st_size
        if handed.size <= _SMALL or whole > 2 * handed.size or sys.platform != "linux":
            self._drop_context()

    async def _settle(self, code: str) -> None:
        """Where the first cell runs: what names a library, where that is there, which nobody sees."""
        small, before = self._small, self._node
        assert small is not None
        if names_a_library(code) and await small.warm_by_then() and before is not None and not self._closed:
            with contextlib.suppress(SandboxError, ContextError):  # the one that there is will do
                await self.start(small=False)
                await before.close()
        self._small = None
        if self._handed is not None:
            self._keep_what_is_shared(self._handed)

    @property
    def context(self) -> object:
        return self._spec.context

    @property
    def handed(self) -> Handed | None:
        """Its context, as long as it is kept for others."""
        return self._handed

    @property
    def closing(self) -> bool:
        """Whether its processes are about to end."""
        return self._closed

    async def execute(self, code: str, *, seconds: float, number: int = 0) -> CellResult:
        async with self._turn:
            if self._closed:
                raise SandboxLost("the REPL is closed")
            if self._small is not None:
                await self._settle(code)
                if self._closed:
                    raise SandboxLost("the REPL is closed")
            notes: list[str] = []
            if self._node is None or self._node.lost is not None:
                notes.append(await self._restart("its process ended between two cells"))
            assert self._node is not None
            self._cells = max(self._cells + 1, number)
            with shortage_told():
                cell = CellRun(self._node, self._cells, self._on_call)
            end = await cell.run(code, seconds)
            if self._closed:
                raise SandboxLost("the REPL was closed while a cell ran")
            result = await self._result(end, seconds, notes)
            if end.names is not None:
                self._made, self._fresh = end.names, False
            return result

    async def fork(self, on_call: OnCall) -> ProcessRepl:
        async with self._turn:
            if self._closed or self._node is None or self._node.lost is not None:
                raise SandboxLost("the REPL is not there any more")
            if self._small is not None:
                await self._settle("")
            twin = ProcessRepl(self._sandbox, self._spec, on_call)
            twin._memory, twin._cells = self._memory, self._cells
            twin._made, twin._fresh = self._made, self._fresh
            with shortage_told():
                twin._node = await self._node.fork(self._spec.memory or self._sandbox.default_memory())
        self._sandbox.join(twin)
        return twin

    async def close(self) -> None:
        self._closed = True
        try:
            if self._node is not None:
                await self._node.close()
        finally:  # it counts as long as it has processes
            self._sandbox.forget(self)
            self._drop_context()

    def _drop_context(self) -> None:
        handed, self._handed = self._handed, None
        if handed is not None and handed is not self._spec.context:
            handed.close()

    async def _restart(self, why: str) -> str:
        """A new worker with the context alone; what to tell the model."""
        lost, self._made = self._made, []
        if self._node is not None:
            await self._node.close()
            self._node = None
        try:
            await self.start()
        except (SandboxError, ContextError) as error:
            raise SandboxLost(f"the REPL is gone ({why}) and could not be started again: {error}") from error
        names = f"; lost: {', '.join(lost)}" if lost else ""
        return f"the REPL began anew with the context alone: {why}{names}"

    async def _result(self, end: CellEnd, seconds: float, notes: Sequence[str]) -> CellResult:
        outcome: CellOutcome
        told = [*notes, *end.notes]
        if end.how == "end":
            outcome = cast(CellOutcome, end.outcome)
            if end.interrupted and outcome != "submitted":
                outcome = "interrupted"
                told.append(
                    f"stopped after {end.own_seconds:.1f} s: a cell may run for {seconds:g} s; "
                    "variables are kept"
                )
        elif end.how == "rolled_back":
            outcome = "rolled_back"
            told.append(f"{self._why(end)}; {_AS_BEFORE}")
        else:
            # Before the first cell there is nothing but the context, so a new REPL is as good as the old one.
            outcome = "rolled_back" if self._fresh else "restarted"
            why = self._why(end)
            note = await self._restart(why)
            told.append(f"{why}; {_AS_BEFORE}" if outcome == "rolled_back" else note)
        if end.accepted:
            outcome = "submitted"
        return CellResult(
            outcome, end.output, end.printed, end.omitted, end.error if outcome != "submitted" else None,
            tuple(told), end.seconds, end.own_seconds, end.ranges,
        )  # fmt: skip

    def _why(self, end: CellEnd) -> str:
        return why_killed(end, self._memory, "" if self._node is None else self._node.gone)


def _let_go(turn: asyncio.Future[None]) -> None:
    if not turn.done():
        turn.set_result(None)
