"""Which ranges of the input were read: checked as they come out of a REPL, folded into a run's coverage.

Contract: :class:`Ground` is the context of one node as coverage sees it, parts of so many characters; it
turns what a REPL says was read into ranges; where one of them is no range of the context, all of that is
unknown. A REPL that lies can only make its own coverage wrong. :class:`CoverageBuilder` folds the events of
a run into :class:`unspool.types.Coverage`: of the root's context, what children read of theirs mapped back.
What is not known is never counted as read, and never as nothing: see ``unknown`` and ``unplaced`` there.

>>> import struct
>>> ground = Ground.of("some text of 26 characters")
>>> ground.read(struct.pack("<4q", 0, 0, 5, 9), 2)
[Shown(ranges=((0, 5, 9),), unplaced=0), Shown(ranges=(), unplaced=0)]
>>> ground.read(struct.pack("<4q", 0, 0, 5, 99), 1)
[Shown(ranges=None, unplaced=0)]
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from . import events as ev
from .reach.marks import MOST_RANGES, MOST_ROWS, UNPLACED, parts_of, unpack_ranges
from .reading import Citation, Coverage, PartCoverage, Range
from .types import ROOT, TextPart

MOST_PARTS = 1_000  # of a context whose names and sizes are told
MOST_NAMES = 32_000  # characters of all names that are told
NAME = 200  # characters of one
Stretch = tuple[int, int, int, int, int]
"""A piece of its parent's context in a child's: part and place in the child's, part, start and end there."""


@dataclass(frozen=True, slots=True)
class Shown:
    """What one text that a model was shown has of the context. ``ranges`` None: that is not known."""

    ranges: tuple[Range, ...] | None = None
    unplaced: int = 0  # characters that there was no time to look for


UNKNOWN = Shown()


class Ground:
    """See the module docstring. ``sizes`` of the parts; None where the context is not text."""

    def __init__(
        self, sizes: Sequence[int] | None, names: Sequence[str] = (), shown: tuple[Range, ...] = ()
    ) -> None:
        self.sizes = sizes
        self.names = names
        self.shown = shown  # in the description

    @classmethod
    def of(cls, context: object, head: int = 0, tail: int = 0) -> Ground:
        """``head`` and ``tail``: what the description shows of a text."""
        if isinstance(context, str | TextPart):
            return cls([len(context)], shown=_head_and_tail(len(context), head, tail))
        texts = parts_of(context)
        if texts is None:
            return cls(None)
        keys = list(context)[:MOST_PARTS] if isinstance(context, dict) else ()
        return cls(list(map(len, texts)), _names(keys))

    def measured(self, node: str) -> ev.ContextMeasured | None:
        """The event that tells of it."""
        if self.sizes is None:
            return None
        return ev.ContextMeasured(
            node=node,
            size=sum(self.sizes),
            parts=len(self.sizes),
            names=tuple(self.names),
            sizes=tuple(self.sizes[:MOST_PARTS]),
            shown=self.shown,
        )

    def read(self, data: object, count: int) -> list[Shown]:
        """What a REPL says that ``count`` texts have of the context."""
        unknown = [UNKNOWN] * count
        if self.sizes is None or not isinstance(data, bytes) or len(data) > 32 * MOST_ROWS:
            return unknown
        found: dict[int, list[Range]] = {}
        late: dict[int, int] = {}
        try:
            rows = unpack_ranges(data)
        except ValueError:
            return unknown
        for item, part, start, end in rows:
            if not 0 <= item < count:
                return unknown
            if part == UNPLACED:
                late[item] = late.get(item, 0) + max(0, start)
            elif self._has(part, start, end):
                found.setdefault(item, []).append((part, start, end))
            else:
                return unknown
        if any(len(ranges) > 2 * MOST_RANGES for ranges in found.values()):
            return unknown
        nothing = Shown(())
        return [
            Shown(tuple(found.get(i, ())), late.get(i, 0)) if i in found or i in late else nothing
            for i in range(count)
        ]

    def stretches(self, data: object, child: int, count: int) -> tuple[Stretch, ...] | None:
        """Where the context of a child of ``count`` stands in this one."""
        if self.sizes is None or not isinstance(data, bytes) or len(data) > 1 << 22:
            return None
        try:
            rows = unpack_ranges(data, 6)
        except ValueError:
            return None
        for number, of, place, part, start, end in rows:
            if not 0 <= number < count or of < 0 or place < 0 or not self._has(part, start, end):
                return None
        return tuple(row[1:] for row in rows if row[0] == child)  # type: ignore[misc]

    def part(self, part: object) -> tuple[Stretch, ...] | None:
        """The stretch of a child whose context is this part of a text: (start, length)."""
        if not isinstance(part, tuple) or len(part) != 2 or self.sizes is None:
            return None
        start, length = part
        if type(start) is not int or type(length) is not int or not self._has(0, start, start + length):
            return None
        return ((0, 0, 0, start, start + length),)

    def _has(self, part: int, start: int, end: int) -> bool:
        assert self.sizes is not None
        return 0 <= part < len(self.sizes) and 0 <= start < end <= self.sizes[part]


