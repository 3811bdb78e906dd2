"""The characters of bytes that are not in memory: an index of blocks, made on the way.

Contract: :class:`Blocks` finds the byte of a character, the character of a byte, and lines, and gives the
text between two characters. It knows of each block of about 1 MiB where it begins, in bytes, characters and
newlines; it reads only as far as is asked. A block never cuts a character in two. Bytes that are no text in
the encoding stand as lone surrogates (``surrogateescape``), one a byte, so that nothing is lost and every
position stays what it is.

>>> from .octets import Memory
>>> blocks = Blocks(Memory("añb\\ncd".encode()), size=2)
>>> blocks.take(1, 4), blocks.byte(2), blocks.char(3), blocks.line_of(5), blocks.line_start(2), blocks.length
('ñb\\n', 3, 2, 2, 4, 6)
"""

from __future__ import annotations

import codecs
import itertools
import threading
from array import array
from bisect import bisect_left, bisect_right
from collections import OrderedDict
from collections.abc import Iterator

from .handed import HANDED
from .octets import Octets

BLOCK = 1 << 20  # bytes
MARKS = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)
_ONE_BYTE = """
ascii latin-1 cp1250 cp1251 cp1252 iso8859-2 iso8859-5 iso8859-7 iso8859-9 iso8859-15 koi8-r koi8-u
cp437 cp850 mac-roman
"""


class Recent:
    """The blocks that were read last, of all texts together: thousands of texts must not each hold one."""

    def __init__(self, most: int = 8) -> None:
        self._most = most
        self._blocks: OrderedDict[tuple[int, int], bytes | str] = OrderedDict()
        self._lock = threading.Lock()

    def get(self, key: tuple[int, int]) -> bytes | str | None:
        return self._blocks.get(key)

    def keep(self, key: tuple[int, int], block: bytes | str) -> None:
        with self._lock:
            self._blocks[key] = block
            self._blocks.move_to_end(key)
            while len(self._blocks) > self._most:
                self._blocks.popitem(last=False)


_RECENT = Recent()
_keys = itertools.count()


def encoding_of(head: bytes) -> tuple[str, int]:
    """The encoding that a byte-order mark tells, and the length of the mark; UTF-8 without one."""
    return next(((name, len(mark)) for mark, name in MARKS if head.startswith(mark)), ("utf-8", 0))


def checked_encoding(name: str) -> str:
    """The usual name of an encoding that can be read by blocks. Raises ``ValueError`` for others."""
    try:
        known = codecs.lookup(name).name
    except LookupError:
        known = ""
    wide = ("utf-8", "utf-16-le", "utf-16-be")
    if known in wide or any(known == codecs.lookup(each).name for each in _ONE_BYTE.split()):
        return known
    raise ValueError(
        f"the encoding {name!r} cannot be read in parts: use utf-8, utf-16-le, utf-16-be, latin-1, cp1252 "
        "or another of one byte a character"
    )


