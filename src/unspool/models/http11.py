"""One HTTP/1.1 connection of a client: a request is written, a whole response comes back.

Contract of :class:`Connection`: one exchange at a time. Bodies come with a length, in chunks, or
up to the end of the connection; interim responses (1xx) are passed over. A connection that ends too
early is a ReadError, and ``answered`` says whether anything had come; bytes that nobody asked for
end the connection.

>>> Head.parse(b"HTTP/1.1 200 OK\\r\\nContent-Length: 5").length
5
"""

from __future__ import annotations

import asyncio
import socket
from dataclasses import dataclass
from typing import cast

from lm15.transports import ProtocolError, ReadError

_LARGEST_HEAD = 64 * 1024


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
