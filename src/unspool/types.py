"""The vocabulary: small frozen dataclasses and the closed sets of words.

Contract: nothing here does I/O or imports another room. A number that is not known is ``None``,
never 0. Cached tokens are in ``input_tokens``, reasoning tokens in ``output_tokens``, at every provider.

>>> a = Usage(calls=1, input_tokens=10, output_tokens=2)
>>> (a + Usage(calls=1, calls_unmeasured=1)).input_tokens
10
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Literal

from .money import money
from .reading import Citation, Coverage

ROOT = "0"  # the node that a run begins with
DRIVEN = "agent:"  # begins the name of who sends the code of a session, in the place of a model
Limit = Literal["usd", "tokens", "calls", "seconds", "turns"]  # of a budget, that ends a run
Status = Literal["answered", "budget", "partial", "failed", "cancelled"]
Role = Literal["root", "sub"]
Finish = Literal["stop", "length", "tool", "filter", "other"]
CellOutcome = Literal["ok", "error", "submitted", "interrupted", "rolled_back", "restarted"]
FailureKind = Literal[
    "auth",  # 401/403: fatal for the run, never retried
    "rate_limit",  # 429 that outlasted the retries
    "timeout",  # no complete reply within the call's time
    "connection",  # refused, reset or cut
    "server",  # 5xx, or a body that is not what the API promises
    "bad_request",  # 400/404/422: the request itself is wrong
    "too_long",  # larger than the model's window; refused before it is sent where the window is known
    "unknown_model",
    "empty",  # a reply without any text
    "schema",  # the reply does not fit the wanted schema
    "budget",  # refused before it was sent: a limit of the budget is reached
    "cancelled",
    "child",  # a child node ended without an answer
]

# Of a run that was stopped, or could not go on: such calls were never answered.
CUT: frozenset[FailureKind] = frozenset({"auth", "cancelled"})
# What fails for a reason that passes: a resumed run asks it again in a cell that was cut off.
PASSING: frozenset[FailureKind] = CUT | frozenset({"rate_limit", "timeout", "connection", "server", "budget"})


def _plus(a: int | None, b: int | None) -> int | None:
    if a is None:
        return b
    return a if b is None else a + b


def known_sum(a: float | None, b: float | None) -> float | None:
    """The sum; unknown where one of both is."""
    return None if a is None or b is None else a + b


@dataclass(frozen=True, slots=True)
class Usage:
    """Tokens of one call or the sum over several. ``None`` where no call reported the figure.

    ``calls_unmeasured`` counts the calls whose provider reported no usage: where it is not 0,
    the sums are lower bounds.
    """

    calls: int = 0
    input_tokens: int | None = None
    output_tokens: int | None = None
    cached_tokens: int | None = None
    reasoning_tokens: int | None = None
    calls_unmeasured: int = 0

    def __add__(self, other: Usage) -> Usage:
        return Usage(
            self.calls + other.calls,
            _plus(self.input_tokens, other.input_tokens),
            _plus(self.output_tokens, other.output_tokens),
            _plus(self.cached_tokens, other.cached_tokens),
            _plus(self.reasoning_tokens, other.reasoning_tokens),
            self.calls_unmeasured + other.calls_unmeasured,
        )


@dataclass(frozen=True, slots=True)
class LedgerLine:
    """What one model in one role was paid for, over a node and its children. Costs in US dollars.

    ``reused`` and ``reused_cost``: what the replies from the cache had been paid with, before.
    """

    role: Role
    model: str
    usage: Usage
    cost: float | None
    reused: Usage = field(default_factory=Usage)
    reused_cost: float | None = 0.0

    def __add__(self, other: LedgerLine) -> LedgerLine:
        return LedgerLine(
            self.role,
            self.model,
            self.usage + other.usage,
            known_sum(self.cost, other.cost),
            self.reused + other.reused,
            known_sum(self.reused_cost, other.reused_cost),
        )


@dataclass(frozen=True, slots=True)
class FailedCall:
    """One failed item of a batch: falsy data, never a string among the answers.

    In the REPL its twin refuses to be turned into text, so that it cannot slip into an answer.
    """

    kind: FailureKind
    message: str

    def __bool__(self) -> bool:
        return False


@dataclass(frozen=True, slots=True)
class TextPart:
    """A range of a text, in characters: what a child is given of its parent's context, without a copy."""

    whole: str = field(repr=False)
    start: int
    length: int

    def __len__(self) -> int:
        return self.length

    @property
    def text(self) -> str:
        """The part itself: a copy."""
        return self.whole[self.start : self.start + self.length]


@dataclass(frozen=True, slots=True)
class CellError:
    """What a cell raised: type name, message, and a short traceback that ends at the failed line."""

    type: str
    message: str
    traceback: str
    line: int | None = None


