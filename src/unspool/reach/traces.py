"""Traces in a file: an overview first, then what is searched for, then a trace or a span; always bounded.

Contract: :class:`Traces` reads a file of OTLP JSON lines (:mod:`.spans`) by its index, which is made on first
use. No call gives more than about 150 kB: rows and lines beyond that are counted instead, an
attribute of more than 4,000 characters is told by its size and its start. ``.text`` is the file as it
is.

>>> from .octets import Memory
>>> def span(name, at, of="", code=0):
...     return ('{"traceId":"t1","spanId":"%s","parentSpanId":"%s","name":"%s","startTimeUnixNano":%d,'
...         '"endTimeUnixNano":%d,"status":{"code":%d}}' % (name, of, name, at, at + 2_000_000, code))
>>> shop = '{"attributes":[{"key":"service.name","value":{"stringValue":"shop"}}]}'
>>> line = '{"resourceSpans":[{"resource":%s,' % shop
>>> line += '"scopeSpans":[{"spans":[%s,%s]}]}]}' % (span("pay", 10**9), span("charge", 10**9, "pay", 2))
>>> traces = Traces("a.otlp.jsonl", Memory(line.encode()))
>>> print(traces.trace("t1"))
trace t1: 2 spans, 1 with an error, 2.0 ms
pay  shop  2.0 ms
  charge  shop  2.0 ms  ERROR
>>> [row["name"] for row in traces.search(status="error")]
['charge']
"""

from __future__ import annotations

import math
import re
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from .bounded import MOST_ATTRIBUTE, NAME, Row, cut, lines_within, parts_within, rows_within, short
from .files import Listing
from .octets import Octets
from .sniff import Plain
from .spans import STATUSES, Fields, Spans, attributes, items, nanoseconds, text

if TYPE_CHECKING:
    from .text import LazyText

_TOP = 15  # services and names of an overview
_ROWS = 1_000
_DEEPEST = 60  # levels that a tree is indented


