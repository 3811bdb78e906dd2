"""The texts of a run by name, so that a long one is told in pieces.

Contract: a name is a path such as ``call/12/prompt``; :meth:`Texts.of` is what the page is told at first, and
:meth:`Texts.piece` what it asks for then. Positions are those of the text as it is shown. Raises
:class:`NoSuchText` for what the run does not have.
"""

from __future__ import annotations

from collections.abc import Mapping

from ..cli.plain import as_text
from ..safe_text import safe
from ..words import words
from .followed import Seen

FIRST = 16_000  # characters that are told at first
NEXT = 200_000  # and at most at once after that


class NoSuchText(LookupError):
    """There is no text of this name."""


class Texts:
    """See the module docstring. ``first`` None: every text is told whole."""

    def __init__(self, seen: Seen, first: int | None = FIRST) -> None:
        self._seen = seen
        self._first = first

    def of(self, name: str) -> Mapping[str, object]:
        text = safe(self._find(name))
        if self._first is None or len(text) <= self._first:
            return {"text": text}
        return {"text": text[: self._first], "size": len(text), "next": self._first, "name": name}

    def piece(self, name: str, start: int) -> Mapping[str, object]:
        text = safe(self._find(name))
        found = text[start : start + NEXT]
        return {"text": found, "size": len(text), "next": start + len(found)}

    def _find(self, name: str) -> str:
        seen = self._seen
        match name.split("/"):
            case ["query"] if seen.started:
                return seen.started.query
            case ["context"] if seen.started:
                return seen.started.context
            case ["answer"] if seen.ended:
                return as_text(seen.ended.answer)
            case ["node", node, ("query" | "answer") as what] if node in seen.nodes:
                found = seen.nodes[node]
                return found.query if what == "query" else as_text(found.answer)
            case ["turn", node, turn, ("words" | "thinking") as what]:
                return self._turn(name, node, turn, what)
            case ["call", call, ("prompt" | "reply") as what] if _number(call) in seen.calls:
                made = seen.calls[_number(call)]
                return made.prompt if what == "prompt" else made.reply or ""
            case ["cell", node, cell, *rest]:
                return self._cell(name, node, _number(cell), rest)
        raise NoSuchText(name)

    def _turn(self, name: str, node: str, number: str, what: str) -> str:
        turn = self._seen.turns.get((node, _number(number)))
        if turn is None:
            raise NoSuchText(name)
        return words(turn) if what == "words" else turn.thinking

    def _cell(self, name: str, node: str, number: int, rest: list[str]) -> str:
        past = self._seen.past.cell(node, number)
        match rest:
            case ["code"] if past is not None:
                return past.started.code
            case ["output"] if past is not None:
                return past.ended.output if past.ended else ""
            case ["refused", place] if past is not None and 0 <= _number(place) < len(past.refused):
                return as_text(past.refused[_number(place)].value)
        raise NoSuchText(name)


def _number(text: str) -> int:
    """-1 for what is no number that a part of a run has."""
    return int(text) if text.isascii() and text.isdigit() and len(text) < 10 else -1
