"""The system call filter, followed step by step for every number there is, on both machines: nothing is run."""

from __future__ import annotations

import errno
import functools
import struct

import pytest

from unspool.sandbox import _seccomp, _syscalls
from unspool.sandbox.attack.raw import NUMBERS

KILL, ALLOW = 0x80000000, 0x7FFF0000
MACHINES = ("x86_64", "aarch64")
EPERM, ENOSYS = 0x00050000 | errno.EPERM, 0x00050000 | errno.ENOSYS


@functools.cache
def _steps(program: bytes) -> list[tuple[int, int, int, int]]:
    return list(struct.iter_unpack("=HBBI", program))


def follow(
    program: bytes, number: int, args: tuple[int, ...] = (), arch: int | None = None, machine: str = "x86_64"
) -> int:
    """What the kernel does with a call: the filter's return value, as its machine for filters computes it."""
    arch = _syscalls.AUDIT_ARCH[machine] if arch is None else arch
    padded = [arg & (1 << 64) - 1 for arg in (*args, *(0,) * 6)[:6]]
    data = struct.pack("=IIQ6Q", number, arch, 0, *padded)
    steps = _steps(program)
    at, held = 0, 0
    while True:
        code, true, false, value = steps[at]
        at += 1
        if code == 0x20:
            (held,) = struct.unpack_from("=I", data, value)
        elif code == 0x54:
            held &= value
        elif code == 0x05:
            at += value
        elif code in (0x15, 0x35, 0x45):
            yes = {0x15: held == value, 0x35: held >= value, 0x45: bool(held & value)}[code]
            at += true if yes else false
        else:
            assert code == 0x06, f"an instruction that should not be there: {code:#x}"
            return value


@pytest.mark.parametrize("machine", MACHINES)
@pytest.mark.parametrize("signals", [True, False])
@pytest.mark.parametrize("metadata", [True, False])
def test_only_what_is_on_the_list_can_pass(machine: str, signals: bool, metadata: bool) -> None:
    program = _seccomp.build(signals=signals, metadata=metadata, machine=machine)
    listed = {
        _syscalls.number(name, machine) for name in _seccomp.allowed(signals=signals, metadata=metadata)
    }
    for number in range(1024):
        if number not in listed:
            assert follow(program, number, machine=machine) != ALLOW, number
            assert follow(program, number, (1,) * 6, machine=machine) != ALLOW, number


@pytest.mark.parametrize("machine", MACHINES)
def test_the_list_names_no_way_out(machine: str) -> None:
    listed = set(_seccomp.allowed(signals=True, metadata=True))
    never = {
        "execve", "execveat", "socket", "connect", "bind", "listen", "accept", "accept4", "ptrace", "mount", "umount2",
        "pivot_root", "chroot", "unshare", "setns", "clone3", "openat2", "process_vm_readv", "process_vm_writev",
        "pidfd_getfd", "io_uring_setup", "bpf", "keyctl", "add_key", "request_key", "perf_event_open", "userfaultfd",
        "setuid", "setgid", "setresuid", "capset", "setsid", "setpgid", "open_by_handle_at", "mknod", "mknodat", "reboot",
        "kexec_load", "init_module", "finit_module", "seccomp", "shmget", "msgget", "semget", "mq_open", "setrlimit",
    }  # fmt: skip
    assert not never & listed
    program = _seccomp.build(signals=True, metadata=True, machine=machine)
    for name in never:
        number = _syscalls.number(name, machine)
        if number is not None:
            wanted = ENOSYS if name in ("clone3", "openat2") else EPERM
            assert follow(program, number, machine=machine) == wanted, name


@pytest.mark.parametrize("machine", MACHINES)
def test_calls_of_another_machine_kill(machine: str) -> None:
    program = _seccomp.build(signals=True, metadata=True, machine=machine)
    for arch in (0x40000003, 0x40000028, *_syscalls.AUDIT_ARCH.values()):  # i386, arm, and both of ours
        if arch != _syscalls.AUDIT_ARCH[machine]:
            assert follow(program, 0, arch=arch) == KILL
    if machine == "x86_64":
        assert follow(program, 0x40000000 | 39) == KILL
    assert follow(program, _seccomp._LAST_KNOWN + 1, machine=machine) == ENOSYS
    assert follow(program, 0x3FFFFFFF, machine=machine) == ENOSYS


