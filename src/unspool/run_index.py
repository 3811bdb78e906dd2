"""The index of the runs of a folder: one row a run, in SQLite, made from the journals alone.

Contract: :meth:`RunIndex.rows` reads the journals that have changed since it last did, and no others; the
file may be deleted at any time. Nothing is written here while a run goes on. Where the folder cannot be
written, the index lives in memory.

>>> from tempfile import TemporaryDirectory
>>> from unspool import RLM
>>> from unspool.testing import ScriptedModel
>>> with TemporaryDirectory() as folder:
...     model = ScriptedModel(["```python\\nprint(1)\\nsubmit(42)\\n```"])
...     run = RLM(model, runs=folder).run("How many?", "")
...     (row,) = RunIndex(Journal(folder)).rows()
>>> row.id == run.id, row.query, row.state, row.turns
(True, 'How many?', 'answered', 1)
"""

from __future__ import annotations

import contextlib
import json
import os
import sqlite3
from collections.abc import Iterator
from dataclasses import astuple, dataclass, fields, replace
from pathlib import Path

from . import events as ev
from .errors import JournalError
from .event_lines import decode
from .journal import EVENTS_FILE, VALUES, Journal, whole_lines
from .types import known_sum, was_refused

INDEX_FILE = "index.sqlite"
INTERRUPTED, RUNNING, BROKEN = "interrupted", "running", "unreadable"
_SHOWN = 200  # characters of a question that are kept
_PUT_AWAY = "…"  # what stands here for a long text


@dataclass(frozen=True, slots=True)
class RunRow:
    """One run. ``state`` is its status, or ``running``, ``interrupted``, ``unreadable``."""

    id: str
    stamp: str  # size and time of the journal as it was read
    query: str = ""
    model: str = ""
    state: str = INTERRUPTED
    started: float = 0.0  # Unix seconds
    ended: float = 0.0  # time of the last event
    seconds: float = 0.0  # up to then, without those in which nobody went on with it
    turns: int = 0
    sub_calls: int = 0
    cost: float | None = None  # so far, of one that has not ended
    size: int = 0  # bytes of all that is kept of it


class RunIndex:
    """See the module docstring."""

    def __init__(self, journal: Journal) -> None:
        self._journal = journal

    def rows(self) -> list[RunRow]:
        """All runs, oldest first."""
        folder = self._journal.folder
        stamps = {run: _stamp(folder / run) for run in self._journal.runs()}
        with self._database() as database:
            known = {row.id: row for row in _read(database)}
            fresh = [
                self._row(run, stamp)
                for run, stamp in stamps.items()
                if run not in known or known[run].stamp != stamp
            ]
            gone = known.keys() - stamps.keys()
            if fresh or gone:
                with database:
                    database.executemany("DELETE FROM runs WHERE id = ?", [(run,) for run in gone])
                    marks = ", ".join("?" for _ in fields(RunRow))
                    database.executemany(f"REPLACE INTO runs VALUES ({marks})", [astuple(r) for r in fresh])
            known.update({row.id: row for row in fresh})
        return [self._live(known[run]) for run in stamps]

    def _live(self, row: RunRow) -> RunRow:
        with contextlib.suppress(JournalError, OSError):  # it went away, or belongs to another user
            if row.state in (INTERRUPTED, BROKEN) and self._journal.is_written(row.id):
                return replace(row, state=RUNNING)
        return row

    def _row(self, run: str, stamp: str) -> RunRow:
        path = self._journal.folder / run
        row = RunRow(run, stamp, size=_size(path))
        calls: set[int] = set()
        begun, last, seconds = False, 0.0, 0.0  # without its first event nothing can be made of a run
        try:
            for line in whole_lines(path / EVENTS_FILE):
                event = decode(line, lambda key: _PUT_AWAY.encode())  # the long texts are not needed here
                if isinstance(event, ev.RunStarted):
                    begun = True
                    if event.query == _PUT_AWAY:
                        event = replace(event, query=_question(path, line))
                if event is not None:
                    row, seconds = _fold(row, event, calls), ev.lived(seconds, last, event)
                    last = event.time
        except (JournalError, ValueError, TypeError, KeyError, AttributeError):
            begun = False
        return replace(row, ended=last, seconds=seconds, state=row.state if begun else BROKEN)

    @contextlib.contextmanager
    def _database(self) -> Iterator[sqlite3.Connection]:
        path = self._journal.folder / INDEX_FILE
        try:
            database = _open(str(path))
        except sqlite3.DatabaseError:  # damaged, of another version, or it cannot be written
            with contextlib.suppress(OSError):
                path.unlink()
            try:
                database = _open(str(path))
            except sqlite3.DatabaseError:
                database = _open(":memory:")
        with contextlib.closing(database):
            yield database


