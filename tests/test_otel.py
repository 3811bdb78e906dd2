"""Spans from events: as OTLP JSON (no library needed), and through OpenTelemetry's own SDK where it is installed."""

from __future__ import annotations

import json
import socket
import threading
import urllib.request
from collections.abc import Iterator, Mapping, Sequence
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any

import pytest

from unspool import RLM, ConfigError, Run
from unspool import events as ev
from unspool.journal import Journal
from unspool.otel import instrument
from unspool.otlp_lines import lines
from unspool.spans import Begun, Ended, SpanFold
from unspool.testing import MemoryStore, ScriptedModel

from . import stories


@pytest.fixture(scope="module")
def kept(tmp_path_factory: pytest.TempPathFactory) -> tuple[Run, list[ev.Event]]:
    folder = tmp_path_factory.mktemp("runs")
    run = stories.with_children(folder)
    return run, Journal(folder).read(run.id)


Span = dict[str, Any]


def spans_of(events: Sequence[ev.Event], *, content: bool = True) -> list[Span]:
    return [
        span
        for line in lines(events, content=content)
        for resource in json.loads(line)["resourceSpans"]
        for scope in resource["scopeSpans"]
        for span in scope["spans"]
    ]


def told(span: Span) -> dict[str, Any]:
    """The attributes as a dict of plain values."""
    return {each["key"]: next(iter(each["value"].values())) for each in span["attributes"]}


def test_every_step_of_the_run_is_a_span_below_the_right_one(kept: tuple[Run, list[ev.Event]]) -> None:
    run, events = kept
    spans = spans_of(events)
    ids = {span["spanId"]: span for span in spans}
    assert len(ids) == len(spans)
    assert {span["traceId"] for span in spans} == {spans[0]["traceId"]}
    (root,) = [span for span in spans if "parentSpanId" not in span]
    assert root["name"] == "invoke_workflow unspool"
    assert told(root)["gen_ai.conversation.id"] == run.id

    def path(span: Span) -> list[str]:
        above = ids.get(span.get("parentSpanId", ""))
        return [*(path(above) if above else []), span["name"]]

    (failed,) = [span for span in spans if told(span).get("unspool.call") == "3"]
    start = ["invoke_workflow unspool", "invoke_agent unspool"]
    assert path(failed) == [*start, "turn 1", "execute_tool python", "chat sub"]
    (child,) = [span for span in spans if told(span).get("gen_ai.agent.id") == "0.2"]
    assert path(child) == [*start, "turn 3", "execute_tool python", "invoke_agent unspool"]
    replies = [span for span in spans if told(span).get("unspool.role") == "root"]
    assert len(replies) == 5
    assert all(path(span)[-2].startswith("turn ") for span in replies)


def test_times_lie_within_the_parents_and_are_those_of_the_events(kept: tuple[Run, list[ev.Event]]) -> None:
    _, events = kept
    spans = spans_of(events)
    ids = {span["spanId"]: span for span in spans}
    for span in spans:
        start, end = int(span["startTimeUnixNano"]), int(span["endTimeUnixNano"])
        assert start <= end
        if above := ids.get(span.get("parentSpanId", "")):
            assert int(above["startTimeUnixNano"]) <= start
            assert end <= int(above["endTimeUnixNano"])
    assert int(spans[0]["startTimeUnixNano"]) == round(events[0].time * 1e9)
    assert int(spans[0]["endTimeUnixNano"]) == round(events[-1].time * 1e9)


def test_what_failed_is_an_error_and_what_was_paid_is_told(kept: tuple[Run, list[ev.Event]]) -> None:
    _, events = kept
    spans = spans_of(events)
    errors = {told(span)["error.type"]: span for span in spans if "status" in span}
    assert set(errors) == {"bad_request", "ValueError"}
    assert errors["bad_request"]["status"] == {"code": 2, "message": "the server said 400"}
    call = next(told(span) for span in spans if told(span).get("unspool.call") == "1")
    assert call["gen_ai.usage.input_tokens"] == "4"
    assert call["unspool.cost_usd"] == pytest.approx(0.0001)
    assert call["gen_ai.request.model"] == "sub"
    assert call["gen_ai.provider.name"] == "scripted"
    assert json.loads(call["gen_ai.input.messages"])[0]["parts"][0]["content"] == "is it spam? a"
    assert told(errors["bad_request"])["unspool.cost_usd"] == 0  # it was refused: that is free
    assert "gen_ai.usage.input_tokens" not in told(errors["bad_request"])


