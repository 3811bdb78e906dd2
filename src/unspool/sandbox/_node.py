"""Watching and ending the processes of one node, from its keeper.

Contract: the caller is the keeper. ``worker`` is the pid, as the keeper sees it, of the first
worker; all that descends from it is in its process group, because setsid and setpgid are denied
inside. As pid 1 of a pid namespace of its own, a keeper is beside nobody else. Standard library
only; importable as a sibling module too.

>>> node_pids(2**22)
[]
"""

from __future__ import annotations

import contextlib
import os
import signal
import stat
import sys
from collections.abc import Collection

_MAX_ENTRIES = 50_000
_MAX_DEPTH = 200


def kill_node(worker: int) -> None:
    """Kill every process of the node at once. Nothing that forks meanwhile gets away."""
    with contextlib.suppress(ProcessLookupError):
        if os.getpid() == 1:
            os.kill(-1, signal.SIGKILL)
        else:
            os.killpg(worker, signal.SIGKILL)
    with contextlib.suppress(ProcessLookupError):
        os.kill(worker, signal.SIGKILL)  # not yet hardened: still in the keeper's group


def node_pids(worker: int) -> list[int]:
    """The pids of the node's processes, zombies left out."""
    if os.getpid() == 1:
        return [pid for pid in _all_pids() if pid != 1 and _group(pid) is not None]
    try:
        family = _descendants(os.getpid())
    except FileNotFoundError:  # a kernel that does not list children
        family = _all_pids()
    return [pid for pid in family if _group(pid) == worker]


def node_tasks(pids: Collection[int]) -> int:
    """How many processes and threads these pids are together."""
    total = 0
    for pid in pids:
        with contextlib.suppress(OSError):
            total += len(os.listdir(f"/proc/{pid}/task"))
    return total


def _all_pids() -> list[int]:
    return [int(name) for name in os.listdir("/proc") if name.isdigit()]


def _descendants(ancestor: int) -> list[int]:
    """Children of children: orphans too, as the keeper that calls this is a subreaper."""
    with open(f"/proc/{ancestor}/task/{ancestor}/children", "rb") as file:
        found = todo = [int(pid) for pid in file.read().split()]
    while todo:
        parent, *todo = todo
        with contextlib.suppress(OSError):
            for thread in os.listdir(f"/proc/{parent}/task"):
                with open(f"/proc/{parent}/task/{thread}/children", "rb") as file:
                    born = [int(pid) for pid in file.read().split()]
                found, todo = found + born, todo + born
    return found


def _group(pid: int) -> int | None:
    """The process group of a living process."""
    with contextlib.suppress(OSError), open(f"/proc/{pid}/stat", "rb") as file:
        fields = file.read().rpartition(b")")[2].split()
        if fields[0] not in (b"Z", b"X"):
            return int(fields[2])
    return None


def node_memory(pids: Collection[int], known: Collection[tuple[int, int]] = ()) -> int:
    """Bytes of memory these processes use together: shared pages once, and files without a name.

    ``known``: (st_dev, st_ino) of files that do not count, such as the memfd of the context.
    """
    total = node_files(pids, known)
    for pid in pids:
        with contextlib.suppress(OSError), open(f"/proc/{pid}/smaps_rollup", "rb") as file:
            total += sum(int(line.split()[1]) for line in file if line.startswith(b"Pss:")) * 1024
    return total


def node_files(pids: Collection[int], known: Collection[tuple[int, int]] = ()) -> int:
    """Bytes of the files without a name alone: what they take without being mapped, too."""
    total = 0
    seen = set(known)
    for pid in pids:
        with contextlib.suppress(OSError):
            for fd in os.listdir(f"/proc/{pid}/fd"):
                with contextlib.suppress(OSError):
                    status = os.stat(f"/proc/{pid}/fd/{fd}")
                    key = (status.st_dev, status.st_ino)
                    if stat.S_ISREG(status.st_mode) and status.st_nlink == 0 and key not in seen:
                        seen.add(key)
                        total += status.st_blocks * 512
    return total


def scratch_bytes(path: str) -> int:
    """Bytes on disk below a folder. More entries or depth than can be counted is ``sys.maxsize``."""
    total = entries = 0
    todo = [(path, 0)]
    while todo:
        folder, depth = todo.pop()
        try:
            scan = os.scandir(folder)
        except OSError:
            continue
        with scan:
            for entry in scan:
                entries += 1
                if entries > _MAX_ENTRIES or depth > _MAX_DEPTH:
                    return sys.maxsize
                with contextlib.suppress(OSError):
                    total += entry.stat(follow_symlinks=False).st_blocks * 512
                    if entry.is_dir(follow_symlinks=False):
                        todo.append((entry.path, depth + 1))
    return total


def remove_tree(path: str) -> None:
    """Remove a folder that hostile code has filled: any depth, any modes, no link followed."""
    fresh = 0
    with contextlib.suppress(FileNotFoundError):
        while True:
            names = os.listdir(path)
            if not names:
                os.rmdir(path)
                return
            for name in names:
                fresh = _remove_flat(path, os.path.join(path, name), fresh)


def _remove_flat(top: str, path: str, fresh: int) -> int:
    """Remove a file; or empty a folder, its own folders moved up to ``top`` so that depth is no matter."""
    if not stat.S_ISDIR(os.lstat(path).st_mode):
        os.unlink(path)
        return fresh
    os.chmod(path, 0o700)
    for name in os.listdir(path):
        inner = os.path.join(path, name)
        if not stat.S_ISDIR(os.lstat(inner).st_mode):
            os.unlink(inner)
            continue
        os.chmod(inner, 0o700)
        while True:
            fresh += 1
            target = os.path.join(top, f"\u0001{fresh}")
            if not os.path.lexists(target):
                break
        os.rename(inner, target)
    os.rmdir(path)
    return fresh
