"""Where texts stand in files: what was handed out to code is met again in what it shows.

Contract: :meth:`FileMarks.find` gives the pieces of a text that stand in the files of the context, as (place in
the text, characters, part, first byte, the one behind the last), and how many characters there was no time or
no memory to look for. A piece that was handed out by its position (a slice, a line, a hit) is found again by
its beginning, in a file of any size. All else is looked for in the cells of the files that code went through,
as :class:`.places.Places` does in a text in memory: in the last ones whole, in older ones where a probe of a
line is met. What the code of the cells has between quotes is no passage of a file: nobody looks for it.

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
from collections.abc import Iterator
from time import perf_counter

from .blocks import Blocks
from .handed import CELL, Handed, Piece
from .places import Places
from .short_lines import LEAST, SHORT_LINE

EDGE = 1 << 14  # bytes of the next cells that are searched with one
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
Region = tuple[int, int]


class _Home:
    """A cell of a file, and what stands around it, as a text to search in."""

    def __init__(self, blocks: Blocks, cell: int) -> None:
        start = max(0, cell * CELL - EDGE)
        data = blocks.octets.read(start, (cell + 1) * CELL + EDGE - start)
        self.blocks, self.start = blocks, start + _whole(blocks, data, start)
        self.text = blocks.decode(data[self.start - start :])
        self._flat = len(self.text) == len(data) - (self.start - start)
        self._places: Places | None = None
        self._known = (0, self.start)  # a character, and its byte

    @property
    def places(self) -> Places:
        self._places = self._places or Places(self.text)
        return self._places

    def byte(self, character: int) -> int:
        if self._flat:
            return self.start + character
        at, byte = self._known if self._known[0] <= character else (0, self.start)
        self._known = character, byte + len(self.blocks.encode(self.text[at:character]))
        return self._known[1]


def _whole(blocks: Blocks, data: bytes, start: int) -> int:
    """Bytes at the start of a cell that end a character which began before."""
    return blocks.skip(data) if start else min(blocks.mark, len(data))


class FileMarks:
    """See the module docstring."""

    def __init__(self, handed: Handed) -> None:
        self._handed = handed
        self._homes: OrderedDict[tuple[int, int], _Home] = OrderedDict()
        self._next: tuple[int, int] | None = None  # the cell in which the last piece was found
        self._absent: dict[str, None] = {}
        self._code: deque[str] = deque()
        self._starts = [0, 0]  # where the first pieces of the last texts began in them
        self._until = float("inf")
        self._spaced = True
        self._blocks: dict[int, Blocks] = {}  # of the parts in which pieces were found

    def encoded(self, part: int, text: str) -> bytes:
        """A piece that was found in a part as its bytes."""
        return self._blocks[part].encode(text)

    def cell_began(self, source: str) -> None:
        self._code.append(source)
        while sum(map(len, self._code)) > MOST_CODE and len(self._code) > 1:
            self._code.popleft()

    def find(
        self, text: str, seconds: float = float("inf"), whole: int = 1, *, spaced: bool = True
    ) -> tuple[list[Found], int]:
        """See the module docstring. ``whole``: as :meth:`Places.find` has it. ``spaced``: with the white space
        next to a piece."""
        self._spaced = spaced
        self._until = perf_counter() + seconds
        found: list[Found] = []
        late = 0
        todo = list[Region]()
        for region in self._expected(text, found):
            late += self._by_beginning(text, region, found, todo)
        if found:
            self._starts = [min(found)[0], self._starts[0]]
        todo = [each for each in todo if self._is_worth(text, each, whole)]
        if todo:
            todo, is_sure = self._by_content(text, todo, found, whole)
            if not is_sure:
                late += sum(high - low for low, high in todo)
            elif sum(high - low for low, high in todo) <= LONG:
                self._remember_absent(text[low:high] for low, high in todo)
        return sorted(found), late

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
        if text[low:high] in self._absent or self._is_code(text[low:high]):
            return 0
        at = low
        while at <= high - LEAST:
            if at % 4096 == 4095 and perf_counter() > self._until:
                return high - low
            if piece := self._piece_at(text, at, high):
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
        for piece in self._handed.beginning(head):
            size, last = _agreement(piece, text, at, high)
            if size >= LEAST and (best is None or size > best[0]):
                best = size, last, piece
        if best is None:
            return None
        size, last, (blocks, first, _) = best
        self._handed.used(head, best[2])
        return self._found(at, size, blocks, first, last)

    def _found(self, at: int, size: int, blocks: Blocks, first: int, last: int) -> Found:
        assert blocks.number is not None
        self._blocks[blocks.number] = blocks
        if self._spaced:
            first, last = _with_space(blocks, first, last)
        return at, size, blocks.number, first, last

    # By what is in it

    def _is_worth(self, text: str, region: Region, whole: int) -> bool:
        """Whether a region may be looked for: as long as what counts, or a line of its own."""
        low, high = region
        part = text[low:high]
        if part.isspace() or part in self._absent or self._is_code(part):
            return False
        return high - low >= LEAST or len(part.strip()) >= (
            whole if (low, high) == (0, len(text)) else SHORT_LINE
        )

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
        probes: list[str] | None = None
        for number, key in enumerate(self._likely()):
            if perf_counter() > self._until:
                return todo, False
            home = self._homes.get(key)
            if home is None:
                home = _Home(self._handed.cells[key], key[1])
                if number >= FULL:
                    probes = _probes(text, todo) if probes is None else probes
                    if not any(probe in home.text for probe in probes):
                        continue
                self._homes[key] = home
                if len(self._homes) > KEPT:
                    self._homes.popitem(last=False)
            pieces, late = home.places.find(text, max(0.0, self._until - perf_counter()), whole, todo)
            if pieces:
                self._next = key
                self._homes.move_to_end(key)
                found += [self._as_found(home, piece) for piece in pieces]
                todo = [each for each in _left(todo, pieces) if self._is_worth(text, each, whole)]
                probes = None
            if late:
                return todo, False
            if not todo:
                return [], True
        return todo, not self._handed.lost

    def _likely(self) -> Iterator[tuple[int, int]]:
        """The cells that code went through: where the last piece was found, behind that, then the newest."""
        cells = list(self._handed.cells)
        first = []
        if self._next is not None:
            part, cell = self._next
            first = [key for key in ((part, cell), (part, cell + 1)) if key in self._handed.cells]
        yield from first
        for key in reversed(cells):
            if key not in first and key in self._handed.cells:
                yield key

    def _as_found(self, home: _Home, piece: tuple[int, int, int]) -> Found:
        at, start, size = piece
        return self._found(at, size, home.blocks, home.byte(start), home.byte(start + size))

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
    if not data.isascii() and len(data) < last - first:
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


def _left(todo: list[Region], pieces: list[tuple[int, int, int]]) -> list[Region]:
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
