"""Hardening on Linux: what turns a forked process into a place for model-written code.

Contract, in the order in which the processes call it (standard library only; also importable as a
plain sibling module with the sandbox folder on ``sys.path``):

1. The freshly executed zygote, with one thread and before any other import, calls
   ``enter(read_only)``: namespaces with a root of their own where they are to be had (tier
   ``"namespaces"``), else the process stays where it is (tier ``"landlock"``; :func:`state` keeps
   the reason). ``read_only``: site-packages and every file or folder that any node may be granted.
   It raises ``RuntimeError`` with the reason where the machine cannot harden.
2. Per node, the zygote calls ``fork_node()`` in the place of ``os.fork()``: the child is the keeper.
   In tier 1 it is pid 1 of a pid namespace of its own: nothing inside can signal it, and when it
   ends, for any reason, the kernel kills all that is inside.
3. The keeper calls ``make_scratch(node, limit)``, then forks the worker. Whatever the worker
   becomes, ``kill_node(worker)`` ends all of it at once, ``node_pids(worker)`` lists it.
4. The worker calls ``confine_worker(...)``, which takes most of the time and can be done ahead, then
   ``seal_worker(...)``, and from then on may run model-written code. It should have closed every file
   descriptor it does not need: ``close_others(keep)``.

What a keeper must do in tier 2, where no namespace does it: be a subreaper, kill the worker's
process group (its id is the worker's pid, and setsid and setpgid are denied inside) with
``kill_node`` when the host's pipe closes, and sample ``node_tasks(node_pids(worker))`` against
:data:`MAX_TASKS`: RLIMIT_NPROC does not count for root, and for a user it counts all that the
user runs, so there it is only a far limit. In both tiers it samples ``node_memory`` (memory, and
files that are open but have no name) and, in tier 2, ``scratch_bytes``.

>>> isinstance(available(), str)
True
"""

from __future__ import annotations

import contextlib
import os
import resource
import signal
import struct
import sys
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING or __package__:
    from . import _forks, _identity, _landlock, _namespaces, _seccomp, _syscalls
    from ._node import kill_node, node_files, node_memory, node_pids, node_tasks, remove_tree, scratch_bytes
else:
    import _forks
    import _identity
    import _landlock
    import _namespaces
    import _seccomp
    import _syscalls
    from _node import kill_node, node_files, node_memory, node_pids, node_tasks, remove_tree, scratch_bytes

__all__ = [
    "MAX_TASKS", "Confined", "State", "available", "close_others", "confine_worker", "enter", "fork_node",
    "kill_node", "make_room", "make_scratch", "node_files", "node_memory", "node_pids", "node_tasks",
    "remove_room", "remove_scratch", "room_ruleset", "scratch_bytes", "seal_worker", "state",
]  # fmt: skip

MAX_TASKS = 256  # processes and threads of one node
_AS_SLACK = 1 << 30  # room for thread stacks, malloc arenas and libraries mapped later
_MAX_FILES = 256
_SET_PDEATHSIG, _SET_DUMPABLE, _SET_NO_NEW_PRIVS = 1, 4, 38
_CAPABILITY_HEADER = struct.pack("=Ii", 0x20080522, 0)  # version 3, this process
OWN = "own"  # the folder of a node's first worker
_NEVER = ("/", "/proc", "/sys", "/dev", "/run")


@dataclass(frozen=True, slots=True)
class State:
    """What :func:`enter` reached, for reports: nothing here is a secret."""

    tier: Literal["namespaces", "landlock"]
    reason: str  # why not namespaces; empty in tier "namespaces"
    abi: int  # the version of Landlock in use
    base: tuple[str, ...]  # what every worker may read: interpreter, libraries, time zones
    uid: int | None  # the first of the identities that workers get; None: they keep this one
    uid_reason: str  # why root's workers keep root's identity, where they do
    scratch: str = ""  # where each node's scratch is mounted, in tier "namespaces"
    own_pids: bool = False  # this process came from fork_node into a pid namespace of its own
    # Made once in the zygote, for all workers:
    program: bytes = b""  # the seccomp filter
    frozen: bytes = b""  # the same for workers that get descriptors of files outside
    ruleset: int = -1  # a Landlock ruleset for workers that may read all of ``readable``
    readable: frozenset[str] = frozenset()


