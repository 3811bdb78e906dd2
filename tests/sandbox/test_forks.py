"""Forks that go on as they are, and the forks of code in a cell, which do not."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from unspool.sandbox import _forks, keeper

from .conftest import Session

PROGRAM = """
import os, sys
sys.path.insert(0, {folder!r})
import _forks
_forks.watch()
os.register_at_fork(before=lambda: seen.append("before"), after_in_parent=lambda: seen.append("after"))
_forks.unwatch()
os.register_at_fork(before=lambda: seen.append("own"))
for make in (_forks.fork, os.fork):
    seen = []
    if not (pid := make()):
        os._exit(0)
    os.waitpid(pid, 0)
    print(*seen)
"""


def test_only_what_was_registered_meanwhile_is_passed_over() -> None:
    folder = str(Path(_forks.__file__).parent)
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", PROGRAM.format(folder=folder)],
        capture_output=True, text=True, timeout=60, check=True,
    )  # fmt: skip
    assert done.stdout.splitlines() == ["own", "own before after"]


HELD = """
import logging, os, threading, time
held = threading.Event()
def hold():
    with logging._lock:
        held.set()
        time.sleep(0.2)
thread = threading.Thread(target=hold)
thread.start()
held.wait()
if not (pid := os.fork()):
    logging.getLogger("in the child").warning("it goes on")
    os._exit(7)
thread.join()
os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
"""


async def test_a_fork_of_a_cell_gets_new_locks(repl: Session) -> None:
    """A lock of a module that was warm before, held by a thread which the child does not have."""
    await repl.show("kept = 1")  # so that it runs in a process that was forked as it is
    assert (await repl.show(HELD)).splitlines()[-1] == "7"
    assert await repl.show("import threading\nkept, threading.main_thread().is_alive()") == "(1, True)"


def test_the_keeper_can_tell_that_a_process_was_begun() -> None:
    before = keeper.newest()
    subprocess.run([sys.executable, "-c", ""], check=True, timeout=60)
    assert before
    assert keeper.newest() != before
