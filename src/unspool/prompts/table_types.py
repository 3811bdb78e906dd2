"""What the helpers of :mod:`unspool.prompts.small_tables` use of tables: those of libraries that need not be
here, and of unspool's own views. For type checkers alone: nothing of it is in the REPL.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence, Sized
from typing import Protocol

Source = object  # a table, or (workbook or database, name)


class Folder(Protocol):
    """Files by their paths."""

    def __getitem__(self, path: str, /) -> object: ...


class Sheets(Protocol):
    """A workbook. Rows and columns of a sheet are ``None`` where that is not known."""

    def __iter__(self) -> Iterator[str]: ...
    def shape(self, name: str, /) -> tuple[int | None, int | None]: ...
    def table(self, name: str, /, *, nrows: int | None = None) -> object: ...


class Cursor(Protocol):
    """Rows of a database."""

    @property
    def description(self) -> Iterable[Sequence[str]]: ...
    def fetchall(self) -> list[tuple[object, ...]]: ...


class Database(Protocol):
    """SQLite."""

    def tables(self) -> Iterable[str]: ...
    def execute(self, sql: str, /) -> Cursor: ...


class Lazy(Protocol):
    """A file that is a table, such as Parquet."""

    def shape_and_types(self) -> tuple[int, Sized]: ...
    def table(self) -> object: ...
    def head(self, rows: int, /) -> object: ...


class Series(Protocol):
    """One column, of pandas or polars."""

    name: str

    def to_frame(self, *, name: str) -> object: ...


class Shaped(Protocol):
    """A table in memory."""

    @property
    def shape(self) -> tuple[int, int]: ...


class ArrowColumn(Protocol):
    def to_pylist(self) -> list[object]: ...


class ArrowSchema(Protocol):
    @property
    def names(self) -> Sequence[str]: ...


class Arrow(Protocol):
    """A table of Arrow's."""

    @property
    def schema(self) -> ArrowSchema: ...
    def slice(self, start: int, rows: int, /) -> Arrow: ...
    def column(self, number: int, /) -> ArrowColumn: ...


class PolarsColumn(Protocol):
    def to_list(self) -> list[object]: ...


class Polars(Protocol):
    """A DataFrame of polars'."""

    @property
    def columns(self) -> Sequence[str]: ...
    def head(self, rows: int, /) -> Polars: ...
    def get_columns(self) -> Sequence[PolarsColumn]: ...


class PandasType(Protocol):
    @property
    def kind(self) -> str: ...


class PandasIndex(Protocol):
    @property
    def names(self) -> Iterable[object]: ...
    @property
    def dtype(self) -> PandasType: ...


class PandasColumn(Protocol):
    def tolist(self) -> list[object]: ...


class PandasPlaces(Protocol):
    def __getitem__(self, place: tuple[slice, int], /) -> PandasColumn: ...


class Pandas(Protocol):
    """A DataFrame of pandas'."""

    @property
    def shape(self) -> tuple[int, int]: ...
    @property
    def columns(self) -> Iterable[object]: ...
    @property
    def index(self) -> PandasIndex: ...
    @property
    def iloc(self) -> PandasPlaces: ...
    def head(self, rows: int, /) -> Pandas: ...
    def reset_index(self, *, allow_duplicates: bool) -> Pandas: ...
