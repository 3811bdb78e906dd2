"""What the journal of a run knows, given out as the run goes through the same steps again.

Contract: the engine asks before every step that costs something, and takes what it is given in place of
doing it; a new run asks a replay that knows nothing. :meth:`Replay.knows` says which events are in the
journal already. A *sealed* cell has to do again what it did: else :class:`unspool.errors.Divergence`, or,
with ``go_on``, what came after it is dropped and the run goes on from there. A cell that was cut off goes
on with the replies it had. See *Journal and resume* in ``docs/design.md``.

>>> from unspool.events import ModelReplied, NodeStarted
>>> from unspool.types import Usage
>>> said = ModelReplied(node="0", turn=1, role="root", model="m", text="hi", thinking="", code=(),
...     finish="stop", usage=Usage(), cost=None, seconds=0.0, retries=0)
>>> replay = Replay([NodeStarted(node="0", parent=None, depth=0, query="q", context="c"), said])
>>> replay.reply("0", 1).text, replay.reply("0", 2)
('hi', None)
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from dataclasses import replace

from . import events as ev
from .errors import Divergence
from .models.protocol import ModelReply
from .past import PastCall, PastCell, PastNode, PastRun
from .sandbox.protocol import CellResult
from .scope import Outcome
from .types import ROOT, Usage


class Replay:
    """See the module docstring."""

    def __init__(self, events: Sequence[ev.Event] = (), *, go_on: bool = False) -> None:
        self._go_on = go_on
        self._past = PastRun(events)
        self.tell: Callable[[ev.Event], None] = lambda event: None
        self.last_call = self._past.last_call
        self.last_batch = self._past.last_batch
        self.refused = self._past.refused
        self.answered = self._past.answered
        self._shared: dict[str, PastRun] = {}  # by branch: the trunk up to where it left it
        self._forked: set[str] = set()

    def share(self, branch: str, trunk: Sequence[ev.Event]) -> None:
        """A branch of the root begins as the trunk did: what the trunk was told is known to it, too."""
        self._shared[branch] = PastRun(trunk)

    def forked(self, branch: str) -> None:
        """The REPL of a branch is a fork of the trunk's: what the trunk's cells have made is in it."""
        self._forked.add(branch)

    def _trunk_cell(self, node: str, number: int) -> PastCell | None:
        shared = self._shared.get(node)
        return shared.cell(ROOT, number) if shared else None

    # What is known of a step

    def reply(self, node: str, turn: int) -> ev.ModelReplied | None:
        """What a node's model said in a turn."""
        past = self._past.nodes.get(node)
        reply = past.replies.get(turn) if past else None
        shared = self._shared.get(node)
        if reply is None and shared and (reply := shared.nodes[ROOT].replies.get(turn)):
            reply = replace(reply, node=node, usage=Usage(), cost=0.0, seconds=0.0, retries=0, shared=True)
            self.tell(reply)
        return reply

    def told(self, node: str, turn: int) -> list[str] | None:
        """The hints that a node got after a turn which another one followed."""
        past = self._past.nodes.get(node)
        if past is None or turn >= max(past.turns, default=0):
            return None
        return [text for number, text in past.hints if number == turn]

    def cell(self, node: str, turn: int, number: int, code: str) -> PastCell | None:
        past, trunk = self._past.cell(node, number), self._trunk_cell(node, number)
        if trunk and (node in self._forked or (past is None and trunk.skipped)):
            return trunk.passed_over()  # what it left behind, if anything, is there
        if past is not None and past.started.code != code:
            self._diverge(node, turn, number, "its code is another one", past)
            del self._past.nodes[node].cells[number]
            return None
        return past

    def call(self, node: str, cell: int, key: str) -> PastCall | None:
        """The next call of a cell with this content."""
        if (trunk := self._trunk_cell(node, cell)) and (shared := trunk.take_call(key)):
            return shared
        past = self._past.cell(node, cell)
        if past is None:
            return None
        if (call := past.take_call(key)) is not None:
            return call
        self._miss(past, "it makes a sub-call that it did not make")
        return None

    def batch(self, node: str, cell: int, size: int) -> int | None:
        past = self._past.cell(node, cell)
        for batch in past.batches if past else ():
            if batch.size == size:
                assert past is not None
                past.batches.remove(batch)
                return batch.batch
        return None

    def tool(self, node: str, cell: int, name: str, key: str) -> ev.ToolEnded | None:
        if (trunk := self._trunk_cell(node, cell)) and (shared := trunk.take_tool(name, key)):
            return shared
        past = self._past.cell(node, cell)
        if past is None:
            return None
        if (tool := past.take_tool(name, key)) is not None:
            return tool
        self._miss(past, f"it calls {name} as it did not")
        return None

    def child(self, node: str, cell: int, query: str, context: str) -> tuple[str, Outcome | None] | None:
        """The name of a child that was asked the same, and how it ended where that still holds."""
        if (trunk := self._trunk_cell(node, cell)) and (shared := trunk.take_child(query, context)):
            outcome = _outcome(self._shared[node].nodes[shared], trunk.sealed)
            if outcome is not None:
                return shared, outcome
        past = self._past.cell(node, cell)
        if past is None:
            return None
        if (child := past.take_child(query, context)) is not None:
            return child, _outcome(self._past.nodes[child], past.sealed)
        self._miss(past, "it asks a child that it did not ask")
        return None

    def branch(self, node: str) -> Outcome | None:
        """How a branch of the root ended that has answered: it is not run again."""
        past = self._past.nodes.get(node)
        return _outcome(past, False) if past else None

    def born(self, node: str) -> int:
        """The highest number that a child of this node has."""
        return self._past.born(node)

    def check(self, past: PastCell, result: CellResult, shown: str) -> None:
        """A sealed cell has run again: did it do the same? ``shown`` is its output as journals keep it."""
        assert past.ended is not None
        kinds = {past.ended.outcome, result.outcome}
        if past.ended.output not in (result.output, shown):
            self._miss(past, f"it prints {_short(result.output)} and printed {_short(past.ended.output)}")
        elif len(kinds) > 1 and "interrupted" not in kinds:
            self._miss(past, f"it ends as {result.outcome} and ended as {past.ended.outcome}")
        elif not past.spans and not all([*(c.taken for c in past.calls), *(t.taken for t in past.tools),
                      *(c.taken for c in past.children)]):  # fmt: skip
            self._miss(past, "it leaves out a call that it made")

    def _miss(self, past: PastCell, reason: str) -> None:
        if past.sealed:
            self._diverge(past.started.node, past.started.turn, past.started.cell, reason, past)

    def _diverge(self, node: str, turn: int, cell: int, reason: str, past: PastCell) -> None:
        if not self._go_on:
            raise Divergence(
                f"the run does not go the way it went: in node {node}, turn {turn}, cell {cell}, {reason}. "
                'Nothing was dropped. To go on from there: resume(…, diverged="continue"), --continue'
            )
        self._past.drop(node, turn, cell)
        self.tell(ev.Diverged(node=node, turn=turn, cell=cell, reason=reason))

    # Which events are there already

    def knows(self, event: ev.Event) -> bool:
        match event:
            case ev.NodeStarted():
                return event.node in self._past.nodes
            case ev.ContextMeasured():
                return event.node in self._past.nodes and event in self._past.nodes[event.node].measured
            case ev.TurnStarted() | ev.Hinted() | ev.NodeEnded() | ev.AnswerAccepted():
                node = self._past.nodes.get(event.node)
                return node is not None and _node_knows(node, event)
            case ev.CellStarted():
                return self._past.cell(event.node, event.cell) is not None
            case ev.CellEnded():
                past = self._past.cell(event.node, event.cell)
                return past is not None and past.sealed
            case ev.Cited():
                past = self._past.cell(event.node, event.cell)
                cited = past.cited if past is not None else ()
                return any((c.quote, c.offset) == (event.quote, event.offset) for c in cited)
            case ev.AnswerRefused():
                past = self._past.cell(event.node, event.cell)
                return past is not None and any(r.reason == event.reason for r in past.refused)
            case _:
                return False


