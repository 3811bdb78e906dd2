"""Answers of a wanted type: each type there and back, near misses that are named, tables, resume."""

from __future__ import annotations

import dataclasses
import datetime as dt
import enum
import json
import subprocess
import sys
import time
from decimal import Decimal
from pathlib import Path
from typing import Any, Literal, NamedTuple, TypedDict

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import BaseModel

from unspool import RLM
from unspool.answers import AnswerType
from unspool.errors import ConfigError, HostCallError
from unspool.fitting import fit
from unspool.reach import dataframes
from unspool.sandbox._frames import FrameReader, pack
from unspool.schema import Schema
from unspool.testing import MemoryStore, ScriptedModel
from unspool.type_names import name_of, read_type

from .helpers import play, py, shown

IMPORTS = "import datetime as dt, decimal, enum, dataclasses\n"


class Colour(enum.Enum):
    RED = "red"
    BLUE = "blue"


@dataclasses.dataclass
class Point:
    x: int
    y: float = 0.5


class Person(BaseModel):
    name: str
    age: int
    born: dt.date | None = None


class Row(TypedDict, total=False):
    id: int
    label: str


class Pair(NamedTuple):
    word: str
    count: int


@pytest.mark.parametrize(
    ("wanted", "code", "answer"),
    [
        (int, "'42'", 42),
        (int, "42.0", 42),
        (float, "'3.5'", 3.5),
        (float, "3", 3.0),
        (bool, "'true'", True),
        (str, "42", "42"),
        (Literal["yes", "no"], "'yes'", "yes"),
        (int | None, "None", None),
        (int | str, "'a'", "a"),
        (list[int], "('1', 2)", [1, 2]),
        (list[str], "{'a'}", ["a"]),
        (set[int], "[1, 1]", {1}),
        (dict[str, list[int]], "{'a': (1,)}", {"a": [1]}),
        (tuple[float, str], "[1, 'a']", (1.0, "a")),
        (tuple[int, ...], "[1, 2, 3]", (1, 2, 3)),
        (Point, "{'x': '1'}", Point(1)),
        (list[Point], "[{'x': 1, 'y': 2}]", [Point(1, 2.0)]),
        (Person, "{'name': 'Ada', 'age': '36', 'born': '1815-12-10'}", Person(name="Ada", age=36, born=dt.date(1815, 12, 10))),
        (Row, "{'id': '1'}", {"id": 1}),
        (list[Row], "[{'label': 'a'}]", [{"label": "a"}]),
        (Pair, "('a', 2)", Pair("a", 2)),
        (Colour, "'red'", Colour.RED),
        (dt.date, "'2031-05-24'", dt.date(2031, 5, 24)),
        (dt.date, "dt.datetime(2031, 5, 24)", dt.date(2031, 5, 24)),
        (dt.datetime, "dt.datetime(2031, 5, 24, 3)", dt.datetime(2031, 5, 24, 3)),
        (dt.timedelta, "dt.timedelta(days=2)", dt.timedelta(days=2)),
        (Decimal, "decimal.Decimal('1.10')", Decimal("1.10")),
        (bytes, "b'\\x00\\xff'", b"\x00\xff"),
        ({"type": "integer"}, "'42'", 42),
        ({"type": "array", "items": {"type": "string"}}, "(1, 'a')", ["1", "a"]),
        ({"type": "string", "format": "date"}, "dt.date(2031, 5, 24)", "2031-05-24"),
        ({"type": ["integer", "null"]}, "None", None),
        (
            {"type": "object", "properties": {"n": {"$ref": "#/$defs/N"}}, "$defs": {"N": {"type": "number"}}},
            "{'n': '1.5'}",
            {"n": 1.5},
        ),
    ],
    ids=repr,
)  # fmt: skip
def test_every_type_there_and_back(wanted: object, code: str, answer: object) -> None:
    run, _ = play([py(f"{IMPORTS}print(1)\nsubmit({code})")], answer=wanted, max_turns=1)
    assert (run.status, run.answer) == ("answered", answer), run.trace.turns[0].cells
    assert type(run.answer) is type(answer)


