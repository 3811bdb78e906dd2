"""The runner: each sample once, kept when it has ended, gone on with where it was stopped."""

from __future__ import annotations

import asyncio
import json
import re
import subprocess
import sys
import threading
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from unspool import Budget
from unspool.errors import ConfigError, ModelError
from unspool.evals.kept import SAMPLES, Kept, read_samples
from unspool.evals.oracle import Oracle
from unspool.evals.record import Record
from unspool.evals.runner import Means, Models, Oracles, Plan, Solver, measure
from unspool.evals.suites import chosen
from unspool.models.protocol import Message
from unspool.testing import ScriptedModel

SIZE = 2_000
NO_LIMIT = Budget()


def plan(suites: str = "needle", *, seeds: int = 2, tasks: tuple[str, ...] = ()) -> Plan:
    return Plan(tuple(chosen(suites)), (SIZE,), seeds, ("rlm",), tasks)


def finds(messages: Sequence[Message]) -> str:
    """A root that answers any needle question."""
    return (
        "```python\nimport re\nname = re.search('access code of the (.*)[?]', "
        f"{messages[-1].text.splitlines()[-1]!r})[1]\n"
        "print(name)\nsubmit(re.search(f'code of the {name} is (\\\\w+)', context)[1])\n```"
    )


async def go(
    folder: Path, model: ScriptedModel, asked: Plan, *, jobs: int = 1, budget: Budget = NO_LIMIT
) -> list[Record]:
    """One measurement; what was new in it."""
    new: list[Record] = []
    solver: Solver = Models(model, model, Means(folder, budget))
    with Kept.open(folder, {"usd": budget.usd}, "unspool eval …") as kept:
        await measure(asked, solver, kept, new.append, jobs)
    await asyncio.to_thread(solver.close)
    return new


async def test_a_reason_that_is_no_whole_text_is_kept_all_the_same(tmp_path: Path) -> None:
    broken = ScriptedModel(lambda _: ModelError("auth", "half \ud800"), name="openai:broken")
    solver = Models(broken, broken, Means(tmp_path, Budget()))
    with Kept.open(tmp_path, {"usd": None, "unspool": "0.1.0"}, "unspool eval …") as kept:
        await measure(plan(seeds=1), solver, kept, lambda _: None, 1)
    await asyncio.to_thread(solver.close)
    assert {"half ?" in record.reason for record in read_samples(tmp_path)} == {True}


async def test_every_sample_is_asked_once_and_kept(tmp_path: Path) -> None:
    model = ScriptedModel(finds)
    new = await go(tmp_path, model, plan())
    assert [(record.task, record.seed) for record in new] == [
        (task, seed) for seed in (1, 2) for task in ("number", "word", "among")
    ]
    assert {record.score for record in new} == {1.0}
    assert read_samples(tmp_path) == new
    first = new[0]
    assert (first.model, first.turns, first.sub_calls, first.status) == ("scripted:model", 1, 0, "answered")
    assert first.root_input is not None
    assert first.root_input > 100
    assert (first.sub_input, first.cost) == (0, 0.0)
    assert (tmp_path / "runs" / first.run).is_dir()


async def test_what_is_kept_is_not_paid_again(tmp_path: Path) -> None:
    model = ScriptedModel(finds)
    await go(tmp_path, model, plan(seeds=1))
    assert len(model.requests) == 3
    new = await go(tmp_path, model, plan(seeds=2))
    assert {record.seed for record in new} == {2}
    assert len(model.requests) == 6
    assert await go(tmp_path, model, plan(seeds=2)) == []
    assert len(read_samples(tmp_path)) == 6


async def test_a_line_that_was_cut_is_asked_again(tmp_path: Path) -> None:
    model = ScriptedModel(finds)
    await go(tmp_path, model, plan(seeds=1))
    path = tmp_path / SAMPLES
    path.write_bytes(path.read_bytes()[:-40])
    assert len(read_samples(tmp_path)) == 2
    new = await go(tmp_path, model, plan(seeds=1))
    assert [record.task for record in new] == ["among"]
    assert [record.task for record in read_samples(tmp_path)] == ["number", "word", "among"]


