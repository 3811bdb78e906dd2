"""Two runs beside each other: where they part, what each came to, what they have in common.

Contract: pure, of two trees of nodes. Steps are compared in their order: the model's words, the code, what it
printed, its sub-calls and children; the first step in which the two are not the same is where they part.

>>> from unspool.types import CellRun, Node, Turn
>>> one = Node("0", None, 0, "?", "", turns=(Turn(1, text="a", cells=(CellRun(1, "print(1)", output="1"),)),))
>>> two = Node("0", None, 0, "?", "", turns=(Turn(1, text="a", cells=(CellRun(1, "print(1)", output="2"),)),))
>>> parting(one, two)
Parting(turn=1, what='output', cells=(1, 1), calls=None)
>>> parting(one, one) is None
True
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from itertools import zip_longest
from typing import Literal

from . import events as ev
from .cli.plain import as_text
from .trace import total
from .types import CellRun, Node, Status, SubCall, Turn, Usage
from .words import words

What = Literal["look", "turn", "words", "cell", "code", "sub-call", "output", "outcome"]
TOLD: Mapping[What, str] = {
    "look": "one of them began with a first look, the other did not",
    "turn": "one of them has a turn more",
    "words": "the models said something else",
    "cell": "one of them ran a cell more",
    "code": "the code is not the same",
    "sub-call": "the code is the same; a sub-call is not",
    "output": "the code is the same; what it printed is not",
    "outcome": "the code and its output are the same; how it ended is not",
}
_MOST_LINES = 2_000  # of code that is compared line by line
Sign = Literal[" ", "-", "+"]


@dataclass(frozen=True, slots=True)
class Parting:
    """The first difference. ``cells`` and ``calls``: of the first and of the second run."""

    turn: int
    what: What
    cells: tuple[int, int] | None = None
    calls: tuple[int | None, int | None] | None = None


@dataclass(frozen=True, slots=True)
class Figures:
    """What one run came to, as far as it is. Unix seconds; None: not known."""

    query: str | None
    status: Status | None
    reason: str
    model: str | None
    sub_model: str | None
    usage: Usage
    cost: float | None
    seconds: float | None  # of one that has ended
    started: float | None
    last: float  # its last event
    lasted: float  # seconds up to that, without those in which nobody went on with it
    turns: int
    sub_calls: int
    failed_calls: int
    children: int
    answer: str  # as text, or the draft
    draft: str | None  # where a draft came from
    context_hash: str | None

    @property
    def has_none(self) -> bool:
        """Whether there is neither an answer nor a draft."""
        return not self.answer and self.status != "answered"

    @classmethod
    def of(
        cls,
        started: ev.RunStarted | None,
        ended: ev.RunEnded | None,
        root: Node | None,
        roots: Sequence[Node],
        last: float,
        lasted: float,
    ) -> Figures:
        """Of what the events have told so far. ``roots``: the trees of all branches."""
        nodes = [node for root in roots for node in root.walk()]
        calls = [call for node in nodes for call in node.calls() if not call.refused]
        usage, cost = (ended.usage, ended.cost) if ended else total(roots)
        return cls(
            query=started.query if started else None,
            status=ended.status if ended else None,
            reason=ended.reason if ended else "",
            model=started.model if started else None,
            sub_model=started.sub_model if started else None,
            usage=usage,
            cost=cost,
            seconds=ended.seconds if ended else None,
            started=started.time if started else None,
            last=last,
            lasted=lasted,
            turns=max((turn.number for turn in root.turns), default=0) if root else 0,
            sub_calls=len(calls),
            failed_calls=sum(call.error is not None for call in calls),
            children=len(nodes) - len(roots),
            answer=as_text(ended.answer) if ended else "",
            draft=ended.draft if ended else None,
            context_hash=started.context_hash if started else None,
        )


@dataclass(frozen=True, slots=True)
class Same:
    """What two runs have in common. ``input`` None: that is not known; ``answer`` None: neither has one."""

    question: bool
    input: bool | None
    answer: bool | None

    @classmethod
    def of(cls, one: Figures, two: Figures) -> Same:
        hashes = one.context_hash, two.context_hash
        return cls(
            question=one.query == two.query,
            input=None if None in hashes else hashes[0] == hashes[1],
            answer=None if one.has_none and two.has_none else one.answer == two.answer,
        )

    @property
    def told(self) -> str:
        return ", ".join(
            (
                "the same question" if self.question else "not the same question",
                "the input may be another"
                if self.input is None
                else "the same input"
                if self.input
                else "not the same input",
                "neither has an answer"
                if self.answer is None
                else "the same answer"
                if self.answer
                else "not the same answer",
            )
        )


def paired(one: Sequence[Turn], two: Sequence[Turn]) -> Iterator[tuple[int, Turn | None, Turn | None]]:
    """The turns of two nodes by their number; None where one has none, such as a first look (turn 0).

    >>> [(number, one is None) for number, one, _ in paired([Turn(1, "")], [Turn(0, None), Turn(1, "")])]
    [(0, True), (1, False)]
    """
    ones, twos = ({turn.number: turn for turn in turns} for turns in (one, two))
    for number in sorted({*ones, *twos}):
        yield number, ones.get(number), twos.get(number)


def parting(one: Node, two: Node) -> Parting | None:
    """Where two nodes part; None where they did the same."""
    for number, first, second in paired(one.turns, two.turns):
        if first is None or second is None:
            return Parting(number, "turn" if number else "look")
        if (found := _in_turn(first, second)) is not None:
            return found
    return None


def _in_turn(one: Turn, two: Turn) -> Parting | None:
    for first, second in zip_longest(one.cells, two.cells):
        if first is None or second is None:
            return Parting(one.number, "cell")
        if (found := _in_cell(one.number, first, second)) is not None:
            return found
    if words(one) != words(two):
        return Parting(one.number, "words")
    return None


def _in_cell(turn: int, one: CellRun, two: CellRun) -> Parting | None:
    cells = one.number, two.number
    if one.code.strip() != two.code.strip():
        return Parting(turn, "code", cells)
    for first, second in zip_longest(_in_order(one), _in_order(two)):
        if first is None or second is None or not _same(first, second):
            ids = first.id if first else None, second.id if second else None
            return Parting(turn, "sub-call", cells, ids)
    if one.output != two.output:
        return Parting(turn, "output", cells)
    if one.outcome != two.outcome:
        return Parting(turn, "outcome", cells)
    return None


def _in_order(cell: CellRun) -> list[SubCall]:
    """The sub-calls of a cell as its code asked for them: items of a batch begin in any order."""
    first: dict[int, int] = {}
    for place, call in enumerate(cell.sub_calls):
        if call.batch is not None:
            first.setdefault(call.batch, place)
    places = {
        call.id: place if call.batch is None else first[call.batch]
        for place, call in enumerate(cell.sub_calls)
    }
    return sorted(cell.sub_calls, key=lambda call: (places[call.id], call.index))


def _same(one: SubCall, two: SubCall) -> bool:
    return _told(one) == _told(two)


def _told(call: SubCall) -> tuple[str, str | None, str | None]:
    return call.prompt, call.reply, call.error.kind if call.error is not None else None


def lines(one: str, two: str) -> Iterator[tuple[Sign, str]]:
    """Two pieces of code as the lines that both have, and those that one of them has.

    >>> list(lines("a\\nb", "a\\nc"))
    [(' ', 'a'), ('-', 'b'), ('+', 'c')]
    """
    before, after = one.strip("\n").split("\n")[:_MOST_LINES], two.strip("\n").split("\n")[:_MOST_LINES]
    for what, a, b, c, d in SequenceMatcher(None, before, after, autojunk=False).get_opcodes():
        if what == "equal":
            yield from ((" ", line) for line in before[a:b])
        else:
            yield from (("-", line) for line in before[a:b])
            yield from (("+", line) for line in after[c:d])
