"""The runs of an engine that are under way, and how they are stopped.

Contract: all of it happens on the runtime's loop. A run is under way from its first step, before it has an
id, until its last event is told. One that is stopped here, and not by who waits for it, comes to its end like
any other: its status is ``cancelled``, with the reason. What waits for all of them to end does not wait for
the run that it is called from (by a tool, a model): that one ends once it has been stopped as the last.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING

from ._runtime import runtime
from .errors import ConfigError

if TYPE_CHECKING:
    from .driven import Driver
    from .scope import Scope

CLOSED = "the engine was closed"

_within: ContextVar[asyncio.Task[object] | None] = ContextVar("unspool_run", default=None)


class Going:
    """One run. ``scope`` is there once the run has begun, ``driver`` where it is a session."""

    def __init__(self, task: asyncio.Task[object]) -> None:
        self.task = task
        self.driver: Driver | None = None
        self.scope: Scope | None = None
        self.stopped = False

    def stop(self, reason: str) -> None:
        """It comes to its end, soon."""
        if self.stopped:
            return
        self.stopped = True
        if self.scope is not None:
            self.scope.stopped = reason
        if self.driver is None or not self.driver.close(reason):
            self.task.cancel()

    @contextmanager
    def to_its_end(self, scope: Scope) -> Iterator[None]:
        """The run from its first event to its last. Where it was stopped, that is how it has ended, and no
        error."""
        self.scope = scope
        try:
            yield
        except asyncio.CancelledError:
            if not self.stopped or self.task.uncancel():  # who waits for it has gone
                raise


class UnderWay:
    """See the module docstring."""

    def __init__(self) -> None:
        self._going: set[Going] = set()

    @contextmanager
    def run(self) -> Iterator[Going]:
        """Around all that a run does, in its own task. Raises :class:`ConfigError` where the engine was
        closed before the run had an id to tell."""
        task = asyncio.current_task()
        assert task is not None
        going, everywhere = Going(task), runtime().going
        self._going.add(going)
        everywhere.add(going)
        before = _within.set(task)
        try:
            yield going
        except asyncio.CancelledError:
            if going.scope is not None or not going.stopped or task.uncancel():
                raise
            raise ConfigError(f"{CLOSED} before the run began") from None
        finally:
            _within.reset(before)
            everywhere.discard(going)
            self._going.discard(going)

    def stop(self, run: str, reason: str) -> None:
        """Stops a run by its id, if it is going."""
        for going in self._going:
            if going.scope is not None and going.scope.log.run == run:
                going.stop(reason)

    async def stop_others(self) -> None:
        """Stops all but the run that this is called from, and waits until they have ended."""
        while others := [going for going in self._going if going.task is not _within.get()]:
            for going in others:
                going.stop(CLOSED)
            await asyncio.wait([going.task for going in others])

    def stop_own(self) -> None:
        """Stops the run that this is called from, if any."""
        for going in self._going:
            if going.task is _within.get():
                going.stop(CLOSED)
