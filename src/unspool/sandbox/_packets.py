"""Small messages between two ends of a socket, each of which arrives as it was sent.

Contract: :func:`pair` makes the two ends, :func:`at` is the end that a descriptor leads to. ``send`` sends a
message, ``recv`` gives the next one, and nothing once the other end is closed. Linux has sockets that keep
messages apart. Elsewhere each is a line of a stream, and so has no line end in it; it is taken from the
socket as a whole or not at all, so that whoever waits for the socket wakes up for each.

>>> ours, theirs = pair()
>>> with ours, at(theirs.detach()) as theirs:
...     ours.send(b"I 1"), ours.send(b"K 1"), theirs.recv(64), theirs.recv(64)
(3, 3, b'I 1', b'K 1')
"""

from __future__ import annotations

import socket
import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from _typeshed import ReadableBuffer

__all__ = ["Lines", "at", "pair"]

_APART = sys.platform == "linux"  # the system keeps messages apart


class Lines(socket.socket):
    """A stream of lines. ``fds`` do not go with them."""

    def send(self, data: ReadableBuffer, flags: int = 0) -> int:
        line = bytes(data) + b"\n"
        if super().send(line, flags) != len(line):
            raise OSError("the other end takes nothing more")
        return len(line) - 1

    def recv(self, size: int, flags: int = 0) -> bytes:
        seen = super().recv(size, flags | socket.MSG_PEEK)
        if not seen:
            return b""
        end = seen.find(b"\n") + 1
        if not end:
            raise OSError("a message is too long, or cut")
        return super().recv(end)[:-1]


def pair() -> tuple[socket.socket, socket.socket]:
    if _APART:
        return socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    ours, theirs = socket.socketpair()
    return Lines(fileno=ours.detach()), Lines(fileno=theirs.detach())


def at(fd: int) -> socket.socket:
    return socket.socket(fileno=fd) if _APART else Lines(fileno=fd)