def test_instances_of_classes_made_in_a_cell_are_taken() -> None:
    code = (
        f"{IMPORTS}class C(enum.Enum):\n    A = 'red'\n@dataclasses.dataclass\nclass P:\n    x: int\n    y: float\n"
        "print(1)\nsubmit({'c': C.A, 'p': P(1, 2)})"
    )

    class Both(BaseModel):
        c: Colour
        p: Point

    run, _ = play([py(code)], answer=Both)
    assert run.answer == Both(c=Colour.RED, p=Point(1, 2.0))


@pytest.mark.parametrize(
    ("wanted", "wrong", "words"),
    [
        (int, "'many'", ("a whole number", "'many'")),
        (Literal["yes", "no"], "'maybe'", ("'yes' or 'no'", "maybe")),
        (list[int], "[1, 'x', 3]", ("1: ", "a whole number", "'x'")),
        (tuple[float, str], "[1]", ("1: ", "is missing")),
        (Person, "{'name': 'Ada', 'age': 'old'}", ("age: ", "a whole number", "'old'")),
        (Person, "{'name': 'Ada'}", ("age: ", "is missing")),
        (list[Point], "[{'x': 1}, {'y': 2}]", ("1.x: ", "is missing")),
        (Row, "{'id': 'x'}", ("id: ", "a whole number")),
        (dict[str, int], "[1]", ("a dict", "list")),
        (Colour, "'green'", ("'red' or 'blue'",)),
        (dt.date, "'tomorrow'", ("date",)),
        (int, "None", ("empty",)),
        ({"type": "object", "required": ["n"], "properties": {"n": {"type": "integer"}}}, "{'n': 'x'}", ("n: expected integer",)),
        ({"type": "string", "format": "date"}, "'tomorrow'", ("expected a date",)),
    ],
    ids=repr,
)  # fmt: skip
def test_a_miss_tells_which_field_and_why_and_the_run_goes_on(
    wanted: object, wrong: str, words: tuple[str, ...]
) -> None:
    run, model = play(
        [py(f"print(1)\nsubmit({wrong})"), py("print('again')"), py("submit(None)")],
        answer=wanted,
        max_turns=3,
    )
    told = shown(model, 1)
    assert all(word in told for word in words), told
    assert run.turns == 3
    assert "again" in run.trace.turns[1].cells[0].output


def test_the_wanted_type_is_told_first_and_briefly_and_nothing_where_there_is_none() -> None:
    prompts = []
    for wanted in (None, int, list[str], Person):
        _, model = play([py("print(1)\nsubmit(None)")], answer=wanted, max_turns=1)
        prompts.append(model.requests[0].messages[-1].text)
    assert "The answer must be" not in prompts[0]
    assert "The answer must be: int\n" in prompts[1]
    assert "The answer must be: list[str]\n" in prompts[2]
    assert '"age": {"type": "integer"}' in prompts[3]
    assert '"title"' not in prompts[3]
    assert max(map(len, prompts)) - len(prompts[0]) < 500


@pytest.mark.parametrize(
    ("wanted", "words"),
    [
        (object(), "no type"),
        ("int", "is text"),
        ({"type": "int"}, "no type 'int'"),
        ({"age": int}, "no JSON schema"),
        ({"depth": 3}, "neither type nor properties"),
        (lambda x: x, "no type"),
        (list["NoSuch"], "no type"),  # type: ignore[name-defined]  # noqa: F821
    ],
)
def test_what_is_no_type_is_refused_before_money_is_spent(wanted: object, words: str) -> None:
    model = ScriptedModel([])
    with pytest.raises(ConfigError, match=words):
        RLM(model).run("q", "c", answer=wanted)
    assert model.requests == []


# Tables

TABLE = "import pandas as pd\nt = pd.DataFrame({'n': [1, 2], 's': ['a', None], 'd': pd.to_datetime(['2031-05-24', None])})\nprint(1)\n"


