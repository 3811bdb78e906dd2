"""A REPL forked between two cells: what the fork has, what is its own, what is refused, and how each ends."""

from __future__ import annotations

import array
import asyncio
import contextlib
import os
import pathlib
import signal
from collections.abc import Mapping

import pytest

from unspool.errors import SandboxError, SandboxLost
from unspool.reach.marks import unpack_ranges
from unspool.sandbox import _landlock
from unspool.sandbox.keeper import descendants
from unspool.sandbox.process import ProcessSandbox

from .conftest import Host, Opener, Session

KINDS = ("process", "landlock", "none")
HARDENED = KINDS[:2]


async def forked(session: Session, **replies: object) -> Session:
    host = Host(**replies)
    return Session(await session.repl.fork(host), host)


@pytest.mark.parametrize("kind", KINDS)
async def test_what_cannot_be_pickled_is_there_and_each_goes_its_own_way(
    open_repl: Opener, kind: str
) -> None:
    trunk = await open_repl("the context", kind=kind, tools=("tool",), host=Host(tool="trunk's"))
    made = (
        "import random, itertools\nxs = [1]\nseen = (n for n in itertools.count())\nnext(seen)\n"
        "f = lambda: xs\nclass Row:\n    size = 1\nrow = Row()"
    )
    await trunk.show(made)
    one, two = await forked(trunk, tool="one's"), await forked(trunk, tool="two's")
    draws = set()
    for number, session in enumerate((trunk, one, two)):
        said = await session.show(
            f"xs.append({number})\nrow.size += {number}\nprint(f(), next(seen), row.size)"
        )
        assert said == f"[1, {number}] 1 {1 + number}"
        draws.add(await session.show("random.random()"))
    assert len(draws) == 1  # as in a REPL in which the cells ran again
    assert [await s.show("tool()") for s in (trunk, one, two)] == ['"trunk\'s"', '"one\'s"', '"two\'s"']
    assert await one.show("xs, SHOW_VARS().split(':')[0], context") == "([1, 1], 'xs', 'the context')"
    for session in (trunk, one, two):
        await session.repl.close()


@pytest.mark.parametrize("kind", KINDS)
async def test_output_and_files_are_its_own(open_repl: Opener, kind: str) -> None:
    trunk = await open_repl("", kind=kind)
    await trunk.show("import os, tempfile\nfrom sys import stdout")
    sessions = [trunk, await forked(trunk), await forked(trunk)]
    cells = [
        session.show(
            f"open('mine', 'w').write('{n}')\nwith tempfile.NamedTemporaryFile() as file: file.write(b'x')\n"
            f"done = os.write(1, b'raw {n} ')\nprint('text {n}', open('mine').read(), os.listdir('.'), file=stdout)"
        )
        for n, session in enumerate(sessions)
    ]
    said = await asyncio.gather(*cells)
    assert said == [f"raw {n} text {n} {n} ['mine']" for n in range(3)]
    assert len({await session.show("os.getcwd()") for session in sessions}) == 3
    for session in sessions[1:]:
        await session.repl.close()


@pytest.mark.parametrize("kind", HARDENED)
async def test_what_is_the_trunks_is_out_of_reach(open_repl: Opener, kind: str) -> None:
    """A path that a variable still has, and a process whose number it knows."""
    trunk = await open_repl("", kind=kind)
    await trunk.show("import os\nhere, it = os.getcwd(), os.getpid()")
    fork, other = await forked(trunk), await forked(trunk)
    code = (
        "try:\n    open(os.path.join({}, 'x'), 'w')\n"
        "except OSError as error:\n    print(type(error).__name__)"
    )
    assert await fork.show(code.format("here")) == "PermissionError"
    there = await other.show("os.getcwd()")
    assert await fork.show(code.format(there)) == "PermissionError"
    assert await fork.show(code.format("os.getcwd()")) == ""
    if _landlock.abi() >= 6:  # signals are scoped
        pid = await other.show("os.getpid()")
        for number in (pid, "it"):
            result = await fork.run(f"os.kill({number}, 0)")  # sends nothing: it asks whether it could
            assert result.error is not None
            assert result.error.type == "PermissionError"
    assert await trunk.show("os.listdir('.')") == "[]"
    await fork.repl.close()
    await other.repl.close()


