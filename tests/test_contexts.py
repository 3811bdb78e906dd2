"""What the model is told of the input, and how files become text."""

from __future__ import annotations

import gzip
import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from unspool import ContextError
from unspool.contexts import describe, read_file
from unspool.contexts.identity import context_hash
from unspool.types import TextPart

ROOM = 900 + 700  # head and tail, and the words around them

values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text() | st.binary() | st.dates(),
    lambda inner: (
        st.lists(inner) | st.tuples(inner, inner) | st.dictionaries(st.text() | st.integers(), inner)
    ),
    max_leaves=20,
)


@given(values)
def test_any_value_is_described_in_a_bounded_text(value: object) -> None:
    text = describe(value)
    assert text.startswith("`context` is ")
    assert len(text) < 8_000


@pytest.mark.parametrize(
    "value", ["x" * 10**7, ["y" * 10**6] * 100, {str(i): "z" * 10**5 for i in range(1000)}]
)
def test_the_description_does_not_grow(value: object) -> None:
    assert len(describe(value)) < 4_000


def test_text_tells_size_lines_head_and_tail() -> None:
    text = "first\r\n" + "middle\r\n" * 1000 + "last\r\n"
    told = describe(text, head=20, tail=10)
    assert f"{len(text):,} characters, 1,002 lines, line ends \\r\\n" in told
    assert text[:20] in told
    assert "last" in told


def test_lines_are_counted_with_and_without_a_last_newline() -> None:
    assert "2 lines" in describe("a\nb")
    assert "2 lines" in describe("a\nb\n")
    assert "1 line." in describe("a")


def test_a_mapping_names_its_entries() -> None:
    told = describe({"a.txt": "one\ntwo", "b.txt": "x"})
    assert "'a.txt'" in told
    assert "7 characters, 2 lines" in told


def test_a_table_shows_columns_and_rows() -> None:
    pd = pytest.importorskip("pandas")
    told = describe(pd.DataFrame({"word": ["x"] * 5000, "n": range(5000)}))
    assert "5,000 rows × 2 columns" in told
    assert "int64" in told


def test_files_keep_their_newlines_and_lose_a_mark(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    path.write_bytes(b"\xef\xbb\xbfa\r\nb\rc\n")
    assert read_file(path) == "a\r\nb\rc\n"
    path.write_bytes("wide \U0001f600".encode("utf-16"))
    assert read_file(path) == "wide \U0001f600"
    path.write_bytes(b"")
    assert read_file(path) == ""


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (b"%PDF-1.7", "is a PDF"),
        (gzip.compress(b"text", mtime=0), "Unpack it first"),
        (b"\0\1\2\3ELF", "binary"),
    ],
)
def test_files_that_are_no_text_are_named_with_what_to_do(tmp_path: Path, data: bytes, words: str) -> None:
    path = tmp_path / "odd.bin"
    path.write_bytes(data)
    with pytest.raises(ContextError, match=words) as caught:
        read_file(path)
    assert "odd.bin" in str(caught.value)


def test_missing_files_and_folders_are_named(tmp_path: Path) -> None:
    with pytest.raises(ContextError, match="no such file"):
        read_file(tmp_path / "none.txt")
    with pytest.raises(ContextError, match="folder"):
        read_file(tmp_path)


@pytest.mark.skipif(os.geteuid() == 0, reason="root reads every file")
def test_a_file_without_permission_is_named(tmp_path: Path) -> None:
    path = tmp_path / "locked.txt"
    path.write_text("x")
    path.chmod(0)
    with pytest.raises(ContextError, match="permission"):
        read_file(path)


def test_a_large_text_is_known_by_its_content() -> None:
    """It is hashed in blocks, by several threads."""
    text = "a line of it\n" * (40_000_000 // 13)
    known = context_hash(text)
    assert context_hash(text[:9_000_000] + text[9_000_000:]) == known
    for at in (0, 8 << 20, (16 << 20) - 1, len(text) - 1):
        assert context_hash(text[:at] + "é" + text[at + 1 :]) != known
    assert context_hash(text + "\n") != known


def test_the_lines_of_a_very_large_text_are_told_roughly() -> None:
    text = "0123456\n" * 3_000_000
    assert "24,000,000 characters, about 3,000,000 lines" in describe(text)
    part = TextPart("x" + text, 1, 80_000)
    assert describe(part) == describe(text[:80_000])
