"""How a group of commands shows its help, and what is wrong with a command line.

Contract: help fits a narrow terminal, and what a command does is broken between words, never cut. What is
wrong with a command line is one line on stderr, and exit code 2.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

from typer import BadParameter
from typer.core import TyperGroup

from .exits import usage
from .terminal import complain, page_width

if TYPE_CHECKING:
    from typer._click.core import Context
    from typer._click.exceptions import UsageError
    from typer._click.formatting import HelpFormatter

_Wrong: type[UsageError] = BadParameter.__bases__[0]  # wherever this release of typer has it
_NARROW = 53  # columns; in fewer, click writes lines of 50
_WHOLE = 1_000  # characters of what a command does


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

    def format_commands(self, ctx: Context, formatter: HelpFormatter) -> None:
        found = ((name, self.get_command(ctx, name)) for name in self.list_commands(ctx))
        rows = [(name, each.get_short_help_str(limit=_WHOLE)) for name, each in found if each is not None]
        with formatter.section("Commands"):
            formatter.write_dl(rows)
