"""The seccomp filter of a worker: which system calls model-written code may make.

Contract: :func:`build` makes the filter as bytes (do it once, in the zygote); :func:`install` puts
it on the calling thread for good. A call that is not on the list fails with ``EPERM``, so that
code sees ``PermissionError``; a call of a foreign architecture kills the process. Standard library
only; importable as a sibling module too.

What is let through is what Python, threads, numpy, pandas, polars, pyarrow, ``asyncio.run``,
``fork``, ``mmap`` and ``memfd`` need. Not on the list, so refused: every way to run a program,
to open a socket, to trace or read another process, to make or enter a namespace, to mount, to
change an identity, limit or group, and the large young interfaces (io_uring, bpf, keyrings, perf,
userfaultfd). ``clone3`` hides its flags behind a pointer, so it "does not exist" and the C library
falls back to ``clone``.

>>> program = build(signals=True, metadata=True)
>>> len(program) % 8, len(program) // 8 < 1_000
(0, True)
"""

from __future__ import annotations

import ctypes
import errno
import struct
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING or __package__:
    from . import _syscalls
else:
    import _syscalls

_LOAD, _AND, _JUMP, _JEQ, _JGE, _JSET, _RET = 0x20, 0x54, 0x05, 0x15, 0x35, 0x45, 0x06
_KILL, _ALLOW, _ERRNO = 0x80000000, 0x7FFF0000, 0x00050000
_X32 = 0x40000000
_SECCOMP_SET_MODE_FILTER, _SECCOMP_GET_ACTION_AVAIL = 1, 2

Instruction = tuple[int, int, int, int]
Rule = tuple[Instruction, ...]
_PASS: Rule = ((_RET, 0, 0, _ALLOW),)

_ALWAYS = """
read write readv writev pread64 pwrite64 preadv pwritev preadv2 pwritev2 lseek close close_range
dup dup2 dup3 futex mmap munmap mprotect mremap msync madvise brk memfd_create membarrier
stat lstat fstat newfstatat statx access faccessat faccessat2 readlink readlinkat getcwd chdir fchdir
getdents getdents64 statfs fstatfs mkdir mkdirat rmdir unlink unlinkat rename renameat renameat2
link linkat symlink symlinkat umask flock ftruncate fallocate fsync fdatasync fadvise64 readahead
copy_file_range sendfile creat
fork vfork wait4 waitid exit exit_group pidfd_open set_robust_list rseq set_tid_address
gettid getpid getppid getuid geteuid getgid getegid getresuid getresgid getgroups getpgrp getpgid getsid
sched_yield sched_getaffinity sched_getparam sched_getscheduler sched_get_priority_max
sched_get_priority_min getcpu getpriority getrusage getrlimit getrandom uname sysinfo
rt_sigaction rt_sigprocmask rt_sigreturn rt_sigpending rt_sigtimedwait rt_sigsuspend sigaltstack
restart_syscall pause alarm setitimer getitimer
nanosleep clock_nanosleep clock_gettime clock_getres gettimeofday time times
timerfd_create timerfd_settime timerfd_gettime
pipe pipe2 poll ppoll select pselect6 epoll_create epoll_create1 epoll_ctl epoll_wait epoll_pwait
epoll_pwait2 eventfd eventfd2
getsockopt getsockname getpeername sendto recvfrom sendmsg recvmsg shutdown
landlock_restrict_self
"""

# Only where something else (a pid namespace, Landlock's scopes) keeps signals inside.
_SIGNALS = "kill tkill tgkill pidfd_send_signal"

# Only where all but the scratch folder is mounted read-only: Landlock does not guard these.
_METADATA = "chmod fchmod fchmodat utime utimes utimensat futimesat truncate"

# shutil.copystat takes ENOTSUP for "no attributes here"; and nobody's attributes leak.
_NO_XATTR = "getxattr lgetxattr fgetxattr listxattr llistxattr flistxattr"

# openat2 and clone3 keep their flags where a filter cannot look.
_MISSING = "clone3 openat2"

