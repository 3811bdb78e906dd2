"""Tables and databases in files: read when they are asked for, with the libraries of the sandbox.

Contract: :class:`LazyTable` (Parquet) knows its columns and rows without reading them, and
acts as the DataFrame that it is as soon as it is used as one. :class:`Database` is an SQLite connection to a
copy in memory, for code in the sandbox has no paths: it takes twice the size of the file at first, once
afterwards. What is missing to read one is an error that says what to install.
"""

from __future__ import annotations

import io
import sqlite3
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, cast

from .extras import how_to_add
from .octets import Octets, Raw, measure
from .sheets import Frame, Sheets
from .sizes import unpacked
from .sniff import SQLITE, Unreadable

if TYPE_CHECKING:
    from .text import LazyText


def _pandas(name: str) -> object:
    try:
        import pandas
    except ImportError:
        raise Unreadable(
            f"{name}: a DataFrame needs pandas, which is not installed: {how_to_add('data')}"
        ) from None
    return pandas


def table_of_text(text: LazyText, options: Mapping[str, object]) -> object:
    """A DataFrame of .csv, .tsv or .jsonl."""
    pandas = cast("_Pandas", _pandas(text.name))
    name = unpacked(text.name)
    file = text.open()
    if name.endswith((".jsonl", ".ndjson")):
        return pandas.read_json(file, **{"lines": True, **options})
    if name.endswith(".json"):
        return pandas.read_json(file, **options)
    if name.endswith((".tsv", ".tab")):
        options = {"sep": "\t", **options}
    return pandas.read_csv(file, **options)


class _Pandas:
    """What of pandas is used."""

    read_json: Callable[..., object]
    read_csv: Callable[..., object]


class LazyTable:
    """A table in a file. ``.table()`` is the DataFrame, ``.arrow()`` the Arrow table; ``columns=`` takes a
    part. Used as a DataFrame, it is one."""

    def __init__(self, name: str, octets: Octets) -> None:
        self._name, self._octets = name, octets
        self._frame: object = None

    @property
    def name(self) -> str:
        return self._name

    def _file(self) -> io.BufferedReader:
        return io.BufferedReader(Raw(self._octets), 1 << 18)

    def _parquet(self) -> _Parquet:
        try:
            from pyarrow import parquet
        except ImportError:
            raise Unreadable(
                f"{self._name} needs pyarrow, which is not installed: {how_to_add('data')}"
            ) from None
        try:
            return cast(
                "_Parquet", parquet.ParquetFile(self._file(), pre_buffer=False)
            )  # no threads, see below
        except Exception as error:  # Arrow's own kinds of errors
            raise Unreadable(f"{self._name} is no Parquet file that can be read: {error}") from None

    def arrow(self, columns: Sequence[str] | None = None) -> object:
        """The Arrow table, or these columns of it."""
        # Without threads: with them, a cell that crashes could not be undone.
        return self._parquet().read(columns=None if columns is None else list(columns), use_threads=False)

    def table(self, columns: Sequence[str] | None = None) -> object:
        """The DataFrame, or these columns of it."""
        if columns is None and self._frame is not None:
            return self._frame
        _pandas(self._name)
        frame = cast("_Arrow", self.arrow(columns)).to_pandas(use_threads=False)
        if columns is None:
            self._frame = frame
        return frame

    def shape_and_types(self) -> tuple[int, list[tuple[str, str]]]:
        """Rows, and columns with their types, without reading the rows."""
        file = self._parquet()
        return file.metadata.num_rows, [(field.name, str(field.type)) for field in file.schema_arrow]

    def head(self, n: int = 5) -> object:
        """The first rows as a DataFrame, without reading the others."""
        if self._frame is not None:
            return cast(Frame, self._frame).head(n)
        first = next(iter(self._parquet().iter_batches(batch_size=max(1, n), use_threads=False)), None)
        return cast(Frame, self.table()).head(n) if first is None else first.to_pandas(use_threads=False)

    def __len__(self) -> int:
        return self.shape_and_types()[0]

    def __getitem__(self, key: object) -> object:
        return cast("Mapping[object, object]", self.table())[key]

    def __getattr__(self, name: str) -> object:
        if name.startswith("__"):
            raise AttributeError(name)
        return getattr(self.table(), name)

    def __iter__(self) -> Iterator[object]:
        return iter(cast("Iterable[object]", self.table()))

    def __repr__(self) -> str:
        return f"<table {self._name}: .head(), .table() is the DataFrame, .table(columns=[…]), .arrow()>"

    def __unspool_text__(self) -> str:
        raise TypeError(
            f"{self._name} is a table in a file: .table() is the DataFrame; for text, .head().to_csv()"
        )


