"""``unspool mcp`` on the command line: ``--check``, and what it refuses to start with."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from ..cli.conftest import SECONDS, clean_environment

WITHOUT_SDK = (
    "import sys; sys.modules['mcp'] = None; sys.argv[0] = 'unspool'; from unspool.cli import main; main()"
)


def run(folder: Path, *arguments: str, code: str | None = None, **environment: str) -> tuple[int, str, str]:
    command = [sys.executable, *(("-c", code) if code else ("-m", "unspool")), "mcp", *arguments]
    done = subprocess.run(
        command, cwd=folder, env=clean_environment(**environment), capture_output=True, text=True,
        timeout=SECONDS, stdin=subprocess.DEVNULL, check=False,
    )  # fmt: skip
    return done.returncode, done.stdout, done.stderr


def test_check_says_in_plain_lines_what_is_there(tmp_path: Path) -> None:
    pytest.importorskip("mcp", reason="needs the extra mcp")
    status, out, err = run(tmp_path, "--check", "--model", "command:cat")
    lines = out.splitlines()
    assert (status, err) == (0, "")
    assert re.fullmatch(r"yes  MCP SDK: mcp 2\.\S+", lines[0])
    assert lines[1].startswith("yes  sandbox: process, ")
    assert lines[2] == "yes  model: command:cat"


def test_check_says_what_is_missing_and_what_to_do(tmp_path: Path) -> None:
    status, out, _ = run(tmp_path, "--check", "--model", "nowhere:model")
    assert status == 1
    assert "NO  model: there is no provider 'nowhere'" in out or "NO  model: " in out


def test_without_the_sdk_it_says_which_extra_is_needed(tmp_path: Path) -> None:
    for arguments in ((), ("--http", "--token", "x")):
        status, out, err = run(tmp_path, "--model", "command:cat", *arguments, code=WITHOUT_SDK)
        assert (status, out) == (2, "")
        assert (
            err == "unspool: the MCP server needs the MCP SDK: pip install 'unspool[mcp]' "
            "(in a checkout: pip install '.[mcp]')\n"
        )


def test_over_http_a_token_is_needed_on_this_machine_too(tmp_path: Path) -> None:
    status, out, err = run(tmp_path, "--http", "--model", "command:cat")
    assert (status, out) == (2, "")
    assert "--http needs a token" in err
    assert "UNSPOOL_TOKEN" in err


def test_over_http_an_empty_token_is_refused_as_serve_refuses_it(tmp_path: Path) -> None:
    status, out, err = run(tmp_path, "--http", "--token", "", "--model", "command:cat")
    assert (status, out) == (2, "")
    assert "the token is empty" in err


def test_over_http_nothing_of_the_other_server_is_loaded() -> None:
    told = "import sys, unspool.mcp.http; print([m for m in sys.modules if m == 'unspool.server.app'])"
    done = subprocess.run(
        [sys.executable, "-c", told], capture_output=True, text=True, timeout=60, check=True
    )
    assert done.stdout == "[]\n"


def test_a_wrong_setting_is_one_line(tmp_path: Path) -> None:
    for arguments, said in (
        (("--seconds", "0"), "seconds"),
        (("--cell-seconds", "-1"), "cell_seconds"),
        (("--root", "nowhere"), "nowhere"),
    ):
        status, out, err = run(tmp_path, "--model", "command:cat", *arguments)
        assert (status, out) == (2, ""), err
        assert said in err
        assert "Traceback" not in err


@pytest.mark.parametrize("name", ["stdin", "stdout"])
def test_a_closed_stream_is_one_clear_line(tmp_path: Path, name: str) -> None:
    how = {"stdin": "<&-", "stdout": ">&-"}[name]
    done = subprocess.run(
        ["sh", "-c", f'exec "$@" {how}', "sh", sys.executable, "-m", "unspool", "mcp", "--model", "openai:m"],
        cwd=tmp_path, env=clean_environment(OPENAI_API_KEY="test"), stdin=subprocess.DEVNULL,
        capture_output=True, text=True, timeout=SECONDS, check=False,
    )  # fmt: skip
    assert done.returncode == 2
    assert done.stderr.startswith(f"unspool: {name} is closed")
    assert done.stderr.count("\n") == 1


@pytest.mark.parametrize(
    ("name", "line"),
    [
        ("none", "yes  sandbox: none"),
        ("proces", "NO  sandbox: sandbox='proces': use auto, process, "),
        (
            "command:no-such-program x",
            "NO  sandbox: sandbox 'command:no-such-program x': there is no program",
        ),
    ],
)
def test_check_looks_at_the_sandbox_that_is_named(tmp_path: Path, name: str, line: str) -> None:
    pytest.importorskip("mcp", reason="needs the extra mcp")
    status, out, _ = run(tmp_path, "--check", "--model", "command:cat", "--sandbox", name)
    assert out.splitlines()[1].startswith(line)
    assert status == (1 if line.startswith("NO") else 0)
    if status:
        code, out, err = run(tmp_path, "--model", "command:cat", "--sandbox", name)
        assert (code, out) == (2, "")
        assert err.startswith("unspool: ")
