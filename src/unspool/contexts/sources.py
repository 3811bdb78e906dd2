"""Sources: parts of a context that are not in memory, but in files.

Contract: a :class:`pathlib.Path` given as the context, or as a value of a mapping at its top, becomes a
:class:`Source`: plain data, made by looking at names, kinds and sizes. What is in a file is never read here:
the code in the sandbox is handed descriptors (:mod:`unspool.contexts.grants`). A path is a text file, a
table, a database or an archive by its name (what is in it is looked at in the sandbox), a folder, a Git
checkout (what Git ignores is left out) or, with ``*``, ``?`` or ``[``, a glob. Raises :class:`ContextError`,
naming the path and what to do, where there is nothing to read.

>>> import tempfile
>>> with tempfile.TemporaryDirectory() as folder:
...     _ = (Path(folder) / "a.log").write_text("one")
...     source = with_sources(Path(folder) / "a.log")
>>> source.kind, source.entries[0].path, source.size
('text', 'a.log', 3)
>>> with_sources("text stays text")
'text stays text'
"""

from __future__ import annotations

import hashlib
import os
import stat
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Literal, get_args

from .. import reach
from ..errors import ContextError
from ..reach.passed import Closed, Passed
from ..reach.sizes import ARCHIVES, PACKED
from ..reach.sniff import kind_by_name
from .folders import Found, find_files, find_glob
from .image import image_at, with_images
from .text import check_regular
from .values import changed

if TYPE_CHECKING:
    from .parts import Parts

Kind = Literal["text", "document", "parquet", "xlsx", "sqlite", "traces", "archive", "folder"]

_MAGIC = "*?["


@dataclass(frozen=True, slots=True)
class Entry:
    """One file of a source, as it was when it was named: its path below the root, and which file it is."""

    path: str
    size: int
    device: int
    inode: int


@dataclass(frozen=True, slots=True)
class Source:
    """What is handed to a REPL in the place of what is in files. ``start`` and ``stop`` are bytes of a text
    (``stop`` -1: its end), for a child that is given a part of it; ``line`` is the number of the line
    there."""

    kind: Kind
    name: str  # as the user has it
    root: str  # the folder that the paths of the entries are below; absolute, without links
    entries: tuple[Entry, ...]
    note: str = ""  # what was left out
    closed: Closed = (0, ())  # what may not be opened
    start: int = 0
    stop: int = -1
    line: int = 1
    id: str = field(default="", compare=False)
    parts: Parts | None = field(default=None, compare=False)  # what a look in the sandbox has found
    first: int = field(default=0, compare=False)  # the number of its first part, for coverage

    def __post_init__(self) -> None:
        if self.id:  # of a copy
            return
        told = repr((self.kind, self.root, self.entries, self.start, self.stop))
        object.__setattr__(
            self, "id", hashlib.sha256(told.encode("utf-8", "surrogateescape")).hexdigest()[:32]
        )

    @property
    def size(self) -> int:
        """Bytes of all its files."""
        return sum(entry.size for entry in self.entries)

    def plain(self) -> tuple[str, str, str, list[tuple[str, int]], int, int, int, str, int, Closed]:
        """What the sandbox is told of it: no path of the host's but names below the root."""
        entries = [(entry.path, entry.size) for entry in self.entries]
        where = self.start, self.stop, self.line
        return self.kind, self.id, self.name, entries, *where, self.note, self.first, self.closed

    def __reduce__(self) -> tuple[object, tuple[object, ...]]:
        """On its way into a sandbox it becomes what stands for it there; see ``_parcel.open_parcel``."""
        return reach.make, self.plain()

    def part(self, number: int, start: int, stop: int, line: int) -> Source:
        """A file of it, or a part of one, as a source of its own: for a child."""
        if number < 0:
            return self
        entry = self.entries[number]
        alone = self.kind != "folder" and not self.start and self.stop < 0
        kind = self.kind if self.kind != "folder" else _kind(entry.path)
        name = self.name if alone or self.kind != "folder" else entry.path
        return Source(kind, name, self.root, (entry,), start=start, stop=stop, line=line)


def with_sources(context: object, folder: str = "") -> object:
    """``context`` with its paths turned into sources. ``folder``: where relative paths begin."""

    def opened(value: object) -> object:
        if not isinstance(value, Path):
            return with_images(value)
        return image_at(value, folder) or source_of(value, folder)

    if isinstance(context, Mapping) and any(isinstance(value, Path) for value in context.values()):
        return changed(context, opened)
    return opened(context)


