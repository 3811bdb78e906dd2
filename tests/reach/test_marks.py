"""Where texts stand in a context: what was cut out of it, in any order and dress, is found again."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence

import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from unspool.reach.marks import UNPLACED, Marks, parts_of, unpack_ranges
from unspool.reach.places import Places
from unspool.reach.short_lines import LEAST

TEMPLATES: Sequence[Callable[[int, str], str]] = (
    lambda i, piece: f"Summarize this in one sentence:\n⟦{piece}⟧",
    lambda i, piece: f"Part {i} of many.\n\n⟦{piece}⟧\n\nSay yes or no, and why you think so.",
    lambda i, piece: f"⟦{piece}⟧",
    lambda i, piece: piece,
)
WORDS = st.sampled_from(["log", "ünïcode", "user", "日本語", "\U0001f600", "error", "of", "the", "a-b", "x"])


@st.composite
def contexts(draw: st.DrawFn) -> str:
    """Texts of which every passage of LEAST characters stands at one place."""
    lines = draw(st.lists(st.lists(WORDS, min_size=1, max_size=12), min_size=3, max_size=60))
    end = draw(st.sampled_from(["\n", "\r\n", "; "]))
    text = end.join(f"{i * 7919 % 10007:05d} {' '.join(words)} #{i}" for i, words in enumerate(lines))
    assume(len(text) > 3 * LEAST)
    assume(len({text[i : i + LEAST] for i in range(len(text) - LEAST + 1)}) == len(text) - LEAST + 1)
    return text


@st.composite
def cuts(draw: st.DrawFn, text: str) -> list[tuple[int, int]]:
    """Ranges of a text that may overlap, in any order."""
    cut = []
    for _ in range(draw(st.integers(1, 12))):
        start = draw(st.integers(0, len(text) - LEAST))
        end = draw(st.integers(start + LEAST, len(text)))
        assume(not text[start].isspace() and not text[end - 1].isspace())
        cut.append((start, end))
    return cut


def characters(ranges: Sequence[tuple[int, ...]]) -> set[int]:
    return {place for row in ranges for place in range(row[-2], row[-1])}


def with_space(text: str, read: set[int]) -> set[int]:
    """White space next to what was read counts as read."""
    grown = set(read)
    for step in (1, -1):
        for place in read:
            near = place + step
            while 0 <= near < len(text) and text[near].isspace():
                grown.add(near)
                near += step
    return grown


@settings(max_examples=80, deadline=None, suppress_health_check=[HealthCheck.filter_too_much])
@given(st.data())
def test_what_prompts_show_is_found_exactly(data: st.DataObject) -> None:
    text = data.draw(contexts())
    cut = data.draw(cuts(text))
    template = data.draw(st.sampled_from(TEMPLATES))
    marks = Marks(text)
    marks.cell_began()
    prompts = [template(i, text[start:end]) for i, (start, end) in enumerate(cut)]
    if data.draw(st.booleans()):
        rows = unpack_ranges(marks.prompts(prompts) or b"")
    else:
        rows = [row for prompt in prompts for row in unpack_ranges(marks.prompts([prompt]) or b"")]
    assert characters(rows) == with_space(text, characters(cut))


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.filter_too_much])
@given(st.data())
def test_what_a_cell_prints_is_found_exactly_as_text_and_as_repr(data: st.DataObject) -> None:
    text = data.draw(contexts())
    assume("\r" not in text)
    cut = data.draw(cuts(text))
    marks = Marks(text)
    marks.cell_began()
    shown = data.draw(
        st.sampled_from(
            [
                lambda pieces: "⟧\n⟦".join(pieces) + "⟧\n",
                lambda pieces: f"⟦{pieces!r}⟧",
                lambda pieces: "⟧\n".join(map(repr, pieces)),
            ]
        )
    )
    rows = unpack_ranges(marks.printed(shown([text[start:end] for start, end in cut])) or b"")
    assert characters(rows) >= characters(cut)
    # what stands around the pieces may agree with the context for a character or two
    assert len(characters(rows) - with_space(text, characters(cut))) <= 4 * len(cut)


@settings(max_examples=60, deadline=None)
@given(
    st.text(alphabet="ab \n", max_size=400),
    st.lists(st.text(alphabet="ab \n", max_size=200), max_size=8),
)
def test_whatever_repeats_ranges_hold_what_was_shown_and_nothing_twice(text: str, prompts: list[str]) -> None:
    marks = Marks(text)
    marks.cell_began()
    for item, part, start, end in unpack_ranges(marks.prompts(prompts) or b""):
        assert part == 0
        assert 0 <= start < end <= len(text)
        assert text[start:end].strip() in prompts[item]
    for prompt in prompts:
        pieces, late = Places(text).find(prompt)
        assert late == 0
        assert [prompt[a : a + n] for a, _, n in pieces] == [text[s : s + n] for _, s, n in pieces]
        ends = [0, *(a + n for a, _, n in pieces)]
        assert all(end <= a for end, (a, _, _) in zip(ends, pieces, strict=False))


def test_lines_that_repeat_are_read_one_after_the_other() -> None:
    line = "connection closed by the other side\n"
    text = "".join(f"{line}event {i} came next in this log\n" for i in range(5))
    marks = Marks(text)
    marks.cell_began()
    found = [unpack_ranges(marks.prompts([f"Is it bad?\n{line}"]) or b"") for _ in range(5)]
    starts = [row[2] for (row,) in found]
    assert starts == [max(0, text.index(f"{line}event {i}") - 1) for i in range(5)]


def test_short_lines_count_where_they_stand_alone() -> None:
    text = "Ann Miller\nBob Smith\nTim Lee\nBob Smith\n"
    marks = Marks(text)
    marks.cell_began()
    rows = unpack_ranges(marks.prompts(["Bob Smith", "Is it a man? Answer yes.\nAnn Miller"]) or b"")
    assert [text[start:end].strip() for _, _, start, end in rows] == ["Bob Smith", "Ann Miller"]
    assert unpack_ranges(marks.prompts(["Was Bob Smith there?"]) or b"") == []
    assert unpack_ranges(marks.printed("4\nyes\n") or b"") == []


def test_items_of_a_list_are_parts() -> None:
    items = ["what is the capital of Peru ?", "Who was it ?", "How many are there in all of them ?"]
    marks = Marks(items)
    marks.cell_began()
    assert unpack_ranges(marks.prompts(items) or b"") == [
        (0, 0, 0, len(items[0])), (1, 1, 0, len(items[1])), (2, 2, 0, len(items[2]))
    ]  # fmt: skip
    rows = unpack_ranges(marks.prompts(["Label each:\n" + "\n".join(items)]) or b"")
    assert [(part, end) for _, part, _, end in rows] == [(n, len(item)) for n, item in enumerate(items)]


def test_values_of_a_mapping_are_parts() -> None:
    pages = {"a.txt": "the first page of the book, short", "b.txt": "and the second page, which is longer"}
    marks = Marks(pages)
    marks.cell_began()
    (row,) = unpack_ranges(marks.prompts([f"Read: {pages['b.txt'][:28]}!"]) or b"")
    assert row == (0, 1, 0, 28)


@pytest.mark.parametrize("context", [None, 7, {"a": 1}, ["a", 1], [], {}, b"bytes", [["a"]]])
def test_what_is_no_text_is_unknown(context: object) -> None:
    marks = Marks(context)
    marks.cell_began()
    assert parts_of(context) is None
    assert marks.prompts(["some prompt of more than a few characters"]) is None
    assert marks.printed("some output of more than a few characters") is None
    assert marks.printed("") == b""


def large(lines: int, seed: int = 1) -> str:
    drawn = random.Random(seed)
    words = ["".join(drawn.choices("abcdefghijklmnopqrstuvwxyz", k=drawn.randint(2, 9))) for _ in range(3000)]
    return "\n".join(" ".join(drawn.choices(words, k=12)) for _ in range(lines))


def test_a_large_text_is_traced_without_looking_through_it_each_time() -> None:
    text = large(60_000)
    size, step = 3_000, 2_900
    pieces = [(at, min(at + size, len(text))) for at in range(0, len(text) - size, step)]
    prompts = [f"What does it say? Be short.\n\n⟦{text[a:b]}⟧\n\nOne word." for a, b in pieces]
    for order in (list(range(len(pieces))), random.Random(2).sample(range(len(pieces)), len(pieces))):
        places = Places(text)
        late = 0
        for number in order:
            found, missed = places.find(prompts[number], 2.0)
            late += missed
            start, end = pieces[number]
            assert [(s, s + n) for _, s, n in found] == [(start, end)]
        assert late == 0


def test_no_time_is_told_and_not_taken_for_nothing() -> None:
    text = large(60_000)
    marks = Marks(text)
    marks.cell_began()
    prompts = [large(8, seed) for seed in range(100, 1_100)]  # nothing of the context: looked for in vain
    rows = unpack_ranges(marks.prompts(prompts) or b"")
    late = [row for row in rows if row[1] == UNPLACED]
    assert late
    assert all(0 < count <= len(prompts[item]) for item, _, count, _ in late)


def test_a_child_gets_what_its_context_is_in_its_parents() -> None:
    text = large(200)
    marks = Marks(text)
    marks.cell_began()
    rows = unpack_ranges(marks.children([text, f"⟦{text[500:900]}⟧", ["none", text[40:90]], 5]) or b"", 6)
    assert rows == [(0, 0, 0, 0, 0, len(text)), (1, 0, 1, 0, 500, 900), (2, 1, 0, 0, 40, 90)]


SPACED = st.lists(
    st.sampled_from(
        [" " * 30, "\n" * 26, " \t" * 20, "code", "  # what it is", "|---|---|---|---|---|---|", "x" * 30]
    )
).map("".join)


@settings(max_examples=200, deadline=None)
@given(SPACED, SPACED)
def test_long_runs_of_spaces_end_the_search(home: str, text: str) -> None:
    """A run of spaces stands at many places, and is no text whose turn could be counted."""
    for whole in (home, f"begin {home * 3} end"):
        places = Places(whole)
        for _ in range(2):
            pieces, late = places.find(text)
            assert late == 0
            assert all(
                size > 0 and text[at : at + size] == whole[start : start + size] for at, start, size in pieces
            )


def test_upper_case_of_a_text_with_columns_is_traced_and_does_not_hang() -> None:
    text = "".join(f"command{n}{' ' * 30}# what it does\n" for n in range(50))
    marks = Marks(text)
    marks.cell_began()
    assert marks.printed(text.upper()) is not None
