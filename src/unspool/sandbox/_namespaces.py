"""Namespaces of our own: a root that holds the interpreter and the grants, and no host beside it.

Contract: :func:`enter` moves this process, while it has one thread, into new user, mount, network,
pid, IPC and UTS namespaces. It returns ``""`` in the process that has become pid 1 of the new pid
namespace (the caller's own process stays behind as a bare waiter that passes on the exit status),
or the reason why not, in a process that is as it was before. :func:`private_mounts` and
:func:`mount_scratch` are for a keeper inside. Standard library only.

The order matters. The user namespace comes first, because it brings the right to the others; it
must be made before any import starts a thread. The host's root is still mounted below ``/.host``
while its folders are bound into the new root, and while ``/proc`` is mounted (the kernel lets a
user mount one only where another is fully visible); then it is detached.

>>> links, real = resolve("/")
>>> (links, real)
([], '/')
"""

from __future__ import annotations

import contextlib
import os
import signal
import stat
import struct
import sys
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, NoReturn

if TYPE_CHECKING or __package__:
    from . import _descent, _syscalls
else:
    import _descent
    import _syscalls

_NEWNS, _NEWUTS, _NEWIPC, _NEWUSER = 0x00020000, 0x04000000, 0x08000000, 0x10000000
NEWPID, _NEWNET = 0x20000000, 0x40000000
_RDONLY, _NOSUID, _NODEV, _NOEXEC = 1, 2, 4, 8  # the same bits as MS_… and as MOUNT_ATTR_…
_BIND, _REC, _PRIVATE, _DETACH = 4096, 16384, 1 << 18, 2
_AT_FDCWD, _AT_RECURSIVE = -100, 0x8000
_SET_PDEATHSIG, _SET_CHILD_SUBREAPER, _SET_NO_NEW_PRIVS = 1, 36, 38
DEVICES = ("/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom")
ROOMS = 63  # scratch folders for forks of a node's worker, beside its own
_OLD = "/.host"
_SWITCHES = (  # a setting, its value that refuses user namespaces to users, what to say
    ("/proc/sys/kernel/apparmor_restrict_unprivileged_userns", "1", "AppArmor restricts them here"),
    ("/proc/sys/kernel/unprivileged_userns_clone", "0", "kernel.unprivileged_userns_clone is 0 here"),
    ("/proc/sys/user/max_user_namespaces", "0", "user.max_user_namespaces is 0 here"),
)


def scratch_below(paths: Sequence[str]) -> str:
    """The place for scratch folders: its parent is in the way of none of the paths."""
    parent = "/node"
    while any(_below(path, parent) for path in paths):
        parent += "_"
    return parent + "/scratch"


def enter(paths: Sequence[str], scratch: str) -> str:
    """Enter namespaces whose root shows ``paths`` at their own places, read-only. See the module.

    ``scratch`` becomes an empty folder for keepers to mount on, and so do ``scratch1``, ``scratch2``, …
    """
    binds, links = _plan(paths)
    from_child, to_parent = os.pipe()
    from_parent, to_child = os.pipe()
    maps = _full_maps()
    sys.stdout.flush()
    sys.stderr.flush()
    _syscalls.prctl(_SET_CHILD_SUBREAPER, 1)
    builder = os.fork()
    if builder:
        os.close(to_parent)
        os.close(from_parent)
        reason = _settle(builder, from_child, to_child, maps)
        if not reason:
            _wait_for_the_end()
        os.close(from_child)
        os.close(to_child)
        _syscalls.prctl(_SET_CHILD_SUBREAPER, 0)
        return reason
    os.close(from_child)
    os.close(to_child)
    try:
        _unshare(from_parent, to_parent, own_maps=maps is None)
        _new_root(binds, links, scratch)
        if os.fork():
            os._exit(0)
        _finish_root()
        os.write(to_parent, b"+")
        os.close(to_parent)
        # Not before the builder is gone: its death would be taken for that of the parent.
        if os.read(from_parent, 1) != b"g":
            os._exit(1)
        os.close(from_parent)
        _syscalls.prctl(_SET_PDEATHSIG, signal.SIGKILL)
    except OSError as error:
        os.write(to_parent, b"-" + str(error).encode())
        os._exit(1)
    return ""


