"""What ``unspool doctor`` runs in a throw-away process: a node like any other, that tries to get out.

Contract: run as a script, ``python -I -S _probe.py``, with a :class:`Facts` object as JSON on
standard input; prints one JSON object: ``{"unavailable": why}``, or ``tier``, ``reason``, ``abi``,
``uid``, ``uid_reason``, ``status`` (of the worker, seen from its keeper) and ``tried`` (per
protection, what was refused and what got through). Standard library only.

An attempt is refused when it gets one of the errors that a refusal gives, :data:`_REFUSED`. Whatever
else happens counts as got through, so a probe that is itself broken never looks like a protection.
No attempt does harm where it works: it goes for what the host prepared or for what does not exist.

>>> _attempt(lambda: open("/no/such/file"), {errno.ENOENT})
''
>>> _attempt(lambda: open("/no/such/file"), {errno.EPERM})
'ENOENT, which is no refusal'
>>> _attempt(lambda: 7, {errno.EPERM})
'it worked'
"""

from __future__ import annotations

import errno
import json
import mmap
import os
import socket
import sys
from collections.abc import Callable, Collection, Mapping
from typing import TYPE_CHECKING, TypedDict, cast

if TYPE_CHECKING or __package__:
    from . import _syscalls, linux
else:
    sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
    import _syscalls
    import linux

Attempt = Callable[[], object]
_MEMORY = 64 << 20
_SCRATCH = 4 << 20
_NOWHERE = b"/unspool-nowhere/nothing"
_DENIED = frozenset({errno.EPERM, errno.EACCES, errno.ENOSYS})
_NOT_THERE = frozenset({errno.ENOENT, errno.ESRCH, errno.EROFS, errno.EXDEV})  # in a world of its own
_REFUSED: Mapping[str, frozenset[int]] = {
    "memory": frozenset({errno.ENOMEM}),
    "forks": frozenset({errno.EAGAIN}),
    "scratch": frozenset({errno.ENOSPC, errno.EDQUOT}),
}


class Facts(TypedDict):
    """What the host prepared for the probes to go for."""

    allow_namespaces: bool
    secret_file: str  # everyone may read and write it, and its folder; not granted
    host_pid: int
    host_port: int  # a server that listens on 127.0.0.1
    variables: list[str]  # names in the host's environment that do not belong in a worker's


def attempts(facts: Facts) -> Mapping[str, Mapping[str, Attempt]]:
    """Every protection's attempts, by the ids that ``doctor`` reports."""
    secret, pid = facts["secret_file"], facts["host_pid"]
    call = _syscalls.call
    return {
        "network": {
            "connecting to a server on this machine": lambda: socket.create_connection(
                ("127.0.0.1", facts["host_port"]), timeout=2
            ),
            "an internet socket": lambda: call("socket", socket.AF_INET, socket.SOCK_STREAM, 0),
            "a datagram socket": lambda: call("socket", socket.AF_INET, socket.SOCK_DGRAM, 0),
            "a local socket": lambda: call("socket", socket.AF_UNIX, socket.SOCK_STREAM, 0),
        },
        "files": {
            "reading a file of the host": lambda: open(secret, "rb").close(),
            "reading /etc/passwd": lambda: open("/etc/passwd", "rb").close(),
            "listing /": lambda: os.listdir("/"),
        },
        "writing": {
            "writing to a file of the host": lambda: open(secret, "ab").close(),
            "changing the mode of a file of the host": lambda: os.chmod(secret, 0o600),
            "making a folder beside it": lambda: os.mkdir(secret + "-folder"),
            "making a file beside it": lambda: open(secret + "-file", "xb").close(),
            "changing the interpreter": lambda: open(os.__file__, "ab").close(),
        },
        "programs": {
            "running a program": lambda: os.execv(sys.executable, [sys.executable, "-c", ""]),
            "running a shell": lambda: call("execve", b"/bin/sh", None, None),
            "running a file in memory": lambda: call(
                "execveat", os.memfd_create("x"), b"", None, None, 0x1000
            ),
        },
        "processes": {
            "signalling a process of the host": lambda: os.kill(pid, 0),
            "reading a process of the host": lambda: open(f"/proc/{pid}/environ", "rb").close(),
            "tracing a process of the host": lambda: call("ptrace", 2, pid, 0, 0),  # a look, no stop
            "reading the memory of a process": lambda: call("process_vm_readv", pid, None, 0, None, 0, 0),
            "leaving its process group": lambda: call("setsid"),
            "signalling its keeper": _signal_keeper,
        },
        "kernel": {
            "mounting": lambda: call("mount", _NOWHERE, _NOWHERE, b"tmpfs", 0, None),
            "another root": lambda: call("chroot", _NOWHERE),
            "a new namespace": lambda: call("unshare", 0x10000000),
            "io_uring": lambda: call("io_uring_setup", 0, None),
            "bpf": lambda: call("bpf", -1, None, 0),
            "keyrings": lambda: call("keyctl", 0, -2, 0),
            "perf events": lambda: call("perf_event_open", None, 0, -1, -1, 0),
            "user-space page faults": lambda: call("userfaultfd", 0x7FFFFFF0),
        },
        "memory": {
            "four times the memory it was given": lambda: bytearray(4 * _MEMORY),
            "mapping as much beside the limit": lambda: mmap.mmap(-1, (2 << 30) + 4 * _MEMORY),
        },
        "forks": {f"more than {linux.MAX_TASKS} processes": _fork_bomb},
        "scratch": {"twice the size of its scratch folder": _fill_scratch},
    }


