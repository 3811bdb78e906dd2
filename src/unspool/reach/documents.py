"""A document (.pdf, .docx, .pptx) as the text that is in it, made as far as it is read.

Contract: a :class:`Document` is a :class:`LazyText` of that text, with all that one can: positions, lines,
``grep``, chunks, citations. Where the document has pages or slides, each begins with a line of its own
(``=== page 3 ===``), :meth:`Document.page` is the text of one and :meth:`Document.page_of` tells on which one
a position is; where it has none, headings are lines with ``#`` and tables rows with ``|``. The text is in
memory once it was read, at most :data:`MOST_TEXT` bytes of it. What cannot be read is :class:`Unreadable`.

>>> text = Document(Spoken(["one", "", "three"]), "talk.pptx")
>>> text.page_count, text.page(3), text.page_of(text.find("three")), text.grep("three")
(3, 'three', 3, ['page 3, line 5: three'])
>>> str(text)
'=== page 1 ===\\none\\n=== page 2 (no text) ===\\n=== page 3 ===\\nthree\\n'
"""

from __future__ import annotations

import bisect
import itertools
import re
import threading
from collections.abc import Iterator, Sequence
from typing import Protocol

from .blocks import Blocks
from .sizes import sized
from .sniff import Unreadable
from .text import LazyText

MOST_TEXT = 256 << 20  # bytes of the text of one document: what makes more of itself is a trap
BLOCK = 1 << 16  # bytes that are made at least, when any are: some twenty pages
_SILENT = re.compile(r"=== \w+ \d+ \([^)]*\) ===\n")  # a page of which there is nothing but the heading


class Form(Protocol):
    """What a kind of document is read by."""

    @property
    def what(self) -> str:
        """A PDF, …"""

    @property
    def unit(self) -> str:
        """What its pieces are called: page, slide; "" where they are none."""

    def count(self) -> int:
        """How many pages or slides there are."""

    def pieces(self, start: int) -> Iterator[str]:
        """Its text from that piece on; a page or a slide is one piece, its heading the first line."""

    def info(self) -> dict[str, str]:
        """What it says of itself: title, author, …"""

    def outline(self) -> list[tuple[int, str, int]]:
        """Its table of contents: level, heading, page."""


class Spoken:
    """Pages that are in memory after all."""

    what, unit = "a list of pages", "page"

    def __init__(self, pages: Sequence[str]) -> None:
        self._pages = pages

    def count(self) -> int:
        return len(self._pages)

    def pieces(self, start: int) -> Iterator[str]:
        for number, text in enumerate(self._pages[start:], start + 1):
            yield headed(self.unit, number, text)

    def info(self) -> dict[str, str]:
        return {}

    def outline(self) -> list[tuple[int, str, int]]:
        return []


def headed(unit: str, number: int, text: str, title: str = "", note: str = "") -> str:
    """A page or slide as a piece: its heading, its text.

    >>> headed("slide", 2, "a line", "Results")
    '=== slide 2: Results ===\\na line\\n'
    """
    text = text.strip("\n")
    note = note or ("" if text or title else "no text")
    heading = f"=== {unit} {number}{f': {title}' if title else ''}{f' ({note})' if note else ''} ===\n"
    return f"{heading}{text}\n" if text else heading


class Extracted:
    """The text of a document as bytes, piece by piece as it is read."""

    def __init__(self, form: Form, name: str) -> None:
        self.name = name
        self.complete = False
        self.silent = 0  # pieces that have no text
        self._form = form
        self._pieces: list[bytes] = []
        self._starts = [0]  # of each piece, and the end of the last one
        self._coming: Iterator[str] | None = None
        self._lock = threading.RLock()

    @property
    def size(self) -> int | None:
        return self._starts[-1] if self.complete else None

    def read(self, at: int, size: int) -> bytes:
        with self._lock:
            while self._starts[-1] < at + size and self._more():
                pass
        first = max(0, bisect.bisect_right(self._starts, at) - 1)
        last = bisect.bisect_left(self._starts, at + size)
        joined = b"".join(self._pieces[first:last])
        at -= self._starts[first]
        return joined[at : at + size]

    def piece(self, number: int) -> tuple[int, int]:
        """Where a piece begins and ends, in bytes."""
        with self._lock:
            while len(self._pieces) <= number and self._more():
                pass
        return self._starts[number], self._starts[number + 1]

    def ahead(self, most: int, pieces: int) -> int:
        """Reads on, as long as there are fewer bytes and pieces than these; how many pieces there are."""
        with self._lock:
            while self._starts[-1] < most and len(self._pieces) < pieces and self._more():
                pass
            return len(self._pieces)

    def piece_at(self, byte: int) -> int:
        """The piece in which a byte is that was read."""
        return min(bisect.bisect_right(self._starts, byte), len(self._pieces)) - 1

    def _more(self) -> bool:
        """Makes one more piece; whether there was one."""
        if self.complete:
            return False
        if self._coming is None:
            self._coming = self._form.pieces(len(self._pieces))
        try:
            piece = next(self._coming, None)
        except BaseException:  # an interrupt, too, ends a generator: the next one goes on where it was
            self._coming = None
            raise
        if piece is None:
            self.complete, self._coming = True, None
            return False
        self.silent += _SILENT.fullmatch(piece) is not None
        data = piece.encode("utf-8", "replace")
        if self._starts[-1] + len(data) > MOST_TEXT:
            raise Unreadable(
                f"{self.name} has more than {sized(MOST_TEXT)} of text: it is a trap, or to be split"
            )
        self._pieces.append(data)
        self._starts.append(self._starts[-1] + len(data))
        return True


