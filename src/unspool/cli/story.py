"""A run as it goes on before a person: shown, stopped by a signal, and kept to be delivered.

Contract: :func:`watched` runs to the end of the events, whatever stops it; Ctrl-C and TERM cancel the run
once and cleanly, and what the run has left by then is in the :class:`Story`.
"""

from __future__ import annotations

import signal
import time
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from ..events import BranchesDecided, Event, RunEnded, RunResumed, RunStarted, StrategyChosen
from .view import View, fold

if TYPE_CHECKING:
    from ..coverage import CoverageBuilder
    from ..rlm import RLM
    from .display import Display

_STOPPED_BY = {signal.SIGINT: "stopped by Ctrl-C", signal.SIGTERM: "stopped by a TERM signal"}


def _reader() -> CoverageBuilder:
    from ..coverage import CoverageBuilder  # loads what reads files: not for --help

    return CoverageBuilder()


@dataclass(slots=True)
class Story:
    """A run from its first event to its last; ``stopped`` is the signal that ended it early."""

    started: RunStarted | None = None
    ended: RunEnded | None = None
    chosen: StrategyChosen | None = None
    decided: BranchesDecided | None = None
    stopped: signal.Signals | None = None
    reading: CoverageBuilder = field(default_factory=_reader)

    @property
    def strategy(self) -> str:
        told = self.started.settings.get("strategy") if self.started else None
        return self.chosen.strategy if self.chosen else str(told or "rlm")

    def add(self, event: Event) -> None:
        self.reading.add(event)
        match event:
            case RunStarted():
                self.started = event
            case StrategyChosen():
                self.chosen = event
            case BranchesDecided():
                self.decided = event
            case RunEnded() | RunResumed():
                self.ended = event if isinstance(event, RunEnded) else None


def watched(engine: RLM, events: AsyncIterator[Event], *, quiet: bool, show_code: bool) -> Story:
    """The run from its first event to its last, shown on stderr; the engine is closed after it."""
    import asyncio

    from .display import make_display

    display = make_display(quiet=quiet, show_code=show_code)
    try:
        return asyncio.run(follow(engine, events, display))
    finally:
        display.close()
        engine.close()


async def follow(engine: RLM, events: AsyncIterator[Event], display: Display) -> Story:
    """Shows the run while it goes on. Ctrl-C or a TERM cancels it, once and cleanly."""
    import asyncio

    story, view = Story(), View()
    loop, task = asyncio.get_running_loop(), asyncio.current_task()

    def stop(by: signal.Signals) -> None:
        if story.stopped is None and task is not None:
            story.stopped = by
            if story.started is not None:
                engine.cancel(story.started.run, _STOPPED_BY[by])  # its last events are still to come
            else:
                task.cancel()

    for each in _STOPPED_BY:
        loop.add_signal_handler(each, stop, each)
    try:
        async for event in events:
            view = fold(view, event)
            display.add(event)
            story.add(event)
    except asyncio.CancelledError:
        if story.stopped is None:
            raise
    finally:
        for each in _STOPPED_BY:
            loop.remove_signal_handler(each)
            if story.stopped:  # what is left to do is short, and a second Ctrl-C must not cut it in two
                signal.signal(each, signal.SIG_IGN)
    if story.ended is None and story.stopped is not None:
        story.ended = _cut_short(view, story)
        display.add(story.ended)
    return story


def _cut_short(view: View, story: Story) -> RunEnded:
    """The end of a run that was stopped from outside, as far as its events tell."""
    from ..ending import in_all

    return RunEnded(
        run=story.started.run if story.started else "",
        time=time.time(),
        status="cancelled",
        reason=_STOPPED_BY[story.stopped] if story.stopped else "",
        answer=None,
        draft=None,
        usage=in_all(view.usage),
        cost=view.cost,
        ledger=(),
        turns=view.turn,
        sub_calls=view.calls_all,
        seconds=time.time() - view.started if view.started else 0.0,
    )
