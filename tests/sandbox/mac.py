"""This machine as a program would see a Mac, as far as that can be had: what Linux alone has is taken away.

``pretend()`` is called before anything of unspool is imported. ``sandbox_exec`` is a stand-in for the program of
that name: it takes what the profile grants and has Linux enforce that. Only the standard library here: the
stand-in runs without any packages.
"""

from __future__ import annotations

import builtins
import ctypes
import errno
import os
import re
import resource
import runpy
import select
import signal
import socket
import sys
import types
from pathlib import Path

SANDBOX = Path(__file__).resolve().parents[2] / "src" / "unspool" / "sandbox"
_GONE = {
    os: r"memfd_create|MFD_|pipe2$|pidfd_|eventfd|EFD_|sched_(get|set)|SCHED_|posix_fa|fdatasync|waitid$|O_PATH|"
    r"O_TMPFILE|O_DIRECT$|O_NOATIME|copy_file_range|splice|SPLICE_|(get|set|list|remove)xattr|unshare|setns|"
    r"CLONE_|(get|set)res[ug]id|RWF_|timerfd|P_PIDFD",
    signal: r"SIGRT|SIGPWR|SIGSTKFLT|SIGPOLL|pidfd_|sigwaitinfo|sigtimedwait",
    select: r"epoll|EPOLL",
    socket: r"SO_PASSCRED|SCM_CREDENTIALS|SO_PEERCRED|SOCK_CLOEXEC|SOCK_NONBLOCK|MSG_CMSG_CLOEXEC|AF_NETLINK|AF_PACKET",
    resource: r"prlimit|RLIMIT_(OFILE|MSGQUEUE|NICE|RTPRIO|RTTIME|SIGPENDING)",
}  # fmt: skip
_NEVER = ("/proc", "/sys")


def pretend() -> None:
    """From here on in this process."""
    import fcntl
    import selectors
    import sysconfig

    sysconfig.get_config_vars()  # from a file that is named after the system
    selectors.DefaultSelector = selectors.PollSelector
    for module, pattern in {**_GONE, fcntl: r"F_ADD_SEALS|F_GET_SEALS|F_SEAL_|F_[GS]ETPIPE_SZ|F_OFD"}.items():
        for name in [name for name in dir(module) if re.match(pattern, name)]:
            delattr(module, name)
    if hasattr(os, "process_cpu_count"):
        os.process_cpu_count = os.cpu_count
    sys.platform = "darwin"
    sys.modules["_scproxy"] = proxies = types.ModuleType("_scproxy")
    proxies._get_proxies = proxies._get_proxy_settings = dict  # type: ignore[attr-defined]
    here = os.uname()
    os.uname = lambda: os.uname_result(("Darwin", here.nodename, "25.0.0", "Darwin Kernel", "arm64"))
    pair, stat, library = socket.socketpair, os.stat, ctypes.CDLL.__getattr__

    def socketpair(family: int = socket.AF_UNIX, type: int = socket.SOCK_STREAM, proto: int = 0) -> object:
        if type == socket.SOCK_SEQPACKET:
            raise OSError(errno.EPROTONOSUPPORT, "Protocol not supported")
        return pair(family, type, proto)

    def no_stat(path: object, **more: object) -> object:
        _look(path)
        return stat(path, **more)

    def no_call(self: object, name: str) -> object:
        if name in ("prctl", "syscall"):
            raise AttributeError(f"dlsym(RTLD_DEFAULT, {name}): symbol not found")
        return library(self, name)

    socket.socketpair, os.stat, ctypes.CDLL.__getattr__ = socketpair, no_stat, no_call
    sys.addaudithook(lambda event, args: event in ("open", "os.listdir", "os.scandir") and _look(args[0]))


def _look(path: object) -> None:
    if isinstance(path, str | bytes | os.PathLike) and os.fsdecode(path).startswith(_NEVER):
        raise FileNotFoundError(errno.ENOENT, "No such file or directory", path)


def sandbox_exec(arguments: list[str], *, enforced: bool = True) -> None:
    """``-p PROFILE PYTHON -S -s -P SCRIPT …``: in the place of an exec, the script runs here."""
    option, profile, program, *flags, script, told = arguments
    assert (option, flags) == ("-p", ["-S", "-s", "-P"]), arguments
    assert profile.startswith("(version 1)\n(deny default)\n"), profile
    told_program = program.replace("\\", "\\\\").replace('"', '\\"')
    assert f'(literal "{told_program}")' in profile, (program, profile)
    if enforced:
        _confine(profile)
    pretend()
    sys.argv[:] = [script, told]
    runpy.run_path(script, run_name="__main__")


def _confine(profile: str) -> None:
    """Files by Landlock; sockets, processes and modes by a filter of calls."""
    sys.path.insert(0, str(SANDBOX))
    import _landlock
    import _seccomp
    import _syscalls

    del sys.path[0]
    quoted = r'\(subpath "((?:[^"\\]|\\.)*)"\)'
    *read, folder = [re.sub(r"\\(.)", r"\1", path) for path in re.findall(quoted, profile)]
    assert profile.splitlines()[-1].startswith("(allow file-read* file-write* (subpath ")
    linux = ("/lib", "/lib64", "/etc/ld.so.cache", "/usr/lib64", "/bin")  # ls can be seen, and not executed
    rules = _landlock.ruleset(
        read=[*read, *linux], write=[folder], devices=["/dev/null", "/dev/urandom"], version=_landlock.abi()
    )
    _syscalls.prctl(38, 1)  # no new privileges
    _landlock.restrict(rules)
    number = _syscalls.number
    refused = "socket connect bind fork vfork execve execveat chmod fchmodat link linkat"
    program = b""
    for name in refused.split():
        if (call := number(name)) is not None:
            program += _step(0x15, 0, 1, call) + _step(0x06, 0, 0, 0x00050000 | errno.EPERM)
    clone, clone3 = number("clone"), number("clone3")
    assert clone is not None
    assert clone3 is not None
    program += _step(0x15, 0, 1, clone3) + _step(0x06, 0, 0, 0x00050000 | errno.ENOSYS)
    program += _step(0x15, 0, 3, clone) + _step(0x20, 0, 0, 16)  # its flags: no process, but threads
    program += _step(0x45, 1, 0, 0x10000) + _step(0x06, 0, 0, 0x00050000 | errno.EPERM)
    _seccomp.install(_step(0x20, 0, 0, 0) + program + _step(0x06, 0, 0, 0x7FFF0000))


def _step(code: int, yes: int, no: int, value: int) -> bytes:
    import struct

    return struct.pack("=HBBI", code, yes, no, value)


def main() -> None:
    """``mac.py CODE``: runs it on what looks like a Mac."""
    pretend()
    exec(compile(sys.argv[1], "<mac>", "exec"), {"__name__": "__main__", "builtins": builtins})


if __name__ == "__main__":
    main()
