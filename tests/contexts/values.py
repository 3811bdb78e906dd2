"""Every kind of value in memory, tried in a real REPL.

``python -m tests.contexts.values`` tries them all and prints the table of ``docs/values.md``; a test compares.
"""

from __future__ import annotations

import collections
import dataclasses
import datetime as dt
import enum
from collections.abc import Callable
from decimal import Decimal

import numpy
import pandas
import polars
import pyarrow
import pydantic

from unspool import RLM, ContextError, Contexts
from unspool.testing import ScriptedModel

from ..engine.helpers import py


@dataclasses.dataclass
class User:
    name: str


class Order(pydantic.BaseModel):
    id: int


class Plain:
    def __init__(self) -> None:
        self.a = 1


class Color(enum.Enum):
    RED = 1


GIF = bytes.fromhex("47494638396102000300800000000000ffffff2c000000000200030000020384100500") + b";"
Pair = collections.namedtuple("Pair", "left right")


def _frame() -> pandas.DataFrame:
    return pandas.DataFrame({"n": [1, 2], "when": pandas.to_datetime(["2020-01-01", None])})


@dataclasses.dataclass(frozen=True)
class Kind:
    """``code`` submits what comes back on the host; it has to equal ``back``."""

    label: str
    value: Callable[[], object]
    code: str
    back: object
    note: str = ""


KINDS = (
    Kind("`str`, large ones by mapping", lambda: "a\r\nb", "context", "a\r\nb"),
    Kind("`bytes`, `bytearray`", lambda: b"\0a", "context", b"\0a"),
    Kind("list, tuple, set, frozenset", lambda: [(1, {2}), frozenset([3])], "context", [(1, {2}), frozenset([3])]),
    Kind("dict, keys of any kind", lambda: {1: "a", (2,): None}, "context", {1: "a", (2,): None}),
    Kind("datetime, Decimal, inf, large int", lambda: [dt.date(2020, 1, 2), Decimal("1.10"), float("inf"), 10**40],
         "context", [dt.date(2020, 1, 2), Decimal("1.10"), float("inf"), 10**40]),
    Kind("dataclass", lambda: User("Ann"), "(context.name, dataclasses.asdict(context))", ("Ann", {"name": "Ann"}),
         "of `__main__` or a project: fields, no methods"),
    Kind("pydantic model", lambda: Order(id=3), "context.model_dump()", {"id": 3}, "the same"),
    Kind("Enum", lambda: [Color.RED], "[(c.name, c.value, len(type(c))) for c in context]", [("RED", 1, 1)],
         "the same, with all members"),
    Kind("named tuple", lambda: Pair(1, 2), "(context.left, context[1])", (1, 2)),
    Kind("any other object", Plain, "context.a", 1, "its attributes, no methods"),
    Kind("pandas DataFrame", _frame, "[str(t) for t in context.dtypes] + [context.when.isna().tolist()]",
         ["int64", str(_frame().when.dtype), [False, True]], "mapped; dtypes, index, NaT, categories kept"),
    Kind("pandas Series", lambda: _frame()["n"], "context.tolist()", [1, 2], "mapped"),
    Kind("polars DataFrame, Series", lambda: polars.DataFrame({"n": [1, None]}), "context['n'].to_list()", [1, None],
         "mapped, by way of Arrow; threads run then: no rollback of a crash"),
    Kind("Arrow Table, RecordBatch", lambda: pyarrow.table({"n": [1, None]}), "context['n'].to_pylist()", [1, None],
         "mapped"),
    Kind("NumPy array", lambda: numpy.arange(6).reshape(2, 3), "context.tolist()", [[0, 1, 2], [3, 4, 5]], "mapped"),
    Kind("several by name", lambda: Contexts(logs="text", users=_frame()),
         "[logs, len(users), context['logs'] is logs]", ["text", 2, True]),
    Kind("a generator", lambda: (n for n in range(3)), "", None),
    Kind("an image: PIL, bytes, `unspool.Image`", lambda: GIF, "(context.size, context.mode)", ((2, 3), "P"),
         "a PIL image where Pillow is installed, else its file"),
)  # fmt: skip


def tried(kind: Kind) -> str:
    """The row of the table."""
    model = ScriptedModel([py(f"import dataclasses\nprint(type(context).__name__)\nsubmit({kind.code})")])
    try:
        run = RLM(model, runs=False).run("?", kind.value())
    except ContextError as error:
        return f"| {kind.label} | – | refused | {_cell(str(error))} |"
    if run.status != "answered" and "context" in run.reason:
        return f"| {kind.label} | – | refused | {_cell(run.reason)} |"
    assert run.status == "answered", (kind.label, run.reason, run.trace)
    assert run.answer == kind.back, (kind.label, run.answer)
    name = run.trace.turns[0].cells[0].output.strip()
    told = run.trace.context
    assert len(told) < 4_000, kind.label
    assert "`context`" in told, kind.label
    return f"| {kind.label} | `{name}` | yes | {kind.note or '–'} |"


def _cell(text: str) -> str:
    at = text.find(" at 0x")
    return (text if at < 0 else text[:at]).replace("|", "/")


def table() -> str:
    head = "| a value | `context` is | described, read, round trip | |\n|---|---|---|---|"
    return "\n".join([head, *map(tried, KINDS)])


if __name__ == "__main__":
    print(table())
