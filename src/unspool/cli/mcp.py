"""``unspool mcp``: contexts, their REPLs and runs over them as tools, for agents that speak MCP."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING, Annotated

import typer

from .ask import named
from .exits import FAILED, errors_as_exits
from .options import (
    Cache,
    MaxDepth,
    MaxTurns,
    Models,
    ModelSettingsGiven,
    RunsFolder,
    SandboxOption,
    SubModels,
    check_runs,
)
from .terminal import Output, is_open, is_terminal, safe

if TYPE_CHECKING:
    from ..mcp.desk import Desk
    from ..models.named import Spec
    from ..rlm import RLM


def mcp(
    http: Annotated[
        bool, typer.Option("--http", help="Serve over HTTP, for several clients; else stdin and stdout.")
    ] = False,
    host: Annotated[
        str,
        typer.Option(
            metavar="ADDRESS", help="With --http: the address. [default: 127.0.0.1]", show_default=False
        ),
    ] = "127.0.0.1",
    port: Annotated[
        int,
        typer.Option(
            metavar="N", help="With --http: the port; 0: a free one. [default: 8643]", show_default=False
        ),
    ] = 8643,
    token: Annotated[
        str | None,
        typer.Option(
            metavar="TEXT",
            help="With --http: what clients must send; better in UNSPOOL_TOKEN: others see options.",
            show_default=False,
        ),
    ] = None,
    root: Annotated[
        list[str] | None,
        typer.Option(
            metavar="DIR",
            help="Open nothing outside of this folder; may be given again. Roots of a client hold, too.",
            show_default=False,
        ),
    ] = None,
    model: Models = None,
    sub_model: SubModels = None,
    usd: Annotated[
        float | None,
        typer.Option(
            metavar="X", help="Of each context's code, and of each ask: X dollars.", show_default=False
        ),
    ] = None,
    tokens: Annotated[
        int | None, typer.Option(metavar="N", help="Likewise: N tokens.", show_default=False)
    ] = None,
    calls: Annotated[
        int,
        typer.Option(min=0, metavar="N", help="Likewise: N sub-calls. [default: 1000]", show_default=False),
    ] = 1_000,
    seconds: Annotated[
        float,
        typer.Option(
            metavar="S", help="Of an ask; then its draft is given. [default: 600]", show_default=False
        ),
    ] = 600,
    cell_seconds: Annotated[
        float,
        typer.Option(
            metavar="S",
            help="Of the code in a run_code, without sub-calls. [default: 30]",
            show_default=False,
        ),
    ] = 30,
    settings: ModelSettingsGiven = None,
    sandbox: SandboxOption = "auto",
    max_turns: MaxTurns = 20,
    max_depth: MaxDepth = 1,
    cache: Cache = False,
    runs: RunsFolder = None,
    no_journal: Annotated[bool, typer.Option("--no-journal", help="Keep nothing of what is run.")] = False,
    check: Annotated[
        bool, typer.Option("--check", help="Say whether all that is needed is there, and end.")
    ] = False,
) -> None:
    """Serve long inputs, a REPL for each, and questions over them as tools of the Model Context Protocol.

    An agent starts it by itself: see docs/mcp.md. It ends with its client, with Ctrl-C or TERM.
    """
    with errors_as_exits():
        root_model, sub = named(model), named(sub_model)
        if check:
            raise typer.Exit(_check(root_model, sub, sandbox))
        from ..budget import Budget
        from ..errors import ConfigError
        from ..mcp.desk import Desk
        from ..mcp.handles import Handles
        from ..mcp.places import Places
        from ..models.discover import discover
        from ..models.spelled import parsed
        from ..rlm import RLM

        if missing := [folder for folder in root or () if not os.path.isdir(folder)]:
            raise ConfigError(f"--root {missing[0]}: there is no such folder")
        of_root, of_sub = parsed(settings or ())
        check_runs(runs, no_journal=no_journal)
        closed = [name for name in ("stdin", "stdout") if not http and not is_open(getattr(sys, name))]
        if closed:
            raise ConfigError(
                f"{closed[0]} is closed: unspool mcp speaks with its client over stdin and stdout "
                "(--http: over HTTP)"
            )
        engine = RLM(
            root_model,
            sub_model=sub,
            max_turns=max_turns,
            max_depth=max_depth,
            cell_seconds=cell_seconds,
            budget=Budget(usd=usd, tokens=tokens, calls=calls),
            settings=of_root,
            sub_settings=of_sub,
            sandbox=sandbox,
            cache=cache,
            runs=not no_journal and (runs or True),
        )
        if usd is not None and not str(root_model or discover().model).startswith("local"):
            engine.check()  # a local model costs nothing, and a pull of it would keep the client waiting
        places = Places().within(root or ())
        desk = Desk(engine, places, asks=Budget(seconds=seconds), handles=Handles(engine))
        if http:
            _over_http(desk, engine, host, port, token)
        else:
            _over_stdio(desk, engine)


def _over_stdio(desk: Desk, engine: RLM) -> None:
    import asyncio

    from .._runtime import runtime
    from ..mcp.sdk import make_server
    from ..mcp.stdio import serve

    def leave() -> None:
        engine.close()
        runtime().shut_down()
        os._exit(0)  # a thread waits for stdin, and nothing but its end would wake it

    server = make_server(desk)
    if is_terminal(sys.stdin):
        Output(sys.stderr).line(
            "unspool mcp speaks the Model Context Protocol with the agent that starts it (docs/mcp.md). "
            "--check says whether all is there, Ctrl-C stops it."
        )
    try:
        asyncio.run(serve(server, desk, leave))
    finally:
        engine.close()


def _over_http(desk: Desk, engine: RLM, host: str, port: int, token: str | None) -> None:
    import asyncio

    from ..mcp.http import PATH, serve, settings_of
    from ..mcp.sdk import make_server
    from ..server.process import listen

    settings = settings_of(host, port, token)
    server = make_server(desk)
    bound = listen(settings)

    def ready() -> None:
        address = f"http://{settings.in_address}:{bound.getsockname()[1]}{PATH}"
        for line in (f"unspool mcp: {address}", "Ctrl-C stops it."):
            Output(sys.stderr).line(safe(line))

    try:
        asyncio.run(serve(server, desk, settings, bound, ready))
    finally:
        engine.close()


def _check(model: Spec | None, sub_model: Spec | None, sandbox: str) -> int:
    from ..mcp.check import checked

    out, there = Output(sys.stdout), True
    for each in checked(model, sub_model, sandbox):
        out.line(safe(f"{'yes' if each.there else 'NO'}  {each.name}: {each.told}"))
        there = there and each.there
    return 0 if there else FAILED
