"""Programs as models: what they read, how they fail, and that nothing of them stays."""

from __future__ import annotations

import asyncio
import os
import shlex
import sys
import time
from contextlib import suppress
from pathlib import Path

import pytest

from unspool import RLM
from unspool.errors import ConfigError, ModelError
from unspool.models.calls import Caller
from unspool.models.command import CommandModel
from unspool.models.discover import resolve
from unspool.models.protocol import Delta, Message, ModelRequest
from unspool.types import Usage

HI = ModelRequest((Message("user", "hi"),))


def program(code: str, *arguments: str) -> CommandModel:
    """A program in Python."""
    return CommandModel(shlex.join([sys.executable, "-c", code, *arguments]))


async def fails(model: CommandModel, request: ModelRequest = HI) -> ModelError:
    with pytest.raises(ModelError) as failed:
        await model.complete(request)
    return failed.value


async def test_a_program_answers() -> None:
    model = program("import sys; print(sys.stdin.read().upper())")
    reply = await model.complete(HI)
    assert (reply.text, reply.finish, reply.cost) == ("HI", "stop", None)
    assert reply.usage == Usage(calls=1, calls_unmeasured=1)
    assert reply.seconds > 0


async def test_a_conversation_is_sent_with_its_roles_and_a_wanted_schema() -> None:
    model = program("import sys; print(sys.stdin.read())")
    said = (
        Message("system", "Be brief."),
        Message("user", "One?"),
        Message("assistant", "1"),
        Message("user", "Two?"),
    )
    assert (await model.complete(ModelRequest(said))).text == (
        "# System\nBe brief.\n\n# User\nOne?\n\n# Assistant\n1\n\n# User\nTwo?"
    )
    asked = (await model.complete(ModelRequest(said[1:2], schema={"type": "integer"}))).text
    assert asked.startswith("One?\n\n")
    assert '{"type": "integer"}' in asked


@pytest.mark.parametrize(
    "text", ["😀 e\u0301 \u202e", "nul \0 byte", "a\r\nb\rc", "x" * 2_000_000, "  spaced  "]
)
async def test_text_round_trips(text: str) -> None:
    model = program("import sys; sys.stdout.buffer.write(sys.stdin.buffer.read())")
    assert (await model.complete(ModelRequest((Message("user", text),)))).text == text


async def test_nothing_in_a_prompt_or_a_name_reaches_a_shell(tmp_path: Path) -> None:
    trap = tmp_path / "trap"
    model = CommandModel(f"cat - {tmp_path}/none; touch {trap}")  # a shell would run the second
    error = await fails(
        model, ModelRequest((Message("user", f"$(touch {trap}) `touch {trap}`; touch {trap}"),))
    )
    assert "none;" in error.message
    assert not trap.exists()


async def test_a_failure_carries_the_end_of_stderr_without_keys() -> None:
    code = "import sys; sys.stderr.write('x' * 500_000 + '\\nno such model, key sk-abcdefgh12345678'); sys.exit(3)"
    error = await fails(program(code))
    assert (error.kind, error.retryable) == ("server", False)
    assert "ended with exit code 3" in error.message
    assert "no such model" in error.message
    assert "sk-abcdefgh" not in error.message
    assert len(error.message) < 1_300


async def test_only_a_failure_that_says_so_is_tried_again(tmp_path: Path) -> None:
    code = "import sys, os; n = len(os.listdir(sys.argv[1])); open(f'{sys.argv[1]}/{n}', 'x'); sys.exit(75 if n < 2 else print('ok'))"
    reply = await Caller(program(code, str(tmp_path)), backoff=0.001).call(HI)
    assert (reply.text, reply.retries) == ("ok", 2)
    with pytest.raises(ModelError, match="said nothing"):
        await Caller(program("raise SystemExit(1)"), backoff=0.001).call(HI)


async def test_a_program_that_ends_by_a_signal_says_which() -> None:
    error = await fails(program("import os; os.abort()"))
    assert "was ended by SIGABRT" in error.message


async def test_a_program_that_does_not_read_may_still_answer() -> None:
    model = program("print('done')")
    assert (await model.complete(ModelRequest((Message("user", "x" * 3_000_000),)))).text == "done"


async def test_a_reply_without_end_is_stopped() -> None:
    error = await fails(program("while True: print('x' * 1_000_000)"))
    assert "more than 32 MB" in error.message


