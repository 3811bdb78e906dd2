"""Several local sockets over one pipe to the far side and one from it: what `command` speaks.

Contract: a message is a kind of one byte, a number, a length and so many bytes. :class:`Mux` carries what
arrives on the local sockets over the wire, and what arrives on the wire to them, the same on both sides:

====  ======================================================================================
kind  is
====  ======================================================================================
`O`   the host's first: the request for a node as JSON, and the size of the context
`X`   a piece of the context
`C`   bytes of the stream of that number; 0 is the worker's control stream
`N`   the same for stream 0, and with its first byte goes the far end of a new stream of that number
`F`   the next bytes of that stream carry files: their sizes as JSON
`P`   a piece of those files
`E`   that stream is closed; what still comes of it is dropped (a cell that is over has no voice)
`K`   a message of the keeper's, or for it
`S`   what the cell has printed, as the screen keeps it
`Q`   the far side's last: the keeper is gone
====  ======================================================================================

Nothing here trusts what it reads: a message that breaks a rule raises :class:`Broken`. Standard library
only: this file runs on the far side, too, as a sibling module.

>>> a, b = os.pipe()
>>> wire = Wire(a, b)
>>> wire.put(b"C", 7, b"hello"); wire.flush(); list(wire.pull())
[(b'C', 7, b'hello')]
>>> os.close(a), os.close(b)
(None, None)
"""

from __future__ import annotations

import os
import select
import socket
import struct
from collections import deque
from collections.abc import Iterator

HEAD = struct.Struct("<cII")
PIECE = 1 << 16  # bytes of a message at most, but for the screen and the request
LARGEST = 128 << 20  # what no honest message reaches: a screen of 2**24 characters
FULL = 4 << 20  # bytes that wait before nothing more is read

Piece = tuple[bytes, int, bytes]


class Broken(Exception):
    """The other side broke the rules of the wire."""


class Wire:
    """Messages over two descriptors, neither of which blocks."""

    def __init__(self, source: int, sink: int) -> None:
        self.source, self.sink = source, sink
        self.waiting = 0  # bytes that are not written yet
        self.ended = False  # nothing more comes
        self._in, self._out = bytearray(), deque[memoryview]()
        os.set_blocking(source, False)
        os.set_blocking(sink, False)

    def put(self, kind: bytes, number: int, data: bytes = b"") -> None:
        self.put_before(HEAD.pack(kind, number, len(data)) + data)  # as one: the reader wakes up once

    def put_before(self, data: bytes) -> None:
        """Bytes that are no message."""
        self._out.append(memoryview(data))
        self.waiting += len(data)

    def flush(self) -> None:
        """Writes what the pipe takes. Raises :class:`OSError` where nobody reads it any more."""
        while self._out:
            try:
                sent = os.write(self.sink, self._out[0])
            except BlockingIOError:
                return
            self.waiting -= sent
            if sent == len(self._out[0]):
                self._out.popleft()
            else:
                self._out[0] = self._out[0][sent:]

    def pull(self) -> Iterator[Piece]:
        """The whole messages that have arrived."""
        try:
            data = os.read(self.source, 4 * PIECE)
        except BlockingIOError:
            return
        except OSError:
            data = b""
        self.ended = not data
        self._in += data
        at = 0
        while len(self._in) - at >= HEAD.size:
            kind, number, length = HEAD.unpack_from(self._in, at)
            if length > LARGEST:
                raise Broken(f"a message of {length:,} bytes")
            end = at + HEAD.size + length
            if len(self._in) < end:
                break
            with memoryview(self._in) as arrived:
                data = bytes(arrived[at + HEAD.size : end])
            yield kind, number, data
            at = end
        del self._in[:at]


class Stream:
    """A local socket, and what waits to be written to it."""

    def __init__(self, sock: socket.socket) -> None:
        sock.setblocking(False)
        self.sock = sock
        self.waiting = 0
        self.ending = False  # it is closed once it has taken what waits
        self._deaf = False  # nobody reads it any more; what it has said may still be read
        self._out: deque[tuple[memoryview, tuple[int, ...]]] = deque()

    def put(self, data: bytes, fds: tuple[int, ...] = ()) -> None:
        """``fds`` arrive with the first byte, and are closed here in any case."""
        if self._deaf:
            _close(fds)
            return
        self._out.append((memoryview(data), fds))
        self.waiting += len(data)

    def flush(self) -> None:
        while self._out:
            data, fds = self._out[0]
            try:
                sent = socket.send_fds(self.sock, [data], fds) if fds else self.sock.send(data)
            except BlockingIOError:
                return
            except OSError:
                self._deaf = True
                self._drop()
                return
            _close(fds)
            self.waiting -= sent
            if sent == len(data):
                self._out.popleft()
            else:
                self._out[0] = data[sent:], ()

    def close(self) -> None:
        self.sock.close()
        self._drop()

    def _drop(self) -> None:
        for _, fds in self._out:
            _close(fds)
        self._out.clear()
        self.waiting = 0


def _close(fds: tuple[int, ...]) -> None:
    for fd in fds:
        os.close(fd)


