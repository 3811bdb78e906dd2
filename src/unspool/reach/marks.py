"""Which ranges of the context a model was shown: what cells print and what sub-calls are given, traced in
the worker, which has the context.

Contract: a context of text (:func:`parts_of`) is traced, and one with texts in files; another one is not, and
then all is unknown. A *part* is the text itself (0), or an item of a list or a value of a dict, by its
number; in a mapping with files the texts in memory come first, then each file. Positions are characters of
the part, of one in a file bytes. White space next to what was read counts as read. Tracing never takes longer
than :data:`GRACE` and :data:`SHARE` of a cell's time and a little for each prompt; what there was no time for
is told as so many characters, never left out. See :mod:`.places` and :mod:`.file_marks` for how a text is
found.

Ranges travel as bytes: (item, part, start, end), eight bytes a number; part -1: so many characters
(``start``) of the item were not looked at; item -2: the part has ``start`` bytes, which was not known, or is
no text (:data:`.sizes.NO_TEXT`). Of what children are given: (child, its part, place there, part, start,
end), part -1 for all of it.

>>> marks = Marks(["the first of two texts, with a few words", "and another one, which nobody has read yet"])
>>> marks.cell_began()
>>> unpack_ranges(marks.prompts(["Say in one word: the first of two texts, with a few words"]))
[(0, 0, 0, 40)]
"""

from __future__ import annotations

import bisect
import itertools
import struct
from collections.abc import Iterable, Iterator, Sequence
from time import perf_counter, thread_time

from .cite import Citation, Lines, cite, texts_of
from .file_marks import FileMarks, Found
from .files import Files
from .handed import HANDED
from .places import Places
from .short_lines import SHORT_LINE, Piece
from .spaces import with_space
from .text import LazyText

GRACE = 0.05  # seconds of processor time in a cell
PRINT_GRACE = 0.02  # of those for what it printed, whatever else it did
SHARE = 0.05  # of the cell's time so far
EACH = 40e-6  # seconds more for each prompt
MOST_RANGES = 1_000  # of one text, the longest
MOST_ROWS = 200_000  # of one batch
MOST_JOINED = 1 << 25  # characters of all parts of a context of several
UNPLACED = ALL = -1
MEASURED = -2
MOST_STEPS = 500  # pieces in which a text that is not all ASCII is laid beside its bytes
WHOLE = (1 << 62) - 1  # the end of a file of which the size is not known
_ESCAPES = (("\\n", "\n"), ("\\t", "\t"), ("\\r", "\r"), ("\\'", "'"), ("\\\\", "\\"))  # of a repr
_ROW, _CHILD_ROW = struct.Struct("<4q"), struct.Struct("<6q")


def parts_of(context: object) -> list[str] | None:
    """The texts that a context is made of; None where it is not made of text."""
    if isinstance(context, str):
        return [context]
    if not isinstance(context, list | tuple | dict):
        return None
    texts = [text for text in (context.values() if isinstance(context, dict) else context)
             if isinstance(text, str)]  # fmt: skip
    return texts if texts and len(texts) == len(context) else None


def unpack_ranges(data: bytes, size: int = 4) -> list[tuple[int, ...]]:
    """What :class:`Marks` has packed; ``size`` numbers each. Raises ``ValueError`` for other bytes."""
    try:
        return list(struct.Struct(f"<{size}q").iter_unpack(data))
    except struct.error:
        raise ValueError("ranges are malformed") from None


