"""Contexts on their way into a sandbox: a value in a sealed memfd.

Contract: :func:`hand_over` puts a value into a file descriptor, a ``str`` as characters that a worker
maps without a copy, anything else as a pickle; :class:`Handed` owns the descriptor until
:meth:`Handed.close`. A part of a text is another view of the same descriptor: a child of a node can
be given (memfd, start, length). Raises :class:`ContextError`, which names what cannot go.

>>> handed = hand_over("a long text")
>>> handed.layout, handed.part(2, 4).length
('ascii', 4)
>>> handed.close()
"""

from __future__ import annotations

import asyncio
import os
import pickle
from dataclasses import dataclass, replace

from ..errors import ContextError
from ._texts import WIDTH, seal, write_text

_LARGE = 4 << 20  # characters
_MANY = 1_000  # items
PICKLE = "pickle"


@dataclass(frozen=True, slots=True)
class Handed:
    """A value in a memfd. ``start`` and ``length`` are in characters, for texts alone."""

    fd: int
    layout: str  # "pickle", or how the characters of a text are kept
    start: int = 0
    length: int = 0
    size: int = 0  # bytes that a worker maps

    def part(self, start: int, length: int) -> Handed:
        """A part of a text, in the same memfd. The wider layout of the whole is not a rule of ``str``
        for its parts, so parts are for texts of one byte a character; others are copied."""
        if self.layout != "ascii":
            raise ValueError("only an ASCII text can be handed over in part")
        if not 0 <= start <= start + length <= self.length:
            raise ValueError("the part is not inside the text")
        return replace(self, start=self.start + start, length=length, size=length * WIDTH[self.layout])

    def close(self) -> None:
        os.close(self.fd)


def hand_over(value: object) -> Handed:
    """``value`` in a sealed memfd."""
    if type(value) is str:
        fd, layout, size = write_text(value)
        return Handed(fd, layout, 0, len(value), size)
    fd = os.memfd_create("context", os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING)
    try:
        with open(fd, "wb", closefd=False) as file:
            pickle.dump(value, file, protocol=5)
        seal(fd)
    except Exception as error:
        os.close(fd)
        raise ContextError(
            f"the context, a {type(value).__name__}, cannot be handed to the sandbox "
            f"({type(error).__name__}: {error}); "
            "pass text or plain data: str, list, dict, DataFrame, dataclass, …"
        ) from None
    return Handed(fd, PICKLE)


async def hand_over_async(value: object) -> Handed:
    """The same; what may be large is written in a thread, so that the event loop goes on."""
    most = _LARGE if type(value) is str else _MANY
    if isinstance(value, str | bytes | list | tuple | dict | set) and len(value) <= most:
        return hand_over(value)
    return await asyncio.to_thread(hand_over, value)
