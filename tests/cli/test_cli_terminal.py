"""Hostile text and broken streams."""

from __future__ import annotations

import io
import os
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from unspool.cli.terminal import Output, safe


@pytest.mark.parametrize(
    ("raw", "shown"),
    [
        ("plain text\twith a tab\nand a line", "plain text\twith a tab\nand a line"),
        ("\x1b[1;31mred\x1b[0m", "\\x1b[1;31mred\\x1b[0m"),
        ("\x1b]0;new title\x07", "\\x1b]0;new title\\x07"),
        ("\x1b[2J\x1b[H", "\\x1b[2J\\x1b[H"),
        ("\x9b31m", "\\x9b31m"),
        ("a\r\nb\rc", "a\nb\\rc"),
        ("abc\x08\x08\x7f", "abc\\x08\\x08\\x7f"),
        ("user\u202eexe.txt", "user\\u202eexe.txt"),
        ("lone \ud800 half", "lone \\ud800 half"),
        ("שלום 世界 👩‍👩‍👧 é", "שלום 世界 👩‍👩‍👧 é"),
    ],
)
def test_safe_shows_what_a_terminal_would_obey(raw: str, shown: str) -> None:
    assert safe(raw) == shown


@given(st.text(st.characters(), max_size=200))
def test_nothing_that_a_terminal_obeys_is_left_in_any_text(text: str) -> None:
    left = [c for c in safe(text) if unicodedata.category(c) in ("Cc", "Cs") and c not in "\n\t"]
    assert left == []


def test_a_reader_that_has_gone_is_no_error() -> None:
    reading, writing = os.pipe()
    os.close(reading)
    with os.fdopen(writing, "w") as stream:
        out = Output(stream)
        out.line("first")
        out.line("second")
        assert out.gone
        assert out.error == ""


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="needs /dev/full")
def test_a_full_disk_is_told() -> None:
    with open("/dev/full", "w") as stream:
        out = Output(stream)
        out.line("text")
        assert out.gone
        assert out.error == "No space left on device"


def test_no_stream_at_all_swallows_everything() -> None:
    out = Output(None)
    out.line("text")
    assert out.gone


def test_an_open_stream_gets_the_text() -> None:
    stream = io.StringIO()
    Output(stream).line("text")
    assert stream.getvalue() == "text\n"
