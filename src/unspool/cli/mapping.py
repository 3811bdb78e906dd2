"""``unspool map``: one sub-call for each line of a file, answers in the same order."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Annotated, BinaryIO

import typer

from .exits import errors_as_exits
from .llm import with_calls
from .options import BudgetFile, CallsLimit, Models, NoCache, PriceGiven, Quiet, TokensLimit, UsdLimit
from .terminal import is_terminal, told_if_slow

if TYPE_CHECKING:
    from ..single import SingleCalls

PATIENCE = 1.0  # seconds after which it is said that a named pipe has no writer
AHEAD = 4  # lines read for each call that may be open: one slow reply does not hold up the others


def map_(
    instruction: Annotated[
        str, typer.Argument(metavar="INSTRUCTION", help="What to do with each item.", show_default=False)
    ],
    items: Annotated[
        str,
        typer.Argument(
            metavar="FILE", help="JSON, an item a line; - or nothing is what is piped in.", show_default=False
        ),
    ] = "-",
    lines: Annotated[bool, typer.Option("--lines", help="Each line is text as it stands, not JSON.")] = False,
    model: Models = None,
    usd: UsdLimit = None,
    tokens: TokensLimit = None,
    calls: CallsLimit = None,
    budget: BudgetFile = None,
    settings: PriceGiven = None,
    concurrency: Annotated[
        int,
        typer.Option(
            min=1, metavar="N", help="Calls open at once at most. [default: 32]", show_default=False
        ),
    ] = 32,
    no_cache: NoCache = False,
    quiet: Quiet = False,
) -> None:
    """Make one model call for each line of a file.

    For each line of FILE a line of JSON is printed, in order: {"line": 3, "reply": "…"} or {"line": 3,
    "error": {"kind": …, "message": …}}. The same command goes on where it was stopped: what was answered
    is in the cache. Exit codes: 0 all answered, 1 none, 2 wrong usage, 3 some failed, 4 a limit was
    reached, 130 cancelled.
    """
    with errors_as_exits():
        from ..errors import ConfigError
        from .mapped import Mapping

        if not instruction.strip():
            raise ConfigError("INSTRUCTION is empty: say what to do with each item")
        source = _opened(items)

        async def work(single: SingleCalls) -> int:
            mapping = Mapping(single, instruction, plain=lines, quiet=quiet)
            try:
                await mapping.run(source, ahead=AHEAD * concurrency)
            finally:
                mapping.told()
            return mapping.code

        code = with_calls(
            work,
            model=model,
            limits=(usd, tokens, calls),
            budget=budget,
            settings=settings,
            cache=not no_cache,
            concurrency=concurrency,
        )
    raise typer.Exit(code)


def _opened(name: str) -> BinaryIO:
    from ..errors import ContextError

    if name == "-":
        if sys.stdin is None or is_terminal(sys.stdin):
            raise ContextError("there are no items: name a file, or pipe lines of JSON in")
        # Of its own: a thread may wait for a line when the command ends, and must not hold sys.stdin then.
        return open(sys.stdin.fileno(), "rb", closefd=False)
    try:
        with told_if_slow(f"{name} is a pipe that nobody writes to yet: waiting for it", PATIENCE):
            return open(name, "rb")
    except OSError as error:
        raise ContextError(f"{name} cannot be read: {error.strerror}") from None
