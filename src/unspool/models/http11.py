"""One HTTP/1.1 connection of a client: a request is written, a response comes back.

Contract of :class:`Connection`: one exchange at a time: ``send``, then ``rest`` for the whole body or
``piece`` until it is empty for what has come so far. Bodies come with a length, in chunks, or up to
the end of the connection; interim responses (1xx) are passed over. A connection that ends too early
is a ReadError, and ``answered`` says whether anything had come. ``reusable`` is true only where the
exchange ended exactly where its response did; bytes that nobody asked for end the connection.

>>> Head.parse(b"HTTP/1.1 200 OK\\r\\nContent-Length: 5").length
5
"""

from __future__ import annotations

import asyncio
import re
import socket
from dataclasses import dataclass
from typing import Literal, cast

from lm15.transports import ProtocolError, ReadError

_LARGEST_HEAD = 64 * 1024
_SIZE = re.compile(rb"[0-9A-Fa-f]{1,15}")


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
        if not version.startswith("HTTP/1.") or not re.fullmatch("[1-9][0-9][0-9]", code):
            raise ProtocolError(f"this is not HTTP/1.1: {first[:80]!r}")
        headers = [(n.strip(), v.strip()) for n, _, v in (line.partition(":") for line in lines)]
        by_name = {name.lower(): value for name, value in headers}
        chunked = "chunked" in by_name.get("transfer-encoding", "").lower()
        length = by_name.get("content-length", "")
        if length and not chunked and not re.fullmatch("[0-9]{1,18}", length):
            raise ProtocolError(f"the length {length[:80]!r} is no number")
        status = int(code)
        bodiless = status in (204, 304)
        connection = by_name.get("connection", "").lower()
        keep = connection != "close" and (version != "HTTP/1.0" or connection == "keep-alive")
        known = 0 if bodiless else int(length) if length and not chunked else None
        return cls(status, reason, version, headers, known, chunked, keep and (chunked or known is not None))


