"""What the styles and numberings of a Word document make of a paragraph: a heading, an item with its number.

Contract: :meth:`Styles.of` tells how a paragraph looks by its own marks and those of its style, and of the
styles that this is based on; :meth:`Styles.label` counts on and gives the number as Word shows it.

>>> numbers("lowerRoman", 14), numbers("upperLetter", 28), numbers("decimalZero", 3), numbers("bullet", 9)
('xiv', 'BB', '03', '-')
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from xml.etree.ElementTree import Element

_HEADING = re.compile(r"heading ([1-9])", re.IGNORECASE)
_PLACE = re.compile(r"%([1-9])")
_MOST_BASES = 20  # styles that are based on one another
_MOST_LABEL = 60  # characters
_ROMAN = ((1000, "m"), (900, "cm"), (500, "d"), (400, "cd"), (100, "c"), (90, "xc"), (50, "l"), (40, "xl"),
          (10, "x"), (9, "ix"), (5, "v"), (4, "iv"), (1, "i"))  # fmt: skip


@dataclass(frozen=True, slots=True)
class Look:
    """How a paragraph looks. ``heading``: 1 for the largest, 0 for none; ``numbering``: "" for none."""

    heading: int = 0
    numbering: str = ""
    level: int = 0


@dataclass(frozen=True, slots=True)
class _Level:
    form: str
    text: str
    start: int


class Styles:
    """See the module docstring; both parts may not be there."""

    def __init__(self, styles: Element | None, numbering: Element | None) -> None:
        self._styles = {each.get("styleId", ""): each for each in _children(styles, "style")}
        self._looks: dict[str, tuple[int, str | None, int]] = {}
        self._levels: dict[str, dict[int, _Level]] = {}  # by abstract numbering
        self._abstract: dict[str, str] = {}  # of each numbering
        self._restarts: dict[tuple[str, int], int] = {}  # numberings that begin anew, and where
        self._counted: dict[str, list[int]] = {}
        for each in _children(numbering, "abstractNum"):
            levels = {_int(level.get("ilvl")): _level(level) for level in _children(each, "lvl")}
            self._levels[each.get("abstractNumId", "")] = levels
        for each in _children(numbering, "num"):
            number = each.get("numId", "")
            self._abstract[number] = _val(each, "abstractNumId") or ""
            for other in _children(each, "lvlOverride"):
                if (start := _val(other, "startOverride")) is not None:
                    self._restarts[number, _int(other.get("ilvl"))] = _int(start)

    def of(self, paragraph: Element) -> Look:
        marks = paragraph.find("pPr")
        heading, numbering, level = self._of_style(_val(marks, "pStyle") or "")
        own_heading, own_numbering, own_level = _marks(marks)
        heading = heading if own_heading is None else own_heading
        if own_numbering is not None:
            numbering, level = own_numbering, own_level
        if numbering in (None, "", "0"):  # 0: that of the style is taken off
            return Look(heading)
        return Look(heading, numbering or "", level)

    def _of_style(self, style: str) -> tuple[int, str | None, int]:
        if style not in self._looks:
            heading, numbering, level = None, None, 0
            at, left = style, _MOST_BASES
            while at in self._styles and left:
                element = self._styles[at]
                named = _HEADING.fullmatch(_val(element, "name") or "")
                is_title = (_val(element, "name") or "").lower() == "title"
                told, number, ilvl = _marks(element.find("pPr"))
                told = int(named[1]) if named else 1 if is_title else told
                heading = told if heading is None else heading
                if numbering is None and number is not None:
                    numbering, level = number, ilvl
                at, left = _val(element, "basedOn") or "", left - 1
            self._looks[style] = heading or 0, numbering, level
        return self._looks[style]

    def label(self, look: Look) -> str:
        """The number or sign of the next paragraph that looks so; "" where none is shown."""
        abstract = self._abstract.get(look.numbering, "")
        levels = self._levels.get(abstract, {})
        own = levels.get(look.level)
        if own is None:
            return "-" if look.numbering else ""
        counted = self._counted.setdefault(abstract, [])
        restart = self._restarts.pop((look.numbering, look.level), None)
        if restart is not None:
            del counted[look.level :]
        while len(counted) <= look.level:
            level = levels.get(len(counted))
            first = level.start if level else 1
            counted.append(first if len(counted) < look.level else first - 1)
        if restart is not None:
            counted[look.level] = restart - 1
        del counted[look.level + 1 :]
        counted[look.level] += 1
        if own.form == "bullet":
            return "-"
        if own.form == "none":
            return ""

        def place(match: re.Match[str]) -> str:
            at = int(match[1]) - 1
            level = levels.get(at)
            return numbers(level.form, counted[at]) if level and at < len(counted) else ""

        return _PLACE.sub(place, own.text)[:_MOST_LABEL].strip()


def numbers(form: str, number: int) -> str:
    """A number as one of Word's formats writes it; those of other alphabets as digits."""
    if form == "bullet":
        return "-"
    if form == "none":
        return ""
    if number < 1 or number > 10_000:
        return str(number)
    if form in ("lowerRoman", "upperRoman"):
        text, left = "", number
        for size, sign in _ROMAN:
            text += sign * (left // size)
            left %= size
    elif form in ("lowerLetter", "upperLetter"):
        text = chr(ord("a") + (number - 1) % 26) * min(_MOST_LABEL, (number - 1) // 26 + 1)
    else:
        return f"{number:02}" if form == "decimalZero" else str(number)
    return text.upper() if form.startswith("upper") else text


def _marks(marks: Element | None) -> tuple[int | None, str | None, int]:
    """Heading, numbering and level that marks of a paragraph tell; ``None`` where they tell nothing."""
    outline = _val(marks, "outlineLvl")
    heading = None if outline is None else (_int(outline) + 1) % 10  # 9 is body text
    listed = None if marks is None else marks.find("numPr")
    if listed is None:
        return heading, None, 0
    return heading, _val(listed, "numId"), min(8, _int(_val(listed, "ilvl")))


def _level(level: Element) -> _Level:
    return _Level(
        _val(level, "numFmt") or "decimal",
        (_val(level, "lvlText") or "")[:_MOST_LABEL],
        _int(_val(level, "start"), 1),
    )


def _children(element: Element | None, tag: str) -> list[Element]:
    return [] if element is None else element.findall(tag)


def _val(element: Element | None, tag: str) -> str | None:
    found = None if element is None else element.find(tag)
    return None if found is None else found.get("val")


def _int(text: str | None, otherwise: int = 0) -> int:
    return int(text) if text and text.isdecimal() and len(text) < 10 else otherwise
