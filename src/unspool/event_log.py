"""The log of one run: every event that happens goes through it, once and in order.

Contract: the log stamps each event with ``seq`` and ``time``, has it kept, and hands it to the listeners in
the order in which they came; an event that is *passing* is handed on and not kept.

>>> from unspool.events import TurnStarted
>>> log = EventLog("r1", clock=lambda: 5.0)
>>> log.emit(TurnStarted(node="0", turn=1))
>>> log.events[0].seq, log.events[0].time
(1, 5.0)
"""

from __future__ import annotations

import asyncio
import os
import time as _time
from collections.abc import Callable, Iterable
from dataclasses import replace

from .events import Event, RunResumed
from .foreign_errors import passable


class EventLog:
    """Stamps the events of one run, keeps them, and hands each to the listeners in order.

    Of a run that is resumed, ``past`` holds the events so far; those that are ``known`` are not emitted
    again, and the first new one comes after ``run.resumed``, whose time is that at which the log was made:
    from then on somebody goes on with the run.
    """

    def __init__(
        self,
        run: str,
        *,
        clock: Callable[[], float] = _time.time,
        past: Iterable[Event] = (),
        known: Callable[[Event], bool] | None = None,
    ) -> None:
        self.run = run
        self.events: list[Event] = list(past)
        self._known = known
        self._resumed = clock() if self.events else None  # None once that was told
        self._clock = clock
        self._keep: Callable[[Event], Event] = lambda event: event
        self._listeners: list[Callable[[Event], None]] = []

    def keep(self, keep: Callable[[Event], Event]) -> None:
        """Who keeps events: is told of each before all others, and gives back the one that they are told."""
        self._keep = keep

    def listen(self, listener: Callable[[Event], None]) -> None:
        self._listeners.append(listener)

    def emit(self, event: Event) -> None:
        last = self.events[-1].seq if self.events else 0
        if event.passing:
            self._tell(replace(event, seq=last, time=self._clock()))
            return
        if self._known is not None and self._known(event):
            return
        now = self._clock()
        if self._resumed is not None:
            since, self._resumed = self._resumed, None
            self._add(RunResumed(run=self.run), last + 1, since)
            last += 1
        self._add(replace(event) if event.seq else event, last + 1, now)  # with a number it is another log's

    def _add(self, event: Event, seq: int, time: float) -> None:
        # Nobody else has it yet: a copy would take longer than all the rest.
        object.__setattr__(event, "seq", seq)
        object.__setattr__(event, "time", time)
        event = self._keep(event)
        self.events.append(event)
        self._tell(event)

    def _tell(self, event: Event) -> None:
        try:
            for listener in self._listeners:
                listener(event)
        except (asyncio.CancelledError, GeneratorExit) as error:  # a listener's own: nothing was stopped
            raise passable(error) from error


def new_id() -> str:
    """For a run. Sorts by time, to the microsecond; unique without a registry: 20261129-185427-6b3c03f9a1."""
    seconds, fraction = divmod(_time.time_ns(), 10**9)
    stamp = _time.strftime("%Y%m%d-%H%M%S", _time.gmtime(seconds))
    return f"{stamp}-{fraction // 1000:05x}{os.urandom(3).hex()[:5]}"
