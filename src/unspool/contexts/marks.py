"""Which of several files or texts is another one by now: a short mark of each, kept when a run begins.

Contract: a mark is of the name and of what is in it, as far as the hash of the context looks. There are none
of what is one part, and of more than :data:`MOST`.

>>> was = marks_of({"a": "one", "b": "two"})
>>> differing({"a": "one", "b": "TWO"}, was)
['b']
"""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Iterable, Iterator, Mapping
from zlib import crc32

from .fingerprint import parts_by_entry
from .sources import Source

MOST = 1_000  # parts
_PIECE = 1 << 18  # characters of a text that are encoded at a time


def marks_of(context: object) -> tuple[str, ...]:
    """A mark of each part."""
    if not 1 < _count(context) <= MOST:
        return ()
    return tuple(_mark(name, parts) for name, _, parts in _parts(context))


def differing(context: object, marks: Collection[str]) -> list[str]:
    """The names of the parts that have none of these marks."""
    known = frozenset(marks)
    return [shown for name, shown, parts in _parts(context) if known and _mark(name, parts) not in known]


async def marks_in_thread(context: object) -> tuple[str, ...]:
    return await asyncio.to_thread(marks_of, context) if _count(context) > 1 else ()


def _count(context: object) -> int:
    values = context.values() if isinstance(context, Mapping) else (context,)
    return sum(len(value.entries) if isinstance(value, Source) else 1 for value in values)


def _parts(context: object) -> Iterator[tuple[str, str, Iterable[bytes]]]:
    """Name, the name to tell, and what is in it."""
    for key, value in context.items() if isinstance(context, Mapping) else (("", context),):
        if isinstance(value, Source):
            for entry, parts in parts_by_entry(value):
                if value.kind == "folder":
                    yield f"{key}/{entry.path}", entry.path, parts
                else:
                    yield str(key), value.name, parts
        elif isinstance(value, str):
            yield str(key), str(key), _encoded(value)


def _encoded(text: str) -> Iterator[bytes]:
    for at in range(0, len(text), _PIECE):
        yield text[at : at + _PIECE].encode("utf-8", "surrogatepass")


def _mark(name: str, parts: Iterable[bytes]) -> str:
    value = 0
    for part in parts:
        value = crc32(part, value)
    return f"{crc32(name.encode('utf-8', 'surrogateescape')):08x}{value:08x}"
