"""Plain data, objects, tables and arrays as contexts: each arrives as itself, the large ones by mapping."""

from __future__ import annotations

import asyncio
import collections
import dataclasses
import datetime as dt
import decimal
import enum
import json
import math
import os
import subprocess
import sys
import textwrap
import time
from collections.abc import Mapping
from pathlib import Path

import numpy
import pandas
import polars
import pyarrow
import pydantic
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from unspool import RLM
from unspool.errors import ContextError
from unspool.sandbox._handover import hand_over
from unspool.sandbox.process import ProcessSandbox
from unspool.sandbox.protocol import ReplSpec
from unspool.testing import ScriptedModel

from .conftest import Host, Opener

hashable = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**200), 2**200)
    | st.floats(allow_nan=False)
    | st.text(st.characters(codec=None, exclude_categories=()))
    | st.binary()
    | st.dates()
    | st.datetimes(timezones=st.none() | st.just(dt.UTC))
    | st.times()
    | st.timedeltas()
    | st.decimals(allow_nan=False),
    lambda inner: st.tuples(inner, inner) | st.frozensets(inner, max_size=3),
    max_leaves=6,
)
plain = st.recursive(
    hashable | st.just(math.nan) | st.just(decimal.Decimal("NaN")) | st.builds(bytearray, st.binary()),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(hashable, inner, max_size=4)
        | st.sets(hashable, max_size=4)
        | st.tuples(inner, inner)
    ),
    max_leaves=12,
)

# Says in one text what a value is, down to the types: run on both sides.
SPELL = """
def spell(value):
    kind = type(value).__name__
    if isinstance(value, dict):
        return [kind, [[spell(k), spell(v)] for k, v in value.items()]]
    if isinstance(value, (list, tuple)):
        return [kind, [spell(item) for item in value]]
    if isinstance(value, (set, frozenset)):
        return [kind, sorted((spell(item) for item in value), key=repr)]
    if isinstance(value, str):
        return [kind, ascii(value)]
    return [kind, repr(value), getattr(value, "fold", 0)]
"""
exec(SPELL)


@given(st.lists(plain, min_size=1, max_size=12))
@settings(
    max_examples=25, deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large]
)
def test_plain_data_arrives_as_itself(sandboxes: Mapping[str, ProcessSandbox], values: list[object]) -> None:
    async def there() -> object:
        host = Host()
        repl = await sandboxes["process"].open(ReplSpec(values), host)
        result = await repl.execute(f"import json\n{SPELL}\nsubmit(json.dumps(spell(context)))", seconds=20)
        await repl.close()
        assert result.outcome == "submitted", result
        return host.named("submit")[0].args[0]

    assert asyncio.run(there()) == json.dumps(spell(values))  # type: ignore[name-defined]  # noqa: F821


# Objects of classes that the sandbox cannot import: this module is not there


@dataclasses.dataclass
class User:
    name: str
    age: int = 3
    tags: list[str] = dataclasses.field(default_factory=list)


@dataclasses.dataclass(frozen=True, slots=True, order=True)
class Point:
    x: int
    y: int


class Color(enum.Enum):
    RED = "r"
    BLUE = "b"
    ALSO_RED = "r"  # noqa: PIE796 (an alias)


class Level(enum.IntEnum):
    LOW = 1


class Mode(str, enum.Enum):  # noqa: UP042 (people have them)
    FAST = "fast"


class May(enum.Flag):
    READ = 1
    WRITE = 2


class Line(pydantic.BaseModel):
    id: int
    price: decimal.Decimal
    model_config = pydantic.ConfigDict(frozen=True)


class Order(pydantic.BaseModel):
    lines: list[Line]
    note: str | None = None
    _seen: int = pydantic.PrivateAttr(5)


Pair = collections.namedtuple("Pair", "left right")


class Plain:
    def __init__(self) -> None:
        self.a = 1
        self.me = self


