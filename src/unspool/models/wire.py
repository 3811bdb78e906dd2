"""The HTTP/1.1 client under lm15: one write a request, no task and no timer for it.

lm15's own transport starts a task for every read and sends head and body apart; with hundreds of
short calls a second that is most of what they cost. Ours does what a chat completion needs: keep
connections alive, send, read the whole body. Through a proxy lm15's own is used.

Contract: :class:`Wire` is what lm15 calls an async transport, for one event loop. A cancelled
exchange aborts its connection. A connection that the server closed while it was idle is not used;
where that crossed with the request, the request is sent once more on a new one.

>>> Head.parse(b"HTTP/1.1 200 OK\\r\\nContent-Length: 5").length
5
"""

from __future__ import annotations

import asyncio
import socket
from collections.abc import AsyncIterator
from dataclasses import dataclass
from functools import lru_cache
from types import TracebackType
from typing import TYPE_CHECKING, cast
from urllib.parse import urlsplit

from lm15.transports import (
    ConnectError,
    ConnectTimeout,
    ProtocolError,
    ReadError,
    StdlibAsyncTransport,
    TransportRequest,
)

if TYPE_CHECKING:
    import ssl

_LARGEST_HEAD = 64 * 1024


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


@dataclass(frozen=True, slots=True)
class Head:
    """The head of a response, and what it says of the body: ``length`` None: until the end."""

    status: int
    reason: str
    version: str
    headers: list[tuple[str, str]]
    length: int | None
    chunked: bool
    keep: bool

    @classmethod
    def parse(cls, raw: bytes) -> Head:
        first, *lines = raw.decode("latin-1").split("\r\n")
        version, _, rest = first.partition(" ")
        code, _, reason = rest.partition(" ")
        if not version.startswith("HTTP/1.") or not code.isdigit():
            raise ProtocolError(f"this is not HTTP/1.1: {first[:80]!r}")
        headers = [(n.strip(), v.strip()) for n, _, v in (line.partition(":") for line in lines)]
        by_name = {name.lower(): value for name, value in headers}
        chunked = "chunked" in by_name.get("transfer-encoding", "").lower()
        length = by_name.get("content-length", "")
        status = int(code)
        bodiless = status in (204, 304)
        connection = by_name.get("connection", "").lower()
        keep = connection != "close" and (version != "HTTP/1.0" or connection == "keep-alive")
        known = 0 if bodiless else int(length) if length.isdigit() and not chunked else None
        return cls(status, reason, version, headers, known, chunked, keep and (chunked or known is not None))


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
        except BaseException:
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


class Connection(asyncio.Protocol):
    """One connection: one exchange at a time."""

    def __init__(self, loop: asyncio.AbstractEventLoop, everyone: set[Connection]) -> None:
        self._loop = loop
        self._everyone = everyone
        self._buffer = bytearray()
        self._head: Head | None = None
        self._body = bytearray()
        self._waiter: asyncio.Future[tuple[Head, bytes]] | None = None
        self._transport: asyncio.Transport | None = None
        self.lost = False
        self.answered = False

    async def exchange(self, data: bytes) -> tuple[Head, bytes]:
        assert self._transport is not None
        self._waiter = self._loop.create_future()
        self._head = None
        self._buffer.clear()
        self._body.clear()
        self.answered = False
        self._transport.write(data)
        return await self._waiter

    def abort(self) -> None:
        self.lost = True
        self._everyone.discard(self)
        if self._transport is not None:
            self._transport.abort()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)
        self._everyone.add(self)
        raw: socket.socket | None = transport.get_extra_info("socket")
        if raw is not None and raw.family in (socket.AF_INET, socket.AF_INET6):
            raw.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)

    def connection_lost(self, error: Exception | None) -> None:
        self.lost = True
        self._everyone.discard(self)
        head = self._head
        if head is not None and head.length is None and not head.chunked and error is None:
            self._done(head, bytes(self._buffer))
        elif head is not None:
            self._fail(ReadError("the connection was cut in the middle of the reply"))
        else:
            self._fail(ReadError("the server closed the connection without a reply"))

    def data_received(self, data: bytes) -> None:
        if self._waiter is None or self._waiter.done():
            self.abort()  # bytes that nobody asked for: this connection is not to be trusted
            return
        self.answered = True
        self._buffer += data
        try:
            self._advance()
        except (ProtocolError, ValueError) as error:
            self._fail(ProtocolError(str(error)))
            self.abort()

    def _advance(self) -> None:
        while self._head is None:
            end = self._buffer.find(b"\r\n\r\n")
            if end < 0:
                if len(self._buffer) > _LARGEST_HEAD:
                    raise ProtocolError("the head of the reply is too large")
                return
            head = Head.parse(bytes(self._buffer[:end]))
            del self._buffer[: end + 4]
            self._head = head if head.status >= 200 else None  # 1xx: the reply is still to come
        head = self._head
        if head.chunked:
            if self._chunks():
                self._done(head, bytes(self._body))
        elif head.length is not None and len(self._buffer) >= head.length:
            self._done(head, bytes(self._buffer[: head.length]))

    def _chunks(self) -> bool:
        """Move whole chunks from the buffer to the body; whether the last one was there."""
        buffer = self._buffer
        while (line := buffer.find(b"\r\n")) >= 0:
            size = int(bytes(buffer[:line]).split(b";")[0], 16)
            if size == 0:
                # A trailer may follow, and ends with an empty line.
                return buffer.startswith(b"\r\n", line + 2) or b"\r\n\r\n" in buffer[line:]
            if len(buffer) < line + 2 + size + 2:
                return False
            self._body += buffer[line + 2 : line + 2 + size]
            del buffer[: line + 2 + size + 2]
        return False

    def _done(self, head: Head, body: bytes) -> None:
        if self._waiter is not None and not self._waiter.done():
            self._waiter.set_result((head, body))

    def _fail(self, error: Exception) -> None:
        if self._waiter is not None and not self._waiter.done():
            self._waiter.set_exception(error)


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
