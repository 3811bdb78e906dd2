"""A run that has begun, to its last event, whatever happens on the way.

Contract: :func:`to_the_end` emits ``run.ended`` exactly once, with what the run was paid with and what
there is to say of it; only cancellation, and what a model raises by mistake, pass through, after that.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from dataclasses import replace

from .agreement import Branches
from .branches import run_branches
from .errors import mishap
from .events import CallEnded, RunEnded
from .scope import Outcome, Scope, Task
from .streak import unsent_note
from .types import Usage


async def to_the_end(scope: Scope, task: Task, plan: Branches | None = None) -> None:
    """Runs the root node, or several branches of it, and tells how the run ended."""
    try:
        outcome = await (run_branches(scope, task, plan) if plan else scope.spawn(scope, task))
    except asyncio.CancelledError:
        _end(scope, task, scope.left or Outcome("cancelled", scope.stopped))
        raise
    except BaseException as error:
        if (mistake := mishap(error)) is not None:
            left = scope.left
            _end(scope, task, left if left and left.status == "failed" else Outcome("failed", mistake))
        raise
    _end(scope, task, outcome)


def _end(scope: Scope, task: Task, outcome: Outcome) -> None:
    total, lost = task.meter.total, task.meter.unsure
    scope.log.emit(
        RunEnded(
            run=scope.log.run,
            status=outcome.status,
            reason=outcome.reason,
            answer=outcome.answer,
            draft=outcome.draft,
            usage=total.usage if lost else in_all(total.usage),
            cost=total.cost if total.usage.calls or not lost else None,  # of what was sent nothing is known
            ledger=task.meter.ledger,
            turns=outcome.turns,
            sub_calls=scope.sub_calls,
            seconds=task.meter.seconds,
            notes=(*scope.notes, *_unsent(scope), *_notes(scope, task, outcome)),
            reused=total.reused,
            reused_cost=total.reused_cost,
            limit=outcome.limit,
            stuck=outcome.stuck,
        )
    )


def in_all(usage: Usage) -> Usage:
    """The figures of a whole: where no call was made, it is known that nothing was read or written.

    >>> in_all(Usage()).input_tokens, in_all(Usage(calls=1, calls_unmeasured=1)).input_tokens
    (0, None)
    """
    if usage.calls:
        return usage
    return replace(usage, input_tokens=0, output_tokens=0, cached_tokens=0, reasoning_tokens=0)


def _unsent(scope: Scope) -> Iterable[str]:
    """The models of which calls were held back, and not asked since, as a run that goes on may do."""
    notes: dict[int, str] = {}
    for event in scope.log.events:
        if isinstance(event, CallEnded):
            notes.pop(event.call, None)
            if event.unsent and event.error is not None:
                notes[event.call] = unsent_note(event.model, event.error.message)
    return dict.fromkeys(notes.values())


def _notes(scope: Scope, task: Task, outcome: Outcome) -> list[str]:
    """What else there is to say of the whole run."""
    notes: list[str] = []
    charged = task.meter.charged
    for lost, what in ((charged, "what the provider charges for that"),
                       (task.meter.unsure - charged, "what was read and written for that")):  # fmt: skip
        if lost:
            requests = "1 request" if lost == 1 else f"{lost:,} requests"
            notes.append(f"{requests} had no whole reply: {what} is in no figure here")
    if outcome.status != "answered" and (trouble := task.meter.trouble) and trouble not in outcome.reason:
        notes.append(f"a call was being tried again, whose last attempt had failed: {trouble}")
    if scope.cache is not None and scope.cache.trouble is not None:
        notes.append(f"the cache of replies could not be used: {scope.cache.trouble}")
    return notes
