"""``direct``: the input in the window, one reply."""

from __future__ import annotations

import math
from dataclasses import dataclass
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from unspool import RLM, Budget, ConfigError, Contexts, Image, ModelError, ModelReply, Usage
from unspool.strategies import StrategyName
from unspool.strategies.repl_text import texts
from unspool.testing import ScriptedModel

from .helpers import WINDOW, asked, by

LONG = "".join(f"{number:05} the quick brown fox\n" for number in range(4_000))


def test_the_input_is_in_the_prompt_and_the_answer_is_the_reply() -> None:
    run, model = by("direct", ["Two lines.\nAnswer: two lines"])
    assert (run.answer, run.status, run.turns, run.sub_calls) == ("two lines", "answered", 1, 0)
    assert "line one\nline two\n" in asked(model)
    assert asked(model).index("line two") < asked(model).index("What is there?")
    assert run.coverage.share == 1.0
    assert run.notes == ()


def test_a_reply_without_the_word_is_the_answer_as_a_whole() -> None:
    run, _ = by("direct", ["Paris."])
    assert run.answer == "Paris."


@pytest.mark.parametrize(
    ("reply", "answer"),
    [
        ("Hm.\n**Answer:** 42", "42"),
        ("Hm.\n**Answer: 42**", "42"),
        ("## Final answer: 42", "42"),
        ("Answer: 41\nNo.\nAnswer: 42", "42"),
        ("Answer:\n```\na\n  b\n```", "a\n  b"),
        ("Answer:\n```\na\n```\nand\n```\nb\n```", "```\na\n```\nand\n```\nb\n```"),
        ("Answer:", "Answer:"),
        ("The answer is here: 42", "The answer is here: 42"),
    ],
)
def test_what_counts_as_the_answer(reply: str, answer: str) -> None:
    run, _ = by("direct", [reply])
    assert run.answer == answer


def test_what_does_not_fit_is_cut_out_of_the_middle_and_told() -> None:
    run, model = by("direct", ["Answer: x"], LONG)
    (note,) = run.notes
    prompt = asked(model)
    assert LONG[:1_000] in prompt
    assert LONG[-1_000:-1] in prompt
    assert "characters left out" in prompt
    look = run.trace.turns[0].cells[0]
    assert f"{look.omitted:,} were left out" in note
    assert f"of {len(LONG):,} characters" in note
    share = run.coverage.share
    assert share is not None
    assert math.isclose(share, 1 - look.omitted / len(LONG), abs_tol=0.01)
    assert run.coverage.unplaced == 0


def test_a_prompt_fits_the_window_with_its_reply() -> None:
    _, model = by("direct", ["Answer: x"], LONG, query="Why? " * 200)
    (request,) = model.requests
    read = sum(len(message.text) for message in request.messages)
    assert WINDOW < read < WINDOW * 3  # this text has three characters a token


def test_a_larger_window_is_given_more() -> None:
    sizes: list[int] = []
    for window in (800, 2_000, 8_000, 100_000):
        _, model = by("direct", ["Answer: x"], LONG, window=window)
        sizes.append(len(asked(model)))
    assert sizes == sorted(set(sizes))
    assert sizes[-1] > len(LONG)


def test_a_window_that_is_not_known_is_noted_where_it_matters() -> None:
    assert by("direct", ["Answer: x"], "short", window=None)[0].notes == ()
    run, model = by("direct", ["Answer: x"], LONG, window=None)
    assert run.notes == ("the window of scripted:model is not known: 128,000 tokens are assumed",)
    assert LONG.strip() in asked(model)


@dataclass
class Found:
    name: str
    count: int


@pytest.mark.parametrize(
    ("wanted", "reply", "value"),
    [
        (int, "42", 42),
        (int, "I count.\nAnswer: 42", 42),
        (list[str], '```json\n["a", "b"]\n```', ["a", "b"]),
        (Found, '{"name": "fox", "count": 3}', Found("fox", 3)),
        (str, "plain words", "plain words"),
        (float, "Infinity", math.inf),
        ({"type": "object", "required": ["n"]}, 'So: {"n": 1}', {"n": 1}),
    ],
    ids=["int", "behind words", "list", "dataclass", "str", "infinity", "schema"],
)
def test_an_answer_is_of_the_wanted_type(wanted: object, reply: str, value: object) -> None:
    run, model = by("direct", [reply], answer=wanted)
    assert (run.answer, run.turns) == (value, 1)
    assert model.requests[0].schema is not None


def test_a_table_may_be_wanted() -> None:
    pandas = pytest.importorskip("pandas")
    run, model = by("direct", ['[{"a": 1, "b": "x"}, {"a": 2, "b": "y"}]'], answer=pandas.DataFrame)
    assert run.answer.to_dict("list") == {"a": [1, 2], "b": ["x", "y"]}  # type: ignore[attr-defined]
    assert "one object a row" in asked(model)


