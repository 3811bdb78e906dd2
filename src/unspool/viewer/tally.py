"""How the sub-calls of a run stand and what was paid for so far, kept up event by event.

Contract: what a tally says is what the tree of the run says (:meth:`Tally.of`), and costs nothing to know
again. Where an event takes something back (a call that is made again, a step that no longer counts),
:meth:`Tally.add` gives False: then it has to be made anew.

>>> from unspool.types import Usage
>>> tally = Tally()
>>> started = ev.CallStarted(
...     node="0", turn=1, cell=1, call=7, batch=None, index=0, role="sub", model="m", prompt="?"
... )
>>> tally.add(started), tally.counts["0", 1].waiting
(True, 1)
>>> tally.add(ev.CallEnded(
...     node="0", call=7, model="m", reply="a", error=None, finish="stop", usage=Usage(1, 5, 1), cost=0.5,
...     seconds=0.1, retries=0,
... ))
True
>>> tally.counts["0", 1], tally.spent("0")
(Counts(calls=1, failed=0, refused=0, waiting=0), (Usage(calls=1, input_tokens=5, output_tokens=1, \
cached_tokens=None, reasoning_tokens=None, calls_unmeasured=0), 0.5))
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import cast

from .. import events as ev
from ..types import FailedCall, LedgerLine, Node, Role, Usage, known_sum, was_refused

_NONE = Usage()
_Told = tuple[str, float | None, bool]  # of a call: its model, its cost, whether it came from the cache


@dataclass(slots=True)
class Counts:
    """The sub-calls of a turn. What a limit refused was never made, and is counted apart."""

    calls: int = 0
    failed: int = 0
    refused: int = 0
    waiting: int = 0

    def __add__(self, other: Counts) -> Counts:
        return Counts(
            self.calls + other.calls,
            self.failed + other.failed,
            self.refused + other.refused,
            self.waiting + other.waiting,
        )


@dataclass(slots=True)
class _Sum:
    """Usage and cost, added up in place: a run has thousands of them, and few sums are asked for."""

    calls: int = 0
    read: int | None = None
    written: int | None = None
    cached: int | None = None
    reasoning: int | None = None
    unmeasured: int = 0
    cost: float | None = 0.0

    def add(self, usage: Usage, cost: float | None) -> None:
        self.calls += usage.calls
        self.unmeasured += usage.calls_unmeasured
        if usage.input_tokens is not None:
            self.read = (self.read or 0) + usage.input_tokens
        if usage.output_tokens is not None:
            self.written = (self.written or 0) + usage.output_tokens
        if usage.cached_tokens is not None:
            self.cached = (self.cached or 0) + usage.cached_tokens
        if usage.reasoning_tokens is not None:
            self.reasoning = (self.reasoning or 0) + usage.reasoning_tokens
        self.cost = known_sum(self.cost, cost)

    @property
    def usage(self) -> Usage:
        return Usage(self.calls, self.read, self.written, self.cached, self.reasoning, self.unmeasured)


class Tally:
    """See the module docstring. ``blocked``: the calls that failed for a limit."""

    def __init__(self) -> None:
        self.counts: dict[tuple[str, int], Counts] = {}
        self.blocked: set[int] = set()
        self._lines: dict[str, dict[tuple[Role, str], tuple[_Sum, _Sum]]] = {}  # what was paid, and reused
        self._waiting: dict[int, tuple[int, Role]] = {}  # by call: its turn and role
        self._replied: set[tuple[str, int]] = set()
        self._ended: set[int] = set()

    @classmethod
    def of(cls, nodes: Iterable[Node]) -> Tally:
        """What a tree says."""
        tally = cls()
        for node in nodes:
            for turn in node.turns:
                if turn.text is not None:
                    tally._pays("root", node.id, turn.number, turn.model, turn.usage, turn.cost)
            for call in node.calls():
                tally._begins(node.id, call.turn, call.id, call.role)
                if call.ended is not None:
                    tally._ends(
                        node.id, call.id, call.error, call.usage, (call.model, call.cost, call.cached)
                    )
        return tally

    def add(self, event: ev.Event) -> bool:
        """Whether the event has added something, or nothing, and has taken nothing back."""
        match event:
            case ev.CallStarted():
                if event.call in self._waiting or event.call in self._ended:
                    return False
                self._begins(event.node, event.turn, event.call, event.role)
            case ev.CallEnded():
                if event.call not in self._waiting:
                    return False
                told = event.model, event.cost, event.cached
                self._ends(event.node, event.call, event.error, event.usage, told)
            case ev.ModelReplied():
                if (event.node, event.turn) in self._replied:
                    return False
                self._pays("root", event.node, event.turn, event.model, event.usage, event.cost)
            case ev.Diverged():
                return False
        return True

    def spent(self, node: str) -> tuple[Usage, float | None]:
        """What a node was paid with, its children left out."""
        usage, cost = _NONE, cast("float | None", 0.0)
        for paid, _ in self._lines.get(node, {}).values():
            if paid.calls:
                usage, cost = usage + paid.usage, known_sum(cost, paid.cost)
        return usage, cost

    def ledger(self) -> Sequence[LedgerLine]:
        """Of the whole run, by role and model."""
        lines: dict[tuple[Role, str], LedgerLine] = {}
        for of_node in self._lines.values():
            for key, (paid, reused) in of_node.items():
                line = LedgerLine(*key, paid.usage, paid.cost, reused.usage, reused.cost)
                lines[key] = line if key not in lines else lines[key] + line
        return tuple(lines.values())

    def of_turn(self, node: str, turn: int) -> Counts:
        return self.counts.get((node, turn)) or Counts()

    def in_all(self) -> Counts:
        total = Counts()
        for counts in self.counts.values():
            total = total + counts
        return total

    def _begins(self, node: str, turn: int, call: int, role: Role) -> None:
        counts = self.counts.setdefault((node, turn), Counts())
        counts.calls += 1
        counts.waiting += 1
        self._waiting[call] = turn, role

    def _ends(self, node: str, call: int, error: FailedCall | None, usage: Usage, told: _Told) -> None:
        turn, role = self._waiting.pop(call)
        self._ended.add(call)
        counts, refused = self.counts[node, turn], was_refused(error, usage)
        counts.waiting -= 1
        counts.calls -= refused
        counts.refused += refused
        counts.failed += error is not None and not refused
        if error is not None and error.kind == "budget":
            self.blocked.add(call)
        model, cost, cached = told
        if usage.calls:
            self._sums(node, role, model)[bool(cached)].add(usage, cost)

    def _pays(self, role: Role, node: str, turn: int, model: str, usage: Usage, cost: float | None) -> None:
        self._replied.add((node, turn))
        if usage.calls:
            self._sums(node, role, model)[0].add(usage, cost)

    def _sums(self, node: str, role: Role, model: str) -> tuple[_Sum, _Sum]:
        """What was paid, and what was reused."""
        lines = self._lines.setdefault(node, {})
        sums = lines.get((role, model))
        if sums is None:
            sums = lines[role, model] = (_Sum(), _Sum())
        return sums


def spent_by(tally: Tally, node: Node) -> tuple[Usage, float | None]:
    """What a node and those below it were paid with, as :meth:`Node.spent` says it."""
    if node.ended is not None or node.ledger:
        return node.spent()
    usage, cost = tally.spent(node.id)
    for child in node.children:
        more, price = spent_by(tally, child)
        usage, cost = usage + more, known_sum(cost, price)
    return usage, cost
