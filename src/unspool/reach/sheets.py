"""A workbook (.xlsx): its sheets as DataFrames, each read when it is asked for.

Contract: :class:`Sheets` maps the names of the sheets to DataFrames; ``table(sheet, …)`` passes on what
``pandas.read_excel`` takes. Values are those that were last computed: a formula that no spreadsheet program
has worked out is missing. What cannot be read (broken, with a password, far too large) is one
:class:`Unreadable` that says what to do; pandas and openpyxl are asked for only when a sheet is. A DataFrame
has a place for every cell up to the last one with a value: a sheet with a value far away from the others is
refused before it takes the memory.
"""

from __future__ import annotations

import io
import warnings
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from typing import Protocol, cast

from .extent import MOST_COLUMNS, Extent, extent
from .extracted import no_room
from .extras import how_to_add
from .octets import Octets, Raw
from .office import Package
from .refusals import Refusals
from .sniff import Unreadable

MOST_UNPACKED = 256 << 20  # bytes of XML, about six million cells: what is more takes minutes and gigabytes
MOST_CELLS = 20_000_000  # of a table, empty ones included
_NAMED = {"document": "a Word document: name it .docx", "presentation": "a presentation: name it .pptx"}


class Frame(Protocol):
    """What of a DataFrame is used."""

    dtypes: Mapping[object, object]

    def head(self, n: int) -> object: ...

    def __len__(self) -> int: ...


class _Book(Protocol):
    """What of pandas' ExcelFile is used."""

    sheet_names: Sequence[str]
    book: Mapping[str, object]

    def parse(self, sheet: str, **options: object) -> Frame: ...


