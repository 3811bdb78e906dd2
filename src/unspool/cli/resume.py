"""``unspool runs resume``: goes on with a run that was stopped."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from dataclasses import fields
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from .exits import errors_as_exits
from .options import AsObject, Quiet, RunName, RunsFolder, ShowCode
from .runs import RAISED_BY, find_run, hint, journal_in, of_a_program
from .terminal import Output, is_terminal

if TYPE_CHECKING:
    from ..events import RunStarted
    from ..resume import Past
    from ..rlm import RLM

SETTINGS = (
    "max_turns", "max_depth", "cell_seconds", "cell_memory", "call_seconds", "concurrency", "cache",
    "instructions",
)  # fmt: skip
"""Of those that a run keeps, what an engine takes as it is, beside its limits and its sandbox."""


def resume(
    run: RunName,
    files: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="FILE",
            help="The input again; default: as it was kept, from the files it came from, or piped in.",
            show_default=False,
        ),
    ] = None,
    runs: RunsFolder = None,
    go_on: Annotated[
        bool,
        typer.Option("--continue", help="Where the run goes another way than it went, go on from there."),
    ] = False,
    max_turns: Annotated[
        int | None,
        typer.Option(min=1, metavar="N", help="Replies of the model at most; default: as before."),
    ] = None,
    seconds: Annotated[
        float | None,
        typer.Option(metavar="S", help="Stop after this time, what has passed included.", show_default=False),
    ] = None,
    usd: Annotated[
        float | None, typer.Option(metavar="X", help="Spend at most X dollars in all.", show_default=False)
    ] = None,
    tokens: Annotated[
        int | None, typer.Option(metavar="N", help="At most N tokens in all.", show_default=False)
    ] = None,
    calls: Annotated[
        int | None, typer.Option(metavar="N", help="At most N sub-calls in all.", show_default=False)
    ] = None,
    as_object: AsObject = False,
    quiet: Quiet = False,
    show_code: ShowCode = False,
) -> None:
    """Go on with a run: what was paid for is not asked again.

    Limits are those that the run had, where no others are given; what it has spent counts.
    Exit codes as of unspool ask.
    """
    with errors_as_exits():
        from ..resume import Past
        from .deliver import deliver, tell_reading
        from .story import watched

        journal = journal_in(runs)
        name = find_run(journal, run)
        past = Past.of(name, journal.read(name))
        started = past.started
        if past.answered and not quiet:
            Output(sys.stderr).line("This run was answered already: nothing is asked again.")
        given = {"usd": usd, "tokens": tokens, "calls": calls, "seconds": seconds}
        _refuse_the_same_end(past, {**given, "turns": max_turns})
        engine = _engine(started, runs, max_turns=max_turns, limits=given)
        context = _context(files, past)
        events = engine.stream_resume(name, context, diverged="continue" if go_on else "stop")
        story = watched(engine, events, quiet=quiet, show_code=show_code)
        code = deliver(story, as_object=as_object)
        if not quiet:
            tell_reading(story)
            hint(story.ended, story.started, runs)
    raise typer.Exit(code)


def _refuse_the_same_end(past: Past, given: Mapping[str, float | None]) -> None:
    """A run that a limit has ended would end at once again under the same."""
    from ..errors import ConfigError
    from ..events import RunEnded

    ended, then = past.events[-1], past.started.settings
    if not isinstance(ended, RunEnded) or ended.limit is None:
        return
    turns, most = ended.limit == "turns", then.get("strategy_turns")
    if turns and isinstance(most, int) and ended.turns >= most:
        raise ConfigError(f"{ended.reason}, and the strategy {past.strategy} takes no more: ask anew")
    had, now = then.get("max_turns" if turns else ended.limit), given[ended.limit]
    if not isinstance(had, int | float):
        return
    had = max(had, ended.turns) if turns else had
    if now is not None and now > had:
        return
    option = RAISED_BY[ended.limit]
    raise ConfigError(
        f"the run ended by a limit ({ended.reason}): name a higher one, {option} N, more than {had:,}"
    )


def _context(files: list[str] | None, past: Past) -> object:
    """The input as it is given, or None where the run knows where it is, or has no more need of it."""
    from ..errors import ContextError
    from .inputs import read_context

    if files:
        return read_context(files)
    started = past.started
    known = past.answered or started.kept is not None or started.sources
    piped = sys.stdin is not None and not is_terminal(sys.stdin)
    if known or not piped:
        return None
    try:
        return read_context(())
    except ContextError as error:
        raise ContextError(
            f"{error} The run {started.run} was asked of what was piped in: pipe it in again."
        ) from None


def _engine(
    started: RunStarted, runs: Path | None, *, max_turns: int | None, limits: Mapping[str, float | None]
) -> RLM:
    """An engine with the settings that the run began with."""
    from ..budget import Budget
    from ..errors import ConfigError
    from ..models.discover import resolve_pair
    from ..models.spelled import taken
    from ..rlm import RLM
    from ..sandbox.shared import is_name

    then = dict(started.settings)
    sandbox = str(then.get("sandbox"))
    if then.get("tools"):
        raise ConfigError(
            f"this run has tools of a program ({then['tools']}): go on with it there, "
            "RLM(…, tools=…).resume(ID)"
        )
    budget = {name: then[name] for name in (f.name for f in fields(Budget)) if then.get(name) is not None}
    budget |= {name: limit for name, limit in limits.items() if limit is not None}
    same = {name: then[name] for name in SETTINGS if then.get(name) is not None}
    if max_turns is not None:
        same["max_turns"] = max_turns
    if (model := of_a_program(started)) is not None:
        raise ConfigError(
            f"the model {model} of this run was made in Python: go on with it there, "
            f"RLM(…).resume({started.run!r})"
        )
    root, sub = resolve_pair(started.model, started.sub_model)
    of_root, of_sub = taken(then)
    return RLM(
        root,
        sub_model=sub,
        budget=Budget(**budget),  # type: ignore[arg-type]
        settings=of_root,
        sub_settings=of_sub,
        profile=started.profile,
        sandbox=sandbox if is_name(sandbox) else "auto",
        runs=runs or True,
        **same,  # type: ignore[arg-type]
    )
