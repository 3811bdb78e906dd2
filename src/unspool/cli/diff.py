"""``unspool runs diff``: two runs, where they part, what each cost and answered.

Contract: from the journals alone; the first run is A, the second B. Each row fits a terminal of 40 columns
and more, or what COLUMNS says; a word that is longer is left whole, so that a path can be copied.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated

import typer

from .exits import errors_as_exits
from .options import RunsFolder
from .runs import find_run, journal_in

if TYPE_CHECKING:
    from ..compare import Figures, Parting
    from ..types import CellRun, Node, Turn
    from .paint import Row

_LABEL = 10  # columns of the names of figures
_COLUMN = 34  # of one run's figures, where the width is not known
_MOST_LINES = 60  # of code or output that is shown

First = Annotated[str, typer.Argument(metavar="A", help="As in the list, or its start.", show_default=False)]
Second = Annotated[str, typer.Argument(metavar="B", help="The other run.", show_default=False)]


@dataclass(frozen=True, slots=True)
class _Run:
    name: str
    figures: Figures
    root: Node | None


def diff(first: First, second: Second, runs: RunsFolder = None) -> None:
    """Put two runs side by side: where they part, what each cost and answered."""
    with errors_as_exits():
        from ..compare import Figures
        from ..trace import folded
        from .paint import Paper

        journal = journal_in(runs)
        both = []
        for name in (find_run(journal, first), find_run(journal, second)):
            found = folded(journal.read(name))
            root = found.root()
            told = Figures.of(found.started, found.ended, root, found.roots(), found.last, found.lasted)
            both.append(_Run(name, told, root))
        paper = Paper.stdout()
        paper.write(_head(both), hang=2)
        paper.write(_table(both, paper.page))
        paper.write(_parting(*both), hang=None if paper.width else 4)
        paper.write(_answers(both), hang=2)


def _head(both: Sequence[_Run]) -> Iterator[Row]:
    from .paint import BOLD, DIM, part

    yield (part(f"A  {both[0].name}", BOLD),)
    yield (part(f"B  {both[1].name}", BOLD),)
    yield (part(_same(both), DIM),)
    yield ()


def _table(both: Sequence[_Run], width: int | None) -> Iterator[Row]:
    from rich.cells import set_cell_size

    from .paint import DIM, part
    from .terminal import cut, cut_inside

    column = _COLUMN if width is None else max(8, (width - _LABEL) // 2 - 1)
    for name, *values in zip(_NAMES, *map(_figures, "AB", both), strict=True):
        fit = cut_inside if name in _NAMED else cut
        shown = [set_cell_size(fit(value.replace("\n", " "), column), column) for value in values]
        yield (part(name.ljust(_LABEL), DIM), part(f"{shown[0]} "), part(shown[1].rstrip()))
    yield ()


_NAMES = (
    "",
    "question",
    "status",
    "model",
    "sub-calls",
    "cost",
    "tokens",
    "time",
    "turns",
    "calls",
    "children",
)
_NAMED = ("model", "sub-calls")  # by their ends, too


def _figures(letter: str, run: _Run) -> tuple[str, ...]:
    from ..safe_text import one_line
    from .report import duration, money
    from .tree import short_tokens

    told = run.figures
    seconds = told.lasted if told.seconds is None else told.seconds
    return (
        letter,
        one_line(told.query) if told.query is not None else "?",
        told.status or "not ended",
        told.model or "?",
        told.sub_model or "?",
        money(told.cost),
        short_tokens(told.usage) or "none",
        "" if told.started is None else duration(seconds),
        f"{told.turns:,}",
        f"{told.sub_calls:,}" + (f", {told.failed_calls:,} failed" if told.failed_calls else ""),
        f"{told.children:,}",
    )


def _same(both: Sequence[_Run]) -> str:
    from ..compare import Same

    one, two = (run.figures for run in both)
    begun = one.started is not None and two.started is not None
    return Same.of(one, two).told if begun else "one of them has not begun"


def _parting(one: _Run, two: _Run) -> Iterator[Row]:
    """Where they part, and how."""
    from ..compare import TOLD, parting
    from .paint import BOLD, part

    if one.root is None or two.root is None:
        return
    where = parting(one.root, two.root)
    if where is None:
        yield (part("they did the same, turn by turn", BOLD),)
        return
    name = f"turn {where.turn}" if where.turn else "first look"
    yield (part(f"they part in {name}", BOLD),)
    yield (part(TOLD[where.what]),)
    yield from _how(where, _turn(one.root, where.turn), _turn(two.root, where.turn))


def _turn(root: Node, number: int) -> Turn | None:
    return next((turn for turn in root.turns if turn.number == number), None)


def _how(where: Parting, one: Turn | None, two: Turn | None) -> Iterator[Row]:
    from ..words import words

    if one is None or two is None:
        return
    if where.what == "words":
        yield from _lines(words(one), words(two))
        return
    if where.cells is None:
        return
    first, second = (
        next(cell for cell in turn.cells if cell.number == number)
        for turn, number in zip((one, two), where.cells, strict=True)
    )
    if where.what == "code":
        yield from _lines(first.code, second.code)
    elif where.what == "output":
        yield from _lines(first.output, second.output)
    elif where.what == "outcome":
        yield from _lines(first.outcome or "not ended", second.outcome or "not ended")
    elif where.calls is not None:
        yield from _calls(where.calls, first, second)


def _calls(ids: tuple[int | None, int | None], one: CellRun, two: CellRun) -> Iterator[Row]:
    from .paint import BOLD, part
    from .turns import calls

    for letter, number, cell in zip("AB", ids, (one, two), strict=True):
        yield (part(letter, BOLD), part("" if number is not None else "  has no such sub-call"))
        yield from calls(call for call in cell.sub_calls if call.id == number)


def _lines(one: str, two: str) -> Iterator[Row]:
    """What both have, and what one of them has."""
    from ..compare import lines
    from .paint import DIM, GREEN, PLAIN, RED, part

    styles = {" ": PLAIN, "-": RED, "+": GREEN}
    signs = {" ": "    ", "-": "  A ", "+": "  B "}
    found = list(lines(one, two))
    for sign, text in found[:_MOST_LINES]:
        yield (part(signs[sign], styles[sign]), part(text, styles[sign]))
    if len(found) > _MOST_LINES:
        yield (part(f"  and {len(found) - _MOST_LINES:,} lines more", DIM),)


def _answers(both: Sequence[_Run]) -> Iterator[Row]:
    from .paint import BOLD, DIM, block, part

    for letter, run in zip("AB", both, strict=True):
        told = run.figures
        yield ()
        if told.answer:
            yield (part(f"{'answer' if told.draft is None else 'draft'} of {letter}", BOLD),)
            yield from block(told.answer)
        else:
            yield (part(f"{letter} has no answer", BOLD),)
            yield (part(f"  {told.status}: {told.reason}" if told.status else "  not ended", DIM),)
