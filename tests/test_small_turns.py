"""Which worked turns the small profile shows for which question, and that they run as they stand."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from unspool import RLM
from unspool.prompts.small_kinds import KINDS, Kind, kind_of, numbers_asked
from unspool.prompts.small_turns import worked
from unspool.testing import ScriptedModel

FEW = "A: 1 line\n  1 like: eve came"
MANY = "A: 1,204 lines\n  900 like: eve came"
FIELDS = f"field(lines, 2): ann 700x, bo 504x\n{MANY}"
COLUMNS = f"fields: 1 time, 2 guard\n{MANY}"
CODE_LOOK = f"Python code: classes (2), functions (9), owners (5), as\n  Gate(Door)\n{MANY}"
PROSE = "12 lines of free text: code cannot judge them, classify can."


@pytest.mark.parametrize(
    ("query", "look", "kind"),
    [
        ("Who opened gate 7?", FEW, "read"),
        ("Who opened gate 7?", MANY, "find"),
        ("Who opened gate 7?", "", "find"),
        ("One gate was opened twice. What is the name of that gate?", FEW, "read"),
        ("How often was gate 7 opened?", MANY, "count"),
        ("How often was gate 7 opened before 09:30?", MANY, "clock"),
        ("Count the lines about gate 7.", FEW, "count"),
        ("How many different guards opened a gate?", MANY, "different"),
        ("Which guard opened the most gates?", MANY, "most"),
        ("Which guard has the greatest number of gates?", MANY, "most"),
        ("In which hour were the most gates opened?", FIELDS, "clock"),
        ("Which guard wrote the most lines?", FIELDS, "field"),
        ("Which guard opened the most gates?", FIELDS, "most"),
        ("How long, on average, was a gate open?", MANY, "compute"),
        ("How many entries about gate 7 are longer than 80 characters?", MANY, "compute"),
        ("Who opened gate 7, and how many gates did this guard open?", FEW, "hop"),
        ("Take the guard of gate 7. When did this guard come first?", FEW, "hop"),
        ("Find the guard of gate 7. How many lines mention that guard?", FEW, "hop"),
        ("When did the guard who opened gate 7 leave?", FEW, "hop"),
        ("How many guards sound angry? Judge it.", MANY, "meaning"),
        ("Did ann or bo open more gates?", MANY, "compare"),
        ("Who opened more gates: ann or bo?", MANY, "compare"),
        ("Which of the gates was opened most often, 7 or 9?", MANY, "compare"),
        ("How many gates were opened more than twice?", MANY, "count"),
        ("Which guard opened the most gates?", COLUMNS, "field"),
        ("Which guard opened gate 7?", COLUMNS, "row"),
        ("Which guard opened gate 7?", f"fields: 1 time, 2 guard\n{FEW}", "row"),
        ("What is the label of the line about gate 7?", f"field(lines, 1): a 9x, b 7x\n{FEW}", "row"),
        ("What is the label of the line about gate 7?", FEW, "read"),
        ("At which hour was gate 7 opened?", f"fields: 1 time, 2 guard\n{FEW}", "read"),
        ("Which number must the text go to?", f"fields: 1 label, 2 text\n{FEW}", "read"),
        ("In how many notes does the word URGENT stand?", MANY, "word"),
        ("Which gate is the oldest of the most famous?", COLUMNS, "most"),
        ("How many different guards asked for a key?", MANY, "different"),
        ("How many methods has the class Gate?", CODE_LOOK, "functions"),
        ("How many methods has the class Gate?", MANY, "count"),
        ("How many entries have the label fire?", "12 lines.\nmeanings = {'fire': 'it burns'}", "judged"),
        ("How many of the files import os?", CODE_LOOK, "imports"),
        ("How many of the files import os?", MANY, "count"),
        (
            "The context is a dict of files: path to source. How many of the files import os?",
            CODE_LOOK,
            "imports",
        ),
        ("Which classes name Gate as a direct base?", CODE_LOOK, "classes"),
        ("The input has two parts, a and b. Who opened gate 7?", FEW, "read"),
        ("The context is what ann said. Who opened it?", MANY, "find"),
        ("Which class does Gate derive from? How many classes derive from that class?", CODE_LOOK, "hop"),
        ("How many characters long is the longest note that has the name ann?", MANY, "compute"),
        ("How many are about money?", PROSE, "meaning"),
        ("Give the list of all that are about money.", PROSE, "meaning"),
        ("What is said of gate 7?", PROSE, "find"),
        ("¿Quién abrió la puerta 7?", MANY, "find"),
        ("Who opened gate 7?", f"A: , lines of ann\n{FEW}", "read"),
        ("Who opened gate 7?", f"A: {'9' * 5_000} lines", "find"),
        ("did or " * 3_000 + "how many?", MANY, "count"),
    ],
)
def test_the_kind_of_a_question(query: str, look: str, kind: Kind) -> None:
    assert kind_of(query, look) == kind


def test_who_is_asked_of_a_field_of_names() -> None:
    assert kind_of("Who wrote the fewest messages?", "fields: 1 time, 2 name, 3 text") == "field"
    assert kind_of("Who wrote the fewest messages?", "fields: 1 time, 2 number, 3 text") == "most"


def test_where_no_child_may_be_made_there_are_no_steps() -> None:
    query = "Who opened gate 7, and how many gates did this guard open?"
    assert kind_of(query, MANY, children=False) == "count"


@pytest.mark.parametrize(
    ("query", "asked"),
    [
        ("Which town had the most rain?", True),
        ("What was the highest temp_max in Oslo?", True),
        ("How many days had a rain_mm of 5 to 10?", True),
        ("How many rows have rain over 5?", True),
        ("Which town is named most often?", False),
        ("Which temp_max comes most often?", False),
        ("How much rain is there on 2031-05-02?", True),
        ("How many characters has the longest rain?", False),
        ("In which towns was there rain?", False),
        ("How warm was it in Oslo? Give the highest temp_max of that town.", True),
    ],
)
def test_numbers_are_asked_where_a_field_of_them_is_named(query: str, asked: bool) -> None:
    look = "fields: 1 day, 2 town, 3 temp_max, 4 rain_mm\nnumbers in: 3 temp_max, 4 rain_mm\nA: 9 lines"
    assert numbers_asked(query, look) is asked
    assert (kind_of(query, look) == "number") is asked
    assert not numbers_asked(query, look.replace("numbers in", "numbers"))


@given(st.text(), st.text())
def test_any_question_has_a_kind(query: str, look: str) -> None:
    assert kind_of(query, look) in KINDS
    assert kind_of(query, look, children=False) != "hop"


# Data in which every worked question has an answer.
ORDERS = "".join(
    f"2031-05-0{2 + day} {hour:02}:{order - 60:02}:{step * 5:02} shop-{1 + order % 4} ORDER {order} {what}\n"
    for day in range(2)
    for hour in (9, 10, 19)
    for order in range(60, 80)
    for step, what in enumerate(
        (
            f"created, customer={('ana', 'bo', 'eve')[order % 3]}",
            f"card refused from 10.0.3.{order}:81, customer={('ana', 'bo', 'eve')[order % 3]} total=9",
            f"paid by card from 10.0.7.4:550, customer={('ana', 'bo', 'eve')[order % 3]} total=30",
        )
    )
)
TABLE = "day,shop,order,state,text\n" + "".join(
    f"2031-05-0{2 + order % 2},shop-{1 + order % 4},{order},{('created', 'paid', 'refused')[order % 3]},The card of {order}\n"
    for order in range(60, 120)
)
SALES = "order,day,shop,state,items,total\n" + "".join(
    f"{order},2031-05-0{2 + order % 2},shop-{1 + order % 4},{('created', 'paid', 'refused')[order % 3]},{order % 9},9.50\n"
    for order in range(60, 120)
)
RECORDS = "".join(
    f'{{"label": "{("drink", "food")[n % 2]}", "kind": "{("tea", "cake")[n % 2]}", "text": "Bring friend {n}"}}\n'
    for n in range(60)
)
CODE = (
    """
