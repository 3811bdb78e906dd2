"""Sockets to the worker and the keeper, on the host's event loop.

Contract: :class:`FrameChannel` calls ``on_frame`` for every whole frame, and ``on_lost`` once, with
the reason, when the other side has closed or has broken a rule; nothing else is raised from there.
Sending never blocks: what does not fit is kept, and while much of it is kept nothing is read, so
that a worker that does not read cannot make the host grow. ``close`` may be called at any time.
"""

from __future__ import annotations

import asyncio
import os
import socket
from collections import deque
from collections.abc import Callable, Sequence

from ._frames import Frame, FrameReader, ProtocolError

_LITTLE, _CHUNK = (
    1 << 16,
    1 << 18,
)  # bytes of a read, the larger where the last one filled its buffer
_MUCH = 64 << 20


class FrameChannel:
    """Frames over a stream socket. See the module docstring."""

    def __init__(
        self,
        sock: socket.socket,
        reader: FrameReader,
        on_frame: Callable[[Frame], None],
        on_lost: Callable[[str], None],
    ) -> None:
        sock.setblocking(False)
        self._sock = sock
        self._loop = asyncio.get_running_loop()
        self._reader = reader
        self._on_frame = on_frame
        self._on_lost = on_lost
        self._out: deque[tuple[memoryview, tuple[int, ...]]] = deque()
        self._waiting = 0
        self._size = _LITTLE
        self._reading = False
        self._held = False
        self.open = True
        self._update()

    def send(self, data: bytes, fds: tuple[int, ...] = ()) -> None:
        """``fds`` arrive with the frame, and are closed here in any case."""
        if not self.open:
            _close(fds)
            return
        view = memoryview(data)
        if not self._out:
            try:
                view, fds = self._send_some(view, fds)
            except BlockingIOError:
                pass
            except OSError as error:
                _close(fds)
                self._lose(f"the worker is gone ({error.strerror})")
                return
            if not view:
                return
            self._loop.add_writer(self._sock.fileno(), self._write)
        self._out.append((view, fds))
        self._waiting += len(view)
        self._update()

    def _send_some(self, view: memoryview, fds: tuple[int, ...]) -> tuple[memoryview, tuple[int, ...]]:
        """What is left of it. Descriptors go with the first byte."""
        sent = socket.send_fds(self._sock, [view], fds) if fds else self._sock.send(view)
        _close(fds)
        return view[sent:], ()

    def hold(self, held: bool) -> None:
        """Takes no frame while held; those that have arrived already wait, too."""
        self._held = held
        self._update()
        if not held:
            self._loop.call_soon(self._take)

    def close(self) -> None:
        if self.open:
            self.open = False
            self._update()
            if self._out:
                self._loop.remove_writer(self._sock.fileno())
            for _, fds in self._out:
                _close(fds)
            self._out.clear()
            self._sock.close()

    def _update(self) -> None:
        wanted = self.open and not self._held and self._waiting < _MUCH
        if wanted and not self._reading:
            self._loop.add_reader(self._sock.fileno(), self._read)
        elif self._reading and not wanted:
            self._loop.remove_reader(self._sock.fileno())
        self._reading = wanted

    def _write(self) -> None:
        try:
            while self._out:
                view, fds = self._out[0]
                rest = self._out[0] = self._send_some(view, fds)
                self._waiting -= len(view) - len(rest[0])
                if rest[0]:
                    break
                self._out.popleft()
        except BlockingIOError:
            return
        except OSError as error:
            self._lose(f"the worker is gone ({error.strerror})")
            return
        if not self._out:
            self._loop.remove_writer(self._sock.fileno())
        self._update()

    def _read(self) -> None:
        try:
            data = self._sock.recv(self._size)
        except BlockingIOError:
            return
        except OSError:
            data = b""
        if not data:
            self._lose("")
            return
        self._size = _CHUNK if len(data) == self._size else _LITTLE
        self._reader.feed(data)
        self._take()

    def _take(self) -> None:
        try:
            while self.open and not self._held and (frame := self._reader.next()) is not None:
                self._on_frame(frame)
        except ProtocolError as error:
            self._lose(f"the worker broke the protocol: {error}")

    def _lose(self, reason: str) -> None:
        self.close()
        self._on_lost(reason)


def _close(fds: tuple[int, ...]) -> None:
    for fd in fds:
        os.close(fd)


class PacketChannel:
    """Small messages over a socket that keeps them apart; ``on_packet(b"")`` once it is closed."""

    def __init__(self, sock: socket.socket, on_packet: Callable[[bytes], None]) -> None:
        sock.setblocking(False)
        self._sock = sock
        self._loop = asyncio.get_running_loop()
        self._on_packet = on_packet
        self.open = True
        self._loop.add_reader(sock.fileno(), self.read)

    def send(self, data: bytes, fds: Sequence[int] = ()) -> None:
        if self.open:
            try:
                socket.send_fds(self._sock, [data], fds) if fds else self._sock.send(data)
            except OSError:  # it will be seen as closed
                return

    def read(self) -> None:
        """All that has arrived; also called to hear what belongs before something else."""
        while self.open:
            try:
                data = self._sock.recv(4096)
            except BlockingIOError:
                return
            except OSError:
                data = b""
            if not data:
                self.close()
            self._on_packet(data)

    def finish(self) -> None:
        """Tells the other side that nothing more comes."""
        if self.open:
            try:
                self._sock.shutdown(socket.SHUT_WR)
            except OSError:  # it is gone already
                self.close()

    def close(self) -> None:
        if self.open:
            self.open = False
            self._loop.remove_reader(self._sock.fileno())
            self._sock.close()