def test_a_table_is_wanted() -> None:
    pandas = pytest.importorskip("pandas")
    run, model = play([py(TABLE + "submit(t.set_index('n'))")], answer=pandas.DataFrame)
    wanted = pandas.DataFrame({"n": [1, 2], "s": ["a", None], "d": pandas.to_datetime(["2031-05-24", None])})
    pandas.testing.assert_frame_equal(run.answer, wanted.set_index("n"))
    assert "The answer must be: a pandas DataFrame" in model.requests[0].messages[-1].text


def test_tables_inside_other_types_and_made_from_records() -> None:
    pandas = pytest.importorskip("pandas")
    run, _ = play([py(TABLE + "submit(('1', t))")], answer=tuple[float, pandas.DataFrame])
    assert isinstance(run.answer, tuple)
    assert run.answer[0] == 1.0
    assert list(run.answer[1].columns) == ["n", "s", "d"]
    run, model = play(
        [py("print(1)\nsubmit([1, 2])"), py("submit([{'a': 1}, {'a': 2}])")], answer=pandas.DataFrame
    )
    assert "a pandas DataFrame is wanted, not list" in shown(model, 1)
    assert isinstance(run.answer, pandas.DataFrame)
    assert run.answer["a"].tolist() == [1, 2]


def test_a_polars_table_and_each_library_for_the_other() -> None:
    pandas, polars = pytest.importorskip("pandas"), pytest.importorskip("polars")
    code = "import polars as pl\nprint(1)\nsubmit(pl.DataFrame({'n': [1, None], 's': ['a', 'b']}))"
    run, _ = play([py(code)], answer=polars.DataFrame)
    assert isinstance(run.answer, polars.DataFrame)
    assert run.answer.equals(polars.DataFrame({"n": [1, None], "s": ["a", "b"]}))
    run, _ = play([py(code)], answer=pandas.DataFrame)
    assert isinstance(run.answer, pandas.DataFrame)
    assert run.answer["s"].tolist() == ["a", "b"]
    run, _ = play([py(TABLE + "submit(t[['n']])")], answer=polars.DataFrame)
    assert isinstance(run.answer, polars.DataFrame)
    assert run.answer["n"].to_list() == [1, 2]


def test_a_million_rows_arrive_in_seconds() -> None:
    pandas = pytest.importorskip("pandas")
    code = (
        "import numpy as np, pandas as pd\nn = 1_000_000\n"
        "t = pd.DataFrame({'i': np.arange(n), 'x': np.linspace(0, 1, n), 's': [f'name {i % 997}' for i in range(n)]})\n"
        "print(len(t))\nsubmit(t)"
    )
    started = time.monotonic()
    run, _ = play([py(code)], answer=pandas.DataFrame, runs=False)
    assert time.monotonic() - started < 60
    assert isinstance(run.answer, pandas.DataFrame)
    assert (len(run.answer), run.answer["i"].iloc[-1], run.answer["s"].iloc[1_000]) == (
        1_000_000,
        999_999,
        "name 3",
    )


