"""``unspool runs``: list, show, remove, collect."""

from __future__ import annotations

import json
import re
import time

import pytest
from rich.cells import cell_len

from unspool.cli.runs import _told
from unspool.run_index import RunRow
from unspool.testing import Ask, Behaviour

from .conftest import LOOK, Cli, MakeCli, submits


def made(make_cli: MakeCli, number: int = 1) -> Cli:
    """So many finished runs in a folder of their own, ``kept``."""
    cli = make_cli([submits("'forty-two'")])
    for n in range(number):
        done = cli.run(cli.ask(f"Question {n}?", cli.file("a.txt", "hello"), "--runs", "kept"))
        assert done.returncode == 0, done.stderr
    return cli


def runs(cli: Cli, *arguments: str) -> tuple[int, str, str]:
    done = cli.run(cli.command("runs", *arguments, "--runs", "kept"))
    return done.returncode, done.stdout.decode(), done.stderr.decode()


def ids(cli: Cli) -> list[str]:
    return sorted(p.name for p in (cli.folder / "kept").iterdir() if p.is_dir())


def test_list_and_show(make_cli: MakeCli) -> None:
    cli = made(make_cli, 2)
    first, second = ids(cli)
    code, out, err = runs(cli, "list")
    assert (code, err) == (0, "")
    assert first in out
    assert "Question 1?" in out
    assert "answered" in out
    code, out, _ = runs(cli, "list", "--json", "-n", "1")
    row = json.loads(out)
    assert (row["id"], row["state"], row["turns"], "stamp" in row) == (second, "answered", 1, False)
    for name in (second, "last"):
        code, out, err = runs(cli, "show", name)
        assert (code, err) == (0, "")
        assert "Question 1?" in out
        assert out.endswith("\nforty-two\n")
        assert "submit('forty-two')" in runs(cli, "show", name, "--code")[1]
    code, out, _ = runs(cli, "show", first, "--json")
    events = [json.loads(line) for line in out.splitlines()]
    assert events[0]["kind"] == "run.started"
    assert events[0]["sources"] == ["a.txt"]
    assert events[-1]["answer"] == "forty-two"


@pytest.mark.parametrize("command", [["show"], ["resume"], ["rm"], ["export", "--md", "-"], ["diff", "last"]])
def test_there_is_no_last_run_where_there_are_none(make_cli: MakeCli, command: list[str]) -> None:
    cli = make_cli(["unused"])
    (cli.folder / "kept").mkdir()
    code, out, err = runs(cli, *command, "last")
    assert (code, out) == (2, "")
    assert err == "unspool: there are no runs in kept, so no last one; --runs DIR names a folder\n"


def test_a_run_that_was_answered_needs_no_input_to_tell_its_answer_again(make_cli: MakeCli) -> None:
    """What was piped in is gone; a script has nothing to pipe, and nothing is asked."""
    cli = make_cli([submits("len(context)")])
    done = cli.run(cli.ask("How long?", "--runs", "kept"), stdin=b"piped in")
    assert (done.returncode, done.stdout) == (0, b"8\n"), done.stderr
    for piped in (b"", b"another input"):
        done = cli.run(cli.command("runs", "resume", "last", "--runs", "kept"), stdin=piped)
        assert (done.returncode, done.stdout) == (0, b"8\n"), done.stderr
        assert b"This run was answered already: nothing is asked again." in done.stderr


def test_show_says_what_was_asked_and_of_what(make_cli: MakeCli) -> None:
    cli = made(make_cli)
    _, out, _ = runs(cli, "show", "last")
    assert out.startswith(f"run: {ids(cli)[0]}, ")
    assert "question: Question 0?\ninput: a.txt\n" in out


@pytest.mark.parametrize("width", [24, 40, 80])
def test_a_row_of_the_list_is_never_wider_than_the_terminal(width: int) -> None:
    row = RunRow(
        "20261130-013001-a03e69bd",
        "",
        "Wie viele 漢字 sind da, und wo? " * 9,
        state="interrupted",
        turns=20,
        sub_calls=10_000,
    )
    rows = _told(row, width).split("\n")
    assert len(rows) == 3
    assert all(cell_len(each) <= width for each in rows)
    assert row.query in _told(row, None)


