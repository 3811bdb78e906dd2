"""The suites of the local model as data: golds come out of the data, scorers are strict but fair."""

from __future__ import annotations

import re
from collections import Counter

import pytest

from .local_held_out import HELD_OUT
from .local_made import MADE
from .local_more import MORE
from .local_opened import OPENED
from .local_ranges import RANGES
from .local_suite import SUITE, Question, near_number, same_name, same_number, same_set, share_right

TUNED_ON = (*SUITE, *MORE, *OPENED, *MADE, *RANGES)
ALL = (*TUNED_ON, *HELD_OUT)
BY_ID = {question.id: question for question in ALL}


@pytest.mark.parametrize(
    "suite", [SUITE, MORE, OPENED, MADE, HELD_OUT], ids=["tuned", "more", "opened", "made", "held-out"]
)
def test_there_are_six_kinds_with_at_least_three_questions_each(suite: tuple[Question, ...]) -> None:
    kinds = Counter(question.kind for question in suite)
    assert len(kinds) == 6
    assert min(kinds.values()) >= 3
    assert len({question.id for question in suite}) == len(suite) >= 24
    assert len(BY_ID) == len(ALL)


def test_no_item_to_be_judged_was_tuned_on() -> None:
    tuned, held_out = (
        {line for q in suite if q.kind == "meaning" for line in lines_of(q.context())}
        for suite in (TUNED_ON, HELD_OUT)
    )
    assert tuned
    assert held_out
    assert tuned & held_out <= {"id,text"}  # the head of a table


@pytest.mark.parametrize("question", ALL, ids=lambda question: question.id)
def test_gold_is_computed_and_is_right_only_for_itself(question: Question) -> None:
    gold = question.gold()
    assert len(question.context()) > 0  # type: ignore[arg-type]
    assert gold not in (0, "", [], None)
    assert question.score(gold, gold)
    for wrong in (None, "", 0, -7, [], "no idea", [gold, gold], ("x", 3)):
        assert not question.score(wrong, gold)


@pytest.mark.parametrize("question", [q for q in ALL if q.kind == "meaning"], ids=lambda q: q.id)
def test_the_labels_to_be_judged_are_not_in_the_data(question: Question) -> None:
    context = question.context()
    items = lines_of(context)
    assert 8 <= len(items) <= (40 if question in MADE else 13)  # with the head of a table
    assert not any(re.match(r"(spam|ham)\t|(ABBR|DESC|ENTY|HUM|LOC|NUM):[a-z]+ ", item) for item in items)


def lines_of(context: object) -> list[str]:
    return context if isinstance(context, list) else str(context).splitlines()


def test_one_label_for_all_is_not_enough() -> None:
    """Where items are labelled one by one, an answer without any judgement is wrong."""
    for name in ("meaning-spam-labels", "meaning-kind-labels", "more-meaning-labels", "new-meaning-records"):
        gold = BY_ID[name].gold()
        assert isinstance(gold, list)
        for label in set(gold):
            assert not BY_ID[name].score([label] * len(gold), gold)


def test_numbers_are_compared_as_numbers() -> None:
    for same in (1234, 1234.0, "1234", " 1,234 ", [1234]):
        assert same_number(same, 1234)
    for other in (1235, "1234 lines", True, None, [1, 2], "about 1234"):
        assert not same_number(other, 1234)
    assert near_number(6, 5)
    assert not near_number(7, 5)


def test_names_are_compared_without_what_surrounds_them() -> None:
    for same in ("10.0.0.7", " 10.0.0.7 ", "'10.0.0.7'", "10.0.0.7.", ["10.0.0.7"]):
        assert same_name(same, "10.0.0.7")
    for other in ("10.0.0.70", "10.0.0.7 10.0.0.8", ["10.0.0.7", "10.0.0.8"], 10, ("10.0.0.7", 3)):
        assert not same_name(other, "10.0.0.7")


def test_lists_are_compared_by_share() -> None:
    gold = ["a", "b", "a", "b"]
    assert share_right(0.75)(["a", "b", "a", "a"], gold)
    assert not share_right(0.75)(["a", "a", "a", "a"], gold)
    assert not share_right(0.75)(["a", "b", "a"], gold)
    assert not share_right(0.75)("abab", gold)
    assert same_set(0.8)([3, "1", 2], [1, 2, 3])
    assert not same_set(0.8)([1, 2, 3, 4, 5, 6], [1, 2, 3])
