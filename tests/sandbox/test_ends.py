"""The end of a REPL: once it is told, nothing of it is there."""

from __future__ import annotations

import asyncio
import contextlib
import os
from pathlib import Path

import pytest

from unspool.errors import SandboxLost

from .conftest import Opener
from .test_lifecycle import below, settled

KINDS = ("process", "landlock", "none")
LAST = {
    "idle": "n = 2",
    "submitted": "submit(1)",
    "busy": "if not os.fork():\n    time.sleep(600)\nwhile True:\n    pass",
}
NAMED = (
    "import ctypes, os, time\ndone = ctypes.CDLL(None).prctl(15, b'{}', 0, 0, 0)"  # called so outside, too
)


def called(name: str) -> list[int]:
    """The living processes of that name, below this one."""
    found = []
    for pid in below(os.getpid()):
        with contextlib.suppress(FileNotFoundError):
            if Path(f"/proc/{pid}/comm").read_text().strip() == name:
                found.append(pid)
    return found


@pytest.mark.parametrize("last", LAST)
@pytest.mark.parametrize("kind", KINDS)
async def test_once_a_repl_is_closed_no_process_is_left_that_has_run_code(
    open_repl: Opener, kind: str, last: str
) -> None:
    """Not a moment later: the REPL, the process that it would fall back on, what a cell has started."""
    name = f"{last}-{KINDS.index(kind)}"
    session = await open_repl(kind=kind)
    await session.show(NAMED.format(name))
    assert await settled(lambda: len(called(name)) == 2), called(name)  # the REPL and its checkpoint
    running = asyncio.create_task(session.repl.execute(LAST[last], seconds=600))
    if last == "busy":
        assert await settled(lambda: len(called(name)) == 3), called(name)
    else:
        await running
    await session.repl.close()
    assert called(name) == []
    if last == "busy":
        with pytest.raises(SandboxLost):
            await running
