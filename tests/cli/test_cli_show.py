"""``unspool runs show``: the tree and its parts, from the journals of real runs."""

from __future__ import annotations

import re
import time
from pathlib import Path
from typing import Protocol

import pytest

from unspool import RLM
from unspool.cli.app import app
from unspool.testing import ScriptedModel

from .. import stories
from .conftest import MakeCli
from .test_cli_live import on_terminal

BAD = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\ud800-\udfff]")
COLOUR = re.compile(r"\x1b\[[0-9;]*m")
PARTS = ((), ("--turn", "1"), ("--turn", "2"), ("--calls",), ("--code",))


@pytest.fixture(scope="module")
def kept(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run with children and failures, and a hostile one."""
    folder = tmp_path_factory.mktemp("runs")
    stories.with_children(folder / "one")
    stories.hostile(folder / "two")
    return folder


class Show(Protocol):
    def __call__(self, folder: Path, *arguments: str) -> str: ...


@pytest.fixture
def show(capsys: pytest.CaptureFixture[str]) -> Show:
    """What the command prints into a pipe, without a process of its own."""

    def run(folder: Path, *arguments: str) -> str:
        app(["runs", "show", "last", "--runs", str(folder), *arguments], standalone_mode=False)
        return capsys.readouterr().out

    return run


def test_the_tree_has_every_node_with_what_it_took(show: Show, kept: Path) -> None:
    out = show(kept / "one")
    assert "\nquestion: How much spam is in these mails?\nanswered in " in out
    assert "3 turns, 4 sub-calls, 2 children, " in out
    assert "sub: scripted:sub, 3 calls, 12 tokens in, 15 out, $0.0003" in out
    shape = [re.sub(r"  .*", "", line) for line in out.splitlines() if re.match(r"[\s│]*[├└0]", line)]
    assert shape[:4] == ["0", "├─ turn 1", "├─ turn 2", "└─ turn 3"]
    assert [
        line for line in out.splitlines() if line.startswith(("   ├─ 0.1  answered", "   └─ 0.2  answered"))
    ]
    assert "4 sub-calls, 1 failed" in out
    assert "ValueError: no such column" in out
    assert re.search(
        r"0\.2  answered  [^ ]+ m?s  \$0\.0010  [\d.k]+ tokens  How often is spam there\? y", out
    )
    assert out.endswith('\n{"spam": 400}\n')
    assert "\x1b" not in out


def test_a_turn_has_words_code_output_and_sub_calls_apart(show: Show, kept: Path) -> None:
    out = show(kept / "one", "--turn", "1")
    words, rest = out.split("code of cell 1")
    code, rest = rest.split("output of cell 1")
    output, calls = rest.split("sub-calls of cell 1")
    assert "Let me look first." in words
    assert "print" not in words
    assert "items = llm_query_batched(" in code
    assert "FailedCall(bad_request" in output
    assert "failed: bad_request: the server said 400" in calls
    assert "→ is it spam? a\n   ← seen: is it spam? a" in calls
    assert "0.1  answered" in show(kept / "one", "--turn", "3")
    child = show(kept / "one", "--node", "0.1", "--turn", "1")
    assert "submit(context.count('spam'))" in child


def test_calls_and_code_can_be_had_alone(show: Show, kept: Path) -> None:
    calls = show(kept / "one", "--calls")
    assert len(re.findall(r"^\d+  node 0, turn 1, cell 1, item \d of batch 1", calls, re.MULTILINE)) == 4
    assert show(kept / "one", "--calls", "--turn", "2") == "no sub-calls\n"
    code = show(kept / "one", "--code")
    compile(code, "script", "exec")
    assert "# node 0, turn 2, cell 2: error\nraise ValueError('no such column')" in code
    assert "submit(context.count" not in code
    assert "submit(context.count" in show(kept / "one", "--code", "--node", "0.2")


def test_the_answer_stands_apart_and_can_be_had_alone(
    show: Show, kept: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    *_, blank, answer = show(kept / "one").splitlines()
    assert (blank, answer) == ("", '{"spam": 400}')
    code = app(["runs", "show", "last", "--runs", str(kept / "one"), "--answer"], standalone_mode=False)
    assert (code, *capsys.readouterr()) == (0, '{"spam": 400}\n', "")


@pytest.mark.parametrize(("code", "out"), [("print(1)", ""), ("result = 'so far'\nprint(1)", "so far\n")])
def test_the_answer_alone_of_a_run_that_stopped_early(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], code: str, out: str
) -> None:
    model = ScriptedModel([f"```python\n{code}\n```"])
    with RLM(model, max_turns=1, sandbox="none", runs=tmp_path) as rlm:
        assert rlm.run("?", "text").status == "budget"
    ended = app(["runs", "show", "last", "--runs", str(tmp_path), "--answer"], standalone_mode=False)
    said = capsys.readouterr()
    assert (ended, said.out) == (4, out)
    assert said.err.startswith("unspool: budget: ")
    assert ("the answer is a draft: " in said.err) == bool(out)


def test_a_run_that_could_not_begin_is_said_to_have_asked_nothing(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with RLM("command:cat", sandbox="command:false -", runs=tmp_path) as rlm:
        run = rlm.run("?", "text")
    assert (run.status, run.turns) == ("failed", 0)
    assert app(["runs", "show", "last", "--runs", str(tmp_path)], standalone_mode=False) in (0, None)
    told = " ".join(capsys.readouterr().out.split())
    assert f"nothing was asked yet. Once that is mended: unspool runs resume {run.id}" in told


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--answer", "--node", "0"), "--answer: is of the whole run"),
        (("--answer", "--code"), "give one of them"),
        (("--node", "7"), "there are: 0, 0.1, 0.2"),
        (("--turn", "9"), "there are: 1 to 3"),
        (("--calls", "--code"), "give one of them"),
    ],
)
def test_what_is_not_there_is_told(
    capsys: pytest.CaptureFixture[str], kept: Path, arguments: tuple[str, ...], message: str
) -> None:
    code = app(["runs", "show", "last", "--runs", str(kept / "one"), *arguments], standalone_mode=False)
    out, err = capsys.readouterr()
    assert (code, out) == (2, "")
    assert message in err


@pytest.mark.parametrize("part", PARTS, ids=" ".join)
def test_hostile_text_shows_as_text(show: Show, kept: Path, part: tuple[str, ...]) -> None:
    out = show(kept / "two", *part)
    assert not BAD.search(out)
    assert "<script>alert(1)</script>" in out
    assert "\\x1b[31mRED\\x1b[0m \\x1b]0;owned\\x07" in out


def test_hostile_text_shows_as_text_on_a_terminal(make_cli: MakeCli, kept: Path) -> None:
    cli = make_cli(["unused"])
    command = cli.command("runs", "show", "last", "--runs", str(kept / "two"), "--turn", "2")
    code, sent = on_terminal(cli, command, columns=80)
    assert code == 0
    assert "alert(1)" in sent
    assert not BAD.search(COLOUR.sub("", sent.replace("\r\n", "\n")))


@pytest.mark.parametrize("columns", [40, 80, 160])
def test_the_tree_fits_the_terminal(make_cli: MakeCli, kept: Path, columns: int) -> None:
    cli = make_cli(["unused"])
    command = cli.command("runs", "show", "last", "--runs", str(kept / "one"), "--node", "0")
    code, sent = on_terminal(cli, command, columns=columns)
    assert code == 0
    assert COLOUR.search(sent)
    rows = COLOUR.sub("", sent.replace("\r\n", "\n")).splitlines()
    assert len(rows) == 8
    assert max(len(row) for row in rows) <= columns
    assert any("0.1  answered" in row for row in rows)
    if columns == 40:
        assert "\x1b" not in on_terminal(cli, command, columns=columns, NO_COLOR="1")[1]


def test_a_stream_that_is_not_utf_8_gets_plain_characters(make_cli: MakeCli, kept: Path) -> None:
    cli = make_cli(["unused"])
    done = cli.run(
        cli.command("runs", "show", "last", "--runs", str(kept / "one")),
        environment={"LANG": "C", "LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"},
    )
    assert done.returncode == 0
    assert b"`- turn 3" in done.stdout
    assert done.stdout.isascii()


def test_a_run_that_was_killed_shows_what_is_known(show: Show, tmp_path: Path) -> None:
    run = stories.with_children(tmp_path)
    events = tmp_path / run.id / "events.jsonl"
    lines = events.read_bytes().splitlines(keepends=True)
    for kept in range(len(lines)):
        events.write_bytes(b"".join(lines[:kept]))
        out = show(tmp_path)
        assert (f"rlm.resume('{run.id}') in Python" if kept else f"unspool runs rm {run.id}") in out
        assert "interrupted" in out or kept == 0


def test_branches_stand_one_below_the_other(show: Show, tmp_path: Path) -> None:
    run = stories.with_branches(tmp_path)
    assert len(run.branches) == 3
    out = show(tmp_path)
    titles = re.findall(r"^branch (\d)  (agrees|does not agree)  (\d)$", out, re.MULTILINE)
    assert [number for number, _, _ in titles] == ["1", "2", "3"]
    assert sorted(answer for _, _, answer in titles) == ["3", "4", "5"]
    assert [answer for _, agrees, answer in titles if agrees == "agrees"] == [str(run.answer)]
    assert re.search(r"^0@2  answered", out, re.MULTILINE)
    assert "0@3.1  answered" in out
    assert ", 3 children, " in out
    assert show(tmp_path, "--node", "0@3", "--code").count("rlm_query") == 1
    assert out.endswith(f"\n{run.answer}\n")


def test_a_journal_with_a_line_missing_is_told(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    run = stories.with_children(tmp_path)
    events = tmp_path / run.id / "events.jsonl"
    lines = events.read_bytes().splitlines(keepends=True)
    for missing in range(len(lines)):
        events.write_bytes(b"".join(lines[:missing] + lines[missing + 1 :]))
        code = app(["runs", "show", "last", "--runs", str(tmp_path)], standalone_mode=False)
        err = capsys.readouterr().err
        assert (code or 0, bool(err)) in ((0, False), (1, True))
        assert not err or "do not fit together" in err


def test_5000_sub_calls_show_at_once(show: Show, tmp_path: Path) -> None:
    stories.long(tmp_path, 5000)
    before = time.process_time()
    out = show(tmp_path)
    assert time.process_time() - before < 3  # CPU; about 0.5 s on an idle machine
    assert "5,000 sub-calls" in out


def test_a_turn_is_bounded_on_a_terminal_and_whole_in_a_pipe(make_cli: MakeCli, tmp_path: Path) -> None:
    from unspool import RLM
    from unspool.journal import Journal
    from unspool.testing import ScriptedModel

    text = "".join(f"line {number:,} of all\n" for number in range(5_000)) + "x" * 30_000 + "\nthe end\n"
    engine = RLM(ScriptedModel(["7"], window=1_000_000), store=Journal(tmp_path / "runs"), strategy="direct")
    assert engine.run("How many?", text).answer == "7"
    cli = make_cli(["unused"])
    command = cli.command("runs", "show", "last", "--runs", str(tmp_path / "runs"), "--turn", "0")
    code, sent = on_terminal(cli, command, columns=80)
    assert code == 0
    assert len(sent) < 20_000
    assert "lines left out here" in sent
    assert "characters left out here" in sent
    assert "line 0 of all" in sent
    assert "the end" in sent
    piped = cli.run(command).stdout.decode()
    assert "left out here" not in piped
    assert "line 2,500 of all" in piped
