"""REPLs that do without the libraries until their code names one, and that never have them ready."""

from __future__ import annotations

import asyncio
import signal
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path

import pytest

from unspool.sandbox.process import ProcessSandbox
from unspool.sandbox.protocol import ReplSpec
from unspool.sandbox.zygote import Libraries

from .conftest import Host
from .test_lifecycle import SRC, _started, alive, below

MADE = {"process": "'process'", "landlock": "'process', namespaces=False", "none": "'none'"}
SLOW = """
import os, time
while not os.path.exists(os.path.join(os.path.dirname(__file__), "go")):
    time.sleep(0.005)
"""
# A host where pandas takes as long to import as the test says.
HOSTED = """
import asyncio, os, site, sys
sys.path[:0] = [{src!r}, {packages!r}]
site.getsitepackages = lambda *_: [{packages!r}]
from unspool.sandbox.process import ProcessSandbox
from unspool.sandbox.protocol import HostReply, ReplSpec

HAS = "import sys\\nprint('pan' + 'das' in sys.modules)"  # says nothing of what it asks for
NAMES = "import pandas\\nprint(pandas.__name__)"
NAMED = "import sys\\nprint('pandas' in sys.modules)"

def go():
    open({packages!r} + "/pandas/go", "w").close()

async def on_call(call):
    return HostReply()

async def shown(repl, code):
    result = await repl.execute(code, seconds=60)
    assert result.outcome == "ok", result
    print(result.output.strip(), *result.notes, flush=True)

async def opened(**spec):
    return await sandbox.open(ReplSpec(**{{"context": "the context", **spec}}), on_call)

async def main():
{scenario}

sandbox = ProcessSandbox({made})
asyncio.run(main())
print("left:", open(f"/proc/self/task/{{os.getpid()}}/children").read().split())
"""


def script(folder: Path, kind: str, scenario: str) -> list[str]:
    """The command of a host that does ``scenario``."""
    pandas = folder / "packages" / "pandas"
    pandas.mkdir(parents=True)
    (pandas / "__init__.py").write_text(SLOW)
    lines = "".join(f"    {line}\n" for line in scenario.strip().splitlines())
    code = HOSTED.format(src=SRC, packages=str(pandas.parent), scenario=lines, made=MADE[kind])
    return [sys.executable, "-c", code]


def said(folder: Path, kind: str, scenario: str) -> list[str]:
    """What a host that does ``scenario`` prints."""
    done = subprocess.run(script(folder, kind, scenario), capture_output=True, text=True, timeout=100)
    assert not done.returncode, done.stderr
    return done.stdout.splitlines()


FIRST = """
repl = await opened()
await shown(repl, HAS)
await shown(repl, "kept = len(context)")
waits = await opened()
named = asyncio.create_task(shown(waits, NAMED))
await asyncio.sleep(0)
go()
await named
await shown(repl, "kept, context")
await shown(repl, NAMES)
async with asyncio.timeout(60):
    while (await (await opened()).execute(HAS, seconds=60)).output != "False\\n":
        pass
await shown(await opened(libraries=True), HAS)
await shown(await opened(tables=True), HAS)
await sandbox.close()
"""


@pytest.mark.parametrize("kind", MADE)
def test_only_code_that_names_a_library_waits_for_it_and_has_it(kind: str, tmp_path: Path) -> None:
    told = said(tmp_path, kind, FIRST)
    assert told == ["False", "", "True", "(11, 'the context')", "pandas", "True", "True", "left: []"]


MOVED = """
repls = [await opened(imports=("import re as r",), seed=7) for _ in range(3)]
await shown(repls[0], HAS)
twin = await repls[1].fork(on_call)
go()
await shown(repls[2], NAMED + "\\nprint(r.__name__, context)")
await shown(repls[0], NAMED)
await shown(repls[1], NAMED)
await shown(twin, "context")
await sandbox.close()
"""


@pytest.mark.parametrize("kind", MADE)
def test_a_repl_without_a_cell_moves_to_where_the_libraries_are(kind: str, tmp_path: Path) -> None:
    """One with a cell, or with a fork, stays where it is."""
    told = said(tmp_path, kind, MOVED)
    assert told == ["False", "True", "re the context", "False", "False", "'the context'", "left: []"]


SMALL = """
small = asyncio.create_task(opened(memory=64 << 20))
needs = asyncio.create_task(opened(imports=("import pandas",)))
large = await opened(memory=2 << 30)
await shown(large, "'there'")
print(small.done(), needs.done())
go()
await shown(await small, HAS)
await shown(await needs, "pandas.__name__")
await sandbox.close()
"""


def test_what_needs_the_libraries_or_has_little_memory_opens_when_they_are_there(tmp_path: Path) -> None:
    told = said(tmp_path, "none", SMALL)
    assert told == ["'there'", "False False", "True", "'pandas'", "left: []"]


CLOSED = """
repl = await opened()
await shown(repl, "1")
await sandbox.close()
"""


@pytest.mark.parametrize("kind", MADE)
def test_closing_does_not_wait_for_an_import_and_leaves_nothing(kind: str, tmp_path: Path) -> None:
    assert said(tmp_path, kind, CLOSED) == ["1", "left: []"]
    assert not [pid for pid in alive() if str(tmp_path) in _arguments(pid)]