class Marks:
    """What one REPL has shown of its context."""

    def __init__(self, context: object) -> None:
        self.context = context
        self._places: Places | None = None
        self._starts: list[int] = []  # of each part in the text of all
        self._sizes: list[int] = []
        self._is_text: bool | None = None  # None: nobody has asked yet
        self._lines: dict[int, Lines] = {}
        self._began = self._spent = 0.0
        self._prompts = 0
        self._files = FileMarks(HANDED) if any(map(_is_file, _values(context))) else None
        self._cell_died = False

    def cell_began(self, source: str = "") -> None:
        self._began, self._spent, self._prompts = perf_counter(), 0.0, 0
        self._cell_died = False
        if self._files is not None:
            self._files.cell_began(source)

    def cell_died(self) -> None:
        """What it was handed of files died with it."""
        self._cell_died = True

    @property
    def _is_known(self) -> bool:
        """Whether it can be told what texts have of the context."""
        return not (self._cell_died and self._files) and (self._home() is not None or self._files is not None)

    def _home(self) -> Places | None:
        """All parts as one text, made when it is first needed."""
        if self._is_text is None:
            self._is_text = False  # stays so where memory does not suffice
            texts = parts_of(self.context)
            if self._files is not None:
                texts = [value for value in _values(self.context) if isinstance(value, str)]
            single = isinstance(self.context, str)
            self._is_text = bool(texts) and (single or sum(map(len, texts or ())) <= MOST_JOINED)
            if texts and self._is_text:
                self._sizes = list(map(len, texts))
                self._starts = [0, *itertools.accumulate(size + 1 for size in self._sizes)][:-1]
                self._places = Places(texts[0] if single else "\n".join(texts))
        return self._places

    def made(self, text: object, starts: Iterable[int]) -> None:
        """Pieces of a text were handed out that begin at these places."""
        if isinstance(text, str) and text is self.context and (home := self._home()) is not None:
            home.hand_out(starts)
        elif isinstance(text, str) and self._files is not None:
            self._files.cut(text, list(starts))

    def printed(self, text: str) -> bytes | None:
        """The ranges in what a cell printed, as it is shown; None where the context is no text."""
        if not text:
            return self._news()
        if not self._is_known:
            return None
        if len(text) < SHORT_LINE and self._files is None:
            return self._news()
        shown = [text]
        if any(escape in text for escape, _ in _ESCAPES[:3]):  # the repr of a text, or of a list of them
            told = text
            for escape, character in _ESCAPES:
                told = told.replace(escape, character)
            home = self._home()
            shown = [told, text] if home is not None and "\\" in home.home else [told]
        rows = [
            row
            for variant in shown
            for row in self._rows(0, variant, max(PRINT_GRACE, self._time_left()), SHORT_LINE)
        ]
        return self._news() + b"".join(_ROW.pack(*row) for row in rows)

    def _news(self) -> bytes:
        """The sizes of files that came to be known."""
        if self._files is None:
            return b""
        return b"".join(_ROW.pack(MEASURED, part, size, 0) for part, size in HANDED.take_news().items())

    def prompts(self, texts: Sequence[str]) -> bytes | None:
        """The ranges in each of the texts of a batch."""
        if not self._is_known:
            return None
        self._prompts += len(texts)
        rows: list[bytes] = []
        for item, text in enumerate(texts):
            left = self._time_left() if len(rows) < MOST_ROWS // 2 else 0.0
            rows += [_ROW.pack(*row) for row in self._rows(item, text, left)]
        return self._news() + b"".join(rows)

    def children(self, contexts: Sequence[object]) -> bytes | None:
        """What the contexts of children have of this one."""
        if not self._is_known:
            return None
        rows: list[bytes] = []
        for child, context in enumerate(contexts):
            if context is self.context:
                rows += [_CHILD_ROW.pack(child, *row) for row in self._all()]
                continue
            texts, files = _texts_and_files(context)
            self._prompts += len(texts)
            there = [row for value in files for row in _numbers(value)]
            rows += [_CHILD_ROW.pack(child, len(texts) + n, *row) for n, row in enumerate(there)]
            for number, text in enumerate(texts):
                rows += [_CHILD_ROW.pack(child, number, *row) for row in self._in_child(text)]
        return b"".join(rows)

    def _all(self) -> list[tuple[int, int, int, int, int]]:
        """Each part as it is."""
        if self._files is not None or len(self._sizes) > MOST_RANGES:
            return [(ALL, 0, ALL, 0, 0)]
        return [(n, 0, n, 0, size) for n, size in enumerate(self._sizes) if size]

    def _in_child(self, text: str) -> Iterator[tuple[int, int, int, int]]:
        """Where a text of a child's context stands: (place in it, part, start, end)."""
        if (home := self._home()) is not None:
            pieces, _ = self._found(home, text, self._time_left())
            for at, start, size in pieces[:MOST_RANGES]:
                for part, first, last in self._in_parts(start, start + size):
                    yield at + self._starts[part] + first - start, part, first, last
        if self._files is not None:
            found, _ = self._found_in_files(text, self._time_left(), spaced=False)
            for at, size, part, first, last in found[:MOST_RANGES]:
                if last - first == size:
                    yield at, part, first, last
                else:
                    yield from self._beside(text[at : at + size], at, part, first)

    def _beside(self, text: str, at: int, part: int, first: int) -> Iterator[tuple[int, int, int, int]]:
        """A text beside its bytes, which are more, in short steps."""
        assert self._files is not None
        step = max(1, len(text) // MOST_STEPS)
        for start in range(0, len(text), step):
            size = len(self._files.encoded(part, text[start : start + step]))
            for shift in range(0, size, step):
                yield at + start, part, first + shift, first + min(shift + step, size)
            first += size

    def cite(self, quote: str) -> Citation:
        """Where a passage stands. Raises ``TypeError`` where there is no text."""
        if next(texts_of(self.context), None) is None:
            raise TypeError(f"cite finds passages of text; the context is a {type(self.context).__name__}")
        return cite(quote, self.context, self._lines)

    def _time_left(self) -> float:
        since = perf_counter() - self._began
        return GRACE + SHARE * since + EACH * self._prompts - self._spent

    def _found(self, home: Places, text: str, seconds: float, whole: int = 1) -> tuple[list[Piece], int]:
        begun = thread_time()
        found = home.find(text, seconds, whole)
        self._spent += thread_time() - begun
        return found

    def _found_in_files(
        self, text: str, seconds: float, whole: int = 1, *, spaced: bool = True
    ) -> tuple[list[Found], int]:
        assert self._files is not None
        begun = thread_time()
        found = self._files.find(text, seconds, whole, spaced=spaced)
        self._spent += thread_time() - begun
        return found

    def _rows(self, item: int, text: str, seconds: float, whole: int = 1) -> list[tuple[int, int, int, int]]:
        rows: list[tuple[int, int, int, int]] = []
        late = 0
        if (home := self._home()) is not None:
            pieces, late = self._found(home, text, seconds, whole)
            rows += [
                (item, part, first, last)
                for _, start, size in pieces
                for part, first, last in self._in_parts(*with_space(home.home, start, start + size))
            ]
        if self._files is not None:
            found, more = self._found_in_files(text, seconds, whole)
            rows += [(item, part, first, last) for _, _, part, first, last in found]
            late = more if home is None else min(late, more)
        if len(rows) > MOST_RANGES:
            rows = sorted(rows, key=lambda row: row[2] - row[3])[:MOST_RANGES]
        return [*rows, (item, UNPLACED, late, 0)] if late else rows

    def _in_parts(self, start: int, end: int) -> Iterator[tuple[int, int, int]]:
        """A range of the text of all parts as ranges of parts."""
        number = bisect.bisect_right(self._starts, start) - 1
        while number < len(self._starts) and self._starts[number] < end:
            base = self._starts[number]
            first, last = max(0, start - base), min(self._sizes[number], end - base)
            if first < last:
                yield number, first, last
            number += 1


def _values(context: object) -> Iterable[object]:
    """What a context is made of, at its top."""
    if isinstance(context, list | tuple):
        return context
    return context.values() if isinstance(context, dict) else (context,)


def _is_file(value: object) -> bool:
    return isinstance(value, LazyText | Files) and value.number is not None


def _texts_and_files(context: object) -> tuple[list[str], list[LazyText | Files]]:
    """The texts of a context that are in memory, or travel as such, and what is in files."""
    texts, files = parts_of(context) or [], list[LazyText | Files]()
    if not texts:
        for value in _values(context):
            if isinstance(value, LazyText | Files) and value.__unspool_part__() is not None:
                files.append(value)
        if files:
            texts = [value for value in _values(context) if isinstance(value, str)]
        elif isinstance(context, LazyText) and context.is_small():
            texts = [str(context)]
    return texts, files


def _numbers(value: LazyText | Files) -> Iterator[tuple[int, int, int, int]]:
    """Of what is in files, for a child: (place in its part, part, start, end) for each part that it is."""
    if value.number is None:
        return
    if isinstance(value, LazyText):
        first, size = value.byte(0), value.size
        yield 0, value.number, first, WHOLE if size is None else first + size
        return
    for number in range(value.number, value.number + len(value)):
        yield 0, number, 0, WHOLE
