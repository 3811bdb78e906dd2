"""Search in text that is not in memory: pieces one behind the other, with what hangs over their edges.

Contract: :func:`matches` finds what ``re.finditer`` would find in the whole text, where no match depends on
more than :data:`AHEAD` characters behind the end of the piece that it begins in, or :data:`BEHIND` before its
own start: a match that reaches the end of what is there makes it grow, to at most :data:`MOST`.
:func:`places` is the same for a plain text, and exact.

>>> pieces = [(0, "the nee"), (7, "dle, a n"), (15, "eedle")]
>>> list(places(iter(pieces), "needle"))
[4, 14]
>>> [found.span() for found in matches(iter(pieces), re.compile("n.*?e,?"), 0)]
[(4, 6), (14, 16)]
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from types import ModuleType
from typing import cast

AHEAD = 1 << 16  # characters
BEHIND = 1 << 10
MOST = 64 << 20

Pieces = Iterator[tuple[int, str]]


class Found:
    """A match, its places in the whole text; otherwise like :class:`re.Match`."""

    __slots__ = ("_match", "_shift")

    def __init__(self, match: re.Match[str], shift: int) -> None:
        self._match, self._shift = match, shift

    def start(self, group: int | str = 0) -> int:
        at = self._match.start(group)
        return at if at < 0 else at + self._shift

    def end(self, group: int | str = 0) -> int:
        at = self._match.end(group)
        return at if at < 0 else at + self._shift

    def span(self, group: int | str = 0) -> tuple[int, int]:
        return self.start(group), self.end(group)

    def group(self, *groups: int | str) -> str | tuple[str, ...] | None:
        return self._match.group(*groups)

    def groups(self, default: str | None = None) -> tuple[str | None, ...]:
        return self._match.groups(default)

    def groupdict(self, default: str | None = None) -> dict[str, str | None]:
        return self._match.groupdict(default)

    def __getitem__(self, group: int | str) -> str | None:
        return self._match[group]

    def __repr__(self) -> str:
        return f"<found {self.span()}: {self._match[0][:60]!r}>"


def matches(
    pieces: Pieces, pattern: re.Pattern[str], start: int, *, ahead: int = AHEAD, behind: int = BEHIND
) -> Iterator[Found]:
    """The matches from ``start`` on; the first piece may begin before it."""
    base, text, done = -1, "", start  # where ``text`` begins, and where the search goes on
    needed = required(pattern)
    last = False
    while not last:
        piece = next(pieces, None)
        last = piece is None
        if piece is not None:
            base = piece[0] if base < 0 else base
            text += piece[1]
        base = max(base, 0)  # of an empty text
        safe = base + len(text) - (0 if last else ahead)  # a match may begin before it
        if (done < safe or (last and done == safe)) and may_match(text, needed, pattern):
            for match in pattern.finditer(text, max(0, done - base)):
                if not last and (match.start() + base >= safe or _hangs(match, text)):
                    safe = min(safe, match.start() + base)
                    break
                yield Found(match, base)
                done = match.end() + base + (match.start() == match.end())
        done = max(done, safe)
        keep = min(len(text), max(0, done - behind - base))
        base, text = base + keep, text[keep:]


def _hangs(match: re.Match[str], text: str) -> bool:
    """Whether it may be longer than it seems."""
    return match.end() == len(text) < MOST


def places(pieces: Pieces, wanted: str) -> Iterator[int]:
    """Where ``wanted``, which is not empty, stands; places do not overlap, as for ``str.count``."""
    hang = len(wanted) - 1
    base, text = 0, ""
    for place, piece in pieces:
        base, text = place - len(text), text + piece
        at = 0
        while (found := text.find(wanted, at)) >= 0:
            yield base + found
            at = found + len(wanted)
        text = text[max(at, len(text) - hang) :]


def count(pieces: Pieces, wanted: str) -> int:
    """How often, as ``str.count`` has it."""
    if any(wanted.startswith(wanted[at:]) for at in range(1, len(wanted))):  # it can overlap with itself
        return sum(1 for _ in places(pieces, wanted))
    total, text, hang = 0, "", len(wanted) - 1
    for _, piece in pieces:
        text += piece
        total += text.count(wanted)
        text = text[max(0, len(text) - hang) :] if hang else ""
    return total


Parsed = Iterable[tuple[object, object]]


def required(pattern: re.Pattern[str]) -> tuple[str, ...]:
    """Texts of which every match contains one, where they are easily seen: most pieces need no closer look
    then. Where case does not count they are in lower case.

    >>> required(re.compile("FATA[LM]|(?:kernel )?panic")), required(re.compile("a.*bcd+"))
    (('FATA', 'panic'), ('bc',))
    """
    try:
        from re import _constants, _parser  # type: ignore[attr-defined]

        parsed = _parser.parse(pattern.pattern, pattern.flags)
        found = _required(parsed, _constants)
    except (ImportError, AttributeError, TypeError, ValueError, re.error):  # of another version of Python
        return ()
    return tuple(text.lower() for text in found) if pattern.flags & re.IGNORECASE else found


def _required(parsed: Parsed, kinds: ModuleType) -> tuple[str, ...]:
    best: tuple[str, ...] = ()
    run = ""
    for kind, value in parsed:
        inner: tuple[str, ...] = ()
        if kind is kinds.LITERAL:
            run += chr(cast(int, value))
            inner = (run,)
        else:
            run = ""
            if kind is kinds.BRANCH:
                each = [_required(part, kinds) for part in cast("tuple[object, list[Parsed]]", value)[1]]
                inner = tuple(text for part in each for text in part) if all(each) else ()
            elif kind is kinds.SUBPATTERN and not any(cast("tuple[object, int, int, Parsed]", value)[1:3]):
                inner = _required(cast("tuple[object, int, int, Parsed]", value)[3], kinds)
            elif kind in (kinds.MAX_REPEAT, kinds.MIN_REPEAT):
                least, _, part = cast("tuple[int, int, Parsed]", value)
                inner = _required(part, kinds) if least else ()
        if inner and min(map(len, inner)) > min(map(len, best), default=0):
            best = inner
    return best


def may_match(text: str, needed: tuple[str, ...], pattern: re.Pattern[str]) -> bool:
    """Whether a closer look is worth it."""
    if not needed:
        return True
    if pattern.flags & re.IGNORECASE:
        if not text.isascii():  # there letters have more than one other case
            return True
        text = text.lower()
    return any(each in text for each in needed)
