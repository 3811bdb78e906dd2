"""The REPLs of the branches of a run, forked from the trunk's.

Contract: one :class:`Forks` a run with branches, where the sandbox says that its REPLs can be forked. When
the trunk begins the turn in which the others leave it, and before a cell of that turn runs, its REPL is
forked once for each of them; so what the shared turn has made is there in each, and is not made again. A
branch that has no fork (the REPL could not be forked then, or the trunk never came so far) opens a REPL of
its own, in which the cells run again.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, cast

from .errors import SandboxError
from .ground import Ground
from .repl_api import ReplApi
from .sandbox.protocol import Forking, HostCall, HostReply, OnCall, Repl

if TYPE_CHECKING:
    from .scope import Scope, Task

SHARED_TURNS = 1


@dataclass(slots=True)
class _Later:
    """Who serves the calls of a fork: its branch, which may not be there yet. No cell runs before it is."""

    on_call: OnCall | None = None

    async def __call__(self, call: HostCall) -> HostReply:
        assert self.on_call is not None
        return await self.on_call(call)


class Forks:
    """See the module docstring. ``numbers``: the branches that leave the trunk."""

    def __init__(self, scope: Scope, numbers: Iterable[int]) -> None:
        self._scope = scope
        self._calls = {number: _Later() for number in numbers}
        self._repls: dict[int, Repl] = {}
        self._ground: Ground | None = None
        self._made = asyncio.Event()

    async def repl(self, task: Task, turn: int, repl: Repl | None, api: ReplApi) -> Repl | None:
        """The REPL of a branch that is about to run cells: ``repl``, if it has one, or its fork, if there is
        one. The trunk's is forked here."""
        assert task.branch is not None
        number = task.branch.number
        if repl is not None and number == 1 and turn > SHARED_TURNS and not self._made.is_set():
            await self._make(repl, api)
        if repl is not None or number not in self._calls:
            return repl
        await self._made.wait()
        fork = self._repls.pop(number, None)
        if fork is not None:
            self._calls[number].on_call = api
            if self._ground is not None:
                api.ground.learn(self._ground)
            self._scope.replay.forked(task.node)
        return fork

    async def _make(self, repl: Repl, api: ReplApi) -> None:
        self._ground = api.ground
        try:
            for number, calls in self._calls.items():
                self._repls[number] = await cast(Forking, repl).fork(calls)
        except SandboxError as error:
            self._scope.note([f"cells of the first turn ran again in each branch: {error}"])
        finally:
            self._made.set()

    def give_up(self) -> None:
        """The trunk does not come so far, or has."""
        self._made.set()

    def left(self) -> list[Repl]:
        """The forks that no branch has taken."""
        return list(self._repls.values())
