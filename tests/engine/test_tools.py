"""The user's own functions in the REPL: what the model is told, arguments as they are wanted, usable results."""

from __future__ import annotations

import asyncio
import dataclasses
import datetime as dt
import enum
import threading
import time
from collections.abc import Iterator
from typing import Any, Literal, NamedTuple

import pytest
from pydantic import BaseModel

from unspool import RLM
from unspool.errors import ConfigError
from unspool.testing import ScriptedModel
from unspool.tools import RESERVED as TAKEN
from unspool.tools import Tool, Toolbox

from .helpers import play, py, shown

pandas = pytest.importorskip("pandas")


class Level(enum.Enum):
    LOW = "low"
    HIGH = "high"


@dataclasses.dataclass
class Order:
    number: int
    placed: dt.date | None = None


class Customer(BaseModel):
    name: str
    level: Level = Level.LOW
    orders: list[Order] = []


class Spot(NamedTuple):
    row: int
    column: int


def find_customer(name: str, level: Level = Level.LOW) -> Customer:
    """The customer of that name.

    More that is not shown.
    """
    return Customer(name=name, level=level, orders=[Order(1, dt.date(2031, 5, 24))])


def ask(code: str, *tools: Any, **settings: Any) -> object:
    run, _ = play([py(code + "\nprint(1)\nsubmit(r)")], tools=tools, max_turns=1, **settings)
    assert run.status == "answered", run.trace.turns[0].cells[0]
    return run.answer


def refused(call: str, *tools: Any) -> str:
    _, model = play([py(call), py("print(1)\nsubmit('x')")], tools=tools)
    return shown(model, 1)


def test_signature_types_and_the_first_line_are_told() -> None:
    def plain(x, *more, key="a", **rest):  # type: ignore[no-untyped-def]
        pass

    def mark(kind: Literal["a", "b"], at: dt.datetime | None = None) -> list[Order]:
        return []

    told = Toolbox([find_customer, plain, mark]).describe()
    assert (
        "- `find_customer(name: str, level: Level = <Level.LOW: 'low'>) -> Customer`: The customer of that name."
        in told
    )
    assert "\n  Customer: name: str, level: Level, orders: list[Order]" in told
    assert "- `plain(x, *more, key='a', **rest)`" in told
    assert "mark(kind: Literal['a', 'b'], at: datetime | None = None) -> list[Order]`" in told
    assert "\n  Order: number: int, placed: date | None" in told
    assert "More that" not in told
    _, model = play([py("print(1)\nsubmit('x')")], tools=[find_customer])
    assert told.partition("\n- `plain")[0] in model.requests[0].messages[-1].text


def test_arguments_come_as_the_annotations_say() -> None:
    seen: list[object] = []

    def take(n: int, who: Customer, *when: dt.date, where: Spot, **more: float) -> int:
        seen.extend([n, who, when, where, more])
        return n

    code = "r = take('3', {'name': 'Ada', 'level': 'high'}, '2031-05-24', where=[1, 2], x=1)"
    assert ask(code, take) == 3
    assert seen == [
        3,
        Customer(name="Ada", level=Level.HIGH),
        (dt.date(2031, 5, 24),),
        Spot(1, 2),
        {"x": 1.0},
    ]
    assert isinstance(seen[4]["x"], float)  # type: ignore[index]


@pytest.mark.parametrize(
    ("call", "words"),
    [
        ("find_customer()", ("TypeError", "missing a required argument: 'name'")),
        ("find_customer('Ada', size=1)", ("TypeError", "unexpected keyword argument 'size'")),
        (
            "find_customer('Ada', 'medium')",
            ("TypeError", "level: expected 'low' or 'high'", "'medium'"),
        ),
        ("find_customer(['Ada'])", ("TypeError", "name: expected text, got a list")),
    ],
)
def test_an_argument_that_does_not_fit_is_named_in_the_cell(call: str, words: tuple[str, ...]) -> None:
    told = refused(call, find_customer)
    assert all(word in told for word in words), told
    assert "the call is find_customer(name: str, level: Level = " in told


