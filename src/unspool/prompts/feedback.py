"""What a turn's outcome looks like to the model: one message, append-only.

>>> print(turn_message([Shown(1, "print(2)", CellResult("ok", "2\\n", printed=2))], hints=()))
[cell 1] printed:
2
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from ..sandbox.protocol import CellResult

NO_OUTPUT = "ran, nothing was printed. Print what you need to see."
LAST_TURN = "This is the last turn: call submit(value) now with the best answer you have."


@dataclass(frozen=True, slots=True)
class Shown:
    """A cell of the turn and what became of it."""

    number: int
    code: str
    result: CellResult
    notes: tuple[str, ...] = ()


class Feedback(Protocol):
    """Makes the user message that follows a turn."""

    def __call__(self, cells: Sequence[Shown], *, hints: Sequence[str], nudge: str = "") -> str: ...


def _cell(shown: Shown, printed: str) -> str:
    result = shown.result
    lines: list[str] = []
    text = result.output.rstrip("\n")
    tag = f"[cell {shown.number}]"
    lines.append(f"{tag}{printed}\n{text}" if text else (f"{tag} {NO_OUTPUT}" if not result.error else tag))
    if result.error is not None:
        lines.append(result.error.traceback.rstrip("\n"))
    lines += [f"Note: {note}" for note in shown.notes]
    return "\n".join(lines)


def turn_message(
    cells: Sequence[Shown], *, hints: Sequence[str], nudge: str = "", printed: str = " printed:"
) -> str:
    """The user message that follows a turn. ``printed``: what stands between a cell's tag and its output."""
    parts = [_cell(shown, printed) for shown in cells]
    parts += hints
    if nudge:
        parts.append(nudge)
    return "\n\n".join(parts)


def short_message(cells: Sequence[Shown], *, hints: Sequence[str], nudge: str = "") -> str:
    """The same in fewer words: every later request of the node has them in it again.

    >>> print(short_message([Shown(1, "print(2)", CellResult("ok", "2\\n", printed=2))], hints=()))
    [cell 1]
    2
    """
    return turn_message(cells, hints=hints, nudge=nudge, printed="")
