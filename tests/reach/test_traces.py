"""OpenTelemetry traces in a file: found by an index, always bounded, whatever stands in the file."""

from __future__ import annotations

import gzip
import json
import random
from collections import Counter
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.engine.helpers import play, py, shown
from unspool.reach.octets import Memory
from unspool.reach.spans import LONGEST_LINE
from unspool.reach.traces import MOST_ATTRIBUTE, Traces

BOUND = 160_000
SERVICES = ("shop", "pay", "stock", "mail")
T0 = 1_790_000_000_000_000_000


def attribute(key: str, value: object) -> dict[str, object]:
    kinds = {str: "stringValue", int: "intValue", float: "doubleValue", bool: "boolValue"}
    told = str(value) if type(value) is int else value
    return {"key": key, "value": {kinds[type(value)]: told}}


def span(
    trace: str, name: str, own: str, parent: str = "", ms: float = 1.0, at: float = 0.0, **more: object
) -> dict[str, object]:
    start = T0 + int(at * 1e6)
    return {
        "traceId": trace, "spanId": own, "parentSpanId": parent, "name": name,
        "startTimeUnixNano": str(start), "endTimeUnixNano": str(start + int(ms * 1e6)), **more,
    }  # fmt: skip


def line(spans: list[dict[str, object]], service: str = "shop") -> str:
    resource = {"attributes": [attribute("service.name", service)]}
    return json.dumps({"resourceSpans": [{"resource": resource, "scopeSpans": [{"spans": spans}]}]})


def made(lines: list[str], name: str = "a.otlp.jsonl") -> Traces:
    return Traces(name, Memory("\n".join(lines).encode()))


def generated(count: int = 300, seed: int = 1) -> tuple[list[str], list[dict[str, object]]]:
    """Lines, and the spans in them as rows, of traces whose spans lie in several lines and services."""
    chance, rows, by_service = random.Random(seed), [], []
    for number in range(count):
        trace = f"{number:032x}"
        for depth in range(chance.randint(1, 6)):
            service, failed = chance.choice(SERVICES), chance.random() < 0.1
            row = span(
                trace, f"op{chance.randrange(9)}", f"{number:08x}{depth:08x}",
                f"{number:08x}{depth - 1:08x}" if depth else "", chance.uniform(1, 500), number * 10 + depth,
                status={"code": 2 if failed else 0}, attributes=[attribute("n", number)],
            )  # fmt: skip
            by_service.append((service, row))
            rows.append({**row, "service": service, "failed": failed})
    chance.shuffle(by_service)
    return [line([row], service) for service, row in by_service], rows


def test_an_overview_counts_what_there_is() -> None:
    lines, rows = generated()
    traces = made([*lines, "no json", "{}", ""])
    told = traces.overview()
    failed = sum(bool(row["failed"]) for row in rows)
    assert f"{len(rows):,} spans in 300 traces, {failed} with an error" in told
    assert "left out: 2 lines" in told
    for service, count in Counter(row["service"] for row in rows).items():
        assert f"  {service}  {count:,}  " in told
    assert len(traces) == len(rows)
    assert sorted(traces.services()) == sorted(SERVICES)
    assert len(list(traces.rows())) == len(rows)


def test_spans_are_searched_by_all_that_is_known_of_them() -> None:
    lines, rows = generated()
    traces = made(lines)

    def ids(found: list[dict[str, object]]) -> list[object]:
        return sorted(row["span"] for row in found)  # type: ignore[type-var]

    def expected(**want: object) -> list[object]:
        return sorted(row["spanId"] for row in rows if all(row[k] == v for k, v in want.items()))  # type: ignore[type-var]

    assert ids(traces.search(status="error", limit=1000)) == expected(failed=True)
    assert ids(traces.search(name="^op3$", service="pay", limit=1000)) == expected(name="op3", service="pay")
    assert ids(traces.search(trace=f"{7:032x}")) == expected(traceId=f"{7:032x}")
    slow = traces.search(min_ms=450, max_ms=480, limit=1000)
    assert slow
    assert all(450 <= row["ms"] <= 480 for row in slow)  # type: ignore[operator]
    assert len(traces.search(limit=7)) == 7
    assert traces.search(trace="nothing") == []
    assert traces.search(name="(") == []
    with pytest.raises(ValueError, match="unset, ok, error"):
        traces.search(status="bad")


