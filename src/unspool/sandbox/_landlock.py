"""Landlock: which files a worker may open, and whom it may signal, enforced by the kernel.

Contract: :func:`abi` tells what this kernel has (0: none, with :func:`missing` for the reason).
:func:`ruleset` opens a ruleset with its rules; :func:`restrict` puts it on the calling thread for
good. Rules bind to what is mounted when they are made: mount first. A kernel allows 16 layers, so
one a node. Works from ABI 1 (Linux 5.13) up with what each has. Standard library only.

>>> features(1)
('files',)
>>> features(6)[-1]
'signals and abstract sockets'
"""

from __future__ import annotations

import ctypes
import errno
import os
import stat
import struct
from collections.abc import Iterable
from typing import TYPE_CHECKING

if TYPE_CHECKING or __package__:
    from . import _syscalls
else:
    import _syscalls

_EXECUTE, _WRITE_FILE, _READ_FILE, _READ_DIR = 1 << 0, 1 << 1, 1 << 2, 1 << 3
_REMOVE_DIR, _REMOVE_FILE = 1 << 4, 1 << 5
_MAKE_DIR, _MAKE_REG, _MAKE_SYM = 1 << 7, 1 << 8, 1 << 12
_REFER, _TRUNCATE = 1 << 13, 1 << 14
_FS_BY_ABI = {1: (1 << 13) - 1, 2: (1 << 14) - 1, 3: (1 << 15) - 1, 4: (1 << 15) - 1, 5: (1 << 16) - 1}
_NET_ALL = 0b11  # bind and connect TCP, from ABI 4
_SCOPE_ALL = 0b11  # abstract sockets and signals, from ABI 6

_READ = _READ_FILE | _READ_DIR
_MAKE = _MAKE_DIR | _MAKE_REG | _MAKE_SYM  # no devices, pipes and sockets
_SCRATCH = _READ | _WRITE_FILE | _REMOVE_DIR | _REMOVE_FILE | _MAKE | _REFER | _TRUNCATE
_ON_FILES = _EXECUTE | _WRITE_FILE | _READ_FILE | _TRUNCATE
_FEATURES = (
    (1, "files"),
    (2, "moves between folders"),
    (3, "truncation"),
    (4, "TCP"),
    (5, "device control"),
    (6, "signals and abstract sockets"),
)
_CREATE_VERSION = 1
_RULE_PATH_BENEATH = 1
_WHY = {
    errno.ENOSYS: "this kernel was built without Landlock (it needs Linux 5.13 or later), "
    "or a container's filter hides it",
    errno.EOPNOTSUPP: "Landlock is built into this kernel but switched off: "
    "add landlock to the kernel's lsm= boot parameter",
}


def abi() -> int:
    """The version of Landlock in this kernel; 0 where there is none."""
    try:
        return _syscalls.call("landlock_create_ruleset", None, 0, _CREATE_VERSION)
    except OSError:
        return 0


def missing() -> str:
    """Why there is no Landlock, in words. Empty where there is."""
    try:
        _syscalls.call("landlock_create_ruleset", None, 0, _CREATE_VERSION)
    except OSError as error:
        return _WHY.get(error.errno or 0, f"Landlock cannot be used ({error.strerror})")
    return ""


def features(version: int) -> tuple[str, ...]:
    """What a version guards, as ``doctor`` names it."""
    return tuple(name for since, name in _FEATURES if version >= since)


def ruleset(*, read: Iterable[str], write: Iterable[str], devices: Iterable[str], version: int) -> int:
    """A file descriptor of a ruleset: ``read`` may be read, ``write`` is a scratch folder.

    ``devices`` are single device files that may be read and written. Paths that are not there
    are left out. Nothing may be executed anywhere, and everything not named is refused.
    """
    handled = _FS_BY_ABI[max(1, min(version, 5))]
    net = _NET_ALL if version >= 4 else 0
    scoped = _SCOPE_ALL if version >= 6 else 0
    size = 8 if version < 4 else 16 if version < 6 else 24
    fd = _syscalls.call("landlock_create_ruleset", struct.pack("=QQQ", handled, net, scoped), size, 0)
    os.set_inheritable(fd, False)
    for paths, access in ((read, _READ), (write, _SCRATCH), (devices, _READ_FILE | _WRITE_FILE)):
        for path in paths:
            _allow(fd, path, access & handled)
    return fd


def is_ruleset(fd: int) -> bool:
    """Whether a file descriptor is a ruleset (it may have been closed and its number used again)."""
    try:
        return "landlock-ruleset" in os.readlink(f"/proc/self/fd/{fd}")
    except OSError:
        return False


def restrict(ruleset_fd: int) -> None:
    """Put the ruleset on this thread and close it. Needs no_new_privs."""
    _syscalls.call("landlock_restrict_self", ruleset_fd, 0)
    os.close(ruleset_fd)


def _allow(fd: int, path: str, access: int) -> None:
    try:
        target = os.open(path, os.O_PATH | os.O_CLOEXEC)
    except (FileNotFoundError, PermissionError):
        return
    try:
        if not stat.S_ISDIR(os.fstat(target).st_mode):
            access &= _ON_FILES
        attributes = ctypes.create_string_buffer(struct.pack("=Qi", access, target), 12)
        _syscalls.call("landlock_add_rule", fd, _RULE_PATH_BENEATH, attributes, 0)
    finally:
        os.close(target)
