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

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field

from . import events as ev
from .errors import Divergence
from .models.protocol import ModelReply
from .sandbox.protocol import CellResult
from .scope import Outcome
from .types import FailureKind

# The run was stopped, or could not go on: such calls were never answered.
_CUT: frozenset[FailureKind] = frozenset({"auth", "cancelled"})
# In a cell that was cut off, what failed for a reason that passes is asked again.
_PASSING: frozenset[FailureKind] = _CUT | frozenset(
    {"rate_limit", "timeout", "connection", "server", "budget"}
)
_UNDONE = ("rolled_back", "restarted")  # outcomes after which nothing of the cell is left in the REPL


@dataclass(slots=True)
class PastCall:
    """A sub-call as it was made. ``ended`` is None where it has to be made again."""

    started: ev.CallStarted
    ended: ev.CallEnded | None = None
    taken: bool = False


@dataclass(slots=True)
class PastTool:
    ended: ev.ToolEnded
    taken: bool = False


@dataclass(slots=True)
class PastChild:
    started: ev.NodeStarted
    taken: bool = False


@dataclass(slots=True)
class PastCell:
    """A cell as it ran. ``sealed``: it has to do the same again; ``skipped``: it is not run again."""

    started: ev.CellStarted
    ended: ev.CellEnded | None = None
    calls: list[PastCall] = field(default_factory=list)
    tools: list[PastTool] = field(default_factory=list)
    children: list[PastChild] = field(default_factory=list)
    batches: list[ev.BatchStarted] = field(default_factory=list)
    refused: list[ev.AnswerRefused] = field(default_factory=list)
    sealed: bool = False
    skipped: bool = False

    @property
    def result(self) -> CellResult:
        """What became of it, as the model was told; its notes are in the event."""
        assert self.ended is not None  # asked of sealed cells alone
        e = self.ended
        return CellResult(
            e.outcome, e.output, e.printed, e.omitted, e.error, e.notes, e.seconds, e.own_seconds
        )


@dataclass(slots=True)
class _PastNode:
    started: ev.NodeStarted
    ended: ev.NodeEnded | None = None
    accepted: ev.AnswerAccepted | None = None
    turns: set[int] = field(default_factory=set)
    replies: dict[int, ev.ModelReplied] = field(default_factory=dict)
    cells: dict[int, PastCell] = field(default_factory=dict)
    hints: set[tuple[int, str]] = field(default_factory=set)
    cut: bool = True  # it has more to do than to come to the same end


