"""Checks of forks: a REPL made of another one between two cells (``forks = True``)."""

from __future__ import annotations

from typing import cast

from ...errors import SandboxError
from ...sandbox.protocol import Forking
from .bench import Bench, ScriptedHost, Session, check, holds, same


async def _fork(bench: Bench, of: Session) -> Session:
    holds(getattr(bench.sandbox, "forks", False) is True, "the sandbox does not say forks = True")
    host = ScriptedHost()
    return Session(await cast(Forking, of.repl).fork(host), host)


@check("a fork has what is in the REPL, and neither sees what the other does later", "forks")
async def two_ways(bench: Bench) -> None:
    trunk = await bench.open()
    await trunk.shows("n = [1]\nclass P:\n    x = 5\nf = lambda: (P.x, n)", "")
    await trunk.shows("counted = (i for i in range(9))\nnext(counted)", "0")
    fork = await _fork(bench, trunk)
    await fork.shows("n.append(2)\nP.x = 6\nf(), next(counted), context", "((6, [1, 2]), 1, 'the context')")
    await trunk.shows("f(), next(counted), context", "((5, [1]), 1, 'the context')")
    await trunk.shows("n.append(3)\nlater = 1", "")
    await fork.shows("n, 'later' in globals()", "([1, 2], False)")


@check("what a fork calls and prints is its own", "forks")
async def own_channels(bench: Bench) -> None:
    trunk = await bench.open()
    await trunk.shows("from sys import stdout", "")
    fork = await _fork(bench, trunk)
    await fork.shows("print(tool('of the fork'), file=stdout)", "of the fork")
    await trunk.shows("print(tool('of the trunk'), file=stdout)", "of the trunk")
    same([call.args for call in trunk.host.calls], [("of the trunk",)], "calls of the trunk")
    same([call.args for call in fork.host.calls], [("of the fork",)], "calls of the fork")


_SHARED = {
    "a file in memory": (
        "import fcntl\nfd = os.memfd_create('screen', os.MFD_ALLOW_SEALING)\n"
        "done = fcntl.fcntl(fd, fcntl.F_ADD_SEALS, fcntl.F_SEAL_SEAL)",
        "done = os.write(fd, b'x')",
        "os.pread(fd, 9, 0)",
    ),
    "shared memory": ("import mmap\nkept = mmap.mmap(-1, 9)", "kept[0] = 120", "kept[:].strip(bytes(1))"),
    "a pipe as stdin": (
        "r, w = os.pipe()\ndone = os.dup2(r, 0), os.dup2(w, 2), os.close(r), os.close(w)",
        "done = os.write(2, b'x')",
        "os.read(0, 9) if select.select([0], [], [], 0)[0] else b''",
    ),
}


@check(
    "a fork has nothing in common with its REPL that one could change for the other, or is refused", "forks"
)
async def nothing_in_common(bench: Bench) -> None:
    for what, (make, write, read) in _SHARED.items():
        trunk = await bench.open()
        await trunk.shows(f"import os, select\n{make}", "")
        try:
            fork = await _fork(bench, trunk)
        except SandboxError:
            await trunk.shows(f"{write}\n{read}", "b'x'")
            continue
        await fork.shows(write, "")
        result = await trunk.run(read)
        same(result.output.strip(), "b''", f"what the trunk reads of {what} that its fork has written to")


@check("a fork and the REPL it came from end each by itself", "forks", "rollback")
async def own_ends(bench: Bench) -> None:
    trunk = await bench.open()
    await trunk.shows("n = 1", "")
    first, second = await _fork(bench, trunk), await _fork(bench, trunk)
    result = await first.run("import os\nn = 2\nos._exit(3)")
    same(result.outcome, "rolled_back", "outcome of a crash in a fork")
    for session in (trunk, first, second):
        await session.shows("n", "1")
    await trunk.repl.close()
    for session in (first, second):
        await session.shows("n += 1\nn, tool(n)", "(2, 2)")
    await first.repl.close()
    await second.shows("n", "2")
