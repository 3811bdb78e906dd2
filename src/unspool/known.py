"""Replies that are known and not paid for again: those of a cell that was undone, and the cache's.

Contract: one :class:`Known` a node. A cell that is rolled back takes its variables with it, not what it
has paid for: when the model runs the like of it again, equal calls get the same replies, each once, in
the order they came. What the cache (if it is on) has may be used any number of times.

>>> from unspool.types import Usage
>>> known, call = Known(None), Call(1, "key", ModelInfo("scripted:model"))
>>> known.keep(call, ModelReply("hello", "stop", Usage(calls=1), "scripted:model"))
>>> known.find(call) is None
True
>>> known.cell_undone()
>>> known.find(call).text, known.find(call) is None
('hello', True)
"""

from __future__ import annotations

from collections import defaultdict, deque
from typing import NamedTuple

from .cache import ReplyCache, cache_key
from .models.protocol import ModelInfo, ModelReply


class Call(NamedTuple):
    """A sub-call: its number in the run, its content as a hash, and which of equal items of a batch it is."""

    number: int
    key: str
    info: ModelInfo
    occurrence: int = 0


class Known:
    """What one node need not ask again. ``cache`` is ``None`` where it is off."""

    def __init__(self, cache: ReplyCache | None) -> None:
        self._cache = cache
        self._cell: dict[int, tuple[str, ModelReply]] = {}  # of the cell that runs, by number
        self._undone: defaultdict[str, deque[ModelReply]] = defaultdict(deque)

    def cell_began(self) -> None:
        self._cell.clear()

    def cell_undone(self) -> None:
        """The cell was rolled back: its replies are there for the next that asks the same."""
        for _, (key, reply) in sorted(self._cell.items(), key=lambda item: item[0]):
            self._undone[key].append(reply)
        self._cell.clear()

    def find(self, call: Call) -> ModelReply | None:
        """The reply to this call, if it is known."""
        if undone := self._undone.get(call.key):
            reply = undone.popleft()
            self.note(call, reply)
            return reply
        if self._cache is None:
            return None
        return self._cache.get(cache_key(call.info, call.key, call.occurrence))

    def note(self, call: Call, reply: ModelReply) -> None:
        """A reply that this cell got, and that would be lost with it."""
        self._cell[call.number] = (call.key, reply)

    def keep(self, call: Call, reply: ModelReply) -> None:
        """A reply that was paid for now."""
        self.note(call, reply)
        if self._cache is not None:
            self._cache.put(cache_key(call.info, call.key, call.occurrence), reply)
