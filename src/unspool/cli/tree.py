"""A run as a tree: its nodes, what each turn did, and what each subtree took. Pure.

Contract: one row a node and one a turn, children under the turn that asked for them; a child's question
ends its row. A narrow terminal cuts what is dim before what failed; where nothing is cut and a width is told,
why a node failed goes below it. Amounts that are not known are not shown as 0.

>>> from unspool.cli.paint import painted
>>> from unspool.types import CellRun, Node, Turn
>>> cell = CellRun(1, "print(1)", outcome="ok", seconds=0.2)
>>> turn = Turn(1, text="", cells=(cell,), started=5.0, ended=6.5)
>>> for row in tree(Node("0", None, 0, "?", "", turns=(turn,), started=5.0)):
...     print(painted(row, colour=False))
0  not ended
└─ turn 1  1.5 s  1 line of code
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from ..safe_text import one_line
from ..types import CellRun, Node, Turn, Usage
from .paint import BOLD, CYAN, DIM, GREEN, PLAIN, RED, Part, Row, part, wrapped
from .report import count, duration, money

_OUTCOMES = {
    "interrupted": "stopped; variables kept",
    "rolled_back": "stopped; undone",
    "restarted": "stopped; the REPL began anew",
    "submitted": "submitted",
}
TOLD_WAIT = 0.1  # seconds of waiting for the sandbox that are worth a word
_QUESTION = 200  # characters of a child's question


def tree(
    node: Node, *, prefix: str = "", mark: str = "", now: float | None = None, page: int | None = None
) -> Iterator[Row]:
    """The rows of a node and of all below it. ``now`` is the clock of a node that goes on; None: nobody
    goes on with what has not ended. ``page``: columns in which the reasons are to fit."""
    row, reason = (Part(prefix + mark, DIM), *_node(node, now)), _reason(node)
    if mark:
        prefix += "   " if mark.startswith("└") else "│  "
    if page is None or not reason or _wide((*row, *reason)) <= page:
        yield (*row, *reason)
    else:
        yield row
        begin = Part(prefix + ("│  " if node.turns else "   "), DIM)
        told = tuple(Part(each.text.strip(), each.style) for each in reason)
        yield from ((begin, *line) for line in wrapped(told, max(1, page - _wide((begin,))), 1))
    for turn in node.turns:
        last = turn is node.turns[-1]
        yield (Part(f"{prefix}{'└─ ' if last else '├─ '}", DIM), *_turn(turn, now))
        below = prefix + ("   " if last else "│  ")
        children = _asked_in(node, turn, last)
        for child in children:
            branch = "└─ " if child is children[-1] else "├─ "
            yield from tree(child, prefix=below, mark=branch, now=now, page=page)


def _wide(row: Row) -> int:
    from rich.cells import cell_len

    return sum(cell_len(each.text) for each in row)


def _asked_in(node: Node, turn: Turn, last: bool) -> list[Node]:
    cells = {cell.number for cell in turn.cells}
    return [child for child in node.children if child.cell in cells or (last and not child.cell)]


def status_style(status: str | None) -> str:
    return {None: CYAN, "answered": GREEN, "failed": RED, "cancelled": RED}.get(status, PLAIN)


def took(
    started: float | None, ended: float | None, now: float | None = None, *, without: float = 0.0
) -> str:
    """The time between the two; of what goes on, so far. ``without``: seconds that are told apart."""
    until = now if ended is None else ended
    return duration(max(0.0, until - started - without)) if started is not None and until is not None else ""


def sandbox_start(turn: Turn) -> str:
    """How long a turn waited for the sandbox, where that is worth a word."""
    return f"{duration(turn.waited)} until the sandbox had started" if turn.waited >= TOLD_WAIT else ""


def short_tokens(usage: Usage) -> str:
    """
    >>> short_tokens(Usage(calls=1, input_tokens=12_340, output_tokens=60)), short_tokens(Usage(calls=1))
    ('12.4k tokens', 'tokens unknown')
    """
    if not usage.calls:
        return ""
    if usage.input_tokens is None and usage.output_tokens is None:
        return "tokens unknown"
    total = (usage.input_tokens or 0) + (usage.output_tokens or 0)
    shown = f"{total}" if total < 1000 else f"{total / 1e3:.1f}k" if total < 1e6 else f"{total / 1e6:.1f}M"
    return f"{'at least ' if usage.calls_unmeasured else ''}{shown} tokens"


def _node(node: Node, now: float | None) -> Iterator[Part]:
    usage, cost = node.spent()
    yield part(node.id, BOLD)
    yield part(f"  {node.status or ('not ended' if now is None else 'going on')}", status_style(node.status))
    paid = money(cost) if usage.calls else ""  # what had no reply is in no figure
    figures = (took(node.started, node.ended, now, without=node.paused), paid, short_tokens(usage))
    yield part("".join(f"  {figure}" for figure in figures if figure))
    if node.parent is not None:
        yield part(f"  {one_line(node.query, _QUESTION)}", DIM)


def _reason(node: Node) -> Row:
    if node.status in (None, "answered"):
        return ()
    return (part(f"  ({one_line(node.reason)})", status_style(node.status)),)


def _turn(turn: Turn, now: float | None) -> Iterator[Part]:
    name = f"turn {turn.number}" if turn.number else "first look"
    time = took(turn.started, turn.ended, now, without=turn.waited + turn.paused)
    yield part(f"{name}  {time}  " if time else f"{name}  ")
    if turn.text is None and turn.number and not turn.cells:
        yield part("no reply", CYAN if now is not None else DIM)
        return
    for number, (told, style) in enumerate(_told(turn)):
        yield part(f", {told}" if number else told, style)
    for cell in turn.cells:
        if cell.error is not None:
            yield part(f"  {cell.error.type}: {one_line(cell.error.message, _QUESTION)}", RED)


def _told(turn: Turn) -> Iterator[tuple[str, str]]:
    """What there is to say of a turn, and in which style."""
    lines = sum(len(cell.code.strip().splitlines()) for cell in turn.cells)
    yield f"{count(lines, 'line')} of code" if turn.cells else "nothing to run", DIM
    yield from _calls(turn.cells)
    if waited := sandbox_start(turn):
        yield waited, DIM
    for cell in turn.cells:
        if cell.outcome is None:
            yield "not ended", DIM
        elif cell.outcome in _OUTCOMES:
            yield _OUTCOMES[cell.outcome], DIM if cell.outcome == "submitted" else RED


def calls_told(cells: Sequence[CellRun]) -> str:
    """How many sub-calls these cells made, and what became of them."""
    return ", ".join(told for told, _ in _calls(cells))


def _calls(cells: Sequence[CellRun]) -> Iterator[tuple[str, str]]:
    calls = [call for cell in cells for call in cell.sub_calls]
    if not calls:
        return
    refused = sum(call.refused for call in calls)
    failed = sum(call.error is not None for call in calls) - refused
    cached = sum(call.cached for call in calls)
    still = sum(call.ended is None for call in calls)
    yield count(len(calls) - refused, "sub-call"), DIM
    marks = (
        (refused, "refused for a limit", RED),
        (failed, "failed", RED),
        (cached, "from the cache", DIM),
        (still, "without a reply", DIM),
    )
    yield from ((f"{number:,} {what}", style) for number, what, style in marks if number)
