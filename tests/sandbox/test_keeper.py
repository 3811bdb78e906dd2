"""A keeper that code in a cell floods, or that does not answer: the node ends all the same."""

from __future__ import annotations

import contextlib
import os
import signal
import time
from pathlib import Path

import pytest

from unspool.sandbox import _launch
from unspool.sandbox.process import ProcessSandbox
from unspool.sandbox.protocol import ReplSpec

from .conftest import Host
from .test_lifecycle import FIND, below, processes, settled

WORDS = (b"K 0", b"T 0", b"E 0", b"D 1", b"R 0", b"P 0", b"C 7", b"? 1")
FLOOD = FIND + "for _ in range(1_500):\n    w._desk.send({word!r})\nwhile True:\n    pass"


def idle(zygote: int) -> bool:
    """Whether nothing below it works for half a second."""

    def ticks() -> int:
        total = 0
        for pid in below(zygote):
            with contextlib.suppress(OSError):
                fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
                total += int(fields[11]) + int(fields[12])
        return total

    before = ticks()
    time.sleep(0.5)
    return ticks() - before < 10


@pytest.mark.parametrize("word", WORDS, ids=[word.decode() for word in WORDS])
async def test_a_flood_of_messages_keeps_no_keeper_from_its_work(word: bytes) -> None:
    """Each message more than a socket holds, and answers that nobody reads."""
    sandbox = ProcessSandbox()
    try:
        await (await sandbox.open(ReplSpec(""), Host())).close()
        zygote = _launch.zygote(sandbox.kind).pid
        assert zygote is not None
        repl = await sandbox.open(ReplSpec("mine"), Host())
        started = time.monotonic()
        result = await repl.execute(FLOOD.format(word=word), seconds=1)
        assert time.monotonic() - started < 10
        assert result.outcome in ("interrupted", "rolled_back", "restarted")
        assert (await repl.execute("context", seconds=5)).output == "'mine'\n"
        await repl.close()
        assert await settled(lambda: idle(zygote)), "a process goes on"
    finally:
        await sandbox.close()


async def test_a_keeper_that_does_not_answer_is_named() -> None:
    sandbox = ProcessSandbox(libraries="before")  # one zygote, whose children are looked at
    stopped: list[int] = []
    try:
        repl = await sandbox.open(ReplSpec(""), Host())
        await repl.execute("kept = 1", seconds=20)
        zygote = _launch.zygote(sandbox.kind).pid
        assert zygote is not None
        (template,) = (pid for pid, parent, _ in processes() if parent == zygote)

        def of_ours() -> list[int]:
            """Of the keepers, that of a worker with a checkpoint; the others wait for a REPL to be asked for."""
            return [pid for pid, parent, _ in processes() if parent == template and len(below(pid)) > 1]

        assert await settled(lambda: len(of_ours()) == 1)
        stopped = of_ours()
        for pid in stopped:
            os.kill(pid, signal.SIGSTOP)
        result = await repl.execute("import time\ntime.sleep(60)", seconds=0.5)
        assert result.outcome == "restarted"
        assert any("its keeper does not answer" in note for note in result.notes), result.notes
    finally:
        for pid in stopped:
            os.kill(pid, signal.SIGCONT)
        await sandbox.close()
