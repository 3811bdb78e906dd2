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
from collections.abc import AsyncGenerator, Callable, Coroutine, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from ._runtime import CLOSE_SECONDS, runtime
from .answers import AnswerType
from .budget import Budget, Meter
from .cache import ReplyCache, default_folder
from .contexts import describe
from .contexts.identity import hash_of
from .ending import to_the_end
from .engine_models import EngineModels, Models
from .errors import ConfigError, JournalError
from .events import Event, EventLog, RunEnded, RunStarted, new_id
from .journal import Store, kept, store_of
from .loop import run_node
from .models.settings import UNSET, ModelSettings
from .prompts import Profile, get_profile
from .replay import Replay
from .resume import Past
from .sandbox.shared import shared_sandbox
from .scope import Limits, Scope, Task
from .tools import Tool, Toolbox
from .trace import run_from_events
from .types import Run

if TYPE_CHECKING:
    from .models.named import Spec
    from .sandbox.protocol import Repl, Sandbox


Diverged = Literal["stop", "continue"]


class RLM:
    """A Recursive Language Model over one model, or over a root and a sub-model.

    :param model: a ``"provider:model"`` string, a :class:`Model`, a list of them (the first that answers),
        or ``None`` to find one.
    :param sub_model: the same for sub-calls; ``None`` is what goes with ``model``.
    :param max_turns: replies of the model per node, at most; ``budget.turns`` says the same.
    :param max_depth: levels of children below the root, at most; ``budget.depth`` says the same.
    :param sandbox: ``"process"``, ``"none"`` (unhardened), or a :class:`Sandbox`.
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
    """

    def __init__(
        self,
        model: Spec | None = None,
        *,
        sub_model: Spec | None = None,
        max_turns: int = 20,
        max_depth: int = 1,
        sandbox: str | Sandbox = "process",
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
    ) -> None:
        for name, value, least in (
            ("max_turns", max_turns, 1), ("max_depth", max_depth, 0), ("concurrency", concurrency, 1),
            ("cell_seconds", cell_seconds, 0.001), ("call_seconds", call_seconds, 0.001),
            ("cell_memory", cell_memory, 16 * 2**20),
        ):  # fmt: skip
            if value is not None and not value >= least:
                raise ConfigError(f"{name}={value}: give at least {least}")
        turns = max_turns if budget.turns is None else min(max_turns, budget.turns)
        depth = max_depth if budget.depth is None else min(max_depth, budget.depth)
        self._limits = Limits(turns, depth, cell_seconds, cell_memory)
        self._call_seconds, self._concurrency = call_seconds, concurrency
        self._tools, self._instructions = Toolbox(tools), instructions
        self._sandbox, self._budget = sandbox, budget
        self._settings_of = (settings, sub_settings)
        self._profile = get_profile(profile) if isinstance(profile, str) else profile
        self._store = store_of(runs) if store is None else store
        self._keep_context = keep_context
        self._cache = default_folder() if cache is True else Path(cache) if cache is not False else None
        self._models = EngineModels(
            (model, sub_model),
            concurrency=concurrency,
            call_seconds=call_seconds,
            priced=budget.usd is not None,
        )
        self._going: dict[str, asyncio.Task[object]] = {}
        self._retiring: set[asyncio.Task[None]] = set()
        if isinstance(sandbox, str):
            shared_sandbox(sandbox)  # an unknown name is refused now

    def run(self, query: str, context: object, *, answer: object = None) -> Run:
        """Answers ``query`` over ``context`` and waits for it. Works inside a running loop, too.

        ``answer`` is the wanted type: a Python type, dataclass or pydantic model.
        """
        events: list[Event] = []
        wanted = self._check(query, answer)
        runtime().wait(self._run(query, context, wanted, events.append, None))
        return run_from_events(events)

    async def arun(self, query: str, context: object, *, answer: object = None) -> Run:
        """The same for asyncio. Cancelling it stops the run and every request it has open."""
        events: list[Event] = []
        wanted = self._check(query, answer)
        run = self._run(query, context, wanted, events.append, asyncio.get_running_loop())
        await runtime().submit(run).wait()
        return run_from_events(events)

    def stream(
        self, query: str, context: object, *, answer: object = None, sources: Sequence[str] = ()
    ) -> AsyncGenerator[Event, None]:
        """The events of a run as they happen; the last is ``run.ended``. Leaving early cancels it.

        Replies are told of while they are written (``model.delta``), where the model can.
        ``sources`` names the files that the context was read from, so that resume can read them again.
        """
        wanted = self._check(query, answer)
        return self._events(
            lambda put, loop: self._run(query, context, wanted, put, loop, sources, live=True)
        )

    def resume(
        self, run: str, context: object = None, *, answer: object = None, diverged: Diverged = "stop"
    ) -> Run:
        """Goes on with a run that was stopped in any way, from what was paid for.

        ``context`` is not needed where the run kept it, or where it came from files. A cell that does not
        do again what it did raises :class:`unspool.errors.Divergence`; ``diverged="continue"`` goes on from
        there. A run that was answered is returned as it is.
        """
        events: list[Event] = []
        wanted = AnswerType(answer)
        runtime().wait(self._resume(run, context, wanted, diverged, events.append, None))
        return run_from_events(events)

    async def aresume(
        self, run: str, context: object = None, *, answer: object = None, diverged: Diverged = "stop"
    ) -> Run:
        """The same for asyncio."""
        events: list[Event] = []
        wanted, loop = AnswerType(answer), asyncio.get_running_loop()
        await runtime().submit(self._resume(run, context, wanted, diverged, events.append, loop)).wait()
        return run_from_events(events)

    def stream_resume(
        self, run: str, context: object = None, *, answer: object = None, diverged: Diverged = "stop"
    ) -> AsyncGenerator[Event, None]:
        """The events of the run so far, then those that are new, as they happen."""
        wanted = AnswerType(answer)
        return self._events(
            lambda put, loop: self._resume(run, context, wanted, diverged, put, loop, live=True)
        )

    def cancel(self, run: str) -> None:
        """Stops a run of this engine, from any thread. Its stream goes on to ``run.ended``."""

        def cancel() -> None:
            if (task := self._going.get(run)) is not None:
                task.cancel()

        runtime().loop.call_soon_threadsafe(cancel)

    def close(self) -> None:
        """Frees the models' connections and processes, and waits for the end of what its runs have
        started. The shared sandbox stays warm."""
        runtime().wait(self._close())

    def __enter__(self) -> RLM:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    # One run, on the runtime's loop

    def _check(self, query: str, answer: object) -> AnswerType:
        if not isinstance(query, str) or not query.strip():
            raise ConfigError("query: give the question as text")
        return AnswerType(answer)

    async def _events(
        self,
        start: Callable[
            [Callable[[Event | None], None], asyncio.AbstractEventLoop], Coroutine[object, object, None]
        ],
    ) -> AsyncGenerator[Event, None]:
        loop = asyncio.get_running_loop()
        queue: asyncio.Queue[Event | None] = asyncio.Queue()

        def put(event: Event | None) -> None:
            loop.call_soon_threadsafe(queue.put_nowait, event)

        job = runtime().submit(start(put, loop))
        job.future.add_done_callback(lambda _: put(None))
        last: Event | None = None
        try:
            while (event := await queue.get()) is not None:
                last = event
                yield event
        except BaseException:  # the consumer left or was cancelled: so is the run
            job.cancel()
            gone = asyncio.wrap_future(job.future)
            gone.add_done_callback(lambda f: f.cancelled() or f.exception())  # seen: it is not logged
            await asyncio.wait([gone], timeout=CLOSE_SECONDS)
            raise
        try:
            await job.wait()
        except asyncio.CancelledError:
            if not isinstance(last, RunEnded):  # else it was stopped by cancel(), and has told its end
                raise

    async def _run(
        self,
        query: str,
        context: object,
        wanted: AnswerType,
        listener: Callable[[Event], None],
        loop: asyncio.AbstractEventLoop | None,
        sources: Sequence[str] = (),
        live: bool = False,
    ) -> None:
        models = await self._models.ready()
        log = EventLog(new_id())
        scope = self._scope(models, log, loop, Replay())
        scope.live = live
        told = describe(context, head=scope.profile.head, tail=scope.profile.tail)
        task = Task("0", None, 0, query, context, told, wanted, Meter(self._budget))
        started = RunStarted(
            run=log.run,
            query=query,
            model=scope.root.info.name,
            sub_model=scope.sub.info.name,
            profile=scope.profile.name,
            context=told,
            settings=self._settings(),
            context_hash=await hash_of(context) if self._store is not None else None,
            sources=tuple(sources),
            folder=os.getcwd() if sources else "",
            kept=context if self._keep_context else None,
        )
        with kept(self._store, log.run):
            self._listen(scope, listener)
            log.emit(started)
            await self._go(scope, task)

    async def _resume(
        self,
        run: str,
        context: object,
        wanted: AnswerType,
        diverged: Diverged,
        listener: Callable[[Event], None],
        loop: asyncio.AbstractEventLoop | None,
        live: bool = False,
    ) -> None:
        if self._store is None:
            raise ConfigError("runs=False: this engine keeps no runs, so there is none to resume")
        if diverged not in ("stop", "continue"):
            raise ConfigError(f'diverged={diverged!r}: use "stop" or "continue"')
        if run not in self._store.runs():
            Past.of(run, self._store.read(run))  # says that there is none
        with kept(self._store, run):  # nobody else writes it; and it is not read on the loop of all runs
            past = await asyncio.to_thread(lambda store: Past.of(run, store.read(run)), self._store)
            if past.answered:
                for event in past.events:
                    listener(event)
                return
            models = await self._models.ready()
            context = await asyncio.to_thread(past.context, context)
            replay = Replay(past.events, go_on=diverged == "continue")
            log = EventLog(run, past=past.events, known=replay.knows)
            scope = self._scope(models, log, loop, replay)
            scope.live = live
            names = scope.root.info.name, scope.sub.info.name, scope.profile.name
            past.check(await hash_of(context), *names)
            meter = Meter(self._budget)
            meter.restore(past.replies, past.reused, past.calls, past.seconds)
            told = describe(context, head=scope.profile.head, tail=scope.profile.tail)
            task = Task("0", None, 0, past.started.query, context, told, wanted, meter)
            for event in past.events:
                if not isinstance(event, RunEnded):  # it goes on
                    listener(event)
            self._listen(scope, listener)
            await self._go(scope, task)

    async def _go(self, scope: Scope, task: Task) -> None:
        run, here = scope.log.run, asyncio.current_task()
        assert here is not None
        self._going[run] = here
        try:
            await to_the_end(scope, task)
        finally:
            del self._going[run]
            if scope.cache is not None:
                scope.cache.close()

    def _listen(self, scope: Scope, listener: Callable[[Event], None]) -> None:
        """Events go to the store first, then to who asked."""
        store, log = self._store, scope.log

        def keep(event: Event) -> None:
            try:
                if store is not None and not event.passing:
                    store.append(log.run, event)
            except JournalError as error:
                if isinstance(event, RunStarted):
                    raise  # no money is spent yet
                scope.fatal = scope.fatal or error

        log.listen(keep)
        log.listen(listener)

    def _scope(
        self, models: Models, log: EventLog, loop: asyncio.AbstractEventLoop | None, replay: Replay
    ) -> Scope:
        sandbox = self._sandbox
        return Scope(
            log=log,
            root=models.root,
            sub=models.sub,
            models=models.names,
            sandbox=shared_sandbox(sandbox) if isinstance(sandbox, str) else sandbox,
            settings=self._settings_of[0],
            sub_settings=self._settings_of[1],
            profile=self._profile or get_profile(models.root.info.profile),
            sub_profile=get_profile(models.sub.info.profile),
            limits=self._limits,
            tools=self._tools,
            instructions=self._instructions,
            loop=loop,
            spawn=run_node,
            replay=replay,
            cache=None if self._cache is None else ReplyCache(self._cache),
            retire=self._retire,
        )

    def _settings(self) -> Mapping[str, str | int | float | None]:
        limits, sandbox = self._limits, self._sandbox
        return {
            **asdict(limits),
            "call_seconds": self._call_seconds,
            "concurrency": self._concurrency,
            "sandbox": sandbox if isinstance(sandbox, str) else type(sandbox).__name__,
            **{name: getattr(self._budget, name) for name in ("usd", "tokens", "calls", "seconds")},
            "cache": None if self._cache is None else str(self._cache),
        }

    def _retire(self, repl: Repl) -> None:
        task = asyncio.ensure_future(repl.close())
        self._retiring.add(task)
        task.add_done_callback(self._retiring.discard)

    async def _close(self) -> None:
        if self._retiring:
            await asyncio.wait(self._retiring)
        await self._models.close()
