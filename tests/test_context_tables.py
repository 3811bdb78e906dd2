"""What the model is told of tables, arrays and objects: right, of constant size, and nothing is copied."""

from __future__ import annotations

import dataclasses
import datetime as dt
import pickle
import resource
import time
from collections import namedtuple

import numpy
import pandas
import polars
import pyarrow
import pydantic
import pytest

from unspool.contexts import describe
from unspool.contexts.identity import context_hash


def _pandas(rows: int = 1_000) -> pandas.DataFrame:
    return pandas.DataFrame(
        {
            "user": numpy.arange(rows),
            "amount": [1.5, None] * (rows // 2),
            "name": ["Änn\n" + "x" * 500, None] * (rows // 2),
            "when": pandas.to_datetime(["2020-01-01", None] * (rows // 2)),
        }
    )


TABLES = {
    "pandas": _pandas(),
    "polars": polars.from_pandas(_pandas()),
    "pyarrow": pyarrow.Table.from_pandas(_pandas()),
    "batch": pyarrow.Table.from_pandas(_pandas()).to_batches()[0],
}


@pytest.mark.parametrize("name", TABLES)
def test_a_table_tells_shape_types_nulls_and_five_rows(name: str) -> None:
    told = describe(TABLES[name])
    assert "1,000 rows × 4 columns" in told
    assert [line.split(", ")[-1] for line in told.split("\n") if line.startswith("- ")][1:] == [
        "500 missing"
    ] * 3
    rows = told.split("<data>\n")[1].split("\n</data>")[0].split("\n")
    assert rows[0] == "'user' | 'amount' | 'name' | 'when'"
    assert [row.split(" | ")[0] for row in rows[1:]] == ["0", "1", "2", "3", "4"]
    assert "2020-01-01" in rows[1]
    assert "Reach it with" in told
    assert len(told) < 1_500


WIDE = {
    "pandas": pandas.DataFrame({f"{'c' * 300}{i}": ["y" * 5_000] * 50 for i in range(1_000)}),
    "polars": polars.DataFrame({f"c{i}": ["y" * 5_000] * 50 for i in range(1_000)}),
    "pyarrow": pyarrow.table({f"c{i}": ["y" * 5_000] * 50 for i in range(1_000)}),
    "numpy": numpy.full((1_000, 1_000, 3), 1.0),
    "many levels": pandas.DataFrame(
        numpy.zeros((5, 1_000)), columns=pandas.MultiIndex.from_product([range(10), range(100)])
    ),
    "cells of lists": pandas.DataFrame({"a": [list(range(10_000))] * 3}),
    "no column": pandas.DataFrame(index=range(5)),
    "no row": pandas.DataFrame({"a": []}),
    "empty array": numpy.zeros((0, 5)),
    "scalar array": numpy.array(5.0),
    "series": pandas.Series(["z" * 10_000] * 10, name="n" * 1_000),
    "polars series": polars.Series("s", [[1, 2]] * 10),
    "objects": numpy.array([{"a": 1}, None], dtype=object),
}


@pytest.mark.parametrize("name", WIDE)
def test_any_width_is_told_in_constant_size(name: str) -> None:
    told = describe(WIDE[name])
    assert told.startswith("`context` is a ")
    assert len(told) < 2_500
    if name in ("pandas", "polars", "pyarrow"):
        assert "1,000 columns" in told
        assert "more; types of all: " in told


def test_a_large_frame_is_described_fast_and_is_not_copied() -> None:
    frame = pandas.DataFrame(numpy.random.default_rng(0).random((10_000_000, 10)))  # 800 MB
    frame.iloc[5, 3] = None
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    started = time.process_time()
    told = describe(frame)
    took = time.process_time() - started
    grown = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
    assert "- 3: float64, 1 missing" in told
    assert took < 2.0  # 0.1 s where nothing else runs
    assert grown < 100_000  # kilobytes


def test_what_takes_long_to_count_is_said_to_be_unknown() -> None:
    frame = pandas.DataFrame({f"o{i}": pandas.Series([None] * 300_000, dtype=object) for i in range(5)})
    told = describe(frame)
    assert "- 'o0': object, 300,000 missing" in told
    assert "- 'o4': object, missing not counted" in told


@dataclasses.dataclass
class User:
    name: str
    tags: list[str]


class Order(pydantic.BaseModel):
    id: int
    user: object


Pair = namedtuple("Pair", "left right")


def test_objects_are_told_by_field() -> None:
    told = describe(User("Ann", ["a", "b"]))
    assert "`context` is a dataclass, User, of 2 fields" in told
    assert "context.name = 'Ann'  # str, 3 characters, 1 line" in told
    assert "context.tags = ['a', 'b']  # list, 2 items" in told
    told = describe(Order(id=1, user=User("B" * 10_000, [])))
    assert "`context` is a pydantic model, Order" in told
    assert "context.user = " in told
    assert len(told) < 1_500
    assert "context.left = 1" in describe(Pair(1, 2))


def test_nested_dicts_show_their_keys_and_tables_their_shapes() -> None:
    told = describe({"users": {"Ann": {"age": 3}, "Bo": {}}, "t": _pandas(10), "n": 5, "o": User("x", [])})
    assert "- context['users']: dict, 2 entries: 'Ann', 'Bo'" in told
    assert "- context['t']: pandas DataFrame, 10 rows × 4 columns" in told
    assert "- context['n']: int, 5" in told
    assert "- context['o']: User (dataclass), fields name, tags" in told
    told = describe([{"id": 1, "text": "a"}] * 10)
    assert "The first has 2 keys: 'id', 'text'" in told


HASHED = {
    **TABLES,
    "numbers": numpy.arange(10.0),
    "F order": numpy.asfortranarray(numpy.arange(12.0).reshape(3, 4)),
    "dates": numpy.array(["2020-01-01"], "M8[D]"),
    "scalar": numpy.array(5),
    "categories": pandas.DataFrame({"c": pandas.Categorical(["a", "b"])}),
    "series": pandas.Series([1, 2], index=["x", "y"]),
    "polars series": polars.Series("s", [1, None]),
    "nested": {"a": [_pandas(4)], "b": dt.date(2020, 1, 1)},
}


@pytest.mark.parametrize("name", HASHED)
def test_the_hash_is_of_the_content(name: str) -> None:
    value = HASHED[name]
    known = context_hash(value)
    assert known is not None
    assert context_hash(pickle.loads(pickle.dumps(value))) == known
    others = [context_hash(other) for key, other in HASHED.items() if key != name]
    assert known not in others


def test_a_change_of_one_cell_changes_the_hash() -> None:
    for frame in (_pandas(), _pandas().set_index("user")):
        other = frame.copy()
        other.iloc[7, 1 if "user" in other else 0] = 3.5
        assert context_hash(other) != context_hash(frame)
    array = numpy.arange(3_000_000)
    other = array.copy()
    other[-1] = 0
    assert context_hash(other) != context_hash(array)
    assert context_hash(array.reshape(3, -1)) != context_hash(array)
    assert context_hash(array[::2]) == context_hash(array[::2].copy())
    assert context_hash(pandas.DataFrame({"a": [{"b": 1}]})) is None
    assert context_hash(numpy.array([object()])) is None
