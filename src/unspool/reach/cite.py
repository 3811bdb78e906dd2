"""``cite(quote)`` in the REPL: where a passage stands in the context, to the character.

Contract: a quote is found as it is written or not at all; white space and case count. The value says where:
``source`` (the key or number of a part, and the page of a document; None for a single text), ``offset`` in
characters, ``line`` from 1. A quote that is not there gives a value that is false, whose ``hint`` shows the
line that is nearest.

>>> place = cite("two tw", "one\\ntwo two\\n")
>>> place, place.offset, place.line, bool(place)
('two tw' (line 2), 4, 2, True)
>>> cite("Two two", {"a.txt": "one\\ntwo two\\n"}).hint
"nearest is a.txt, line 2: 'two two'"
"""

from __future__ import annotations

import bisect
import difflib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol, cast

SHOWN = 60  # characters of a quote that its repr shows
NEAR = 5_000_000  # characters of a text in which a nearest line is looked for
MOST_LINES = 2_000  # that are compared with a quote


@dataclass(frozen=True, slots=True)
class Citation:
    """Where a quote stands in the context; false where it does not."""

    quote: str
    source: str | None = None
    offset: int | None = None
    line: int | None = None
    hint: str = field(default="", repr=False)
    part: int = field(default=0, repr=False)
    place: tuple[int, int, int] | None = field(default=None, repr=False)  # in files: the part, and its bytes

    def __bool__(self) -> bool:
        return self.offset is not None

    def __repr__(self) -> str:
        quote = self.quote if len(self.quote) <= SHOWN else self.quote[: SHOWN - 1] + "…"
        if not self:
            return f"{quote!r} (not in the context{'; ' + self.hint if self.hint else ''})"
        where = f"line {self.line}" if self.source is None else f"{self.source}, line {self.line}"
        return f"{quote!r} ({where})"


class Text(Protocol):
    """A ``str``, or one that is not in memory (``text.py``)."""

    def __len__(self) -> int: ...

    def find(self, sub: str, /) -> int: ...


class Lines:
    """Line numbers of places in a text, each counted from the nearest that is known."""

    def __init__(self, text: Text) -> None:
        self._text = text
        self._known = [(0, 1)]

    def of(self, offset: int) -> int:
        if not isinstance(self._text, str):
            return cast(int, self._text.line_of(offset))  # type: ignore[attr-defined]
        place = bisect.bisect_right(self._known, (offset, 1 << 62)) - 1
        start, line = self._known[place]
        line += self._text.count("\n", start, offset)
        if len(self._known) < 10_000:
            self._known.insert(place + 1, (offset, line))
        return line


def _is_text(value: object) -> bool:
    return isinstance(value, str) or (hasattr(type(value), "__unspool_text__") and hasattr(value, "line_of"))


def texts_of(context: object) -> Iterator[tuple[int, str | None, Text]]:
    """The texts in a context: number, name, text; those of a list, a mapping or a folder one by one."""
    if _is_text(context):
        yield 0, None, cast(Text, context)
    elif hasattr(type(context), "__unspool_text__") and hasattr(context, "texts"):  # files
        for number, (path, text) in enumerate(context.texts()):
            yield number, path, text
    elif isinstance(context, Mapping | list | tuple):
        pairs = context.items() if isinstance(context, Mapping) else enumerate(context)
        for number, (name, value) in enumerate(pairs):
            if _is_text(value):
                yield number, str(name), cast(Text, value)


def cite(quote: str, context: object, lines: dict[int, Lines] | None = None) -> Citation:
    """See the module docstring. ``lines`` remembers between calls what was counted."""
    known = {} if lines is None else lines
    for number, name, text in texts_of(context):
        offset = text.find(quote)
        if offset >= 0:
            line = known.setdefault(number, Lines(text)).of(offset)
            place = None if isinstance(text, str) else _bytes_of(text, offset, len(quote))
            page = getattr(text, "page_name", lambda _: "")(offset)  # of a document
            source = ", ".join(filter(None, (name, page))) or None
            return Citation(quote, source, offset, line, part=number, place=place)
    return Citation(quote, hint=_nearest(quote, context))


def _bytes_of(text: Text, offset: int, size: int) -> tuple[int, int, int] | None:
    """Where a quote stands in a file, as its coverage counts."""
    number: int | None = getattr(text, "number", None)
    if number is None:
        return None
    return number, text.byte(offset), text.byte(offset + size)  # type: ignore[attr-defined]


def _nearest(quote: str, context: object) -> str:
    """The line most like the quote, in words; nothing where none is like it."""
    best, told = 0.55, ""  # of 1; below it a likeness is chance
    room = NEAR
    words = sorted({word for word in quote.casefold().split() if len(word) > 3}, key=len)[-5:]
    wanted = " ".join(quote.split()).casefold()[:500]
    compared = 0
    for _, name, text in texts_of(context):
        if not isinstance(text, str):
            continue
        room -= len(text)
        if room < 0 or compared > MOST_LINES:
            break
        for number, line in enumerate(text.split("\n"), 1):
            bare = line.casefold()
            if words and not any(word in bare for word in words):
                continue
            compared += 1
            if compared > MOST_LINES:
                break
            like = _likeness(wanted, " ".join(bare.split())[:2_000])
            if like > best:
                where = f"line {number}" if name is None else f"{name}, line {number}"
                best, told = like, f"nearest is {where}: {line.strip()[:200]!r}"
    return told


def _likeness(quote: str, line: str) -> float:
    """How much of the quote stands in the line, in order; 1 is all."""
    if not quote:
        return 0.0
    blocks: Sequence[difflib.Match] = difflib.SequenceMatcher(None, quote, line, False).get_matching_blocks()
    return sum(block.size for block in blocks if block.size > 2 or block.size == len(quote)) / len(quote)
