"""``unspool runs``: the runs that are kept, and what can be done with them."""

from __future__ import annotations

import sys
import time
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from .commands import Commands, OneCommand
from .exits import errors_as_exits
from .options import RunsFolder
from .terminal import Output, columns, complain, cut, safe

if TYPE_CHECKING:
    from ..events import RunEnded, RunStarted
    from ..journal import Journal
    from ..run_index import RunRow
    from ..types import Limit

app = typer.Typer(no_args_is_help=True, cls=Commands)

LAST = "last"


def find_run(journal: Journal, name: str) -> str:
    """The id that a person means: whole, its start, or the last run."""
    from ..errors import NoSuchRun

    runs = journal.runs()
    if name == LAST and not runs:
        raise NoSuchRun(f"there are no runs in {journal.folder}, so no last one; --runs DIR names a folder")
    if name == LAST:
        return runs[-1]
    found = [run for run in runs if name and run.startswith(name)]  # nothing is the start of no run
    if name in runs or not found:
        return name  # what is not there is refused where it is read
    if len(found) > 1:
        raise NoSuchRun(f"{name!r} is the start of {len(found)} runs: {', '.join(found[:5])}")
    return found[0]


def journal_in(folder: Path | None) -> Journal:
    """Where the runs are that are to be read. A folder that is named and is not there is refused."""
    from ..errors import WrongSetting
    from ..journal import Journal

    if folder is not None and not folder.is_dir():
        wrong = "it is a file: name a folder" if folder.exists() else "there is no such folder"
        raise WrongSetting("runs", str(folder), wrong)
    return Journal(folder)


# The option that raises a limit.
RAISED_BY: Mapping[Limit, str] = {
    "turns": "--max-turns", "seconds": "--seconds", "usd": "--usd", "calls": "--calls", "tokens": "--tokens"
}  # fmt: skip


def to_go_on(run: str, folder: Path | None, ended: RunEnded | None, started: RunStarted | None) -> str:
    """What a person types to go on with a run; nothing where that would not help.

    >>> to_go_on("r1", None, None, None)
    'to go on: unspool runs resume r1'
    """
    if _ends_the_same(ended, started):
        return ""
    if started is not None and (model := of_a_program(started)):
        limit = " with a higher limit" if ended is not None and ended.limit is not None else ""
        return f"to go on{limit}: rlm.resume({run!r}) in Python, where the model {model} is"
    command = f"unspool runs resume {run}{runs_option(folder)}"
    if ended is not None and ended.limit is not None:
        return f"to go on with a higher limit: {command} {RAISED_BY[ended.limit]} N"
    if ended is not None and ended.status == "failed" and not ended.turns and not ended.usage.calls:
        return f"nothing was asked yet. Once that is mended: {command}"  # the sandbox, or the input
    return f"to go on: {command}"


def _ends_the_same(ended: RunEnded | None, started: RunStarted | None) -> bool:
    """Whether a run that is resumed would ask no model, whatever the limits are. All reasons for that:

    - it was answered, or it is a session, which no model has driven;
    - what the model said has ended it: the same code again and again, or none;
    - its strategy takes no more turns.

    What else ends a run (a limit, a model that fails, a REPL or a disk that is lost, who stopped it) is asked
    again, or tried again, when it is resumed.
    """
    from ..types import DRIVEN

    if started is not None and started.model.startswith(DRIVEN):
        return True
    if ended is None:
        return False
    own = started.settings.get("strategy_turns") if started else None
    used = ended.limit == "turns" and isinstance(own, int) and ended.turns >= own
    return ended.status == "answered" or ended.stuck or used


def of_a_program(started: RunStarted) -> str | None:
    """The model of the run that no name leads to: it was made in Python."""
    from ..errors import UnknownModel
    from ..models.naming import check_name, split_names

    for name in (*split_names(started.model), *split_names(started.sub_model)):
        try:
            check_name(name)
        except UnknownModel:
            return name
    return None


def runs_option(folder: Path | None) -> str:
    """The option that names this folder, as it is typed; nothing for the one that is taken without it."""
    import shlex

    from ..folders import runs_folder

    return "" if folder is None or folder == runs_folder() else f" --runs {shlex.quote(str(folder))}"


def hint(
    ended: RunEnded | None, started: RunStarted | None, folder: Path | None, *, kept: bool = True
) -> None:
    """On stderr: how to go on with a run that was not answered."""
    if ended is not None and ended.run and ended.status != "answered":
        again = "" if kept else ", with the same input piped in"
        if told := to_go_on(ended.run, folder, ended, started):
            Output(sys.stderr).line(f"{told}{again}")


