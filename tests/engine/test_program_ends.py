"""The interpreter ends while a run goes on: in a daemon thread, quietly; in any other thread, when the run has."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from unspool.events import RunEnded
from unspool.journal import Journal

START = """
import atexit, pathlib

def children():
    return [pid for file in pathlib.Path("/proc/self/task").glob("*/children") for pid in file.read_text().split()]

atexit.register(lambda: print("left:", children()))  # registered first, so it is called last
import asyncio, sys, threading, time
from unspool import RLM
from unspool.testing import ScriptedModel

there = threading.Event()

def code(text):
    return f"```python\\n{text}\\n```"

async def never():
    there.set()
    await asyncio.Event().wait()

def hangs():
    there.set()
    time.sleep(3600)

async def ahangs():
    await never()

def look():
    return 5

def told():
    there.set()

def in_a_thread(work, daemon=True):
    threading.Thread(target=work, daemon=daemon).start()

def engine(*replies):
    return RLM(ScriptedModel(list(replies)), runs=sys.argv[1], tools=[hangs, ahangs, look, told])
"""
WAY = 'in_a_thread(lambda: print(engine({}).run("q", "c")))\nassert there.wait(60)'
DAEMON = {
    "at once": ("in_a_thread(lambda: print(engine(code('1')).run('q', 'c')))", None),
    "its model is asked": (
        'in_a_thread(lambda: print(RLM(ScriptedModel(lambda _: never()), runs=sys.argv[1]).run("q", "c")))\n'
        "assert there.wait(60)",
        "cancelled",
    ),
    "a cell runs": (WAY.format("code('told()\\nwhile True: pass')"), "cancelled"),
    "a tool runs": (WAY.format("code('hangs()')"), "cancelled"),
    "an async tool runs": (WAY.format("code('ahangs()')"), "cancelled"),
    "asyncio waits for it": (
        "in_a_thread(lambda: print(asyncio.run(engine(code('ahangs()')).arun('q', 'c'))))\nassert there.wait(60)",
        "cancelled",
    ),
    "a session is open": (
        "in_a_thread(lambda: print(engine().session('c').execute('hangs()')))\nassert there.wait(60)",
        "cancelled",
    ),
    "one follows the other": (
        "def work():\n    while True:\n        engine(code('print(told())\\nsubmit(1)')).run('q', 'c')\n"
        "in_a_thread(work)\nassert there.wait(60)",
        None,
    ),
}


def ended(script: str, folder: Path) -> tuple[int, str, str]:
    """The program's exit code, and what it has said."""
    (folder / "program.py").write_text(START + script)
    done = subprocess.run(
        [sys.executable, "program.py", "runs"],
        cwd=folder, capture_output=True, text=True, timeout=120, check=False, env={**os.environ, "PYTHONWARNINGS": "error"},
    )  # fmt: skip
    return done.returncode, done.stdout, done.stderr


@pytest.mark.parametrize("when", DAEMON)
def test_a_daemon_thread_ends_in_silence_and_its_run_says_so(when: str, tmp_path: Path) -> None:
    script, status = DAEMON[when]
    assert ended(script, tmp_path) == (0, "left: []\n", "")
    if status is not None:
        store = Journal(tmp_path / "runs")
        (run,) = store.runs()
        last = list(store.read(run))[-1]
        assert isinstance(last, RunEnded)
        assert (last.status, last.reason) == (status, "the program ended")


def test_a_thread_that_the_program_waits_for_has_its_run_to_the_end(tmp_path: Path) -> None:
    """Its cells, its files and its tools, though the main thread has come to its end."""
    (tmp_path / "a.txt").write_text("some text")
    script = """
def work():
    threading.main_thread().join()
    run = engine(code("print(look(), len(context))"), code("submit(look())")).run("q", pathlib.Path("a.txt"))
    print(run.status, run.answer)

in_a_thread(work, daemon=False)
"""
    assert ended(script, tmp_path) == (0, "answered 5\nleft: []\n", "")


def test_what_begins_when_all_has_ended_is_told_in_one_line(tmp_path: Path) -> None:
    script = """
def late():
    try:
        engine(code("print(1)")).run("q", "c")
    except ValueError as error:
        print(error)

atexit._clear()
atexit.register(late)
print(engine(code("print(1)\\nsubmit(1)")).run("q", "c").answer)
"""
    assert ended(script, tmp_path) == (0, "1\nthe program is ending: nothing can be begun any more\n", "")
