"""Folds the events of a run into its :class:`unspool.types.Run`: the tree of nodes, turns and cells.

Contract: events in the order of their ``seq``; a run that is still going, or was cut, folds into
what is known so far (``outcome``, ``status`` and ``ended`` are then ``None``).

>>> builder = TraceBuilder()
>>> builder.add(ev.NodeStarted(node="0", parent=None, depth=0, query="How many?", context="3 lines"))
>>> builder.add(ev.TurnStarted(node="0", turn=1))
>>> root = builder.root()
>>> root.turns[0].number, root.status
(1, None)
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import cast

from . import events as ev
from .coverage import CoverageBuilder
from .errors import JournalError
from .types import ROOT, Branch, CellRun, Node, Run, SubCall, Turn, Usage, known_sum


@dataclass(slots=True)
class _OpenTurn:
    turn: Turn
    cells: dict[int, CellRun] = field(default_factory=dict)
    calls: dict[int, list[int]] = field(default_factory=dict)  # cell -> ids of its sub-calls
    frozen: Turn | None = None  # as it was last asked for; None once something of it has changed


@dataclass(slots=True)
class _OpenNode:
    node: Node
    draft: str | None = None  # where the node's answer came from, if it is one
    turns: dict[int, _OpenTurn] = field(default_factory=dict)
    replied: float | None = None  # the time of a reply whose first cell waits for the REPL to start
    frozen: Node | None = None  # likewise; then those above it have none either


class TraceBuilder:
    """Takes events one by one; :meth:`root` gives the tree at any moment."""

    def __init__(self) -> None:
        self.started: ev.RunStarted | None = None
        self.ended: ev.RunEnded | None = None  # a run that goes on after its end has none
        self.chosen: ev.StrategyChosen | None = None
        self.last = 0.0  # the time of the last event
        self._nodes: dict[str, _OpenNode] = {}
        self._calls: dict[int, SubCall] = {}
        self._decided: ev.BranchesDecided | None = None
        self.gaps: list[tuple[float, float]] = []  # from when to when nobody went on with the run
        self.reading = CoverageBuilder()

    def add(self, event: ev.Event) -> None:
        if isinstance(event, ev.RunResumed):
            self.gaps.append((self.last, event.time))
        self.last = event.time
        self.reading.add(event)
        match event:
            case ev.CallStarted() | ev.CallEnded():  # first, as there may be many thousands
                self._call(event)
            case ev.RunStarted():
                self.started = event
            case ev.StrategyChosen():
                self.chosen = event
            case ev.RunEnded():
                self.ended = event
            case ev.RunResumed():
                self.ended = None
                for name, open_node in self._nodes.items():
                    for each in open_node.turns.values():  # one that is open lay still
                        self._changed(name, each)
                    self._changed(name)
                    open_node.replied = None
                    if open_node.node.status == "cancelled":  # such a node goes on, too
                        open_node.node = replace(
                            open_node.node, status=None, reason="", ledger=(), ended=None
                        )
            case ev.NodeStarted():
                self._changed(event.parent)
                self._nodes[event.node] = _OpenNode(
                    Node(
                        event.node,
                        event.parent,
                        event.depth,
                        event.query,
                        event.context,
                        cell=self._last_cell(event.parent),
                        started=event.time,
                    )
                )
            case ev.NodeEnded():
                open_node = self._nodes[event.node]
                self._changed(event.node)
                open_node.node = replace(
                    open_node.node,
                    status=event.status,
                    reason=event.reason,
                    ledger=event.ledger,
                    ended=event.time,
                )
                if event.draft is not None:
                    open_node.node = replace(open_node.node, answer=event.value)
                    open_node.draft = event.draft
            case ev.AnswerAccepted():
                open_node = self._nodes[event.node]
                self._changed(event.node)
                open_node.node = replace(open_node.node, answer=event.value)
            case ev.BranchesDecided():
                self._decided = event
            case ev.TurnStarted():
                self._changed(event.node)
                self._nodes[event.node].turns[event.turn] = _OpenTurn(Turn(event.turn, started=event.time))
            case ev.ModelReplied():
                open_node = self._nodes[event.node]
                turn = open_node.turns[event.turn]
                self._changed(event.node, turn)
                if not any(each.cells for each in open_node.turns.values()):
                    open_node.replied = event.time
                turn.turn = replace(
                    turn.turn,
                    text=event.text,
                    thinking=event.thinking,
                    finish=event.finish,
                    usage=event.usage,
                    cost=event.cost,
                    seconds=event.seconds,
                    retries=event.retries,
                    model=event.model,
                    ended=event.time,
                )
            case ev.Hinted():
                turn = self._nodes[event.node].turns[event.turn]
                self._changed(event.node, turn)
                turn.turn = replace(turn.turn, hints=(*turn.turn.hints, event.text), ended=event.time)
            case ev.CellStarted() | ev.CellEnded():
                self._cell(event)
            case ev.Diverged():
                self._drop(event.node, event.turn, event.cell)
            case _:
                return  # the others add nothing to the tree

    def lived(self, moment: float) -> float:
        """That time on a clock that stands still while nobody goes on with the run."""
        return moment - sum(max(0.0, min(moment, end) - start) for start, end in self.gaps)

    @property
    def lasted(self) -> float:
        """Seconds from the start to the last event, on that clock: those of a run that has not ended."""
        return self.lived(self.last) - self.started.time if self.started is not None else 0.0

    @property
    def strategy(self) -> str:
        """How the run is answered."""
        told = self.started.settings.get("strategy") if self.started else None
        return self.chosen.strategy if self.chosen else str(told or "rlm")

    def _last_cell(self, node: str | None) -> int:
        turns = self._nodes[node].turns.values() if node is not None else ()
        return max((number for turn in turns for number in turn.cells), default=0)

    def _drop(self, node: str, turn: int, cell: int) -> None:
        """What a node did after this cell no longer counts."""
        open_node = self._nodes[node]
        for number in [n for n in open_node.turns if n > turn]:
            self._forget(open_node.turns.pop(number).calls)
        kept = open_node.turns[turn]
        self._changed(node, kept)
        for later in [n for n in kept.cells if n > cell]:
            del kept.cells[later]
            self._forget({later: kept.calls.pop(later, [])})
        for name, child in list(self._nodes.items()):
            if child.node.parent == node and child.node.cell > cell:
                for below in [n for n in self._nodes if (n + ".").startswith(name + ".")]:
                    for open_turn in self._nodes.pop(below).turns.values():
                        self._forget(open_turn.calls)

    def _forget(self, calls: Mapping[int, Sequence[int]]) -> None:
        for of_cell in calls.values():
            for call in of_cell:
                self._calls.pop(call, None)

    def _changed(self, name: str | None, turn: _OpenTurn | None = None) -> None:
        """What was made of a turn, of its node and of those above it is old."""
        if turn is not None:
            turn.frozen = None
        while name is not None and (node := self._nodes.get(name)) is not None and node.frozen is not None:
            node.frozen, name = None, node.node.parent

    def _cell(self, event: ev.CellStarted | ev.CellEnded) -> None:
        open_node = self._nodes[event.node]
        turn = open_node.turns[event.turn]
        cells = turn.cells
        self._changed(event.node, turn)
        if isinstance(event, ev.CellStarted):
            if open_node.replied is not None:
                turn.turn = replace(turn.turn, waited=max(0.0, event.time - open_node.replied))
                open_node.replied = None
            cells[event.cell] = CellRun(event.cell, event.code, started=event.time)
            return
        turn.turn = replace(turn.turn, ended=event.time)
        cells[event.cell] = replace(
            cells[event.cell],
            outcome=event.outcome,
            output=event.output,
            omitted=event.omitted,
            error=event.error,
            notes=event.notes,
            seconds=event.seconds,
            own_seconds=event.own_seconds,
            ended=event.time,
        )

    def _call(self, event: ev.CallStarted | ev.CallEnded) -> None:
        if isinstance(event, ev.CallStarted):
            self._calls[event.call] = SubCall(
                event.call, event.node, event.turn, event.cell, event.batch, event.index, event.role,
                event.model, event.prompt, images=event.images, started=event.time,
            )  # fmt: skip
            turn = self._nodes[event.node].turns[event.turn]
            turn.calls.setdefault(event.cell, []).append(event.call)
            self._changed(event.node, turn)
            return
        call = self._calls[event.call]
        self._changed(event.node, self._nodes[event.node].turns.get(call.turn))
        # As replace() would make it, which takes five times as long: a run may have thousands.
        self._calls[event.call] = SubCall(
            call.id,
            call.node,
            call.turn,
            call.cell,
            call.batch,
            call.index,
            call.role,
            event.model,
            call.prompt,
            event.reply,
            event.error,
            event.finish,
            event.usage,
            event.cost,
            event.seconds,
            event.retries,
            event.cached,
            call.images,
            call.started,
            event.time,
        )

    @property
    def calls(self) -> Mapping[int, SubCall]:
        """The sub-calls that count, by their ids."""
        return self._calls

    def _turn(self, open_turn: _OpenTurn) -> Turn:
        if open_turn.frozen is None:
            cells = tuple(
                replace(cell, sub_calls=tuple(self._calls[i] for i in open_turn.calls.get(cell.number, ())))
                for cell in open_turn.cells.values()
            )
            open_turn.frozen = replace(open_turn.turn, cells=cells, paused=self._paused(open_turn.turn))
        return open_turn.frozen

    def _paused(self, part: Node | Turn) -> float:
        """Seconds of a node or a turn in which nobody went on with the run."""
        begun, ended = part.started or 0.0, self.last if part.ended is None else part.ended
        return sum(max(0.0, min(ended, end) - max(begun, start)) for start, end in self.gaps)

    def _freeze(self, node_id: str, below: Mapping[str | None, Sequence[str]]) -> Node:
        open_node = self._nodes[node_id]
        if open_node.frozen is None:
            children = tuple(self._freeze(child, below) for child in below.get(node_id, ()))
            turns = tuple(self._turn(t) for t in open_node.turns.values())
            paused = self._paused(open_node.node)
            open_node.frozen = replace(open_node.node, turns=turns, children=children, paused=paused)
        return open_node.frozen

    def turn(self, node: str, number: int) -> Turn | None:
        """One turn as it is by now."""
        open_turn = self._nodes[node].turns.get(number) if node in self._nodes else None
        return None if open_turn is None else self._turn(open_turn)

    def root(self) -> Node | None:
        """The tree, of several branches that of the chosen one; None before the first node has started."""
        name = self._decided.node if self._decided else ROOT
        return self._freeze(name, self._below()) if name in self._nodes else None

    def roots(self) -> tuple[Node, ...]:
        """The trees of all branches, of one that is alone as well."""
        root = self.root()
        return tuple(branch.trace for branch in self.branches()) or ((root,) if root is not None else ())

    def _below(self) -> dict[str | None, list[str]]:
        """The nodes by their parent."""
        below: dict[str | None, list[str]] = {}
        for name, open_node in self._nodes.items():
            below.setdefault(open_node.node.parent, []).append(name)
        return below

    def branches(self) -> tuple[Branch, ...]:
        """The branches of the root, where there is more than one."""
        below = self._below()
        roots = below.get(None, [])
        if len(roots) == 1 and self._decided is None:
            return ()
        decided = self._decided
        found: list[Branch] = []
        for name in roots:
            trace = self._freeze(name, below)
            usage, cost = _spent(trace)
            found.append(
                Branch(
                    number=int(name.partition("@")[2] or 1),
                    status=trace.status,
                    reason=trace.reason,
                    answer=trace.answer,
                    draft=self._nodes[name].draft,
                    agrees=name in decided.agreeing if decided and trace.status == "answered" else None,
                    usage=usage,
                    cost=cost,
                    trace=trace,
                )
            )
        return tuple(sorted(found, key=lambda branch: branch.number))


def _spent(node: Node) -> tuple[Usage, float | None]:
    """What the replies in a node and its children were paid with, those that were known left out."""
    parts: list[tuple[Usage, float | None]] = [_spent(child) for child in node.children]
    for turn in node.turns:
        parts.append((turn.usage, turn.cost if turn.text is not None else 0.0))
        for cell in turn.cells:
            parts += [(c.usage, c.cost) for c in cell.sub_calls if c.usage.calls and not c.cached]
    usage, cost = Usage(), cast("float | None", 0.0)
    for more, price in parts:
        usage, cost = usage + more, known_sum(cost, price)
    return usage, cost


def total(nodes: Iterable[Node]) -> tuple[Usage, float | None]:
    """What several trees were paid with."""
    usage, cost = Usage(), cast("float | None", 0.0)
    for node in nodes:
        more, price = node.spent()
        usage, cost = usage + more, known_sum(cost, price)
    return usage, cost


def folded(events: Iterable[ev.Event]) -> TraceBuilder:
    """All that events tell. Raises :class:`JournalError` where one is missing that another needs."""
    builder, seq = TraceBuilder(), 0
    try:
        for event in events:
            seq = event.seq
            builder.add(event)
    except KeyError as error:
        raise JournalError(
            f"the events do not fit together: number {seq} needs {error}, of which none tells"
        ) from None
    return builder


def run_from_events(events: Iterable[ev.Event]) -> Run:
    """The :class:`Run` that a complete list of events tells of.

    Raises ``ValueError`` where the first or the last event is missing.
    """
    builder = folded(events)
    started, ended, trace = builder.started, builder.ended, builder.root()
    if started is None or ended is None or trace is None:
        raise ValueError("the events of a run begin with run.started and end with run.ended")
    return Run(
        id=ended.run,
        query=started.query,
        answer=ended.answer,
        status=ended.status,
        reason=ended.reason,
        draft=ended.draft,
        model=started.model,
        sub_model=started.sub_model,
        usage=ended.usage,
        cost=ended.cost,
        ledger=ended.ledger,
        turns=ended.turns,
        sub_calls=ended.sub_calls,
        seconds=ended.seconds,
        notes=ended.notes,
        reused=ended.reused,
        reused_cost=ended.reused_cost,
        coverage=builder.reading.coverage(),
        citations=builder.reading.citations(),
        trace=trace,
        branches=builder.branches(),
        strategy=builder.strategy,
    )
