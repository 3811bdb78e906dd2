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
from .commands import Commands
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
app.command("ask")(ask.ask)
app.command("watch")(watch.watch)
app.command("view")(viewer.view)
app.command("serve")(serve.serve)
app.command("mcp")(mcp.mcp)
app.command("llm")(llm.llm)
app.command("map")(mapping.map_)
app.command("doctor")(doctor.doctor)
runs.app.command("show")(show.show)
runs.app.command("diff")(diff.diff)
runs.app.command("export")(export.export)
runs.app.command("resume")(resume.resume)
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
