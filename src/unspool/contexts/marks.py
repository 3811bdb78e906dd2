"""Which of several files or texts is another one by now: a short mark of each, kept when a run begins.

Contract: a mark is of the name and of what is in it, as far as the hash of the context looks, and is made
on the way to that (``identity.py``): nothing is read for it alone. There are none of what is one part, and
of more than :data:`MOST`.

>>> was, now = PartMarks(), PartMarks()
>>> was.part("a", "one", b"its digest"); was.part("b", "two", b"its digest")
>>> now.part("a", "one", b"its digest"); now.part("b", "TWO", b"another")
>>> now.differing(was.marks), now.differing(())
(['b'], [])
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from zlib import crc32

from .fingerprint import Through
from .sources import Entry, Source

MOST = 1_000  # parts


class PartMarks:
    """See the module docstring."""

    def __init__(self) -> None:
        self._parts: list[tuple[str, str]] = []  # mark, and the name to tell

    @property
    def marks(self) -> tuple[str, ...]:
        return tuple(mark for mark, _ in self._parts)

    def differing(self, marks: Collection[str]) -> list[str]:
        """The names of the parts that have none of these marks."""
        known = frozenset(marks)
        return [name for mark, name in self._parts if known and mark not in known]

    def part(self, key: str, part: object, digest: bytes) -> None:
        """A text, or one file, that has this digest."""
        if isinstance(part, str):
            self._add(key, crc32(digest), key)
        elif isinstance(part, Source) and part.kind != "folder":
            self._add(key, crc32(digest), part.name)

    def files(self, key: str, source: Source) -> Through | None:
        """What the bytes of each file of a folder go through on their way into its digest."""
        if source.kind != "folder":
            return None

        def through(entry: Entry, parts: Iterator[bytes]) -> Iterator[bytes]:
            value = 0
            for part in parts:
                value = crc32(part, value)
                yield part
            self._add(f"{key}/{entry.path}", value, entry.path)

        return through

    def _add(self, key: str, value: int, name: str) -> None:
        self._parts.append((f"{crc32(key.encode('utf-8', 'surrogateescape')):08x}{value:08x}", name))


def has_marks(context: object) -> bool:
    """Whether it has so many parts that marks of them are kept."""
    values = context.values() if isinstance(context, Mapping) else (context,)
    return 1 < sum(len(value.entries) if isinstance(value, Source) else 1 for value in values) <= MOST