class Replay:
    """See the module docstring."""

    def __init__(self, events: Sequence[ev.Event] = (), *, go_on: bool = False) -> None:
        self._go_on = go_on
        self._nodes: dict[str, _PastNode] = {}
        self._calls: dict[int, PastCall] = {}
        self._born: dict[str, int] = {}
        self.tell: Callable[[ev.Event], None] = lambda event: None
        self.last_call = self.last_batch = 0
        for event in events:
            self._add(event)
        for node in sorted(self._nodes, key=len, reverse=True):  # children first
            self._seal(self._nodes[node])

    # Reading the journal

    def _add(self, event: ev.Event) -> None:
        match event:
            case ev.NodeStarted():
                self._nodes[event.node] = _PastNode(event)
                if event.parent is not None:
                    cells = self._nodes[event.parent].cells
                    cells[max(cells)].children.append(PastChild(event))
                    number = int(event.node.rpartition(".")[2])
                    self._born[event.parent] = max(self._born.get(event.parent, 0), number)
            case ev.CallEnded():
                self._calls[event.call].ended = event
            case ev.Diverged():
                self._drop(event.node, event.turn, event.cell)
            case (
                ev.NodeEnded()
                | ev.TurnStarted()
                | ev.ModelReplied()
                | ev.Hinted()
                | ev.CellStarted()
                | ev.CellEnded()
                | ev.AnswerAccepted()
            ):
                self._add_to_node(self._nodes[event.node], event)
            case ev.BatchStarted() | ev.CallStarted() | ev.ToolEnded() | ev.AnswerRefused():
                self._add_to_cell(self._nodes[event.node].cells[event.cell], event)
            case _:
                return  # the run's own events say nothing of a step

    @staticmethod
    def _add_to_node(
        node: _PastNode,
        event: ev.NodeEnded
        | ev.TurnStarted
        | ev.ModelReplied
        | ev.Hinted
        | ev.CellStarted
        | ev.CellEnded
        | ev.AnswerAccepted,
    ) -> None:
        match event:
            case ev.NodeEnded():
                node.ended = event
            case ev.AnswerAccepted():
                node.accepted = event
            case ev.TurnStarted():
                node.turns.add(event.turn)
            case ev.ModelReplied():
                node.replies[event.turn] = event
            case ev.Hinted():
                node.hints.add((event.turn, event.text))
            case ev.CellStarted():
                node.cells[event.cell] = PastCell(event)
            case ev.CellEnded():
                node.cells[event.cell].ended = event

    def _add_to_cell(
        self, cell: PastCell, event: ev.BatchStarted | ev.CallStarted | ev.ToolEnded | ev.AnswerRefused
    ) -> None:
        match event:
            case ev.BatchStarted():
                cell.batches.append(event)
                self.last_batch = max(self.last_batch, event.batch)
            case ev.CallStarted():
                call = self._calls[event.call] = PastCall(event)
                cell.calls.append(call)
                self.last_call = max(self.last_call, event.call)
            case ev.ToolEnded():
                cell.tools.append(PastTool(event))
            case ev.AnswerRefused():
                cell.refused.append(event)

    def _seal(self, node: _PastNode) -> None:
        """Which cells have to do the same again, which are passed over, and whether the node was cut."""
        last = max(node.cells, default=0)
        anew = max(
            (n for n, c in node.cells.items() if c.ended and c.ended.outcome == "restarted"), default=0
        )
        for number, cell in node.cells.items():
            if cell.ended is None:
                continue
            goes_on = number != last or max(node.turns) > cell.started.turn
            undone = cell.ended.outcome in _UNDONE
            cell.sealed = goes_on or undone or not self._was_cut(cell)
            cell.skipped = cell.sealed and (undone or number <= anew)
        for cell in node.cells.values():
            if not cell.sealed:
                for call in cell.calls:
                    if _failed_as(call.ended, _PASSING):
                        call.ended = None
        sealed = not node.cells or node.cells[last].sealed
        node.cut = node.ended is None or node.ended.status == "cancelled" or not sealed

    def _was_cut(self, cell: PastCell) -> bool:
        """Whether something in a cell was stopped, so that its end says nothing."""
        for call in cell.calls:
            if call.ended is None or _failed_as(call.ended, _CUT):
                return True
        return any(self._nodes[child.started.node].cut for child in cell.children)

    def _drop(self, name: str, turn: int, cell: int) -> None:
        """Forgets what a node did after a cell, and how the cell ended."""
        node = self._nodes[name]
        for number in [n for n in node.cells if n > cell]:
            for child in node.cells.pop(number).children:
                for below in [n for n in self._nodes if (n + ".").startswith(child.started.node + ".")]:
                    del self._nodes[below]
        node.turns = {t for t in node.turns if t <= turn}
        node.replies = {t: reply for t, reply in node.replies.items() if t <= turn}
        node.hints = {(t, text) for t, text in node.hints if t < turn}
        node.ended = node.accepted = None
        if cell in node.cells:
            node.cells[cell].ended = None
            node.cells[cell].sealed = node.cells[cell].skipped = False

    # What is known of a step

    def reply(self, node: str, turn: int) -> ev.ModelReplied | None:
        """What a node's model said in a turn."""
        past = self._nodes.get(node)
        return past.replies.get(turn) if past else None

    def told(self, node: str, turn: int) -> list[str] | None:
        """The hints that a node got after a turn which another one followed."""
        past = self._nodes.get(node)
        if past is None or turn >= max(past.turns, default=0):
            return None
        return [text for number, text in past.hints if number == turn]

    def cell(self, node: str, turn: int, number: int, code: str) -> PastCell | None:
        past = self._cell(node, number)
        if past is not None and past.started.code != code:
            self._diverge(node, turn, number, "its code is another one", past)
            del self._nodes[node].cells[number]
            return None
        return past

    def call(self, node: str, cell: int, key: str) -> PastCall | None:
        """The next call of a cell with this content."""
        past = self._cell(node, cell)
        if past is None:
            return None
        for call in past.calls:
            if call.started.key == key and not call.taken:
                call.taken = True
                return call
        self._miss(past, "it makes a sub-call that it did not make")
        return None

    def batch(self, node: str, cell: int, size: int) -> int | None:
        past = self._cell(node, cell)
        for batch in past.batches if past else ():
            if batch.size == size:
                assert past is not None
                past.batches.remove(batch)
                return batch.batch
        return None

    def tool(self, node: str, cell: int, name: str, key: str) -> ev.ToolEnded | None:
        past = self._cell(node, cell)
        if past is None:
            return None
        for tool in past.tools:
            if tool.ended.name == name and tool.ended.key == key and not tool.taken:
                tool.taken = True
                return tool.ended
        self._miss(past, f"it calls {name} as it did not")
        return None

    def child(self, node: str, cell: int, query: str, context: str) -> tuple[str, Outcome | None] | None:
        """The name of a child that was asked the same, and how it ended where that still holds."""
        past = self._cell(node, cell)
        if past is None:
            return None
        for child in past.children:
            if child.started.query == query and child.started.context == context and not child.taken:
                child.taken = True
                return child.started.node, self._outcome(child.started.node, past)
        self._miss(past, "it asks a child that it did not ask")
        return None

    def _outcome(self, name: str, asked_in: PastCell) -> Outcome | None:
        node = self._nodes[name]
        if node.ended is None or node.cut:
            return None
        if node.ended.status != "answered" and not asked_in.sealed:
            return None
        value = node.accepted.value if node.accepted else None
        return Outcome(node.ended.status, node.ended.reason, value, turns=max(node.turns, default=0))

    def born(self, node: str) -> int:
        """The highest number that a child of this node has."""
        return self._born.get(node, 0)

    def check(self, past: PastCell, result: CellResult, shown: str) -> None:
        """A sealed cell has run again: did it do the same? ``shown`` is its output as journals keep it."""
        assert past.ended is not None
        kinds = {past.ended.outcome, result.outcome}
        if past.ended.output not in (result.output, shown):
            self._miss(past, f"it prints {_short(result.output)} and printed {_short(past.ended.output)}")
        elif len(kinds) > 1 and "interrupted" not in kinds:
            self._miss(past, f"it ends as {result.outcome} and ended as {past.ended.outcome}")
        elif not all([*(c.taken for c in past.calls), *(t.taken for t in past.tools),
                      *(c.taken for c in past.children)]):  # fmt: skip
            self._miss(past, "it leaves out a call that it made")

    def _cell(self, node: str, number: int) -> PastCell | None:
        past = self._nodes.get(node)
        return past.cells.get(number) if past else None

    def _miss(self, past: PastCell, reason: str) -> None:
        if past.sealed:
            self._diverge(past.started.node, past.started.turn, past.started.cell, reason, past)

    def _diverge(self, node: str, turn: int, cell: int, reason: str, past: PastCell) -> None:
        if not self._go_on:
            raise Divergence(
                f"the run does not go the way it went: in node {node}, turn {turn}, cell {cell}, {reason}. "
                'Nothing was dropped. To go on from there: resume(…, diverged="continue"), --continue'
            )
        self._drop(node, turn, cell)
        self.tell(ev.Diverged(node=node, turn=turn, cell=cell, reason=reason))

    # Which events are there already

    def knows(self, event: ev.Event) -> bool:
        match event:
            case ev.NodeStarted():
                return event.node in self._nodes
            case ev.TurnStarted() | ev.Hinted() | ev.NodeEnded() | ev.AnswerAccepted():
                node = self._nodes.get(event.node)
                return node is not None and _node_knows(node, event)
            case ev.CellStarted():
                return self._cell(event.node, event.cell) is not None
            case ev.CellEnded():
                past = self._cell(event.node, event.cell)
                return past is not None and past.sealed
            case ev.AnswerRefused():
                past = self._cell(event.node, event.cell)
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
    return ModelReply(ended.reply, ended.finish or "stop", ended.usage, ended.model, cost=ended.cost)


def _failed_as(ended: ev.CallEnded | None, kinds: Collection[FailureKind]) -> bool:
    return ended is not None and ended.error is not None and ended.error.kind in kinds


def _node_knows(
    node: _PastNode, event: ev.TurnStarted | ev.Hinted | ev.NodeEnded | ev.AnswerAccepted
) -> bool:
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


def _short(text: str) -> str:
    return repr(text if len(text) <= 60 else text[:60] + "…")