# Calls younger than the list "do not exist": C libraries fall back on ENOSYS, but not on EPERM.
_LAST_KNOWN = 447

_CLONE_DENIED = (
    0x00020000 | 0x02000000 | 0x04000000 | 0x08000000  # new mount, cgroup, UTS and IPC namespace
    | 0x10000000 | 0x20000000 | 0x40000000  # new user, pid and network namespace
    | 0x00008000 | 0x00002000  # a child of one's parent (it would dodge its keeper); traced
)  # fmt: skip
_O_TRUNC, _O_ACCMODE = 0o1000, 0o3
_FCNTL = (
    0, 1, 2, 3, 4,  # F_DUPFD, F_GETFD, F_SETFD, F_GETFL, F_SETFL
    5, 6, 7, 36, 37, 38,  # record locks. Not owner, signal, lease and notify: they reach outside
    1030, 1031, 1032, 1033, 1034,  # F_DUPFD_CLOEXEC, pipe size, seals
)  # fmt: skip
_IOCTL = (
    0x5401, 0x802C542A, 0x5413,  # TCGETS, TCGETS2, TIOCGWINSZ: is this a terminal, how wide is it
    0x541B, 0x5421, 0x5450, 0x5451,  # FIONREAD, FIONBIO, FIONCLEX, FIOCLEX
)  # fmt: skip
_PRCTL = (
    1, 2, 3, 15, 16,  # parent-death signal, get dumpable (never set it), thread name
    39, 42, 0x53564D41,  # get no_new_privs, get THP, name a mapping (malloc does)
)  # fmt: skip
_AF_UNIX, _SOCK_STREAM, _SOCK_SEQPACKET = 1, 1, 5


def available() -> str | None:
    """``None`` where a filter can be installed, else the reason why not."""
    if not _syscalls.AUDIT_ARCH.get(_syscalls.machine()):
        return f"no list of system calls for the machine {_syscalls.machine()!r}"
    action = ctypes.create_string_buffer(struct.pack("=I", _ERRNO), 4)
    try:
        _syscalls.call("seccomp", _SECCOMP_GET_ACTION_AVAIL, 0, action)
    except OSError as error:
        return f"this kernel has no seccomp filters ({error.strerror})"
    return None


def build(*, signals: bool, metadata: bool, machine: str | None = None) -> bytes:
    """The filter as an array of BPF instructions.

    ``signals``: let code signal what it can see; else only its own process group as a whole.
    ``metadata``: let code change modes and times; else refused, as nothing else would.
    """
    machine = machine or _syscalls.machine()
    program: list[Instruction] = [
        (_LOAD, 0, 0, 4),
        (_JEQ, 1, 0, _syscalls.AUDIT_ARCH[machine]),
        (_RET, 0, 0, _KILL),
        (_LOAD, 0, 0, 0),
    ]
    if machine == "x86_64":
        program += [(_JSET, 0, 1, _X32), (_RET, 0, 0, _KILL)]
    program += _search(_ranges(_rules(signals=signals, metadata=metadata), machine))
    return b"".join(struct.pack("=HBBI", *instruction) for instruction in program)


