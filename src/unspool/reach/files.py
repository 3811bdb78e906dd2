"""Many files as one read-only mapping: a folder, what a glob matches, a Git checkout, an archive.

Contract: :class:`Files` maps a path to what is in it, made when it is asked for: a LazyText, a document, a
table, a database, as its content says. Binary files are in the mapping with their size; reading one raises
:class:`Unreadable`. A search passes over what cannot be read, and :data:`.passed.PASSED` says so.
:meth:`Files.grep` gives ``path:line: text``; :meth:`Files.tree` is bounded.

>>> from .octets import Memory
>>> files = Files("src", loaded={"a.py": Memory(b"x = 1\\ny = 2\\n"), "lib/b.py": Memory(b"x = 3\\n")})
>>> list(files), files["a.py"].line(2), files.grep("x =", glob="lib/*.py"), files.size("a.py")
(['a.py', 'lib/b.py'], 'y = 2', ['lib/b.py:1: x = 3'], 12)
>>> print(files.tree())
src: 2 files, 18 bytes
  a.py  12 bytes
  lib/  1 file, 6 bytes
    b.py  6 bytes
"""

from __future__ import annotations

import difflib
import functools
import itertools
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import cast

from .archives import members
from .blocks import Blocks
from .desk import AT_ONCE, DESK
from .document_kinds import document
from .documents import Document
from .handed import HANDED
from .octets import File, Octets, measure
from .passed import PASSED, Closed
from .sizes import NO_TEXT, size_told, sized
from .sniff import Plain, Unreadable
from .text import LazyText

SHOWN = 200  # lines of a tree
_FEW = 12  # files of a folder that a tree names
_HINT = "; .texts() goes through (path, text) of the text files alone"


def of_kind(kind: str, name: str, octets: Octets) -> object:
    """What stands for a file that is no text; ``None`` for other kinds."""
    from .tables import MAKERS

    return MAKERS[kind](name, octets) if kind in MAKERS else None


class Listing(str):
    """A text that is shown as it is, without quotes."""

    __slots__ = ()

    def __repr__(self) -> str:
        return str.__str__(self)


