"""Where the pieces of a text stand in a larger one: the search behind coverage.

Contract: :meth:`Places.find` gives the pieces of a text that stand in the home text, each as (place in the
text, start, length), in order and without overlaps. Counted is what has :data:`LEAST` characters or is a
whole line. Where a piece stands at several places it is the first time at the first of them, the next time
at the next. The search ends with its time: then the characters that it has not looked at are told, too.

What is asked in sequence (chunk after chunk, line after line) is found where the last piece ended, at next
to no cost. Other texts are found by an index of the substrings that start at multiples of their size, of
which there are :data:`ENTRIES` at most: so in a home text of up to 480,000 characters nothing that counts is
missed. In a larger one, what is shorter than two such substrings is looked for line by line.

>>> home = "".join(f"line {i} of the log says {i * i}\\n" for i in range(100))
>>> Places(home).find("Summarize: " + home[300:400] + "-- in one word.")
([(11, 300, 100)], 0)
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from time import thread_time

from .short_lines import FEW, LEAST, SHORT_LINE, Piece, ShortLines, long_lines

GRAM = LEAST // 2  # each match of LEAST characters holds a whole one of these that starts at a multiple
ENTRIES = 40_000  # of the index; in a text with more, its substrings are longer
INDEXED = 1 << 26  # characters of the largest text that gets an index
SURE = 128  # characters of a match that needs no better one
MANY = 4  # places of a substring that the index keeps
WINDOW = 1 << 24  # characters that one search goes through before the clock is looked at
PROBE = 4_096  # characters of the longest text that is looked for
SEARCHED = 1 << 23  # characters that are gone through for a short text before an index is made
EXACT = 1 << 22  # characters up to which two texts are compared whole, and not by samples
MOST_HEADS = 20_000
MOST_KNOWN = 1_000
LONG = 10_000  # characters of a text that is not worth to be remembered


def _quarters(first: int, last: int) -> Iterator[tuple[int, int]]:
    """A stretch, its halves, its quarters, as far as they can be counted."""
    for size in (last - first, (last - first) // 2, (last - first) // 4):
        if size >= LEAST:
            for start in range(first, last - size + 1, size):
                yield start, start + size


class OutOfTime(Exception):
    """The time to look for more is up."""


class Places:
    """See the module docstring. ``starts``: where parts of the home text begin, which lines never cross."""

    def __init__(self, home: str) -> None:
        self.home = home
        self._gram = max(GRAM, -(-len(home) // ENTRIES))
        self._fine = self._gram == GRAM  # the index finds all that counts
        self._index: dict[int, int | list[int]] | None = None  # by hash
        self._searched = 0  # regions that were looked for without it
        self._lines: ShortLines | None = None
        self._whole = 1
        self._turn: dict[str, int] = {}  # how often a repeated piece was found
        self._absent: dict[str, None] = {}  # texts that are known to have nothing of the home text
        self._broken: dict[str, None] = {}  # lines that do not stand in it as a whole
        self._heads: dict[str, int] = {}  # beginnings of pieces that were handed out
        self._starts = [0, 0]  # where the first pieces of the last texts began in them
        self._behind = 0  # how many characters the last text had behind its last piece
        self._last = (0, 0)  # the last piece: start, end
        self._step = 0  # from the start of the one before it to its own
        self._until = float("inf")

    def hand_out(self, starts: Iterable[int]) -> None:
        """Pieces that begin here were made: where they are met again, they need not be looked for."""
        if self._fine:
            return
        for start in starts:
            if len(self._heads) >= MOST_HEADS:
                return
            self._heads.setdefault(self.home[start : start + LEAST], start)

    def find(
        self,
        text: str,
        seconds: float = float("inf"),
        whole: int = 1,
        regions: Sequence[tuple[int, int]] | None = None,
    ) -> tuple[list[Piece], int]:
        """The pieces, and how many characters there was no time to look at. ``whole``: characters of the
        shortest text that counts if all that is new in it is a line. ``regions``: where to look alone."""
        self._whole = whole
        self._until = thread_time() + seconds
        pieces: list[Piece] = []
        todo = list(regions) if regions is not None else [(0, len(text))]
        late = 0
        piece = self._expected(text) if todo == [(0, len(text))] else None
        if piece is not None:
            todo = self._around(piece, 0, len(text))
            pieces.append(piece)
        while todo:
            low, high = todo.pop()
            if self._is_absent(text, low, high):
                continue
            try:
                piece = self._in_region(text, low, high)
            except OutOfTime:
                late += high - low
                continue
            if piece is None:
                self._remember_absent(text, low, high)
                continue
            pieces.append(piece)
            todo += self._around(piece, low, high)
        pieces.sort()
        if pieces:
            self._learn(text, pieces)
        return pieces, late

    # What comes next is expected where the last one ended

    def _expected(self, text: str) -> Piece | None:
        home, size = self.home, len(text)
        start, end = self._last
        places = (end, end + 1, start + self._step) if self._step else (end, end + 1)
        for at in dict.fromkeys((*self._starts, 0)):
            head = text[at : at + LEAST]
            if len(head) < LEAST:
                continue
            given = self._heads.get(head)
            for place in places if given is None else (*places, given):
                if place >= 0 and home.startswith(head, place):
                    piece = self.extended(text, at, place, 0, size)
                    ends = piece[0] + piece[2]
                    if piece[2] >= SURE or ends == size or ends == size - self._behind:
                        return piece
        return None

    def _learn(self, text: str, pieces: list[Piece]) -> None:
        at, start, size = pieces[0]
        while size > 1 and text[at].isspace():  # the white space of a template may agree by chance
            at, start, size = at + 1, start + 1, size - 1
        if size <= SURE and (line := text[at : at + size].rstrip()) in self._turn:
            self._turn[line] = start
        if at != self._starts[0]:
            self._starts = [at, self._starts[0]]
        last = pieces[-1]
        self._step = start - self._last[0]
        self._last = start, last[1] + last[2]
        self._behind = len(text) - last[0] - last[2]

    # How far a match goes

    def extended(self, text: str, at: int, place: int, low: int, high: int) -> Piece:
        """The longest match around characters that agree, within ``low`` and ``high`` of the text."""
        most = min(high - at, len(self.home) - place)
        size = min(most, len(text) - self._behind - at)
        if size < LEAST or not self._agrees(text, at, place, size):  # often it ends where the last one did
            size = min(GRAM, most)
        size = self._grown(text, at, place, size, most)
        back = min(at - low, place)
        if back and text[at - 1] == self.home[place - 1]:
            reach = 1
            while reach < back and self._agrees(text, at - min(2 * reach, back), place - min(2 * reach, back),
                                                min(2 * reach, back)):  # fmt: skip
                reach = min(2 * reach, back)
            top = min(2 * reach, back)
            while reach < top:  # the last that agrees
                middle = (reach + top + 1) // 2
                if self._agrees(text, at - middle, place - middle, middle):
                    reach = middle
                else:
                    top = middle - 1
            at, place, size = at - reach, place - reach, size + reach
        return at, place, size

    def _grown(self, text: str, at: int, place: int, size: int, most: int) -> int:
        if size < most and text[at + size] != self.home[place + size]:
            return size
        step = 64
        while size < most:
            more = min(step, most - size)
            if self._agrees(text, at + size, place + size, more):
                size += more
                step *= 2
                continue
            low, top = 0, more - 1
            while low < top:
                middle = (low + top + 1) // 2
                if self._agrees(text, at + size, place + size, middle):
                    low = middle
                else:
                    top = middle - 1
            return size + low
        return size

    def _agrees(self, text: str, at: int, place: int, size: int) -> bool:
        if size <= EXACT:
            return self.home.startswith(text[at : at + size], place)
        step = size // 256
        samples = (*range(0, size - LEAST, step), size - step)
        return all(self._agrees(text, at + n, place + n, min(step, PROBE, size - n)) for n in samples)

    # One region of the text

    def _in_region(self, text: str, low: int, high: int) -> Piece | None:
        """The best piece within the region, if there is any."""
        piece = None
        if high - low >= self._gram and len(self.home) <= INDEXED:
            piece = self._by_index(text, low, high)
        if piece is None:
            piece = (self._short_line if self._fine else self._by_search)(text, low, high)
        return piece

    @staticmethod
    def _around(piece: Piece, low: int, high: int) -> list[tuple[int, int]]:
        at, _, size = piece
        return [(a, b) for a, b in ((at + size, high), (low, at)) if b > a]

    def _counts(self, piece: Piece) -> bool:
        """Whether a match is long enough, or a whole line of the home text."""
        _, start, size = piece
        return size >= LEAST or (size >= SHORT_LINE and self._begins_and_ends(start, start + size))

    def is_line(self, piece: Piece) -> bool:
        """Whether a match that counts is a whole line of the home text, or several."""
        _, start, size = piece
        return size >= LEAST and self._begins_and_ends(start, start + size)

    def _begins_and_ends(self, start: int, end: int) -> bool:
        home = self.home
        return (start == 0 or home[start - 1] == "\n") and (end == len(home) or home[end] == "\n")

    def _grams(self) -> dict[int, int | list[int]]:
        """Where each substring stands that starts at a multiple of its size."""
        if self._index is None:
            home, size = self.home, self._gram
            places = range(0, len(home) - size + 1, size)
            grams = [hash(home[place : place + size]) for place in places]
            index: dict[int, int | list[int]] = dict(zip(grams, places, strict=True))
            if len(index) < len(grams):  # of those that stand at several places, the last is in it now
                for gram, place in zip(grams, places, strict=True):
                    known = index[gram]
                    if isinstance(known, list):
                        if len(known) < MANY:
                            known.append(place)
                    elif known != place:
                        index[gram] = [place]
            self._index = index
        return self._index

    def _by_index(self, text: str, low: int, high: int) -> Piece | None:
        if self._index is None and self._has_nothing(text, low, high):
            return None
        index, gram, best, is_line = self._grams(), self._gram, (0, 0, 0), False
        tried: set[int] = set()
        for number, at in enumerate(self._order(low, high - gram + 1)):
            if number % 4096 == 4095:
                self._check_time()
            places = index.get(hash(text[at : at + gram]))
            if places is None:
                continue
            for place in (places,) if isinstance(places, int) else places:
                if place - at in tried:
                    continue
                tried.add(place - at)
                if not self._agrees(text, at, place, gram):  # two of one hash
                    continue
                piece = self.extended(text, at, place, low, high)
                if piece[2] > best[2]:
                    best = piece
            # Of many lines each is found where it begins, not all at every place.
            is_line = self.is_line(best)
            if best[2] >= SURE or best[2] == high - low or is_line or self._fits(text, best):
                break
        if best[2] and best[2] < SURE and not is_line and not self._fits(text, best):
            best = self._whole_line(text, best, low, high)
        if not self._counts(best):
            return None
        return self._next_place(best)

    def _has_nothing(self, text: str, low: int, high: int) -> bool:
        """Whether a short region has nothing of the home text, as most of what cells work out: that is known
        sooner than an index is made."""
        home, size = self.home, self._gram
        self._searched += 1
        short = self._searched <= FEW and (high - size + 1 - low) * len(home) <= SEARCHED
        return short and not any(text[at : at + size] in home for at in range(low, high - size + 1))

    def _fits(self, text: str, piece: Piece) -> bool:
        """Whether it fills the room that the pieces of the last texts had, and no other can be longer."""
        at, _, size = piece
        return size >= LEAST and at <= max(self._starts) and at + size >= len(text) - self._behind > at

    def _order(self, low: int, high: int) -> Iterator[int]:
        """All places, those first where pieces of the last texts began."""
        for start in self._starts:
            if low < start < high:
                yield from range(start, min(start + self._gram, high))
        yield from range(low, high)

    def _whole_line(self, text: str, piece: Piece, low: int, high: int) -> Piece:
        """The line around a match, where it as a whole stands elsewhere."""
        at, _, size = piece
        first = max(low, text.rfind("\n", low, at) + 1)
        last = text.find("\n", at + size, high)
        last = high if last < 0 else last
        line = text[first:last] if last - first <= PROBE else ""
        if len(line) <= size or line in self._broken:
            return piece
        place = self.home.find(line)
        if place >= 0:
            return first, place, len(line)
        if len(self._broken) >= MOST_KNOWN:
            self._broken.clear()
        self._broken[line] = None
        return piece

    def _next_place(self, piece: Piece) -> Piece:
        """The next place of a piece that stands at several."""
        at, start, size = piece
        index, home, gram = self._grams(), self.home, self._gram
        first = -start % gram + start
        grams = range(first, start + size - gram + 1, gram)
        if size > SURE or any(isinstance(index.get(hash(home[p : p + gram])), int) for p in grams):
            return piece
        whole = home[start : start + size]
        text = whole.strip()
        if not text:  # spaces alone are no text that has a turn
            return piece
        inside = whole.index(text)
        before = self._turn.get(text)
        place = home.find(text, 0 if before is None else before + 1)
        if place < 0:
            place = home.find(text)
        if len(self._turn) < MOST_HEADS or text in self._turn:
            self._turn[text] = place
        return at + inside, place, len(text)

    # Lines that are too short to be found by what is in them

    def _short_line(self, text: str, low: int, high: int) -> Piece | None:
        """A line of the region, or all that is new in it, that is a whole short line of the home text."""
        if self._lines is None:
            self._lines = ShortLines(self.home)
        end = len(text) - self._behind
        rooms = [(first, last) for first in (low, *self._starts) for last in (high, end)]
        rooms = [(first, last) for first, last in rooms if low <= first < last <= high]
        return self._lines.find(text, low, high, rooms, self._whole)

    # A home text too large for an index

    def _by_search(self, text: str, low: int, high: int) -> Piece | None:
        """Looks for what the last texts let expect, then for lines, the longest first."""
        for start in self._starts:
            first, last = max(low, start), min(high, len(text) - self._behind)
            if last - first >= LEAST and (piece := self._at_part(text, first, last, low, high)):
                return piece
        for first, last in long_lines(text, low, high):
            if self._is_absent(text, first, last):
                continue
            for start, end in _quarters(first, last):
                if piece := self._at_part(text, start, end, low, high):
                    return piece
            self._remember_absent(text, first, last)
        return None

    def _at_part(self, text: str, first: int, last: int, low: int, high: int) -> Piece | None:
        part = text[first : min(last, first + PROBE)]
        if part.isspace() or part in self._absent or (place := self._found(part)) < 0:
            return None
        return self.extended(text, first, place, low, high)

    def _found(self, part: str) -> int:
        """The first place behind where the last piece began, else the first of all."""
        home, size = self.home, len(part)
        begin = min(self._last[0], len(home))
        for first, last in ((begin, len(home)), (0, min(begin + size, len(home)))):
            for start in range(first, last, WINDOW):
                self._check_time()
                place = home.find(part, start, min(start + WINDOW + size, last))
                if place >= 0:
                    return place
        return -1

    def _check_time(self) -> None:
        if thread_time() > self._until:
            raise OutOfTime

    def _is_absent(self, text: str, low: int, high: int) -> bool:
        return high - low <= LONG and text[low:high] in self._absent

    def _remember_absent(self, text: str, low: int, high: int) -> None:
        if high - low <= LONG:
            if len(self._absent) >= MOST_KNOWN:
                self._absent.clear()
            self._absent[text[low:high]] = None
