"""Processes: what is opened is closed, two nodes do not meet, and nothing outlives its host."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

import pytest

from unspool.errors import ConfigError, SandboxLost, SandboxUnavailable
from unspool.sandbox import _launch
from unspool.sandbox.process import MAX_CLOSING, ProcessSandbox
from unspool.sandbox.protocol import HostReply, ReplSpec
from unspool.sandbox.zygote import FEW, MOST_SPARES, SPARES, Libraries

from .conftest import Host, Opener, Session

SRC = str(Path(__file__).parents[2] / "src")


def processes() -> Iterator[tuple[int, int, str]]:
    """(pid, parent, state) of everything on this machine."""
    for name in os.listdir("/proc"):
        if name.isdigit():
            try:
                fields = Path(f"/proc/{name}/stat").read_text().rpartition(")")[2].split()
            except OSError:
                continue
            yield int(name), int(fields[1]), fields[0]


def below(pid: int) -> set[int]:
    """Living descendants of a process."""
    table = [(p, parent) for p, parent, state in processes() if state not in "ZX"]
    found: set[int] = set()
    todo = [pid]
    while todo:
        parent = todo.pop()
        children = {p for p, q in table if q == parent} - found
        found |= children
        todo += children
    return found


async def settled(check: Callable[[], bool], seconds: float = 15.0) -> bool:
    deadline = time.monotonic() + seconds
    while not check():
        if time.monotonic() > deadline:
            return False
        await asyncio.sleep(0.05)
    return True


async def on_call(call: object) -> HostReply:
    return HostReply()


async def test_two_nodes_at_once_share_nothing(open_repl: Opener) -> None:
    a, b = await asyncio.gather(open_repl("a"), open_repl("b"))

    async def work(session: Session, name: str) -> list[str]:
        shown = []
        for i in range(8):
            shown.append(
                await session.show(
                    f"import os, time\nmine = '{name}{i}'\nopen('{name}', 'a').write('x')\nprint(mine); time.sleep(0.01); print(sorted(os.listdir('.')))"
                )
            )
        return shown

    ours, theirs = await asyncio.gather(work(a, "a"), work(b, "b"))
    assert ours == [f"a{i}\n['a']" for i in range(8)]
    assert theirs == [f"b{i}\n['b']" for i in range(8)]
    await a.show("import random, builtins\nbuiltins.leak = 1\nrandom.leak = 1")
    assert (
        await b.show(
            "import random, builtins\nhasattr(random, 'leak'), hasattr(builtins, 'leak'), 'mine' in globals()"
        )
        == "(False, False, True)"
    )
    assert await a.show("random.random()") != await b.show("random.random()")
    assert await a.show("context, os.getcwd() != ''") == "('a', True)"


async def test_cells_of_one_node_wait_for_each_other(repl: Session) -> None:
    await repl.show("log = []")
    await asyncio.gather(
        *[repl.show("import time\nlog.append('in'); time.sleep(0.02); log.append('out')") for _ in range(4)]
    )
    assert await repl.show("log == ['in', 'out'] * 4") == "True"


HELD = """
import os
def held():
    found = []
    for fd in range(200):
        try:
            os.fstat(fd)
        except OSError:
            continue
        found.append(fd)
    return len(found)
"""


async def test_nothing_is_left_of_many_cells_and_nodes(
    sandboxes: Mapping[str, ProcessSandbox], open_repl: Opener
) -> None:
    for _ in range(2):
        warm = await open_repl()
        await warm.show("1")
        await warm.repl.close()
    zygote = _launch.zygote(sandboxes["process"].kind)
    files = set(os.listdir("/proc/self/fd"))
    for _ in range(20):
        session = await open_repl("x" * 10_000)
        await session.show("len(context)")
        await session.repl.close()
        await session.repl.close()
    session = await open_repl()
    await session.show(HELD)
    held = await session.show("held()")
    for i in range(300):
        assert await session.show(f"{i}") == str(i)
    assert await session.show("held()") == held
    assert zygote.pid is not None
    # It is process 1 in there; and the one without libraries.
    then, own = below(zygote.pid), int(zygote.hello["tier"] == "namespaces") + 1
    for libraries in (False, True):
        for _ in range(MOST_SPARES + 1):  # whoever waited ready then is used up: what is left is somebody's
            await (await open_repl(libraries=libraries)).repl.close()

    def left() -> set[int]:
        return then & below(zygote.pid)

    assert await settled(lambda: len(left()) <= own + 3), left()  # its keeper, its worker, a checkpoint
    await session.repl.close()
    assert await settled(lambda: len(left()) == own), left()
    assert len(set(os.listdir("/proc/self/fd"))) <= len(files)


@pytest.mark.parametrize("kind", ["process", "none"])
async def test_closing_a_sandbox_ends_its_zygote(kind: str) -> None:
    code = f"""