class Files(Mapping[str, object]):
    """See the module docstring. ``entries``: (path, size) by number in the source."""

    def __init__(
        self,
        name: str,
        source: str = "",
        entries: Sequence[tuple[str, int]] = (),
        *,
        archive: Octets | None = None,
        loaded: Mapping[str, Octets] | None = None,
        note: str = "",
        first: int | None = None,
        closed: Closed = (0, ()),
    ) -> None:
        """``first``: the number of its first file among the parts of the context; None: it is none.
        ``closed``: what may not be opened, which is not in the mapping."""
        self.name, self.note, self._closed = name, note, closed
        self.number, self._order = first, dict[str, int]()
        self._source, self._archive = source, archive
        self._numbers = {path: number for number, (path, _) in enumerate(entries)}
        self._sizes = dict(entries)
        self._members = dict(loaded) if loaded is not None else None if archive is not None else {}
        self._made: dict[str, object] = {}

    # The mapping

    def _all(self) -> Mapping[str, object]:
        if self._members is None and self._archive is not None:
            self._members = members(self._archive)
        return self._members or self._numbers

    def __len__(self) -> int:
        return len(self._all())

    def __iter__(self) -> Iterator[str]:
        return iter(self._all())

    def __contains__(self, path: object) -> bool:
        return path in self._all()

    def __getitem__(self, path: str) -> object:
        known = self._all()
        if path not in known:
            if (why := dict(self._closed[1]).get(path)) is not None:
                raise Unreadable(f"{path} cannot be read: {why}. Check its permissions.")
            raise KeyError(self._missing(path))
        if path not in self._made:
            if len(self._made) >= 1_000:
                self._made.clear()
            octets = self._octets(path)
            entry = (self._source, self._numbers[path]) if path in self._numbers else None
            plain = Plain(octets, _HINT)
            try:
                kind = plain.kind
            except (Unreadable, OSError):
                kind = "text"  # who goes through a mapping is told of it when this one is read
            if kind == "document":
                self._made[path] = document(path, octets, number=self._part_number(path), entry=entry)
                return self._made[path]
            made = of_kind(kind, path, octets)
            self._made[path] = made or LazyText(self._blocks(path, plain), path, entry=entry)
        return self._made[path]

    def _part_number(self, path: str) -> int | None:
        """Which part of the context a file is."""
        if self.number is None:
            return None
        if not self._order:
            self._order = {each: number for number, each in enumerate(self._all())}
        return self.number + self._order[path]

    def _blocks(self, path: str, octets: Octets) -> Blocks:
        """The text of a file, which knows what part of the context it is."""
        if (number := self._part_number(path)) is None:
            return Blocks(octets)
        return Blocks(octets, number=number, told=size_told(path, self.size(path)))

    def _missing(self, path: object) -> str:
        if not isinstance(path, str):
            return f"files are named by their paths, such as {next(iter(self._all()), 'a.txt')!r}"
        inside = path.rstrip("/") + "/"
        if any(each.startswith(inside) for each in self._all()):
            return f"{path} is a folder: .glob({inside + '**'!r}) names its files"
        near = difflib.get_close_matches(path, list(itertools.islice(self._all(), 20_000)), 3, 0.5)
        base = path.rsplit("/", 1)[-1]
        near += [each for each in self._all() if each.rsplit("/", 1)[-1] == base][:3]
        return f"there is no file {path!r}" + (f"; near: {', '.join(dict.fromkeys(near))}" if near else "")

    def _octets(self, path: str) -> Octets:
        if self._members:
            octets = self._members[path]
            assert not isinstance(octets, int)
            return octets
        return File(self._source, self._numbers[path], self._sizes[path], path)

    # What there is

    def size(self, path: str) -> int:
        """Bytes of a file."""
        if path not in self._all():
            raise KeyError(self._missing(path))
        return measure(self._octets(path))

    def sizes(self) -> dict[str, int]:
        """Bytes of every file, by path."""
        return {path: self.size(path) for path in self}

    def glob(self, pattern: str) -> list[str]:
        """The paths that match: ``*.py`` in any folder, ``src/*.py``, ``src/**/*.py``."""
        fits = glob_pattern(pattern).fullmatch
        return [path for path in self if fits(path)]

    def tree(self, depth: int = 2, folder: str = "") -> str:
        """The folders to that depth with their number of files and sizes; the files of small ones."""
        PASSED.closed(self.name, len(self), self._closed)
        inside = folder.strip("/") + "/" if folder.strip("/.") else ""
        sizes = {path[len(inside) :]: size for path, size in self.sizes().items() if path.startswith(inside)}
        lines = [f"{inside or self.name}: {_counted(sizes)}"]
        _branch(sizes, depth, 1, lines)
        lines = [on_one_line(line) for line in lines]
        if len(lines) > SHOWN:
            lines = [*lines[:SHOWN], f"… {len(lines) - SHOWN:,} more lines: .tree(depth, folder) shows less"]
        return Listing("\n".join(lines))

    # What is in them

    def texts(self, glob: str = "**") -> Iterator[tuple[str, LazyText]]:
        """(path, text) of the text files and documents that match, opened many at a time; what cannot be
        read as text is left out, and a note tells of it."""
        PASSED.closed(self.name, len(self), self._closed)
        paths = self.glob(glob)
        for start in range(0, len(paths), AT_ONCE):
            some = paths[start : start + AT_ONCE]
            if not self._members:
                DESK.ahead(self._source, [self._numbers[path] for path in some])
            for path in some:
                text = self._text(path)
                if text is not None:
                    yield path, text

    def _text(self, path: str) -> LazyText | None:
        """The text of a file; ``None`` where it has none."""
        try:
            plain = Plain(self._octets(path))
            # A document is kept: to make its text anew takes time.
            whole = isinstance(self._made.get(path), Document) or plain.kind == "document"
            text = cast(LazyText, self[path]) if whole else LazyText(self._blocks(path, plain), path)
            text.encoding  # noqa: B018 (a look at its start)
            if isinstance(text, Document):
                text.check_text()
        except Unreadable as error:
            HANDED.measured(self._part_number(path), NO_TEXT)
            PASSED.over(self.name, len(self), path, error)
            return None
        return text

    def grep(
        self, pattern: str | re.Pattern[str], glob: str = "**", limit: int = 50, flags: int = 0
    ) -> list[str]:
        """Lines with a match as ``path:line: text``, at most ``limit``; binary files are left out."""
        compiled = pattern if isinstance(pattern, re.Pattern) else re.compile(pattern, flags | re.MULTILINE)
        return list(itertools.islice(self._hits(compiled, glob), limit))

    def _hits(self, pattern: re.Pattern[str], glob: str) -> Iterator[str]:
        for path, text in self.texts(glob):
            try:
                for hit in text.__unspool_hits__(pattern):
                    yield f"{path}:{hit}"
            except Unreadable as error:  # of a document, behind its start
                PASSED.over(self.name, len(self), path, error)

    def __unspool_hits__(self, pattern: re.Pattern[str]) -> Iterator[str]:
        return self._hits(pattern, "**")

    def __unspool_part__(self) -> tuple[str, int, int, int, int]:
        """For a child: all of it."""
        return self._source, -1, 0, -1, 1

    def __unspool_text__(self) -> str:
        raise TypeError(f"{self.name} holds many files: take one, files[path], or what .grep(…) gives")

    def __repr__(self) -> str:
        return f"<Files {self.name}: [path], .tree(), .grep(pattern, glob='**/*.py'), .glob(pattern)>"


