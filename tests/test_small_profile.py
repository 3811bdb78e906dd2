"""The small profile's helpers in the REPL, and its checks of what is submitted."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from unspool.prompts.small import check_answer
from unspool.prompts.small_look import fields_of, forms_of, groups_for, is_prose
from unspool.prompts.small_tools import addresses, between, field, find, rest, times, top, values

LINES = [
    "10:00 gate 1 opened for ann from 10.0.0.1:80",
    "10:05 gate 2 refused bob from 10.0.0.2:81",
    "11:00 gate 1 opened for cy from 10.0.0.1:82",
]


@pytest.mark.parametrize(
    ("query", "value", "calls"),
    [
        ("How many doors were opened?", "doors", 0),
        ("How many doors were opened?", 0, 0),
        ("When did it happen?", "gate 1", 0),
        ("From which IP address?", "ann", 0),
        ("Who came first?", "10:00 gate 1 opened for ann from 10.0.0.1:80, and then it was shut again", 0),
        ("Who came first?", 3, 0),
        ("How many reviews are positive?", 4, 0),
    ],
)
def test_an_answer_of_another_kind_is_refused_with_the_reason(query: str, value: object, calls: int) -> None:
    assert check_answer(query, value, calls)


@pytest.mark.parametrize(
    ("query", "value", "calls"),
    [
        ("How many doors were opened?", 3, 0),
        ("How many doors were opened?", "3 doors", 0),
        ("When did it happen?", "10:05", 0),
        ("When did it happen?", "2031-05-02", 0),
        ("From which IP address?", "10.0.0.1", 0),
        ("From which IP address?", "2001:db8::1", 0),
        ("Who came first?", "ann", 0),
        ("Which port was used?", 22, 0),
        ("How many reviews are positive?", 4, 10),
        ("Give the labels as a list.", ["a", "b"], 0),
    ],
)
def test_an_answer_of_the_kind_that_was_asked_stands(query: str, value: object, calls: int) -> None:
    assert check_answer(query, value, calls) is None


@given(
    st.text(), st.none() | st.integers() | st.floats() | st.text() | st.lists(st.text()), st.integers(0, 9)
)
def test_the_check_takes_any_question_and_value(query: str, value: object, calls: int) -> None:
    reason = check_answer(query, value, calls)
    assert reason is None or reason


def test_find_takes_all_texts_in_any_case() -> None:
    assert find("GATE 1", "cy", among=LINES) == [LINES[2]]
    assert find(among=LINES) == LINES


def test_find_says_what_it_found_instead(capsys: pytest.CaptureFixture[str]) -> None:
    assert find("refusals", among=LINES) == []
    assert find("was opened", among=LINES) == [LINES[0], LINES[2]]
    assert 'no line has "was opened"' in capsys.readouterr().out


def test_values_by_a_hole_by_what_comes_before_and_by_a_regex() -> None:
    assert values(LINES, "gate {} ") == ["1", "2", "1"]
    assert values(LINES, "from") == ["10.0.0.1:80", "10.0.0.2:81", "10.0.0.1:82"]
    assert values(LINES, r"from (\S+):") == ["10.0.0.1", "10.0.0.2", "10.0.0.1"]
    assert top(values(LINES, "from {}:"))[0] == ("10.0.0.1", 2)


@pytest.mark.parametrize(
    ("line", "pattern", "value"),
    [
        ("in error state 6 now", "error state={}", "6"),
        ("[client 1.2.3.4] refused", "client={}", "1.2.3.4"),
        ("Received block blk_-44 of size 7", "block blk_", "blk_-44"),
        ("rhost=5.36.1.2 user=root", "rhost=", "5.36.1.2"),
        ("from /10.2.3.4", "from", "/10.2.3.4"),
        ("LOC:city Where is it ?", "^{}:", "LOC"),
        ("failed for invalid user bo from x", "for {} from", "invalid user bo"),
        ("Dec 10 06:55:46 host", " {}:", "06"),
    ],
)
def test_values_takes_a_pattern_as_it_was_meant(line: str, pattern: str, value: str) -> None:
    assert values([line], pattern) == [value]


def test_times_addresses_and_fields_of_lines() -> None:
    assert times([*LINES, "no time", "25:61"]) == ["10:00:00", "10:05:00", "11:00:00"]
    assert between(LINES, "10:01", "10:59:59") == between(LINES, "10:59:59", "10:01") == [LINES[1]]
    assert addresses([*LINES, "at 06:55:46", "of fe80::1 here", "v1.2.3.4.5"])[2:] == ["10.0.0.1", "fe80::1"]
    assert field(LINES, 4) == ["opened", "refused", "opened"]
    assert field(LINES, 40) == field(LINES, 0) == []
    assert rest(["a:b What is it?", "ham\tSee you", "New York\tWhere now?"]) == [
        "What is it?",
        "See you",
        "Where now?",
    ]


def test_times_that_bound_a_question_are_not_searched_for() -> None:
    lines = [f"{hour:02}:59:59 gate {n} opened" for hour in (9, 10, 11) for n in range(20)]
    (best,) = groups_for("How often was a gate opened from 10:00:00 to 10:59:59?", lines)
    assert best == lines
    assert groups_for("Which gate opened at 10:59:59?", lines)[0] == lines[20:40]


def test_a_field_with_few_values_is_shown() -> None:
    fields = fields_of([f"{n} gate {'opened' if n % 3 else 'shut'} by {n}" for n in range(90)])
    assert {number: dict(held) for number, held in fields.items()} == {3: {"opened": 60, "shut": 30}}


def test_prose_is_told_from_entries() -> None:
    assert is_prose(["The soup was cold today", "Lovely staff and music", "Nobody cared about us"])
    assert not is_prose([f"gate {n} opened for guard ann" for n in range(30)])
    assert not is_prose(["one line with many different words"])
    assert not is_prose([])


@given(st.lists(st.text()), st.text())
def test_the_helpers_take_any_lines_and_texts(lines: list[str], text: str) -> None:
    assert len(find(text, among=lines)) <= len(lines)
    assert sum(count for count, _ in forms_of(lines, 3)) <= len(lines)
    assert sum(len(group) for group in groups_for(text, lines)) <= len(lines)
    if "(" not in text:
        assert len(values(lines, text)) <= len(lines)
    for helper in (times, addresses, rest):
        assert len(helper(lines)) <= len(lines)
    assert len(between(lines, text, text)) <= len(lines)
    assert len(fields_of(lines)) <= 6
    assert is_prose(lines) in (True, False)