import asyncio, os, sys
sys.path.insert(0, {SRC!r})
from unspool.sandbox.process import ProcessSandbox
from unspool.sandbox.protocol import HostReply, ReplSpec
async def on_call(call): return HostReply()
async def main():
    for _ in range(2):
        sandbox = ProcessSandbox({kind!r})
        repls = [await sandbox.open(ReplSpec("x"), on_call) for _ in range(2)]
        print((await repls[0].execute("context", seconds=20)).output.strip())
        await sandbox.close()
        await sandbox.close()
    children = open(f"/proc/self/task/{{os.getpid()}}/children").read().split()
    print("left:", children)
asyncio.run(main())
"""
    done = await asyncio.to_thread(
        subprocess.run, [sys.executable, "-c", code], capture_output=True, text=True, timeout=60
    )
    assert done.stdout.split("\n")[:3] == ["'x'", "'x'", "left: []"], done.stderr


HOSTED = """
import asyncio, sys
sys.path.insert(0, {src!r})
from unspool.sandbox.process import ProcessSandbox
from unspool.sandbox.protocol import HostReply, ReplSpec
async def on_call(call): return HostReply()
async def main():
    sandbox = ProcessSandbox({made})
    idle = await sandbox.open(ReplSpec("x"), on_call)
    await idle.execute("1", seconds=20)
    busy = await sandbox.open(ReplSpec("x"), on_call)
    running = asyncio.create_task(busy.execute({cell!r}, seconds=600))
    await asyncio.sleep(0.3)
    print("ready", flush=True)
    await running
asyncio.run(main())
"""
CELL = "import os, signal\nsignal.signal(signal.SIGINT, signal.SIG_IGN)\nsignal.signal(signal.SIGTERM, signal.SIG_IGN)\nif os.fork(): pass\nwhile True: pass"


@pytest.mark.parametrize("kind", ["process", "landlock", "none"])
def test_a_killed_host_leaves_no_process(kind: str) -> None:
    made = "'process', namespaces=False" if kind == "landlock" else repr(kind)
    code = HOSTED.format(src=SRC, made=made, cell=CELL)
    with subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE) as host:
        assert host.stdout is not None
        assert host.stdout.readline() == b"ready\n"
        started = {pid: _started(pid) for pid in below(host.pid)}
        assert len(started) >= 5
        host.send_signal(signal.SIGKILL)
    deadline = time.monotonic() + 15
    while left := [pid for pid in alive() if pid in started and _started(pid) == started[pid]]:
        assert time.monotonic() < deadline, left
        time.sleep(0.05)


def alive() -> list[int]:
    return [pid for pid, _, state in processes() if state not in "ZX"]


def _started(pid: int) -> str:
    """When a process was started: tells it from a later one with its pid."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[19]
    except OSError:
        return ""


@pytest.mark.parametrize("kind", ["process", "none"])
async def test_a_zygote_that_dies_is_started_again(kind: str) -> None:
    sandbox = ProcessSandbox(kind)
    try:
        repl = await sandbox.open(ReplSpec("kept context"), on_call)
        await repl.execute("x = 1", seconds=20)
        zygote = _launch.zygote(sandbox.kind)
        assert zygote.pid is not None
        os.kill(zygote.pid, signal.SIGKILL)
        assert await settled(lambda: not zygote.alive)
        other = await sandbox.open(ReplSpec("new"), on_call)
        assert (await other.execute("context", seconds=20)).output == "'new'\n"
        assert await settled(lambda: repl._node is None or repl._node.lost is not None)
        result = await repl.execute("context, 'x' in globals()", seconds=20)
        assert result.output == "('kept context', False)\n"
        assert any("began anew" in note and "x" in note for note in result.notes)
    finally:
        await sandbox.close()


