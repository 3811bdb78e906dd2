"""A provider that fails in every way it can: what is right comes back, what is not is typed and counted."""

from __future__ import annotations

import random
import time

import pytest

from unspool.testing import Ask, Behaviour, FaultyServer, ScriptedModel

from .helpers import play, py
from .served import accounts_agree, engine_at, no_worker_left

COUNT = "submit(sum(a == f'item {i}!' for i, a in enumerate(r)))"


def thousand(size: int = 1_000) -> str:
    return py(f"r = llm_query_batched([f'item {{i}}' for i in range({size})])\nprint(1)\n{COUNT}")


def kinds(code: str) -> str:
    """A cell that submits what became of each item of ``r``: its text, or the kind of its failure."""
    return py(f"{code}\nprint(1)\nsubmit([x if x else x.kind for x in r])")


def test_a_thousand_items_are_right_whatever_a_fifth_of_the_requests_meets() -> None:
    dice = random.Random(20261129)

    def script(ask: Ask) -> Behaviour | str:
        if ask.body["model"] == "root":
            return thousand()
        roll = dice.random()
        if roll < 0.10:
            return Behaviour(status=429)
        if roll < 0.15:
            return Behaviour(status=500)
        if roll < 0.17:
            return Behaviour(f"{ask.prompt}!", fault="cut")
        if roll < 0.18:
            return Behaviour(fault="hang")
        return f"{ask.prompt}!"

    with no_worker_left(), FaultyServer(script) as server:
        run = engine_at(server, call_seconds=4.0).run("q", "c")
    assert run.answer == 1_000
    calls = run.trace.turns[0].cells[0].sub_calls
    assert [c.error for c in calls] == [None] * 1_000
    assert sum(c.retries for c in calls) == len(server.asks) - 1_001
    lost = sum(usage.calls for usage in server.cut.values()) + server.cancelled
    assert run.notes == (
        f"{lost} requests had no whole reply: what the provider charges for that is in no figure here",
    )
    accounts_agree(run, server)


def test_a_batch_is_in_order_as_parallel_as_allowed_and_has_no_deadline_of_its_own() -> None:
    """Its calls take three times as long as one of them may, and three cells' own time."""

    def script(ask: Ask) -> Behaviour | str:
        if ask.body["model"] == "root":
            return thousand(48)
        return Behaviour(f"{ask.prompt}!", delay=0.2)

    with FaultyServer(script) as server:
        engine = engine_at(server, concurrency=8, call_seconds=0.6, cell_seconds=0.5)
        run = engine.run("q", "c")
    assert (run.answer, server.peak) == (48, 8)
    assert run.seconds > 1.2
    accounts_agree(run, server)


def test_later_means_later_and_then_it_goes_on() -> None:
    asked: list[float] = []

    def script(ask: Ask) -> Behaviour | str:
        if ask.body["model"] == "root":
            return py("r = llm_query('x')\nprint(1)\nsubmit(r)")
        asked.append(time.monotonic())
        return Behaviour(status=429, retry_after=1) if len(asked) == 1 else "fine"

    with FaultyServer(script) as server:
        run = engine_at(server).run("q", "c")
    assert (run.status, run.answer) == ("answered", "fine")
    assert asked[1] - asked[0] >= 0.95
    accounts_agree(run, server)


@pytest.mark.parametrize("fault", ["cut", "reset", "malformed"])
def test_a_body_that_breaks_off_is_asked_for_again(fault: str) -> None:
    left = [Behaviour("half of it", fault=fault), Behaviour(status=500), Behaviour("whole")]  # type: ignore[arg-type]

    def script(ask: Ask) -> Behaviour | str:
        return left.pop(0) if ask.body["model"] == "sub" else py("r = llm_query('x')\nprint(1)\nsubmit(r)")

    with FaultyServer(script) as server:
        run = engine_at(server).run("q", "c")
    assert run.answer == "whole"
    assert run.trace.turns[0].cells[0].sub_calls[0].retries == 2
    accounts_agree(run, server)


def test_a_model_that_hangs_is_cut_asked_again_and_then_a_typed_failure() -> None:
    def script(ask: Ask) -> Behaviour | str:
        if ask.body["model"] == "root":
            return kinds("r = llm_query_batched(['good', 'hangs'])")
        return "good" if ask.prompt == "good" else Behaviour(fault="hang")

    with FaultyServer(script) as server:
        run = engine_at(server, call_seconds=0.15).run("q", "c")
    assert run.answer == ["good", "timeout"]
    hung = run.trace.turns[0].cells[0].sub_calls[1]
    assert hung.error is not None
    assert "no reply within 0.15 s" in hung.error.message
    assert sum(ask.prompt == "hangs" for ask in server.asks) == 4
    assert (hung.usage.calls, hung.cost) == (0, 0.0)
    assert run.notes[0].startswith("4 requests had no whole reply")
    accounts_agree(run, server)


