"""The sandbox ``command``: whatever leads to an interpreter, and all the ways in which it does not."""

from __future__ import annotations

import asyncio
import os
import shlex
import signal
import sys
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager, suppress
from pathlib import Path

import pytest

from unspool import RLM
from unspool.errors import ConfigError, ContextError, SandboxLost, SandboxUnavailable
from unspool.models.protocol import Message
from unspool.sandbox._line import with_prompt
from unspool.sandbox.command import CommandSandbox
from unspool.sandbox.protocol import CellResult, ReplSpec
from unspool.testing import ScriptedModel
from unspool.testing.sandbox_conformance import conform

from .conftest import Host, Session
from .test_lifecycle import below, settled

LACKS = {"forks": "a fork would need a wire of its own"}
PYTHON = shlex.quote(sys.executable)
WELCOME = f"sh -c 'echo Welcome to this machine; echo mind the gap >&2; exec {PYTHON} -'"


@asynccontextmanager
async def opened(command: object, context: object = "the context", **spec: object) -> AsyncIterator[Session]:
    sandbox = CommandSandbox(command, start_seconds=30.0)  # type: ignore[arg-type]
    try:
        host = Host()
        yield Session(await sandbox.open(ReplSpec(context, **spec), host), host)  # type: ignore[arg-type]
    finally:
        await sandbox.close()


def led_to(pid: int) -> set[int]:
    """What runs below a process because of a command here: the zygote of other tests makes spares when it likes."""
    found: set[int] = set()
    for each in below(pid):
        with suppress(OSError):  # it has ended
            last = Path(f"/proc/{each}/cmdline").read_bytes().rstrip(b"\0").rpartition(b"\0")[2]
            if last in (b"-", b"600") or last.endswith(b" -"):
                found.add(each)
    return found


def interpreter(version: str) -> str:
    """Another Python of this machine; the test is skipped where there is none."""
    root = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv"))
    found = [*map(str, sorted(root.glob(f"versions/{version}.*/bin/python"))), f"/usr/bin/python{version}"]
    for path in found:
        if os.access(path, os.X_OK):
            return path
    pytest.skip(f"there is no Python {version} here")


# ------------------------------------------------------------------------------ what leads to Python


@pytest.mark.parametrize(
    "command",
    [
        [sys.executable, "-"],
        f"{PYTHON} -",
        f"{PYTHON} -i",
        f"sh -c 'exec {PYTHON} -'",
        f"sh -c 'cd / && {PYTHON} -'",
        f"env -i {PYTHON} -",
        WELCOME,
        f"sh -c 'yes noise | head -c 300000; exec {PYTHON} -'",
    ],
)
async def test_any_command_that_leads_to_python(command: object) -> None:
    async with opened(command) as repl:
        await repl.show("import os\nseen = len(context)\ndef f(): return seen + 1")
        assert await repl.show("f(), context") == "(12, 'the context')"
        assert (await repl.run("seen = 0\nos._exit(3)")).outcome == "rolled_back"
        assert (await repl.run("while True: pass", 0.2)).outcome in ("interrupted", "rolled_back")
        assert await repl.show("f()") == "12"


@pytest.mark.parametrize("version", ["3.11", "3.12", "3.13"])
def test_other_interpreters(version: str) -> None:
    path = interpreter(version)
    for check in (
        "values survive",
        "odd output",
        "undone",
        "bytes, lists",
        "submit ends",
        "a cell that hangs",
    ):
        report = conform(lambda: CommandSandbox([path, "-"]), only=check)
        assert report.ok, str(report)
        assert report.outcomes


async def test_the_prompt_is_where_the_command_ends() -> None:
    assert with_prompt(["ssh", "host", "python3", "-"]) == ["ssh", "host", "python3", "-qi", "-"]
    assert with_prompt(["sh", "-c", "exec python3 -"]) == ["sh", "-c", "exec python3 -qi -"]
    assert with_prompt(["wrapper"]) == ["wrapper"]