@app.command("list", cls=OneCommand)
def list_(
    runs: RunsFolder = None,
    number: Annotated[int, typer.Option("-n", min=1, metavar="COUNT", help="So many of the last.")] = 20,
    as_object: Annotated[bool, typer.Option("--json", help="Print one JSON object a run.")] = False,
) -> None:
    """List the last runs, the newest at the end."""
    with errors_as_exits():
        from ..run_index import RunIndex
        from .plain import as_json

        journal = journal_in(runs)
        rows = RunIndex(journal).rows()
        out = Output(sys.stdout)
        for row in rows[-number:]:
            out.line(as_json(_fields(row)) if as_object else _told(row, columns(sys.stdout)))
        if not rows:
            Output(sys.stderr).line(f"no runs in {journal.folder}")


def _fields(row: RunRow) -> dict[str, object]:
    """What is told of a run; the stamp is the index's own."""
    return {name: value for name, value in asdict(row).items() if name != "stamp"}


def _told(row: RunRow, width: int | None) -> str:
    """The run in a few lines; on a terminal each in one of its rows, at 40 columns too."""
    from .report import count, money

    when = time.strftime("%Y-%m-%d %H:%M", time.localtime(row.started)) if row.started else "?"
    amounts = f"{when}  {count(row.turns, 'turn')}, {count(row.sub_calls, 'sub-call')}, {money(row.cost)}"
    from ..run_index import BROKEN

    if row.state == BROKEN:
        lines: tuple[str, ...] = (f"{row.id}  {row.state}", f"    to remove it: unspool runs rm {row.id}")
    else:
        lines = (f"{row.id}  {row.state}", f"    {amounts}", f"    {row.query}")
    return "\n".join(cut(safe(line), width) for line in lines)


@app.command("rm", cls=OneCommand)
def remove(
    names: Annotated[list[str], typer.Argument(metavar="ID", help="As in the list.", show_default=False)],
    runs: RunsFolder = None,
) -> None:
    """Remove runs and all that was kept of them."""
    with errors_as_exits():
        journal = journal_in(runs)
        for run in [find_run(journal, name) for name in names]:
            journal.remove(run)
            complain(f"removed {run}")


@app.command("gc", cls=OneCommand)
def collect(
    runs: RunsFolder = None,
    days: Annotated[
        float | None,
        typer.Option(min=0, metavar="D", help="Remove runs older than D days.", show_default=False),
    ] = None,
    keep: Annotated[
        int | None,
        typer.Option(min=0, metavar="N", help="Keep the last N runs alone.", show_default=False),
    ] = None,
    size: Annotated[
        float | None,
        typer.Option(min=0, metavar="MB", help="Keep the last runs that fit.", show_default=False),
    ] = None,
    dry: Annotated[bool, typer.Option("--dry-run", help="Remove nothing; say what would be.")] = False,
) -> None:
    """Remove old runs, by age, number or size. Runs that are still going stay."""
    with errors_as_exits():
        from ..errors import ConfigError
        from ..run_index import RUNNING, RunIndex

        if days is None and keep is None and size is None:
            raise ConfigError("gc: say what may go: --days D, --keep N or --size MB")
        journal = journal_in(runs)
        rows = RunIndex(journal).rows()
        old = [row for row in _unwanted(rows, days, keep, size) if row.state != RUNNING]
        unwanted = {row.id for row in old}
        for row in rows:
            if not dry:
                (journal.remove if row.id in unwanted else journal.tidy)(row.id)
            if row.id in unwanted:
                complain(f"{'would remove' if dry else 'removed'} {row.id}")
        freed = sum(row.size for row in old) / 1e6
        complain(f"{len(old)} of {len(rows)} runs, {freed:,.1f} MB")


def _unwanted(rows: list[RunRow], days: float | None, keep: int | None, size: float | None) -> list[RunRow]:
    """The runs beyond any of the limits, the oldest first."""
    now, room, unwanted = time.time(), (size or 0.0) * 1e6, []
    for place, row in enumerate(reversed(rows)):
        room -= row.size
        too_old = days is not None and now - (row.ended or row.started) > days * 86_400
        if too_old or (keep is not None and place >= keep) or (size is not None and room < 0):
            unwanted.append(row)
    return unwanted[::-1]