import json
class Shop(Place):
    def open(self, hour=9, guests=None):
        pass

class Tea(Drink):
    def pour(self, cup):
        pass
"""
    + "# a cup\n" * 40
)
OTHERWISE = "```python\nprint(1)\nsubmit('09:12:00 by 10.0.3.7')\n```"  # of children, and after a refusal
QUESTIONS = "".join(
    f"{label}\tWhat goes well with {n}?\n" for n in range(60) for label in ("food:soup", "tea:ice")
)
GUESTS = [f"The soup of number {n} was a surprise to everybody present there" for n in range(12)]

VISITS = "\n".join(
    f"2031-05-{n % 20 + 1:02} | {n % 12 + 41} | {guest} or {n}" for n, guest in enumerate(GUESTS * 50)
)

TOLD = (
    "Each line is one entry: date | guest | what the guest said. Every text is one of these: complaint "
    "(something was bad); praise (a guest was pleased); wish (a guest asks for more). "
)


def context_of(user: str) -> object:
    if "Python code" in user:
        return CODE
    if "fields: 1 order" in user:
        return SALES
    if "fields: 1 day" in user:
        return TABLE
    if "fields: 1 label" in user:
        return RECORDS
    if "fields: 1 id" in user:
        return "id,text\n" + "".join(f"{n},{guest}\n" for n, guest in enumerate(GUESTS, 41))
    if "meanings = " in user:
        return VISITS
    if "24 lines" in user:
        return GUESTS
    return QUESTIONS if "food:" in user else ORDERS


@pytest.mark.parametrize("kind", KINDS)
def test_worked_turns_run_and_submit(kind: Kind) -> None:
    """Each reply, as it is shown to the model, is run over data of that form: no error, an answer."""
    turns = worked(kind)
    pairs = list(zip(turns[::2], turns[1::2], strict=True))
    assert [(user.role, reply.role) for user, reply in pairs] == [("user", "assistant")] * len(pairs)
    for user, reply in pairs:
        question = user.text.partition("Question: ")[2].partition("\nFirst step: ")[0]
        if "meanings = " in user.text:
            question = TOLD + question
        first = iter([reply.text])
        root = ScriptedModel(lambda messages, first=first: next(first, OTHERWISE))
        sub = ScriptedModel(lambda messages: messages[0].text.partition("- ")[2].partition(":")[0] or "Ana")
        rlm = RLM(root, sub_model=sub, profile="small", runs=False)
        run = rlm.run(question, context_of(user.text))
        cell = run.trace.turns[1].cells[0]
        assert cell.error is None or cell.error.type == "AnswerRefused", (question, cell)
        assert run.status == "answered", (question, run.reason, cell)
