"""Large texts between processes: written once into a sealed memfd, mapped as ``str`` without a copy.

Contract: :func:`write_text` fills a new memfd with the characters of a text, each as wide as CPython
would keep it, and seals it. :func:`map_text` gives a ``str`` over a part of such a file: an object
whose header points into the mapping, where :func:`self_test` has passed on this interpreter, else a
decoded copy. It leans on CPython's layout, so the test runs in a throw-away process first. The
mapping and its ``str`` are never freed. Standard library only; importable as a sibling module too.

>>> fd, layout, size = write_text("one \\ud800 two")
>>> layout, map_text(fd, layout, 4, 3, zero_copy=False)
('ucs2', '\\ud800 t')
>>> os.close(fd)
"""

from __future__ import annotations

import array
import ctypes
import fcntl
import functools
import gc
import json
import mmap
import os
import pickle
import re
import sys
import sysconfig
from collections.abc import Callable, Iterator

WIDTH = {"ascii": 1, "latin1": 1, "ucs2": 2, "ucs4": 4}
_SAMPLE = {"ascii": "a", "latin1": "\u00e9", "ucs2": "\u03a9", "ucs4": "\U0001f600"}
_CODEC = {"ascii": "ascii", "latin1": "latin-1", "ucs2": "utf-16-le", "ucs4": "utf-32-le"}
_CHUNK = 1 << 18
_SMALL = 1024  # bytes below which a copy is cheaper than a mapping
_SEALS = 0x1 | 0x2 | 0x4 | 0x8  # no more seals, no shrinking, no growing, no writing
_OLD = sys.version_info < (3, 12)
_UTF8_LENGTH, _UTF8, _DATA = (48, 56, 72) if _OLD else (40, 48, 56)
_WSTR, _WSTR_LENGTH = 40, 64  # until 3.11

_kept: list[str] = []


class _NoFit(Exception):
    """A character is wider than the layout holds."""


def _encoded(text: str, layout: str) -> Iterator[bytes]:
    width, codec = WIDTH[layout], _CODEC[layout]
    for start in range(0, len(text), _CHUNK):
        part = text[start : start + _CHUNK]
        try:
            data = part.encode(codec, "strict" if width == 1 else "surrogatepass")
        except UnicodeEncodeError:
            raise _NoFit from None
        if len(data) != width * len(part):  # UTF-16 takes two units for what UCS-2 cannot hold
            raise _NoFit
        yield data


def write_text(text: str) -> tuple[int, str, int]:
    """A sealed memfd with the text, its layout and its size in bytes. Copies a chunk at a time."""
    fd = memory_file("context")
    try:
        layout = write_characters(fd, text)
        size = WIDTH[layout] * len(text)
        os.ftruncate(fd, size + 4)  # the end of a C string
        seal(fd)
    except BaseException:  # whatever happened, the descriptor is not handed out
        os.close(fd)
        raise
    return fd, layout, size


def write_characters(fd: int, text: str) -> str:
    """Writes the text where ``fd`` stands; its layout."""
    start = os.lseek(fd, 0, os.SEEK_CUR)
    for layout in ("ascii",) if text.isascii() else ("latin1", "ucs2", "ucs4"):
        os.lseek(fd, start, os.SEEK_SET)
        try:
            for data in _encoded(text, layout):
                write_all(fd, data)
        except _NoFit:
            continue
        return layout
    raise AssertionError("ucs4 holds every character")


def write_all(fd: int, data: bytes | memoryview) -> None:
    view = memoryview(data)
    while view:
        view = view[os.write(fd, view) :]


def memory_file(name: str) -> int:
    """A file without a name, in memory, that can be sealed; where the system has none, one on disk."""
    if hasattr(os, "memfd_create"):
        return os.memfd_create(name, os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING)
    import tempfile

    with tempfile.TemporaryFile() as file:
        return os.dup(file.fileno())


def seal(fd: int, seals: int = _SEALS) -> None:
    """From here on nobody can change the file, whoever holds it. Only Linux has such a thing; elsewhere who
    has the file could, so no two REPLs are given the same one."""
    if sys.platform == "linux":
        fcntl.fcntl(fd, fcntl.F_ADD_SEALS, seals)


def map_text(fd: int, layout: str, start: int, length: int, *, zero_copy: bool) -> str:
    """Characters ``start`` to ``start + length`` of a file that :func:`write_text` has made."""
    width = WIDTH[layout]
    if zero_copy and length * width >= _SMALL:
        return view(_map(fd, start * width, length * width, width), length, layout)
    if layout == "ucs2":  # decoding as UTF-16 would join two lone surrogates
        units = array.array("H", os.pread(fd, length * width, start * width))
        return array.array("I", units).tobytes().decode("utf-32-le", "surrogatepass")
    parts = []
    for at in range(start, start + length, _CHUNK):
        count = min(_CHUNK, start + length - at)
        data = os.pread(fd, count * width, at * width)
        parts.append(data.decode(_CODEC[layout], "strict" if width == 1 else "surrogatepass"))
    return "".join(parts)