@pytest.mark.parametrize("kind", KINDS)
async def test_each_ends_by_itself(open_repl: Opener, kind: str) -> None:
    trunk = await open_repl("", kind=kind)
    await trunk.show("n = 1")
    one, two, three = [await forked(trunk) for _ in range(3)]
    crash, hang, fine = await asyncio.gather(
        one.run("n = 2\nimport os\nos._exit(3)"),
        two.run("n = 2\nsum(range(10**12))", seconds=0.3),
        three.run("import time\nn = 3\ntime.sleep(1)\nprint(n)"),
    )
    assert (crash.outcome, hang.outcome) == ("rolled_back", "rolled_back")
    assert (fine.outcome, fine.output) == ("ok", "3\n")
    await trunk.repl.close()
    assert [await session.show("n") for session in (one, two, three)] == ["1", "1", "3"]
    await three.repl.close()
    with pytest.raises(SandboxLost):
        await three.run("n")
    assert await one.show("n") == "1"
    await one.repl.close()
    assert await two.show("n") == "1"
    await two.repl.close()


NAMED = (
    "import ctypes\ndone = ctypes.CDLL(None).prctl(15, b'{}', 0, 0, 0)\n"  # what it is called, outside too
)


def called(name: str) -> list[int]:
    """The living processes of that name, below this one."""
    found = []
    for pid in descendants(os.getpid()):
        with contextlib.suppress(FileNotFoundError):
            if pathlib.Path(f"/proc/{pid}/comm").read_text().strip() == name:
                found.append(pid)
    return found


async def until_gone(name: str) -> None:
    for _ in range(1_000):
        if not called(name):
            return
        await asyncio.sleep(0.02)
    raise AssertionError(f"{name} lives on")


@pytest.mark.parametrize("kind", KINDS)
async def test_a_fork_that_is_killed_from_outside_begins_anew_and_the_others_go_on(kind: str) -> None:
    sandbox = ProcessSandbox("none" if kind == "none" else "process", namespaces=kind == "process")
    try:
        await killed_from_outside(sandbox)
    finally:
        await sandbox.close()


async def killed_from_outside(sandbox: ProcessSandbox) -> None:
    from unspool.sandbox.protocol import ReplSpec

    host = Host()
    trunk = Session(await sandbox.open(ReplSpec("the context"), host), host)
    await trunk.show("n = 1")
    one, two = await forked(trunk), await forked(trunk)
    name = f"killed-{sandbox.name[0]}{sandbox.kind.namespaces:d}"
    await one.show(NAMED.format(name))
    for _ in range(50):  # until both are hit: what waits for the next cell, and its checkpoint
        await asyncio.sleep(0.05)
        for pid in called(name):
            os.kill(pid, signal.SIGKILL)
        result = await one.run("'n' in globals(), context")  # it may be noticed before or in this cell
        if any("began anew" in note for note in result.notes):
            break
    assert any("began anew" in note and "lost: n" in note for note in result.notes), result.notes
    assert await one.show("'n' in globals(), context") == "(False, 'the context')"
    assert await trunk.show("n += 1\nn") == "2"
    assert await two.show("n += 5\nn") == "6"


