"""Cells that hang, crash or grow: stopped within their limit, and every earlier variable is kept."""

from __future__ import annotations

import asyncio
import time

import pytest

from unspool.sandbox.protocol import CellResult

from .conftest import Host, Opener, Session

INTERRUPTED = {
    "busy loop": "while True: pass",
    "sleep": "import time; time.sleep(10**6)",
    "regex": "import re; re.match(r'(a+)+$', 'a' * 60 + 'b')",
    "infinite generator": "n = 0\ndef forever():\n    while True: yield 1\nfor _ in forever(): n += 1",
    "huge power": "9**9**9",
    "lock": "import threading; l = threading.Lock(); l.acquire(); l.acquire()",
    "await": "import asyncio; await asyncio.sleep(10**6)",
}
KILLED = {
    "loop in C": "sum(range(10**12))",
    "iter": "import collections; collections.deque(iter(int, 1), maxlen=0)",
    "swallows the interrupt": "while True:\n    try:\n        while True:\n            n_ = 1\n    except BaseException: pass",
    "ignores the signal": "import signal\nsignal.signal(signal.SIGINT, signal.SIG_IGN)\nwhile True: pass",
    "blocks the signal": "import signal\nsignal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGINT])\nwhile True: pass",
    "interrupt inside a finally": "try:\n    while True:\n        n_ = 1\nfinally:\n    while True:\n        n_ = 1",
    "key of a sort": "sorted(range(10**9), key=lambda x: [0 for _ in iter(int, 1)] if 0 else x)",
}
CRASHES = {
    "os._exit": ("import os; os._exit(3)", "os._exit(3)"),
    "segfault": ("import ctypes; ctypes.string_at(0)", "SIGSEGV"),
    "abort": ("import os; os.abort()", "SIGABRT"),
    "kill": ("import os, signal; os.kill(os.getpid(), signal.SIGKILL)", "SIGKILL"),
    "deep C recursion": (
        "import sys\nsys.setrecursionlimit(10**9)\nx = []\nfor _ in range(10**6): x = [x]\nhash(repr(x))\nimport ctypes; ctypes.string_at(0)",
        "",
    ),
    "all descriptors closed": ("import os; os.closerange(3, 200)", ""),
}


async def _prepared(repl: Session) -> None:
    await repl.show("import math\nkept = {'n': 1}\ndef f(): return kept['n'] + math.floor(1.5)")


async def _as_before(repl: Session) -> None:
    assert await repl.show("f(), 'spoiled' in globals()") == "(2, False)"


@pytest.mark.parametrize("name", INTERRUPTED)
async def test_what_can_be_interrupted_keeps_its_variables(repl: Session, name: str) -> None:
    await _prepared(repl)
    started = time.monotonic()
    result = await repl.run("print('begun')\nnew = 5\n" + INTERRUPTED[name], seconds=0.3)
    assert time.monotonic() - started < 5
    assert result.outcome == "interrupted", result.notes
    assert result.output.startswith("begun")
    assert any("stopped after 0.3 s" in note or "stopped after 0." in note for note in result.notes)
    assert result.error is not None
    assert "KeyboardInterrupt" in result.error.traceback
    assert await repl.show("f(), new") == "(2, 5)"


@pytest.mark.parametrize("name", KILLED)
async def test_what_ignores_the_interrupt_is_rolled_back(repl: Session, name: str) -> None:
    await _prepared(repl)
    started = time.monotonic()
    result = await repl.run("print('begun')\nspoiled = kept['n'] = 99\n" + KILLED[name], seconds=0.2)
    assert time.monotonic() - started < 8
    assert result.outcome in ("rolled_back", "error"), result.notes
    if result.outcome == "error":  # memory ran out first, which is an answer too
        assert result.error is not None
        assert result.error.type == "MemoryError"
        return
    assert result.output.startswith("begun")
    assert any("did not react to an interrupt" in note or "memory" in note for note in result.notes)
    await _as_before(repl)


@pytest.mark.parametrize("name", CRASHES)
async def test_a_crash_undoes_the_cell(repl: Session, name: str) -> None:
    code, words = CRASHES[name]
    await _prepared(repl)
    result = await repl.run("print('begun')\nspoiled = kept['n'] = 99\n" + code)
    assert result.outcome == "rolled_back"
    assert result.output == "begun\n"
    assert any(words in note and "as it was before this cell" in note for note in result.notes)
    await _as_before(repl)


