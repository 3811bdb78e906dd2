"""A session: the REPL of one context, driven from outside, with all that code in a run has.

Contract: code that is executed sees what the code of a model sees (``context``, ``llm_query``, ``llm_map``,
``rlm_query``, ``cite``, …), keeps its variables, and spends from the session's budget. The session is a run:
it has an id and a journal, each piece of code is one of its turns, and :meth:`Session.close` gives the
:class:`Run`, with the answer that was last submitted. What a piece of code does wrong is in the
:class:`unspool.types.CellRun` that it gives; only a session that is closed, a sandbox that is gone and a
journal that cannot be written raise. Pieces run one at a time.

>>> from unspool import RLM
>>> from unspool.testing import ScriptedModel
>>> with RLM(ScriptedModel(["yes"]), runs=False).session("a long text") as session:
...     _ = session.execute("size = len(context)")
...     cell = session.execute("print(size, llm_query('Is it long?'))")
>>> cell.output, len(cell.sub_calls), session.close().status
('11 yes\\n', 1, 'cancelled')
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future

from ._runtime import runtime
from .answers import AnswerType
from .driven import Driven, Driver
from .engine import Asker, Engine
from .errors import ConfigError
from .events import Event
from .trace import TraceBuilder, run_from_events
from .types import DRIVEN, ROOT, CellRun, Run


class Session:
    """See the module docstring. Made by :meth:`unspool.RLM.session`."""

    def __init__(self, going: asyncio.Task[None], node: Driven, events: list[Event]) -> None:
        self._going = going
        self._node = node
        self._events = events
        self._trace = TraceBuilder()
        self._taken = 0
        self._told = False  # whether what hindered its end has been raised
        self.id = node.scope.log.run
        self.description = node.task.description
        self.sub_model = node.scope.sub.info.name

    def execute(self, code: str) -> CellRun:
        """Runs a piece of code and waits for it."""
        return runtime().wait(self._execute(_checked(code)))

    async def aexecute(self, code: str) -> CellRun:
        """The same for asyncio. Cancelling it stops the code and the requests it has open; the REPL stays."""
        return await runtime().submit(self._execute(_checked(code))).wait()

    def close(self) -> Run:
        """Ends the session, and gives the run that it was. A second time it gives the same.

        What hindered its end is raised, once: what ``on_event`` raised then, a journal that could not be
        written. Called again, it gives the run as far as it is told."""
        return runtime().wait(self.end())

    async def aclose(self) -> Run:
        """The same for asyncio."""
        return await runtime().submit(self.end()).wait()

    @property
    def over(self) -> bool:
        """Whether it is closed, or has ended because its time is used."""
        return self._going.done()

    def left(self) -> Mapping[str, float | int | None]:
        """What is left of its budget; ``None`` where there is no limit."""
        return self._node.task.meter.left()

    @property
    def cost(self) -> float | None:
        """US dollars so far; ``None`` where a price is not known."""
        return self._node.task.meter.total.cost

    def __enter__(self) -> Session:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    # On the runtime's loop

    @staticmethod
    async def begin(
        engine: Engine,
        context: object,
        by: str,
        sources: Sequence[str],
        on_event: Callable[[Event], None] | None,
        loop: asyncio.AbstractEventLoop | None,
    ) -> Session:
        """Begins a run that is driven; what hinders it is raised."""
        driver, events = Driver(DRIVEN + by), list[Event]()

        def listen(event: Event) -> None:
            events.append(event)
            if on_event is not None:
                on_event(event)

        run = engine.run(
            f"a session of {by}", context, AnswerType(None), Asker(listen, loop), sources, driver=driver
        )
        going = asyncio.create_task(run)
        first: tuple[asyncio.Future[None] | asyncio.Future[Driven], ...] = (going, driver.node)
        try:
            await asyncio.wait(first, return_when=asyncio.FIRST_COMPLETED)
        except asyncio.CancelledError:
            going.cancel()
            raise
        if going.done():
            await going  # raises why it did not begin
        return Session(going, driver.node.result(), events)

    async def _execute(self, code: str) -> CellRun:
        number = await self._node.step(code)
        for event in self._events[self._taken :]:
            self._trace.add(event)
        self._taken = len(self._events)
        turn = self._trace.turn(ROOT, number)
        assert turn is not None
        return turn.cells[0]

    async def end(self) -> Run:
        """Closes it, on the runtime's loop."""
        self._node.close()
        await asyncio.wait([self._going])
        failure = None if self._told or self._going.cancelled() else self._going.exception()
        self._told = True
        if failure is not None:
            raise failure
        return run_from_events(self._events)


def end_unwanted(made: Future[Session]) -> None:
    """Ends a session whose caller has gone while it began."""
    if made.exception() is None:
        runtime().submit(made.result().end())


def _checked(code: str) -> str:
    if not isinstance(code, str) or not code.strip():
        raise ConfigError("code: give Python code as text")
    return code
