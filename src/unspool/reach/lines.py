"""The lines and the pieces of a text that is not in memory, as sequences that are made when they are taken.

>>> pieces = Pieces("abcdefg", 3)  # for a str they would be the same
>>> len(pieces), list(pieces), pieces[-1], pieces[:2]
(3, ['abc', 'def', 'g'], 'g', ['abc', 'def'])
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import islice
from sys import getrefcount
from typing import TYPE_CHECKING, overload

from .short_lines import LEAST

if TYPE_CHECKING:
    from .text import LazyText

MOST_LINE = 16_000_000  # characters of a line that is given as one str
MOST_KEPT = 500  # lines of a piece whose places are told; of more, code keeps the text, and not some lines
_HELD_ONCE = max(map(getrefcount, islice(["".join(("a text", " in a list alone"))], 1)))


class Lines(Sequence[str]):
    """Lines without their ends (``\\n`` or ``\\r\\n``). Indices count from 0, as in a list."""

    __slots__ = ("_first", "_stop", "_text")

    def __init__(self, text: LazyText, start: int = 1, stop: int | None = None) -> None:
        if start < 1:
            raise ValueError("lines are numbered from 1")
        self._text, self._first, self._stop = text, start, stop

    def __iter__(self) -> Iterator[str]:
        lines = self._all(self._begin())
        if self._stop is not None:
            lines = islice(lines, max(0, self._stop - self._first))
        return lines

    def _begin(self) -> int | None:
        if self._first == 1:
            return 0
        span = self._text.line_span(self._first)
        return None if span is None else span[0]

    def _all(self, start: int | None) -> Iterator[str]:
        if start is None:
            return
        rest: list[str] = []
        held = 0
        for place, piece in self._text._run(start):
            self._text._passed(place, place + len(piece))
            lines = piece.split("\n")
            if len(lines) == 1:
                rest.append(piece)
                held += len(piece)
                if held > MOST_LINE:
                    raise TypeError(
                        f"a line has more than {MOST_LINE:,} characters: go through chunks(context, size)"
                    )
                continue
            rest.append(lines[0])
            yield "".join(rest).removesuffix("\r")
            rest, held, sizes = [lines[-1]], len(lines[-1]), list[int]()
            if "\r" in piece:
                sizes = list(map(len, lines))
                lines = [line.removesuffix("\r") for line in lines]
            try:
                yield from islice(lines, 1, len(lines) - 1)
            finally:
                self._tell_kept(place, lines, sizes)
        if any(rest):
            yield "".join(rest).removesuffix("\r")

    def _tell_kept(self, place: int, lines: list[str], sizes: list[int]) -> None:
        """Which lines of a piece somebody still holds, now that the next ones are wanted: they may be shown
        later, and only another pass over the file could then tell where they stand. The last one is the
        variable of a loop. CPython counts who holds them; where nothing counts, they are looked for."""
        end = len(lines) - 2
        if self._text.number is None or max(map(getrefcount, islice(lines, 1, end)), default=0) <= _HELD_ONCE:
            return
        counts = enumerate(map(getrefcount, islice(lines, 1, end)), 1)
        kept = [n for n, count in counts if count > _HELD_ONCE and len(lines[n]) >= LEAST]
        if len(kept) > MOST_KEPT:
            return
        at = done = 0
        for number in kept:
            at += sum(sizes[done:number] or map(len, lines[done:number])) + number - done
            done = number
            self._text._passed(place + at, place + at + len(lines[number]), lines[number])

    def __len__(self) -> int:
        last = self._text.line_count + 1
        if self._stop is not None:
            last = min(last, self._stop)
        return max(0, last - self._first)

    @overload
    def __getitem__(self, key: int) -> str: ...

    @overload
    def __getitem__(self, key: slice) -> list[str]: ...

    def __getitem__(self, key: int | slice) -> str | list[str]:
        if isinstance(key, slice):
            forward = (
                key.step in (None, 1) and (key.start or 0) >= 0 and key.stop is not None and key.stop >= 0
            )
            if forward:  # without a look at the end
                first = self._first + (key.start or 0)
                stop = self._first + key.stop
                return list(Lines(self._text, first, stop if self._stop is None else min(stop, self._stop)))
            start, stop, step = key.indices(len(self))
            if step == 1:
                return list(Lines(self._text, self._first + start, self._first + stop))
            return [self[at] for at in range(start, stop, step)]
        at = key.__index__()
        if at < 0:
            at += len(self)
        number = self._first + at
        if at < 0 or (self._stop is not None and number >= self._stop):
            raise IndexError("list index out of range")
        try:
            return self._text.line(number)
        except IndexError:
            raise IndexError("list index out of range") from None

    def __repr__(self) -> str:
        return f"<lines of {self._text.name}: go through them, or take [a:b]>"


class Pieces(Sequence[str]):
    """Pieces of at most so many characters, the last ``overlap`` of one again at the start of the next."""

    __slots__ = ("_size", "_step", "_text")

    def __init__(self, text: LazyText | str, size: int, overlap: int = 0) -> None:
        if size < 1 or not 0 <= overlap < size:
            raise ValueError("size has to be at least 1, overlap at least 0 and less than size")
        self._text, self._size, self._step = text, size, size - overlap

    def _end(self) -> int:
        """Where the last piece may begin at the latest, and one more."""
        length = len(self._text)
        return max(1, length - (self._size - self._step)) if length else 0

    def __len__(self) -> int:
        return -(-self._end() // self._step)

    def __iter__(self) -> Iterator[str]:
        at, overlap = 0, self._size - self._step
        while True:
            piece = self._text[at : at + self._size]
            if not piece or (at and len(piece) <= overlap):
                return
            yield piece
            at += self._step

    @overload
    def __getitem__(self, key: int) -> str: ...

    @overload
    def __getitem__(self, key: slice) -> list[str]: ...

    def __getitem__(self, key: int | slice) -> str | list[str]:
        if isinstance(key, slice):
            return [self[at] for at in range(*key.indices(len(self)))]
        at = key.__index__()
        at += len(self) if at < 0 else 0
        piece = self._text[at * self._step : at * self._step + self._size] if at >= 0 else ""
        if not piece or (at and len(piece) <= self._size - self._step):
            raise IndexError("list index out of range")
        return piece

    def __repr__(self) -> str:
        return f"<pieces of {self._size:,} characters, made when they are taken>"


def shown_line(take: Callable[[int, int], str], start: int, end: int, most: int) -> tuple[str, int, int]:
    """The line or lines of a match as they are shown, and where they begin and end.

    Of a longer line than ``most``, what is around the match.
    """
    before = take(max(0, start - most), start)
    cut = before.rfind("\n") + 1
    first = start - len(before) + cut if cut or start <= most else start - most // 2
    after = take(end, end + most)
    stop = after.find("\n")
    whole = stop >= 0 or len(after) < most
    last = end + (stop if stop >= 0 else len(after) if whole else most // 2)
    line = take(first, last).removesuffix("\r")
    if len(line) > 2 * most + 200:
        line = f"{line[:most]} … {line[-most:]}"
    if not (cut or start <= most):
        line = "…" + line
    return line if whole else line + "…", first, last
