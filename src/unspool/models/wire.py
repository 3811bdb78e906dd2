"""The HTTP/1.1 client under lm15: one write a request, no task and no timer for it.

lm15's own transport starts a task for every read and sends head and body apart; with hundreds of
short calls a second that is most of what they cost. Ours does what a chat completion needs: keep
connections alive, send, read the whole body. Through a proxy lm15's own is used.

Contract: :class:`Wire` is what lm15 calls an async transport, for one event loop. A cancelled
exchange aborts its connection. A connection that the server closed while it was idle is not used;
where that crossed with the request, the request is sent once more on a new one.

>>> origin_of("https://api.example.com/v1/models?a=1").target
'/v1/models?a=1'
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from dataclasses import dataclass
from functools import lru_cache
from types import TracebackType
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from lm15.transports import (
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
    """What lm15 reads: a response whose body is there."""

    def __init__(self, head: Head, body: bytes) -> None:
        self.status = head.status
        self.reason = head.reason
        self.headers = head.headers
        self.http_version = head.version
        self._body = body

    async def read(self) -> bytes:
        return self._body

    async def aiter_lines(self) -> AsyncIterator[bytes]:
        for line in self._body.splitlines(keepends=True):
            yield line


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

    async def exchange(self, request: TransportRequest) -> Response:
        origin = origin_of(request.url)
        data = _serialise(request, origin)
        idle = self._idle.setdefault(origin.key, [])
        while idle:
            connection = idle.pop()
            if connection.lost:
                continue
            try:
                return await self._over(connection, data, idle)
            except ReadError:
                if connection.answered:
                    raise
                break  # closed by the server at the moment of the request
        return await self._over(await self._connect(origin), data, idle)

    async def _over(self, connection: Connection, data: bytes, idle: list[Connection]) -> Response:
        try:
            head, body = await connection.exchange(data)
        except BaseException:  # cancelled too: a reply half read must not meet the next request
            connection.abort()
            raise
        if head.keep and not connection.lost:
            idle.append(connection)
        else:
            connection.abort()
        return Response(head, body)

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

    async def __aenter__(self) -> Response:
        proxied = self._wire.proxied(self._request.url)
        if proxied is None:
            return await self._wire.exchange(self._request)
        async with proxied.stream(self._request) as response:
            head = Head(
                response.status, response.reason, response.http_version, response.headers, None, False, False
            )
            return Response(head, await response.read())

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        return None


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
