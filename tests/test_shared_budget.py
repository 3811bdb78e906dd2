"""A budget in a file: what several processes spend together is never above it."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from unspool import Budget, ConfigError
from unspool.budget import Amount, Block
from unspool.errors import ModelError
from unspool.models.protocol import Price
from unspool.shared_budget import SharedBudget
from unspool.single import Single, SingleCalls
from unspool.testing import ScriptedModel
from unspool.types import Usage


def told(path: Path) -> Any:
    return json.loads(path.read_text())


def ask_all(calls: SingleCalls, *prompts: str) -> list[Single]:
    async def ask() -> list[Single]:
        await calls.ready()
        return list(await asyncio.gather(*(calls.ask(prompt) for prompt in prompts)))

    return asyncio.run(ask())


def kinds(results: list[Single]) -> list[str]:
    return [each.error.kind if each.error is not None else "ok" for each in results]


def test_what_calls_took_is_in_the_file(tmp_path: Path) -> None:
    path = tmp_path / "b.json"
    model = ScriptedModel(lambda _: "yes", usage=Usage(1, 100, 10), cost=Price(read=0.001, written=0.001))
    calls = SingleCalls(model, budget=SharedBudget(path, Budget(usd=20)))
    assert kinds(ask_all(calls, "a", "b")) == ["ok", "ok"]
    assert told(path)["spent"] == {"calls": 2, "tokens": 220, "usd": pytest.approx(0.22)}
    assert told(path)["held"] == {}
    assert told(path)["limits"]["usd"] == 20
    assert path.stat().st_mode & 0o777 == 0o600


def test_a_call_that_tells_no_usage_is_marked_as_such(tmp_path: Path) -> None:
    path = tmp_path / "b.json"
    silent = ScriptedModel(lambda _: "yes", usage=Usage(1, calls_unmeasured=1))
    ask_all(SingleCalls(silent, budget=SharedBudget(path, Budget(calls=9))), "a", "b")
    spent = told(path)["spent"]
    assert (spent["calls"], spent["unmeasured"]) == (2, 2)
    assert spent["tokens"] > 2 * 8_192  # the most that they may have taken: a limit would count that
    measured = ScriptedModel(lambda _: "yes", usage=Usage(1, 100, 10))
    ask_all(SingleCalls(measured, budget=SharedBudget(path)), "a")
    assert told(path)["spent"]["unmeasured"] == 2
    assert told(path)["spent"]["tokens"] == spent["tokens"] + 110


def test_a_call_that_tells_its_usage_is_measured_where_its_price_is_not_known(tmp_path: Path) -> None:
    path = tmp_path / "b.json"
    unpriced = ScriptedModel(lambda _: "yes", usage=Usage(1, 100, 10), cost=None)
    ask_all(SingleCalls(unpriced, budget=SharedBudget(path, Budget(calls=9))), "a", "b")
    assert told(path)["spent"] == {"calls": 2, "tokens": 220, "usd": None}


def test_a_call_of_a_known_price_that_tells_no_usage_spends_the_most_and_the_next_goes_on(
    tmp_path: Path,
) -> None:
    path = tmp_path / "b.json"
    silent = ScriptedModel(
        lambda _: "yes", usage=Usage(1, calls_unmeasured=1), cost=Price(read=1e-6, written=1e-6)
    )
    for _ in range(2):
        assert kinds(ask_all(SingleCalls(silent, budget=SharedBudget(path, Budget(usd=1))), "a")) == ["ok"]
    spent = told(path)["spent"]
    assert spent["unmeasured"] == 2
    assert spent["usd"] == pytest.approx(spent["tokens"] / 1e6)
    full = SharedBudget(path, Budget(usd=spent["usd"]))
    assert kinds(ask_all(SingleCalls(silent, budget=full), "b")) == ["budget"]


def test_the_file_is_one_line_however_often_it_is_written(tmp_path: Path) -> None:
    path = tmp_path / "b.json"
    calls = SingleCalls(ScriptedModel(lambda _: "yes"), budget=SharedBudget(path, Budget(calls=9)))
    ask_all(calls, "a", "b", "c")
    text = path.read_text()
    assert text.endswith("\n")
    assert len(text.splitlines()) == 1
    ask_all(calls, "d")
    assert len(path.read_text()) == len(text)


def test_a_limit_holds_over_engines_and_a_greater_one_goes_on(tmp_path: Path) -> None:
    path = tmp_path / "b.json"
    model = ScriptedModel(lambda _: "yes")
    assert kinds(ask_all(SingleCalls(model, budget=SharedBudget(path, Budget(calls=2))), "a", "b", "c")) == [
        "ok",
        "ok",
        "budget",
    ]
    (over,) = ask_all(SingleCalls(model, budget=SharedBudget(path)), "d")
    assert over.error is not None
    assert "the limit of 2 sub-calls of b.json" in over.error.message
    assert kinds(ask_all(SingleCalls(model, budget=SharedBudget(path, Budget(calls=3))), "e", "f")) == [
        "ok",
        "budget",
    ]
    assert len(model.requests) == 3


def test_the_worst_case_is_held_while_a_call_is_under_way(tmp_path: Path) -> None:
    path = tmp_path / "b.json"
    held: list[Any] = []

    def look(_: object) -> str:
        held.append(told(path)["held"])
        return "yes"

    model = ScriptedModel(look, usage=Usage(1, 5, 5))
    ask_all(SingleCalls(model, budget=SharedBudget(path, Budget(tokens=2_000))), "a")
    ((amount,),) = [list(each.values()) for each in held]
    assert amount["calls"] == 1
    assert 1_000 < amount["tokens"] <= 2_000
    assert model.requests[0].max_tokens is not None
    assert model.requests[0].max_tokens < 2_000
    assert told(path)["spent"]["tokens"] == 10


def test_a_call_waits_for_what_others_hold(tmp_path: Path) -> None:
    file = SharedBudget(tmp_path / "b.json", Budget(calls=1))
    ticket = file.hold(Amount(calls=1))
    assert isinstance(ticket, str)
    blocked = file.hold(Amount(calls=1))
    assert isinstance(blocked, Block)
    assert blocked.passes

    async def both() -> Single:
        asking = asyncio.create_task(SingleCalls(ScriptedModel(["yes"]), budget=file).ask("a"))
        await asyncio.sleep(0.05)
        file.settle(ticket, Amount())
        return await asking

    assert asyncio.run(both()).reply == "yes"


def test_what_was_refused_is_free_and_what_may_have_been_served_counts(tmp_path: Path) -> None:
    path = tmp_path / "b.json"
    model = ScriptedModel([ModelError("bad_request", "no"), ModelError("timeout", "?", retryable=False)])
    calls = SingleCalls(model, budget=SharedBudget(path, Budget(calls=5, tokens=20_000)))
    assert kinds(ask_all(calls, "a")) == ["bad_request"]
    assert told(path)["spent"] == {"calls": 0, "tokens": 0, "usd": 0.0}
    assert kinds(ask_all(calls, "b")) == ["timeout"]
    assert told(path)["spent"]["calls"] == 1
    assert told(path)["spent"]["tokens"] > 256


def test_a_call_that_is_cancelled_counts_as_its_worst_case(tmp_path: Path) -> None:
    path = tmp_path / "b.json"
    model = ScriptedModel(["yes"], latency=30)

    async def cancelled() -> None:
        calls = SingleCalls(model, budget=SharedBudget(path, Budget(calls=5)))
        asking = asyncio.create_task(calls.ask("a"))
        while not model.requests:  # noqa: ASYNC110
            await asyncio.sleep(0.01)
        asking.cancel()
        await asyncio.gather(asking, return_exceptions=True)

    asyncio.run(cancelled())
    assert told(path)["spent"]["calls"] == 1
    assert told(path)["held"] == {}


def test_a_wrong_key_ends_it(tmp_path: Path) -> None:
    model = ScriptedModel([ModelError("auth", "the key is wrong")])
    calls = SingleCalls(model)
    assert kinds(ask_all(calls, "a")) == ["auth"]
    assert kinds(ask_all(calls, "b", "c")) == ["auth", "auth"]
    assert len(model.requests) == 1


def test_a_limit_in_dollars_needs_a_price(tmp_path: Path) -> None:
    calls = SingleCalls(ScriptedModel(["yes"], cost=None), budget=SharedBudget(tmp_path / "b", Budget(usd=1)))
    with pytest.raises(ConfigError, match="price of scripted:model is not known"):
        ask_all(calls, "a")


def test_dollars_that_are_not_known_are_null_and_no_limit_in_dollars_is_taken_any_more(
    tmp_path: Path,
) -> None:
    path = tmp_path / "b.json"
    calls = SingleCalls(ScriptedModel(["yes"], cost=None), budget=SharedBudget(path, Budget(calls=5)))
    ask_all(calls, "a")
    assert told(path)["spent"]["usd"] is None
    with pytest.raises(ConfigError, match="a limit in dollars cannot be kept: name another file"):
        SharedBudget(path, Budget(usd=1))
    assert told(path)["limits"]["usd"] is None
    assert isinstance(SharedBudget(path).hold(Amount(calls=1)), str)


@pytest.mark.parametrize(
    "content",
    [
        "hello",
        "{}",
        "[]",
        "[" * 100_000,
        "9" * 5000,
        '{"unspool_budget": 2}',
        '{"unspool_budget": 1, "limits": {"usd": "x", "tokens": null, "calls": null}, "spent": {}, "held": {}}',
        '{"unspool_budget": 1, "limits": {"usd": 1, "tokens": null, "calls": null}, "spent": {"usd": -1, '
        '"tokens": 0, "calls": 0}, "held": {}}',
    ],
    ids=range(8),
)
def test_another_file_is_left_alone(tmp_path: Path, content: str) -> None:
    path = tmp_path / "notes.txt"
    path.write_text(content)
    with pytest.raises(ConfigError, match="is no budget of unspool's: name another file"):
        SharedBudget(path, Budget(calls=1))
    assert path.read_text() == content


def test_what_cannot_be_a_budget_is_said(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="has no limit yet: give --usd"):
        SharedBudget(tmp_path / "b.json")
    with pytest.raises(ConfigError, match="cannot be used as a budget: Is a directory"):
        SharedBudget(tmp_path, Budget(calls=1))
    with pytest.raises(ConfigError, match="cannot be used as a budget: No such file"):
        SharedBudget(tmp_path / "no" / "b.json", Budget(calls=1))


SPEND = """
import sys
from unspool.budget import Amount, Budget
from unspool.shared_budget import SharedBudget
file, took = SharedBudget(sys.argv[1], Budget(tokens=int(sys.argv[2]))), 0
for _ in range(100):
    ticket = file.hold(Amount(1, 10))
    if isinstance(ticket, str):
        file.settle(ticket, Amount(1, 7))
        took += 7