def test_content_is_told_only_where_it_is_asked_for(kept: tuple[Run, list[ev.Event]]) -> None:
    _, events = kept
    text = "".join(lines(events, content=False))
    for content in ("spam", "llm_query", "said 400", "no such column"):
        assert content not in text
    assert "unspool.prompt.characters" in text
    assert "ValueError" in text


def test_of_a_run_cut_anywhere_every_span_ends(kept: tuple[Run, list[ev.Event]]) -> None:
    _, events = kept
    for number in range(len(events)):
        fold, open_ = SpanFold(), dict[str, Begun]()
        steps = [step for event in events[:number] for step in fold.add(event)]
        steps += fold.cut(events[number].time)
        for step in steps:
            if isinstance(step, Begun):
                assert step.parent is None or step.parent in open_
                assert step.key not in open_
                open_[step.key] = step
            else:
                assert isinstance(step, Ended)
                assert step.key in open_
                assert all(begun.parent != step.key for begun in open_.values())
                del open_[step.key]
        assert open_ == {}
        spans_of(events[:number])


def resumed() -> tuple[MemoryStore, str]:
    """A run that reached its limit of turns, and went on with a higher one."""
    store = MemoryStore()
    model = ScriptedModel(lambda m: stories.py("print(llm_query('one'))") if len(m) == 2 else "stop")
    run = RLM(model, sub_model=ScriptedModel(lambda _: "yes"), store=store, max_turns=2).run("?", "x")
    assert run.status == "budget"
    again = ScriptedModel(
        lambda m: stories.py("submit('done')") if len(m) > 4 else stories.py("print(llm_query('one'))")
    )
    done = RLM(again, sub_model=ScriptedModel(lambda _: "yes"), store=store, max_turns=5).resume(run.id, "x")
    assert done.answer == "done", done.reason
    return store, run.id


def test_a_resumed_run_is_one_tree() -> None:
    store, run = resumed()
    spans = spans_of(store.read(run))
    assert len({span["spanId"] for span in spans}) == len(spans)
    assert [span["name"] for span in spans if "parentSpanId" not in span] == ["invoke_workflow unspool"]
    assert told(spans[0])["unspool.status"] == "answered"
    assert "status" not in spans[0]


def test_branches_are_nodes_of_one_run_and_what_they_share_is_paid_once(tmp_path: Path) -> None:
    run = stories.with_branches(tmp_path)
    spans = spans_of(Journal(tmp_path).read(run.id))
    (root,) = [span for span in spans if "parentSpanId" not in span]
    nodes = {told(span)["gen_ai.agent.id"]: span for span in spans if "gen_ai.agent.id" in told(span)}
    assert {"0", "0@2", "0@3", "0.1", "0@2.1", "0@3.1"} == set(nodes)
    assert all(nodes[name]["parentSpanId"] == root["spanId"] for name in ("0", "0@2", "0@3"))
    paid = [told(span).get("unspool.cost_usd", 0) for span in spans if span["name"].startswith("chat")]
    assert sum(paid) == pytest.approx(run.cost)


class Collector(HTTPServer):
    """A collector on loopback: keeps what is posted to /v1/traces."""

    got: list[tuple[str, str, bytes]]


@pytest.fixture
def collector() -> Iterator[Collector]:
    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            server.got.append((self.path, self.headers["Content-Type"], body))
            self.send_response(200)
            self.end_headers()
            self.wfile.write(b"{}")

        def log_message(self, format: str, *args: object) -> None:
            """Nothing to stderr."""

    server = Collector(("127.0.0.1", 0), Handler)
    server.got = []
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield server
    server.shutdown()
    thread.join()
    server.server_close()


def test_a_line_is_what_a_collector_takes(kept: tuple[Run, list[ev.Event]], collector: Collector) -> None:
    url = f"http://127.0.0.1:{collector.server_port}/v1/traces"
    for line in lines(kept[1]):
        request = urllib.request.Request(url, line.encode(), {"Content-Type": "application/json"})
        with urllib.request.urlopen(request, timeout=10) as answer:
            assert answer.status == 200
    ((path, kind, body),) = collector.got
    assert (path, kind) == ("/v1/traces", "application/json")
    assert len(json.loads(body)["resourceSpans"][0]["scopeSpans"][0]["spans"]) == len(spans_of(kept[1]))


