"""What stdout does not take is an error of every command, told once: nothing is lost without a word."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path

import pytest
import typer

from unspool.cli.app import app

from .conftest import SECONDS, Cli, MakeCli, submits

pytestmark = pytest.mark.skipif(not os.path.exists("/dev/full"), reason="needs /dev/full")

PRINT = {
    "--help": ("--help",),
    "--version": ("--version",),
    "ask": ("ask", "?", "a.txt", "--model", "openai:test-model"),
    "llm": ("llm", "Say it", "--model", "openai:test-model"),
    "map": ("map", "Say it", "lines.txt", "--lines", "--model", "openai:test-model"),
    "doctor": ("doctor",),
    "doctor --json": ("doctor", "--json"),
    "mcp": ("mcp", "--check", "--model", "openai:test-model"),
    "models list": ("models", "list"),
    "eval list": ("eval", "list"),
    "eval report": ("eval", "report", "kept"),
    "eval run": ("eval", "run", "needle", "--model", "oracle", "--sizes", "1k", "--seeds", "1", "--out", "kept"),
    "runs list": ("runs", "list"),
    "runs list --json": ("runs", "list", "--json"),
    "runs show": ("runs", "show", "last"),
    "runs show --json": ("runs", "show", "last", "--json"),
    "runs show --code": ("runs", "show", "last", "--code"),
    "runs diff": ("runs", "diff", "last", "last"),
    "runs export": ("runs", "export", "last", "--md", "-"),
    "runs resume --help": ("runs", "resume", "--help"),
}  # fmt: skip
# Those that write nothing to stdout, serve until they are stopped, or end with what "ask" ends with.
OTHERS = {
    "view", "serve", "watch", "runs rm", "runs gc", "runs resume", "models pull", "models rm", "eval limits",
}  # fmt: skip
if find_spec("inspect_ai"):
    PRINT["eval inspect"] = ("eval", "inspect", "kept")
else:
    OTHERS.add("eval inspect")  # it says which extra it needs


def commands(command: typer.core.TyperGroup, before: str = "") -> Iterator[str]:
    for name, below in command.commands.items():
        if hasattr(below, "commands"):
            yield from commands(below, f"{before}{name} ")
        else:
            yield before + name


def test_every_command_is_looked_at() -> None:
    there = set(commands(typer.main.get_command(app)))
    assert there <= set(PRINT) | OTHERS


@pytest.fixture(scope="module")
def cli(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cli]:
    from unspool.testing import FaultyServer

    folder = tmp_path_factory.mktemp("full")
    server = FaultyServer(lambda ask: submits("7")).start()
    made = Cli(server, folder)
    made.environment["UNSPOOL_RUNS"] = str(folder / "runs")
    made.file("a.txt", "hello")
    made.file("lines.txt", "one\ntwo\n")
    for first in ("ask", "eval run"):
        done = made.run(made.command(*PRINT[first]))
        assert done.returncode == 0, done.stderr.decode()
    yield made
    server.stop()


def run(cli: Cli, arguments: tuple[str, ...], stdout: str) -> subprocess.CompletedProcess[bytes]:
    """``stdout``: how a shell is told where it goes."""
    return subprocess.run(
        ["sh", "-c", f'exec "$@" {stdout}', "sh", *cli.command(*arguments)],
        cwd=cli.folder, env=cli.environment, stdin=subprocess.DEVNULL, stderr=subprocess.PIPE,
        timeout=SECONDS, check=False,
    )  # fmt: skip


@pytest.mark.parametrize("name", PRINT)
@pytest.mark.parametrize(
    ("stdout", "why"), [(">/dev/full", "No space left on device"), (">&-", "it is closed")]
)
def test_output_that_is_lost_is_told_once_and_is_no_success(
    cli: Cli, name: str, stdout: str, why: str
) -> None:
    done = run(cli, PRINT[name], stdout)
    told = done.stderr.decode()
    assert done.returncode == 1, told
    assert told.count(f"could not be written: {why}") == 1, told
    assert "Traceback" not in told
    assert "Exception ignored" not in told


@pytest.mark.parametrize("name", ["--help", "runs list", "doctor"])
def test_a_reader_that_has_gone_is_no_error(cli: Cli, name: str) -> None:
    gone, writing = os.pipe()
    os.close(gone)
    try:
        done = subprocess.run(
            cli.command(*PRINT[name]), cwd=cli.folder, env=cli.environment, stdin=subprocess.DEVNULL,
            stdout=writing, stderr=subprocess.PIPE, timeout=SECONDS, check=False,
        )  # fmt: skip
    finally:
        os.close(writing)
    assert b"written" not in done.stderr
    assert b"Traceback" not in done.stderr


def test_what_fits_is_no_error(make_cli: MakeCli, tmp_path: Path) -> None:
    done = run(make_cli(["x"]), ("--version",), f">{tmp_path / 'out'}")
    assert done.returncode == 0
    assert (tmp_path / "out").read_text().startswith("unspool ")
