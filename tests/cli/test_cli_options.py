"""What all options have in common, read from the commands themselves."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest
import typer.main

from unspool.cli.app import app

from .conftest import MakeCli

if TYPE_CHECKING:
    from typer._click.core import Command


def commands(command: Command, name: str = "unspool") -> Iterator[tuple[str, Command]]:
    """This command and all below it."""
    yield name, command
    for below, each in getattr(command, "commands", {}).items():
        yield from commands(each, f"{name} {below}")


def test_no_option_has_its_own_name_as_its_metavar() -> None:
    """Some releases of typer that pyproject allows take such an option's name for another: it is gone."""
    options = [
        (f"{name} {spelled}", parameter.metavar)
        for name, command in commands(typer.main.get_command(app))
        for parameter in command.params
        if parameter.param_type_name == "option"
        for spelled in parameter.opts
    ]
    assert len(options) > 50
    same = [
        told
        for told, metavar in options
        if metavar and metavar.lower() == told.split()[-1].lstrip("-").lower()
    ]
    assert same == []


@pytest.mark.parametrize(
    ("given", "told"),
    [
        (["--seconds", "0"], "--seconds 0.0: give a time above zero"),
        (["--calls", "-1"], "--calls -1: give a whole number, at least 0"),
        (["--tokens", "0"], "--tokens 0: give a whole number, at least 1"),
        (["--strategy", "rml"], "--strategy rml: there are rlm, no_subcalls"),
        (["--sandbox", "proces"], "--sandbox proces: use auto, process"),
        (["--profile", "smal"], "--profile smal: there are frontier, small, paper. Did you mean 'small'?"),
        (["--set", "temprature=1"], "--set temprature=1: give NAME=VALUE, where NAME is one of temperature"),
        (["--set", "seed=1.5"], "--set seed=1.5: '1.5' is no value of seed"),
    ],
)
def test_what_is_wrong_is_named_as_it_was_typed(make_cli: MakeCli, given: list[str], told: str) -> None:
    cli = make_cli(["unused"])
    done = cli.run(cli.ask("?", cli.file("a.txt", "hello"), *given))
    assert (done.returncode, done.stdout) == (2, b"")
    assert done.stderr.decode().startswith(f"unspool: {told}")
    assert done.stderr.count(b"\n") == 1


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ("aks", "no such command 'aks'. Did you mean 'ask'? See {} -h"),
        ("ask", "missing argument 'QUESTION'. See {} ask -h"),
        ("ask q a.txt --modle x", "there is no option --modle. Did you mean --model? See {} ask -h"),
        ("ask q a.txt --out x", "there is no option --out. See {} ask -h"),
        ("runs list --jsn", "there is no option --jsn. Did you mean --json? See {} runs list -h"),
        (
            "ask q a.txt --model command:cat --sandbox proces",
            "--sandbox proces: use auto, process, seatbelt, none, jupyter, command:… or a Sandbox. Did you mean "
            "'process'?",
        ),
        (
            "ask q a.txt --model command:cat --sandbox command:no-such-program",
            "sandbox 'command:no-such-program': there is no program 'no-such-program' here",
        ),
        (
            "ask q a.txt --max-turns many",
            "invalid value for '--max-turns': expected a whole number. See {} ask",
        ),
        (
            "ask q a.txt --max-turns 0",
            "invalid value for '--max-turns': expected a value of at least 1. See {}",
        ),
        ("runs shw", "no such command 'shw'. Did you mean 'show'? See {} runs -h"),
        ("models rm", "missing argument 'NAME'. See {} models rm -h"),
        ("ask q a.txt --model gpt-5", "there is no model 'gpt-5'. Did you mean 'openai:gpt-5'? A name is"),
        (
            "ask q a.txt --model foo",
            "there is no model 'foo'. A name is provider:model, and the providers are",
        ),
    ],
)
def test_every_error_is_one_line_of_one_form(make_cli: MakeCli, given: str, told: str) -> None:
    cli = make_cli(["unused"])
    cli.file("a.txt", "hello")
    done = cli.run(cli.command(*given.split()))
    assert (done.returncode, done.stdout) == (2, b"")
    said = done.stderr.decode()
    assert said.startswith(f"unspool: {told.format('python -m unspool')}")
    assert said.count("\n") == 1


@pytest.mark.parametrize("group", [[], ["runs"], ["models"]])
def test_a_group_without_a_command_shows_its_help(make_cli: MakeCli, group: list[str]) -> None:
    cli = make_cli(["unused"])
    done = cli.run(cli.command(*group))
    assert done.returncode == 2
    assert (done.stdout + done.stderr).startswith(b"Usage: ")
