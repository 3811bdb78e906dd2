"""A host that is killed while code holds the interpreter, whatever the sandbox: nothing of it is left."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from unspool.sandbox._watch import Watch

from .test_lifecycle import below, settled

MAKERS = {
    "lone": "from unspool.sandbox.lone import LoneSandbox as made",
    "process": "from unspool.sandbox.process import ProcessSandbox as made",
    "none": "from unspool.sandbox.process import ProcessSandbox\nmade = lambda: ProcessSandbox('none')",
    "second tier": (
        "from unspool.sandbox.process import ProcessSandbox\nmade = lambda: ProcessSandbox(namespaces=False)"
    ),
    "command": (
        "from unspool.sandbox.command import CommandSandbox\nimport sys\n"
        "made = lambda: CommandSandbox([sys.executable, '-'])"
    ),
    "jupyter": "from unspool.sandbox.jupyter import JupyterSandbox as made",
}
HOST = """
import asyncio, sys
from unspool.sandbox.protocol import HostReply, ReplSpec
{made}
async def main():
    async def on_call(call):
        print("it runs", flush=True)
        return HostReply()
    repl = await made().open(ReplSpec("x", tools=("told",)), on_call)
    await repl.execute("import re\\ntold()\\n" + {code!r}, seconds=600)
asyncio.run(main())
"""
BUSY = ["9 ** 9 ** 9", "re.match('(a+)+$', 'a' * 60 + 'b')"]  # neither lets go of the interpreter


def _seconds(pid: int) -> float:
    """What a process has had of the processor; 0 where it is no more."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return 0.0
    return int(fields[11]) / os.sysconf("SC_CLK_TCK")


@pytest.mark.parametrize(("kind", "code"), [("lone", BUSY[1]), *((kind, BUSY[0]) for kind in MAKERS)])
async def test_a_cell_that_holds_the_interpreter_ends_with_a_host_that_is_killed(
    kind: str, code: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if kind == "jupyter":
        pytest.importorskip("ipykernel")
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    program = HOST.format(made=MAKERS[kind], code=code)
    host = await asyncio.create_subprocess_exec(sys.executable, "-c", program, stdout=subprocess.PIPE)
    assert host.stdout is not None
    assert await asyncio.wait_for(host.stdout.readline(), 60.0) == b"it runs\n"
    before = {pid: _seconds(pid) for pid in below(host.pid)}
    busy = lambda: any(_seconds(pid) > was + 0.3 for pid, was in before.items())  # noqa: E731
    assert await settled(busy)
    theirs = below(host.pid)
    host.kill()
    await host.wait()
    try:
        assert await settled(lambda: not any(_alive(pid) for pid in theirs))
        assert await settled(lambda: not os.listdir(tmp_path)), os.listdir(tmp_path)
    finally:
        for pid in theirs:
            if _alive(pid):
                os.kill(pid, signal.SIGKILL)


def test_a_watch_that_is_closed_ends_nobody(tmp_path: Path) -> None:
    program = ["sleep", "600"]
    with subprocess.Popen(program, start_new_session=True) as process:
        with Watch(process.pid, str(tmp_path)) as watch:
            assert watch.pid in below(os.getpid())
        assert watch.pid not in below(os.getpid())
        assert process.poll() is None
        assert tmp_path.is_dir()
        process.kill()


def _alive(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] not in "ZX"
    except OSError:
        return False
