"""Where texts stand in files: what was handed out to code is met again in what it shows.

Contract: :meth:`FileMarks.find` gives the pieces of a text that stand in the files of the context, as (place
in the text, characters, part, first byte, the one behind the last), and how many characters there was no time
or no memory to look for. A piece that was handed out by its position (a slice, a line, a hit) is found again
by its beginning, in a file of any size. All else is looked for in the cells of the files that code went
through, as :class:`.places.Places` does in a text in memory: in the last ones whole, in older ones where a
probe of a line is met. What there was no time to look for, and stands in the code of the cells, is no passage
of a file: it does not count as one that was not found.

>>> from .blocks import Blocks
>>> from .handed import Handed
>>> from .octets import Memory
>>> handed = Handed()
>>> text = Blocks(Memory("".join(f"line {i} says {i * i}\\n" for i in range(50)).encode()), number=0)
>>> _ = handed.piece(text, 100, 160, text.take(100, 160))
>>> FileMarks(handed).find("Summarize: " + text.take(100, 160) + " in one word")
([(11, 60, 0, 100, 160)], 0)
"""

from __future__ import annotations

import re
from collections import OrderedDict, deque
from collections.abc import Iterator, Sequence
from time import thread_time

from .blocks import Blocks
from .handed import Handed, Piece
from .home import Home, Region
from .places import SURE
from .short_lines import LEAST, SHORT_LINE
from .short_lines import Piece as Piece3
from .spaces import with_space
from .taken import Taken

FULL = 8  # cells that are searched whole
KEPT = 8  # of which the index is kept
MOST_PROBES = 40
MOST_ABSENT = 1_000
MOST_CODE = 200_000  # characters of the cells that ran last
LONG = 10_000  # characters of a text that is not worth to be remembered
SPACE = 100  # bytes of white space next to a piece that count with it
_SPACES = b" \t\n\r\v\f"
_DIGITS = re.compile(r"\d+")
Found = tuple[int, int, int, int, int]


