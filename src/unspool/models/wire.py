"""The HTTP/1.1 client under lm15: one write a request, no task and no timer for it.

lm15's own transport starts a task for every read and sends head and body apart; with hundreds of
short calls a second that is most of what they cost. Ours does what a chat completion needs: keep
connections alive, send, read the whole body or its lines as they come. Through a proxy lm15's own is
used.

Contract: :class:`Wire` is what lm15 calls an async transport, for one event loop. A cancelled
exchange aborts its connection. A connection that the server closed while it was idle is not used;
where that crossed with the request, the request is sent once more on a new one.

>>> origin_of("https://api.example.com/v1/models?a=1").target
'/v1/models?a=1'
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from functools import lru_cache
from types import TracebackType
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from lm15.transports import (
    AsyncTransportResponse,
    ConnectError,
    ConnectTimeout,
    ProtocolError,
    ReadError,
    StdlibAsyncTransport,
    TransportRequest,
)

from .http11 import Connection, Head

if TYPE_CHECKING:
    import ssl


@dataclass(frozen=True, slots=True)
class Origin:
    """Where a URL points: the connection it needs, and the target on it."""

    secure: bool
    host: str
    port: int
    target: str
    authority: str

    @property
    def key(self) -> tuple[bool, str, int]:
        return (self.secure, self.host, self.port)


@lru_cache(maxsize=64)
def origin_of(url: str) -> Origin:
    parts = urlsplit(url)
    secure = parts.scheme == "https"
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise ConnectError(f"not an http or https URL: {url}")
    target = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
    return Origin(
        secure, parts.hostname, parts.port or (443 if secure else 80), target, parts.netloc.rpartition("@")[2]
    )


class Response:
    """What lm15 reads: the head of a response, and the body as it comes."""

    def __init__(self, head: Head, connection: Connection) -> None:
        self.status = head.status
        self.reason = head.reason
        self.headers = head.headers
        self.http_version = head.version
        self._connection = connection

    async def read(self) -> bytes:
        return await self._connection.rest()

    async def aiter_lines(self) -> AsyncIterator[bytes]:
        """The lines of the body, each when its end has come; a last line may have none."""
        rest = bytearray()
        while piece := await self._connection.piece():
            rest += piece
            *lines, last = rest.split(b"\n")
            for line in lines:
                yield bytes(line + b"\n")
            rest = last
        if rest:
            yield bytes(rest)


class Wire:
    """Connections of one event loop, kept by origin."""

    def __init__(self, *, connect_seconds: float, use_proxy: bool) -> None:
        self._connect_seconds = connect_seconds
        self._use_proxy = use_proxy
        self._idle: dict[tuple[bool, str, int], list[Connection]] = {}
        self._all: set[Connection] = set()
        self._tls: ssl.SSLContext | None = None
        self._proxied: StdlibAsyncTransport | None = None

    def stream(self, request: TransportRequest) -> _Exchange:
        return _Exchange(self, request)

    async def begin(self, request: TransportRequest) -> tuple[Connection, Head]:
        """Send it; the connection it went over, and the head of the response."""
        origin = origin_of(request.url)
        data = _serialise(request, origin)
        idle = self._idle.setdefault(origin.key, [])
        while idle:
            connection = idle.pop()
            if connection.lost:
                continue
            try:
                return connection, await _head_over(connection, data)
            except ReadError:
                if connection.answered:
                    raise
                break  # closed by the server at the moment of the request
        connection = await self._connect(origin)
        return connection, await _head_over(connection, data)

    def end(self, connection: Connection, request: TransportRequest) -> None:
        """The exchange is over, or given up: a reply half read must not meet the next request."""
        if connection.reusable:
            self._idle.setdefault(origin_of(request.url).key, []).append(connection)
        else:
            connection.abort()

    async def _connect(self, origin: Origin) -> Connection:
        loop = asyncio.get_running_loop()
        where = f"{origin.host}:{origin.port}"
        try:
            async with asyncio.timeout(self._connect_seconds):
                _, connection = await loop.create_connection(
                    lambda: Connection(loop, self._all),
                    origin.host,
                    origin.port,
                    ssl=self._context() if origin.secure else None,
                )
        except TimeoutError:
            raise ConnectTimeout(f"no answer from {where} within {self._connect_seconds:g} s") from None
        except OSError as error:
            raise ConnectError(f"{where}: {error.strerror or error}") from error
        return connection

    def _context(self) -> ssl.SSLContext:
        if self._tls is None:
            import ssl

            self._tls = ssl.create_default_context()
        return self._tls

    def proxied(self, url: str) -> StdlibAsyncTransport | None:
        """lm15's transport where the environment names a proxy for this URL."""
        if not self._use_proxy or not _proxy_for(url):
            return None
        if self._proxied is None:
            self._proxied = StdlibAsyncTransport(
                connect_timeout=self._connect_seconds,
                read_timeout=86_400.0,
                pool_timeout=None,
                max_connections=1024,
                user_agent="unspool",
            )
        return self._proxied

    async def aclose(self) -> None:
        self._idle.clear()
        for connection in list(self._all):
            connection.abort()
        await asyncio.sleep(0)  # the loop closes the sockets in its next round
        if self._proxied is not None:
            await self._proxied.aclose()


class _Exchange:
    """What ``stream`` gives lm15: the context of one request."""

    def __init__(self, wire: Wire, request: TransportRequest) -> None:
        self._wire = wire
        self._request = request
        self._connection: Connection | None = None
        self._proxied: AbstractAsyncContextManager[AsyncTransportResponse] | None = None

    async def __aenter__(self) -> Response | AsyncTransportResponse:
        proxied = self._wire.proxied(self._request.url)
        if proxied is not None:
            self._proxied = proxied.stream(self._request)
            return await self._proxied.__aenter__()
        self._connection, head = await self._wire.begin(self._request)
        return Response(head, self._connection)

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._proxied is not None:
            await self._proxied.__aexit__(kind, error, trace)
        elif self._connection is not None:
            self._wire.end(self._connection, self._request)


async def _head_over(connection: Connection, data: bytes) -> Head:
    try:
        return await connection.send(data)
    except BaseException:  # cancelled too
        connection.abort()
        raise


def _serialise(request: TransportRequest, origin: Origin) -> bytes:
    lines = [f"{request.method} {origin.target} HTTP/1.1", f"Host: {origin.authority}", "User-Agent: unspool"]
    lines += [f"{name}: {value}" for name, value in request.headers]
    if request.body or request.method != "GET":
        lines.append(f"Content-Length: {len(request.body)}")
    head = "\r\n".join(lines)
    if head.count("\n") != len(lines) - 1 or "\0" in head:
        raise ProtocolError("a header holds a line break")
    return head.encode("latin-1", "replace") + b"\r\n\r\n" + request.body


@lru_cache(maxsize=64)
def _proxy_for(url: str) -> bool:
    from urllib.request import getproxies, proxy_bypass

    parts = urlsplit(url)
    proxies = getproxies()
    return bool(proxies.get(parts.scheme) or proxies.get("all")) and not proxy_bypass(parts.hostname or "")
