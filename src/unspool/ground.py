"""The context of a node as coverage sees it: its parts, their sizes, and what texts have of them.

Contract: :class:`Ground` turns what a REPL says was read into ranges; where one of them is no range of the
context, all of that is unknown. A REPL that lies can only make its own coverage wrong. Texts in memory are
measured in characters, a context with files in bytes: how many a file has is known without reading it. Of a
packed file it is not: its size is None until the REPL says that it was read to its end.

>>> import struct
>>> ground = Ground.of("some text of 26 characters")
>>> ground.read(struct.pack("<4q", 0, 0, 5, 9), 2)
[Shown(ranges=((0, 5, 9),), unplaced=0), Shown(ranges=(), unplaced=0)]
>>> ground.read(struct.pack("<4q", 0, 0, 5, 99), 1)
[Shown(ranges=None, unplaced=0)]
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from . import events as ev
from .contexts.parts import Parts, parts_in_files
from .ranges import IDENTITY, UNKNOWN, Shown, Spans, Stretch
from .reach.marks import MEASURED, MOST_RANGES, MOST_ROWS, UNPLACED, WHOLE, parts_of, unpack_ranges
from .reach.sizes import NO_TEXT
from .reading import Range
from .types import TextPart

MOST_PARTS = 1_000  # of a context whose names and sizes are told
MOST_NAMES = 32_000  # characters of all names that are told
NAME = 200  # characters of one


class Ground:
    """See the module docstring. ``parts`` is None where the context is neither text nor files of text."""

    def __init__(self, parts: Parts | None, *, in_bytes: bool = False) -> None:
        self._parts = parts
        self.sizes: list[int | None] | None = None if parts is None or parts.why else list(parts.sizes)
        self.no_text = set[int]() if parts is None else set(parts.no_text)
        self.in_bytes = in_bytes
        self._told: ev.ContextMeasured | None = None

    @classmethod
    def of(cls, context: object, head: int = 0, tail: int = 0) -> Ground:
        """``head`` and ``tail``: what the description shows of a text in memory."""
        if isinstance(context, str | TextPart):
            return cls(Parts((len(context),), shown=_head_and_tail(len(context), head, tail)))
        texts = parts_of(context)
        if texts is None:
            return cls(parts_in_files(context), in_bytes=True)
        keys = list(context)[:MOST_PARTS] if isinstance(context, dict) else ()
        return cls(Parts(tuple(map(len, texts)), _names(keys)))

    @property
    def shown(self) -> tuple[Range, ...]:
        """What the description shows."""
        return () if self._parts is None else self._parts.shown

    @property
    def all_shown(self) -> bool:
        """Whether the description shows all of it."""
        spans = Spans()
        spans.add(self.shown)
        return not self.no_text and self.size == spans.size()

    @property
    def names(self) -> tuple[str, ...]:
        return () if self._parts is None else self._parts.names

    @property
    def size(self) -> int | None:
        """Of all parts that are text; None where that of one is not known."""
        if self.sizes is None:
            return None
        known = [size for part, size in enumerate(self.sizes) if part not in self.no_text]
        return None if None in known else sum(size for size in known if size is not None)

    def measured(self, node: str) -> ev.ContextMeasured | None:
        """The event that tells of it, where that is news."""
        if self._parts is None:
            return None
        sizes = self.sizes or ()
        told = ev.ContextMeasured(
            node=node,
            size=self.size,
            parts=len(sizes),
            names=_names(self.names[:MOST_PARTS]),
            sizes=tuple(sizes[:MOST_PARTS]),
            shown=self.shown,
            in_bytes=self.in_bytes,
            no_text=tuple(sorted(part for part in self.no_text if part < MOST_PARTS)),
            why=self._parts.why,
        )
        if told == self._told:
            return None
        self._told = replace(told)  # a log numbers the one that it is given
        return told

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
            if item == MEASURED:
                self._measure(part, start)
            elif not 0 <= item < count:
                return unknown
            elif part == UNPLACED:
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

    def _measure(self, part: int, size: int) -> None:
        """A REPL says how large a part is that it has read to its end, or that it is no text."""
        assert self.sizes is not None
        if self.in_bytes and 0 <= part < len(self.sizes):
            if size == NO_TEXT:
                self.no_text.add(part)
            elif 0 <= size < WHOLE:
                self.sizes[part] = size
                self.no_text.discard(part)

    def learn(self, other: Ground) -> None:
        """What another one of the same context has been told of its sizes."""
        self.sizes = None if other.sizes is None else list(other.sizes)
        self.no_text = set(other.no_text)

    def stretches(self, data: object, child: int, count: int) -> tuple[Stretch, ...] | None:
        """Where the context of a child of ``count`` stands in this one."""
        if self.sizes is None or not isinstance(data, bytes) or len(data) > 1 << 22:
            return None
        try:
            rows = unpack_ranges(data, 6)
        except ValueError:
            return None
        found: list[Stretch] = []
        for number, of, place, part, start, end in rows:
            row = of, place, part, start, end
            if row != IDENTITY:
                if of < 0 or place < 0 or not 0 <= part < len(self.sizes):
                    return None
                size = self.sizes[part]
                end = size if end == WHOLE and size is not None else end
                if end == start:  # an empty file
                    continue
                row = of, place, part, start, end
            if not 0 <= number < count or (row != IDENTITY and not self._has(part, start, end)):
                return None
            if number == child:
                found.append(row)
        return tuple(found)

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
        if not 0 <= part < len(self.sizes) or not 0 <= start < end < 1 << 62:
            return False
        size = self.sizes[part]
        return size is None or end <= size


def _head_and_tail(size: int, head: int, tail: int) -> tuple[Range, ...]:
    """What contexts/text.py shows of a text."""
    if size <= head + tail:
        return ((0, 0, size),) if size and head else ()
    return tuple((0, start, end) for start, end in ((0, head), (size - tail, size)) if start < end)


def _names(keys: Iterable[object]) -> tuple[str, ...]:
    """The keys of a mapping as text, as many as are short enough together."""
    names, room = list[str](), MOST_NAMES
    for key in keys:
        name = key if isinstance(key, str) else repr(key) if isinstance(key, int | float | tuple) else "?"
        names.append(name[:NAME])
        room -= len(names[-1])
        if room < 0:
            break
    return tuple(names)
