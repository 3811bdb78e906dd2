"""What all options have in common, read from the commands themselves."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import typer.main

from unspool.cli.app import app

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
