"""Lines that are too short to be found by the words in them: they count where they stand alone.

Contract: a line of a text, white space around it and a number or dash before it left out, is found if it is
a whole line of the home text, has fewer than :data:`LEAST` characters, and at least :data:`SHORT_LINE`; or
if it is all that is new in the text. Where the home text has it several times, it is each of them in turn.

>>> ShortLines("Ann Miller\\nBob Smith\\n").find("Who is it?\\n- Bob Smith", 0, 22, [], 1)
(13, 11, 9)
"""

from __future__ import annotations

import re
from collections.abc import Sequence

LEAST = 24  # characters that match by more than chance
SHORT_LINE = 8  # characters of the shortest line that counts among others
MOST = 20_000  # lines that are kept
FEW = 8  # lines that are looked for in the home text itself, before an index of its lines is made
_NUMBERED = re.compile(r"\s*(?:[-*•>]|\(?\d{1,7}[.):\]]|\[\d{1,7}\]:?)\s+")

Piece = tuple[int, int, int]
"""What a text has of the home text: place in the text, start in the home text, characters."""


class ShortLines:
    """See the module docstring."""

    def __init__(self, home: str) -> None:
        self._home = home
        self._places: dict[str, list[int]] | None = None
        self._looked = 0
        self._turn: dict[str, int] = {}  # how often each was found

    def find(
        self, text: str, low: int, high: int, rooms: Sequence[tuple[int, int]], whole: int
    ) -> Piece | None:
        """The first in a region of the text. ``rooms``: what may be all that is new in the text; such a line
        needs ``whole`` characters."""
        for first, last in rooms:
            if piece := self._as_line(text, first, last, least=whole):
                return piece
        first = low
        while first < high:
            last = text.find("\n", first, high)
            last = high if last < 0 else last
            if (first == 0 or text[first - 1] == "\n") and (last == len(text) or text[last] == "\n"):
                piece = self._as_line(text, first, last, least=SHORT_LINE)
                if piece is None and (number := _NUMBERED.match(text, first, last)):
                    piece = self._as_line(text, number.end(), last, least=SHORT_LINE)
                if piece is not None:
                    return piece
            first = last + 1
        return None

    def _as_line(self, text: str, first: int, last: int, *, least: int) -> Piece | None:
        line = text[first:last]
        bare = line.strip()
        places = self._at(bare) if least <= len(bare) < LEAST else None
        if places is None:
            return None
        turn = self._turn.get(bare, 0)
        self._turn[bare] = turn + 1
        return first + line.index(bare), places[turn % len(places)], len(bare)

    def _at(self, bare: str) -> list[int] | None:
        """Where this is a whole line. What a cell has worked out is most often nowhere in the home text, and
        that is known sooner than an index is made."""
        if self._places is None:
            self._looked += 1
            if self._looked <= FEW and bare not in self._home:
                return None
            self._places = _lines_of(self._home)
        return self._places.get(bare)


def _lines_of(home: str) -> dict[str, list[int]]:
    """The places of each short line."""
    place = 0
    places: dict[str, list[int]] = {}
    for line in home.split("\n"):
        bare = line.strip()
        if 0 < len(bare) < LEAST and (len(places) < MOST or bare in places):
            places.setdefault(bare, []).append(place + line.index(bare))
        place += len(line) + 1
    return places


def long_lines(text: str, low: int, high: int) -> list[tuple[int, int]]:
    """Where the other lines of a region are, the longest first."""
    lines, first = [], low
    while first < high:
        last = text.find("\n", first, high)
        last = high if last < 0 else last
        if last - first >= LEAST:
            lines.append((first, last))
        first = last + 1
    return sorted(lines, key=lambda line: line[0] - line[1])