def said(past: ev.ModelReplied) -> ModelReply:
    """The reply that the journal tells of."""
    return ModelReply(
        past.text, past.finish, past.usage, past.model, past.thinking, past.code, past.cost, past.seconds,
        past.retries,
    )  # fmt: skip


def said_again(ended: ev.CallEnded) -> ModelReply | None:
    """The good reply that a journalled call had, if it had one."""
    if ended.error is not None or ended.reply is None:
        return None
    return ModelReply(
        ended.reply, ended.finish or "stop", ended.usage, ended.model, cost=ended.cost, scores=ended.scores
    )


def _outcome(node: PastNode, stopped_too: bool) -> Outcome | None:
    """How a node ended, where that still holds; ``stopped_too``: without an answer, too."""
    ended = node.ended
    if ended is None or node.cut or (ended.status != "answered" and not stopped_too):
        return None
    value = node.accepted.value if node.accepted else ended.value
    return Outcome(ended.status, ended.reason, value, ended.draft, max(node.turns, default=0))


def _node_knows(node: PastNode, event: ev.TurnStarted | ev.Hinted | ev.NodeEnded | ev.AnswerAccepted) -> bool:
    match event:
        case ev.TurnStarted():
            return event.turn in node.turns
        case ev.Hinted():
            return (event.turn, event.text) in node.hints or event.turn < max(node.turns, default=0)
        case ev.NodeEnded():
            past = node.ended
            return past is not None and (past.status, past.reason) == (event.status, event.reason)
        case ev.AnswerAccepted():
            past_answer = node.accepted
            return past_answer is not None and repr(past_answer.value) == repr(event.value)


def seed_of(run: str, node: str) -> int:
    """Of a node's random numbers: the same when the run is resumed, another one in each node."""
    return int.from_bytes(hashlib.sha256(f"{run} {node}".encode()).digest()[:7])


def _short(text: str) -> str:
    return repr(text if len(text) <= 60 else text[:60] + "…")
