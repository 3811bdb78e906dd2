"""The journal of a run as a tree: what each node said, and what each of its cells did.

Contract: made from events in their order, of one life of a run or of several. A cell is *sealed* where it
ended and nothing in it was stopped, or its node went on after it: it has to do the same when it is run
again. It is *skipped* where nothing of it is left in the REPL: rolled back, or before the REPL began anew.
In a cell that is not sealed, calls that failed for a reason that passes, or were held back, count
as not made.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Collection, Iterable
from dataclasses import dataclass, field, replace

from . import events as ev
from .ranges import Shown
from .sandbox.protocol import CellResult
from .types import CUT, PASSING, FailureKind, was_refused

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
    waiting: dict[str, deque[PastCall]] | None = None  # the calls by key that are not asked for yet
    tools: list[PastTool] = field(default_factory=list)
    children: list[PastChild] = field(default_factory=list)
    batches: list[ev.BatchStarted] = field(default_factory=list)
    cited: list[ev.Cited] = field(default_factory=list)
    refused: list[ev.AnswerRefused] = field(default_factory=list)
    sealed: bool = False
    skipped: bool = False
    spans: bool = False  # it was cut off, and ended in a later life: not all that is here need come again

    def take_call(self, key: str) -> PastCall | None:
        """The next call with this content; each once."""
        if self.waiting is None:  # by key: a batch may have thousands
            self.waiting = {}
            for call in self.calls:
                self.waiting.setdefault(call.started.key, deque()).append(call)
        if queue := self.waiting.get(key):
            call = queue.popleft()
            call.taken = True
            return call
        return None

    def take_tool(self, name: str, key: str) -> ev.ToolEnded | None:
        for tool in self.tools:
            if tool.ended.name == name and tool.ended.key == key and not tool.taken:
                tool.taken = True
                return tool.ended
        return None

    def take_child(self, query: str, context: str) -> str | None:
        """The node that was asked this."""
        for child in self.children:
            if child.started.query == query and child.started.context == context and not child.taken:
                child.taken = True
                return child.started.node
        return None

    def passed_over(self) -> PastCell:
        """For a node that has what this cell of another one has made, and so does not run it."""
        assert self.ended is not None
        return replace(self, ended=replace(self.ended, seconds=0.0, own_seconds=0.0), skipped=True)

    @property
    def read(self) -> Shown:
        """What it showed of the context."""
        assert self.ended is not None
        return Shown(self.ended.ranges, self.ended.unplaced)

    @property
    def result(self) -> CellResult:
        """What became of it, as the model was told; its notes are in the event."""
        assert self.ended is not None  # asked of sealed cells alone
        e = self.ended
        return CellResult(
            e.outcome, e.output, e.printed, e.omitted, e.error, e.notes, e.seconds, e.own_seconds
        )


@dataclass(slots=True)
class PastNode:
    started: ev.NodeStarted
    ended: ev.NodeEnded | None = None
    accepted: ev.AnswerAccepted | None = None
    turns: set[int] = field(default_factory=set)
    replies: dict[int, ev.ModelReplied] = field(default_factory=dict)
    cells: dict[int, PastCell] = field(default_factory=dict)
    hints: list[tuple[int, str]] = field(default_factory=list)
    measured: list[ev.ContextMeasured] = field(default_factory=list)
    cut: bool = True  # it has more to do than to come to the same end


class PastRun:
    """See the module docstring."""

    def __init__(self, events: Iterable[ev.Event]) -> None:
        self.nodes: dict[str, PastNode] = {}
        self.last_call = self.last_batch = 0
        self.refused: set[int] = set()  # calls that were never sent
        self.answered: set[str] = set()  # models
        self._root: str | None = None
        self._calls: dict[int, PastCall] = {}
        self._born: dict[str, int] = {}
        for event in events:
            self.add(event)
        for node in sorted(self.nodes, key=len, reverse=True):  # children first
            self._seal(self.nodes[node])

    def born(self, node: str) -> int:
        """The highest number that a child of this node has."""
        return self._born.get(node, 0)

    def cell(self, node: str, number: int) -> PastCell | None:
        past = self.nodes.get(node)
        return past.cells.get(number) if past else None

    def add(self, event: ev.Event) -> None:
        """One more. What is added so is not sealed: that is of a run that is to go on."""
        match event:
            case ev.RunStarted():
                self._root = event.model
            case ev.NodeStarted():
                self.nodes[event.node] = PastNode(event)
                if event.parent is not None:
                    cells = self.nodes[event.parent].cells
                    cells[max(cells)].children.append(PastChild(event))
                    number = int(event.node.rpartition(".")[2])
                    self._born[event.parent] = max(self._born.get(event.parent, 0), number)
            case ev.ContextMeasured():
                self.nodes[event.node].measured.append(replace(event, seq=0, time=0.0))
            case ev.CallEnded():
                call = self._calls[event.call]
                call.ended = event
                if event.reply is not None:
                    self.answered.add(call.started.model)
                refused = was_refused(event.error, event.usage)
                (self.refused.add if refused else self.refused.discard)(event.call)
            case ev.Diverged():
                self.drop(event.node, event.turn, event.cell)
            case ev.RunResumed():
                for node in self.nodes.values():
                    for cell in node.cells.values():
                        cell.spans = cell.spans or cell.ended is None
            case (
                ev.NodeEnded()
                | ev.TurnStarted()
                | ev.ModelReplied()
                | ev.Hinted()
                | ev.CellStarted()
                | ev.CellEnded()
                | ev.AnswerAccepted()
            ):
                self._add_to_node(self.nodes[event.node], event)
                if isinstance(event, ev.ModelReplied) and self._root is not None:
                    self.answered.add(self._root)
            case ev.BatchStarted() | ev.CallStarted() | ev.ToolEnded() | ev.Cited() | ev.AnswerRefused():
                self._add_to_cell(self.nodes[event.node].cells[event.cell], event)
            case _:
                return  # the run's other events say nothing of a step

    @staticmethod
    def _add_to_node(
        node: PastNode,
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
                node.hints.append((event.turn, event.text))
            case ev.CellStarted():
                node.cells[event.cell] = PastCell(event)
            case ev.CellEnded():
                node.cells[event.cell].ended = event

    def _add_to_cell(
        self,
        cell: PastCell,
        event: ev.BatchStarted | ev.CallStarted | ev.ToolEnded | ev.Cited | ev.AnswerRefused,
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
            case ev.Cited():
                cell.cited.append(event)
            case ev.AnswerRefused():
                cell.refused.append(event)

    def _seal(self, node: PastNode) -> None:
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
            # A first look that failed has ended its node, or the node would have gone on.
            failed_look = cell.started.turn == 0 and cell.ended.outcome != "ok"
            cell.sealed = goes_on or not (failed_look or (self._was_cut(cell) and not undone))
            cell.skipped = cell.sealed and (undone or number <= anew)
        for cell in node.cells.values():
            if not cell.sealed:
                for call in cell.calls:
                    if _failed_as(call.ended, PASSING) or (call.ended and call.ended.unsent):
                        call.ended = None
        sealed = not node.cells or node.cells[last].sealed
        node.cut = node.ended is None or node.ended.status == "cancelled" or not sealed

    def _was_cut(self, cell: PastCell) -> bool:
        """Whether something in a cell was stopped, so that its end says nothing."""
        for call in cell.calls:
            if call.ended is None or _failed_as(call.ended, CUT):
                return True
        return any(self.nodes[child.started.node].cut for child in cell.children)

    def drop(self, name: str, turn: int, cell: int) -> None:
        """Forgets what a node did after a cell, and how the cell ended."""
        node = self.nodes[name]
        for number in [n for n in node.cells if n > cell]:
            for child in node.cells.pop(number).children:
                for below in [n for n in self.nodes if (n + ".").startswith(child.started.node + ".")]:
                    del self.nodes[below]
        node.turns = {t for t in node.turns if t <= turn}
        node.replies = {t: reply for t, reply in node.replies.items() if t <= turn}
        node.hints = [(t, text) for t, text in node.hints if t < turn]
        node.ended = node.accepted = None
        if cell in node.cells:
            node.cells[cell].ended = None
            node.cells[cell].sealed = node.cells[cell].skipped = False


def _failed_as(ended: ev.CallEnded | None, kinds: Collection[FailureKind]) -> bool:
    return ended is not None and ended.error is not None and ended.error.kind in kinds
