"""DataFrames of pandas and polars as plain data and back: how a table leaves the sandbox.

Contract: :func:`told` gives a DataFrame as a dict of plain values (columns as bytes, as one long text or
as lists, each with its dtype), and any other value as it is; :func:`read` makes the DataFrame again. What is
read is hostile: nothing is unpickled, every size and dtype is checked, and what breaks a rule is a
``ValueError``. A dtype that has no plain form (period, interval, sparse, nested) arrives as objects. Nothing
but the standard library is imported with this file; the libraries are there where there are tables.

>>> told(3), is_told({"columns": []})
(3, False)
"""

from __future__ import annotations

import dataclasses
import sys
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, cast

from .columns import (
    WIDTHS,
    Column,
    Unit,
    plain_cells,
    read_numbers,
    read_texts,
    tell_numbers,
    tell_texts,
    unit,
    zone,
)  # fmt: skip

KEY = "unspool table"
MAX_COLUMNS = 10_000
MAX_CELLS = 200_000_000
MAX_TEXTS = 20_000_000  # cells that are texts: each is an object
MAX_DEPTH = 64
_MASKED = frozenset(
    [f"{sign}{width}" for sign in ("Int", "UInt") for width in (8, 16, 32, 64)]
    + ["Float32", "Float64", "boolean"]
)
_POLARS_TIMES = ("Date", "Datetime", "Duration", "Time")
_POLARS_TEXTS = ("String", "Categorical")
Told = Mapping[str, object]
Frame = Any  # a DataFrame of a library that need not be here
Series = Any  # one of its columns, or its index
Values = Any  # an array of numpy


def told(value: object, depth: int = 0) -> object:
    """The value with each DataFrame in it as plain data."""
    for library, tell in (("pandas", _tell_pandas), ("polars", _tell_polars)):
        kind = getattr(sys.modules.get(library), "DataFrame", None)
        if kind is not None and isinstance(value, kind):
            return tell(value)
    if depth >= MAX_DEPTH:
        return value
    if type(value) is dict:
        return {key: told(item, depth + 1) for key, item in value.items()}
    if type(value) in (list, tuple):
        items = [told(item, depth + 1) for item in cast("Sequence[object]", value)]
        return tuple(items) if type(value) is tuple else items
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {f.name: told(getattr(value, f.name), depth + 1) for f in dataclasses.fields(value)}
    base = getattr(sys.modules.get("pydantic"), "BaseModel", None)
    if base is not None and isinstance(value, base):
        return {key: told(item, depth + 1) for key, item in cast("Iterable[tuple[str, object]]", value)}
    return value


def is_told(value: object) -> bool:
    """Whether this is what :func:`told` makes of a DataFrame."""
    return type(value) is dict and KEY in value


def holds(value: object, depth: int = 0) -> bool:
    """Whether there is a told DataFrame in it."""
    if is_told(value):
        return True
    if depth >= MAX_DEPTH or type(value) not in (dict, list, tuple):
        return False
    items = value.values() if isinstance(value, dict) else cast("Sequence[object]", value)
    return any(holds(item, depth + 1) for item in items)


def read_all(value: object, depth: int = 0) -> object:
    """The value with each table in it as a DataFrame again."""
    if is_told(value):
        return read(cast(Told, value))
    if depth >= MAX_DEPTH:
        return value
    if type(value) is dict:
        return {key: read_all(item, depth + 1) for key, item in value.items()}
    if type(value) in (list, tuple):
        items = [read_all(item, depth + 1) for item in cast("Sequence[object]", value)]
        return tuple(items) if type(value) is tuple else items
    return value


def read(value: Told) -> object:
    """The DataFrame. Raises ``ValueError`` for what breaks a rule or has no library here."""
    library = value.get(KEY)
    if library not in ("pandas", "polars"):
        raise ValueError(f"there are no tables of {str(library)[:40]!r}")
    rows, columns = value.get("rows"), value.get("columns")
    if type(rows) is not int or rows < 0 or type(columns) is not list:
        raise ValueError("a table is malformed")
    if len(columns) > MAX_COLUMNS or rows * max(1, len(columns)) > MAX_CELLS:
        raise ValueError(f"a table has more than {MAX_COLUMNS:,} columns or {MAX_CELLS:,} cells")
    _bound_texts(value)
    make = _read_pandas if library == "pandas" else _read_polars
    try:
        return make(value, rows, columns)
    except ValueError:
        raise
    except ImportError:
        raise ValueError(f"{library} is not installed here, so its DataFrame cannot be had") from None
    except Exception as error:  # the library's own, of any kind
        raise ValueError(f"a table cannot be read: {type(error).__name__}: {str(error)[:200]}") from None


