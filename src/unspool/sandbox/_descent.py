"""The processes of a node, as its keeper finds and ends them.

Contract: the caller is the keeper: a subreaper, or the first process of a pid namespace. Standard library
only; importable as a sibling module too.

>>> descendants(2**22)
[]
"""

from __future__ import annotations

import contextlib
import os
import select
import signal
import time
from collections.abc import Callable, Collection, Iterator

_PAGE = os.sysconf("SC_PAGE_SIZE")
_BLOCK = 1 << 14
_TREE = os.path.exists(f"/proc/{os.getpid()}/task/{os.getpid()}/children")


def children(pid: int) -> list[int]:
    if not _TREE:
        return [child for child, parent in _parents() if parent == pid]
    found: list[int] = []
    with contextlib.suppress(OSError):
        for thread in os.listdir(f"/proc/{pid}/task"):
            with contextlib.suppress(OSError):
                found += map(int, _read(f"/proc/{pid}/task/{thread}/children").split())
    return found


def _read(path: str) -> bytes:
    """A file of /proc. A keeper reads so many that what ``open`` asks of a file first would count."""
    fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        data = piece = os.read(fd, _BLOCK)
        while piece:
            piece = os.read(fd, _BLOCK)
            data += piece
        return data
    finally:
        os.close(fd)


def _stat(pid: int) -> list[bytes]:
    """The fields of /proc/PID/stat behind the name: state, parent, …"""
    return _read(f"/proc/{pid}/stat").rpartition(b")")[2].split()


def _parents() -> Iterator[tuple[int, int]]:
    for name in os.listdir("/proc"):
        if name.isdigit():
            with contextlib.suppress(OSError):
                yield int(name), int(_stat(int(name))[1])


def descendants(pid: int) -> list[int]:
    """All living processes that descend from ``pid``, zombies left out."""
    found: list[int] = []
    todo = children(pid)
    while todo:
        child = todo.pop()
        todo += children(child)
        if alive(child):
            found.append(child)
    return found


def alive(pid: int) -> bool:
    return state_of(pid) not in "ZX"


def state_of(pid: int) -> str:
    """As in /proc/PID/stat: R runs, T is stopped, …; X where there is no such process."""
    try:
        return _stat(pid)[0].decode("ascii")
    except OSError:
        return "X"


def kill_all(group: int, spare: Collection[int] = (), heir: int = 0) -> None:
    """Kill all processes of the node but ``spare``, and but what descends from ``heir``. Where the heir is
    no more, this comes too late, and those that live now are of later cells: then none is killed.

    ``group``: their process group, where this is not the first process of a pid namespace. Everything
    is stopped first, in one call that no fork escapes: so a crowd of processes cannot outrun it, nor
    keep the processor from us.
    """

    me, kept = os.getpid(), {*spare, *(descendants(heir) if heir else ())}
    there = set(descendants(me))
    if not there - kept or (heir and not alive(heir)):
        return
    _signal_node(group, signal.SIGSTOP, there | kept)
    kept = {*spare, *(descendants(heir) if heir else ())}
    if heir and not alive(heir):  # asked only now that nothing moves
        _go_on(group, kept, there)
        return
    for attempt in range(500):
        pids = set(descendants(me)) - kept
        if not pids:
            break
        for pid in pids:
            with contextlib.suppress(OSError):
                os.kill(pid, signal.SIGKILL)
        time.sleep(0.0005 * 2**attempt if attempt < 5 else 0.02)
    _go_on(group, kept, there)


def _go_on(group: int, kept: Collection[int], there: Collection[int]) -> None:
    """All that are left, for one may have lost its parent meanwhile; and by number those out of the group."""
    _signal_node(group, signal.SIGCONT, {*kept, *there})
    for pid in kept:
        if pid:
            with contextlib.suppress(OSError):
                os.kill(pid, signal.SIGCONT)


