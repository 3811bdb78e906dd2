"""A document (.pdf, .docx, .pptx) as the text that is in it, made as far as it is read.

Contract: a :class:`Document` is a :class:`LazyText` of that text, with all that one can: positions, lines,
``grep``, chunks, citations. Where the document has pages or slides, each begins with a line of its own
(``=== page 3 ===``), :meth:`Document.page` is the text of one and :meth:`Document.page_of` tells on which one
a position is; where it has none, headings are lines with ``#`` and tables rows with ``|``. The text is in
memory once it was read, see :mod:`.extracted`. What cannot be read is :class:`Unreadable`.

>>> from .extracted import Spoken
>>> text = Document(Spoken(["one", "", "three"]), "talk.pptx")
>>> text.page_count, text.page(3), text.page_of(text.find("three")), text.grep("three")
(3, 'three', 3, ['page 3, line 5: three'])
>>> str(text)
'=== page 1 ===\\none\\n=== page 2 (no text) ===\\n=== page 3 ===\\nthree\\n'
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator

from .blocks import Blocks
from .extracted import LOCK, Extracted, Form
from .sniff import Unreadable
from .text import LazyText

BLOCK = 1 << 16  # bytes that are made at least, when any are: some twenty pages


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
        with LOCK:
            return self._form.count()

    def page(self, number: int) -> str:
        """The text of a page or a slide, from 1, without its heading."""
        self._check_paged()
        if not 1 <= number <= self.page_count:
            raise IndexError(f"there is no {self.unit} {number:,}: there are {self.page_count:,}, from 1")
        first, last = self._made.piece(number - 1)
        start, stop = self._blocks.char(first), self._blocks.char(last)
        text = self._take(start, stop)
        body = start + text.find("\n") + 1
        return self._give(body, start + len(text.rstrip("\n"))) if body < stop else ""

    def pages(self, start: int = 1, stop: int | None = None) -> Iterator[tuple[int, str]]:
        """(number, text) of the pages or slides, from number ``start`` to before ``stop``."""
        self._check_paged()
        end = self.page_count + 1
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

    def check_text(self) -> None:
        """Raises :class:`Unreadable` where all of it was read, and there was no text."""
        count, silent = self.ahead(0, 0)
        if self.size is None or silent < count:
            return
        if self.what == "a PDF":
            pages = "1 page" if count == 1 else f"{count:,} pages"
            raise Unreadable(
                f"{self.name} has {pages}, but no text: it is scanned. Have the text recognized "
                "first (ocrmypdf in.pdf out.pdf), and pass that"
            )
        raise Unreadable(f"{self.name} has no text in it: there is nothing to ask about")

    def last_page(self) -> str:
        """The last page or slide with its heading, without reading those before."""
        self._check_paged()
        return self._made.last()

    def outline(self) -> list[tuple[int, str, int]]:
        """The table of contents: (level, heading, page); of a PDF the one that it brings."""
        with LOCK:
            return self._form.outline()

    @property
    def info(self) -> dict[str, str]:
        """What the document says of itself: title, author, dates."""
        with LOCK:
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
        try:
            what, unit = self.what, self.unit
        except Unreadable as error:
            return f"<Document {error}>"
        paged = f", .page(n) from 1, .page_of(position), .page_count ({unit}s)" if unit else ""
        return (
            f"<Document {self.name}, {what}: [a:b] is a str, .lines(), .find(), grep(pattern), "
            f"chunks(context, size){paged}>"
        )