def test_without_the_library_a_table_is_refused_in_words() -> None:
    code = (
        "import sys\nsys.modules['pandas'] = None\nfrom unspool.type_names import read_type\n"
        "from unspool.errors import ConfigError\n"
        "try: read_type('DataFrame')\nexcept ConfigError as error: print(error)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert "needs pandas: pip install 'unspool[data]'" in done.stdout


def test_without_a_wanted_table_nothing_changes() -> None:
    pytest.importorskip("pandas")
    rows = [{"n": 1, "s": "a"}, {"n": 2, "s": None}]
    for wanted in (None, list[dict[str, Any]], {"type": "array"}):
        run, _ = play([py(TABLE + "submit(t[['n', 's']])")], answer=wanted)
        assert run.answer == rows


def test_a_table_is_kept_with_its_run(tmp_path: Path) -> None:
    pandas = pytest.importorskip("pandas")
    code = "import pandas as pd\nprint(1)\nsubmit(pd.DataFrame({'n': range(5000), 's': ['é'] * 5000}))"
    engine = RLM(ScriptedModel([py(code)]), runs=tmp_path)
    run = engine.run("q", "c", answer=pandas.DataFrame)
    again = engine.resume(run.id, answer=pandas.DataFrame)
    pandas.testing.assert_frame_equal(again.answer, run.answer)
    assert isinstance(engine.resume(run.id).answer, pandas.DataFrame)
    assert (tmp_path / run.id / "events.jsonl").stat().st_size < 20_000


def frames() -> st.SearchStrategy[object]:
    """What :func:`dataframes.told` makes of small tables, and what an enemy makes of them."""
    pandas = pytest.importorskip("pandas")
    numbers = st.lists(st.integers(-9, 9), min_size=3, max_size=3)
    texts = st.lists(st.text(max_size=5) | st.none(), min_size=3, max_size=3)
    columns = st.dictionaries(st.text(max_size=3) | st.integers(0, 5), numbers | texts, max_size=4)
    return columns.map(lambda given: pandas.DataFrame(given, index=range(3)))


@settings(max_examples=60, deadline=None)
@given(st.data())
def test_any_small_table_there_and_back(data: st.DataObject) -> None:
    pandas = pytest.importorskip("pandas")
    table = data.draw(frames())
    reader = FrameReader()
    reader.feed(pack("call", [dataframes.told(table)]))
    frame = reader.next()
    assert frame is not None
    pandas.testing.assert_frame_equal(dataframes.read_all(frame.values[0]), table)


VALUES = (
    st.none()
    | st.booleans()
    | st.integers(-3, 300)
    | st.text(max_size=6)
    | st.binary(max_size=16)
    | st.just([0, 3, 1])
)


@settings(max_examples=300, deadline=None)
@given(st.data())
def test_a_hostile_table_is_refused_or_read_and_never_anything_else(data: st.DataObject) -> None:
    """One part of a sound table replaced by anything."""
    pandas = pytest.importorskip("pandas")
    table = pandas.DataFrame({"n": [1, 2], "s": ["a", None], "c": pandas.Categorical(["x", "y"])})
    table["t"] = pandas.to_datetime(["2031-05-24", None]).tz_localize("Europe/Berlin")
    told = dataframes.told(table)
    places: list[tuple[Any, Any]] = []

    def walk(part: object) -> None:
        pairs = part.items() if isinstance(part, dict) else enumerate(part) if isinstance(part, list) else ()
        for key, inner in pairs:
            places.append((part, key))
            walk(inner)

    walk(told)
    holder, key = data.draw(st.sampled_from(places))
    holder[key] = data.draw(VALUES)
    try:
        dataframes.read_all(told)
    except ValueError:
        return


@pytest.mark.parametrize("zone", ["dateutil//etc/hosts", "/etc/hosts", "../x", "tzlocal()"])
def test_a_time_zone_is_no_path(zone: str) -> None:
    pandas = pytest.importorskip("pandas")
    told: Any = dataframes.told(
        pandas.DataFrame({"t": pandas.to_datetime(["2031-05-24"]).tz_localize("UTC")})
    )
    told["columns"][0]["zone"] = zone
    with pytest.raises(ValueError, match="time zone"):
        dataframes.read_all(told)


def test_a_table_that_claims_too_much_is_refused() -> None:
    with pytest.raises(ValueError, match="more than"):
        dataframes.read_all({dataframes.KEY: "pandas", "rows": 10**9, "columns": [{}], "names": {}})


# Names of types

NAMES = st.recursive(
    st.sampled_from(["int", "float", "bool", "str", "date", "datetime", "Decimal", "Literal['a', 2, None]"]),
    lambda inner: st.one_of(
        inner.map("list[{}]".format),
        st.tuples(inner, inner).map(lambda p: f"dict[{p[0]}, {p[1]}]"),
        st.tuples(inner, inner).map(lambda p: f"tuple[{p[0]}, {p[1]}]"),
        inner.map("tuple[{}, ...]".format),
        inner.map("{} | None".format),
    ),
    max_leaves=5,
)


@settings(max_examples=100, deadline=None)
@given(NAMES)
def test_a_type_is_its_name(text: str) -> None:
    kind = read_type(text)
    name = name_of(kind)
    assert name is not None
    assert read_type(name) == kind
    assert AnswerType.kept_as(AnswerType(kind).kept).wanted == kind


@settings(deadline=None)
@given(st.text(max_size=40))
def test_any_other_text_is_refused_in_words(text: str) -> None:
    try:
        kind = read_type(text)
    except ConfigError:
        return
    assert name_of(kind) is not None


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=12,
)


