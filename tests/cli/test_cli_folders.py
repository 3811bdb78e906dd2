"""Folders that cannot be written, whatever command needs one: a line that names it, before any work is done."""

from __future__ import annotations

import os
import re
import socket
from pathlib import Path

import pytest

from .conftest import Cli, MakeCli, submits

MODEL = ("--model", "openai:test-model")


@pytest.fixture(params=["cannot be made", "is a file", "cannot be written"])
def bad(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """A folder in which nobody, the root user included, can make a file; ``models`` and ``evals`` in it neither."""
    if request.param == "cannot be made":
        return "/proc/unspool-test"
    path = tmp_path / "bad"
    if request.param == "is a file":
        path.write_text("no folder")
        return str(path)
    path.mkdir()
    for name in ("models", "evals", "runs"):
        (path / name).symlink_to("/proc/self")
    return str(path)


@pytest.fixture
def cli(make_cli: MakeCli, tmp_path: Path) -> Cli:
    cli = make_cli([submits("1")] * 9)
    cli.file("a.txt", "text")
    cli.environment["UNSPOOL_CACHE"] = str(tmp_path / "cache")
    return cli


def told(cli: Cli, *arguments: str, **environment: str) -> tuple[int, str]:
    done = cli.run(cli.command(*arguments), environment=environment)
    assert done.stdout == b""
    assert done.stderr.startswith(b"unspool: ")
    text = done.stderr.decode()
    assert "Traceback" not in text
    first, _, more = text.partition("\n")
    assert not more or more.startswith("There are three ways to a model:")
    return done.returncode, first


def test_a_model_is_not_pulled_into_it(cli: Cli, bad: str) -> None:
    for command in (("models", "pull"), ("ask", "?", "a.txt", "--model", "local:qwen2.5-coder-0.5b")):
        code, text = told(cli, *command, UNSPOOL_CACHE=bad)
        assert code == 2
        assert f"{bad}/models cannot be written (" in text
        assert "set UNSPOOL_CACHE to another folder" in text


def test_a_folder_in_the_place_of_the_model_is_told_before_and_not_after_it_is_fetched(
    cli: Cli, tmp_path: Path
) -> None:
    name = "qwen2.5-coder-0.5b-instruct-q4_k_m.gguf"
    (tmp_path / "cache" / "models" / name).mkdir(parents=True)
    code, text = told(cli, "models", "pull", "qwen2.5-coder-0.5b")
    assert (code, f"{name} in it is a folder" in text) == (2, True)
    code, text = told(cli, "models", "rm", "qwen2.5-coder-0.5b")
    assert (code, f"{name}: cannot be removed (" in text) == (2, True)


def test_no_data_is_fetched_for_a_measurement_that_cannot_be_kept(cli: Cli, bad: str, tmp_path: Path) -> None:
    out = f"{bad}/runs" if os.path.isdir(bad) else bad
    code, text = told(cli, "eval", "run", "hotpot", "--model", "oracle", "--out", out)
    assert (code, f"unspool: {out} cannot be written (" in text) == (2, True)
    assert not (tmp_path / "cache").exists()  # nothing was fetched, and no folder was made for it
    code, text = told(cli, "eval", "run", "hotpot", "--model", "oracle", "--out", "out", UNSPOOL_CACHE=bad)
    assert (code, f"{bad}/evals cannot be written (" in text) == (2, True)
    assert not (tmp_path / "out").exists()


def test_other_settings_of_a_measurement_are_refused_before_anything_is_fetched(
    cli: Cli, tmp_path: Path
) -> None:
    command = cli.command(
        "eval", "run", "needle", "--model", "oracle", "--sizes", "1k", "--seeds", "1", "--out", "out", "-q"
    )
    assert cli.run(command).returncode == 0
    code, text = told(cli, "eval", "run", "hotpot", "--model", "oracle", "--usd", "1", "--out", "out")
    assert (code, "asked in another way (usd is None, not 1.0)" in text) == (2, True)
    assert not (tmp_path / "cache").exists()


@pytest.mark.parametrize("command", ["ask", "serve", "mcp"])
def test_runs_that_cannot_be_kept_there_are_told_before_a_model_is_pulled_or_anybody_is_served(
    cli: Cli, bad: str, command: str, tmp_path: Path
) -> None:
    runs = f"{bad}/runs" if os.path.isdir(bad) else bad
    more = ("?", "a.txt") if command == "ask" else ("--port", "0") if command == "serve" else ()
    code, text = told(cli, command, *more, "--runs", runs, "--model", "local:qwen2.5-coder-0.5b")
    if os.path.isfile(runs):
        assert (code, text) == (2, f"unspool: --runs {runs}: it is a file: name a folder")
    else:
        reason = "No such file or directory|Operation not permitted|Permission denied"
        assert re.search(
            rf"the journal of the run cannot be written: (?:{reason}) \({re.escape(runs)}\)", text
        )
        assert code == 1
    assert not (tmp_path / "cache").exists()


def test_nothing_is_left_behind_by_the_trial(cli: Cli, tmp_path: Path) -> None:
    port = socket.create_server(("127.0.0.1", 0))
    with port:  # it is taken: serve ends after it has tried the folder
        command = cli.command("serve", *MODEL, "--runs", "new/runs", "--port", str(port.getsockname()[1]))
        assert cli.run(command).returncode == 2
    assert not (tmp_path / "new").exists()
