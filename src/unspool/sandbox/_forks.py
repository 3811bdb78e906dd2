"""Forks that go on as they are: of a zygote, a keeper, a REPL, all with one thread of Python.

Contract: what modules register with ``os.register_at_fork`` between :func:`watch` and :func:`unwatch` does
not happen in :func:`fork`, and happens in every other one (``os.fork()`` in a cell, multiprocessing).
It is there for locks that another thread may hold. Here there is none, and each page that it writes to is one
that the new process has to copy. Standard library only; importable as a sibling module too.

>>> hook = _unless_ours(lambda: print("new locks"))
>>> hook()
new locks
"""

from __future__ import annotations

import os
from collections.abc import Callable

_register = os.register_at_fork
_ours = False  # a fork is being made here


def watch() -> None:
    """From here on, hooks are known. Modules that register some (threading, logging) are imported later."""
    os.register_at_fork = _register_known  # type: ignore[assignment]


def unwatch() -> None:
    os.register_at_fork = _register


def fork() -> int:
    """``os.fork()``, without the hooks."""
    global _ours
    _ours = True
    try:
        return os.fork()
    finally:
        _ours = False


def _register_known(**hooks: Callable[[], object]) -> None:
    _register(**{when: _unless_ours(hook) for when, hook in hooks.items()})


def _unless_ours(hook: Callable[[], object]) -> Callable[[], None]:
    def run() -> None:
        if not _ours:
            hook()

    return run