def test_a_trace_is_a_tree_and_a_span_has_all_of_it() -> None:
    event = {
        "name": "exception",
        "timeUnixNano": str(T0),
        "attributes": [attribute("exception.type", "KeyError")],
    }
    link = {"traceId": "other", "spanId": "there"}
    root = span("t", "GET /", "a", ms=30)
    late = span(
        "t",
        "late",
        "c",
        "a",
        at=20,
        events=[event],
        links=[link],
        status={"code": "STATUS_CODE_ERROR", "message": "no"},
    )
    early = span("t", "early", "b", "a", at=1, attributes=[attribute("n", 3), attribute("ok", True)])
    lost = span("t", "lost", "d", "gone", at=25)
    traces = made([line([late, lost], "pay"), line([early, root])])
    assert traces.trace("t").splitlines() == [
        "trace t: 4 spans, 1 with an error, 30.0 ms",
        "GET /  shop  30.0 ms",
        "  early  shop  1.0 ms",
        "  late  pay  1.0 ms  ERROR",
        "lost  pay  1.0 ms",
    ]
    got = traces.span("c")
    assert (got["status"], got["message"], got["service"]) == ("error", "no", "pay")
    assert got["events"] == [
        {
            "name": "exception",
            "time": "2026-09-21T14:13:20.000Z",
            "attributes": {"exception.type": "KeyError"},
        }
    ]
    assert got["links"] == [{"trace": "other", "span": "there"}]
    assert traces.span("b")["attributes"] == {"n": 3, "ok": True}
    assert traces.traces()[0] == {
        "trace": "t",
        "spans": 4,
        "errors": 1,
        "ms": 30.0,
        "name": "GET /",
        "service": "shop",
    }
    with pytest.raises(KeyError, match="near: t"):
        made([line([span("trace-1", "x", "y")])]).trace("t")
    with pytest.raises(KeyError, match="no span 'z'"):
        traces.span("z")


def test_parents_that_go_round_are_a_tree_all_the_same() -> None:
    spans = [
        span("t", "x", "a", "b"),
        span("t", "y", "b", "a"),
        span("t", "self", "c", "c"),
        span("t", "no id", "", ""),
    ]
    told = made([line(spans)]).trace("t")
    assert len(told.splitlines()) == 5
    for name in ("x", "y", "self", "no id"):
        assert name in told


def test_no_call_gives_more_than_its_bound() -> None:
    huge = [attribute(f"key {n}", "v" * 3_900) for n in range(200)] + [attribute("blob", "b" * 2_000_000)]
    event = {"name": "e" * 5_000, "attributes": [attribute("x", "y" * 9_000)]}
    big = span("t", "n" * 100_000, "big", attributes=huge[::-1], events=[event] * 2_000)
    wide = [span("t", f"child {n}", f"c{n}", "big", at=n) for n in range(20_000)]
    traces = made(
        [line([big]), line(wide), *(line([span(f"t{n}", "x" * 300, f"r{n}")]) for n in range(2_000))]
    )
    got = traces.span("big")
    assert len(json.dumps(got)) < BOUND
    blob = got["attributes"]["blob"]  # type: ignore[index]
    assert blob == {"oversized": "str of 2,000,000 characters", "start": "b" * 200}
    assert got["attributes_left_out"] > 100  # type: ignore[operator]
    assert got["events_left_out"] > 1_000  # type: ignore[operator]
    assert len(traces.trace("t")) < BOUND
    assert traces.trace("t").splitlines()[-1].endswith("more lines")
    assert len(traces.overview()) < BOUND
    for rows in (traces.search(limit=10**6), traces.traces(10**6)):
        assert len(json.dumps(rows)) < BOUND
        assert rows[-1]["left_out"]
    assert all(
        len(hit) < MOST_ATTRIBUTE + 20 for hit in traces.__unspool_hits__(__import__("re").compile("blob"))
    )


