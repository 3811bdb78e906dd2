"""Text that is not in memory and behaves as a ``str``: a file larger than memory, or a part of one.

Contract: :class:`LazyText` has the positions, the lengths and the methods of the ``str`` that the file would
be. A slice of at most :data:`SMALL` characters is a ``str``, a longer one a LazyText of that part. What would
read all into memory is refused with what to do instead, unless the text is small. Memory use does not grow
with the file.

- A **line** ends at ``\\n``; :meth:`~LazyText.lines` and :meth:`~LazyText.line` give it without its end
  (``\\n`` or ``\\r\\n``), slices give every character as it is. Lines are numbered from 1, as editors and
  ``grep -n`` do; in a part of a text, too, they have the numbers of the text it was cut from, while positions
  count from the start of the part.
- **UTF-8**, a byte-order mark taken off; UTF-16 with a mark. Bytes that are no UTF-8 stand as lone
  surrogates, one each; :meth:`~LazyText.encoded` reads the same bytes in another encoding.

>>> from .octets import Memory
>>> text = LazyText(Blocks(Memory("one\\r\\ntwö\\nthree".encode()), size=4), "a.txt")
>>> len(text), text[5:8], text.find("ree"), text.line(2), text.line_of(9), list(text.lines())
(14, 'twö', 11, 'twö', 3, ['one', 'twö', 'three'])
>>> text.grep("t"), "wö" in text, text.count("e"), text == "one\\r\\ntwö\\nthree"
(['2: twö', '3: three'], True, 3, True)
"""

from __future__ import annotations

import io
from collections.abc import Iterator
from typing import Literal, NoReturn, overload

from .blocks import Blocks, checked_encoding
from .handed import HANDED, watched
from .lines import Lines, Pieces
from .octets import Octets, Part, Raw
from .searched import Searched
from .sizes import sized

SMALL = 16_000_000  # characters