def test_a_line_fits_the_protocol(kept: tuple[Run, list[ev.Event]]) -> None:
    service = pytest.importorskip("opentelemetry.proto.collector.trace.v1.trace_service_pb2")
    from google.protobuf import json_format

    for line in lines(kept[1]):
        request = json_format.Parse(line, service.ExportTraceServiceRequest())
        (scope,) = request.resource_spans[0].scope_spans
        assert scope.schema_url == "https://opentelemetry.io/schemas/1.41.0"
        assert len(scope.spans) == len(spans_of(kept[1]))
        assert scope.spans[0].end_time_unix_nano > scope.spans[0].start_time_unix_nano


def test_without_opentelemetry_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    import sys

    monkeypatch.setitem(sys.modules, "opentelemetry", None)
    with pytest.raises(ConfigError, match=r"unspool\[otel\]"):
        instrument()


# Through the SDK


@pytest.fixture
def sdk() -> Iterator[tuple[Any, Any]]:
    """A tracer provider of its own, and what it exported."""
    trace = pytest.importorskip("opentelemetry.sdk.trace")
    export = pytest.importorskip("opentelemetry.sdk.trace.export")
    memory = pytest.importorskip("opentelemetry.sdk.trace.export.in_memory_span_exporter")
    exporter = memory.InMemorySpanExporter()
    provider = trace.TracerProvider()
    provider.add_span_processor(export.SimpleSpanProcessor(exporter))
    yield provider, exporter
    provider.shutdown()


def test_live_spans_are_those_of_the_journal(sdk: tuple[Any, Any], tmp_path: Path) -> None:
    provider, exporter = sdk
    stop = instrument(provider, content=True)
    try:
        with provider.get_tracer("program").start_as_current_span("request") as outer:
            run = stories.with_children(tmp_path)
    finally:
        stop()
    live = [span for span in exporter.get_finished_spans() if span.name != "request"]
    wanted = spans_of(Journal(tmp_path).read(run.id))
    assert len(live) == len(wanted)
    assert {span.context.trace_id for span in live} == {outer.get_span_context().trace_id}

    def shape(name: str, start: int, end: int, attributes: Mapping[str, object]) -> tuple[object, ...]:
        return name, start, end, attributes.get("error.type"), attributes.get("unspool.call")

    assert sorted((shape(s.name, s.start_time, s.end_time, s.attributes) for s in live), key=str) == sorted(
        (
            (
                span["name"],
                int(span["startTimeUnixNano"]),
                int(span["endTimeUnixNano"]),
                told(span).get("error.type"),
                int(told(span)["unspool.call"]) if "unspool.call" in told(span) else None,
            )
            for span in wanted
        ),
        key=str,
    )
    by_id = {span.context.span_id: span for span in live}
    (failed,) = [span for span in live if span.attributes.get("unspool.call") == 3]
    assert failed.status.status_code.name == "ERROR"
    assert failed.status.description == "the server said 400"
    assert failed.kind.name == "CLIENT"
    assert by_id[failed.parent.span_id].name == "execute_tool python"
    (top,) = [span for span in live if span.parent.span_id not in by_id]
    assert top.parent.span_id == outer.get_span_context().span_id
    stories.with_children(tmp_path)
    assert len(exporter.get_finished_spans()) == len(live) + 1  # nobody looks on any more


def test_live_spans_have_no_content_unless_it_is_asked_for(sdk: tuple[Any, Any], tmp_path: Path) -> None:
    provider, exporter = sdk
    stop = instrument(provider)
    try:
        stories.with_children(tmp_path)
    finally:
        stop()
    shown = "".join(span.to_json() for span in exporter.get_finished_spans())
    assert "chat sub" in shown
    assert "spam" not in shown
    assert "said 400" not in shown


def test_live_spans_of_a_resumed_run_begin_where_it_goes_on(sdk: tuple[Any, Any]) -> None:
    provider, exporter = sdk
    stop = instrument(provider)
    try:
        resumed()
    finally:
        stop()
    runs = [span for span in exporter.get_finished_spans() if span.name.startswith("invoke_workflow")]
    assert [span.attributes["unspool.status"] for span in runs] == ["budget", "answered"]
    assert runs[1].start_time >= runs[0].end_time