class _Arrow:
    to_pandas: Callable[..., object]


class _Parquet:
    """What of a ParquetFile is used."""

    class _Metadata:
        num_rows: int

    class _Field:
        name: str
        type: object

    metadata: _Metadata
    schema_arrow: Iterable[_Field]
    read: Callable[..., object]
    iter_batches: Callable[..., Iterable[_Arrow]]


class Database(sqlite3.Connection):
    """A read-only SQLite connection to a copy of the file in memory, made on first use."""

    def __init__(self, name: str, octets: Octets) -> None:
        super().__init__(":memory:", check_same_thread=False)
        self.name = name
        self._octets: Octets | None = octets

    def _load(self) -> None:
        octets, self._octets = self._octets, None
        if octets is None:
            return
        try:
            data = bytearray(octets.read(0, measure(octets)))
            if data and not data.startswith(SQLITE):
                raise Unreadable(f"{self.name} is no SQLite database")
            if data[18:20] == b"\x02\x02":  # of a database with a write-ahead log, which only files have
                data[18:20] = b"\x01\x01"
            if data:
                super().deserialize(data)
            super().execute("PRAGMA query_only = ON")
            super().execute("SELECT count(*) FROM sqlite_master").fetchone()
        except MemoryError:
            self._octets = octets
            raise MemoryError(
                f"{self.name} does not fit: a database needs twice its size in the memory of the REPL"
            ) from None
        except sqlite3.DatabaseError as error:
            self._octets = octets
            raise Unreadable(f"{self.name} is no SQLite database that can be read: {error}") from None
        except BaseException:  # an interrupt: the next use begins anew
            self._octets = octets
            raise

    def cursor(self, *args: object) -> sqlite3.Cursor:  # type: ignore[override]
        self._load()
        plain = cast("Callable[..., sqlite3.Cursor]", super().cursor)
        return plain(*args)

    def execute(self, *args: object) -> sqlite3.Cursor:
        self._load()
        plain = cast("Callable[..., sqlite3.Cursor]", super().execute)
        return plain(*args)

    def executemany(self, *args: object) -> sqlite3.Cursor:
        self._load()
        plain = cast("Callable[..., sqlite3.Cursor]", super().executemany)
        return plain(*args)

    def tables(self) -> dict[str, list[str]]:
        """The tables and views with their columns."""
        names = [name for (name,) in self.execute(
            "SELECT name FROM sqlite_master WHERE type IN ('table', 'view') AND name NOT LIKE 'sqlite~_%' "
            "ESCAPE '~' ORDER BY name"
        )]  # fmt: skip
        return {
            name: [row[0] for row in self.execute("SELECT name FROM pragma_table_info(?)", (name,))]
            for name in names
        }

    def __repr__(self) -> str:
        return f"<SQLite database {self.name}: .tables(), .execute(sql).fetchall()>"

    def __unspool_text__(self) -> str:
        raise TypeError(f"{self.name} is a database: pass what a query gives")


def _traces(name: str, octets: Octets) -> object:
    from .traces import Traces

    return Traces(name, octets)


MAKERS: Mapping[str, Callable[[str, Octets], object]] = {
    "parquet": LazyTable,
    "xlsx": Sheets,
    "sqlite": Database,
    "traces": _traces,
}
"""What stands for a file of a kind that is no text: (name, bytes) -> it."""
