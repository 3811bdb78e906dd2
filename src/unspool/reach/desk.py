"""File descriptors in the sandbox: asked from the host when they are needed, given back when they are not.

Contract: code in the sandbox cannot open the user's files. :class:`Desk` asks the host for read-only
descriptors, by the number of a file in a source, many at a time; it keeps at most :data:`MOST_OPEN` and
closes those used least lately. :meth:`Desk.read` reads at a place, from any thread. What the host refuses is
raised as :class:`OSError` in the host's words.

>>> import os, tempfile
>>> with tempfile.TemporaryFile() as file:
...     _ = file.write(b"hello")
...     file.flush()
...     desk = Desk()
...     desk.connect(lambda source, numbers: ([None], [os.dup(file.fileno())]))
...     desk.read("a source", 0, 1, 3)
b'ell'
"""

from __future__ import annotations

import errno
import os
import threading
from collections import OrderedDict
from collections.abc import Callable, Sequence

MOST_OPEN = 96  # a REPL may have 256 descriptors in all
AT_ONCE = 64  # in one message

Ask = Callable[[str, Sequence[int]], tuple[Sequence[str | None], Sequence[int]]]
"""(source, numbers) -> for each either ``None`` or why not; and the descriptors of those that are open."""


class Desk:
    """See the module docstring."""

    def __init__(self) -> None:
        self._ask: Ask | None = None
        self._open: OrderedDict[tuple[str, int], int] = OrderedDict()
        self._refused: dict[tuple[str, int], str] = {}
        self._lock = threading.RLock()

    def connect(self, ask: Ask) -> None:
        self._ask = ask

    def ahead(self, source: str, numbers: Sequence[int]) -> None:
        """Opens these files now, in as few messages as can be: they are about to be read."""
        with self._lock:
            wanted = [number for number in numbers if (source, number) not in self._open]
            for start in range(0, len(wanted), AT_ONCE):
                self._fetch(source, wanted[start : start + AT_ONCE])

    def held(self) -> list[int]:
        """The descriptors that are open: read at places, and so no matter to processes that share them."""
        return list(self._open.values())

    def read(self, source: str, number: int, at: int, size: int) -> bytes:
        """At most ``size`` bytes of a file from ``at`` on; fewer only at its end."""
        with self._lock:  # so that nobody closes it meanwhile
            fd = self._fd(source, number)
            try:
                data = os.pread(fd, size, at)
            except OSError as error:
                if error.errno != errno.EBADF:
                    raise
                del self._open[source, number]  # code in the cell has closed it
                data = os.pread(fd := self._fd(source, number), size, at)
            if len(data) == size or not data:
                return data
            parts = [data]  # a read may be cut short at 2 GB, or by a file system of its own mind
            while data:
                at, size = at + len(data), size - len(data)
                data = os.pread(fd, size, at) if size else b""
                parts.append(data)
            return b"".join(parts)

    def _fd(self, source: str, number: int) -> int:
        key = source, number
        if key not in self._open:
            self._fetch(source, [number])
        if key not in self._open:
            raise OSError(self._refused.pop(key, "the file was not opened"))
        self._open.move_to_end(key)
        return self._open[key]

    def _fetch(self, source: str, numbers: Sequence[int]) -> None:
        if self._ask is None:
            raise OSError("files can be read in a cell alone: nobody is there yet to open them")
        while self._open and len(self._open) + len(numbers) > MOST_OPEN:
            _, fd = self._open.popitem(last=False)
            os.close(fd)
        reasons, fds = self._ask(source, numbers)
        left = list(fds)
        for number, reason in zip(numbers, reasons, strict=True):
            if reason is None and left:
                self._open[source, number] = left.pop(0)
            else:
                self._refused[source, number] = reason or "too many files are open in the REPL"


DESK = Desk()
"""The one of this process: connected by the REPL."""