def test_an_answer_that_does_not_fit_is_asked_for_once_more() -> None:
    run, model = by("direct", ["many", "7"], answer=int)
    assert (run.answer, run.turns) == (7, 2)
    assert "That was not taken: the answer does not fit the wanted type" in asked(model, 1)
    assert "submit(" not in asked(model, 1)


def test_after_the_second_try_it_is_a_draft() -> None:
    run, model = by("direct", ["many", "very many"], answer=int)
    assert (run.status, run.answer, run.draft) == ("budget", "very many", "refused submission")
    assert len(model.requests) == 2


def test_an_empty_reply_is_asked_for_again() -> None:
    run, model = by("direct", ["<think>hm</think>", "Answer: x"])
    assert run.answer == "x"
    assert "The reply was empty." in asked(model, 1)


def test_a_reply_that_was_cut_is_no_answer() -> None:
    cut = ModelReply("I think that it", "length", Usage(1, 1, 1), "scripted:model")
    run, model = by("direct", [cut, "Answer: x"])
    assert (run.answer, run.turns) == ("x", 2)
    assert "cut at the output limit" in asked(model, 1)
    run, _ = by("direct", [cut, cut])
    assert (run.status, run.answer, run.draft) == ("budget", "I think that it", "variable draft")


def test_code_in_a_reply_is_not_run() -> None:
    run, _ = by("direct", ["```python\nsubmit(1)\n```"])
    assert run.answer == "submit(1)"


def test_thoughts_are_no_answer() -> None:
    run, _ = by("direct", ["<think>Answer: no</think>\nyes"])
    assert run.answer == "yes"


def test_a_provider_that_finds_it_too_long_fails_the_run() -> None:
    model = ScriptedModel([ModelError("bad_request", "maximum context length is 8 tokens")])
    run = RLM(model, runs=False).run("What?", LONG, strategy="direct")
    assert run.status == "failed"
    assert "maximum context length" in run.reason


def test_a_limit_that_has_no_room_for_the_prompt_is_kept() -> None:
    run, model = by("direct", ["Answer: x"], LONG, budget=Budget(tokens=100))
    assert (run.status, run.answer, model.requests) == ("budget", None, [])


def test_an_input_may_be_empty() -> None:
    run, _ = by("direct", ["Answer: nothing"], "")
    assert run.answer == "nothing"


def test_a_file_is_read_in_the_sandbox(tmp_path: Path) -> None:
    (tmp_path / "a.log").write_text(LONG)
    run, model = by("direct", ["Answer: x"], tmp_path / "a.log")
    assert run.answer == "x"
    assert LONG[:1_000] in asked(model)
    assert f"of {len(LONG):,} characters" in run.notes[0]


