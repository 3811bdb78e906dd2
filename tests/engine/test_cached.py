"""Sub-calls with the cache on: sent once, paid once, and told apart; against a server's own account."""

from __future__ import annotations

from pathlib import Path

import pytest

from unspool import Budget, Usage
from unspool.testing import Ask, Behaviour, FaultyServer, ScriptedModel

from .helpers import play, py
from .served import PRICE, accounts_agree, engine_at


def serve(code: str, **known: Behaviour | str) -> FaultyServer:
    """Every root turn runs ``code``; a sub-call gets the number of its request, or what is known for it."""
    asked = 0

    def script(ask: Ask) -> Behaviour | str:
        nonlocal asked
        if ask.body["model"] == "root":
            return py(f"{code}\nprint(1)\nsubmit(r)")
        asked += 1
        return known.get(ask.prompt, f"reply {asked}")

    return FaultyServer(script)


def sub_asks(server: FaultyServer) -> list[str]:
    return [ask.prompt for ask in server.asks if ask.body["model"] == "sub"]


TWICE = "r = [llm_query('a'), llm_query('a')]"


def test_the_same_prompt_twice_is_two_calls_by_default() -> None:
    with serve(TWICE) as server:
        run = engine_at(server).run("q", "c")
    assert run.answer == ["reply 1", "reply 2"]
    assert run.reused == Usage()


def test_and_one_with_the_cache_in_this_run_and_none_in_the_next(tmp_path: Path) -> None:
    with serve(TWICE) as server:
        run = engine_at(server, cache=tmp_path).run("q", "c")
        assert run.answer == ["reply 1", "reply 1"]
        assert [c.cached for c in run.trace.turns[0].cells[0].sub_calls] == [False, True]
        accounts_agree(run, server)
        paid = run.ledger[1].cost
        again = engine_at(server, cache=tmp_path).run("q", "c")
    assert sub_asks(server) == ["a"]
    assert again.answer == ["reply 1", "reply 1"]
    line = next(line for line in again.ledger if line.role == "sub")
    assert (line.usage, line.cost) == (Usage(), 0.0)
    assert again.reused == line.reused
    assert again.reused.calls == 2
    assert paid is not None
    assert again.reused_cost == pytest.approx(2 * paid)
    assert again.cost == pytest.approx(PRICE.of(again.usage))
    assert again.usage.calls == 1
    assert again.sub_calls == 2


def test_a_cell_that_was_rolled_back_and_runs_again_is_paid_for_once() -> None:
    ask = "r = llm_query_batched(['a', 'b', 'a']) + [llm_query('c'), llm_query('c')]\n"
    replies = [py(ask + "import os\nos._exit(3)"), py(ask + "print(r)"), py("submit(r + [llm_query('a')])")]
    number = 0

    def script(asked: Ask) -> Behaviour | str:
        nonlocal number
        if asked.body["model"] == "root":
            return replies.pop(0)
        number += 1
        return f"reply {number}"

    with FaultyServer(script) as server:
        run = engine_at(server, concurrency=1).run("q", "c")
    assert [cell.outcome for turn in run.trace.turns for cell in turn.cells][:2] == ["rolled_back", "ok"]
    assert run.answer == [f"reply {n}" for n in (1, 2, 3, 4, 5, 6)]
    assert sub_asks(server) == ["a", "b", "a", "c", "c", "a"]
    assert run.reused.calls == 5
    accounts_agree(run, server)


def test_equal_items_of_a_batch_are_samples_of_their_own(tmp_path: Path) -> None:
    with serve("r = llm_query_batched(['a', 'b', 'a'], model='openai:sub')") as server:
        first = engine_at(server, cache=tmp_path, concurrency=1).run("q", "c")
        second = engine_at(server, cache=tmp_path, concurrency=1).run("q", "c")
    assert first.answer == second.answer == ["reply 1", "reply 2", "reply 3"]
    assert sub_asks(server) == ["a", "b", "a"]


def test_a_schema_and_its_second_try_are_kept_as_one(tmp_path: Path) -> None:
    sub = ScriptedModel(["three", "3", "5"], name="scripted:sub", cost=0.5)
    code = py("r = llm_query('n?', schema=int)\nprint(1)\nsubmit(r)")
    for paid, reused in ((1.0, 0.0), (0.0, 1.0)):
        run, _ = play([code], sub=sub, cache=tmp_path)
        assert (run.answer, run.cost, run.reused_cost) == (3, paid, reused)
    other = py("r = llm_query('n?', schema={'type': 'integer', 'minimum': 4})\nprint(1)\nsubmit(r)")
    run, _ = play([other], sub=sub, cache=tmp_path)
    assert (run.answer, run.cost, run.reused_cost) == (5, 0.5, 0.0)


def test_labels_are_kept_too(tmp_path: Path) -> None:
    sub = ScriptedModel(lambda m: "good" if "love" in m[-1].text else "bad", name="scripted:sub")
    code = py("r = classify(['I love it', 'awful'], ['good', 'bad'])\nprint(1)\nsubmit(r)")
    for _ in range(2):
        run, _ = play([code], sub=sub, cache=tmp_path)
        assert run.answer == ["good", "bad"]
    assert len(sub.requests) == 2


def test_what_failed_is_asked_again(tmp_path: Path) -> None:
    code = "r = [x.kind if not x else x for x in llm_query_batched(['bad', 'cut', 'fine'])]"
    known = {"bad": Behaviour(status=400), "cut": Behaviour("half", finish="length"), "fine": "yes"}
    with serve(code, **known) as server:
        for _ in range(2):
            run = engine_at(server, cache=tmp_path).run("q", "c")
            assert run.answer == ["bad_request", "half", "yes"]
    assert sorted(sub_asks(server)) == ["bad", "bad", "cut", "cut", "fine"]


def test_another_server_under_the_same_name_is_another_model(tmp_path: Path) -> None:
    answers = []
    for word in ("one", "two"):
        with serve("r = llm_query('a')", a=word) as server:
            answers.append(engine_at(server, cache=tmp_path).run("q", "c").answer)
    assert answers == ["one", "two"]


def test_a_reply_from_the_cache_takes_nothing_from_the_budget(tmp_path: Path) -> None:
    with serve("r = llm_query_batched(['a', 'b', 'c'])") as server:
        engine_at(server, cache=tmp_path).run("q", "c")
        run = engine_at(server, cache=tmp_path, budget=Budget(calls=0)).run("q", "c")
    assert (run.status, len(sub_asks(server))) == ("answered", 3)


def test_a_cache_that_cannot_be_used_is_said_and_fails_nothing(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    with serve(TWICE) as server:
        run = engine_at(server, cache=tmp_path / "file" / "x").run("q", "c")
    assert run.answer == ["reply 1", "reply 2"]
    assert "the cache of replies could not be used" in run.notes[0]
    assert "Not a directory" in run.notes[0]


def test_runs_at_the_same_time_share_it(tmp_path: Path) -> None:
    from concurrent.futures import ThreadPoolExecutor

    code = "r = [x.split()[0] for x in llm_query_batched([f'p{i}' for i in range(50)])]"
    with serve(code) as server:
        engine = engine_at(server, cache=tmp_path)
        with ThreadPoolExecutor(4) as pool:
            runs = list(pool.map(lambda _: engine.run("q", "c"), range(4)))
        asked = len(sub_asks(server))
        last = engine.run("q", "c")
    assert all(run.answer == ["reply"] * 50 and run.notes == () for run in [*runs, last])
    assert 50 <= asked <= 200
    assert last.reused.calls == 50
    assert sum(run.usage.calls for run in runs) == asked + 4
