"""REPLs that are kept without Linux's own calls: what is theirs alone, beside the conformance suite."""

from __future__ import annotations

import asyncio
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from unspool.errors import SandboxUnavailable
from unspool.sandbox.command import CommandSandbox
from unspool.sandbox.lone import LoneSandbox
from unspool.sandbox.protocol import ReplSpec

from .conftest import Host, Session
from .mac_runs import on_a_mac
from .test_lifecycle import below, settled


def _folders() -> list[str]:
    return [str(path) for path in Path(tempfile.gettempdir()).resolve().glob("unspool-*")]


@asynccontextmanager
async def opened(context: object = "the context", **spec: object) -> AsyncIterator[Session]:
    sandbox = LoneSandbox()
    try:
        host = Host()
        yield Session(await sandbox.open(ReplSpec(context, **spec), host), host)  # type: ignore[arg-type]
    finally:
        await sandbox.close()


@pytest.mark.skipif(shutil.which("ps") is None, reason="there is no ps on this machine")
async def test_a_hog_is_ended_and_the_note_says_why() -> None:
    async with opened(memory=256 << 20) as repl:
        await repl.show("kept = 1")
        result = await repl.run("hog = [bytearray(b'x') * 1_000_000 for i in range(8_000)]")
        assert result.outcome == "restarted"
        assert "killed for memory: the limit of the REPL is 268 MB; lost: kept" in result.notes[0]
        assert await repl.show("context") == "'the context'"


async def test_a_folder_that_grows_is_ended_and_taken_away() -> None:
    async with opened() as repl:
        folder = eval(await repl.show("import os, tempfile\nos.getcwd()"))
        assert await repl.show("tempfile.gettempdir() == os.getcwd() == os.environ['HOME']") == "True"
        assert folder in _folders()
        result = await repl.run(
            "data = bytes(50 << 20)\nfor i in range(40):\n    open(str(i), 'wb').write(data)\n"
            "import time\ntime.sleep(20)"
        )
        assert "killed for what it wrote to its folder: the limit is 256 MB" in result.notes[0]
        assert folder not in _folders()
        result = await repl.run(f"open('large', 'wb').write(bytes({300 << 20}))")
        assert result.error is not None
        assert "File too large" in result.error.message


async def test_what_a_cell_starts_ends_with_the_repl() -> None:
    me = os.getpid()
    before, files = below(me), set(os.listdir("/proc/self/fd"))
    async with opened() as repl:
        await repl.show("import subprocess\nchild = subprocess.Popen(['sleep', '600'])")
        assert len(below(me) - before) == 3  # the REPL, its child, and what watches this process
    assert await settled(lambda: below(me) <= before), below(me) - before
    assert set(os.listdir("/proc/self/fd")) <= files


async def test_a_cell_that_leaves_a_child_behind_is_heard_all_the_same() -> None:
    async with opened() as repl:
        await repl.show("import os, time\npid = os.fork() or time.sleep(600)")
        result = await repl.run("os._exit(3)", 20.0)
        assert "its process ended: os._exit(3)" in result.notes[0]