def _arguments(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/cmdline").read_text()
    except OSError:
        return ""


KILLED = """
repl = await opened()
await shown(repl, "1")
await repl.execute("while True: pass", seconds=600)
"""


@pytest.mark.parametrize("kind", MADE)
def test_a_host_that_is_killed_while_libraries_are_imported_leaves_no_process(
    kind: str, tmp_path: Path
) -> None:
    with subprocess.Popen(script(tmp_path, kind, KILLED), stdout=subprocess.PIPE) as host:
        assert host.stdout is not None
        assert host.stdout.readline() == b"1\n"
        started = {pid: _started(pid) for pid in below(host.pid)}
        assert len(started) >= 3
        host.send_signal(signal.SIGKILL)
    deadline = time.monotonic() + 15
    while left := [pid for pid in alive() if pid in started and _started(pid) == started[pid]]:
        assert time.monotonic() < deadline, left
        time.sleep(0.05)


Open = Callable[[Libraries], Awaitable[object]]


@pytest.fixture
async def show() -> AsyncIterator[Callable[[Libraries, str], Awaitable[list[str]]]]:
    """What cells show in a new REPL with a seed, where the libraries are imported then."""
    made: list[ProcessSandbox] = []

    async def cells(libraries: Libraries, *codes: str) -> list[str]:
        sandbox = ProcessSandbox("none", libraries=libraries)
        made.append(sandbox)
        repl = await sandbox.open(ReplSpec("x", seed=11), Host())
        results = [await repl.execute(code, seconds=60) for code in codes]
        assert all(result.outcome == "ok" for result in results), results
        return [result.output for result in results]

    yield cells
    for sandbox in made:
        await sandbox.close()


DRAWS = (
    "import random, uuid, os\nprint(random.random(), uuid.uuid4(), os.urandom(4))",
    "import multiprocessing, numpy as np\nprint(np.random.random(), np.random.default_rng().random())",
    "import pandas as pd\nprint(pd.Series(range(100)).sample(3).tolist(), random.random(), uuid.uuid4())",
    "import numpy\nnumpy.random.seed(5)\nprint(numpy.random.random(), random.Random().random())",
)


async def test_a_node_draws_the_same_numbers_whenever_libraries_are_imported(
    show: Callable[..., Awaitable[list[str]]],
) -> None:
    pytest.importorskip("pandas")
    first, never, beside, late = await asyncio.gather(
        show("before", *DRAWS), show("never", *DRAWS), show("beside", *DRAWS),
        show("never", "import pandas\nprint(0)", *DRAWS),
    )  # fmt: skip
    assert never == beside == late[1:] == first
    assert await show("beside", *DRAWS) == first
    assert (await show("beside", "import pandas\nprint(0)", *DRAWS))[1:] == first


@pytest.mark.parametrize("kind", [{}, {"namespaces": False}], ids=["process", "landlock"])
async def test_what_a_late_import_begins_keeps_nothing_from_being_undone(kind: dict[str, bool]) -> None:
    """pyarrow leaves a thread, which the nodes of a warm zygote have not: it is no reason to lose variables."""
    pytest.importorskip("pyarrow")
    sandbox = ProcessSandbox(libraries="never", **kind)
    try:
        repl = await sandbox.open(ReplSpec(context="the context"), Host())
        for code in ("kept = len(context)", "import pyarrow, pandas", "more = kept + 1"):
            result = await repl.execute(code, seconds=60)
            assert (result.outcome, result.notes) == ("ok", ())
        assert (
            await repl.execute("import os\nos.kill(os.getpid(), 11)", seconds=60)
        ).outcome == "rolled_back"
        result = await repl.execute("print(kept, more, pandas.__name__)", seconds=60)
        assert result.output == "11 12 pandas\n"
        started = (
            "import threading\ngo = threading.Event()\nthreading.Thread(target=go.wait, daemon=True).start()"
        )
        notes = [(await repl.execute(code, seconds=60)).notes for code in (started, "print(1)")]
        assert any("threads are running" in note for each in notes for note in each)
    finally:
        await sandbox.close()


STOPPED = """
import sys
sys.path[:0] = [{src!r}, {packages!r}]
from unspool.sandbox import _warm
sys.meta_path.insert(0, _warm.Late(["numpy"], lambda: print("seeded")))
for _ in range(2):
    try:
        import numpy
    except KeyboardInterrupt:
        print("stopped")
"""


def test_an_import_that_was_stopped_is_seeded_when_it_is_done(tmp_path: Path) -> None:
    (tmp_path / "numpy.py").write_text(
        "import builtins\nif not hasattr(builtins, 'again'):\n    builtins.again = True\n    raise KeyboardInterrupt\n"
    )
    code = STOPPED.format(src=SRC, packages=str(tmp_path))
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=True
    )
    assert done.stdout.split() == ["stopped", "seeded"]


HAD = "import sys\nkept = 1\nprint('pan' + 'das' in sys.modules)"


class Crowded(ProcessSandbox):
    """As where hundreds of REPLs share what is free."""

    def default_memory(self) -> int:
        return 64 << 20


@pytest.mark.parametrize("kind", [{}, {"namespaces": False}], ids=["process", "landlock"])
async def test_a_library_that_is_imported_late_fits_where_memory_is_short(kind: dict[str, bool]) -> None:
    pytest.importorskip("pyarrow")
    sandbox = Crowded(**kind)
    try:
        output = ""
        async with asyncio.timeout(60):
            while output != "False\n":  # in a moment between, those with libraries are the sooner ones
                repl = await sandbox.open(ReplSpec("x"), Host())
                output = (await repl.execute(HAD, seconds=60)).output
        result = await repl.execute("import pandas, pyarrow", seconds=60)
        assert result.outcome == "ok", result
        result = await repl.execute("kept = bytearray(256 << 20)", seconds=60)
        assert result.outcome in ("error", "rolled_back")
        assert (await repl.execute("kept", seconds=60)).output == "1\n"
    finally:
        await sandbox.close()
