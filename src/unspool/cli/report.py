"""A run told in lines: what happened, once it has happened.

Contract: :func:`lines` is pure and takes the view *after* the event. The same lines go to a pipe as
they are and to a terminal with colours; no line here is made safe for a terminal yet.

>>> count(1, "sub-call"), count(1200, "sub-call")
('1 sub-call', '1,200 sub-calls')
>>> money(None), money(0.0), money(0.00042)
('cost unknown', '$0', '$0.0004')
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from .. import events as ev
from ..money import money as money
from ..safe_text import one_line
from ..types import ROOT, Usage, known_sum
from .view import View

Kind = Literal["head", "code", "output", "note", "error", "good"]

_COMMAND = 40  # characters of a program as a model
_STOPPED = {
    "interrupted": "stopped; variables kept",
    "rolled_back": "stopped; undone",
    "restarted": "stopped; the REPL began anew",
}


@dataclass(frozen=True, slots=True)
class Line:
    kind: Kind
    text: str  # several lines where code or output is shown


def count(number: int, noun: str) -> str:
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def model_name(name: str) -> str:
    """A model's name as lines and lists have it: of a command its program, and how its arguments begin.

    >>> model_name("openai:gpt-5"), model_name("command:/opt/bin/llm --template brief -m some/large-model")
    ('openai:gpt-5', 'command:llm --template brief -m some...')
    """
    kind, colon, command = name.partition(":")
    if kind != "command":
        return name
    program, space, arguments = command.strip().partition(" ")
    return one_line(f"{kind}{colon}{program.rpartition('/')[2]}{space}{arguments}", _COMMAND)


def duration(seconds: float) -> str:
    """
    >>> duration(0.0034), duration(9.96), duration(75), duration(4000)
    ('3 ms', '10.0 s', '1 min 15 s', '1 h 06 min')
    """
    if seconds < 0.95:
        return f"{seconds * 1000:.0f} ms"
    if seconds < 60:
        return f"{seconds:.1f} s"
    whole = int(seconds)
    if whole < 3600:
        return f"{whole // 60} min {whole % 60} s"
    return f"{whole // 3600} h {whole % 3600 // 60:02d} min"


def tokens(usage: Usage) -> str:
    """Both sums; marked where some calls reported nothing, so that they are lower bounds."""
    if usage.calls and usage.input_tokens is None and usage.output_tokens is None:
        return "tokens unknown"
    over = "at least " if usage.calls_unmeasured else ""
    return f"{over}{usage.input_tokens or 0:,} tokens in, {usage.output_tokens or 0:,} out"


def calls(done: int, every: int, failed: int) -> str:
    """
    >>> calls(3, 16, 1), calls(1, 1, 0)
    ('3 of 16 sub-calls, 1 failed', '1 sub-call')
    """
    amount = count(every, "sub-call") if done >= every else f"{done:,} of {every:,} sub-calls"
    return amount + (f", {failed:,} failed" if failed else "")


def lines(view: View, event: ev.Event, *, show_code: bool) -> Iterator[Line]:
    """What to say of ``event``; nothing for most."""
    match event:
        case ev.RunStarted():
            same = event.model == event.sub_model
            other = "" if same else f", sub-calls: {model_name(event.sub_model)}"
            how = event.settings.get("strategy") or "rlm"
            by = "" if how == "rlm" else f", strategy: {how}"
            yield Line("head", f"model: {model_name(event.model)}{other}{by}")
        case ev.StrategyChosen():
            yield Line("note", f"strategy: {event.strategy} ({event.reason})")
        case ev.RunResumed():
            yield Line("head", "resumed")
        case ev.ModelDelta() if event.trouble and event.node == ROOT:
            yield Line("note", f"{_turn(event.turn)}: asking again: {one_line(event.trouble)}")
        case ev.CellStarted() if event.node == ROOT and show_code:
            yield Line("head", f"{_turn(event.turn)}: code")
            yield Line("code", event.code.strip("\n"))
        case ev.CellEnded() if event.node == ROOT:
            yield from _cell(view, event, show_code)
        case ev.Hinted() if event.node == ROOT:
            yield Line("note", f"{_turn(event.turn)}: told the model: {one_line(event.text)}")
        case ev.AnswerRefused() if event.node == ROOT:
            yield Line("note", f"{_turn(event.turn)}: answer refused: {one_line(event.reason)}")
        case ev.BatchStarted() if event.size > 1:
            place = _turn(event.turn) if event.node == ROOT else _node(event.node)
            yield Line("note", f"{place}: {count(event.size, 'sub-call')} in one batch")
        case ev.NodeEnded() if event.node != ROOT or view.branches > 1:
            paid = "" if "." in event.node or view.branches == 1 else f", {_paid(event)}"
            yield Line("note", f"{_node(event.node)}: {event.status} ({one_line(event.reason)}){paid}")
        case ev.BranchesDecided():
            from ..agreement import agreed  # which loads the engine: there is one by now

            yield Line("note", agreed(len(event.agreeing), event.count, len(event.stopped)))
        case ev.RunEnded():
            yield from _end(event)


def _turn(number: int) -> str:
    """What comes before the first turn is code that the profile runs, so that the model sees a little."""
    return f"turn {number}" if number else "first look"


def _node(name: str) -> str:
    """
    >>> _node("0.1"), _node("0"), _node("0@2"), _node("0@2.1")
    ('child 0.1', 'branch 1', 'branch 2', 'child 0@2.1')
    """
    return f"child {name}" if "." in name else f"branch {name.partition('@')[2] or 1}"


def _paid(ended: ev.NodeEnded) -> str:
    total: float | None = 0.0
    for line in ended.ledger:
        total = known_sum(total, line.cost)
    return money(total)


def _cell(view: View, event: ev.CellEnded, show_code: bool) -> Iterator[Line]:
    if show_code and event.output.strip():
        yield Line("head", f"{_turn(event.turn)}: output")
        yield Line("output", event.output.strip("\n"))
    done, every, failed = view.cell_calls
    parts = [f"{count(len(view.code.strip().splitlines()), 'line')} of code, {duration(event.seconds)}"]
    if event.printed:
        parts.append(f"{count(event.printed, 'character')} printed")
    if every:
        parts.append(calls(done, every, failed))
    if view.refused:
        parts.append(f"{count(view.refused, 'sub-call')} refused for a limit")
    if event.outcome in _STOPPED:
        parts.append(_STOPPED[event.outcome])
    yield Line("note", f"{_turn(event.turn)}: {', '.join(parts)}")
    if event.error is not None and event.error.type != "AnswerRefused":  # that has been told
        at = f" (line {event.error.line})" if event.error.line else ""
        yield Line("error", f"{_turn(event.turn)}: {event.error.type}: {one_line(event.error.message)}{at}")


def _end(event: ev.RunEnded) -> Iterator[Line]:
    for note in event.notes:
        yield Line("note", f"note: {one_line(note)}")
    if event.status != "answered":
        yield Line("error", f"{event.status}: {event.reason}")
        if event.draft is not None:
            yield Line("error", f"the answer is a draft: {event.draft}")
    amounts = f"{count(event.turns, 'turn')}, {count(event.sub_calls, 'sub-call')}"
    kind: Kind = "good" if event.status == "answered" else "note"
    told = (
        f"{event.status} in {duration(event.seconds)}: {amounts}, {tokens(event.usage)}, {money(event.cost)}"
    )
    if event.reused.calls:
        old = "1 reply" if event.reused.calls == 1 else f"{event.reused.calls:,} replies"
        told += f"; {old} from the cache, not paid again ({money(event.reused_cost)})"
    yield Line(kind, told)