class FileMarks:
    """See the module docstring."""

    def __init__(self, handed: Handed) -> None:
        self._handed = handed
        self._homes: OrderedDict[tuple[int, int], Home] = OrderedDict()
        self._next: tuple[int, int] | None = None  # the cell in which the last piece was found
        self._absent: dict[str, None] = {}
        self._code: deque[str] = deque()
        self._starts = [0, 0]  # where the first pieces of the last texts began in them
        self._until = float("inf")
        self._spaced = True
        self._blind = False  # a file could not be read again: it has changed, or is not opened any more
        self._blocks: dict[int, Blocks] = {}  # of the parts in which pieces were found

    def encoded(self, part: int, text: str) -> bytes:
        """A piece that was found in a part as its bytes."""
        return self._blocks[part].encode(text)

    def cell_began(self, source: str) -> None:
        self._code.append(source)
        while sum(map(len, self._code)) > MOST_CODE and len(self._code) > 1:
            self._code.popleft()

    def cut(self, text: str, starts: Sequence[int]) -> None:
        """A text was cut at these places, in their order. Where it was handed out itself, its pieces are too,
        so that those that are alike in many places are told apart."""
        for blocks, first, last in reversed(self._handed.beginnings.get(text[:LEAST], ())):
            flat = last - first == len(text)
            if not flat and len(blocks.encode(text)) != last - first:
                continue
            byte = first
            for start, end in zip(starts, (*starts[1:], len(text)), strict=True):
                size = end - start if flat else len(blocks.encode(text[start:end]))
                self._handed.piece(blocks, byte, byte + size, text[start : start + LEAST])
                byte += size
            return

    def find(
        self, text: str, seconds: float = float("inf"), whole: int = 1, *, spaced: bool = True
    ) -> tuple[list[Found], int]:
        """See the module docstring. ``whole``: as :meth:`Places.find` has it; ``spaced``: with the white
        space next to a piece."""
        self._spaced, self._blind = spaced, False
        self._until = thread_time() + seconds
        found: list[Found] = []
        late = 0
        todo = list[Region]()
        for region in self._expected(text, found):
            late += self._by_beginning(text, region, found, todo)
        if found:
            self._starts = [min(found)[0], self._starts[0]]
        todo = [each for each in todo if self._is_worth(text, each, whole)]
        todo = self._without_code(text, todo) if found else todo
        if todo:
            todo, is_sure = self._by_content(text, todo, found, whole)
            if not is_sure:
                late += sum(high - low for low, high in todo if not self._is_code(text[low:high]))
            elif sum(high - low for low, high in todo) <= LONG:
                self._remember_absent(text[low:high] for low, high in todo)
        found += self._short(text, found)
        return sorted(found), late

    def _short(self, text: str, found: Sequence[Found]) -> list[Found]:
        """The short pieces that stand as they were handed out, where nothing else was found."""
        taken = Taken((at, at + size) for at, size, *_ in found)
        return [
            self._of_piece(piece, at, size)
            for at, size, piece in self._handed.short.find(text)
            if not taken.meets(at, at + size)
        ]

    def _of_piece(self, piece: Piece, at: int, size: int) -> Found:
        blocks, first, last = piece
        assert blocks.number is not None
        self._blocks[blocks.number] = blocks
        if self._spaced:
            first, last = _with_space(blocks, first, last)
        return at, size, blocks.number, first, last

    # By how a piece begins

    def _expected(self, text: str, found: list[Found]) -> list[Region]:
        """The piece that begins where those of the last texts did; gives what is left to look at."""
        for at in dict.fromkeys(self._starts):
            if piece := self._piece_at(text, at, len(text)):
                found.append(piece)
                return [(low, high) for low, high in ((0, at), (at + piece[1], len(text))) if low < high]
        return [(0, len(text))] if text else []

    def _by_beginning(self, text: str, region: Region, found: list[Found], todo: list[Region]) -> int:
        """Looks for a beginning at every place of a region; gives the characters that were not looked at."""
        low, high = region
        if text[low:high] in self._absent:
            return 0
        beginnings = self._handed.beginnings
        at = low if beginnings else high
        while at <= high - LEAST:
            if at % 4096 == 4095 and thread_time() > self._until:
                return high - low
            if text[at : at + LEAST] in beginnings and (piece := self._piece_at(text, at, high)):
                found.append(piece)
                if low < at:
                    todo.append((low, at))
                low = at = at + piece[1]
            else:
                at += 1
        if low < high:
            todo.append((low, high))
        return 0

    def _piece_at(self, text: str, at: int, high: int) -> Found | None:
        """The longest piece that was handed out and stands here."""
        head = text[at : at + LEAST]
        best: tuple[int, int, Piece] | None = None
        for piece in self._handed.beginnings.get(head, ()):
            try:
                size, last = _onward(piece, *_agreement(piece, text, at, high), text, at, high)
            except OSError:
                self._blind = True
                continue
            if size >= LEAST and (best is None or size > best[0]):
                best = size, last, piece
        if best is None:
            return None
        size, last, piece = best
        self._handed.used(head, piece)
        return self._of_piece((piece[0], piece[1], last), at, size)

    # By what is in it

    def _is_worth(self, text: str, region: Region, whole: int) -> bool:
        """Whether a region may be looked for: as long as what counts, or a line of its own."""
        low, high = region
        part = text[low:high]
        if part.isspace() or part in self._absent:
            return False
        return high - low >= LEAST or len(part.strip()) >= (
            whole if (low, high) == (0, len(text)) else SHORT_LINE
        )

    def _without_code(self, text: str, todo: list[Region]) -> list[Region]:
        """Around a piece of a file, what code says itself is what it says of that piece."""
        code = [each for each in todo if self._is_code(text[slice(*each)])]
        self._remember_absent(text[low:high] for low, high in code if high - low <= LONG)
        return [each for each in todo if each not in code]

    def _is_code(self, part: str) -> bool:
        """Whether all lines of it stand in the code of the cells, numbers left open."""
        lines = [line.strip() for line in part.split("\n")]
        return all(self._is_in_code(line) for line in lines if len(line) >= SHORT_LINE)

    def _is_in_code(self, line: str) -> bool:
        pieces = [piece.strip() for piece in _DIGITS.split(line)]
        if max(map(len, pieces), default=0) < SHORT_LINE:
            return False
        return all(any(piece in code for code in self._code) for piece in pieces)

    def _by_content(
        self, text: str, todo: list[Region], found: list[Found], whole: int
    ) -> tuple[list[Region], bool]:
        """What is left of the regions, and whether it is sure that none of that stands in the files."""
        todo, is_sure = self._by_line(text, todo, found, whole)
        unsure: list[tuple[Home, Piece3]] = []  # they may agree by chance, and more elsewhere
        for key, home in self._cells(text, todo):
            pieces, late = home.places.find(text, max(0.0, self._until - thread_time()), whole, todo)
            sure = [piece for piece in pieces if _is_sure(home, piece, todo)]
            unsure += [(home, piece) for piece in pieces if piece not in sure]
            if sure:
                self._met(key)
                found += [self._as_found(home, piece) for piece in sure]
                todo[:] = [each for each in _left(todo, sure) if self._is_worth(text, each, whole)]
            is_sure = is_sure and not late
        is_sure = is_sure and thread_time() <= self._until and not self._handed.lost and not self._blind
        for home, piece in sorted(unsure, key=lambda each: -each[1][2]) if is_sure else ():
            at, _, size = piece
            if any(low <= at and at + size <= high for low, high in todo):
                found.append(self._as_found(home, piece))
                todo = _left(todo, [piece])
        return [each for each in todo if self._is_worth(text, each, whole)], is_sure

    def _by_line(
        self, text: str, todo: list[Region], found: list[Found], whole: int
    ) -> tuple[list[Region], bool]:
        """The whole lines first: what agrees with a part of another one must not take a part of them."""
        lines: list[tuple[Home, Piece3]] = []
        left = list(todo)
        for key, home in self._cells(text, left):
            if pieces := home.lines_of(text, left):
                self._met(key)
                lines += [(home, piece) for piece in pieces]
                left[:] = [each for each in _left(left, pieces) if self._is_worth(text, each, 1)]
        taken = sorted(piece for _, piece in lines)
        before = {high: low for low, high in _left(todo, taken)}
        behind = dict(_left(todo, taken))
        for home, (at, start, size) in sorted(lines, key=lambda each: each[1]):
            low, high = before.pop(at, at), behind.pop(at + size, at + size)
            if text[low:at].strip() or text[at + size : high].strip():
                at, start, size = home.places.extended(text, at, start, low, high)
                if at + size < high:
                    before[high] = at + size
            taken.append((at, start, size))
            found.append(self._as_found(home, (at, start, size)))
        left = [each for each in _left(todo, _apart(taken)) if self._is_worth(text, each, whole)]
        left = self._without_code(text, left) if lines else left
        return left, thread_time() <= self._until

    def _met(self, key: tuple[int, int]) -> None:
        """Something was found in this cell: more of it is likely."""
        self._next = key
        self._homes.move_to_end(key)

    def _cells(self, text: str, todo: list[Region]) -> Iterator[tuple[tuple[int, int], Home]]:
        """The cells to search in while there is something to look for, and time: all of the first ones, of
        the others those in which a probe stands."""
        probes, probed = list[str](), 0
        for number, key in enumerate(self._likely()):
            if not todo or thread_time() > self._until:
                return
            if number >= FULL and probed != len(todo):
                probes, probed = _probes(text, todo), len(todo)
            home = self._home(key, probes if number >= FULL else None)
            if home is not None:
                yield key, home

    def _home(self, key: tuple[int, int], probes: list[str] | None) -> Home | None:
        """A cell to search in; with ``probes`` one in which none of them stands is left out."""
        home = self._homes.get(key)
        if home is None:
            try:
                home = Home(self._handed.cells[key], key[1])
            except OSError:
                self._blind = True
                return None
            if probes is not None and not any(probe in home.text for probe in probes):
                return None
            self._homes[key] = home
            if len(self._homes) > KEPT:
                self._homes.popitem(last=False)
        return home

    def _likely(self) -> Iterator[tuple[int, int]]:
        """The cells that code went through: where the last piece was found, behind that, then the newest."""
        cells, first = self._handed.cells, []
        if self._next is not None:
            part, cell = self._next
            first = [key for key in ((part, cell), (part, cell + 1)) if key in cells]
        yield from first
        yield from (key for key in reversed(list(cells)) if key not in first)

    def _as_found(self, home: Home, piece: Piece3) -> Found:
        at, start, size = piece
        blocks, end = home.blocks, start + size
        assert blocks.number is not None
        self._blocks[blocks.number] = blocks
        if self._spaced:
            start, end = with_space(home.text, start, end)
        first, last = home.byte(start), home.byte(end)
        return at, size, blocks.number, 0 if first <= blocks.mark else first, last

    def _remember_absent(self, parts: Iterator[str]) -> None:
        for part in parts:
            if len(self._absent) >= MOST_ABSENT:
                self._absent.clear()
            self._absent[part] = None


