"""The small profile's helpers in the REPL, and its checks of what is submitted."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from unspool import RLM
from unspool.prompts import small, small_ask
from unspool.prompts.feedback import Shown
from unspool.prompts.small import HELPERS, IMPORTS, check_answer
from unspool.prompts.small_code import definitions, is_code
from unspool.prompts.small_dates import dates_in
from unspool.prompts.small_kinds import kind_of
from unspool.prompts.small_look import fields_of, forms_of, groups_for, look
from unspool.prompts.small_prose import blocks_of, follow, is_prose, is_wrapped
from unspool.prompts.small_records import field_list, lines_of, records
from unspool.prompts.small_tools import addresses, between, field, find, rest, times, top, values
from unspool.prompts.small_words import sought
from unspool.sandbox.protocol import CellResult
from unspool.testing import ScriptedModel

LEVELS = ["error", "notice", "notice"] * 20
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
        ("Who came first?", "10:00 gate 1 opened for ann from 10.0.0.1:80, and then it was shut again", 0),
        ("Who came first?", ["10:00 gate 1 opened for ann from 10.0.0.1:80, and then it was shut again"], 0),
        (
            "What is the default value of hour?",
            ["    def open(self, hour=9, guests=None, keys=(), doors=(), walls=(), names=()):"],
            0,
        ),
        ("Who came first?", 3, 0),
        ("Which guard has the highest number?", 3, 0),
        ("What is the name of the guard?", 3, 0),
        ("How many reviews are positive?", 4, 0),
        ("Which of these reviews want their money back? Give their numbers.", [1, 2, 3, 4, 5, 6], 12),
        ("Which of the two labels do more lines have?", ["a", "b", "b", "a", "b", "b"], 12),
        ("What is the label of the question about the smell of rain?", "smell of rain", 0),
        ("Which gates are shut? List their names, in any order.", "gate 1", 0),
    ],
)
def test_an_answer_of_another_kind_is_refused_with_the_reason(query: str, value: object, calls: int) -> None:
    assert check_answer(query, value, calls)


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
        ("What is the sum of amount for region east?", 8484, 0),
        ("What is the total of the amounts for region east?", 8484, 0),
        ("What is the largest amount?", 8484, 0),
        ("What amount was paid?", 84.5, 0),
        ("Of which size is the block that came last?", 64, 0),
        ("How many reviews are positive?", 4, 10),
        ("Which of these reviews want their money back? Give their numbers.", [1, 2, 4, 5, 6, 7], 12),
        ("Which six labels are the most frequent?", ["a", "b", "c", "d", "e", "f"], 12),
        ("Give the labels, so that the most frequent can be seen.", ["a", "b", "b", "a", "b", "b"], 12),
        ("Give the ranks of the reviews.", [1, 2, 3, 4, 5, 6], 12),
        ("Give the labels as a list.", ["a", "b"], 0),
        ("Are there more of the front door or of the back door?", "back door", 0),
        ("Which of these is most frequent: front door, back door?", "back door", 0),
        ("Which part of the door is it?", "door", 0),
        ("Which gate was open when it began to rain?", "front", 0),
        ("Which gates are shut? List their names, in any order.", "gate 1, gate 2", 0),
        ("Which gates are shut? List their names, in any order.", ["gate 1"], 0),
    ],
)
def test_an_answer_of_the_kind_that_was_asked_stands(query: str, value: object, calls: int) -> None:
    assert check_answer(query, value, calls) is None


@given(
    st.text(), st.none() | st.integers() | st.floats() | st.text() | st.lists(st.text()), st.integers(0, 9)
)
def test_the_check_takes_any_question_and_value(query: str, value: object, calls: int) -> None:
    reason = check_answer(query, value, calls)
    assert reason is None or reason


def test_what_is_named_by_its_mark_is_shown_alone() -> None:
    lines = [f"10:{n:02} break-in attempt through host-{n % 2}77.example.com" for n in range(9)]
    lines += ["11:00 break-in attempt through the window", "11:01 an attempt, and no more"]
    (only,) = groups_for("When did the break-in attempts through host-177.example.com begin?", lines)
    assert only == lines[1:9:2]
    assert groups_for("When did the break-in attempts begin?", lines)[0] == lines[:10]


def test_those_who_are_named_in_the_best_sentences_are_followed() -> None:
    best = ["Ana Bell keeps the key of the hall."]
    texts = [
        *best,
        "Max Orr cooks.",
        "The phone of Ana Bell is 7.",
        *(f"Ana Bell did {n}." for n in range(9)),
    ]
    assert follow(best, texts, "What is the phone of who keeps the key?")[:2] == [texts[2], texts[3]]
    assert len(follow(best, texts, "?")) == 4
    assert follow(best, texts, "What does Ana Bell keep?") == []
    assert follow(texts, texts, "?") == []


@pytest.mark.parametrize(
    "said", ["3 May 2031", "May 3rd, 2031", "the 3rd of May 2031", "2031-05-03", "May 3", "3 May"]
)
@pytest.mark.parametrize(
    "written", ["2031-05-03T09:00", "[03/May/2031:09:00]", "May  3 09:00", "May 03 09:00"]
)
def test_a_date_is_found_in_whatever_form_it_is_written(said: str, written: str) -> None:
    lines = [f"{written} gate 1 opened", "2031-05-13 gate 1 opened", "13/May/2031 May 13 gate 1 opened"]
    assert groups_for(f"Which gate opened on {said}?", lines)[0] == lines[:1]
    assert find(said.removeprefix("the "), "gate", among=lines) == lines[:1]


def test_days_between_two_dates() -> None:
    for form in (
        "2031-05-{:02} rain",
        "[{:02}/May/2031:09:00] rain",
        "May {:2} 09:00 rain",
        "3105{:02} 0900 rain",
    ):
        days = [form.format(day) for day in range(1, 29)]
        assert between(days, "2031-05-03", "7 May 2031") == days[2:7], form
        assert between(days, "May 7", "May 3") == days[2:7], form
    assert groups_for("How much rain from 2031-05-03 to 2031-05-07?", days) == [days]
    assert groups_for("How much rain on 2031-05-03?", days)[0] == days[2:3]
    assert kind_of("How many days had rain between 3 May and 7 May 2031?") == "clock"


def test_another_day_or_year_is_no_hit() -> None:
    log = ["May  3 09:00 a", "May 30 09:00 b", "May 31 09:00 c"]
    assert find("May 3rd", among=log) == log[:1]
    access = ["[03/May/2030:09:00:00] a", "[03/May/2031:09:00:00] b"]
    assert find("2031-05-03", among=access) == access[1:]
    assert groups_for("What came on 3 May 2031?", access) == [access[1:]]
    git = ["Date: Sun May 3 09:00:00 2030 a", "Date: Mon May 3 09:00:00 2031 b"]
    assert find("3 May 2031", among=git) == git[1:]


def test_dates_with_times_and_bounds_without_a_year() -> None:
    log = [f"2031-05-0{day} {hour:02}:15:00 gate" for day in (2, 3, 4) for hour in (8, 9, 10, 11)]
    assert between(log, "2031-05-03 09:00", "2031-05-03 10:59") == log[5:7]
    assert between(log, "2031-05-03 10:59", "2031-05-02 11:00") == log[3:7]
    for bounds in (("May 3", "May 4"), ("3 May", "4 May"), ("4 May", "3 May"), ("03.05.2031", "04.05.2031")):
        assert between(log, *bounds) == log[4:], bounds


@pytest.mark.parametrize("text", ["on 2031-00-05", "2031-13-40", "May 0", "00 May 2031"])
def test_what_looks_like_a_date_and_is_none(text: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert find(text, among=["a", "b"]) == []
    groups_for(f"What happened {text}?", ["a", "b"])


def test_blank_texts_find_what_has_them() -> None:
    assert find("   ", among=["a", "b   c"]) == ["b   c"]
    assert find("   ", among=["a", "b"]) == []


def test_the_day_of_the_week_at_the_start_of_a_line_is_no_label(capsys: pytest.CaptureFixture[str]) -> None:
    log = [
        f"[{day} Dec 0{n} 09:00] [{level}] up" for n, day in enumerate(("Sun", "Mon"), 4) for level in LEVELS
    ]
    look("How many lines of Mon Dec 05 have the level error?", log)
    assert "A: 20 lines\n  20 like: [Mon Dec 05 09:00] [error] up" in capsys.readouterr().out


def test_what_is_no_date_is_left_to_be_words() -> None:
    assert dates_in("May 99 guests come in 2031, March on! 2031-13-01 1.5 may 3 10 Maybe 4") == {}
    lines = ["2031-05 rain", "May/2031 rain", "2031-06 rain"]
    assert groups_for("How much rain was there in May 2031?", lines)[0] == lines[:2]


@given(st.text() | st.from_regex(r"[0-3]?[0-9] (May|June) [12][0-9]{3}"))
def test_any_text_is_looked_through_for_dates(text: str) -> None:
    assert all(said in text and date.forms for said, date in dates_in(text).items())


def test_what_mentions_a_word_has_it_in_any_form() -> None:
    lines = ["the president spoke", "a presidential address", "presidents met", "nobody spoke"]
    assert groups_for("How many mention a president?", lines) == [lines[:3]]
    assert groups_for("How many are of a president?", lines) == [[lines[0], lines[2]], lines[1:2]]


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


@pytest.mark.parametrize(
    ("line", "pattern", "value"),
    [
        ("in error state 6 now", "error state={}", "6"),
        ("[client 1.2.3.4] refused", "client={}", "1.2.3.4"),
        ("Received block blk_-44 of size 7", "block blk_", "blk_-44"),
        ("rhost=5.36.1.2 user=root", "rhost=", "5.36.1.2"),
        ("WARN 10.251.30.85:50010:Got exception", "10.251.194.213:50010", "10.251.30.85:50010"),
        ("order #77 of ann", "#12", "#77"),
        ("from /10.2.3.4", "from", "/10.2.3.4"),
        ("LOC:city Where is it ?", "^{}:", "LOC"),
        ("failed for invalid user bo from x", "for {} from", "invalid user bo"),
        ("Dec 10 06:55:46 host", " {}:", "06"),
    ],
)
def test_values_takes_a_pattern_as_it_was_meant(line: str, pattern: str, value: str) -> None:
    assert values([line], pattern) == [value]


def test_times_addresses_and_fields_of_lines() -> None:
    assert times([*LINES, "no time", "25:61"]) == ["10:00:00", "10:05:00", "11:00:00"]
    assert between(LINES, "10:01", "10:59:59") == between(LINES, "10:59:59", "10:01") == [LINES[1]]
    assert addresses([*LINES, "at 06:55:46", "of fe80::1 here", "v1.2.3.4.5"])[2:] == ["10.0.0.1", "fe80::1"]
    assert field(LINES, 4) == ["opened", "refused", "opened"]
    assert field(LINES, 40) == field(LINES, 0) == []
    assert rest(["a:b What is it?", "ham\tSee you", "New York\tWhere now?"]) == [
        "What is it?",
        "See you",
        "Where now?",
    ]


def test_times_that_bound_a_question_are_not_searched_for() -> None:
    lines = [f"{hour:02}:59:59 gate {n} opened" for hour in (9, 10, 11) for n in range(20)]
    (best,) = groups_for("How often was a gate opened from 10:00:00 to 10:59:59?", lines)
    assert best == lines
    assert groups_for("Which gate opened at 10:59:59?", lines)[0] == lines[20:40]


def test_a_field_with_few_values_is_shown() -> None:
    fields = fields_of([f"{n} gate {'opened' if n % 3 else 'shut'} by {n}" for n in range(90)])
    assert {number: dict(held) for number, held in fields.items()} == {3: {"opened": 60, "shut": 30}}


def test_prose_is_told_from_entries() -> None:
    assert is_prose(["The soup was cold today", "Lovely staff and music", "Nobody cared about us"])
    assert not is_prose([f"gate {n} opened for guard ann" for n in range(30)])
    assert not is_prose(["one line with many different words"])
    assert not is_prose([])


def test_a_field_that_is_not_there_is_said(capsys: pytest.CaptureFixture[str]) -> None:
    assert field(LINES, "guard") == field(LINES, 40) == []
    told = capsys.readouterr().out
    assert "no field is called 'guard'" in told
    assert "there is no field 40; a line has these: ['10:00', 'gate'" in told


def run_on(context: object, *cells: str, query: str = "Who?") -> tuple[object, str]:
    """The answer of these cells in a REPL of the profile, and what its first look printed."""
    model = ScriptedModel([f"```python\n{cell}\n```" for cell in cells])
    run = RLM(model, profile="small", runs=False).run(query, context)
    assert run.status == "answered", run.reason
    return run.answer, run.trace.turns[0].cells[0].output


CSV = "day,guard,note\n" + "".join(
    f'Mon,{("ann", "bo")[n % 3 > 0]},"gate {n}, then, home"\n' for n in range(60)
)
JSON_LINES = "".join(f'{{"guard": "{("ann", "bo")[n % 3 > 0]}", "gates": [{n}, 7]}}\n' for n in range(60))


@pytest.mark.parametrize(
    ("context", "code", "answer"),
    [
        (CSV, "submit([len(lines), field(lines, 2)[:3], field(lines, 'note')[0], rest(lines)[1]])",
         [60, ["ann", "bo", "bo"], "gate 0, then, home", "gate 1, then, home"]),
        (CSV.replace(",", ";"), "submit(field(lines, 2)[:2])", ["ann", "bo"]),
        ("guard\tnote\nann\ta, b\nbo\tc", "submit([len(lines), field(lines, 2)])", [2, ["a, b", "c"]]),
        (JSON_LINES, "submit([len(lines), field(lines, 'guard')[:2], field(lines, 2)[1]])",
         [60, ["ann", "bo"], "[1, 7]"]),
        ([{"guard": "ann"}, {"guard": "bo"}], "submit(field(lines, 1))", ["ann", "bo"]),
        ("ann, and bo\ncame late, and", "submit([len(lines), columns, field(lines, 3)])", [2, [], ["bo", "and"]]),
    ],
    ids=["csv", "semicolons", "tabs", "json", "dicts", "prose"],
)  # fmt: skip
def test_lines_that_are_records_are_read_by_field(context: object, code: str, answer: object) -> None:
    assert run_on(context, f"print(1)\n{code}")[0] == answer


@pytest.mark.parametrize(("name", "text"), [("a.csv", CSV), ("a.jsonl", JSON_LINES)])
def test_records_in_a_file_are_rows_as_well(tmp_path: Path, name: str, text: str) -> None:
    path = tmp_path / name
    path.write_text(text, encoding="utf-8")
    answer, look = run_on(
        path,
        "print(lines[0])\nsubmit([len(lines), len(A), len(find('guard=bo'))])",
        query="How many rows of ann?",
    )
    assert answer == [60, 20, 40]
    assert look.startswith("fields: 1 ")


def test_rows_are_texts_to_all_that_takes_texts() -> None:
    code = """
