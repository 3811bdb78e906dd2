"""How far the cells of a sheet reach, told from its XML before a table is made of it.

Contract: :func:`extent` reads the XML of a sheet once, and keeps nothing of it but the last row and column
with a value, and how many values there are. Rows and columns that no sheet has are :class:`Unreadable`.

>>> import io, zipfile
>>> from .octets import Memory
>>> buffer = io.BytesIO()
>>> with zipfile.ZipFile(buffer, "w") as made:
...     made.writestr("s.xml", '<s><row r="3"><c r="C3"><v>1</v></c><c/></row><row><c><v>2</v></c></row></s>')
>>> extent(Package("a.xlsx", Memory(buffer.getvalue())), "s.xml", "S")
Extent(rows=4, columns=3, values=2)
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from .office import Package, Target, bare
from .sniff import Unreadable

MOST_ROWS, MOST_COLUMNS = 1 << 20, 1 << 14  # that a sheet can have


@dataclass(frozen=True, slots=True)
class Extent:
    """The last row and the last column with a value, from 1, and the number of values."""

    rows: int
    columns: int
    values: int


def extent(package: Package, part: str, sheet: str) -> Extent:
    """Of the sheet called ``sheet``, which is that part of a workbook."""
    cells = _Cells(package.name, sheet)
    package.feed(part, cells)
    return Extent(cells.rows, cells.columns, cells.values)


class _Cells(Target):
    """Counts cells with values; called for each element, of which there may be millions."""

    def __init__(self, name: str, sheet: str) -> None:
        super().__init__(name)
        self._sheet = sheet
        self._row = self._column = 0
        self._tags: dict[str, str] = {}  # without their namespaces
        self._columns: dict[str, int] = {}  # by their letters
        self.rows = self.columns = self.values = 0

    def start(self, tag: str, attributes: Mapping[str, str]) -> None:
        kind = self._tags.get(tag) or self._tags.setdefault(tag, bare(tag))
        if kind == "c":
            letters = attributes.get("r", "").rstrip("0123456789")
            self._column = self._columns.get(letters) or self._number(letters)
        elif kind in ("v", "is"):
            self.values += 1
            if self._row > self.rows:
                self.rows = self._row
            if self._column > self.columns:
                self.columns = self._column
        elif kind == "row":
            number, self._column = attributes.get("r", ""), 0
            self._row = int(number[:9]) if number.isdecimal() else self._other_row(number)
            self._check(self._row, 1)

    def _other_row(self, number: str) -> int:
        """The row behind the last, where it has no number; a number may be written as "2e3", too."""
        try:
            return int(min(float(number), 1e9)) if number else self._row + 1
        except (ValueError, OverflowError):  # openpyxl says so
            return self._row + 1

    def _number(self, letters: str) -> int:
        """The column of a cell: by its letters, or else the one behind the last."""
        number = 0
        for letter in letters[:4].upper():
            number = 26 * number + ord(letter) - 64
        number = number if letters else self._column + 1
        self._check(self._row, number)
        if letters:
            self._columns[letters] = number
        return number

    def _check(self, row: int, column: int) -> None:
        if row > MOST_ROWS or not 0 < column <= MOST_COLUMNS:
            raise Unreadable(
                f"{self._name}, sheet {self._sheet!r}, has a cell in row {row:,}, column {column:,}, "
                "where no sheet has one: it is damaged, or a trap"
            )

    def close(self) -> None:
        """The parser asks for it."""