def _bound_texts(value: Told) -> None:
    cells = 0
    columns = [value["columns"], *(_index_columns(value.get(name)) for name in ("index", "names"))]
    for column in [column for each in columns for column in cast("list[object]", each)]:
        while isinstance(column, dict):
            lengths = column.get("lengths")
            cells += len(lengths) // 4 if isinstance(lengths, bytes) else 0
            column = column.get("categories")
    if cells > MAX_TEXTS:
        raise ValueError(f"a table has more than {MAX_TEXTS:,} cells of text")


def _index_columns(index: object) -> list[object]:
    columns = index.get("columns") if isinstance(index, dict) else None
    return columns if isinstance(columns, list) else []


# pandas


def _tell_pandas(frame: Frame) -> Told:
    return {
        KEY: "pandas",
        "rows": len(frame),
        "columns": [_tell_series(frame.iloc[:, place]) for place in range(frame.shape[1])],
        "index": _tell_index(frame.index),
        "names": _tell_index(frame.columns),
    }


def _tell_index(index: Series) -> Column:
    if isinstance(index, sys.modules["pandas"].RangeIndex):
        return {"range": [index.start, index.stop, index.step], "names": [index.name]}
    levels = [index.get_level_values(place) for place in range(index.nlevels)]
    columns = [_tell_series(level.to_series()) for level in levels]
    return {"columns": columns, "names": list(index.names), "multi": index.nlevels > 1}


def _tell_series(series: Series) -> Column:
    types = sys.modules["pandas"].api.types
    dtype = series.dtype
    kind, name = getattr(dtype, "kind", "O"), str(dtype)
    if isinstance(dtype, types.CategoricalDtype):
        codes = tell_numbers(series.cat.codes.to_numpy())
        categories = _tell_series(series.cat.categories.to_series())
        count = len(series.cat.categories)
        return {"kind": "category", "codes": codes, "categories": categories, "count": count,
                "ordered": bool(dtype.ordered)}  # fmt: skip
    if name in _MASKED:
        plain = series.to_numpy(dtype=name.lower().replace("boolean", "bool"), na_value=0)
        gaps = series.isna().to_numpy()
        return {**tell_numbers(plain), "kind": "masked", "name": name, "missing": gaps.tobytes()}
    if not types.is_extension_array_dtype(dtype):
        if kind in WIDTHS and dtype.itemsize in WIDTHS[kind]:
            return tell_numbers(series.to_numpy())
        if kind in "mM":
            return _tell_times(series.to_numpy(), None)
    if hasattr(dtype, "tz") and hasattr(dtype, "unit"):
        return _tell_times(series.dt.tz_convert(None).to_numpy(), str(dtype.tz))
    cells = series.tolist()
    if types.is_string_dtype(dtype) or kind == "O":
        texts = tell_texts(cells)
        if texts is not None:
            return {**texts, "dtype": name if name in ("str", "string") else "object"}
    if kind != "f":
        cells = [None if gone else cell for cell, gone in zip(cells, series.isna(), strict=True)]
    return {"kind": "cells", "cells": cells}


def _tell_times(values: Values, zone: str | None) -> Column:
    unit = values.dtype.str.partition("[")[2].rstrip("]")
    span = values.dtype.kind == "m"
    return {"kind": "span" if span else "time", "unit": unit, "zone": zone,
            "data": values.astype(values.dtype.newbyteorder("<")).view("i8").tobytes()}  # fmt: skip


def _read_pandas(value: Told, rows: int, columns: list[object]) -> object:
    import pandas

    series = [_read_series(column, rows) for column in columns]
    frame = pandas.DataFrame(dict(enumerate(series)), index=range(rows))
    frame.index = _read_index(value.get("index"), rows)
    frame.columns = _read_index(value.get("names"), len(columns))
    return frame


def _read_index(told_index: object, rows: int) -> Series:
    import pandas

    if not isinstance(told_index, dict) or type(told_index.get("names")) is not list:
        raise ValueError("the index of a table is malformed")
    names = told_index["names"]
    if (span := told_index.get("range")) is not None:
        start, stop, step = span
        if any(type(part) is not int for part in span) or len(range(start, stop, step)) != rows:
            raise ValueError("the index of a table is malformed")
        return pandas.RangeIndex(start, stop, step, name=names[0])
    columns = told_index.get("columns")
    if type(columns) is not list or not 0 < len(columns) == len(names) <= 64:
        raise ValueError("the index of a table is malformed")
    levels = [_read_series(column, rows) for column in columns]
    if told_index.get("multi"):
        return pandas.MultiIndex.from_arrays(levels, names=names)
    return pandas.Index(levels[0], name=names[0])


