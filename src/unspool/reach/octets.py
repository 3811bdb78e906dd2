"""Bytes that are not in memory: of a file, of a part of one, of what is packed in one.

Contract: :meth:`Octets.read` gives the bytes at a place, fewer only at the end; nothing is kept but what is
being read. Packed bytes (gzip, deflate, bz2, xz, zstd) are unpacked as they are read: going on is cheap,
going back is cheap for gzip and deflate, where marks are kept on the way, and starts anew for the others.

>>> import gzip
>>> packed = Packed(Memory(gzip.compress(b"0123456789" * 10)), "gzip", "a.gz")
>>> packed.read(95, 100), packed.read(0, 3)
(b'56789', b'012')
"""

from __future__ import annotations

import io
import threading
import zlib
from collections.abc import Callable
from typing import Protocol

from .desk import DESK
from .extras import how_to_add

MOST_UNPACKED = 1 << 38  # bytes; a small file that unpacks to more is a trap
MARK_EVERY = 16 << 20  # unpacked bytes between two marks
MOST_MARKS = 256  # of about 50 KB each
_INPUT = 256 << 10
_PIECE = 1 << 20


class Octets(Protocol):
    """Bytes at places. ``size`` is ``None`` where only reading to the end would tell."""

    name: str

    @property
    def size(self) -> int | None: ...

    def read(self, at: int, size: int) -> bytes: ...


class Memory:
    """Bytes that are in memory after all."""

    def __init__(self, data: bytes, name: str = "bytes") -> None:
        self.name = name
        self._data = data

    @property
    def size(self) -> int:
        return len(self._data)

    def read(self, at: int, size: int) -> bytes:
        return self._data[at : at + size]


class File:
    """A file of a source, through the descriptor that the host gives. As long as it was when it was named:
    what is written to its end meanwhile is not there."""

    def __init__(self, source: str, number: int, size: int, name: str) -> None:
        self.name = name
        self.source, self.number = source, number
        self._size = size

    @property
    def size(self) -> int:
        return self._size

    def read(self, at: int, size: int) -> bytes:
        size = min(size, self._size - at)
        if size <= 0:
            return b""
        data = DESK.read(self.source, self.number, at, size)
        if len(data) < size:
            raise OSError(f"{self.name} has become shorter while it was read")
        return data


class Part:
    """From one place to another in other bytes."""

    def __init__(self, octets: Octets, start: int, stop: int | None, name: str = "") -> None:
        self.name = name or octets.name
        self.octets = octets
        self.start, self.stop = start, stop

    @property
    def size(self) -> int | None:
        end = self.octets.size
        if self.stop is not None:
            end = self.stop if end is None else min(end, self.stop)
        return None if end is None else max(0, end - self.start)

    def read(self, at: int, size: int) -> bytes:
        if self.stop is not None:
            size = min(size, self.stop - self.start - at)
        return self.octets.read(self.start + at, size) if size > 0 else b""


class Raw(io.RawIOBase):
    """Bytes as a file object, for what takes one."""

    def __init__(self, octets: Octets) -> None:
        self._octets = octets
        self._at = 0

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def readinto(self, buffer: bytearray | memoryview) -> int:  # type: ignore[override]
        data = self._octets.read(self._at, len(buffer))
        buffer[: len(data)] = data
        self._at += len(data)
        return len(data)

    def tell(self) -> int:
        return self._at

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        base = {io.SEEK_SET: 0, io.SEEK_CUR: self._at}.get(whence)
        self._at = max(0, offset + (measure(self._octets) if base is None else base))
        return self._at


def measure(octets: Octets) -> int:
    """The size, by reading to the end where nothing else tells it."""
    if octets.size is not None:
        return octets.size
    at = 0
    while data := octets.read(at, _PIECE):
        at += len(data)
    return at


class Stream(Protocol):
    """Unpacked bytes in order."""

    def read(self, size: int) -> bytes: ...


class Deflated:
    """zlib's formats as a stream that can be copied: ``bits`` 31 is gzip, -15 bare deflate, which has no
    checksum of its own: ``crc`` is that of all of it."""

    def __init__(self, octets: Octets, bits: int, crc: int | None = None) -> None:
        self._octets, self._bits = octets, bits
        self._crc, self._now = crc, 0
        self._unpacker = zlib.decompressobj(bits)
        self._at = 0
        self._rest = b""

    def copy(self) -> Deflated:
        twin = Deflated.__new__(Deflated)
        twin._octets, twin._bits, twin._at, twin._rest = self._octets, self._bits, self._at, self._rest
        twin._crc, twin._now = self._crc, self._now
        twin._unpacker = self._unpacker.copy()
        return twin

    def read(self, size: int) -> bytes:
        while True:
            if self._unpacker.eof and not self._next_member():
                if self._crc not in (None, self._now):
                    raise damaged(self._octets.name, "its checksum is wrong")
                return b""
            data = self._rest
            if not data:
                data = self._octets.read(self._at, _INPUT)
                self._at += len(data)
            try:
                unpacked = self._unpacker.decompress(data, size)
            except zlib.error as error:
                raise damaged(self._octets.name, error) from None
            self._rest = self._unpacker.unconsumed_tail
            if unpacked:
                if self._crc is not None:
                    self._now = zlib.crc32(unpacked, self._now)
                return unpacked
            if not data and not self._unpacker.eof:
                raise damaged(self._octets.name, "it ends in the middle")

    def _next_member(self) -> bool:
        """gzip files may be one behind the other; zeros or other bytes behind the last are no data."""
        rest = self._unpacker.unused_data
        if len(rest) < 2:
            more = self._octets.read(self._at, _INPUT)
            self._at += len(more)
            rest += more
        if self._bits != 31 or not rest.startswith(b"\x1f\x8b"):
            return False
        self._unpacker, self._rest = zlib.decompressobj(self._bits), rest
        return True


