"""Streams that may be closed, narrow or not UTF-8.

Contract: text that a model or an input wrote goes through :func:`safe` on its way to a terminal.
A stream whose reader has gone (``| head``) swallows what comes after, and is no error. Stdout that takes
nothing more for another reason (a full disk, a closed descriptor) is one, told once by :func:`unwritten`:
where a command ends, whatever wrote there.
"""

from __future__ import annotations

import errno
import io
import os
import shutil
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import BinaryIO, TextIO

from ..safe_text import safe as safe


@dataclass(slots=True)
class Lost:
    """What a stream takes nothing more for: the one place where that is known."""

    gone: bool = False
    error: str = ""  # but for a reader that has gone
    told: bool = False

    def take(self, error: OSError, stream: TextIO) -> None:
        self.gone = True
        self.error = "" if isinstance(error, BrokenPipeError) else error.strerror or str(error)
        _redirect_to_null(stream)


class Stdout(io.TextIOWrapper):
    """Stdout for whatever writes to it: once it takes nothing more, writing does nothing."""

    def __init__(
        self,
        buffer: BinaryIO,
        encoding: str,
        *,
        line_buffering: bool = False,
        write_through: bool = False,
    ) -> None:
        super().__init__(
            buffer, encoding, "backslashreplace", line_buffering=line_buffering, write_through=write_through
        )
        self.lost = Lost()

    def write(self, text: str) -> int:
        if not self.lost.gone:
            try:
                return super().write(text)
            except OSError as error:
                self.lost.take(error, self)
        return len(text)

    def flush(self) -> None:
        if not self.lost.gone:
            try:
                super().flush()
            except OSError as error:
                self.lost.take(error, self)


class _Closed(io.RawIOBase):
    """What is behind a stdout that was closed before the command began."""

    def __init__(self) -> None:
        self._told = False

    def writable(self) -> bool:
        return True

    def write(self, data: object) -> int:
        if self._told:  # what is left in a buffer is dropped
            return len(bytes(data))  # type: ignore[call-overload]
        self._told = True
        raise OSError(errno.EBADF, "it is closed")


def prepare_streams() -> None:
    """A character that the locale cannot show is written as an escape instead of a traceback, and stdout
    knows what it did not take."""
    if sys.stdout is None:
        sys.stdout = Stdout(io.BufferedWriter(_Closed()), "utf-8")
    elif isinstance(sys.stdout, io.TextIOWrapper) and not isinstance(sys.stdout, Stdout):
        plain = sys.stdout
        sys.stdout = Stdout(
            plain.buffer,
            plain.encoding,
            line_buffering=plain.line_buffering,
            write_through=plain.write_through,
        )
    if sys.stderr is not None and hasattr(sys.stderr, "reconfigure"):
        sys.stderr.reconfigure(errors="backslashreplace")


def unwritten(what: str = "the output", more: str = "") -> bool:
    """Whether stdout did not take all that was written, and nobody was told: this is told, once."""
    out = sys.stdout
    if not isinstance(out, Stdout) or not out.lost.error or out.lost.told:
        return False
    complain(f"{what} could not be written: {out.lost.error}{more}")
    out.lost.told = True
    return True


def is_terminal(stream: TextIO | None) -> bool:
    try:
        return stream is not None and stream.isatty()
    except ValueError:  # closed
        return False


def is_open(stream: TextIO | None) -> bool:
    """Whether there is a descriptor behind it."""
    try:
        return stream is not None and stream.fileno() >= 0
    except (OSError, ValueError):
        return False


def columns(stream: TextIO | None) -> int | None:
    """How wide a terminal is; ``None`` for what is no terminal."""
    return shutil.get_terminal_size().columns if is_terminal(stream) else None


def page_width(stream: TextIO | None) -> int | None:
    """Where text that is read is broken between words: at the width of a terminal; behind a pipe at what
    COLUMNS says, else nowhere (``None``)."""
    said = os.environ.get("COLUMNS", "")
    return columns(stream) or (int(said) if said.isascii() and said.isdecimal() and int(said) else None)


def cut(line: str, width: int | None) -> str:
    """One row of a terminal: what does not fit is left out, and marked.

    >>> cut("a long line", 8), cut("a long line", None)
    ('a lon...', 'a long line')
    """
    if width is None:
        return line
    from rich.cells import cell_len, set_cell_size

    return line if cell_len(line) <= width else set_cell_size(line, max(0, width - 3)).rstrip() + "..."


def cut_inside(line: str, width: int) -> str:
    """The same for a name whose end tells it from others, as that of a program does.

    >>> cut_inside("command:/a/long/path/one.py", 14), cut_inside("short", 14)
    ('comm...one.py', 'short')
    """
    from rich.cells import cell_len, chop_cells, set_cell_size

    if cell_len(line) <= width:
        return line
    room = max(0, width - 3)
    end = chop_cells(line[::-1], max(1, room * 2 // 3))[0][::-1]
    return set_cell_size(line, max(0, room - cell_len(end))).rstrip() + "..." + end.lstrip()


class Output:
    """Writes to a stream at once, for as long as somebody reads it."""

    def __init__(self, stream: TextIO | None) -> None:
        self.stream = stream
        self._lost = stream.lost if isinstance(stream, Stdout) else Lost()
        if stream is None:
            self._lost = Lost(gone=True, error="it is closed")

    @property
    def gone(self) -> bool:
        return self._lost.gone

    @property
    def error(self) -> str:
        """Why nothing more can be written, but for a reader that has gone."""
        return self._lost.error

    def write(self, text: str) -> None:
        if self.stream is None or self.gone:
            return
        try:
            self.stream.write(text)
            self.stream.flush()
        except OSError as error:  # a full disk, a terminal that was closed; Stdout has taken it already
            self._lost.take(error, self.stream)

    def line(self, text: str = "") -> None:
        self.write(text + "\n")


def _redirect_to_null(stream: TextIO) -> None:
    """What is left in the stream's buffer goes nowhere, else the interpreter complains at its end."""
    try:
        descriptor = stream.fileno()
    except (OSError, ValueError):
        return  # no file behind it: nothing is flushed at the end
    null = os.open(os.devnull, os.O_WRONLY)
    os.dup2(null, descriptor)
    os.close(null)


@contextmanager
def told_if_slow(message: str, seconds: float) -> Iterator[None]:
    """One message to stderr if what is done here takes longer."""
    timer = threading.Timer(seconds, complain, (message,))
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()


def complain(message: str) -> None:
    """One message to stderr."""
    Output(sys.stderr).line(f"unspool: {safe(message)}")
