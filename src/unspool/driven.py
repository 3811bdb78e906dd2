"""A node whose code comes from outside: an agent, a program or a person drives its REPL.

Contract: a :class:`Driver` stands where the root model of a run would. The run has the journal, the budget,
the sub-calls and the children of any other; each piece of code is a turn with one cell, and no reply of a
model. One piece runs at a time, others wait. A piece whose caller is cancelled is stopped, and the REPL
stays. The run ends when it is closed, with the last answer that was submitted, or when its time is used.
"""

from __future__ import annotations

import asyncio
from dataclasses import replace

from . import events as ev
from .cells import Cell
from .errors import JournalError, SandboxLost
from .loop import NodeLoop, run_node
from .scope import Outcome, Scope, Task
from .types import Limit, Status

SHOWN = 8_000  # characters of a cell's output, whatever the profile of the model for sub-calls has
CLOSED = "closed"
_STOPPED = "stopped by who sent the code; what the cell had done is kept or undone"


class Driver:
    """The way into a run that is driven. ``name`` stands in its journal as its model."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.node: asyncio.Future[Driven] = asyncio.get_running_loop().create_future()

    def close(self, reason: str) -> bool:
        """Ends the session from outside; false where it has not come so far."""
        if not self.node.done():
            return False
        self.node.result().close(reason)
        return True

    async def spawn(self, scope: Scope, task: Task) -> Outcome:
        """The nodes of the run: children are as in any other."""
        if task.parent is not None:
            return await run_node(scope, task)
        try:
            return await run_node(scope, task, self._root)
        finally:
            if self.node.done():
                await self.node.result().end()

    def _root(self, scope: Scope, task: Task) -> NodeLoop:
        node = Driven(scope, task)
        self.node.set_result(node)
        return node


class Driven(NodeLoop):
    """The root node of a run that is driven."""

    def __init__(self, scope: Scope, task: Task) -> None:
        super().__init__(scope, task)
        self.profile = replace(self.profile, shown=SHOWN)
        self._one = asyncio.Lock()
        self._closed = asyncio.Event()
        self._over = False
        self._why = CLOSED
        self._steps: set[asyncio.Task[object]] = set()

    def close(self, reason: str = CLOSED) -> None:
        """Ends the run; a cell that runs is stopped."""
        self._why = reason
        self._closed.set()

    async def end(self) -> None:
        """Stops the cell that runs; from now on none begins. Also of a run that failed before it had come to
        wait for cells: one would open a REPL that nobody closes."""
        self._over = True
        for step in self._steps:
            step.cancel()
        if self._steps:
            await asyncio.wait(self._steps)

    async def step(self, code: str) -> int:
        """Runs a piece of code; the number of its turn. Raises :class:`SandboxLost` once it is closed."""
        here = asyncio.current_task()
        assert here is not None
        self._steps.add(here)
        try:
            async with self._one:
                if self._over:
                    raise SandboxLost("the session is closed")
                return await self._run(code)
        except asyncio.CancelledError:
            if self._over:
                raise SandboxLost("the session was closed while the code ran") from None
            raise
        finally:
            self._steps.discard(here)

    async def _run(self, code: str) -> int:
        self.turn = self.api.place.turn = self.turn + 1
        self.scope.log.emit(ev.TurnStarted(node=self.task.node, turn=self.turn))
        repl = await self._open()
        began = asyncio.get_running_loop().time()
        try:
            await self._run_cells(repl, [Cell(code, "python", True)])
        except asyncio.CancelledError:
            self._tell_stopped(asyncio.get_running_loop().time() - began)
            raise
        finally:
            if isinstance(self.scope.fatal, JournalError):
                self.close()
        if isinstance(self.scope.fatal, JournalError):
            raise self.scope.fatal
        return self.turn

    def _tell_stopped(self, seconds: float) -> None:
        """The end of a cell whose caller went away: what it printed is lost with it."""
        self.api.cell_ended("interrupted")
        ended = ev.CellEnded(
            node=self.task.node,
            turn=self.turn,
            cell=self.cells,
            outcome="interrupted",
            output="",
            printed=0,
            omitted=0,
            error=None,
            notes=(_STOPPED,),
            seconds=seconds,
            own_seconds=seconds,
        )
        self.scope.log.emit(ended)

    async def _to_the_end(self) -> Outcome:
        deadline = self.task.meter.deadline()
        status: Status = "cancelled"
        limit: Limit | None = None
        try:
            async with asyncio.timeout(deadline[0] if deadline else None):
                await self._closed.wait()
            reason = self._why
        except TimeoutError:
            status, limit = "budget", "seconds"
            reason = f"{deadline[1] if deadline else 'a time limit'} is reached"
        finally:
            await self.end()
        if isinstance(self.scope.fatal, JournalError):
            status, reason = "failed", str(self.scope.fatal)
        answered = self.api.answers.outcome(self.turn)
        return answered or Outcome(status, reason, turns=self.turn, limit=limit)
