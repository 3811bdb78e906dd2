"""The suites through inspect-ai, and a measurement as its logs. inspect-ai itself is run, and reads them."""

from __future__ import annotations

import asyncio
import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("inspect_ai", reason="needs the extra eval")

from inspect_ai.log import EvalLog, list_eval_logs, read_eval_log

from unspool import Budget
from unspool.errors import ConfigError, ModelError
from unspool.evals.inspect_logs import write
from unspool.evals.inspect_tasks import TASKS
from unspool.evals.kept import SAMPLES, Kept, read_samples
from unspool.evals.oracle import Oracle
from unspool.evals.runner import Means, Models, Oracles, Plan, Solver, measure
from unspool.evals.suites import KNOWN, SUITES, chosen
from unspool.testing import ScriptedModel

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def logs(tmp_path_factory: pytest.TempPathFactory) -> dict[str, EvalLog]:
    """What came of each case of inspect_child.py."""
    folder = tmp_path_factory.mktemp("logs")
    command = [sys.executable, "-m", "tests.evals.inspect_child", str(folder)]
    done = subprocess.run(command, capture_output=True, text=True, cwd=ROOT, timeout=300, check=False)
    assert done.returncode == 0, done.stderr
    return {case: read_eval_log(path) for case, path in json.loads(done.stdout.splitlines()[-1]).items()}


# Tasks


