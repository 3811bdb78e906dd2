"""``unspool eval``: suites of questions with computed answers, asked, kept and reported."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from .ask import named
from .commands import Commands, OneCommand
from .exits import CANCELLED, errors_as_exits
from .options import Models, ModelSettingsGiven, Quiet, SubModels
from .report import duration
from .terminal import Output, complain, safe

if TYPE_CHECKING:
    from typer._click.core import Command, Context  # typer's own copy, which has no public name

    from ..evals.kept import Kept, Settings
    from ..evals.record import Record
    from ..evals.runner import Means, Plan, Solver
    from ..evals.suites import Suite

MOST_SEEDS = 10_000
JOBS = 4  # samples at once, where a model says nothing of how many requests it takes


class SuiteOrCommand(Commands):
    """``unspool eval NAME``: a command of that name, or else ``run`` with a suite of that name."""

    def resolve_command(self, ctx: Context, args: list[str]) -> tuple[str | None, Command | None, list[str]]:
        if args and args[0] not in self.commands and not args[0].startswith("-"):
            args = ["run", *args]
        return super().resolve_command(ctx, args)


app = typer.Typer(no_args_is_help=True, cls=SuiteOrCommand, subcommand_metavar="SUITE | COMMAND [ARGS]...")


@app.command("list", cls=OneCommand)
def list_() -> None:
    """List the suites."""
    from ..evals.suites import KNOWN
    from .paint import Paper, part

    paper = Paper.stdout()
    for suite in KNOWN.values():
        name = suite.name if len(suite.name) < 10 else f"{suite.name}  "
        told = [f"{name:<10}{suite.words} ({_range(suite)})", f"{'':<10}tasks: {', '.join(suite.tasks)}"]
        if suite.needs:
            told.append(f"{'':<10}data: {_needs(suite)}")
        paper.write([(part(line),) for line in told], hang=10)


def _range(suite: Suite) -> str:
    from ..evals.sample import size_words

    return f"{'' if suite.smallest == suite.largest else 'from '}{size_words(suite.smallest)} tokens"


def _needs(suite: Suite) -> str:
    from ..evals.fetched import PACKAGES

    found = [PACKAGES[name] for name in suite.needs]
    return ", ".join(
        f"{each.package} {each.version}, fetched once ({each.size / 1e6:.0f} MB)" for each in found
    )


@app.command("report", cls=OneCommand)
def report(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="What --out was.", show_default=False)],
) -> None:
    """Print the report of DIR, and write it there: report.md, and a picture for each suite in plots/."""
    with errors_as_exits():
        from ..evals.pages import write

        page, _ = write(folder)
        Output(sys.stdout).write(safe(page))


@app.command("inspect", cls=OneCommand)
def inspect(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="What --out was.", show_default=False)],
) -> None:
    """Write what is kept in DIR as logs of inspect-ai, in DIR/inspect, and print their paths.

    "inspect view --log-dir DIR/inspect" shows them. Needs the extra "eval".
    """
    with errors_as_exits():
        from ..evals.inspect_logs import write

        out = Output(sys.stdout)
        for path in write(folder):
            out.line(safe(str(path)))


@app.command("limits", cls=OneCommand)
def limits(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="What --out was.", show_default=False)],
    profile: Annotated[
        str, typer.Option(metavar="NAME", help="Of the model that was measured: frontier or small.")
    ] = "frontier",
) -> None:
    """Print what DIR says of when auto should answer how: rows for strategies/measured.json."""
    with errors_as_exits():
        import json

        from ..evals.kept import read_samples
        from ..evals.limits import measured
        from ..prompts import get_profile

        rows = measured(read_samples(folder), get_profile(profile).name)
        out = Output(sys.stdout)
        for row in rows:
            out.line(json.dumps(row, ensure_ascii=False))
        if not rows:
            complain("there is no kind of question that both direct and rlm were asked: nothing to say")


@app.command("run", cls=OneCommand)
def run(
    suites: Annotated[
        str,
        typer.Argument(
            metavar="SUITE",
            help="As in the list; several with commas; all, or fetched: all whose data is fetched once.",
            show_default=False,
        ),
    ],
    out: Annotated[
        Path | None,
        typer.Option(
            "--out",
            metavar="DIR",
            help="Where all of it is kept; the same again goes on where it was stopped. It has to be named.",
            show_default=False,
        ),
    ] = None,
    model: Models = None,
    sub_model: SubModels = None,
    strategies: Annotated[
        str, typer.Option(metavar="NAMES", help="With commas. [default: rlm]", show_default=False)
    ] = "rlm",
    sizes: Annotated[
        str,
        typer.Option(
            metavar="LIST",
            help="Tokens of the input, of four characters each, with commas. [default: 8k,32k]",
            show_default=False,
        ),
    ] = "8k,32k",
    seeds: Annotated[
        int,
        typer.Option(
            min=1, max=MOST_SEEDS, metavar="N", help="Contexts of each size. [default: 5]", show_default=False
        ),
    ] = 5,
    tasks: Annotated[
        str, typer.Option(metavar="NAMES", help="These tasks of the suites alone.", show_default=False)
    ] = "",
    usd: Annotated[
        float | None,
        typer.Option(
            "--usd", metavar="X", help="Spend at most X dollars for each sample.", show_default=False
        ),
    ] = None,
    seconds: Annotated[
        float | None, typer.Option(metavar="S", help="Stop each sample after this time.", show_default=False)
    ] = None,
    settings: ModelSettingsGiven = None,
    jobs: Annotated[
        int | None,
        typer.Option(
            min=1,
            metavar="N",
            help=f"Samples at once. [default: {JOBS}; 1 for a model on this machine]",
            show_default=False,
        ),
    ] = None,
    data: Annotated[
        Path | None,
        typer.Option(metavar="DIR", help="Where examples/data of the repository lies.", show_default=False),
    ] = None,
    quiet: Quiet = False,
) -> None:
    """Ask the samples of SUITE that are not kept in DIR yet, and write the report of all.

    --usd and --seconds are limits of each sample. The model may be "oracle", or "oracle:0.9": a script that
    makes no mistake, or is right so often; what is lost with it is lost by the engine.
    """
    with errors_as_exits():
        from ..budget import Budget
        from ..errors import ConfigError
        from ..evals.data import Data
        from ..evals.kept import Kept
        from ..evals.runner import Means, Plan
        from ..evals.sample import parse_size
        from ..evals.suites import chosen
        from ..models.spelled import parsed
        from .pulling import shown_progress

        plan = Plan(
            tuple(chosen(suites)),
            tuple(sorted({parse_size(size) for size in sizes.split(",")})),
            seeds,
            _strategies(strategies),
            tuple(name.strip() for name in tasks.split(",") if name.strip()),
            Data(data),
        )
        if out is None:
            raise ConfigError("--out DIR is missing: name the folder that all of it is kept in")
        means = Means(out, Budget(usd=usd, seconds=seconds), parsed(settings or ()))
        asked = _settings(usd, seconds, settings)
        Kept.check(out, asked)
        solver, at_once = _solver(model, sub_model, plan, means, quiet=quiet)
        try:
            with shown_progress(quiet=quiet) as progress:
                plan.fetch(progress)
            plan.check()
            with Kept.open(out, asked, _command()) as kept:
                stopped = _measure(plan, solver, kept, jobs or at_once, quiet=quiet)
        finally:
            solver.close()
        _end(out, stopped=stopped, quiet=quiet)
    raise typer.Exit(CANCELLED if stopped else 0)


def _strategies(given: str) -> tuple[str, ...]:
    from ..errors import WrongSetting
    from ..strategies import checked

    try:
        return tuple(checked(name) for name in dict.fromkeys(each.strip() for each in given.split(",")))
    except WrongSetting as error:
        raise WrongSetting("strategies", error.value, error.wanted) from None


def _solver(
    model: list[str] | None, sub_model: list[str] | None, plan: Plan, means: Means, *, quiet: bool
) -> tuple[Solver, int]:
    """Who is asked, and how many samples at once."""
    from ..errors import ConfigError, UnknownModel
    from ..evals import runner
    from ..evals.oracle import Oracle, meant_oracle
    from ..models.discover import resolve_pair
    from .pulling import shown_progress

    oracle = Oracle.of(model[0]) if model and len(model) == 1 else None
    for name in model or () if oracle is None else ():
        if meant_oracle(name):
            raise UnknownModel(f"there is no model {name!r}. Did you mean 'oracle'?")
    if oracle is not None:
        if sub_model:
            raise ConfigError("--sub-model: the oracle is its own sub-model")
        if plan.strategies != ("rlm",):
            raise ConfigError("--strategies: the oracle writes programs, and only rlm runs them")
        return runner.Oracles(oracle, means), 2
    with shown_progress(quiet=quiet) as progress:
        root, sub = resolve_pair(named(model), named(sub_model), progress=progress)
    return runner.Models(root, sub, means), JOBS if root.info.parallel is None else 1


def _settings(usd: float | None, seconds: float | None, settings: list[str] | None) -> Settings:
    """What all samples of a folder have in common."""
    import platform

    from .. import __version__

    return {
        "usd": usd,
        "seconds": seconds,
        "set": ", ".join(settings) if settings else None,
        "unspool": __version__,
        "python": ".".join(platform.python_version_tuple()[:2]),  # some suites are made of its library
    }


def _command() -> str:
    """What was typed, so that it can be typed again."""
    from ..evals.report import spelled

    return spelled(["unspool", *sys.argv[1:]])


def _measure(plan: Plan, solver: Solver, kept: Kept, jobs: int, *, quiet: bool) -> bool:
    """Whether it was stopped on the way."""
    import asyncio

    from ..evals.runner import measure

    err = Output(None if quiet else sys.stderr)
    missing = plan.count(solver, kept)
    if missing < plan.total:
        err.line(f"{plan.total - missing:,} of {plan.total:,} samples are there already")
    done = 0

    def told(record: Record) -> None:
        nonlocal done
        done += 1
        err.line(f"{done:,}/{missing:,}  {safe(_line(record))}")

    try:
        asyncio.run(measure(plan, solver, kept, told, jobs))
    except KeyboardInterrupt:
        complain(f"stopped: {done:,} of {missing:,} samples are kept; the same command goes on")
        return True
    return False


def _line(record: Record) -> str:
    from ..evals.sample import size_words

    wrong = f"  {record.failure}" if record.failure else ""
    return (
        f"{record.suite}/{record.task} {size_words(record.size)} seed {record.seed} {record.strategy}: "
        f"{record.score:.2f} in {duration(record.seconds)}{wrong}"
    )


def _end(folder: Path, *, stopped: bool, quiet: bool) -> None:
    """The scores on stdout, and where the report is."""
    from ..evals.kept import read_samples
    from ..evals.pages import REPORT, write
    from ..evals.sample import size_words

    if stopped and not read_samples(folder):
        return
    _, rows = write(folder)
    out = Output(sys.stdout)
    for row in rows:
        out.line(
            safe(
                f"{row.suite:<10} {size_words(row.size):>6} {row.strategy:<17} {row.score.words}  {row.model}"
            )
        )
    if not quiet:
        Output(sys.stderr).line(f"report: {folder / REPORT}")
