"""``unspool serve``: an RLM as a model, for any client that can set a base URL."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Annotated

import typer

from .ask import named
from .exits import errors_as_exits
from .options import (
    Cache,
    MaxDepth,
    MaxTurns,
    Models,
    ModelSettingsGiven,
    Quiet,
    RunsFolder,
    SandboxOption,
    StrategyOption,
    SubModels,
    check_runs,
)
from .terminal import Output, safe

if TYPE_CHECKING:
    from ..budget import Budget
    from ..server.settings import ServerSettings


def serve(
    host: Annotated[
        str,
        typer.Option(
            metavar="ADDRESS",
            help="The address to listen at; one that others reach needs a token. [default: 127.0.0.1]",
            show_default=False,
        ),
    ] = "127.0.0.1",
    port: Annotated[
        int,
        typer.Option(metavar="N", help="The port; 0: one that is free. [default: 8642]", show_default=False),
    ] = 8642,
    token: Annotated[
        str | None,
        typer.Option(
            metavar="TEXT",
            help="What clients must send as their key; better in UNSPOOL_TOKEN: others see options.",
            show_default=False,
        ),
    ] = None,
    model: Models = None,
    sub_model: SubModels = None,
    at_once: Annotated[
        int,
        typer.Option(
            "--runs-at-once",
            min=1,
            metavar="N",
            help="One more is told to come back later (429). [default: 16]",
            show_default=False,
        ),
    ] = 16,
    body_mb: Annotated[
        int, typer.Option(min=1, metavar="N", help="Of a request at most. [default: 64]", show_default=False)
    ] = 64,
    seconds: Annotated[
        float,
        typer.Option(
            metavar="S", help="Of a run at most; then its draft is given. [default: 600]", show_default=False
        ),
    ] = 600,
    usd: Annotated[
        float | None, typer.Option(metavar="X", help="Spend at most X dollars on a run.", show_default=False)
    ] = None,
    tokens: Annotated[
        int | None,
        typer.Option(metavar="N", help="Read and write at most N tokens in a run.", show_default=False),
    ] = None,
    settings_given: ModelSettingsGiven = None,
    max_turns: MaxTurns = 20,
    max_depth: MaxDepth = 1,
    strategy: StrategyOption = "rlm",
    sandbox: SandboxOption = "auto",
    cache: Cache = False,
    runs: RunsFolder = None,
    no_journal: Annotated[
        bool, typer.Option("--no-journal", help="Keep nothing of the runs: none can be resumed.")
    ] = False,
    quiet: Quiet = False,
) -> None:
    """Serve an RLM as a model, over OpenAI's API.

    Point a client at http://HOST:PORT/v1 and ask the model "unspool". Stops with Ctrl-C or TERM.
    """
    with errors_as_exits():
        import asyncio

        from ..budget import Budget
        from ..models.discover import resolve_pair
        from ..models.spelled import parsed
        from ..rlm import RLM
        from ..server.admission import given_token
        from ..server.app import Service
        from ..server.process import listen
        from ..server.process import serve as serve_until_stopped
        from ..server.settings import ServerSettings
        from ..strategies import checked
        from .pulling import shown_progress

        how, (of_root, of_sub) = checked(strategy), parsed(settings_given or ())
        settings = ServerSettings(
            host=host,
            port=port,
            token=given_token(token),
            runs=at_once,
            body_bytes=body_mb << 20,
            seconds=seconds,
        )
        budget = Budget(usd=usd, tokens=tokens)
        check_runs(runs, no_journal=no_journal)
        bound = listen(settings)
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
            sandbox=sandbox,
            cache=cache,
            runs=not no_journal and (runs or True),
            strategy=how,
        )
        engine.check()
        out = Output(sys.stderr)
        names = (root.info.name, sub.info.name)

        def log(text: str) -> None:
            if not quiet:
                out.line(safe(text))

        def ready() -> None:
            limits = _limits(settings, budget, max_turns)
            for line in _banner(settings, bound.getsockname()[1], names, limits):
                log(line)

        service = Service(engine, settings, name=root.info.name, log=log)
        try:
            asyncio.run(serve_until_stopped(service, bound, ready))
        finally:
            engine.close()
        log("stopped")


def _limits(settings: ServerSettings, budget: Budget, max_turns: int) -> str:
    """What bounds the server, and each run in it."""
    each = [f"{settings.seconds:g} s", f"{max_turns} turns"]
    each += [f"${budget.usd:g}"] if budget.usd is not None else []
    each += [f"{budget.tokens:,} tokens"] if budget.tokens is not None else []
    return f"{settings.runs} runs at once, each {', '.join(each)}"


def _banner(settings: ServerSettings, port: int, names: tuple[str, str], limits: str) -> list[str]:
    root, sub = names
    key = "the token" if settings.token else "anything: only this machine is served"
    return [
        f"unspool serves {root}" + ("" if sub == root else f", sub-calls: {sub}"),
        f"  base URL  http://{settings.in_address}:{port}/v1",
        "  model     unspool",
        f"  API key   {key}",
        f"  limits    {limits}",
        "Ctrl-C stops it.",
    ]