async def test_the_environment_is_not_in_the_repl(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SOME_API_KEY", "very-secret")
    async with opened([sys.executable, "-"]) as repl:
        shown = await repl.show("import os\nsorted(os.environ), hash('a')")
        assert "very-secret" not in await repl.show("dict(os.environ)")
        assert "'PATH'" in shown
        assert "SOME_API_KEY" not in shown
    async with opened([sys.executable, "-"]) as again:  # sets come in the same order in a resumed run
        assert await again.show("import os\nsorted(os.environ), hash('a')") == shown


async def test_nothing_is_left_of_it(tmp_path: Path) -> None:
    me = os.getpid()
    async with opened([sys.executable, "-"]) as repl:
        await repl.show("1")
    assert await settled(lambda: not led_to(me))
    files = set(os.listdir("/proc/self/fd"))
    for _ in range(3):
        async with opened(f"sh -c '{PYTHON} -'", "x" * 100_000) as repl:
            await repl.show("import threading\nthreading.Thread(target=lambda: None).start()\nlen(context)")
            assert led_to(me)
    assert await settled(lambda: not led_to(me)), led_to(me)
    assert set(os.listdir("/proc/self/fd")) <= files


async def test_a_start_that_is_cancelled_leaves_nothing() -> None:
    sandbox = CommandSandbox("sleep 600")
    opening = asyncio.ensure_future(sandbox.open(ReplSpec("x"), Host()))
    assert await settled(lambda: bool(led_to(os.getpid())))
    opening.cancel()
    with pytest.raises(asyncio.CancelledError):
        await opening
    assert await settled(lambda: not led_to(os.getpid()))
    await sandbox.close()


# ------------------------------------------------------------------------------ what does not

DEAD = {
    "no-such-program-here -": "there is no such program",
    "/etc/hostname -": "could not be started",
    "false": "ended with status 1",
    "sh -c 'echo no route to host >&2; exit 255'": "status 255; it said: no route to host",
    "sh -c 'echo unknown image; exit 125'": "status 125; it said: unknown image",
    "sh -c 'kill -9 $$'": "was killed by signal 9",
    "true": "ended with status 0",
}


@pytest.mark.parametrize("command", DEAD)
async def test_a_command_that_does_not_lead_to_python_says_why(command: str) -> None:
    with pytest.raises(SandboxUnavailable) as caught:
        async with opened(command):
            pass
    assert DEAD[command] in str(caught.value)
    assert shlex.split(command)[0] in str(caught.value)


@pytest.mark.parametrize("command", ["sleep 60", f"{PYTHON} -c 'import sys; sys.stdin.read()'"])
async def test_a_command_that_says_nothing_is_given_up(command: str) -> None:
    sandbox = CommandSandbox(command, start_seconds=0.5)
    with pytest.raises(SandboxUnavailable, match=r"no Python answered within 0.5 s.*end it in `python3 -`"):
        await sandbox.open(ReplSpec("x"), Host())
    await sandbox.close()


async def test_a_command_that_gives_back_what_it_is_sent_is_told_so() -> None:
    with pytest.raises(SandboxUnavailable, match="'cat' gives back what it is sent, and does not run it"):
        async with opened("cat"):
            pass


async def test_noise_without_end_is_given_up() -> None:
    with pytest.raises(SandboxUnavailable, match="no Python answered in 1,048,576 bytes"):
        async with opened("yes"):
            pass


@pytest.mark.parametrize("version", ["2.7", "3.6", "3.8", "3.10"])
async def test_an_old_python_is_named(version: str) -> None:
    path = interpreter(version)
    said = "Unknown option: -q" if version == "2.7" else f"gives Python {version}: the sandbox needs 3.11"
    with pytest.raises(SandboxUnavailable, match=said):
        async with opened([path, "-"]):
            pass


@pytest.mark.parametrize("command", ["", "  ", "'", [], [""], [1]])
def test_what_is_no_command_is_refused(command: object) -> None:
    with pytest.raises(ConfigError, match="command"):
        CommandSandbox(command)  # type: ignore[arg-type]


# ------------------------------------------------------------------------------ lost connections


def number(pid_file: Path) -> int:
    return int(pid_file.read_text())


async def _lost_in(repl: Session, pid_file: Path) -> CellResult:
    """A cell in which the command is killed from outside."""
    running = asyncio.ensure_future(repl.run("print('begun', flush=True)\ntool()\nwhile True: pass", 60.0))
    assert await settled(lambda: bool(repl.host.calls))
    os.kill(number(pid_file), signal.SIGKILL)
    return await running


async def test_a_lost_connection_begins_anew_with_the_context_alone(tmp_path: Path) -> None:
    pid = tmp_path / "pid"
    command = f"sh -c 'echo $$ > {pid}; echo oh dear >&2; exec {PYTHON} -'"
    async with opened(command, {"k": "v"}, tools=("tool",)) as repl:
        for _ in range(2):
            await repl.show("mine = 1\nother = 2")
            result = await _lost_in(repl, pid)
            assert result.outcome == "restarted"
            (note,) = result.notes
            assert "began anew with the context alone: the connection was lost" in note
            assert "was killed by signal 9; it said: oh dear" in note
            assert await repl.show("context, 'mine' in globals()") == "({'k': 'v'}, False)"
            assert note.endswith("; lost: mine, other")
            repl.host.calls.clear()


async def test_a_connection_that_is_lost_between_cells(tmp_path: Path) -> None:
    pid = tmp_path / "pid"
    async with opened(f"sh -c 'echo $$ > {pid}; exec {PYTHON} -'") as repl:
        await repl.show("mine = 1")
        os.kill(number(pid), signal.SIGKILL)
        await asyncio.sleep(0.3)
        result = await repl.run("context, 'mine' in globals()")
        assert result.output == "('the context', False)\n"
        assert "lost: mine" in result.notes[0]


async def test_a_connection_that_cannot_be_made_again(tmp_path: Path) -> None:
    once = tmp_path / "once"
    command = f"sh -c 'test -e {once} && exit 9; echo $$ > {once}; exec {PYTHON} -'"
    async with opened(command, tools=("tool",)) as repl:
        with pytest.raises(SandboxLost, match=r"killed by signal 9.*could not be started again.*status 9"):
            await _lost_in(repl, once)


@pytest.mark.parametrize("size", [10, 50, 100, 3_000, 40_000])
async def test_a_connection_that_is_cut_in_the_middle_of_a_message(size: int, tmp_path: Path) -> None:
    """Whatever was under way, a cell ends and says why, or the REPL never opened."""
    relay = tmp_path / "relay.py"
    relay.write_text(f"""
import os, subprocess, sys
python = subprocess.Popen([sys.executable, "-qi", "-"], stdout=subprocess.PIPE)
left = {size}
while left and (data := os.read(python.stdout.fileno(), left)):
    left -= os.write(1, data)
python.kill()
""")
    said: list[str] = []
    try:
        async with opened([sys.executable, str(relay)]) as repl:
            while not said:
                said += (await repl.run("print('x' * 100_000)")).notes
    except (SandboxUnavailable, SandboxLost) as error:
        said.append(str(error))
    assert "the connection was lost" in said[0]


HOSTILE = """
import os, random, re, sys
line = sys.stdin.readline()
token = re.search(r"([0-9a-f]{32}) %d", line)[1]
os.write(1, f"\\n{token} 3.12\\n".encode())
os.read(0, 1 << 20)
r = random.Random(SEED)
heads = [b"C", b"K", b"S", b"Q", b"E", b"N", b"O", b"X", b"F", b"P"]
for _ in range(50):
    size = r.choice([0, 1, 5, 100, 5_000, 1 << 31])
    head = r.choice(heads) + r.choice([b"", b"\\0\\0\\0"]) + r.randbytes(4) + size.to_bytes(4, "little")
    os.write(1, head + r.choice([r.randbytes(min(size, 5_000)), b'{"why": "gone", "n": "x"}', b"[1]"]))
"""


@pytest.mark.parametrize("seed", range(6))
async def test_a_far_side_that_lies_is_refused(seed: int, tmp_path: Path) -> None:
    script = tmp_path / "hostile.py"
    script.write_text(HOSTILE.replace("SEED", str(seed)))
    with pytest.raises((SandboxUnavailable, ContextError)):
        async with opened([sys.executable, str(script)]):
            pass


# ------------------------------------------------------------------------------ whole runs


def test_a_run_with_children_sub_calls_and_coverage() -> None:
    def reply(messages: Sequence[Message]) -> str:
        if "The question:\nhow long?" in messages[1].text:
            return "```python\nprint(len(context))\nsubmit(len(context))\n```"
        if len(messages) == 2:
            return "```python\nparts = chunks(context, 60_000)\nprint(context[:20], len(parts))\n```"
        return (
            "```python\nhits = llm_query_batched([f'count: {p[:50]}' for p in parts])\n"
            "child = rlm_query('how long?', context[:100])\nsubmit([len(hits), child])\n```"
        )

    root, sub = ScriptedModel(reply), ScriptedModel(lambda messages: "7")
    with RLM(root, sub_model=sub, sandbox=f"command:{PYTHON} -", max_depth=2, runs=False) as rlm:
        run = rlm.run("count", "a line of the log\n" * 10_000, answer=list[int])
    assert run.status == "answered", run.reason
    assert run.answer == [3, 100]
    assert run.coverage is not None
    assert run.coverage.read


def test_files_are_sent(tmp_path: Path) -> None:
    (tmp_path / "a.log").write_text("first\n" * 50_000 + "the needle\n")
    (tmp_path / "b.csv").write_text("x,y\n1,2\n")
    model = ScriptedModel(
        ["```python\nprint(list(context))\n```", "```python\nsubmit(grep('needle', context)[0])\n```"]
    )
    with RLM(model, sandbox=f"command:{PYTHON} -", runs=False) as rlm:
        run = rlm.run("where?", tmp_path)
    assert run.status == "answered", run.reason
    assert run.answer == "a.log:50001: the needle"


def test_a_file_that_is_too_large_to_be_sent(tmp_path: Path) -> None:
    path = tmp_path / "huge.log"
    path.write_text("a line\n")
    os.truncate(path, 600 << 20)
    with (
        RLM(ScriptedModel([]), sandbox=f"command:{PYTHON} -", runs=False) as rlm,
        pytest.raises(ContextError, match="more than 512 MB: use sandbox='process'"),
    ):
        rlm.run("where?", path)


# ------------------------------------------------------------------------------ before a model is asked


@pytest.mark.parametrize("command", ["false", "cat", f"{PYTHON} -c 'import time'"])
def test_no_model_is_asked_where_the_command_is_wrong(command: str) -> None:
    model = ScriptedModel([])
    run = RLM(model, sandbox=f"command:{command}", runs=False).run("q", "text")
    assert (run.status, run.turns, run.usage.calls, run.notes) == ("failed", 0, 0, ())
    assert command.split()[0].strip("'") in run.reason
    assert "b64decode" not in run.reason
    assert model.requests == []


def test_a_command_whose_program_is_not_there_is_refused_before_a_run_begins() -> None:
    with pytest.raises(ConfigError, match="there is no program 'no-such-program' here"):
        RLM(ScriptedModel([]), sandbox="command:no-such-program -")


async def test_once_it_has_led_to_python_the_model_is_not_kept_waiting() -> None:
    sandbox = CommandSandbox([sys.executable, "-"], start_seconds=30.0)
    try:
        assert not sandbox.proven
        await sandbox.open(ReplSpec("x"), Host())
        assert sandbox.proven
    finally:
        await sandbox.close()
