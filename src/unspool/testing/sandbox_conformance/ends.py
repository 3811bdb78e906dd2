"""Checks of how cells and REPLs end: limits, crashes, cancelling, closing; and that two are two."""

from __future__ import annotations

import asyncio
import contextlib
import time

from ...errors import SandboxLost
from ...sandbox.protocol import CellResult, HostCall
from .bench import SECONDS, Bench, Fails, ScriptedHost, Session, check, holds, same

_HANGS = ("while True: pass", "import time\ntime.sleep(3_600)", "import re\nre.match('(a+)+b', 'a' * 60)")
_ATTACKS = (
    "import os\nfor fd in range(3, 64):\n    try: os.write(fd, bytes(range(256)) * 50)\n"
    "    except OSError: pass",
    "import os\nos.closerange(3, 200)",
)
_ASKS = (
    "llm_query('p')\nwhile True: pass",
    "import threading, time\nthreading.Thread(target=tool, daemon=True).start()\n"
    "while True: time.sleep(0.01)",
)
_BEATS = """
import threading, time
def beat():
    while True:
        tool('beat')
        time.sleep(0.02)
threading.Thread(target=beat, daemon=True).start()
while True: time.sleep(0.01)
"""
_STOPPED = ("interrupted", "rolled_back", "restarted")


async def _begun(bench: Bench, memory: int | None = None) -> Session:
    """A REPL with a variable of an earlier cell."""
    repl = await bench.open(memory=memory)
    await repl.shows("before = [1]", "")
    return repl


async def _goes_on(repl: Session, result: CellResult, before: str) -> None:
    """After a cell that was stopped: the outcome says what is left, and it is."""
    holds(bool(result.notes), "no note says why it was stopped")
    await repl.shows("context", "'the context'")
    kept = result.outcome != "restarted"
    await repl.shows("'before' in globals()", str(kept))
    if kept:
        await repl.shows("before", before)
    else:
        holds(any("before" in note for note in result.notes), f"no note says what was lost: {result.notes}")


@check("a cell that hangs is stopped at its limit; the outcome says what is left")
async def hangs(bench: Bench) -> None:
    for code in _HANGS:
        repl = await _begun(bench)
        began = time.monotonic()
        result = await repl.run(f"print('begun')\nbefore.append(2)\n{code}", seconds=0.5)
        holds(time.monotonic() - began < SECONDS, f"{code!r} was not stopped for long")
        holds(result.outcome in _STOPPED, f"{code!r} ended as {result.outcome}")
        holds(result.output.startswith("begun"), "what it printed is lost")
        await _goes_on(repl, result, "[1, 2]" if result.outcome == "interrupted" else "[1]")
        await repl.repl.close()


@check("a cell that ignores interrupts is ended all the same")
async def stubborn(bench: Bench) -> None:
    repl = await _begun(bench)
    result = await repl.run("before.append(2)\nwhile True:\n    try:\n        while True: pass\n"
                            "    except KeyboardInterrupt:\n        pass", seconds=0.5)  # fmt: skip
    holds(result.outcome in _STOPPED, f"it ended as {result.outcome}")
    await _goes_on(repl, result, "[1, 2]" if result.outcome == "interrupted" else "[1]")


@check("a loop in C that ignores interrupts is undone", "rollback")
async def rolled_back(bench: Bench) -> None:
    repl = await _begun(bench)
    result = await repl.run("print('begun')\nbefore.append(2)\nsum(range(10**13))", seconds=0.5)
    same((result.outcome, result.output), ("rolled_back", "begun\n"), "outcome and output")
    await _goes_on(repl, result, "[1]")


@check("a crash is undone", "rollback")
async def crash_undone(bench: Bench) -> None:
    repl = await _begun(bench)
    for code in ("import os\nos._exit(3)", "import ctypes\nctypes.string_at(0)"):
        result = await repl.run(f"before.append(2)\n{code}")
        same(result.outcome, "rolled_back", code)
        await _goes_on(repl, result, "[1]")


@check("after a crash there is a REPL with the context, and a note of what was lost")
async def crashes(bench: Bench) -> None:
    repl = await _begun(bench)
    result = await repl.run("before.append(2)\nimport os\nos._exit(3)")
    holds(result.outcome in ("rolled_back", "restarted"), f"it ended as {result.outcome}")
    await _goes_on(repl, result, "[1]")


@check("a crash in the first cell leaves a REPL with the context")
async def first_crash(bench: Bench) -> None:
    repl = await bench.open()
    result = await repl.run("import os\nos._exit(3)")
    holds(result.outcome in ("rolled_back", "restarted"), f"it ended as {result.outcome}")
    await repl.shows("context", "'the context'")


@check("memory has a limit", "memory")
async def memory(bench: Bench) -> None:
    repl = await _begun(bench, memory=256 << 20)
    result = await repl.run("hog = []\nfor i in range(4_000): hog.append(bytearray(b'x') * 1_000_000)")
    if result.outcome == "error":
        same(result.error and result.error.type, "MemoryError", "type")
        await repl.run("hog = None")
    else:
        holds(result.outcome in _STOPPED, f"it ended as {result.outcome}")
        holds(any("memory" in note for note in result.notes), f"no note says why: {result.notes}")
    await repl.shows("context", "'the context'")