class Slotted:
    __slots__ = ("a",)

    def __init__(self) -> None:
        self.a = [1]


class Bag(dict[str, int]):
    def __reduce__(self) -> object:  # its own way, which the sandbox has not
        return _bag, (dict(self), vars(self))


def _bag(items: dict[str, int], fields: dict[str, object]) -> Bag:
    bag = Bag(items)
    bag.__dict__.update(fields)
    return bag


@dataclasses.dataclass
class Noted(dict[str, int]):
    note: str = "n"


def _noted() -> Noted:
    noted = Noted("m")
    noted["a"] = 1
    return noted


class Broken(ValueError):
    pass


OBJECTS = {
    "dataclass": (User("Ann", tags=["a"]), "context, context.name, dataclasses.asdict(context)['tags']",
                  "(User(name='Ann', age=3, tags=['a']), 'Ann', ['a'])"),
    "frozen, slots": ({Point(2, 1), Point(1, 2)}, "sorted(context)", "[Point(x=1, y=2), Point(x=2, y=1)]"),
    "two of a class": ([User("a"), User("b")], "type(context[0]) is type(context[1]), [u.name for u in context]",
                       "(True, ['a', 'b'])"),
    "enum": ([Color.BLUE, Color.ALSO_RED, Color], "context[0].value, context[1].name, len(context[2]), context[1] is context[2].RED",
             "('b', 'RED', 2, True)"),
    "int enum": ({Level.LOW: 1}, "context[1], [k.name for k in context]", "(1, ['LOW'])"),
    "str enum": ([Mode.FAST], "context[0] == 'fast', context[0].name", "(True, 'FAST')"),
    "flag": ([May.READ | May.WRITE], "context[0].value, context[0].name", "(3, 'READ|WRITE')"),
    "pydantic": (Order(lines=[Line(id=1, price=decimal.Decimal("1.5"))]),
                 "context.lines[0].price, context.model_dump(exclude_unset=True), context._seen",
                 "(Decimal('1.5'), {'lines': [{'id': 1, 'price': Decimal('1.5')}]}, 5)"),
    "named tuple": ([Pair(1, "x")], "context[0].right, context", "('x', [Pair(left=1, right='x')])"),
    "plain object": (Plain(), "context.a, context.me is context, type(context).__name__", "(1, True, 'Plain')"),
    "slots": (Slotted(), "context", "Slotted(a=[1])"),
    "dict with a way of its own": (Bag(x=1), "dict(context), isinstance(context, dict)", "({'x': 1}, True)"),
    "dict with fields": (_noted(), "dict(context), context.note", "({'a': 1}, 'm')"),
    "exception": (Broken("no", 3), "context.args, isinstance(context, ValueError)", "(('no', 3), True)"),
}  # fmt: skip


@pytest.mark.parametrize("name", OBJECTS)
async def test_objects_of_unknown_classes_keep_their_fields(open_repl: Opener, name: str) -> None:
    value, code, shown = OBJECTS[name]
    repl = await open_repl(value)
    assert await repl.show(f"import dataclasses\n{code}") == shown


def test_a_class_defined_in_main_is_no_obstacle(tmp_path: Path) -> None:
    script = tmp_path / "ask.py"
    script.write_text(
        textwrap.dedent("""
        from dataclasses import dataclass
        from enum import Enum
        import pydantic
        from unspool import RLM
        from unspool.testing import ScriptedModel

        class Kind(Enum):
            GOOD = 1

        @dataclass
        class Row:
            kind: Kind
            size: int

        class Table(pydantic.BaseModel):
            rows: list[Row]

        def local():
            @dataclass
            class Inner:
                n: int
            return Inner(4)

        code = "print(1)\\nsubmit([r.kind.name for r in context[0].rows] + [context[1].n])"
        model = ScriptedModel([f"```python\\n{code}\\n```"])
        with RLM(model, runs=False) as rlm:
            run = rlm.run("?", [Table(rows=[Row(Kind.GOOD, 2)]), local()])
        print(run.status, run.answer)
        """)
    )
    done = subprocess.run([sys.executable, script], capture_output=True, text=True, timeout=120)
    assert done.stdout == "answered ['GOOD', 4]\n", done


