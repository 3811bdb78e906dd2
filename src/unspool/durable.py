"""What a run has written, on the disk itself: behind the run's back, about once a second.

Contract: a :class:`Syncer` belongs to one open file of events. :meth:`Syncer.wrote` costs nothing to speak
of; once a second it has a thread, the one of the process, put what is new on the disk: the values first,
then the events that name them. So a power cut, or a system that stops, loses the last second or two; a
killed process loses nothing of it. A run that takes less than a second is left to the system, which
writes it within half a minute: many such runs cost no more than they did. What the disk refuses is raised
by the next :meth:`Syncer.wrote` as the ``OSError`` that it is; where none comes, it is logged.

:func:`replace_whole` is for a small file that is written as a whole: it is on the disk when it returns.

>>> from tempfile import TemporaryFile
>>> with TemporaryFile() as file:
...     syncer = Syncer(file.fileno(), every=0.0)
...     syncer.wrote()
...     syncer.close()
...     syncer.wait()
...     syncer.synced
1
"""

from __future__ import annotations

import errno
import logging
import os
import sys
from concurrent.futures import Future, ThreadPoolExecutor, wait
from functools import lru_cache
from pathlib import Path
from time import monotonic

EVERY = 1.0  # seconds


class Syncer:
    """See the module docstring. ``fd`` stays its owner's, and may be closed after :meth:`close`."""

    def __init__(self, fd: int, *, every: float = EVERY) -> None:
        self.synced = 0  # how often, for tests
        self._fd = os.dup(fd)
        self._every = every
        self._values: list[Path] = []
        self._new = False
        self._last = monotonic()
        self._going: Future[None] | None = None
        self._error: OSError | None = None

    def value(self, path: Path) -> None:
        """A value was put away; the next event names it."""
        self._values.append(path)

    def wrote(self) -> None:
        """An event was written. Raises what went wrong when the last ones were put on the disk."""
        self._new = True
        if monotonic() - self._last >= self._every and (self._going is None or self._going.done()):
            self._start(self._fd)
        if self._error is not None:
            error, self._error = self._error, None
            raise error

    def close(self) -> None:
        """The last of it, where the run took long enough; nobody waits for that."""
        fd, self._fd = self._fd, -1
        if fd < 0:
            return
        if self._new and (self._going is not None or monotonic() - self._last >= self._every):
            self._start(fd, last=True)
        elif self._going is not None:
            self._going.add_done_callback(lambda _: self._let_go(fd))
        else:
            self._let_go(fd)

    def wait(self) -> None:
        """Until what was begun is done."""
        if self._going is not None:
            wait([self._going])

    def _start(self, fd: int, *, last: bool = False) -> None:
        values, self._values, self._new, self._last = self._values, [], False, monotonic()
        try:
            self._going = _thread(os.getpid()).submit(self._sync, fd, values, last)
        except RuntimeError:  # the interpreter ends and takes no more: then it is done here
            self._sync(fd, values, last)

    def _sync(self, fd: int, values: list[Path], last: bool) -> None:
        try:
            for path in values:
                _sync_file(path)
            if values:
                _sync_file(values[0].parent)  # their names
            _sync_data(fd)
            self.synced += 1
        except OSError as error:
            if error.errno not in (errno.EINVAL, errno.ENOSYS, errno.EOPNOTSUPP):  # it knows no such thing
                self._error = error
        finally:
            if last:
                self._let_go(fd)

    def _let_go(self, fd: int) -> None:
        os.close(fd)
        if self._error is not None:  # there is no event any more that could tell of it
            logging.getLogger("unspool").warning(
                "the end of a journal may not be on the disk: %s", self._error
            )


def replace_whole(path: Path, data: bytes) -> None:
    """Puts ``data`` in the place of a small file: after a power cut, too, it is the old or the new one."""
    part = path.with_name(f"{path.name}.new")
    part.write_bytes(data)
    _sync_file(part)
    os.replace(part, path)
    _sync_file(path.parent)  # its name


def _sync_data(fd: int) -> None:
    if sys.platform == "linux":
        os.fdatasync(fd)
    else:  # not everybody has the lesser one
        os.fsync(fd)


def _sync_file(path: Path) -> None:
    try:
        fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    except FileNotFoundError:  # the run was removed meanwhile
        return
    try:
        os.fsync(fd)
    finally:
        os.close(fd)


@lru_cache(maxsize=2)
def _thread(pid: int) -> ThreadPoolExecutor:
    """One for the process: a fork has none of its parent's threads. Its end waits for what was begun."""
    return ThreadPoolExecutor(1, thread_name_prefix="unspool-sync")
