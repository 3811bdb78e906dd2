"""The live display on a real (pseudo) terminal."""

from __future__ import annotations

import fcntl
import os
import pty
import re
import struct
import subprocess
import termios
import threading

import pytest

from .conftest import LOOK, SECONDS, Cli, MakeCli, submits

# What the display itself may send: colours, cursor up, erase line, hide and show the cursor.
OWN = re.compile(r"\x1b\[(?:[0-9;]*m|[0-9]*A|2K|\?25[lh])")
COLOUR = re.compile(r"\x1b\[[0-9;]*m")
EVIL = "\\x1b[31mRED\\x1b[0m \\x1b]0;owned\\x07 \\x1b[2J \\x9b31m \\x08"


def on_terminal(cli: Cli, command: list[str], *, columns: int, **environment: str) -> tuple[int, str]:
    """Runs it with all three streams on a terminal; returns the exit code and all it was sent."""
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
    got = bytearray()

    def read() -> None:
        while True:
            try:
                data = os.read(ours, 65536)
            except OSError:  # the last process has closed the other end
                return
            if not data:
                return
            got.extend(data)

    reader = threading.Thread(target=read)
    reader.start()
    process = subprocess.Popen(
        command,
        cwd=cli.folder,
        env={**cli.environment, "TERM": "xterm-256color", **environment},
        stdin=theirs,
        stdout=theirs,
        stderr=theirs,
    )
    os.close(theirs)
    try:
        code = process.wait(SECONDS)
    finally:
        process.kill()
        reader.join(SECONDS)
        os.close(ours)
    return code, got.decode("utf-8", "surrogateescape")


@pytest.mark.parametrize("columns", [40, 80])
def test_a_terminal_shows_the_run_and_is_left_as_it_was(make_cli: MakeCli, columns: int) -> None:
    cli = make_cli([LOOK, submits("context.upper()")])
    code, sent = on_terminal(cli, cli.ask("Shout it.", cli.file("a.txt", "hello")), columns=columns)
    assert code == 0, sent
    assert sent.rstrip().endswith("HELLO\r\nmodels read 100% of the input")
    assert sent.count("\x1b[?25h") >= sent.count("\x1b[?25l") == 1
    assert "turn 1" in sent
    assert "answered in" in sent


def test_no_color_means_no_color(make_cli: MakeCli) -> None:
    cli = make_cli([LOOK, submits("1")])
    command = cli.ask("?", cli.file("a.txt", "hello"), "--show-code")
    plain = on_terminal(cli, command, columns=80, NO_COLOR="1")[1]
    colours = {number for match in COLOUR.findall(plain) for number in re.findall(r"\d+", match)}
    assert colours <= {"0", "1", "2"}, plain  # reset, bold, dim


def test_a_dumb_terminal_gets_plain_lines(make_cli: MakeCli) -> None:
    cli = make_cli([LOOK, submits("1")])
    sent = on_terminal(cli, cli.ask("?", cli.file("a.txt", "hello")), columns=80, TERM="dumb")[1]
    assert "\x1b" not in sent
    assert "answered in" in sent


@pytest.mark.parametrize("how", [(), ("--show-code",), ("--json",), ("--quiet",)])
def test_no_escape_sequence_of_the_model_or_the_input_reaches_the_terminal(
    make_cli: MakeCli, how: tuple[str, ...]
) -> None:
    code = f'print("{EVIL}", context)\nwarn = "{EVIL}" #\x1b]0;owned\x07\nsubmit("{EVIL}" + context)'
    cli = make_cli([f"```python\nprint(1)\nraise ValueError('{EVIL}')\n```", f"```python\n{code}\n```"])
    done, sent = on_terminal(cli, cli.ask("\x1b[2J?", cli.file("a.txt", "\x1b[2Jin"), *how), columns=80)
    assert done == 0, sent
    left = OWN.sub("", sent)
    assert not re.search(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f\x80-\x9f]", left), left
    assert "owned" in left
