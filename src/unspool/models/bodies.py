"""What a server has sent, put right before lm15 reads it.

Contract: :class:`Sound` is a transport of lm15's around another, which puts right what is received within a
:class:`Heard`, that of one call, and nothing else. Figures of usage that can be none (negative,
fractions, text, truth values, objects where a number belongs) are taken out, since lm15 would refuse the
whole reply for them; ``wrong`` says which. An error that comes with a status of success has the status that
its code stands for, and ``answered`` is what it came with. A number that is
none (NaN, Infinity) is null, as lm15 takes no such reply either. All else passes as it is, to the byte.

>>> put_right(b'{"choices": [1], "usage": {"prompt_tokens": 5, "completion_tokens": -7}}')
(b'{"choices": [1], "usage": {"prompt_tokens": 5, "completion_tokens": null}}', ('completion_tokens -7',))
"""

from __future__ import annotations

import json
import math
from collections.abc import AsyncIterator, Iterator, Mapping
from contextvars import ContextVar
from types import TracebackType
from typing import TYPE_CHECKING, Protocol, Self

from .figures import count_of

if TYPE_CHECKING:
    from contextlib import AbstractAsyncContextManager

    from lm15.transports import TransportRequest

    from .streams import Readable

__all__ = ["Heard", "Sound", "put_right", "status_in"]

_MARK = b'"usage'  # "usage" and Gemini's "usageMetadata"
_USAGE = ("usage", "usageMetadata")
_AROUND = ("response", "message")  # where streams have it, beside the top
_REPLY = ("choices", "content", "candidates", "output")
_NO_DATA = (b":", b"event:", b"id:", b"retry:")  # lines of events
_LEAST = -9999.0
_LONGEST = 40  # digits of a number; Python itself reads none of some thousands
_STATUS: Mapping[str, int] = {
    "insufficient_quota": 429,
    "exceeded_current_quota_error": 429,
    "1113": 429,
    "billing_not_active": 402,
    "billing_error": 402,
    "invalid_api_key": 401,
    "account_deactivated": 401,
    "authentication_error": 401,
    "UNAUTHENTICATED": 401,
    "permission_error": 403,
    "PERMISSION_DENIED": 403,
    "model_not_found": 404,
    "not_found_error": 404,
    "NOT_FOUND": 404,
    "context_length_exceeded": 400,
    "invalid_request_error": 400,
    "INVALID_ARGUMENT": 400,
    "rate_limit_exceeded": 429,
    "rate_limit_error": 429,
    "RESOURCE_EXHAUSTED": 429,
    "overloaded_error": 529,
    "UNAVAILABLE": 503,
}


def put_right(body: bytes) -> tuple[bytes, tuple[str, ...]]:
    """The JSON of a reply or of an event with figures that can be so, and what was taken out."""
    if _MARK not in body and b"NaN" not in body and b"Infinity" not in body:
        return body, ()
    value, odd = read(body)
    if not isinstance(value, dict):
        return body, ()
    inside = (value.get(name) for name in _AROUND)
    holders = [value, *(each for each in inside if isinstance(each, dict))]
    wrong = tuple(each for holder in holders for name in _USAGE for each in _mended(holder, name))
    if not wrong and not odd:
        return body, ()
    try:
        return json.dumps(finite(value)).encode(), wrong
    except RecursionError:  # it was read all the same; lm15 says what is wrong with it
        return body, ()


def read(body: bytes) -> tuple[object, bool]:
    """What JSON says, None where it is none; and whether a number in it is none that JSON can have."""
    try:
        return json.loads(body), b"NaN" in body or b"Infinity" in body
    except RecursionError:
        return None, False
    except ValueError:  # no JSON, or with more digits than Python reads
        pass
    try:
        return json.loads(body, parse_int=_number), True
    except (ValueError, RecursionError):
        return None, False


def _number(digits: str) -> int | float:
    return int(digits) if len(digits) < _LONGEST else math.inf