labels = classify(lines[:3], {"late": "came late", "early": "came early"})
print(labels)
submit([*lines[:1], *labels, json.dumps(lines[1]), lines[2].upper()])"""
    model = ScriptedModel([f"```python{code}\n```"])
    sub = ScriptedModel(
        lambda messages: (
            "late" if messages[-1].text == "day=Mon, guard=ann, note=gate 0, then, home" else "early"
        )
    )
    run = RLM(model, sub_model=sub, profile="small", runs=False).run("Who?", CSV)
    assert run.answer == [
        "day=Mon, guard=ann, note=gate 0, then, home",
        "late",
        "early",
        "early",
        '"day=Mon, guard=bo, note=gate 1, then, home"',
        "DAY=MON, GUARD=BO, NOTE=GATE 2, THEN, HOME",
    ]
    assert type(run.answer[0]) is str


@pytest.mark.parametrize("pattern", ["note={}", "note=", "note", "note: {}"])
def test_a_field_by_its_name_is_the_whole_of_it(pattern: str) -> None:
    answer, _ = run_on(CSV, f"print(lines[0])\nsubmit(values(lines, {pattern!r})[:2])")
    assert answer == ["gate 0, then, home", "gate 1, then, home"]


def test_what_comes_after_a_field_with_a_value_is_the_next_one() -> None:
    cell = "print(1)\nsubmit([values(lines, 'guard=ann')[:2], values(lines, 'guard=ann, note={}')[:1]])"
    answer, _ = run_on(CSV, cell, query="What does Ann write?")
    assert answer == [["gate 0, then, home", "gate 3, then, home"], ["gate"]]


def test_where_no_line_shares_a_word_all_are_meant() -> None:
    answer, look = run_on(CSV, "print(1)\nsubmit(len(A))", query="How many turns?")
    assert "A:" not in look
    assert answer == 60


def test_a_field_with_a_value_that_nobody_asked_about_is_meant_as_the_field() -> None:
    answer, _ = run_on(
        CSV, "print(1)\nsubmit(top(values(lines, 'guard=ann'))[0][0])", query="Who writes most?"
    )
    assert answer == "bo"


def test_rows_without_that_value_and_rows_that_are_too_short_give_none() -> None:
    rows = f"{CSV}Tue,ann\nTue\n"
    cell = "print(1)\nsubmit([len(values(lines, 'guard=ann')), values(lines, 'guard=cy')])"
    answer, _ = run_on(rows, cell, query="How many gates have ann and cy?")
    assert answer == [20, []]


def test_what_was_found_may_be_joined_counted_and_submitted() -> None:
    log = "gate 1\ngate 2\ngate 1\ngate 3\n"
    code = "both = find('1') | find('2')\nprint(both)\nsubmit([both, find('gate') & find('1'), lines[1:] & find('1')])"
    assert run_on(log, code)[0] == [["gate 1", "gate 1", "gate 2"], ["gate 1"] * 2, ["gate 1"] * 2]


def test_rows_that_the_question_names_by_a_value_are_found_first() -> None:
    _, look = run_on(CSV, "print(1)\nsubmit(len(A))", query="How many rows have the guard ann?")
    assert look.splitlines()[0] == "fields: 1 day, 2 guard, 3 note"
    assert "field(lines, 2): bo 40x, ann 20x" in look
    assert "A: 20 lines" in look


def test_a_value_with_signs_in_it_is_found_as_it_is_spelt() -> None:
    rows = "part,note\n" + "".join(
        f"{('a.Gate', 'a.Gate$Lock')[n % 3 > 0]},note {n} is here\n" for n in range(60)
    )
    for query, many in (("How many records are of a.Gate$Lock?", 40), ("How many are of a.Gate?", 20)):
        answer, _ = run_on(rows, "print(1)\nsubmit(len(A))", query=query)
        assert answer == many


def test_a_value_behind_the_name_of_its_field_is_of_that_field_alone() -> None:
    rows = "gate,note\n" + "".join(f"{n % 40},at {n % 7} the gate was shut\n" for n in range(200))
    for query in (
        "How often was gate 7 shut?",
        "How many rows have gate=7?",
        "How many are of the gate '7'?",
        "Of all the gates and of each gate that was shut, how often was gate 7?",
    ):
        answer, _ = run_on(rows, "print(1)\nsubmit(len(A))", query=query)
        assert answer == 5, query
    answer, look = run_on(rows, "print(1)\nsubmit(len(A))", query="How often was gate shut at 3?")
    assert "A: " in look, look


def test_what_cannot_be_is_sought_as_it_is_said() -> None:
    lines = ["Found gate 7 of the wall", "Can't find gate 7 of the wall", "Found gate 9 of the wall"]
    assert groups_for("Which gate of the wall can't be found?", lines)[0] == lines[1:2]


def test_the_field_of_the_sort_that_is_asked_is_shown_alone() -> None:
    log = "\n".join(f"Mon 04 [{('error', 'notice')[n % 2]}] gate {n}" for n in range(60))
    _, look = run_on(log, "print(1)\nsubmit('x')", query="Which level do the most entries have?")
    assert look.splitlines() == ["field(lines, 3): [error] 30x, [notice] 30x"]
    _, look = run_on(log, "print(1)\nsubmit('x')", query="Which level, such as [error], is rare?")
    assert look.startswith("field(lines, 3):")
    _, look = run_on(log, "print(1)\nsubmit('x')", query="Which gate is first?")
    assert look.startswith("field(lines, 3): [error] 30x, [notice] 30x\nfield(lines, 4): gate") is False


CODE = """class Gate(Door, wide=True):
    def open(
        self, hour=9,  # in the morning
        guard=None,
    ):
        def inner(): ...

