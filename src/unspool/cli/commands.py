"""How commands and groups of them show their help, and what is wrong with a command line.

Contract: help fits a narrow terminal; what a command or an option does is broken between words, never cut,
and no type of Python is in it. What is wrong with a command line is one line on stderr, and exit code 2.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from typer import BadParameter
from typer.core import TyperCommand, TyperGroup

from .exits import usage
from .terminal import complain, page_width

if TYPE_CHECKING:
    from typer._click.core import Command as AnyCommand
    from typer._click.core import Context
    from typer._click.exceptions import UsageError
    from typer._click.formatting import HelpFormatter

_Wrong: type[UsageError] = BadParameter.__bases__[0]  # wherever this release of typer has it
_NARROW = 53  # columns; in fewer, click writes lines of 50
_WHOLE = 1_000  # characters of what a command does
_TYPE = re.compile(r" <[^<>]+>$")  # of an argument, as Python calls it


class OneCommand(TyperCommand):
    """See the module docstring."""

    def format_options(self, ctx: Context, formatter: HelpFormatter) -> None:
        _write_options(self, ctx, formatter)


class Commands(TyperGroup):
    """See the module docstring."""

    def make_context(self, *given: Any, **settings: Any) -> Context:
        width = page_width(sys.stdout)
        if width is not None and width < _NARROW:
            settings.setdefault("terminal_width", max(20, width - 1))
        return super().make_context(*given, **settings)

    def main(self, *given: Any, **settings: Any) -> Any:
        """A command line that is wrong is told as every other error is: a line, and no block of usage."""
        ends = settings.get("standalone_mode", True)
        settings["standalone_mode"] = False  # what is wrong is raised, and told here
        if not ends:
            return super().main(*given, **settings)
        try:
            code = super().main(*given, **settings)
        except _Wrong as error:
            code = error.exit_code
            if type(error).__name__ == "NoArgsIsHelpError":  # what it says is the help itself
                error.show()
            else:
                complain(usage(error))
        sys.exit(code)

    def format_options(self, ctx: Context, formatter: HelpFormatter) -> None:
        _write_options(self, ctx, formatter)
        self.format_commands(ctx, formatter)

    def format_commands(self, ctx: Context, formatter: HelpFormatter) -> None:
        found = ((name, self.get_command(ctx, name)) for name in self.list_commands(ctx))
        rows = [(name, each.get_short_help_str(limit=_WHOLE)) for name, each in found if each is not None]
        with formatter.section("Commands"):
            _write_table(formatter, rows)


def _write_options(command: AnyCommand, ctx: Context, formatter: HelpFormatter) -> None:
    params = [(each.param_type_name, each.get_help_record(ctx)) for each in command.get_params(ctx)]
    for kind, title in (("argument", "Arguments"), ("option", "Options")):
        rows = [(_TYPE.sub("", row[0]), row[1]) for of, row in params if of == kind and row is not None]
        if rows:
            with formatter.section(title):
                _write_table(formatter, rows)


def _write_table(formatter: HelpFormatter, rows: Sequence[tuple[str, str]]) -> None:
    """Names, and what they are for; a narrow terminal gives the names less, as far as no word is cut."""
    if formatter.width >= _NARROW:
        formatter.write_dl(rows)
        return
    longest = max((len(word) for _, told in rows for word in told.split()), default=0)
    beside = formatter.width - longest - 2 * formatter.current_indent - 2
    formatter.write_dl(rows, col_max=max(1, min(formatter.width // 3, beside)))