def test_tables_are_arguments_and_results() -> None:
    def total(table: pandas.DataFrame, column: str) -> pandas.DataFrame:  # type: ignore[name-defined]
        assert isinstance(table, pandas.DataFrame)
        return table.groupby("k")[[column]].sum()

    code = (
        "import pandas as pd\nt = total(pd.DataFrame({'k': ['a', 'b', 'a'], 'n': [1, 2, 3]}), 'n')\n"
        "r = [type(t).__name__, t.loc['a', 'n'], t.index.name]"
    )
    assert ask(code, total) == ["DataFrame", 4, "k"]
    code = "import pandas as pd\nt = total([{'k': 'a', 'n': 1}], column='n')\nr = pd.DataFrame({'x': [1]})"
    assert ask(code, total) == [{"x": 1}]


def test_results_of_classes_of_the_user_are_usable() -> None:
    def spot() -> Spot:
        return Spot(3, 4)

    def many() -> dict[str, object]:
        return {
            "at": dt.datetime(2031, 5, 24, 3),
            "all": [Order(7)],
            "level": Level.HIGH,
            "table": pandas.DataFrame({"a": [1]}),
        }

    code = (
        "c = find_customer('Ada', 'high')\n"
        "a = [c.name, c.level.value, c.orders[0].number, c.orders[0].placed.year, type(c).__name__]\n"
        "s = spot()\nb = [s.row, s[1]]\n"
        "m = many()\nd = [m['at'].hour, m['all'][0].number, m['table']['a'].sum(), m['level'].name]\n"
        "r = [a, b, d, c]"
    )
    answer = ask(code, find_customer, spot, many)
    whole = {"name": "Ada", "level": "high", "orders": [{"number": 1, "placed": dt.date(2031, 5, 24)}]}
    assert answer == [["Ada", "high", 1, 2031, "Customer"], [3, 4], [3, 7, 1, "HIGH"], whole]


def test_an_annotation_that_cannot_be_known_leaves_the_others_checked() -> None:
    def take(n: int, what: NotKnownAnywhere = None) -> object:  # type: ignore[name-defined]  # noqa: F821
        return [n, what]

    assert Toolbox([take]).describe() == "- `take(n: int, what: NotKnownAnywhere = None) -> object`"
    assert ask("r = take('3', {'a': 1})", take) == [3, {"a": 1}]
    assert "n: expected a whole number" in refused("take('x')", take)


def test_what_a_tool_raises_reaches_the_model_and_not_the_host() -> None:
    def leave() -> None:
        raise SystemExit("no")

    def stop() -> None:
        raise StopIteration

    async def broken() -> None:
        raise LookupError("nowhere")

    def given() -> object:
        return threading.Lock()

    code = "\n".join(
        f"try:\n    {name}()\nexcept Exception as e:\n    print(type(e).__name__, e)"
        for name in ("leave", "stop", "broken", "given")
    )
    run, model = play([py(code), py("submit('on')")], tools=[leave, stop, broken, given])
    assert run.answer == "on"
    told = shown(model, 1)
    for words in (
        "ToolError leave: SystemExit: no",
        "StopIteration",
        "broken: LookupError: nowhere",
        "a lock",
    ):
        assert words in told, told


class Odd(BaseException):
    """Nobody's: no Exception, and nothing that ends a program."""


class Mute(Exception):
    def __str__(self) -> str:
        raise Odd("no words")


@pytest.mark.parametrize(
    ("error", "words"),
    [
        (Odd("odd"), "Odd: odd"),
        (GeneratorExit(), "GeneratorExit"),
        (asyncio.CancelledError("by itself"), "CancelledError: by itself"),
        (
            BaseExceptionGroup("both", [Odd("odd"), KeyError("k")]),
            "BaseExceptionGroup: both (2 sub-exceptions)",
        ),
        (SystemExit(3), "SystemExit: 3"),
        (Mute(), "Mute: its text cannot be had (Odd)"),
        (pytest.fail.Exception("as a test does"), "Failed: as a test does"),
    ],
    ids=lambda given: type(given).__name__ if isinstance(given, BaseException) else None,
)
@pytest.mark.parametrize("asked", ["here", "on a loop"])
def test_whatever_a_tool_raises_is_answered_at_once(error: BaseException, words: str, asked: str) -> None:
    def plain() -> None:
        raise error

    async def waiting() -> None:
        await asyncio.sleep(0)
        raise error

    def later() -> object:
        return waiting()

    tools = [plain, waiting, later]
    code = "for f in (plain, waiting, later):\n    try:\n        f()\n    except Exception as e:\n        print(type(e).__name__, e)"
    model = ScriptedModel([py(code), py("submit('on')")])
    rlm = RLM(model, tools=tools, runs=False)
    run = rlm.run("q", "c") if asked == "here" else asyncio.run(rlm.arun("q", "c"))
    assert (run.answer, run.trace.turns[0].cells[0].outcome) == ("on", "ok")
    assert run.trace.turns[0].cells[0].output.splitlines() == [
        f"ToolError {name}: {words}" for name in ("plain", "waiting", "later")
    ]