def finite(value: object) -> object:
    """The same with null for what is no number; -9999.0 for the logarithm of nothing, as OpenAI has it."""
    if isinstance(value, dict):
        return {name: _LEAST if each == -math.inf else finite(each) for name, each in value.items()}
    if isinstance(value, list):
        return [finite(each) for each in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


def _mended(holder: dict[str, object], name: str) -> Iterator[str]:
    """Takes out of a usage, in place, what is no figure."""
    usage = holder.get(name)
    if isinstance(usage, dict):
        yield from _counts(usage)
    elif usage is not None:
        del holder[name]
        yield _told(name, usage)


def _counts(usage: dict[str, object]) -> Iterator[str]:
    for name, told in usage.items():
        details = name.endswith("_details")
        if told is None or (type(told) is int and 0 <= told < 10**9 and not details):  # nearly all
            continue
        if details and isinstance(told, dict):
            yield from _counts(told)
        elif not _can_be(name, told):
            usage[name] = None
            yield _told(name, told)


def _can_be(name: str, told: object) -> bool:
    if name.endswith("_details"):
        return told == []  # as some write that there are none
    if name.endswith("Details"):  # Gemini's: a list, with a count for each kind of input
        return isinstance(told, list) and all(
            isinstance(each, dict) and count_of(each.get("tokenCount", 0)) is not None for each in told
        )
    if name.endswith(("_tokens", "TokenCount")):
        return count_of(told) is not None
    return not isinstance(told, float) or math.isfinite(told)


def _told(name: str, value: object) -> str:
    return f"{name} {str(value)[:40]}"


def status_in(body: bytes) -> int | None:
    """The HTTP status that the code of an error stands for; None for what is no error, or an unknown one.

    >>> status_in(b'{"error": {"code": "insufficient_quota"}}'), status_in(b'{"error": {"message": "no"}}')
    (429, None)
    """
    if b'"error"' not in body:
        return None
    value, _ = read(body)
    error = value.get("error") if isinstance(value, dict) else None
    if not isinstance(value, dict) or not isinstance(error, dict) or any(value.get(n) for n in _REPLY):
        return None
    for name in ("code", "status", "type"):
        told = error.get(name)
        status = _STATUS.get(told) if isinstance(told, str) else None
        number = count_of(int(told) if isinstance(told, str) and told in _NUMBERS else told)
        if status is None and number is not None and 400 <= number <= 599:
            status = number
        if status is not None:
            return status
    return None


_NUMBERS = frozenset(map(str, range(400, 600)))


class _Transport(Protocol):
    def stream(self, request: TransportRequest) -> AbstractAsyncContextManager[Readable]: ...
    async def aclose(self) -> None: ...


_call: ContextVar[Heard | None] = ContextVar("unspool_call", default=None)


class Sound:
    """See the module docstring."""

    def __init__(self, transport: _Transport) -> None:
        self._transport = transport

    def stream(self, request: TransportRequest) -> AbstractAsyncContextManager[object]:
        exchange = self._transport.stream(request)
        heard = _call.get()
        return exchange if heard is None else _Exchange(heard, exchange)

    async def aclose(self) -> None:
        await self._transport.aclose()


class Heard:
    """What is put right in the replies to one call. ``whole``: no stream was asked for."""

    def __init__(self, *, whole: bool) -> None:
        self.whole = whole
        self.wrong: list[str] = []
        self.answered: int | None = None

    def __enter__(self) -> Self:
        self._before = _call.set(self)
        return self

    def __exit__(self, *_: object) -> None:
        _call.reset(self._before)

    def mend(self, body: bytes) -> bytes:
        mended, wrong = put_right(body)
        self.wrong += (each for each in wrong if each not in self.wrong)
        return mended


class _Exchange:
    """What ``stream`` gives lm15: the context of one request."""

    def __init__(self, heard: Heard, exchange: AbstractAsyncContextManager[Readable]) -> None:
        self._heard = heard
        self._exchange = exchange

    async def __aenter__(self) -> _Response:
        response = _Response(self._heard, await self._exchange.__aenter__())
        try:
            await response.judge()
        except BaseException as error:
            await self._exchange.__aexit__(type(error), error, error.__traceback__)
            raise
        return response

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._exchange.__aexit__(kind, error, trace)


class _Response:
    """A response: its status is the one that its body tells."""

    def __init__(self, heard: Heard, response: Readable) -> None:
        self._heard = heard
        self._response = response
        self._body: bytes | None = None  # where it came at once
        self._lines = response.aiter_lines()  # of which these were read:
        self._begun: list[bytes] = []
        self.status = response.status
        self.reason = response.reason
        self.headers = response.headers
        self.http_version = response.http_version

    async def judge(self) -> None:
        """Reads the body, or the first event of one of events."""
        kind = ",".join(value.lower() for name, value in self.headers if name.lower() == "content-type")
        at_once = "json" in kind or (self._heard.whole and "event-stream" not in kind)
        if self.status >= 400:
            return
        body = await self._response.read() if at_once else await self._first()
        if (status := status_in(body)) is not None:
            self._heard.answered, self.status, self._body = self.status, status, body
        elif at_once:
            self._body = self._heard.mend(body)

    async def _first(self) -> bytes:
        """The data of the first event, or what stands in its place."""
        async for line in self._lines:
            self._begun.append(line)
            if line.strip() and not line.startswith(_NO_DATA):
                return line.removeprefix(b"data:")
        return b""

    async def read(self) -> bytes:
        return await self._response.read() if self._body is None else self._body

    async def aiter_lines(self) -> AsyncIterator[bytes]:
        if self._body is not None:
            for line in self._body.splitlines(keepends=True):
                yield self._mended(line)
            return
        for line in self._begun:
            yield self._mended(line)
        async for line in self._lines:
            yield self._mended(line)

    def _mended(self, line: bytes) -> bytes:
        if _MARK not in line or not line.startswith(b"data:"):
            return line
        data = line[5:].strip()
        mended = self._heard.mend(data)
        return line if mended is data else b"data: " + mended + b"\n"
