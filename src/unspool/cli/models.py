"""``unspool models``: the models that run on this machine."""

from __future__ import annotations

import sys
from typing import Annotated

import typer

from .commands import Commands, OneCommand
from .exits import errors_as_exits
from .terminal import Output

app = typer.Typer(no_args_is_help=True, cls=Commands)


@app.command("list", cls=OneCommand)
def list_() -> None:
    """List the local models that are known, and where they lie."""
    from ..errors import ConfigError
    from ..models.catalog import list_models, models_dir
    from ..models.local_process import require_llama_cpp
    from .paint import Paper, part

    paper = Paper.stdout()

    def line(text: str) -> None:
        paper.write([(part(text),)], hang=2)

    for state in list_models():
        file = state.file
        there = f"pulled: {state.path}" if state.path else f"not pulled yet: unspool models pull {file.name}"
        default = ", default" if state.default else ""
        line(f"local:{file.name}  ({file.size / 1e6:,.0f} MB, {file.license}{default})")
        line(f"  {there}")
    try:
        require_llama_cpp()
    except ConfigError as error:
        line(f"None of them can be used yet: {error}")
    line(f"Any other: local:/path/to/model.gguf. Models are kept in {models_dir()}.")


@app.command("pull", cls=OneCommand)
def pull_(
    name: Annotated[
        str, typer.Argument(metavar="NAME", help="As in the list; default: the first.", show_default=False)
    ] = "",
) -> None:
    """Pull a local model: resumable, checked by SHA-256."""
    with errors_as_exits():
        from ..models.catalog import known
        from ..models.pull import pull
        from .pulling import shown_progress

        with shown_progress() as progress:
            path = pull(name, progress=progress)
        Output(sys.stdout).line(f"local:{known(name).name} is ready: {path}")


@app.command("rm", cls=OneCommand)
def rm_(
    name: Annotated[str, typer.Argument(metavar="NAME", help="As in the list.", show_default=False)],
) -> None:
    """Remove a pulled model, and what a broken-off pull of it has left."""
    with errors_as_exits():
        from ..errors import ConfigError
        from ..models.catalog import known
        from ..models.pull import remove

        if name.endswith(".gguf"):
            raise ConfigError(f"{name} is a file of your own: only what was pulled is removed here")
        model = f"local:{known(name).name}"
        size = remove(name)
        told = f"{model} is removed: {size / 1e6:,.0f} MB are free" if size else f"{model} is not here"
        Output(sys.stdout).line(told)
