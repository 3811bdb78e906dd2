"""OpenTelemetry spans in a file of OTLP JSON, found by where they are: the index that traces are read by.

Contract: a file has one JSON object a line, each with ``resourceSpans``. :class:`Spans` reads it once, from
its start as far as it is asked to, and keeps of each span its place and what is searched by: never its
attributes. :meth:`Spans.load` reads one span again. A line that is no such object, or longer than
:data:`LONGEST_LINE`, is counted and left out; a field of another type than it should be is taken as absent:
nothing in a file makes reading it fail.

>>> from .octets import Memory
>>> line = b'{"resourceSpans":[{"scopeSpans":[{"spans":[{"traceId":"T","spanId":"S","name":"GET /",' + (
...     b'"startTimeUnixNano":"1000000","endTimeUnixNano":"3500000"}]}]}]}')
>>> spans = Spans(Memory(line + b"\\nno json\\n"))
>>> spans.grow()
>>> len(spans), spans.name(0), spans.milliseconds(0), spans.status(0), spans.broken_lines
(1, 'GET /', 2.5, 'unset', 1)
"""

from __future__ import annotations

import json
import math
from array import array
from collections import OrderedDict
from collections.abc import Iterator, Mapping, Sequence

from .octets import Octets

LONGEST_LINE = 64 << 20  # bytes
_PIECE = 4 << 20
_LINES_KEPT = 4
_SMALL_LINE = 1 << 20  # bytes of a line that is kept parsed
STATUSES = ("unset", "ok", "error")
_STATUS = {"STATUS_CODE_UNSET": 0, "STATUS_CODE_OK": 1, "STATUS_CODE_ERROR": 2}

Fields = Mapping[str, object]


def items(fields: object, *names: str) -> Sequence[Fields]:
    """The objects in a list under the first of these names that there is."""
    if isinstance(fields, dict):
        for name in names:
            found = fields.get(name)
            if isinstance(found, list):
                return [each for each in found if isinstance(each, dict)]
    return ()


def text(fields: Fields, name: str) -> str:
    value = fields.get(name)
    return value if isinstance(value, str) else ""


def nanoseconds(fields: Fields, name: str) -> int:
    """A time, told as a number or as text; 0 where there is none."""
    value = fields.get(name)
    try:
        number = int(value) if isinstance(value, str | int | float) else 0
    except (ValueError, OverflowError):
        return 0
    return number if 0 <= number < 1 << 63 else 0


def plain(value: object, depth: int = 0) -> object:
    """An attribute's value, out of the wrapping that says its type."""
    if not isinstance(value, dict) or depth > 16:
        return value if isinstance(value, str | int | float | bool | None) else str(type(value).__name__)
    for name, inner in value.items():
        if name == "intValue":
            try:
                return int(inner) if isinstance(inner, str | int | float) else None
            except (ValueError, OverflowError):
                return str(inner)
        if name == "arrayValue":
            return [plain(each, depth + 1) for each in items(inner, "values")]
        if name == "kvlistValue":
            return attributes(inner, "values", depth + 1)
        return plain(inner, depth + 1)
    return None


def attributes(fields: object, name: str = "attributes", depth: int = 0) -> dict[str, object]:
    """Key and value of each."""
    return {text(each, "key"): plain(each.get("value"), depth) for each in items(fields, name)}


class _Words:
    """Texts that come again and again, by number."""

    def __init__(self) -> None:
        self.known: list[str] = []
        self._numbers: dict[str, int] = {}

    def number(self, word: str) -> int:
        found = self._numbers.get(word)
        if found is None:
            found = self._numbers[word] = len(self.known)
            self.known.append(word)
        return found


