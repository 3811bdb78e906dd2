"""A workbook (.xlsx): its sheets as DataFrames, each read when it is asked for.

Contract: :class:`Sheets` maps the names of the sheets to DataFrames; ``table(sheet, …)`` passes on what
``pandas.read_excel`` takes. Values are those that were last computed: a formula that no spreadsheet program
has worked out is missing. What cannot be read (broken, with a password, far too large) is one
:class:`Unreadable` that says what to do; pandas and openpyxl are asked for only when a sheet is.
"""

from __future__ import annotations

import io
import warnings
import zipfile
from collections.abc import Iterator, Mapping, Sequence
from typing import Protocol, cast

from .octets import Octets, Raw
from .sizes import sized
from .sniff import Unreadable

MOST_UNPACKED = 256 << 20  # bytes of XML, about six million cells: what is more takes minutes and gigabytes


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

    def _book(self) -> _Book:
        if self._opened is None:
            self._check_size()
            try:
                import openpyxl  # noqa: F401
                import pandas
            except ImportError as error:
                raise Unreadable(
                    f"{self.name}: a sheet needs {error.name}, which is not installed: "
                    "pip install unspool[xlsx]"
                ) from None
            file = io.BufferedReader(Raw(self._octets), 1 << 18)
            try:
                with warnings.catch_warnings():  # of what a sheet has that is not read: colours, rules
                    warnings.simplefilter("ignore")
                    self._opened = cast(_Book, pandas.ExcelFile(file, engine="openpyxl"))
            except (MemoryError, OSError):
                raise
            except Exception as error:  # openpyxl raises what it meets
                raise self._broken(error) from None
        return self._opened

    def _check_size(self) -> None:
        try:
            with zipfile.ZipFile(io.BufferedReader(Raw(self._octets), 1 << 16)) as packed:
                size = sum(each.file_size for each in packed.infolist() if each.filename.endswith(".xml"))
        except (zipfile.BadZipFile, NotImplementedError) as error:
            raise self._broken(error) from None
        if size > MOST_UNPACKED:
            raise Unreadable(
                f"{self.name} is too large to be read as a workbook ({sized(size)} unpacked, at most "
                f"{sized(MOST_UNPACKED)}): save its sheets as .csv or .parquet, and pass those"
            )

    def _broken(self, error: Exception) -> Unreadable:
        said = f"{type(error).__name__}: {error}" if isinstance(error, KeyError) else str(error)
        return Unreadable(f"{self.name} is no workbook that can be read ({said}): is the file whole?")

    def table(self, sheet: str | None = None, **options: object) -> Frame:
        """The DataFrame of a sheet, the first without a name; ``header=``, ``skiprows=``, ``usecols=``, …"""
        names = list(self)
        sheet = names[0] if sheet is None else sheet
        if sheet not in names:
            raise KeyError(f"there is no sheet {sheet!r}; there are {', '.join(map(repr, names))}")
        if sheet in self._frames and not options:
            return self._frames[sheet]
        book = self._book()
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                frame = book.parse(sheet, **options)
        except (MemoryError, OSError, TypeError, ValueError):
            raise
        except Exception as error:  # the sheet's own XML
            raise self._broken(error) from None
        if not options:
            self._frames[sheet] = frame
        return frame

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
