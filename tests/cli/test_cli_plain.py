"""Any answer as JSON and as text."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date, datetime, time
from decimal import Decimal
from enum import Enum
from pathlib import PurePosixPath

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from pydantic import BaseModel

from unspool.cli.plain import as_json, as_text, plain


class Colour(Enum):
    RED = "red"


class Person(BaseModel):
    name: str
    born: date


@dataclass
class Point:
    x: int
    y: tuple[int, ...]


class Odd:
    def __repr__(self) -> str:
        return "<odd>"


@pytest.mark.parametrize(
    ("answer", "expected"),
    [
        (None, None),
        (0, 0),
        (False, False),
        ("", ""),
        (10**30, 10**30),
        (1.5, 1.5),
        (float("nan"), "nan"),
        (float("-inf"), "-inf"),
        ((1, (2, 3)), [1, [2, 3]]),
        ({3, 1, 2}, [1, 2, 3]),
        (frozenset({"a", 1}), ["a", 1]),
        ({1: "a", (2, 3): "b", None: "c"}, {"1": "a", "[2, 3]": "b", "null": "c"}),
        (b"caf\xc3\xa9 \xff", "café \\xff"),
        (Decimal("1.10"), "1.10"),
        (datetime(2026, 1, 2, 3, 4), "2026-01-02T03:04:00"),
        (time(5, 6), "05:06:00"),
        (Colour.RED, "red"),
        (Point(1, (2,)), {"x": 1, "y": [2]}),
        (Person(name="Ada", born=date(1815, 12, 10)), {"name": "Ada", "born": "1815-12-10"}),
        (PurePosixPath("/a/b"), "/a/b"),
        (Odd(), "<odd>"),
        (np.int64(3), 3),
        (np.array([[1, 2], [3, 4]]), [[1, 2], [3, 4]]),
        (pd.Series([1, 2]), [1, 2]),
        (pd.DataFrame({"a": [1, 2]}), [{"a": 1}, {"a": 2}]),
        (pl.DataFrame({"a": [1, 2]}), [{"a": 1}, {"a": 2}]),
        (pa.table({"a": [1, 2]}), [{"a": 1}, {"a": 2}]),
    ],
    ids=lambda value: type(value).__name__,
)
def test_every_kind_of_answer_is_plain_json(answer: object, expected: object) -> None:
    assert plain(answer) == expected
    assert json.loads(as_json(answer)) == expected


def test_json_survives_any_encoding_and_terminal() -> None:
    text = as_json("esc \x1b[2J c1 \x9b lone \ud800 rtl \u202e é 世")
    assert "é 世" in text
    assert text.encode("utf-8")
    assert not [c for c in text if ord(c) < 32 or 0x7F <= ord(c) < 0xA0 or c == "\u202e"]
    assert json.loads(text) == "esc \x1b[2J c1 \x9b lone \ud800 rtl \u202e é 世"


def answers() -> Iterator[tuple[object, str]]:
    yield "as it is\r\n", "as it is\r\n"
    yield None, ""
    yield 42, "42"
    yield True, "true"
    yield ["a", 1], '["a", 1]'
    yield {"k": {2}}, '{"k": [2]}'


@pytest.mark.parametrize(("answer", "text"), list(answers()))
def test_text_of_an_answer(answer: object, text: str) -> None:
    assert as_text(answer) == text
