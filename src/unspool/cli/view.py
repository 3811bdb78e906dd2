"""What a run looks like right now: the events so far, folded into a few numbers and texts.

Contract: :func:`fold` is pure. Turns, code and output are those of the root node (of its first branch);
sub-calls, tokens and cost are those of the whole tree; ``children`` has the children that are at work.

>>> from unspool.events import BatchStarted, CallEnded
>>> view = fold(View(), BatchStarted(node="0", turn=1, cell=1, batch=1, size=16))
>>> view.calls_done, view.calls_all
(0, 16)
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Literal

from .. import events as ev
from ..types import CUT, PASSING, ROOT, CellOutcome, Status, Usage, was_refused

Phase = Literal[
    "starting", "asking the model", "asking again", "the model writes", "the sandbox starts", "running code",
    "done",
]  # fmt: skip
_QUERY_KEPT = 200
_REPLY_KEPT = 8_000  # characters of a reply that is being written: more than a screen has


@dataclass(frozen=True, slots=True)
class Child:
    """A child that is at work."""

    query: str
    turn: int = 0
    phase: Phase = "starting"
    calls_done: int = 0
    calls_all: int = 0


@dataclass(frozen=True, slots=True)
class View:
    model: str = ""
    sub_model: str = ""
    phase: Phase = "starting"
    started: float | None = None  # Unix seconds
    since: float | None = None  # when the turn or the phase began
    paused: float = 0.0  # seconds in which nobody went on with the run
    now: float = 0.0  # time of the last event
    turn: int = 0
    max_turns: int | None = None
    branches: int = 1
    reply: str = ""  # the end of what the model has written in this turn, until it is done
    code: str = ""  # of the cell that runs or ran last
    output: str = ""  # what it printed
    outcome: CellOutcome | None = None
    calls_done: int = 0
    calls_all: int = 0
    calls_failed: int = 0
    refused: int = 0  # calls of this cell that a limit did not let through: in none of the figures above
    again: int = 0  # of the failed, those of this cell that a resumed run asks again
    cut: bool = False  # something in this cell was stopped, so that its end says nothing
    before: tuple[int, int, int] = (0, 0, 0)  # done, all, failed as the cell began
    nodes: int = 0
    children: Mapping[str, Child] = field(default_factory=lambda: dict[str, Child]())  # those at work
    usage: Usage = field(default_factory=Usage)
    cost: float | None = 0.0  # None: a price is not known
    status: Status | None = None

    @property
    def cell_calls(self) -> tuple[int, int, int]:
        """Sub-calls done, asked for and failed since the current cell began."""
        done, every, failed = self.before
        return self.calls_done - done, self.calls_all - every, self.calls_failed - failed


def fold(view: View, event: ev.Event) -> View:
    """The view after one more event."""
    after = _fold(view, event)
    if (after.turn, after.phase) == (view.turn, view.phase) and not isinstance(event, ev.RunResumed):
        return after
    return replace(after, since=event.time)


def _fold(view: View, event: ev.Event) -> View:
    if isinstance(event, ev.RunResumed):
        view = replace(view, paused=view.paused + max(0.0, event.time - view.now))
    view = replace(view, now=event.time)
    if view.children or isinstance(event, ev.NodeStarted):
        view = _with_children(view, event)
    match event:
        case ev.RunStarted():
            turns, branches = event.settings.get("max_turns"), event.settings.get("branches")
            return replace(
                view,
                model=event.model,
                sub_model=event.sub_model,
                started=event.time,
                max_turns=turns if isinstance(turns, int) else None,
                branches=branches if isinstance(branches, int) else 1,
            )
        case ev.RunResumed():
            done, failed = view.calls_done - view.again, view.calls_failed - view.again
            more = view.refused if view.cut or view.outcome is None else 0  # they are asked again, too
            return replace(
                view, calls_done=done, calls_all=view.calls_all + more, calls_failed=failed,
                again=0, cut=False, refused=view.refused - more,
            )  # fmt: skip
        case ev.NodeStarted():
            return replace(view, nodes=view.nodes + 1)
        case ev.ModelReplied():
            if event.node == ROOT:
                view = replace(view, reply="", phase=view.phase if view.code else "the sandbox starts")
            return _paid(view, event.usage, event.cost)
        case ev.BatchStarted() | ev.CallStarted() | ev.CallEnded():
            return _sub_calls(view, event)
        case ev.RunEnded():
            return replace(view, phase="done", status=event.status, usage=event.usage, cost=event.cost)
        case ev.TurnStarted() | ev.ModelDelta() | ev.CellStarted() | ev.CellEnded() if event.node == ROOT:
            return _root(view, event)
        case _:
            return view


def _with_children(view: View, event: ev.Event) -> View:
    """The children at work; what the root does is told apart."""
    node = getattr(event, "node", ROOT)
    child = view.children.get(node)
    match event:
        case ev.RunEnded():
            return replace(view, children={})
        case ev.NodeStarted() if node != ROOT:
            return replace(view, children={**view.children, node: Child(event.query[:_QUERY_KEPT])})
        case ev.NodeEnded():
            left = {name: each for name, each in view.children.items() if name != node}
            return replace(view, children=left)
        case ev.TurnStarted() if child:
            phase: Phase = "asking the model" if event.turn else "starting"
            child = replace(child, turn=event.turn, phase=phase)
        case ev.ModelReplied() if child and child.turn == 1:
            child = replace(child, phase="the sandbox starts")
        case ev.CellStarted() if child:
            child = replace(child, phase="running code", calls_done=0, calls_all=0)
        case ev.BatchStarted() if child:
            child = replace(child, calls_all=child.calls_all + event.size)
        case ev.CallStarted() if child and event.batch is None:
            child = replace(child, calls_all=child.calls_all + 1)
        case ev.CallEnded() if child and was_refused(event.error, event.usage):
            child = replace(child, calls_all=child.calls_all - 1)
        case ev.CallEnded() if child:
            child = replace(child, calls_done=child.calls_done + 1)
        case _:
            return view
    return replace(view, children={**view.children, node: child})


def _root(view: View, event: ev.TurnStarted | ev.ModelDelta | ev.CellStarted | ev.CellEnded) -> View:
    match event:
        case ev.TurnStarted():
            phase: Phase = "asking the model" if event.turn else "starting"
            return replace(view, phase=phase, turn=event.turn, reply="")
        case ev.ModelDelta():
            if event.trouble:
                return replace(view, phase="asking again", reply=event.trouble)
            before = "" if event.fresh else view.reply
            reply = f"{before}{event.thinking}{event.text}"[-_REPLY_KEPT:]
            return replace(view, phase="the model writes", reply=reply)
        case ev.CellStarted():
            counts = (view.calls_done, view.calls_all, view.calls_failed)
            return replace(
                view, phase="running code", code=event.code, output="", outcome=None, before=counts,
                again=0, cut=False, refused=0,
            )  # fmt: skip
        case ev.CellEnded():
            error = f"{event.error.type}: {event.error.message}" if event.error else ""
            output = "\n".join(part for part in (event.output.rstrip("\n"), error) if part)
            again = view.again if view.cut else 0
            return replace(view, output=output, outcome=event.outcome, again=again)


def _sub_calls(view: View, event: ev.BatchStarted | ev.CallStarted | ev.CallEnded) -> View:
    match event:
        case ev.BatchStarted():
            return replace(view, calls_all=view.calls_all + event.size)
        case ev.CallStarted():
            return replace(view, calls_all=view.calls_all + 1) if event.batch is None else view
        case ev.CallEnded() if was_refused(event.error, event.usage):
            return replace(view, calls_all=view.calls_all - 1, refused=view.refused + 1)
        case ev.CallEnded():
            if event.usage.calls and not event.cached:  # what had no reply, or an old one, costs nothing
                view = _paid(view, event.usage, event.cost)
            view = replace(view, calls_done=view.calls_done + 1)
            if event.error is None:
                return view
            return replace(
                view,
                calls_failed=view.calls_failed + 1,
                again=view.again + (event.unsent or event.error.kind in PASSING),
                cut=view.cut or event.error.kind in CUT,
            )


def _paid(view: View, usage: Usage, cost: float | None) -> View:
    total = None if view.cost is None or cost is None else view.cost + cost
    return replace(view, usage=view.usage + usage, cost=total)