def _map(fd: int, offset: int, size: int, width: int) -> int:
    """The address of a part of the file, with a zero behind it."""
    libc = ctypes.CDLL(None, use_errno=True)
    libc.mmap.restype = ctypes.c_void_p
    libc.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t, *[ctypes.c_int] * 3, ctypes.c_long]
    low = offset - offset % mmap.PAGESIZE
    whole = offset + size + 4 >= os.fstat(fd).st_size
    # A part from the middle gets its zero in a private copy of its last page.
    access = mmap.PROT_READ if whole else mmap.PROT_READ | mmap.PROT_WRITE
    sharing = mmap.MAP_SHARED if whole else mmap.MAP_PRIVATE
    span = offset - low + size + width
    address = libc.mmap(None, span, access, sharing, fd, low)
    if address in (None, ctypes.c_void_p(-1).value):
        raise OSError(ctypes.get_errno(), "the context cannot be mapped")
    if not whole:
        ctypes.memset(address + offset - low + size, 0, width)
        libc.mprotect.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int]
        libc.mprotect(address, span, mmap.PROT_READ)
    return int(address) + offset - low


def map_whole(fd: int, offset: int, size: int) -> int:
    """The address of ``size`` bytes at ``offset``, the start of a page. Read-only, and there for good: a
    :func:`view` needs a zero behind its text."""
    return _map(fd, offset, size - 4, 4)


class _Shell(str):
    """A str that is not compact: its characters are elsewhere than in the object."""

    __slots__ = ()


def view(address: int, length: int, layout: str) -> str:
    """A ``str`` over foreign memory that stays."""
    text = _Shell(_SAMPLE[layout])
    base = id(text)

    def put(offset: int, value: int) -> None:
        ctypes.c_ssize_t.from_address(base + offset).value = value

    is_ascii = layout == "ascii"
    put(0, 1 << 28)  # references: never freed
    put(16, length)
    put(24, -1)  # the hash is not known yet
    put(_UTF8_LENGTH, length if is_ascii else 0)
    put(_UTF8, address if is_ascii else 0)
    if _OLD and ctypes.c_ssize_t.from_address(base + _WSTR).value:
        put(_WSTR, address)
        put(_WSTR_LENGTH, length)
    put(_DATA, address)
    # A subclass's instances are the collector's business, a str is not: it would crash in it.
    ctypes.pythonapi.PyObject_GC_UnTrack(ctypes.py_object(text))
    put(8, id(str))
    _kept.append(text)
    return text


def possible() -> bool:
    """Whether this interpreter is of a kind whose layout is known."""
    return (
        sys.implementation.name == "cpython"
        and sys.maxsize > 2**32
        and not sysconfig.get_config_var("Py_GIL_DISABLED")
        and not hasattr(sys, "gettotalrefcount")
    )


def self_test() -> bool:
    """Whether texts can be mapped without a copy here, tried out in a process that may crash."""
    if not possible():
        return False
    pid = os.fork()
    if not pid:
        try:
            code = 0 if all(map(_battery, WIDTH)) else 1
        except BaseException:  # the throw-away process only reports
            code = 2
        os._exit(code)
    return os.waitpid(pid, 0)[1] == 0


def _battery(layout: str) -> bool:
    """What code does with strings, on a mapped one and on a usual one."""
    line = f"{_SAMPLE[layout]} the Line, of 12 things\tand more\n"
    usual = line * (_SMALL // len(line) + 2)
    fd, found, _ = write_text(usual)
    whole = map_text(fd, found, 0, len(usual), zero_copy=True)
    part = map_text(fd, found, 7, _SMALL, zero_copy=True)
    os.close(fd)
    gc.collect()
    pairs = ((whole, usual), (part, usual[7 : _SMALL + 7]))
    return found == layout and all(_same(mapped, other) for mapped, other in pairs)


_OPERATIONS: tuple[Callable[[str], object], ...] = (
    len, hash, repr, list, set, sorted, str, json.dumps, pickle.dumps, "{:s}".format,
    str.upper, str.title, str.split, str.splitlines, str.isascii, str.strip, str.casefold,
    lambda s: s[5:50] + s[-9:], lambda s: s[::-1], lambda s: s * 2, lambda s: s + "x", lambda s: s < "z",
    lambda s: s.encode("utf-8"), lambda s: s.encode("utf-16"), lambda s: bytes(s, "utf-8"),
    lambda s: s.find("more"), lambda s: s.count("Line"), lambda s: s.replace("12", "13"),
    lambda s: re.findall(r"\w+,", s), lambda s: s in {s: 1}, lambda s: {s: 1}[s[:9] + s[9:]],
    lambda s: s.partition("\t"), lambda s: "-".join([s, s]), lambda s: s.translate({44: 59}),
    lambda s: f"{s!s:>9}", lambda s: ord(s[-1]), lambda s: s.zfill(3), lambda s: s.endswith("\n"),
    lambda s: functools.reduce(max, s[:99]),
)  # fmt: skip


def _same(mapped: str, usual: str) -> bool:
    return type(mapped) is str and mapped == usual and all(op(mapped) == op(usual) for op in _OPERATIONS)