FILES, MEMORY = "a cell has left files or sockets open", "a cell has made memory that processes share"
STREAMS = "a cell has put something else in the place of stdin, stdout or stderr"
PIPE = "import os\nr, w = os.pipe()\nos.dup2({end}, {at})\nos.close(r)\nos.close(w)"
MEMFD = (
    "import os, fcntl, mmap\nfd = os.memfd_create({name!r}, os.MFD_ALLOW_SEALING)\nos.ftruncate(fd, 4096)\n"
)
MAPPED = MEMFD + (
    "import ctypes\nlibc = ctypes.CDLL(None)\nlibc.mmap.restype = ctypes.c_void_p\n"
    "libc.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t, *[ctypes.c_int] * 3, ctypes.c_long]\n"
    "kept = libc.mmap(None, 4096, {rights}, mmap.MAP_SHARED, fd, 0)\nos.close(fd)\nassert kept + 1"
)
SEALED = MEMFD + "done = fcntl.fcntl(fd, fcntl.F_ADD_SEALS, {seals})"
IN_THE_WAY = {
    "a file that was written": ("open('x', 'w').close()", "a cell has written files"),
    "a pipe": ("import os\nkept = os.pipe()", FILES),
    "memory with a seal that keeps nobody from writing": (SEALED.format(name="x", seals=1), FILES),
    "memory with every seal, and one place to read at": (SEALED.format(name="x", seals=15), FILES),
    "memory called like the screen": (MEMFD.format(name="screen"), FILES),
    "memory called like the context": (SEALED.format(name="context", seals=15), FILES),
    "anonymous memory": ("import mmap\nkept = mmap.mmap(-1, 4096)", MEMORY),
    "a mapping called like the screen": (MAPPED.format(name="screen", rights=3), MEMORY),
    "a mapping that may be made writable": (MAPPED.format(name="x", rights=1), MEMORY),
    "a mapping without rights": (MAPPED.format(name="x", rights=0), MEMORY),
    "a mapping of a file that is gone": (
        "import os\nfd = os.open('x', os.O_RDWR | os.O_CREAT)\nos.unlink('x')\n"
        + MAPPED.replace(MEMFD, "os.ftruncate(fd, 4096)\nimport mmap\n").format(rights=1),
        MEMORY,
    ),
    "a pipe as stdin": (PIPE.format(end="r", at=0), STREAMS),
    "a pipe as stdout": (PIPE.format(end="w", at=1), STREAMS),
    "a pipe as stderr": (PIPE.format(end="w", at=2), STREAMS),
    "a socket as stdin": (
        "import os, socket\nkept = socket.socketpair()\ndone = os.dup2(kept[0].fileno(), 0)\n"
        "for each in kept: each.close()",
        STREAMS,
    ),
    "no stdout": ("import os\nos.close(1)", STREAMS),
    "threads": (
        "import threading, time\nthreading.Thread(target=time.sleep, args=(60,), daemon=True).start()",
        "threads are running",
    ),
}


@pytest.mark.parametrize("what", IN_THE_WAY)
@pytest.mark.parametrize("kind", KINDS)
async def test_what_both_would_share_is_in_the_way(open_repl: Opener, kind: str, what: str) -> None:
    code, why = IN_THE_WAY[what]
    trunk = await open_repl("", kind=kind)
    await trunk.show(code)
    for _ in range(2):
        with pytest.raises(SandboxError, match=why):
            await forked(trunk)
    assert await trunk.show("n = 1\nn") == "1"  # it is as it was


OURS: Mapping[str, object] = {
    "a text": "a long text, which is mapped " * 400,
    "a wide one": "\u4e2d " * 4_000,
    "an array": array.array("d", range(4_000)),
    "large texts in a list": ["x" * 5_000, "\u00e9" * 5_000],
    "bytes": bytes(5_000),
}


@pytest.mark.parametrize("what", OURS)
@pytest.mark.parametrize("kind", KINDS)
async def test_what_is_there_without_a_cell_is_not(open_repl: Opener, kind: str, what: str) -> None:
    trunk = await open_repl(OURS[what], kind=kind, imports=("import numpy, pandas",))
    await trunk.show("import locale, subprocess, decimal\ndone = len(context), 'é'.encode('cp1252')")
    fork = await forked(trunk)
    assert await fork.show("len(context)") == str(len(OURS[what]))  # type: ignore[arg-type]
    await fork.repl.close()


async def test_a_fork_is_not_forked_again(open_repl: Opener) -> None:
    trunk = await open_repl("")
    fork = await forked(trunk)
    with pytest.raises(SandboxError, match="it is a fork itself"):
        await forked(fork)
    assert await fork.show("1") == "1"
    await fork.repl.close()
    with pytest.raises(SandboxLost, match="not there any more"):
        await forked(fork)


async def test_a_fork_waits_for_the_cell_that_runs_and_may_come_before_the_first(open_repl: Opener) -> None:
    trunk = await open_repl("the context", imports=("import re",))
    early = await forked(trunk)
    running = asyncio.ensure_future(trunk.run("import time\ntime.sleep(0.3)\nn = 1"))
    await asyncio.sleep(0)
    fork = await forked(trunk)
    assert running.done()
    assert await fork.show("n") == "1"
    assert await early.show("'n' in globals(), context, re.escape('.')") == "(False, 'the context', '\\\\.')"
    result = await early.run("import os\nos._exit(1)")
    assert result.outcome == "rolled_back"
    await fork.repl.close()
    await early.repl.close()


