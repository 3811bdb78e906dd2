"""The parts of an Office document: a zip of XML files that refer to each other.

Contract: :class:`Package` gives the XML of a part as a tree, or the children of its body one by one, so that
of a long document one paragraph is in memory; names come without their namespaces. A document type (which
Office never writes, and traps begin with), XML that is nested too deep or broken, a password, parts that
unpack to more than :data:`MOST_UNPACKED` bytes: one :class:`Unreadable` that says what to do.

>>> import io, zipfile
>>> from .octets import Memory
>>> buffer = io.BytesIO()
>>> with zipfile.ZipFile(buffer, "w") as made:
...     made.writestr("main.xml", '<w:document xmlns:w="w"><w:body><w:p a="1"/><w:p/></w:body></w:document>')
>>> package = Package("a.docx", Memory(buffer.getvalue()))
>>> [(each.tag, each.get("a")) for each in package.blocks("main.xml", "body")]
[('p', '1'), ('p', None)]
"""

from __future__ import annotations

import io
import posixpath
import zipfile
import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from .octets import Octets, Raw
from .sizes import sized
from .sniff import Unreadable

if TYPE_CHECKING:
    from xml.etree.ElementTree import Element, TreeBuilder

MOST_UNPACKED = 128 << 20  # bytes of XML: some tens of thousands of pages
DEEPEST = 250  # elements in one another; Office's own writers stay below a hundred
FILLED = 64  # columns up to which a row is filled up with empty cells
_PIECE = 1 << 16
_INFO = {"title": "title", "creator": "author", "subject": "subject", "keywords": "keywords",
         "created": "created", "modified": "modified"}  # fmt: skip


class Package:
    """See the module docstring. ``what`` it is called, ``most`` bytes of XML, and what to do ``instead`` of
    reading more."""

    def __init__(
        self,
        name: str,
        octets: Octets,
        *,
        what: str = "document",
        most: int = MOST_UNPACKED,
        instead: str = "save it in parts, or as text",
    ) -> None:
        self.name, self._what, self._most, self._instead = name, what, most, instead
        try:
            self._zip = zipfile.ZipFile(io.BufferedReader(Raw(octets), 1 << 16))
            parts = self._zip.infolist()
        except (zipfile.BadZipFile, NotImplementedError, UnicodeDecodeError) as error:
            raise self.broken(error) from None
        self._parts = {part.filename: part for part in parts}
        self._check(sum(part.file_size for part in parts if part.filename.endswith((".xml", ".rels"))))

    def _check(self, size: int) -> None:
        if size > self._most:
            raise Unreadable(
                f"{self.name} is too large to be read as a {self._what} ({sized(size)} unpacked, at most "
                f"{sized(self._most)}): {self._instead}"
            )

    def __contains__(self, part: str) -> bool:
        return part in self._parts

    def names(self, start: str) -> list[str]:
        """The parts whose names begin so."""
        return sorted(part for part in self._parts if part.startswith(start))

    def tree(self, part: str) -> Element | None:
        """The root of a part; ``None`` where there is no such part."""
        if part not in self._parts:
            return None
        builder = _Builder(self.name)
        self.feed(part, builder)
        return builder.close()

    def blocks(self, part: str, inside: str, parted: str = "") -> Iterator[Element]:
        """The children of the element of that name, each when it is whole; nothing else is kept. Of those
        that are called ``parted`` the children come, too, one by one, and then they without them."""
        builder = _Builder(self.name, inside, parted)
        for _ in self._fed(part, builder):
            yield from builder.taken()

    def targets(self, part: str) -> dict[str, tuple[str, str]]:
        """What a part refers to: by id the kind, the last word of its type, and the name of the part."""
        folder, base = posixpath.split(part)
        root = self.tree(posixpath.join(folder, "_rels", f"{base}.rels"))
        found = {}
        for each in root if root is not None else ():
            if each.get("TargetMode") != "External":
                target = each.get("Target", "")
                path = (
                    target.lstrip("/")
                    if target.startswith("/")
                    else posixpath.normpath(posixpath.join(folder, target))
                )
                found[each.get("Id", "")] = each.get("Type", "").rsplit("/", 1)[-1], path
        return found

    def main(self) -> str:
        """The part that the document begins with."""
        for kind, part in self.targets("").values():
            if kind == "officeDocument" and part in self:
                return part
        raise self.broken("it is no Office document")

    def info(self) -> dict[str, str]:
        """Title, author and dates."""
        root = self.tree("docProps/core.xml")
        return {
            _INFO[each.tag]: each.text.strip()
            for each in (root if root is not None else ())
            if each.tag in _INFO and each.text and each.text.strip()
        }

    def feed(self, part: str, target: Target) -> None:
        """Tells ``target`` of all that is in a part."""
        for _ in self._fed(part, target):
            pass

    def _fed(self, part: str, target: Target) -> Iterator[None]:
        """Reads a part to its end, piece by piece."""
        from xml.etree import ElementTree

        self._check(self._parts[part].file_size)  # whatever it is called
        parser = ElementTree.XMLParser(target=target)
        try:
            with self._zip.open(self._parts[part]) as file:
                while data := file.read(_PIECE):
                    parser.feed(data)
                    yield
            parser.close()
        except (
            zipfile.BadZipFile,
            zlib.error,
            EOFError,
            NotImplementedError,
            ElementTree.ParseError,
        ) as error:
            raise self.broken(error) from None
        except RuntimeError as error:  # of an encrypted part
            raise Unreadable(f"{self.name} has a password: save it without one ({error})") from None
        yield

    def broken(self, error: object) -> Unreadable:
        return Unreadable(f"{self.name} is no {self._what} that can be read ({error}): is the file whole?")


