"""Whose identity a worker has: never root's, where it can be helped.

Contract: :func:`for_workers` finds an identity for root's workers with which all the given paths
can be read (a user's workers keep the user's); :func:`become` takes it. Standard library only;
importable as a sibling module too.

An identity of its own matters for two things: the kernel never counts root's processes against
RLIMIT_NPROC, and root owns what lies around on most machines.

>>> 2**22 <= FIRST_UID < 2**31
True
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Sequence

FIRST_UID = 0x70000000  # nobody's: above what systemd gives to containers
_IDENTITIES = ((FIRST_UID, FIRST_UID + 2**22), (65534, 65534))  # one for each pid, or nobody


def for_workers(paths: Sequence[str]) -> tuple[int | None, str]:
    """The identity for root's workers: nobody's, if with it the interpreter can still be read."""
    if os.geteuid() != 0:
        return None, ""
    uid = next((first for first, last in _IDENTITIES if _mapped(first, last)), None)
    if uid is None:
        return None, "no other identity is mapped into this container"
    pid = os.fork()
    if not pid:
        code = 2
        with contextlib.suppress(OSError):
            become(uid, uid)
            code = 0 if all(_readable(path) for path in paths) else 1
        os._exit(code)
    code = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    if code == 0:
        return uid, ""
    if code == 1:
        return None, "another identity could not read the interpreter or a grant"
    return None, "root may not change its identity here"


def _mapped(first: int, last: int) -> bool:
    """Whether these users and groups exist in this user namespace."""
    return all(_maps(kind, first, last) for kind in ("uid", "gid"))


def _maps(kind: str, first: int, last: int) -> bool:
    with open(f"/proc/self/{kind}_map", encoding="ascii") as file:
        rows = [[int(field) for field in line.split()] for line in file]
    return any(start <= first and last < start + count for start, _, count in rows)


def _readable(path: str) -> bool:
    """Whether this process can read a file, or a folder and what is in it at the first level."""
    if not os.path.isdir(path):
        return os.access(path, os.R_OK)
    if not os.access(path, os.R_OK | os.X_OK):
        return False
    with os.scandir(path) as entries:
        return all(_entry_readable(entry) for entry in entries)


def _entry_readable(entry: os.DirEntry[str]) -> bool:
    if entry.is_symlink():
        return True
    return os.access(entry.path, os.R_OK | os.X_OK if entry.is_dir() else os.R_OK)


def become(uid: int, gid: int) -> None:
    if os.geteuid() == 0 and uid != 0:
        os.setgroups([])
        os.setresgid(gid, gid, gid)
        os.setresuid(uid, uid, uid)
