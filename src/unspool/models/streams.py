"""Gathers a reply that comes in pieces, tells of each, and vouches for the whole.

Contract: :func:`gather` returns a reply only if the provider said that it is complete: a stream that
ends before that, in whatever way, is an error, never a shorter text. Pieces are put together in the
order they came: the numbers that lm15 gives to parts begin anew with each of Gemini's chunks.
"""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import AbstractAsyncContextManager, aclosing
from dataclasses import replace
from types import TracebackType
from typing import TYPE_CHECKING, Protocol, cast

from .adapters import Received, counts_of
from .protocol import Delta, OnDelta
from .replies import FINISH, Counts

if TYPE_CHECKING:
    from lm15 import Request, StreamDeltaEvent, StreamEndEvent, StreamEvent
    from lm15.providers.async_base import AsyncBaseProviderLM, AsyncTransport
    from lm15.transports import TransportRequest

    from .providers import Dialect


class NotAStream(Exception):
    """The server sent no event at all: it does not stream."""


class CutShort(Exception):
    """The stream ended before the provider said that the reply is complete."""


async def gather(
    open_adapter: Callable[[AsyncTransport], AsyncBaseProviderLM],
    transport: AsyncTransport,
    request: Request,
    dialect: Dialect,
    on_delta: OnDelta,
) -> Received:
    """Stream one request over ``transport``. Raises what lm15 raises, and the errors above."""
    from lm15.errors import error_class_for_code

    pieces, opening = _Pieces(apart=dialect == "gemini"), _Opening()
    listening = cast("AsyncTransport", _Listening(transport, opening.hear))
    ended: StreamEndEvent | None = None
    model, fresh = request.model, True
    async with aclosing(cast(_Closable, open_adapter(listening).stream(request))) as events:
        async for event in events:
            if event.type == "start":
                model = event.model or model
            elif event.type == "error":
                begun = 200 if pieces.any else None  # then it may have to be paid
                raise error_class_for_code(event.error.code)(event.error.message, status=begun)
            elif event.type == "end":
                ended = event
            elif told := pieces.add(event):
                on_delta(replace(told, fresh=fresh))
                fresh = False
    if ended is None and not pieces.any and opening.counts is None:
        raise NotAStream
    if ended is None or not _complete(ended, dialect):
        raise CutShort
    finish = "filter" if pieces.refused else FINISH.get(ended.finish_reason or "", "other")
    counts = counts_of(ended.usage) if ended.usage else Counts()
    return Received(
        tuple(pieces.texts),
        ("".join(pieces.thoughts),),
        pieces.calls,
        finish,
        opening.complete(counts),
        model,
    )


def _complete(ended: StreamEndEvent, dialect: Dialect) -> bool:
    """Whether the provider itself gave a reason to stop; lm15 makes one up for some chunks of Gemini's."""
    if dialect != "gemini":
        return ended.finish_reason is not None
    candidates = (ended.provider_data or {}).get("candidates")
    first = candidates[0] if isinstance(candidates, list) and candidates else None
    return isinstance(first, Mapping) and bool(first.get("finishReason"))


class _Pieces:
    """The pieces so far. ``apart``: each tool call comes whole, and numbers tell nothing."""

    def __init__(self, *, apart: bool) -> None:
        self._apart = apart
        self.any = False
        self.refused = False
        self.texts: list[str] = []
        self.thoughts: list[str] = []
        self._calls: dict[int, str] = {}

    def add(self, event: StreamDeltaEvent) -> Delta | None:
        """Keep it; what there is to show of it."""
        self.any = True
        delta = event.delta
        if delta.type == "text" and delta.text:
            self.texts.append(delta.text)
            return Delta(delta.text)
        if delta.type == "thinking" and delta.text:
            self.thoughts.append(delta.text)
            return Delta(thinking=delta.text)
        if delta.type == "tool_call":
            place = len(self._calls) if self._apart else delta.part_index
            self._calls[place] = self._calls.get(place, "") + delta.input
        return None

    @property
    def calls(self) -> tuple[object, ...]:
        return tuple(call for _, call in sorted(self._calls.items()))


class _Opening:
    """The usage in the first event of Anthropic's streams: the last one need not repeat it."""

    def __init__(self) -> None:
        self.counts: Counts | None = None

    def hear(self, line: bytes) -> None:
        if self.counts is not None or b'"message_start"' not in line or not line.startswith(b"data:"):
            return
        try:
            usage = json.loads(line[5:])["message"]["usage"]
            self.counts = Counts(
                input=usage.get("input_tokens"),
                cached=usage.get("cache_read_input_tokens"),
                written=usage.get("cache_creation_input_tokens"),
            )
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
            self.counts = Counts()  # lm15 reads the same line, and says what is wrong with it

    def complete(self, last: Counts) -> Counts:
        """The final counts, with what only the first event told."""
        first = self.counts
        if first is None or last.input is not None:
            return last
        return replace(last, input=first.input, cached=first.cached, written=first.written)


class _Closable(Protocol):
    def __aiter__(self) -> AsyncIterator[StreamEvent]: ...
    async def aclose(self) -> None: ...


class _Listening:
    """A transport whose lines are heard on their way."""

    def __init__(self, transport: AsyncTransport, hear: Callable[[bytes], None]) -> None:
        self._transport = transport
        self._hear = hear

    def stream(self, request: TransportRequest) -> _Heard:
        return _Heard(self._transport.stream(request), self._hear)


class Readable(Protocol):
    """What lm15 reads of a response."""

    status: int
    reason: str
    headers: list[tuple[str, str]]
    http_version: str

    async def read(self) -> bytes: ...
    def aiter_lines(self) -> AsyncIterator[bytes]: ...


class _Heard:
    """One exchange, and its response, with an ear at the lines."""

    def __init__(
        self, exchange: AbstractAsyncContextManager[Readable], hear: Callable[[bytes], None]
    ) -> None:
        self._exchange = exchange
        self._hear = hear

    async def __aenter__(self) -> _Heard:
        self._response = response = await self._exchange.__aenter__()
        self.status, self.reason = response.status, response.reason
        self.headers, self.http_version = response.headers, response.http_version
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._exchange.__aexit__(kind, error, trace)

    async def read(self) -> bytes:
        return await self._response.read()

    async def aiter_lines(self) -> AsyncIterator[bytes]:
        async for line in self._response.aiter_lines():
            self._hear(line)
            yield line
