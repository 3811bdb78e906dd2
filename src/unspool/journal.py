"""Where the events of runs are kept: the seam, and the journal on disk.

Contract of :class:`Store`: between ``open`` and ``close`` of a run, ``append`` is called once per event
that is kept (a passing one, such as a piece of a reply, is not), in order, on the engine's loop, and
returns when the event is as safe as the store promises; a :class:`unspool.errors.JournalError` ends the
run, which has no further event then, but where the error says that this one was ``kept``. ``read`` gives a
run's events in order, as far as they were appended. ``runs`` lists ids, oldest first.

:class:`Journal` keeps a folder per run, named by its id: ``events.jsonl``, one event a line, only ever
appended to, and ``values/HASH``, the long texts. Every event is handed to the system before the run goes
on: of a killed process at most the event that was being written is lost, and a half-written line is cut
off when the run is resumed. About once a second all of it is put on the disk itself (:mod:`.durable`).
While a process writes a run, it holds a lock on it. Where the disk is full, a small reserve takes what is
under way, and :class:`unspool.errors.JournalError` ends the run.

The double for tests, and for keeping events in memory, is :class:`unspool.testing.MemoryStore`.

>>> from tempfile import TemporaryDirectory
>>> from unspool.events import TurnStarted
>>> with TemporaryDirectory() as folder:
...     journal = Journal(folder)
...     journal.open("r1")
...     journal.append("r1", TurnStarted(node="0", turn=1))
...     journal.close("r1")
...     list(journal.runs()), [event.kind for event in journal.read("r1")]
(['r1'], ['turn.started'])
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import hashlib
import logging
import os
import re
import shutil
import sys
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Protocol

from .durable import Syncer
from .errors import JournalError, NoSuchRun, WrongSetting
from .event_lines import decode, encode
from .events import Event
from .folders import runs_folder, try_out

EVENTS_FILE = "events.jsonl"
VALUES = "values"
RESERVE = "reserve"
SPARE = ".reserve"  # in the folder of the runs: one that the next run takes
RESERVED = 256 << 10  # bytes kept free for the last events of a run when the disk is full
_BLOCK = 64 << 10
_SECRET_NAMES = re.compile("KEY|TOKEN|SECRET|PASSWORD|CREDENTIAL", re.IGNORECASE)
_SHORTEST_SECRET = 12  # shorter values would be found in innocent texts


class Store(Protocol):
    """Keeps the events of runs. See the module docstring for the contract."""

    def open(self, run: str) -> None: ...

    def append(self, run: str, event: Event) -> None: ...

    def read(self, run: str) -> Iterable[Event]: ...

    def runs(self) -> Iterable[str]: ...

    def close(self, run: str) -> None: ...


def _unwritten(error: OSError, path: Path, *, kept: bool = False) -> JournalError:
    return JournalError(
        f"the journal of the run cannot be written: {error.strerror} ({path}). Make room or name "
        "another folder: RLM(runs=DIR), --runs DIR; runs=False or --no-journal keeps nothing",
        kept=kept,
    )


@contextlib.contextmanager
def kept(store: Store | None, run: str) -> Iterator[None]:
    """While a run goes on, its store keeps it open."""
    if store is None:
        yield
        return
    store.open(run)
    try:
        yield
    finally:
        try:
            store.close(run)
        except BaseException:  # it is anybody's code, and what the run has found out is told already
            logging.getLogger("unspool").exception("the store of runs failed to close run %s", run)


def store_of(runs: str | os.PathLike[str] | bool) -> Store | None:
    """What ``RLM(runs=…)`` names: the platform's folder, a folder, or nothing."""
    if runs is False:
        return None
    if runs is not True and os.path.exists(runs) and not os.path.isdir(runs):
        raise WrongSetting("runs", os.fspath(runs), "it is a file: name a folder")
    return Journal(None if runs is True else runs)