class Traces:
    """See the module docstring. ``entry``: source and number, by which a child is given the same file."""

    def __init__(self, name: str, octets: Octets, entry: tuple[str, int] | None = None) -> None:
        self.name = name
        self._octets = Plain(octets)
        self._spans = Spans(self._octets)
        self._entry = entry

    @property
    def spans(self) -> Spans:
        """The index of the whole file."""
        self._spans.grow()
        return self._spans

    def __len__(self) -> int:
        """How many spans there are."""
        return len(self.spans)

    # What there is

    def overview(self, until: int | None = None) -> str:
        """Spans, traces, services, the usual and the slow, errors. ``until``: of the first bytes alone."""
        self._spans.grow(until)
        spans = self._spans
        every = range(len(spans))
        times = [t for n in every for t in (spans.start(n), spans.end(n)) if t]
        errors = [n for n in every if spans.status(n) == "error"]
        size = f"{len(spans):,} spans in {len(spans.traces):,} traces"
        lines = [f"{self.name}: {size}, {len(errors):,} with an error"]
        if not spans.complete:
            lines.append(f"(of its first {spans.read:,} bytes; .overview() reads all of it)")
        for count, what in ((spans.broken_lines, "are no OTLP JSON"), (spans.long_lines, "are too long")):
            if count:
                lines.append(f"left out: {count:,} lines that {what}")
        if times:
            lines.append(f"from {_when(min(times))} to {_when(max(times))}")
        lines += ["services (spans, errors, median and 95th percentile in ms):"]
        lines += self._groups([spans.service(n) for n in every])
        lines += ["names (the same):", *self._groups([spans.name(n) for n in every])]
        if errors:
            common = Counter((spans.service(n), spans.name(n)) for n in errors).most_common(_TOP)
            lines += ["errors by service and name:"]
            lines += [f"  {service or '?'}  {cut(name)}  {count:,}" for (service, name), count in common]
        lines += ["slowest traces:", *(f"  {_told(row)}" for row in self._trace_rows()[:5])]
        return Listing(lines_within(lines))

    def _groups(self, keys: Sequence[str]) -> list[str]:
        """The most frequent of a key with their counts, errors and durations."""
        members: dict[str, list[int]] = {}
        for number, key in enumerate(keys):
            members.setdefault(key, []).append(number)
        lines = []
        for key, numbers in sorted(members.items(), key=lambda item: -len(item[1]))[:_TOP]:
            errors = sum(self._spans.status(n) == "error" for n in numbers)
            known = sorted(t for n in numbers if not math.isnan(t := self._spans.milliseconds(n)))
            ms = f"{_at(known, 0.5)} {_at(known, 0.95)}" if known else "? ?"
            lines.append(f"  {cut(key) or '?'}  {len(numbers):,}  {errors:,}  {ms}")
        if len(members) > _TOP:
            lines.append(f"  … {len(members) - _TOP:,} more")
        return lines

    def services(self) -> list[str]:
        """The services there are."""
        return list(self.spans.services.known)

    def names(self) -> list[str]:
        """The names of spans there are."""
        return list(self.spans.names.known)

    def traces(self, limit: int = 50) -> list[Row]:
        """The traces, the slowest first: id, spans, errors, ms, name and service of the root."""
        self._spans.grow()
        return rows_within(self._trace_rows()[: _checked(limit)])

    def _trace_rows(self) -> list[Row]:
        rows = []
        for trace, numbers in self._spans.traces.items():
            rows.append(self._trace_row(trace, numbers))
        return sorted(rows, key=lambda row: -row["ms"] if isinstance(row["ms"], float) else 1.0)

    def _trace_row(self, trace: str, numbers: Sequence[int]) -> Row:
        spans = self._spans
        starts = [t for n in numbers if (t := spans.start(n))]
        ends = [t for n in numbers if (t := spans.end(n))]
        here = {spans.id(n) for n in numbers}
        tops = [n for n in numbers if spans.parent(n) not in here] or numbers
        root = min(tops, key=lambda n: (spans.parent(n) != "", spans.start(n)))
        ms = (max(ends) - min(starts)) / 1e6 if starts and ends else None
        return {
            "trace": trace[:NAME], "spans": len(numbers),
            "errors": sum(spans.status(n) == "error" for n in numbers), "ms": ms,
            "name": cut(spans.name(root)), "service": cut(spans.service(root)),
        }  # fmt: skip

    # What is searched for

    def search(
        self,
        name: str | None = None,
        service: str | None = None,
        status: str | None = None,
        min_ms: float | None = None,
        max_ms: float | None = None,
        trace: str | None = None,
        limit: int = 50,
    ) -> list[Row]:
        """Spans, in the order of the file, as rows of span, trace, parent, name, service, status, start, ms.

        ``name`` and ``service`` are regular expressions, ``status`` is ok, error or unset, ``trace`` an id.
        """
        if status is not None and status.lower() not in STATUSES:
            raise ValueError(f"status={status!r}: give one of {', '.join(STATUSES)}")
        spans, most = self.spans, _checked(limit)
        names, services = _matching(spans.names.known, name), _matching(spans.services.known, service)
        every: Sequence[int] = range(len(spans)) if trace is None else spans.traces.get(trace, ())
        found: list[Row] = []
        for number in every:
            ms = spans.milliseconds(number)
            if (
                spans.name(number) in names
                and spans.service(number) in services
                and (status is None or spans.status(number) == status.lower())
                and (min_ms is None or ms >= min_ms)
                and (max_ms is None or ms <= max_ms)
            ):
                found.append(self._row(number))
                if len(found) == most:
                    break
        return rows_within(found)

    def _row(self, number: int) -> Row:
        spans = self._spans
        ms = spans.milliseconds(number)
        return {
            "span": spans.id(number)[:NAME], "trace": spans.trace(number)[:NAME],
            "parent": spans.parent(number)[:NAME], "name": cut(spans.name(number)),
            "service": cut(spans.service(number)), "status": spans.status(number),
            "start": _when(spans.start(number)), "ms": None if math.isnan(ms) else ms,
        }  # fmt: skip

    def rows(self) -> Iterator[Row]:
        """All spans, one by one: for counting and grouping in code."""
        for number in range(len(self.spans)):
            yield self._row(number)

    # One trace, one span

    def trace(self, trace: str) -> str:
        """A trace as a tree: name, service, duration; errors are marked."""
        spans = self.spans
        numbers = spans.traces.get(trace)
        if numbers is None:
            near = [each for each in spans.traces if trace and each.startswith(trace)][:3]
            raise KeyError(f"there is no trace {trace!r}" + (f"; near: {', '.join(near)}" if near else ""))
        row = self._trace_row(trace, numbers)
        ms = "?" if row["ms"] is None else f"{row['ms']:,.1f}"
        noun = "span" if len(numbers) == 1 else "spans"
        head = f"trace {row['trace']}: {len(numbers):,} {noun}, {row['errors']:,} with an error, {ms} ms"
        return Listing(lines_within([head, *(self._line(n, depth) for n, depth in self._tree(numbers))]))

    def _tree(self, numbers: Sequence[int]) -> Iterator[tuple[int, int]]:
        """The spans of a trace and how deep each is. A span whose parent is not here is a root of its own,
        and so is one of a ring."""
        spans = self._spans
        ordered = sorted(numbers, key=spans.start)
        below: dict[str, list[int]] = {}
        here = {spans.id(n) for n in ordered}
        for number in ordered:
            below.setdefault(spans.parent(number), []).append(number)
        told: set[int] = set()
        roots = [n for n in ordered if spans.parent(n) not in here or not spans.parent(n)]
        for root in [*roots, *ordered]:
            waiting = [(root, 0)]
            while waiting:
                number, depth = waiting.pop()
                if number in told:
                    continue
                told.add(number)
                yield number, depth
                if spans.id(number):
                    waiting += [(n, depth + 1) for n in reversed(below.get(spans.id(number), []))]

    def _line(self, number: int, depth: int) -> str:
        row = self._row(number)
        ms = "?" if row["ms"] is None else f"{row['ms']:,.1f}"
        error = "  ERROR" if row["status"] == "error" else ""
        return f"{'  ' * min(depth, _DEEPEST)}{row['name']}  {row['service'] or '?'}  {ms} ms{error}"

    def span(self, span: str, trace: str | None = None) -> Row:
        """All of a span: its attributes, events, links and resource. ``trace`` where the id is not enough."""
        spans = self.spans
        every: Sequence[int] = range(len(spans)) if trace is None else spans.traces.get(trace, ())
        number = next((n for n in every if spans.id(n) == span), None)
        if number is None:
            raise KeyError(
                f"there is no span {span!r}" + ("" if trace is None else f" in the trace {trace!r}")
            )
        fields, resource = spans.load(number)
        status = fields.get("status")
        return parts_within({
            **self._row(number),
            "message": text(status, "message")[:MOST_ATTRIBUTE] if isinstance(status, dict) else "",
            "attributes": short(attributes(fields)),
            "resource": short(attributes(resource)),
            "events": [_event(each) for each in items(fields, "events")],
            "links": [{"trace": text(e, "traceId")[:NAME], "span": text(e, "spanId")[:NAME]}
                      for e in items(fields, "links")],
        })  # fmt: skip

    # The file as text, and what the engine asks

    @property
    def text(self) -> LazyText:
        """The file as it is."""
        from .blocks import Blocks
        from .text import LazyText

        return LazyText(Blocks(self._octets), self.name, entry=self._entry)

    def __unspool_hits__(self, pattern: re.Pattern[str]) -> Iterator[str]:
        for number, line in self.text.hits(pattern):
            yield f"{number}: {line[:MOST_ATTRIBUTE]}"

    def __unspool_part__(self) -> tuple[str, int, int, int, int]:
        """For a child: all of it."""
        if self._entry is None:
            raise TypeError(f"{self.name} is in an archive: give what .search(…) or .trace(id) gives")
        return (*self._entry, 0, -1, 1)

    def __unspool_text__(self) -> str:
        raise TypeError(f"{self.name} holds traces: pass what .overview(), .search(…) or .trace(id) gives")

    def __repr__(self) -> str:
        return (
            f"<Traces {self.name}: .overview(), .search(name=, service=, status=, min_ms=), .traces(), "
            ".trace(id), .span(id), .rows()>"
        )


def _matching(known: Sequence[str], pattern: str | None) -> set[str]:
    if pattern is None:
        return set(known)
    try:
        fits = re.compile(pattern).search
    except re.error:
        return {each for each in known if pattern in each}
    return {each for each in known if fits(each)}


def _checked(limit: int) -> int:
    if limit < 1:
        raise ValueError("limit: give at least 1")
    return min(limit, _ROWS)


def _when(nano: int) -> str:
    """UTC, to the millisecond."""
    if not nano:
        return ""
    return time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(nano // 10**9)) + f".{nano // 10**6 % 1000:03}Z"


def _at(known: Sequence[float], share: float) -> str:
    return f"{known[min(len(known) - 1, int(len(known) * share))]:,.1f}"


def _told(row: Row) -> str:
    ms = "?" if row["ms"] is None else f"{row['ms']:,.1f}"
    counts = f"{row['spans']:,} spans  {row['errors']:,} errors"
    return f"{row['trace']}  {ms} ms  {counts}  {row['name']}  {row['service']}"


def _event(fields: Fields) -> Row:
    told = attributes(fields)
    return {
        "name": cut(text(fields, "name")), "time": _when(nanoseconds(fields, "timeUnixNano")),
        "attributes": short(told),
    }  # fmt: skip
