"""``unspool ask``: one question, one input, one answer on stdout."""

from __future__ import annotations

import signal
import sys
import time
from collections.abc import AsyncIterator
from dataclasses import asdict, dataclass, field, replace
from typing import TYPE_CHECKING, Annotated

import typer

from ..events import BranchesDecided, Event, RunEnded, RunResumed, RunStarted, StrategyChosen
from .exits import CODES, FAILED, TERMINATED, errors_as_exits
from .options import (
    AsObject,
    Cache,
    CallsLimit,
    MaxDepth,
    MaxTurns,
    Models,
    ModelSettingsGiven,
    Quiet,
    RunsFolder,
    SandboxOption,
    ShowCode,
    StrategyOption,
    SubModels,
    TokensLimit,
    UsdLimit,
)
from .reading import coverage_object, reading_lines
from .runs import hint
from .terminal import Output, columns, complain, is_terminal, safe, unwritten
from .view import View, fold

if TYPE_CHECKING:
    from ..coverage import CoverageBuilder
    from ..rlm import RLM
    from .display import Display

_STOPPED_BY = {signal.SIGINT: "stopped by Ctrl-C", signal.SIGTERM: "stopped by a TERM signal"}


def ask(
    question: Annotated[
        str, typer.Argument(metavar="QUESTION", help="What to find out.", show_default=False)
    ],
    files: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="FILE", help="The input; - or nothing is what is piped in.", show_default=False
        ),
    ] = None,
    model: Models = None,
    sub_model: SubModels = None,
    max_turns: MaxTurns = 20,
    max_depth: MaxDepth = 1,
    branches: Annotated[
        int,
        typer.Option(
            min=1,
            metavar="K",
            help="Answer K times; what most agree on is the answer. [default: 1]",
            show_default=False,
        ),
    ] = 1,
    strategy: StrategyOption = "rlm",
    usd: UsdLimit = None,
    tokens: TokensLimit = None,
    calls: CallsLimit = None,
    seconds: Annotated[
        float | None, typer.Option(metavar="S", help="Stop after this time.", show_default=False)
    ] = None,
    settings: ModelSettingsGiven = None,
    profile: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help="How the model is spoken to: frontier, small or paper. Default: what suits it.",
            show_default=False,
        ),
    ] = None,
    answer: Annotated[
        str | None,
        typer.Option(
            metavar="TYPE",
            help="The type of the answer: int, float, bool, str, date, list[str], … or a file with a JSON "
            "schema.",
            show_default=False,
        ),
    ] = None,
    sandbox: SandboxOption = "auto",
    cache: Cache = False,
    runs: RunsFolder = None,
    no_journal: Annotated[
        bool, typer.Option("--no-journal", help="Keep nothing of this run: it cannot be resumed.")
    ] = False,
    keep_context: Annotated[
        bool, typer.Option("--keep-context", help="Keep the input with the run: for one that is piped in.")
    ] = False,
    as_object: AsObject = False,
    quiet: Quiet = False,
    show_code: ShowCode = False,
) -> None:
    """Answer QUESTION over the input.

    Exit code: 0 answered, 1 failed, 2 wrong usage, 3 partial (a draft was printed), 4 a limit was
    reached (a draft was printed if there was one), 130 cancelled, 143 ended by a TERM signal.
    """
    with errors_as_exits():
        import asyncio

        from ..budget import Budget
        from ..errors import ConfigError
        from ..models.discover import resolve_pair
        from ..models.spelled import parsed
        from ..rlm import RLM
        from ..strategies import checked
        from .display import make_display
        from .inputs import read_answer_type, read_asked, source_names
        from .pulling import shown_progress

        context, sources = read_asked(question, files or ()), source_names(files or ())
        budget = Budget(usd=usd, tokens=tokens, calls=calls, seconds=seconds)
        if not question.strip():
            raise ConfigError("QUESTION is empty: say what to find out")
        wanted, how = read_answer_type(answer), checked(strategy)
        of_root, of_sub = parsed(settings or ())
        with shown_progress(quiet=quiet) as progress:  # the local model is pulled on first use
            root, sub = resolve_pair(named(model), named(sub_model), progress=progress)
        engine = RLM(
            root,
            sub_model=sub,
            max_turns=max_turns,
            max_depth=max_depth,
            budget=budget,
            settings=of_root,
            sub_settings=of_sub,
            profile=profile,
            cache=cache,
            runs=not no_journal and (runs or True),
            keep_context=keep_context,
            strategy=how,
            sandbox=sandbox,
        )
        display = make_display(quiet=quiet, show_code=show_code)
        try:
            events = engine.stream(question, context, answer=wanted, branches=branches, sources=sources)
            story = asyncio.run(follow(engine, events, display))
        finally:
            display.close()
            engine.close()
        code = deliver(story, as_object=as_object)
        if not quiet:
            tell_reading(story)
        if not quiet and not no_journal:
            hint(story.ended, story.started, runs, kept=bool(sources) or keep_context)
    raise typer.Exit(code)


