"""Which files searches have passed over, for they cannot be read: told to the model as a note of the cell.

Contract: :meth:`Passed.over` takes a file of a folder, a glob or an archive that a search could not read;
:meth:`Passed.take` gives, at the end of a cell, a note for each folder that one was passed over in since the
last note. A note names what cannot be read of that folder as far as is known so far, :data:`NAMED` files of
it. Files that are whole but no text (pictures, tables) are no news, unless their names promise a document.

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

    def over(self, place: str, files: int, path: str, error: Unreadable) -> None:
        """A file of ``place``, which has so many, could not be read."""
        if not _is_news(path, error) or (place not in self._places and len(self._places) >= MOST_PLACES):
            return
        named = self._places.setdefault(place, {})
        every, _ = self._counted.get(place, (set[str](), 0))
        every.add(path)
        self._counted[place] = every, files
        if len(named) < NAMED:
            named.setdefault(path, _why((f"{place}/{path}", path), str(error)))
        self._news[place] = None

    def take(self) -> list[str]:
        """The notes since the last ones."""
        news, self._news = self._news, {}
        return [self._told(place) for place in news]

    def _told(self, place: str) -> str:
        every, files = self._counted[place]
        named = self._places[place]
        more = f", and {len(every) - len(named):,} more" if len(every) > len(named) else ""
        told = ", ".join(f"{_short(path)} ({why})" for path, why in named.items())
        counted = f"{len(every):,} of its {files:,} files cannot be read"
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
