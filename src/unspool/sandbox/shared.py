"""The sandboxes by name, one of each per process: all engines share a zygote.

>>> shared_sandbox("x")
Traceback (most recent call last):
    ...
unspool.errors.WrongSetting: sandbox='x': use auto, process, seatbelt, none, jupyter, command:… or a Sandbox
"""

from __future__ import annotations

import os
import sys
import threading

from .._runtime import runtime
from ..checks import meant
from ..errors import ConfigError, WrongSetting
from .protocol import Sandbox

NAMES = ("auto", "process", "seatbelt", "none", "jupyter", "command:…")
SANDBOX_EXEC = "/usr/bin/sandbox-exec"
_COMMAND = "command:"

_shared: dict[tuple[int, str], Sandbox] = {}
_lock = threading.Lock()  # engines are made in any thread


def shared_sandbox(name: str) -> Sandbox:
    """The process's sandbox of that name, made on first use and closed at exit.

    Raises :class:`ConfigError` for a name that there is not.
    """
    name = chosen(name)
    key = (os.getpid(), name)
    with _lock:
        if key not in _shared:
            _shared[key] = sandbox = new_sandbox(name)
            runtime().closers.append(sandbox.close)
        return _shared[key]


def prepare(name: str) -> None:
    """For who is going to open a REPL in the process's sandbox of that name: what it needs is started."""
    if chosen(name) in ("process", "none") and sys.platform == "linux":
        from .process import ProcessSandbox

        sandbox = shared_sandbox(name)
        assert isinstance(sandbox, ProcessSandbox)
        sandbox.prepare()


def chosen(name: str) -> str:
    """The name of what ``auto`` is here: ``process``, or what macOS has in its place."""
    if name != "auto":
        return name
    return "seatbelt" if sys.platform == "darwin" and os.access(SANDBOX_EXEC, os.X_OK) else "process"


def is_name(name: str) -> bool:
    """Whether there is a sandbox of that name: one that a program has made has the name of its class."""
    return name in NAMES or name.startswith(_COMMAND)


def look_up(name: str) -> None:
    """Raises :class:`ConfigError` for a ``command:`` whose program is not on this machine."""
    from shlex import split
    from shutil import which

    if name.startswith(_COMMAND):
        program = split(name.removeprefix(_COMMAND))[0]
        if which(program) is None:
            raise ConfigError(f"sandbox {name!r}: there is no program {program!r} here")


def new_sandbox(name: str) -> Sandbox:
    """One of its own, for who closes it. Raises :class:`ConfigError` for a name that there is not."""
    name = chosen(name)
    if name.startswith(_COMMAND):
        from .command import CommandSandbox

        return CommandSandbox(name.removeprefix(_COMMAND))
    if name == "seatbelt":
        from .seatbelt import SeatbeltSandbox

        return SeatbeltSandbox()
    if name == "none" and sys.platform != "linux":
        from .lone import LoneSandbox

        return LoneSandbox()
    if name in ("process", "none"):
        from .process import ProcessSandbox

        return ProcessSandbox(name)
    if name == "jupyter":
        from .jupyter import JupyterSandbox

        return JupyterSandbox()
    raise WrongSetting("sandbox", name, f"use {', '.join(NAMES)} or a Sandbox{meant(name, NAMES)}")
