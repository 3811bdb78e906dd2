"""Two steps of a question are told by its own words, whatever the words are."""

from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from unspool import RLM
from unspool.prompts.small_split import steps_of, steps_told
from unspool.testing import ScriptedModel


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
        "? How many are at this gate?",
        "Ann shut a gate. How many are next to the one that was shut?",
        "Ann shut a gate. Which gate is the same as it?",
    ],
)
def test_what_does_not_say_how_has_no_steps(question: str) -> None:
    assert steps_of(question) is None
    assert steps_told(question) == ""


WORDS = ["find", "the", "gate", "who", "how", "this", "that", "it", "same", "of", "and", ".", "?", "7", ". "]


@given(st.text() | st.lists(st.sampled_from(WORDS)).map(" ".join))
def test_any_text_is_taken_and_both_steps_ask(text: str) -> None:
    if (steps := steps_of(text)) is not None:
        assert steps_told(text) == f"\nFirst step: {steps[0]}\nSecond step: {steps[1]}"
        assert steps[0].endswith(("?", ")"))
        assert all(step.strip() for step in steps)


def test_a_question_that_begins_to_speak_of_its_answer_again_and_again_takes_no_longer() -> None:
    started = time.monotonic()
    assert steps_of("; answer in " * 20_000) is None
    assert time.monotonic() - started < 60


def test_steps_are_told_where_there_may_be_children() -> None:
    for depth in (1, 0):
        model = ScriptedModel(["```python\nprint(1)\nsubmit('ann')\n```"])
        engine = RLM(model, profile="small", runs=False, max_depth=depth)
        engine.run("Who opened gate 7, and what else did this guard open?", "ann opened gate 7")
        assert ("First step: " in model.requests[0].messages[-1].text) is (depth > 0)