def private_mounts(*, own_pids: bool) -> None:
    """In a keeper: mounts that no other node sees; with ``own_pids`` also a /proc of its own pids."""
    _syscalls.call("unshare", _NEWNS)
    if own_pids:
        _syscalls.call("mount", b"proc", b"/proc", b"proc", _NOSUID | _NODEV | _NOEXEC, None)


def mount_scratch(path: str, limit_bytes: int, uid: int, gid: int) -> None:
    """In a keeper: an empty, size-limited file system in memory."""
    options = f"size={limit_bytes},nr_inodes=20000,mode=0700,uid={uid},gid={gid}".encode()
    flags = _NOSUID | _NODEV | _NOEXEC
    _syscalls.call("mount", b"scratch", path.encode(), b"tmpfs", flags, options + b"\0")


def new_user() -> None:
    """In a worker: a user namespace of its own, so that RLIMIT_NPROC counts this node alone.

    No identity is mapped into it: nothing in it can become anybody.
    """
    _syscalls.call("unshare", _NEWUSER)


def resolve(path: str) -> tuple[list[tuple[str, str]], str]:
    """The symbolic links on the way to an absolute path, each with its target, and the real path."""
    links: list[tuple[str, str]] = []
    done, todo = "/", [part for part in path.split("/") if part not in ("", ".")]
    while todo:
        part = todo.pop(0)
        if part == "..":
            done = os.path.dirname(done)
            continue
        here = os.path.join(done, part)
        if not stat.S_ISLNK(os.lstat(here).st_mode):
            done = here
            continue
        if len(links) > 40:
            raise OSError(40, "too many levels of symbolic links", path)
        target = os.readlink(here)
        links.append((here, target))
        todo[:0] = [piece for piece in target.split("/") if piece not in ("", ".")]
        if target.startswith("/"):
            done = "/"
    return links, done


def _plan(paths: Iterable[str]) -> tuple[list[str], list[tuple[str, str]]]:
    """What to bind (no path below another) and which symbolic links to make."""
    links: dict[str, str] = {}
    reals: set[str] = set()
    for path in paths:
        try:
            found, real = resolve(path)
        except (FileNotFoundError, NotADirectoryError, PermissionError):
            continue
        links.update(found)
        reals.add(real)
    binds: list[str] = []
    for real in sorted(reals):
        if not any(_below(real, bind) for bind in binds):
            binds.append(real)
    kept = [(at, to) for at, to in links.items() if not any(_below(at, bind) for bind in binds)]
    return binds, kept


def _below(path: str, folder: str) -> bool:
    return path == folder or path.startswith(folder.rstrip("/") + "/")


def _full_maps() -> tuple[bytes, bytes] | None:
    """Root's maps: every identity as itself. ``None`` for a user, who may map only itself."""
    if os.geteuid() != 0:
        return None
    maps = []
    for kind in ("uid", "gid"):
        with open(f"/proc/self/{kind}_map", encoding="ascii") as file:
            rows = [line.split() for line in file]
        maps.append("".join(f"{inside} {inside} {count}\n" for inside, _, count in rows).encode())
    return maps[0], maps[1]


def _settle(builder: int, pipe: int, answer: int, maps: tuple[bytes, bytes] | None) -> str:
    """The parent's half of the talk: write the maps, hear the outcome, let the new pid 1 go on."""
    reason = ""
    told = os.read(pipe, 1)
    if told == b"m":
        try:
            if maps:
                _write(f"/proc/{builder}/uid_map", maps[0])
                _write(f"/proc/{builder}/gid_map", maps[1])
            os.write(answer, b"g")
        except OSError as error:
            os.write(answer, b"n")
            reason = f"cannot map users: {error.strerror}"
        told = os.read(pipe, 1)
    told += os.read(pipe, 4096)
    os.waitpid(builder, 0)
    if told == b"+":
        os.write(answer, b"g")
        return ""
    with contextlib.suppress(ChildProcessError):  # then it was the builder that failed
        os.waitpid(-1, 0)  # a pid 1 that failed
    return reason or _why(told[1:].decode(errors="replace") or "the process that tried it died")


