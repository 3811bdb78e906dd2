"""Who looks on at every run of this process: the log, telemetry.

Contract: an onlooker is made for each run, with the events so far (of a run that is resumed), and is told
each event after the store and the run's own listener. One that raises is told of no more and is reported
once, in the log: it never stops a run. It is called on the engine's loop: it must not wait.

>>> seen = []
>>> remove = look_on(lambda log: lambda event: seen.append(event.kind))
>>> from unspool.event_log import EventLog
>>> from unspool.events import TurnStarted
>>> log = EventLog("r1")
>>> for each in onlookers(log):
...     each(TurnStarted(node="0", turn=1))
>>> remove()
>>> seen
['turn.started']
"""

from __future__ import annotations

import logging
from collections.abc import Callable

from .event_log import EventLog
from .events import Event
from .logs import log_lines

Onlooker = Callable[[Event], None]
Make = Callable[[EventLog], Onlooker | None]
"""Makes the onlooker of a run; None: this run is of no interest."""

_makes: list[Make] = [log_lines]


def look_on(make: Make) -> Callable[[], None]:
    """From now on, every run that begins or is resumed has one of these. Returns what takes it away again."""
    _makes.append(make)

    def remove() -> None:
        if make in _makes:
            _makes.remove(make)

    return remove


def onlookers(log: EventLog) -> list[Onlooker]:
    """Those of a run that is about to begin."""
    made = [_guarded(make, log) for make in tuple(_makes)]
    return [each for each in made if each is not None]


def _guarded(make: Make, log: EventLog) -> Onlooker | None:
    works = True

    def report() -> None:
        logging.getLogger("unspool").exception(
            "an onlooker failed: run %s is not told to it any more", log.run
        )

    try:
        onlooker = make(log)
    except BaseException:  # it is anybody's code
        report()
        return None
    if onlooker is None:
        return None

    def told(event: Event) -> None:
        nonlocal works
        if works:
            try:
                onlooker(event)
            except BaseException:  # as above
                works = False
                report()

    return told
