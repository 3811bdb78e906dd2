"""Tables as the helpers of a weak model see them: the rows of workbooks, DataFrames, Parquet and databases.

``table_lines`` makes each row a :class:`Row`, as ``records`` does of CSV; of several tables each row says
which it is of. The source runs in the REPL (see :mod:`unspool.prompts.small_tools`), so it is standard
library only: a table is known by what its type has. What cannot be read is told in one line, and the others
are read.

>>> both = join_tables([("Q1", ["rep"], [["bo"]]), ("Q2", ["rep", "sum"], [["cy", "7"]])], "sheet")
>>> both
(['sheet=Q1, rep=bo', 'sheet=Q2, rep=cy, sum=7'], ['sheet', 'rep', 'sum'])
>>> both[0][0].fields
['Q1', 'bo', '']
>>> cell_texts([591.0, float("nan"), 7.0]), cell_texts([1.5, 2.0]), cell_texts(["two\\nlines", None, True])
(['591', '', '7'], ['1.5', '2.0'], ['two lines', '', 'True'])
"""

from __future__ import annotations

import itertools
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import datetime
from typing import TYPE_CHECKING
from typing import cast as _seen_as  # a name in the REPL: one that no error offers in the place of another

from .small_records import MOST_FILES, MOST_NAMES, MOST_ROWS, Row, lines_of, records

if TYPE_CHECKING:
    from . import table_types as of

MOST_CELLS = 2_000_000  # of a table: so many of a sheet take most of a minute to read
MOST_TITLES = 20  # rows above the head of a sheet
NAMED_TABLES = 8  # that are told by name
TABLE_FILES = (".xlsx", ".xlsm", ".parquet", ".pq", ".sqlite", ".sqlite3", ".db", ".db3")
_GAPS = ("NAType", "NaTType")  # of pandas: they cannot be compared
_KINDS = (
    ("sheets", ("table", "shape", "keys")),
    ("database", ("tables", "execute")),
    ("lazy", ("shape_and_types",)),
    ("series", ("to_frame", "to_list")),
    ("pandas", ("iloc", "index")),
    ("polars", ("get_columns", "height")),
    ("arrow", ("column_names", "to_pydict")),
)
_PACKED = re.compile(r"\.(?:tar|t[gbx]z2?)(?:\.\w+)?$", re.IGNORECASE)  # to list it takes a pass over all
TablePart = tuple[str, list[str], list[list[str]]]  # its name, its columns, the cells of its rows


def has_tables(data: object) -> bool:
    """Whether it is a table, a workbook or a database, or there is one among its values or its files."""
    return any(True for _ in _tables_among(data))


def _tables_among(data: object) -> Iterator[tuple[str, object]]:
    if hasattr(type(data), "texts"):  # a folder, an archive
        names = () if _PACKED.search(str(getattr(data, "name", ""))) else data
        paths = (path for path in names if path.lower().endswith(TABLE_FILES))  # type: ignore[attr-defined]
        for path in itertools.islice(paths, MOST_FILES):
            yield path, _Unread(data, path)
    elif isinstance(data, dict):
        yield from ((str(key), item) for key, item in data.items() if _table_kind(item))
    elif isinstance(data, list | tuple):
        yield from ((str(n), item) for n, item in enumerate(data, 1) if _table_kind(item))
    elif _table_kind(data):
        yield "", data


class _Unread:
    """A file of a folder, opened when its rows are wanted."""

    def __init__(self, files: object, path: str) -> None:
        self.files, self.path = _seen_as("of.Folder", files), path


def _table_kind(item: object) -> str:
    if isinstance(item, str | int | float | dict | list | tuple | None):
        return ""
    kind = type(item)
    return next((name for name, has in _KINDS if all(hasattr(kind, each) for each in has)), "")


