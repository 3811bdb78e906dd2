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
