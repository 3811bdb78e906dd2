"""The spans of a run, from its events: run, node, turn, model reply, cell, sub-call.

Contract: :meth:`SpanFold.add` is told every event in order and gives what begins and what ends by it; each
span begins once, after its parent, and ends once, before it: with the run's last event, or with
:meth:`SpanFold.cut`, nothing is left open. Times are those of the events. Content (prompts, replies, code,
output) is given only where it is asked for, without the values of secret-named environment variables.

>>> fold = SpanFold()
>>> begun = fold.add(ev.NodeStarted(node="0", parent=None, depth=0, query="?", context="", time=5.0))
>>> begun[0].name, begun[0].parent
('invoke_agent unspool', 'run')
>>> [(ended.key, ended.error) for ended in fold.cut(9.0)]
[('node 0', 'interrupted')]
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from . import events as ev
from . import span_names as names
from .journal import without_secrets
from .redact import known_error
from .types import Usage

Value = str | int | float | bool | tuple[str, ...]
Kind = Literal["internal", "client"]
ROOT = "run"  # the key of the first span


@dataclass(frozen=True, slots=True)
class Begun:
    key: str
    parent: str | None
    name: str
    kind: Kind
    time: float
    attributes: Mapping[str, Value]


@dataclass(frozen=True, slots=True)
class Ended:
    """``error``: its type, where the span failed; ``message`` is what there is to say of it."""

    key: str
    time: float
    attributes: Mapping[str, Value] = field(default_factory=lambda: dict[str, Value]())
    error: str | None = None
    message: str = ""


Step = Begun | Ended


class SpanFold:
    """See the module docstring."""

    def __init__(self, *, content: bool = False) -> None:
        self._content = content
        self._open: dict[str, Begun] = {}
        self._stopped: dict[str, Begun] = {}  # what ended because the run was stopped in it
        self._turns: dict[str, tuple[str, float]] = {}  # node -> its open turn, and its last event's time
        self._cells: dict[str, str] = {}  # node -> its open cell

    def going_on(self, time: float) -> list[Begun]:
        """What goes on in a run that is resumed, parents first: it is open again."""
        again = sorted({**self._open, **self._stopped}.values(), key=lambda b: (b.time, len(b.key)))
        self._open, self._stopped = {begun.key: begun for begun in again}, {}
        for begun in again:
            match begun.key.split():
                case ["node", node, "turn", _]:
                    self._turns[node] = (begun.key, time)
                case ["node", node, "cell", _]:
                    self._cells[node] = begun.key
        return again

    def add(self, event: ev.Event) -> list[Step]:
        steps = self._steps(event)
        for step in steps:
            if isinstance(step, Begun):
                self._open[step.key] = step
            elif (begun := self._open.pop(step.key, None)) is not None and _may_go_on(step):
                self._stopped[step.key] = begun
        node = getattr(event, "node", None)
        if isinstance(node, str) and node in self._turns:
            self._turns[node] = (self._turns[node][0], event.time)
        return steps

    def cut(self, time: float) -> list[Ended]:
        """The ends of all that is open, children first: of a run that was stopped from outside."""
        ends = [Ended(key, time, error="interrupted") for key in reversed(self._open)]
        self._open.clear()
        return ends

    def _steps(self, event: ev.Event) -> list[Step]:
        match event:
            case ev.RunStarted():
                return [self._run(event)]
            case ev.NodeStarted():
                return [self._node(event)]
            case ev.TurnStarted():
                key = f"node {event.node} turn {event.turn}"
                name = f"turn {event.turn}" if event.turn else "first look"
                begun = Begun(
                    key, f"node {event.node}", name, "internal", event.time, {names.TURN: event.turn}
                )
                ends: list[Step] = [*self._turn_ends(event.node)]
                self._turns[event.node] = (key, event.time)
                return [*ends, begun]
            case ev.ModelReplied():
                return self._replied(event)
            case ev.CellStarted():
                return [self._cell(event)]
            case ev.CellEnded():
                return self._cell_ended(event)
            case ev.CallStarted():
                return [self._call(event)]
            case ev.CallEnded():
                return self._call_ended(event)
            case ev.NodeEnded():
                return self._node_ended(event)
            case ev.RunEnded():
                return self._run_ended(event)
            case _:
                return []

    def _run(self, event: ev.RunStarted) -> Begun:
        told: dict[str, Value] = {
            names.OPERATION: names.RUN,
            names.WORKFLOW: names.SCOPE,
            names.CONVERSATION: event.run,
            names.REQUEST_MODEL: names.model(event.model),
            names.PROVIDER: names.provider(event.model),
            **self._text(names.QUERY, event.query),
        }
        return Begun(ROOT, None, f"{names.RUN} {names.SCOPE}", "internal", event.time, told)

    def _node(self, event: ev.NodeStarted) -> Begun:
        parent = self._cells.get(event.parent, f"node {event.parent}") if event.parent is not None else ROOT
        told: dict[str, Value] = {
            names.OPERATION: names.NODE,
            names.AGENT_NAME: names.SCOPE,
            names.AGENT_ID: event.node,
            names.DEPTH: event.depth,
            **self._text(names.QUERY, event.query),
        }
        name = f"{names.NODE} {names.SCOPE}"
        return Begun(f"node {event.node}", parent, name, "internal", event.time, told)

    def _replied(self, event: ev.ModelReplied) -> list[Step]:
        turn, _ = self._turns.get(event.node, (f"node {event.node}", event.time))
        key = f"{turn} reply"
        began = max(event.time - event.seconds, self._open[turn].time if turn in self._open else 0.0)
        told = {**_asked(event.model, "root"), names.TURN: event.turn}
        ended: dict[str, Value] = {
            names.RESPONSE_MODEL: names.model(event.model),
            names.FINISH_REASONS: (event.finish,),
            names.RETRIES: event.retries,
            names.REPLY_SIZE: len(event.text),
            **({names.CACHED: True} if event.shared else _paid(event.usage, event.cost)),
            **self._messages(names.OUTPUT_MESSAGES, "assistant", event.text),
        }
        name = f"{names.CALL} {names.model(event.model)}"
        return [Begun(key, turn, name, "client", began, told), Ended(key, event.time, ended)]

    def _cell(self, event: ev.CellStarted) -> Begun:
        turn, _ = self._turns.get(event.node, (f"node {event.node}", event.time))
        key = self._cells[event.node] = f"node {event.node} cell {event.cell}"
        told: dict[str, Value] = {
            names.OPERATION: names.CELL,
            names.TOOL_NAME: names.TOOL,
            names.CELL_NUMBER: event.cell,
            names.CODE_LINES: len(event.code.strip().splitlines()),
            **self._text(names.TOOL_ARGUMENTS, event.code),
        }
        return Begun(key, turn, f"{names.CELL} {names.TOOL}", "internal", event.time, told)

    def _cell_ended(self, event: ev.CellEnded) -> list[Step]:
        key = f"node {event.node} cell {event.cell}"
        self._cells.pop(event.node, None)
        if key not in self._open:
            return []
        told = {
            names.OUTCOME: event.outcome,
            names.PRINTED: event.printed,
            **self._text(names.TOOL_RESULT, event.output),
        }
        error = event.error.type if event.error else None
        error = known_error(error) if error and not self._content else error
        if error is None and event.outcome not in ("ok", "submitted"):
            error = event.outcome
        message = self._said(event.error.message if event.error else "")
        return [*self._below(key, event.time), Ended(key, event.time, told, error, message)]

    def _call(self, event: ev.CallStarted) -> Begun:
        told = {
            **_asked(event.model, event.role),
            names.CALL_NUMBER: event.call,
            names.PROMPT_SIZE: len(event.prompt),
            **({} if event.batch is None else {names.BATCH: event.batch}),
            **self._messages(names.INPUT_MESSAGES, "user", event.prompt),
        }
        parent = f"node {event.node} cell {event.cell}"
        parent = parent if parent in self._open else f"node {event.node}"
        name = f"{names.CALL} {names.model(event.model)}"
        return Begun(f"call {event.call}", parent, name, "client", event.time, told)

    def _call_ended(self, event: ev.CallEnded) -> list[Step]:
        key = f"call {event.call}"
        if key not in self._open:
            return []
        told: dict[str, Value] = {
            names.RESPONSE_MODEL: names.model(event.model),
            names.RETRIES: event.retries,
        }
        if event.finish is not None:
            told[names.FINISH_REASONS] = (event.finish,)
        if event.cached:
            told[names.CACHED] = True  # nothing was paid now
        else:
            told |= _paid(event.usage, event.cost)
        if event.reply is not None:
            told[names.REPLY_SIZE] = len(event.reply)
            told |= self._messages(names.OUTPUT_MESSAGES, "assistant", event.reply)
        if event.error is None:  # a failed call is falsy
            return [Ended(key, event.time, told)]
        return [Ended(key, event.time, told, event.error.kind, self._said(event.error.message))]

    def _node_ended(self, event: ev.NodeEnded) -> list[Step]:
        key = f"node {event.node}"
        if key not in self._open:
            return []
        error = None if event.status == "answered" else event.status
        ends = self._turn_ends(event.node, "interrupted" if event.status == "cancelled" else None)
        ends += self._below(key, event.time)
        told: dict[str, Value] = {names.STATUS: event.status}
        return [*_once(ends), Ended(key, event.time, told, error, self._said(event.reason) if error else "")]

    def _run_ended(self, event: ev.RunEnded) -> list[Step]:
        told: dict[str, Value] = {
            names.STATUS: event.status,
            names.TURNS: event.turns,
            names.SUB_CALLS: event.sub_calls,
            **_paid(event.usage, event.cost),
            **self._text(names.ANSWER, "" if event.answer is None else str(event.answer)),
        }
        error = None if event.status == "answered" else event.status
        message = self._said(event.reason) if error else ""
        return [*self._below(ROOT, event.time), Ended(ROOT, event.time, told, error, message)]

    def _turn_ends(self, node: str, error: str | None = None) -> list[Ended]:
        key, last = self._turns.pop(node, ("", 0.0))
        if key not in self._open:
            return []
        return [*self._below(key, last), Ended(key, last, error=error)]

    def _below(self, key: str, time: float) -> list[Ended]:
        """The ends of what is still open below a span: what was stopped with it."""
        inside = {key}
        for begun in self._open.values():  # parents first
            if begun.parent in inside:
                inside.add(begun.key)
        return [Ended(k, time, error="interrupted") for k in reversed(self._open) if k in inside - {key}]

    # Content

    def _said(self, text: str) -> str:
        return without_secrets(text) if self._content else ""

    def _text(self, name: str, text: str) -> dict[str, Value]:
        return {name: without_secrets(text)} if self._content and text else {}

    def _messages(self, name: str, role: str, text: str) -> dict[str, Value]:
        if not self._content:
            return {}
        message = {"role": role, "parts": [{"type": "text", "content": without_secrets(text)}]}
        return {name: json.dumps([message], ensure_ascii=False)}


def _may_go_on(ended: Ended) -> bool:
    """Whether a span is taken up where the run is resumed: what was stopped, and what it was stopped in."""
    stopped = ended.error in ("interrupted", "cancelled")
    return stopped or (ended.error is not None and _is_top(ended.key))


def _is_top(key: str) -> bool:
    """Whether it is the run's span, or that of a branch of its root."""
    return key == ROOT or (key.startswith("node ") and key.count(" ") == 1 and "." not in key)


def _asked(model: str, role: str) -> dict[str, Value]:
    return {
        names.OPERATION: names.CALL,
        names.PROVIDER: names.provider(model),
        names.REQUEST_MODEL: names.model(model),
        names.ROLE: role,
    }


def _paid(usage: Usage, cost: float | None) -> dict[str, Value]:
    """What is known of what it took; what is not known is not there."""
    known = (
        (names.INPUT_TOKENS, usage.input_tokens),
        (names.OUTPUT_TOKENS, usage.output_tokens),
        (names.CACHED_TOKENS, usage.cached_tokens),
        (names.REASONING_TOKENS, usage.reasoning_tokens),
        (names.COST, cost),
    )
    return {name: value for name, value in known if value is not None}


def _once(ends: list[Ended]) -> list[Ended]:
    return list({end.key: end for end in reversed(ends)}.values())[::-1]
