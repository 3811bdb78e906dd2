"""``unspool watch``: follows a run of another process, from its journal.

Contract: shows what is in the journal, then what comes, and ends with the run: the answer on stdout, the
exit code of ``unspool ask``. Of a run whose process has gone it says so, and how to go on. It only reads:
leaving it leaves the run as it is.
"""

from __future__ import annotations

import contextlib
import sys
import time
from typing import TYPE_CHECKING

import typer

from ..events import RunStarted
from ..types import DRIVEN
from .exits import CANCELLED, FAILED, errors_as_exits
from .options import AsObject, Quiet, RunName, RunsFolder, ShowCode
from .terminal import Output, complain, safe

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ..events import Event
    from ..journal import Journal
    from .display import Display
    from .story import Story

_PAUSE = 0.1  # seconds between two looks at the journal
_SILENCE = 1.0  # seconds without an event, after which it is asked whether somebody still writes


def watch(
    run: RunName,
    runs: RunsFolder = None,
    as_object: AsObject = False,
    quiet: Quiet = False,
    show_code: ShowCode = False,
) -> None:
    """Follow a run that goes on in another process, to its end.

    Exit codes as of unspool ask; 1 as well where the run's process has gone.
    """
    with errors_as_exits():
        from .deliver import deliver, tell_reading
        from .display import make_display
        from .runs import find_run, hint, journal_in, to_go_on

        journal = journal_in(runs)
        name = find_run(journal, run)
        begun = journal.read_from(name, 0)
        asked = [event for event in begun[0][:1] if isinstance(event, RunStarted)]
        driven = any(event.model.startswith(DRIVEN) for event in asked)  # a session is not resumed
        with contextlib.ExitStack() as shown:
            try:
                display = make_display(quiet=quiet, show_code=show_code)
                shown.callback(display.close)
                for event in asked if not quiet else ():
                    Output(sys.stderr).line(safe(f"run: {name}\nquestion: {event.query.strip()}"))
                story = follow(journal, name, display, *begun)
            except KeyboardInterrupt:
                shown.close()
                complain("no longer watched; the run itself goes on")
                raise typer.Exit(CANCELLED) from None
        if story.ended is None:
            complain(f"the process of the run {name} has gone")
            if not driven:
                Output(sys.stderr).line(to_go_on(name, runs, None, story.started))
            raise typer.Exit(FAILED)
        code = deliver(story, as_object=as_object)
        if not quiet:
            tell_reading(story)
            if not driven:
                hint(story.ended, story.started, runs)
    raise typer.Exit(code)


def follow(journal: Journal, run: str, display: Display, events: Sequence[Event], place: int) -> Story:
    """Shows the events of a run as they are written, after those that were read up to ``place``. Without an
    end: nobody writes it any more."""
    from .story import Story

    story, heard, alone = Story(), time.monotonic(), False
    while True:
        for event in events:
            display.add(event)
            story.add(event)
        if alone and not events:
            return story
        now = time.monotonic()
        if events:
            heard = now
        # First whether it is written, then once more what is there: its last events are not missed.
        silent = story.ended is not None or now - heard >= _SILENCE
        alone = silent and not journal.is_written(run)
        if not alone:
            time.sleep(_PAUSE)
        events, place = journal.read_from(run, place)