@pytest.mark.parametrize("kind", ["process", "none"])
async def test_a_repl_that_is_killed_from_outside_is_told_so_and_begins_anew(kind: str) -> None:
    sandbox = ProcessSandbox(kind)
    try:
        repl = await sandbox.open(ReplSpec("kept"), on_call)
        await repl.execute("x = 1", seconds=20)
        running = asyncio.create_task(repl.execute("import time\ntime.sleep(60)", seconds=100))
        await asyncio.sleep(0.5)
        zygote = _launch.zygote(sandbox.kind)
        assert zygote.pid is not None
        for order in (signal.SIGSTOP, signal.SIGKILL):  # so that none can tell of the others
            for pid in sorted(below(zygote.pid), reverse=True):
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, order)
        result = await running
        assert result.outcome in ("restarted", "rolled_back")
        assert any("killed" in note for note in result.notes)
        assert not any("os._exit" in note for note in result.notes)
        assert (await repl.execute("context", seconds=20)).output == "'kept'\n"
    finally:
        await sandbox.close()


@pytest.mark.parametrize("kind", ["process", "none"])
async def test_what_waits_ready_may_be_killed(kind: str) -> None:
    """The system may kill any process for want of memory: who opens a REPL does not notice."""
    sandbox = ProcessSandbox(kind)
    try:
        await (await sandbox.open(ReplSpec("warm"), on_call)).close()
        for most in (99, 3):  # all of them but the first, that the others descend from; then a few
            zygote = _launch.zygote(sandbox.kind)
            assert zygote.pid is not None
            # A keeper and a worker: its small zygote may be gone, as after a test in this process that kills.
            waits = await settled(lambda of=zygote.pid: len(below(of)) >= 2)  # type: ignore[misc]
            assert waits, (most, below(zygote.pid))
            for pid in sorted(below(zygote.pid), reverse=True)[:most]:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
            repl = await sandbox.open(ReplSpec("there"), on_call)
            assert (await repl.execute("context", seconds=20)).output == "'there'\n"
    finally:
        await sandbox.close()


# What else is there: a zygote without libraries, and a keeper and a worker that wait where they are.
@pytest.mark.parametrize(("libraries", "others"), [("before", 0), ("beside", 1 + 2 * FEW)])
async def test_after_a_crowd_more_wait_ready_and_not_after_one_by_one(
    libraries: Libraries, others: int
) -> None:
    sandbox = ProcessSandbox("none", namespaces=False, libraries=libraries)
    try:
        first = await sandbox.open(ReplSpec("x"), on_call)
        zygote = _launch.zygote(sandbox.kind).pid
        assert zygote is not None
        await first.close()

        def ready() -> int:
            return (len(below(zygote)) - others) // 2  # a keeper and a worker each

        assert await settled(lambda: ready() == SPARES)
        for _ in range(2 * MOST_SPARES):
            await (await sandbox.open(ReplSpec("x"), on_call)).close()
        assert await settled(lambda: ready() == SPARES)
        repls = await asyncio.gather(*[sandbox.open(ReplSpec("x"), on_call) for _ in range(2 * MOST_SPARES)])
        await asyncio.gather(*[repl.close() for repl in repls])
        assert await settled(lambda: ready() == MOST_SPARES)
    finally:
        await sandbox.close()


async def test_closing_while_a_cell_runs(open_repl: Opener) -> None:
    session = await open_repl()
    running = asyncio.create_task(session.run("while True: pass", seconds=600))
    await asyncio.sleep(0.2)
    await session.repl.close()
    with pytest.raises(SandboxLost):
        await running
    with pytest.raises(SandboxLost):
        await session.run("1")


async def test_many_open_at_once(open_repl: Opener) -> None:
    sessions = await asyncio.gather(*[open_repl(f"c{i}") for i in range(8)])
    shown = await asyncio.gather(*[session.show("context") for session in sessions])
    assert shown == [f"'c{i}'" for i in range(8)]


async def test_what_closes_still_counts_and_holds_others_back() -> None:
    """Closing takes a moment, in which the memory is not free yet."""
    sandbox = ProcessSandbox("none", namespaces=False)
    try:
        first = await sandbox.open(ReplSpec("x"), on_call)
        alone = sandbox.default_memory()
        repls = await asyncio.gather(
            *[sandbox.open(ReplSpec(str(i)), on_call) for i in range(MAX_CLOSING + 2)]
        )
        closing = [asyncio.create_task(repl.close()) for repl in repls]
        await asyncio.sleep(0)
        assert sandbox.default_memory() < alone / 4
        another = await sandbox.open(ReplSpec("y"), on_call)
        assert sum(not task.done() for task in closing) < MAX_CLOSING
        assert (await another.execute("context", seconds=20)).output == "'y'\n"
        await asyncio.gather(*closing)
        assert (await first.execute("context", seconds=20)).output == "'x'\n"
    finally:
        await sandbox.close()


