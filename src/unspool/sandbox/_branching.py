"""A REPL forked between two cells: another one with all that is in it, that goes its own way.

Contract: :class:`Rooms` is for the keeper, which makes a scratch folder of its own for each fork;
:func:`fork_off` is for the worker, which the host asks for a fork: the new process has the memory of this
one, and sockets, a screen and a folder of its own. It is refused (the reason goes to the host) where
something would be in common that one of the two could change for the other: files that cells have written or
opened, memory that processes share, threads, of which a fork has only one. Standard library only; importable
as a sibling module too.
"""

from __future__ import annotations

import errno
import fcntl
import json
import os
import socket
import stat
import sys
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING or __package__:
    from . import _landlock, linux, worker
    from ._frames import pack
    from ._reach import REACH
else:
    import _landlock
    import linux
    import worker
    from _frames import pack
    from _reach import REACH

_MOST_FILES = 4096  # descriptors that are looked at, where there is no list of them
_OPEN_FILES = "a cell has left files or sockets open"
_STREAMS = "a cell has put something else in the place of stdin, stdout or stderr"

Identity = tuple[int, int]  # of a file, whatever it is called: st_dev, st_ino


@dataclass(frozen=True, slots=True)
class Room:
    """What a fork has to itself."""

    path: str
    rulesets: Sequence[int]  # of Landlock, or none: nothing but this folder may be written to
    measure: Callable[[], int]  # bytes in it
    remove: Callable[[], None]


class Rooms:
    """The scratch folders of the forks of a node, beside that of its first worker, ``own``."""

    def __init__(self, own: str, limit: int, known: Collection[Identity], *, hardened: bool) -> None:
        """``known``: the files in memory that are no cell's, by their :func:`identities`."""
        self._own = own
        self._known = known
        self._limit = limit
        self._hardened = hardened
        self._in_memory = hardened and linux.state().tier == "namespaces"  # file systems with sizes
        self._made = 0
        self._live: set[str] = set()

    def make(self, repl: int) -> Room:
        """For a fork of the REPL whose process is ``repl``. Raises ``OSError`` with what is in the way."""
        if _shares_memory(repl, self._known):
            raise OSError(errno.EBUSY, "a cell has made memory that processes share")
        if os.listdir(self._own):
            raise OSError(errno.EBUSY, "a cell has written files")
        self._made += 1
        rulesets: list[int] = []
        if self._hardened:
            path = linux.make_room(self._own, self._made, self._limit)
            rulesets.append(linux.room_ruleset(path))
        else:
            path = os.path.join(os.path.dirname(self._own), str(self._made))
            os.mkdir(path, 0o700)
        self._live.add(path)
        return Room(path, rulesets, lambda: self._bytes(path), lambda: self._remove(path))

    def measure_own(self) -> int:
        """Bytes on disk that are of no fork."""
        if self._in_memory:
            return 0
        return linux.scratch_bytes(os.path.dirname(self._own)) - sum(map(linux.scratch_bytes, self._live))

    def _bytes(self, path: str) -> int:
        return 0 if self._in_memory else linux.scratch_bytes(path)

    def _remove(self, path: str) -> None:
        self._live.discard(path)
        linux.remove_room(path)


def identities(*fds: int) -> list[Identity]:
    """What these descriptors lead to."""
    return [(info.st_dev, info.st_ino) for info in map(os.fstat, fds)]


def _identity(fd: int) -> Identity | None:
    """The same of one that a cell may have closed."""
    try:
        return identities(fd)[0]
    except OSError:
        return None


def _shares_memory(pid: int, known: Collection[Identity]) -> bool:
    """Whether a process has mapped memory that others see it write to, but for files that are ``known``."""
    with open(f"/proc/{pid}/maps", encoding="utf-8", errors="replace") as rows:
        return any(_is_shared(row, known) for row in rows)


def _is_shared(row: str, known: Collection[Identity]) -> bool:
    """The same of one mapping. Of a file without a name it may be made writable any time; one with a name
    would have been written, or is not a cell's (glibc has one)."""
    _, rights, _, device, inode, *path = row.split(None, 5)
    major, minor = (int(number, 16) for number in device.split(":"))
    named = bool(path) and path[0].startswith("/") and not path[0].rstrip().endswith("(deleted)")
    shared = rights[3] == "s" and (rights[1] == "w" or not named)
    return shared and (os.makedev(major, minor), int(inode)) not in known


def fork_off(known: Collection[Identity], here: worker.Worker, fds: Sequence[int]) -> None:
    """In the worker between two cells: forks it, and returns in both. ``fds`` are of the fork: its control
    socket, its keeper's desk, the room for its screen; ``known``: the files that are no cell's."""
    control, desk = (socket.socket(fileno=fd) for fd in fds[:2])
    data, rulesets, _, _ = socket.recv_fds(desk, 4096, 1)
    told: dict[str, str] = json.loads(data or b'{"why": "its keeper is gone"}')
    fds = [*fds, *rulesets]
    why, child = told.get("why") or _in_the_way(known, here, fds), 0
    try:
        child = 0 if why else here.fork()
    except OSError as error:
        why = f"no process could be forked: {error.strerror}"
    if why or child:
        with control, desk:
            if why:
                control.sendall(pack("failed", [why]))
        for fd in fds[2:]:
            os.close(fd)
        if child:
            os.waitpid(child, 0)
        return
    if here.fork():
        os._exit(0)  # so that the fork is a child of the keeper's, and not of the REPL it came from
    _move(told["path"])
    if rulesets:
        _landlock.restrict(rulesets[0])
    here.become(control, desk, fds[2])


def _in_the_way(known: Collection[Identity], here: worker.Worker, fds: Collection[int]) -> str:
    """Why a fork would have something in common with this process."""
    if here.threads() > 1:
        return "threads are running"
    links, pipe = here.descriptors()
    screen = None if pipe is None else _identity(pipe)
    if _identity(0) not in known or screen is None or {_identity(1), _identity(2)} != {screen}:
        return _STREAMS
    files = sys.modules.get(f"{REACH}.desk")
    ours = {1, 2, pipe, *links, *fds, *filter(_is_only_read, files.DESK.held() if files else ())}
    if any(fd not in ours and _identity(fd) not in known for fd in _open_files()):
        return _OPEN_FILES
    return ""


def _open_files() -> list[int]:
    try:
        numbers: Iterable[int] = sorted(map(int, os.listdir("/proc/self/fd")))
    except OSError:  # not to be seen where it is hardened, and then there are few
        numbers = range(min(os.sysconf("SC_OPEN_MAX"), _MOST_FILES))
    found = []
    for fd in numbers:
        try:
            os.fstat(fd)
        except OSError:
            continue
        found.append(fd)
    return found


def _is_only_read(fd: int) -> bool:
    """Whether it is still a file to read from: a cell may have put another in its place."""
    try:
        flags = fcntl.fcntl(fd, fcntl.F_GETFL)
        return flags & os.O_ACCMODE == os.O_RDONLY and stat.S_ISREG(os.fstat(fd).st_mode)
    except OSError:
        return False


def _move(path: str) -> None:
    os.chdir(path)
    for name in ("HOME", "TMPDIR", "PWD"):
        os.environ[name] = path
    import tempfile

    tempfile.tempdir = None  # it remembers where files would go