class Mux:
    """See the module docstring. Both sides add what is theirs: :meth:`arrived`, :meth:`heard`."""

    def __init__(self, wire: Wire, control: socket.socket, orders: socket.socket, *, bounded: bool) -> None:
        self.wire = wire
        self.streams: dict[int, Stream] = {0: Stream(control)}
        self.orders: socket.socket | None = orders
        self.feeds: deque[Iterator[Piece]] = deque()  # what goes out before anything else of the streams
        orders.setblocking(False)
        self._bounded = bounded  # nothing is read from the wire while a stream has much to take

    def step(self, extra: tuple[int, ...] = (), seconds: float | None = None) -> set[int]:
        """Waits until something can be done, and does it; which of ``extra`` are readable."""
        poll = select.poll()
        wire = self.wire
        full = self._bounded and any(stream.waiting > FULL for stream in self.streams.values())
        wanted = {wire.source: 0 if full else select.POLLIN}
        wanted[wire.sink] = select.POLLOUT if wire.waiting or self.feeds else 0
        reading = not self.feeds and wire.waiting < FULL
        for stream in self.streams.values():
            hears = select.POLLIN if reading and not stream.ending else 0
            wanted[stream.sock.fileno()] = hears | (select.POLLOUT if stream.waiting else 0)
        if self.orders is not None:
            wanted[self.orders.fileno()] = select.POLLIN
        for fd in extra:
            wanted[fd] = select.POLLIN
        for fd, events in wanted.items():
            if events:
                poll.register(fd, events)
        ready = dict(poll.poll(None if seconds is None else max(1, int(1000 * seconds))))
        self._move(ready)
        return {fd for fd in extra if fd in ready}

    def _move(self, ready: dict[int, int]) -> None:
        wire = self.wire
        if self.orders is not None and self.orders.fileno() in ready:
            self._take_order()
        for number, stream in list(self.streams.items()):
            events = ready.get(stream.sock.fileno(), 0)
            if stream.waiting and events:
                self._flush(number)
            if events & ~select.POLLOUT and self.streams.get(number) is stream:
                self._take(number, stream)
        if wire.source in ready:
            for kind, number, data in wire.pull():
                self._deliver(kind, number, data)
        while self.feeds and wire.waiting < FULL:
            if (piece := next(self.feeds[0], None)) is None:
                self.feeds.popleft()
            else:
                wire.put(*piece)
        if wire.waiting:
            wire.flush()

    def _take(self, number: int, stream: Stream) -> None:
        try:
            data, fds, _, _ = socket.recv_fds(stream.sock, PIECE, 64)
        except BlockingIOError:
            return
        except OSError:
            data, fds = b"", []
        if data:
            self.heard(number, data, fds)
        else:
            self.closed(number)

    def _take_order(self) -> None:
        assert self.orders is not None
        try:
            data = self.orders.recv(1 << 16)
        except BlockingIOError:
            return
        except OSError:
            data = b""
        if data:
            self.ordered(data)
        else:
            self.orders = None
            self.hung_up()

    def _deliver(self, kind: bytes, number: int, data: bytes) -> None:
        if kind == b"C":
            if number in self.streams:
                self.write(number, data)
        elif kind == b"E":
            if (ended := self.streams.get(number)) is not None:
                ended.ending = True
                self._flush(number)
        elif kind == b"K":
            if self.orders is not None:
                try:
                    self.orders.send(self.passed(data))
                except OSError:  # it is gone, or takes nothing: a keeper that says so much is none
                    return
        else:
            self.arrived(kind, number, data)

    def write(self, number: int, data: bytes, fds: tuple[int, ...] = ()) -> None:
        self.streams[number].put(data, fds)
        self._flush(number)

    def _flush(self, number: int) -> None:
        stream = self.streams[number]
        stream.flush()
        if stream.ending and not stream.waiting:
            del self.streams[number]
            stream.close()

    def add(self, number: int, sock: socket.socket) -> None:
        if number in self.streams:
            raise Broken(f"stream {number} twice")
        self.streams[number] = Stream(sock)

    # What the two sides do in their own way

    def heard(self, number: int, data: bytes, fds: list[int]) -> None:
        """Bytes of a local stream."""
        self.wire.put(b"C", number, data)

    def closed(self, number: int) -> None:
        """A local stream has ended."""
        self.streams.pop(number).close()
        self.wire.put(b"E", number)

    def ordered(self, data: bytes) -> None:
        """A message on the local orders socket."""
        self.wire.put(b"K", 0, data)

    def passed(self, data: bytes) -> bytes:
        """A message for the local orders socket, where it is one."""
        return data

    def hung_up(self) -> None:
        """The other end of the local orders socket is gone."""

    def arrived(self, kind: bytes, number: int, data: bytes) -> None:
        """A message of a kind that only one side gets."""
        raise Broken(f"a message of kind {kind!r}")

    def close(self) -> None:
        for stream in self.streams.values():
            stream.close()
        self.streams.clear()
        if self.orders is not None:
            self.orders.close()
            self.orders = None
