"""The suites as tasks of inspect-ai: ``inspect eval unspool/needle -T sizes=8k -T seeds=1 --model …``.

Contract: inspect loads this module by its entry point, so it may import it. A task is our samples, a solver
that asks an engine, and our score; nothing is run or kept here. ``--model`` (and ``--model-role sub=…``) is
inspect's: the engine's calls are then inspect's calls, with its usage, limits and cache. ``-T model=…`` is
one of ours instead, ``oracle`` too; its usage is in the sample's metadata. The input is in no log: it follows
from the suite, size and seed in the metadata.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Sequence
from dataclasses import asdict
from functools import lru_cache
from pathlib import Path

from inspect_ai import Task, task
from inspect_ai.dataset import MemoryDataset
from inspect_ai.dataset import Sample as Asking
from inspect_ai.model import ModelOutput, get_model
from inspect_ai.scorer import Score as Scored
from inspect_ai.scorer import Scorer, Target, mean, scorer, stderr
from inspect_ai.solver import Generate, Solver, TaskState, solver

from ..budget import Budget
from ..errors import ConfigError
from ..models.named import Spec
from ..rlm import RLM
from ..strategies import checked
from .data import Data
from .inspect_model import InspectModel
from .oracle import Oracle
from .readings import plain_text
from .record import Asked, of_run
from .runner import Plan
from .sample import Sample, parse_size
from .scores import score
from .suites import KNOWN, Suite

Several = str | int | Sequence[str | int]
CONTEXT, ANSWER = "context", "answer"  # what the samples' errors are clustered by; where the answer is kept


def _names(given: Several) -> list[str]:
    """Of ``-T``, which makes numbers and lists of what looks like some."""
    several = given if isinstance(given, list | tuple) else str(given).split(",")
    return [name for each in several if (name := str(each).strip())]


@lru_cache(maxsize=2)
def _made(suite: str, size: int, seed: int, data: Path | None) -> dict[str, Sample]:
    return {each.task: each for each in KNOWN[suite].make(size, seed=seed, data=Data(data))}


def _sample(state: TaskState, data: Path | None) -> Sample:
    known = state.metadata
    return _made(known["suite"], known["size"], known["seed"], data)[known["task"]]


def _asking(sample: Sample) -> Asking:
    return Asking(
        sample.question,
        id=f"{sample.task}-{sample.size}-{sample.seed}",
        target=plain_text(sample.gold),
        metadata={
            "suite": sample.suite, "task": sample.task, "size": sample.size, "seed": sample.seed,
            "characters": sample.characters, CONTEXT: sample.digest,
        },
    )  # fmt: skip


def _asks(
    strategy: str = "rlm",
    model: str = "",
    sub_model: str = "",
    usd: float | None = None,
    seconds: float | None = None,
    data: str = "",
) -> Solver:
    """Asks an engine, whose answer becomes the output."""
    chosen, folder = checked(strategy), Path(data) if data else None
    oracle, budget = Oracle.of(model), Budget(usd=usd, seconds=seconds)
    if oracle is not None and (sub_model or strategy != "rlm"):
        raise ConfigError("model oracle: it is its own sub-model, and writes programs, which only rlm runs")

    async def solve(state: TaskState, generate: Generate) -> TaskState:
        sample = await asyncio.to_thread(_sample, state, folder)
        if sample.digest != state.metadata[CONTEXT]:
            raise ConfigError(f"{sample.name} has another input here: another Python, or other data")
        root, sub, theirs = _models(sample)
        engine = RLM(root, sub_model=sub, budget=budget)
        try:
            run = await engine.arun(sample.question, sample.context, strategy=chosen)
        finally:
            await asyncio.to_thread(engine.close)
        for each in theirs:
            if each.stopped is not None:
                raise each.stopped
        named = [line.model for line in run.ledger] or [model or str(get_model())]
        record = of_run(sample, Asked(strategy, named[0], named[-1]), run)
        if not record.paid:
            raise RuntimeError(f"{run.status}: {run.reason}")
        state.output = ModelOutput.from_content(record.model, plain_text(run.answer))
        state.store.set(ANSWER, _storable(run.answer))
        left = {"question", "gold", "answer", "score", "kind", *state.metadata}
        state.metadata |= {name: value for name, value in asdict(record).items() if name not in left}
        return state

    def _models(sample: Sample) -> tuple[Spec | None, Spec | None, list[InspectModel]]:
        if oracle is not None:
            return (*oracle.models(sample), [])
        if model:
            return model, sub_model or None, []
        theirs = InspectModel(get_model()), InspectModel(get_model(role="sub"))
        return (*theirs, list(theirs))

    return solve


asks = solver(name="unspool")(_asks)


def _storable(answer: object) -> object:
    """What a log can hold; the score is made of it."""
    try:
        return json.loads(json.dumps(answer))
    except (TypeError, ValueError, RecursionError):
        return plain_text(answer)


def _scores(data: str = "") -> Scorer:
    """Our score, from 0 to 1; what is wrong with the answer is the explanation."""

    async def scored(state: TaskState, target: Target) -> Scored:
        sample = await asyncio.to_thread(_sample, state, Path(data) if data else None)
        found = score(sample, state.store.get(ANSWER))
        return Scored(value=found.value, answer=state.output.completion, explanation=found.kind or "right")

    return scored


scores = scorer(metrics=[mean(), stderr(cluster=CONTEXT)], name="unspool")(_scores)


def _task(suite: Suite) -> Callable[..., Task]:
    def made(
        sizes: Several = "8k",
        seeds: int = 5,
        tasks: Several = "",
        strategy: str = "rlm",
        model: str = "",
        sub_model: str = "",
        usd: float | None = None,
        seconds: float | None = None,
        data: str = "",
    ) -> Task:
        folder = Path(data) if data else None
        parsed = tuple(sorted({parse_size(size) for size in _names(sizes)}))
        plan = Plan((suite,), parsed, seeds, (strategy,), tuple(_names(tasks)), Data(folder))
        plan.fetch()
        plan.check()
        wanted = plan.tasks_of(suite)
        samples = [
            _asking(sample)
            for _, size, seed in plan.groups()
            for name, sample in _made(suite.name, size, seed, folder).items()
            if name in wanted
        ]
        return Task(
            MemoryDataset(samples, name=suite.name),
            solver=asks(strategy, model, sub_model, usd, seconds, data),
            scorer=scores(data),
            metadata={"unspool": suite.words},
        )

    made.__doc__ = f"{suite.words[:1].upper()}{suite.words[1:]}."
    return made


TASKS = {suite.name: task(name=suite.name)(_task(suite)) for suite in KNOWN.values()}
