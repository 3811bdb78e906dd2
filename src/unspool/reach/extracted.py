"""The text of a document as bytes, made piece by piece as far as it is read.

Contract: a :class:`Form` knows one kind of document and gives its pieces (pages, slides, some paragraphs)
from any of them on. :class:`Extracted` is the bytes of all of them. Where a piece stands is kept; the text
itself is in memory for those documents that were read last, :data:`KEPT` bytes of them, and made anew for
others: a folder may have thousands. What could not be read is not tried again: a trap takes long. Documents
are read by one thread at a time: PDFium takes no more.

>>> text = Extracted(Spoken(["one", "", "three"]), "talk.pptx")
>>> text.read(0, 20), text.size, text.read(19, 1000), text.size, text.silent
(b'=== page 1 ===\\none\\n=', None, b'=== page 2 (no text) ===\\n=== page 3 ===\\nthree\\n', 65, 1)
"""

from __future__ import annotations

import bisect
import re
import threading
from collections import OrderedDict
from collections.abc import Callable, Iterator, Sequence
from typing import Protocol, TypeVar

from .refusals import Refusals
from .sizes import sized
from .sniff import Unreadable

MOST_TEXT = 256 << 20  # bytes of the text of one document: what makes more of itself is a trap
KEPT = 64 << 20  # bytes of text of all documents but the one that is read
LOCK = threading.RLock()
_SILENT = re.compile(rb"=== \w+ \d+ \([^)]*\) ===\n")  # a page of which there is nothing but the heading


T = TypeVar("T")


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


def no_room(name: str) -> str:
    """Why a document is not read that takes too much memory; another time there may be more."""
    return (
        f"{name} does not fit into the memory limit of the REPL (cell_memory): split it, or save it as text"
    )


class Extracted:
    """See the module docstring."""

    def __init__(self, form: Form, name: str) -> None:
        self.name = name
        self.complete = False
        self.silent = 0  # pieces that have no text
        self._form = form
        self._pieces: list[bytes] = []  # from the first one on, as far as they are in memory
        self._starts = [0]  # of each piece that was ever made, and the end of the last one
        self._coming: Iterator[str] | None = None
        self._refusals = Refusals()  # by piece

    @property
    def size(self) -> int | None:
        return self._starts[-1] if self.complete else None

    @property
    def held(self) -> int:
        """Bytes in memory, all of them from the first one on."""
        return self._starts[min(len(self._pieces), len(self._starts) - 1)]

    def read(self, at: int, size: int) -> bytes:
        with LOCK:
            while self.held < at + size and self._more():
                pass
            first = max(0, bisect.bisect_right(self._starts, at) - 1)
            last = bisect.bisect_left(self._starts, at + size)
            joined = b"".join(self._pieces[first:last])
            at -= self._starts[first]
            return joined[at : at + size]

    def piece(self, number: int) -> tuple[int, int]:
        """Where a piece begins and ends, in bytes."""
        with LOCK:
            while len(self._starts) <= number + 1 and self._more():
                pass
        return self._starts[number], self._starts[number + 1]

    def ahead(self, most: int, pieces: int) -> int:
        """Reads on, as long as there are fewer bytes and pieces than these; how many pieces there are."""
        with LOCK:
            while self._starts[-1] < most and len(self._starts) <= pieces and self._more():
                pass
            return len(self._starts) - 1

    def last(self) -> str:
        """The last piece, without those before it."""
        with LOCK:
            number = self._form.count() - 1
            return self._tried(number, lambda: next(self._form.pieces(number), ""))

    def piece_at(self, byte: int) -> int:
        """The piece in which a byte is that was read."""
        return min(bisect.bisect_right(self._starts, byte), len(self._starts) - 1) - 1

    def give_up(self) -> None:
        """Lets go of the text; it is made anew when it is read."""
        self._pieces, self._coming = [], None

    def _more(self) -> bool:
        """Makes one more piece; whether there was one."""
        number = len(self._pieces)
        if number >= len(self._starts):  # an interrupt came between the two
            self.give_up()
            number = 0
        if self.complete and number == len(self._starts) - 1:
            return False
        data = self._tried(number, lambda: self._next(number))
        if data is None:
            return False
        self._pieces.append(data)
        if number == len(self._starts) - 1:
            self._starts.append(self._starts[-1] + len(data))
            self.silent += _SILENT.fullmatch(data) is not None
        _SHELF.grown(self)
        return True

    def _next(self, number: int) -> bytes | None:
        """The piece of that number, or None: there is none."""
        if self._coming is None:
            self._coming = self._form.pieces(number)
        piece = next(self._coming, None)
        if piece is None:
            self.complete, self._coming = True, None
            return None
        data = piece.encode("utf-8", "replace")
        if self._starts[number] + len(data) > MOST_TEXT:
            raise Unreadable(
                f"{self.name} has more than {sized(MOST_TEXT)} of text: it is a trap, or to be split"
            )
        return data

    def _tried(self, number: int, make: Callable[[], T]) -> T:
        """What comes of a piece, which was not refused before."""
        try:
            return self._refusals.once(number, make)
        except MemoryError:
            self._coming = None
            raise Unreadable(no_room(self.name)) from None
        except BaseException:  # an interrupt, too, ends a generator: the next one goes on where it was
            self._coming = None
            raise


class _Shelf:
    """The documents whose text is in memory, the one that was read last at the end."""

    def __init__(self) -> None:
        self._kept: OrderedDict[Extracted, int] = OrderedDict()

    def grown(self, text: Extracted) -> None:
        self._kept[text] = text.held
        self._kept.move_to_end(text)
        while len(self._kept) > 1 and sum(self._kept.values()) - text.held > KEPT:
            self._kept.popitem(last=False)[0].give_up()


_SHELF = _Shelf()
