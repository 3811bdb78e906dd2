"""Questions and labels of a megabyte cost the engine's thread no more than a moment, whatever they are made of."""

from __future__ import annotations

import time

import pytest

from unspool.labels import Labels
from unspool.prompts import small_code
from unspool.prompts.profile import First
from unspool.prompts.small import SMALL

SIZE = 1_000_000  # characters
SECONDS = 20.0  # of the processor; with work that grows by the square it would be hours
UNITS = [
    " ",
    "a ",
    "(",
    "a or ",
    "is a, ",
    "a | ",
    "1",
    "a",
    "\n",
    "which of these ",
    "[",
    "each a or b ",
    "\x01",
]


@pytest.mark.parametrize("unit", UNITS)
def test_a_question_of_a_megabyte_is_read_in_a_moment(unit: str) -> None:
    question = "How many " + unit * (SIZE // len(unit))
    assert SMALL.look is not None
    assert SMALL.first is not None
    assert SMALL.check_answer is not None
    began = time.process_time()
    assert question in SMALL.first(First(question, "a text", look="1: a | b"))
    SMALL.look(question)
    SMALL.nudge(question)
    SMALL.examples(question, "", 1)
    for value in ("x", 3, ["a", "a", "b", "b", "a", "a"], question[:200]):
        SMALL.check_answer(question, value, 1)
    assert time.process_time() - began < SECONDS


@pytest.mark.parametrize("unit", UNITS)
@pytest.mark.parametrize("around", ["{}", "{}(", "a{}(x", "{}:{} x)"])
def test_a_label_of_a_megabyte_is_read_in_a_moment(unit: str, around: str) -> None:
    began = time.process_time()
    Labels.of([around.replace("{}", unit * (SIZE // len(unit))), "b"], {})
    assert time.process_time() - began < SECONDS


def test_the_bases_of_a_class_are_read_in_a_moment() -> None:
    code = [
        "import typing",
        "class A(Base[T], typing.Generic[K, V], metaclass=M):",
        f"class B({'[' * SIZE}):",
    ]
    assert small_code.bases("A") == []  # before any code was looked at
    began = time.process_time()
    small_code.classes[:] = small_code.definitions(code)[0]
    try:
        assert small_code.bases("A") == ["Base", "Generic"]
        assert small_code.subclasses("typing.Generic") == ["A"]
        assert len(small_code.bases("B")) == 1
    finally:
        small_code.classes.clear()
    assert time.process_time() - began < SECONDS
