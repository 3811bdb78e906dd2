"""Every way to end a run, and every reason to refuse an answer."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import pytest
from pydantic import BaseModel

from unspool.testing import ScriptedModel

from .helpers import play, py, shown


def test_print_and_submit_in_one_cell() -> None:
    run, _ = play([py("print('seen')\nsubmit(len(context))")])
    assert (run.status, run.answer) == ("answered", 18)
    assert "seen" in run.trace.turns[0].cells[0].output
    assert run.trace.turns[0].cells[0].outcome == "submitted"


def test_submit_ends_the_cell_and_the_later_cells() -> None:
    run, _ = play([py("print(1)\nsubmit('a')\nsubmit('b')\nprint('after')", "submit('c')")])
    assert run.answer == "a"
    assert len(run.trace.turns[0].cells) == 1
    assert "after" not in run.trace.turns[0].cells[0].output


LONG = "a line of the input\n" * 500  # more than a description shows


def test_submit_before_a_look_is_refused_once() -> None:
    run, model = play([py("submit('x')"), py("submit('x')")], LONG)
    assert run.answer == "x"
    assert run.turns == 2
    assert "look at the context first" in shown(model, 1)


@pytest.mark.parametrize("profile", ["frontier", "small", "paper"])
def test_where_the_description_shows_all_of_the_input_there_is_nothing_to_look_at(
    profile: str, tmp_path: Path
) -> None:
    path = tmp_path / "a.txt"
    path.write_text("line one\nline two\n")
    for context in ("line one\nline two\n", path):
        run, model = play([py("submit('two')")], context, profile=profile)
        assert (run.answer, run.turns, run.coverage.share) == ("two", 1, 1.0)
        assert "line two" in model.requests[0].messages[-1].text


@pytest.mark.parametrize(
    "context", [[1, 2], {"a": "one", "b": "two"}, b"bytes"], ids=["list", "texts", "bytes"]
)
def test_what_is_not_known_to_be_shown_has_to_be_looked_at(context: object) -> None:
    run, model = play([py("submit('x')"), py("submit('x')")], context)
    assert run.turns == 2
    assert "look at the context first" in shown(model, 1)


def test_a_look_in_an_earlier_cell_counts() -> None:
    run, _ = play([py("print(context[:3])", "submit('x')")], LONG)
    assert (run.answer, run.turns) == ("x", 1)


@pytest.mark.parametrize(
    ("code", "answer"),
    [
        ("FINAL('done')", "done"),
        ("FINAL(f(2)(3))", 5),
        ("x = [1, 2]\nFINAL_VAR('x')", [1, 2]),
        ("x = 'two words'\nFINAL_VAR(x)", "two words"),
        ("SUBMIT('done')", "done"),
        ("SUBMIT(answer='done')", "done"),
        ("SUBMIT(a=1, b=2)", {"a": 1, "b": 2}),
        ("answer = {'content': 'done', 'ready': True}", "done"),
        ("answer['content'] = 'done'\nanswer['ready'] = True", "done"),
        ("answer['ready'] = True\nanswer['content'] = 'done'", "done"),
        ("answer.update(content='done', ready=True)", "done"),
        ("answer = {'content': 7, 'ready': True}\nraise ValueError('late')", 7),
    ],
)
def test_other_endings(code: str, answer: object) -> None:
    run, _ = play([py("f = lambda a: lambda b: a + b\nprint(1)"), py(code)])
    assert (run.status, run.answer) == ("answered", answer)


def test_final_of_an_undefined_name_goes_back_to_the_model() -> None:
    run, model = play([py("print(1)"), py("FINAL(nothing_here)"), py("submit('fine')")])
    assert run.answer == "fine"
    assert "NameError" in shown(model, 2)


def test_final_var_of_an_undefined_name_says_what_there_is() -> None:
    run, model = play([py("print(1)\ntotal = 3"), py("FINAL_VAR('totals')"), py("FINAL_VAR('total')")])
    assert run.answer == 3
    assert "totals" in shown(model, 2)
    assert "total" in shown(model, 2)


def test_ready_without_content_is_refused() -> None:
    run, model = play(
        [py("print(1)\nanswer['ready'] = True"), py("answer['content'] = 'x'\nanswer['ready'] = True")]
    )
    assert run.answer == "x"
    assert "empty" in shown(model, 1)


@pytest.mark.parametrize("text", ["My plan is to FINAL(the count).", "submit(42)", "FINAL(42)", "answer: 42"])
def test_prose_is_never_an_answer(text: str) -> None:
    run, _ = play([text, py("print('FINAL(1)')"), py("submit('real')")], LONG)
    # A reply that is nothing but a call may be run as code; then it is refused for not having looked.
    assert run.answer == "real"


def test_text_that_names_a_variable_is_text_with_a_hint() -> None:
    run, _ = play([py("total = 3\nprint(total)\nsubmit('total')")])
    assert run.answer == "total"
    assert any("variable of that name" in note for note in run.notes)


def test_values_arrive_as_themselves() -> None:
    code = (
        "import datetime, decimal, math\n"
        "submit({'t': (1, 2), 's': {3}, 1: None, 'd': datetime.date(2024, 5, 6), 'x': decimal.Decimal('1.10'),"
        " 'b': b'\\x00\\xff', 'f': float('inf'), 'e': '\\ud800 \\U0001f600 \\x00'})"
    )
    run, _ = play([py("print(1)"), py(code)])
    answer = run.answer
    assert isinstance(answer, dict)
    assert answer["t"] == (1, 2)
    assert answer["s"] == {3}
    assert answer[1] is None
    assert str(answer["d"]) == "2024-05-06"
    assert str(answer["x"]) == "1.10"
    assert answer["b"] == b"\x00\xff"
    assert answer["f"] == float("inf")
    assert answer["e"] == "\ud800 \U0001f600 \x00"


def test_a_single_value_stays_single_and_a_big_one_arrives_whole() -> None:
    run, _ = play([py("print(1)\nsubmit(('x',))")])
    assert run.answer == ("x",)
    run, _ = play([py("print(1)\nsubmit('é' * 1_000_000 + context)")], "tail")
    assert run.answer == "é" * 1_000_000 + "tail"


def test_a_table_is_data() -> None:
    pytest.importorskip("pandas")
    code = "import pandas as pd\nprint(1)\nsubmit(pd.DataFrame({'a': [1, 2], 'b': ['x', 'y']}))"
    run, _ = play([py(code)])
    assert run.answer == [{"a": 1, "b": "x"}, {"a": 2, "b": "y"}]


@pytest.mark.parametrize("value", ["object()", "(i for i in range(3))", "print", "open"])
def test_what_is_no_data_is_refused_with_its_type(value: str) -> None:
    run, model = play([py(f"print(1)\nsubmit({value})"), py("submit('data')")])
    assert run.answer == "data"
    assert "submit" in shown(model, 1)


@pytest.mark.parametrize("value", ["None", "''", "'  '"])
def test_nothing_is_refused(value: str) -> None:
    run, model = play([py(f"print(1)\nsubmit({value})"), py("submit(0)")])
    assert run.answer == 0
    assert "empty" in shown(model, 1)


def test_failed_items_are_refused_wherever_they_are() -> None:
    sub = ScriptedModel([])  # no reply left: every sub-call fails
    run, model = play(
        [
            py("r = llm_query_batched(['a', 'b'])\nprint(r)\nsubmit({'deep': [1, (r[0],)]})"),
            py("submit('clean')"),
        ],
        sub=sub,
    )
    assert run.answer == "clean"
    assert "failed item" in shown(model, 1)


def test_wanted_type_takes_what_fits() -> None:
    run, _ = play([py("print(1)\nsubmit('42')")], answer=int)
    assert run.answer == 42


def test_wanted_type_names_the_field_that_does_not_fit() -> None:
    class Person(BaseModel):
        name: str
        age: int

    run, model = play(
        [py("print(1)\nsubmit({'name': 'Ada', 'age': 'old'})"), py("submit({'name': 'Ada', 'age': 36})")],
        answer=Person,
    )
    assert run.answer == Person(name="Ada", age=36)
    assert "age" in shown(model, 1)
    assert "expected a whole number" in shown(model, 1)


def test_a_near_miss_at_the_end_is_a_draft_not_an_answer() -> None:
    run, _ = play([py("print(1)\nsubmit('many')")], answer=int, max_turns=1)
    assert (run.status, run.answer, run.draft) == ("budget", "many", "refused submission")


def test_a_dataclass_is_submitted_as_data() -> None:
    @dataclasses.dataclass
    class Point:
        x: int
        y: int

    code = "from dataclasses import dataclass\n@dataclass\nclass P:\n    x: int\n    y: int\nprint(1)\nsubmit(P(1, 2))"
    run, _ = play([py(code)], answer=Point)
    assert run.answer == Point(1, 2)
