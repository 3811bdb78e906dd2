"""``unspool view``: the runs that are kept, in a browser.

Contract: serves this machine alone, on a port that is free, until it is stopped. The address on stdout has
a token that is made anew each time; a browser is opened by a file of the user's own, so that the token stands
in no list of processes.
"""

from __future__ import annotations

import contextlib
import os
import sys
from pathlib import Path
from typing import Annotated

import typer

from .exits import errors_as_exits
from .options import RunsFolder
from .runs import find_run, journal_in
from .terminal import Output, complain, is_terminal

RunOrNone = Annotated[
    str | None,
    typer.Argument(metavar="ID", help='A run to begin with; its start, or "last".', show_default=False),
]


def view(
    run: RunOrNone = None,
    runs: RunsFolder = None,
    port: Annotated[
        int,
        typer.Option(
            min=0, max=65_535, metavar="N", help="The port; default: one that is free.", show_default=False
        ),
    ] = 0,
    no_browser: Annotated[
        bool, typer.Option("--no-browser", help="Open no browser; print the address.")
    ] = False,
) -> None:
    """Look at the runs in a browser: what was done, what was read, what it cost. Live ones move.

    Stops with Ctrl-C or TERM.
    """
    with errors_as_exits():
        import asyncio
        import secrets
        import tempfile
        from urllib.parse import quote

        from ..server.process import listen, serve
        from ..server.settings import ServerSettings
        from ..viewer.app import Viewer

        journal = journal_in(runs)
        name = find_run(journal, run) if run is not None else None
        if name is not None:
            journal.path(name)  # what is not there is told before anything is served
        bound = listen(ServerSettings(port=port))
        port = bound.getsockname()[1]
        token = secrets.token_urlsafe(24)
        address = f"http://127.0.0.1:{port}/#token={token}" + (f"&/run/{quote(name)}" if name else "")

        def ready() -> None:
            Output(sys.stdout).line(address)
            Output(sys.stderr).line(f"unspool shows the runs of {journal.folder}; Ctrl-C stops it")

        async def until_stopped(folder: Path) -> None:
            viewer = Viewer(journal, token, port, complain)
            async with asyncio.TaskGroup() as tasks:
                if not no_browser and is_terminal(sys.stdout) and _has_browser():
                    tasks.create_task(asyncio.to_thread(_open, address, folder / "open.html"))
                if name is not None:  # while the browser starts
                    tasks.create_task(viewer.warm(name))
                await serve(viewer, bound, ready)

        with tempfile.TemporaryDirectory(prefix="unspool-view-") as folder:
            asyncio.run(until_stopped(Path(folder)))


def _has_browser() -> bool:
    """Whether one would open in a window of its own, and not in this terminal."""
    screens = ("DISPLAY", "WAYLAND_DISPLAY", "BROWSER")
    return sys.platform == "darwin" or any(os.environ.get(name) for name in screens)


def _open(address: str, file: Path) -> None:
    """Opens a browser by a file that leads to the address, whose token then is in no list of processes."""
    import html
    import webbrowser

    told = html.escape(address)
    file.write_text(
        f'<!DOCTYPE html><meta charset="utf-8"><title>unspool</title>'
        f'<meta http-equiv="refresh" content="0; url={told}"><a href="{told}">unspool</a>',
        "utf-8",
    )
    with contextlib.suppress(webbrowser.Error):  # there is none: the address is printed
        webbrowser.open(file.as_uri())
