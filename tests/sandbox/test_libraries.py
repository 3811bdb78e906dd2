"""Memory and time with what models really use: large libraries, many cells, many nodes, many forks."""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import Mapping

import pytest

from unspool.sandbox._node import node_memory
from unspool.sandbox.attack.targets import family
from unspool.sandbox.process import ProcessSandbox
from unspool.sandbox.protocol import HostReply, ReplSpec
from unspool.sandbox.zygote import FEW, MOST_SPARES

from .conftest import Opener

NODES = 200
CELLS = 1_000
FORKS = 600
MEMORY = 256 << 20


async def on_call(call: object) -> HostReply:
    return HostReply()


def files() -> int:
    return len(os.listdir("/proc/self/fd"))


def resident(pid: int) -> int:
    with open(f"/proc/{pid}/statm", "rb") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")


async def settled(pids: int, seconds: float = 20.0) -> bool:
    """Whether there are no more processes below this one than so many, soon."""
    deadline = time.monotonic() + seconds
    while len(family(os.getpid())) > pids:
        if time.monotonic() > deadline:
            return False
        await asyncio.sleep(0.05)
    return True


LIBRARIES = {
    "numpy": (
        "import numpy as np\nrng = np.random.default_rng(7)\na = rng.normal(size=(300, 300))",
        "b = np.linalg.inv(a); x = int(round(float(np.trace(a @ b))))",
        "x, a.shape",
        "(300, (300, 300))",
    ),
    "pandas": (
        "import pandas as pd\ndf = pd.DataFrame({'k': list('abc') * 2_000, 'v': range(6_000)})\ndf['k'] = df.k.astype('category')",
        "g = df.groupby('k', observed=True).v.sum(); df.to_parquet('t.parquet')",
        "g.to_dict(), pd.read_parquet('t.parquet').equals(df)",
        "({'a': 5997000, 'b': 5999000, 'c': 6001000}, True)",
    ),
    "pyarrow": (
        "import pyarrow as pa, pyarrow.compute as pc, pyarrow.parquet as pq\nt = pa.table({'v': range(10_000)})",
        "s = pc.sum(t['v']).as_py(); pq.write_table(t, 't.parquet')",
        "s, pq.read_table('t.parquet').num_rows",
        "(49995000, 10000)",
    ),
    "a pool of threads": (
        "from concurrent.futures import ThreadPoolExecutor\nimport threading",
        "with ThreadPoolExecutor(16) as pool: r = sum(pool.map(lambda n: sum(range(n)), range(500)))",
        "r, threading.active_count()",
        "(20708500, 1)",
    ),
    "late imports": (
        "import xml.dom.minidom, tomllib, http.cookies, wave, numpy.polynomial, numpy.ma, sched",
        "import numpy.fft as fft, pyarrow.csv as csv; d = xml.dom.minidom.parseString('<a><b/></a>')",
        "d.documentElement.tagName, len(fft.fft([1, 2, 3, 4]))",
        "('a', 4)",
    ),
    "mmap": (
        "import mmap\nopen('f', 'wb').write(bytes(1 << 20))\nf = open('f', 'r+b')\nm = mmap.mmap(f.fileno(), 0)",
        "m[5] = 7; m.flush(); n = mmap.mmap(-1, 1 << 24); n[1 << 20] = 9",
        "open('f', 'rb').read()[5], m[5], n[1 << 20]",
        "(7, 7, 9)",
    ),
    "deep recursion": (
        "import sys\nsys.setrecursionlimit(20_000)\ndef deep(n): return 0 if n == 0 else 1 + deep(n - 1)",
        "d = deep(15_000)",
        "d",
        "15000",
    ),
}


@pytest.mark.parametrize("kind", ["process", "landlock"])
@pytest.mark.parametrize("name", LIBRARIES)
async def test_a_library_works_across_cells_and_rollback(open_repl: Opener, name: str, kind: str) -> None:
    if name == "pandas" or name == "pyarrow":
        pytest.importorskip(name)
    first, second, show, expected = LIBRARIES[name]
    repl = await open_repl("the context", kind=kind, memory=MEMORY)
    await repl.show(first)
    result = await repl.run("import os; os._exit(5)")
    # A library that keeps threads of its own leaves no checkpoint: then the REPL says so and begins anew.
    assert result.outcome in ("rolled_back", "restarted"), result
    if result.outcome == "restarted":
        assert "began anew" in " ".join(result.notes)
        await repl.show(first)
    result = await repl.run(second)
    assert result.outcome == "ok", (result.error, result.notes)
    assert await repl.show(show) == expected
    assert await repl.show("context") == "'the context'"


