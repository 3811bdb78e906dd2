"""Why a cell came to an end that was not its own, in words for the model.

Contract: one line each; no address and no path of the host is in it.

>>> status_words(0x100), status_words(11)
('its process ended: os._exit(1)', 'crashed: SIGSEGV')
"""

from __future__ import annotations

import os
import signal

from ._cell import CellEnd
from ._request import SCRATCH


def why_killed(end: CellEnd, memory: int, gone: str) -> str:
    """Why a cell was killed. ``memory``: bytes that it might use, ``gone``: why its keeper is no more."""
    limit = f"{memory / 1e6:,.0f} MB" if memory else "half of what was free where it runs"
    if end.killed_for == "memory" or end.word == "memory":
        return f"killed for memory: the limit of the REPL is {limit}"
    if end.killed_for == "scratch":
        return f"killed for what it wrote to its folder: the limit is {SCRATCH >> 20} MB"
    if end.killed_for == "processes":
        return "killed for the number of its processes and threads"
    if end.word == "links":
        return "the cell has closed file descriptors that the REPL needs"
    if end.killed:
        why = f" ({end.reason})" if end.reason else ""
        return f"stopped after {end.own_seconds:.1f} s and did not react to an interrupt{why}"
    if end.how == "lost" and end.reason.startswith("the worker broke"):
        return end.reason
    if end.how == "lost" and gone and end.reason == gone:
        return end.reason
    return status_words(end.status)


def status_words(status: int) -> str:
    """How a process ended, in words."""
    if os.WIFSIGNALED(status):
        number = os.WTERMSIG(status)
        if number == signal.SIGKILL:
            return "killed (SIGKILL), by the system for want of memory or by itself"
        try:
            return f"crashed: {signal.Signals(number).name}"
        except ValueError:
            return f"crashed: signal {number}"
    return f"its process ended: os._exit({os.waitstatus_to_exitcode(status)})"
