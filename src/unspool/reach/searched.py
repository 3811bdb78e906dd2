"""What can be searched for in a text that is not in memory: the searching half of
:class:`~unspool.reach.text.LazyText`.
"""

from __future__ import annotations

import itertools
import re
from abc import abstractmethod
from collections.abc import Iterator, Sequence

from . import search
from .lines import shown_line

LONG_LINE = 500  # characters of a line that grep shows
NEAR = 1 << 16  # characters behind a match in which the next one need not be told


class Searched(Sequence[str]):
    """A text of which pieces can be had."""

    __slots__ = ()

    @abstractmethod
    def _run(self, start: int = 0, stop: int | None = None) -> Iterator[tuple[int, str]]:
        """Its pieces from ``start`` to ``stop``, each with its position."""

    @abstractmethod
    def _take(self, start: int, stop: int) -> str:
        """The text between two positions."""

    @abstractmethod
    def _passed(self, start: int, stop: int, text: str = "", number: int = 0) -> None:
        """Code has got something that stands between these positions; ``text``: how it begins."""

    @abstractmethod
    def _tail(self, count: int) -> str:
        """The last characters, at most so many."""

    @abstractmethod
    def line_of(self, position: int) -> int: ...

    @abstractmethod
    def _newlines(self) -> int | None:
        """How many there are, where an index of all of it tells."""

    def _bounds(self, start: int | None, stop: int | None) -> tuple[int, int | None]:
        if start is not None and start < 0:
            start = max(0, start + len(self))
        if stop is not None and stop < 0:
            stop = max(0, stop + len(self))
        return start or 0, stop

    def find(self, sub: str, start: int | None = None, stop: int | None = None) -> int:
        """The first position of ``sub``, -1 where it is not."""
        low, high = self._bounds(start, stop)
        if not sub:
            end = len(self) if high is None else min(high, len(self))
            return low if low <= end else -1
        return next(search.places(self._run(low, high), _text(sub)), -1)

    def index(self, sub: str, start: int | None = None, stop: int | None = None) -> int:
        at = self.find(sub, start, stop)
        if at < 0:
            raise ValueError("substring not found")
        return at

    def rfind(self, sub: str, start: int | None = None, stop: int | None = None) -> int:
        """The last position of ``sub``, -1 where it is not."""
        low, high, _ = slice(start, stop).indices(len(self))
        if (start or 0) > len(self) or high < low:
            return -1
        step = max(1 << 20, 4 * len(_text(sub)))
        while True:
            first = max(low, high - step)
            at = self._take(first, high).rfind(sub)
            if at >= 0:
                return first + at
            if first == low:
                return -1
            high = first + len(sub) - 1

    def rindex(self, sub: str, start: int | None = None, stop: int | None = None) -> int:
        at = self.rfind(sub, start, stop)
        if at < 0:
            raise ValueError("substring not found")
        return at

    def count(self, sub: str, start: int | None = None, stop: int | None = None) -> int:
        """How often ``sub`` stands in it."""
        low, high = self._bounds(start, stop)
        if _text(sub) == "\n" and not low and high is None and (known := self._newlines()) is not None:
            return known
        if not sub:
            end = len(self) if high is None else min(high, len(self))
            return max(0, end - low + 1) if low <= end else 0
        return search.count(self._run(low, high), sub)

    def __contains__(self, sub: object) -> bool:
        if not isinstance(sub, str):
            raise TypeError(f"'in <text>' requires a str, not {type(sub).__name__}")
        return self.find(sub) >= 0

    def startswith(self, prefix: str | tuple[str, ...], start: int = 0, stop: int | None = None) -> bool:
        part = self if not start and stop is None else self[start:stop]
        each = prefix if isinstance(prefix, tuple) else (prefix,)
        return any(part[: len(p)] == p for p in each)

    def endswith(self, suffix: str | tuple[str, ...]) -> bool:
        each = suffix if isinstance(suffix, tuple) else (suffix,)
        return any(not p or self._tail(len(p)) == p for p in each)

    def finditer(self, pattern: str | re.Pattern[str], flags: int = 0) -> Iterator[search.Found]:
        """As ``re.finditer(pattern, text, flags)``: each with ``start()``, ``end()``, ``group()``, …"""
        compiled, known = re.compile(pattern, flags), -1
        for match in search.matches(self._run(), compiled, 0):
            start, end = match.span()
            if end > known:
                known = end + NEAR
                self._passed(start, known)
            yield match

    def search(self, pattern: str | re.Pattern[str], flags: int = 0) -> search.Found | None:
        """As ``re.search(pattern, text, flags)``."""
        return next(self.finditer(pattern, flags), None)

    def findall(self, pattern: str | re.Pattern[str], flags: int = 0, limit: int = 1_000_000) -> list[object]:
        """As ``re.findall(pattern, text, flags)``, at most ``limit`` of them."""
        found = itertools.islice(self.finditer(pattern, flags), limit)
        return [m[0] if not m.groups() else m[1] if len(m.groups()) == 1 else m.groups() for m in found]

    def hits(self, pattern: str | re.Pattern[str], flags: int = 0) -> Iterator[tuple[int, str]]:
        """(number, line) of each line with a match, cut around it where it is long; without end."""
        compiled = pattern if isinstance(pattern, re.Pattern) else re.compile(pattern, flags | re.MULTILINE)
        after, number, counted = -1, 1, 0
        for match in search.matches(self._run(), compiled, 0):
            at, end = match.span()
            if at < after or at == end:
                continue
            number = self._number(number, counted, at)
            counted = at
            line, first, after = shown_line(self._take, at, end, LONG_LINE)
            self._passed(first, after, line, number)
            yield number, line

    def _number(self, number: int, counted: int, at: int) -> int:
        """The line of ``at``, that of ``counted`` being known: nearby, counting on is quicker."""
        if counted and at - counted < 4096:
            return number + self._take(counted, at).count("\n")
        return self.line_of(at)

    def __unspool_hits__(self, pattern: re.Pattern[str]) -> Iterator[str]:
        return (f"{number}: {line}" for number, line in self.hits(pattern))

    def grep(self, pattern: str | re.Pattern[str], limit: int = 50, flags: int = 0) -> list[str]:
        """The lines with a match, ``number: line``; ``^`` and ``$`` are the ends of a line."""
        return [f"{n}: {line}" for n, line in itertools.islice(self.hits(pattern, flags), limit)]


def _text(sub: object) -> str:
    if not isinstance(sub, str):
        raise TypeError(f"must be str, not {type(sub).__name__}")
    return sub