def table_lines(data: object) -> tuple[Sequence[str], list[str], list[str]]:
    """The rows, the names of their fields, and what has to be said. Texts beside tables come first."""
    parts: list[TablePart] = []
    told: list[str] = []
    cut = False
    texts, names = _texts_beside(data)
    if names and all(isinstance(line, Row) for line in texts):
        parts, texts = [("", names, [line.fields for line in texts if isinstance(line, Row)])], []
    beside = bool(texts or parts)
    left = MOST_ROWS - len(texts) - sum(len(part[2]) for part in parts)
    for name, item in _tables_among(data):
        inner: list[tuple[str, object]] = []
        with _telling(name, told):
            inner = _tables_of(name, item)
        for each, source in inner:
            with _telling(each, told):
                part, more = _part_of(each, source, left, told)
                cut = cut or more
                left -= len(part[2])
                parts += [part] if part[2] else []
    kind = "sheet" if _table_kind(data) == "sheets" else "table"
    rows, columns = join_tables(parts, kind)
    lines = [*texts, *rows]
    named = [part[0] for part in parts[bool(names and not texts) :]]
    if any(named):  # of one without a name the description says all
        told.insert(0, _said_of(named, kind, columns[0] if len(parts) > 1 else "", beside))
    elif not lines and not told:
        told.append("There are no rows in it.")
    if cut:
        told.append(f"lines has the first {len(lines):,} lines of these tables.")
    return lines, ([] if texts else columns), told


def _said_of(named: Sequence[str], kind: str, label: str, beside: bool) -> str:
    rows = "the lines of the texts, then the rows" if beside else "the rows"
    shown = ", ".join(named[:NAMED_TABLES]) + (", …" if len(named) > NAMED_TABLES else "")
    which = f"{len(named)} {kind}s ({shown})" if len(named) > 1 else f"the {kind} {shown}".rstrip()
    return f"lines has {rows} of {which}" + (f": the field {label} says of which." if label else ".")


@contextmanager
def _telling(name: str, told: list[str]) -> Iterator[None]:
    """What cannot be read is told, and the tables after it are read all the same."""
    what = f"{name or 'The table'} is not in lines"
    try:
        yield
    except MemoryError:
        told.append(f"{what}: it is too large for the memory that there is.")
    except Exception as error:  # the libraries raise what they meet
        told.append(f"{what}: {_first_line(error)}")


def _first_line(error: Exception) -> str:
    return (str(error) or type(error).__name__).splitlines()[0]


def _texts_beside(data: object) -> tuple[Sequence[str], list[str]]:
    """The lines of all that is no table."""
    if isinstance(data, dict):
        data = list(data.values())
    if isinstance(data, list | tuple):
        data = [item for item in data if not _table_kind(item)]
    return records(lines_of(data))


def _tables_of(name: str, item: object) -> list[tuple[str, of.Source]]:
    """Each table with its name, as what gives its columns: a DataFrame, or (workbook or database, name)."""
    if isinstance(item, _Unread):
        item = item.files[item.path]
    kind = _table_kind(item)
    if kind not in ("sheets", "database"):
        return [(name, item)] if kind else []
    inner = list(_seen_as("of.Sheets", item) if kind == "sheets" else _seen_as("of.Database", item).tables())
    if name and len(inner) == 1:
        return [(name, (item, inner[0]))]
    return [(f"{name}/{each}" if name else each, (item, each)) for each in inner]


def _part_of(name: str, source: of.Source, left: int, told: list[str]) -> tuple[TablePart, bool]:
    """The table, and whether it has more rows than were read."""
    names, columns, more = _columns_of(source, left)
    if len(names) > MOST_NAMES:
        which = f" of {name}" if name else ""
        told.append(f"lines has the first {MOST_NAMES} of the {len(names):,} columns{which}.")
    cells = [cell_texts(column) for column in columns[:MOST_NAMES]]
    rows = [list(row) for row in zip(*cells, strict=True) if any(row)]
    names = names[:MOST_NAMES]
    if sum(each.startswith("Unnamed: ") for each in names) * 2 > len(names):  # pandas says so of a sheet
        names, rows = _headed(names, rows)
    return (name, _told_apart(names), rows), more


def _headed(names: list[str], rows: list[list[str]]) -> tuple[list[str], list[list[str]]]:
    """Without the title above the head of a sheet: the head is the first row that has a name in each cell."""
    for place, row in enumerate(rows[:MOST_TITLES]):
        if len(set(row)) == len(row) > 1 and all(re.match(r"[^\W\d]", cell) for cell in row):
            return row, rows[place + 1 :]
    return names, rows


