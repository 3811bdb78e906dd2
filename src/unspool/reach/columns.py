"""The cells of a table's column as plain data and back: numbers as bytes, texts as one long text.

Contract: pure functions; what is read is hostile, and what breaks a rule is a ``ValueError``. A column is a
dict whose ``kind`` says what else is in it. See :mod:`unspool.reach.dataframes`.

>>> column = tell_texts(["a", None, "bc"])
>>> column["text"], read_texts(column, 3, (None, None, None))
('abc', ['a', None, 'bc'])
"""

from __future__ import annotations

import re
import sys
from array import array
from collections.abc import Sequence
from typing import Any, Literal, Protocol, cast

Column = dict[str, object]
Values = Any  # an array of numpy, which need not be here
Unit = Literal["ms", "us", "ns"]

WIDTHS = {"i": (1, 2, 4, 8), "u": (1, 2, 4, 8), "f": (2, 4, 8), "b": (1,), "c": (8, 16)}
UNITS = ("s", "ms", "us", "ns")
ZONE = re.compile(r"UTC[+-]\d\d:\d\d|[A-Za-z][\w+-]{0,40}(/[A-Za-z][\w+-]{0,40}){0,3}", re.ASCII)


class Array(Protocol):
    """What is used of a numpy array."""

    dtype: Any

    def tobytes(self) -> bytes: ...


def tell_texts(cells: Sequence[object]) -> Column | None:
    """Texts and what is missing among them; ``None`` where there is anything else."""
    missing = bytearray()
    texts: list[str] = []
    for cell in cells:
        if type(cell) is str:
            missing.append(0)
            texts.append(cell)
        elif cell is None or (type(cell) is float and cell != cell):
            missing.append(1 if cell is None else 2)
            texts.append("")
        elif str(cell) == "<NA>":
            missing.append(3)
            texts.append("")
        else:
            return None
    lengths = array("I", map(len, texts))
    if sys.byteorder == "big":
        lengths.byteswap()
    gaps = bytes(missing) if any(missing) else None
    return {"kind": "text", "lengths": lengths.tobytes(), "text": "".join(texts), "missing": gaps}


def read_texts(column: Column, rows: int, gaps: Sequence[object]) -> list[object]:
    lengths, text, missing = column.get("lengths"), column.get("text"), column.get("missing")
    if not isinstance(lengths, bytes) or len(lengths) != 4 * rows or type(text) is not str:
        raise ValueError("a column of texts is malformed")
    sizes = array("I", lengths)
    if sys.byteorder == "big":
        sizes.byteswap()
    if sum(sizes) != len(text):
        raise ValueError("a column of texts is malformed")
    cells: list[object] = []
    at = 0
    for size in sizes:
        cells.append(text[at : at + size])
        at += size
    if missing is not None:
        if not isinstance(missing, bytes) or len(missing) != rows or max(missing, default=0) > 3:
            raise ValueError("a column of texts is malformed")
        cells = [gaps[gap - 1] if gap else cell for cell, gap in zip(cells, missing, strict=True)]
    return cells


def tell_numbers(values: Array) -> Column:
    return {"kind": "raw", "dtype": values.dtype.str.replace(">", "<"), "data": little(values).tobytes()}


def little(values: Array) -> Array:
    swapped = values.dtype.newbyteorder("<")
    return values if values.dtype == swapped else cast(Array, cast(Any, values).astype(swapped))


def read_numbers(column: Column, rows: int) -> Values:
    import numpy

    name, data = column.get("dtype"), column.get("data")
    kind = name[1:2] if type(name) is str else ""
    width = int(name[2:]) if type(name) is str and name[2:].isdigit() and len(name) < 6 else 0
    if type(name) is not str or name[0] not in "<|" or width not in WIDTHS.get(kind, ()):
        raise ValueError(f"there is no column of dtype {str(name)[:40]!r}")
    if not isinstance(data, bytes) or len(data) != rows * width:
        raise ValueError("a column is malformed")
    values = numpy.frombuffer(data, dtype=name)
    if kind == "b" and rows and int(values.view("u1").max()) > 1:
        raise ValueError("a column of booleans is malformed")
    return values.astype(values.dtype.newbyteorder("="))


def plain_cells(column: Column, rows: int) -> list[object]:
    cells = column.get("cells")
    if type(cells) is not list or len(cells) != rows:
        raise ValueError("a column is malformed")
    return cells


def unit(column: Column) -> str:
    unit = column.get("unit")
    if unit not in UNITS:
        raise ValueError(f"there is no unit of time {str(unit)[:20]!r}")
    return str(unit)


def zone(column: Column) -> str | None:
    """A name of a time zone: pandas would take the path of a file, too."""
    zone = column.get("zone")
    if zone is not None and (type(zone) is not str or not ZONE.fullmatch(zone) or "dateutil" in zone):
        raise ValueError(f"there is no time zone {str(zone)[:40]!r}")
    return zone
