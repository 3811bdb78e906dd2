"""The seam to where events are kept.

Contract of :class:`Store`: ``append`` is called once per event, in order, on the engine's loop, and
returns when the event is as safe as the store promises; what it raises ends the run. ``read`` gives
a run's events in order, as far as they were appended. ``runs`` lists ids, oldest first.

The double for tests, and for keeping events in memory, is :class:`unspool.testing.MemoryStore`.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Protocol

from .events import Event


class Store(Protocol):
    """Keeps the events of runs. See the module docstring for the contract."""

    def append(self, run: str, event: Event) -> None: ...

    def read(self, run: str) -> Iterable[Event]: ...

    def runs(self) -> Iterable[str]: ...
