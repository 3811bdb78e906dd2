"""Shows a run while it goes on: plain lines into a pipe, a live region on a terminal, or nothing.

Contract: a display is given every event in order and shows a pure function of them (:mod:`.view`,
:mod:`.report`, :mod:`.screen`); the clock is all it adds. It writes to stderr alone.
"""

from __future__ import annotations

import os
import sys
import time
from typing import TYPE_CHECKING, Protocol

from ..events import Event
from .report import Line, lines
from .terminal import Output, is_terminal, safe
from .view import View, fold

if TYPE_CHECKING:
    from rich.console import RenderableType

_INDENT = "    "


class Display(Protocol):
    def add(self, event: Event) -> None: ...

    def close(self) -> None: ...


def make_display(*, quiet: bool, show_code: bool) -> Display:
    """The display that suits stderr."""
    if quiet:
        return QuietDisplay()
    if is_terminal(sys.stderr) and os.environ.get("TERM", "dumb") not in ("dumb", "unknown"):
        return LiveDisplay(show_code=show_code)
    return PlainDisplay(Output(sys.stderr), show_code=show_code)


class QuietDisplay:
    """Says only why there is no proper answer."""

    def __init__(self) -> None:
        self._out = Output(sys.stderr)

    def add(self, event: Event) -> None:
        for line in lines(View(), event, show_code=False):
            if line.kind == "error" and event.kind == "run.ended":
                self._out.line(safe(line.text))

    def close(self) -> None:
        return None


class PlainDisplay:
    """One line for each thing that happened."""

    def __init__(self, out: Output, *, show_code: bool) -> None:
        self._out = out
        self._show_code = show_code
        self._view = View()

    def add(self, event: Event) -> None:
        self._view = fold(self._view, event)
        for line in lines(self._view, event, show_code=self._show_code):
            indent = _INDENT if line.kind in ("code", "output") else ""
            for row in safe(line.text).split("\n"):
                self._out.line((indent + row).rstrip())

    def close(self) -> None:
        return None


class LiveDisplay:
    """The same lines with colours, and below them a region that tells how things stand."""

    def __init__(self, *, show_code: bool) -> None:
        from rich.console import Console
        from rich.live import Live

        self._show_code = show_code
        self._view = View()
        self._console = Console(stderr=True, highlight=False, markup=False, emoji=False)
        self._live = Live(
            console=self._console,
            get_renderable=self._screen,
            transient=True,
            refresh_per_second=8,
            redirect_stdout=False,
            redirect_stderr=False,
        )
        self._live.start()

    def add(self, event: Event) -> None:
        self._view = fold(self._view, event)
        for line in lines(self._view, event, show_code=self._show_code):
            self._console.print(_styled(line), soft_wrap=False)

    def close(self) -> None:
        self._live.stop()

    def _screen(self) -> RenderableType:
        from .screen import screen

        size = self._console.size
        unicode = self._console.encoding.lower().startswith("utf")
        return screen(
            self._view,
            now=time.time(),
            width=size.width,
            height=size.height,
            unicode=unicode,
            with_code=not self._show_code,
        )


_STYLES = {"head": "bold", "output": "", "note": "dim", "error": "red", "good": "green"}


def _styled(line: Line) -> RenderableType:
    from rich.padding import Padding
    from rich.text import Text

    from .screen import highlighted

    text = safe(line.text).expandtabs(4)
    if line.kind == "code":
        return Padding(highlighted(text), (0, 0, 0, len(_INDENT)))
    if line.kind == "output":
        return Padding(Text(text), (0, 0, 0, len(_INDENT)))
    return Text(text, style=_STYLES[line.kind])
