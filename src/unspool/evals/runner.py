"""Asks the samples of some suites, by some strategies, and keeps a line of each.

Contract: what is kept is not asked again. At most ``jobs`` samples are under way, and their contexts and
those of one more seed are in memory. A sample that fails is a line; only a wrong setting raises, and stops
what is under way. Cancelling :func:`measure` stops the runs that are under way, whose samples are then not
kept, and leaves the lines as they are.

The seam for another runner (inspect_tasks.py is one) is three functions: ``Suite.make`` gives samples,
:func:`solve` asks one, :func:`unspool.evals.scores.score` scores an answer. None of them knows the others.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from ..budget import Budget
from ..checks import meant
from ..errors import ConfigError, JournalError, UnspoolError
from ..models.protocol import Model
from ..models.settings import UNSET, ModelSettings
from ..rlm import RLM
from ..strategies import checked
from .data import Data
from .kept import RUNS, Kept
from .oracle import Oracle
from .record import Asked, Record, failed, of_run
from .sample import Sample
from .suites import Suite

if TYPE_CHECKING:
    from ..models.pull import OnProgress


@dataclass(frozen=True, slots=True)
class Plan:
    """What is to be asked: every task of the suites, at each size, for seeds from 1, by each strategy."""

    suites: tuple[Suite, ...]
    sizes: tuple[int, ...]
    seeds: int
    strategies: tuple[str, ...]
    tasks: tuple[str, ...] = ()  # these alone
    data: Data = field(default_factory=Data)

    def __post_init__(self) -> None:
        known = {task for suite in self.suites for task in suite.tasks}
        for task in self.tasks:
            if task not in known:
                raise ConfigError(
                    f"there is no task {task!r} in what is asked: there are {', '.join(sorted(known))}"
                    f"{meant(task, known)}"
                )
        for suite in filter(self.tasks_of, self.suites):
            for size in sorted(self.sizes):
                suite.check(size)

    def fetch(self, progress: OnProgress | None = None) -> None:
        """Fetches what is not there of the data. Raises :class:`ConfigError`."""
        needed = [name for suite in filter(self.tasks_of, self.suites) for name in suite.needs]
        for name in dict.fromkeys(needed):
            self.data.fetched.get(name, progress)

    def check(self) -> None:
        """Makes the smallest of each suite: what is wrong with the data is said before a folder is made."""
        for suite in filter(self.tasks_of, self.suites):
            suite.make(min(self.sizes), seed=1, data=self.data)
            suite.check_seeds(self.seeds, self.data)

    def tasks_of(self, suite: Suite) -> tuple[str, ...]:
        return tuple(task for task in suite.tasks if not self.tasks or task in self.tasks)

    def groups(self) -> Iterator[tuple[Suite, int, int]]:
        """Suite, size and seed of what is made at once; the first seed of all of them first, so that one that
        is stopped early says something of everything."""
        for seed in range(1, self.seeds + 1):
            for size in self.sizes:
                for suite in self.suites:
                    if self.tasks_of(suite):
                        yield suite, size, seed

    def missing(
        self, solver: Solver, kept: Kept, suite: Suite, size: int, seed: int
    ) -> list[tuple[str, str]]:
        """Task and strategy of what is not kept yet; the tasks of a context one after another by the same
        strategy, since a model that has read it keeps what it read."""
        return [
            (task, strategy)
            for strategy in self.strategies
            for task in self.tasks_of(suite)
            if (suite.name, task, size, seed, solver.asked(strategy)) not in kept.done
        ]

    def count(self, solver: Solver, kept: Kept) -> int:
        """How many samples are not kept yet."""
        return sum(len(self.missing(solver, kept, *group)) for group in self.groups())

    @property
    def total(self) -> int:
        tasks = sum(len(self.tasks_of(suite)) for suite in self.suites)
        return tasks * len(self.sizes) * self.seeds * len(self.strategies)


class Solver(Protocol):
    """Gives the engine that a sample is asked with."""

    def asked(self, strategy: str) -> Asked: ...
    def engine(self, sample: Sample) -> RLM: ...
    async def release(self, engine: RLM) -> None: ...
    def close(self) -> None: ...


@dataclass(frozen=True, slots=True)
class Means:
    """What every sample is asked with."""

    folder: Path  # of the measurement
    budget: Budget = Budget()  # noqa: RUF009 (frozen)
    settings: tuple[ModelSettings, ModelSettings] = (UNSET, UNSET)

    def engine(self, root: Model, sub: Model) -> RLM:
        of_root, of_sub = self.settings
        return RLM(
            root,
            sub_model=sub,
            budget=self.budget,
            settings=of_root,
            sub_settings=of_sub,
            runs=self.folder / RUNS,
        )


class Models:
    """A root and a sub-model, one engine for all samples."""

    def __init__(self, root: Model, sub: Model, means: Means) -> None:
        self._names = (root.info.name, sub.info.name)
        self._engine = means.engine(root, sub)

    def asked(self, strategy: str) -> Asked:
        return Asked(strategy, *self._names)

    def engine(self, sample: Sample) -> RLM:
        return self._engine

    async def release(self, engine: RLM) -> None:
        """It goes on to the next sample."""

    def close(self) -> None:
        self._engine.close()


class Oracles:
    """The scripted oracle, which knows one sample: an engine for each."""

    def __init__(self, oracle: Oracle, means: Means) -> None:
        self._oracle = oracle
        self._means = means

    def asked(self, strategy: str) -> Asked:
        return Asked(strategy, self._oracle.name, self._oracle.name)

    def engine(self, sample: Sample) -> RLM:
        return self._means.engine(*self._oracle.models(sample))

    async def release(self, engine: RLM) -> None:
        await asyncio.to_thread(engine.close)

    def close(self) -> None:
        """Each engine was closed when its sample had ended."""


OnDone = Callable[[Record], None]


async def measure(plan: Plan, solver: Solver, kept: Kept, on_done: OnDone, jobs: int = 1) -> None:
    """Asks what is not kept yet. Raises :class:`ConfigError` and :class:`JournalError`."""
    room = asyncio.Semaphore(jobs)

    async def one(sample: Sample, strategy: str) -> None:
        engine = solver.engine(sample)
        try:
            record = await solve(engine, sample, solver.asked(strategy))
            kept.add(record)
            on_done(record)
        finally:
            await solver.release(engine)
            room.release()

    try:
        async with asyncio.TaskGroup() as group:
            for suite, size, seed in plan.groups():
                todo = plan.missing(solver, kept, suite, size, seed)
                if not todo:
                    continue
                made = await asyncio.to_thread(suite.make, size, seed=seed, data=plan.data)
                samples = {sample.task: sample for sample in made}
                for task, strategy in todo:
                    await room.acquire()
                    group.create_task(one(samples[task], strategy))
    except* (ConfigError, JournalError) as errors:
        raise errors.exceptions[0] from None


async def solve(engine: RLM, sample: Sample, asked: Asked) -> Record:
    """One sample, asked and scored."""
    try:
        run = await engine.arun(sample.question, sample.context, strategy=checked(asked.strategy))
    except (ConfigError, JournalError):
        raise  # so would every other
    except UnspoolError as error:
        return failed(sample, asked, str(error))
    return of_run(sample, asked, run)