THREAD, FORK = 0x3D0F00, 0x01200011
CONDITIONS: list[tuple[str, tuple[int, ...], bool]] = [
    ("clone", (THREAD,), True),
    ("clone", (FORK,), True),
    ("clone", (0x4111,), True),  # posix_spawn's, before exec refuses
    *(("clone", (FORK | flag,), False) for flag in (
        0x10000000, 0x00020000, 0x20000000, 0x40000000, 0x08000000, 0x04000000, 0x02000000, 0x8000, 0x2000)),
    ("openat", (0, 0, 0), True),
    ("openat", (0, 0, 0o1101), True),  # write, create, truncate: Landlock's to judge
    ("openat", (0, 0, 0o1000), False),
    ("openat", (0, 0, 0xF00000000 | 0o1000), False),  # the upper half is no way round
    ("socketpair", (1, 1), True),
    ("socketpair", (1, 0o2000001), True),  # close on exec
    ("socketpair", (1, 5), True),
    ("socketpair", (1, 2), False),
    ("socketpair", (2, 1), False),
    ("prlimit64", (0, 7, 0, 1), True),
    ("prlimit64", (0, 7, 1, 0), False),
    ("prlimit64", (0, 7, 1 << 40, 0), False),
    ("prlimit64", (5, 7, 0, 1), False),
    ("ioctl", (0, 0x5401), True),
    ("ioctl", (0, 0x5412), False),  # typing into a terminal
    ("ioctl", (0, 0x541C), False),
    ("ioctl", (0, 0x100005412), False),
    ("fcntl", (0, 3), True),
    ("fcntl", (0, 8), False),  # whom to signal
    ("fcntl", (0, 10), False),
    ("fcntl", (0, 1024), False),  # leases
    ("prctl", (15,), True),
    *(("prctl", (option,), False) for option in (4, 8, 22, 23, 24, 26, 28, 35, 36, 38, 47, 59)),
]  # fmt: skip


@pytest.mark.parametrize("machine", MACHINES)
@pytest.mark.parametrize(("name", "args", "passes"), CONDITIONS)
def test_calls_with_a_condition(machine: str, name: str, args: tuple[int, ...], passes: bool) -> None:
    program = _seccomp.build(signals=True, metadata=True, machine=machine)
    number = _syscalls.number(name, machine)
    assert number is not None
    assert (follow(program, number, args, machine=machine) == ALLOW) is passes


@pytest.mark.parametrize("machine", MACHINES)
def test_without_scopes_only_the_own_group_can_be_signalled(machine: str) -> None:
    program = _seccomp.build(signals=False, metadata=False, machine=machine)
    results = {
        (name, target): follow(program, _syscalls.number(name, machine) or 0, (target, 0), machine=machine)
        for name in ("kill", "tkill", "tgkill", "pidfd_send_signal")
        for target in (0, 1, 4242, -1, -4242)
    }
    assert {key for key, result in results.items() if result == ALLOW} == {("kill", 0)}


@pytest.mark.parametrize("machine", MACHINES)
def test_no_number_has_two_names(machine: str) -> None:
    numbers = [_syscalls.number(name, machine) for name in _syscalls.names()]
    known = [number for number in numbers if number is not None]
    assert len(known) == len(set(known))
    assert len(_syscalls.names()) == len(set(_syscalls.names()))


def test_the_numbers_agree_with_those_of_the_attacks() -> None:
    names = set(_syscalls.names()) & set(NUMBERS)
    assert len(names) > 60
    for name in names:
        assert (_syscalls.number(name, "x86_64"), _syscalls.number(name, "aarch64")) == NUMBERS[name], name