def test_a_root_that_fails_for_a_while_is_asked_again() -> None:
    replies: list[Behaviour | str] = [
        Behaviour(status=503), py("print(len(context))"), Behaviour(fault="cut"), py("submit(5)"),
    ]  # fmt: skip
    with FaultyServer(lambda ask: replies.pop(0)) as server:
        run = engine_at(server).run("q", "c")
    assert (run.answer, run.turns) == (5, 2)
    assert [turn.retries for turn in run.trace.turns] == [1, 1]
    accounts_agree(run, server, "root")


@pytest.mark.parametrize("who", ["root", "sub"])
def test_a_wrong_key_is_one_error_without_a_retry_and_burns_no_turn(who: str) -> None:
    def script(ask: Ask) -> Behaviour | str:
        if ask.body["model"] == who:
            return Behaviour(status=401, message="Incorrect API key provided")
        return py("llm_query_batched(['x'] * 20)")

    with FaultyServer(script) as server:
        run = engine_at(server, concurrency=1).run("q", "c")
    assert run.status == "failed"
    assert "openai refused the key (HTTP 401): check OPENAI_API_KEY" in run.reason
    assert sum(ask.body["model"] == who for ask in server.asks) == 1
    assert run.turns == 1


def test_a_prompt_larger_than_the_window_is_refused_with_both_sizes() -> None:
    sub = ScriptedModel([], name="scripted:sub", window=1_000)
    run, _ = play([kinds("r = llm_query_batched(['x' * 100_000])\nprint(repr(r))")], sub=sub)
    assert run.answer == ["too_long"]
    output = run.trace.turns[0].cells[0].output
    assert "about 25,000 tokens and scripted:sub reads at most 1,000: send slices" in output
    assert (sub.requests, run.usage.calls, run.cost) == ([], 1, 0.0)


@pytest.mark.parametrize(
    ("behaviour", "became", "asks", "reported"),
    [
        (Behaviour(""), "empty", 2, 2),
        (Behaviour(None, reasoning="hm", finish="length"), "empty", 2, 2),  # with more room
        (Behaviour("cut of", finish="length"), "cut of", 1, 1),
        (Behaviour("fine", usage=None), "fine", 1, 1),
        (Behaviour("42", reasoning="6 times 7"), "42", 1, 1),
    ],
    ids=["empty", "thinking", "cut", "no usage", "both"],
)
def test_odd_replies_are_visible_as_such_and_counted_once(
    behaviour: Behaviour, became: str, asks: int, reported: int
) -> None:
    def script(ask: Ask) -> Behaviour | str:
        return behaviour if ask.body["model"] == "sub" else kinds("r = llm_query_batched(['x'])")

    with FaultyServer(script) as server:
        run = engine_at(server).run("q", "c")
    assert run.answer == [became]
    (call,) = run.trace.turns[0].cells[0].sub_calls
    assert sum(ask.body["model"] == "sub" for ask in server.asks) == asks
    served = server.served["sub"]
    assert (call.usage.calls, call.usage.input_tokens, call.usage.output_tokens, call.usage.calls_unmeasured) == (
        reported, served.input_tokens, served.output_tokens, served.calls_unmeasured,
    )  # fmt: skip
    assert call.finish == (None if became == "empty" else behaviour.finish)
    line = next(line for line in run.ledger if line.role == "sub")
    assert (line.usage, line.cost) == (call.usage, call.cost)
    if behaviour.usage is None:
        assert run.cost is None


def test_sub_calls_of_a_child_go_to_the_sub_model() -> None:
    def script(ask: Ask) -> Behaviour | str:
        if ask.body["model"] == "sub":
            return "from the sub-model"
        if "child's question" in str(ask.body):
            return py("r = llm_query('x')\nprint(r)\nsubmit(r)")
        return py("r = rlm_query('the child' + chr(39) + 's question', 'y')\nprint(r)\nsubmit(r)")

    with FaultyServer(script) as server:
        run = engine_at(server).run("q", "c")
    assert run.answer == "from the sub-model"
    accounts_agree(run, server)
