"""Two steps of a question are told by its own words, whatever the words are."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from unspool.prompts.small_split import steps_of, steps_told


@pytest.mark.parametrize(
    ("question", "first", "second"),
    [
        ("Which gate opened first? How often did this gate open?", "Which gate opened first?", "How often did this gate open?"),
        ("Take the gate that ann shut. When did it open?", "What is the gate that ann shut?", "When did it open?"),
        ("A guard fell asleep. How many lines have the name of that guard? Answer with the number alone.",
         "What is the name? (A guard fell asleep)", "How many lines have the name of that guard?"),
        ("Ann shut a gate. Which gate is it, and how often did the same gate open?",
         "What is the gate? (Ann shut a gate)", "How often did the same gate open?"),
        ("In which room is ann, and who else is in this room?", "In which room is ann?", "Who else is in this room?"),
    ],
)  # fmt: skip
def test_two_steps_are_told(question: str, first: str, second: str) -> None:
    assert steps_of(question) == (first, second)


@pytest.mark.parametrize(
    "question",
    [
        "",
        "How often did gate 7 open?",
        "Who is ann, and who is bo?",
        "Ann shut a gate. How often did it open?",
        "Read. Think. Which gate is this?",
    ],
)
def test_what_does_not_say_how_has_no_steps(question: str) -> None:
    assert steps_of(question) is None
    assert steps_told(question) == ""


@given(st.text())
def test_any_text_is_taken(text: str) -> None:
    steps = steps_of(text)
    assert steps is None or all(steps)