def test_the_command_of_inspect_finds_and_runs_a_suite(tmp_path: Path) -> None:
    """By the entry point, in a process that knows nothing of us; with our oracle as ``-T model``."""
    command = [
        sys.executable,
        "-m",
        "inspect_ai",
        "eval",
        "unspool/tracking",
        "-T",
        "sizes=2k",
        "-T",
        "seeds=1",
    ]
    options = ["-T", "model=oracle", "--model", "none", "--display", "plain", "--log-dir", str(tmp_path)]
    done = subprocess.run(
        [*command, *options], capture_output=True, text=True, cwd=tmp_path, timeout=300, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    (info,) = list_eval_logs(str(tmp_path))
    log = read_eval_log(info)
    assert (log.status, log.eval.task_registry_name) == ("success", "unspool/tracking")
    assert log.results is not None
    assert log.results.scores[0].metrics["mean"].value == 1
    assert log.samples is not None
    assert [sample.id for sample in log.samples] == ["chain-2000-1", "chains-2000-1"]
    for sample, ours in zip(log.samples, SUITES["tracking"].make(2_000, seed=1), strict=True):
        assert (sample.input, sample.metadata["context"]) == (ours.question, ours.digest)
        assert (sample.metadata["status"], sample.metadata["turns"]) == ("answered", 2)


def test_calls_of_the_engine_are_calls_of_inspect(logs: dict[str, EvalLog]) -> None:
    log = logs["right"]
    assert (log.status, log.error) == ("success", None)
    assert log.samples is not None
    assert len(log.samples) == 4
    for sample in log.samples:
        assert sample.scores is not None
        score = sample.scores["unspool"]
        assert (score.value, score.explanation, score.answer) == (1.0, "right", sample.target)
        used = sample.model_usage["mockllm/model"]
        assert (used.input_tokens, used.output_tokens) == (200, 20), "a turn, and a sub-call"
        assert sample.metadata["root_input"] == sample.metadata["sub_input"] == 100
        assert [event.event for event in sample.events].count("model") == 2
    assert log.stats.model_usage["mockllm/model"].total_tokens == 4 * 2 * 110


def test_a_wrong_answer_says_what_is_wrong(logs: dict[str, EvalLog]) -> None:
    samples = logs["wrong"].samples
    assert samples is not None
    assert samples[0].scores is not None
    assert samples[0].scores["unspool"].value == 0
    assert samples[0].scores["unspool"].explanation == "wrong"


def test_a_limit_of_inspect_ends_the_sample(logs: dict[str, EvalLog]) -> None:
    samples = logs["limit"].samples
    assert samples is not None
    assert samples[0].limit is not None
    assert samples[0].limit.type == "token"
    assert samples[0].model_usage["mockllm/model"].total_tokens == 330


def test_a_model_that_fails_is_an_error_of_the_sample(logs: dict[str, EvalLog]) -> None:
    log = logs["fails"]
    assert log.status == "error"
    assert log.samples is not None
    assert log.samples[0].error is not None
    assert "the server is gone" in log.samples[0].error.message


def test_every_suite_is_a_task_and_wrong_arguments_are_told() -> None:
    assert list(TASKS) == list(KNOWN)
    with pytest.raises(ConfigError, match="size '8q': give tokens"):
        TASKS["needle"](sizes="8q")
    with pytest.raises(ConfigError, match="there is no task 'nope'"):
        TASKS["needle"](tasks=["number", "nope"])
    with pytest.raises(ConfigError, match="only rlm runs"):
        TASKS["needle"](sizes="2k", seeds=1, model="oracle", strategy="direct")


# Logs


async def measured(folder: Path, solver: Solver, suites: str, seeds: int = 2) -> None:
    plan = Plan(tuple(chosen(suites)), (2_000, 4_000), seeds, ("rlm",))
    with Kept.open(folder, {"usd": None, "unspool": "0.1.0"}, "unspool eval …") as kept:
        await measure(plan, solver, kept, lambda _: None, 2)
    await asyncio.to_thread(solver.close)


async def test_a_measurement_is_read_by_inspect(tmp_path: Path) -> None:
    await measured(tmp_path, Oracles(Oracle(0.8), Means(tmp_path)), "needle,pairs")
    paths = write(tmp_path)
    assert sorted(path.name for path in paths) == sorted(
        f"{suite}_{size}_rlm_oracle-0.8.eval" for suite in ("needle", "pairs") for size in ("2k", "4k")
    )
    assert len(await asyncio.to_thread(list_eval_logs, str(tmp_path / "inspect"))) == 4
    kept = {(r.suite, r.size, f"{r.task}-{r.size}-{r.seed}"): r for r in read_samples(tmp_path)}
    for path in paths:
        log = await asyncio.to_thread(read_eval_log, str(path))
        assert (log.status, log.eval.model) == ("success", "oracle:0.8")
        assert log.samples is not None
        mine = [
            kept.pop((log.eval.task.partition("/")[2], sample.metadata["size"], str(sample.id)))
            for sample in log.samples
        ]
        assert log.results is not None
        assert log.results.scores[0].metrics["mean"].value == pytest.approx(
            sum(r.score for r in mine) / len(mine)
        )
        for sample, record in zip(log.samples, mine, strict=True):
            assert sample.scores is not None
            assert sample.scores["unspool"].value == record.score
            assert (sample.input, sample.metadata["context"]) == (record.question, record.context)
            assert record.root_input is not None
            assert sample.role_usage["root"].input_tokens == record.root_input
            assert sample.model_usage["oracle:0.8"].input_tokens == record.root_input + (
                record.sub_input or 0
            )
            assert sample.metadata["run"] == record.run
            assert sample.error is None
    assert kept == {}


async def test_what_failed_and_what_is_unknown_stay_so_in_the_log(tmp_path: Path) -> None:
    gone = ScriptedModel(lambda _: ModelError("auth", "the key was refused"), name="openai:gone")
    await measured(tmp_path, Models(gone, gone, Means(tmp_path, Budget())), "tracking", seeds=1)
    silent = ScriptedModel(
        lambda _: "```python\nprint(1)\nsubmit(['A'])\n```", name="openai:silent", usage=None, cost=None
    )
    await measured(tmp_path, Models(silent, silent, Means(tmp_path, Budget())), "tracking", seeds=1)
    for path in write(tmp_path):
        log = await asyncio.to_thread(read_eval_log, str(path))
        assert log.samples is not None
        for sample in log.samples:
            assert (sample.model_usage, sample.role_usage) == ({}, {})
            if "gone" in path.name:
                assert sample.error is not None
                assert "the key was refused" in sample.error.message
            else:
                assert sample.error is None
                assert sample.metadata["cost"] is None
        assert log.stats.model_usage == {}


async def test_models_whose_names_look_alike_have_logs_of_their_own(tmp_path: Path) -> None:
    for name in ("local:мо", "local:на", "openai:" + "a" * 300):
        model = ScriptedModel(lambda _: "```python\nsubmit(['A'])\n```", name=name)
        await measured(tmp_path, Models(model, model, Means(tmp_path, Budget())), "tracking", seeds=1)
    paths = write(tmp_path)
    assert len(set(paths)) == 2 * 3
    models = [
        (await asyncio.to_thread(read_eval_log, str(path), header_only=True)).eval.model for path in paths
    ]
    assert len(set(models)) == 3


async def test_written_again_it_is_the_same(tmp_path: Path) -> None:
    await measured(tmp_path, Oracles(Oracle(), Means(tmp_path)), "tracking", seeds=1)
    first = [
        (await asyncio.to_thread(read_eval_log, str(path))).model_dump_json() for path in write(tmp_path)
    ]
    again = [
        (await asyncio.to_thread(read_eval_log, str(path))).model_dump_json() for path in write(tmp_path)
    ]
    volatile = re.compile(r'"(id|uuid|message_id)":"[^"]*"')
    assert [volatile.sub("", each) for each in first] == [volatile.sub("", each) for each in again]
    assert len(list((tmp_path / "inspect").iterdir())) == 2
    (tmp_path / SAMPLES).write_bytes(b"")
    with pytest.raises(ConfigError, match="holds no sample yet"):
        write(tmp_path)


async def test_writing_logs_under_a_running_loop_leaves_asyncio_as_it_is(tmp_path: Path) -> None:
    """inspect-ai patches it there, and loops are left open from then on."""
    await measured(tmp_path, Oracles(Oracle(), Means(tmp_path)), "tracking", seeds=1)
    assert len(write(tmp_path)) == 2
    assert asyncio.run.__module__ == "asyncio.runners"


def test_the_command_writes_them_and_says_where(tmp_path: Path) -> None:
    def shell(*words: str) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-m", "unspool", "eval", *words]
        return subprocess.run(command, capture_output=True, text=True, cwd=tmp_path, timeout=300, check=False)

    asked = shell("tracking", "--model", "oracle", "--sizes", "2k", "--seeds", "1", "--out", "out", "-q")
    assert asked.returncode == 0, asked.stderr
    done = shell("inspect", "out")
    assert (done.returncode, done.stdout) == (0, "out/inspect/tracking_2k_rlm_oracle.eval\n"), done.stderr
    dumped = subprocess.run(
        [sys.executable, "-m", "inspect_ai", "log", "dump", str(tmp_path / done.stdout.strip())],
        capture_output=True, text=True, timeout=300, check=True,
    )  # fmt: skip
    assert json.loads(dumped.stdout)["eval"]["task"] == "unspool/tracking"
    assert shell("inspect", "nowhere").returncode == 2