def with_stretches(shown: Shown, stretches: tuple[Stretch, ...] | None) -> Shown:
    """What a text and one that follows it have of the context."""
    if shown.ranges is None or stretches is None:
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


def _head_and_tail(size: int, head: int, tail: int) -> tuple[Range, ...]:
    """What contexts/text.py shows of a text."""
    if size <= head + tail:
        return ((0, 0, size),) if size and head else ()
    return tuple((0, start, end) for start, end in ((0, head), (size - tail, size)) if start < end)


def _names(keys: Iterable[object]) -> list[str]:
    """The keys of a mapping as text, as many as are short enough together."""
    names, room = list[str](), MOST_NAMES
    for key in keys:
        name = key if isinstance(key, str) else repr(key) if isinstance(key, int | float | tuple) else "?"
        names.append(name[:NAME])
        room -= len(names[-1])
        if room < 0:
            break
    return names


class Spans:
    """Ranges of parts, and the union of them."""

    def __init__(self) -> None:
        self._all: dict[int, list[tuple[int, int]]] = {}

    def add(self, ranges: Iterable[Range]) -> None:
        for part, start, end in ranges:
            self._all.setdefault(part, []).append((start, end))

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
        """Characters of the union."""
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


@dataclass(slots=True)
class _Node:
    """What one node has read: by cell, so that what a divergence has dropped can go."""

    started: ev.NodeStarted | None = None
    measured: ev.ContextMeasured | None = None
    asked_in: int = 0  # the cell of its parent
    last_cell: int = 0
    prints: dict[int, Shown] = field(default_factory=dict)
    calls: dict[int, list[Shown]] = field(default_factory=dict)


