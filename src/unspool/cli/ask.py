"""``unspool ask``: one question, one input, one answer on stdout."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from .exits import errors_as_exits
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
    check_runs,
)
from .runs import hint

if TYPE_CHECKING:
    from ..models.protocol import Model


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

    Exit code: 0 answered, 1 failed, 2 wrong usage, 3 partial (with a draft), 4 a limit was reached
    (with a draft, if there was one), 130 cancelled, 143 ended by a TERM signal.
    """
    with errors_as_exits():
        from ..budget import Budget
        from ..errors import ConfigError
        from ..models.spelled import parsed
        from ..rlm import RLM
        from ..strategies import checked
        from .deliver import deliver, tell_reading
        from .inputs import read_answer_type, read_asked, source_names
        from .story import watched

        context, sources = read_asked(question, files or ()), source_names(files or ())
        budget = Budget(usd=usd, tokens=tokens, calls=calls, seconds=seconds)
        if not question.strip():
            raise ConfigError("QUESTION is empty: say what to find out")
        wanted, how = read_answer_type(answer), checked(strategy)
        of_root, of_sub = parsed(settings or ())
        check_runs(runs, no_journal=no_journal)
        root, sub = _models(model, sub_model, quiet=quiet)
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
        events = engine.stream(question, context, answer=wanted, branches=branches, sources=sources)
        story = watched(engine, events, quiet=quiet, show_code=show_code)
        code = deliver(story, as_object=as_object)
        if not quiet:
            tell_reading(story)
            if not no_journal:
                hint(story.ended, story.started, runs, kept=bool(sources) or keep_context)
    raise typer.Exit(code)


def _models(model: list[str] | None, sub_model: list[str] | None, *, quiet: bool) -> tuple[Model, Model]:
    """The root and the model for sub-calls; the local one is pulled on first use, which is shown."""
    from ..models.discover import resolve_pair
    from .pulling import shown_progress

    with shown_progress(quiet=quiet) as progress:
        return resolve_pair(named(model), named(sub_model), progress=progress)


def named(given: list[str] | None) -> list[str] | str | None:
    """One name, or the list that was given at once or one by one."""
    from ..models.naming import split_names

    names = [name for each in given or () for name in split_names(each)]
    return names[0] if len(names) == 1 else names or None