class Connection(asyncio.Protocol):
    """One connection: one exchange at a time."""

    def __init__(self, loop: asyncio.AbstractEventLoop, everyone: set[Connection]) -> None:
        self._loop = loop
        self._everyone = everyone
        self._raw = bytearray()  # as it came
        self._body = bytearray()  # of the response, what nobody has taken yet
        self._left: int | None = None  # bytes of the body, or of its chunk, that are still to come
        self._head: Head | None = None
        self._error: Exception | None = None
        self._open = False  # an exchange is under way
        self._complete = False
        self._waiter: asyncio.Future[None] | None = None
        self._waits_for: Literal["head", "piece", "rest"] = "head"
        self._transport: asyncio.Transport | None = None
        self.lost = False
        self.answered = False

    async def send(self, data: bytes) -> Head:
        """Write a request; the head of its response."""
        assert self._transport is not None
        self._start()
        self._transport.write(data)
        while self._head is None:
            await self._change("head")
        return self._head

    def _start(self) -> None:
        self._head, self._left, self._error = None, None, None
        self._body.clear()
        self._complete = self.answered = False
        self._open = True

    async def rest(self) -> bytes:
        """The body, as far as it was not taken yet."""
        while not self._complete:
            await self._change("rest")
        return self._take()

    async def piece(self) -> bytes:
        """What has come of the body since the last piece; nothing at its end."""
        while not self._body and not self._complete:
            await self._change("piece")
        return self._take()

    @property
    def reusable(self) -> bool:
        whole = self._complete and not self._raw and not self.lost
        return whole and self._head is not None and self._head.keep

    def abort(self) -> None:
        self.lost = True
        self._everyone.discard(self)
        if self._transport is not None:
            self._transport.abort()

    # What the loop tells

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)
        self._everyone.add(self)
        raw: socket.socket | None = transport.get_extra_info("socket")
        if raw is not None and raw.family in (socket.AF_INET, socket.AF_INET6):
            raw.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)

    def connection_lost(self, error: Exception | None) -> None:
        self.lost = True
        self._everyone.discard(self)
        if not self._open:
            return
        head = self._head
        if head is not None and head.length is None and not head.chunked and error is None:
            self._end()
        elif head is not None:
            self._fail(ReadError("the connection was cut in the middle of the reply"))
        else:
            self._fail(ReadError("the server closed the connection without a reply"))

    def data_received(self, data: bytes) -> None:
        if not self._open:
            self.abort()  # bytes that nobody asked for: this connection is not to be trusted
            return
        self.answered = True
        self._raw += data
        try:
            self._advance()
        except ProtocolError as error:
            self._fail(error)
            self.abort()

    # From raw bytes to a head and a body

    def _advance(self) -> None:
        while self._head is None:
            end = self._raw.find(b"\r\n\r\n")
            if end < 0:
                if len(self._raw) > _LARGEST_HEAD:
                    raise ProtocolError("the head of the reply is too large")
                return
            head = Head.parse(bytes(self._raw[:end]))
            del self._raw[: end + 4]
            if head.status >= 200:  # 1xx: the reply is still to come
                self._head, self._left = head, head.length
        head = self._head
        if head.chunked:
            while not self._complete and self._chunk():
                pass
        elif self._left is None:
            self._body += self._raw
            self._raw.clear()
        else:
            self._move()
            if self._left == 0:
                self._end()
        self._wake()

    def _move(self) -> None:
        """What is there of the bytes that are still to come, to the body."""
        assert self._left is not None
        here = min(self._left, len(self._raw))
        self._body += self._raw[:here]
        del self._raw[:here]
        self._left -= here

    def _chunk(self) -> bool:
        """Read on in a chunked body; whether there may be more to read."""
        raw = self._raw
        if self._left is None:  # at the size of a chunk
            line = raw.find(b"\r\n")
            if line < 0:
                if len(raw) > _LARGEST_HEAD:
                    raise ProtocolError("a chunk has no size")
                return False
            size = bytes(raw[:line]).partition(b";")[0].strip()
            if not _SIZE.fullmatch(size):
                raise ProtocolError(f"a chunk of {size[:20]!r} bytes")
            if int(size, 16) == 0:
                return self._trailer(line)
            self._left = int(size, 16)
            del raw[: line + 2]
        self._move()
        if self._left or len(raw) < 2:
            return False
        if raw[:2] != b"\r\n":
            raise ProtocolError("a chunk is longer than it said")
        del raw[:2]
        self._left = None
        return True

    def _trailer(self, line: int) -> bool:
        """The end of a chunked body: fields may follow the last size, then an empty line."""
        empty = self._raw.startswith(b"\r\n", line + 2)
        end = line + 4 if empty else self._raw.find(b"\r\n\r\n", line) + 4
        if end < 4:
            if len(self._raw) > _LARGEST_HEAD:
                raise ProtocolError("the trailer of the reply is too large")
            return False
        del self._raw[:end]
        self._end()
        return False

    # Between the loop and who waits

    def _take(self) -> bytes:
        body = bytes(self._body)
        self._body.clear()
        return body

    def _end(self) -> None:
        self._complete = True
        self._open = False
        self._wake()

    def _fail(self, error: Exception) -> None:
        self._error = error
        self._open = False
        self._wake()

    async def _change(self, what: Literal["head", "piece", "rest"]) -> None:
        """Wait until there is what is waited for, or the exchange has failed."""
        if self._error is not None:
            raise self._error
        if self.lost:
            raise ReadError("the connection is closed")
        self._waits_for = what
        self._waiter = self._loop.create_future()
        try:
            await self._waiter
        finally:
            self._waiter = None
        if self._error is not None:
            raise self._error

    def _wake(self) -> None:
        if self._waiter is None or self._waiter.done():
            return
        there = self._complete or self._error is not None
        if (
            there
            or (self._waits_for == "head" and self._head is not None)
            or (self._waits_for == "piece" and self._body)
        ):
            self._waiter.set_result(None)
