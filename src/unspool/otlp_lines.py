"""The spans of a run as OTLP JSON lines: for files, and for any collector, without a library.

Contract: each line is a ``TracesData`` object of at most :data:`SPANS_PER_LINE` spans, as the file exporter
of OpenTelemetry writes them and ``/v1/traces`` takes them. Ids come from the run's id, so the same run gives
the same ids. Of a run that was stopped from outside, what was open ends with its last event, as an error.

>>> event = ev.NodeStarted(node="0", parent=None, depth=0, query="?", context="", time=5.0)
>>> (line,) = lines([event], content=False)
>>> json.loads(line)["resourceSpans"][0]["scopeSpans"][0]["spans"][0]["startTimeUnixNano"]
'5000000000'
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator, Sequence

from . import __version__
from . import events as ev
from . import span_names as names
from .cli.plain import escaped
from .spans import Begun, Ended, SpanFold, Value

SPANS_PER_LINE = 1000
_KINDS = {"internal": 1, "client": 3}
_ERROR = 2

Json = dict[str, object]


def lines(events: Sequence[ev.Event], *, content: bool = True) -> Iterator[str]:
    """The lines of a run, parents before what is in them."""
    run = next((event.run for event in events if isinstance(event, ev.RunStarted)), "")
    spans = list(_spans(events, run, content))
    for start in range(0, len(spans), SPANS_PER_LINE):
        scope = {"scope": {"name": names.SCOPE, "version": __version__}, "schemaUrl": names.SCHEMA_URL}
        resource = {"attributes": _attributes({"service.name": names.SCOPE})}
        told = {
            "resource": resource,
            "scopeSpans": [{**scope, "spans": spans[start : start + SPANS_PER_LINE]}],
        }
        yield escaped(json.dumps({"resourceSpans": [told]}, ensure_ascii=False, separators=(",", ":")))


def _spans(events: Iterable[ev.Event], run: str, content: bool) -> Iterator[Json]:
    fold, begun, ended, last = SpanFold(content=content), dict[str, Begun](), dict[str, Ended](), 0.0
    for event in events:
        last = event.time
        if isinstance(event, ev.RunResumed):  # the same spans go on
            for again in fold.going_on(event.time):
                ended.pop(again.key, None)
        for step in fold.add(event):
            if isinstance(step, Begun):
                begun.setdefault(step.key, step)
            else:
                ended[step.key] = step
    ended |= {end.key: end for end in fold.cut(last)}
    for key, start in begun.items():
        yield _span(run, start, ended[key])


def _span(run: str, begun: Begun, ended: Ended) -> Json:
    span: Json = {
        "traceId": _id(run, "", 16),
        "spanId": _id(run, begun.key, 8),
        "name": begun.name,
        "kind": _KINDS[begun.kind],
        "startTimeUnixNano": _nanoseconds(begun.time),
        "endTimeUnixNano": _nanoseconds(max(ended.time, begun.time)),
        "attributes": _attributes({**begun.attributes, **ended.attributes, **error_type(ended)}),
    }
    if begun.parent is not None:
        span["parentSpanId"] = _id(run, begun.parent, 8)
    if ended.error is not None:
        span["status"] = {"code": _ERROR, "message": ended.message or ended.error}
    return span


def error_type(ended: Ended) -> dict[str, Value]:
    return {} if ended.error is None else {names.ERROR_TYPE: ended.error}


def _id(run: str, key: str, size: int) -> str:
    return hashlib.sha256(f"{run} {key}".encode()).hexdigest()[: 2 * size]


def _nanoseconds(time: float) -> str:
    return str(round(time * 1e9))


def _attributes(told: dict[str, Value]) -> list[Json]:
    return [{"key": key, "value": _value(value)} for key, value in told.items()]


def _value(value: Value) -> Json:
    match value:
        case bool():
            return {"boolValue": value}
        case int():
            return {"intValue": str(value)}
        case float():
            return {"doubleValue": value}
        case str():
            return {"stringValue": value}
        case _:
            return {"arrayValue": {"values": [_value(item) for item in value]}}
