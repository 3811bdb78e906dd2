"""Labels are taken from a question only where it shares out all lines between them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from unspool import RLM
from unspool.prompts.small_labels import fields_told, labels_of
from unspool.testing import ScriptedModel


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
        (
            "Each has one of these: (or none) fire (it burns); water rise (it is wet). How many are fire?",
            {},
        ),
        (
            "Each has one of these, unseen (so far): fire (it burns); high water (it is wet). How many are fire?",
            {"fire": "it burns", "high water": "it is wet"},
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


@pytest.mark.parametrize(
    ("question", "names"),
    [
        ("Each line is when | shop number | what was said there. How many?", ["when", "shop_number", "text"]),
        ("The form is: a | b", ["a", "b"]),
        ("Lines of what was said | what was meant", ["said", "text"]),
        ("Of what was said there | what was meant there | what was done there", []),
        ("Is it a|b, or a || b?", []),
        ("", []),
    ],
)
def test_the_fields_that_a_question_shows(question: str, names: list[str]) -> None:
    assert fields_told(question) == names


ENTRIES = [f"2031-05-{n % 28 + 1:02} | {n % 7} | It was {n} | or {n + 1}" for n in range(700)]
JUDGED = (
    "Each line is: date | guest | what was said. Each is one of these: even (by two); odd (else). "
    "How many are odd?"
)


@pytest.mark.parametrize(("count", "judged"), [(500, 500), (700, 200)])
def test_entries_with_labels_to_judge_are_rows_and_many_are_sampled(count: int, judged: int) -> None:
    code = "labels = classify(field(sample(lines), 3), meanings)\nsubmit([len(labels), lines[3], list(meanings)])"
    root = ScriptedModel([f"```python\n{code}\n```"])
    run = RLM(root, sub_model=ScriptedModel(lambda messages: "odd"), profile="small").run(
        JUDGED + " Give all.", "\n".join(ENTRIES[:count])
    )
    assert run.answer == [judged, "date=2031-05-04, guest=3, text=It was 3 | or 4", ["even", "odd"]]
    assert "meanings = {'even': 'by two', 'odd': 'else'}" in root.requests[0].messages[-1].text


@pytest.mark.parametrize(
    ("asked", "told", "count"),
    [
        ("How many of guest 3 are odd?", " with guest=3", 20),
        (
            "How many from 2031-05-03 to 2031-05-05, both included, are odd?",
            ", from 2031-05-03 to 2031-05-05",
            15,
        ),
        (
            "Of guest 3, how many are odd between 3 May 2031 and 5 May 2031?",
            " with guest=3, from 2031-05-03 to 2031-05-05",
            5,
        ),
        ("How many of guest 9 are odd?", "", 140),
        ("Which guest, if any, has the most odd ones?", "", 140),
        ("Are odd ones more common before 2031-05-03 than from then on?", "", 140),
        ("How many are odd on 2031-05-03 and on 2031-05-05?", "", 140),
    ],
)
def test_the_entries_that_are_asked_about_are_picked_by_code(asked: str, told: str, count: int) -> None:
    root = ScriptedModel(["```python\nprint(1)\nsubmit([len(A)])\n```"])
    question = JUDGED.replace("How many are odd?", asked)
    run = RLM(root, profile="small").run(f"{question} Give all.", "\n".join(ENTRIES[:140]))
    assert run.answer == [count]
    assert f"A: {count} lines{told}, each with" in root.requests[0].messages[-1].text


@pytest.mark.parametrize("blank", ["", " ", "-", "?"])
def test_a_field_that_is_blank_once_is_not_what_is_asked_about(blank: str) -> None:
    lines = [*ENTRIES[:300], f"2031-05-01 | {blank} | lost"]
    root = ScriptedModel(["```python\nprint(1)\nsubmit([len(A)])\n```"])
    asked = JUDGED.replace("How many are odd?", "Of which guest - if any - are most odd? Give all.")
    assert RLM(root, profile="small").run(asked, "\n".join(lines)).answer == [301]


def test_lines_of_another_form_than_the_question_says_stay_as_they_are() -> None:
    root = ScriptedModel(["```python\nprint(1)\nsubmit([len(lines), lines[0]])\n```"])
    lines = ["a line of words"] * 300
    run = RLM(root, profile="small").run("Each is: date | guest | text. Show the first.", "\n".join(lines))
    assert run.answer == [300, "a line of words"]