def _read_series(column: object, rows: int) -> Series:
    import numpy
    import pandas

    if type(column) is not dict:
        raise ValueError("a column is malformed")
    match column.get("kind"):
        case "raw":
            return pandas.Series(read_numbers(column, rows))
        case "masked":
            name, missing = column.get("name"), column.get("missing")
            if name not in _MASKED or not isinstance(missing, bytes) or len(missing) != rows:
                raise ValueError("a column is malformed")
            gaps = numpy.frombuffer(missing, dtype="u1").astype(bool)
            return pandas.Series(read_numbers(column, rows)).astype(name).mask(gaps)
        case "time" | "span" as kind:
            values = read_numbers({"dtype": "<i8", "data": column.get("data")}, rows)
            series = pandas.Series(values.view(f"{'m' if kind == 'span' else 'M'}8[{unit(column)}]"))
            where = zone(column)
            return series if where is None else series.dt.tz_localize("UTC").dt.tz_convert(where)
        case "text":
            dtype = column.get("dtype")
            if dtype not in ("str", "string", "object"):
                raise ValueError(f"there is no column of dtype {str(dtype)[:40]!r}")
            cells = read_texts(column, rows, (None, float("nan"), pandas.NA))
            return pandas.Series(cells, dtype=dtype)
        case "category":
            count = column.get("count")
            if type(count) is not int or not 0 <= count <= max(rows, 1_000_000):
                raise ValueError("a column of categories is malformed")
            codes = read_numbers(cast(Column, column.get("codes")), rows)
            kinds = _read_series(column.get("categories"), count)
            made = pandas.Categorical.from_codes(codes, kinds, ordered=column.get("ordered") is True)
            return pandas.Series(made)
        case "cells":
            return pandas.Series(plain_cells(column, rows), dtype=object)
    raise ValueError("a column is malformed")


# polars


def _tell_polars(frame: Frame) -> Told:
    columns = [_tell_polars_series(series) for series in frame.get_columns()]
    return {KEY: "polars", "rows": frame.height, "columns": columns, "names": list(frame.columns)}


def _tell_polars_series(series: Series) -> Column:
    dtype = series.dtype
    name = type(dtype).__name__ if not isinstance(dtype, type) else dtype.__name__
    gaps = series.is_null().to_numpy().tobytes() if series.null_count() else None
    if name in _POLARS_TEXTS or name == "Enum":
        texts = tell_texts(series.cast(sys.modules["polars"].String).to_list())
        assert texts is not None
        return {**texts, "dtype": "Categorical" if name == "Enum" else name}
    if name in _POLARS_TIMES:
        physical = series.to_physical().fill_null(0).to_numpy()
        unit_of, zone_of = getattr(dtype, "time_unit", None), getattr(dtype, "time_zone", None)
        kept: Column = {"kind": "time", "name": name, "unit": unit_of, "zone": zone_of, "missing": gaps}
        return {**kept, **_numbers_of(physical)}
    if dtype.is_numeric() and not dtype.is_decimal() and name not in ("Int128", "UInt128", "Float16"):
        return {"kind": "raw", "name": name, "missing": gaps, **_numbers_of(series.fill_null(0).to_numpy())}
    if name == "Boolean":
        plain = series.fill_null(False).to_numpy()
        return {"kind": "raw", "name": name, "missing": gaps, **_numbers_of(plain)}
    return {"kind": "cells", "cells": series.to_list()}


def _numbers_of(values: Values) -> Column:
    told_numbers = tell_numbers(values)
    return {"dtype": told_numbers["dtype"], "data": told_numbers["data"]}


def _read_polars(value: Told, rows: int, columns: list[object]) -> object:
    import polars

    names = value.get("names")
    if type(names) is not list or any(type(name) is not str for name in names) or len(names) != len(columns):
        raise ValueError("the names of a table's columns are malformed")
    series = [
        _read_polars_series(column, str(name), rows) for column, name in zip(columns, names, strict=True)
    ]
    return polars.DataFrame(series)


def _read_polars_series(column: object, name: str, rows: int) -> Series:
    import numpy
    import polars

    if type(column) is not dict:
        raise ValueError("a column is malformed")
    kind, dtype = column.get("kind"), column.get("name") or column.get("dtype")
    if kind == "cells":
        return polars.Series(name, plain_cells(column, rows), strict=False)
    if kind == "text":
        if dtype not in _POLARS_TEXTS:
            raise ValueError(f"there is no column of dtype {str(dtype)[:40]!r}")
        return polars.Series(name, read_texts(column, rows, (None,) * 3), dtype=getattr(polars, str(dtype)))
    series = polars.Series(name, read_numbers(column, rows))
    missing = column.get("missing")
    if missing is not None:
        if not isinstance(missing, bytes) or len(missing) != rows:
            raise ValueError("a column is malformed")
        gaps = polars.Series(numpy.frombuffer(missing, dtype="u1").astype(bool))
        series = polars.select(polars.when(~gaps).then(series)).to_series().alias(name)
    if kind != "time":
        return series
    if dtype == "Datetime":
        return series.cast(polars.Datetime(cast(Unit, unit(column)), zone(column)))
    if dtype == "Duration":
        return series.cast(polars.Duration(cast(Unit, unit(column))))
    if dtype not in ("Date", "Time"):
        raise ValueError(f"there is no column of dtype {str(dtype)[:40]!r}")
    return series.cast(getattr(polars, str(dtype)))