class Document(LazyText):
    """See the module docstring."""

    __slots__ = ("_form", "_made", "_whole")

    def __init__(
        self,
        form: Form,
        name: str,
        *,
        number: int | None = None,
        entry: tuple[str, int] | None = None,
    ) -> None:
        """``number``: which part of the context it is, if any; ``entry``: as of a LazyText."""
        self._form, self._whole = form, entry
        self._made = Extracted(form, name)
        super().__init__(Blocks(self._made, size=BLOCK, number=number), name)

    # Pages

    @property
    def unit(self) -> str:
        """What its pages are called: page, slide, or nothing."""
        return self._form.unit

    @property
    def what(self) -> str:
        return self._form.what

    @property
    def page_count(self) -> int:
        """How many pages or slides it has."""
        self._check_paged()
        return self._form.count()

    def page(self, number: int) -> str:
        """The text of a page or a slide, from 1, without its heading."""
        self._check_paged()
        if not 1 <= number <= self._form.count():
            raise IndexError(f"there is no {self.unit} {number:,}: there are {self._form.count():,}, from 1")
        first, last = self._made.piece(number - 1)
        start, stop = self._blocks.char(first), self._blocks.char(last)
        text = self._take(start, stop)
        body = start + text.find("\n") + 1
        return self._give(body, start + len(text.rstrip("\n"))) if body < stop else ""

    def pages(self, start: int = 1, stop: int | None = None) -> Iterator[tuple[int, str]]:
        """(number, text) of the pages or slides, from number ``start`` to before ``stop``."""
        self._check_paged()
        end = self._form.count() + 1
        return ((n, self.page(n)) for n in range(max(1, start), end if stop is None else min(stop, end)))

    def page_of(self, position: int) -> int:
        """The number of the page or slide of a position."""
        self._check_paged()
        if position < 0:
            position += len(self)
        return self._made.piece_at(self._blocks.byte(position)) + 1

    def ahead(self, most: int, pieces: int) -> tuple[int, int]:
        """Reads on, as far as fewer bytes and pages than these are read: of how many, and of how many of
        them without text, that has made the text."""
        return self._made.ahead(most, pieces), self._made.silent

    def last_page(self) -> str:
        """The last page or slide with its heading, without reading those before."""
        self._check_paged()
        return next(self._form.pieces(self._form.count() - 1), "")

    def outline(self) -> list[tuple[int, str, int]]:
        """The table of contents: (level, heading, page); of a PDF the one that it brings."""
        return self._form.outline()

    @property
    def info(self) -> dict[str, str]:
        """What the document says of itself: title, author, dates."""
        return self._form.info()

    def _check_paged(self) -> None:
        if not self.unit:
            raise TypeError(
                f"{self.name} has no pages: its headings are lines with #, as grep('^#') finds them"
            )

    def page_name(self, position: int) -> str:
        """The page or slide of a position in words; "" where there are none."""
        return f"{self.unit} {self.page_of(position)}" if self.unit else ""

    # As a LazyText

    def _hits_told(self, pattern: str | re.Pattern[str], flags: int = 0) -> Iterator[str]:
        for number, line in self.hits(pattern, flags):
            page = self.page_name(self._blocks.line_start(number) or 0)
            yield f"{page}, line {number}: {line}" if page else f"{number}: {line}"

    def __unspool_hits__(self, pattern: re.Pattern[str]) -> Iterator[str]:
        return self._hits_told(pattern)

    def grep(self, pattern: str | re.Pattern[str], limit: int = 50, flags: int = 0) -> list[str]:
        """The lines with a match: ``page 3, line 120: text``; where there are no pages ``number: line``."""
        return list(itertools.islice(self._hits_told(pattern, flags), limit))

    def __unspool_part__(self) -> tuple[str, int, int, int, int] | None:
        """For a child: all of it; what is cut out of it travels as a text."""
        return None if self._whole is None else (*self._whole, 0, -1, 1)

    def __repr__(self) -> str:
        paged = f", .page(n) from 1, .page_of(position), .page_count ({self.unit}s)" if self.unit else ""
        return (
            f"<Document {self.name}, {self.what}: [a:b] is a str, .lines(), .find(), grep(pattern), "
            f"chunks(context, size){paged}>"
        )