@pytest.mark.parametrize("kind", ["process", "landlock", "none"])
@pytest.mark.parametrize("context", ["text", [1, 2]])
async def test_the_first_cell_is_undone_without_a_checkpoint(
    open_repl: Opener, kind: str, context: object
) -> None:
    """There was nothing but the context before it, so a new REPL is as good; what it printed is shown."""
    repl = await open_repl(context, kind=kind, host=Host())
    for code, seconds in (("import os; os._exit(3)", 20.0), ("sum(range(10**12))", 0.1)):
        result = await repl.run(f"context = spoiled = 1\nprint('begun' * 5_000)\n{code}", seconds=seconds)
        assert result.outcome == "rolled_back"
        assert result.output.startswith("begunbegun")
        assert result.output.endswith("begun\n")
        assert result.printed == 25_001
        assert result.omitted > 0
        assert any("as it was before this cell" in note for note in result.notes), result.notes
    assert await repl.show("context, 'spoiled' in globals()") == f"({context!r}, False)"
    await _prepared(repl)
    assert (await repl.run("spoiled = 1\nimport os; os._exit(3)")).outcome == "rolled_back"
    await _as_before(repl)


async def test_ten_crashes_in_a_row(repl: Session) -> None:
    await _prepared(repl)
    for _ in range(10):
        assert (await repl.run("import os; os._exit(1)")).outcome == "rolled_back"
    await _as_before(repl)


@pytest.mark.parametrize("kind", ["landlock", "none"])
async def test_both_kinds_roll_back(open_repl: Opener, kind: str) -> None:
    repl = await open_repl(kind=kind)
    await _prepared(repl)
    assert (await repl.run("spoiled = 1\nimport ctypes; ctypes.string_at(0)")).outcome == "rolled_back"
    assert (await repl.run("spoiled = 1\nsum(range(10**12))", seconds=0.1)).outcome == "rolled_back"
    await _as_before(repl)


@pytest.mark.parametrize("kind", ["process", "none"])
async def test_what_follows_a_submitted_cell_is_rolled_back_and_goes_on(open_repl: Opener, kind: str) -> None:
    """No checkpoint is made ahead after it: it is made when the next cell is there."""
    repl = await open_repl(kind=kind)
    await _prepared(repl)
    for crash in ("import ctypes; ctypes.string_at(0)", "sum(range(10**12))", "import os; os._exit(3)"):
        assert (await repl.run("submit(1)")).outcome == "submitted"
        assert (await repl.run(f"spoiled = 1\n{crash}", seconds=0.3)).outcome == "rolled_back"
        await _as_before(repl)


MEMORY = {
    "at once": "spoiled = 'a' * 10**12",
    "bytearray": "spoiled = bytearray(2 * 10**9)",
    "a list that grows": "spoiled = []\nwhile True: spoiled.append('a' * 10**6)",
    "many small things": "spoiled = []\nwhile True: spoiled.append([0] * 5)",
    "numpy": "import numpy\nspoiled = [numpy.ones(10**6) for _ in range(1000)]",
    "a mapping": "import mmap\nspoiled = mmap.mmap(-1, 3 * 10**9)\nfor i in range(0, 3 * 10**9, 4096): spoiled[i] = 1",
    "a mapping of many parts": "import mmap\nspoiled = []\nwhile True:\n    m = mmap.mmap(-1, 2**24); spoiled.append(m)\n    for i in range(0, 2**24, 4096): m[i] = 1",
    "a file in memory": "import os\nfd = os.memfd_create('m')\nwhile True: os.write(fd, b'x' * 2**20)",
    "several processes": "import os, time\nfor _ in range(6):\n    if os.fork() == 0:\n        b = b'x' * (80 * 2**20); time.sleep(60)\ntime.sleep(60)",
}


@pytest.mark.parametrize("name", MEMORY)
async def test_the_memory_limit_holds(open_repl: Opener, name: str) -> None:
    repl = await open_repl(memory=256 << 20)
    await _prepared(repl)
    result = await repl.run(MEMORY[name], seconds=30)
    _is_a_memory_failure(result)
    assert await repl.show("f()") == "2"
    assert await repl.show("len(bytearray(100 * 2**20))") == str(100 * 2**20)


def _is_a_memory_failure(result: CellResult) -> None:
    if result.outcome == "error":
        assert result.error is not None
        assert result.error.type in ("MemoryError", "OSError", "numpy._core._exceptions._ArrayMemoryError")
    else:
        assert result.outcome == "rolled_back"
        assert any("memory" in note for note in result.notes)


async def test_a_disk_hog_is_stopped(open_repl: Opener) -> None:
    repl = await open_repl(memory=128 << 20)
    await _prepared(repl)
    result = await repl.run("f_ = open('big', 'wb')\nwhile True: f_.write(b'x' * 2**20)", seconds=30)
    assert result.outcome in ("error", "rolled_back")
    await _as_before(repl)


async def test_a_fork_bomb_is_stopped(repl: Session) -> None:
    await _prepared(repl)
    result = await repl.run(
        "import os\nwhile True:\n    try: os.fork()\n    except OSError: pass", seconds=0.5
    )
    assert result.outcome in ("rolled_back", "interrupted", "restarted")
    assert await repl.show("1 + 1") == "2"