class Spans:
    """See the module docstring. A span is known by its number, from 0, in the order of the file."""

    def __init__(self, octets: Octets) -> None:
        self._octets = octets
        self.read = 0  # bytes that are indexed
        self.complete = False
        self.broken_lines = self.long_lines = 0
        self.names, self.services = _Words(), _Words()
        self.traces: dict[str, array[int]] = {}  # the spans of each trace
        self._trace_ids = _Words()
        self._ids: list[str] = []
        self._parents: list[str] = []
        self._trace, self._name, self._service = array("L"), array("L"), array("L")
        self._start, self._end = array("q"), array("q")
        self._status = array("B")
        self._line, self._size, self._place = array("Q"), array("L"), array("L")
        self._lines: OrderedDict[int, object] = OrderedDict()

    def __len__(self) -> int:
        return len(self._ids)

    # Reading the file once

    def grow(self, until: int | None = None) -> None:
        """Indexes up to this byte of the file, or to its end."""
        if self.complete or (until is not None and self.read >= until):
            return
        for at, line in self._file_lines(self.read):
            if line is None:
                self.long_lines += 1
            elif line.strip():
                self._index(at, line)
            if until is not None and self.read >= until:
                return
        self.complete = True

    def _file_lines(self, at: int) -> Iterator[tuple[int, bytes | None]]:
        """Where each line begins, and the line; ``None`` for one that is too long."""
        rest, start, skipped = b"", at, False
        while data := self._octets.read(at, _PIECE):
            at += len(data)
            lines = (rest + data).split(b"\n")
            rest = lines.pop()
            for line in lines:
                place, start = start, start + len(line) + 1
                self.read = start
                yield place, None if skipped else line
                skipped = False
            if len(rest) > LONGEST_LINE:
                rest, skipped, start = b"", True, start + len(rest)
        if rest or skipped:
            self.read = at
            yield start, None if skipped else rest

    def _index(self, at: int, line: bytes) -> None:
        try:
            found = json.loads(line)
        except (ValueError, RecursionError):
            found = None
        if not isinstance(found, dict) or not isinstance(found.get("resourceSpans"), list):
            self.broken_lines += 1
            return
        for place, (service, span) in enumerate(_spans_in(found)):
            self._add(span, service, at, len(line), place)

    def _add(self, span: Fields, service: str, at: int, size: int, place: int) -> None:
        number = len(self._ids)
        trace = text(span, "traceId")
        self._ids.append(text(span, "spanId"))
        self._parents.append(text(span, "parentSpanId"))
        self._trace.append(self._trace_ids.number(trace))
        self.traces.setdefault(trace, array("L")).append(number)
        self._name.append(self.names.number(text(span, "name")[:1_000]))
        self._service.append(self.services.number(service[:1_000]))
        self._start.append(nanoseconds(span, "startTimeUnixNano"))
        self._end.append(nanoseconds(span, "endTimeUnixNano"))
        status = span.get("status")
        code = status.get("code") if isinstance(status, dict) else 0
        if isinstance(code, str):
            code = _STATUS.get(code, 0)
        self._status.append(code if code in (1, 2) else 0)
        self._line.append(at)
        self._size.append(size)
        self._place.append(place)

    # What is known of a span

    def id(self, number: int) -> str:
        return self._ids[number]

    def parent(self, number: int) -> str:
        return self._parents[number]

    def trace(self, number: int) -> str:
        return self._trace_ids.known[self._trace[number]]

    def name(self, number: int) -> str:
        return self.names.known[self._name[number]]

    def service(self, number: int) -> str:
        return self.services.known[self._service[number]]

    def status(self, number: int) -> str:
        return STATUSES[self._status[number]]

    def start(self, number: int) -> int:
        """Nanoseconds since 1970; 0 where it is not known."""
        return self._start[number]

    def end(self, number: int) -> int:
        return self._end[number]

    def milliseconds(self, number: int) -> float:
        """How long it took; nan where that is not known."""
        start, end = self._start[number], self._end[number]
        return (end - start) / 1e6 if start and end >= start else math.nan

    def load(self, number: int) -> tuple[Fields, Fields]:
        """The span as it is in the file, and its resource."""
        at, place = self._line[number], self._place[number]
        found = self._lines.get(at)
        if found is None:
            found = json.loads(self._octets.read(at, self._size[number]))
            if self._size[number] <= _SMALL_LINE:
                self._lines[at] = found
                if len(self._lines) > _LINES_KEPT:
                    self._lines.popitem(last=False)
        for each in items(found, "resourceSpans"):
            for scope in items(each, "scopeSpans", "instrumentationLibrarySpans"):
                for span in items(scope, "spans"):
                    if not place:
                        resource = each.get("resource")
                        return span, resource if isinstance(resource, dict) else {}
                    place -= 1
        raise OSError(f"{self._octets.name} has changed while it was read")


def _spans_in(found: object) -> Iterator[tuple[str, Fields]]:
    """The service and the span, of each span of a line."""
    for each in items(found, "resourceSpans"):
        service = attributes(each.get("resource")).get("service.name")
        for scope in items(each, "scopeSpans", "instrumentationLibrarySpans"):
            for span in items(scope, "spans"):
                yield service if isinstance(service, str) else "", span