def _agreement(piece: Piece, text: str, at: int, high: int) -> tuple[int, int]:
    """How many characters of a piece stand at a place of a text, and the byte behind the last of them."""
    blocks, first, last = piece
    most = high - at
    data = blocks.octets.read(first, min(last - first, most))
    there = blocks.decode(data)
    if len(data) < last - first and (len(there) < most or not data.isascii()):  # more bytes than characters
        data = blocks.octets.read(first, min(last - first, 4 * most))
        there = blocks.decode(data)[:most]
    size = len(there)
    if not text.startswith(there, at):
        low, top = 0, size - 1
        while low < top:
            middle = (low + top + 1) // 2
            low, top = (middle, top) if text.startswith(there[:middle], at) else (low, middle - 1)
        size = low
    return size, first + (size if len(data) == len(there) else len(blocks.encode(there[:size])))


def _onward(piece: Piece, size: int, last: int, text: str, at: int, high: int) -> tuple[int, int]:
    """The same where the text goes on as the file does behind the piece: lines over the end of a slice."""
    blocks, _, end = piece
    more, byte, step = 0, last, 64  # little of the file is read where it does not
    while last == end and at + size + more < high:
        top = min(at + size + more + step, high)
        met, byte = _agreement((blocks, byte, byte + 4 * step), text, at + size + more, top)
        more, step = more + met, 2 * step
        if at + size + more < top:
            break
    return (size + more, byte) if more >= SHORT_LINE else (size, last)