async def test_what_cannot_go_is_one_clear_error(open_repl: Opener) -> None:
    with pytest.raises(ContextError, match="pass text or plain data"):
        await open_repl([lambda: 1])
    with pytest.raises(ContextError, match=r"test_values_in\._bag, which cannot be imported in the sandbox"):
        await open_repl([_bag])


# Tables and arrays


def _frame() -> pandas.DataFrame:
    return pandas.DataFrame(
        {
            "int": numpy.array([1, 2, 3], "int8"),
            "float": [1.5, None, -0.0],
            "text": ["a", None, "ö\n"],
            "object": pandas.Series(["a", 2, (3,)], dtype=object),
            "time": pandas.to_datetime(["2020-01-01", None, "2021-01-01"]).tz_localize("Europe/Berlin"),
            "delta": pandas.to_timedelta([1, None, 3], unit="s"),
            "category": pandas.Categorical(["x", "y", "x"], categories=["y", "x", "z"], ordered=True),
            "maybe": pandas.array([1, None, 3], dtype="Int64"),
            "bool": [True, False, True],
            "period": pandas.period_range("2020-01", periods=3, freq="M"),
        },
        index=pandas.MultiIndex.from_tuples([("r", 1), ("r", 2), ("s", 1)], names=["row", None]),
    )


async def test_a_pandas_frame_keeps_everything(open_repl: Opener) -> None:
    frame = _frame()
    repl = await open_repl(frame)
    told = (
        "{c: str(t) for c, t in frame.dtypes.items()}, frame.isna().sum().tolist(), list(frame.index), "
        "list(frame.index.names), [repr(v) for v in frame.itertuples()], list(frame['category'].cat.categories)"
    )
    assert await repl.show(told.replace("frame", "context")) == repr(eval(told))


@pytest.mark.parametrize("rows", [3, 100_000])
async def test_a_change_to_a_frame_stays(open_repl: Opener, rows: int) -> None:
    frame = pandas.DataFrame({"a": numpy.arange(rows), "b": numpy.arange(rows) / 2})
    repl = await open_repl(frame)
    await repl.show("context.loc[1, 'a'] = 77\ncontext['new'] = context.a * 2\ncontext.iloc[0, 1] = 9.5")
    assert await repl.show("int(context.a[1]), int(context.new[1]), float(context.b[0])") == "(77, 154, 9.5)"
    assert (await repl.run("context.loc[2, 'a'] = 5\nimport os; os._exit(1)")).outcome == "rolled_back"
    assert await repl.show("int(context.a[2])") == "2"
    assert frame.a[1] == 1  # the caller's is another


async def test_a_polars_frame_keeps_its_types(open_repl: Opener) -> None:
    frame = polars.DataFrame(
        {
            "n": [1, None, 3],
            "s": ["a long enough text, longer than twelve bytes", "b", None],
            "c": polars.Series(["u", "v", "u"], dtype=polars.Categorical),
            "e": polars.Series(["u", "v", "u"], dtype=polars.Enum(["v", "u"])),
            "t": polars.Series([dt.datetime(2020, 1, 1)] * 3).dt.replace_time_zone("Europe/Berlin"),
            "l": [[1, 2], [], None],
            "st": [{"a": 1, "b": "x"}] * 3,
            "big": polars.Series([1, 2, 3], dtype=polars.Int128),
        }
    )
    for value in (frame, frame.drop("big")):
        repl = await open_repl(value)
        shown = await repl.show("type(context).__module__.split('.')[0], str(context.schema), context.rows()")
        assert shown == repr(("polars", str(value.schema), value.rows()))
    repl = await open_repl({"series": frame["s"]})
    assert await repl.show("context['series'].to_list(), context['series'].name") == repr(
        (frame["s"].to_list(), "s")
    )


