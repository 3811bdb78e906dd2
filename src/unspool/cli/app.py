"""The table of commands. Each command is a file; this one only lists them."""

from __future__ import annotations

from typing import Annotated

import typer

from . import (
    ask,
    diff,
    doctor,
    evals,
    export,
    llm,
    mapping,
    mcp,
    models,
    resume,
    runs,
    serve,
    show,
    viewer,
    watch,
)
from .commands import Commands, OneCommand
from .terminal import Output

app = typer.Typer(
    cls=Commands,
    name="unspool",
    help="Ask a question of an input that no context window holds.",
    no_args_is_help=True,
    add_completion=False,
    # Plain help and plain tracebacks: rich ones cost start-up time, and show the values of variables.
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
app.command("ask", cls=OneCommand)(ask.ask)
app.command("watch", cls=OneCommand)(watch.watch)
app.command("view", cls=OneCommand)(viewer.view)
app.command("serve", cls=OneCommand)(serve.serve)
app.command("mcp", cls=OneCommand)(mcp.mcp)
app.command("llm", cls=OneCommand)(llm.llm)
app.command("map", cls=OneCommand)(mapping.map_)
app.command("doctor", cls=OneCommand)(doctor.doctor)
runs.app.command("show", cls=OneCommand)(show.show)
runs.app.command("diff", cls=OneCommand)(diff.diff)
runs.app.command("export", cls=OneCommand)(export.export)
runs.app.command("resume", cls=OneCommand)(resume.resume)
app.add_typer(
    runs.app, name="runs", help="List, show, compare, export, resume, remove the runs that are kept."
)
app.add_typer(
    evals.app, name="eval", help="Ask suites of questions with computed answers, and report the scores."
)
app.add_typer(models.app, name="models", help="List, pull and remove the models that run on this machine.")


def _version(wanted: bool) -> None:
    if wanted:
        import sys

        from .. import __version__

        Output(sys.stdout).line(f"unspool {__version__}")
        raise typer.Exit


@app.callback()
def root(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    """Ask a question of an input that no context window holds."""
