"""Bounded looks at values, beside what the plain code for the same gives."""

from __future__ import annotations

import re

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from unspool.reach import peek
from unspool.reach.blocks import Blocks
from unspool.reach.octets import Memory
from unspool.reach.text import LazyText

TEXTS = st.lists(st.text("ab \r\u00e9", max_size=12), max_size=12).map("\n".join)


def both(text: str) -> list[object]:
    """The text as a str, and as what is in a file."""
    return [text, LazyText(Blocks(Memory(text.encode())), "t")] if text else [text]


@settings(max_examples=200, deadline=None)
@given(TEXTS, st.integers(1, 15), st.integers(0, 15), st.integers(1, 40))
@example("\n\n", 1, 2, 1)
def test_lines_are_those_of_the_text_as_many_as_there_is_room_for(
    text: str, first: int, more: int, size: int
) -> None:
    all_lines = text.split("\n")
    if all_lines[-1] == "":
        del all_lines[-1]
    for value in both(text):
        if first > len(all_lines):
            with pytest.raises(ValueError, match="there is no line"):
                peek.lines(value, first, first + more, size)
            continue
        head, _, body = peek.lines(value, first, first + more, size).partition("\n")
        wanted = [line.removesuffix("\r") for line in all_lines[first - 1 : first + more]]
        if "is longer than" in head:
            assert len(all_lines[first - 1]) >= size
            assert body == all_lines[first - 1][:size].removesuffix("\r")
            continue
        shown = body.split("\n")
        assert shown == wanted[: len(shown)]
        follows = re.search(r"first_line=(\d+)", head)
        assert (len(shown) < len(wanted)) == (follows is not None)
        if follows:
            assert int(follows[1]) == first + len(shown)


@settings(max_examples=200, deadline=None)
@given(TEXTS, st.integers(0, 60), st.none() | st.integers(0, 60), st.integers(1, 40))
def test_ranges_are_those_of_the_text(text: str, start: int, stop: int | None, size: int) -> None:
    wanted = text[start:stop]
    for value in both(text):
        if not wanted:
            with pytest.raises(ValueError, match="there is nothing from"):
                peek.span(value, start, stop, size)
            continue
        head, _, body = peek.span(value, start, stop, size).partition("\n")
        assert body == wanted[:size]
        assert ("more follows" in head) == (len(wanted) > size)


@settings(max_examples=100, deadline=None)
@given(TEXTS, st.sampled_from(["a", "b+", "^a", "é$", "a\nb"]), st.integers(1, 5))
def test_lines_with_a_match_are_the_same_in_memory_and_in_a_file(text: str, pattern: str, limit: int) -> None:
    assert len({peek.grep(value, pattern, limit) for value in both(text)}) == 1


def test_parts_are_named_by_key_or_number() -> None:
    assert peek.part_of({"a": 1, 2: 3}, "2") == 3
    assert peek.part_of([5, 6], "-1") == 6
    assert peek.part_of("text", "") == "text"
    for context, part, said in (
        ({"abc": 1}, "abd", "for example 'abc'"),
        ([1], "1", "there are 1"),
        ([1], "x", "there are 1"),
        ("text", "0", "leave part out"),
    ):
        with pytest.raises(ValueError, match=said):
            peek.part_of(context, part)


@pytest.mark.parametrize(
    "value",
    [
        ["x" * 10_000] * 50, {"k" * 500: "v"}, {n: n for n in range(10_000)}, b"\xff" * 10_000, 7, None, [],
        {}, [[[1] * 10_000] * 10], {"a": {"b": ["c" * 10_000]}}, object(),
    ],
    ids=range(11),
)  # fmt: skip
def test_what_is_no_text_is_shown_in_short(value: object) -> None:
    for look in (peek.head, peek.tail):
        assert 0 < len(look(value, 300)) < 420