def was_refused(error: FailedCall | None, usage: Usage) -> bool:
    """Whether a sub-call that ended so was never sent, since a limit was in its way: it was not made."""
    return error is not None and error.kind == "budget" and not usage.calls


@dataclass(frozen=True, slots=True)
class SubCall:
    """One model call made from code, or one item of a batch."""

    id: int
    node: str
    turn: int
    cell: int
    batch: int | None  # id of the batch it belongs to
    index: int  # place in the batch
    role: Role
    model: str
    prompt: str
    reply: str | None = None
    error: FailedCall | None = None
    finish: Finish | None = None
    usage: Usage = field(default_factory=Usage)
    cost: float | None = None  # US dollars
    seconds: float | None = None
    retries: int = 0
    cached: bool = False  # the reply is from the cache: usage and cost are of when it was paid
    images: tuple[str, ...] = ()  # that were sent with the prompt: format, size and hash of each
    started: float | None = None  # Unix seconds, as below
    ended: float | None = None

    @property
    def refused(self) -> bool:
        """Whether it was never sent, since a limit was in its way."""
        return was_refused(self.error, self.usage)


@dataclass(frozen=True, slots=True)
class CellRun:
    """One code block as it ran."""

    number: int
    code: str
    outcome: CellOutcome | None = None  # None: still running, or the run was stopped in it
    output: str = ""  # what the model was shown: head and tail, the cut named
    omitted: int = 0  # characters left out of ``output``
    error: CellError | None = None
    notes: tuple[str, ...] = ()
    seconds: float | None = None  # wall time
    own_seconds: float | None = None  # without the time host calls were open
    sub_calls: tuple[SubCall, ...] = ()
    started: float | None = None
    ended: float | None = None


@dataclass(frozen=True, slots=True)
class Turn:
    """One model reply, the cells in it and what they printed."""

    number: int
    text: str | None = None
    thinking: str = ""
    cells: tuple[CellRun, ...] = ()
    hints: tuple[str, ...] = ()
    finish: Finish | None = None
    usage: Usage = field(default_factory=Usage)
    cost: float | None = None
    seconds: float | None = None  # the model's reply alone
    retries: int = 0
    model: str = ""  # that replied
    started: float | None = None
    ended: float | None = None  # its last event
    waited: float = 0.0  # seconds that its first cell waited until the REPL had started
    paused: float = 0.0  # seconds in which its run was stopped, until it was resumed


@dataclass(frozen=True, slots=True)
class Node:
    """One RLM in the tree of a run. The root's id is ``"0"``, its children's ``"0.1"``, ``"0.2"``.

    >>> child = Node("0.1", "0", 1, "How many?", "3 lines")
    >>> root = Node("0", None, 0, "Which?", "9 lines", children=(child,))
    >>> [node.id for node in root.walk()], root.find("0.1") is child
    (['0', '0.1'], True)
    """

    id: str
    parent: str | None
    depth: int
    query: str
    context: str  # the description the model saw
    status: Status | None = None
    reason: str = ""
    turns: tuple[Turn, ...] = ()
    children: tuple[Node, ...] = ()
    ledger: tuple[LedgerLine, ...] = ()  # of the node and its children
    answer: object = None  # what it submitted
    cell: int = 0  # of its parent, that asked for it
    started: float | None = None
    ended: float | None = None  # None: it still goes on, or was stopped from outside
    paused: float = 0.0  # as of a turn

    def __repr__(self) -> str:
        amounts = f"{len(self.turns):,} turns, {len(self.children):,} children"
        return f"<Node {self.id} {self.status or 'going on'}: {_short(self.query)} | {amounts}>"

    def walk(self) -> Iterator[Node]:
        """The node and all below it, each before its children."""
        yield self
        for child in self.children:
            yield from child.walk()

    def find(self, node: str) -> Node | None:
        """The node of that id in this tree."""
        return next((each for each in self.walk() if each.id == node), None)

    def calls(self) -> Iterator[SubCall]:
        """The sub-calls of the node itself, in the order of its cells."""
        for turn in self.turns:
            for cell in turn.cells:
                yield from cell.sub_calls

    def spent(self) -> tuple[Usage, float | None]:
        """What the node and its children were paid with; of one that has not ended, as far as is known."""
        usage: Usage = Usage()
        cost: float | None = 0.0
        lines: list[tuple[Usage, float | None]] = [(line.usage, line.cost) for line in self.ledger]
        if self.ended is None and not lines:
            lines = [(turn.usage, turn.cost) for turn in self.turns if turn.usage.calls]
            lines += [
                (call.usage, call.cost) for call in self.calls() if call.usage.calls and not call.cached
            ]
            lines += [child.spent() for child in self.children]
        for each, price in lines:
            usage, cost = usage + each, known_sum(cost, price)
        return usage, cost