_state: State | None = None


def available() -> str:
    """Empty where this machine can harden at least in tier 2, else the reason why not."""
    if sys.platform != "linux":
        return "this is not Linux: there is no Landlock and no seccomp"
    return _landlock.missing() or _seccomp.available() or ""


def state() -> State:
    """What :func:`enter` reached in this process or in the one it was forked from."""
    if _state is None:
        raise RuntimeError("linux.enter() has not been called")
    return _state


def enter(read_only: Sequence[str], allow_namespaces: bool = True, max_abi: int | None = None) -> str:
    """Enter the sandbox as its zygote; returns the tier. See the module docstring.

    ``allow_namespaces=False`` and ``max_abi`` make this machine look poorer than it is: for tests.
    """
    global _state
    reason = available()
    if reason:
        raise RuntimeError(reason)
    _die_with_parent()
    with contextlib.suppress(PermissionError):
        os.setsid()  # away from the terminal; refused where this leads a session already
    _syscalls.prctl(_SET_NO_NEW_PRIVS, 1)
    abi = min(_landlock.abi(), max_abi or 99)
    base = _base_paths()
    for path in read_only:
        _check_grant(path)
    readable = [*base, *read_only]
    scratch = _namespaces.scratch_below(readable)
    why = "switched off by the caller"
    if allow_namespaces:
        why = _namespaces.enter(readable, scratch)
    uid, uid_reason = _identity.for_workers(readable)
    if why:
        program = _seccomp.build(signals=abi >= 6, metadata=False)
        _state = State("landlock", why, abi, tuple(base), uid, uid_reason, program=program, frozen=program)
        return _state.tier
    # A rule on the parent of the mount point is good for what any keeper will mount there.
    ruleset = _landlock.ruleset(
        read=readable, write=[os.path.dirname(scratch)], devices=_namespaces.DEVICES, version=abi
    )
    program = _seccomp.build(signals=True, metadata=True)
    _state = State("namespaces", "", abi, tuple(base), uid, uid_reason, scratch,
                   program=program, frozen=_seccomp.build(signals=True, metadata=False),
                   ruleset=ruleset, readable=frozenset(readable))  # fmt: skip
    return _state.tier


def fork_node() -> int:
    """``os.fork()`` for a keeper; in tier 1 the child is pid 1 of a pid namespace of its own."""
    global _state
    now = state()
    if now.tier != "namespaces":
        return _forks.fork()
    mine = os.open("/proc/self/ns/pid", os.O_RDONLY | os.O_CLOEXEC)
    try:
        _syscalls.call("unshare", _namespaces.NEWPID)
        child = _forks.fork()
        if child:
            _syscalls.call("setns", mine, _namespaces.NEWPID)
        else:
            _state = replace(now, own_pids=True)
            _die_with_parent()
    finally:
        os.close(mine)
    return child


def make_scratch(node: str, limit_bytes: int) -> str:
    """In the keeper: the node's private folder, the only place its worker may write; its path.

    In tier 1 a file system in memory with this size, seen by this node alone, gone with its last
    process; in tier 2 a folder that the keeper has to watch (``scratch_bytes``).
    """
    now = state()
    uid = (
        os.geteuid() if now.uid is None else now.uid + (os.getpid() if now.uid == _identity.FIRST_UID else 0)
    )
    gid = os.getegid() if now.uid is None else uid
    if now.tier == "namespaces":
        _namespaces.private_mounts(own_pids=now.own_pids)
        _namespaces.mount_scratch(now.scratch, limit_bytes, uid, gid)
        return now.scratch
    import tempfile

    name = "".join(letter if letter.isalnum() else "-" for letter in node)
    top = tempfile.mkdtemp(prefix=f"unspool-{name}-")
    path = os.path.join(top, OWN)  # others may come to be beside it
    os.mkdir(path, 0o700)
    if now.uid is not None:
        os.chown(top, uid, gid)
        os.chown(path, uid, gid)
    return path


