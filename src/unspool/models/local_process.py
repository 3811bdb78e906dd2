"""The host's side of the llama.cpp process: start it, wait until it serves, end it.

Contract of :class:`LocalServer`: ``ensure`` starts the process or finds it running, and returns
its address and key; it blocks until the model is loaded, and may be called from several threads.
A process that has died is started anew. Users of the same settings share one process; when the
last of them leaves, it ends. An abort in llama.cpp ends that process and not the host.
"""

from __future__ import annotations

import json
import os
import secrets
import select
import subprocess
import sys
import tempfile
import threading
from dataclasses import asdict, dataclass
from pathlib import Path
from time import monotonic
from typing import IO

from ..errors import ConfigError, ModelError
from ..reach.extras import how_to_add

LOAD_SECONDS = 300.0
ENDING_SECONDS = 2.0
_LONGEST_LOG = 4_000

INSTALL = f"the local model needs llama.cpp: {how_to_add('local')}"


@dataclass(frozen=True, slots=True)
class Served:
    """A running server: the root of its URLs, its key, and a number that grows with each start."""

    url: str
    key: str
    start: int


@dataclass(frozen=True, slots=True)
class Settings:
    """What decides whether two models can share a process."""

    path: str
    window: int  # tokens, of each slot
    slots: int
    threads: int
    cache_mib: int
    states: str  # folder of saved prompt states


class LocalServer:
    """One llama.cpp process for one file and one set of settings."""

    _all: dict[Settings, LocalServer] = {}  # noqa: RUF012 (shared by the whole process on purpose)
    _all_lock = threading.Lock()

    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        self._lock = threading.Lock()
        self._users = 0
        self._starts = 0
        self._process: subprocess.Popen[bytes] | None = None
        self._served: Served | None = None
        self._log: IO[bytes] | None = None

    @classmethod
    def join(cls, settings: Settings) -> LocalServer:
        """The server for these settings, with one user more."""
        with cls._all_lock:
            server = cls._all.setdefault(settings, cls(settings))
            server._users += 1
            return server

    def leave(self) -> None:
        """One user less; the last one ends the process."""
        with self._all_lock:
            self._users -= 1
            if self._users > 0:
                return
            self._all.pop(self.settings, None)
        with self._lock:
            self._stop()

    @property
    def served(self) -> Served | None:
        """The running server, without waiting for one."""
        process = self._process
        return self._served if process is not None and process.poll() is None else None

    def ensure(self) -> Served:
        with self._lock:
            if (served := self.served) is not None:
                return served
            self._stop()
            return self._start()

    def has_ended(self) -> bool:
        """Whether the process is gone. Its connections break a moment before it is."""
        process = self._process
        if process is None:
            return True
        try:
            process.wait(ENDING_SECONDS)
        except subprocess.TimeoutExpired:
            return False
        return True

    def last_words(self) -> str:
        """The end of what the process wrote to its log."""
        if self._log is None:
            return ""
        size = self._log.seek(0, os.SEEK_END)
        self._log.seek(max(0, size - _LONGEST_LOG))
        lines = self._log.read().decode("utf-8", "replace").strip().splitlines()
        return " | ".join(lines[-3:])

    def _start(self) -> Served:
        require_llama_cpp()
        key = secrets.token_urlsafe(24)
        self._log = tempfile.TemporaryFile()  # noqa: SIM115 (as long as the process lives)
        self._process = subprocess.Popen(
            [sys.executable, "-P", str(Path(__file__).with_name("local_server.py"))],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._log,
            env=_environment(),
            start_new_session=True,  # Ctrl-C is for the host, which then closes stdin
        )
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        try:
            self._process.stdin.write(json.dumps({**asdict(self.settings), "key": key}).encode() + b"\n")
            self._process.stdin.flush()
            url = self._first_line(self._process.stdout)
        except OSError:
            url = None
        if url is None:
            words = self.last_words()
            self._stop()
            raise ModelError(
                "server",
                f"llama.cpp did not start with {Path(self.settings.path).name}: {words or 'it said nothing'}",
                model=f"local:{Path(self.settings.path).stem}",
                retryable=False,
            )
        self._starts += 1
        self._served = Served(url, key, self._starts)
        return self._served

    def _first_line(self, out: IO[bytes]) -> str | None:
        """The URL, or None where the process ended or took too long."""
        deadline = monotonic() + LOAD_SECONDS
        line = b""
        while not line.endswith(b"\n"):
            ready, _, _ = select.select([out], [], [], max(0.0, deadline - monotonic()))
            piece = os.read(out.fileno(), 4096) if ready else b""
            if not piece:
                return None
            line += piece
        return str(json.loads(line)["url"])

    def _stop(self) -> None:
        process, self._process, self._served = self._process, None, None
        if process is not None:
            process.kill()  # it has nothing to save
            process.wait()
            for pipe in (process.stdin, process.stdout):
                if pipe is not None:
                    pipe.close()
        if self._log is not None:
            self._log.close()
            self._log = None


def _environment() -> dict[str, str]:
    # Threads that wait for each other spin by default. Where another program wants a core too, they
    # spin through the time slices that the one they wait for needs: measured on two busy cores, one
    # token a second, and ten where they go to sleep soon. On two quiet ones that costs a tenth.
    if "OMP_WAIT_POLICY" in os.environ:
        return dict(os.environ)
    return {"GOMP_SPINCOUNT": "1000", **os.environ}


def require_llama_cpp() -> None:
    """Raise ConfigError with the line to install it, where xllamacpp is missing."""
    import importlib.util

    if importlib.util.find_spec("xllamacpp") is None:
        raise ConfigError(INSTALL)
