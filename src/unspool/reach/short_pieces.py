"""Short pieces of files that were handed out: hits of a search, found again by the number before them, and
what is all that a text is.

Contract: a piece of fewer than :data:`LEAST` characters may stand anywhere by chance, so that it counts only
as it was given: behind its line's number, to the end of the line or of the text in quotes; or as the whole
text. Of pieces that are alike each is the next in turn. The oldest are forgotten where there are too many.

>>> pieces = ShortPieces[str]()
>>> pieces.add("hello", 3, "line 3"); pieces.add("hello", 0, "a slice")
>>> list(pieces.find("['a.txt:3: hello', 'a.txt:4: hello']"))
[(11, 5, 'line 3')]
>>> list(pieces.find("hello\\n")), list(pieces.find("he said hello"))
([(0, 5, 'a slice')], [])
"""

from __future__ import annotations

import re
from collections import OrderedDict
from collections.abc import Iterator
from typing import Generic, TypeVar

from .short_lines import LEAST

MOST = 10_000  # texts
MOST_ALIKE = 64
SHORTEST = 3  # characters of what is a text as a whole
_NUMBER = re.compile(r"(?<!\d)(\d{1,9}): ")
_QUOTED = re.compile(r"['\"](?=[,\])}]|\Z)")

Piece = TypeVar("Piece")


class ShortPieces(Generic[Piece]):
    """See the module docstring."""

    def __init__(self) -> None:
        self._known: OrderedDict[tuple[int, str], list[Piece]] = OrderedDict()

    def add(self, text: str, number: int, piece: Piece) -> None:
        """``number``: that of the line, of a hit; else 0."""
        bare = text if number else text.strip()
        if not bare.strip() or len(bare) >= LEAST or (not number and len(bare) < SHORTEST):
            return
        alike = self._known.setdefault((number, bare), [])
        self._known.move_to_end((number, bare))
        if len(alike) < MOST_ALIKE and piece not in alike:
            alike.append(piece)
        if len(self._known) > MOST:
            self._known.popitem(last=False)

    def find(self, text: str) -> Iterator[tuple[int, int, Piece]]:
        """Where a piece stands in a text: place, characters, which."""
        if not self._known:
            return
        bare = text.strip()
        if len(bare) < LEAST and (piece := self._take(0, bare)) is not None:
            yield text.index(bare), len(bare), piece
            return
        for match in _NUMBER.finditer(text):
            number, at = int(match[1]), match.end()
            line = text.find("\n", at, at + LEAST + 1)
            end = line if line >= 0 else min(len(text), at + LEAST + 1)
            quote = _QUOTED.search(text, at, end)
            for last in (end, quote.start() if quote else end):
                if (piece := self._take(number, text[at:last])) is not None:
                    yield at, last - at, piece
                    break

    def _take(self, number: int, text: str) -> Piece | None:
        alike = self._known.get((number, text))
        if not alike:
            return None
        alike.append(alike.pop(0))
        return alike[-1]
