"""What of the texts in files was handed out to code: where what code shows of them has to stand.

Contract: whoever gives code a piece of a text in a file tells :data:`HANDED`: slices, lines that were asked
for and hits of a search with their place and their beginning, by which they are found again at once; what
code goes through, as the *cells* of the file that it lies in. Texts are not kept, only places: memory is
bounded. Where more was handed out than there is room for, the oldest is forgotten and :attr:`Handed.lost`
says so. Places are bytes of the (unpacked) text; a text whose number is None is no part of the context.

>>> from .blocks import Blocks
>>> from .octets import Memory
>>> handed = Handed()
>>> text = Blocks(Memory(b"a first line of words\\nand a second one"), number=3)
>>> handed.piece(text, 0, 31, "a first line of words\\nand a sec")
>>> list(handed.cells), [(first, last) for _, first, last in handed.beginnings["a first line of words\\nan"]]
([(3, 0)], [(0, 31)])
"""

from __future__ import annotations

from collections import OrderedDict, deque
from typing import TYPE_CHECKING

from .octets import Octets
from .short_lines import LEAST
from .short_pieces import ShortPieces

if TYPE_CHECKING:
    from .blocks import Blocks

CELL = 1 << 18  # bytes
MOST_CELLS = 50_000
MOST_PIECES = 10_000
MOST_ALIKE = 16  # pieces with the same beginning

Piece = tuple["Blocks", int, int]
"""The text that it is of, its first byte and the one behind it."""


class Handed:
    """See the module docstring."""

    def __init__(self) -> None:
        self.forget()

    def forget(self) -> None:
        """As in a new REPL."""
        self.cells: OrderedDict[tuple[int, int], Blocks] = (
            OrderedDict()
        )  # by part and number; the last at the end
        self.lost = False
        self.beginnings: dict[str, list[Piece]] = {}  # by their first characters
        self.short = ShortPieces[Piece]()
        self._order: deque[str] = deque()
        self._news: dict[int, int] = {}

    def piece(self, blocks: Blocks, first: int, last: int, text: str, number: int = 0) -> None:
        """A text was given that begins and ends at these bytes; with ``number`` the hit in that line."""
        if blocks.number is None or last <= first:
            return
        self.passed(blocks, first, last)
        if len(text) < LEAST:
            self.short.add(text, number, (blocks, first, last))
            return
        head = text[:LEAST]
        alike = self.beginnings.setdefault(head, [])
        if len(alike) >= MOST_ALIKE or any(
            known.number == blocks.number and (start, end) == (first, last) for known, start, end in alike
        ):
            return
        alike.append((blocks, first, last))
        self._order.append(head)
        if len(self._order) > MOST_PIECES:
            oldest = self._order.popleft()
            del self.beginnings[oldest][0]
            if not self.beginnings[oldest]:
                del self.beginnings[oldest]

    def passed(self, blocks: Blocks, first: int, last: int) -> None:
        """Code went through these bytes."""
        if blocks.number is None or last <= first:
            return
        for cell in range(first // CELL, (last - 1) // CELL + 1):
            key = blocks.number, cell
            self.cells[key] = blocks
            self.cells.move_to_end(key)
        while len(self.cells) > MOST_CELLS:
            self.cells.popitem(last=False)
            self.lost = True

    def used(self, head: str, piece: Piece) -> None:
        """This one was shown: of those that are alike the others are next."""
        alike = self.beginnings.get(head, [])
        if len(alike) > 1 and piece in alike:
            alike.remove(piece)
            alike.append(piece)

    def measured(self, number: int | None, size: int) -> None:
        """How large a part is, or that it is no text, is known now."""
        if number is not None:
            self._news[number] = size

    def take_news(self) -> dict[int, int]:
        news, self._news = self._news, {}
        return news


HANDED = Handed()
"""The one of this process: a REPL has one context."""


class Watched:
    """Bytes of a text that are read by something else than the text itself: a file object, a library."""

    def __init__(self, blocks: Blocks) -> None:
        self.name = blocks.octets.name
        self._blocks = blocks

    @property
    def size(self) -> int | None:
        return self._blocks.octets.size

    def read(self, at: int, size: int) -> bytes:
        data = self._blocks.octets.read(at, size)
        HANDED.passed(self._blocks, at, at + len(data))
        return data


def watched(blocks: Blocks) -> Octets:
    """The bytes of a text, traced where it is a part of the context."""
    return blocks.octets if blocks.number is None else Watched(blocks)
