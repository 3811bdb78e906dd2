"""A Word document (.docx) as text that keeps its structure: headings, lists with their numbers, tables.

Contract: headings are lines with ``#``, items of lists stand behind the number or sign that Word shows
(``2.1 (a)``), tables are Markdown. Text in boxes, content controls, fields and links is there, what was
deleted under tracked changes is not. Notes and comments are referred to in place (``[^1]``,
``[comment 1]``) and stand at the end, as headers and footers do. Pictures are their description
(``[image: …]``). It is made paragraph by paragraph.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import TYPE_CHECKING

from .office import Package, Table, cell_text, table_lines
from .pieces import gathered
from .sniff import Unreadable
from .word_styles import Styles

if TYPE_CHECKING:
    from xml.etree.ElementTree import Element

PIECE = 8_000  # characters that are handed on at once
_UNSEEN = frozenset([
    "pPr", "rPr", "tblPr", "trPr", "tcPr", "sectPr", "sdtPr", "instrText", "delText", "delInstrText", "del",
    "moveFrom", "Fallback", "fldData",
])  # fmt: skip
_SIGNS = {"tab": "\t", "ptab": "\t", "br": "\n", "cr": "\n", "noBreakHyphen": "-"}
_AROUND = ("sdt", "sdtContent", "ins", "moveTo", "customXml", "smartTag")  # what only stands around others
_MOST_SPAN = 64  # columns that one cell may take


class Word:
    """See the module docstring."""

    what, unit = "a Word document", ""

    def __init__(self, package: Package) -> None:
        self._package = package

    def count(self) -> int:
        return 1

    def outline(self) -> list[tuple[int, str, int]]:
        """Its headings; page 0, for a .docx has none."""
        found = []
        for block in self._blocks():
            if block.startswith("#"):
                signs, _, heading = block.partition(" ")
                found.append((len(signs), heading.strip(), 0))
        return found

    def info(self) -> dict[str, str]:
        return self._package.info()

    def pieces(self, start: int) -> Iterator[str]:
        return itertools.islice(gathered(self._blocks(), PIECE), start, None)

    def _blocks(self) -> Iterator[str]:
        package, main = self._package, self._package.main()
        if main.startswith("xl/"):
            raise Unreadable(f"{package.name} is a workbook: name it .xlsx")
        text = _Text(Styles(package.tree("word/styles.xml"), package.tree("word/numbering.xml")))
        for element in package.blocks(main, "body", "tbl"):
            yield from text.in_body(element)
        yield from _notes(package, text)
        yield from _comments(package, text)
        yield from _margins(package, text)


class _Text:
    """The text of elements; numbers of lists go on from one to the next."""

    def __init__(self, styles: Styles) -> None:
        self._styles = styles
        self._in_list = False
        self._table: Table | None = None  # in the body, of which there were rows
        self.notes: dict[str, int] = {}  # those that are referred to, by number
        self.comments: dict[str, None] = {}

    def in_body(self, element: Element) -> Iterator[str]:
        """What stands in the body: a table, which may be long, row by row, and then what is left of it."""
        if element.tag not in ("tr", "tbl"):
            yield from self.block(element)
            return
        for row in (element,) if element.tag == "tr" else _inside(element, "tr"):
            if cells := self._cells(row):
                begins = "\n" if self._table is None and self._in_list else ""
                self._table, self._in_list = self._table or Table(), False
                yield begins + self._table.row(cells)
        if element.tag == "tbl" and self._table is not None:
            self._table = None
            yield "\n"

    def block(self, element: Element) -> Iterator[str]:
        """A paragraph, a table, or what stands around some, each with the end of its line."""
        if element.tag == "p":
            if text := self.paragraph(element):
                yield self._apart(text)
        elif element.tag == "tbl":
            if text := table_lines(map(self._cells, _inside(element, "tr"))):
                yield self._apart(f"{text}\n\n")
        elif element.tag not in _UNSEEN:
            for child in element:
                yield from self.block(child)

    def _apart(self, text: str) -> str:
        """An empty line stands between a list and what comes behind it."""
        after_list, self._in_list = self._in_list, not text.endswith("\n\n")
        return f"\n{text}" if after_list and not self._in_list else text

    def paragraph(self, element: Element) -> str:
        text = self.inline(element).strip("\n")
        look = self._styles.of(element)
        label = self._styles.label(look) if text.strip() else ""
        if not text.strip():
            return ""
        if look.heading:
            return f"{'#' * min(6, look.heading)} {f'{label} ' if label else ''}{' '.join(text.split())}\n\n"
        if label:
            return f"{'  ' * look.level}{label} {text}\n"
        return f"{text}\n\n"

    def inline(self, element: Element) -> str:
        out: list[str] = []
        self._inline(element, out)
        return "".join(out)

    def _inline(self, element: Element, out: list[str]) -> None:
        for child in element:
            tag = child.tag
            if tag == "t":
                out.append(child.text or "")
            elif tag in _SIGNS:
                out.append(_SIGNS[tag])
            elif tag in ("footnoteReference", "endnoteReference"):
                out.append(f"[^{self._noted(tag, child.get('id', ''))}]")
            elif tag == "commentReference":
                self.comments[child.get("id", "")] = None
                out.append(f"[comment {len(self.comments)}]")
            elif tag == "docPr":
                if alt := (child.get("descr") or "").strip():
                    out.append(f"[image: {' '.join(alt.split())}]")
            elif tag in ("p", "tbl"):  # in a box
                out.append("\n" + "".join(self.block(child)).rstrip("\n") + "\n")
            elif tag not in _UNSEEN:
                self._inline(child, out)

    def _noted(self, tag: str, number: str) -> int:
        key = f"{tag.removesuffix('Reference')}s/{number}"
        return self.notes.setdefault(key, len(self.notes) + 1)

    def _cells(self, row: Element) -> list[str]:
        cells, before = [], self._in_list
        for cell in _inside(row, "tc"):
            cells.append("".join(self.block(cell)))
            span = cell.find("tcPr/gridSpan")
            wide = _number(span.get("val") if span is not None else None, 1)
            cells += [""] * (min(wide, _MOST_SPAN) - 1)
        self._in_list = before  # whatever stands in the cells
        return cells


def _inside(element: Element, tag: str) -> Iterator[Element]:
    """The children of that name, those included that something only stands around."""
    for child in element:
        if child.tag == tag:
            yield child
        elif child.tag in _AROUND:
            yield from _inside(child, tag)


def _number(text: str | None, otherwise: int) -> int:
    return int(text) if text and text.isdecimal() else otherwise


def _notes(package: Package, text: _Text) -> Iterator[str]:
    """What the text refers to, in the order in which it does; notes in notes behind them."""
    if not text.notes:
        return
    roots = {kind: package.tree(f"word/{kind}.xml") for kind in ("footnotes", "endnotes")}
    known = {
        f"{kind}/{note.get('id', '')}": note
        for kind, root in roots.items()
        for note in (root if root is not None else ())
    }
    yield "\n"
    for number, key in enumerate(list(text.notes), 1):
        if key in known:
            yield f"[^{number}]: {cell_text(''.join(text.block(known[key])))}\n"


def _comments(package: Package, text: _Text) -> Iterator[str]:
    root = package.tree("word/comments.xml") if text.comments else None
    if root is None:
        return
    known = {each.get("id", ""): each for each in root}
    yield "\n"
    for number, key in enumerate(list(text.comments), 1):
        if key in known:
            said = cell_text("".join(text.block(known[key])))
            yield f"[comment {number}] {known[key].get('author', '')}: {said}\n"


def _margins(package: Package, text: _Text) -> Iterator[str]:
    """Headers and footers, each once."""
    told: dict[str, None] = {}
    for kind in ("header", "footer"):
        for part in package.names(f"word/{kind}"):
            root = package.tree(part)
            if root is not None and (said := cell_text("".join(text.block(root)))):
                told[f"[{kind}] {said}\n"] = None
    if told:
        yield "\n"
    yield from told