print(took)
"""


def test_many_processes_together_never_go_over_it(tmp_path: Path) -> None:
    path, limit = tmp_path / "b.json", 2_000
    processes = [
        subprocess.Popen(
            [sys.executable, "-c", SPEND, str(path), str(limit)], stdout=subprocess.PIPE, text=True
        )
        for _ in range(4)
    ]
    took = [int(process.communicate(timeout=60)[0]) for process in processes]
    assert sum(took) == told(path)["spent"]["tokens"]
    assert limit - 4 * 10 < sum(took) <= limit


DIE = """
import os, sys
from unspool.budget import Amount, Budget
from unspool.shared_budget import SharedBudget
SharedBudget(sys.argv[1], Budget(calls=2)).hold(Amount(calls=1))
print("held", flush=True)
sys.stdin.read()
"""


def test_what_a_killed_process_held_is_spent(tmp_path: Path) -> None:
    path = tmp_path / "b.json"
    process = subprocess.Popen(
        [sys.executable, "-c", DIE, str(path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    assert process.stdin is not None
    assert process.stdout.readline() == "held\n"
    assert len(told(path)["held"]) == 1
    os.kill(process.pid, signal.SIGKILL)
    process.wait()
    process.stdin.close()
    process.stdout.close()
    file = SharedBudget(path)
    assert isinstance(file.hold(Amount(calls=1)), str)
    blocked = file.hold(Amount(calls=1))
    assert isinstance(blocked, Block)
    assert told(path)["spent"]["calls"] == 1


def test_of_many_calls_of_one_process_it_is_asked_once_whether_it_lives(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "b.json"
    shared = SharedBudget(path, Budget(calls=10_000))
    for _ in range(40):
        assert isinstance(shared.hold(Amount(calls=1)), str)
    held = json.loads(path.read_text())
    pid, began, _ = next(iter(held["held"])).split(":")
    own = {f"{pid}:{began}:{number}": amount for number, amount in enumerate(held["held"].values())}
    gone = {f"{2**22 + 1}:1:{number}": {"calls": 1, "tokens": 0, "usd": 0.0} for number in range(40)}
    path.write_text(json.dumps({**held, "held": {**own, **gone}}))
    looked = []
    read = Path.read_text

    def counted(file: Path, *args: Any, **kwargs: Any) -> str:
        looked.append(str(file))
        return read(file, *args, **kwargs)

    monkeypatch.setattr(Path, "read_text", counted)
    assert shared.free()["calls"] == 10_000 - 80
    assert len([name for name in looked if name.startswith("/proc/")]) <= 1
    shared.settle(f"{pid}:{began}:0", Amount(calls=1))
    monkeypatch.undo()
    assert (told(path)["spent"]["calls"], len(told(path)["held"])) == (41, 39)
