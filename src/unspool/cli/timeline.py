"""What went on when, in lines of plain text: turns, cells, and the sub-calls of each cell together. Pure.

>>> from unspool.types import CellRun, Node, SubCall, Turn
>>> calls = tuple(SubCall(n, "0", 1, 1, 1, n, "sub", "m", "?", started=12.0, ended=14.0) for n in (1, 2))
>>> cell = CellRun(1, "…", outcome="ok", sub_calls=calls, started=12.0, ended=18.0)
>>> node = Node("0", None, 0, "?", "", turns=(Turn(1, text="", cells=(cell,), seconds=2.0, started=10.0),))
>>> for line in timeline([node]):
...     print(line)
  0 ms   2.0 s  ##########..............................  node 0, turn 1: model
 2.0 s   6.0 s  ..........##############################  node 0, turn 1: cell 1
 2.0 s   2.0 s  ..........##########....................  node 0, turn 1: 2 sub-calls of cell 1
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

from ..types import Node
from .report import count, duration

_WIDTH = 40
_MOST = 1_000  # lines


class _Bar(NamedTuple):
    start: float
    end: float
    name: str


def timeline(roots: Sequence[Node], lived: Callable[[float], float] = float) -> Iterator[str]:
    """A line for each: after how long it began, how long it took, where that lies in the whole, what it was.
    What has not ended is left out. ``lived`` is the clock of a run that was resumed, which stood still
    (:meth:`unspool.trace.TraceBuilder.lived`)."""
    bars = [bar for root in roots for node in root.walk() for bar in _of_node(node, lived)]
    if not bars:
        return
    begun, until = min(bar.start for bar in bars), max(bar.end for bar in bars)
    scale = _WIDTH / max(until - begun, 1e-9)
    for bar in bars[:_MOST]:
        first = min(_WIDTH - 1, int((bar.start - begun) * scale))
        last = max(first + 1, min(_WIDTH, round((bar.end - begun) * scale)))
        drawn = "." * first + "#" * (last - first) + "." * (_WIDTH - last)
        yield f"{duration(bar.start - begun):>6}  {duration(bar.end - bar.start):>6}  {drawn}  {bar.name}"
    if len(bars) > _MOST:
        yield f"and {len(bars) - _MOST:,} more"


def _of_node(node: Node, lived: Callable[[float], float]) -> Iterator[_Bar]:
    for turn in node.turns:
        place = f"node {node.id}, turn {turn.number}"
        if turn.number and turn.started is not None and turn.seconds is not None:
            begun = lived(turn.started)
            yield _Bar(begun, begun + turn.seconds, f"{place}: model")
        for cell in turn.cells:
            if cell.started is not None and cell.ended is not None:
                yield _Bar(lived(cell.started), lived(cell.ended), f"{place}: cell {cell.number}")
            times = [
                (lived(c.started), lived(c.ended))
                for c in cell.sub_calls
                if c.started is not None and c.ended is not None
            ]
            if times:
                starts, ends = zip(*times, strict=True)
                told = f"{count(len(times), 'sub-call')} of cell {cell.number}"
                yield _Bar(min(starts), max(ends), f"{place}: {told}")