async def test_thinking_is_kept_out_and_no_reply_is_the_error_empty() -> None:
    reply = await program("print('<think>hm</think>\\n42')").complete(HI)
    assert (reply.text, reply.thinking) == ("42", "hm")
    with pytest.raises(ModelError) as failed:
        await Caller(program("pass")).call(HI)
    assert failed.value.kind == "empty"


@pytest.mark.parametrize("how", ["cancelled", "timed out"])
async def test_a_call_that_is_given_up_leaves_no_process(how: str, tmp_path: Path) -> None:
    """Not even one that the program started itself."""
    code = (
        "import os, subprocess, sys, time\n"
        "child = subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(600)'])\n"
        "open(sys.argv[1] + '.new', 'w').write(f'{os.getpid()} {child.pid}')\n"
        "os.rename(sys.argv[1] + '.new', sys.argv[1])\n"
        "time.sleep(600)"
    )
    note = tmp_path / "pids"
    seconds = 600.0 if how == "cancelled" else 3.0
    caller = Caller(program(code, str(note)), attempts=1, timeout=seconds)
    call = asyncio.create_task(caller.call(HI))
    while not note.exists():  # noqa: ASYNC110 (another process makes it)
        await asyncio.sleep(0.01)
    if how == "cancelled":
        call.cancel()
        with pytest.raises(asyncio.CancelledError):
            await call
    else:
        with pytest.raises(ModelError, match="no reply within 3 s"):
            await call
    ends = time.monotonic() + 10
    while any(map(alive, note.read_text().split())) and time.monotonic() < ends:  # noqa: ASYNC110
        await asyncio.sleep(0.01)
    assert not any(map(alive, note.read_text().split()))


@pytest.mark.parametrize("steps", range(0, 14, 2))
async def test_a_call_that_is_given_up_while_it_starts_leaves_none(
    steps: int, caplog: pytest.LogCaptureFixture
) -> None:
    """However far the start has come, the program ends, and asyncio complains of nothing."""
    mark = f"unspool-start-{os.getpid()}-{steps}"
    call = asyncio.create_task(program("import time; time.sleep(600)", mark).complete(HI))
    for _ in range(steps):
        await asyncio.sleep(0)
    call.cancel()
    done, _ = await asyncio.wait([call], timeout=30)
    assert done
    assert call.cancelled()
    assert not runs(mark)
    assert caplog.text == ""


def runs(mark: str) -> bool:
    """Whether a process has the mark in its command."""
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        with suppress(OSError):  # it has ended
            if mark in path.read_text(errors="replace"):
                return True
    return False


def alive(pid: str) -> bool:
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except FileNotFoundError:
        return False
    return state not in "ZX"  # a zombie waits for whoever adopts it, and does nothing


async def test_what_is_printed_is_told_as_it_comes() -> None:
    told: list[Delta] = []
    model = program("import time\nfor w in ('é1', 'é2'): print(w, end='', flush=True); time.sleep(0.2)")
    reply = await model.complete(ModelRequest(HI.messages, on_delta=told.append))
    assert reply.text == "é1é2" == "".join(d.text for d in told)
    assert [d.fresh for d in told][:1] == [True]


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("command:", "needs a program"),
        ("command:no-such-program-anywhere x", "there is no program 'no-such-program-anywhere'"),
        ("command:cat 'open", "cannot be split"),
    ],
)
def test_a_wrong_command_is_said_at_once(name: str, said: str) -> None:
    with pytest.raises(ConfigError, match=said):
        resolve(name, environ={})


def test_a_run_over_a_program(tmp_path: Path) -> None:
    script = tmp_path / "model.py"
    script.write_text(
        "import sys\n"
        "prompt = sys.stdin.read()\n"
        "asked = '# System' not in prompt\n"
        "print('7' if asked else '```python\\nn = llm_query(\"?\")\\nsubmit(int(n) + len(context))\\n```')\n"
    )
    name = f"command:{shlex.join([sys.executable, os.fspath(script)])}"
    with RLM(name) as engine:
        run = engine.run("How long?", "abc")
    assert (run.status, run.answer, run.cost) == ("answered", 10, None)
    assert run.model == name
    assert run.usage.calls_unmeasured == 2


def test_where_no_provider_charges_no_note_speaks_of_a_charge(tmp_path: Path) -> None:
    run = RLM("command:false", runs=False).run("How many?", "a text")
    assert run.status == "failed"
    assert run.notes == (
        "1 request had no whole reply: what was read and written for that is in no figure here",
    )
