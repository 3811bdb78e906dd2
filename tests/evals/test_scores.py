"""Scorers: what an answer is worth, and that no answer of any kind breaks one."""

from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from unspool.evals.readings import items_in, name_in, number_in, pairs_in
from unspool.evals.sample import Sample
from unspool.evals.scores import SCORERS, ScorerName, in_order, score

LABELS = ("location", "person", "number")


def sample(scorer: ScorerName, gold: object, among: tuple[str, ...] = ()) -> Sample:
    return Sample("task", "?", "context", gold, scorer, "", among)


@pytest.mark.parametrize(
    ("said", "number"),
    [
        (12, 12.0), (12.0, 12.0), ("12", 12.0), (" 12. ", 12.0), ("1,204", 1204.0), ("-3", -3.0), ("3.5", 3.5),
        ("There are 12 of them, so 12.", 12.0), ("Of 40 entries, the answer is 12.", 12.0), ("Answer: 7", 7.0),
        ("answer: 3? No. Answer: 4", 4.0),
        ("**Answer:** 7 (of 40)", 7.0), ("The final answer is **7**, out of 40.", 7.0), ("$\\boxed{7}$", 7.0), ("about 7%", 7.0), ([12], 12.0), ({"count": 12}, 12.0),
        ("12 of 40", None), ("twelve", None), ("", None), (True, None), (None, None), ([1, 2], None), ("a12b", None),
        ("v1.2.3", None), (10**400, None),
    ],
)  # fmt: skip
def test_a_number_is_read_only_where_there_is_one(said: object, number: float | None) -> None:
    assert number_in(said) == number


@pytest.mark.parametrize(
    ("said", "items"),
    [
        ("a, b; c\nd", ["a", "b", "c", "d"]), ('["a", "b"]', ["a", "b"]), ("1. a\n2. b", ["a", "b"]),
        ("- a\n* b", ["a", "b"]), ("The answer is: a, b", ["a", "b"]), (("A", "b "), ["a", "b"]), ({"a": 1}, ["a"]),
        ("The codes are: a, b and c.", ["a", "b", "c"]), ("- vault one: a\n- vault two: b", ["a", "b"]), ("sand", ["sand"]),
        ("**a**\n**b**", ["a", "b"]), ([["a"], "b"], ["a", "b"]), (3, ["3"]), (None, None), ("", []),
    ],
)  # fmt: skip
def test_items_are_read_from_lists_and_from_texts(said: object, items: list[str] | None) -> None:
    assert items_in(said) == items


@pytest.mark.parametrize(
    ("said", "pairs"),
    [
        ([[3, 1], (1, 3)], [("1", "3")]), ("(3, 1)\n[2,4]", [("1", "3"), ("2", "4")]), ("[[1, 2], [3, 4]]", [("1", "2"), ("3", "4")]),
        (["(1, 2)"], [("1", "2")]), ("none", []), ([[1, 2, 3]], None), (5, None), ([], []),
    ],
)  # fmt: skip
def test_pairs_are_read_whatever_their_order(said: object, pairs: list[tuple[str, str]] | None) -> None:
    assert pairs_in(said) == pairs


def test_names_are_bare() -> None:
    assert name_in(' "Location." ') == name_in(["location"]) == name_in("Answer: LOCATION") == "location"


@pytest.mark.parametrize(
    ("scorer", "answer", "gold", "among", "value", "kind"),
    [
        ("number", 3, 3, (), 1.0, ""), ("number", 3.5, 3, (), 0.0, "wrong"), ("number", "x", 3, (), 0.0, "unreadable"),
        ("close", 10, 10, (), 1.0, ""), ("close", 11, 10, (), 0.75, "part"), ("close", 8, 10, (), 0.75**2, "part"),
        ("close", 10**9, 10, (), 0.75**100, "part"), ("close", "many", 10, (), 0.0, "unreadable"),
        ("name", "Location", "location", LABELS, 1.0, ""), ("name", "It is a location.", "location", LABELS, 1.0, ""),
        ("name", "person", "location", LABELS, 0.0, "wrong"), ("name", "location or person", "location", LABELS, 0.0, "unreadable"),
        ("name", "locations", "location", LABELS, 0.0, "unreadable"), ("name", "text", "text", (), 1.0, ""),
        ("name", "other", "text", (), 0.0, "wrong"),
        ("contains", "The code is 4711.", "4711", (), 1.0, ""), ("contains", "47110", "4711", (), 0.0, "wrong"),
        ("contains", "4711 " + "x" * 500, "4711", (), 0.0, "unreadable"), ("contains", 4711, "4711", (), 1.0, ""),
        ("set", "a, b", ["a", "b"], (), 1.0, ""), ("set", ["a"], ["a", "b"], (), 2 / 3, "part"), ("set", ["x"], ["a"], (), 0.0, "wrong"),
        ("set", ["a"] * 50 + ["b"], ["a", "b"], (), 1.0, ""),
        ("pairs", [[2, 1]], [[1, 2]], (), 1.0, ""), ("pairs", [[1, 2], [1, 3]], [[1, 2]], (), 2 / 3, "part"),
        ("lines", "a\nb\n", "a\nb", (), 1.0, ""), ("lines", "a\nx", "a\nb", (), 0.5, "part"), ("lines", ["a"], "a", (), 0.0, "unreadable"),
        ("lines", "```python\na\nb\n```", "a\nb\n", (), 1.0, ""), ("lines", "a\n" * 99, "a\nb", (), 0.0, "unreadable"),
        ("set", '```json\n["a", "b"]\n```', ["a", "b"], (), 1.0, ""),
        ("set", None, ["a"], (), 0.0, "none"), ("lines", "", "a", (), 0.0, "none"),
    ],
)  # fmt: skip
def test_what_an_answer_is_worth(
    scorer: ScorerName, answer: object, gold: object, among: tuple[str, ...], value: float, kind: str
) -> None:
    found = score(sample(scorer, gold, among), answer)
    assert (found.value, found.kind) == (pytest.approx(value), kind)