class Journal:
    """The store on disk. See the module docstring."""

    def __init__(self, folder: str | os.PathLike[str] | None = None) -> None:
        self.folder = Path(folder) if folder is not None else runs_folder()
        self._open: dict[str, _Open] = {}

    def open(self, run: str) -> None:
        """Raises :class:`JournalError` where it cannot be written, or another process writes it."""
        if run in self._open:
            raise JournalError(f"the run {run} is going on in this process")
        self._open[run] = _Open(self.folder / run)

    def check(self) -> None:
        """Raises :class:`JournalError` where no run could be kept; leaves nothing behind."""
        try:
            try_out(self.folder)
        except OSError as error:
            raise _unwritten(error, self.folder) from None

    def append(self, run: str, event: Event) -> None:
        self._open[run].append(event)

    def read(self, run: str) -> list[Event]:
        """The events of a run, a half-written last line left out. Raises :class:`JournalError`."""
        return self.read_from(run, 0)[0]

    def read_from(self, run: str, start: int) -> tuple[list[Event], int]:
        """The events behind ``start`` bytes of a journal, which may be growing, and where the next begin."""
        path = self.path(run)
        lines = whole_lines(path / EVENTS_FILE, start)
        return list(_events(path, lines)), start + sum(len(line) + 1 for line in lines)

    def runs(self) -> list[str]:
        with contextlib.suppress(FileNotFoundError, NotADirectoryError), os.scandir(self.folder) as entries:
            return sorted(e.name for e in entries if _is_run(e))
        return []

    def close(self, run: str) -> None:
        kept = self._open.pop(run, None)
        if kept is not None:
            kept.close()

    def path(self, run: str) -> Path:
        """The folder of a run that is there. Raises :class:`JournalError`."""
        path = self.folder / run
        if not run or os.sep in run or not os.path.isfile(path / EVENTS_FILE):
            raise NoSuchRun(
                f"there is no run {run!r} in {self.folder}: see unspool runs list; --runs DIR names a folder"
            )
        return path

    def is_written(self, run: str) -> bool:
        """Whether a process, this one included, is writing this run."""
        with open(self.path(run) / EVENTS_FILE, "rb") as file:
            try:
                fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
            except BlockingIOError:
                return True
        return False

    def tidy(self, run: str) -> None:
        """Removes what a killed process left beside the events of a run."""
        if not self.is_written(run):
            for left in (self.path(run) / RESERVE, *(self.path(run) / VALUES).glob("*.part")):
                left.unlink(missing_ok=True)

    def remove(self, run: str) -> None:
        """Removes a run and all that was kept of it. Refuses one that is being written."""
        path = self.path(run)
        if self.is_written(run):
            raise JournalError(f"the run {run} is still going: stop it first")
        try:
            (path / EVENTS_FILE).unlink()  # from here on it is no run, whatever stops the rest
            shutil.rmtree(path)
        except OSError as error:
            raise JournalError(f"the run {run} cannot be removed: {error.strerror} ({path})") from None


