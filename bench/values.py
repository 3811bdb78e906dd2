"""How fast large values reach a REPL, each beside a floor measured in the same run.

``scripts/bench values [--json FILE] [--quick]`` prints a table. The floor is what it takes to copy as many
bytes into a file in memory once: less is not to be had, because the caller may change its own value.
"""

from __future__ import annotations

import argparse
import asyncio
import mmap
import os
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))  # run as a file

from measure import Row, report, row


def floor_of(size: int) -> float:
    """One copy of ``size`` bytes into a file in memory."""
    source = mmap.mmap(-1, size)
    for page in range(0, size, mmap.PAGESIZE):
        source[page] = 1
    view = memoryview(source)
    started = time.perf_counter()
    fd = os.memfd_create("floor")
    done = 0
    while done < size:
        done += os.write(fd, view[done:])
    took = time.perf_counter() - started
    os.close(fd)
    view.release()
    source.close()
    return took


async def reached(value: object, code: str) -> float:
    """From the value on this side to the first cell that has read some of it."""
    from unspool.sandbox.process import ProcessSandbox
    from unspool.sandbox.protocol import HostCall, HostReply, ReplSpec

    async def on_call(call: HostCall) -> HostReply:
        return HostReply()

    sandbox = ProcessSandbox("process")
    warm = await sandbox.open(ReplSpec(""), on_call)
    await warm.execute("1", seconds=60)
    started = time.perf_counter()
    repl = await sandbox.open(ReplSpec(value), on_call)
    result = await repl.execute(code, seconds=60)
    took = time.perf_counter() - started
    assert result.outcome == "ok", result
    await sandbox.close()
    return took


def rows(rounds: int, size: int) -> list[Row]:
    import numpy
    import pandas
    import polars
    import pyarrow

    cells = size // 8
    numbers = numpy.arange(cells, dtype="float64")
    columns = {f"c{i}": numbers[i * (cells // 8) : (i + 1) * (cells // 8)] for i in range(8)}
    some = pyarrow.array([f"row {i} of a table with words in it" for i in range(100_000)])
    texts = pyarrow.table({"t": pyarrow.chunked_array([some] * (size // 4_000_000))}).to_pandas()
    few = cells // 8
    name = f"{size / 1e9:.2g} GB"
    values = (
        (f"NumPy array, {name}", numbers, "float(context[-1])", 1.2),
        (f"pandas frame of numbers, {name}", pandas.DataFrame(columns), "float(context['c7'].iloc[-1])", 1.2),
        (f"polars frame of numbers, {name}", polars.DataFrame(columns), "context['c7'][-1]", 1.5),
        (f"Arrow table of numbers, {name}", pyarrow.table(columns), "context['c7'][-1]", 1.2),
        (f"pandas frame of texts, {name}", texts, "context['t'].iloc[-1]", 1.5),
        (f"dict of nine texts, {name}", dict(enumerate(["x" * (size // 10)] * 9)), "context[8][-1]", 1.5),
        (f"list of numbers, {few:,} items", list(range(few)), "context[-1]", 5.0),
    )  # fmt: skip
    found = []
    for what, value, code, seconds in values:
        limit = max(0.5, seconds * size / 1e9)
        took, floors = [], []
        for _ in range(rounds):
            took.append(asyncio.run(reached(value, code)))
            floors.append(floor_of(size))
        found.append(row(what, took, "one copy of as many bytes", floors, f"≤ {limit:g} s", limit))
    return found


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--json", type=Path, help="write the figures to this file, too")
    parser.add_argument("--quick", action="store_true", help="a tenth of the size, one round")
    arguments = parser.parse_args()
    found = rows(1, 100_000_000) if arguments.quick else rows(3, 1_000_000_000)
    return report(found, arguments.json)


if __name__ == "__main__":
    sys.exit(main())
