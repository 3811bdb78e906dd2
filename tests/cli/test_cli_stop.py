"""Ctrl-C and TERM: clean, at once, and nothing is left behind."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import re
import shlex
import signal
import time
from asyncio.subprocess import Process
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest

from unspool.testing import Ask, Behaviour

from .conftest import LOOK, SECONDS, Cli, MakeCli


def children_of(pid: int) -> set[int]:
    """All descendants of a process, by the parent that /proc names."""
    parents: dict[int, int] = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                parents[int(entry.name)] = int((entry / "stat").read_text().rpartition(")")[2].split()[1])
            except (OSError, IndexError):
                continue
    found = {pid}
    while more := {child for child, parent in parents.items() if parent in found} - found:
        found |= more
    return found - {pid}


def running(pid: int) -> bool:
    try:
        return (Path("/proc") / str(pid) / "stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


async def started(cli: Cli, command: list[str], asks: int) -> Process:
    """The command, once the server has got that many requests."""
    process = await asyncio.create_subprocess_exec(
        *command,
        cwd=cli.folder,
        env=cli.environment,
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
        start_new_session=True,
    )
    try:
        await cli.server.until(
            lambda: len(cli.server.asks) >= asks or process.returncode is not None, seconds=SECONDS
        )
    except TimeoutError:
        process.kill()
        raise
    return process


async def ended(process: Process) -> tuple[int | None, str, str]:
    try:
        async with asyncio.timeout(SECONDS):
            out, err = await process.communicate()
    except TimeoutError:
        process.kill()
        raise
    return process.returncode, out.decode(), err.decode()


@pytest.mark.parametrize(
    ("number", "code", "words"),
    [(signal.SIGINT, 130, "Ctrl-C"), (signal.SIGTERM, 143, "TERM")],
)
async def test_a_signal_ends_a_run_that_waits_for_its_model(
    make_cli: MakeCli, number: signal.Signals, code: int, words: str
) -> None:
    cli = make_cli([LOOK, Behaviour("late", fault="hang")])
    process = await started(cli, cli.ask("?", cli.file("a.txt", "hello")), asks=2)
    family = children_of(process.pid)
    os.killpg(process.pid, number)  # as a terminal does it: every process of the group gets it
    returncode, out, err = await ended(process)
    assert (returncode, out) == (code, ""), err
    assert "cancelled: stopped by" in err
    assert words in err
    assert "Traceback" not in err
    assert "Exception ignored" not in err
    assert [pid for pid in family if running(pid)] == []
    await cli.server.until(lambda: cli.server.cancelled == 1, seconds=SECONDS)
    shown = cli.run(cli.command("runs", "show", "last")).stdout.decode()
    assert re.search(f"cancelled: stopped by .*{words}", shown)  # it is kept, too


async def test_ctrl_c_in_the_middle_of_a_big_batch(make_cli: MakeCli) -> None:
    batch = "```python\nprint(1)\nllm_query_batched([f'item {n}' for n in range(1000)])\n```"
    cli = make_cli(lambda ask: batch if "context" in str(ask.body) else Behaviour(fault="hang"))
    process = await started(cli, cli.ask("?", cli.file("a.txt", "hello"), "--json"), asks=9)
    family = children_of(process.pid)
    assert family
    process.send_signal(signal.SIGINT)
    returncode, out, err = await ended(process)
    assert returncode == 130, err
    assert json.loads(out)["status"] == "cancelled"
    assert 8 <= json.loads(out)["sub_calls"] <= 1000  # a part of a batch waits to begin
    assert "Traceback" not in err
    assert [pid for pid in family if running(pid)] == []


async def test_ctrl_c_while_a_cell_spins(make_cli: MakeCli) -> None:
    cli = make_cli(["```python\nprint(llm_query('go'))\nwhile True: pass\n```", "go"])
    process = await started(cli, cli.ask("?", cli.file("a.txt", "hello")), asks=2)
    family = children_of(process.pid)
    begun = time.monotonic()
    for _ in range(3):  # an impatient person
        process.send_signal(signal.SIGINT)
    returncode, out, err = await ended(process)
    assert (returncode, out) == (130, ""), err
    assert time.monotonic() - begun < 20
    assert "Traceback" not in err
    assert [pid for pid in family if running(pid)] == []


BATCH = """```python
import os
print(len(context))
result = []
for n in range(4):
    result.append(llm_query(f'item {n}'))
```"""


def slow_third(hang: list[int]) -> Callable[[Ask], Behaviour | str]:
    """The third sub-call hangs as long as ``hang`` holds something."""

    def reply(ask: Ask) -> Behaviour | str:
        if ask.prompt.startswith("item"):
            return Behaviour(fault="hang") if hang and ask.prompt == "item 2" else f"<{ask.prompt}>"
        replies = str(ask.body).count("'assistant'")
        return BATCH if replies == 0 else "```python\nsubmit(result)\n```"

    return reply


async def test_ctrl_c_shows_what_there_is_and_how_to_go_on(make_cli: MakeCli) -> None:
    hang = [1]
    cli = make_cli(slow_third(hang))
    command = cli.ask("?", cli.file("a.txt", "hello"), "--runs", "kept runs")
    process = await started(cli, command, asks=4)
    process.send_signal(signal.SIGINT)
    returncode, out, err = await ended(process)
    assert (returncode, out) == (130, '["<item 0>", "<item 1>"]\n'), err
    (words,) = (line.partition("to go on: ")[2] for line in err.splitlines() if "to go on" in line)
    assert words.startswith("unspool runs resume 2")
    hang.clear()
    done = cli.run(cli.command(*shlex.split(words)[1:], "--json"))
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout)
    assert told["answer"] == [f"<item {n}>" for n in range(4)]
    assert (told["turns"], told["sub_calls"]) == (2, 4)
    asked = Counter(ask.prompt for ask in cli.server.asks if ask.prompt.startswith("item"))
    assert asked == {"item 0": 1, "item 1": 1, "item 2": 2, "item 3": 1}
    done = cli.run(cli.command("runs", "show", "last", "--runs", "kept runs"))
    assert done.stdout.decode().endswith('<item 3>"]\n')
    again = cli.run(cli.command(*shlex.split(words)[1:]))
    assert again.stdout == b'["<item 0>", "<item 1>", "<item 2>", "<item 3>"]\n'
    assert len(cli.server.asks) == 7


async def test_a_killed_run_is_resumed_with_what_is_piped_in_again(make_cli: MakeCli) -> None:
    hang = [1]
    cli = make_cli(slow_third(hang))
    process = await started(
        cli, ["sh", "-c", f"printf hello | {shlex.join(cli.ask('?', '--runs', 'kept'))}"], asks=4
    )
    family = children_of(process.pid)
    for pid in family:
        with contextlib.suppress(FileNotFoundError):  # printf has ended
            if b"ask" in (Path("/proc") / str(pid) / "cmdline").read_bytes().split(b"\0"):
                os.kill(pid, signal.SIGKILL)
    await ended(process)
    hang.clear()
    resume = cli.command("runs", "resume", "last", "--runs", "kept")
    assert b"interrupted" in cli.run(cli.command("runs", "list", "--runs", "kept")).stdout
    refused = cli.run(resume, stdin=b"another")
    assert refused.returncode == 2
    assert b"not the one" in refused.stderr
    assert b"Traceback" not in refused.stderr
    done = cli.run(resume, stdin=b"hello")
    assert json.loads(done.stdout) == [f"<item {n}>" for n in range(4)], done.stderr
    assert len(cli.server.asks) == 7
    assert [pid for pid in family if running(pid)] == []
