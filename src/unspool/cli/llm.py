"""``unspool llm``: one sub-call, for shell loops that recurse over slices."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ..types import FailedCall
from .exits import CANCELLED, CODES, FAILED, TERMINATED, errors_as_exits
from .options import (
    AsObject,
    BudgetFile,
    CallsLimit,
    Models,
    NoCache,
    PriceGiven,
    TokensLimit,
    UsdLimit,
)
from .terminal import Output, complain, is_terminal, safe, unwritten

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from ..models.settings import ModelSettings
    from ..single import SingleCalls


def llm(
    prompt: Annotated[
        str, typer.Argument(metavar="PROMPT", help="What to do with the input.", show_default=False)
    ],
    model: Models = None,
    usd: UsdLimit = None,
    tokens: TokensLimit = None,
    calls: CallsLimit = None,
    budget: BudgetFile = None,
    settings: PriceGiven = None,
    no_cache: NoCache = False,
    as_object: AsObject = False,
) -> None:
    """Make one model call over what is piped in.

    PROMPT and the input are sent, the reply is printed. Equal calls are paid once: the cache knows them.
    With --budget FILE, any number of processes spend from one limit. Exit codes: 0 replied, 1 failed, 2
    wrong usage, 4 a limit was reached, 130 cancelled.
    """
    with errors_as_exits():
        from dataclasses import asdict

        from ..contexts.text import decode, read_piped
        from ..errors import ConfigError
        from .plain import as_json

        if not prompt.strip():
            raise ConfigError("PROMPT is empty: say what to do with the input")
        name = "standard input"
        piped = b"" if sys.stdin is None or is_terminal(sys.stdin) else read_piped(sys.stdin.buffer, name)
        slice_ = decode(piped, name) if piped else ""

        async def ask(single: SingleCalls) -> int:
            got = await single.ask(f"{prompt}\n\n{slice_}" if slice_ else prompt)
            terminal = is_terminal(sys.stdout)
            if as_object:
                told = {**asdict(got), "seconds": round(got.seconds, 3)}
                text = as_json(told, indent=2 if terminal else None)
            else:
                text = safe(got.reply or "") if terminal else got.reply or ""
            out = Output(sys.stdout)
            if text:
                out.write(text if text.endswith("\n") else text + "\n")
            if got.error is not None:
                complain(got.error.message)
                return code_of(got.error)
            return FAILED if unwritten("the reply") else 0

        code = with_calls(
            ask,
            model=model,
            limits=(usd, tokens, calls),
            budget=budget,
            settings=settings,
            cache=not no_cache,
        )
    raise typer.Exit(code)


def code_of(error: FailedCall) -> int:
    return CODES["budget"] if error.kind == "budget" else FAILED


def _price_alone(given: list[str] | None) -> ModelSettings:
    """The price that ``--set`` says. All else would be sent, and the cache knows a call by what is sent."""
    from dataclasses import replace

    from ..errors import ConfigError
    from ..models.settings import UNSET
    from ..models.spelled import parsed

    price, of_sub = parsed(given or ())
    if price != of_sub or replace(price, price=None) != UNSET:
        told = ", ".join(given or ())
        raise ConfigError(
            f"--set {told}: there is one model here, of which the price alone is set: price=READ/WRITTEN"
        )
    return price


def with_calls(
    work: Callable[[SingleCalls], Awaitable[int]],
    *,
    model: list[str] | None,
    limits: tuple[float | None, int | None, int | None],
    budget: Path | None,
    settings: list[str] | None,
    cache: bool,
    concurrency: int = 32,
) -> int:
    """Does ``work`` with the model that the options name; a TERM cancels it as Ctrl-C does."""
    import asyncio
    import signal

    from ..budget import Budget
    from ..cache import ReplyCache, default_folder
    from ..models.discover import resolve, resolve_pair
    from ..models.priced import with_prices
    from ..shared_budget import SharedBudget
    from ..single import SingleCalls
    from .ask import named
    from .pulling import shown_progress

    usd, tokens, calls = limits
    given = Budget(usd=usd, tokens=tokens, calls=calls)
    priced = _price_alone(settings)
    spends = given if budget is None else SharedBudget(budget, given)
    with shown_progress() as progress:  # the local model is pulled on first use
        names = named(model)
        chosen = resolve(names, progress=progress) if names else resolve_pair(progress=progress)[1]
    _, chosen = with_prices(chosen, chosen, (priced, priced))
    kept = ReplyCache(default_folder()) if cache else None

    async def do() -> int:
        task, stopped = asyncio.current_task(), False

        def stop() -> None:
            nonlocal stopped
            stopped = True
            if task is not None:
                task.cancel()

        asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, stop)
        single = SingleCalls(chosen, cache=kept, budget=spends, concurrency=concurrency)
        try:
            await single.ready()
            return await work(single)
        except asyncio.CancelledError:
            if not stopped:
                raise
            complain("stopped by a TERM signal")
            return TERMINATED
        finally:
            await single.close()

    try:
        return asyncio.run(do())
    except KeyboardInterrupt:
        complain("cancelled")
        return CANCELLED