@settings(deadline=None)
@given(JSON)
def test_what_fits_is_left_as_it_is(value: object) -> None:
    for schema in ({}, {"type": ["object", "array", "string", "number", "boolean", "null"]}):
        assert fit(Schema(schema), value) == value
        assert Schema(schema).check(fit(Schema(schema), value)) == value


# Values of a type, through the frames that a submitted value comes in

KINDS: st.SearchStrategy[tuple[object, st.SearchStrategy[object]]] = st.sampled_from(
    [
        (int, st.integers()),
        (float, st.floats(allow_nan=False)),
        (bool, st.booleans()),
        (str, st.text()),
        (bytes, st.binary()),
        (dt.date, st.dates()),
        (dt.datetime, st.datetimes()),
        (dt.timedelta, st.timedeltas()),
        (Decimal, st.decimals(allow_nan=False, allow_infinity=False)),
        (Literal["a", 2], st.sampled_from(["a", 2])),
        (Colour, st.sampled_from(Colour)),
        (Point, st.builds(Point, st.integers(), st.floats(allow_nan=False))),
        (Person, st.builds(Person, name=st.text(), age=st.integers(), born=st.none() | st.dates())),
        (Row, st.fixed_dictionaries({}, optional={"id": st.integers(), "label": st.text()})),
        (Pair, st.builds(Pair, st.text(), st.integers())),
    ]
)


def grown(inner: st.SearchStrategy[tuple[Any, Any]]) -> st.SearchStrategy[tuple[Any, Any]]:
    return st.one_of(
        inner.map(lambda kv: (list[kv[0]], st.lists(kv[1], max_size=4))),
        inner.map(lambda kv: (dict[str, kv[0]], st.dictionaries(st.text(), kv[1], max_size=4))),
        inner.map(lambda kv: (tuple[kv[0], int], st.tuples(kv[1], st.integers()))),
        inner.map(lambda kv: (kv[0] | None, st.none() | kv[1])),
    )


@settings(max_examples=150, deadline=None)
@given(st.data())
def test_any_value_of_a_type_is_what_was_submitted(data: st.DataObject) -> None:
    kind, values = data.draw(st.recursive(KINDS, grown, max_leaves=3))
    value = data.draw(values)
    reader = FrameReader()
    reader.feed(pack("call", [value]))
    frame = reader.next()
    assert frame is not None
    assert AnswerType(kind).check(frame.values[0]) == value


# Resume

LEFT = py("submit('37')")


def stopped(answer: object) -> tuple[MemoryStore, str]:
    """A run that ended without an answer, for want of turns."""
    store = MemoryStore()
    run = RLM(ScriptedModel([py("print(1)")]), max_turns=1, store=store).run("q", "c", answer=answer)
    assert run.status == "budget"
    return store, run.id


@pytest.mark.parametrize(
    ("wanted", "expected"),
    [(int, 37), (str, "37"), (list[int] | int, 37), ({"type": "integer"}, 37), (None, "37")],
)
def test_a_resumed_run_wants_the_same_type(wanted: object, expected: object) -> None:
    store, run = stopped(wanted)
    again = RLM(ScriptedModel([LEFT]), max_turns=3, store=store).resume(run, "c")
    assert (again.status, again.answer) == ("answered", expected)


def test_a_class_is_kept_as_what_json_says_of_it() -> None:
    store, run = stopped(Person)
    model = ScriptedModel([LEFT, py("submit({'name': 'Ada', 'age': '36'})")])
    again = RLM(model, max_turns=4, store=store).resume(run, "c")
    assert again.answer == {"name": "Ada", "age": 36}
    assert "expected object" in shown(model, 1)
    again = RLM(ScriptedModel([]), store=store).resume(run, "c", answer=Person)
    assert again.answer == Person(name="Ada", age=36)
    with pytest.raises(ConfigError, match="another type"):
        RLM(ScriptedModel([]), store=store).resume(run, "c", answer=int)