FULL = """
import resource, sys
from dataclasses import replace
from pathlib import Path
from unspool.errors import ConfigError
from unspool.evals.kept import SAMPLES, Kept, read_samples

(first,), folder = read_samples(Path(sys.argv[1])), Path(sys.argv[2])
with Kept.open(folder, {}, "unspool eval ...") as kept:
    kept.add(first)
    whole = (folder / SAMPLES).stat().st_size
try:
    with Kept.open(folder, {}, "unspool eval ...") as kept:
        hard = resource.getrlimit(resource.RLIMIT_FSIZE)[1]
        resource.setrlimit(resource.RLIMIT_FSIZE, (whole + int(sys.argv[3]), hard))
        kept.add(replace(first, seed=2))
except ConfigError as error:
    print(error)
assert (folder / SAMPLES).stat().st_size == whole
resource.setrlimit(resource.RLIMIT_FSIZE, (hard, hard))
with Kept.open(folder, {}, "unspool eval ...") as kept:
    assert len(kept.done) == 1
    kept.add(replace(first, seed=2))
assert len(read_samples(folder)) == 2
"""


@pytest.mark.parametrize("room", [0, 1, 100])
async def test_a_full_disk_is_told_and_leaves_whole_lines(room: int, tmp_path: Path) -> None:
    await go(tmp_path / "from", ScriptedModel(finds), plan(seeds=1, tasks=("word",)))
    told = await asyncio.to_thread(
        subprocess.run,
        [sys.executable, "-c", FULL, str(tmp_path / "from"), str(tmp_path / "to"), str(room)],
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert (told.returncode, told.stderr) == (0, "")
    assert "cannot be written (File too large): name another folder" in told.stdout


async def test_what_no_model_replied_to_is_asked_again(tmp_path: Path) -> None:
    """A server that was not there is no measurement; what was paid for and failed is one."""
    dead = ScriptedModel(
        lambda _: ModelError("bad_request", "the model is not there", model="scripted:model")
    )
    (record,) = await go(tmp_path, dead, plan(seeds=1, tasks=("number",)))
    assert (record.status, record.score, record.paid) == ("failed", 0.0, False)
    assert record.failure.startswith("failed: ")
    (record,) = await go(tmp_path, ScriptedModel(finds), plan(seeds=1, tasks=("number",)))
    assert record.score == 1
    assert read_samples(tmp_path) == [record]

    silent = ScriptedModel(lambda _: "I do not write code.")
    (record,) = await go(tmp_path, silent, plan(seeds=1, tasks=("word",)))
    assert (record.status, record.paid, record.kind) == ("failed", True, "none")
    assert await go(tmp_path, silent, plan(seeds=1, tasks=("word",))) == []


async def test_at_most_so_many_at_once(tmp_path: Path) -> None:
    model = ScriptedModel(finds, latency=0.05)
    new = await go(tmp_path, model, plan("needle", seeds=4), jobs=3)
    assert len(new) == 12
    assert 2 <= model.peak <= 3


async def test_cancelling_keeps_what_has_ended(tmp_path: Path) -> None:
    waits = threading.Event()

    async def reply(messages: tuple[Message, ...]) -> str:
        if len(model.requests) > 2:
            waits.set()
            await asyncio.Event().wait()
        return finds(messages)

    model = ScriptedModel(reply)
    task = asyncio.create_task(go(tmp_path, model, plan(seeds=2)))
    assert await asyncio.to_thread(waits.wait, 30)  # it is set on the engine's own loop
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert len(read_samples(tmp_path)) == 2
    assert model.cancelled == 1
    assert len(await go(tmp_path, ScriptedModel(finds), plan(seeds=2))) == 4


async def test_limits_are_of_each_sample(tmp_path: Path) -> None:
    costly = ScriptedModel(lambda _: "```python\nprint(1)\n```", cost=0.4)
    new = await go(tmp_path, costly, plan(seeds=1), budget=Budget(usd=1.0))
    assert [record.status for record in new] == ["budget"] * 3
    assert all(record.cost is not None and record.cost <= 1.0 for record in new)
    assert new[0].failure == "budget: the limit of N of the run was reached" or new[0].failure.startswith(
        "budget: "
    )


async def test_a_wrong_setting_stops_all_of_it(tmp_path: Path) -> None:
    unpriced = ScriptedModel(finds, cost=None)
    with pytest.raises(ConfigError, match="price"):
        await go(tmp_path, unpriced, plan(), budget=Budget(usd=1.0))
    assert read_samples(tmp_path) == []


async def test_what_is_not_known_stays_unknown(tmp_path: Path) -> None:
    (record,) = await go(
        tmp_path, ScriptedModel(finds, cost=None, usage=None), plan(seeds=1, tasks=("number",))
    )
    assert (record.root_input, record.root_output, record.cost) == (None, None, None)
    assert (record.sub_input, record.sub_calls) == (0, 0)


async def test_strategies_answer_the_same_samples(tmp_path: Path) -> None:
    """Direct sees the text and answers in words; the others write code."""

    def reply(messages: Sequence[Message]) -> str:
        if "REPL" in messages[0].text:
            return finds(messages)
        return re.findall(r"access code of the .* is (\w+)\.", messages[-1].text)[0]

    asked = replace(plan(seeds=1, tasks=("number",)), strategies=("rlm", "no_subcalls", "direct"))
    new = await go(tmp_path, ScriptedModel(reply), asked)
    assert [(record.strategy, record.score) for record in new] == [
        ("rlm", 1.0), ("no_subcalls", 1.0), ("direct", 1.0),
    ]  # fmt: skip
    assert len({record.context for record in new}) == 1
    rlm, _, direct = new
    assert rlm.root_input is not None
    assert direct.root_input is not None
    assert direct.root_input > rlm.root_input


async def test_the_oracle_has_an_engine_for_each_sample(tmp_path: Path) -> None:
    new: list[Record] = []
    solver = Oracles(Oracle(), Means(tmp_path))
    with Kept.open(tmp_path, {}, "unspool eval …") as kept:
        await measure(plan("oolong,hops", seeds=1), solver, kept, new.append, 2)
    assert {record.score for record in new} == {1.0}
    assert len(new) == 14


def test_a_folder_holds_what_was_asked_in_one_way(tmp_path: Path) -> None:
    with Kept.open(tmp_path, {"seconds": 60.0}, "one"):
        pass
    with pytest.raises(ConfigError, match=r"asked in another way \(seconds is 60.0, not None\)"):
        Kept.open(tmp_path, {"seconds": None}, "two")
    with Kept.open(tmp_path, {"seconds": 60.0}, "two"):
        pass
    assert json.loads((tmp_path / "eval.json").read_text())["commands"] == ["one", "two"]


def test_one_process_writes_at_a_time(tmp_path: Path) -> None:
    with Kept.open(tmp_path, {}, ""), pytest.raises(ConfigError, match="another unspool eval writes there"):
        Kept.open(tmp_path, {}, "")


def test_what_is_no_folder_of_a_measurement_is_told(tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.write_text("x")
    with pytest.raises(ConfigError, match="cannot be written"):
        Kept.open(file, {}, "")
    with pytest.raises(ConfigError, match="cannot be read"):
        read_samples(tmp_path)
    (tmp_path / SAMPLES).write_text('{"suite": "needle"}\n')
    with pytest.raises(ConfigError, match="line 1: no sample"):
        read_samples(tmp_path)
    (tmp_path / "eval.json").write_text("[]")
    (tmp_path / SAMPLES).write_text("")
    with pytest.raises(ConfigError, match=r"eval.json cannot be read"):
        Kept.open(tmp_path, {}, "")


def test_tasks_and_sizes_that_are_not_there_are_told() -> None:
    with pytest.raises(ConfigError, match=r"there is no task 'nope'.*among, number, word"):
        plan(tasks=("nope",))
    with pytest.raises(ConfigError, match="code cannot be made of 2k tokens: 8k at least"):
        plan("needle,code")
    asked = plan("needle,logs", tasks=("word", "blocks"))
    assert asked.total == 4
    assert replace(asked, sizes=(2_000, 4_000)).total == 8
