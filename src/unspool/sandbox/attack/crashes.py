"""Cells that hang, crash or take too much: stopped within bounds, and everything earlier is kept.

Like the ways out, none does harm where nothing stops it: each ends by itself after taking a bounded
amount (twice the limit of its REPL) or a bounded time.

>>> sorted({crash.protection for crash in CRASHES})
['crashes', 'forks', 'memory', 'scratch', 'time']
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Mapping
from dataclasses import dataclass

from ..process import ProcessSandbox
from ..protocol import CellResult
from .arena import opened, shown

MEMORY = 256 << 20
_WITHIN = 15.0  # seconds in which a cell with a limit of less than one has to be over
_TWICE = 2 * MEMORY >> 20


@dataclass(frozen=True, slots=True)
class Crash:
    """One of them. ``raises``: errors of its own that are a refusal, too. ``ruins``: it speaks for its
    REPL and garbles that, so the REPL begins anew with the context alone."""

    protection: str
    name: str
    code: str
    seconds: float = 20.0
    raises: tuple[str, ...] = ()
    ruins: bool = False

    def held(self, result: CellResult) -> bool:
        if result.outcome == "rolled_back" or (self.protection == "time" and result.outcome == "interrupted"):
            return True
        if self.ruins and result.outcome == "restarted":
            return True
        return result.error is not None and any(kind in result.error.type for kind in self.raises)


def _group(
    protection: str, codes: Mapping[str, str], *, seconds: float = 20.0, raises: tuple[str, ...] = ()
) -> list[Crash]:
    return [Crash(protection, name, code, seconds, raises) for name, code in codes.items()]


_UNTIL = "import time\nend = time.monotonic() + 20\n"
CRASHES = [
    *_group("memory", {
        "one block": f"x = bytearray({_TWICE} << 20)",
        "a list that grows": f"x = [bytearray(1 << 20) for _ in range({_TWICE})]",
        "many small things": "x = [[0] * 5 for _ in range(8_000_000)]",
        "a mapping": (
            f"import mmap\nx = mmap.mmap(-1, {_TWICE} << 20)\n"
            "for at in range(0, len(x), 4096): x[at] = 1"
        ),
        "a file in memory": (
            f"import os\nfd = os.memfd_create('x')\nfor _ in range({_TWICE}): os.write(fd, bytes(1 << 20))\n"
            "import time; time.sleep(2)"
        ),
        "several processes": (
            "import os, time\nfor _ in range(6):\n    if not os.fork():\n"
            f"        x = b'x' * ({_TWICE // 4} << 20); time.sleep(5); os._exit(0)\ntime.sleep(4)"
        ),
    }, raises=("MemoryError",)),
    *_group("forks", {
        "processes that wait": """
import os
waits, lets_go = os.pipe()
for _ in range(400):
    if not os.fork():
        os.close(lets_go); os.read(waits, 1); os._exit(0)
import time; time.sleep(5)
""",
        "processes that double": (
            "import os, time\nfirst = os.getpid()\nfor _ in range(8):\n    os.fork()\n"
            "time.sleep(3)\nif os.getpid() != first: os._exit(0)\ntime.sleep(2)"
        ),
        "threads": (
            "import threading, time\nfor _ in range(400):\n"
            "    threading.Thread(target=time.sleep, args=(3,)).start()\ntime.sleep(2)"
        ),
    }, raises=("BlockingIOError", "RuntimeError")),
    *_group("scratch", {
        "a file that grows": (
            "import time\nwith open('x', 'wb', 0) as file:\n"
            "    for _ in range(320): file.write(bytes(1 << 20))\n    time.sleep(2)"
        ),
    }, raises=("OSError",)),
    *_group("time", {
        "a loop": f"{_UNTIL}while time.monotonic() < end: pass",
        "sleep": "import time; time.sleep(20)",
        "a regex": "import re; re.match('(a+)+$', 'a' * 32 + 'b')",
        "a loop in C": "sum(range(10**9))",
        "a loop that catches all": (
            f"{_UNTIL}while time.monotonic() < end:\n    try:\n        while time.monotonic() < end: pass\n"
            "    except BaseException: pass"
        ),
        "ignores the signal": (
            f"import signal; signal.signal(signal.SIGINT, signal.SIG_IGN)\n{_UNTIL}"
            "while time.monotonic() < end: pass"
        ),
    }, seconds=0.2),
    *_group("crashes", {
        "os._exit": "import os; os._exit(3)",
        "a null pointer": "import ctypes; ctypes.string_at(0)",
        "abort": "import os; os.abort()",
        "all descriptors closed": "import os; os.closerange(3, 200)",
    }),
    Crash("crashes", "its own frames garbled", (
        "import gc\nw = next(o for o in gc.get_objects() if type(o).__name__ == 'Worker')\n"
        "w._channel.sendall(b'\\xff' * 999)\nimport time; time.sleep(2)"
    ), ruins=True),
]  # fmt: skip


async def fallen(sandbox: ProcessSandbox) -> Mapping[str, Mapping[str, str]]:
    """What happened, by protection and name; an empty text where the sandbox held."""
    found: dict[str, dict[str, str]] = {}
    for crash in CRASHES:
        found.setdefault(crash.protection, {})[crash.name] = await _try(sandbox, crash)
    return found


async def _try(sandbox: ProcessSandbox, crash: Crash) -> str:
    """A new REPL for each, with a variable that has to be there afterwards."""
    async with opened(sandbox, "the context", MEMORY) as repl:
        await shown(repl, "kept = {'n': 1}")
        started = time.monotonic()
        async with asyncio.timeout(60):
            result = await repl.execute(f"kept['n'] = 2\n{crash.code}", seconds=crash.seconds)
        took = time.monotonic() - started
        if not crash.held(result):
            return f"the cell ended {result.outcome} {result.error.type if result.error else ''}".rstrip()
        if crash.protection == "time" and took > _WITHIN:
            return f"it was stopped after {took:.0f} s only"
        expected = {"rolled_back": "{'n': 1}", "restarted": "gone"}.get(result.outcome, "{'n': 2}")
        after = await repl.execute("print(context, globals().get('kept', 'gone'))", seconds=20)
        if after.output.strip() != f"the context {expected}":
            return f"afterwards the REPL holds {after.output.strip()[:80]!r}"
    return ""
