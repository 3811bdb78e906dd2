"""What a node may use, what it leaves behind, and what has to work in it, in both tiers."""

from __future__ import annotations

import asyncio
import importlib.util
import os
import secrets
import sys
import textwrap

import pytest

from unspool.errors import SandboxLost
from unspool.sandbox.attack.arena import MEMORY, Arena, opened, shown
from unspool.sandbox.attack.targets import named

from .allowed import ALLOWED
from .places import place

__all__ = ["place"]
pytestmark = [
    pytest.mark.asyncio(loop_scope="module"),
    pytest.mark.skipif(sys.platform != "linux", reason="the sandbox needs Linux"),
]

NAMED = "import ctypes\nctypes.CDLL(None).prctl(15, {!r})\n"  # a name that the host sees
FORKS = """
import os, time
waits, lets_go = os.pipe()
children, refused = [], ""
try:
    for _ in range(400):
        child = os.fork()
        if not child:
            os.close(lets_go)
            os.read(waits, 1)
            os._exit(0)
        children.append(child)
    time.sleep(20)
except OSError as error:
    refused = type(error).__name__
os.close(lets_go)
for child in children:
    os.waitpid(child, 0)
print(refused, len(children) < 300)
"""
DOUBLING = """
import os, time
first = os.getpid()
for _ in range(9):
    try:
        os.fork()
    except OSError:
        break
if os.getpid() != first:
    time.sleep(30)
    os._exit(0)
time.sleep(3)
"""
THREADS = """
import threading, time
threading.stack_size(1 << 16)
done, threads, refused = threading.Event(), [], ""
try:
    for _ in range(600):
        threads.append(threading.Thread(target=done.wait))
        threads[-1].start()
    time.sleep(20)
except RuntimeError as error:
    refused = type(error).__name__
done.set()
print(refused, len(threads) < 300)
"""


@pytest.mark.parametrize("bomb", [FORKS, THREADS], ids=["processes", "threads"])
async def test_code_that_multiplies_itself_is_stopped(place: Arena, bomb: str) -> None:
    name = f"bomb{secrets.token_hex(4)}"
    async with opened(place.sandbox) as repl:
        await shown(repl, "kept = 5")
        result = await repl.execute(NAMED.format(name.encode()) + bomb, seconds=30)
        if result.outcome == "ok":  # the kernel was faster than the keeper
            assert place.tier_1
            assert result.output.split() in (["BlockingIOError", "True"], ["RuntimeError", "True"])
        else:
            assert result.outcome == "rolled_back", result
            assert "the number of its processes" in " ".join(result.notes)
        assert await shown(repl, "kept") == "5"
    assert named(name) == []


async def test_the_repl_and_the_host_go_on_after_a_fork_bomb(place: Arena) -> None:
    async with opened(place.sandbox) as repl:
        await shown(repl, "kept = 5")
        result = await repl.execute(DOUBLING, seconds=30)
        assert result.outcome in ("ok", "rolled_back"), result
        assert await shown(repl, "kept") == "5"
        assert await shown(place.sibling, "1 + 1") == "2"


FILL = """
import os, time
written = 0
with open("fill", "wb", buffering=0) as file:
    while written < 2 * (256 << 20):
        written += file.write(bytes(1 << 22))
        time.sleep(0.01)
"""


async def test_the_scratch_folder_is_limited(place: Arena) -> None:
    async with opened(place.sandbox) as repl:
        result = await repl.execute(FILL, seconds=60)
        if place.tier_1:
            assert result.error is not None, result
            assert "No space left" in result.error.message
        else:
            assert result.outcome == "rolled_back", result
            assert "wrote to its folder" in " ".join(result.notes)
        await shown(repl, "os = __import__('os')\nif os.path.exists('fill'): os.unlink('fill')")
        assert await shown(repl, "open('more', 'w').write('more')") == "4"


async def test_more_memory_than_the_limit_is_an_error(place: Arena) -> None:
    async with opened(place.sandbox) as repl:
        result = await repl.execute(f"x = bytearray({2 * MEMORY})", seconds=30)
        assert result.error is not None
        assert result.error.type == "MemoryError"


LEAVE = """
import os, signal, time
path = "."
for name in range(60):
    path += "/deep"
    os.mkdir(path)
os.symlink(target, "out")
os.mkdir("shut", 0)
open("left", "w").write("left")
if not os.fork():
    if not os.fork():
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
            signal.signal(number, signal.SIG_IGN)
        time.sleep(300)
    os._exit(0)
time.sleep(300)
"""


async def test_nothing_is_left_behind(place: Arena) -> None:
    name = f"left{secrets.token_hex(4)}"
    async with opened(place.sandbox) as repl:
        folder = await shown(
            repl, f"import os\ntarget = {place.targets.known['folder']!r}\nprint(os.getcwd())"
        )
        # Closed while the cell runs: what a cell starts would end with it.
        running = asyncio.create_task(repl.execute(NAMED.format(name.encode()) + LEAVE, seconds=30))
        while len(named(name)) < 2:
            assert not running.done(), running.result()
            await asyncio.sleep(0.01)
        assert os.access(folder, os.F_OK) == (not place.tier_1)
        await repl.close()
        assert named(name) == []
        assert not os.access(folder, os.F_OK)
        with pytest.raises(SandboxLost):
            await running
    assert place.targets.untouched()


@pytest.mark.parametrize("name", ALLOWED)
async def test_what_code_does_every_day_works(place: Arena, name: str) -> None:
    if name in ("numpy", "pandas", "polars", "pyarrow") and importlib.util.find_spec(name) is None:
        pytest.skip(f"{name} is not installed")
    async with opened(place.sandbox) as repl:
        assert await shown(repl, textwrap.dedent(ALLOWED[name]).strip())
        assert await shown(repl, "1 + 1") == "2"