async def test_its_environment_is_a_fixed_list(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SOME_API_KEY", "very-secret")
    async with opened() as repl:
        assert "very-secret" not in await repl.show("import os\ndict(os.environ)")
        assert "'PATH'" in await repl.show("sorted(os.environ)")


async def test_tables_and_packages_are_there() -> None:
    import pandas

    async with opened(pandas.DataFrame({"a": range(100_000), "b": ["text"] * 100_000})) as repl:
        assert (
            await repl.show("len(context), int(context.a.sum()), context.b[5]")
            == "(100000, 4999950000, 'text')"
        )


HOST = """
import asyncio, os, sys
from unspool.errors import SandboxUnavailable
from unspool.sandbox.command import CommandSandbox
from unspool.sandbox.lone import LoneSandbox
from unspool.sandbox.protocol import HostReply, ReplSpec
async def main():
    async def on_call(call):
        print(call.args[0], flush=True)
        os._exit(0)
    repl = await LoneSandbox().open(ReplSpec("x", tools=("told",)), on_call)
    await repl.execute("import os\\ntold(os.getpid())\\nwhile True: pass", seconds=600)
asyncio.run(main())
"""


async def test_it_ends_with_a_host_that_is_no_more(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    host = await asyncio.create_subprocess_exec(sys.executable, "-c", HOST, stdout=subprocess.PIPE)
    told, _ = await asyncio.wait_for(host.communicate(), 60.0)
    assert await settled(lambda: not _alive(int(told)))
    assert await settled(lambda: not os.listdir(tmp_path))


async def test_what_a_cell_has_started_ends_with_the_host(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    started = "import subprocess\\ntold(subprocess.Popen(['sleep', '600']).pid)"
    code = HOST.replace("told(os.getpid())", started)
    assert started in code
    host = await asyncio.create_subprocess_exec(sys.executable, "-c", code, stdout=subprocess.PIPE)
    told, _ = await asyncio.wait_for(host.communicate(), 60.0)
    assert await settled(lambda: not _alive(int(told)))
    assert await settled(lambda: not os.listdir(tmp_path))


def _alive(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


# ------------------------------------------------------------------------------ on what looks like a Mac

ASKED = """
import sys
from unspool import RLM
from unspool.testing import ScriptedModel
model = ScriptedModel(["```python\\nprint(len(context))\\nsubmit(len(context))\\n```"] * 2)
with RLM(model, sandbox=sys.argv[2], runs=sys.argv[3]) as rlm:
    run = rlm.run("how long?", "a line\\n" * 1000)
print(run.status, run.answer, run.reason)
"""


def test_none_is_such_a_process_there(tmp_path: Path) -> None:
    assert on_a_mac(ASKED, "none", tmp_path) == "answered 7000 submitted\n"
    assert list(tmp_path.glob("*/events.jsonl"))


@pytest.mark.parametrize("name", ["process", "auto"])
def test_without_sandbox_exec_the_ways_that_there_are_are_named(name: str, tmp_path: Path) -> None:
    said = on_a_mac(ASKED, name, tmp_path)
    assert said.startswith("failed None the process sandbox needs Linux and a Python executable; on macOS, ")
    for way in (
        'sandbox="seatbelt"',
        'sandbox="command:docker run',
        'sandbox="none" there',
        'sandbox="none" here',
    ):
        assert way in said


def test_seatbelt_without_its_program_names_them_too() -> None:
    code = "from unspool import RLM\ntry:\n    RLM('openai:x', sandbox='seatbelt')\nexcept Exception as e:\n    print(e)"
    said = on_a_mac(code)
    assert said.startswith(
        "the sandbox 'seatbelt' needs macOS and its /usr/bin/sandbox-exec; put the code into"
    )


async def test_a_command_that_leads_to_a_mac_is_told_where_to_lead(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "sitecustomize.py").write_text("import sys\nsys.platform = 'darwin'\n")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    sandbox = CommandSandbox([sys.executable, "-"], start_seconds=30.0)
    with pytest.raises(
        SandboxUnavailable, match="has to lead to Linux, and this Python runs on darwin: use a"
    ):
        await sandbox.open(ReplSpec("x"), Host())
    await sandbox.close()


CUTS = """
import asyncio, sys
from unspool.errors import SandboxUnavailable
from unspool.sandbox.command import CommandSandbox
from unspool.sandbox.lone import LoneSandbox
from unspool.sandbox.protocol import HostReply, ReplSpec
async def main():
    async def on_call(call):
        return HostReply()
    sandbox = LoneSandbox()
    for context in ("the context", "x" * 10_000_000, ["text" * 100_000, b"bytes" * 100_000]):
        repl = await sandbox.open(ReplSpec(context), on_call)
        await repl.execute("kept = 1", seconds=9)
        cut = "import os\\nfor fd in range(3, 64):\\n    try: os.ftruncate(fd, 0)\\n    except OSError: pass\\n"
        result = await repl.execute(cut + "os._exit(3)", seconds=9)
        print(result.outcome, repr(result.output), (await repl.execute("hash(repr(context))", seconds=9)).output)
        print(repr(result.notes))
        assert (await repl.execute("len(context), context[-1]", seconds=9)).output.startswith(f"({len(context)}, ")
    await sandbox.close()
asyncio.run(main())
"""


def test_files_that_a_cell_cuts_off_do_no_harm_to_the_host() -> None:
    """There are no seals: what the host reads of them, it reads as what it is by then."""
    said = on_a_mac(CUTS)
    assert said.count("restarted") == 3, said


COMMAND = """
import sys
from unspool.sandbox.command import CommandSandbox
from unspool.testing.sandbox_conformance import conform
for only in ("values survive", "a crash is undone", "files are read", "several threads", "a cell that hangs"):
    print(conform(lambda: CommandSandbox([sys.executable, "-"]), only=only))
"""


def test_a_command_can_lead_from_there_to_linux() -> None:
    said = on_a_mac(COMMAND)
    assert said.count("1 passed, 0 failed") == 5, said


CLI = """
import sys
sys.argv, sys.stderr = ["unspool", *sys.argv[2:]], sys.stdout
from unspool.cli import main
try:
    main()
except SystemExit as error:
    print("exit", error.code)
"""


@pytest.mark.parametrize(
    ("arguments", "said"),
    [("--help", "Answer QUESTION over the input."), ("doctor", 'sandbox="seatbelt" has macOS confine code')],
)
def test_the_command_line_comes_up_there(arguments: str, said: str) -> None:
    told = " ".join(on_a_mac(CLI, *arguments.split()).split())
    assert said in told
    assert "Traceback" not in told


def test_a_question_in_a_shell_there(tmp_path: Path) -> None:
    reply, text = tmp_path / "reply", tmp_path / "text"
    reply.write_text("```python\nprint(len(context))\nsubmit(len(context))\n```\n")
    text.write_text("a line\n" * 100)
    told = on_a_mac(
        CLI, "ask", "how long?", text, "--model", f"command:cat {reply}", "--sandbox", "none", "--answer", "int",
        "--runs", tmp_path / "runs", "-q",
    )  # fmt: skip
    assert told.splitlines()[0] == "700"
    assert "Traceback" not in told