async def test_a_fork_that_nobody_waits_for_leaves_nothing_behind(open_repl: Opener) -> None:
    trunk = await open_repl("")
    await trunk.show("n = 1")
    for steps in range(6):
        task = asyncio.ensure_future(trunk.repl.fork(Host()))
        for _ in range(steps):
            await asyncio.sleep(0)
        task.cancel()
        await asyncio.wait([task])
        if not task.cancelled():
            await task.result().close()
    assert await trunk.show("n") == "1"
    fork = await forked(trunk)
    assert await fork.show("n") == "1"
    await fork.repl.close()


STRAY = """
import os, time
if not os.fork():
    if not {orphan} or not os.fork():
        %s
        while True: time.sleep(0.05)
    os._exit(0)
time.sleep(0.3)
""".replace("%s", NAMED.replace("\n", ";").rstrip(";"))


@pytest.mark.parametrize("orphan", [False, True])
async def test_what_a_cell_starts_ends_with_it_and_not_with_anothers(open_repl: Opener, orphan: bool) -> None:
    trunk = await open_repl("", tools=("tool",))
    await trunk.show("n = 1")
    gate, at_it = asyncio.Event(), asyncio.Event()

    async def wait(_: object) -> str:
        at_it.set()
        await gate.wait()
        return "on"

    fork, other = await forked(trunk, tool=wait), await forked(trunk)
    mine, theirs = f"mine-{orphan:d}", f"theirs-{orphan:d}"
    busy = asyncio.ensure_future(fork.run(STRAY.replace("{}", mine).format(orphan=orphan) + "tool()"))
    await at_it.wait()
    assert called(mine)
    result = await other.run(STRAY.replace("{}", theirs).format(orphan=orphan) + "print('over')")
    assert result.output == "over\n"
    assert await other.show("n") == "1"
    if not orphan:  # whose an orphan is, is not known for sure: it ends when no other cell runs
        await until_gone(theirs)
    assert called(mine)
    gate.set()
    assert (await busy).outcome == "ok"
    await until_gone(mine)
    await until_gone(theirs)
    await fork.repl.close()
    await other.repl.close()


@pytest.mark.parametrize("kind", HARDENED)
async def test_a_fork_that_takes_too_much_memory_is_alone_with_it(open_repl: Opener, kind: str) -> None:
    trunk = await open_repl("", kind=kind, memory=300 << 20)
    await trunk.show("kept = bytearray(50 << 20)")
    fork, other = await forked(trunk), await forked(trunk)
    hog, fine = await asyncio.gather(
        fork.run("hog = [bytearray(1 << 20) for _ in range(2_000)]"),
        other.run("more = bytearray(100 << 20)\nprint(len(kept) + len(more) >> 20)"),
    )
    assert hog.outcome in ("rolled_back", "error")
    assert hog.error is None or hog.error.type == "MemoryError"
    assert (fine.outcome, fine.output) == ("ok", "150\n")
    assert [await s.show("len(kept) >> 20") for s in (trunk, fork, other)] == ["50"] * 3
    await fork.repl.close()
    await other.repl.close()


async def test_what_is_read_of_the_context_is_known(open_repl: Opener) -> None:
    text = "\n".join(f"line {n} of a text that is long enough to be traced" for n in range(500))
    trunk = await open_repl(text)
    await trunk.show("first = context[:60]")
    fork = await forked(trunk)
    result = await fork.run("print(context[100:300])")
    assert result.ranges is not None
    ((item, part, start, end),) = unpack_ranges(result.ranges)
    assert (item, part) == (0, 0)
    assert start <= 100
    assert end >= 300
    await fork.repl.close()


async def test_all_ends_with_the_sandbox(sandboxes: Mapping[str, ProcessSandbox]) -> None:
    from unspool.sandbox.protocol import ReplSpec

    sandbox = ProcessSandbox("none")
    host = Host()
    trunk = Session(await sandbox.open(ReplSpec(""), host), host)
    folder = pathlib.Path(await trunk.show("import os\nprint(os.getcwd(), end='')")).parent
    fork = await forked(trunk)
    await fork.show("open('left', 'w').close()")
    own = pathlib.Path(await fork.show("print(os.getcwd(), end='')"))
    assert own.parent == folder
    second = await forked(trunk)
    await second.repl.close()
    assert own in list(folder.iterdir())
    await sandbox.close()
    assert folder not in list(folder.parent.iterdir())
    with pytest.raises(SandboxLost):
        await fork.run("1")