async def test_with_threads_a_crash_starts_anew_and_says_what_is_lost(open_repl: Opener) -> None:
    repl = await open_repl("the context")
    await _prepared(repl)
    await repl.show(
        "import threading, time\nt = threading.Thread(target=time.sleep, args=(600,), daemon=True)\nt.start()"
    )
    result = await repl.run("x = 1")
    assert result.outcome == "ok"
    assert any("threads are running" in note for note in result.notes)
    assert (await repl.run("y = 1")).notes == ()
    result = await repl.run("import os; os._exit(4)")
    assert result.outcome == "restarted"
    note = " ".join(result.notes)
    assert "began anew with the context alone" in note
    assert "os._exit(4)" in note
    assert "kept" in note
    assert await repl.show("context, 'kept' in globals()") == "('the context', False)"
    assert (await repl.run("import os; os._exit(4)")).outcome == "rolled_back"


async def test_with_threads_a_hang_starts_anew(repl: Session) -> None:
    await repl.show(
        "import threading, time\nt = threading.Thread(target=time.sleep, args=(600,), daemon=True)\nt.start()"
    )
    result = await repl.run("sum(range(10**12))", seconds=0.1)
    assert result.outcome == "restarted"
    assert any("did not react" in note for note in result.notes)
    assert await repl.show("context") == "'the context'"


async def test_what_is_undone_with_threads_is_what_the_docs_say(repl: Session) -> None:
    """The cell that starts the first one, and those after the last one; not what lies between."""
    start = "import threading\ngo = threading.Event()\nt = threading.Thread(target=go.wait)\nt.start()"
    await repl.show("kept = 1")
    result = await repl.run(f"{start}\nimport os\nos._exit(4)")
    assert result.outcome == "rolled_back"
    assert await repl.show(f"{start}\nkept") == "1"
    result = await repl.run("x = 2\nwhile True: pass", seconds=0.2)
    assert result.outcome == "interrupted"
    assert await repl.show("go.set()\nt.join()\nkept, x") == "(1, 2)"
    for _ in range(2):
        assert (await repl.run("import os\nos._exit(4)")).outcome == "rolled_back"
    pool = "from concurrent.futures import ThreadPoolExecutor\nwith ThreadPoolExecutor(3) as pool: list(pool.map(abs, [1]))"
    await repl.show(pool)
    assert (await repl.run("import os\nos._exit(4)")).outcome == "rolled_back"
    assert await repl.show("kept, x") == "(1, 2)"


async def test_a_thread_of_a_library_counts_as_one(repl: Session) -> None:
    """polars keeps a pool: a fork would hang in it, so there is no checkpoint, and no hang."""
    pytest.importorskip("polars")
    result = await repl.run(
        "import polars as pl\ndf = pl.DataFrame({'a': [1, 2, 2]}).group_by('a').len()\ndf.height"
    )
    assert result.output == "2\n"
    assert await repl.show("pl.DataFrame({'a': [3]}).select(pl.col('a').sum()).item()") == "3"


async def test_a_cell_that_kills_its_checkpoint_hurts_itself_alone(repl: Session) -> None:
    await repl.show("0")  # before the first cell there is no checkpoint
    result = await repl.run("import os, signal\nx = 1\nos.kill(os.getppid(), signal.SIGKILL)\nx = 2")
    assert result.outcome == "ok"
    assert await repl.show("x") == "2"
    result = await repl.run(
        "os.kill(os.getppid(), signal.SIGKILL)\nimport time; time.sleep(0.3)\nos._exit(1)"
    )
    assert result.outcome == "restarted"
    assert await repl.show("context") == "'the context'"


async def test_what_an_undone_cell_started_is_gone(repl: Session) -> None:
    code = "import os, time\nif os.fork() == 0:\n    time.sleep(0.5)\n    open('mark', 'w').write('alive')\n    os._exit(0)\n"
    assert (await repl.run(code + "time.sleep(0.1); os._exit(1)")).outcome == "rolled_back"
    await asyncio.sleep(0.8)
    assert await repl.show("import os; os.listdir('.')") == "[]"


async def test_cancelling_stops_the_cell_and_keeps_the_repl(repl: Session) -> None:
    await _prepared(repl)
    for code in ("while True: pass", "sum(range(10**12))"):
        task = asyncio.create_task(repl.run(code, seconds=600))
        await asyncio.sleep(0.2)
        task.cancel()
        started = time.monotonic()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert time.monotonic() - started < 5
        await _as_before(repl)


async def test_the_clock_stands_still_while_a_host_call_is_open(open_repl: Opener) -> None:
    async def slow(call: object) -> str:
        await asyncio.sleep(0.6)
        return "slow"

    repl = await open_repl(host=Host(llm_query=slow))
    result = await repl.run("llm_query('q')", seconds=0.4)
    assert result.outcome == "ok", result.notes
    assert result.seconds >= 0.6
    assert result.own_seconds < 0.4
    result = await repl.run("llm_query('q')\nwhile True: pass", seconds=0.3)
    assert result.outcome == "interrupted"
