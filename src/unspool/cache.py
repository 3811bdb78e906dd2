"""Replies of sub-calls, kept across runs: what was paid for once is not sent again.

Contract: a reply is found by the content of its call (:func:`cache_key`: model, address, parameters,
prompt, schema, and which of several equal items of a batch it is, so that five samples are five calls).
Many processes may use one folder at once, and any may be killed: an entry is there whole or not at all.
The least recently used go when the bound is reached. A cache that cannot be used never fails a run: it
finds nothing, keeps nothing, and ``trouble`` says why. Prompts are not kept, only their hash.

>>> from tempfile import TemporaryDirectory
>>> key = cache_key(ModelInfo("scripted:model"), "8c1f02", 0)
>>> with TemporaryDirectory() as folder, ReplyCache(folder) as cache:
...     cache.put(key, ModelReply("hello", "stop", Usage(calls=1), "scripted:model", cost=0.5))
...     cache.get(key).text, cache.get("another") is None
('hello', True)
"""

from __future__ import annotations

import hashlib
import json
import os
import time
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Self

from .folders import cache_folder
from .models.protocol import ModelInfo, ModelReply
from .types import Finish, Usage

if TYPE_CHECKING:
    import sqlite3

FILE = "replies.sqlite"
VERSION = 1  # of what is kept: a file of another version is begun anew
MOST_BYTES = 256 << 20
_WAIT = 0.25  # seconds for another process's write; after that, it is a miss
_FRESH = 3600  # seconds in which a use is not noted again: a note is a write
_TABLE = "CREATE TABLE replies (key TEXT UNIQUE NOT NULL, reply BLOB NOT NULL, used INTEGER NOT NULL)"
_CUT = frozenset[Finish]({"length", "filter"})  # half a reply, or none: asking again may give a whole one


def default_folder() -> Path:
    """Beside the model files."""
    return cache_folder("replies")


def cache_key(info: ModelInfo, key: str, occurrence: int) -> str:
    """Of a call whose content has this hash (:func:`unspool.request_key.request_key`)."""
    place = "" if info.endpoint is None else hashlib.sha256(info.endpoint.encode()).hexdigest()[:16]
    return f"{key} {occurrence} {place}"


class ReplyCache:
    """The replies in a folder. One event loop or thread at a time; open one for each run."""

    def __init__(
        self,
        folder: str | os.PathLike[str],
        *,
        most_bytes: int = MOST_BYTES,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self._path = Path(folder) / FILE
        self._most = most_bytes
        self._clock = clock
        self._connection: sqlite3.Connection | None = None
        self._written: int | None = None  # bytes since the size was last looked at; None: never
        self.trouble: str | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        connection, self._connection = self._connection, None
        if connection is not None:
            connection.close()

    def get(self, key: str) -> ModelReply | None:
        """The reply that was kept under this key."""
        return self._tried(lambda connection: self._get(connection, key))

    def put(self, key: str, reply: ModelReply) -> None:
        """Keeps a whole reply; one that was cut is not worth keeping."""
        if reply.finish in _CUT:
            return
        data = _pack(reply)
        if len(data) <= self._most // 8:
            self._tried(lambda connection: self._put(connection, key, data))

    # SQLite

    def _tried(self, work: Callable[[sqlite3.Connection], ModelReply | None]) -> ModelReply | None:
        if self.trouble is not None:
            return None
        import sqlite3

        try:
            if self._connection is None:
                self._connection = self._open()
            return work(self._connection)
        except (sqlite3.Error, OSError, ValueError, KeyError, TypeError, RecursionError) as error:
            # Busy: another process writes for longer than we wait. That is a miss and no more.
            if not (isinstance(error, sqlite3.OperationalError) and "locked" in str(error)):
                said = error.strerror if isinstance(error, OSError) else None
                self.trouble = f"{said or error} ({self._path})"
            return None

    def _open(self) -> sqlite3.Connection:
        import sqlite3

        self._path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        os.close(os.open(self._path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600))
        try:
            return self._connect()
        except sqlite3.DatabaseError as error:
            if isinstance(error, sqlite3.OperationalError):
                raise
        # No database, or a broken one: what is lost was a cache.
        for suffix in ("", "-wal", "-shm"):
            Path(f"{self._path}{suffix}").unlink(missing_ok=True)
        return self._connect()

    def _connect(self) -> sqlite3.Connection:
        import sqlite3

        connection = sqlite3.connect(self._path, timeout=_WAIT, isolation_level=None)
        try:
            connection.execute("PRAGMA journal_mode=WAL")
            connection.execute("PRAGMA synchronous=NORMAL")
            if _version(connection) != VERSION:
                connection.execute("BEGIN IMMEDIATE")
                if _version(connection) != VERSION:  # or another process was first
                    connection.execute("DROP TABLE IF EXISTS replies")
                    connection.execute(_TABLE)
                    connection.execute("CREATE INDEX replies_used ON replies (used)")
                    connection.execute(f"PRAGMA user_version={VERSION}")
                connection.execute("COMMIT")
        except BaseException:  # whatever happened, the file is not held open
            connection.close()
            raise
        return connection

    def _get(self, connection: sqlite3.Connection, key: str) -> ModelReply | None:
        row = connection.execute("SELECT reply, used FROM replies WHERE key = ?", (key,)).fetchone()
        if row is None:
            return None
        now = int(self._clock())
        if now - row[1] >= _FRESH:
            connection.execute("UPDATE replies SET used = ? WHERE key = ?", (now, key))
        return _unpack(row[0])

    def _put(self, connection: sqlite3.Connection, key: str, data: bytes) -> None:
        connection.execute(
            "INSERT OR REPLACE INTO replies (key, reply, used) VALUES (?, ?, ?)",
            (key, data, int(self._clock())),
        )
        self._written = None if self._written is None else self._written + len(data)
        if self._written is None or self._written > self._most // 16:
            self._written = 0
            self._trim(connection)

    def _trim(self, connection: sqlite3.Connection) -> None:
        """Down to nine tenths of the bound, where it is over it."""
        (total,) = connection.execute("SELECT SUM(LENGTH(reply)) FROM replies").fetchone()
        if total <= self._most:
            return
        oldest = connection.execute(
            "SELECT rowid, LENGTH(reply) FROM replies ORDER BY used, rowid"
        ).fetchall()
        gone: list[tuple[int]] = []
        for row, size in oldest:
            if total <= self._most * 9 // 10:
                break
            total -= size
            gone.append((row,))
        connection.execute("BEGIN IMMEDIATE")
        try:
            connection.executemany("DELETE FROM replies WHERE rowid = ?", gone)
        finally:
            connection.execute("COMMIT")


def _version(connection: sqlite3.Connection) -> int:
    (version,) = connection.execute("PRAGMA user_version").fetchone()
    return int(version)


def _pack(reply: ModelReply) -> bytes:
    kept = {
        "text": reply.text,
        "finish": reply.finish,
        "model": reply.model,
        "usage": asdict(reply.usage),
        "cost": reply.cost,
        "scores": reply.scores,
    }
    return json.dumps(kept, separators=(",", ":")).encode()


def _unpack(data: bytes) -> ModelReply:
    kept = json.loads(data)
    usage, cost, scores = Usage(**kept["usage"]), kept["cost"], kept["scores"]
    return ModelReply(kept["text"], kept["finish"], usage, kept["model"], cost=cost, scores=scores)