def named(given: list[str] | None) -> list[str] | str | None:
    """One name, or the list that was given at once or one by one."""
    from ..models.named import split_names

    names = [name for each in given or () for name in split_names(each)]
    return names[0] if len(names) == 1 else names or None


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


async def follow(engine: RLM, events: AsyncIterator[Event], display: Display) -> Story:
    """Shows the run while it goes on. Ctrl-C or a TERM cancels it, once and cleanly."""
    import asyncio

    story, view = Story(), View()
    loop, task = asyncio.get_running_loop(), asyncio.current_task()

    def stop(by: signal.Signals) -> None:
        if story.stopped is None and task is not None:
            story.stopped = by
            if story.started is not None:
                engine.cancel(story.started.run)  # its last events are still to come
            else:
                task.cancel()

    for each in _STOPPED_BY:
        loop.add_signal_handler(each, stop, each)
    try:
        async for event in events:
            if isinstance(event, RunEnded) and story.stopped is not None:
                event = replace(event, reason=_STOPPED_BY[story.stopped])
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


def deliver(story: Story, *, as_object: bool) -> int:
    """Writes the answer to stdout; returns the exit code."""
    from ..images import Image
    from .pictures import saved
    from .plain import as_json, as_text, plain

    ended = story.ended
    if ended is None:
        raise RuntimeError("the events of a run ended without run.ended")
    terminal = is_terminal(sys.stdout)
    file = ""
    if isinstance(ended.answer, Image):
        try:
            file = saved(ended.answer, ended.run)
        except OSError as error:
            complain(f"the answer is {ended.answer}, which cannot be written to a file here: {error}")
            return FAILED
    if as_object:
        shown = _object(story, ended)
        if file:
            shown["answer"] = {"file": file, "image": plain(ended.answer)}
        text = as_json(shown, indent=2 if terminal else None)
    else:
        text = file or as_text(ended.answer)
        text = safe(text) if terminal else text
    out = Output(sys.stdout)
    if text:
        if terminal and is_terminal(sys.stderr) and not as_object:
            Output(sys.stderr).line()
        out.write(text if text.endswith("\n") else text + "\n")
    kept = "" if ended.run == "" else f" (unspool runs show {ended.run} shows it, where the run is kept)"
    if unwritten("the answer", kept):
        return FAILED
    return TERMINATED if story.stopped == signal.SIGTERM else CODES[ended.status]


def tell_reading(story: Story) -> None:
    """On stderr, below the answer: how much of the input models read, and the quotes from it."""
    out = Output(sys.stderr)
    width = columns(sys.stderr) or 100
    for line in reading_lines(story.reading.coverage(), story.reading.citations(), width):
        out.line(safe(line))


def _object(story: Story, ended: RunEnded) -> dict[str, object]:
    """What --json prints; with --cache also what was not paid again, with --branches how they agree."""
    told = story.decided
    agreed = (
        {"count": told.count, "agreeing": len(told.agreeing), "stopped": len(told.stopped)} if told else None
    )
    cache = story.started is not None and story.started.settings.get("cache")
    return {
        "answer": ended.answer,
        "status": ended.status,
        "reason": ended.reason,
        "notes": list(ended.notes),
        "run_id": ended.run,
        "model": story.started.model if story.started else None,
        "sub_model": story.started.sub_model if story.started else None,
        "strategy": story.strategy,
        "turns": ended.turns,
        "sub_calls": ended.sub_calls,
        "usage": asdict(ended.usage),
        "cost": ended.cost,
        "seconds": round(ended.seconds, 3),
        **({"branches": agreed} if agreed else {}),
        "coverage": coverage_object(story.reading.coverage()),
        "citations": [asdict(cited) for cited in story.reading.citations()],
        **({"reused": asdict(ended.reused), "reused_cost": ended.reused_cost} if cache else {}),
    }