def _why(reason: str) -> str:
    for path, refusing, words in _SWITCHES:
        try:
            with open(path, encoding="ascii") as file:
                if file.read().strip() == refusing:
                    return f"{reason} ({words})"
        except OSError:
            continue
    return reason


def _unshare(answer: int, ask: int, *, own_maps: bool) -> None:
    uid, gid = os.geteuid(), os.getegid()
    _syscalls.call("unshare", _NEWUSER)
    if own_maps:
        _write("/proc/self/setgroups", b"deny")
        _write("/proc/self/uid_map", f"{uid} {uid} 1\n".encode())
        _write("/proc/self/gid_map", f"{gid} {gid} 1\n".encode())
    os.write(ask, b"m")
    if os.read(answer, 1) != b"g":
        raise OSError(1, "the users could not be mapped")
    _syscalls.call("unshare", _NEWNS | NEWPID | _NEWNET | _NEWIPC | _NEWUTS)


def _new_root(binds: Sequence[str], links: Sequence[tuple[str, str]], scratch: str) -> None:
    os.umask(0o022)
    _syscalls.call("mount", None, b"/", None, _REC | _PRIVATE, None)
    base = next(folder for folder in ("/tmp", "/var/tmp", "/dev/shm", "/mnt") if os.path.isdir(folder))
    _syscalls.call("mount", b"root", base.encode(), b"tmpfs", _NOSUID | _NODEV, b"size=4m,mode=0755\0")
    os.mkdir(base + _OLD)
    _syscalls.call("pivot_root", base.encode(), (base + _OLD).encode())
    os.chdir("/")
    for path in binds:
        _bind(path, _RDONLY | _NOSUID | _NODEV)
    for path in DEVICES:
        if os.path.exists(_OLD + path):
            _bind(path, _RDONLY | _NOSUID | _NOEXEC)
    for at, target in links:
        os.makedirs(os.path.dirname(at), exist_ok=True)
        if not os.path.lexists(at):
            os.symlink(target, at)
    os.makedirs("/proc", exist_ok=True)
    for number in ("", *range(1, ROOMS + 1)):
        os.makedirs(f"{scratch}{number}")


def _bind(path: str, flags: int) -> None:
    source = _OLD + path
    if os.path.isdir(source):
        os.makedirs(path, exist_ok=True)
    else:
        os.makedirs(os.path.dirname(path), exist_ok=True)
        os.close(os.open(path, os.O_WRONLY | os.O_CREAT, 0o444))
    _syscalls.call("mount", source.encode(), path.encode(), None, _BIND | _REC, None)
    _set_flags(path, flags, recursive=True)


def _set_flags(path: str, flags: int, *, recursive: bool) -> None:
    attributes = struct.pack("=QQQQ", flags, 0, 0, 0)
    _syscalls.call(
        "mount_setattr", _AT_FDCWD, path.encode(), _AT_RECURSIVE if recursive else 0, attributes, 32
    )


def _finish_root() -> None:
    """As pid 1: what needs the new pid namespace, then away with the host's root."""
    _syscalls.call("mount", b"proc", b"/proc", b"proc", _NOSUID | _NODEV | _NOEXEC, None)
    _syscalls.call("umount2", _OLD.encode(), _DETACH)
    os.rmdir(_OLD)
    _set_flags("/", _RDONLY | _NOSUID | _NODEV, recursive=False)
    _syscalls.call("sethostname", b"unspool", 7)


def _wait_for_the_end() -> NoReturn:
    """The process left outside: holds nothing open, dies with the host, ends as pid 1 ends, and ends it
    where it is asked to."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, lambda *_: _kill_children())
    os.closerange(0, os.sysconf("SC_OPEN_MAX"))
    _, status = os.waitpid(-1, 0)
    code = os.waitstatus_to_exitcode(status)
    os._exit(code if code >= 0 else 128 - code)


def _kill_children() -> None:
    for pid in _descent.children(os.getpid()):
        os.kill(pid, signal.SIGKILL)


def _write(path: str, data: bytes) -> None:
    fd = os.open(path, os.O_WRONLY | os.O_CLOEXEC)
    try:
        os.write(fd, data)
    finally:
        os.close(fd)
