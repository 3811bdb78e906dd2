"""Two runs side by side, as the page is told of them. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict

from ..compare import TOLD, Figures, Same, lines, paired, parting
from ..types import Turn
from ..words import words
from .followed import Seen
from .told import HEAD, Json, usage_told

_SHOWN = 8_000  # characters of an answer or of what a turn said


def beside_told(one: Seen, two: Seen) -> Json:
    """The figures of both, where they part, and their turns side by side."""
    figures = [
        Figures.of(run.started, run.ended, run.root, run.roots, run.last, run.lasted) for run in (one, two)
    ]
    same = Same.of(*figures)
    both = one.root is not None and two.root is not None
    where = parting(one.root, two.root) if one.root is not None and two.root is not None else None
    turns = paired(one.root.turns if one.root else (), two.root.turns if two.root else ())
    return {
        "runs": [_figures(seen, told) for seen, told in zip((one, two), figures, strict=True)],
        "same": same.told,
        **{f"same_{name}": value for name, value in asdict(same).items()},
        "parting": {**asdict(where), "told": TOLD[where.what]} if where is not None else None,
        "begun": both,
        "turns": [_turns(number, first, second) for number, first, second in turns],
    }


def _figures(seen: Seen, told: Figures) -> Json:
    return {
        **asdict(told),
        "id": seen.run,
        "going": seen.going,
        "status": told.status or ("running" if seen.going else "interrupted"),
        "usage": usage_told(told.usage),
        "query": (told.query or "")[:_SHOWN],
        "answer": told.answer[:_SHOWN],
    }


def _turns(number: int, one: Turn | None, two: Turn | None) -> Json:
    codes = ["\n".join(cell.code.strip("\n") for cell in turn.cells) if turn else "" for turn in (one, two)]
    return {
        "number": number,
        "there": [one is not None, two is not None],
        "code": list(lines(*codes)) if any(codes) else [],
        "words": [words(turn)[:_SHOWN] if turn else "" for turn in (one, two)],
        "output": [list(_output(turn)) if turn else [] for turn in (one, two)],
        "calls": [_made(turn) if turn else 0 for turn in (one, two)],
    }


def _made(turn: Turn) -> int:
    """How many sub-calls; what a limit refused was never one."""
    return sum(not call.refused for cell in turn.cells for call in cell.sub_calls)


def _output(turn: Turn) -> Iterator[Sequence[str]]:
    for cell in turn.cells:
        error = f"{cell.error.type}: {cell.error.message[:HEAD]}" if cell.error else ""
        yield (
            cell.outcome or "not ended",
            "\n".join(t for t in (cell.output.rstrip("\n")[:_SHOWN], error) if t),
        )
