"""A store that keeps events in memory.

>>> from unspool.events import TurnStarted
>>> store = MemoryStore()
>>> store.open("r1")
>>> store.append("r1", TurnStarted(node="0", turn=1))
>>> list(store.runs()), store.read("r1")[0].turn
(['r1'], 1)
"""

from __future__ import annotations

from ..errors import NoSuchRun
from ..events import Event


class MemoryStore:
    """Implements :class:`unspool.journal.Store`; raises :class:`NoSuchRun` for a run it does not have."""

    def __init__(self) -> None:
        self._runs: dict[str, list[Event]] = {}

    def open(self, run: str) -> None:
        self._runs.setdefault(run, [])

    def append(self, run: str, event: Event) -> None:
        self._runs[run].append(event)

    def read(self, run: str) -> list[Event]:
        if run not in self._runs:
            raise NoSuchRun(f"there is no run {run!r} in this store")
        return list(self._runs[run])

    def runs(self) -> list[str]:
        return list(self._runs)

    def close(self, run: str) -> None:
        """Nothing is open."""
