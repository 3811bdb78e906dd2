"""The progress of a pull: a bar on a terminal, a few lines in a pipe."""

from __future__ import annotations

import re
import sys

import pytest

from unspool.cli.pulling import shown_progress
from unspool.models.pull import Progress

from .conftest import MakeCli
from .test_cli_live import on_terminal

MEGABYTE = 1_000_000
PULLS = """
from unspool.cli.pulling import shown_progress
from unspool.models.pull import Progress
with shown_progress() as progress:
    for n in range(1001):
        progress(Progress("downloading", n * 1_000_000, 1_000_000_000, "PyPI"))
    progress(Progress("checking", 1, 4))
    progress(Progress("ready", 4, 4))
print("done")
"""


def test_a_pipe_gets_a_line_for_each_tenth(capsys: pytest.CaptureFixture[str]) -> None:
    with shown_progress() as progress:
        assert progress is not None
        progress(Progress("waiting", 0, 0))
        for n in range(1001):
            progress(Progress("downloading", n * MEGABYTE, 1000 * MEGABYTE, "the hub"))
        progress(Progress("checking", 500 * MEGABYTE, 1000 * MEGABYTE))
        progress(Progress("ready", 1000 * MEGABYTE, 1000 * MEGABYTE))
    told = capsys.readouterr().err.splitlines()
    assert told[:3] == ["another process pulls it", "the hub 0 of 1,000 MB", "the hub 100 of 1,000 MB"]
    assert told[-2:] == ["the hub 1,000 of 1,000 MB", "checking 50%"]
    assert len(told) == 13


@pytest.mark.parametrize("command", ["ask how in.txt --model local:", "models pull"])
def test_what_is_pulled_is_announced_before_anything_is_fetched(make_cli: MakeCli, command: str) -> None:
    pytest.importorskip("xllamacpp")
    cli = make_cli(["unused"])
    cli.file("in.txt", "a text")
    nowhere = "http://127.0.0.1:9"  # no source is to be had
    away = {"HF_ENDPOINT": nowhere, "PIP_INDEX_URL": f"{nowhere}/simple", "PIP_RETRIES": "0"}
    environment = {**away, "UNSPOOL_CACHE": str(cli.folder / "ec")}
    done = cli.run(cli.command(*command.split()), environment=environment)
    assert done.returncode == 2
    first, second, *_ = done.stderr.decode().splitlines()
    assert first == f"pulling local:qwen2.5-coder-1.5b (1.1 GB, once) into {cli.folder / 'ec' / 'models'}"
    assert second.endswith("0 of 1,117 MB")
    quiet = cli.run(cli.command("ask", "how", "in.txt", "-q", "--model", "local:"), environment=environment)
    assert "pulling" not in quiet.stderr.decode()


@pytest.mark.parametrize("columns", [40, 80])
def test_a_terminal_is_told_once_above_the_row(make_cli: MakeCli, columns: int) -> None:
    pulls = PULLS.replace(
        '"PyPI")', '"PyPI", "no key found: pulling local:it (1.0 GB, once) into /a/folder")'
    )
    code, sent = on_terminal(make_cli(["ok"]), [sys.executable, "-c", pulls], columns=columns)
    assert code == 0, sent
    assert sent.count("local:it") == 1
    lines = sent.partition("\r\x1b[2K")[0].splitlines()
    assert " ".join(lines) == "no key found: pulling local:it (1.0 GB, once) into /a/folder"
    assert max(map(len, lines)) <= columns


def test_a_model_that_is_there_says_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    with shown_progress() as progress:
        assert progress is not None
        progress(Progress("ready", 4, 4))
    assert capsys.readouterr().err == ""


def test_quiet_has_nothing_to_tell() -> None:
    with shown_progress(quiet=True) as progress:
        assert progress is None


@pytest.mark.parametrize("columns", [20, 40, 80])
def test_a_terminal_gets_one_row_that_fits_and_goes(make_cli: MakeCli, columns: int) -> None:
    code, sent = on_terminal(make_cli(["ok"]), [sys.executable, "-c", PULLS], columns=columns)
    assert code == 0, sent
    rows = re.split(r"\r\x1b\[2K", sent)
    assert any("0 of 1,000 MB"[:columns] in row for row in rows)
    assert max(len(row) for row in rows[:-1]) < columns
    assert rows[-1].strip() == "done"
