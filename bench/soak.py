"""Runs that fail in every way, for a long time: memory has to stay flat, and nothing may be left.

``scripts/bench soak [--minutes 30] [--json FILE]``. Runs over a server that answers with errors, cut bodies
and late replies (``serve.py --faults``) and that writes cells which crash, hang, fork, and take too much;
some runs are cancelled on the way. Between two rounds it measures, in the quiet: memory of the host and of
all sandbox processes, descriptors, processes, threads. It ends with 1 if the last third of the rounds is
above the second third by more than a tenth and 24 MB, or if anything is left after the engine.
"""

from __future__ import annotations

import argparse
import asyncio
import atexit
import json
import os
import random
import statistics
import sys
import threading
import time
from collections import Counter
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING

sys.path.insert(0, str(Path(__file__).parent))  # run as a file

from measure import runs_apart

from engine import engine_model, server

if TYPE_CHECKING:
    from unspool import RLM

RUNS, AT_ONCE = 24, 6  # of a round
CANCELLED = 0.1  # of the runs
SLACK = 24 << 20
MEMORY = 256 << 20
CONTEXT = "one line of text\n" * 2_000


@dataclass(frozen=True)
class Sample:
    """What there is between two rounds. Memory in bytes; ``sandbox``: of all its processes together."""

    seconds: float
    runs: int
    host: int
    sandbox: int
    descriptors: int
    processes: int
    threads: int


def look(started: float, runs: int, aside: int) -> Sample:
    """``aside``: the server's process, which is no part of it."""
    from unspool.sandbox._node import node_memory

    pids = [pid for pid in below() if pid != aside]
    return Sample(
        time.monotonic() - started, runs, node_memory([os.getpid()]), node_memory(pids),
        len(os.listdir("/proc/self/fd")), len(pids), threading.active_count(),
    )  # fmt: skip


def below() -> list[int]:
    from unspool.sandbox.keeper import descendants

    return descendants(os.getpid())


async def quiet(aside: int, most: int = 12) -> None:
    """Until the nodes of the last round are gone: the zygote and its spare nodes stay."""
    for _ in range(200):
        if len([pid for pid in below() if pid != aside]) <= most:
            break
        await asyncio.sleep(0.05)


async def round_of_runs(engine: RLM, chance: random.Random, seen: Counter[str]) -> None:
    gate = asyncio.Semaphore(AT_ONCE)

    async def one(cancel_after: float | None) -> None:
        async with gate:
            run = asyncio.create_task(engine.arun("How long is it?", CONTEXT))
            if cancel_after is not None:
                await asyncio.wait([run], timeout=cancel_after)
                run.cancel()
            try:
                seen[(await run).status] += 1
            except asyncio.CancelledError:
                seen["cancelled"] += 1

    async with asyncio.TaskGroup() as group:
        for _ in range(RUNS):
            cancelled = chance.random() < CANCELLED
            group.create_task(one(chance.uniform(0, 1.5) if cancelled else None))


async def soak(url: str, minutes: float, aside: int) -> tuple[list[Sample], Counter[str]]:
    from unspool import RLM, Budget

    engine = RLM(
        engine_model(url),  # type: ignore[arg-type]
        max_turns=6, cell_seconds=0.3, cell_memory=MEMORY, budget=Budget(seconds=20),
    )  # fmt: skip
    chance, samples, seen = random.Random(1), list[Sample](), Counter[str]()
    started = time.monotonic()
    while not samples or time.monotonic() - started < 60 * minutes:
        await round_of_runs(engine, chance, seen)
        await quiet(aside)
        samples.append(look(started, sum(seen.values()), aside))
        print(line(samples[-1]), flush=True)
    await asyncio.to_thread(engine.close)
    return samples, seen


def line(sample: Sample) -> str:
    return (
        f"{sample.seconds:6.0f} s  {sample.runs:6} runs  host {sample.host / 1e6:6.1f} MB  "
        f"sandbox {sample.sandbox / 1e6:6.1f} MB  {sample.descriptors} descriptors  "
        f"{sample.processes} processes  {sample.threads} threads"
    )


def grown(samples: list[Sample]) -> list[str]:
    """What is not flat: the last third of the samples against the second."""
    third = len(samples) // 3
    if not third:
        return []
    found = []
    for name, slack in (
        ("host", SLACK), ("sandbox", SLACK), ("descriptors", 4), ("processes", 4), ("threads", 2),
    ):  # fmt: skip
        before = statistics.median(getattr(s, name) for s in samples[third : 2 * third])
        after = statistics.median(getattr(s, name) for s in samples[-third:])
        if after > 1.1 * before + slack:
            found.append(f"{name}: from {before:,.0f} to {after:,.0f}")
    return found


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--minutes", type=float, default=30.0)
    parser.add_argument("--json", type=Path, help="write the samples to this file, too")
    arguments = parser.parse_args()
    with server(faults=0.12) as url:
        (aside,) = below()
        samples, seen = asyncio.run(soak(url, arguments.minutes, aside))
        from unspool._runtime import runtime

        atexit.unregister(runtime().shut_down)
        runtime().shut_down()  # as at the end of a program
        left = [pid for pid in below() if pid != aside]
    problems = grown(samples)
    if left:
        problems.append(f"{len(left)} processes are left")
    if seen["answered"] < sum(seen.values()) / 4:
        problems.append("few runs were answered, so little was tried")
    print(f"\n{sum(seen.values())} runs: {', '.join(f'{n} {status}' for status, n in seen.most_common())}")
    print(f"Flat, nothing left: {'; '.join(problems) or 'yes'}.")
    if arguments.json:
        arguments.json.write_text(json.dumps([asdict(sample) for sample in samples]), encoding="utf-8")
    return 1 if problems else 0


if __name__ == "__main__":
    with runs_apart():
        status = main()
    sys.exit(status)
