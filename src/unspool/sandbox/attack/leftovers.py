"""Whether a REPL leaves processes or files behind when it is closed.

>>> len(NAME) < 16
True
"""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import Mapping
from pathlib import Path

from ..process import ProcessSandbox
from .arena import opened, shown
from .targets import named

NAME = f"left-{secrets.token_hex(4)}"  # what the host sees of a process; at most 15 characters
SECONDS = 5.0
_LEAVE = f"""
import ctypes, os, signal, time
ctypes.CDLL(None).prctl(15, {NAME!r}.encode())
for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
    signal.signal(number, signal.SIG_IGN)
open('left', 'w').write('left')
print(os.getcwd(), flush=True)
for _ in range(3):
    if not os.fork():
        time.sleep(30)
        os._exit(0)
"""
_NAMELESS = "ctypes.CDLL(None).prctl(15, b'python')"


async def left(sandbox: ProcessSandbox) -> Mapping[str, str]:
    """What was left of a cell that had forked, and of its folder."""
    async with opened(sandbox) as repl:
        folder = await shown(repl, _LEAVE + _NAMELESS)
        after_cell = "" if await _count(0) else "they still run"
        # The next one is closed while it runs.
        running = asyncio.ensure_future(repl.execute(f"{_LEAVE}\ntime.sleep(30)", seconds=60))
        there = await _count(4)
    await asyncio.gather(running, return_exceptions=True)
    gone = await _count(0)
    return {
        "processes of a cell, after the cell": after_cell,
        "processes of a REPL that is closed": ""
        if there and gone
        else "they still run"
        if there
        else "unseen",
        "its folder": "it is still there" if (Path(folder) / "left").exists() else "",
    }


async def _count(wanted: int) -> bool:
    """Waits until so many processes carry the name (at least, where it is not 0)."""
    deadline = asyncio.get_running_loop().time() + SECONDS
    while (found := len(named(NAME))) != wanted and not found > wanted > 0:
        if asyncio.get_running_loop().time() > deadline:
            return False
        await asyncio.sleep(0.02)
    return True
