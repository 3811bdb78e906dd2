"""Where one call after the other fails alike, and no other prompt would mend it, no more are sent."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from unspool import RLM, Message, ModelError, Run
from unspool.streak import IN_A_ROW
from unspool.testing import ScriptedModel
from unspool.types import FailureKind

from .helpers import py

ALL = 40
UNSENT = " (not sent: 8 calls in a row have failed alike)"
BATCH = f"r = llm_query_batched([f'item {{n}}' for n in range({ALL})])\nprint(sum(map(bool, r)))"


def told(sub: ScriptedModel, *more: str) -> Run:
    """A batch, four calls at a time, then what else."""
    root = ScriptedModel([py(BATCH), *map(py, more), py("submit([(f.kind, f.message) for f in r if not f])")])
    return RLM(root, sub_model=sub, concurrency=4).run("?", "text")


def failing(kind: FailureKind, words: Callable[[int], str], good: Callable[[int], bool]) -> ScriptedModel:
    seen = iter(range(10_000))

    def reply(_: object) -> str:
        number = next(seen)
        if good(number):
            return "fine"
        raise ModelError(kind, words(number), model="scripted:sub", retryable=False)

    return ScriptedModel(reply, name="scripted:sub")


@pytest.mark.parametrize("kind", ["unknown_model", "bad_request"])
def test_so_many_in_a_row_end_a_batch(kind: FailureKind) -> None:
    sub = failing(kind, lambda n: f"there is no such thing (request 0f{n:06x}ab)", lambda _: False)
    run = told(sub)
    assert IN_A_ROW <= len(sub.requests) < IN_A_ROW + 4
    assert isinstance(run.answer, list)
    assert len(run.answer) == ALL
    assert {got for got, _ in run.answer} == {kind}
    unsent = [said for _, said in run.answer if said.endswith(UNSENT)]
    assert len(unsent) == ALL - len(sub.requests)
    (note,) = run.notes
    assert note.startswith(
        "sub-calls of scripted:sub were not sent after 8 that failed alike: there is no such"
    )


@pytest.mark.parametrize(
    ("kind", "words", "good"),
    [
        ("bad_request", lambda n: "wrong", lambda n: n % 5 == 0),  # others go well
        ("bad_request", lambda n: f"the word {'abcdefghijklm'[n % 13]!r} is not taken", lambda n: False),
        ("server", lambda n: "broken", lambda n: False),  # which may pass
        ("schema", lambda n: "no JSON", lambda n: False),  # another item may fit
    ],
    ids=["some-go-well", "each-its-own", "may-pass", "by-item"],
)
def test_failures_that_are_no_rule_end_nothing(
    kind: FailureKind, words: Callable[[int], str], good: Callable[[int], bool]
) -> None:
    sub = failing(kind, words, good)
    run = told(sub)
    assert len(sub.requests) == ALL
    assert run.notes == ()


def test_the_next_cell_may_ask_otherwise() -> None:
    def reply(messages: tuple[Message, ...]) -> str:
        if messages[-1].text.startswith("item"):
            raise ModelError("bad_request", "wrong")
        return "fine"

    sub = ScriptedModel(reply, name="scripted:sub")
    run = told(sub, "r = llm_query_batched(['another', 'way'])\nprint(r)")
    assert run.answer == []
    assert [request.messages[-1].text for request in sub.requests[-2:]] == ["another", "way"]


def test_a_run_that_goes_on_sends_none_of_them(tmp_path: Path) -> None:
    sub = failing("unknown_model", lambda n: "there is none", lambda _: False)
    root = ScriptedModel([py(BATCH), py("print(1)")])
    first = RLM(root, sub_model=sub, concurrency=4, max_turns=2, runs=tmp_path).run("?", "text")
    assert first.status == "budget"
    sent = len(sub.requests)
    on = ScriptedModel([py("submit(len(r))")])
    done = RLM(on, sub_model=sub, concurrency=4, max_turns=5, runs=tmp_path).resume(first.id, "text")
    assert (done.answer, len(sub.requests)) == (ALL, sent)


def test_a_list_of_models_is_told_apart_from_what_was_not_sent() -> None:
    subs = [failing("bad_request", lambda n: "wrong", lambda _: False) for _ in range(2)]
    root = ScriptedModel([py(BATCH), py("submit([(f.kind, f.message) for f in r if not f])")])
    run = RLM(root, sub_model=list(subs), concurrency=4).run("?", "text")
    assert isinstance(run.answer, list)
    assert len(run.answer) == ALL
    assert all(len(sub.requests) < IN_A_ROW + 4 for sub in subs)
    last = run.answer[-1][1]
    assert last.startswith("every model of the list failed: ")
    assert last.endswith(UNSENT)
