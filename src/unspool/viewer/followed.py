"""A run as its journal tells it so far: read once, and then only what is new.

Contract: :meth:`Followed.read` takes what was written since; it may be called from any thread. What is made
of the events is made once for each state of the journal. Raises :class:`unspool.errors.JournalError` for a
journal that is not there or is damaged.

>>> from tempfile import TemporaryDirectory
>>> from unspool import RLM
>>> from unspool.testing import ScriptedModel
>>> with TemporaryDirectory() as folder:
...     model = ScriptedModel(["```python\\nprint(1)\\nsubmit(42)\\n```"])
...     run = RLM(model, runs=folder).run("How many?", "")
...     seen = Followed(Journal(folder), run.id).read()
>>> seen.ended.answer, seen.nodes["0"].status
(42, 'answered')
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from .. import events as ev
from ..coverage import CoverageBuilder
from ..errors import JournalError
from ..journal import Journal
from ..past import PastRun
from ..trace import TraceBuilder, folded
from ..types import Node, SubCall, Turn

_KEPT = 4  # runs that are held in memory


class Seen:
    """The events of a run up to one of them, and what they come to. Not changed once it is made."""

    def __init__(self, run: str, events: Sequence[ev.Event], builder: TraceBuilder, *, going: bool) -> None:
        self.run = run
        self.events = events
        self.going = going  # a process is writing it
        self.started, self.ended, self.last = builder.started, builder.ended, builder.last
        self.root = builder.root()
        self.branches = builder.branches()
        alone = (self.root,) if self.root is not None else ()
        self.roots = tuple(branch.trace for branch in self.branches) or alone

    @classmethod
    def of(cls, run: str, events: Sequence[ev.Event]) -> Seen:
        """Of a run that nobody follows."""
        return cls(run, events, folded(events), going=False)

    @property
    def seq(self) -> int:
        return self.events[-1].seq if self.events else 0

    @cached_property
    def nodes(self) -> Mapping[str, Node]:
        """All nodes by their names, each before its children."""
        return {node.id: node for root in self.roots for node in root.walk()}

    @cached_property
    def calls(self) -> Mapping[int, SubCall]:
        return {call.id: call for node in self.nodes.values() for call in node.calls()}

    @cached_property
    def turns(self) -> Mapping[tuple[str, int], Turn]:
        return {(node.id, turn.number): turn for node in self.nodes.values() for turn in node.turns}

    @cached_property
    def past(self) -> PastRun:
        """What the tree leaves out: batches, tools, refusals, ranges."""
        try:
            return PastRun(self.events)
        except (KeyError, ValueError) as error:
            raise JournalError(f"the events do not fit together: one needs {error}") from None

    @cached_property
    def reading(self) -> CoverageBuilder:
        """What was read of the input."""
        builder = CoverageBuilder()
        for event in self.events:
            builder.add(event)
        return builder

    @cached_property
    def changes(self) -> Sequence[tuple[int, int]]:
        """For each call that counts, in order: the number of its last event, and its own."""
        last: dict[int, int] = {}
        for event in self.events:
            if isinstance(event, ev.CallStarted | ev.CallEnded):
                last[event.call] = event.seq
        return sorted((seq, call) for call, seq in last.items() if call in self.calls)

    @cached_property
    def dropped(self) -> int:
        """How often something that was told no longer counted."""
        return sum(isinstance(event, ev.Diverged) for event in self.events)


@dataclass(slots=True)
class _Folded:
    """The state between two readings."""

    builder: TraceBuilder
    events: list[ev.Event]
    place: int = 0


class Followed:
    """See the module docstring."""

    def __init__(self, journal: Journal, run: str) -> None:
        self.run = run
        self._journal = journal
        self._folded = _Folded(TraceBuilder(), [])
        self._lock = threading.Lock()
        self._seen: Seen | None = None

    def read(self) -> Seen:
        """What the journal holds by now."""
        with self._lock:
            fresh, place = self._journal.read_from(self.run, self._folded.place)
            going = self._is_going(fresh)
            if self._seen is None or fresh or going != self._seen.going:
                self._add(fresh)
                self._folded.place = place
                events = tuple(self._folded.events)
                self._seen = Seen(self.run, events, self._folded.builder, going=going)
            return self._seen

    def _is_going(self, fresh: Sequence[ev.Event]) -> bool:
        ended = fresh[-1] if fresh else self._seen.events[-1] if self._seen and self._seen.events else None
        return not isinstance(ended, ev.RunEnded) and self._journal.is_written(self.run)

    def _add(self, fresh: Iterable[ev.Event]) -> None:
        for event in fresh:
            try:
                self._folded.builder.add(event)
            except KeyError as error:
                raise JournalError(
                    f"the events do not fit together: number {event.seq} needs {error}, of which none tells"
                ) from None
            self._folded.events.append(event)


class Runs:
    """The runs of a folder that were looked at last."""

    def __init__(self, journal: Journal) -> None:
        self.journal = journal
        self._held: OrderedDict[str, Followed] = OrderedDict()
        self._lock = threading.Lock()

    def read(self, run: str) -> Seen:
        """A run as it is by now. Raises :class:`JournalError`."""
        with self._lock:
            followed = self._held.setdefault(run, Followed(self.journal, run))
            self._held.move_to_end(run)
            while len(self._held) > _KEPT:
                self._held.popitem(last=False)
        try:
            return followed.read()
        except JournalError:
            with self._lock:
                self._held.pop(run, None)
            raise