class _Open:
    """A run that this process writes."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._secrets = _secrets(os.environ)
        self._known: set[str] = set()
        self._full: OSError | None = None
        self._fd = -1
        self._size = 0
        self._syncer: Syncer | None = None
        try:
            path.mkdir(parents=True, exist_ok=True, mode=0o700)
            self._fd = self._locked()
            self._reserve()
            self._syncer = Syncer(self._fd)
        except OSError as error:
            self.close()
            raise self._error(error) from None

    def _locked(self) -> int:
        fd = os.open(self._path / EVENTS_FILE, os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(fd)
            raise JournalError(
                f"the run {self._path.name} is being written by another process: wait for it, or stop it"
            ) from None
        try:
            self._size = _whole(fd)
            os.ftruncate(fd, self._size)  # the event that was being written when its process was killed
        except OSError:
            os.close(fd)
            raise
        return fd

    def _reserve(self) -> None:
        """One that another run has left, if there is one: to make and to remove one takes some disks
        longer than all the rest of a short run."""
        place = self._path / RESERVE
        with contextlib.suppress(OSError):
            os.rename(self._path.parent / SPARE, place)
            if os.stat(place).st_blocks * 512 >= RESERVED:
                return
        fd = os.open(self._path / RESERVE, os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            _allocate(fd, RESERVED)
        except OSError as error:
            if error.errno not in (errno.EINVAL, errno.EOPNOTSUPP):  # a file system that has no such thing
                raise
        finally:
            os.close(fd)

    def append(self, event: Event) -> None:
        try:
            line = _hidden(encode(event, self._keep), self._secrets) + b"\n"
            self._write(self._fd, line, self._size)
            self._size += len(line)
            if self._syncer is not None:
                self._syncer.wrote()
        except OSError as error:
            raise self._error(error) from None
        if self._full is not None:
            raise self._error(self._full, kept=True)

    def _write(self, fd: int, data: bytes, size: int) -> None:
        """All of it or nothing, behind ``size`` bytes; on a full disk with the space of the reserve."""
        rest = memoryview(data)
        while rest:
            try:
                rest = rest[os.write(fd, rest) :]
            except OSError as error:
                if self._full is not None:
                    os.ftruncate(fd, size)
                    raise
                self._full = error
                with contextlib.suppress(FileNotFoundError):
                    os.unlink(self._path / RESERVE)

    def _keep(self, value: str | bytes) -> str:
        """Puts a long text, or an image, away under its hash, whole or not at all."""
        data = value
        if isinstance(data, str):
            data = _hidden(data.encode("utf-8", "surrogatepass"), self._secrets)
        key = hashlib.sha256(data).hexdigest()
        if key in self._known:
            return key
        place = self._path / VALUES / key
        if not _is_whole(place, len(data)):
            place.parent.mkdir(exist_ok=True, mode=0o700)
            part = place.with_suffix(".part")
            fd = os.open(part, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600)
            try:
                self._write(fd, data, 0)
            finally:
                os.close(fd)
            part.rename(place)
            if self._syncer is not None:
                self._syncer.value(place)
        self._known.add(key)
        return key

    def _error(self, error: OSError, *, kept: bool = False) -> JournalError:
        return _unwritten(error, self._path, kept=kept)

    def close(self) -> None:
        fd, self._fd = self._fd, -1
        if fd >= 0:
            if not self._size:  # a run that never began leaves nothing
                shutil.rmtree(self._path, ignore_errors=True)
            fcntl.flock(fd, fcntl.LOCK_UN)  # what is still being put on the disk holds it open
            if self._syncer is not None:
                self._syncer.close()
            os.close(fd)
        with contextlib.suppress(OSError):  # a read-only disk: the reserve is what gc removes
            spare = self._path.parent / SPARE
            if self._full is not None or spare.exists():
                os.unlink(self._path / RESERVE)
            else:
                os.rename(self._path / RESERVE, spare)


def _allocate(fd: int, size: int) -> None:
    if sys.platform == "linux":
        os.posix_fallocate(fd, 0, size)
    else:
        os.pwrite(fd, bytes(size), 0)


def _is_whole(path: Path, size: int) -> bool:
    """Whether a value is there: after a power cut a file may have its name and nothing in it."""
    try:
        return path.stat().st_size == size
    except FileNotFoundError:
        return False


def _is_run(entry: os.DirEntry[str]) -> bool:
    """A folder with events. What no terminal shows, no run is called."""
    return entry.name.isprintable() and os.path.exists(os.path.join(entry.path, EVENTS_FILE))


def _secrets(environment: Mapping[str, str]) -> tuple[bytes, ...]:
    """The values of variables that are named like secrets: they never reach a journal."""
    found = {
        value.encode("utf-8", "surrogateescape")
        for name in filter(_SECRET_NAMES.search, environment)  # to read a variable takes longer than this
        if len(value := environment.get(name, "")) >= _SHORTEST_SECRET
    }
    return tuple(sorted(found, key=len, reverse=True))


def _hidden(data: bytes, secrets: tuple[bytes, ...]) -> bytes:
    for secret in secrets:
        if secret in data:
            data = data.replace(secret, b"[secret]")
    return data


def without_secrets(text: str) -> str:
    """A text as journals keep it."""
    data = text.encode("utf-8", "surrogatepass")
    return _hidden(data, _secrets(os.environ)).decode("utf-8", "surrogatepass")


def whole_lines(path: Path, start: int = 0) -> list[bytes]:
    """The lines of a file, from a byte on, that end in a newline."""
    if path.exists() and not path.is_file():  # to read a pipe, or a device, would have no end
        raise JournalError(f"{path} is no file")
    try:
        with open(path, "rb") as file:
            file.seek(start)
            data = file.read()
    except OSError as error:
        raise JournalError(f"{path} cannot be read: {error.strerror}") from None
    return data.split(b"\n")[:-1]


def _whole(fd: int) -> int:
    """How many bytes of a file are lines that end in a newline."""
    end = os.fstat(fd).st_size
    while end:
        start = max(0, end - _BLOCK)
        newline = os.pread(fd, end - start, start).rfind(b"\n")
        if newline >= 0:
            return start + newline + 1
        end = start
    return 0


def _events(path: Path, lines: Iterable[bytes]) -> Iterator[Event]:
    def fetch(key: str) -> bytes:
        if not key.isalnum():
            raise JournalError(f"{path}: {key[:80]!r} is no hash")
        try:
            data = (path / VALUES / key).read_bytes()
        except OSError as error:
            raise JournalError(f"{path}: the value {key} cannot be read: {error.strerror}") from None
        if hashlib.sha256(data).hexdigest() != key:
            raise JournalError(f"{path / VALUES / key} is damaged: it is not what was put away there")
        return data

    for number, line in enumerate(lines, 1):
        try:
            event = decode(line, fetch)
        except (ValueError, TypeError, KeyError, AttributeError) as error:
            raise JournalError(f"{path / EVENTS_FILE}, line {number}: this is no event ({error})") from None
        if event is not None:
            yield event