@pytest.mark.parametrize(
    ("limit", "more", "option"),
    [
        (("--tokens", "100"), "100000", "--tokens"),
        (("--calls", "1", "--max-turns", "1"), "3", "--max-turns"),
        (("--seconds", "0.2"), "60", "--seconds"),
    ],
)
def test_a_run_at_its_limit_says_which_to_raise_and_goes_on_with_it(
    make_cli: MakeCli, limit: tuple[str, ...], more: str, option: str
) -> None:
    def script(ask: Ask) -> Behaviour:
        turns = sum(1 for m in ask.body["messages"] if m["role"] == "assistant")  # type: ignore[attr-defined, index, union-attr]
        return Behaviour(submits("7") if turns or "--max-turns" not in limit else LOOK, delay=0.4)

    cli = make_cli(script)
    done = cli.run(cli.ask("How many?", cli.file("a.txt", "hello"), "--runs", "kept", *limit))
    assert done.returncode == 4, done.stderr
    told = done.stderr.decode().splitlines()[-1]
    assert told == f"to go on with a higher limit: unspool runs resume {ids(cli)[0]} --runs kept {option} N"
    done = cli.run(cli.command("runs", "resume", "last", "--runs", "kept", option, more))
    assert (done.returncode, done.stdout) == (0, b"7\n"), done.stderr


def test_names_of_runs(make_cli: MakeCli) -> None:
    cli = made(make_cli, 2)
    first, _ = ids(cli)
    assert runs(cli, "show", first[:-2])[0] == 0
    code, out, err = runs(cli, "show", first[:4])
    assert (code, out) == (2, "")
    assert "the start of 2 runs" in err
    code, out, err = runs(cli, "show", "nothing")
    assert (code, out) == (2, "")
    assert "no run 'nothing'" in err
    assert "Traceback" not in err


@pytest.mark.parametrize("command", [["show"], ["rm"], ["resume"], ["export", "--md", "-"], ["diff", "last"]])
def test_nothing_is_the_name_of_no_run(make_cli: MakeCli, command: list[str]) -> None:
    """An unset variable of a shell must not be the one run that is there."""
    cli = made(make_cli)
    before = ids(cli)
    code, out, err = runs(cli, *command, "")
    assert (code, out) == (2, "")
    assert "there is no run ''" in err
    assert ids(cli) == before


def test_rm_and_gc(make_cli: MakeCli) -> None:
    cli = made(make_cli, 4)
    first, second, third, fourth = ids(cli)
    assert runs(cli, "rm", first)[0] == 0
    assert ids(cli) == [second, third, fourth]
    code, _, err = runs(cli, "gc")
    assert code == 2
    assert "--days" in err
    assert runs(cli, "gc", "--keep", "1", "--dry-run")[0] == 0
    assert len(ids(cli)) == 3
    code, _, err = runs(cli, "gc", "--days", "1")
    assert (code, len(ids(cli))) == (0, 3)
    old = time.time() - 3 * 86_400
    events = cli.folder / "kept" / second / "events.jsonl"
    lines = events.read_text().splitlines()
    events.write_text("".join(json.dumps({**json.loads(line), "time": old}) + "\n" for line in lines))
    assert runs(cli, "gc", "--days", "1")[0] == 0
    assert ids(cli) == [third, fourth]
    assert runs(cli, "gc", "--keep", "1")[0] == 0
    assert ids(cli) == [fourth]
    assert runs(cli, "gc", "--size", "0")[0] == 0
    assert ids(cli) == []
    code, out, err = runs(cli, "list")
    assert (code, out) == (0, "")
    assert "no runs" in err


def test_no_journal_keeps_nothing(make_cli: MakeCli) -> None:
    cli = made(make_cli, 0)
    home = {"UNSPOOL_RUNS": str(cli.folder / "kept")}
    done = cli.run(cli.ask("?", cli.file("a.txt", "x"), "--no-journal"), environment=home)
    assert done.returncode == 0, done.stderr
    assert not (cli.folder / "kept").exists()
    assert cli.run(cli.ask("?", "a.txt"), environment=home).returncode == 0
    assert len(ids(cli)) == 1