def test_a_type_that_cannot_be_kept_has_to_be_given_again() -> None:
    pandas = pytest.importorskip("pandas")

    class Result(BaseModel, arbitrary_types_allowed=True):
        table: pandas.DataFrame  # type: ignore[name-defined]

    store, run = stopped(Result)
    with pytest.raises(ConfigError, match="Result"):
        RLM(ScriptedModel([LEFT]), max_turns=3, store=store).resume(run, "c")
    reply = py("import pandas as pd\nsubmit({'table': pd.DataFrame({'a': [1]})})")
    again = RLM(ScriptedModel([reply]), max_turns=3, store=store).resume(run, "c", answer=Result)
    assert isinstance(again.answer, Result)
    assert again.answer.table["a"].tolist() == [1]


def test_a_child_with_a_schema_is_told_and_checked() -> None:
    root = ScriptedModel(
        lambda m: (
            py("r = rlm_query('How long?', 'abcd', schema=int)\nprint(r)\nsubmit(r)")
            if "top question" in m[-1].text
            else py("print(1)\nsubmit(str(len(context)))")
        )
    )
    assert RLM(root).run("top question", "c").answer == 4
    assert '"type": "integer"' in root.requests[1].messages[-1].text


def test_json_of_a_schema_that_is_no_mapping_is_refused() -> None:
    with pytest.raises(HostCallError):
        Schema.of(json.loads("[1]"))


@pytest.mark.parametrize(
    ("wanted", "value", "answer"),
    [
        (int, "1,030", 1030),
        (int, " -1,234,567 ", -1_234_567),
        (int, "1’030", 1030),
        (int, "1\u202f030", 1030),
        (float, "1,030.5", 1030.5),
        (float, "1,234,567", 1_234_567.0),
        (int | None, "1,030", 1030),
        (list[int], ["1,030", 7], [1030, 7]),
        (Point, {"x": "1,030"}, Point(1030)),
        (Person, {"name": "Ann", "age": "1,030"}, Person(name="Ann", age=1030)),
        ({"type": "integer"}, "1,030", 1030),
        (Literal["yes", "no"], "Yes", "yes"),
        (Literal["yes", "no"], ' "NO." ', "no"),
        (Literal["yes"], "Yes!"[:-1], "yes"),
        (Literal[1, 2], "2", 2),
        (Colour, "Red.", Colour.RED),
        (dict[str, Colour], {"a": "BLUE"}, {"a": Colour.BLUE}),
        ({"enum": ["yes", "no"]}, "Yes", "yes"),
    ],
)
def test_separators_of_thousands_and_the_spelling_of_options_are_mended(
    wanted: object, value: object, answer: object
) -> None:
    assert AnswerType(wanted).check(value) == answer


@pytest.mark.parametrize(
    ("wanted", "value"),
    [
        (int, "1,03"),
        (int, "0,030"),
        (int, "1030,5"),
        (int, "1.030"),
        (int, "1 030"),  # two numbers, as likely
        (int, "1,030 gates"),
        (int, "1,234'567"),
        (float, "1,030"),  # 1.03 in half of the world
        (Literal["yes", "no"], "yes or no"),
        (Literal["yes", "no"], "."),
        (Literal["Yes", "yes"], "YES"),
        (Colour, "reddish"),
    ],
)
def test_what_may_mean_two_things_is_refused(wanted: object, value: object) -> None:
    with pytest.raises(ValueError, match="value"):
        AnswerType(wanted).check(value)


def test_a_type_that_is_strict_stays_so() -> None:
    class Strict(BaseModel, strict=True):
        count: int

    with pytest.raises(ValueError, match="count"):
        AnswerType(Strict).check({"count": "1,030"})


def test_a_near_miss_costs_no_turn() -> None:
    run, _ = play([py("print(1)\nsubmit('1,030')")], answer=int)
    assert (run.answer, run.turns) == (1030, 1)
