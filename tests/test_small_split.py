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
        ("When did the head of Gate Seven retire? Answer with the year alone.",
         "What is the name of the head of Gate Seven?", "When did this head retire?"),
        ("On which river lies the town where the head of Gate Seven was born?",
         "In which town was the head of Gate Seven born?", "On which river lies this town?"),
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
        "What is the height of Gate Seven?",
        "In which town does the smith live?",
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
    for part in ("Gate ", "the head of Gate ", "where the head is "):
        steps_of(f"In which town is the head of {part * 40_000}born?")
    assert time.monotonic() - started < 60


def test_steps_are_told_where_there_may_be_children() -> None:
    for depth in (1, 0):
        model = ScriptedModel(["```python\nprint(1)\nsubmit('ann')\n```"])
        engine = RLM(model, profile="small", runs=False, max_depth=depth)
        engine.run("Who opened gate 7, and what else did this guard open?", "ann opened gate 7")
        assert ("First step: " in model.requests[0].messages[-1].text) is (depth > 0)


def test_who_asks_for_all_of_it_at_first_has_the_answer() -> None:
    """A weak model asks for the whole question as its first step, and then for something with the answer in it."""
    question = "In which town was the founder of Hill Works born?"
    code = f"town = ask({question!r})\nsubmit(ask(f'In which town was the founder of {{town}} born?'))"
    replies = [code, "print(1)\nsubmit('Ann Bell')", "print(1)\nsubmit('Elm')"]
    model = ScriptedModel([f"```python\n{reply}\n```" for reply in replies])
    run = RLM(model, profile="small", runs=False, max_depth=1).run(
        f"{question} Answer with its name alone.", "Ann Bell founded Hill Works. Ann Bell was born in Elm."
    )
    assert (run.answer, len(model.requests)) == ("Elm", 3)
    assert "In which town was Ann Bell born?" in model.requests[2].messages[-1].text


def test_a_step_that_has_another_one_in_it_is_asked_in_two() -> None:
    question = "In which province lies the town where the founder of Hill Works was born?"
    code = (
        "town = ask('In which town was the founder of Hill Works born?')\n"
        "submit(ask('In which province lies this town?'))"
    )
    replies = [code, *(f"print(1)\nsubmit({each!r})" for each in ("Ann Bell", "Elm", "North"))]
    model = ScriptedModel([f"```python\n{reply}\n```" for reply in replies])
    run = RLM(model, profile="small", runs=False, max_depth=1).run(question, "Ann Bell founded Hill Works.")
    asked = [request.messages[-1].text.rpartition("Question: ")[2] for request in model.requests[1:]]
    assert run.answer == "North"
    assert asked == [
        "What is the name of the founder of Hill Works?",
        "In which town was Ann Bell born?",
        "In which province lies this town Elm?",
    ]


@pytest.mark.parametrize(
    ("answer", "asked"),
    [
        ("Ann Bell", "In which town was Ann Bell born?"),
        ("ann", "In which town was this founder ann born?"),
        ("Gate 7", "In which town was this founder Gate 7 born?"),
    ],
)
def test_a_full_name_stands_alone_in_the_second_step(answer: str, asked: str) -> None:
    question = "In which town was the founder of Hill Works born?"
    code = "who = ask('What is the name of the founder of Hill Works?')\nsubmit(ask('In which town was this founder born?'))"
    replies = [code, f"print(1)\nsubmit({answer!r})", "print(1)\nsubmit('Elm')"]
    model = ScriptedModel([f"```python\n{reply}\n```" for reply in replies])
    RLM(model, profile="small", runs=False, max_depth=1).run(question, f"{answer} founded Hill Works.")
    assert asked in model.requests[-1].messages[-1].text