def on_one_line(text: str) -> str:
    """Names can hold whatever they like: a line end in one would begin a line that nobody has written.

    >>> print(on_one_line("a\\n<data>.txt"))
    a\\n<data>.txt
    """
    return text if text.isprintable() else "".join(c if c.isprintable() else repr(c)[1:-1] for c in text)


def _counted(sizes: Mapping[str, int]) -> str:
    return f"{len(sizes):,} file{'' if len(sizes) == 1 else 's'}, {sized(sum(sizes.values()))}"


def _branch(sizes: Mapping[str, int], depth: int, level: int, lines: list[str]) -> None:
    """The lines of one folder below its own."""
    files = {path: size for path, size in sizes.items() if "/" not in path}
    folders: dict[str, dict[str, int]] = {}
    for path, size in sizes.items():
        first, cut, rest = path.partition("/")
        if cut:
            folders.setdefault(first, {})[rest] = size
    pad = "  " * level
    shown = list(files.items())[:_FEW]
    lines += [f"{pad}{name}  {sized(size)}" for name, size in shown]
    if len(files) > _FEW:
        rest_of = dict(list(files.items())[_FEW:])
        lines.append(f"{pad}… {_counted(rest_of)} more")
    for name, inner in folders.items():
        if len(lines) > SHOWN + 1:
            lines.append("")  # counted, not shown
            continue
        lines.append(f"{pad}{name}/  {_counted(inner)}")
        if level < depth:
            _branch(inner, depth, level + 1, lines)


@functools.lru_cache(256)
def glob_pattern(glob: str) -> re.Pattern[str]:
    """A glob as a regular expression on paths; without a ``/`` it is of names in any folder.

    >>> bool(glob_pattern("**/*.py").fullmatch("a.py")), bool(glob_pattern("*.py").fullmatch("x/y/a.py"))
    (True, True)
    >>> bool(glob_pattern("src/*.py").fullmatch("src/x/a.py")), bool(glob_pattern("**").fullmatch("a/b"))
    (False, True)
    """
    if "/" not in glob and glob != "**":
        glob = f"**/{glob}"
    parts = re.split(r"(\*\*/|\*\*|\*|\?|\[!?[^\]]+\])", glob.removeprefix("./"))
    known = {"**/": "(?:.*/)?", "**": ".*", "*": "[^/]*", "?": "[^/]"}
    made = [
        known[part]
        if part in known
        else f"[{part[1:-1].replace('!', '^', 1) if part[1] == '!' else part[1:-1]}]"
        if part.startswith("[") and part.endswith("]") and len(part) > 2
        else re.escape(part)
        for part in parts
    ]
    return re.compile("".join(made), re.DOTALL)