def _most_rows(left: int, width: int) -> int:
    return max(0, min(left, MOST_CELLS // max(1, width)))


def _columns_of(source: of.Source, left: int) -> tuple[list[str], list[list[object]], bool]:
    if isinstance(source, tuple):
        holder, name = source
        if _table_kind(holder) == "database":
            return _query(holder, name, left)
        return _sheet(holder, name, left)
    kind = _table_kind(source)
    if kind == "lazy":
        lazy = _seen_as("of.Lazy", source)
        height, types = lazy.shape_and_types()
        most = _most_rows(left, len(types))
        names, columns, _ = _columns_of(lazy.table() if height <= most else lazy.head(max(1, most)), most)
        return names, columns, height > most
    if kind == "series":
        series = _seen_as("of.Series", source)
        source = series.to_frame(name=series.name or "value")
        kind = _table_kind(source)
    height, width = _seen_as("of.Shaped", source).shape
    most = _most_rows(left, width)
    if kind == "arrow":
        part = _seen_as("of.Arrow", source).slice(0, most)
        columns = [part.column(n).to_pylist() for n in range(min(width, MOST_NAMES))]
        return list(part.schema.names), columns, height > most
    if kind == "polars":
        first = _seen_as("of.Polars", source).head(most)
        columns = [column.to_list() for column in first.get_columns()[:MOST_NAMES]]
        return list(first.columns), columns, height > most
    head = _seen_as("of.Pandas", source).head(most)
    if any(name is not None for name in head.index.names) or head.index.dtype.kind not in "iu":
        head = head.reset_index(allow_duplicates=True)  # an index that is data, and no mere number
    columns = [head.iloc[:, n].tolist() for n in range(min(head.shape[1], MOST_NAMES))]
    return [str(name) for name in head.columns], columns, height > most


def _sheet(book: of.Sheets, name: str, left: int) -> tuple[list[str], list[list[object]], bool]:
    height, width = book.shape(name)
    most = _most_rows(left, width or 1)
    if height is None or height <= most:  # its head is one of them
        return _columns_of(book.table(name), left)
    names, columns, _ = _columns_of(book.table(name, nrows=most), left)
    return names, columns, bool(columns) and len(columns[0]) >= most


def _query(database: of.Database, name: str, left: int) -> tuple[list[str], list[list[object]], bool]:
    quoted = name.replace('"', '""')
    cursor = database.execute(f'SELECT * FROM "{quoted}" LIMIT 0')
    names = [each[0] for each in cursor.description]
    most = _most_rows(left, len(names))
    rows = database.execute(f'SELECT * FROM "{quoted}" LIMIT {most + 1}').fetchall()
    return names, [list(column) for column in zip(*rows[:most], strict=True)], len(rows) > most


def cell_texts(cells: Sequence[object]) -> list[str]:
    """The cells of a column as texts; what is missing is empty. Whole numbers that are floats, for a cell is
    missing, and days with a time of day that says nothing are written as what they are."""
    texts = [_cell_text(cell) for cell in cells]
    for kind, end in ((float, ".0"), (datetime, " 00:00:00")):
        pairs = [(cell, text) for cell, text in zip(cells, texts, strict=True) if text]
        if all(isinstance(cell, kind) and text.endswith(end) for cell, text in pairs):
            texts = [text.removesuffix(end) for text in texts]
    return texts


def _cell_text(cell: object) -> str:
    if cell is None or type(cell).__name__ in _GAPS or (isinstance(cell, float) and cell != cell):
        return ""
    if isinstance(cell, bytes):
        return f"<{len(cell):,} bytes>" if cell else ""
    return " ".join(str(cell).splitlines())


def _told_apart(names: Sequence[str]) -> list[str]:
    seen: Counter[str] = Counter()
    apart = []
    for place, name in enumerate(names, 1):
        name = " ".join(name.split()) or f"column {place}"
        seen[name] += 1
        apart.append(name if seen[name] == 1 else f"{name}.{seen[name]}")
    return apart


def join_tables(parts: Sequence[TablePart], kind: str) -> tuple[list[str], list[str]]:
    """All rows, and the names of their fields. A row names the fields of its own table alone, and has
    places for those of all."""
    if len(parts) == 1:
        _, names, rows = parts[0]
        return [Row.of(names, row) for row in rows], names
    every = list(dict.fromkeys(name for _, names, _ in parts for name in names))
    label = kind
    while label in every:
        label += "_"
    every = [label, *every][: MOST_NAMES + 1] if parts else []
    joined: list[str] = []
    for table, names, rows in parts:
        own = [label, *names] if table else names
        for cells in rows:
            row = Row.of(own, [table, *cells] if table else cells)
            held = dict(zip(names, cells, strict=False))
            row.fields = [table, *(held.get(name, "") for name in every[1:])]
            joined.append(row)
    return joined, every
