"""What it takes to go on with a run: its events, its context, the same models.

Contract: everything that stands in the way is told before anything is sent: :class:`JournalError` for a run
that is not there or is being written, :class:`ContextError` for a context that cannot be had or is another
one, :class:`ConfigError` for other models.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from .agreement import Agree, Branches
from .answers import AnswerType
from .budget import Reply
from .contexts import Contexts
from .contexts.grown import as_it_was, what_changed
from .contexts.identity import known_by
from .contexts.named import read_names
from .contexts.sources import with_sources
from .errors import ConfigError, ContextError, JournalError
from .events import (
    CallEnded,
    CallStarted,
    ContextMeasured,
    Event,
    ModelReplied,
    RunEnded,
    RunStarted,
    StrategyChosen,
    lived,
)
from .strategies import StrategyName, checked
from .types import DRIVEN, ROOT


@dataclass(frozen=True, slots=True)
class Past:
    """The events of a run so far."""

    started: RunStarted
    events: tuple[Event, ...]

    @classmethod
    def of(cls, run: str, events: Iterable[Event]) -> Past:
        events = tuple(events)
        if not events or not isinstance(events[0], RunStarted):
            raise JournalError(f"the journal of the run {run} does not say how it began: start a new one")
        if events[0].model.startswith(DRIVEN):
            raise ConfigError(
                f"the run {run} was a session: {events[0].model.removeprefix(DRIVEN)} sent its code, "
                f"so there is no model to go on with. unspool runs show {run} --code has the code"
            )
        return cls(events[0], events)

    @property
    def answered(self) -> bool:
        """Whether there is nothing left to do."""
        return isinstance(end := self.events[-1], RunEnded) and end.status == "answered"

    def answered_with(self, wanted: AnswerType) -> Sequence[Event]:
        """The events of a run that was answered; the answer in the wanted type, which no journal keeps."""
        *before, last = self.events
        assert isinstance(last, RunEnded)
        try:
            return [*before, replace(last, answer=wanted.check(last.answer))]
        except ValueError as error:
            raise ConfigError(f"answer=: the run was answered with another type: {error}") from None

    @property
    def strategy(self) -> StrategyName:
        """How it is answered; where that was decided for it, what was decided."""
        chosen = next((event.strategy for event in self.events if isinstance(event, StrategyChosen)), None)
        return checked(chosen or self.started.settings.get("strategy") or "rlm")

    def plan(self, agree: Agree | None) -> Branches | None:
        """How many branches it has. A function that says which answers agree is given again: it is code."""
        told = self.started.settings
        count, name = told.get("branches", 1), told.get("agree")
        if name and agree is None:
            raise ConfigError(f"a function, {name}, decides which answers agree: give it again, agree=…")
        return Branches.of(count if isinstance(count, int) else 1, agree)

    def context(self, given: object) -> object:
        """The context: as given, else as it was kept, else from the files it came from."""
        started = self.started
        if given is not None:
            return with_sources(given)
        if isinstance(started.kept, dict) and started.settings.get("named"):
            return Contexts(started.kept)
        if started.kept is not None:
            return started.kept
        if not started.sources:
            raise ContextError(
                "the context of this run was not kept and came from no file: give it again, "
                "resume(id, context), or pipe it in again"
            )
        if started.paths:
            paths: object = {name: Path(name) for name in started.sources}
            paths = Path(started.sources[0]) if len(started.sources) == 1 else paths
            return with_sources(paths, started.folder)
        return with_sources(read_names(started.sources, started.folder), started.folder)

    async def as_it_was(self, context: object) -> tuple[object, Sequence[str]]:
        """The context that the run began with, and what there is to note of that: one that has only grown is
        cut back. Refuses another one."""
        started = self.started
        known, parts = await known_by(context)
        if known == started.context_hash:
            return context, ()
        was = as_it_was(context, self.measured, started.sources)
        if was.notes:
            known, parts = await known_by(was.context)
        if not was.changes and known == started.context_hash:
            return was.context, was.notes
        alone = self.measured is not None and self.measured.parts == 1
        why = what_changed(was, parts.differing(started.marks), alone=alone)
        raise ContextError(
            f"the context is not the one that the run {started.run} began with: {why}. "
            "What was found out of the old one does not hold for it. Give the old one, or start a new run"
        )

    @property
    def measured(self) -> ContextMeasured | None:
        """What the run knew of the size of its context when it began."""
        told = (e for e in self.events if isinstance(e, ContextMeasured) and e.node == ROOT)
        return next(told, None)

    def check(self, root: str, sub: str, profile: str) -> None:
        """Refuses other models than the run had."""
        started = self.started
        for name, now, then in (
            ("model", root, started.model),
            ("sub_model", sub, started.sub_model),
            ("profile", profile, started.profile),
        ):
            if now != then:
                raise ConfigError(
                    f"{name}: this run was made with {then}, not with {now}; set {name}={then!r}"
                )

    @property
    def replies(self) -> Sequence[Reply]:
        """All that was paid for: what the models of the nodes said, and the sub-calls."""
        model = self.started.model
        said: list[Reply] = [
            ("root", model, e.usage, e.cost) for e in self.events if isinstance(e, ModelReplied)
        ]
        return said + self._sub_calls(cached=False)

    @property
    def reused(self) -> Sequence[Reply]:
        """The replies to sub-calls that were known already."""
        return self._sub_calls(cached=True)

    def _sub_calls(self, *, cached: bool) -> list[Reply]:
        names = {e.call: e.model for e in self.events if isinstance(e, CallStarted)}
        ended = [e for e in self.events if isinstance(e, CallEnded)]
        return [
            ("sub", names[e.call], e.usage, e.cost) for e in ended if e.usage.calls and e.cached == cached
        ]

    @property
    def calls(self) -> int:
        """How many sub-calls count against a limit: those that were sent and came to an end."""
        ended = {e.call: e for e in self.events if isinstance(e, CallEnded) and not e.cached}
        sent = [e for e in ended.values() if e.error is None or e.error.kind not in ("budget", "cancelled")]
        return sum(max(1, e.usage.calls) for e in sent if not e.unsent)

    @property
    def seconds(self) -> float:
        """The time that the run has taken, without the time that it lay still."""
        total, before = 0.0, self.started.time
        for event in self.events:
            total, before = lived(total, before, event), event.time
        return total