def damaged(name: str, why: object) -> OSError:
    return OSError(f"{name} cannot be unpacked: {why}. Check that the file is whole")


class _Reader:
    """A file object of a library, with its errors in our words."""

    def __init__(self, file: Stream, name: str) -> None:
        self._file, self._name = file, name

    def read(self, size: int) -> bytes:
        try:
            return self._file.read(size)
        except (OSError, EOFError, ValueError) as error:
            raise damaged(self._name, error) from None
        except Exception as error:  # lzma and the zstd libraries have errors of their own
            raise damaged(self._name, error) from None


def _zstd(octets: Octets) -> Stream:
    raw = io.BufferedReader(Raw(octets), _INPUT)
    try:
        from compression import zstd  # type: ignore[import-not-found,unused-ignore]  # Python 3.14

        return zstd.ZstdFile(raw)  # type: ignore[no-any-return,unused-ignore]
    except ImportError:
        pass
    try:
        import pyarrow
    except ImportError:
        raise OSError(
            f"{octets.name} is packed with zstd, and no library here reads that: {how_to_add('data')}, "
            "or unpack it first (zstd -d)"
        ) from None
    stream: Stream = pyarrow.CompressedInputStream(pyarrow.PythonFile(raw, mode="r"), "zstd")
    return stream


def _stream(octets: Octets, form: str, crc: int | None) -> Stream:
    if form in ("gzip", "deflate"):
        return Deflated(octets, 31 if form == "gzip" else -15, crc)
    raw = io.BufferedReader(Raw(octets), _INPUT)
    if form == "bz2":
        import bz2

        return _Reader(bz2.BZ2File(raw), octets.name)
    if form == "xz":
        import lzma

        return _Reader(lzma.LZMAFile(raw), octets.name)
    return _Reader(_zstd(octets), octets.name)


class Packed:
    """The bytes that are packed in others."""

    def __init__(
        self, octets: Octets, form: str, name: str = "", size: int | None = None, crc: int | None = None
    ) -> None:
        self.name = name or octets.name
        self._start: Callable[[], Stream] = lambda: _stream(octets, form, crc)
        self._stream = self._start()
        self._at = 0  # unpacked bytes behind us
        self._held = b""  # the last piece
        self._size = size
        self._marks: list[tuple[int, Deflated]] = []
        self._every = MARK_EVERY
        self._lock = threading.RLock()

    @property
    def size(self) -> int | None:
        return self._size

    def read(self, at: int, size: int) -> bytes:
        with self._lock:
            try:
                return self._read(at, size)
            except BaseException:  # an interrupt: what was unpacked and not kept yet would be missing
                self._held, self._at, self._stream = b"", 0, self._start()
                raise

    def _read(self, at: int, size: int) -> bytes:
        if self._size is not None:
            size = min(size, self._size - at)
        if size <= 0:
            return b""
        if at < self._at - len(self._held):
            self._go_back(at)
        parts: list[bytes] = []
        while size > 0:
            offset = at - (self._at - len(self._held))
            if 0 <= offset < len(self._held):
                part = self._held[offset : offset + size]
                parts.append(part)
                at, size = at + len(part), size - len(part)
            elif not self._forward():
                break
        return b"".join(parts)

    def _forward(self) -> bool:
        """The next piece; whether there is one."""
        stream = self._stream
        if (
            isinstance(stream, Deflated)
            and self._at >= (self._marks[-1][0] if self._marks else 0) + self._every
        ):
            self._mark(stream)
        piece = stream.read(_PIECE)
        if not piece:
            self._size = self._at
            return False
        self._at += len(piece)
        self._held = piece
        whole = self._size is not None and self._at >= self._size
        if self._at > MOST_UNPACKED or (whole and (self._at != self._size or stream.read(1))):
            raise OSError(f"{self.name} unpacks to more than it may: it is damaged, or a trap")
        return True

    def _mark(self, stream: Deflated) -> None:
        self._marks.append((self._at, stream.copy()))
        if len(self._marks) > MOST_MARKS:
            self._marks, self._every = self._marks[1::2], self._every * 2

    def _go_back(self, at: int) -> None:
        self._held = b""
        for place, mark in reversed(self._marks):
            if place <= at:
                self._at, self._stream = place, mark.copy()
                return
        self._at, self._stream = 0, self._start()


MAGIC = (
    (b"\x1f\x8b", "gzip"),
    (b"\x28\xb5\x2f\xfd", "zstd"),
    (b"BZh", "bz2"),
    (b"\xfd7zXZ\x00", "xz"),
)


def packing(head: bytes) -> str | None:
    """How bytes that begin so are packed."""
    return next((form for magic, form in MAGIC if head.startswith(magic)), None)
