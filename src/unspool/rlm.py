"""The engine: settings, and the four ways to ask.

Contract: an :class:`RLM` is cheap to make, safe to use from threads and from asyncio at the same
time, and keeps its models and their connections until :meth:`RLM.close`. Only misuse raises
(:class:`unspool.errors.ConfigError`, :class:`unspool.errors.ContextError`), and a run that cannot be kept
(:class:`unspool.errors.JournalError`), before money is spent; everything that happens to a run is in the
:class:`unspool.types.Run` it returns.

>>> from unspool.testing import ScriptedModel
>>> model = ScriptedModel(["```python\\nprint(len(context))\\n```", "```python\\nsubmit(len(context))\\n```"])
>>> RLM(model).run("How many characters?", "abc").answer
3
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncGenerator, Callable, Sequence
from copy import copy
from pathlib import Path
from typing import TYPE_CHECKING

from ._runtime import runtime
from .agreement import Agree, Branches
from .answers import AnswerType
from .budget import Budget
from .cache import default_folder
from .checks import keywords, kind, number
from .engine import Asker, Diverged, Engine, Settings
from .engine_models import EngineModels
from .errors import ConfigError
from .events import Event
from .journal import Store, store_of
from .models.settings import UNSET, ModelSettings
from .prompts import Profile, get_profile
from .sandbox.shared import chosen, look_up, shared_sandbox
from .scope import Limits
from .strategies import StrategyName, checked
from .streaming import events_of
from .tools import Tool, Toolbox
from .trace import run_from_events
from .types import Run

if TYPE_CHECKING:
    from .models.named import Spec
    from .sandbox.protocol import Sandbox
    from .session import Session


_HOMES: dict[str, Callable[..., object]] = {
    "budget=Budget({})": Budget,
    "settings=ModelSettings({})": ModelSettings,
}
_OF_ENGINE = {f"RLM({form})": home for form, home in _HOMES.items()}


class RLM:
    """A Recursive Language Model over one model, or over a root and a sub-model.

    :param model: a ``"provider:model"`` string, a :class:`Model`, a list of them (the first that answers),
        or ``None`` to find one.
    :param sub_model: the same for sub-calls; ``None`` is what goes with ``model``.
    :param max_turns: replies of the model per node, at most; ``budget.turns`` says the same.
    :param max_depth: levels of children below the root, at most; ``budget.depth`` says the same.
    :param sandbox: ``"process"`` (Linux) or ``"seatbelt"`` (macOS), which ``"auto"`` chooses between;
        ``"none"`` (unhardened), ``"jupyter"``, ``"command:CMD"`` (behind a command that leads to an
        interpreter), or a :class:`Sandbox`; see ``docs/sandboxes.md``.
    :param cell_seconds: limit on a cell's own time; waiting for sub-calls is not counted.
    :param cell_memory: bytes a node may use; ``None`` is half of what is free.
    :param call_seconds: limit on each send of a model call; after it, it is sent again.
    :param concurrency: sub-calls in flight at once, per model.
    :param tools: functions the code may call; they run on the host's side.
    :param instructions: text of your own for the model, used as it is.
    :param budget: limits on a whole run, see :class:`Budget`; where two limits say the same, the
        tighter holds.
    :param settings: how the model is sampled, where the profile is not to say, see :class:`ModelSettings`.
    :param sub_settings: the same for sub-calls.
    :param profile: how the model is spoken to: a name or a :class:`Profile`; ``None`` is what suits it.
    :param cache: whether replies of sub-calls are kept and used again, in this run and later ones;
        ``True`` keeps them in the platform's folder for caches, a path in a folder of your own.
    :param runs: the folder that runs are kept in, so that they can be resumed; ``True`` is the platform's
        folder for data, ``False`` keeps nothing.
    :param keep_context: whether a run keeps its context, too, and not its hash alone.
    :param store: a :class:`Store` of your own in place of the folder.
    :param strategy: how a question is answered, see docs/strategies.md.
    """

    @keywords(_HOMES)
    def __init__(
        self,
        model: Spec | None = None,
        *,
        sub_model: Spec | None = None,
        max_turns: int = 20,
        max_depth: int = 1,
        sandbox: str | Sandbox = "auto",
        cell_seconds: float = 120.0,
        cell_memory: int | None = None,
        call_seconds: float = 600.0,
        concurrency: int = 32,
        tools: Sequence[Tool] = (),
        instructions: str = "",
        budget: Budget = Budget(),  # noqa: B008 (frozen)
        settings: ModelSettings = UNSET,
        sub_settings: ModelSettings = UNSET,
        profile: str | Profile | None = None,
        cache: str | os.PathLike[str] | bool = False,
        runs: str | os.PathLike[str] | bool = True,
        keep_context: bool = False,
        store: Store | None = None,
        strategy: StrategyName = "rlm",
    ) -> None:
        for name, count, least in (
            ("max_turns", max_turns, 1), ("max_depth", max_depth, 0), ("concurrency", concurrency, 1),
        ):  # fmt: skip
            number(name, count, least, whole=True)
        if cell_memory is not None:
            number("cell_memory", cell_memory, 16 * 2**20, whole=True, noun="bytes")
        number("cell_seconds", cell_seconds, 0.001)
        number("call_seconds", call_seconds, 0.001)
        for name, value, wanted, words in (
            ("tools", tools, Sequence, "a list of functions"), ("instructions", instructions, str, "text"),
            ("budget", budget, Budget, "a Budget(…)"),
            ("settings", settings, ModelSettings, "ModelSettings(…)"),
            ("sub_settings", sub_settings, ModelSettings, "ModelSettings(…)"),
            ("profile", profile, str | Profile | None, "the name of a profile, or a Profile"),
            ("cache", cache, str | os.PathLike | bool, "True, False or a folder"),
            ("runs", runs, str | os.PathLike | bool, "True, False or a folder"),
        ):  # fmt: skip
            kind(name, value, wanted, words)
        if not isinstance(sandbox, str) and not hasattr(sandbox, "open"):
            raise ConfigError(f"sandbox={sandbox!r}: give a name or a Sandbox")
        if store is not None and not hasattr(store, "append"):
            raise ConfigError(f"store={store!r}: give a Store")
        made = Settings(
            limits=Limits(max_turns, max_depth, cell_seconds, cell_memory).under(budget),
            call_seconds=call_seconds,
            concurrency=concurrency,
            tools=Toolbox(tools),
            instructions=instructions,
            sandbox=chosen(sandbox) if isinstance(sandbox, str) else sandbox,
            budget=budget,
            root=settings,
            sub=sub_settings,
            profile=get_profile(profile) if isinstance(profile, str) else profile,
            store=store_of(runs) if store is None else store,
            keep_context=keep_context,
            cache=default_folder() if cache is True else Path(cache) if cache is not False else None,
            strategy=checked(strategy),
        )
        models = EngineModels(
            (model, sub_model),
            concurrency=concurrency,
            call_seconds=call_seconds,
            settings=(settings, sub_settings),
        )
        self._engine = Engine(made, models)
        if isinstance(sandbox, str):
            shared_sandbox(sandbox)  # an unknown name is refused now
            look_up(sandbox)

    @keywords(_OF_ENGINE)
    def within(self, budget: Budget, *, instructions: str = "") -> RLM:
        """This engine with its models and connections, under tighter limits, or told more."""
        other = copy(self)
        other._engine = self._engine.within(budget, instructions)
        return other

    @keywords(_OF_ENGINE)
    def run(
        self,
        query: str,
        context: object,
        *,
        answer: object = None,
        branches: int = 1,
        agree: Agree | None = None,
        strategy: StrategyName | None = None,
    ) -> Run:
        """Answers ``query`` over ``context`` and waits for it. Works inside a running loop, too.

        ``answer`` is the wanted type: a Python type, a dataclass, a pydantic model, a DataFrame, … or a JSON
        schema. It is checked when the model submits, and ``Run.answer`` is of that type. ``branches``: so
        many trajectories, of which the answer is taken that most agree on; ``agree`` is a function of an
        answer whose equal results mean agreement, for where the usual comparison is not enough.
        ``strategy``: of this run alone.
        """
        events: list[Event] = []
        wanted, plan = self._check(query, answer, strategy), Branches.of(branches, agree)
        asker = Asker(events.append)
        runtime().wait(self._engine.run(query, context, wanted, asker, (), plan, strategy))
        return run_from_events(events)

    @keywords(_OF_ENGINE)
    async def arun(
        self,
        query: str,
        context: object,
        *,
        answer: object = None,
        branches: int = 1,
        agree: Agree | None = None,
        strategy: StrategyName | None = None,
    ) -> Run:
        """The same for asyncio. Cancelling it stops the run and every request it has open."""
        events: list[Event] = []
        wanted, plan = self._check(query, answer, strategy), Branches.of(branches, agree)
        asker = Asker(events.append, asyncio.get_running_loop())
        await runtime().submit(self._engine.run(query, context, wanted, asker, (), plan, strategy)).wait()
        return run_from_events(events)

    @keywords(_OF_ENGINE)
    def stream(
        self,
        query: str,
        context: object,
        *,
        answer: object = None,
        branches: int = 1,
        agree: Agree | None = None,
        strategy: StrategyName | None = None,
        sources: Sequence[str] = (),
    ) -> AsyncGenerator[Event, None]:
        """The events of a run as they happen; the last is ``run.ended``. Leaving early cancels it.

        Replies are told of while they are written (``model.delta``), where the model can.
        ``sources`` names the files that the context was read from, so that resume can read them again; a
        note of the run tells of one that is named twice.
        """
        wanted, plan = self._check(query, answer, strategy), Branches.of(branches, agree)
        return events_of(
            lambda asker: self._engine.run(query, context, wanted, asker, sources, plan, strategy)
        )

    @keywords(_OF_ENGINE)
    def resume(
        self,
        run: str,
        context: object = None,
        *,
        answer: object = None,
        diverged: Diverged = "stop",
        agree: Agree | None = None,
    ) -> Run:
        """Goes on with a run that was stopped in any way, from what was paid for.

        ``context`` is not needed where the run kept it, or where it came from files. A cell that does not
        do again what it did raises :class:`unspool.errors.Divergence`; ``diverged="continue"`` goes on from
        there. A run that was answered is returned as it is. ``answer`` is the wanted type; without it, what
        the run has kept of it. ``agree`` is needed where the run began with it.
        """
        events: list[Event] = []
        wanted = AnswerType(answer)
        runtime().wait(self._engine.resume(run, context, wanted, diverged, Asker(events.append), agree))
        return run_from_events(events)

    @keywords(_OF_ENGINE)
    async def aresume(
        self,
        run: str,
        context: object = None,
        *,
        answer: object = None,
        diverged: Diverged = "stop",
        agree: Agree | None = None,
    ) -> Run:
        """The same for asyncio."""
        events: list[Event] = []
        wanted, asker = AnswerType(answer), Asker(events.append, asyncio.get_running_loop())
        await runtime().submit(self._engine.resume(run, context, wanted, diverged, asker, agree)).wait()
        return run_from_events(events)

    @keywords(_OF_ENGINE)
    def stream_resume(
        self,
        run: str,
        context: object = None,
        *,
        answer: object = None,
        diverged: Diverged = "stop",
        agree: Agree | None = None,
    ) -> AsyncGenerator[Event, None]:
        """The events of the run so far, then those that are new, as they happen."""
        wanted = AnswerType(answer)
        return events_of(lambda asker: self._engine.resume(run, context, wanted, diverged, asker, agree))

    @keywords(_OF_ENGINE)
    def session(
        self,
        context: object,
        *,
        by: str = "a program",
        sources: Sequence[str] = (),
        on_event: Callable[[Event], None] | None = None,
    ) -> Session:
        """A REPL over ``context`` that you drive yourself, with sub-calls, a budget and a journal.

        See :mod:`unspool.session`. ``by`` is who drives it, for the journal. ``on_event`` is told of what
        happens in it, on the thread of all runs. ``max_turns`` is no limit on it; ``budget.seconds`` is.
        """
        return runtime().wait(self._session(context, by, sources, on_event, None))

    @keywords(_OF_ENGINE)
    async def asession(
        self,
        context: object,
        *,
        by: str = "a program",
        sources: Sequence[str] = (),
        on_event: Callable[[Event], None] | None = None,
    ) -> Session:
        """The same for asyncio."""
        loop = asyncio.get_running_loop()
        job = runtime().submit(self._session(context, by, sources, on_event, loop))
        try:
            return await job.wait()
        except asyncio.CancelledError:
            from .session import end_unwanted

            job.future.add_done_callback(end_unwanted)  # it may have begun all the same
            raise

    def check(self) -> None:
        """Finds the models, and raises what a run would of them: :class:`ConfigError` where there is none, or
        where a limit in dollars cannot be kept."""
        runtime().wait(self._engine.check())

    def cancel(self, run: str, reason: str = "cancelled") -> None:
        """Stops a run of this engine, from any thread. Its stream goes on to ``run.ended``, which has the
        ``reason``; ``run``, ``arun`` and ``resume`` return it, ``cancelled``."""
        runtime().loop.call_soon_threadsafe(self._engine.cancel, run, reason)

    def close(self) -> None:
        """Ends what its runs have started, frees the models' connections and processes, and waits for that.

        Runs and sessions that are under way, in whichever thread, are stopped: they return as they would
        from :meth:`cancel`, and runs can be resumed; one that has not begun yet raises :class:`ConfigError`.
        From a tool or a model: its own run is stopped last, and not waited for. The shared sandbox stays
        warm, and a later run opens all again."""
        runtime().wait(self._engine.close())

    async def aclose(self) -> None:
        """The same for asyncio."""
        await runtime().submit(self._engine.close()).wait()

    def __enter__(self) -> RLM:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    async def __aenter__(self) -> RLM:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.aclose()

    # One run, on the runtime's loop

    async def _session(
        self,
        context: object,
        by: str,
        sources: Sequence[str],
        on_event: Callable[[Event], None] | None,
        loop: asyncio.AbstractEventLoop | None,
    ) -> Session:
        from .session import Session

        return await Session.begin(self._engine, context, by, sources, on_event, loop)

    def _check(self, query: str, answer: object, strategy: object) -> AnswerType:
        if not isinstance(query, str) or not query.strip():
            raise ConfigError("query: give the question as text")
        if strategy is not None:
            checked(strategy)
        return AnswerType(answer)


_HOMES["run(…, {})"] = RLM.run