def remove_scratch(path: str) -> None:
    """Remove the folder and all in it. Only after the node's processes are dead. Twice is fine."""
    if state().tier == "namespaces":
        with contextlib.suppress(OSError):  # not mounted any more
            _syscalls.call("umount2", path.encode(), 2)
        return
    remove_tree(os.path.dirname(path))


def make_room(own: str, number: int, limit_bytes: int) -> str:
    """In the keeper: a folder beside that of its worker, for a process that is forked from it; its path."""
    owner = os.stat(own)
    if state().tier == "namespaces":
        _namespaces.mount_scratch(path := f"{own}{number}", limit_bytes, owner.st_uid, owner.st_gid)
        return path
    path = os.path.join(os.path.dirname(own), str(number))
    os.mkdir(path, 0o700)
    os.chown(path, owner.st_uid, owner.st_gid)
    return path


def remove_room(path: str) -> None:
    """Remove it and all in it. Only after its processes are dead."""
    if _state is not None and _state.tier == "namespaces":
        with contextlib.suppress(OSError):
            _syscalls.call("umount2", path.encode(), 2)
        return
    remove_tree(path)


def room_ruleset(path: str) -> int:
    """What such a process may do from then on: a layer of its own, so that it and the others are apart."""
    now = state()
    readable = now.readable or now.base
    return _landlock.ruleset(read=readable, write=[path], devices=_namespaces.DEVICES, version=now.abi)


def close_others(keep: Collection[int]) -> None:
    """Close every file descriptor but these. A leaked one is a way out that nothing else guards.

    What ``confine_worker`` still needs stays open until it is used.
    """
    low = 0
    for fd in sorted({*keep} if _state is None or _state.ruleset < 0 else {*keep, _state.ruleset}):
        os.closerange(low, fd)
        low = fd + 1
    _syscalls.call("close_range", low, 0xFFFFFFFF, 0)


@dataclass(frozen=True, slots=True)
class Confined:
    """A worker that is confined and not sealed yet."""

    program: bytes  # the seccomp filter
    frozen: bytes  # the same, with no mode and no time to change
    size: tuple[int, int]  # its address space and data in bytes


def confine_worker(*, scratch: str, read_only: Sequence[str]) -> Confined:
    """Give up, for good, all but system calls and memory. The process must have one thread.

    ``read_only``: what this node may read beside the interpreter (in tier 1 only what ``enter`` was
    given can be there). The working directory, HOME and TMPDIR become ``scratch``.
    """
    now = state()
    # Before the identity goes: root may open what the worker itself may not yet, or not any more.
    ruleset = _ruleset(now, scratch, read_only)
    program, frozen = now.program, now.frozen
    if now.tier == "namespaces" and not now.own_pids and now.abi < 6:  # siblings are in sight
        program = _seccomp.build(signals=False, metadata=True)
        frozen = _seccomp.build(signals=False, metadata=False)
    size = _sizes()
    owner = os.stat(scratch)
    os.chdir(scratch)
    for name in ("HOME", "TMPDIR", "PWD"):
        os.environ[name] = scratch
    import tempfile

    tempfile.tempdir = None  # it remembers where files of the zygote would go
    if os.getpgrp() != os.getpid():
        os.setpgid(0, 0)  # its own group, which the keeper can kill as a whole
    _identity.become(owner.st_uid, owner.st_gid)
    if now.tier == "namespaces":
        with contextlib.suppress(OSError):  # too many of them: then NPROC counts all nodes together
            _namespaces.new_user()
    _syscalls.call("capset", _CAPABILITY_HEADER, bytes(24))
    # A change of identity switches this off, and then not even the keeper could read how much
    # memory the worker uses. Other processes are kept out by seccomp, Landlock and namespaces.
    _syscalls.prctl(_SET_DUMPABLE, 1)
    _die_with_parent()
    _syscalls.prctl(_SET_NO_NEW_PRIVS, 1)
    _landlock.restrict(ruleset)
    return Confined(program, frozen, size)


