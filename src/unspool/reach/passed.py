"""Which files searches have passed over, for they cannot be read: told to the model as a note of the cell.

Contract: :meth:`Passed.over` takes a file of a folder, a glob or an archive that a search could not read;
:meth:`Passed.take` gives, at the end of a cell, a note for each folder that one was passed over in since the
last note. A note names what cannot be read of that folder as far as is known so far, :data:`NAMED` files of
it. Files that are whole but no text (pictures, tables) are no news, unless their names promise a document.
What may not be opened to begin with (:data:`Closed`) is not in the mapping: :meth:`Passed.closed` takes it.

>>> from .sniff import Unreadable
>>> passed = Passed()
>>> passed.over("scans", 3, "a.pdf", Unreadable("a.pdf has 2 pages, but no text: it is scanned"))
>>> passed.take(), passed.take()
(['passed over in scans: 1 of its 3 files cannot be read: a.pdf (has 2 pages, but no text)'], [])
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from .shown import cut
from .sizes import NO_TEXT, size_told
from .sniff import NotText, Unreadable, kind_by_name

Closed = tuple[int, Sequence[tuple[str, str]]]
"""How many files and folders of a folder or a glob may not be opened; path and why of the first of them."""

NAMED = 8  # files in a note
MOST_PLACES = 30  # folders and archives
MOST_CHARACTERS = 2_000  # of a note that came out of a sandbox
_PATH = 80  # characters of a name
_WHY = 90
_NOT_READ = (".odt", ".odp", ".ods", ".rtf", ".doc", ".ppt")  # documents of kinds that are not read
NOTE = re.compile(r"passed over in (.{1,200}?): (\d[\d,]{0,8}) of its ", re.DOTALL)
"""How a note begins: where, and how many files."""


class Passed:
    """See the module docstring."""

    def __init__(self) -> None:
        self._places: dict[str, dict[str, str]] = {}  # by folder: path and why, as far as a note names them
        self._counted: dict[str, tuple[set[str], int]] = {}  # by folder: all of them, and of how many files
        self._news: dict[str, None] = {}
        self._closed: dict[str, int] = {}  # by folder: how many were never in the mapping

    def closed(self, place: str, files: int, closed: Closed) -> None:
        """``place`` has so many files that may be opened, and besides these that may not."""
        count, some = closed
        if not count or place in self._closed or not self._has_room(place):
            return
        self._closed[place] = count
        every, _ = self._counted.get(place, (set[str](), 0))
        self._counted[place] = every, files
        named = {path: _why((path,), why) for path, why in some[:NAMED]}
        known = {**named, **self._places.get(place, {})}
        self._places[place] = dict(list(known.items())[:NAMED])
        self._news[place] = None

    def over(self, place: str, files: int, path: str, error: Unreadable) -> None:
        """A file of ``place``, which has so many, could not be read."""
        if not _is_news(path, error) or not self._has_room(place):
            return
        named = self._places.setdefault(place, {})
        every, _ = self._counted.get(place, (set[str](), 0))
        every.add(path)
        self._counted[place] = every, files
        if len(named) < NAMED:
            named.setdefault(path, _why((f"{place}/{path}", path), str(error)))
        self._news[place] = None

    def _has_room(self, place: str) -> bool:
        return place in self._places or len(self._places) < MOST_PLACES

    def take(self) -> list[str]:
        """The notes since the last ones."""
        news, self._news = self._news, {}
        return [self._told(place) for place in news]

    def _told(self, place: str) -> str:
        every, files = self._counted[place]
        named, closed = self._places[place], self._closed.get(place, 0)
        bad = len(every) + closed
        more = f", and {bad - len(named):,} more" if bad > len(named) else ""
        told = ", ".join(f"{_short(path)} ({why})" for path, why in named.items())
        counted = f"{bad:,} of its {files + closed:,} files cannot be read"
        return f"passed over in {_short(place)}: {counted}: {told}{more}"


def _is_news(path: str, error: Unreadable) -> bool:
    if path.lower().endswith(_NOT_READ) or kind_by_name(path) == "document":
        return True
    return size_told(path, 1) != NO_TEXT and not isinstance(error, NotText)


def later(notes: Sequence[str], fresh: Sequence[str]) -> list[str]:
    """Notes, and those of ``fresh`` that are of this kind: of one folder the one that tells of most files.

    >>> later(["passed over in x: 1 of its 3 files …"], ["else", "passed over in x: 2 of its 3 files …"])
    ['passed over in x: 2 of its 3 files …']
    """
    kept = list(notes)
    for note in fresh:
        if (found := NOTE.match(note)) is None:
            continue
        same = [each for each in kept if (old := NOTE.match(each)) and old[1] == found[1]]
        if any(_count(each) >= _count(note) for each in same):
            continue
        kept = [each for each in kept if each not in same]
        if sum(NOTE.match(each) is not None for each in kept) < MOST_PLACES:
            kept.append(note[:MOST_CHARACTERS])
    return kept


def _count(note: str) -> int:
    found = NOTE.match(note)
    return 0 if found is None else int(found[2].replace(",", ""))


def _short(path: str) -> str:
    """A name on one line; of a long one its end."""
    path = " ".join(path.encode("utf-8", "backslashreplace").decode().split())
    return path if len(path) <= _PATH else f"…{path[1 - _PATH :]}"


def _why(names: Sequence[str], message: str) -> str:
    """What is wrong, without the name before it and the advice behind it."""
    for name in names:
        message = message.removeprefix(name)
    why = message.strip(" :").partition(": ")[0]
    if why.count("(") > why.count(")"):
        why = why.rpartition(" (")[0]
    return cut(why, _WHY)


PASSED = Passed()
"""The one of this process: a REPL has one context."""
