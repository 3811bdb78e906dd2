"""What stands behind :class:`unspool.RLM`: its settings, and its runs, on the runtime's loop.

Contract: an :class:`Engine` may have many runs at a time. Each tells its events to the store first, then to
who asked (:class:`Asker`); what cannot be kept, or cannot be resumed, is refused before anything is sent.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from .agreement import Agree, Branches
from .answers import AnswerType
from .budget import Budget, Meter
from .cache import ReplyCache
from .checks import kind
from .contexts.identity import known_by
from .contexts.looking import looked
from .contexts.marks import PartMarks
from .contexts.named import named_twice, only_named
from .contexts.several import Contexts, check_beside, plain
from .contexts.sources import closed_in, names_of, only_text, sources_in, with_sources
from .engine_models import EngineModels, Models
from .errors import ConfigError, JournalError
from .event_log import EventLog, new_id
from .events import Event, RunEnded, RunStarted, StrategyChosen
from .journal import Store, kept
from .keeping import Keeping
from .models.settings import ModelSettings
from .models.spelled import told
from .onlookers import onlookers
from .prompts import Profile, get_profile
from .prompts.profile import names_in
from .replay import Replay
from .resume import Past
from .sandbox.shared import prepare, shared_sandbox
from .scope import Limits, Scope, Task
from .strategies import Choice, Given, StrategyName, strategy_of
from .tools import Toolbox
from .under_way import Going, UnderWay

if TYPE_CHECKING:
    from .driven import Driver
    from .sandbox.protocol import Repl, Sandbox

Diverged = Literal["stop", "continue"]


@dataclass(frozen=True, slots=True)
class Settings:
    """What an engine was made with; :class:`unspool.RLM` says what each means."""

    limits: Limits
    call_seconds: float
    concurrency: int
    tools: Toolbox
    instructions: str
    sandbox: str | Sandbox
    budget: Budget
    root: ModelSettings
    sub: ModelSettings
    profile: Profile | None
    store: Store | None
    keep_context: bool
    cache: Path | None
    strategy: StrategyName = "rlm"

    def within(self, budget: Budget, instructions: str) -> Settings:
        """These under tighter limits, with more instructions."""
        return replace(
            self,
            budget=self.budget.within(budget),
            limits=self.limits.under(budget),
            instructions=f"{self.instructions}\n\n{instructions}".strip(),
        )

    def told(self) -> Mapping[str, str | int | float | None]:
        """What a run keeps of them, so that it can be resumed with the same."""
        sandbox, budget = self.sandbox, self.budget
        return {
            **asdict(self.limits),
            "call_seconds": self.call_seconds,
            "concurrency": self.concurrency,
            "sandbox": sandbox if isinstance(sandbox, str) else type(sandbox).__name__,
            **{name: getattr(budget, name) for name in ("usd", "tokens", "calls", "seconds")},
            "cache": None if self.cache is None else str(self.cache),
            "tools": ", ".join(self.tools.names) or None,
            "instructions": self.instructions or None,
            **told(self.root, self.sub),
        }


def _bounded(most: int | None, asked: Limits) -> Mapping[str, int]:
    """The turns of a strategy that takes no more than these: a higher limit gives no more."""
    return {"strategy_turns": most} if most is not None and most <= asked.max_turns else {}


@dataclass(frozen=True, slots=True)
class Asker:
    """Who asked: told of each event; ``loop`` is the one that async tools run on, ``live`` wants pieces."""

    listener: Callable[[Event], None]
    loop: asyncio.AbstractEventLoop | None = None
    live: bool = False


class Engine:
    """Runs, with one set of settings and models."""

    def __init__(self, settings: Settings, models: EngineModels) -> None:
        self._settings = settings
        self._models = models
        self._under_way = UnderWay()
        self._retiring: set[asyncio.Task[None]] = set()
        self._closing: set[asyncio.Task[None]] = set()

    def within(self, budget: Budget, instructions: str) -> Engine:
        """The same models, and one account of what is going on, under other settings."""
        other = Engine(self._settings.within(budget, instructions), self._models)
        other._under_way, other._retiring = self._under_way, self._retiring
        return other

    async def run(
        self,
        query: str,
        context: object,
        wanted: AnswerType,
        asker: Asker,
        sources: Sequence[str] = (),
        plan: Branches | None = None,
        strategy: StrategyName | None = None,
        driver: Driver | None = None,
    ) -> None:
        """``driver``: who sends the code, in the place of the root model. A run that is stopped by
        :meth:`cancel` or :meth:`close` has told its end, and raises nothing."""
        with self._under_way.run() as going:
            await self._run(going, query, context, wanted, asker, sources, plan, strategy, driver)

    async def _run(
        self,
        going: Going,
        query: str,
        context: object,
        wanted: AnswerType,
        asker: Asker,
        sources: Sequence[str],
        plan: Branches | None,
        strategy: StrategyName | None,
        driver: Driver | None,
    ) -> None:
        settings = self._settings
        if isinstance(settings.sandbox, str):
            prepare(settings.sandbox)  # while the models are made ready
        going.driver = driver
        strategy = "rlm" if driver else strategy or settings.strategy
        models = await self._models.ready(priced=settings.budget.usd is not None)
        log = EventLog(new_id())
        scope = self._scope(models, log, asker, Replay())
        check_beside(context, settings.tools.names, scope.profile.imports)
        paths = () if sources else names_of(context)
        given = context if type(context) is str else await asyncio.to_thread(with_sources, context)
        context, told = await looked(given, scope.sandbox, *scope.profile.described)
        task = Task("0", None, 0, query, context, told, wanted, Meter(settings.budget))
        scope, chosen = self._by(strategy, scope, task)
        scope.note(named_twice(sources) if sources else only_named(task.context))
        if driver is not None:
            scope.spawn, scope.driven = driver.spawn, True
        known, parts = (None, PartMarks()) if settings.store is None else await known_by(context)
        started = RunStarted(
            run=log.run,
            query=query,
            model=driver.name if driver else scope.root.info.name,
            sub_model=scope.sub.info.name,
            profile=scope.profile.name,
            context=told,
            settings={**self._told(scope, task, plan), "strategy": strategy},
            context_hash=known,
            sources=tuple(dict.fromkeys(sources)) or paths,
            folder=os.getcwd() if sources or paths else "",
            kept=plain(context) if settings.keep_context and not any(sources_in(context)) else None,
            paths=bool(paths),
            marks=parts.marks,
        )
        with kept(settings.store, log.run):
            self._listen(scope, asker.listener)
            log.emit(started)
            if chosen is not None:
                log.emit(StrategyChosen(**asdict(chosen)))
            await self._go(going, scope, task, plan)

    def _told(
        self, scope: Scope, task: Task, plan: Branches | None
    ) -> Mapping[str, str | int | float | None]:
        """The settings of this engine, and what a run has beside them."""
        settings = self._settings
        most = {"max_turns": None} if scope.driven else _bounded(scope.profile.most_turns, settings.limits)
        return {
            **settings.told(),
            "answer": task.answer.kept,
            "named": int(isinstance(task.context, Contexts)),
            **(plan.told if plan else {}),
            **most,
        }

    async def resume(
        self,
        run: str,
        context: object,
        wanted: AnswerType,
        diverged: Diverged,
        asker: Asker,
        agree: Agree | None = None,
    ) -> None:
        with self._under_way.run() as going:
            await self._resume(going, run, context, wanted, diverged, asker, agree)

    async def _resume(
        self,
        going: Going,
        run: str,
        context: object,
        wanted: AnswerType,
        diverged: Diverged,
        asker: Asker,
        agree: Agree | None,
    ) -> None:
        settings, listener = self._settings, asker.listener
        store = settings.store
        if store is None:
            raise ConfigError("runs=False: this engine keeps no runs, so there is none to resume")
        if diverged not in ("stop", "continue"):
            raise ConfigError(f'diverged={diverged!r}: use "stop" or "continue"')
        kind("run", run, str, "the id of a run, as text")
        if run not in store.runs():
            Past.of(run, store.read(run))  # says that there is none
        with kept(store, run):  # nobody else writes it; and it is not read on the loop of all runs
            past = await asyncio.to_thread(lambda: Past.of(run, store.read(run)))
            if past.answered:
                for event in past.answered_with(wanted):
                    listener(event)
                return
            if wanted.wanted is None:
                wanted = AnswerType.kept_as(past.started.settings.get("answer"))
            plan = past.plan(agree)
            models = await self._models.ready(priced=settings.budget.usd is not None)
            given = await asyncio.to_thread(past.context, context)
            given, grown = await past.as_it_was(given)
            replay = Replay(past.events, go_on=diverged == "continue")
            log = EventLog(run, past=past.events, known=replay.knows)
            scope = self._scope(models, log, asker, replay)
            context, told = await looked(given, scope.sandbox, *scope.profile.described)
            past.check(scope.root.info.name, scope.sub.info.name, scope.profile.name)
            scope.note(grown)
            meter = Meter(settings.budget)
            meter.restore(past.replies, past.reused, past.calls, past.seconds)
            task = Task("0", None, 0, past.started.query, context, told, wanted, meter)
            scope, _ = self._by(past.strategy, scope, task)
            for event in past.events:
                if not isinstance(event, RunEnded):  # it goes on
                    listener(event)
            self._listen(scope, listener)
            await self._go(going, scope, task, plan)

    async def check(self) -> None:
        """What is wrong with the models is raised."""
        await self._models.ready(priced=self._settings.budget.usd is not None)

    def cancel(self, run: str, reason: str) -> None:
        """Stops a run, if it is going. Call it on the runtime's loop."""
        self._under_way.stop(run, reason)

    async def close(self) -> None:
        """Runs that are under way end first; the one that calls this, last. Begun, it is done, though who
        calls it is a run that is stopped."""
        closing = asyncio.create_task(self._close())
        self._closing.add(closing)
        closing.add_done_callback(self._closing.discard)
        await asyncio.shield(closing)

    async def _close(self) -> None:
        await self._under_way.stop_others()
        try:
            await self._models.close()
        finally:  # REPLs end meanwhile
            if self._retiring:
                await asyncio.wait(self._retiring)
            self._under_way.stop_own()

    async def _go(self, going: Going, scope: Scope, task: Task, plan: Branches | None) -> None:
        from .ending import to_the_end

        try:
            with going.to_its_end(scope):
                await to_the_end(scope, task, plan)
        finally:
            if scope.cache is not None:
                scope.cache.close()

    def _listen(self, scope: Scope, listener: Callable[[Event], None]) -> None:
        """Events go to the store first, then to who asked, then to who looks on at every run."""
        store, log = self._settings.store, scope.log

        def failed(error: JournalError) -> None:
            scope.fatal = scope.fatal or error

        if store is not None:
            log.keep(Keeping(store, log.run, failed))
        log.listen(listener)
        for onlooker in onlookers(log):
            log.listen(onlooker)

    def _scope(self, models: Models, log: EventLog, asker: Asker, replay: Replay) -> Scope:
        from .loop import run_node  # and all that a node needs: the sandbox starts meanwhile

        settings = self._settings
        sandbox = settings.sandbox
        profile = settings.profile or get_profile(models.root.info.profile)
        settings.tools.keep_clear_of(names_in(profile.imports), profile.name)
        return Scope(
            log=log,
            root=models.root,
            sub=models.sub,
            models=models.names,
            sandbox=shared_sandbox(sandbox) if isinstance(sandbox, str) else sandbox,
            settings=settings.root,
            sub_settings=settings.sub,
            profile=profile,
            sub_profile=get_profile(models.sub.info.profile),
            limits=settings.limits,
            tools=settings.tools,
            instructions=settings.instructions,
            loop=asker.loop,
            spawn=run_node,
            replay=replay,
            cache=None if settings.cache is None else ReplyCache(settings.cache),
            live=asker.live,
            retire=self._retire,
        )

    def _by(self, strategy: StrategyName, scope: Scope, task: Task) -> tuple[Scope, Choice | None]:
        """The scope of a run that is answered by this strategy, and what it has decided."""
        given = Given(
            task.query, task.context, task.description, task.answer, scope.instructions, scope.root.info,
            scope.sub.info, scope.profile, scope.sub_profile, scope.limits, scope.settings.max_tokens,
        )  # fmt: skip
        plan = strategy_of(strategy)(given)
        scope = replace(scope, profile=plan.profile, sub_profile=plan.sub_profile, limits=plan.limits)
        scope.note([*closed_in(task.context), *only_text(task.context), *plan.notes])
        return scope, plan.chosen

    def _retire(self, repl: Repl) -> None:
        task = asyncio.ensure_future(repl.close())
        self._retiring.add(task)
        task.add_done_callback(self._retiring.discard)