def test_a_folder_that_cannot_be_made_is_told_before_money_is_spent(make_cli: MakeCli) -> None:
    cli = made(make_cli, 0)
    cli.file("kept", "a file")
    done = cli.run(cli.ask("?", cli.file("a.txt", "x"), "--runs", "kept"))
    assert (done.returncode, done.stdout) == (2, b"")
    assert b"--runs kept: it is a file: name a folder" in done.stderr
    done = cli.run(cli.ask("?", "a.txt", "--runs", "kept/runs"))
    assert (done.returncode, done.stdout) == (1, b"")
    assert b"--no-journal" in done.stderr
    assert b"Traceback" not in done.stderr
    assert cli.server.asks == []


def test_text_of_a_run_cannot_command_the_terminal(make_cli: MakeCli) -> None:
    cli = make_cli([submits("'\\x1b]0;owned\\x07'")])
    cli.run(cli.ask("\x1b[2J?", cli.file("a.txt", "x"), "--runs", "kept"))
    for arguments in (
        ("list",),
        ("show", "last"),
        ("show", "last", "--turn", "1"),
        ("show", "last", "--json"),
    ):
        assert "\x1b" not in runs(cli, *arguments)[1]


@pytest.mark.parametrize("garbage", [bytes(range(11, 256)) * 9, b"\xff\xfe\n" * 50, b"{}\n", b""])
def test_what_is_no_journal_is_listed_as_unreadable(make_cli: MakeCli, garbage: bytes) -> None:
    cli = make_cli(["unused"])
    (cli.folder / "kept" / "20260101-000000-aaaaaaaa").mkdir(parents=True)
    (cli.folder / "kept" / "20260101-000000-aaaaaaaa" / "events.jsonl").write_bytes(garbage)
    code, out, err = runs(cli, "list")
    assert (code, err) == (0, "")
    assert "unreadable" in out
    assert "to remove it: unspool runs rm 20260101-000000-aaaaaaaa" in out
    assert "resume" not in out + "".join(runs(cli, "show", "last")[1:])
    assert runs(cli, "rm", "last")[0] == 0
    assert ids(cli) == []


@pytest.mark.parametrize("more", [(), ("--max-turns", "2")], ids=["default", "2"])
def test_no_limit_is_named_that_raises_nothing(make_cli: MakeCli, more: tuple[str, ...]) -> None:
    """The strategy takes two turns, whatever ``--max-turns`` says."""
    cli = make_cli(["Answer: many"])
    file = cli.file("a.txt", "hello")
    command = cli.ask("q", file, "--strategy", "direct", "--answer", "int", "--runs", "kept", *more)
    done = cli.run(command)
    assert done.returncode == 4
    assert b"all 2 turns are used" in done.stderr
    assert b"to go on" not in done.stderr
    told = runs(cli, "show", "last")[1]
    assert "turns of the strategy 2" in told
    assert "to go on" not in told


def test_what_was_piped_in_is_to_be_piped_in_again(make_cli: MakeCli) -> None:
    cli = make_cli(lambda ask: Behaviour(LOOK))
    command = [*cli.ask("q", "--runs", "kept", "--max-turns", "1")]
    assert cli.run(command, stdin=b"some text\n").returncode == 4
    code, _, err = runs(cli, "resume", "last", "--max-turns", "2")
    assert code == 2
    assert "standard input is empty" in err
    assert "pipe it in again" in err


@pytest.mark.parametrize("size", [2_000, 4 << 20])
def test_a_run_over_a_log_that_has_grown_goes_on_with_what_it_was(make_cli: MakeCli, size: int) -> None:
    cli = make_cli([LOOK, submits("[len(context), context[-3:]]")])
    path = cli.folder / "a.log"
    path.write_text(("é" + "x" * (size - 4) + "\n")[: size - 1])
    first = cli.run(cli.ask("?", "a.log", "--runs", "kept", "--max-turns", "1"))
    assert first.returncode == 4, first.stderr
    with path.open("a") as log:
        log.write("é" * 2_000)
    done = cli.run(cli.command("runs", "resume", "last", "--runs", "kept", "--max-turns", "3"))
    assert done.returncode == 0, done.stderr
    assert done.stdout.decode().startswith(f"[{size - 2}, ")
    assert re.search(
        r"note: a\.log has [\d,]+ (characters|bytes) by now: the run goes on", done.stderr.decode()
    )
