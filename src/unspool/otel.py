"""Runs as OpenTelemetry spans, while they go on. Needs the extra ``otel``.

Contract: :func:`instrument` looks on at every run of this process. Each run is a span below the one that is
current where it was asked, so it stands in the program's own trace; the names are those of
:mod:`unspool.span_names`. What is exported, where to and when is the tracer provider's; one that fails stops
no run. Prompts, replies, code and output are in the spans only with ``content=True``.

Of a run that is resumed, what had ended is not told again; what goes on is told from where it is resumed.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from . import __version__
from . import events as ev
from . import span_names as names
from .errors import ConfigError
from .event_log import EventLog
from .onlookers import look_on
from .otlp_lines import error_type
from .reach.extras import how_to_add
from .spans import Begun, SpanFold

if TYPE_CHECKING:
    from opentelemetry.trace import Span, Tracer, TracerProvider


def instrument(tracer_provider: TracerProvider | None = None, *, content: bool = False) -> Callable[[], None]:
    """From now on every run is told to OpenTelemetry; returns what ends that.

    :param tracer_provider: where the spans go; ``None`` is the one that the program has set.
    :param content: whether prompts, replies, code and output are told, too.
    """
    try:
        from opentelemetry import trace
    except ImportError:
        raise ConfigError(f"OpenTelemetry is not installed: {how_to_add('otel')}") from None
    tracer = trace.get_tracer(names.SCOPE, __version__, tracer_provider, names.SCHEMA_URL)
    return look_on(lambda log: _Spans(tracer, log, content).add)


class _Spans:
    """The spans of one run. Made where it was asked: the current span there is the parent."""

    def __init__(self, tracer: Tracer, log: EventLog, content: bool) -> None:
        from opentelemetry import context

        self._tracer = tracer
        self._outer = context.get_current()
        self._fold = SpanFold(content=content)
        self._spans: dict[str, Span] = {}
        for event in log.events:
            self._fold.add(event)

    def add(self, event: ev.Event) -> None:
        from opentelemetry.trace import Status, StatusCode

        if isinstance(event, ev.RunResumed):
            self._resumed(event.time)
        for step in self._fold.add(event):
            if isinstance(step, Begun):
                self._begin(step, step.time)
                continue
            span = self._spans.pop(step.key, None)
            if span is None:
                continue
            span.set_attributes({**step.attributes, **error_type(step)})
            if step.error is not None:
                span.set_status(Status(StatusCode.ERROR, step.message or step.error))
            span.end(_nanoseconds(step.time))

    def _begin(self, begun: Begun, time: float) -> None:
        from opentelemetry.trace import SpanKind, set_span_in_context

        parent = self._spans.get(begun.parent or "")
        self._spans[begun.key] = self._tracer.start_span(
            begun.name,
            context=self._outer if parent is None else set_span_in_context(parent, self._outer),
            kind=SpanKind.CLIENT if begun.kind == "client" else SpanKind.INTERNAL,
            attributes=dict(begun.attributes),
            start_time=_nanoseconds(time),
        )

    def _resumed(self, time: float) -> None:
        """What goes on begins now, for whoever was not told of it."""
        for begun in self._fold.going_on(time):
            self._begin(begun, time)


def _nanoseconds(time: float) -> int:
    return round(time * 1e9)
