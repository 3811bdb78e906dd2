"""What changes when a run has something new, had without reading a journal.

Contract: a :class:`Stamp` of a run is another one after each of its events, when a process begins to write
it and when that ends, however it does; runs of other processes included. A journal that nobody writes and
that is as it was stays so: who goes on with it writes an event first. So its lock, which is how a process is
known to be there, is tried only where one was at the last look, or where there is more of the journal. May be
used from any thread.

>>> from tempfile import TemporaryDirectory
>>> from unspool.events import TurnStarted
>>> with TemporaryDirectory() as folder:
...     journal = Journal(folder)
...     journal.open("r1")
...     journal.append("r1", TurnStarted(node="0", turn=1))
...     stamps = Stamps(journal)
...     going = stamps.of("r1")
...     journal.close("r1")
...     ended = stamps.of("r1")
...     (going.written, ended.written), stamps.of("r1") is ended, stamps.of("r2")
((True, False), True, None)
"""

from __future__ import annotations

import os
import threading
from dataclasses import dataclass

from ..errors import JournalError
from ..journal import EVENTS_FILE, Journal


@dataclass(frozen=True, slots=True)
class Stamp:
    size: int  # of the journal, in bytes
    changed: int  # nanoseconds
    written: bool  # by a process


class Stamps:
    """See the module docstring."""

    def __init__(self, journal: Journal) -> None:
        self.tried = 0  # locks, for tests
        self._journal = journal
        self._known: dict[str, Stamp] = {}
        self._lock = threading.Lock()

    def of(self, run: str) -> Stamp | None:
        """None: there is no such run."""
        with self._lock:
            found = self._look(run)
            if found is None:
                self._known.pop(run, None)
            else:
                self._known[run] = found
            return found

    def all(self) -> dict[str, Stamp | None]:
        """Of each run of the folder."""
        runs = self._journal.runs()
        with self._lock:
            for gone in self._known.keys() - set(runs):
                del self._known[gone]
        return {run: self.of(run) for run in runs}

    def _look(self, run: str) -> Stamp | None:
        before = self._known.get(run)
        try:
            there = os.stat(self._journal.folder / run / EVENTS_FILE)
            same = before is not None and (before.size, before.changed) == (there.st_size, there.st_mtime_ns)
            if before is not None and same and not before.written:
                return before
            self.tried += 1
            written = self._journal.is_written(run)
        except (OSError, JournalError):
            return None
        return Stamp(there.st_size, there.st_mtime_ns, written)
