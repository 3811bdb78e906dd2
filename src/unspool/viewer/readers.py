"""The map of the input: who read which ranges of it.

Contract: pure, from events alone, like the coverage of a run, whose figures it tells beside them. A reader is
a print or a sub-call of the node, or of one below it, whose ranges are then mapped to the node's own input. A
reader of which nothing is known is counted, never left out. Searches by code are not in it: nothing traces
them.

>>> from unspool.events import CellEnded, CellStarted, ContextMeasured, NodeStarted, TurnStarted
>>> seen = Seen.of("r", [
...     NodeStarted(node="0", parent=None, depth=0, query="?", context="9 characters"),
...     ContextMeasured(node="0", size=9, parts=1, sizes=(9,)),
...     TurnStarted(node="0", turn=1),
...     CellStarted(node="0", turn=1, cell=1, code="print(context[:4])"),
...     CellEnded(
...         node="0", turn=1, cell=1, outcome="ok", output="text", printed=4, omitted=0, error=None,
...         notes=(), seconds=0.1, own_seconds=0.1, ranges=((0, 0, 4),),
...     ),
... ])
>>> [(reader.kind, reader.turn, reader.ranges) for reader in readers(seen, "0")]
[('print', 1, ((0, 0, 4),))]
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Literal

from .. import events as ev
from ..coverage import mapped, was_sent
from ..past import PastNode
from ..reading import Citation, Range
from ..types import DRIVEN, ROOT
from .followed import Seen

MOST = 200_000  # ranges that are told


@dataclass(frozen=True, slots=True)
class Reader:
    """What a model was shown at one place. ``ranges`` None: that is not known."""

    kind: Literal["description", "print", "sub-call", "question"]
    node: str
    turn: int
    cell: int
    call: int | None
    ranges: tuple[Range, ...] | None


def readers(seen: Seen, name: str) -> Iterator[Reader]:
    """The readers of a node's input, in the order of its cells."""
    past = seen.past.nodes[name]
    measured = _measured(past)
    heard = _heard(seen, name)
    if measured is not None and measured.shown and heard:
        yield Reader("description", name, 0, 0, None, measured.shown)
    for number, cell in past.cells.items():
        turn = cell.started.turn
        for call in cell.calls:
            told = seen.calls.get(call.started.call)
            if told is not None and not was_sent(told):
                continue
            yield Reader("sub-call", name, turn, number, call.started.call, call.started.ranges)
        if cell.ended is not None and cell.ended.output and (turn or heard):
            yield Reader("print", name, turn, number, None, cell.ended.ranges)
        for child in cell.children:
            started = child.started
            if _heard(seen, started.node):
                yield Reader("question", started.node, turn, number, None, started.ranges)
            for below in readers(seen, started.node):
                if started.stretches is None:
                    yield replace(below, ranges=None)
                elif below.ranges is None:
                    if started.stretches:  # else it has nothing of this input
                        yield below
                elif ranges := tuple(mapped(below.ranges, started.stretches)):
                    yield replace(below, ranges=ranges)


def _heard(seen: Seen, name: str) -> bool:
    """Whether the model of a node has replied, so that it has read what it was first shown."""
    driven = seen.started is not None and seen.started.model.startswith(DRIVEN)
    return bool(seen.past.nodes[name].replies) or (driven and seen.past.nodes[name].started.parent is None)


def _measured(past: PastNode | None) -> ev.ContextMeasured | None:
    """The last measure counts."""
    return past.measured[-1] if past is not None and past.measured else None


def map_told(seen: Seen) -> Mapping[str, object]:
    """The map of the input of a run, of several branches by the chosen one."""
    root = seen.root.id if seen.root else ROOT
    measured = _measured(seen.past.nodes.get(root))
    coverage = seen.reading.coverage()
    told: dict[str, object] = {
        "seq": seen.seq,
        "node": root,
        "citations": [_cited(seen, each, root) for each in seen.reading.citations()],
        "coverage": {name: value for name, value in asdict(coverage).items() if name != "parts"},
    }
    if measured is None:
        return {**told, "parts": [], "readers": [], "unknown": 0, "left_out": 0}
    found, unknown, left_out, room = list[Sequence[object]](), 0, 0, MOST
    for reader in readers(seen, root):
        if reader.ranges is None:
            unknown += 1
        elif reader.ranges and len(reader.ranges) > room:
            left_out += 1
        elif reader.ranges:
            room -= len(reader.ranges)
            found.append((reader.kind, reader.node, reader.turn, reader.cell, reader.call, reader.ranges))
    parts = [
        {
            "number": number,
            "size": size,
            "name": measured.names[number] if number < len(measured.names) else None,
        }
        for number, size in enumerate(measured.sizes)
        if number not in measured.no_text
    ]
    return {
        **told,
        "parts": parts,
        "parts_in_all": measured.parts,
        "readers": found,
        "unknown": unknown,
        "left_out": left_out,
    }


def _cited(seen: Seen, cited: Citation, root: str) -> Mapping[str, object]:
    """A quote, with the range of the map that it is, where that is known."""
    told = {name: value for name, value in asdict(cited).items() if name != "place"}
    place = _home(seen, cited.node, root, _placed(cited, _measured(seen.past.nodes.get(cited.node))))
    if place is None:
        return {**told, "part": None, "start": None, "end": None}
    part, start, end = place
    return {**told, "part": part, "start": start, "end": end}


def _placed(cited: Citation, measured: ev.ContextMeasured | None) -> Range | None:
    """The range of a quote in the input of its node. In files ranges are of bytes, which the event has."""
    if cited.place is not None or measured is None or cited.offset is None:
        return cited.place
    part = None if measured.in_bytes else _part(cited.source, measured)
    return None if part is None else (part, cited.offset, cited.offset + len(cited.quote))


def _home(seen: Seen, name: str, root: str, place: Range | None) -> Range | None:
    """A range of a node's input as one of the root's; None where it is no range there."""
    while place is not None and name != root:
        started = seen.past.nodes[name].started if name in seen.past.nodes else None
        if started is None or started.parent is None:
            return None
        homes = mapped((place,), started.stretches or ())
        place = homes[0] if len(homes) == 1 else None  # else it stands at none, or at several places
        name = started.parent
    return place


def _part(source: str | None, measured: ev.ContextMeasured) -> int | None:
    if source is None:
        return 0 if measured.parts == 1 else None
    if source in measured.names:
        return measured.names.index(source)
    number = int(source) if source.isascii() and source.isdigit() else -1
    return number if 0 <= number < measured.parts and not measured.names else None
