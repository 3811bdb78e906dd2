"""What a run reports of its turns and tokens where nothing, or not everything, was sent: what is known is no null."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from unspool import RLM, Budget, Contexts, Run
from unspool.errors import JournalError, ModelError, SandboxError
from unspool.events import Event, RunEnded, RunStarted, TurnStarted
from unspool.models.protocol import Price
from unspool.sandbox.protocol import OnCall, Repl, ReplSpec
from unspool.testing import MemoryStore, ScriptedModel
from unspool.types import Usage

from .helpers import py

NOTHING = Usage(0, 0, 0, 0, 0)
PRICED = Price(read=1e-6, written=1e-6)


class Full(MemoryStore):
    def append(self, run: str, event: Event) -> None:
        if not isinstance(event, RunStarted):
            raise JournalError("the disk is full")
        super().append(run, event)


class Shut:
    """A sandbox of which nothing is known, and that does not open."""

    name, proven = "shut", False

    async def open(self, spec: ReplSpec, on_call: OnCall) -> Repl:
        raise SandboxError("it does not open")

    async def close(self) -> None:
        """There is nothing to close."""


UNSENT: Mapping[str, tuple[Mapping[str, object], Mapping[str, object]]] = {
    "no dollars": ({"cost": PRICED}, {"budget": Budget(usd=0)}),
    "few dollars": ({"cost": PRICED}, {"budget": Budget(usd=1e-6)}),
    "few tokens": ({}, {"budget": Budget(tokens=10)}),
    "a prompt that no window takes": ({"window": 10}, {}),
    "a journal that takes no more": ({}, {"runs": True, "store": Full()}),
    "a sandbox that does not open": ({}, {"sandbox": Shut()}),
}


@pytest.mark.parametrize("strategy", ["rlm", "direct", "codeact"])
@pytest.mark.parametrize("why", UNSENT)
def test_nothing_was_sent(why: str, strategy: str) -> None:
    of_model, settings = UNSENT[why]
    model = ScriptedModel([py("submit(1)")], **of_model)  # type: ignore[arg-type]
    run = RLM(model, **{"runs": False, **settings}).run("q", "the context", strategy=strategy)  # type: ignore[arg-type]
    assert run.status in ("budget", "failed"), run
    assert not model.requests
    assert (run.turns, run.usage, run.cost, run.ledger) == (0, NOTHING, 0.0, ())
    assert "0 turns, 0 sub-calls, $0, " in repr(run)


async def test_a_run_that_is_cancelled_before_its_first_request_has_sent_nothing() -> None:
    """It waits for the only place, which another has."""
    taken, ended = threading.Event(), threading.Event()

    async def wait(_: object) -> str:
        taken.set()
        await asyncio.to_thread(ended.wait)
        return py("print(1)\nsubmit(1)")

    engine = RLM(ScriptedModel(wait), runs=False, concurrency=1)
    first = asyncio.ensure_future(engine.arun("q", "c"))
    await asyncio.to_thread(taken.wait)
    try:
        async for event in engine.stream("q", "c"):
            if isinstance(event, RunStarted):
                run = event.run
            if isinstance(event, TurnStarted):
                engine.cancel(run)
    finally:
        ended.set()
    assert isinstance(event, RunEnded)
    assert (event.status, event.turns, event.usage) == ("cancelled", 0, NOTHING)
    assert (await first).turns == 1


def test_a_turn_that_is_refused_is_none_of_those_before() -> None:
    model = ScriptedModel([py("x = 'y' * 100_000\nprint(x[:5_000])"), py("submit(1)")])
    run = RLM(model, runs=False, budget=Budget(tokens=6_000)).run("q", "c")
    assert run.status == "budget"
    assert len(model.requests) == run.turns == 1
    assert run.usage.input_tokens


@pytest.mark.parametrize(
    ("cost", "told"),
    [(0.0, "$0"), (None, "cost unknown"), (2e-6, "under $0.0001"), (0.00123, "$0.0025"), (3.0, "$6.00")],
)
def test_what_a_run_says_of_its_cost_is_true(cost: float | None, told: str) -> None:
    run = RLM(ScriptedModel([py("print(1)"), py("submit(1)")], cost=cost), runs=False).run("q", "c")
    assert f"2 turns, 0 sub-calls, {told}, " in repr(run)
    assert f"<td>{told}</td>" in run._repr_html_()


SENT: Mapping[str, tuple[ScriptedModel, tuple[int, int | None]]] = {
    "a provider that reports nothing": (ScriptedModel([py("print(1)\nsubmit(1)")], usage=None), (1, None)),
    "a server that refuses": (ScriptedModel([ModelError("bad_request", "no")]), (1, 0)),
    "a server that may have done it": (
        ScriptedModel([ModelError("timeout", "late", retryable=False)]),
        (1, None),
    ),
    "one that answers": (ScriptedModel([py("print(1)\nsubmit(1)")], usage=Usage(1, 7, 3)), (1, 7)),
}


@pytest.mark.parametrize("what", SENT)
def test_what_was_sent_is_a_turn_and_what_was_not_reported_is_unknown(what: str) -> None:
    model, wanted = SENT[what]
    run: Run = RLM(model, runs=False).run("q", "c")
    assert (run.turns, run.usage.input_tokens) == wanted, run


def test_replies_that_are_known_are_turns_and_cost_nothing() -> None:
    store = MemoryStore()
    script = [py("print(1)"), py("submit(1)")]
    first = RLM(ScriptedModel(script), store=store, budget=Budget(turns=1)).run("q", "c")
    assert (first.status, first.turns) == ("budget", 1)
    again = RLM(ScriptedModel(script[1:]), store=store).resume(first.id, "c")
    assert (again.answer, again.turns) == (1, 2)


def _deep(levels: int) -> list[object]:
    value: list[object] = []
    for _ in range(levels):
        value = [value]
    return value


NOT_DATA = {
    "function": lambda: lambda: 1,
    "generator": lambda: (letter for letter in "ab"),
    "view of bytes": lambda: memoryview(b"abc"),
    "module": lambda: threading,
    "lock": threading.Lock,
    "deep list": lambda: _deep(3_000),
}
AROUND = {
    "alone": lambda bad: bad,
    "in a list": lambda bad: ["a", 1, bad],
    "in a mapping": lambda bad: {"a": {"b": ("c", bad)}},
    "by name": lambda bad: Contexts(logs="text", other=[bad]),
    "a key": lambda bad: {("a", bad): 1},
}


@pytest.mark.parametrize("around", AROUND.values(), ids=AROUND.keys())
@pytest.mark.parametrize("make", NOT_DATA.values(), ids=NOT_DATA.keys())
def test_an_input_that_cannot_be_handed_over_costs_nothing(
    make: Callable[[], object], around: Callable[[object], object]
) -> None:
    try:
        context = around(make())
    except TypeError:
        pytest.skip("no key of a mapping")
    model = ScriptedModel([py("submit(1)")])
    run = RLM(model, runs=False).run("q", context)
    assert model.requests == []
    assert run.status == "failed"
    assert "cannot be handed to the sandbox" in run.reason


@pytest.mark.parametrize("around", ["alone", "in a list", "by name"])
@pytest.mark.parametrize("mode", ["r", "rb"])
def test_in_the_place_of_an_open_file_its_path_is_asked_for(tmp_path: Path, mode: str, around: str) -> None:
    (tmp_path / "a.log").write_text("text")
    with (tmp_path / "a.log").open(mode) as file:
        context = {"alone": file, "in a list": ["a", file], "by name": Contexts(logs=file, more="b")}[around]
        run = RLM(ScriptedModel([]), runs=False).run("q", context)
    assert run.status == "failed"
    assert run.reason.endswith(
        "in the place of an open file pass its path, Path(…), or the text that is in it"
    )


@pytest.mark.parametrize("around", ["alone", "in a list"])
def test_in_the_place_of_a_generator_a_list_is_asked_for(around: str) -> None:
    run = RLM(ScriptedModel([]), runs=False).run("q", AROUND[around](NOT_DATA["generator"]()))
    assert run.reason.endswith("in the place of a generator, which gives its items once, pass list(…) of it")
