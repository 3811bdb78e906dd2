"""A keeper that code in a cell floods, or that does not answer: the node ends all the same."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
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


# A keeper alone: the host and the REPL's process are this script, which says what both of them say.
FORKED = """
import json, os, select, socket
from unspool.sandbox._branching import Room
from unspool.sandbox._wards import Limits
from unspool.sandbox.keeper import Keeper

class Rooms:
    def make(self, repl):
        return Room(f"/room-of-{repl}", [], lambda: 0, lambda: None)

def pair():
    return socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)

none = lambda *_: 0
limits = Limits(1 << 30, 1 << 30, 100, 100, none, none, none, none)
(orders, keepers), (desk, workers) = pair(), pair()
desk.setsockopt(socket.SOL_SOCKET, socket.SO_PASSCRED, 1)
me = os.getpid()
keeper = os.fork()
if not keeper:
    orders.close(), workers.close()
    Keeper(keepers, desk, me, limits, Rooms()).serve(os.pipe()[0])
    os._exit(0)
keepers.close(), desk.close()

def order():
    (own, theirs), (hers, ours) = pair(), pair()
    socket.send_fds(orders, [b"F 1000"], [theirs.fileno(), hers.fileno()])
    return own, ours

def answered(desk, seconds):
    return bool(select.select([desk], [], [], seconds)[0])

workers.send(b"R 0")
own, ours = order()
before = answered(ours, 0.3)
workers.send(b"F 0")
after = answered(ours, 20)
path = json.loads(ours.recv(4096))["path"] == f"/room-of-{me}"
workers.send(b"F 0")
own2, ours2 = order()
print(before, after, path, answered(ours2, 20))
os.kill(keeper, 9)  # it would end the REPL's process, which is this one
os.wait()
"""


def test_room_for_a_fork_is_made_when_its_process_has_said_all_that_came_before() -> None:
    """Else what that process has said before, and is heard later, may end the fork with what it left running."""
    done = subprocess.run(
        [sys.executable, "-c", FORKED], capture_output=True, text=True, timeout=60, check=False
    )
    assert (done.stdout, done.stderr) == ("False True True True\n", "")
