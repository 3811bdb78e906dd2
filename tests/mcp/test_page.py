"""docs/mcp.md says what the code does: tools, bounds, defaults."""

from __future__ import annotations

import inspect
import json
import re
import tomllib
from pathlib import Path

import pytest

from unspool.cli import mcp as command
from unspool.driven import SHOWN
from unspool.mcp import asked, bounds, desk, handles, progress
from unspool.mcp.http import PATH, PORT

PAGE = (Path(__file__).parents[2] / "docs" / "mcp.md").read_text("utf-8")


@pytest.mark.parametrize("tool", asked.TOOLS)
def test_each_tool_stands_there_with_what_it_takes(tool: str) -> None:
    (row,) = (line for line in PAGE.splitlines() if line.startswith(f"| `{tool}` |"))
    assert set(asked.TOOLS[tool].model_fields) <= set(re.findall(r"`(\w+)`", row.split("|")[2]))


def test_the_bounds_are_the_codes() -> None:
    for text in (
        f"longer than {bounds.MOST:,} characters",
        f"at most {bounds.LOOKED:,} characters of the input, code at most {SHOWN:,}",
        f"error has at most {bounds.ERROR:,}, a progress notification {bounds.PROGRESS}",
        f"every {progress.BEAT:g} seconds",
        f"| contexts open at once | {handles.MOST_OPEN} |",
        f"| questions (`ask`) at once | {desk.MOST_ASKED} |",
        f"{asked.LONGEST_TEXT:,} characters | more is a file",
        f"http://127.0.0.1:{PORT}{PATH}",
    ):
        assert text in PAGE, text
    assert handles.IDLE == 3_600
    assert "closed after an hour" in PAGE


def test_the_defaults_are_the_commands() -> None:
    defaults = {name: each.default for name, each in inspect.signature(command.mcp).parameters.items()}
    for option in ("calls", "seconds", "cell-seconds"):
        value = defaults[option.replace("-", "_")]
        assert f"| `--{option}` | {value:,}" in PAGE
    assert defaults["port"] == PORT


def test_the_lines_to_set_it_up_can_be_read() -> None:
    (read,) = re.findall(r"```json\n(.*?)```", PAGE, re.DOTALL)
    assert json.loads(read)["mcpServers"]["unspool"]["args"] == ["mcp"]
    (read,) = re.findall(r"```toml\n(.*?)```", PAGE, re.DOTALL)
    assert tomllib.loads(read)["mcp_servers"]["unspool"]["command"] == "unspool"
