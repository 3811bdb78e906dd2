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

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from ..contexts.grants import open_entry
from ..contexts.grown import as_it_was
from ..contexts.identity import context_hash
from ..contexts.sources import Entry, Source, is_text_name
from ..errors import ContextError
from ..events import ContextMeasured, RunStarted
from ..reach.marks import parts_of
from ..resume import Past

MOST = 40_000  # characters, or bytes, of a piece
AROUND = 400  # that are shown before and after a range
COUNTED = 256 << 20  # bytes of a file up to which lines are counted
_BLOCK = 1 << 20


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


@dataclass(frozen=True, slots=True)
class _File:
    """A part that is a file: its ranges are of bytes."""

    root: str
    entry: Entry


@dataclass(frozen=True, slots=True)
class _Away:
    """A part whose text is not to be had here."""

    why: str


class Input:
    """See the module docstring. What was found out is kept: another range is quick."""

    def __init__(self, started: RunStarted, measured: ContextMeasured | None = None) -> None:
        self._started = started
        self._measured = measured  # what the run knew of its size when it began

    def piece(self, part: int, start: int, end: int) -> Piece:
        if not 0 <= part < len(self._parts):
            raise NotHere(f"the input has no part {part}")
        found = self._parts[part]
        if isinstance(found, _Away):
            raise NotHere(found.why)
        size = len(found) if isinstance(found, str) else found.entry.size
        if not 0 <= start <= end <= size:
            raise NotHere(f"{start:,} to {end:,} is no range of a part of {size:,}")
        return _of_text(found, start, end) if isinstance(found, str) else _of_file(found, start, end)

    @cached_property
    def _parts(self) -> Sequence[str | _File | _Away]:
        """As coverage numbers them: texts in memory first, then what is in files."""
        context = self._context()
        context = dict(context) if isinstance(context, Mapping) else context
        texts = parts_of(context)
        if texts is not None:
            return texts
        if isinstance(context, Source):
            return list(_files(context))
        if not isinstance(context, dict):
            raise NotHere("the input is not made of text")
        values = context.values()
        others = [value for value in values if not isinstance(value, str)]
        return [
            *(value for value in values if isinstance(value, str)),
            *(each for value in others for each in _files(value)),
        ]

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
            if context_hash(context) == started.context_hash:
                return context
            was = as_it_was(context, self._measured)  # a log that has only grown
            if was.notes and not was.changes and context_hash(was.context) == started.context_hash:
                return was.context
        except ContextError as error:
            raise NotHere(str(error)) from None
        names = ", ".join(started.sources[:3])
        raise NotHere(f"{names}: it is not what it was when the run began, so its places say nothing now")


def _files(value: object) -> Iterator[_File | _Away]:
    """The parts of what is no text in memory."""
    if not isinstance(value, Source):
        yield _Away("it is not made of text")
    elif value.kind not in ("text", "folder"):
        yield _Away(f"what is in {value.name} is read in the sandbox alone, and is not shown here")
    else:
        for entry in value.entries:
            why = f"{entry.path} is no plain text: it is read in the sandbox alone, and is not shown here"
            yield _File(value.root, entry) if is_text_name(entry.path) else _Away(why)


def _of_text(text: str, start: int, end: int) -> Piece:
    stop = min(end, start + MOST)
    return Piece(
        before=text[max(0, start - AROUND) : start],
        text=text[start:stop],
        after=text[stop : stop + AROUND] if stop == end else "",
        line=text.count("\n", 0, start) + 1,
        cut=stop < end,
    )


def _of_file(file: _File, start: int, end: int) -> Piece:
    stop = min(end, start + MOST)
    try:
        fd = open_entry(file.root, file.entry)
        try:
            before, text, after = (
                os.pread(fd, to - at, at).decode("utf-8", "replace")
                for at, to in ((max(0, start - AROUND), start), (start, stop), (stop, stop + AROUND))
            )
            line = _lines_before(fd, start) + 1 if start <= COUNTED else None
        finally:
            os.close(fd)
    except OSError as error:
        raise NotHere(f"{file.entry.path} cannot be read: {error.strerror or error}") from None
    return Piece(before, text, after if stop == end else "", line, cut=stop < end)


def _lines_before(fd: int, end: int) -> int:
    return sum(os.pread(fd, min(_BLOCK, end - at), at).count(b"\n") for at in range(0, end, _BLOCK))