async def shut(gate): ...
def lock(gate): ...
""".splitlines()


def test_what_code_defines_is_listed() -> None:
    assert definitions(CODE) == (
        ["Gate(Door, wide=True)"],
        ["Gate.open( self, hour=9, guard=None, )", "inner()", "shut(gate)", "lock(gate)"],
        ["Gate"],
    )
    assert is_code([*CODE, "x = 1"])
    assert not is_code(["the class of 1999 was", "a def leppard fan:"] * 9)


SHUT = "class Gate(Door, Old): pass\nclass Yard(doors.Door): pass\nclass Door: pass\nclass Lid(Doors): pass\n"


@pytest.mark.parametrize(
    ("question", "seen"),
    [
        ("Name all that is imported.", ["json", "os", "re", "os"]),
        ("What does gates.py import?", ["json", "os", "re"]),
    ],
)
def test_what_files_of_code_import_is_counted_once_a_file(question: str, seen: list[str]) -> None:
    """By files where they have names; of those alone that the question names."""
    files = {
        "gates.py": "import os, json as j  # both\nimport os.path\n" + SHUT,
        "keys.py": "def lock():\n    from os import path\n    from . import gates\n    # import shutil\n",
        "notes.md": "The import of keys\nimport the keys by hand\n",
    }
    files["gates.py"] += "from re import (\n    compile,\n)\n" + "# a long gate\n" * 500
    model = ScriptedModel(["```python\nprint(1)\nsubmit([imports, subclasses('Door'), bases('Gate')])\n```"])
    answer = RLM(model, profile="small").run(question, files).answer
    assert answer == [seen, ["Gate", "Yard"], ["Door", "Old"]]


def test_of_a_class_that_is_not_defined_here_it_is_said_what_is_below_it() -> None:
    model = ScriptedModel(
        ["```python\nprint(1)\nbases('Doors')\nprint(bases('Nothing'))\n```", "```python\nsubmit('Lid')\n```"]
    )
    RLM(model, profile="small", runs=False).run("Which class has Doors as its base?", SHUT * 9)
    seen = model.requests[-1].messages[-1].text
    assert "bases: Doors is not defined here; subclasses('Doors') has 9" in seen
    assert "Nothing" not in seen


def test_what_a_question_says_of_its_context_is_not_sought() -> None:
    lead = "The context is a dict of files: path to source."
    assert list(sought(f"{lead} Which gate was shut?")) == list(sought("Which gate was shut?"))
    assert "context" not in sought(lead)


def test_paragraphs_are_looked_at_as_wholes() -> None:
    heads = [
        [
            f"gate {name}",
            "",
            f"   It is opened by the guards, who come by {n} o'clock every day,",
            "   and shut at six.",
        ]
        for n, name in enumerate(("north", "south", "east", "west"))
    ]
    lines = [line for head in heads for line in (*head, "")]
    assert is_wrapped(lines) is False  # half of these are short
    prose = [line for line in lines if line.startswith("  ")] + ["", ""]
    assert is_wrapped(prose)
    assert blocks_of(lines)[0] == (
        "gate north\nIt is opened by the guards, who come by 0 o'clock every day, and shut at six."
    )
    assert len(blocks_of(lines)) == 4


def test_a_word_is_sought_by_its_stem_and_by_what_it_may_be_called() -> None:
    words = sought("Who managed to log in to block_7 in the break-in?")
    for word, line, fits in (
        ("managed", "managing", True),
        ("managed", "manageGate", True),
        ("managed", "Management", False),
        ("block_7", "block_7 is here", True),
        ("break-in", "POSSIBLE BREAK-INS", True),
        ("block_7", "Block_7 is here", False),
    ):
        assert words[word].fits(line, line.casefold()) is fits, line
    for word in ("Break-in", "X-ray"):
        assert sought(f"{word}?")[word].fits(word.upper(), word.casefold())
    best = groups_for("Who logged in?", ["gate shut for bo", "Accepted key of ann", "login page of cy shut"])
    assert best[0] == ["Accepted key of ann", "login page of cy shut"]
    assert groups_for("Who logged in?", ["Accepted key of ann", "bo logged in"])[0] == ["bo logged in"]
    rain = ["rain of frogs over gate_7", "the boot of ann", "frogs over gate_7"]
    assert groups_for("When did the rain of frogs over gate_7 begin?", rain) == [rain[:1], rain[2:]]


def test_a_second_step_that_forgot_the_first_answer_is_given_it() -> None:
    asked: list[str] = []

    def reply(messages: object) -> str:
        text = messages[-1].text  # type: ignore[index]
        question = text.rpartition("Question: ")[2]
        asked.append(question)
        if "Start" in question:
            return (
                "```python\nfirst = ask('Which IP address came first?')\nask('How often did this IP address come?')\n"
                "ask('How many of this log came from it in all?')\nsubmit(ask(f'And when did {first} go?'))\n```"
            )
        return "```python\nprint(1)\nsubmit('10.0.0.1')\n```"

    run = RLM(ScriptedModel(reply), profile="small", runs=False).run("Start.", LINES)
    assert run.status == "answered", run.reason
    assert asked[1:] == [
        "Which IP address came first?",
        "How often did this IP address 10.0.0.1 come?",
        "How many of this log came from it 10.0.0.1?",
        "And when did 10.0.0.1 go?",
    ]


def test_a_first_step_that_says_this_is_told_what_was_said_before() -> None:
    asked: list[str] = []

    def reply(messages: object) -> str:
        asked.append(messages[-1].text.rpartition("Question: ")[2])  # type: ignore[index]
        code = "submit(ask('At which gate was this?'))" if "Ann" in asked[-1][:20] else "submit('gate 1')"
        return f"```python\nprint(1)\n{code}\n```"

    query = "Somebody let Ann in. At which gate was this?"
    run = RLM(ScriptedModel(reply), profile="small", runs=False).run(query, "\n".join(LINES * 20))
    assert run.status == "answered", run.reason
    assert asked == [query, "At which gate was this? (Somebody let Ann in)"]


def test_the_helpers_do_not_overwrite_each_other() -> None:
    """They share one namespace in the REPL: a name of one file must not be another thing in the next."""
    made: dict[str, str] = {}
    for noun, text in zip(
        HELPERS,
        IMPORTS[3:],
        strict=False,
    ):
        for node in ast.parse(text).body:
            names = (
                [node.name] if isinstance(node, ast.FunctionDef | ast.ClassDef)
                else [target.id for target in node.targets if isinstance(target, ast.Name)]
                if isinstance(node, ast.Assign)
                else [node.target.id] if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name)
                else []
            )  # fmt: skip
            for name in names:
                assert made.setdefault(name, noun) == noun, name
    assert {"find", "look", "records", "sought", "definitions"} <= made.keys()


@given(st.lists(st.text()), st.text())
def test_the_helpers_take_any_lines_and_texts(lines: list[str], text: str) -> None:
    assert len(find(text, among=lines)) <= len(lines)
    assert sum(count for count, _ in forms_of(lines, 3)) <= len(lines)
    assert sum(len(group) for group in groups_for(text, lines)) <= len(lines)
    if "(" not in text and not re.search(r"[_-](\{\}|\.{3}|…)?[ =:]*$", text):  # a line may have several
        assert len(values(lines, text)) <= len(lines)
    for helper in (times, addresses, rest):
        assert len(helper(lines)) <= len(lines)
    assert len(between(lines, text, text)) <= len(lines)
    assert len(fields_of(lines)) <= 6
    assert is_prose(lines) in (True, False)
    assert is_wrapped(lines) in (True, False)
    assert len(blocks_of(lines)) <= len(lines)
    assert len(definitions(lines)[0]) <= len(lines)
    assert all(seek.fits(text, text.casefold()) in (True, False) for seek in sought(text).values())
    kept, names = records(lines)
    assert len(lines) - 1 <= len(kept) <= len(lines)
    assert all(isinstance(field_list(line), list) for line in kept)
    assert len(names) == len(set(names))
    assert lines_of(lines) == [line for text in lines for line in text.splitlines()]


def test_a_reader_that_is_not_there_is_told() -> None:
    with pytest.raises(RuntimeError, match="read needs a sub-call"):
        small_ask.read("Who?", ["It was Ann."])


@pytest.mark.parametrize(("printed", "told"), [("23\n", "submit(23)"), ("Ann Bell\n", "submit('Ann Bell')")])
def test_one_value_that_was_printed_may_be_submitted(printed: str, told: str) -> None:
    assert told in small.feedback([Shown(1, "x", CellResult("ok", printed))], hints=())


@pytest.mark.parametrize("printed", ["None\n", "[1, 2]\n", "", "a\nb\n"])
def test_what_is_no_value_is_not_offered(printed: str) -> None:
    assert "submit(" not in small.feedback([Shown(1, "x", CellResult("ok", printed))], hints=())
