"""Quotes and where they stand in the input: checked on the host, kept in the events of the run.

Contract: what ``cite(quote)`` in a REPL says is compared with the context to the character, where the host
has its text (``verified``); a claim that does not hold is a quote that was not found. Passages between
quotation marks in an answer of text are looked for as well, where that is cheap.

>>> quoted('It says "the meeting was moved to May" twice.')
['the meeting was moved to May']
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sized
from dataclasses import dataclass, replace

from . import events as ev
from .reach.cite import texts_of
from .reading import Range
from .sandbox.protocol import HostCall, HostReply
from .scope import Place, Scope, Task
from .types import TextPart

LONGEST = 100_000  # characters of a quote
SMALL = 64_000_000  # characters of a context that is looked through on the host
MOST = 1_000  # citations of a node
MOST_QUOTED = 20  # quotes of an answer
_QUOTED = re.compile(r'"([^"\n]{20,2000})"|“([^”\n]{20,2000})”|„([^“”\n]{20,2000})[“”]|«([^»\n]{20,2000})»')


def quoted(answer: object) -> list[str]:
    """The passages between quotation marks, of 20 characters and more."""
    if not isinstance(answer, str):
        return []
    found = (next(filter(None, match.groups())) for match in _QUOTED.finditer(answer))
    return list(dict.fromkeys(quote.strip() for quote in found))[:MOST_QUOTED]


@dataclass(frozen=True, slots=True)
class _Claim:
    """What a REPL says of a quote, as far as it is well formed."""

    quote: str
    part: int
    offset: int | None
    line: int | None
    source: str | None = None
    place: Range | None = None


class Citations:
    """The quotes of one node."""

    def __init__(self, scope: Scope, task: Task, place: Place) -> None:
        self._scope = scope
        self._task = task
        self._place = place
        self._told: set[tuple[str, int | None]] = set()

    def cite(self, call: HostCall) -> HostReply:
        """``cite(quote)``: args quote, part, offset (None: not found), line, source, place."""
        claim = _claim(call.args)
        if claim is not None:
            self._tell(self._checked(claim))
        return HostReply()

    def again(self, cited: ev.Cited) -> None:
        """A claim of another node's cell, which this one has not run because it has what it made."""
        self._tell(replace(cited, node=self._task.node))

    def of_answer(self, answer: object) -> None:
        """The quotes in an accepted answer that were not cited."""
        cited = [quote for quote, _ in self._told]
        quotes = [q for q in quoted(answer) if not any(q in known for known in cited)]
        quotes = [q for q in quotes if q not in self._task.query]
        if not quotes or not self._is_small():
            return
        for quote in quotes:
            self._tell(self._found(quote, "answer"))

    def _texts(self) -> Iterator[tuple[int, str | None, str]]:
        context = self._task.context
        for number, name, text in texts_of(context.text if isinstance(context, TextPart) else context):
            if isinstance(text, str):
                yield number, name, text

    def _is_small(self) -> bool:
        context = self._task.context
        if isinstance(context, TextPart):
            return len(context) <= SMALL
        sizes = [len(text) for _, _, text in self._texts()]
        whole = isinstance(context, str) or (isinstance(context, Sized) and len(sizes) == len(context))
        return bool(sizes) and whole and sum(sizes) <= SMALL

    def _found(self, quote: str, via: str) -> ev.Cited:
        for _, name, text in self._texts():
            offset = text.find(quote)
            if offset >= 0:
                return self._event(quote, name, offset, _line(text, offset), True, True, via)
        return self._event(quote, None, None, None, False, True, via)

    def _checked(self, claim: _Claim) -> ev.Cited:
        """A claim against the context, where the host has it as text."""
        if claim.offset is None:
            if self._is_small():
                return self._found(claim.quote, "cite")
            return self._event(claim.quote, None, None, None, False, None, "cite")
        for number, name, text in self._texts():
            if number == claim.part:
                holds = text.startswith(claim.quote, claim.offset)
                line = _line(text, claim.offset) if holds and len(text) <= SMALL else claim.line
                offset = claim.offset if holds else None
                return self._event(claim.quote, name, offset, line if holds else None, holds, holds, "cite")
        told = self._event(claim.quote, claim.source, claim.offset, claim.line, True, None, "cite")
        return replace(told, place=claim.place)

    def _event(
        self,
        quote: str,
        source: str | None,
        offset: int | None,
        line: int | None,
        found: bool,
        verified: bool | None,
        via: str,
    ) -> ev.Cited:
        place = self._place
        return ev.Cited(
            node=self._task.node, turn=place.turn, cell=place.cell, quote=quote, source=source,
            offset=offset, line=line, found=found, verified=verified, via=via,
        )  # fmt: skip

    def _tell(self, cited: ev.Cited) -> None:
        key = (cited.quote, cited.offset)
        if key not in self._told and len(self._told) < MOST:
            self._told.add(key)
            self._scope.log.emit(cited)


def _claim(args: tuple[object, ...]) -> _Claim | None:
    """What is claimed; None for what is no claim."""
    if len(args) != 6:
        return None
    quote, part, offset, line, source, place = args
    if not isinstance(quote, str) or not 0 < len(quote) <= LONGEST or type(part) is not int or part < 0:
        return None
    if offset is None:
        return _Claim(quote, 0, None, None)
    if type(offset) is not int or not 0 <= offset < 1 << 62:
        return None
    line = line if type(line) is int and 0 < line < 1 << 62 else None
    source = source[:1_000] if isinstance(source, str) else None
    return _Claim(quote, part, offset, line, source, _place(place))


def _place(value: object) -> Range | None:
    if not isinstance(value, tuple | list) or len(value) != 3:
        return None
    part, start, end = value
    if any(type(each) is not int or each < 0 for each in value) or not start < end < 1 << 62:
        return None
    return part, start, end


def _line(text: str, offset: int) -> int:
    return text.count("\n", 0, offset) + 1