async def test_a_column_of_texts_in_chunks_arrives_as_it_lies_in_memory(open_repl: Opener) -> None:
    chunks = [pyarrow.array([f"né {i} of part {part}", None, ""] * 9_000) for part, i in enumerate("abc")]
    frame = pyarrow.table({"t": pyarrow.chunked_array(chunks), "n": range(81_000)}).to_pandas()
    assert frame["t"].array._pa_array.num_chunks == 3
    handed = hand_over(frame)
    assert handed.size >= sum(chunk.nbytes for chunk in chunks)  # all of it is mapped
    handed.close()
    repl = await open_repl(frame)
    told = "[len(t), int(t.isna().sum()), t.iloc[27_000], t.iloc[-3], str(t.dtype), float(t.str.len().max())]"
    assert await repl.show(f"t = context['t']\n{told}") == repr(eval(told, {"t": frame["t"]}))
    assert (
        await repl.show("t.iloc[0] = 'other'\nt.iloc[0], t.array._pa_array.num_chunks > 0")
        == "('other', True)"
    )
    assert frame["t"].iloc[0] == "né a of part 0"


def test_a_slice_of_a_large_column_does_not_take_all_of_it_along() -> None:
    whole = pyarrow.chunked_array([pyarrow.array([f"text number {i}" for i in range(50_000)])] * 4)
    part = pyarrow.table({"t": whole}).slice(49_990, 50_020).to_pandas()  # three chunks, two of them slices
    assert part["t"].array._pa_array.num_chunks == 3
    handed = hand_over(part)
    try:
        assert os.fstat(handed.fd).st_size < 2 * 50_020 * 25
    finally:
        handed.close()


async def test_arrow_tables_and_arrays_arrive(open_repl: Opener) -> None:
    table = pyarrow.table(
        {"a": pyarrow.array([1, None], pyarrow.int16()), "s": pyarrow.array(["x", "y"]).dictionary_encode()},
        metadata={"k": "v"},
    )
    value = {"table": table, "batch": table.to_batches()[0], "array": table["a"]}
    repl = await open_repl(value)
    told = "[type(v).__name__ for v in value.values()], str(value['table'].schema), value['table'].to_pylist(), value['batch'].to_pylist(), value['array'].to_pylist()"
    assert await repl.show(told.replace("value[", "context[").replace("value.", "context.")) == repr(
        eval(told)
    )


ARRAYS = {
    "C order": numpy.arange(60_000.0).reshape(200, 300),
    "F order": numpy.asfortranarray(numpy.arange(60_000).reshape(200, 300)),
    "strided": numpy.arange(60_000)[::3],
    "big endian": numpy.arange(50_000, dtype=">i4"),
    "dates": numpy.arange("2020-01-01", "2020-03-01", dtype="M8[D]"),
    "texts": numpy.array(["a", "ö"]),
    "records": numpy.zeros(9_000, dtype=[("a", "i4"), ("b", "f8")]),
    "empty": numpy.zeros((0, 3)),
}


@pytest.mark.parametrize("name", ARRAYS)
async def test_arrays_arrive_and_can_be_written_to(open_repl: Opener, name: str) -> None:
    array = ARRAYS[name]
    repl = await open_repl(array)
    told = "str(a.dtype), a.shape, a.flags.writeable, a.tobytes()[:50], a.tobytes()[-50:]"
    assert await repl.show(f"a = context\n{told}") == repr(eval(told, {"a": array}))
    if array.size:
        await repl.show("context[0] = context[-1]")
        assert await repl.show("context[0].tolist() == context[-1].tolist()") == "True"


