"""The events of a run on their way into its store, and what is said where the store takes no more.

Contract: each event is given to the store, in order, until one is not kept; then no other is, for what
stands behind a gap cannot be resumed. ``failed`` is told why, so that nothing more is spent. Where the first
event is not kept, that is raised: the run does not begin. Where a later one is not, ``run.ended`` says so: by
its reason, or else in its notes, whatever else went well.

>>> from unspool.errors import JournalError
>>> from unspool.events import TurnStarted
>>> from unspool.testing import MemoryStore
>>> class Full(MemoryStore):
...     def append(self, run, event):
...         raise JournalError("the disk is full")
>>> keeping = Keeping(Full(), "r1", print)
>>> _ = keeping(TurnStarted(node="0", turn=1)), keeping(TurnStarted(node="0", turn=2))
the disk is full
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from .errors import JournalError
from .events import Event, RunEnded, RunStarted
from .foreign_errors import said
from .journal import Store


class Keeping:
    """See the module docstring. Called with an event, it gives back the one that everybody else is told."""

    def __init__(self, store: Store, run: str, failed: Callable[[JournalError], None]) -> None:
        self._store, self._run, self._failed = store, run, failed
        self._lost: JournalError | None = None  # why the store does not have all of it

    def __call__(self, event: Event) -> Event:
        if self._lost is None:
            self._give(event)
        if self._lost is not None and isinstance(event, RunEnded) and str(self._lost) not in event.reason:
            return replace(event, notes=(*event.notes, f"the end of this run is not kept: {self._lost}"))
        return event

    def _give(self, event: Event) -> None:
        try:
            self._store.append(self._run, event)
        except (SystemExit, KeyboardInterrupt):
            raise
        except BaseException as error:  # a store is anybody's code
            why = error if isinstance(error, JournalError) else JournalError(_told(error))
            if isinstance(event, RunStarted):
                raise why from None  # no money is spent yet
            if not why.kept:
                self._lost = why
            self._failed(why)


def _told(error: BaseException) -> str:
    return f"the store of runs failed: {said(error)}"