def sources_in(context: object) -> Iterator[Source]:
    """The sources of a context: it, or what is in it. They are no deeper, so a large context is no work."""
    if isinstance(context, Source):
        yield context
    elif isinstance(context, Mapping):
        yield from (value for value in context.values() if type(value) is Source)
    elif isinstance(context, list | tuple):
        yield from (value for value in context if type(value) is Source)


def closed_in(context: object) -> list[str]:
    """A note for each folder and glob of a context that has what may not be opened: nobody need search it."""
    passed = Passed()
    for source in sources_in(context):
        passed.closed(source.name, len(source.entries), source.closed)
    return passed.take()


def source_of(path: Path, folder: str = "") -> Source:
    """The source of one path."""
    name = str(path)
    full = os.path.join(folder, os.path.expanduser(name))
    if any(sign in name for sign in _MAGIC) and not os.path.lexists(full):
        return _many(name, find_glob(full, name))
    try:
        real = os.path.realpath(full, strict=True)
        info = os.stat(real)
    except FileNotFoundError:
        raise ContextError(f"{name}: no such file. Check the path.") from None
    except OSError as error:
        raise ContextError(f"{name} cannot be read: {error.strerror}. Check its permissions.") from None
    if stat.S_ISDIR(info.st_mode):
        return _many(name, find_files(real, name))
    check_regular(info.st_mode, name)
    if not os.access(real, os.R_OK):
        raise ContextError(f"{name} cannot be read: Permission denied. Check its permissions.")
    if not info.st_size:
        raise ContextError(f"{name} is empty: there is nothing to ask about.")
    root, base = os.path.split(real)
    entry = Entry(base, info.st_size, info.st_dev, info.st_ino)
    return Source(_kind(base), os.path.basename(name) or base, root, (entry,))


def _kind(path: str) -> Kind:
    if path.lower().endswith(ARCHIVES):
        return "archive"
    kind = kind_by_name(path)
    return kind if kind in get_args(Kind) else "text"  # type: ignore[return-value]


def is_text_name(path: str) -> bool:
    """Whether a file is text that is not packed, by its name."""
    return _kind(path) == "text" and not path.lower().endswith(PACKED)


def _many(name: str, found: Found) -> Source:
    entries = tuple(Entry(*each) for each in found.files)
    if not entries:
        raise found.nothing(name)
    return Source("folder", name, found.root, entries, found.why(), found.closed)


def told(source: Source, label: str = "context") -> str:
    """A description from names and sizes alone, before anything is read."""
    count = len(source.entries)
    size = reach.sized(source.size)
    if source.kind == "folder":
        return f"`{label}` is Files of {source.name}: {count:,} file{'' if count == 1 else 's'}, {size}."
    part = "" if not source.start and source.stop < 0 else f", bytes {source.start:,} to {_end(source):,}"
    what = {
        "text": "a LazyText of", "parquet": "a table in", "xlsx": "the sheets of", "sqlite": "a database in",
        "traces": "Traces in", "document": "the Document",
    }  # fmt: skip
    return f"`{label}` is {what.get(source.kind, 'Files of')} {source.name}, {size}{part}."


def _end(source: Source) -> int:
    return source.size if source.stop < 0 else source.stop


def looked_at(source: Source, kind: str, parts: Parts | None) -> Source:
    """The same with what a look has found: the kind that its content has, and its parts."""
    known = kind if kind in get_args(Kind) else source.kind
    return replace(source, kind=known, parts=parts)  # type: ignore[arg-type]


def names_of(context: object) -> tuple[str, ...]:
    """The paths from which a context can be read again: of one path, or of a mapping from names to these
    paths; nothing for another."""
    if isinstance(context, Path):
        return (str(context),)
    if isinstance(context, Mapping) and context:
        pairs: Iterable[tuple[object, object]] = context.items()
        if all(isinstance(value, Path) and str(key) == str(value) for key, value in pairs):
            return tuple(map(str, context))
    return ()


_CALLED = {
    "document": "a document",
    "parquet": "a Parquet table",
    "xlsx": "a workbook",
    "sqlite": "an SQLite database",
    "traces": "a file of traces",
    "archive": "an archive",
}


def only_text(context: object) -> list[str]:
    """A note for each file that is plain text and is called what it is not: it may be broken, or cut."""
    return [
        f"{source.name} is read as plain text: it does not begin as {_CALLED[kind]} does, so it may be broken"
        for source in sources_in(context)
        if source.kind == "text" and (kind := _kind(source.entries[0].path)) in _CALLED
    ]