def test_a_provider_that_fails_stops_no_run(sdk: tuple[Any, Any], tmp_path: Path, caplog: Any) -> None:
    class Broken:
        def get_tracer(self, *args: object, **kwargs: object) -> Broken:
            return self

        def start_span(self, *args: object, **kwargs: object) -> object:
            raise RuntimeError("no room")

    stop = instrument(Broken())  # type: ignore[arg-type]
    try:
        assert stories.with_children(tmp_path).status == "answered"
    finally:
        stop()
    assert [record.levelname for record in caplog.records if "onlooker failed" in record.message] == ["ERROR"]


# To a collector, by OpenTelemetry's own exporter


def any_value(value: Any) -> object:
    kind = value.WhichOneof("value")
    if kind == "array_value":
        return tuple(any_value(each) for each in value.array_value.values)
    return getattr(value, kind)


def test_the_exporter_takes_live_spans_to_a_collector(collector: Collector, tmp_path: Path) -> None:
    """Through SDK, batches and OTLP over HTTP: what arrives is what the journal's own lines say."""
    trace = pytest.importorskip("opentelemetry.sdk.trace")
    export = pytest.importorskip("opentelemetry.sdk.trace.export")
    otlp = pytest.importorskip("opentelemetry.exporter.otlp.proto.http.trace_exporter")
    service = pytest.importorskip("opentelemetry.proto.collector.trace.v1.trace_service_pb2")
    provider = trace.TracerProvider()
    url = f"http://127.0.0.1:{collector.server_port}/v1/traces"
    provider.add_span_processor(export.BatchSpanProcessor(otlp.OTLPSpanExporter(endpoint=url)))
    stop = instrument(provider, content=True)
    try:
        run = stories.with_children(tmp_path)
    finally:
        stop()
        provider.shutdown()
    assert {(path, kind) for path, kind, _ in collector.got} == {("/v1/traces", "application/x-protobuf")}
    arrived = [
        (scope, span)
        for _, _, body in collector.got
        for resource in service.ExportTraceServiceRequest.FromString(body).resource_spans
        for scope in resource.scope_spans
        for span in scope.spans
    ]
    assert {(scope.scope.name, scope.schema_url) for scope, _ in arrived} == {
        ("unspool", "https://opentelemetry.io/schemas/1.41.0")
    }

    def plain(value: Mapping[str, Any]) -> object:
        ((kind, of),) = value.items()
        if kind == "arrayValue":
            return tuple(plain(each) for each in of["values"])
        return int(of) if kind == "intValue" else of

    wanted = spans_of(Journal(tmp_path).read(run.id))
    names = {span["spanId"]: span["name"] for span in wanted}
    ids = {span.span_id: span.name for _, span in arrived}
    assert sorted(
        (
            (
                span.name,
                ids.get(span.parent_span_id),
                span.kind,
                span.start_time_unix_nano,
                span.end_time_unix_nano,
                span.status.code,
                span.status.message,
                {each.key: any_value(each.value) for each in span.attributes},
            )
            for _, span in arrived
        ),
        key=str,
    ) == sorted(
        (
            (
                span["name"],
                names.get(span.get("parentSpanId", "")),
                span["kind"],
                int(span["startTimeUnixNano"]),
                int(span["endTimeUnixNano"]),
                span.get("status", {}).get("code", 0),
                span.get("status", {}).get("message", ""),
                {each["key"]: plain(each["value"]) for each in span["attributes"]},
            )
            for span in wanted
        ),
        key=str,
    )


def test_a_collector_that_is_not_there_stops_no_run(tmp_path: Path, caplog: Any) -> None:
    trace = pytest.importorskip("opentelemetry.sdk.trace")
    export = pytest.importorskip("opentelemetry.sdk.trace.export")
    otlp = pytest.importorskip("opentelemetry.exporter.otlp.proto.http.trace_exporter")
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]  # closed again: nobody listens there
    provider = trace.TracerProvider()
    exporter = otlp.OTLPSpanExporter(endpoint=f"http://127.0.0.1:{port}/v1/traces", timeout=0.2)
    provider.add_span_processor(export.BatchSpanProcessor(exporter))
    stop = instrument(provider)
    try:
        run = stories.with_children(tmp_path)
    finally:
        stop()
        provider.shutdown()
    assert run.status == "answered"
    assert any(record.name.startswith("opentelemetry") for record in caplog.records)