async def test_polars_keeps_its_threads_and_the_limits_hold(open_repl: Opener) -> None:
    pytest.importorskip("polars")
    repl = await open_repl("the context", memory=MEMORY)
    await repl.show("import polars as pl\ndf = pl.DataFrame({'a': range(10_000)})")
    assert (
        await repl.show("df.lazy().filter(pl.col('a') % 2 == 0).select(pl.len()).collect().item()") == "5000"
    )
    result = await repl.run("x = bytearray(2 * 2**30)")
    assert result.outcome in ("error", "restarted", "rolled_back"), result
    assert await repl.show("context") == "'the context'"


async def test_a_mapping_past_the_limit_is_refused_or_undone(open_repl: Opener) -> None:
    repl = await open_repl(memory=MEMORY)
    await repl.show("import numpy as np\nkept = np.arange(10)")
    result = await repl.run("x = np.ones(2 * 10**8)")
    assert result.outcome in ("error", "rolled_back")
    result = await repl.run("def deep(n): return deep(n + 1)\ndeep(0)")
    assert result.error is not None
    assert result.error.type == "RecursionError"
    assert await repl.show("kept.sum()") in ("45", "np.int64(45)")


async def test_a_thousand_cells_in_one_node_leak_nothing(open_repl: Opener) -> None:
    repl = await open_repl("the context", memory=MEMORY)
    await repl.show("import numpy as np, os\nn = 0")
    for _ in range(50):
        await repl.run("n += 1")
    before_files, before_pids = files(), len(family(os.getpid()))
    measure = "import resource, os; len(os.listdir('/dev/shm')) if 0 else resource.getrusage(resource.RUSAGE_SELF).ru_maxrss"
    before = int(await repl.show(measure))
    for _ in range(CELLS):
        result = await repl.run("n += 1\ntemp = np.ones(1000)\nprint(n)")
        assert result.outcome == "ok", result
    assert await repl.show("n") == str(CELLS + 50)
    assert int(await repl.show(measure)) < before + (32 << 10)  # KiB
    assert files() <= before_files + 2
    assert await settled(before_pids + 4)


async def test_two_hundred_nodes_at_once(sandboxes: Mapping[str, ProcessSandbox]) -> None:
    sandbox = sandboxes["process"]
    warm = await sandbox.open(ReplSpec("x"), on_call)
    await warm.close()
    await asyncio.sleep(0.3)
    before_files, before_pids = files(), len(family(os.getpid()))
    text = "0123456789" * 100_000
    repls = await asyncio.gather(
        *[sandbox.open(ReplSpec(text, memory=MEMORY), on_call) for _ in range(NODES)]
    )
    try:
        results = await asyncio.gather(
            *[repl.execute(f"mine = {n}\nlen(context) + mine", seconds=60) for n, repl in enumerate(repls)]
        )
        assert [result.output for result in results] == [f"{len(text) + n}\n" for n in range(NODES)]
        together = node_memory(family(os.getpid()))
        assert together / NODES < 40 << 20, f"{together / NODES / 1e6:.1f} MB a node"
        results = await asyncio.gather(*[repl.execute("mine", seconds=60) for repl in repls])
        assert [result.output for result in results] == [f"{n}\n" for n in range(NODES)]
    finally:
        await asyncio.gather(*[repl.close() for repl in repls])
    # Where a crowd was asked for, more nodes wait for the next: a keeper and a worker each.
    assert await settled(before_pids + 2 + 2 * (MOST_SPARES - FEW))
    assert files() <= before_files + 2


async def test_many_forks_leak_neither_descriptors_nor_processes_nor_memory(
    sandboxes: Mapping[str, ProcessSandbox],
) -> None:
    """Each node is two forks, each cell one more; `scripts/bench soak` goes on for as long as you like."""
    sandbox = sandboxes["process"]

    async def round_of(count: int) -> None:
        for n in range(count // 4):
            repl = await sandbox.open(ReplSpec("x" * 1_000, memory=MEMORY), on_call)
            await repl.execute(f"n = {n}", seconds=30)
            assert (await repl.execute("n", seconds=30)).output == f"{n}\n"
            await repl.close()

    await round_of(80)
    await asyncio.sleep(0.3)
    pids = family(os.getpid())
    zygotes = [pid for pid in pids if resident(pid) > 60 << 20]
    before = files(), len(pids), resident(os.getpid()), {pid: resident(pid) for pid in zygotes}
    await round_of(FORKS)
    assert await settled(before[1] + 2)
    assert files() <= before[0] + 2
    assert resident(os.getpid()) < before[2] + (24 << 20)
    for pid, was in before[3].items():
        if pid in family(os.getpid()):
            assert resident(pid) < was + (16 << 20)
