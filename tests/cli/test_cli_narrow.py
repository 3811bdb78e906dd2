"""Lists and help on terminals of 40 and 80 columns: no line is longer, and no word is cut in two."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from rich.cells import cell_len
from typer.core import TyperGroup
from typer.main import get_command

from unspool import RLM
from unspool.cli.app import app
from unspool.testing import ScriptedModel

from .. import stories
from .conftest import MakeCli
from .test_cli_live import on_terminal

ESCAPES = re.compile(r"\x1b\[[0-9;?]*[a-zA-Z]")


def lines_of(sent: str) -> list[str]:
    return ESCAPES.sub("", sent).replace("\r\n", "\n").split("\n")


@pytest.mark.parametrize("columns", [40, 80])
@pytest.mark.parametrize(
    "command", ["--help", "runs --help", "eval --help", "ask --help", "eval list", "models list"]
)
def test_help_and_lists_fit_and_are_whole(make_cli: MakeCli, command: str, columns: int) -> None:
    cli = make_cli(["unused"])
    code, sent = on_terminal(cli, cli.command(*command.split()), columns=columns)
    assert code == 0
    lines = lines_of(sent)
    paths = [
        line for line in lines if cell_len(line) > columns and len(line.split()) > 1
    ]  # a path is one word
    assert paths == []
    words = " ".join(sent.split())
    assert "..." not in words.replace("[ARGS]...", "").replace("[FILE]...", "")
    whole = " ".join(cli.run(cli.command(*command.split())).stdout.decode().split())
    if command.endswith("list"):
        assert words == whole  # as in a pipe, but for where lines end


def commands(group: TyperGroup, *path: str) -> Iterator[list[str]]:
    """The group and all below it, as they are typed."""
    yield [*path]
    for name, command in group.commands.items():
        if isinstance(command, TyperGroup):
            yield from commands(command, *path, name)
        else:
            yield [*path, name]


def every_help(capsys: pytest.CaptureFixture[str]) -> dict[str, str]:
    main = get_command(app)
    assert isinstance(main, TyperGroup)
    helps: dict[str, str] = {}
    for command in commands(main):
        app([*command, "--help"], standalone_mode=False)
        helps[" ".join(command)] = capsys.readouterr().out
    return helps


@pytest.mark.parametrize("columns", [40, 47, 60])
def test_no_help_cuts_a_word_in_two(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, columns: int
) -> None:
    monkeypatch.setenv("COLUMNS", "200")
    wide = every_help(capsys)
    monkeypatch.setenv("COLUMNS", str(columns))
    narrow = every_help(capsys)
    assert len(narrow) > 20
    for command, told in narrow.items():
        assert max(map(cell_len, told.split("\n"))) <= columns, command
        whole = re.split(r"[\s-]+", wide[command])  # a line may end at a hyphen
        assert [word for word in re.split(r"[\s-]+", told) if word not in whole] == [], command
    assert "PROVIDER:MODEL," in narrow["llm"]


def test_no_help_names_a_type_of_python(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "200")
    for command, told in every_help(capsys).items():
        assert re.findall(r"<\w+[^<>]*>", told) == [], command


@pytest.mark.parametrize("columns", [40, 80])
@pytest.mark.parametrize(
    "command", ["--help", "runs --help", "ask --help", "eval list", "models list", "doctor", "runs show"]
)
def test_behind_a_pipe_text_is_as_wide_as_columns_says_and_the_same(
    make_cli: MakeCli, tmp_path: Path, command: str, columns: int
) -> None:
    cli = make_cli(["unused"])
    if command == "runs show":
        run = stories.with_children(tmp_path / "kept")
        command += f" {run.id} --runs {tmp_path / 'kept'}"
    whole = cli.run(cli.command(*command.split())).stdout.decode()
    sent = cli.run(cli.command(*command.split()), environment={"COLUMNS": str(columns)}).stdout.decode()
    if command.startswith("runs show"):  # its tree has one line for a step, for whoever looks for one
        (whole, rest), (sent, tree) = whole.split("\n\n", 1), sent.split("\n\n", 1)
        assert tree == rest
    assert [line for line in sent.split("\n") if cell_len(line) > columns and not one_word(line)] == []
    if not command.endswith("help"):
        assert "".join(sent.split()) == "".join(whole.split())


def one_word(line: str) -> bool:
    """A path, or the version of Python with one."""
    return len(line.split()) == 1 or re.match(r"(python|platform|unspool): ", line) is not None


@pytest.mark.parametrize("columns", [40, 80])
def test_the_head_of_a_run_is_broken_between_words(make_cli: MakeCli, tmp_path: Path, columns: int) -> None:
    run = stories.with_children(tmp_path / "kept")
    cli = make_cli(["unused"])
    show = cli.command("runs", "show", run.id, "--runs", str(tmp_path / "kept"))
    code, sent = on_terminal(cli, show, columns=columns)
    assert code == 0
    head = lines_of(sent)[: lines_of(sent).index("")]
    assert max(map(cell_len, head)) <= columns
    piped = cli.run(show).stdout.decode()
    assert " ".join(" ".join(head).split()) == " ".join(piped.partition("\n\n")[0].split())


def test_why_a_node_failed_fits_behind_a_pipe_too(make_cli: MakeCli, tmp_path: Path) -> None:
    model = ScriptedModel(["Words."] * 3)
    run = RLM(model, runs=tmp_path / "kept").run("How many?", "a text")
    cli = make_cli(["unused"])
    show = cli.command("runs", "show", run.id, "--runs", str(tmp_path / "kept"))
    whole = cli.run(show).stdout.decode()
    narrow = cli.run(show, environment={"COLUMNS": "40"}).stdout.decode()
    assert max(map(cell_len, narrow.split("\n"))) <= 40
    assert f"({run.reason})\n├─ turn 1" in whole  # in the node's row
    assert f"({run.reason}) ├─ turn 1" in " ".join(narrow.replace("│", "").split())


def test_a_narrow_tree_shows_what_failed(make_cli: MakeCli, tmp_path: Path) -> None:
    run = stories.with_children(tmp_path / "kept")
    cli = make_cli(["unused"])
    show = cli.command("runs", "show", run.id, "--runs", str(tmp_path / "kept"))
    code, sent = on_terminal(cli, show, columns=40)
    assert code == 0
    rows = [line for line in lines_of(sent) if "turn " in line]
    assert max(map(cell_len, rows)) <= 40
    assert ", 1 failed" in rows[0]
    assert "ValueError: no s" in rows[1]
