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
_NUMBERED = re.compile(r"\s*(?:[-*•>]|\(?\d{1,7}[.):\]]|\[\d{1,7}\]:?)\s+")

Piece = tuple[int, int, int]
"""What a text has of the home text: place in the text, start in the home text, characters."""


class ShortLines:
    """See the module docstring."""

    def __init__(self, home: str) -> None:
        place = 0
        self._places: dict[str, list[int]] = {}
        self._turn: dict[str, int] = {}  # how often each was found
        for line in home.split("\n"):
            bare = line.strip()
            if 0 < len(bare) < LEAST and (len(self._places) < MOST or bare in self._places):
                self._places.setdefault(bare, []).append(place + line.index(bare))
            place += len(line) + 1

    def find(
        self, text: str, low: int, high: int, rooms: Sequence[tuple[int, int]], whole: int
    ) -> Piece | None:
        """The first in a region of the text. ``rooms``: what may be all that is new in the text; such a line
        needs ``whole`` characters."""
        if not self._places:
            return None
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
        places = self._places.get(bare) if least <= len(bare) < LEAST else None
        if places is None:
            return None
        turn = self._turn.get(bare, 0)
        self._turn[bare] = turn + 1
        return first + line.index(bare), places[turn % len(places)], len(bare)