async def test_large_values_are_mapped_and_not_copied(open_repl: Opener) -> None:
    """64 MB of numbers and of text, in REPLs that could not hold a copy."""
    array = numpy.arange(8_000_000)
    repl = await open_repl(array, memory=48 << 20)
    assert await repl.show("int(context.sum())") == str(int(array.sum()))
    result = await repl.run("x = context * 2")
    assert result.error is not None
    assert "Memory" in result.error.type
    texts = {"a": "a" * 64_000_000, "ö": "ö" * 3_000_000 + "\ud83d", "low": "s"}
    repl = await open_repl(texts, memory=48 << 20)
    shown = await repl.show("[(k, len(v), type(v) is str, v[-1]) for k, v in context.items()]")
    assert shown == repr([(k, len(v), True, v[-1]) for k, v in texts.items()])
    assert (
        await repl.show("{v: k for k, v in context.items()}['s'], context['ö'].count('ö')")
        == "('low', 3000000)"
    )


async def test_a_mapped_array_is_no_way_past_the_memory_limit(open_repl: Opener) -> None:
    repl = await open_repl(numpy.arange(4_000_000), memory=64 << 20)
    result = await repl.run("hog = [bytearray(10**6) for _ in range(400)]")
    assert result.outcome == "rolled_back" or (result.error is not None and "Memory" in result.error.type)
    assert await repl.show("int(context[-1])") == "3999999"


@pytest.mark.parametrize("kind", ["process", "none", "landlock"])
async def test_mapping_works_in_every_tier(open_repl: Opener, kind: str) -> None:
    repl = await open_repl({"a": numpy.ones(500_000), "t": "t" * 100_000}, kind=kind, memory=64 << 20)
    assert await repl.show("float(context['a'].sum()), len(context['t'])") == "(500000.0, 100000)"


@pytest.mark.parametrize("megabytes", [1, 10, 100])
def test_time_grows_with_size_and_not_faster(megabytes: int) -> None:
    """Generous: a machine that is busy must not fail it, a copy element by element must."""
    array = numpy.ones(megabytes * 131_072)
    frame = pandas.DataFrame({"a": array})
    for value in (array, frame, pyarrow.table({"a": array}), polars.DataFrame({"a": array})):
        started = time.perf_counter()
        handed = hand_over(value)
        took = time.perf_counter() - started
        assert handed.size >= array.nbytes
        handed.close()
        assert took < 0.5 + megabytes / 50


def test_nothing_is_imported_for_a_value_that_has_it_not() -> None:
    code = (
        "import sys\nfrom unspool import RLM\nfrom unspool.testing import ScriptedModel\n"
        "m = ScriptedModel(['```python\\nprint(1)\\nsubmit(len(context))\\n```'])\n"
        "print(RLM(m, runs=False).run('?', {'a': [1, {'b': 'x' * 100_000}]}).answer)\n"
        "print([n for n in ('pandas', 'numpy', 'polars', 'pyarrow', 'PIL') if n in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120)
    assert done.stdout == "1\n[]\n", done


@pytest.mark.parametrize("kind", ["text", "frame", "dict of texts", "array"])
def test_the_prompt_stays_the_same_size(kind: str) -> None:
    """1, 10 and 100 MB of each: what the root is sent does not grow, and a run works on all of it."""
    sent = []
    for megabytes in (1, 10, 100):
        size = megabytes * 1_000_000
        value: object = {
            "text": lambda size=size: "x" * size,
            "frame": lambda size=size: pandas.DataFrame({"a": numpy.ones(size // 8)}),
            "dict of texts": lambda size=size: {str(i): "x" * (size // 4) for i in range(4)},
            "array": lambda size=size: numpy.ones(size // 8),
        }[kind]()
        model = ScriptedModel(["```python\nprint(1)\nsubmit(len(context))\n```"])
        run = RLM(model, runs=False).run("How much?", value)
        assert run.answer == len(value)  # type: ignore[arg-type]
        sent.append(sum(len(message.text) for message in model.requests[0].messages))
    assert max(sent) - min(sent) < 100  # digits