class Sheets(Mapping[str, object]):
    """See the module docstring."""

    def __init__(self, name: str, octets: Octets) -> None:
        self.name, self._octets = name, octets
        self._opened: _Book | None = None
        self._frames: dict[str, Frame] = {}
        self._extents: dict[str, Extent] = {}
        self._refusals = Refusals()

    def _book(self) -> _Book:
        if self._opened is None:
            try:
                self._opened = self._refusals.once("workbook", self._open)
            except MemoryError:
                raise Unreadable(no_room(self.name)) from None
        return self._opened

    def _open(self) -> _Book:
        self._parts  # noqa: B018 (it is a workbook, and not too large)
        try:
            import openpyxl  # noqa: F401
            import pandas
        except ImportError as error:
            raise Unreadable(
                f"{self.name}: a sheet needs {error.name}, which is not installed: {how_to_add('xlsx')}"
            ) from None
        file = io.BufferedReader(Raw(self._octets), 1 << 18)
        try:
            with warnings.catch_warnings():  # of what a sheet has that is not read: colours, rules
                warnings.simplefilter("ignore")
                return cast(_Book, pandas.ExcelFile(file, engine="openpyxl"))
        except MemoryError:
            raise
        except Exception as error:  # openpyxl raises what it meets
            raise self._broken(error) from None

    @cached_property
    def _package(self) -> Package:
        instead = "save its sheets as .csv or .parquet, and pass those"
        return Package(self.name, self._octets, what="workbook", most=MOST_UNPACKED, instead=instead)

    @cached_property
    def _parts(self) -> Mapping[str, str]:
        """The parts of the workbook that are its sheets, by their names."""
        main = self._package.main()
        root = self._package.tree(main)
        if root is None or root.tag != "workbook":
            named = _NAMED.get("" if root is None else root.tag)
            raise Unreadable(f"{self.name} is {named}") if named else self._package.broken("it has no sheets")
        targets = self._package.targets(main)
        found = {each.get("name", ""): each.get("r:id", "") for each in root.iterfind("sheets/sheet")}
        return {name: targets[each][1] for name, each in found.items() if each in targets}

    def _broken(self, error: Exception) -> Unreadable:
        if isinstance(error, Unreadable):
            return error
        if isinstance(error, OSError) and error.errno is not None:
            return Unreadable(f"{self.name} cannot be read: {error.strerror}")
        said = f"{type(error).__name__}: {error}" if isinstance(error, KeyError) else str(error)
        return self._package.broken(said)

    def _extent(self, sheet: str) -> Extent:
        """How far the values of a sheet reach."""
        if sheet not in self._extents:
            part = self._parts.get(sheet, "")
            known = part in self._package
            self._extents[sheet] = extent(self._package, part, sheet) if known else Extent(0, 0, 0)
        return self._extents[sheet]

    def _check(self, sheet: str, options: Mapping[str, object]) -> None:
        """Raises :class:`Unreadable` where a table has places for far more cells than there are values."""
        taken = [options.get("nrows"), options.get("skiprows") or 0, options.get("header") or 0]
        asked = None  # rows that are read at most
        if all(isinstance(each, int) for each in taken):
            asked = 2 + sum(each for each in taken if isinstance(each, int))
        if asked is not None and asked * MOST_COLUMNS <= MOST_CELLS:
            return
        reach = self._extent(sheet)
        rows = reach.rows if asked is None else min(reach.rows, asked)
        if rows * reach.columns > MOST_CELLS:
            raise Unreadable(
                f"{self.name}, sheet {sheet!r}, is too large for a table: {reach.rows:,} rows × "
                f"{reach.columns:,} columns, at most {MOST_CELLS:,} cells, of which {reach.values:,} have a "
                f"value. table({sheet!r}, nrows=1000) reads its first rows; or delete the cells far away "
                "from the others"
            )

    def _no_room(self, sheet: str) -> Unreadable:
        reach = self._extents.get(sheet)  # to look now would take more of the memory that there is none of
        size = f": {reach.rows:,} rows × {reach.columns:,} columns" if reach else ""
        return Unreadable(
            f"{self.name}, sheet {sheet!r}, does not fit into the memory limit of the REPL (cell_memory)"
            f"{size}. nrows= reads a part of it"
        )

    def table(self, sheet: str | None = None, **options: object) -> Frame:
        """The DataFrame of a sheet, the first without a name; ``header=``, ``skiprows=``, ``usecols=``, …"""
        names = list(self)
        sheet = names[0] if sheet is None else sheet
        if sheet not in names:
            raise KeyError(f"there is no sheet {sheet!r}; there are {', '.join(map(repr, names))}")
        try:
            if options:
                return self._read(sheet, options)
            if sheet not in self._frames:
                self._frames[sheet] = self._refusals.once(("sheet", sheet), lambda: self._read(sheet, {}))
            return self._frames[sheet]
        except MemoryError:
            raise self._no_room(sheet) from None

    def _read(self, sheet: str, options: Mapping[str, object]) -> Frame:
        self._check(sheet, options)
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                return self._book().parse(sheet, **options)
        except MemoryError:
            raise
        except Exception as error:  # of the sheet's own XML, or of what was asked for
            if options and isinstance(error, OSError | TypeError | ValueError):
                raise
            raise self._broken(error) from None

    def shape(self, sheet: str) -> tuple[int | None, int | None]:
        """Rows and columns that a sheet says it has, its heading included; None where it says nothing."""
        found = self._book().book[sheet]
        return getattr(found, "max_row", None), getattr(found, "max_column", None)

    def __getitem__(self, sheet: str) -> object:
        return self.table(sheet)

    def __iter__(self) -> Iterator[str]:
        return iter(self._book().sheet_names)

    def __len__(self) -> int:
        return len(self._book().sheet_names)

    def __repr__(self) -> str:
        return (
            f"<Sheets {self.name}: ['sheet'] is a DataFrame, .table('sheet', skiprows=…), list(…) names them>"
        )

    def __unspool_text__(self) -> str:
        raise TypeError(f"{self.name} is a workbook: for text, context['sheet'].head().to_csv()")
