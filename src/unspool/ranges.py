"""Ranges of parts of an input: of one text, of several, and what they come to together.

Contract: pure. A range is (part, start, end); what touches is one stretch.

>>> spans = Spans()
>>> spans.add([(0, 5, 9), (0, 0, 5), (1, 2, 3)])
>>> spans.union(0), spans.size(), unread(spans.union(0), 12)
([(0, 9)], 10, [(9, 12)])
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from .reach.marks import ALL
from .reading import Range

Stretch = tuple[int, int, int, int, int]
"""A piece of its parent's context in a child's: part and place in the child's, part, start and end there."""
IDENTITY: Stretch = (ALL, 0, ALL, 0, 0)
"""Stands for all of it, part for part."""


@dataclass(frozen=True, slots=True)
class Shown:
    """What one text that a model was shown has of the context. ``ranges`` None: that is not known."""

    ranges: tuple[Range, ...] | None = None
    unplaced: int = 0  # characters that there was no time to look for


UNKNOWN = Shown()


class Spans:
    """Ranges of parts, and the union of them."""

    def __init__(self) -> None:
        self._all: dict[int, list[tuple[int, int]]] = {}

    def add(self, ranges: Iterable[Range]) -> None:
        for part, start, end in ranges:
            self._all.setdefault(part, []).append((start, end))

    def join(self, other: Spans) -> None:
        """Takes in all that the other has."""
        for part, stretches in other._all.items():
            self._all.setdefault(part, []).extend(stretches)

    def leave_out(self, parts: Iterable[int]) -> None:
        for part in parts:
            self._all.pop(part, None)

    def parts(self) -> Iterable[int]:
        return self._all

    def union(self, part: int) -> list[tuple[int, int]]:
        """What is read of a part, in order; what touches is one."""
        merged: list[tuple[int, int]] = []
        for start, end in sorted(self._all.get(part, ())):
            if merged and start <= merged[-1][1]:
                merged[-1] = merged[-1][0], max(merged[-1][1], end)
            else:
                merged.append((start, end))
        return merged

    def counted(self, part: int) -> list[tuple[int, int, int]]:
        """The same, each stretch with how often it was read."""
        steps: dict[int, int] = {}
        for start, end in self._all.get(part, ()):
            steps[start] = steps.get(start, 0) + 1
            steps[end] = steps.get(end, 0) - 1
        told: list[tuple[int, int, int]] = []
        times = before = 0
        for place in sorted(steps):
            if times and steps[place]:
                told.append((before, place, times))
            if steps[place]:
                times, before = times + steps[place], place
        return told

    def size(self) -> int:
        """How much the union is."""
        return sum(end - start for part in self._all for start, end in self.union(part))


def unread(read: Sequence[tuple[int, int]], size: int) -> list[tuple[int, int]]:
    """What lies between the ranges."""
    gaps, before = list[tuple[int, int]](), 0
    for start, end in read:
        if start > before:
            gaps.append((before, start))
        before = end
    return gaps if before >= size else [*gaps, (before, size)]


def share_of(part: int, whole: int) -> float:
    """A share, 1.0 only where nothing is left, and of nothing all."""
    return 1.0 if part >= whole else part / whole


def with_stretches(shown: Shown, stretches: tuple[Stretch, ...] | None) -> Shown:
    """What a text and one that follows it have of the context."""
    if shown.ranges is None or stretches is None or IDENTITY in stretches:
        return UNKNOWN
    return Shown(
        (*shown.ranges, *((part, start, end) for _, _, part, start, end in stretches)), shown.unplaced
    )


def together(texts: Iterable[Shown]) -> Shown:
    """What several texts have of the context that are sent as one."""
    ranges: list[Range] = []
    unplaced = 0
    for text in texts:
        if text.ranges is None:
            return UNKNOWN
        ranges += text.ranges
        unplaced += text.unplaced
    return Shown(tuple(ranges), unplaced)
