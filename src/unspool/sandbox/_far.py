"""The far side of ``command``: in the interpreter that the command has started, it makes one node.

Contract: :func:`serve` is called in a fresh interpreter, with nothing of unspool installed. It takes the
request and the context from the host, forks a keeper and a worker as a zygote does (unhardened: what the
command runs in is what protects), and carries their sockets over the wire until the host goes or the keeper
ends. Runs no model code itself. Standard library only; a sibling module of those it imports.
"""

from __future__ import annotations

import json
import os
import signal
import socket
import sys
import tempfile
from typing import TYPE_CHECKING, NoReturn, cast

if TYPE_CHECKING or __package__:
    from . import _birth, _memory, _request, _texts, _warm, _wire
else:
    import _birth
    import _memory
    import _request
    import _texts
    import _warm
    import _wire


class FarSide(_wire.Mux):
    """See the module docstring."""

    def __init__(self, wire: _wire.Wire) -> None:
        control, self._control = socket.socketpair()
        orders, self._orders = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        super().__init__(wire, control, orders, bounded=False)
        self._request: _request.Request | None = None
        self._left = 0  # bytes of the context, or of files, that are still to come
        self._context = self._room = -1
        self._files: list[tuple[int, int]] = []  # descriptors and how many bytes each still lacks
        self._for: dict[int, tuple[int, ...]] = {}  # files that go with the next bytes of a stream
        self._keeper = 0
        self.over = False

    def arrived(self, kind: bytes, number: int, data: bytes) -> None:
        if kind == b"O":
            asked = json.loads(data)
            self._request, self._left = asked["request"], asked["size"]
            self._context, self._room = in_memory(), in_memory()
            os.ftruncate(self._room, asked["room"])
            self._open_if_whole()
        elif kind == b"X":
            _texts.write_all(self._context, data)
            self._left -= len(data)
            self._open_if_whole()
        elif kind == b"N":
            ours, theirs = socket.socketpair()
            self.add(number, ours)
            self.write(0, data, (os.dup(theirs.fileno()),))
            theirs.close()
        elif kind == b"F":
            self._files = [(in_memory(), size) for size in json.loads(data)]
            self._for[number] = tuple(fd for fd, _ in self._files)
        elif kind == b"P":
            self._fill(data)
        else:
            super().arrived(kind, number, data)

    def write(self, number: int, data: bytes, fds: tuple[int, ...] = ()) -> None:
        super().write(number, data, fds or self._for.pop(number, ()))

    def _fill(self, data: bytes) -> None:
        while data:
            place, (fd, size) = next((p, each) for p, each in enumerate(self._files) if each[1])
            part, data = data[:size], data[size:]
            _texts.write_all(fd, part)
            self._files[place] = fd, size - len(part)

    def _open_if_whole(self) -> None:
        if self._left or self._request is None:
            return
        request, self._request = self._request, None
        if not request["memory"]:
            request["memory"] = max(64 << 20, _memory.free_memory() // 2)
        zero_copy = _texts.self_test()
        post, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self._keeper = os.fork()
        if not self._keeper:
            try:
                # It holds none of the host's pipes: their end has to be seen when this process ends.
                for fd in (self.wire.source, self.wire.sink):
                    os.close(fd)
                for held in (post, self._control, self._orders, self.streams[0].sock, self.orders):
                    cast(socket.socket, held).close()
                _birth.run_node(theirs, hardened=False, zero_copy=zero_copy)
            finally:
                os._exit(1)
        theirs.close()
        fds = [self._control.fileno(), self._orders.fileno(), self._context, self._room]
        socket.send_fds(post, [json.dumps(request).encode()], fds)
        post.close()
        self._control.close()
        self._orders.close()
        os.close(self._context)

    def ordered(self, data: bytes) -> None:
        self._show()
        super().ordered(data)

    def closed(self, number: int) -> None:
        if not number:
            self._show()
        super().closed(number)

    def hung_up(self) -> None:
        self._show()
        self.wire.put(b"Q", 0)
        self.over = True

    def _show(self) -> None:
        """The host may have to say what a process has printed that is no more."""
        if self._keeper:
            self.wire.put(b"S", 0, os.pread(self._room, os.fstat(self._room).st_size, 0))

    def end(self) -> None:
        """Without our end of its socket, the keeper ends the node."""
        self.close()
        if self._keeper:
            os.waitpid(self._keeper, 0)


def in_memory() -> int:
    """A file without a name. Where the kernel has none in memory, on disk."""
    try:
        return os.memfd_create("unspool", os.MFD_CLOEXEC)
    except (AttributeError, OSError):
        with tempfile.TemporaryFile() as file:
            return os.dup(file.fileno())


def serve() -> NoReturn:
    """Until the host goes, or the node is no more."""
    if sys.platform != "linux":
        sys.exit(
            f"a command has to lead to Linux, and this Python runs on {sys.platform}: "
            "use a container or a virtual machine; on a Mac itself, sandbox='seatbelt'"
        )
    source, sink = os.dup(0), os.dup(1)
    nothing = os.open(os.devnull, os.O_RDWR)
    for taken in (0, 1):  # what is printed by mistake must not get between the messages
        os.dup2(nothing, taken)
    os.close(nothing)
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # of a terminal: the host decides
    signal.signal(signal.SIGPIPE, signal.SIG_IGN)
    _warm.import_random()
    side = FarSide(_wire.Wire(source, sink))
    code = 0
    try:
        while not (side.wire.ended or (side.over and not side.wire.waiting)):
            side.step()
    except OSError:  # the host does not read any more
        pass
    except _wire.Broken as error:
        sys.stderr.write(f"unspool: {error}\n")
        code = 1
    side.end()
    os._exit(code)