@check("an attack on the REPL's own descriptors costs that REPL at most", "sabotage")
async def sabotage(bench: Bench) -> None:
    other = await bench.open("another")
    for code in _ATTACKS:
        repl = await _begun(bench)
        result = await repl.run(code, seconds=5.0)
        holds(result.outcome in (*_STOPPED, "ok", "error"), f"it ended as {result.outcome}")
        await repl.shows("context", "'the context'")
        await repl.repl.close()
    await other.shows("context", "'another'")


@check("cancelling stops the cell and its host calls, and the REPL goes on")
async def cancelled(bench: Bench) -> None:
    asked, left = asyncio.Event(), asyncio.Event()

    async def never(call: HostCall) -> object:
        asked.set()
        try:
            await asyncio.sleep(3_600)
        finally:
            left.set()
        return None

    repl = await bench.open(host=ScriptedHost(llm_query=never, tool=never))
    for code in _ASKS:
        for event in (asked, left):
            event.clear()
        running = asyncio.ensure_future(repl.run(code, 3_600))
        await asyncio.wait_for(asked.wait(), SECONDS)
        running.cancel()
        done, _ = await asyncio.wait([running], timeout=SECONDS)
        holds(bool(done) and running.cancelled(), "the cell was not cancelled")
        holds(left.is_set(), "a host call is still open")
        result = await repl.run("print(context)")  # behind what a thread may have said of its end
        same((result.outcome, result.output[-12:]), ("ok", "the context\n"), "the next cell")


@check("a cell that is over has no voice: what it left running makes no host calls")
async def no_voice(bench: Bench) -> None:
    repl = await bench.open()
    await repl.run(
        "import threading, time\nstop = False\ndef nag():\n    while not stop:\n        try: tool('nag')\n"
        "        except BaseException: pass\n        time.sleep(0.02)\n"
        "threading.Thread(target=nag, daemon=True).start()\ntime.sleep(0.2)"
    )
    await asyncio.sleep(0.1)
    before = len(repl.host.calls)
    await asyncio.sleep(0.5)
    same(len(repl.host.calls), before, "calls while no cell runs")
    await repl.run("stop = True")


@check("closing ends a cell that runs, and everything that it started")
async def closing(bench: Bench) -> None:
    beats = asyncio.Event()

    async def beat(call: HostCall) -> object:
        beats.set()
        return None

    repl = await bench.open(host=ScriptedHost(tool=beat))
    running = asyncio.ensure_future(repl.run(_BEATS, 3_600))
    await asyncio.wait_for(beats.wait(), SECONDS)
    await asyncio.wait_for(repl.repl.close(), SECONDS)
    done, _ = await asyncio.wait([running], timeout=SECONDS)
    holds(bool(done), "the cell still runs")
    holds(isinstance(running.exception(), SandboxLost), f"it ended with {running.exception()!r}")
    await asyncio.sleep(0.1)
    before = len(repl.host.calls)
    await asyncio.sleep(0.4)
    same(len(repl.host.calls), before, "calls after the end")


@check("closing twice is fine; a cell after it raises SandboxLost")
async def closed_twice(bench: Bench) -> None:
    repl = await bench.open()
    await repl.shows("1", "1")
    for _ in range(2):
        await asyncio.wait_for(repl.repl.close(), SECONDS)
    try:
        await repl.run("1")
    except SandboxLost:
        return
    raise Fails("a cell ran in a REPL that is closed")


@check("closing the sandbox closes its REPLs; twice is fine")
async def sandbox_closed(bench: Bench) -> None:
    repls = [await bench.open(), await bench.open()]
    for _ in range(2):
        await asyncio.wait_for(bench.sandbox.close(), SECONDS)
    for repl in repls:
        with contextlib.suppress(SandboxLost):
            await repl.run("1")
            raise Fails("a cell ran in a sandbox that is closed")


@check("two REPLs do not see each other's names")
async def two_are_two(bench: Bench) -> None:
    a, b = await asyncio.gather(bench.open("a"), bench.open("b"))
    await a.shows("mine = 1\ncontext", "'a'")
    await b.shows("'mine' in globals(), context", "(False, 'b')")


@check("two REPLs are two interpreters", "apart")
async def two_interpreters(bench: Bench) -> None:
    a, b = await asyncio.gather(bench.open("a"), bench.open("b"))
    await a.shows("import json, builtins\njson.leak = builtins.leak = 1\n", "")
    await b.shows("import json, builtins\nhasattr(json, 'leak'), hasattr(builtins, 'leak')", "(False, False)")


@check("cells of two REPLs run at the same time")
async def side_by_side(bench: Bench) -> None:
    together = asyncio.Barrier(2)

    async def meet(call: HostCall) -> object:
        await together.wait()
        return None

    a, b = [await bench.open(host=ScriptedHost(tool=meet)) for _ in "ab"]
    await asyncio.wait_for(asyncio.gather(a.shows("tool()", ""), b.shows("tool()", "")), SECONDS)


@check("cells of one REPL wait for each other")
async def in_turn(bench: Bench) -> None:
    repl = await bench.open()
    await repl.shows("log = []", "")
    code = "import time\nlog.append('in'); time.sleep(0.05); log.append('out')"
    await asyncio.gather(*[repl.shows(code, "") for _ in range(3)])
    await repl.shows("log == ['in', 'out'] * 3", "True")
