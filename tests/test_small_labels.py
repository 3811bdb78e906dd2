"""Labels are taken from a question only where it shares out all lines between them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from unspool.prompts.small_labels import labels_of


@pytest.mark.parametrize(
    ("question", "labels"),
    [
        (
            "Every note is urgent (today or tomorrow) or calm. How many are urgent?",
            {"urgent": "today or tomorrow", "calm": "calm"},
        ),
        (
            "Each asks for one of these: place, time (also a day), person (a, b or c). Most often?",
            {},
        ),
        (
            "Each asks for one of these: place, time (also a day) or person (a, b or c). Most often?",
            {"place": "place", "time": "time, also a day", "person": "a, b or c"},
        ),
        (
            "What do the notes speak of most often: a dog, a cat or the weather?",
            {"dog": "a dog", "cat": "a cat", "weather": "the weather"},
        ),
        ("What kind is each one: bug (it broke) or wish?", {"bug": "it broke", "wish": "wish"}),
        (
            "(These are mine.) The notes are good (happy) or bad. Say which.",
            {"good": "happy", "bad": "bad"},
        ),
        (
            "What is each one: is it praise, a complaint or an offer?",
            {"praise": "praise", "complaint": "a complaint", "offer": "an offer"},
        ),
        ("Which of these notes are good or bad?", {}),
        ("How many of the notes ask for a dog or a cat?", {}),
        ("Was it the dog or the cat?", {}),
        ("Which notes sell something?", {}),
        ("", {}),
    ],
)
def test_the_labels_of_a_question(question: str, labels: dict[str, str]) -> None:
    assert labels_of(question) == labels


@given(st.text() | st.text(alphabet="ab ,:?.()\x01or"))
def test_any_question_is_taken(question: str) -> None:
    labels = labels_of(question)
    assert labels == {} or len(labels) >= 1
    assert all(labels.values())


@given(st.lists(st.sampled_from(("praise", "offer", "complaint", "order")), min_size=2, unique=True))
def test_labels_come_in_their_order(names: list[str]) -> None:
    said = f"{', '.join(names[:-1])} or {names[-1]}"
    assert list(labels_of(f"Each text is {said}. How many are {names[0]}?")) == names