def _with_space(blocks: Blocks, first: int, last: int) -> tuple[int, int]:
    """A range and the white space next to it."""
    if blocks.encoding.startswith("utf-16"):
        return first, last
    behind = blocks.octets.read(last, SPACE)
    last += len(behind) - len(behind.lstrip(_SPACES))
    start = max(blocks.mark, first - SPACE)
    before = blocks.octets.read(start, first - start)
    first -= len(before) - len(before.rstrip(_SPACES))
    return (0 if first <= blocks.mark else first), last


def _is_sure(home: Home, piece: Piece3, todo: list[Region]) -> bool:
    """Whether no other cell has a better one: it is long, or lines, or all that was to be looked for."""
    at, _, size = piece
    return size >= SURE or home.places.is_line(piece) or (at, at + size) in todo


def _left(todo: list[Region], pieces: list[Piece3]) -> list[Region]:
    """Regions without what was found in them."""
    left: list[Region] = []
    for low, high in todo:
        for at, _, size in sorted(pieces):
            if low <= at < high:
                if low < at:
                    left.append((low, at))
                low = at + size
        if low < high:
            left.append((low, high))
    return left


def _apart(pieces: list[Piece3]) -> list[Piece3]:
    """Of pieces that begin alike or lie in one another the longest."""
    kept: list[Piece3] = []
    for piece in sorted(pieces, key=lambda each: (each[0], -each[2])):
        if not kept or piece[0] + piece[2] > kept[-1][0] + kept[-1][2]:
            kept.append(piece)
    return kept


def _probes(text: str, todo: list[Region]) -> list[str]:
    """Of the longest lines what is in their middle: whatever code has put around them, that stands there."""
    lines = sorted((line for low, high in todo for line in text[low:high].split("\n")), key=len, reverse=True)
    probes = []
    for line in lines[:MOST_PROBES]:
        size = max(LEAST, len(line) // 3)
        start = (len(line) - size) // 2
        probe = line[max(0, start) : max(0, start) + min(size, 64)].strip()
        if len(probe) >= SHORT_LINE:
            probes.append(probe)
    return list(dict.fromkeys(probes))
