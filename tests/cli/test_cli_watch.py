"""``unspool watch``: a run of another process, from its journal."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import threading
from pathlib import Path

import pytest

from unspool.journal import Journal
from unspool.testing import Ask

from .. import stories
from .conftest import LOOK, SECONDS, Cli, MakeCli, submits
from .test_cli_live import on_terminal


class Held:
    """A model that gives its second reply when it is told to."""

    def __init__(self) -> None:
        self.asked, self.go = threading.Event(), threading.Event()
        self.first = True

    def __call__(self, ask: Ask) -> str:
        if self.first:
            self.first = False
            return LOOK
        self.asked.set()
        assert self.go.wait(SECONDS)
        return submits("'the answer'")


def start(cli: Cli, *command: str) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        list(command),
        cwd=cli.folder,
        env=cli.environment,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )


def ended(process: subprocess.Popen[bytes]) -> tuple[int, str, str]:
    try:
        out, err = process.communicate(timeout=SECONDS)
    finally:
        process.kill()
    return process.returncode, out.decode(), err.decode()


@pytest.fixture
def going(make_cli: MakeCli) -> tuple[Cli, Held, subprocess.Popen[bytes]]:
    """A run of another process that waits for its second reply."""
    held = Held()
    cli = make_cli(held)
    process = start(cli, *cli.ask("What?", cli.file("a.txt", "hello"), "--runs", "kept"))
    assert held.asked.wait(SECONDS)
    return cli, held, process


def _seconds(told: str) -> float:
    number, unit = told.split()
    return float(number) / (1000 if unit == "ms" else 1)


def _begun_late(cli: Cli) -> float:
    """Seconds from the run's beginning to that of its root."""
    folder = cli.folder / "kept"
    begun = {event.kind: event.time for event in Journal(folder).read(next(iter(Journal(folder).runs())))}
    return begun["node.started"] - begun["run.started"]


def test_a_run_is_followed_to_its_end(going: tuple[Cli, Held, subprocess.Popen[bytes]]) -> None:
    cli, held, run = going
    watching = start(cli, *cli.command("watch", "last", "--runs", "kept"))
    assert watching.stderr is not None
    first = [watching.stderr.readline().decode() for _ in range(3)]
    assert first[0].startswith("run: ")
    assert first[1:] == ["question: What?\n", "model: openai:test-model\n"]
    assert b"turn 1: 1 line of code" in watching.stderr.readline()
    shown = cli.run(cli.command("runs", "show", "last", "--runs", "kept")).stdout.decode()
    run_took, root_took = (
        re.search(each, shown) for each in ("running for ([0-9.]+ m?s)\n", "0  going on  ([0-9.]+ m?s)  ")
    )
    assert run_took is not None
    assert root_took is not None
    assert _seconds(run_took[1]) - _seconds(root_took[1]) == pytest.approx(_begun_late(cli), abs=0.06)
    assert "it is still going: unspool watch " in shown
    held.go.set()
    code, out, err = ended(watching)
    assert (code, out) == (0, "the answer\n"), err
    assert "answered in" in err
    assert ended(run)[0] == 0


def test_a_killed_run_is_told(going: tuple[Cli, Held, subprocess.Popen[bytes]]) -> None:
    cli, held, run = going
    watching = start(cli, *cli.command("watch", "last", "--runs", "kept"))
    assert watching.stderr is not None
    watching.stderr.readline()
    run.kill()
    ended(run)
    code, out, err = ended(watching)
    held.go.set()
    assert (code, out) == (1, "")
    assert "has gone" in err
    assert "unspool runs resume " in err


def test_ctrl_c_leaves_the_run_alone(going: tuple[Cli, Held, subprocess.Popen[bytes]]) -> None:
    cli, held, run = going
    watching = start(cli, *cli.command("watch", "last", "--runs", "kept"))
    assert watching.stderr is not None
    watching.stderr.readline()
    os.kill(watching.pid, signal.SIGINT)
    code, _, err = ended(watching)
    assert code == 130
    assert "the run itself goes on" in err
    held.go.set()
    assert ended(run)[:2] == (0, "the answer\n")


def test_a_run_that_has_ended_is_told_at_once(make_cli: MakeCli, tmp_path: Path) -> None:
    stories.with_children(tmp_path / "kept")
    cli = make_cli(["unused"])
    code, sent = on_terminal(cli, cli.command("watch", "last", "--runs", "kept"), columns=40)
    assert code == 0
    assert sent.rstrip().endswith('{"spam": 400}\r\nmodels read 16% of the input')
    told = cli.run(cli.command("watch", "last", "--runs", "kept", "--json"))
    assert json.loads(told.stdout)["coverage"]["share"] == pytest.approx(0.16, abs=0.01)
    assert "child 0.2: answered" in sent
    done = cli.run(cli.command("watch", "nothing", "--runs", "kept"))
    assert done.returncode == 2
    assert b"no run 'nothing'" in done.stderr
