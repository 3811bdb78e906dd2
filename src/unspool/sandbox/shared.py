"""The sandboxes by name, one of each per process: all engines share a zygote."""

from __future__ import annotations

import os
import threading

from .._runtime import runtime
from ..errors import ConfigError
from .protocol import Sandbox

NAMES = ("process", "none")

_shared: dict[tuple[int, str], Sandbox] = {}
_lock = threading.Lock()  # engines are made in any thread


def shared_sandbox(name: str) -> Sandbox:
    """The process's sandbox of that name, made on first use and closed at exit.

    Raises :class:`ConfigError` for a name that there is not.
    """
    if name not in NAMES:
        raise ConfigError(f"sandbox={name!r}: there are {', '.join(map(repr, NAMES))}, or pass a Sandbox")
    with _lock:
        key = (os.getpid(), name)
        if key not in _shared:
            from .process import ProcessSandbox

            sandbox = ProcessSandbox(name)
            _shared[key] = sandbox
            runtime().closers.append(sandbox.close)
        return _shared[key]