def test_a_text_whose_indentation_is_wrong_is_not_exact() -> None:
    assert score(sample("lines", "def f():\n    return 1\n"), "def f():\nreturn 1\n").value < 1


texts = st.lists(st.sampled_from(["a", "b", "", "  a"]), max_size=12)


@given(texts, texts)
def test_lines_in_order_are_counted_as_the_usual_table_does(ours: list[str], wanted: list[str]) -> None:
    table = [[0] * (len(wanted) + 1) for _ in range(len(ours) + 1)]
    for i, a in enumerate(ours):
        for j, b in enumerate(wanted):
            table[i + 1][j + 1] = table[i][j] + 1 if a == b else max(table[i][j + 1], table[i + 1][j])
    assert in_order(ours, wanted) == table[-1][-1]


def test_a_long_answer_takes_no_long_time() -> None:
    answer, gold = "z\n" + "\nx\n" * 7_000, "\n\nx\ny" * 400
    started = time.monotonic()
    assert 0 < score(sample("lines", gold), answer).value < 1
    assert time.monotonic() - started < 20  # it took minutes where lines were compared pair by pair


anything = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=40) | st.binary(max_size=5),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=4), inner, max_size=3),
    max_leaves=8,
)


@given(answer=anything)
def test_no_answer_breaks_a_scorer(answer: object) -> None:
    golds = {"number": 3, "close": 3, "set": ["a"], "pairs": [[1, 2]]}
    for name in SCORERS:
        found = score(sample(name, golds.get(name, "a"), LABELS), answer)
        assert 0 <= found.value <= 1
        assert (found.value == 1) == (found.kind == "")


@given(st.lists(st.tuples(st.integers(0, 99), st.integers(0, 99)), min_size=1, max_size=9))
def test_the_order_of_pairs_does_not_count(pairs: list[tuple[int, int]]) -> None:
    turned = [[b, a] for a, b in reversed(pairs)]
    assert score(sample("pairs", [list(pair) for pair in pairs]), turned).value == 1


@pytest.mark.parametrize(
    ("scorer", "gold", "said", "value"),
    [
        ("overlap", "Chief of Protocol", "chief of protocol", 1.0), ("overlap", "the U.S. Senate", '"US Senate."', 1.0),
        ("overlap", "CIT Group Inc.", "CIT Group", 0.8), ("overlap", "yes", True, 1.0), ("overlap", "no", "no, they are not", 0.0),
        ("overlap", "yes", "no", 0.0), ("overlap", "1984", 1984, 1.0), ("overlap", "Ada Ada", "Ada", 2 / 3),
        ("overlap", "Ada", "Answer: Ada", 1.0), ("overlap", "Ada", "...", None),
        ("amount", "91366", "$91,366", 1.0), ("amount", "91366", 91367, 0.0), ("amount", "7.1 billion", 7.1, 1.0),
        ("amount", "7.1 billion", "7,092 million", 1.0), ("amount", "7.1 billion", "7.1 million", 0.0),
        ("amount", "1.53%", 0.0153, 1.0), ("amount", "1.53%", "0.0153%", 0.0), ("amount", "31%", "31.2", 1.0),
        ("amount", "6.2", "about 6", 0.0), ("amount", "10", "ten", None), ("amount", "10", "10 of 40", None),
        ("amount", "10", "1 million or 1 billion", None),
        ("holds", "The Iconic", "It is Iconic, I think.", 1.0), ("holds", "Nasdaq", "NYSE", 0.0),
        ("holds", "American Economic Liberties Project", "American Liberties Project", 0.0),
        ("holds", "No", "No, nothing stayed.", 1.0), ("holds", "No", "Yes, there was no change.", 0.0),
        ("holds", "Asana", "word " * 100 + "Asana", None),
        ("listed", ["Afterpay", "Zip Co."], "Zip Co and Afterpay", 1.0), ("listed", ["Afterpay", "Zip"], ["Zip"], 2 / 3),
        ("listed", ["Commerce and Industry", "Munton"], ["Munton", "Commerce and Industry"], 1.0),
        ("listed", ["Commerce and Industry", "Munton"], "1. Commerce and Industry\n2. Munton", 1.0),
        ("listed", ["Zip"], "", 0.0),
    ],
)  # fmt: skip
def test_answers_of_people_are_compared_as_said(
    scorer: ScorerName, gold: object, said: object, value: float | None
) -> None:
    found = score(sample(scorer, gold), said)
    assert found.value == pytest.approx(value or 0.0)
    assert (found.kind == "unreadable") == (value is None)