async def test_a_run_that_is_cancelled_in_a_tool_is_cancelled() -> None:
    begun, ended = asyncio.Event(), asyncio.Event()

    async def waits() -> None:
        begun.set()
        try:
            await asyncio.sleep(60)
        finally:
            ended.set()

    run = asyncio.create_task(RLM(ScriptedModel([py("waits()")]), tools=[waits], runs=False).arun("q", "c"))
    await begun.wait()
    run.cancel()
    with pytest.raises(asyncio.CancelledError):
        await run
    await asyncio.wait_for(ended.wait(), 10)


def test_a_slow_tool_is_not_the_cells_own_time() -> None:
    def slow() -> int:
        time.sleep(1.2)
        return 1

    async def slower() -> int:
        await asyncio.sleep(1.2)
        return 2

    run, _ = play([py("r = slow() + slower()\nprint(r)\nsubmit(r)")], tools=[slow, slower], cell_seconds=1.0)
    assert run.answer == 3
    cell = run.trace.turns[0].cells[0]
    assert cell.own_seconds is not None
    assert cell.seconds is not None
    assert cell.own_seconds < 1.0 < 2.4 <= cell.seconds


async def test_async_tools_and_what_returns_an_awaitable_run_on_the_callers_loop() -> None:
    here = asyncio.get_running_loop()
    seen: list[bool] = []

    async def told() -> int:
        seen.append(asyncio.get_running_loop() is here)
        return 4

    def later() -> object:
        return told()

    code = py("r = told() + later()\nprint(r)\nsubmit(r)")
    run = await RLM(ScriptedModel([code]), tools=[told, later]).arun("q", "c")
    assert (run.answer, seen) == (8, [True, True])


def test_without_a_loop_async_tools_run_all_the_same() -> None:
    async def told(n: int) -> int:
        await asyncio.sleep(0)
        return n + 1

    assert ask("r = told('4')", told) == 5


RESERVED = [
    "llm_query",
    "llm_query_batched",
    "llm_map",
    "classify",
    "rlm_query",
    "rlm_query_batched",
    "grep",
    "chunks",
    "budget",
    "SHOW_VARS",
    "submit",
    "FINAL",
    "FINAL_VAR",
    "SUBMIT",
    "context",
    "answer",
    "LLMError",
    "FailedCall",
]


@pytest.mark.parametrize("name", RESERVED)
def test_a_name_that_hides_one_of_the_repl_is_refused(name: str) -> None:
    def tool() -> None: ...

    tool.__name__ = name
    with pytest.raises(ConfigError, match=name):
        RLM(ScriptedModel([]), tools=[tool])


def test_every_name_of_the_repl_is_reserved() -> None:
    code = """
import os, sys
def home(name):
    return os.path.dirname(str(getattr(sys.modules.get(name), "__file__", "")))
r = sorted(
    n for n, v in globals().items()
    if home(getattr(v, "__module__", "")) == home("worker") and n[0] != "_"
)"""
    known = ask(code)
    assert isinstance(known, list)
    assert {"llm_map", "LLMError"} <= set(known)
    assert set(known) <= set(TAKEN)


def test_a_name_that_the_profile_uses_is_refused() -> None:
    def find(text: str) -> Iterator[str]:
        yield text

    model = ScriptedModel([py("print(1)\nsubmit(1)")], profile="small")
    with pytest.raises(ConfigError, match="find"):
        RLM(model, tools=[find]).run("q", "c")
    assert model.requests == []


@pytest.mark.parametrize("tool", [print, sorted, len])
def test_a_tool_takes_the_place_of_no_builtin(tool: Tool) -> None:
    with pytest.raises(ConfigError, match=rf"{tool.__name__}' is a builtin of Python.*rename"):
        RLM(ScriptedModel([]), tools=[tool])