def _open(name: str) -> sqlite3.Connection:
    database = sqlite3.connect(name, timeout=10.0)
    names = ", ".join(f.name + (" PRIMARY KEY" if f.name == "id" else "") for f in fields(RunRow))
    try:
        database.execute(f"CREATE TABLE IF NOT EXISTS runs ({names})")
        there = [row[1] for row in database.execute("PRAGMA table_info(runs)")]
        if there != [f.name for f in fields(RunRow)]:
            raise sqlite3.DatabaseError("it is of another version")
        list(_read(database))
        with database:  # whether it can be written
            database.execute("DELETE FROM runs WHERE id IS NULL")
    except (sqlite3.DatabaseError, TypeError) as error:
        database.close()
        raise sqlite3.DatabaseError(str(error)) from None
    return database


def _read(database: sqlite3.Connection) -> list[RunRow]:
    return [RunRow(*row) for row in database.execute("SELECT * FROM runs")]


def _fold(row: RunRow, event: ev.Event, calls: set[int]) -> RunRow:
    match event:
        case ev.RunStarted():
            query = " ".join(event.query.split())[:_SHOWN]
            # Half of a surrogate pair may stand in a question, and in no database.
            query = query.encode("utf-8", "backslashreplace").decode()
            return replace(row, query=query, model=event.model, started=event.time, cost=0.0)
        case ev.RunResumed():
            return replace(row, state=INTERRUPTED)
        case ev.ModelReplied() if not event.shared:
            return replace(row, cost=known_sum(row.cost, event.cost))
        case ev.CallEnded() if was_refused(event.error, event.usage):
            calls.discard(event.call)
            return replace(row, sub_calls=len(calls))
        case ev.CallEnded() if event.usage.calls and not event.cached:
            calls.add(event.call)  # of a run that went on, it may have been refused before
            return replace(row, sub_calls=len(calls), cost=known_sum(row.cost, event.cost))
        case ev.TurnStarted() if event.node == "0":
            return replace(row, turns=max(row.turns, event.turn))
        case ev.CallStarted():
            calls.add(event.call)
            return replace(row, sub_calls=len(calls))
        case ev.RunEnded():
            return replace(
                row, state=event.status, turns=event.turns, sub_calls=event.sub_calls, cost=event.cost
            )
        case _:
            return row


def _question(path: Path, line: bytes) -> str:
    """How a question begins that was put away for its length."""
    key = str(json.loads(line)["query"]["$"])
    with contextlib.suppress(OSError), open(path / VALUES / Path(key).name, "rb") as file:
        return file.read(20 * _SHOWN).decode("utf-8", "ignore")
    return _PUT_AWAY


def _stamp(path: Path) -> str:
    with contextlib.suppress(OSError):
        status = os.stat(path / EVENTS_FILE)
        return f"{status.st_size} {status.st_mtime_ns}"
    return ""


def _size(path: Path) -> int:
    """Bytes of the files of a run."""
    total = 0
    for folder, _, names in os.walk(path):
        for name in names:
            with contextlib.suppress(OSError):
                total += os.stat(os.path.join(folder, name)).st_size
    return total
