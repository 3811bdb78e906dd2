"""Pulls a local model with a progress bar on a terminal, or a line now and then into a pipe.

Contract: everything goes to stderr, first what is pulled, why and where to. A model that is there already
costs one look and says nothing.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from .paint import painted, part, wrapped
from .terminal import Output, is_terminal, page_width, safe

if TYPE_CHECKING:
    from ..models.pull import Progress

_EVERY = 10  # percent between two lines in a pipe


@contextmanager
def shown_progress(*, quiet: bool = False) -> Iterator[Callable[[Progress], None] | None]:
    """Something to tell the progress of a pull to."""
    out = Output(sys.stderr)
    if quiet:
        yield None
    elif not is_terminal(sys.stderr):
        yield _Lines(out)
    else:
        bar = _Bar(out)
        try:
            yield bar
        finally:
            bar.close()


class _About:
    """What is pulled, told once, before how far it is."""

    def __init__(self, out: Output) -> None:
        self._out = out
        self._about = ""

    def tell(self, progress: Progress) -> None:
        if progress.about in ("", self._about):
            return
        self._about = progress.about
        width = page_width(sys.stderr)
        line = (part(safe(self._about)),)
        rows = [line] if width is None else wrapped(line, width, 0)
        self._out.write("".join(painted(row, colour=False) + "\n" for row in rows))


class _Lines:
    """A line for each phase and each tenth."""

    def __init__(self, out: Output) -> None:
        self._out = out
        self._about = _About(out)
        self._last: tuple[str, str, int] = ("", "", -1)

    def __call__(self, progress: Progress) -> None:
        step = (progress.phase, progress.source, int(progress.fraction * 100) // _EVERY)
        if step == self._last or progress.phase == "ready":
            return
        self._last = step
        self._about.tell(progress)
        self._out.line(_told(progress))


class _Bar:
    """One row that is written over. Drawn by hand: it has to fit 40 columns and any locale."""

    def __init__(self, out: Output, clock: Callable[[], float] = time.monotonic) -> None:
        self._out = out
        self._clock = clock
        self._about = _About(out)
        self._drawn = 0.0
        self._begun: tuple[str, float, int] = ("", 0.0, 0)  # phase, when, with how many bytes

    def __call__(self, progress: Progress) -> None:
        if progress.phase == "ready":
            return
        self._about.tell(progress)
        now = self._clock()
        what = progress.phase + progress.source
        if what != self._begun[0]:
            self._begun = (what, now, progress.done)
        elif now - self._drawn < 0.1:
            return
        self._drawn = now
        self._out.write("\r\x1b[2K" + self._row(progress, now))

    def _row(self, progress: Progress, now: float) -> str:
        from shutil import get_terminal_size

        width = get_terminal_size().columns - 1
        text = _told(progress) + self._left(progress, now)
        room = width - len(text) - 3
        if room >= 5:
            full = int(room * progress.fraction)
            text = f"[{'#' * full}{'.' * (room - full)}] {text}"
        return text[:width]

    def _left(self, progress: Progress, now: float) -> str:
        _, since, before = self._begun
        if progress.phase != "downloading" or now - since < 2:
            return ""
        if progress.done <= before:  # what fetches it may say nothing before it has all
            return f", {now - since:.0f} s"
        seconds = (progress.total - progress.done) * (now - since) / (progress.done - before)
        minutes, rest = divmod(int(seconds), 60)
        return f", {minutes}:{rest:02d} left"

    def close(self) -> None:
        if self._drawn:
            self._out.write("\r\x1b[2K")


def _told(progress: Progress) -> str:
    done, total = progress.done / 1e6, progress.total / 1e6
    match progress.phase:
        case "waiting":
            return "another process pulls it"
        case "downloading":
            return f"{progress.source} {done:,.0f} of {total:,.0f} MB"
        case "checking":
            return f"checking {progress.fraction:.0%}"
        case "ready":
            return "ready"
