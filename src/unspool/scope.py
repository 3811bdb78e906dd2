"""What the nodes of one run share, and what one node is asked to do.

Contract: :class:`Scope` is made once per run and never changes but for ``fatal`` (the error after
which no further call can succeed) and its counters; a :class:`Task` is one node's job.
"""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from .answers import AnswerType
from .budget import Budget, Meter
from .cache import ReplyCache
from .errors import JournalError, ModelError
from .event_log import EventLog
from .events import ModelDelta, NodeEnded
from .models.calls import Caller
from .models.protocol import Delta, ModelRequest, OnDelta
from .models.settings import ModelSettings
from .prompts import Profile
from .ranges import Stretch
from .reach.passed import later
from .reading import Range
from .sandbox.protocol import Repl, Sandbox
from .tools import Toolbox
from .types import Limit, Status

if TYPE_CHECKING:
    from .forks import Forks
    from .replay import Replay


WARM = 0.7  # the least temperature of the branches but the first: colder, they would all say the same


@dataclass(frozen=True, slots=True)
class Limits:
    """The settings of an engine that bound a node. Times in seconds, memory in bytes."""

    max_turns: int = 20
    max_depth: int = 1
    cell_seconds: float = 120.0
    cell_memory: int | None = None

    def under(self, budget: Budget) -> Limits:
        """The tighter of these and what a budget says of turns and depth."""
        turns, depth = budget.turns, budget.depth
        return replace(
            self,
            max_turns=self.max_turns if turns is None else min(self.max_turns, turns),
            max_depth=self.max_depth if depth is None else min(self.max_depth, depth),
        )


@dataclass(slots=True)
class Branch:
    """One of several trajectories of the root. ``decided``: the others have, so that it is stopped."""

    number: int  # from 1, which is the trunk
    decided: bool = False
    forks: Forks | None = None  # of the trunk's REPL, where there are some

    def over(self, request: ModelRequest) -> ModelRequest:
        """A request whose reply is a sample of its own."""
        if self.number == 1:
            return request
        seed = None if request.seed is None else request.seed + self.number - 1
        cold = request.temperature is not None and request.temperature < WARM
        return replace(request, seed=seed, temperature=WARM if cold else request.temperature)


@dataclass(frozen=True, slots=True)
class Task:
    """One node's job: a question over a context."""

    node: str
    parent: str | None
    depth: int
    query: str
    context: object
    description: str  # of the context, made once: it counts the lines of large texts
    answer: AnswerType
    meter: Meter
    branch: Branch | None = None
    ranges: tuple[Range, ...] | None = ()  # of the parent's context in the query; None: not known
    stretches: tuple[Stretch, ...] | None = None  # of the parent's context in this one


@dataclass(slots=True)
class Place:
    """Where a node is: the events of host calls carry it."""

    turn: int = 0
    cell: int = 0


@dataclass(frozen=True, slots=True)
class Outcome:
    """How a node ended. ``draft`` says where an answer that was not submitted came from."""

    status: Status
    reason: str
    answer: object = None
    draft: str | None = None
    turns: int = 0
    limit: Limit | None = None  # of the status "budget": which was reached
    stuck: bool = False  # by what the model said alone: gone through again, it ends the same and asks nothing


@dataclass(slots=True)
class Scope:
    """Shared by every node of a run."""

    log: EventLog
    root: Caller
    sub: Caller
    models: Mapping[str, Caller]  # what llm_query(model=…) may name
    sandbox: Sandbox
    settings: ModelSettings
    sub_settings: ModelSettings
    profile: Profile
    sub_profile: Profile
    limits: Limits
    tools: Toolbox
    instructions: str
    loop: asyncio.AbstractEventLoop | None  # the caller's, for async tools
    spawn: Callable[[Scope, Task], Awaitable[Outcome]]
    retire: Callable[[Repl], None]  # closes a REPL, which no run waits for
    replay: Replay
    cache: ReplyCache | None = None
    live: bool = False  # somebody looks on: replies are told of while they are written
    driven: bool = False  # the root's code comes from outside: its turns have no limit
    libraries: bool = False  # code of the run has named some: that of further nodes may, too
    fatal: ModelError | JournalError | None = None
    left: Outcome | None = None  # what a run leaves that was cancelled, or failed by a mistake
    stopped: str = "cancelled"  # why it is, where it is
    notes: list[str] = field(default_factory=list)
    calls: Iterator[int] = field(init=False)
    batches: Iterator[int] = field(init=False)
    refused: set[int] = field(init=False)  # sub-calls that a limit did not let through
    begun: int = field(init=False)  # sub-calls, those included
    answered: set[str] = field(init=False)  # the models that have, ever in this run

    def __post_init__(self) -> None:
        self.calls = itertools.count(self.replay.last_call + 1)
        self.batches = itertools.count(self.replay.last_batch + 1)
        self.begun, self.refused = self.replay.last_call, set(self.replay.refused)
        self.answered = set(self.replay.answered)
        self.replay.tell = self.log.emit

    @property
    def sub_calls(self) -> int:
        """How many were made."""
        return self.begun - len(self.refused)

    def check(self) -> None:
        """Raises the error after which nothing more is sent, if there is one."""
        if self.fatal is not None:
            raise self.fatal

    def teller(self, node: str, turn: int) -> OnDelta | None:
        """What tells of a reply of this turn while it is written, if somebody looks on."""
        if not self.live:
            return None

        def tell(delta: Delta) -> None:
            text, thinking, fresh, trouble = delta.text, delta.thinking, delta.fresh, delta.trouble
            self.log.emit(
                ModelDelta(node=node, turn=turn, text=text, thinking=thinking, fresh=fresh, trouble=trouble)
            )

        return tell

    def leave(self, outcome: Outcome) -> None:
        """What a run that is cancelled leaves: of several branches', the first with a draft."""
        if self.left is None or (self.left.draft is None and outcome.draft is not None):
            self.left = outcome

    def node_ended(self, task: Task, outcome: Outcome) -> None:
        """Tells the end of a node."""
        ended = NodeEnded(
            node=task.node, status=outcome.status, reason=outcome.reason, ledger=task.meter.ledger
        )
        if outcome.draft is not None:
            ended = replace(ended, draft=outcome.draft, value=outcome.answer)
        self.log.emit(ended)

    def note(self, notes: Sequence[str]) -> None:
        """For the run's notes, each once."""
        self.notes += [note for note in notes if note not in self.notes]

    def has_answered(self, model: str, notes: Sequence[str]) -> None:
        """A reply came, with these notes."""
        self.answered.add(model)
        self.note(notes)

    def noted(self, notes: Sequence[str]) -> Sequence[str]:
        """A cell's notes; those on files that searches passed over are of the whole run, too."""
        self.notes = later(self.notes, notes)
        return notes