@dataclass(frozen=True, slots=True)
class Branch:
    """One of several trajectories of a run. ``usage`` and ``cost`` are of its own: what it shares with the
    first branch is in the first one's."""

    number: int  # from 1
    status: Status | None
    reason: str
    answer: object  # or its draft
    draft: str | None  # where a draft came from
    agrees: bool | None  # with the answer of the run; None: it gave no answer, or nothing is decided yet
    usage: Usage
    cost: float | None
    trace: Node


@dataclass(frozen=True, slots=True)
class Run:
    """One question answered over one context.

    ``answer`` is the submitted value, or the best draft where ``status`` is ``budget``, ``partial`` or
    ``cancelled`` (then ``draft`` says where it came from), else ``None``. ``cost`` is ``None`` as
    soon as the price of one call is not known. ``reused`` and ``reused_cost`` are what the replies that
    were known had been paid with before; they are in neither ``usage`` nor ``cost``. ``coverage`` is what
    was read of the input, ``citations`` the quotes from it. ``trace`` is the root node.
    """

    id: str
    query: str
    answer: object
    status: Status
    reason: str
    draft: str | None  # where a draft answer came from, e.g. "variable result"
    model: str
    sub_model: str
    usage: Usage
    cost: float | None
    ledger: tuple[LedgerLine, ...]
    turns: int  # of the root node, those for which nothing was sent left out
    sub_calls: int  # sub-calls of the whole tree, failed ones included, those that no limit let through not
    seconds: float
    notes: tuple[str, ...]
    reused: Usage
    reused_cost: float | None
    coverage: Coverage
    citations: tuple[Citation, ...]
    trace: Node
    branches: tuple[Branch, ...] = ()  # where there were several: each; ``trace`` is the chosen one's
    strategy: str = "rlm"  # that answered: of ``auto``, the chosen one

    def __str__(self) -> str:
        return repr(self) if self.answer is None else str(self.answer)

    def __repr__(self) -> str:
        """One line: the answer's start, the status, and what it took."""
        if self.status == "answered":
            told = f"answered {_short(repr(self.answer))}"
        else:
            draft = f", draft {_short(repr(self.answer))}" if self.draft is not None else ""
            told = f"{self.status}: {_short(self.reason)}{draft}"
        return f"<Run {self.id} {told} | {self._figures()}>"

    def _figures(self) -> str:
        cost = money(self.cost)
        turns = "1 turn" if self.turns == 1 else f"{self.turns:,} turns"
        calls = "1 sub-call" if self.sub_calls == 1 else f"{self.sub_calls:,} sub-calls"
        return f"{turns}, {calls}, {cost}, {self.seconds:.1f} s"

    def _repr_html_(self) -> str:
        """How a notebook shows it: the answer, the figures, the tree of nodes. Escaped, bounded in size."""
        nodes = list(itertools.islice(self.trace.walk(), _ROWS + 1))
        rows = "".join(_row_html(node) for node in nodes[:_ROWS])
        more = "<tr><td colspan=5>…</td></tr>" if len(nodes) > _ROWS else ""
        head = "".join(f"<th>{name}</th>" for name in ("node", "status", "turns", "cost", "question"))
        notes = "".join(f"<li>{_html(note, _SHORT)}</li>" for note in self.notes[:_ROWS])
        status = _html(self.status if self.status == "answered" else f"{self.status}: {self.reason}", _SHORT)
        return (
            f"<div><p><b>{_html(self.query, _SHORT)}</b></p>"
            f"<pre>{_html(str(self), _LONG)}</pre>"
            f"<p>{status} · {_html(self.model, _SHORT)} · {_html(self._figures(), _SHORT)}</p>"
            + (f"<ul>{notes}</ul>" if notes else "")
            + f"<details><summary>run {_html(self.id, _SHORT)}</summary>"
            f"<table><thead><tr>{head}</tr></thead><tbody>{rows}{more}</tbody></table></details></div>"
        )


_SHORT, _LONG, _ROWS = 120, 4_000, 50  # characters and rows that are shown
_HIDDEN = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\ud800-\udfff]")


def _short(text: str, size: int = _SHORT) -> str:
    """``text`` with nothing in it that a terminal would obey, its middle left out where it is long."""
    if len(text) > size:
        text = f"{text[: size * 2 // 3]} … {text[-size // 4 :]}"
    return _HIDDEN.sub(lambda match: f"\\u{ord(match[0]):04x}", text)


def _html(text: str, size: int) -> str:
    import html

    return html.escape(_short(text, size))


def _row_html(node: Node) -> str:
    _, cost = node.spent()
    cells = (node.id, node.status or "going on", str(len(node.turns)), money(cost), node.query)
    return f"<tr>{''.join(f'<td>{_html(cell, _SHORT)}</td>' for cell in cells)}</tr>"


Settings = Mapping[str, str | int | float | None]
