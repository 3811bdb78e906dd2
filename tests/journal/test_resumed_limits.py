"""Limits, the cache and what was undone, in a run that is resumed: as if it had never been stopped."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from unspool import RLM, Budget
from unspool.events import CallEnded, CellEnded, Event, ModelReplied, RunEnded
from unspool.testing import MemoryStore, ScriptedModel

from ..engine.helpers import py
from .test_resume import stored

LAST = "This is the last turn"


def models(turns: Sequence[str], cost: float = 0.01) -> tuple[ScriptedModel, ScriptedModel]:
    root = ScriptedModel(
        lambda m: turns[sum(each.role == "assistant" for each in m)], name="scripted:root", cost=cost
    )
    return root, ScriptedModel(lambda m: f"<{m[-1].text}>", name="scripted:sub", cost=cost)


def cut(turns: Sequence[str], last: type[Event], **settings: object) -> MemoryStore:
    """The journal of a run that was killed right after its first event of this kind."""
    store = MemoryStore()
    root, sub = models(turns)
    run = RLM(root, sub_model=sub, store=store, **settings).run("q", "c")  # type: ignore[arg-type]
    events = store.read(run.id)
    place = next(n for n, event in enumerate(events) if isinstance(event, last))
    return stored(events[: place + 1])


SIX = py("r = llm_query_batched([str(i) for i in range(6)])\nprint(budget()['calls'], sum(map(bool, r)))")


def test_what_was_spent_before_counts_after() -> None:
    store = cut([SIX, py("submit(1)")], CellEnded, budget=Budget(calls=10))
    root, sub = models([SIX, SIX.replace("range(6)", "range(6, 12)"), py("submit(sum(map(bool, r)))")])
    run = RLM(root, sub_model=sub, store=store, budget=Budget(calls=10, usd=1)).resume("r", "c")
    assert (run.status, run.answer) == ("answered", 4)
    assert len(sub.requests) == 4
    assert run.cost == pytest.approx(0.01 * (3 + 10))
    assert {line.role: line.usage.calls for line in run.ledger} == {"root": 3, "sub": 10}


def test_a_run_that_was_out_of_money_goes_on_with_more() -> None:
    store = MemoryStore()
    first, second = py("x = llm_query('a')\nprint(x)"), py("y = llm_query('b')\nprint(y)")
    root, sub = models([first, second, second.replace("print", "print "), py("submit(x + y)")])
    poor = RLM(root, sub_model=sub, store=store, budget=Budget(usd=0.03)).run("q", "c")
    assert poor.status == "budget"
    sent = len(root.requests) + len(sub.requests)
    assert sent == 3
    rich = RLM(root, sub_model=sub, store=store, budget=Budget(usd=1)).resume(poor.id, "c")
    assert (rich.status, rich.answer) == ("answered", "<a><b>")
    assert len(root.requests) + len(sub.requests) == sent + 3
    assert rich.cost == pytest.approx(0.06)


def test_a_run_out_of_turns_goes_on_with_more_and_its_past_stays_as_it_was_told() -> None:
    store = MemoryStore()
    turns = [py("x = 1\nprint(x)"), py("x += 1\nprint(x)"), py("print(x)"), py("submit(x)")]
    root, sub = models(turns)
    short = RLM(root, sub_model=sub, store=store, max_turns=2).run("q", "c")
    assert (short.status, short.turns) == ("budget", 2)
    assert LAST in root.requests[1].messages[-1].text
    run = RLM(root, sub_model=sub, store=store, max_turns=9).resume(short.id, "c")
    assert (run.status, run.answer, run.turns) == ("answered", 2, 4)
    told = [m.text for m in root.requests[-1].messages if m.role == "user"]
    assert [LAST in text for text in told] == [False, True, False, False]
    assert len(root.requests) == 4


def test_a_turn_that_was_told_nothing_is_not_told_of_the_limit_now() -> None:
    """What a resumed run sends is what it would have sent: the history of its first turns is the same."""
    turns = [py("print(llm_query('a'))"), py("print(llm_query('b'))"), py("print(3)"), py("submit(4)")]
    store = MemoryStore()
    root, sub = models(turns)
    whole = RLM(root, sub_model=sub, store=store, budget=Budget(calls=2)).run("q", "c")
    last = root.requests[-1]
    events = store.read(whole.id)
    places = [n for n, event in enumerate(events) if isinstance(event, ModelReplied)]
    for place in places:
        root, sub = models(turns)
        run = RLM(root, sub_model=sub, store=stored(events[: place + 1]), budget=Budget(calls=2))
        assert run.resume("r", "c").answer == 4
        if root.requests:
            assert root.requests[-1].messages == last.messages


def test_the_cache_and_the_journal_count_a_known_reply_once(tmp_path: Path) -> None:
    turns = [py("r = [llm_query('a'), llm_query('b')]\nprint(r)"), py("submit(r)")]
    root, sub = models(turns)
    RLM(root, sub_model=sub, cache=tmp_path, runs=False).run("q", "c")
    store = MemoryStore()
    root, sub = models(turns)
    run = RLM(root, sub_model=sub, cache=tmp_path, store=store).run("q", "c")
    assert (run.reused.calls, run.reused_cost) == (2, pytest.approx(0.02))
    events = store.read(run.id)
    place = next(n for n, event in enumerate(events) if isinstance(event, CallEnded))
    again = RLM(root, sub_model=sub, cache=tmp_path, store=stored(events[: place + 1])).resume("r", "c")
    assert again.answer == ["<a>", "<b>"]
    assert sub.requests == []
    assert (again.reused.calls, again.reused_cost) == (2, pytest.approx(0.02))
    assert again.cost == pytest.approx(0.02)


def test_what_a_cell_that_was_rolled_back_has_paid_is_known_after_a_resume() -> None:
    ask = "r = llm_query_batched(['a', 'b', 'a'])\n"
    turns = [py(ask + "import os\nos._exit(3)"), py(ask + "print(r)"), py("submit(r)")]
    store = cut(turns, CellEnded)
    root, sub = models(turns)
    run = RLM(root, sub_model=sub, store=store).resume("r", "c")
    assert run.answer == ["<a>", "<b>", "<a>"]
    assert sub.requests == []
    assert run.reused.calls == 3
    assert not [e for e in store.read("r") if isinstance(e, RunEnded) and e.status != "answered"]


def jumped(events: Sequence[Event], place: int, seconds: float) -> list[Event]:
    """The same events by a clock that was set in the middle of the run."""
    return [replace(event, time=event.time + seconds * (n >= place)) for n, event in enumerate(events)]


def test_a_clock_that_is_set_back_gives_no_time() -> None:
    store = cut([SIX, py("submit(1)")], CellEnded)
    events = store.read("r")
    root, sub = models([SIX, py("submit(1)")])
    back = stored(jumped(events, len(events) // 2, -3_600.0))
    run = RLM(root, sub_model=sub, store=back, budget=Budget(seconds=60)).resume("r", "c")
    assert (run.status, run.answer) == ("answered", 1)
    assert 0 <= run.seconds < 60


def test_a_clock_that_is_set_forward_takes_no_time_of_a_run_that_said_how_long_it_took() -> None:
    store = MemoryStore()
    root, sub = models([SIX, py("submit(1)")])
    run = RLM(root, sub_model=sub, store=store, max_turns=1).run("q", "c")
    assert run.status == "budget"
    events = store.read(run.id)
    ahead = stored(jumped(events, len(events) // 2, 3_600.0))
    run = RLM(root, sub_model=sub, store=ahead, budget=Budget(seconds=60)).resume("r", "c")
    assert (run.status, run.answer) == ("answered", 1)
    assert run.seconds < 60
