"""A strategy's run like any other: kept, resumed, cancelled, limited in time, shown, exported."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Sequence

import pytest

from unspool import RLM, Budget, Event, Message, ModelError, Run
from unspool.cli.report import lines
from unspool.cli.view import View, fold
from unspool.events import CallEnded, ModelReplied, RunEnded, StrategyChosen
from unspool.otlp_lines import lines as otlp_lines
from unspool.redact import Redactor
from unspool.strategies import StrategyName
from unspool.testing import MemoryStore, ScriptedModel

from .test_compaction import LONG, counting
from .test_map_reduce import reader

WINDOW = 12_000


def by_kind(messages: tuple[Message, ...]) -> str:
    return (counting if "part by part" in messages[-1].text else reader)(messages)


QUERIES: dict[StrategyName, str] = {
    "direct": "How many mails are spam?",
    "compaction": "How many lines?",
    "map_reduce": "How many mails are spam?",
    "auto": "Summarise it.",
}


def engine(store: MemoryStore, strategy: StrategyName = "rlm") -> tuple[RLM, ScriptedModel]:
    model = ScriptedModel(by_kind, window=WINDOW)
    return RLM(model, store=store, strategy=strategy), model


def whole(strategy: StrategyName) -> tuple[Run, list[Event], int]:
    store = MemoryStore()
    made, model = engine(store, strategy)
    run = made.run(QUERIES[strategy], LONG)
    return run, store.read(run.id), len(model.requests)


def stored(events: Sequence[Event], run: str) -> MemoryStore:
    store = MemoryStore()
    store.open(run)
    for event in events:
        store.append(run, event)
    return store


def paid(events: Sequence[Event]) -> int:
    return sum(isinstance(event, ModelReplied | CallEnded) for event in events)


@pytest.mark.parametrize("strategy", list(QUERIES))
def test_a_run_cut_after_any_event_comes_to_the_same_end_and_pays_once(strategy: StrategyName) -> None:
    expected, events, requests = whole(strategy)
    assert expected.status == "answered"
    step = max(1, len(events) // 12)
    for kept in range(3 if strategy == "auto" else 2, len(events), step):
        store = stored(events[:kept], expected.id)
        again, model = engine(store)  # the strategy is the run's own
        run = again.resume(expected.id, LONG)
        assert (run.answer, run.status, run.strategy) == (expected.answer, "answered", expected.strategy)
        assert (run.sub_calls, run.usage, run.notes) == (expected.sub_calls, expected.usage, expected.notes)
        assert len(model.requests) == requests - paid(events[:kept])


@pytest.mark.parametrize("strategy", ["compaction", "map_reduce"])
def test_a_run_whose_parts_failed_for_a_while_goes_on(strategy: StrategyName) -> None:
    down = True

    def model(messages: tuple[Message, ...]) -> str:
        if down:
            raise ModelError("server", "the server is down", retryable=False)
        return by_kind(messages)

    store = MemoryStore()
    made = RLM(ScriptedModel(model, window=WINDOW), store=store, strategy=strategy)
    run = made.run(QUERIES[strategy], LONG)
    assert run.status == "failed"
    assert run.reason.startswith("the strategy had nothing to answer from, since ")
    assert run.reason.endswith("sub-calls failed: the server is down")
    down = False
    run = made.resume(run.id, LONG)
    assert run.status == "answered"
    assert run.notes == ()


@pytest.mark.parametrize("strategy", ["compaction", "map_reduce", "direct"])
async def test_cancelling_stops_every_request(strategy: StrategyName) -> None:
    begun = asyncio.Event()
    loop = asyncio.get_running_loop()

    async def never(messages: tuple[Message, ...]) -> str:
        loop.call_soon_threadsafe(begun.set)
        await asyncio.sleep(60)
        return ""

    model, store = ScriptedModel(never, window=WINDOW), MemoryStore()
    task = asyncio.create_task(RLM(model, store=store, strategy=strategy).arun("How many?", LONG))
    await asyncio.wait_for(begun.wait(), 30)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert model.cancelled == len(model.requests)
    (run,) = store.runs()
    last = store.read(run)[-1]
    assert isinstance(last, RunEnded)
    assert last.status == "cancelled"


@pytest.mark.parametrize("strategy", ["compaction", "map_reduce", "direct"])
def test_a_limit_on_time_holds(strategy: StrategyName) -> None:
    async def slow(messages: tuple[Message, ...]) -> str:
        await asyncio.sleep(60)
        return ""

    begun = time.monotonic()
    model = ScriptedModel(slow, window=WINDOW)
    run = RLM(model, strategy=strategy, runs=False, budget=Budget(seconds=1.0)).run("How many?", LONG)
    assert run.status == "budget"
    assert "1 s" in run.reason
    assert time.monotonic() - begun < 30


@pytest.mark.parametrize("strategy", ["direct", "compaction", "map_reduce"])
@pytest.mark.parametrize("limit", [300, 2_000, 8_000, 60_000, 200_000])
def test_a_limit_on_tokens_is_never_gone_over(strategy: StrategyName, limit: int) -> None:
    model = ScriptedModel(by_kind, window=WINDOW)
    run = RLM(model, strategy=strategy, runs=False, budget=Budget(tokens=limit)).run("How many lines?", LONG)
    spent = (run.usage.input_tokens or 0) + (run.usage.output_tokens or 0)
    assert spent <= limit
    assert run.status in ("answered", "budget")


def test_the_cache_knows_the_parts(tmp_path: object) -> None:
    model = ScriptedModel(reader, window=WINDOW)
    first = RLM(model, strategy="map_reduce", runs=False, cache=str(tmp_path))
    run = first.run("How many mails are spam?", LONG)
    before = len(model.requests)
    again = first.run("How many mails are spam?", LONG)
    assert again.answer == run.answer
    assert len(model.requests) == before + 1
    assert again.reused.calls == run.sub_calls


@pytest.mark.parametrize("strategy", list(QUERIES))
def test_all_that_reads_events_reads_these(strategy: StrategyName) -> None:
    run, events, _ = whole(strategy)
    view = View()
    said: list[str] = []
    for event in events:
        view = fold(view, event)
        said += [line.text for line in lines(view, event, show_code=True)]
    assert any(f"strategy: {strategy}" in line for line in said)
    assert view.status == "answered"
    assert list(otlp_lines(events))
    told = [Redactor(key=b"k").event(event) for event in events]
    assert "quick brown" not in str(told)
    chosen = [event for event in told if isinstance(event, StrategyChosen)]
    assert all(event.strategy == run.strategy for event in chosen)


def test_instructions_and_settings_reach_the_model() -> None:
    model = ScriptedModel(["Answer: x"], window=WINDOW)
    RLM(model, strategy="direct", runs=False, instructions="Answer in French.").run("q", "c")
    assert "Answer in French." in model.requests[0].messages[-1].text
