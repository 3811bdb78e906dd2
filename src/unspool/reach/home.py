"""A cell of a file, and what stands around it, as a text to search in.

Contract: :meth:`Home.lines_of` finds whole lines, however code has dressed them; ``places`` is the search for
all else, :meth:`Home.byte` says where a character stands in the file. Both are made when they are first used.

>>> from .octets import Memory
>>> home = Home(Blocks(Memory("eine Zeile für sich, ganz allein\\nnoch eine".encode()), number=0), 0)
>>> shown = "['eine Zeile für sich, ganz allein', 'x']"
>>> home.lines_of(shown, [(0, len(shown))]), home.byte(20)
([(2, 0, 32)], 21)
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from .blocks import Blocks
from .handed import CELL
from .places import Places
from .short_lines import LEAST, Piece

EDGE = 1 << 14  # bytes of the next cells that are searched with one
_END = r"(?!', '|\", \"|['\"]\)?[],])"
_TOKENS = re.compile(
    rf"['\"]?[\[({{,) ]*['\"]?((?:\(?\d{{1,12}}[.):,\]]?\s+['\"]?)?((?:{_END}[^\n]){{{LEAST},}}))"
)
"""A line; without the brackets and quotes of a list that is shown; without a number before it."""

Region = tuple[int, int]


class Home:
    """See the module docstring."""

    def __init__(self, blocks: Blocks, cell: int) -> None:
        start, mark = max(0, cell * CELL - EDGE), blocks.mark
        data = blocks.octets.read(start, (cell + 1) * CELL + EDGE - start)
        self.blocks = blocks
        self.start = start + (blocks.skip(data) if start else min(mark, len(data)))
        self.text = blocks.decode(data[self.start - start :])
        self._flat = len(self.text) == len(data) - (self.start - start)
        self._places: Places | None = None
        self._lines: dict[str, list[int]] | None = None
        self._known = (0, self.start)  # a character, and its byte

    @property
    def places(self) -> Places:
        self._places = self._places or Places(self.text)
        return self._places

    def lines_of(self, text: str, regions: list[Region]) -> list[Piece]:
        """What of the regions are whole lines of the cell; of alike lines each in its turn."""
        if self._lines is None:
            self._lines, at = {}, 0
            for line in self.text.split("\n"):
                if len(line) >= LEAST:
                    self._lines.setdefault(line.rstrip("\r"), []).append(at)
                at += len(line) + 1
        pieces: list[Piece] = []
        for low, high in regions:
            for at, line in _lines_in(text, low, high):
                if line in self._lines:
                    pieces.append((at, self._next(line), len(line)))
                    continue
                for token in _TOKENS.finditer(text, at, at + len(line)):
                    group = next((each for each in (0, 1, 2) if token[each] in self._lines), None)
                    if group is not None:
                        pieces.append((token.start(group), self._next(token[group]), len(token[group])))
        return pieces

    def _next(self, line: str) -> int:
        """Where a line begins; of alike ones the next in turn."""
        assert self._lines is not None
        starts = self._lines[line]
        if len(starts) > 1:
            starts.append(starts.pop(0))
        return starts[-1]

    def byte(self, character: int) -> int:
        if self._flat:
            return self.start + character
        at, byte = self._known if self._known[0] <= character else (0, self.start)
        self._known = character, byte + len(self.blocks.encode(self.text[at:character]))
        return self._known[1]


def _lines_in(text: str, low: int, high: int) -> Iterator[tuple[int, str]]:
    """Lines of a region that are long enough to count, each with its place."""
    while low < high:
        end = text.find("\n", low, high)
        end = high if end < 0 else end
        line = text[low:end].removesuffix("\r")
        if len(line) >= LEAST:
            yield low, line
        low = end + 1
