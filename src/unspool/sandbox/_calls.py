"""Host calls out of a cell: from any thread, over the cell's own channel.

Contract: :meth:`Calls.call` sends one and returns the reply, or raises what the host says; an interrupt ends
it. Standard library only; importable as a sibling module too.
"""

from __future__ import annotations

import importlib
import itertools
import os
import select
import signal
import socket
import threading
from collections import deque
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, cast

if TYPE_CHECKING or __package__:
    from ._frames import CUT, LITTLE, Frame, FrameReader, pack
    from ._values import LLMError
else:
    from _frames import CUT, LITTLE, Frame, FrameReader, pack
    from _values import LLMError

OPEN = "_unspool_open"  # asks the host for descriptors; no function of the REPL


class Submitted(BaseException):
    """The answer was accepted: the cell ends here."""


class AnswerRefused(Exception):
    """The answer was not accepted; the message says why."""


class ToolError(Exception):
    """A tool of the user's raised; the message says what."""


_RAISED: Mapping[str, type[Exception]] = {
    "AnswerRefused": AnswerRefused,
    "ToolError": ToolError,
    "TypeError": TypeError,
    "ValueError": ValueError,
}


def _unpickled(data: object) -> object:
    """A reply that is no plain data. The host is trusted; the module that reads it needs this one."""
    parcel = importlib.import_module(f"{__package__}._parcel" if __package__ else "_parcel")
    return cast(object, parcel.loads(data))


class Interrupts:
    """SIGINT as ``KeyboardInterrupt`` while a cell's own code runs, and never inside a frame."""

    def __init__(self) -> None:
        self.armed = False
        self.seen = False
        self._held = 0
        self._pending = False
        self._main = threading.main_thread().ident

    def install(self) -> None:
        self.seen = self._pending = False
        self._held = 0
        signal.signal(signal.SIGINT, self._on_signal)

    def _on_signal(self, number: int, where: object) -> None:
        self.seen = True
        if not self.armed:
            return
        if self._held:
            self._pending = True
        else:
            raise KeyboardInterrupt

    def __enter__(self) -> None:
        if threading.get_ident() == self._main:
            self._held += 1

    def __exit__(self, *_: object) -> None:
        if threading.get_ident() == self._main:
            self._held -= 1
            if self._pending and not self._held:
                self._pending = False
                raise KeyboardInterrupt


class Calls:
    """Host calls over one cell's channel, from any thread.

    One lock for sending; of the threads that wait for a reply, one reads for all of them.
    """

    def __init__(self, channel: socket.socket, interrupts: Interrupts) -> None:
        self._channel = channel
        self._interrupts = interrupts
        self._pid = os.getpid()
        self._ids = itertools.count(1)
        self._sending = threading.Lock()
        self._changed = threading.Condition()
        self._replies: dict[int, Frame] = {}
        self._arrived: deque[list[int]] = deque()  # descriptors, by the frames that they came with
        self._granted: dict[int, list[int]] = {}
        self._reader: int | None = None
        self._frames = FrameReader(max_body=1 << 33, max_header=1 << 31)
        self._poll = select.poll()
        self._poll.register(channel, select.POLLIN)
        self._size = LITTLE
        self._lost = self.over = False

    def call(self, name: str, args: Sequence[object], kwargs: Mapping[str, object]) -> object:
        return self.call_for(name, args, kwargs)[0]

    def call_for(
        self, name: str, args: Sequence[object], kwargs: Mapping[str, object]
    ) -> tuple[object, list[int]]:
        """The value of a call, and the descriptors that came with it."""
        if os.getpid() != self._pid:
            raise RuntimeError(
                f"{name}() works only in the REPL's own process; use threads for concurrent calls"
            )
        if self.over and name == OPEN:  # what was read is looked up once more when all is over
            raise OSError("no more files are opened: the answer was accepted")
        if self.over:
            raise Submitted
        number = next(self._ids)
        self.send(
            pack("call", [*args, dict(kwargs)], parts=name.startswith("rlm_query"), id=number, name=name)
        )
        reply = self._await(number)
        fds = self._granted.pop(number, [])
        if reply.kind == "error":
            kind = str(reply.fields.get("type"))
            message = str(reply.values[0])
            if kind == "LLMError":
                raise LLMError(str(reply.fields.get("failure") or "server"), message)
            raise _RAISED.get(kind, RuntimeError)(message)
        if reply.fields.get("end"):
            self.over = True
            raise Submitted
        value = reply.values[0]
        return (_unpickled(value) if reply.fields.get("pickled") else value), fds

    def drop(self) -> None:
        """Closes the descriptors that nobody has taken: an interrupt came between."""
        for fds in (*self._arrived, *self._granted.values()):
            for fd in fds:
                os.close(fd)
        self._arrived.clear()
        self._granted.clear()

    def send(self, frame: bytes) -> None:
        with self._sending, self._interrupts:
            self._channel.sendall(frame)

    def receive(self) -> Frame:
        """The first frame of the channel: the cell itself."""
        while (frame := self._frames.next()) is None:
            self._read()
            if self._lost:
                os._exit(0)
        return frame

    def _await(self, number: int) -> Frame:
        me = threading.get_ident()
        while True:
            with self._changed:
                if (reply := self._replies.pop(number, None)) is not None:
                    return reply
                if self._lost:
                    raise LLMError("cancelled", "the cell was stopped")
                if self._reader not in (None, me):
                    self._changed.wait()
                    continue
                self._reader = me  # stays ours if an interrupt comes before the try
            try:
                self._poll.poll()
                with self._interrupts:
                    self._read()
                    self._sort()
            finally:
                with self._changed:
                    self._reader = None
                    self._changed.notify_all()

    def _read(self) -> None:
        try:
            data, fds, flags, _ = socket.recv_fds(self._channel, self._size, 64)
            self._size = 1 << 20 if len(data) == self._size else LITTLE  # it is a new buffer each time
            if fds or flags & CUT:  # cut where this process has too many open already
                self._arrived.append(fds)
        except OSError:
            data = b""
        if data:
            self._frames.feed(data)
        else:
            self._lost = True

    def _sort(self) -> None:
        while (frame := self._frames.next()) is not None:
            number = frame.number("id")
            if frame.fields.get("fds") and self._arrived:
                self._granted[number] = self._arrived.popleft()
            self._replies[number] = frame