def install(program: bytes) -> None:
    """Put the filter on this thread. Needs no_new_privs; there is no way back."""
    code = ctypes.create_string_buffer(program, len(program))
    header = ctypes.create_string_buffer(struct.pack("@HP", len(program) // 8, ctypes.addressof(code)))
    _syscalls.call("seccomp", _SECCOMP_SET_MODE_FILTER, 0, header)


def allowed(*, signals: bool, metadata: bool) -> tuple[str, ...]:
    """The names of the calls that may pass, with or without a condition (for tests and the docs)."""
    rules = _rules(signals=signals, metadata=metadata)
    return tuple(name for name, rule in rules.items() if any(step[3] == _ALLOW for step in rule))


def _rules(*, signals: bool, metadata: bool) -> dict[str, Rule]:
    rules = dict.fromkeys(_ALWAYS.split(), _PASS)
    rules |= dict.fromkeys(_SIGNALS.split(), _PASS if signals else _refused())
    rules |= dict.fromkeys(_METADATA.split(), _PASS if metadata else _refused())
    rules |= dict.fromkeys(_NO_XATTR.split(), _refused(errno.ENOTSUP))
    rules |= dict.fromkeys(_MISSING.split(), _refused(errno.ENOSYS))
    if not signals:
        rules["kill"] = _one_of(0, (0,))
    return rules | {
        "openat": _not_truncating(2),
        "open": _not_truncating(1),
        "ioctl": _one_of(1, _IOCTL),
        "fcntl": _one_of(1, _FCNTL),
        "clone": (_low(0), (_JSET, 0, 1, _CLONE_DENIED), _refuse(), *_PASS),
        "prctl": _one_of(0, _PRCTL),
        "prlimit64": _reading_own_limit(),
        "socketpair": _unix_stream_pair(),
    }


def _ranges(rules: Mapping[str, Rule], machine: str) -> list[tuple[int, Rule]]:
    """Every number there is, as ranges that are treated alike: (first number, rule), in order."""
    numbered = {_syscalls.number(name, machine): rule for name, rule in rules.items()}
    ranges: list[tuple[int, Rule]] = []
    for nr in range(_LAST_KNOWN + 1):
        rule = numbered.get(nr, _refused())
        if not ranges or ranges[-1][1] != rule:
            ranges.append((nr, rule))
    ranges.append((_LAST_KNOWN + 1, _refused(errno.ENOSYS)))
    return ranges


def _search(ranges: Sequence[tuple[int, Rule]]) -> list[Instruction]:
    """A binary search: the kernel runs the filter for every number once when it is installed."""
    if len(ranges) == 1:
        return list(ranges[0][1])
    middle = len(ranges) // 2
    low, high = _search(ranges[:middle]), _search(ranges[middle:])
    # A conditional jump reaches 255 instructions at most; a plain one any number.
    return [(_JGE, 0, 1, ranges[middle][0]), (_JUMP, 0, 0, len(low)), *low, *high]


def _low(arg: int) -> Instruction:
    return (_LOAD, 0, 0, 16 + 8 * arg)


def _high(arg: int) -> Instruction:
    return (_LOAD, 0, 0, 20 + 8 * arg)


def _refuse(code: int = errno.EPERM) -> Instruction:
    return (_RET, 0, 0, _ERRNO | code)


def _refused(code: int = errno.EPERM) -> Rule:
    return (_refuse(code),)


def _one_of(arg: int, values: Sequence[int]) -> Rule:
    """The argument is an int to the kernel (its upper half is ignored there too)."""
    checks = [(_JEQ, len(values) - place, 0, value) for place, value in enumerate(values)]
    return (_low(arg), *checks, _refuse(), *_PASS)


def _not_truncating(arg: int) -> Rule:
    """Refuse O_TRUNC on a file opened for reading: it truncates, and old Landlock lets it."""
    return (_low(arg), (_AND, 0, 0, _O_TRUNC | _O_ACCMODE), (_JEQ, 0, 1, _O_TRUNC), _refuse(), *_PASS)


def _reading_own_limit() -> Rule:
    """prlimit64(0, …, NULL, …): no other process, no new limit."""
    loads = (_low(0), _low(2), _high(2))
    checks = [step for place, load in enumerate(loads) for step in (load, (_JEQ, 0, 5 - 2 * place, 0))]
    return (*checks, *_PASS, _refuse())


def _unix_stream_pair() -> Rule:
    """A datagram socket could send to any address, connected or not: streams and packets cannot."""
    return (
        _low(0),
        (_JEQ, 0, 5, _AF_UNIX),
        _low(1),
        (_AND, 0, 0, 0xF),
        (_JEQ, 1, 0, _SOCK_STREAM),
        (_JEQ, 0, 1, _SOCK_SEQPACKET),
        *_PASS,
        _refuse(),
    )