def end_child(pid: int, link: int = -1) -> None:
    """Ends a child of ours, and waits until it is gone, or a second: its children become ours with that.

    ``link``: a socket; once nothing more comes from its other side, nobody is waited for.
    """
    with contextlib.suppress(OSError):
        os.kill(pid, signal.SIGKILL)
        hung_up = _until_gone(pid, link)
        for attempt in range(130):
            if os.waitpid(pid, os.WNOHANG)[0] or hung_up:
                return
            time.sleep(0.0005 * 2 ** min(attempt, 4))


def _until_gone(pid: int, link: int) -> bool:
    """Waits for the end of a process, where the system can tell of it; whether it was ``link`` that ended."""
    try:
        handle = os.pidfd_open(pid)
    except (AttributeError, OSError):  # not every system has it
        return False
    try:
        poll = select.poll()
        poll.register(handle, select.POLLIN)
        if link >= 0:
            poll.register(link, select.POLLRDHUP)
        return any(fd == link for fd, _ in poll.poll(1000))
    finally:
        os.close(handle)


def kill_these(find: Callable[[], Collection[int]], heir: int = 0) -> None:
    """Kill what ``find`` finds, where other processes of the node go on: first all of it is stopped, one by
    one and again until no more are born, so that none loses its parent unseen. As in :func:`kill_all`, none
    is killed where the heir is no more.

    The group is not stopped as a whole for it: a process that is forking in that moment has a child that
    stays stopped, as the kernel keeps a SIGSTOP for it and drops the SIGCONT that comes next.
    """
    halted: set[int] = set()
    for _ in range(100):
        found = {*find()} - halted
        if not found:
            break
        for pid in found:
            _signal(pid, signal.SIGSTOP)
        halted |= found
    late = heir != 0 and not alive(heir)
    for pid in halted:
        _signal(pid, signal.SIGCONT if late else signal.SIGKILL)
    for attempt in range(500):
        if late or not any(map(alive, halted)):
            return
        time.sleep(0.0005 * 2**attempt if attempt < 5 else 0.02)


def _signal(pid: int, number: int) -> None:
    with contextlib.suppress(OSError):
        os.kill(pid, number)


def end_all(group: int) -> None:
    """Kill all processes of the node and wait until they are gone."""
    alone = os.getpid() == 1
    _signal_node(group, signal.SIGKILL, () if alone else descendants(os.getpid()))  # no fork gets away
    if not alone:
        kill_all(group)  # what is not in the group yet, or, without hardening, not any more
    with contextlib.suppress(ChildProcessError):
        while True:
            os.waitpid(-1, 0)


def _signal_node(group: int, number: int, pids: Collection[int]) -> None:
    """The group, as long as one of ours is in it: once all are gone, its number may be a stranger's. ``pids``
    are ours. They are not looked for here: while a parent ends, its children are in no list for a moment."""
    with contextlib.suppress(OSError):
        if os.getpid() == 1:
            os.kill(-1, number)
        elif any(_group_of(pid) == group for pid in pids):
            os.killpg(group, number)


def _group_of(pid: int) -> int:
    try:
        return os.getpgid(pid)
    except OSError:  # it has ended
        return 0


def wake(pids: Collection[int]) -> None:
    """Those of them that are stopped: see :func:`kill_these`."""
    for pid in pids:
        if state_of(pid) == "T":
            _signal(pid, signal.SIGCONT)


def newest() -> bytes:
    """The last process or thread that was begun, among those that this process can see; nothing where the
    system does not say. While it stays the same, there are no others than before."""
    with contextlib.suppress(OSError):
        return _read("/proc/loadavg").rpartition(b" ")[2]
    return b""


def resident(pids: Collection[int]) -> int:
    """Bytes of memory, pages that processes share counted for each: an upper bound, quickly had."""
    total = 0
    for pid in pids:
        with contextlib.suppress(OSError):
            total += int(_read(f"/proc/{pid}/statm").split()[1]) * _PAGE
    return total