def run(facts: Facts) -> dict[str, object]:
    """Be zygote, keeper and worker of one node, and report. Call it in a process of its own."""
    try:
        linux.enter([], allow_namespaces=facts["allow_namespaces"])
    except RuntimeError as error:
        return {"unavailable": str(error)}
    results, writes = os.pipe()
    keeper = linux.fork_node()
    if not keeper:
        os.close(results)
        _keep(facts, writes)
    os.close(writes)
    with os.fdopen(results, "rb") as file:
        told = file.read()
    os.waitpid(keeper, 0)
    now = linux.state()
    found = {
        "tier": now.tier,
        "reason": now.reason,
        "abi": now.abi,
        "uid": now.uid,
        "uid_reason": now.uid_reason,
    }
    return found | cast("dict[str, object]", json.loads(told or b'{"tried": {}, "status": {}}'))


def _keep(facts: Facts, writes: int) -> None:
    """The keeper: start the worker, look at it while it lives, hand on what it found, clean up."""
    scratch = linux.make_scratch("doctor", _SCRATCH)
    from_worker, to_keeper = os.pipe()
    hold, release = os.pipe()
    worker = os.fork()
    if not worker:
        os.close(release)
        linux.close_others({1, 2, to_keeper, hold})
        linux.seal_worker(linux.confine_worker(scratch=scratch, read_only=[]), memory=_MEMORY, mapped=0)
        _work(facts, to_keeper, hold)
    os.close(to_keeper)
    with os.fdopen(from_worker, "rb") as file:
        told = file.read()
    with open(f"/proc/{worker}/status", encoding="ascii", errors="replace") as lines:
        status = dict(line.rstrip("\n").split(":\t", 1) for line in lines if ":\t" in line)
    os.close(release)
    linux.kill_node(worker)
    linux.remove_scratch(scratch)
    wanted = ("CapEff", "CapPrm", "NoNewPrivs", "Seccomp", "Uid")
    seen = {name: status[name].strip() for name in wanted if name in status}
    os.write(writes, json.dumps({"tried": json.loads(told or b"{}"), "status": seen}).encode())
    os._exit(0)


def _work(facts: Facts, to_keeper: int, hold: int) -> None:
    tried = {
        name: {label: _attempt(attempt, _refusals(name)) for label, attempt in group.items()}
        for name, group in attempts(facts).items()
    }
    inherited = [
        name for name in facts["variables"] if name in os.environ and name not in ("HOME", "TMPDIR", "PWD")
    ]
    tried["environment"] = {"the host's variables": " ".join(inherited)}
    os.write(to_keeper, json.dumps(tried).encode())
    os.close(to_keeper)
    os.read(hold, 1)
    os._exit(0)


def _refusals(name: str) -> frozenset[int]:
    """The errors that are a refusal. In a root of its own, a file of the host is simply not there."""
    if name in _REFUSED:
        return _REFUSED[name]
    hidden = name in ("files", "writing", "processes") and linux.state().tier == "namespaces"
    return _DENIED | _NOT_THERE if hidden else _DENIED


def _attempt(attempt: Attempt, refused: Collection[int]) -> str:
    """Empty where it was refused, else what happened."""
    try:
        attempt()
    except OSError as error:
        name = errno.errorcode.get(error.errno or 0, str(error))
        return "" if error.errno in refused else f"{name}, which is no refusal"
    except MemoryError:
        return "" if errno.ENOMEM in refused else "MemoryError, which is no refusal"
    except Exception as error:
        return f"{type(error).__name__}: {error}"
    return "it worked"


def _signal_keeper() -> None:
    """Asks with signal 0. To the first process of a pid namespace nothing comes through from inside."""
    os.kill(os.getppid(), 0)
    if os.getppid() == 1:
        raise PermissionError(errno.EPERM, "it may ask, but no signal arrives")


def _fork_bomb() -> None:
    """Make processes that wait, until it is refused; then let them all go."""
    waits, lets_go = os.pipe()
    children = []
    try:
        for _ in range(linux.MAX_TASKS + 8):
            child = os.fork()
            if not child:
                os.close(lets_go)
                os.read(waits, 1)
                os._exit(0)
            children.append(child)
    finally:
        os.close(lets_go)
        os.close(waits)
        for child in children:
            os.waitpid(child, 0)


def _fill_scratch() -> None:
    with open("fill", "wb", buffering=0) as file:
        written = 0
        while written < 2 * _SCRATCH:
            written += file.write(b"\0" * (1 << 16))


if __name__ == "__main__":
    sys.stdout.write(json.dumps(run(cast("Facts", json.load(sys.stdin)))))
