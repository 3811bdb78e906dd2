"""A presentation (.pptx) as text, slide by slide: titles, texts, tables, charts, notes.

Contract: each slide begins with ``=== slide 3: Title ===``; below it its texts in the order in which they lie
in the file, indented by their level, tables and the numbers of charts as Markdown, the words of diagrams,
pictures by their description (``[image: …]``), and what the speaker has noted behind ``Notes:``. A hidden
slide is said to be so.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import TYPE_CHECKING

from .extracted import headed
from .office import Package, table_lines
from .sniff import Unreadable

if TYPE_CHECKING:
    from xml.etree.ElementTree import Element

_TITLES = ("title", "ctrTitle")
_FURNITURE = ("sldNum", "dt", "ftr", "sldImg", "hdr")  # numbers, dates and footers of the layout
MOST_SLIDES = 20_000
MOST_OF_SLIDE = 16 << 20  # characters of one: what makes more of itself is a trap
MOST_NUMBERS = 1_000_000  # in the table of a chart, empty ones included


class Slides:
    """See the module docstring."""

    what, unit = "a presentation", "slide"

    def __init__(self, package: Package) -> None:
        self._package = package
        self._known: list[str] | None = None

    def _parts(self) -> list[str]:
        """The parts that are its slides, in their order."""
        if self._known is None:
            package = self._package
            main = package.main()
            root = package.tree(main)
            if root is None or root.tag != "presentation":
                raise package.broken("there are no slides in it")
            targets = package.targets(main)
            asked = [each.get("r:id", "") for each in root.iterfind("sldIdLst/sldId")]
            if len(asked) > MOST_SLIDES:
                raise Unreadable(f"{package.name} has more than {MOST_SLIDES:,} slides: split it first")
            self._known = [targets[each][1] for each in asked if each in targets]
        return self._known

    def count(self) -> int:
        return len(self._parts())

    def info(self) -> dict[str, str]:
        return self._package.info()

    def outline(self) -> list[tuple[int, str, int]]:
        """The titles of its slides."""
        told = ((number, _title(self._package.tree(part))) for number, part in enumerate(self._parts(), 1))
        return [(1, title, number) for number, title in told if title]

    def pieces(self, start: int) -> Iterator[str]:
        package = self._package
        for number, part in enumerate(self._parts()[start:], start + 1):
            root = package.tree(part)
            if root is None:
                yield headed(self.unit, number, "", note="cannot be read")
                continue
            targets = package.targets(part)
            lines = itertools.chain(
                _lines(root, package, targets),
                *(_notes(package.tree(target)) for kind, target in targets.values() if kind == "notesSlide"),
            )
            text = "\n".join(self._bounded(lines, number))
            hidden = "hidden" if root.get("show") in ("0", "false") else ""
            yield headed(self.unit, number, text, _title(root), hidden)

    def _bounded(self, lines: Iterator[str], number: int) -> Iterator[str]:
        size = 0
        for line in lines:
            size += len(line)
            if size > MOST_OF_SLIDE:
                raise Unreadable(
                    f"{self._package.name} has more than {MOST_OF_SLIDE:,} characters on slide {number}: "
                    "it is a trap"
                )
            yield line


def _title(root: Element | None) -> str:
    """The title of a slide, in one line."""
    for shape in root.iter("sp") if root is not None else ():
        if _place(shape) in _TITLES:
            return " ".join(" ".join(_paragraphs(shape)).split())
    return ""


def _place(shape: Element) -> str:
    """What a shape is for in the layout: title, body, …"""
    place = shape.find("nvSpPr/nvPr/ph")
    return "" if place is None else place.get("type", "body")


def _lines(element: Element, package: Package, targets: dict[str, tuple[str, str]]) -> Iterator[str]:
    """The lines of all shapes below an element, groups of them included."""
    for child in element:
        if child.tag == "sp":
            if _place(child) not in (*_TITLES, *_FURNITURE):
                yield from _paragraphs(child)
        elif child.tag == "tbl":
            rows = [
                ["\n".join(_paragraphs(cell)) for cell in row.iterfind("tc")] for row in child.iterfind("tr")
            ]
            if table := table_lines(rows):
                yield table
        elif child.tag == "pic":
            named = child.find("nvPicPr/cNvPr")
            if named is not None and (alt := " ".join(named.get("descr", "").split())):
                yield f"[image: {alt}]"
        elif child.tag in ("chart", "relIds"):
            _, target = targets.get(child.get("r:id") or child.get("r:dm") or "", ("", ""))
            root = package.tree(target)
            if root is not None:
                yield from _chart(root) if child.tag == "chart" else _paragraphs(root)
        elif child.tag != "Fallback":
            yield from _lines(child, package, targets)


def _paragraphs(element: Element) -> Iterator[str]:
    """The paragraphs below an element that have text, indented by their level."""
    for paragraph in element.iter("p"):
        text = "".join(
            "\n" if each.tag == "br" else "\t" if each.tag == "tab" else each.text or ""
            for each in paragraph.iter()
            if each.tag in ("t", "br", "tab")
        )
        marks = paragraph.find("pPr")
        level = (marks.get("lvl", "") if marks is not None else "")[:1]
        if text.strip():
            yield "  " * (int(level) if level.isdecimal() else 0) + text.strip()


def _notes(root: Element | None) -> Iterator[str]:
    shapes = [] if root is None else [each for each in root.iter("sp") if _place(each) not in _FURNITURE]
    begins = "Notes: "
    for line in itertools.chain.from_iterable(map(_paragraphs, shapes)):
        yield begins + line
        begins = ""


def _chart(root: Element) -> Iterator[str]:
    """A chart as a table: a row a category, a column a series."""
    title = root.find("chart/title")
    named = " ".join(_paragraphs(title)) if title is not None else ""
    yield f"[chart{f': {named}' if named else ''}]"
    series = list(root.iter("ser"))
    rows: dict[str, dict[int, str]] = {}
    for number, each in enumerate(series):
        names = _points(each, "cat") or _points(each, "xVal")
        for at, value in (_points(each, "val") or _points(each, "yVal")).items():
            rows.setdefault(names.get(at, str(at + 1)), {})[number] = value
    if len(rows) * len(series) > MOST_NUMBERS:
        yield f"(its {len(rows):,} rows of {len(series):,} numbers are too many to be shown)"
        return
    heads = [next((value.text or "" for value in each.iterfind("tx//v")), "") for each in series]
    found = ([name, *(row.get(number, "") for number in range(len(series)))] for name, row in rows.items())
    if table := table_lines([["", *heads], *found]):
        yield table


def _points(series: Element, kind: str) -> dict[int, str]:
    """The values of a series that the file keeps beside it, by their numbers."""
    found = {}
    for point in series.iterfind(f"{kind}//pt"):
        at, value = point.get("idx", ""), point.find("v")
        if at.isdecimal() and len(at) < 7 and value is not None:
            found[int(at)] = (value.text or "").strip()
    return found
