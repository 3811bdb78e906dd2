"""What a cell prints: its head and its tail, in memory that is shared with the checkpoint and the host.

Contract: :class:`Screen` keeps as much as is shown, and counts the rest; streams write to it, and so do file
descriptors 1 and 2. Standard library only; importable as a sibling module too.

>>> screen = Screen(8_000)
>>> screen.write("text")
>>> screen.take()
('text', 4, 0)
>>> screen.close()
"""

from __future__ import annotations

import io
import mmap
import os
import struct
import threading
from typing import NoReturn, cast


class Screen:
    """What a cell prints: its head and its tail, in anonymous memory that forks share.

    So the checkpoint, or the host, can hand over what a killed cell had printed. Characters are kept
    as UTF-32: each has the same width, whatever it is. ``fd``: a file for it, of :meth:`size` bytes.
    """

    _TOTAL = struct.Struct("<Q")
    _START = 24  # behind the number of characters, the word of a dying cell, and the state
    STANDS = 1 << 61

    def __init__(self, shown: int, fd: int = -1) -> None:
        self.shown = shown
        self._head = max(1, shown * 2 // 3)
        self._tail = max(1, shown - self._head)
        self._memory = mmap.mmap(fd, self._START + 4 * (self._head + self._tail))
        self._lock = threading.Lock()
        self.pipe: int | None = None  # what is written past Python, by C code or os.write(1, …)

    @classmethod
    def size(cls, shown: int) -> int:
        return cls._START + 4 * (shown + 2)  # head and tail have a character at least

    def fill(self, data: bytes) -> None:
        """What another one of that size has in its file."""
        self._memory[: len(data)] = data[: len(self._memory)]

    def attach(self) -> None:
        """Points the file descriptors 1 and 2 at a pipe that is read whenever something is printed."""
        if self.pipe is not None:
            os.close(self.pipe)
        self.pipe, writer = os.pipe()
        os.set_blocking(self.pipe, False)
        os.set_blocking(writer, False)
        os.dup2(writer, 1, inheritable=True)
        os.dup2(writer, 2, inheritable=True)
        os.close(writer)

    def move(self, fd: int) -> None:
        """From here on in another room, with a pipe of its own: of a process that was forked from a REPL."""
        self._memory = mmap.mmap(fd, len(self._memory))
        self.attach()

    def close(self) -> None:
        self._memory.close()

    @property
    def printed(self) -> int:
        self.drain()
        return min(int(self._TOTAL.unpack_from(self._memory)[0]), 1 << 60)

    def write(self, text: str) -> None:
        with self._lock:
            self._drain()
            self._put(text)

    def drain(self) -> None:
        with self._lock:
            self._drain()

    def _drain(self) -> None:
        if self.pipe is None:
            return
        try:
            while data := os.read(self.pipe, 65_536):
                self._put(data.decode("utf-8", "replace"))
        except BlockingIOError:  # it is empty
            pass
        except OSError:  # code in the cell has closed it
            self.pipe = None

    def _put(self, text: str) -> None:
        total = int(self._TOTAL.unpack_from(self._memory)[0])
        after = total + len(text)
        if total < self._head:
            part = text[: self._head - total]
            self._store(total, part)
            total += len(part)
            text = text[len(part) :] if len(text) - len(part) <= self._tail else text[-self._tail :]
        else:
            text = text[-self._tail :]
        if text:
            start = (after - len(text) - self._head) % self._tail
            room = self._tail - start
            self._store(self._head + start, text[:room])
            if len(text) > room:
                self._store(self._head, text[room:])
        self._TOTAL.pack_into(self._memory, 0, after)

    def _store(self, place: int, text: str) -> None:
        data = text.encode("utf-32-le", "surrogatepass")
        at = self._START + 4 * place
        self._memory[at : at + len(data)] = data

    def _load(self, start: int, end: int) -> str:
        data = bytes(self._memory[self._START + 4 * start : self._START + 4 * end])
        try:
            return data.decode("utf-32-le", "surrogatepass")
        except UnicodeDecodeError:  # cut in the middle by a kill
            return data.decode("utf-32-le", "replace")

    @property
    def state(self) -> int:
        """The number of the cell that runs; between two, of the last that stands, and ``STANDS``."""
        return int(self._TOTAL.unpack_from(self._memory, 16)[0]) & (2 * self.STANDS - 1)

    @state.setter
    def state(self, state: int) -> None:
        self._TOTAL.pack_into(self._memory, 16, state)

    @classmethod
    def running(cls, fd: int) -> int:
        """The cell that runs, from the file, which somebody else writes to; 0 between two."""
        state = int.from_bytes(os.pread(fd, 8, 16), "little") & (2 * cls.STANDS - 1)
        return 0 if state & cls.STANDS else state

    def last_word(self, word: bytes | None = None) -> bytes:
        """Eight bytes from a cell that is about to end itself to the checkpoint; read once."""
        said = bytes(self._memory[8:16]).rstrip(b"\0")
        self._memory[8:16] = (word or b"").ljust(8, b"\0")
        return said

    def take(self) -> tuple[str, int, int]:
        """The text to show, the characters printed in all and those left out; starts anew."""
        total = self.printed
        head, tail = self._head, self._tail
        if total <= head + tail:
            text, omitted = self._load(0, total), 0
        else:
            omitted = total - head - tail
            start = (total - head) % tail
            end = self._load(head + start, head + tail) + self._load(head, head + start)
            text = f"{self._load(0, head)}\n… {omitted:,} characters left out …\n{end}"
        self._TOTAL.pack_into(self._memory, 0, 0)
        return text, total, omitted


class _Bytes(io.BufferedIOBase):
    """``sys.stdout.buffer``."""

    def __init__(self, screen: Screen) -> None:
        self._screen = screen

    def writable(self) -> bool:
        return True

    def write(self, data: object) -> int:
        raw = bytes(cast(bytes, data))
        self._screen.write(raw.decode("utf-8", "replace"))
        return len(raw)


class Stream(io.TextIOBase):
    """``sys.stdout`` and ``sys.stderr`` of a cell."""

    encoding = "utf-8"
    errors = "surrogatepass"

    def __init__(self, screen: Screen, fd: int) -> None:
        self._screen = screen
        self._fd = fd
        self.buffer = _Bytes(screen)

    def writable(self) -> bool:
        return True

    def write(self, text: str) -> int:
        if not isinstance(text, str):
            raise TypeError(f"write() argument must be str, not {type(text).__name__}")
        self._screen.write(text)
        return len(text)

    def fileno(self) -> int:
        return self._fd


NOBODY = "there is nobody to ask: input() does not work here; use the context, or submit what you have"


class NoInput(io.TextIOBase):
    """``sys.stdin`` of a cell."""

    def readable(self) -> bool:
        return True

    def read(self, *_: object) -> NoReturn:
        raise RuntimeError(NOBODY)

    readline = __next__ = read


def no_input(*_: object) -> NoReturn:
    """There is nobody to ask."""
    raise RuntimeError(NOBODY)


def leave(code: object = None) -> NoReturn:
    """Ends the cell; the REPL goes on."""
    raise SystemExit(code)