class LazyText(Searched):
    """See the module docstring. ``start`` and ``stop`` are in characters of ``blocks``."""

    __slots__ = ("_blocks", "_entry", "_name", "_start", "_stop")

    def __init__(
        self,
        blocks: Blocks,
        name: str,
        start: int = 0,
        stop: int | None = None,
        entry: tuple[str, int] | None = None,
    ) -> None:
        self._blocks, self._name = blocks, name
        self._start, self._stop = start, stop
        self._entry = entry  # source and number, by which a child is given the same file

    # Size

    def __len__(self) -> int:
        stop = self._blocks.length if self._stop is None else self._stop
        return max(0, stop - self._start)

    @property
    def name(self) -> str:
        """The file's name."""
        return self._name

    @property
    def size(self) -> int | None:
        """Bytes of the file, or the part, where they are known without reading it to its end."""
        if self._stop is not None:
            return self._blocks.byte(self._stop) - self._blocks.byte(self._start)
        whole = self._blocks.octets.size
        return None if whole is None else whole - (self._blocks.byte(self._start) if self._start else 0)

    @property
    def encoding(self) -> str:
        self._blocks.until(0)
        return self._blocks.encoding

    def encoded(self, encoding: str) -> LazyText:
        """The same bytes read in another encoding: latin-1, cp1252, …"""
        whole = not self._start and self._stop is None
        number = self._blocks.number if whole else None
        return LazyText(Blocks(self._octets(), checked_encoding(encoding), number=number), self._name)

    def _octets(self, *, traced: bool = False) -> Octets:
        """The bytes of this text; ``traced``: for something else than a text to read."""
        octets = watched(self._blocks) if traced else self._blocks.octets
        if not self._start and self._stop is None:
            return octets
        stop = None if self._stop is None else self._blocks.byte(self._stop)
        return Part(octets, self._blocks.byte(self._start), stop)

    @property
    def number(self) -> int | None:
        """Which part of the context it is, or is a part of."""
        return self._blocks.number

    def byte(self, position: int) -> int:
        """Where a character begins in the bytes of the file."""
        return self._blocks.byte(self._start + position)

    def as_bytes(self, text: str) -> bytes:
        """A piece of it as it stands in the file."""
        return self._blocks.encode(text)

    def is_small(self) -> bool:
        """Whether all of it may be had as one ``str``. Never reads more than that."""
        if self._stop is None:
            whole = self._blocks.octets.size
            if whole is not None and whole > 4 * SMALL + 4:
                return False
            self._blocks.until(self._start + SMALL)
            return self._blocks.complete and len(self) <= SMALL
        return self._stop - self._start <= SMALL

    # Parts

    @overload
    def __getitem__(self, key: int) -> str: ...

    @overload
    def __getitem__(self, key: slice) -> str: ...  # a LazyText where it is long, which acts as one

    def __getitem__(self, key: int | slice) -> object:
        if isinstance(key, slice):
            return self._slice(key)
        at = key.__index__()
        if at < 0:
            tail = self._tail(-at)
            if len(tail) < -at:
                raise IndexError("string index out of range")
            return tail[0]
        found = self._take(at, at + 1)  # a character alone is not traced
        if not found:
            raise IndexError("string index out of range")
        return found

    def _slice(self, key: slice) -> object:
        start, stop, step = key.start, key.stop, key.step
        for each in (start, stop, step):
            if each is not None and not hasattr(each, "__index__"):
                raise TypeError("slice indices must be integers or None")
        if step not in (None, 1):
            if not self.is_small():
                self._refuse(f"[::{step}]", "slice without a step, context[a:b], and go on with that str")
            return self._text()[key]
        start = 0 if start is None else start.__index__()
        if start < 0 and (stop is None or stop.__index__() < 0) and -start <= SMALL and self._stop is None:
            tail = self._give_tail(-start)  # the end of a large file, without a pass over it
            return tail if stop is None else tail[: max(0, len(tail) + stop.__index__())]
        if start >= 0 and stop is None and self._is_large_after(start):
            return LazyText(self._blocks, self._name, self._start + start, self._stop, self._entry)
        if start < 0 or stop is None or stop.__index__() < 0:
            start, stop, _ = slice(start, stop).indices(len(self))
        stop = stop.__index__()
        return self._part(start, stop)

    def _is_large_after(self, start: int) -> bool:
        """Whether a long text is sure to follow, told without a pass over it."""
        whole = self._blocks.octets.size
        if whole is None or self._stop is not None or whole < 4 * SMALL:
            return False
        return whole - self._blocks.byte(self._start + start) > 4 * SMALL + 4

    def _part(self, start: int, stop: int) -> object:
        """From ``start`` to ``stop``, neither negative."""
        if stop - start <= SMALL:
            return self._give(start, stop)
        self._blocks.until(self._start + start + SMALL + 1)
        most = len(self) if self._blocks.complete or self._stop is not None else None
        if most is not None and min(stop, most) - start <= SMALL:
            return self._give(start, stop)
        self._blocks.until(self._start + stop)
        stop = min(self._start + stop, self._blocks.char(self._blocks.byte(self._start + stop)))
        if self._stop is not None:
            stop = min(stop, self._stop)
        return LazyText(self._blocks, self._name, self._start + start, stop, self._entry)

    def _take(self, start: int, stop: int) -> str:
        """The text between two positions, for what searches in it."""
        return self._blocks.take(self._start + start, self._end_of(stop))

    def _give(self, start: int, stop: int) -> str:
        """The one place where a text of it is made for code that asked for a part by position."""
        return self._blocks.give(self._start + start, self._end_of(stop))

    def _passed(self, start: int, stop: int, text: str = "", number: int = 0) -> None:
        blocks = self._blocks
        if blocks.number is not None:
            first, last = blocks.byte(self._start + start), blocks.byte(self._end_of(stop))
            HANDED.piece(blocks, first, last, text, number)

    def _end_of(self, stop: int) -> int:
        """A position as one of the blocks', inside the part."""
        stop += self._start
        return stop if self._stop is None else min(stop, self._stop)

    def _tail(self, count: int) -> str:
        if self._stop is not None or self._start:
            return self._take(max(0, len(self) - count), len(self))
        return self._blocks.tail(count)

    def _give_tail(self, count: int) -> str:
        if self._stop is not None or self._start:
            return self._give(max(0, len(self) - count), len(self))
        return self._blocks.give_tail(count)

    def _text(self) -> str:
        return self._give(0, len(self))

    # As text

    def _refuse(self, what: str, instead: str) -> NoReturn:
        raise TypeError(
            f"{what} would read all of {self._name} ({sized(self.size)}) into memory, and a text is at most "
            f"{SMALL:,} characters here: {instead}"
        )

    def __str__(self) -> str:
        if not self.is_small():
            self._refuse("str()", "slice it, context[a:b] is a str, or go through chunks(context, size)")
        return self._text()

    def __unspool_text__(self) -> str:
        """For the host: small as it is, else refused."""
        return str(self)

    def __unspool_part__(self) -> tuple[str, int, int, int, int] | None:
        """For a child: source, file, first and last byte (-1: to the end), and the number of the first line;
        ``None`` where no child can be given it but as a text."""
        if self._entry is None:
            return None
        blocks, size = self._blocks, self._blocks.octets.size
        start = blocks.offset + (blocks.byte(self._start) if self._start else 0)
        stop = -1
        if self._stop is not None:
            stop = blocks.offset + blocks.byte(self._stop)
        elif isinstance(blocks.octets, Part) and size is not None:
            stop = blocks.offset + size
        return (*self._entry, start, stop, blocks.line_of(self._start))

    def __repr__(self) -> str:
        part = "" if not self._start and self._stop is None else ", a part of it"
        return (
            f"<LazyText {self._name}: {sized(self.size)}{part}; [a:b] is a str, .lines(), .line(n), "
            ".find(), .count(), grep(pattern), chunks(context, size)>"
        )

    def __format__(self, spec: str) -> str:
        return format(str(self), spec)

    def __eq__(self, other: object) -> bool:
        if self is other:
            return True
        if not isinstance(other, str | LazyText):
            return NotImplemented
        if isinstance(other, str):
            return self[: len(other) + 1] == other if len(other) < SMALL else str(self) == other
        if len(self) != len(other):
            return False
        step = 1 << 20
        return all(self[at : at + step] == other[at : at + step] for at in range(0, len(self), step))

    __hash__ = None  # type: ignore[assignment]

    def __copy__(self) -> LazyText:
        return self  # nothing changes it

    def __deepcopy__(self, memo: object) -> LazyText:
        return self

    def __iter__(self) -> Iterator[str]:
        if not self.is_small():
            self._refuse("going through it", "context.lines() gives its lines, chunks(context, size) pieces")
        return iter(self._text())

    def __add__(self, other: object) -> str:
        return str(self) + str(other) if isinstance(other, str | LazyText) else NotImplemented

    def __radd__(self, other: object) -> str:
        return other + str(self) if isinstance(other, str) else NotImplemented

    def __getattr__(self, name: str) -> object:
        """The other methods of a ``str``, where the text is small."""
        if name.startswith("_") or not hasattr(str, name):
            raise AttributeError(f"a LazyText has no attribute {name!r}")
        if not self.is_small():
            instead = {
                "split": "for line in context.lines(): … goes line by line",
                "splitlines": "for line in context.lines(): … goes line by line",
            }.get(name, f"use it on parts: context[a:b].{name}(…), or on each line of context.lines()")
            self._refuse(f".{name}()", instead)
        return getattr(self._text(), name)

    # Lines

    def _newlines(self) -> int | None:
        return None if self._start or self._stop is not None else self._blocks.newlines

    def _run(self, start: int = 0, stop: int | None = None) -> Iterator[tuple[int, str]]:
        """Its pieces, with positions in the part."""
        last = self._stop
        if stop is not None:
            last = self._start + stop if last is None else min(last, self._start + stop)
        for place, text in self._blocks.run(self._start + start):
            if last is not None and place + len(text) >= last:
                if place < last:
                    yield place - self._start, text[: last - place]
                return
            yield place - self._start, text

    def lines(self, start: int = 1, stop: int | None = None) -> Lines:
        """Its lines without their ends, from number ``start`` to before ``stop``: to go through, to index,
        to slice. ``for number, line in enumerate(context.lines(), 1)``."""
        return Lines(self, start, stop)

    def line(self, number: int) -> str:
        """The line of that number, from 1, without its end."""
        span = self.line_span(number)
        if span is None:
            raise IndexError(f"there is no line {number:,}")
        if span[1] - span[0] > SMALL:
            raise TypeError(
                f"line {number:,} has {span[1] - span[0]:,} characters, too many for one str: "
                f"slice it, context[{span[0]}:{span[0] + 1000}]"
            )
        return self._give(*span).removesuffix("\r")

    def line_span(self, number: int) -> tuple[int, int] | None:
        """Where a line begins and ends, its newline left out; ``None`` where there is no such line."""
        first = self._blocks.line_start(number) if number >= 1 else None
        if first is None:
            return None
        first -= self._start
        if self._start and first < 0:
            after = self._blocks.line_start(number + 1)
            first = 0 if after is None or after > self._start else -1
        if first < 0 or not self[first : first + 1]:
            return None
        end = self.find("\n", first)
        return first, len(self) if end < 0 else end

    def line_of(self, position: int) -> int:
        """The number of the line of a position."""
        if position < 0:
            position += len(self)
        return self._blocks.line_of(self._start + position)

    def line_start(self, number: int) -> int:
        """The position where a line begins."""
        span = self.line_span(number)
        if span is None:
            raise IndexError(f"there is no line {number:,}")
        return span[0]

    @property
    def line_count(self) -> int:
        """How many lines; a last one without a newline counts."""
        if not len(self):
            return 0
        ends = self.count("\n")
        return ends + (not self.endswith("\n"))

    def chunks(self, size: int, overlap: int = 0) -> Pieces:
        """Pieces of at most ``size`` characters, made when they are taken."""
        return Pieces(self, size, overlap)

    @overload
    def open(self, mode: Literal["r"] = "r", newline: str | None = "") -> io.TextIOWrapper: ...

    @overload
    def open(self, mode: Literal["rb"], newline: str | None = "") -> io.BufferedReader: ...

    def open(self, mode: str = "r", newline: str | None = "") -> io.IOBase:
        """A file object, of text (``"r"``) or bytes (``"rb"``), for what reads one: csv, json, pandas."""
        octets, whole = self._octets(traced=True), not self._start and self._stop is None
        if mode == "rb":
            return io.BufferedReader(Raw(octets), 1 << 18)
        if mode != "r":
            raise ValueError(f"mode {mode!r}: a context is read-only, use 'r' or 'rb'")
        self._blocks.until(0)
        mark = self._blocks.mark if whole else 0
        return io.TextIOWrapper(
            io.BufferedReader(Raw(Part(octets, mark, None)), 1 << 18),
            encoding=self._blocks.encoding,
            errors="surrogateescape" if "16" not in self._blocks.encoding else "surrogatepass",
            newline=newline,
        )

    def table(self, **options: object) -> object:
        """A DataFrame of .csv, .tsv or .jsonl; ``options`` go to pandas (``nrows=``, ``usecols=``, …)."""
        from .tables import table_of_text

        return table_of_text(self, options)
