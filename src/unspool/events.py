"""The events of a run: the only source for the trace, the CLI, the viewer, telemetry and resume.

Contract: every event is immutable, carries its place (``node``, ``turn``, ``cell``) by number, and
is stamped by ``event_log.py`` with ``seq`` (1, 2, … without gaps within a run) and ``time``
(Unix seconds). ``VERSION`` rises when a field changes its meaning; new fields come with a default.
The table of events is in ``docs/design.md``.

A *passing* event (``ModelDelta``) is for whoever looks on while it happens: listeners get it, with the
``seq`` of the event before it, and neither the log nor a store keeps it.

>>> TurnStarted(node="0", turn=1).kind
'turn.started'
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import ClassVar

from .reading import Range
from .types import CellError, CellOutcome, FailedCall, Finish, LedgerLine, Limit, Role, Status, Usage

VERSION = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Event:
    """Base of all events; ``kind`` is the name in the journal."""

    kind: ClassVar[str] = ""
    passing: ClassVar[bool] = False  # never kept
    seq: int = 0
    time: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class RunStarted(Event):
    kind: ClassVar[str] = "run.started"
    run: str
    query: str
    model: str
    sub_model: str
    profile: str
    context: str  # the description, constant in size
    settings: Mapping[str, str | int | float | None] = field(
        default_factory=lambda: dict[str, str | int | float | None]()
    )
    context_hash: str | None = None  # None: a value that has no hash that lasts
    sources: tuple[str, ...] = ()  # the files that the context was read from, as they were named
    folder: str = ""  # the working folder, where the names of files start
    kept: object = None  # the context itself, where that was asked for
    paths: bool = False  # the context was given as these paths
    marks: tuple[str, ...] = ()  # of several parts of the context: which of them is another one by now


@dataclass(frozen=True, slots=True, kw_only=True)
class StrategyChosen(Event):
    """What ``strategy="auto"`` has decided, and why. Sizes in tokens."""

    kind: ClassVar[str] = "strategy.chosen"
    strategy: str
    reason: str
    size: int | None  # of the input, a token for four characters; None: not known
    window: int | None  # of the root model; None: not known


@dataclass(frozen=True, slots=True, kw_only=True)
class RunResumed(Event):
    """The run goes on, after a stop of any kind, from what its events tell."""

    kind: ClassVar[str] = "run.resumed"
    run: str


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeStarted(Event):
    kind: ClassVar[str] = "node.started"
    node: str
    parent: str | None
    depth: int
    query: str
    context: str
    ranges: tuple[Range, ...] | None = None  # of the parent's context in the query; None: not known
    stretches: tuple[tuple[int, int, int, int, int], ...] | None = None  # of the parent's context in it


@dataclass(frozen=True, slots=True, kw_only=True)
class ContextMeasured(Event):
    """How large the context of a node is, where it is text: what ranges are shares of. The last one counts:
    of packed files the size is known only once they were read."""

    kind: ClassVar[str] = "context.measured"
    node: str
    size: int | None  # characters, or bytes; None: not known yet
    parts: int
    names: tuple[str, ...] = ()  # of the first parts, in a mapping
    sizes: tuple[int | None, ...] = ()  # of the first thousand parts
    shown: tuple[Range, ...] = ()  # what the description shows of it
    in_bytes: bool = False  # the ranges are of bytes: it is in files
    no_text: tuple[int, ...] = ()  # parts that cannot be read as text, and do not count
    why: str = ""  # nothing of it can be traced, and why


@dataclass(frozen=True, slots=True, kw_only=True)
class TurnStarted(Event):
    kind: ClassVar[str] = "turn.started"
    node: str
    turn: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelDelta(Event):
    """A piece of the reply that a node's own model is writing; ``fresh``: what came before is void.

    ``trouble``: no piece, but why the call failed that is going to be sent again.
    """

    kind: ClassVar[str] = "model.delta"
    passing: ClassVar[bool] = True
    node: str
    turn: int
    text: str
    thinking: str
    fresh: bool
    trouble: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelReplied(Event):
    """The reply of the root model (of a node's own model) in a turn."""

    kind: ClassVar[str] = "model.replied"
    node: str
    turn: int
    role: Role
    model: str
    text: str
    thinking: str
    code: tuple[str, ...]
    finish: Finish
    usage: Usage
    cost: float | None
    seconds: float
    retries: int
    shared: bool = False  # the reply of the first branch, which has paid for it


@dataclass(frozen=True, slots=True, kw_only=True)
class CellStarted(Event):
    kind: ClassVar[str] = "cell.started"
    node: str
    turn: int
    cell: int  # counts through the node, from 1
    code: str


@dataclass(frozen=True, slots=True, kw_only=True)
class CellEnded(Event):
    kind: ClassVar[str] = "cell.ended"
    node: str
    turn: int
    cell: int
    outcome: CellOutcome
    output: str
    printed: int
    omitted: int
    error: CellError | None
    notes: tuple[str, ...]
    seconds: float
    own_seconds: float
    ranges: tuple[Range, ...] | None = None  # of the context in the output; None: not known
    unplaced: int = 0  # characters of the output that there was no time to look for


@dataclass(frozen=True, slots=True, kw_only=True)
class BatchStarted(Event):
    kind: ClassVar[str] = "batch.started"
    node: str
    turn: int
    cell: int
    batch: int
    size: int


@dataclass(frozen=True, slots=True, kw_only=True)
class CallStarted(Event):
    """A sub-call was asked for. ``batch`` is None for a single one."""

    kind: ClassVar[str] = "call.started"
    node: str
    turn: int
    cell: int
    call: int  # counts through the run, from 1
    batch: int | None
    index: int
    role: Role
    model: str
    prompt: str
    key: str = ""  # of all that is sent: the model, the messages, the schema, the sampling
    images: tuple[str, ...] = ()  # format, size and hash of each: never their bytes
    ranges: tuple[Range, ...] | None = None  # of the context in the prompt; None: not known
    unplaced: int = 0  # characters of the prompt that there was no time to look for


@dataclass(frozen=True, slots=True, kw_only=True)
class CallEnded(Event):
    """A sub-call's reply, or its typed failure (``error``).

    ``unsent``: it was not made, since others of its model had failed alike.

    ``usage`` and ``cost``: what it was paid with; for a reply from the cache (``cached``), what that
    had been paid with before, and nothing is paid now.
    """

    kind: ClassVar[str] = "call.ended"
    node: str
    call: int
    model: str
    reply: str | None
    error: FailedCall | None
    finish: Finish | None
    usage: Usage
    cost: float | None
    seconds: float
    retries: int
    cached: bool = False
    scores: Mapping[str, float] | None = None  # log probability of each choice, where the model tells
    unsent: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolEnded(Event):
    """A host call whose reply another run of the cell may not get again: a tool of the user's, ``budget``."""

    kind: ClassVar[str] = "tool.ended"
    node: str
    turn: int
    cell: int
    name: str
    key: str  # of the arguments
    value: object
    error: str | None
    exact: bool = True  # False: the journal cannot give this value back as it was


@dataclass(frozen=True, slots=True, kw_only=True)
class Cited(Event):
    """A quote was looked for in the context of a node."""

    kind: ClassVar[str] = "citation"
    node: str
    turn: int
    cell: int
    quote: str
    source: str | None  # the key or number of the part; None: the context is one text
    offset: int | None  # characters; None: it is not there
    line: int | None
    found: bool
    verified: bool | None  # compared with the context; None: the host does not have it
    via: str = "cite"  # or "answer": it stood between quotation marks there
    place: Range | None = None  # in files, as coverage counts: the part, first byte, the one behind the last


@dataclass(frozen=True, slots=True, kw_only=True)
class Diverged(Event):
    """A cell did not do again what it had done: what the node did after it no longer counts."""

    kind: ClassVar[str] = "node.diverged"
    node: str
    turn: int
    cell: int
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Hinted(Event):
    """The engine told the model something: nothing to run, a repeat, a skipped block, a last turn."""

    kind: ClassVar[str] = "hint"
    node: str
    turn: int
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class AnswerRefused(Event):
    kind: ClassVar[str] = "answer.refused"
    node: str
    turn: int
    cell: int
    value: object
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class AnswerAccepted(Event):
    kind: ClassVar[str] = "answer.accepted"
    node: str
    turn: int
    cell: int
    value: object
    via: str  # the name it was submitted by: submit, FINAL, FINAL_VAR, SUBMIT, answer
    hint: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeEnded(Event):
    kind: ClassVar[str] = "node.ended"
    node: str
    status: Status
    reason: str
    ledger: tuple[LedgerLine, ...] = ()  # of the node and its children
    draft: str | None = None  # without an answer: where the draft came from
    value: object = None  # and what it was


@dataclass(frozen=True, slots=True, kw_only=True)
class BranchesDecided(Event):
    """Which of the branches of a run gives the answer, and which agree with it."""

    kind: ClassVar[str] = "branches.decided"
    node: str
    count: int
    agreeing: tuple[str, ...]  # the nodes whose answers count as the same; none where nobody has answered
    stopped: tuple[str, ...]  # those that could not change it any more


@dataclass(frozen=True, slots=True, kw_only=True)
class RunEnded(Event):
    """The last event of a run: all that a :class:`unspool.types.Run` has besides its trace."""

    kind: ClassVar[str] = "run.ended"
    run: str
    status: Status
    reason: str
    answer: object
    draft: str | None
    usage: Usage
    cost: float | None
    ledger: tuple[LedgerLine, ...]
    turns: int
    sub_calls: int
    seconds: float
    notes: tuple[str, ...] = ()
    reused: Usage = field(default_factory=Usage)
    reused_cost: float | None = 0.0
    limit: Limit | None = None  # of the status "budget": which was reached; None: not known
    stuck: bool = False  # resumed, it ends the same, and no model is asked


EVENTS: tuple[type[Event], ...] = (
    RunStarted, StrategyChosen, RunResumed, NodeStarted, ContextMeasured, TurnStarted, ModelDelta,
    ModelReplied, CellStarted, CellEnded, BatchStarted, CallStarted, CallEnded, ToolEnded, Cited, Diverged,
    Hinted, AnswerRefused, AnswerAccepted, NodeEnded, BranchesDecided, RunEnded,
)  # fmt: skip


def lived(seconds: float, before: float, event: Event) -> float:
    """How long a run has taken up to this event, without the time that it lay still. ``seconds``: up to the
    event ``before``, which is its time.

    The times of events are the clock's, which may be set back; a run that came to an end has said how
    long it took by one that may not.
    """
    if isinstance(event, RunEnded):
        return event.seconds
    if isinstance(event, RunStarted | RunResumed):
        return seconds
    return seconds + max(0.0, event.time - before)
