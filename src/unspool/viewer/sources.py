"""The text of a run's input, for who looks at its map: as the run kept it, or from its files if they are the
same.

Contract: :meth:`Input.piece` gives a range of a part, or raises :class:`NotHere` with the reason in words:
the run kept nothing, a file has gone or is another one now. Files are only read, and only those that the run
names.

>>> from unspool.events import RunStarted
>>> started = RunStarted(
...     run="r", query="?", model="m", sub_model="m", profile="frontier", context="", kept=["a", "two words"]
... )
>>> Input(started).piece(1, 4, 9).text
'words'
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from ..contexts import Contexts
from ..contexts.identity import context_hash
from ..errors import ContextError
from ..events import RunStarted
from ..reach.marks import parts_of
from ..resume import Past

MOST = 40_000  # characters of a piece
AROUND = 400  # characters that are shown before and after a range


class NotHere(LookupError):
    """The text cannot be shown; says why."""


@dataclass(frozen=True, slots=True)
class Piece:
    """A range of a part, with what stands around it. ``cut``: the range is longer than what is told."""

    before: str
    text: str
    after: str
    line: int | None  # the number of the line in which it begins
    cut: bool


class Input:
    """See the module docstring. What was read is kept: another range is quick."""

    def __init__(self, started: RunStarted) -> None:
        self._started = started

    def piece(self, part: int, start: int, end: int) -> Piece:
        texts = self._texts
        if not 0 <= part < len(texts):
            raise NotHere(f"the input has no part {part}")
        text = texts[part]
        if not 0 <= start <= end <= len(text):
            raise NotHere(f"the part has {len(text):,} characters: {start:,} to {end:,} is no range of it")
        stop = min(end, start + MOST)
        return Piece(
            before=text[max(0, start - AROUND) : start],
            text=text[start:stop],
            after=text[stop : stop + AROUND] if stop == end else "",
            line=text.count("\n", 0, start) + 1,
            cut=stop < end,
        )

    @cached_property
    def _texts(self) -> list[str]:
        context = self._context()
        texts = parts_of(dict(context) if isinstance(context, Contexts) else context)
        if texts is None:
            raise NotHere("the input is not made of text")
        return texts

    def _context(self) -> object:
        started = self._started
        if started.kept is not None:
            return started.kept
        if not started.sources:
            raise NotHere(
                "the run did not keep its input, and it came from no file. RLM(keep_context=True), and "
                "--keep-context, keep it with the run"
            )
        try:
            context = Past(started, ()).context(None)
            same = context_hash(context) == started.context_hash
        except ContextError as error:
            raise NotHere(str(error)) from None
        if not same:
            names = ", ".join(started.sources[:3])
            raise NotHere(f"{names}: it is not what it was when the run began, so its places say nothing now")
        if isinstance(context, Path) or not isinstance(context, str | Mapping | list | tuple):
            raise NotHere("the input was read from files piece by piece: only their places are known here")
        return context
