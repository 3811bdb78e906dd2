"""Runs in Python's ``logging``, under "unspool": a line when a run begins, one a turn, one at its end.

Contract: INFO for what happens, WARNING for a failed sub-call, a note, and a run without an answer. No text
of the question, the input or an answer is logged; what a server says of a failed call is, as one line that is
safe on a terminal. There is no handler that writes: until a program makes one, nothing is shown.

>>> _amounts(Usage(calls=1, input_tokens=5156, output_tokens=50), None)
'5,156 tokens in, 50 out, cost unknown'
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable

from . import events as ev
from .event_log import EventLog
from .money import money
from .safe_text import one_line, safe
from .trace import TraceBuilder
from .types import Turn, Usage

_log = logging.getLogger("unspool")


def log_lines(log: EventLog) -> Callable[[ev.Event], None] | None:
    """What writes the lines of a run; None where nobody wants them."""
    if not any(isinstance(handler, logging.NullHandler) for handler in _log.handlers):
        _log.addHandler(logging.NullHandler())  # else warnings would be written where nothing is set up
    if not _log.isEnabledFor(logging.WARNING):
        return None
    return _Lines(log).add


class _Lines:
    def __init__(self, log: EventLog) -> None:
        self._run = log.run
        self._turns: dict[str, int] = {}  # node -> its open turn
        self._trace = self._so_far(log.events) if _log.isEnabledFor(logging.INFO) else None

    def _so_far(self, events: Iterable[ev.Event]) -> TraceBuilder:
        """What was logged before, of a run that is resumed; a turn that was cut is told when it ends."""
        trace = TraceBuilder()
        for event in events:
            trace.add(event)
            if isinstance(event, ev.TurnStarted):
                self._turns[event.node] = event.turn
            elif isinstance(event, ev.NodeEnded) and event.status != "cancelled":
                self._turns.pop(event.node, None)
        return trace

    def add(self, event: ev.Event) -> None:
        if event.passing:
            return
        if self._trace is not None:
            if isinstance(event, ev.TurnStarted | ev.NodeEnded):
                self._turn_ended(event.node, self._trace)
            self._trace.add(event)
        match event:
            case ev.RunStarted():
                other = "" if event.model == event.sub_model else f", sub-calls {event.sub_model}"
                self._say(logging.INFO, f"begins with {event.model}{other}")
            case ev.RunResumed():
                self._say(logging.INFO, "is resumed")
            case ev.TurnStarted():
                self._turns[event.node] = event.turn
            case ev.CallEnded() if event.error is not None:
                why = f"{event.error.kind}: {event.error.message}"
                self._say(logging.WARNING, f"node {event.node}: sub-call {event.call} failed: {why}")
            case ev.RunEnded():
                self._run_ended(event)
            case _:
                return

    def _turn_ended(self, node: str, trace: TraceBuilder) -> None:
        number = self._turns.pop(node, None)
        turn = trace.turn(node, number) if number is not None else None
        if turn is not None:
            self._say(logging.INFO, f"node {node}, turn {turn.number}: {_told(turn)}")

    def _run_ended(self, event: ev.RunEnded) -> None:
        for note in event.notes:
            self._say(logging.WARNING, f"note: {note}")
        wanted = event.status in ("answered", "cancelled")  # who cancels it knows
        level = logging.INFO if wanted else logging.WARNING
        why = "" if event.status == "answered" else f" ({event.reason})"
        amounts = f"{_count(event.turns, 'turn')}, {_count(event.sub_calls, 'sub-call')}"
        amounts += f", {_amounts(event.usage, event.cost)}"
        self._say(level, f"{event.status}{why} in {event.seconds:.1f} s: {amounts}")

    def _say(self, level: int, text: str) -> None:
        _log.log(level, "run %s: %s", self._run, safe(one_line(text, 500)))


def _told(turn: Turn) -> str:
    parts = [_amounts(turn.usage, turn.cost) if turn.usage.calls else "no reply"]
    calls = [call for cell in turn.cells for call in cell.sub_calls]
    failed = sum(call.error is not None for call in calls)
    outcomes = ", ".join(cell.outcome or "cut" for cell in turn.cells)
    parts.append(_count(len(turn.cells), "cell") + (f" ({outcomes})" if outcomes else ""))
    if calls:
        parts.append(_count(len(calls), "sub-call") + (f", {failed} failed" if failed else ""))
    if turn.started is not None and turn.ended is not None:
        parts.append(f"{turn.ended - turn.started:.1f} s")
    return "; ".join(parts)


def _count(number: int, noun: str) -> str:
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def _amounts(usage: Usage, cost: float | None) -> str:
    price = money(cost)
    if usage.input_tokens is None and usage.output_tokens is None:
        return f"tokens unknown, {price}"
    return f"{usage.input_tokens or 0:,} tokens in, {usage.output_tokens or 0:,} out, {price}"