class Target:
    """What a parser tells of what it meets. Each kind has methods for what it is to be told of (``start``,
    ``end``, ``data``, ``close``: see ``xml.etree.ElementTree.XMLParser``); all refuse a document type."""

    def __init__(self, name: str) -> None:
        self._name = name

    def doctype(self, name: str, public: str | None, system: str | None) -> None:
        raise Unreadable(
            f"{self._name} has XML with a document type ({name}), which Office never writes: it is a trap"
        )


class _Builder(Target):
    """Makes elements of what the parser meets. ``inside``: whose children are handed over and not kept;
    ``parted``: the children of which the same holds for."""

    def __init__(self, name: str, inside: str = "", parted: str = "") -> None:
        from xml.etree.ElementTree import TreeBuilder

        super().__init__(name)
        self._inside, self._parted = inside, parted
        self._builder: TreeBuilder = TreeBuilder()
        self._open: list[Element] = []
        self._depth = -2  # how deep the element is whose children are handed over
        self._ready: list[Element] = []

    def start(self, tag: str, attributes: Mapping[str, str]) -> Element:
        if len(self._open) >= DEEPEST:
            raise Unreadable(f"{self._name} has XML that is nested too deep: it is damaged, or a trap")
        element = self._builder.start(bare(tag), {_attribute(name): attributes[name] for name in attributes})
        self._open.append(element)
        if self._depth < 0 and element.tag == self._inside:
            self._depth = len(self._open)
        return element

    def end(self, tag: str) -> Element:
        element = self._builder.end(bare(tag))
        self._open.pop()
        depth = len(self._open)
        if depth == self._depth or (depth == self._depth + 1 and self._open[-1].tag == self._parted):
            self._open[-1].remove(element)
            self._ready.append(element)
        return element

    def data(self, text: str) -> None:
        self._builder.data(text)

    def taken(self) -> list[Element]:
        ready, self._ready = self._ready, []
        return ready

    def close(self) -> Element:
        return self._builder.close()


def bare(tag: str) -> str:
    """The name of an element, without its namespace."""
    return tag.rpartition("}")[2]


def _attribute(name: str) -> str:
    """Without its namespace, but for references to other parts: ``id`` and ``r:id`` stand side by side."""
    space, _, bare = name.rpartition("}")
    return f"r:{bare}" if space.endswith("/relationships") else bare


def cell_text(text: str) -> str:
    """What stands in a cell of a table that is written as lines."""
    return "<br>".join(line.strip() for line in text.strip().split("\n") if line.strip()).replace("|", "\\|")


class Table:
    """Rows as Markdown has them, one by one; the first is the heading.

    >>> table = Table()
    >>> print(table.row(["a", "b"]) + table.row(["1|2"]))
    | a | b |
    |---|---|
    | 1\\|2 |  |
    <BLANKLINE>
    """

    def __init__(self) -> None:
        self._width = 0

    def row(self, cells: Sequence[str]) -> str:
        empty = self._width - len(cells) if self._width <= FILLED else 0
        cells = [*map(cell_text, cells), *[""] * empty]
        line = f"| {' | '.join(cells)} |\n"
        if not self._width:
            self._width = len(cells)
            line += f"|{'---|' * self._width}\n"
        return line


def table_lines(rows: Iterable[Sequence[str]]) -> str:
    """All rows of a table that have cells; no end of the last line."""
    table = Table()
    return "".join(table.row(row) for row in rows if row).rstrip("\n")
