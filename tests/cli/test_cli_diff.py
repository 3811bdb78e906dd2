"""``unspool runs diff``: where two runs part, in the terminal."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest
from rich.cells import cell_len

from unspool import RLM, Budget
from unspool.cli.app import app
from unspool.compare import Parting, paired, parting
from unspool.testing import ScriptedModel
from unspool.types import CellRun, FailedCall, FailureKind, Node, SubCall, Turn

from .. import stories
from .conftest import MakeCli
from .test_cli_live import on_terminal

ESCAPES = re.compile(r"\x1b\[[0-9;]*m")


def run(runs: Path, replies: Sequence[str], subs: Sequence[str] = ()) -> str:
    return RLM(ScriptedModel(replies), sub_model=ScriptedModel(subs), runs=runs).run("How many?", "a text").id


def diff(capsys: pytest.CaptureFixture[str], runs: Path, one: str, two: str) -> tuple[int, str, str]:
    code = app(["runs", "diff", one, two, "--runs", str(runs)], standalone_mode=False)
    out, err = capsys.readouterr()
    return code or 0, out, err


LOOK = stories.py("print(len(context))")


@pytest.mark.parametrize(
    ("one", "two", "told"),
    [
        ([LOOK, stories.py("submit(1)")], [LOOK, stories.py("submit(1)")], "they did the same, turn by turn"),
        (
            [LOOK, stories.py("submit(1)")],
            [LOOK, stories.py("submit(2)")],
            "they part in turn 2\nthe code is not the same\n  A submit(1)\n  B submit(2)\n",
        ),
        (
            [stories.py("print(1)", "I count."), stories.py("submit(1)")],
            [stories.py("print(1)", "I guess."), stories.py("submit(1)")],
            "they part in turn 1\nthe models said something else\n  A I count.\n  B I guess.\n",
        ),
        (
            [LOOK, LOOK, stories.py("submit(1)")],
            [LOOK, stories.py("submit(1)")],
            "they part in turn 2\nthe code is not the same\n",
        ),
    ],
    ids=["same", "code", "words", "longer"],
)
def test_where_they_part(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, one: list[str], two: list[str], told: str
) -> None:
    code, out, err = diff(capsys, tmp_path, run(tmp_path, one), run(tmp_path, two))
    assert (code, err) == (0, "")
    assert told in out
    assert "the same question, the same input, " in out


def test_a_sub_call_is_told_where_the_code_is_the_same(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    replies = [stories.py("said = [llm_query('a'), llm_query('b')]\nprint(said)\nsubmit(said[1])")]
    one, two = (run(tmp_path, replies, ["x", reply]) for reply in ("yes", "no"))
    out = diff(capsys, tmp_path, one, two)[1]
    assert "they part in turn 1\nthe code is the same; a sub-call is not\n" in out
    assert re.search(r"A\n2  node 0.*\n   → b\n   ← yes\nB\n2  node 0.*\n   → b\n   ← no\n", out)
    assert out.endswith("\nanswer of A\n  yes\n\nanswer of B\n  no\n")


def test_the_reason_of_a_run_without_an_answer_is_no_answer(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    one, two = run(tmp_path, [LOOK]), run(tmp_path, [LOOK, stories.py("submit(0)")])
    out = diff(capsys, tmp_path, one, two)[1]
    assert "\nA has no answer\n  failed: the model scripted:model failed: ScriptedModel has no reply" in out
    assert out.endswith("\n\nanswer of B\n  0\n")


def test_the_time_that_a_run_lay_still_is_left_out(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    model = ScriptedModel([LOOK, LOOK, stories.py("submit(1)")])
    one = RLM(model, max_turns=1, runs=tmp_path).run("How many?", "a text").id
    file = tmp_path / one / "events.jsonl"
    events = [json.loads(line) for line in file.read_text("utf-8").splitlines()]
    file.write_text("".join(json.dumps({**e, "time": e["time"] - 5_000}) + "\n" for e in events), "utf-8")
    RLM(model, max_turns=5, runs=tmp_path).resume(one, "a text")
    *lines, last = file.read_text("utf-8").splitlines(keepends=True)
    assert '"run.ended"' in last
    file.write_text("".join(lines), "utf-8")  # as if it had been killed
    out = diff(capsys, tmp_path, one, one)[1]
    assert re.search("(?m)^status +not ended +not ended$", out)
    assert re.search(r"(?m)^time +[\d.]+ m?s +[\d.]+ m?s$", out)


@pytest.mark.parametrize("columns", [40, 80])
def test_rows_fit_a_terminal(make_cli: MakeCli, tmp_path: Path, columns: int) -> None:
    one, two = stories.with_children(tmp_path / "kept"), stories.hostile(tmp_path / "kept")
    cli = make_cli(["unused"])
    code, sent = on_terminal(
        cli, cli.command("runs", "diff", one.id, two.id, "--runs", "kept"), columns=columns
    )
    assert code == 0
    rows = ESCAPES.sub("", sent).replace("\r\n", "\n").split("\nanswer of A")[0].split("\n")
    assert max(map(cell_len, rows)) <= columns
    assert not re.search("[\x00-\x08\x0b-\x1f\x7f-\x9f]", "".join(rows))
    figures = {row.split()[0]: row.split()[1:] for row in rows if row.strip()}
    assert figures["status"] == ["answered", "answered"]
    assert figures["children"] == ["2", "0"]
    assert figures["cost"] == ["$0.0053", "$0"]


def test_what_is_not_there_is_told(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    name = run(tmp_path, [stories.py("print(1)\nsubmit(1)")])
    assert diff(capsys, tmp_path, name, "nothing")[0] == 2
    (tmp_path / "empty").mkdir()
    (tmp_path / "empty" / "events.jsonl").write_bytes(b"")
    code, out, _ = diff(capsys, tmp_path, name, "empty")
    assert code == 0
    assert "one of them has not begun" in out


def call(number: int, index: int, prompt: str) -> SubCall:
    return SubCall(number, "0", 1, 1, 1, index, "sub", "m", prompt, reply="ok")


@pytest.mark.parametrize("swapped", [False, True], ids=["first", "second"])
def test_a_first_look_that_one_of_them_had(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, swapped: bool
) -> None:
    """Of a small model and a large one; the turns are paired by their number, not by their place."""
    replies = [stories.py("print(1)"), stories.py("submit(1)")]
    models = [ScriptedModel(replies, profile="small"), ScriptedModel(replies)]
    one, two = (RLM(model, runs=tmp_path).run("How many doors?", "a door\n" * 9) for model in models)
    assert [len(one.trace.turns), len(two.trace.turns)] == [3, 2]
    if swapped:
        one, two = two, one
    code, out, err = diff(capsys, tmp_path, one.id, two.id)
    assert (code, err) == (0, "")
    assert "they part in first look\none of them began with a first look, the other did not\n" in out
    pairs = [(a and a.number, b and b.number) for _, a, b in paired(one.trace.turns, two.trace.turns)]
    assert pairs == [(None, 0) if swapped else (0, None), (1, 1), (2, 2)]


def test_items_of_a_batch_begin_in_any_order() -> None:
    one, two = (
        Node("0", None, 0, "?", "", turns=(Turn(1, text="", cells=(CellRun(1, "x", sub_calls=calls),)),))
        for calls in ((call(1, 0, "a"), call(2, 1, "b")), (call(1, 1, "b"), call(2, 0, "a")))
    )
    assert parting(one, two) is None
    other = Node(
        "0",
        None,
        0,
        "?",
        "",
        turns=(Turn(1, text="", cells=(CellRun(1, "x", sub_calls=(call(1, 0, "a"),)),)),),
    )
    assert parting(one, other) == Parting(1, "sub-call", (1, 1), (2, None))


@pytest.mark.parametrize(("kind", "parts"), [("timeout", False), ("auth", True)])
def test_calls_that_failed_for_another_reason_are_not_the_same(kind: FailureKind, parts: bool) -> None:
    def failing(why: FailureKind) -> Node:
        failed = replace(call(1, 0, "a"), reply=None, error=FailedCall(why, "no reply"))
        return Node("0", None, 0, "?", "", turns=(Turn(1, cells=(CellRun(1, "x", sub_calls=(failed,)),)),))

    expected = Parting(1, "sub-call", (1, 1), (1, 1)) if parts else None
    assert parting(failing("timeout"), failing(kind)) == expected


def test_what_a_limit_refused_is_no_sub_call(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    code = stories.py("print(1)\nllm_query_batched(['one', 'two', 'three'])\nsubmit(1)")
    sub = ScriptedModel(lambda messages: "yes")
    engine = RLM(ScriptedModel([code]), sub_model=sub, runs=tmp_path, budget=Budget(calls=2))
    limited = engine.run("How many?", "a text").id
    free = run(tmp_path, [code], ["yes"] * 3)
    assert re.search(r"^calls +2 +3$", diff(capsys, tmp_path, limited, free)[1], re.MULTILINE)


def test_runs_without_an_answer_have_not_the_same_one(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    def stuck() -> str:
        return RLM(ScriptedModel([LOOK, LOOK]), runs=tmp_path, max_turns=2).run("How many?", "a text").id

    answered = run(tmp_path, [stories.py("submit(1)")] * 2)
    one, two = stuck(), stuck()
    code, out, _ = diff(capsys, tmp_path, one, two)
    assert code == 0
    assert "the same question, the same input, neither has an answer" in out
    assert "not the same answer" in diff(capsys, tmp_path, one, answered)[1]


@pytest.mark.parametrize("piped", [True, False], ids=["pipe", "terminal"])
def test_all_rows_fit_forty_columns_and_two_programs_do_not_look_the_same(
    make_cli: MakeCli, tmp_path: Path, piped: bool
) -> None:
    long = "because of a reason that does not fit into a row of forty columns"
    ids = []
    for name in ("one", "two"):
        model = ScriptedModel(["Words."] * 3, name=f"command:/tmp/a/folder/that/both/have/{name}.py")
        ids.append(RLM(model, runs=tmp_path / "kept").run(long, "a text").id)
    cli = make_cli(["unused"])
    command = cli.command("runs", "diff", *ids, "--runs", "kept")
    if piped:
        sent = cli.run(command, environment={"COLUMNS": "40"}).stdout.decode()
    else:
        _, sent = on_terminal(cli, command, columns=40)
    rows = ESCAPES.sub("", sent).replace("\r\n", "\n").split("\n")
    assert max(map(cell_len, rows)) <= 40
    assert " ".join(" ".join(rows).split()).count("3 replies in a row without code to run") == 2  # whole
    for figure in ("model", "sub-calls"):
        (row,) = [row for row in rows if row.startswith(figure)]
        assert row.split()[1:] == ["comm.../one.py", "comm.../two.py"]
