"""Options that several commands have, with one wording."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

RunsFolder = Annotated[
    Path | None,
    typer.Option("--runs", metavar="DIR", help="The folder of the runs; default: the platform's for data."),
]
RunName = Annotated[
    str, typer.Argument(metavar="ID", help='As in the list, its start, or "last".', show_default=False)
]
AsObject = Annotated[
    bool, typer.Option("--json", help="Print one JSON object with the answer and the figures.")
]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="Show no progress.")]
ShowCode = Annotated[bool, typer.Option("--show-code", help="Keep the code and its output on the screen.")]
Models = Annotated[
    list[str] | None,
    typer.Option(
        "--model",
        metavar="NAME",
        help="PROVIDER:MODEL, local:NAME or command:PROGRAM; several: the first that answers. "
        "Default: one that is found.",
        show_default=False,
    ),
]
SubModels = Annotated[
    list[str] | None,
    typer.Option(
        "--sub-model",
        metavar="NAME",
        help="The model for sub-calls; default: what suits the model.",
        show_default=False,
    ),
]
UsdLimit = Annotated[
    float | None,
    typer.Option("--usd", metavar="X", help="Spend at most X dollars in all.", show_default=False),
]
TokensLimit = Annotated[
    int | None,
    typer.Option("--tokens", metavar="N", help="Read and write at most N tokens.", show_default=False),
]
CallsLimit = Annotated[
    int | None, typer.Option("--calls", metavar="N", help="Make at most N sub-calls.", show_default=False)
]
ModelSettingsGiven = Annotated[
    list[str] | None,
    typer.Option(
        "--set",
        metavar="NAME=VALUE",
        help="Of the models: temperature, max_tokens, seed, effort, stop, or price (dollars for a "
        "million tokens, READ/WRITTEN); root.NAME or sub.NAME for one.",
        show_default=False,
    ),
]
PriceGiven = Annotated[
    list[str] | None,
    typer.Option(
        "--set",
        metavar="price=READ/WRITTEN",
        help="What the model costs, in dollars for a million tokens, where no list says it: for --usd.",
        show_default=False,
    ),
]
MaxTurns = Annotated[
    int,
    typer.Option(
        "--max-turns",
        min=1,
        metavar="N",
        help="Replies of the model in a run at most. [default: 20]",
        show_default=False,
    ),
]
MaxDepth = Annotated[
    int,
    typer.Option(
        "--max-depth", min=0, metavar="N", help="Levels of children at most. [default: 1]", show_default=False
    ),
]
SandboxOption = Annotated[
    str,
    typer.Option(
        "--sandbox",
        metavar="NAME",
        help="Where code runs: auto (process; on macOS seatbelt), process, seatbelt, none, jupyter, or "
        "command:CMD for a container or another machine, such as "
        '"command:docker run -i --rm --network none IMAGE python3 -". [default: auto]',
        show_default=False,
    ),
]
StrategyOption = Annotated[
    str,
    typer.Option(
        "--strategy",
        metavar="NAME",
        help="rlm, no_subcalls, direct, codeact, codeact_subcalls, compaction, retrieval, map_reduce, auto. "
        "[default: rlm]",
        show_default=False,
    ),
]
Cache = Annotated[bool, typer.Option("--cache", help="Use and keep replies of sub-calls, in later runs too.")]
BudgetFile = Annotated[
    Path | None,
    typer.Option(
        "--budget",
        metavar="FILE",
        help="Share the limits with all that name this file; it is made on first use.",
        show_default=False,
    ),
]
NoCache = Annotated[bool, typer.Option("--no-cache", help="Ask even what is known, and keep nothing.")]


def check_runs(runs: Path | None, *, no_journal: bool) -> None:
    """Whether the runs that are to come can be kept, before a model is pulled or a port is taken for them.
    Raises ``WrongSetting`` and ``JournalError``."""
    from ..journal import Journal, store_of

    store = store_of(not no_journal and (runs or True))
    if isinstance(store, Journal):
        store.check()
