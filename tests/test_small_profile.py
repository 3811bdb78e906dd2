"""The small profile's helpers in the REPL, and its checks of what is submitted."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from unspool.prompts.small import check_answer
from unspool.prompts.small_tools import find, forms_of, groups_for, top, values

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
        ("Who came first?", 3, 0),
        ("How many reviews are positive?", 4, 0),
    ],
)
def test_an_answer_of_another_kind_is_refused_with_the_reason(query: str, value: object, calls: int) -> None:
    assert check_answer(query, value, calls, 1)


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
    assert check_answer(query, value, calls, 1) is None


@given(
    st.text(), st.none() | st.integers() | st.floats() | st.text() | st.lists(st.text()), st.integers(0, 9)
)
def test_the_check_takes_any_question_and_value(query: str, value: object, calls: int) -> None:
    reason = check_answer(query, value, calls, 1)
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


@given(st.lists(st.text()), st.text())
def test_the_helpers_take_any_lines_and_texts(lines: list[str], text: str) -> None:
    assert len(find(text, among=lines)) <= len(lines)
    assert sum(count for count, _ in forms_of(lines, 3)) <= len(lines)
    assert sum(len(group) for group in groups_for(text, lines)) <= len(lines)
    if "(" not in text:
        assert len(values(lines, text)) <= len(lines)
