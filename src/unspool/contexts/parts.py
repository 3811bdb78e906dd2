"""The parts of a context that is in files, as coverage counts them: which there are, and how large.

Contract: :func:`numbered` gives each source of a context the number of its first part: texts in memory come
first, then what is in files. :func:`parts_in_files` has names and sizes of all, in bytes; what is no text
(tables, databases, binary files) is a part that does not count. :func:`parts_looked` checks what a look in
the sandbox says of a source.

>>> from unspool.contexts.sources import Entry, Source
>>> logs = Source("folder", "logs", "/x", (Entry("a.log", 5, 1, 1), Entry("b.gz", 3, 1, 2)))
>>> parts_in_files({"note": "four", "logs": logs})
Parts(sizes=(4, 5, None), names=('note', 'logs/a.log', 'logs/b.gz'), no_text=(), shown=(), why='')
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import cast

from ..reach.sizes import NO_TEXT, size_told
from ..reading import Range
from .sources import Source
from .values import changed

MOST = 200_000  # parts of one source
MOST_NAMED = 1_000  # that a look names


@dataclass(frozen=True, slots=True)
class Parts:
    """``sizes``: None where it is not known before it is read. ``why``: nothing can be traced, and why."""

    sizes: tuple[int | None, ...] = ()
    names: tuple[str, ...] = ()
    no_text: tuple[int, ...] = ()
    shown: tuple[Range, ...] = ()
    why: str = ""

    @classmethod
    def of(cls, named: Mapping[str, int | None] | list[tuple[str, int | None]]) -> Parts:
        """Of names and sizes, :data:`NO_TEXT` where that is none."""
        pairs = list(named.items() if isinstance(named, Mapping) else named)
        return cls(
            tuple(None if size == NO_TEXT else size for _, size in pairs),
            tuple(name for name, _ in pairs[:MOST_NAMED]),
            tuple(number for number, (_, size) in enumerate(pairs) if size == NO_TEXT),
        )


_TABLES = "what is read of tables, databases and traces is not traced: rows are not passages"
_UNLISTED = "its files are not known before it was read: to list a large archive takes a pass over it"


def parts_of_source(source: Source) -> Parts:
    """Of one source, as far as its names and a look tell."""
    if source.parts is not None:
        return source.parts
    if source.kind == "folder":
        return Parts.of([(entry.path, size_told(entry.path, entry.size)) for entry in source.entries])
    if source.kind in ("text", "document", "archive"):
        return Parts(why="the files could not be looked at before the run")
    return Parts(why=_TABLES)


def parts_looked(sizes: object, names: object, shown: object) -> Parts | None:
    """What a look says of a text or an archive; ``None`` where that makes no sense: it comes from a sandbox.
    ``sizes`` None: the archive is not listed."""
    if sizes is None:
        return Parts(why=_UNLISTED)
    if not isinstance(sizes, list) or not isinstance(names, list) or not isinstance(shown, list):
        return None
    if len(sizes) > MOST or len(names) > len(sizes) or not all(type(name) is str for name in names):
        return None
    if not all(map(_is_size, sizes)) or not all(map(_is_range, shown)):
        return None
    padded = [*names[:MOST_NAMED], *("" for _ in sizes[len(names) :])]
    parts = Parts.of(list(zip(padded, sizes, strict=False)))
    return replace(parts, names=tuple(names[:MOST_NAMED]), shown=tuple((0, *row) for row in shown))


def _is_size(size: object) -> bool:
    return size is None or (type(size) is int and (0 <= size < 1 << 62 or size == NO_TEXT))


def _is_range(row: object) -> bool:
    return type(row) is tuple and [*map(type, row)] == [int, int] and 0 <= row[0] < row[1]


def _texts_and_sources(context: object) -> tuple[dict[str, str], dict[str, object]]:
    """The values of a mapping: texts in memory, and all others."""
    pairs = [(str(key), value) for key, value in cast("Mapping[object, object]", context).items()]
    texts = {key: value for key, value in pairs if isinstance(value, str)}
    return texts, {key: value for key, value in pairs if key not in texts}


def parts_in_files(context: object) -> Parts | None:
    """Of all of a context; ``None`` for one that has no files."""
    if isinstance(context, Source):
        return parts_of_source(context)
    if not isinstance(context, Mapping) or not any(isinstance(each, Source) for each in context.values()):
        return None
    texts, others = _texts_and_sources(context)
    told = [Parts.of({name: len(text) for name, text in texts.items()})]
    for name, value in others.items():
        parts = parts_of_source(value) if isinstance(value, Source) else Parts(why="it is in memory")
        many = isinstance(value, Source) and value.kind in ("folder", "archive")
        told.append(_under(name, parts, many=many))
    return _joined(told)


def _under(name: str, parts: Parts, *, many: bool) -> Parts:
    """The parts of one value of a mapping; what cannot be traced is one that is no text."""
    if parts.why:
        return Parts.of({name: NO_TEXT})
    return replace(parts, names=tuple(f"{name}/{each}" if many else name for each in parts.names))


def _joined(all_parts: list[Parts]) -> Parts:
    sizes, names, no_text, shown = list[int | None](), list[str](), list[int](), list[Range]()
    for parts in all_parts:
        if len(names) == len(sizes):  # else those of one before are not all told
            names += parts.names
        no_text += [len(sizes) + number for number in parts.no_text]
        shown += [(len(sizes) + number, start, end) for number, start, end in parts.shown]
        sizes += parts.sizes
    return Parts(tuple(sizes), tuple(names), tuple(no_text), tuple(shown))


def numbered(context: object) -> object:
    """The context with its sources knowing the number of their first part."""
    if isinstance(context, Source):
        return replace(context, first=0)
    if not isinstance(context, Mapping) or not any(isinstance(each, Source) for each in context.values()):
        return context
    texts, others = _texts_and_sources(context)
    at, firsts = len(texts), dict[int, int]()
    for value in others.values():
        if isinstance(value, Source):
            parts = parts_of_source(value)
            firsts[id(value)] = at
            at += 1 if parts.why else len(parts.sizes)
        else:
            at += 1

    return changed(
        context,
        lambda value: replace(value, first=firsts[id(value)]) if isinstance(value, Source) else value,
    )