def test_a_folder_is_its_files_under_their_names(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("alpha")
    (tmp_path / "b").mkdir()
    (tmp_path / "b" / "c.txt").write_text("gamma\n")
    (tmp_path / "d.bin").write_bytes(b"\0\1\2" * 99)
    _, model = by("direct", ["Answer: x"], tmp_path)
    assert "=== a.txt ===\nalpha\n=== b/c.txt ===\ngamma\n" in asked(model)
    assert "(1 files that are no text are left out)" in asked(model)


def test_tables_are_csv(tmp_path: Path) -> None:
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame({"a": [1, 2], "b": ["x", "y"]})
    _, model = by("direct", ["Answer: x"], frame)
    assert "a,b\n1,x\n2,y" in asked(model)
    frame.to_parquet(tmp_path / "t.parquet")
    _, model = by("direct", ["Answer: x"], tmp_path / "t.parquet")
    assert "a,b\n1,x\n2,y" in asked(model)


def test_a_table_inside_of_others() -> None:
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame({"a": [1, 2]})
    _, model = by("direct", ["Answer: x"], [{"name": "one", "rows": frame}, [frame]])
    assert "=== 0 ===\nname: one\n=== rows ===\na\n1\n2\n=== 1 ===\n=== 0 ===\na\n1\n2\n" in asked(model)


def test_sheets_are_csv_under_their_names(tmp_path: Path) -> None:
    openpyxl = pytest.importorskip("openpyxl")
    pytest.importorskip("pandas")
    book = openpyxl.Workbook()
    book.active.title = "Paid"
    book.active.append(["who", "how much"])
    book.active.append(["Eve", 7])
    book.save(tmp_path / "a.xlsx")
    _, model = by("direct", ["Answer: x"], tmp_path / "a.xlsx")
    assert "=== Paid ===\nwho,how much\nEve,7\n" in asked(model)


def test_traces_are_their_file(tmp_path: Path) -> None:
    span = '{"traceId": "01", "spanId": "02", "name": "GET /a", "startTimeUnixNano": "1", "endTimeUnixNano": "9"}'
    line = f'{{"resourceSpans": [{{"resource": {{}}, "scopeSpans": [{{"spans": [{span}]}}]}}]}}\n'
    (tmp_path / "a.otlp.jsonl").write_text(line * 3)
    run, model = by("direct", ["Answer: x"], tmp_path / "a.otlp.jsonl")
    assert run.answer == "x"
    assert line * 3 in asked(model) + "\n"


def test_a_database_is_its_tables(tmp_path: Path) -> None:
    import sqlite3

    with sqlite3.connect(tmp_path / "app.sqlite") as database:
        database.execute("CREATE TABLE users (id INTEGER, name TEXT)")
        database.execute("INSERT INTO users VALUES (1, 'Eve')")
    database.close()
    _, model = by("direct", ["Answer: x"], tmp_path / "app.sqlite")
    assert '=== users ===\nid,name\n1, "Eve"' in asked(model)


@pytest.mark.parametrize(
    ("context", "text"),
    [
        (["a", "b"], "a\nb"),
        ([{"a": 1}, {"a": 2}], '{"a": 1}\n{"a": 2}'),
        ({"one": "x", "two": [1, 2]}, "one: x\n=== two ===\n1\n2"),
        (["a\nb", "c"], "=== 0 ===\na\nb\nc"),
        (Contexts(logs="l1\nl2", users=["eve"]), "=== logs ===\nl1\nl2\n=== users ===\neve"),
        ([{"t": "long\ntext", "n": 1}], "=== 0 ===\n=== t ===\nlong\ntext\nn: 1"),
        (17, "17"),
        (Found("fox", 3), '{"name": "fox", "count": 3}'),
    ],
    ids=["texts", "records", "mapping", "long items", "several", "long record", "number", "object"],
)
def test_values_are_text(context: object, text: str) -> None:
    _, model = by("direct", ["Answer: x"], context)
    assert f"<data>\n{text}\n</data>" in asked(model)


def test_what_is_no_text_is_refused_by_name() -> None:
    pixel = bytes.fromhex(
        "89504e470d0a1a0a0000000d4948445200000001000000010806000000"
        "1f15c4890000000d49444154789c6360000002000001e221bc330000000049454e44ae426082"
    )
    for context in (Image.of(pixel), b"abc"):
        run, model = by("direct", ["Answer: x"], context)
        assert run.status == "failed"
        assert 'is no text: strategy="rlm" takes it' in run.reason
        assert model.requests == []


def test_an_unknown_strategy_is_refused_at_once() -> None:
    with pytest.raises(ConfigError, match="strategy='best': there are rlm"):
        RLM(ScriptedModel([]), strategy="best")  # type: ignore[arg-type]
    with pytest.raises(ConfigError, match="strategy=3"):
        RLM(ScriptedModel([])).run("q", "c", strategy=3)  # type: ignore[arg-type]


def test_a_run_may_have_a_strategy_of_its_own() -> None:
    model = ScriptedModel(["Answer: x", "```python\nprint(1)\nsubmit(2)\n```"])
    engine = RLM(model, runs=False)
    assert engine.run("q", "c", strategy="direct").answer == "x"
    assert engine.run("q", "c").answer == 2


def test_branches_are_samples() -> None:
    model = ScriptedModel(["Answer: a", "Answer: b", "Answer: b"])
    run = RLM(model, runs=False).run("q", "c", strategy="direct", branches=3)
    assert run.answer == "b"
    assert len(run.branches) == 3


def _holds_itself(kind: str) -> object:
    ring: list[object] = []
    if kind == "list":
        ring.append(ring)
    elif kind == "twice":
        ring += [ring, ring]
    elif kind == "mapping":
        by_name: dict[str, object] = {"name": "bo"}
        by_name["self"] = by_name
        return by_name
    else:
        ring += ["text", {"ring": (1, ring)}]
    return ring


@pytest.mark.parametrize("kind", ["list", "twice", "mapping", "mixed"])
@pytest.mark.parametrize("strategy", ["direct", "auto"])
def test_what_holds_itself_is_shown_once_around(strategy: StrategyName, kind: str) -> None:
    run, model = by(strategy, ["Answer: 7"], _holds_itself(kind))
    assert run.answer == "7"
    assert "..." in asked(model)
    assert len(asked(model)) < 2_000


@settings(max_examples=50, deadline=None, derandomize=True)
@given(st.integers(0, 120), st.sampled_from(["list", "mapping", "tuple"]))
def test_an_input_however_deep_has_a_text(levels: int, kind: str) -> None:
    value: object = "the core"
    for _ in range(levels):
        value = [value] if kind == "list" else (value, 1) if kind == "tuple" else {"in": value}
    assert "the core" in "".join(texts(value))


def test_a_number_without_a_text_is_said_to_be_one() -> None:
    run, model = by("direct", ["Answer: 7"], {"n": 10**5000})
    assert model.requests == []
    assert 'too many digits for a text: strategy="rlm" takes it' in run.reason
