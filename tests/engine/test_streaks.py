"""Where a model has answered nothing and calls fail alike, as no other prompt would mend, no more are sent."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path

import pytest

from unspool import RLM, Message, ModelError, Run
from unspool.cache import ReplyCache
from unspool.events import BatchStarted, CallEnded
from unspool.single import SingleCalls
from unspool.streak import IN_A_ROW
from unspool.testing import MemoryStore, ScriptedModel
from unspool.types import FailureKind

from ..journal.test_resume import stored
from .helpers import py

ALL = 40
UNSENT = " (not sent: 8 calls in a row have failed alike)"
NOTE = "sub-calls of scripted:sub were not sent after 8 that failed alike: there is none"
BATCH = f"r = llm_query_batched([f'item {{n}}' for n in range({ALL})])\nprint(sum(map(bool, r)))"
FLAGGED = "the prompt was flagged by the content filter"


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


def flagging(flagged: Callable[[int], bool]) -> ScriptedModel:
    """Refuses some items at once; a reply takes its time."""

    async def reply(messages: tuple[Message, ...]) -> str:
        if flagged(int(messages[-1].text.split()[-1].rstrip("."))):
            raise ModelError("bad_request", FLAGGED, model="scripted:sub", retryable=False)
        await asyncio.sleep(0.02)
        return "fine"

    return ScriptedModel(reply, name="scripted:sub")


def test_so_many_in_a_row_end_a_batch() -> None:
    words: Callable[[int], str] = lambda n: f"there is none (request 0f{n:06x}ab)"  # noqa: E731
    sub = failing("unknown_model", words, lambda _: False)
    run = told(sub)
    assert IN_A_ROW <= len(sub.requests) < IN_A_ROW + 4
    assert isinstance(run.answer, list)
    assert len(run.answer) == ALL
    assert {got for got, _ in run.answer} == {"unknown_model"}
    unsent = [said for _, said in run.answer if said.endswith(UNSENT)]
    assert len(unsent) == ALL - len(sub.requests)
    (note,) = run.notes
    assert note.startswith(NOTE)


@pytest.mark.parametrize(
    ("kind", "words", "good"),
    [
        ("unknown_model", lambda n: "there is none", lambda n: n == 5),  # one has gone well
        ("unknown_model", lambda n: f"no {'abcdefghijklm'[n % 13]!r} here", lambda n: False),
        ("bad_request", lambda n: FLAGGED, lambda n: False),  # another item may be taken
        ("server", lambda n: "broken", lambda n: False),  # which may pass
        ("schema", lambda n: "no JSON", lambda n: False),
    ],
    ids=["one-went-well", "each-its-own", "flagged", "may-pass", "by-item"],
)
def test_failures_that_are_no_rule_end_nothing(
    kind: FailureKind, words: Callable[[int], str], good: Callable[[int], bool]
) -> None:
    sub = failing(kind, words, good)
    run = told(sub)
    assert len(sub.requests) == ALL
    assert run.notes == ()


@pytest.mark.parametrize("flagged", [lambda n: n % 4 == 0, lambda n: n < 8], ids=["a-quarter", "the-first"])
def test_refusals_that_come_faster_than_replies_end_nothing(flagged: Callable[[int], bool]) -> None:
    sub = flagging(flagged)
    run = told(sub)
    assert isinstance(run.answer, list)
    assert len(run.answer) == sum(map(flagged, range(ALL)))
    assert (len(sub.requests), run.notes) == (ALL, ())


@pytest.mark.parametrize("where", ["a cell before", "the root"])
def test_a_model_that_has_answered_once_is_always_asked(where: str) -> None:
    def reply(messages: tuple[Message, ...]) -> str:
        text = messages[-1].text
        if text.startswith("item"):
            raise ModelError("unknown_model", "there is none")
        if text == "hello":
            return "fine"
        turn = sum(message.role == "assistant" for message in messages)
        return [py("x = llm_query('hello')" if where == "a cell before" else "x = 1"), py(BATCH),
                py("submit(len(r))")][turn]  # fmt: skip

    root, sub = (ScriptedModel(reply, name=name) for name in ("scripted:root", "scripted:sub"))
    one = where == "the root"
    run = RLM(root, sub_model=root if one else sub, concurrency=4).run("?", "text")
    assert (run.answer, run.notes) == (ALL, ())
    assert len((root if one else sub).requests) == ALL + (3 if one else 1)


def test_the_next_cell_may_ask_otherwise() -> None:
    def reply(messages: tuple[Message, ...]) -> str:
        if messages[-1].text.startswith("item"):
            raise ModelError("unknown_model", "wrong")
        return "fine"

    sub = ScriptedModel(reply, name="scripted:sub")
    run = told(sub, "r = llm_query_batched(['another', 'way'])\nprint(r)")
    assert run.answer == []
    assert [request.messages[-1].text for request in sub.requests[-2:]] == ["another", "way"]


def test_a_run_that_goes_on_sends_none_of_them_and_says_so(tmp_path: Path) -> None:
    sub = failing("unknown_model", lambda n: "there is none", lambda _: False)
    root = ScriptedModel([py(BATCH), py("print(1)")])
    first = RLM(root, sub_model=sub, concurrency=4, max_turns=2, runs=tmp_path).run("?", "text")
    assert (first.status, first.notes) == ("budget", (NOTE,))
    sent = len(sub.requests)
    on = ScriptedModel([py("submit(len(r))")])
    done = RLM(on, sub_model=sub, concurrency=4, max_turns=5, runs=tmp_path).resume(first.id, "text")
    assert (done.answer, len(sub.requests), done.notes) == (ALL, sent, (NOTE,))


@pytest.mark.parametrize("sound", [True, False])
def test_a_cell_that_was_cut_asks_those_that_were_not_sent(sound: bool) -> None:
    store = MemoryStore()
    sub = failing("unknown_model", lambda n: "there is none", lambda _: False)
    root = ScriptedModel([py(BATCH + "\nsubmit(sum(map(bool, r)))")], name="scripted:root")
    run = RLM(root, sub_model=sub, concurrency=4, store=store).run("?", "text")
    sent, events = len(sub.requests), store.read(run.id)
    last = max(n for n, event in enumerate(events) if isinstance(event, BatchStarted | CallEnded))
    cut = stored(events[: last + 1])
    now = failing("unknown_model", lambda n: "there is none", lambda _: sound)
    done = RLM(root, sub_model=now, concurrency=4, store=cut).resume("r", "text")
    if sound:
        assert (done.answer, len(now.requests), done.notes) == (ALL - sent, ALL - sent, ())
    else:
        assert (done.answer, done.notes) == (0, (NOTE,))
        assert IN_A_ROW <= len(now.requests) < IN_A_ROW + 4


@pytest.mark.parametrize("other", ["unknown_model", "bad_request"])
def test_a_list_is_held_back_where_none_of_its_models_can_serve(other: FailureKind) -> None:
    subs = [failing(kind, lambda n: "wrong", lambda _: False) for kind in (other, "unknown_model")]
    root = ScriptedModel([py(BATCH), py("submit([(f.kind, f.message) for f in r if not f])")])
    run = RLM(root, sub_model=list(subs), concurrency=4).run("?", "text")
    assert isinstance(run.answer, list)
    assert len(run.answer) == ALL
    if other == "bad_request":
        assert len(subs[0].requests) == ALL
        return
    assert all(len(sub.requests) < IN_A_ROW + 4 for sub in subs)
    last = run.answer[-1][1]
    assert last.startswith("every model of the list failed: ")
    assert last.endswith(UNSENT)


async def test_of_calls_one_by_one_only_those_that_failed_are_asked_again(tmp_path: Path) -> None:
    async def asked(sub: ScriptedModel) -> list[bool]:
        calls = SingleCalls(sub, cache=ReplyCache(tmp_path))
        got = await asyncio.gather(*(calls.ask(f"item {n}") for n in range(400)))
        await calls.close()
        return [each.error is None for each in got]

    for sends in (400, 8, 8):
        sub = flagging(lambda n: n < 8)
        assert await asked(sub) == [False] * 8 + [True] * 392
        assert len(sub.requests) == sends


async def test_a_model_that_is_known_to_have_answered_is_asked_for_each(tmp_path: Path) -> None:
    for known, sends in ((False, IN_A_ROW), (True, ALL)):
        if known:
            before = SingleCalls(ScriptedModel(["fine"], name="scripted:sub"), cache=ReplyCache(tmp_path))
            assert (await before.ask("hello")).reply == "fine"
            await before.close()
        model = failing("unknown_model", lambda n: "none", lambda _: False)
        calls = SingleCalls(model, cache=ReplyCache(tmp_path), concurrency=1)
        if known:
            assert (await calls.ask("hello")).cached
        got = [await calls.ask(f"item {n}") for n in range(ALL)]
        assert all(each.error is not None for each in got)
        assert len(model.requests) == sends
        await calls.close()