async def test_an_open_that_is_cancelled_leaves_nothing(
    sandboxes: Mapping[str, ProcessSandbox], open_repl: Opener
) -> None:
    await (await open_repl()).repl.close()
    await asyncio.sleep(0.2)
    before = below(os.getpid())
    for delay in (0.0, 0.001, 0.004):
        task = asyncio.create_task(sandboxes["process"].open(ReplSpec("x"), on_call))
        await asyncio.sleep(delay)
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
        if not task.cancelled():
            await task.result().close()
    assert await settled(lambda: len(below(os.getpid())) <= len(before))


async def test_an_open_that_is_cancelled_does_not_wait_for_a_zygote_that_starts() -> None:
    sandbox = ProcessSandbox("none", namespaces=False)
    try:
        opening = asyncio.create_task(sandbox.open(ReplSpec("x"), on_call))
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        zygote = _launch.zygote(sandbox.kind)
        opening.cancel()
        with pytest.raises(asyncio.CancelledError):
            await opening
        zygote.listen()
        assert not zygote.hello, "it was waited for"
        repl = await sandbox.open(ReplSpec("y"), on_call)
        assert (await repl.execute("context", seconds=20)).output == "'y'\n"
    finally:
        await sandbox.close()


async def test_in_several_loops_and_threads_one_zygote(sandboxes: Mapping[str, ProcessSandbox]) -> None:
    def in_a_thread(text: str) -> str:
        async def main() -> str:
            repl = await sandboxes["process"].open(ReplSpec(text), on_call)
            try:
                return (await repl.execute("context", seconds=20)).output
            finally:
                await repl.close()

        return asyncio.run(main())

    shown = await asyncio.gather(*[asyncio.to_thread(in_a_thread, str(i)) for i in range(3)])
    assert shown == [f"'{i}'\n" for i in range(3)]


@pytest.mark.parametrize("executable", ["/nonexistent/python", "/bin/true", ""])
async def test_a_sandbox_that_cannot_start_says_what_to_do(
    executable: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "executable", executable)
    sandbox = ProcessSandbox("none", namespaces=False)  # a kind of its own: its zygote is not running yet
    with pytest.raises(SandboxUnavailable, match='sandbox="none"'):
        await sandbox.open(ReplSpec("x"), on_call)
    await sandbox.close()


def test_an_unknown_name_is_a_config_error() -> None:
    with pytest.raises(ConfigError, match="process"):
        ProcessSandbox("docker")