class Endless:
    """A line longer than any may be, then a good one."""

    name = "endless"
    tail = b"\n" + line([span("t", "after", "a")]).encode() + b"\n"
    size = LONGEST_LINE * 2 + len(tail)

    def read(self, at: int, size: int) -> bytes:
        size = min(size, self.size - at)
        here = at - LONGEST_LINE * 2
        if here >= 0:
            return self.tail[here : here + size]
        return b"{" * min(size, -here)


def test_a_line_that_is_too_long_is_left_out_and_what_follows_is_read() -> None:
    traces = Traces("endless", Endless())
    assert [row["name"] for row in traces.search()] == ["after"]
    assert traces.span("a")["name"] == "after"
    assert "1 lines that are too long" in traces.overview()


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(
        st.sampled_from(["resourceSpans", "scopeSpans", "spans", "traceId", "spanId", "parentSpanId", "name", "status",
                         "code", "attributes", "key", "value", "arrayValue", "values", "kvlistValue", "intValue",
                         "startTimeUnixNano", "endTimeUnixNano", "events", "resource"]), inner, max_size=5),
    max_leaves=30,
)  # fmt: skip


@settings(max_examples=300, deadline=None)
@given(st.lists(JSON, max_size=4), JSON)
def test_nothing_in_a_file_makes_reading_it_fail(spans: list[object], resource: object) -> None:
    whole = {"resourceSpans": [{"resource": resource, "scopeSpans": [{"spans": spans}]}, resource]}
    traces = made([json.dumps(whole), json.dumps(spans)])
    traces.overview()
    traces.search(status="unset")
    for row in traces.rows():
        traces.trace(str(row["trace"]))
        traces.span(str(row["span"]))


@pytest.fixture(params=["named.otlp.jsonl", "told-by-content.jsonl", "packed.jsonl.gz"])
def file(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    lines, _ = generated(50)
    data = ("\n".join(lines) + "\n").encode()
    path = tmp_path / request.param
    path.write_bytes(gzip.compress(data) if path.suffix == ".gz" else data)
    return path


def test_a_path_to_traces_is_traces_in_the_repl_and_in_a_child(file: Path) -> None:
    _, rows = generated(50)
    failed = sum(bool(row["failed"]) for row in rows)
    child = py("print(len(context))\nsubmit(len(context))")
    code = (
        "print(type(context).__name__, len(context.search(status='error', limit=1000)))\n"
        "print(context.trace(context.traces(1)[0]['trace']))\n"
        "print(len(grep('op3', limit=1000)) > 1, context.text[:16], rlm_query('how many?', context))"
    )
    run, model = play([py(code), child, py("submit(context.overview()[:40])")], file)
    assert run.status == "answered", run.reason
    assert f"Traces {failed}" in shown(model, 2)
    assert '{"resourceSpans"' in shown(model, 2)
    assert str(run.answer).startswith(f"{file.name}: ")
    first = model.requests[0].messages[-1].text
    assert f"{len(rows):,} spans in 50 traces" in first
    assert ".search(name=regex" in first
    assert len(first) < 6_000


def test_a_file_that_is_only_named_so_is_text(tmp_path: Path) -> None:
    path = tmp_path / "a.otlp.jsonl"
    path.write_text('{"spans": []}\n')
    run, _ = play([py("print(1)\nsubmit(type(context).__name__)")], path)
    assert run.answer == "LazyText"