def seal_worker(
    confined: Confined, *, memory: int, mapped: int, copied: int = 0, files: bool = False
) -> None:
    """The rest; from here on it may run model-written code.

    ``memory``: how much more than when it was confined it may allocate; ``mapped``: bytes of context
    that it maps beside that; ``copied``: those of them that it maps to write to, each page a copy then.
    ``files``: it will be handed descriptors of files outside; their modes and times could be changed
    through them, which no mount guards: so those calls are refused.
    """
    _limit(state(), memory, mapped, copied, confined.size)
    _seccomp.install(confined.frozen if files else confined.program)


def _ruleset(now: State, scratch: str, read_only: Sequence[str]) -> int:
    readable = [*now.base, *read_only]
    if now.ruleset >= 0 and _landlock.is_ruleset(now.ruleset):
        if now.readable == frozenset(readable):
            return now.ruleset
        os.close(now.ruleset)
    # The folder above it is the node's own as well: that of a fork of the worker will be beside this one.
    write = [os.path.dirname(scratch)]
    return _landlock.ruleset(read=readable, write=write, devices=_namespaces.DEVICES, version=now.abi)


def _die_with_parent() -> None:
    parent = os.getppid()
    _syscalls.prctl(_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != parent:
        os._exit(1)  # it died before we asked


def _base_paths() -> list[str]:
    """The interpreter's own folders, the shared libraries it uses, and the time zones."""
    found = [path for path in sys.path if os.path.isabs(path)]
    found.append(os.path.dirname(os.__file__))
    for prefix in (sys.base_prefix, sys.prefix):
        found += [os.path.join(prefix, name) for name in ("lib", "lib64")]
    with open("/proc/self/maps", encoding="utf-8", errors="surrogateescape") as file:
        mapped = {line.split(None, 5)[5].rstrip("\n") for line in file if "/" in line}
    found += [os.path.dirname(path) for path in mapped if path.endswith(".so") or ".so." in path]
    found += ["/lib", "/lib64", "/usr/lib", "/usr/lib64", "/usr/local/lib", "/etc/ld.so.cache"]
    found += ["/etc/localtime", "/usr/share/zoneinfo"]
    return [path for path in dict.fromkeys(found) if os.path.exists(path) and path not in _NEVER]


def _check_grant(path: str) -> None:
    if not os.path.isabs(path):
        raise ValueError(f"a path to be read in the sandbox must be absolute: {path!r}")
    if os.path.realpath(path) in _NEVER:
        raise ValueError(f"{path!r} cannot be granted to the sandbox as a whole: name what is needed of it")


def _sizes() -> tuple[int, int]:
    """Address space and data of this process in bytes."""
    fd = os.open("/proc/self/statm", os.O_RDONLY | os.O_CLOEXEC)
    try:
        pages = os.read(fd, 256).split()
    finally:
        os.close(fd)
    page = resource.getpagesize()
    return int(pages[0]) * page, int(pages[5]) * page


def _limit(now: State, memory: int, mapped: int, copied: int, size: tuple[int, int]) -> None:
    # In tier 2 a user's tasks are counted wherever they run, so there it can only be a far limit.
    tasks = MAX_TASKS if now.tier == "namespaces" or now.uid == _identity.FIRST_UID else 16 * MAX_TASKS
    limits = (
        (resource.RLIMIT_DATA, size[1] + memory + copied),
        (resource.RLIMIT_AS, size[0] + memory + mapped + _AS_SLACK),
        (resource.RLIMIT_CORE, 1),  # not 0: a core dump that is piped to a program ignores 0, but not 1
        (resource.RLIMIT_NOFILE, _MAX_FILES),
        (resource.RLIMIT_NPROC, tasks),
        (resource.RLIMIT_MEMLOCK, 0),
        (resource.RLIMIT_MSGQUEUE, 0),
    )
    for which, value in limits:
        _, hard = resource.getrlimit(which)
        most = value if hard == resource.RLIM_INFINITY else min(value, hard)
        resource.setrlimit(which, (most, most))