class Blocks:
    """See the module docstring."""

    def __init__(
        self,
        octets: Octets,
        encoding: str | None = None,
        *,
        size: int = BLOCK,
        part: tuple[Octets, int, int] | None = None,
        number: int | None = None,
        told: int | None = None,
    ) -> None:
        """``part``: of a larger text, the whole, where ``octets`` begin in it, and that line's number.
        ``number``: which part of the context it is, if any; ``told``: the bytes that it has for the host."""
        self.octets, self.number, self._told = octets, number, told
        self._size = max(4, size)
        self._whole, self.offset, line = part or (octets, 0, 1)
        self._before = line - 1
        self.encoding, self._mark = encoding or "", 0
        self._starts = array("Q")  # of each block, and the end of the last one
        self._chars = array("Q")
        self._lines = array("Q")  # newlines before it
        self.complete = False
        self._key = next(_keys)
        self._lock = threading.RLock()

    # Encoding

    def _begin(self) -> None:
        if self._lines:
            count = len(self._lines)  # an interrupt may have come between the three
            del self._starts[count:], self._chars[count:]
            return
        known, mark = encoding_of(self._whole.read(0, 4))
        mark = 0 if self.offset else mark
        if not self.encoding:
            self.encoding, self._mark = known, mark
        elif self.encoding == known:
            self._mark = mark
        self._wide = self.encoding.startswith("utf-16")
        for each, first in ((self._starts, self._mark), (self._chars, 0), (self._lines, 0)):
            each.append(first)

    @property
    def mark(self) -> int:
        """Bytes of the byte-order mark."""
        self._begin()
        return self._mark

    def decode(self, data: bytes) -> str:
        if self._wide:
            half = len(data) % 2  # a byte alone at the end of the file
            return data[: len(data) - half].decode(self.encoding, "surrogatepass") + "\ufffd" * half
        return data.decode(self.encoding, "surrogateescape")

    def encode(self, text: str) -> bytes:
        return text.encode(self.encoding, "surrogatepass" if self._wide else "surrogateescape")

    def _cut(self, data: bytes) -> int:
        """Where to end a block that goes on: not in the middle of a character."""
        if self._wide:
            end = len(data) & ~1
            high = data[end - 1] if self.encoding.endswith("le") else data[end - 2]
            return end - 2 if end > 2 and 0xD8 <= high <= 0xDB else end
        if self.encoding != "utf-8" or data[-1] < 0x80:
            return len(data)
        for back in range(1, min(4, len(data)) + 1):
            byte = data[-back]
            if byte >= 0xC0:  # the first byte of a character
                return len(data) - back if back < len(data) else len(data)
            if byte < 0x80:
                break
        return len(data)

    # The index

    def extend(self) -> bool:
        """Reads one more block; whether there was one."""
        with self._lock:
            self._begin()
            if self.complete:
                return False
            start = self._starts[-1]
            data = self.octets.read(start, self._size)
            more = len(data) == self._size
            if more:
                data = data[: self._cut(data)]
            if not data:
                self._end()
                return False
            number = len(self._starts) - 1
            if not self._wide and data.isascii():
                chars, lines = len(data), data.count(b"\n")
                _RECENT.keep((self._key, number), data)
            else:
                text = self.decode(data)
                chars, lines = len(text), text.count("\n")
                _RECENT.keep((self._key, number), text)
            self._starts.append(start + len(data))
            self._chars.append(self._chars[-1] + chars)
            self._lines.append(self._lines[-1] + lines)
            if not more:
                self._end()
            return True

    def _end(self) -> None:
        """All of it was read."""
        self.complete = True
        if self._starts[-1] != self._told:
            HANDED.measured(self.number, self._starts[-1])

    def until(self, char: int) -> None:
        """Makes the index at least up to this character, if there are so many."""
        self._begin()
        while self._chars[-1] <= char and self.extend():
            pass

    @property
    def length(self) -> int:
        """In characters: reads to the end, the first time."""
        while self.extend():
            pass
        return self._chars[-1]

    @property
    def newlines(self) -> int:
        _ = self.length
        return self._lines[-1]

    def known(self) -> int | None:
        """The length, where it is known already."""
        return self._chars[-1] if self.complete else None

    def _plain(self, block: int) -> bool:
        """Whether the block has one byte a character."""
        return self._starts[block + 1] - self._starts[block] == self._chars[block + 1] - self._chars[block]

    def text(self, block: int) -> str:
        known = _RECENT.get((self._key, block))
        if isinstance(known, str):
            return known
        start = self._starts[block]
        text = self.decode(known or self.octets.read(start, self._starts[block + 1] - start))
        _RECENT.keep((self._key, block), text)
        return text

    def _block_of_char(self, char: int) -> int:
        self.until(char)
        return min(bisect_right(self._chars, char), len(self._chars) - 1) - 1

    # Places

    def byte(self, char: int) -> int:
        """Where a character begins, in bytes; the end for what lies behind it."""
        self.until(char)
        if char >= self._chars[-1]:
            return self._starts[-1]
        block = self._block_of_char(char)
        within = char - self._chars[block]
        if not within or self._plain(block):
            return self._starts[block] + within
        return self._starts[block] + len(self.encode(self.text(block)[:within]))

    def char(self, byte: int) -> int:
        """The character at a byte."""
        self._begin()
        while self._starts[-1] <= byte and self.extend():
            pass
        if byte >= self._starts[-1]:
            return self._chars[-1]
        block = max(0, bisect_right(self._starts, byte) - 1)
        within = max(0, byte - self._starts[block])
        if self._plain(block):
            return self._chars[block] + within
        return self._chars[block] + len(self.decode(self.encode(self.text(block))[:within]))

    def take(self, start: int, stop: int) -> str:
        """The text from one character to another."""
        return self._take(start, stop)[0]

    def _take(self, start: int, stop: int) -> tuple[str, int, int]:
        if stop <= start:
            return "", 0, 0
        first, last = self.byte(start), self.byte(stop)
        if last <= first:
            return "", 0, 0
        return self.decode(self.octets.read(first, last - first)), first, last

    def give(self, start: int, stop: int) -> str:
        """The same, for code."""
        text, first, last = self._take(start, stop)
        HANDED.piece(self, first, last, text)
        return text

    def give_tail(self, count: int) -> str:
        """The last characters, for code."""
        text = self.tail(count)
        if self.number is not None:
            size = self._starts[-1] if self.complete else self.octets.size or 0
            HANDED.piece(self, size - len(self.encode(text)), size, text)
        return text

    def tail(self, count: int) -> str:
        """The last characters, at most so many; where the size is known, what is before is not read."""
        self._begin()
        size = self.octets.size
        if size is None or self.complete:
            length = self.length
            return self.take(max(0, length - count), length)
        start = max(self._mark, size - 4 * count - 8)
        if self._wide:
            start -= (start - self._mark) % 2
        data = self.octets.read(start, size - start)
        text = self.decode(data[self.skip(data) :] if start > self._mark else data)
        return text[-count:] if count else ""

    def skip(self, data: bytes) -> int:
        """Bytes at the start that end a character which began before."""
        if self._wide:
            high = data[1:2] if self.encoding.endswith("le") else data[:1]
            return 2 if high and 0xDC <= high[0] <= 0xDF else 0
        if self.encoding != "utf-8":
            return 0
        return next((at for at, byte in enumerate(data[:4]) if not 0x80 <= byte < 0xC0), 0)

    def run(self, start: int) -> Iterator[tuple[int, str]]:
        """The text from a character on, piece by piece, each with its place."""
        self.until(start)
        block = self._block_of_char(start)
        while block >= 0:
            if block + 1 >= len(self._starts) and not self.extend():
                return
            text, place = self.text(block), self._chars[block]
            if place < start:
                text, place = text[start - place :], start
            if text:
                yield place, text
            block += 1

    # Lines

    def line_of(self, char: int) -> int:
        """The number of the line of a character, from 1."""
        self.until(char)
        block = self._block_of_char(char)
        if block < 0:
            return self._before + 1
        within = char - self._chars[block]
        return self._before + self._lines[block] + self.text(block).count("\n", 0, within) + 1

    def line_start(self, number: int) -> int | None:
        """Where a line begins, in characters; ``None`` where there are not so many."""
        self._begin()
        wanted = number - 1 - self._before  # newlines before it
        while self._lines[-1] < wanted and self.extend():
            pass
        if wanted <= 0:
            return 0 if wanted == 0 else None
        if self._lines[-1] < wanted:
            return None
        block = bisect_left(self._lines, wanted) - 1
        text, left = self.text(block), wanted - self._lines[block]
        rest = text.split("\n", left)[-1]
        return self._chars[block] + len(text) - len(rest)
