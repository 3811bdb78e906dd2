"""The runs of a server: how many at once, each followed from its start to its end, all stopped at the end.

Contract: :class:`Runs` never has more than its limit going; one more is a 429 that says when to come back.
A :class:`Followed` run has begun (it has an id); ``lines()`` tells of it until it has ended, and leaving it
early, in any way, cancels the run. What hinders its start is raised as a :class:`Problem`.
"""

from __future__ import annotations

import asyncio
import math
from collections.abc import AsyncGenerator, AsyncIterator, Iterator
from contextlib import aclosing, asynccontextmanager, contextmanager
from typing import TYPE_CHECKING

from ..answers import AnswerType
from ..budget import Budget
from ..cli.report import lines
from ..cli.view import View, fold
from ..errors import ConfigError, ContextError, UnspoolError
from ..events import Event, ModelDelta, RunEnded, RunStarted
from .metrics import Metrics
from .problems import Problem

if TYPE_CHECKING:
    from ..rlm import RLM
    from .question import Question

STOPPED = "the server was stopped"  # why a run was cancelled
PATIENCE = 15.0  # seconds that a run may need beyond its time limit to tell its end
LONGEST_WAIT = 60  # seconds that a client is told to come back after, at most
NO_RETRY = {"x-should-retry": "false"}  # asking again would be paid again


class Followed:
    """A run that has begun."""

    def __init__(self, started: RunStarted, events: AsyncIterator[Event], question: Question) -> None:
        self.id = started.run
        self.created = int(started.time)
        self.question = question
        self.ended: RunEnded | None = None
        self._started = started
        self._events = events

    async def lines(self) -> AsyncGenerator[str, None]:
        """What happens, in lines, while it happens."""
        view = fold(View(), self._started)
        mode = self.question.progress
        async for event in self._events:
            if isinstance(event, ModelDelta):
                continue
            view = fold(view, event)
            if mode != "off":
                for line in lines(view, event, show_code=mode == "code"):
                    yield f"{line.text}\n"
            if isinstance(event, RunEnded):
                self.ended = event

    @property
    def end(self) -> RunEnded:
        if self.ended is None:
            raise RuntimeError("the events of a run ended without run.ended")
        return self.ended


class Runs:
    """The runs of one engine."""

    def __init__(self, engine: RLM, *, limit: int, seconds: float, metrics: Metrics) -> None:
        self._engine = engine
        self._limit = limit
        self._seconds = seconds
        self._metrics = metrics
        self._taken = 0
        self._going: set[str] = set()
        self.stopping = False

    @property
    def taken(self) -> int:
        return self._taken

    @contextmanager
    def place(self) -> Iterator[None]:
        """A place among those that go on at once, or a :class:`Problem`."""
        if self.stopping:
            raise stopped()
        if self._taken >= self._limit:
            raise Problem(
                429,
                f"{self._limit} runs go on here, as many as may at once: try again later",
                code="too_many_runs",
                headers={"Retry-After": str(self._wait())},
            )
        self._taken += 1
        try:
            yield
        finally:
            self._taken -= 1

    def _wait(self) -> int:
        """When a place may be free: runs take as long as they took so far."""
        done = self._metrics.seconds
        mean = done.sum / done.count if done.count else 1.0
        return max(1, min(LONGEST_WAIT, math.ceil(mean / self._limit)))

    @asynccontextmanager
    async def follow(self, question: Question) -> AsyncIterator[Followed]:
        """Begins a run. Leaving the block before it has ended cancels it."""
        engine = self._engine.within(Budget(seconds=self._seconds))
        run: Followed | None = None
        try:
            async with asyncio.timeout(self._seconds + PATIENCE) as limit, followed(engine, question) as run:
                self._going.add(run.id)
                if self.stopping:
                    self._engine.cancel(run.id, STOPPED)
                yield run
        except TimeoutError:
            if not limit.expired():
                raise
            raise timed_out(run.id if run else None, self._seconds) from None
        finally:
            if run is not None:
                self._going.discard(run.id)
                self._count(run)

    def _count(self, run: Followed) -> None:
        if run.ended is not None:
            self._metrics.ended(run.ended)
        else:
            self._metrics.runs.add("cancelled")

    def stop(self) -> None:
        """Cancels every run; each tells its end to who waits for it. No further one begins."""
        self.stopping = True
        for run in self._going:
            self._engine.cancel(run, STOPPED)


@asynccontextmanager
async def followed(engine: RLM, question: Question) -> AsyncIterator[Followed]:
    """A run of this question. Leaving the block before it has ended cancels it."""
    engine = engine.within(question.budget, instructions=question.instructions)
    try:
        events = engine.stream(
            question.query, question.context, answer=question.schema, strategy=question.strategy
        )
    except ConfigError as error:
        raise Problem(400, str(error), code="invalid_value") from None
    async with aclosing(events):
        yield Followed(await _begun(events), events, question)


def stopped(run: str | None = None) -> Problem:
    message, later = "the server is shutting down: ask again later", {"Retry-After": "5"}
    return Problem(503, message, code="shutting_down", headers=later, run=run)


def timed_out(run: str | None, seconds: float) -> Problem:
    message = f"the run took more than {seconds:g} s and left no draft"
    return Problem(504, message, code="timeout", headers=NO_RETRY, run=run)


def problem_of(ended: RunEnded, question: Question) -> Problem | None:
    """What there is to say of a run without an answer; ``None`` where there is one, or a draft that fits."""
    if ended.status == "answered":
        return None
    if ended.status == "cancelled" and ended.reason == STOPPED:
        return stopped(ended.run)
    why = f"the run ended without an answer: {ended.reason}"
    if ended.draft is not None:
        misfit = _misfit(ended.answer, question)
        if misfit is None:
            return None
        why += f"; its draft does not fit the schema: {misfit}"
    if ended.status == "budget":
        status, code = (504, "timeout") if ended.limit == "seconds" else (402, "budget_exceeded")
    else:
        status, code = 502, "run_failed"
    return Problem(status, why, code=code, headers=NO_RETRY, run=ended.run)


def _misfit(draft: object, question: Question) -> str | None:
    if question.schema is None:
        return None
    try:
        AnswerType(question.schema).check(draft)
    except ValueError as error:
        return str(error)
    return None


async def _begun(events: AsyncIterator[Event]) -> RunStarted:
    try:
        started = await anext(events)
    except (ConfigError, ContextError) as error:
        raise Problem(400, str(error), code="invalid_value") from None
    except UnspoolError as error:
        raise Problem(500, str(error), code="not_started") from None
    assert isinstance(started, RunStarted)
    return started
