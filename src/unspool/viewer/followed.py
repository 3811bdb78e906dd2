"""A run as its journal tells it so far: each event is read and folded once.

Contract: :meth:`Followed.seen` takes what was written since and lends what is known. It may be called from
any thread, and lends to one at a time: a run is used inside the ``with``, and what is told of it is made of
values that do not change. Raises :class:`unspool.errors.JournalError` for a journal that is not there or is
damaged.

>>> from tempfile import TemporaryDirectory
>>> from unspool import RLM
>>> from unspool.testing import ScriptedModel
>>> with TemporaryDirectory() as folder:
...     model = ScriptedModel(["```python\\nprint(1)\\nsubmit(42)\\n```"])
...     run = RLM(model, runs=folder).run("How many?", "")
...     with Followed(Journal(folder), run.id).seen() as seen:
...         seen.ended.answer, seen.nodes["0"].status
(42, 'answered')
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from .. import events as ev
from ..coverage import CoverageBuilder
from ..errors import JournalError
from ..journal import Journal
from ..past import PastRun
from ..trace import TraceBuilder
from ..types import Branch, Node, SubCall, Turn
from .alike import Alike
from .tally import Tally

_KEPT = 4  # runs that are held in memory


@dataclass(frozen=True)
class _Tree:
    """The tree as it was after one of the events."""

    root: Node | None
    branches: tuple[Branch, ...]

    @cached_property
    def roots(self) -> tuple[Node, ...]:
        alone = (self.root,) if self.root is not None else ()
        return tuple(branch.trace for branch in self.branches) or alone

    @cached_property
    def nodes(self) -> Mapping[str, Node]:
        return {node.id: node for root in self.roots for node in root.walk()}

    @cached_property
    def turns(self) -> Mapping[tuple[str, int], Turn]:
        return {(node.id, turn.number): turn for node in self.nodes.values() for turn in node.turns}


class Seen:
    """A run up to its last event that was added, and what the events come to."""

    def __init__(self, run: str, folder: Path | None = None) -> None:
        self.run = run
        self.folder = folder  # of the runs; None: the run is told of elsewhere
        self.seq = 0
        self.going = False  # a process is writing it
        self.dropped = 0  # how often something that was told no longer counted
        self.past = PastRun(())  # what the tree leaves out: batches, tools, refusals, ranges
        self._builder = TraceBuilder()
        self._tally: Tally | None = Tally()
        self._tree: _Tree | None = None
        self.alike = Alike()
        self._last: dict[int, int] = {}  # by call: after which event it is told otherwise

    @classmethod
    def of(cls, run: str, events: Iterable[ev.Event]) -> Seen:
        """Of a run that nobody follows."""
        seen = cls(run)
        for event in events:
            seen.add(event)
        return seen

    def add(self, event: ev.Event) -> None:
        """Raises :class:`JournalError` where an event is missing that this one needs."""
        try:
            self._builder.add(event)
            self.past.add(event)
        except (KeyError, ValueError) as error:
            raise JournalError(
                f"the events do not fit together: number {event.seq} needs {error}, of which none tells"
            ) from None
        self.seq, self._tree = event.seq, None
        if self._tally is not None and not self._tally.add(event):
            self._tally = None
        if isinstance(event, ev.CallStarted | ev.CallEnded):
            others = self.alike.add(event) if isinstance(event, ev.CallStarted) else ()
            for call in (*others, event.call):
                self._last.pop(call, None)
                self._last[call] = event.seq
        self.dropped += isinstance(event, ev.Diverged)

    # The run as a whole

    @property
    def started(self) -> ev.RunStarted | None:
        return self._builder.started

    @property
    def ended(self) -> ev.RunEnded | None:
        return self._builder.ended

    @property
    def last(self) -> float:
        """The time of the last event."""
        return self._builder.last

    @property
    def lasted(self) -> float:
        """Seconds up to the last event, without those in which nobody went on with the run."""
        return self._builder.lasted

    @property
    def gaps(self) -> Sequence[tuple[float, float]]:
        """From when to when nobody did."""
        return self._builder.gaps

    @property
    def reading(self) -> CoverageBuilder:
        """What was read of the input."""
        return self._builder.reading

    # The tree

    @property
    def _now(self) -> _Tree:
        if self._tree is None:
            self._tree = _Tree(self._builder.root(), self._builder.branches())
        return self._tree

    @property
    def root(self) -> Node | None:
        return self._now.root

    @property
    def branches(self) -> tuple[Branch, ...]:
        return self._now.branches

    @property
    def roots(self) -> tuple[Node, ...]:
        return self._now.roots

    @property
    def nodes(self) -> Mapping[str, Node]:
        """All nodes by their names, each before its children."""
        return self._now.nodes

    @property
    def turns(self) -> Mapping[tuple[str, int], Turn]:
        return self._now.turns

    # Sub-calls

    @property
    def calls(self) -> Mapping[int, SubCall]:
        return self._builder.calls

    @property
    def tally(self) -> Tally:
        if self._tally is None:
            self._tally = Tally.of(self.nodes.values())
        return self._tally

    def changed_since(self, seq: int) -> Sequence[tuple[int, int]]:
        """The calls that count and are told otherwise since an event: the number of the last event that did
        so, and their own, in order."""
        found: list[tuple[int, int]] = []
        for call, last in reversed(self._last.items()):
            if last <= seq:
                break
            if call in self.calls:
                found.append((last, call))
        return found[::-1]


class Followed:
    """See the module docstring."""

    def __init__(self, journal: Journal, run: str) -> None:
        self._journal = journal
        self._seen = Seen(run, journal.folder.absolute())
        self._place = 0  # bytes of the journal that were read
        self._lock = threading.RLock()

    @contextmanager
    def seen(self) -> Iterator[Seen]:
        """What the journal holds by now, lent."""
        with self._lock:
            seen = self._seen
            fresh, self._place = self._journal.read_from(seen.run, self._place)
            for event in fresh:
                seen.add(event)
            seen.going = seen.ended is None and self._journal.is_written(seen.run)
            yield seen


class Runs:
    """The runs of a folder that were looked at last."""

    def __init__(self, journal: Journal) -> None:
        self.journal = journal
        self._held: OrderedDict[str, Followed] = OrderedDict()
        self._lock = threading.Lock()

    @contextmanager
    def seen(self, *runs: str) -> Iterator[Sequence[Seen]]:
        """Runs as they are by now, lent. Raises :class:`JournalError`."""
        with ExitStack() as held:
            # Always in the same order, so that two who want the same two do not wait for each other.
            lent = {run: self._lent(run, held) for run in sorted(set(runs))}
            yield [lent[run] for run in runs]

    def _lent(self, run: str, held: ExitStack) -> Seen:
        with self._lock:
            followed = self._held.setdefault(run, Followed(self.journal, run))
            self._held.move_to_end(run)
            while len(self._held) > _KEPT:
                self._held.popitem(last=False)
        try:
            return held.enter_context(followed.seen())
        except JournalError:
            with self._lock:
                if self._held.get(run) is followed:  # what it has folded is half of something
                    del self._held[run]
            raise
