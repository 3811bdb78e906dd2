"""Contexts that no memory holds: a generated log of 10 GB, an incident in it, a scripted model that finds it.

`scripts/bench contexts [--gb N] [--folder DIR]`: makes the log in a temporary folder, asks in the default
sandbox, checks that the answer is the line that was planted, by its number and to the byte, and compares with
what the system's tools take for the same file in the same run. Peak memory is the sum of PSS over this
process and all that descend from it, sampled ten times a second. The log is removed at the end.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import shutil
import subprocess
import sys
import tempfile
import threading
from dataclasses import dataclass
from pathlib import Path
from time import perf_counter

import measure

from unspool import RLM
from unspool.sandbox.keeper import descendants
from unspool.testing import ScriptedModel

GB = 10**9
BLOCK = 64_000_000
MEMORY_GOAL = 500_000_000
KEPT_FREE = 5 * GB  # of the disk
INCIDENT = "2026-11-29T03:14:07.159Z FATAL db-17 replica lost: ledger é 9f3c diverged at offset 48,112,907"


def block() -> bytes:
    """Lines of a log, ASCII, all of one block."""
    draw = random.Random(7)
    levels = ("INFO", "INFO", "INFO", "DEBUG", "WARN")
    verbs = ("served", "cached", "retried", "queued", "flushed")
    lines, size = [], 0
    while size < BLOCK:
        clock = f"{draw.randrange(24):02}:{draw.randrange(60):02}:{draw.randrange(60):02}"
        line = (
            f"2026-11-29T{clock}.{draw.randrange(1000):03}Z {draw.choice(levels)} "
            f"web-{draw.randrange(40):02} {draw.choice(verbs)} "
            f"/v1/items/{draw.randrange(10**6)} in {draw.randrange(900)} ms user={draw.randrange(10**5)}\n"
        ).encode()
        lines.append(line)
        size += len(line)
    return b"".join(lines)


@dataclass(frozen=True)
class Planted:
    size: int
    lines: int
    number: int  # of the incident's line, from 1


def make_log(path: Path, size: int) -> Planted:
    """The log, with the incident in the middle of a block at about two thirds."""
    one = block()
    cut = one.rfind(b"\n", 0, len(one) * 3 // 5) + 1
    count, incident = max(1, size // len(one)), INCIDENT.encode() + b"\n"
    place = count * 2 // 3
    lines, number = one.count(b"\n"), 0
    with path.open("wb", buffering=0) as file:
        for at in range(count):
            if at == place:
                file.write(one[:cut])
                file.write(incident)
                file.write(one[cut:])
                number = at * lines + one.count(b"\n", 0, cut) + 1
            else:
                file.write(one)
    return Planted(path.stat().st_size, count * lines + 1, number)


class Peak:
    """The most memory that this process and its descendants had at once, while it was watched."""

    def __init__(self) -> None:
        self.bytes = 0
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._watch)

    def __enter__(self) -> Peak:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        self._thread.join()

    def _watch(self) -> None:
        while not self._over.wait(0.1):
            me = os.getpid()
            self.bytes = max(self.bytes, sum(map(pss, (me, *descendants(me)))))


def pss(pid: int) -> int:
    try:
        with open(f"/proc/{pid}/smaps_rollup", "rb") as file:
            return next(int(line.split()[1]) * 1024 for line in file if line.startswith(b"Pss:"))
    except (OSError, StopIteration):
        return 0


CELLS = (
    "print(context[:300])\nprint(context[-300:])",
    "hits = grep('FATAL', limit=5)\nprint(hits)",
    "number = int(hits[0].split(':')[0])\nprint(context.line(number - 1))\n"
    "submit({'line': number, 'text': context.line(number)})",
)
LENGTH = ("print(len(context), context.line_count)\nsubmit(len(context))",)


class Clocked(ScriptedModel):
    """Notes when it was first asked."""

    first: float = 0.0

    async def complete(self, request):  # type: ignore[no-untyped-def]
        self.first = self.first or perf_counter()
        return await super().complete(request)


def ask(path: Path, cells: tuple[str, ...]) -> tuple[object, float, float]:
    """The answer, the seconds to it, and to the first request."""
    model = Clocked([f"```python\n{cell}\n```" for cell in cells])
    started = perf_counter()
    run = RLM(model, runs=False, cell_seconds=3600).run("What happened?", path)
    if run.status != "answered":
        sys.exit(f"the run ended {run.status}: {run.reason}")
    return run.answer, perf_counter() - started, model.first - started


def tool(*command: str) -> float:
    started = perf_counter()
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL, env={**os.environ, "LC_ALL": "C"})
    return perf_counter() - started


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--gb", type=float, default=10.0)
    parser.add_argument("--folder", default=tempfile.gettempdir())
    parser.add_argument("--json", action="store_true")
    given = parser.parse_args()
    free = shutil.disk_usage(given.folder).free - KEPT_FREE
    size = min(int(given.gb * GB), free)
    if size < BLOCK:
        sys.exit(f"{given.folder} has no room for a log: give --folder")
    if size < given.gb * GB:
        print(f"only {size / GB:.1f} GB: the disk has no room for more", file=sys.stderr)
    RLM(ScriptedModel(["```python\nprint(1)\nsubmit(1)\n```"]), runs=False).run("warm?", "up")
    with tempfile.TemporaryDirectory(dir=given.folder) as folder:
        path = Path(folder) / "incident.log"
        started = perf_counter()
        planted = make_log(path, size)
        print(f"{planted.size / GB:.2f} GB made in {perf_counter() - started:.0f} s", file=sys.stderr)
        with Peak() as peak:
            answer, seconds, first = ask(path, CELLS)
        floor = tool("grep", "-n", "FATAL", str(path))
        if answer != {"line": planted.number, "text": INCIDENT}:
            sys.exit(f"wrong: {answer} is not line {planted.number}: {INCIDENT}")
        with Peak() as peak_length:
            length, length_seconds, _ = ask(path, LENGTH)
        length_floor = tool("wc", "-lm", str(path))
    if length != planted.size - len(INCIDENT.encode()) + len(INCIDENT):
        sys.exit(f"wrong: {length} characters")
    most = max(peak.bytes, peak_length.bytes)
    rows = [
        measure.row("incident found and cited", [seconds], "grep -n FATAL", [floor], "–", 1e9),
        measure.row("len() and line_count", [length_seconds], "wc -lm", [length_floor], "–", 1e9),
        measure.row("run() to first request", [first], "–", [first], "≤ 1 s", 1.0),
    ]
    if given.json:
        print(
            json.dumps({"gb": planted.size / GB, "peak_pss": most, "rows": json.loads(measure.as_json(rows))})
        )
        return
    print(measure.table(rows))
    verdict = "met" if most <= MEMORY_GOAL else "**missed**"
    print(f"\npeak PSS of all processes: {most / 1e6:.0f} MB (goal: at most 500 MB, {verdict})")
    print(f"line {planted.number:,} of {planted.lines:,}, to the byte")


if __name__ == "__main__":
    main()
