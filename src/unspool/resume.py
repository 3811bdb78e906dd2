"""What it takes to go on with a run: its events, its context, the same models.

Contract: everything that stands in the way is told before anything is sent: :class:`JournalError` for a run
that is not there or is being written, :class:`ContextError` for a context that cannot be had or is another
one, :class:`ConfigError` for other models.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from .contexts import read_file
from .errors import ConfigError, ContextError, JournalError
from .events import CallEnded, CallStarted, Event, ModelReplied, RunEnded, RunResumed, RunStarted
from .types import Role, Usage

Reply = tuple[Role, str, Usage, float | None]


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
        return cls(events[0], events)

    @property
    def answered(self) -> bool:
        """Whether there is nothing left to do."""
        return isinstance(end := self.events[-1], RunEnded) and end.status == "answered"

    def context(self, given: object) -> object:
        """The context: as given, else as it was kept, else from the files it came from."""
        started = self.started
        if given is not None:
            return given
        if started.kept is not None:
            return started.kept
        if not started.sources:
            raise ContextError(
                "the context of this run was not kept and came from no file: give it again, "
                "resume(id, context), or pipe it in again"
            )
        texts = {name: read_file(os.path.join(started.folder, name)) for name in started.sources}
        return next(iter(texts.values())) if len(texts) == 1 else texts

    def check(self, context_hash: str | None, root: str, sub: str, profile: str) -> None:
        """Refuses another context, and other models, than the run had."""
        started = self.started
        if started.context_hash != context_hash:
            raise ContextError(
                f"the context is not the one that the run {started.run} began with (its hash is "
                f"{_short(context_hash)} and was {_short(started.context_hash)}): what was found out of the "
                "old one does not hold for it. Give the old one, or start a new run"
            )
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
        paid: list[Reply] = []
        names: dict[int, str] = {}
        for event in self.events:
            if isinstance(event, ModelReplied):
                paid.append(("root", self.started.model, event.usage, event.cost))
            elif isinstance(event, CallStarted):
                names[event.call] = event.model
            elif isinstance(event, CallEnded) and event.usage.calls:
                paid.append(("sub", names[event.call], event.usage, event.cost))
        return paid

    @property
    def calls(self) -> int:
        """How many sub-calls count against a limit: those that were sent and came to an end."""
        ended = {event.call: event for event in self.events if isinstance(event, CallEnded)}
        return sum(e.error is None or e.error.kind not in ("budget", "cancelled") for e in ended.values())

    @property
    def seconds(self) -> float:
        """The time that the run has taken, without the time that it lay still."""
        total, before = 0.0, self.started.time
        for event in self.events:
            if not isinstance(event, RunResumed):
                total += event.time - before
            before = event.time
        return total


def _short(context_hash: str | None) -> str:
    return "not known" if context_hash is None else context_hash[:12] + "…"