class CoverageBuilder:
    """Takes events one by one; :meth:`coverage` says what is known so far."""

    def __init__(self) -> None:
        self._nodes: dict[str, _Node] = {}
        self._cited: list[ev.Cited] = []
        self._root = ROOT

    def add(self, event: ev.Event) -> None:
        match event:
            case ev.NodeStarted():
                node = self._nodes.setdefault(event.node, _Node())
                node.started = event
                node.asked_in = self._nodes[event.parent].last_cell if event.parent in self._nodes else 0
            case ev.ContextMeasured():
                self._of(event.node).measured = event
                self._of(event.node).prints[0] = Shown(event.shown)
            case ev.CellStarted():
                self._of(event.node).last_cell = event.cell
            case ev.CellEnded():
                ranges = event.ranges if event.output else ()
                self._of(event.node).prints[event.cell] = Shown(ranges, event.unplaced)
            case ev.CallStarted():
                shown = Shown(event.ranges, event.unplaced)
                self._of(event.node).calls.setdefault(event.cell, []).append(shown)
            case ev.Cited():
                self._cited.append(event)
            case ev.Diverged():
                self._drop(event.node, event.cell)
            case ev.BranchesDecided():
                self._root = event.node or ROOT
            case _:
                return  # the others tell nothing of reading

    def _of(self, node: str) -> _Node:
        return self._nodes.setdefault(node, _Node())

    def _drop(self, name: str, cell: int) -> None:
        node = self._of(name)
        for kept in (node.prints, node.calls):
            for later in [number for number in kept if number > cell]:
                del kept[later]
        for child in self._children(name):
            if self._nodes[child].asked_in > cell:
                for below in [n for n in self._nodes if (n + ".").startswith(child + ".")]:
                    del self._nodes[below]

    def _children(self, name: str) -> list[str]:
        return [n for n, node in self._nodes.items() if node.started and node.started.parent == name]

    def coverage(self) -> Coverage:
        """Of the root's context, of several branches by the chosen one."""
        root = self._nodes.get(self._root)
        if root is None or root.measured is None:
            return Coverage()
        prints, calls = Spans(), Spans()
        unplaced = unknown = 0
        for shown in root.prints.values():
            unknown += shown.ranges is None
            unplaced += shown.unplaced
            prints.add(shown.ranges or ())
        for shown in (each for of_cell in root.calls.values() for each in of_cell):
            unknown += shown.ranges is None
            unplaced += shown.unplaced
            calls.add(shown.ranges or ())
        children = Spans()
        ranges, more_unplaced, more_unknown = self._by_children(self._root)
        children.add(ranges)
        return _told(root.measured, prints, calls, children, unplaced + more_unplaced, unknown + more_unknown)

    def citations(self) -> tuple[Citation, ...]:
        """The quotes of the root and its children."""
        below = self._root + "."
        found = [e for e in self._cited if e.node == self._root or e.node.startswith(below)]
        return tuple(
            dict.fromkeys(
                Citation(e.quote, e.source, e.offset, e.line, e.found, e.verified, e.node, e.via)
                for e in found
            )
        )

    def _by_children(self, name: str) -> tuple[list[Range], int, int]:
        """What the children of a node read of its context, and the characters and texts not placed."""
        found: list[Range] = []
        unplaced = unknown = 0
        for child in self._children(name):
            node = self._nodes[child]
            assert node.started is not None
            ranges, late, lost = self._by_children(child)
            texts = [*node.prints.values(), *(each for cell in node.calls.values() for each in cell)]
            for shown in texts:
                lost += shown.ranges is None
                late += shown.unplaced
                ranges += shown.ranges or ()
            if node.started.ranges is None:
                unknown += 1
            found += node.started.ranges or ()
            if node.started.stretches is None:
                unknown += len(texts)
            else:
                found += _mapped(ranges, node.started.stretches)
                unplaced, unknown = unplaced + late, unknown + (lost if node.started.stretches else 0)
        return found, unplaced, unknown


def _mapped(ranges: Iterable[Range], stretches: Sequence[Stretch]) -> list[Range]:
    """Ranges of a child's context as ranges of its parent's."""
    pieces: dict[int, list[Stretch]] = {}
    for stretch in stretches:
        pieces.setdefault(stretch[0], []).append(stretch)
    found: list[Range] = []
    for part, start, end in ranges:
        for _, at, home, first, last in pieces.get(part, ()):
            low, high = max(start, at), min(end, at + last - first)
            if low < high:
                found.append((home, first + low - at, first + high - at))
    return found


def _told(
    measured: ev.ContextMeasured, prints: Spans, calls: Spans, children: Spans, unplaced: int, unknown: int
) -> Coverage:
    every = Spans()
    for spans in (prints, calls, children):
        for part in spans.parts():
            every.add((part, start, end) for start, end, times in spans.counted(part) for _ in range(times))
    parts = [
        _part(measured, number, every)
        for number in sorted({*range(len(measured.sizes)), *every.parts()})
        if number < len(measured.sizes)
    ]
    read = every.size()
    return Coverage(
        share=share_of(read, measured.size),
        size=measured.size,
        read=read,
        by_prints=share_of(prints.size(), measured.size),
        by_sub_calls=share_of(calls.size(), measured.size),
        by_children=share_of(children.size(), measured.size),
        unplaced=unplaced,
        unknown=unknown,
        parts=tuple(parts),
        parts_in_all=measured.parts,
    )


def _part(measured: ev.ContextMeasured, number: int, every: Spans) -> PartCoverage:
    size, union = measured.sizes[number], every.union(number)
    return PartCoverage(
        number=number,
        name=measured.names[number] if number < len(measured.names) else None,
        size=size,
        share=share_of(sum(end - start for start, end in union), size),
        read=tuple(every.counted(number)),
        unread=tuple(unread(union, size)),
    )
