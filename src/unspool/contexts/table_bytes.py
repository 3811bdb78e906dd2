"""Tables and arrays as bytes, to tell whether one is the same as another.

Contract: :func:`table_parts` gives pieces that are equal for equal pandas, polars and Arrow tables and NumPy
arrays, in every process, and ``None`` for all else. A piece at a time is copied, never the whole. Raises
``TypeError`` where a cell has no bytes.

>>> table_parts("text") is None
True
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy
    import pandas
    import polars
    import pyarrow

_CELLS = 1 << 20

Parts = Iterator[bytes | memoryview]


def table_parts(value: object) -> Parts | None:
    """See the module docstring."""
    library = type(value).__module__.partition(".")[0]
    module = sys.modules.get(library)
    if module is None:
        return None
    if library == "numpy" and isinstance(value, module.ndarray):
        return _array(value)
    if library == "pandas" and isinstance(value, module.DataFrame | module.Series):
        return _pandas(value)
    if library == "polars" and isinstance(value, module.DataFrame | module.Series):
        return _polars(value)
    if library == "pyarrow" and isinstance(value, module.Table | module.RecordBatch):
        return _arrow(value)
    return None


def _array(value: numpy.ndarray) -> Parts:
    if value.dtype.hasobject:
        raise TypeError("objects have no bytes")
    yield repr((str(value.dtype.descr), value.shape)).encode()
    step = max(1, _CELLS * len(value) // max(1, value.size)) if value.ndim else 1
    rows = value if value.ndim else value.reshape(1)
    for at in range(0, len(rows) if value.size else 0, step):
        part = rows[at : at + step]
        yield part.reshape(-1).view("u1").data if part.flags.c_contiguous else part.tobytes()


def _pandas(value: pandas.DataFrame | pandas.Series) -> Parts:
    hashed = sys.modules["pandas"].util.hash_pandas_object
    frame = value if hasattr(value, "columns") else value.to_frame()
    yield repr([(str(column), str(dtype)) for column, dtype in frame.dtypes.items()]).encode()
    index = frame.index
    if type(index).__name__ == "RangeIndex":
        yield repr(index).encode()
    else:
        yield repr(list(index.names)).encode()
        yield memoryview(hashed(index).to_numpy()).cast("B")
    for place in range(frame.shape[1]):
        column = frame.iloc[:, place]
        if type(column.dtype).__module__.startswith("numpy") and column.dtype.kind in "iufb":
            yield from _array(column.to_numpy())
        else:
            yield memoryview(hashed(column, index=False).to_numpy()).cast("B")


def _polars(value: polars.DataFrame | polars.Series) -> Parts:
    frame = value if hasattr(value, "columns") else value.to_frame()
    yield str(frame.schema).encode()  # type: ignore[union-attr]
    try:
        table = frame.to_arrow()
    except Exception as error:  # columns of objects; an Arrow that is not installed
        raise TypeError(str(error)) from None
    yield from _arrow(table)


def _arrow(value: pyarrow.Table | pyarrow.RecordBatch) -> Parts:
    arrow = sys.modules["pyarrow"]
    yield str(value.schema).encode()
    table = value if isinstance(value, arrow.Table) else arrow.Table.from_batches([value])
    step = max(1, _CELLS // max(1, table.num_columns))
    for at in range(0, table.num_rows, step):  # cut evenly, however the table is
        sink = arrow.BufferOutputStream()
        with arrow.ipc.new_stream(sink, table.schema) as writer:
            writer.write_table(table.slice(at, step).combine_chunks())
        yield memoryview(sink.getvalue())