async def test_the_environment_is_a_fixed_list(open_repl: Opener, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("UNSPOOL_TEST_SECRET", "s3cret")
    for kind in ("process", "none"):
        repl = await open_repl(kind=kind)
        shown = await repl.show("import os\nprint(sorted(os.environ), 's3cret' in str(os.environ))")
        assert "UNSPOOL_TEST_SECRET" not in shown
        assert shown.endswith("False")
        assert await repl.show("os.environ['HOME'] == os.getcwd(), hash('a') == hash('a')") == "(True, True)"
    one, two = await open_repl(), await open_repl()
    assert await one.show("hash('order')") == await two.show("hash('order')")


HOSTILE_CELLS = {
    "garbage on its channel": "w._channel.sendall(b'\\xff' * 1000)",
    "a giant announcement": "import struct; w._channel.sendall(struct.pack('<IQ', 2**31, 2**62))",
    "an end with a wrong shape": "w._channel.sendall(worker.pack('end', [1], n=1, outcome='ok', printed=0, omitted=0))",
    "an end with a wrong outcome": "w._channel.sendall(worker.pack('end', ['', None, [], [], None], n=1, outcome='great', printed=0, omitted=0))",
    "an end with a negative number": "w._channel.sendall(worker.pack('end', ['', None, [], [], None], n=1, outcome='ok', printed=-5, omitted=0))",
    "an unknown kind": "w._channel.sendall(worker.pack('pwn'))",
    "a call without arguments": "w._channel.sendall(worker.pack('call', [], id=1, name='x'))",
    "a call with a bad id": "w._channel.sendall(worker.pack('call', [{}], id=-1, name='x'))",
    "a call with odd keys": "w._channel.sendall(worker.pack('call', [{1: 2}], id=1, name='x'))",
    "a failure of no kind": "w._channel.sendall(worker.pack('call', [worker.FailedCall('pwn', 'x'), {}], id=1, name='x'))",
    "a forged roll-back": "w._control.sendall(worker.pack('rolled_back', ['x'], n=99, status=0, word='', printed=0, omitted=0))",
    "garbage on the node's channel": "w._control.sendall(b'\\0' * 99)",
    "the channel closed": "w._channel.close()",
    "the node's channel closed": "w._control.close()",
    "the keeper's desk closed": "w._desk.close()",
    "lies to the keeper": "[w._desk.send(m) for m in (b'D 1', b'C 7', b'T 9', b'K 0', b'? x', b'\\xff', b'C 99999999999999999999')]",
}
FIND = "import gc, sys\nworker = sys.modules['worker']\nw = next(o for o in gc.get_objects() if type(o).__name__ == 'Worker')\n"


@pytest.mark.parametrize("name", HOSTILE_CELLS)
async def test_a_hostile_worker_ruins_itself_alone(open_repl: Opener, name: str) -> None:
    """Whatever it sends, the host gets a result or SandboxLost in bounded time, and can go on."""
    other = await open_repl("other")
    repl = await open_repl("mine", host=Host(x=lambda call: 1))
    started = time.monotonic()
    result = await repl.run(FIND + HOSTILE_CELLS[name] + "\nimport time; time.sleep(0.1)", seconds=1)
    assert time.monotonic() - started < 12
    assert result.outcome in ("ok", "error", "rolled_back", "restarted", "interrupted")
    assert await repl.show("context", seconds=3) == "'mine'"
    assert await other.show("context") == "'other'"


async def test_a_forged_end_does_not_free_the_cell(open_repl: Opener) -> None:
    repl = await open_repl("mine")
    forged = "w._channel.sendall(worker.pack('end', ['forged', None, [], [], None], n=1, outcome='ok', printed=6, omitted=0))"
    result = await repl.run(FIND + forged + "\nwhile True: pass", seconds=1)
    assert result.output == "forged"
    result = await repl.run("context", seconds=0.5)
    assert result.outcome in ("restarted", "rolled_back")
    assert await repl.show("context") == "'mine'"


async def test_a_flood_of_calls_does_not_make_the_host_grow(open_repl: Opener) -> None:
    gate = asyncio.Event()

    async def wait(call: object) -> None:
        await gate.wait()

    host = Host(x=wait)
    repl = await open_repl(host=host)
    flood = "f = worker.pack('call', ['a' * 10_000, {}], id=0, name='x')\nimport itertools\nfor i in itertools.count(1):\n    w._channel.sendall(worker.pack('call', ['a' * 10_000, {}], id=i, name='x'))"
    running = asyncio.create_task(repl.run(FIND + flood, seconds=1))
    await asyncio.sleep(2)
    assert len(host.calls) <= 600
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running
    assert await repl.show("1") == "1"


ENDS = """
import atexit, pathlib

def children():
    return [pid for file in pathlib.Path("/proc/self/task").glob("*/children") for pid in file.read_text().split()]

atexit.register(lambda: print("left:", children()))  # registered first, so it is called last
from concurrent.futures import ThreadPoolExecutor
from unspool import RLM
from unspool.testing import ScriptedModel

ThreadPoolExecutor(1).submit(int)  # as most programs have used one
RLM(ScriptedModel(["```python\\nprint(1)\\nsubmit(1)\\n```"]), runs=False).run("q", "c")
assert children()
"""


def test_an_interpreter_that_ends_has_waited_for_its_processes(tmp_path: Path) -> None:
    script = tmp_path / "ends.py"
    script.write_text(ENDS)
    done = subprocess.run([sys.executable, script], capture_output=True, text=True, check=True)
    assert (done.stdout, done.stderr) == ("left: []\n", "")


def test_a_number_that_is_a_strangers_by_now_is_left_alone() -> None:
    """The first worker of a node may have ended long before its keeper does."""
    with subprocess.Popen(["sleep", "60"], start_new_session=True) as stranger:
        try:
            code = f"import sys; sys.path.insert(0, {SRC!r}); from unspool.sandbox import keeper; keeper.end_all({stranger.pid})"
            subprocess.run([sys.executable, "-c", code], check=True, timeout=60)
            with pytest.raises(subprocess.TimeoutExpired):
                stranger.wait(0.2)
        finally:
            stranger.kill()
