"""The worker: a REPL for model-written code, in one file of standard-library Python (3.11 or newer).

It can be sent to any interpreter, so nothing of unspool is imported here; the host imports the frames
and the value codec from this file, so that there is one copy of them. In order:

- **Values** (:func:`pack`, :class:`FrameReader`): plain data as JSON with binary segments behind it.
  What comes out of a REPL is hostile: a frame that breaks a bound or a rule raises
  :class:`ProtocolError` and nothing else. Nothing is ever unpickled on the host.
- **Screen**: what a cell prints, its head and tail, in memory shared with the checkpoint.
- **Calls**: host calls from any thread over the cell's own channel.
- **Functions**: the names of the REPL contract (``llm_query``, ``grep``, ``submit``, …).
- **Repl**: the namespace; runs one cell and repairs what it broke.
- **Worker**: the life of a process: a checkpoint before each cell, rollback, take-over.

>>> reader = FrameReader()
>>> reader.feed(pack("call", [("a", {1: {2.5, None}})], id=7))
>>> frame = reader.next()
>>> frame.kind, frame.fields["id"], frame.values == [("a", {1: {2.5, None}})]
('call', 7, True)
"""

from __future__ import annotations
import __future__

import _sitebuiltins
import ast
import builtins
import contextlib
import dataclasses
import datetime
import decimal
import enum
import importlib
import io
import itertools
import json
import linecache
import math
import mmap
import os
import re
import select
import signal
import socket
import struct
import sys
import threading
import types
from collections import Counter, deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, NoReturn, Protocol, cast

if TYPE_CHECKING:
    from ..reach.marks import Marks

# ---------------------------------------------------------------------------------------- values

MAX_DEPTH = 64  # containers inside one another
MAX_ITEMS = 2_000_000  # elements of all containers of a frame
MAX_HEADER = 32 << 20
MAX_BODY = 256 << 20
INLINE = 256  # longer strings travel as segments
INT_BITS = 14_000  # Python refuses to print ints much larger than this
PREFIX = struct.Struct("<IQ")
LITTLE = 1 << 16  # bytes of a read, as long as no more come at once
_CUT = int(socket.MSG_CTRUNC)  # an enum takes longer than the rest of a look at it
_CONTAINERS = (list, tuple, set, frozenset, dict)


class ProtocolError(Exception):
    """A frame breaks a rule: its sender is broken or hostile, and its channel cannot be used further."""


class LLMError(Exception):
    """A sub-call failed. ``kind`` says how: "timeout", "rate_limit", "budget", …"""

    def __init__(self, kind: str, message: str = "") -> None:
        super().__init__(message or kind)
        self.kind = kind
        self.message = message


class FailedCall:
    """One failed item of a batch: falsy, and an error as soon as it is used as text.

    ``repr(item)`` and ``item.message`` say why; ``[a for a in answers if a]`` leaves it out.
    """

    __slots__ = ("kind", "message")

    def __init__(self, kind: str, message: str) -> None:
        self.kind = kind
        self.message = message

    def _refuse(self, *_: object) -> NoReturn:
        raise LLMError(
            self.kind,
            f"a failed item was used as text: {self.message} (leave it out: `if item`, or ask again)",
        )

    __str__ = __format__ = __add__ = __radd__ = __len__ = __iter__ = _refuse
    __contains__ = __getitem__ = __mod__ = __mul__ = __lt__ = __gt__ = _refuse

    def __getattr__(self, name: str) -> NoReturn:
        if hasattr(str, name):  # a method of str, such as .strip()
            self._refuse()
        raise AttributeError(f"a FailedCall has .kind and .message, not .{name}")

    def __bool__(self) -> bool:
        return False

    def __eq__(self, other: object) -> bool:
        return isinstance(other, FailedCall) and (self.kind, self.message) == (other.kind, other.message)

    def __hash__(self) -> int:
        return hash((self.kind, self.message))

    def __reduce__(self) -> tuple[type[FailedCall], tuple[str, str]]:
        return FailedCall, (self.kind, self.message)

    def __repr__(self) -> str:
        return f"FailedCall({self.kind}: {self.message})"


@dataclasses.dataclass(frozen=True, slots=True)
class Reference:
    """A text in a file, for the host: which file of which source, the bytes, the number of the first line."""

    source: str
    number: int
    start: int
    stop: int
    line: int


class _Failed(Protocol):
    kind: str
    message: str


def _finite(value: float) -> object:
    return value if math.isfinite(value) else {"f": repr(value)}


class _Series(Protocol):
    dtype: object

    def tolist(self) -> list[object]: ...

    def isna(self) -> Iterable[bool]: ...


def _column(series: _Series) -> list[object]:
    """The cells of a pandas column; what is missing is None, but for floats, where it is nan."""
    cells = series.tolist()
    if getattr(series.dtype, "kind", "O") == "f":
        return cells
    return [None if missing else cell for cell, missing in zip(cells, series.isna(), strict=True)]


def _part_of(value: object) -> tuple[object, ...] | None:
    """What is in a file, by reference: see :mod:`unspool.reach`."""
    refer = getattr(type(value), "__unspool_part__", None)
    return None if refer is None else refer(value)


def in_full(value: object) -> object:
    """A text in a file as a ``str``, where it is small; raises with what to do where it is not."""
    read = getattr(type(value), "__unspool_text__", None)
    return value if read is None else read(value)


def _is_image(value: object) -> bool:
    pillow = sys.modules.get("PIL.Image")
    is_pil = pillow is not None and isinstance(value, pillow.Image)
    return is_pil or hasattr(type(value), "__unspool_image__")


def _open_image(data: bytes) -> object:
    return cast(object, reach("pictures").opened(data))


def _unpack_once(value: object) -> object:
    """Values of known libraries and classes as plain data; ``NotImplemented`` for all others."""
    if hasattr(type(value), "__unspool_text__"):
        return in_full(value)
    if isinstance(value, enum.Enum):
        return value.value
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {f.name: getattr(value, f.name) for f in dataclasses.fields(value)}
    if isinstance(value, range | deque | type({}.keys()) | type({}.values()) | type({}.items())):
        return list(value)
    pydantic = sys.modules.get("pydantic")
    if pydantic is not None and isinstance(value, pydantic.BaseModel):
        return value.model_dump()
    numpy, pandas = sys.modules.get("numpy"), sys.modules.get("pandas")
    if pandas is not None:
        if value is pandas.NaT or value is pandas.NA:
            return None
        if isinstance(value, pandas.DataFrame):
            named = any(name is not None for name in value.index.names)
            plain = not named and pandas.api.types.is_integer_dtype(value.index.dtype)
            frame = value if plain else value.reset_index()
            columns = [_column(frame.iloc[:, place]) for place in range(frame.shape[1])]
            return [dict(zip(frame.columns, row, strict=True)) for row in zip(*columns, strict=True)]
        if isinstance(value, pandas.Series):
            column = _column(value)
            ranged = isinstance(value.index, pandas.RangeIndex)
            return column if ranged else dict(zip(value.index, column, strict=True))
        if isinstance(value, pandas.Index | pandas.Categorical):
            return value.tolist()
        if isinstance(value, pandas.Timestamp):
            return value.to_pydatetime(warn=False)
        if isinstance(value, pandas.Timedelta):
            return value.to_pytimedelta()
        if isinstance(value, pandas.Period | pandas.Interval):
            return str(value)
    if numpy is not None:
        if isinstance(value, numpy.datetime64 | numpy.timedelta64):
            unit = "M8[us]" if isinstance(value, numpy.datetime64) else "m8[us]"
            return None if numpy.isnat(value) else value.astype(unit).item()
        if isinstance(value, numpy.generic):
            return value.item()
        if isinstance(value, numpy.ndarray):
            return value.tolist() if value.dtype.kind not in "mM" else [value[i] for i in range(len(value))]
    for module, name, method in (
        ("polars", "DataFrame", "to_dicts"),
        ("polars", "Series", "to_list"),
        ("pyarrow", "Table", "to_pylist"),
        ("pyarrow", "Array", "to_pylist"),
    ):
        known = getattr(sys.modules.get(module), name, None)
        if known is not None and isinstance(value, known):
            return getattr(value, method)()
    return NotImplemented


class Encoder:
    """Values to JSON and segments. Raises ``TypeError`` with what to do for anything that is not data."""

    def __init__(
        self, failed: tuple[type, ...] = (FailedCall,), *, plain: bool = False, parts: bool = False
    ) -> None:
        self._plain = plain  # refuse what would arrive as something else
        self._parts = parts  # what is in files goes as a reference
        self.segments: list[bytes] = []
        self.images: set[int] = set()  # the segments that are images
        self.size = 0
        self._items = 0
        self._path: set[int] = set()
        self._failed = failed

    def value(self, value: object, depth: int = 0, key: bool = False) -> object:
        kind = type(value)
        if kind is str:
            return self._text(cast(str, value))
        if value is None or kind is bool:
            return value
        if kind is int:
            return self._int(cast(int, value))
        if kind is float:
            return _finite(cast(float, value))
        if kind in _CONTAINERS or (not self._plain and isinstance(value, _CONTAINERS)):
            return self._container(cast("list[object]", value), depth, key)
        return self._scalar(value, depth, key)

    def _text(self, text: str) -> object:
        if len(text) <= INLINE:
            if text.isascii():
                return text
            try:
                text.encode()
                return text
            except UnicodeEncodeError:  # JSON would join two lone surrogates into one character
                pass
        if len(text) > MAX_BODY:
            self._too_large()
        return self._segment("s", text.encode("utf-8", "surrogatepass"))

    def _segment(self, tag: str, data: bytes) -> object:
        self.size += len(data)
        if self.size > MAX_BODY:
            self._too_large()
        self.segments.append(data)
        return {tag: len(self.segments) - 1}

    def _too_large(self) -> NoReturn:
        raise TypeError(
            f"this is too large to hand over: the limit is {MAX_BODY >> 20} MB; pass a part of it"
        )

    def _int(self, value: int) -> object:
        if -(1 << 63) <= value < 1 << 63:
            return value
        if value.bit_length() > INT_BITS:
            raise TypeError("an int of more than 4,200 digits cannot be handed over; pass hex(x) as text")
        return {"i": hex(value)}

    def _container(self, value: list[object] | tuple[object, ...] | set[object] | frozenset[object]
                   | dict[object, object], depth: int, key: bool) -> object:  # fmt: skip
        if depth >= MAX_DEPTH:
            raise TypeError(f"this is nested deeper than {MAX_DEPTH} levels; flatten it")
        if id(value) in self._path:
            raise TypeError(f"a {type(value).__name__} that contains itself cannot be handed over")
        if key and isinstance(value, list | set | dict):
            raise TypeError(f"a {type(value).__name__} cannot be a key or be in a set; use a tuple")
        self._items += len(value)
        if self._items > MAX_ITEMS:
            raise TypeError(f"more than {MAX_ITEMS:,} items cannot be handed over at once; pass a part")
        self._path.add(id(value))
        below = depth + 1
        result: object
        if isinstance(value, dict):
            flat: list[object] = []
            for k, v in dict.items(value):
                flat.append(self.value(k, below, True))
                flat.append(self.value(v, below))
            result = {"d": flat}
        elif isinstance(value, list):
            result = [self.value(item, below) for item in value]
        elif isinstance(value, tuple):
            result = {"t": [self.value(item, below, key) for item in value]}
        else:
            tag = "S" if isinstance(value, set) else "F"
            result = {tag: [self.value(item, below, True) for item in value]}
        self._path.discard(id(value))
        return result

    def _scalar(self, value: object, depth: int, key: bool) -> object:
        if isinstance(value, self._failed):
            failed = cast(_Failed, value)
            return {"x": [failed.kind, self._text(failed.message)]}
        if not isinstance(value, enum.Enum) and not self._plain:
            if isinstance(value, str):
                return self._text(str.__str__(value))
            if isinstance(value, int):
                return self._int(int.__int__(value))
            if isinstance(value, float):
                return _finite(float.__float__(value))
        if isinstance(value, bytes | bytearray | memoryview):
            return self._segment("b", bytes(value))
        if _is_image(value):
            self.images.add(len(self.segments))
            return self._segment("im", cast(bytes, reach("pictures").file_of(value)))
        if self._parts and (part := _part_of(value)) is not None:
            return {"r": list(part)}
        simple = NotImplemented if self._plain else _unpack_once(value)
        if simple is not NotImplemented:
            if depth >= MAX_DEPTH:
                raise TypeError(f"this is nested deeper than {MAX_DEPTH} levels; flatten it")
            return self.value(simple, depth + 1, key)
        if isinstance(value, datetime.datetime):
            return {"dt1" if value.fold else "dt": value.isoformat()}
        if isinstance(value, datetime.date):
            return {"da": value.isoformat()}
        if isinstance(value, datetime.time):
            return {"ti1" if value.fold else "ti": value.isoformat()}
        if isinstance(value, datetime.timedelta):
            return {"td": [value.days, value.seconds, value.microseconds]}
        if isinstance(value, decimal.Decimal):
            far = value.is_finite() and abs(value.adjusted()) > 100_000
            if far or len(value.as_tuple().digits) > 4_000:
                raise TypeError("this Decimal is too long to be handed over; pass str(x)")
            return {"D": str(value)}
        if isinstance(value, complex):
            return {"c": [_finite(value.real), _finite(value.imag)]}
        raise TypeError(_no_data(value))


def _no_data(value: object) -> str:
    name = type(value).__name__
    if isinstance(value, type):
        return f"the class {value.__name__} is no data; pass an instance's values"
    if callable(value):
        return f"a {name} is no data: call it and pass what it returns"
    if isinstance(value, Iterator):
        return f"a {name} is no data: pass list(…) of it"
    return f"a {name} cannot be handed over: pass plain data, e.g. str(x), list(x) or vars(x)"


@dataclasses.dataclass(slots=True)
class Frame:
    """One message: its kind, small plain fields, and decoded values."""

    kind: str
    fields: Mapping[str, object]
    values: list[object]

    def number(self, name: str, most: int = 1 << 62) -> int:
        """A field that has to be an int of 0 to ``most``."""
        value = self.fields.get(name)
        if type(value) is not int or not 0 <= value <= most:
            raise ProtocolError(f"{self.kind}: {name} is no number of 0 to {most}")
        return value

    def text(self, name: str, most: int = 256) -> str:
        value = self.fields.get(name)
        if type(value) is not str or len(value) > most:
            raise ProtocolError(f"{self.kind}: {name} is no text of at most {most} characters")
        return value


_to_json = json.JSONEncoder(ensure_ascii=False, check_circular=False, separators=(",", ":")).encode


def pack(
    kind: str,
    values: Sequence[object] = (),
    *,
    failed: tuple[type, ...] = (FailedCall,),
    plain: bool = False,
    parts: bool = False,
    **fields: object,
) -> bytes:
    """One frame. ``fields`` are small JSON values, ``values`` any plain data."""
    encoder = Encoder(failed, plain=plain, parts=parts)
    encoded = [encoder.value(value) for value in values]
    header = {**fields, "t": kind, "v": encoded, "s": [len(segment) for segment in encoder.segments]}
    text = _to_json(header).encode()
    if len(text) > MAX_HEADER:
        raise TypeError("this is too large to hand over at once; pass a part of it")
    return b"".join((PREFIX.pack(len(text), encoder.size), text, *encoder.segments))


def _strings(node: object, count: int, kinds: type | tuple[type, ...] = str) -> list[object]:
    if type(node) is not list or len(node) != count or not all(isinstance(item, kinds) for item in node):
        raise ProtocolError("a value is malformed")
    return node


class Decoder:
    """JSON and segments to values. Raises :class:`ProtocolError` for whatever breaks a rule."""

    def __init__(
        self,
        segments: Sequence[memoryview],
        failed: Callable[[str, str], object],
        image: Callable[[bytes], object] = _open_image,
    ) -> None:
        self._segments: list[memoryview | None] = list(segments)
        self._failed = failed
        self._image = image

    def value(self, node: object, depth: int = 0) -> object:
        kind = type(node)
        if kind is str or kind is int or kind is float or kind is bool or node is None:
            return node
        if kind is list:
            below = self._below(depth)
            return [self.value(item, below) for item in cast("list[object]", node)]
        if kind is not dict or len(cast("dict[str, object]", node)) != 1:
            raise ProtocolError("a value is malformed")
        ((tag, inner),) = cast("dict[str, object]", node).items()
        if tag == "s":
            return str(self._take(inner), "utf-8", "surrogatepass")
        if tag == "b":
            return bytes(self._take(inner))
        if tag == "im":
            return self._image(bytes(self._take(inner)))
        if tag in ("t", "S", "F", "d"):
            if type(inner) is not list:
                raise ProtocolError("a value is malformed")
            below = self._below(depth)
            return self._collect(tag, [self.value(item, below) for item in inner])
        return self._special(tag, inner)

    def _below(self, depth: int) -> int:
        if depth >= MAX_DEPTH:
            raise ProtocolError("a value is nested too deep")
        return depth + 1

    def _take(self, index: object) -> memoryview:
        """Each segment once: a frame must not grow by naming a large one again and again."""
        if type(index) is not int or not 0 <= index < len(self._segments):
            raise ProtocolError("a value names a segment that is not there")
        segment = self._segments[index]
        if segment is None:
            raise ProtocolError("a value names a segment twice")
        self._segments[index] = None
        return segment

    def _collect(self, tag: str, items: list[object]) -> object:
        if tag == "t":
            return tuple(items)
        keys = items[::2] if tag == "d" else items
        if len(keys) > 1_000 and len(set(map(hash, keys))) < 0.9 * len(keys):
            raise ProtocolError("the keys of a value collide")  # would take quadratic time
        if tag == "d":
            if len(items) % 2:
                raise ProtocolError("a dict has a key without a value")
            return dict(zip(keys, items[1::2], strict=True))
        return set(items) if tag == "S" else frozenset(items)

    def _special(self, tag: str, inner: object) -> object:
        if tag == "x":
            kind, message = _strings(inner, 2, (str, dict))
            if type(kind) is not str:
                raise ProtocolError("a failed call is malformed")
            text = self.value(message)
            if type(text) is not str:
                raise ProtocolError("a failed call is malformed")
            return self._failed(kind, text)
        if tag == "r":
            if type(inner) is not list or len(inner) != 5 or not all(
                type(part) is int and -1 <= part < 1 << 62 for part in inner[1:]
            ):  # fmt: skip
                raise ProtocolError("a reference is malformed")
            if type(inner[0]) is not str or len(inner[0]) > 64:
                raise ProtocolError("a reference is malformed")
            return Reference(*inner)
        if tag == "td":
            days, seconds, micros = cast("list[int]", _strings(inner, 3, int))
            return datetime.timedelta(days, seconds, micros)
        if tag == "c":
            real, imag = (self.value(part) for part in _strings(inner, 2, (int, float, dict)))
            if not isinstance(real, int | float) or not isinstance(imag, int | float):
                raise ProtocolError("a complex number is malformed")
            return complex(real, imag)
        if type(inner) is not str or len(inner) > 5_000:
            raise ProtocolError("a value is malformed")
        if tag == "f" and inner in ("nan", "inf", "-inf"):
            return float(inner)
        if tag == "i" and len(inner) <= INT_BITS // 4 + 4:
            return int(inner, 16)
        if tag == "D":
            number = decimal.Decimal(inner)
            if number.is_finite() and abs(number.adjusted()) > 100_000:
                raise ProtocolError("a Decimal is too large")
            return number
        if tag in ("dt", "dt1"):
            return datetime.datetime.fromisoformat(inner).replace(fold=len(tag) - 2)
        if tag == "da":
            return datetime.date.fromisoformat(inner)
        if tag in ("ti", "ti1"):
            return datetime.time.fromisoformat(inner).replace(fold=len(tag) - 2)
        raise ProtocolError(f"no value is tagged {tag[:20]!r}")


def _refuse_constant(name: str) -> NoReturn:
    raise ProtocolError(f"{name} is no JSON")


_from_json = json.JSONDecoder(parse_constant=_refuse_constant).decode


def unpack(
    header: bytes,
    body: memoryview,
    failed: Callable[[str, str], object] = FailedCall,
    image: Callable[[bytes], object] = _open_image,
) -> Frame:
    """One frame from its two parts."""
    if len(header) > MAX_ITEMS and sum(map(header.count, (b",", b"[", b"{"))) > 3 * MAX_ITEMS:
        raise ProtocolError("a frame has too many items")
    try:
        fields = _from_json(header.decode())
        if type(fields) is not dict:
            raise ProtocolError("a frame is no JSON object")
        kind, values, lengths = fields.pop("t", None), fields.pop("v", None), fields.pop("s", None)
        if type(kind) is not str or type(values) is not list or type(lengths) is not list:
            raise ProtocolError("a frame is malformed")
        if lengths and not all(type(n) is int and n >= 0 for n in lengths):
            raise ProtocolError("the lengths of a frame's segments are malformed")
        if sum(lengths) != len(body):
            raise ProtocolError("the segments of a frame do not fill it")
        ends = itertools.pairwise(itertools.accumulate(lengths, initial=0))
        decoder = Decoder([body[a:b] for a, b in ends] if lengths else [], failed, image)
        return Frame(kind, fields, [decoder.value(value) for value in values])
    except ProtocolError:
        raise
    except (ValueError, TypeError, OverflowError, RecursionError, ArithmeticError) as error:
        raise ProtocolError(f"a frame cannot be read: {type(error).__name__}: {str(error)[:200]}") from None


class FrameReader:
    """Frames out of a stream of bytes, however it is cut. Memory grows only with what has arrived."""

    def __init__(
        self,
        *,
        max_header: int = MAX_HEADER,
        max_body: int = MAX_BODY,
        failed: Callable[[str, str], object] = FailedCall,
        image: Callable[[bytes], object] = _open_image,
    ) -> None:
        self._buffer = bytearray()
        self._limits = max_header, max_body
        self._failed, self._image = failed, image

    def feed(self, data: bytes | memoryview) -> None:
        self._buffer += data

    def next(self) -> Frame | None:
        """The next whole frame, ``None`` while there is none yet."""
        buffer = self._buffer
        if len(buffer) < PREFIX.size:
            return None
        head, body = PREFIX.unpack_from(buffer)
        if head > self._limits[0] or body > self._limits[1]:
            raise ProtocolError(f"a frame of {head:,} + {body:,} bytes is larger than is allowed")
        start, end = PREFIX.size + head, PREFIX.size + head + body
        if len(buffer) < end:
            return None
        header = bytes(buffer[PREFIX.size : start])
        with memoryview(buffer) as whole, whole[start:end] as view:
            data = bytes(view)
        del buffer[:end]
        return unpack(header, memoryview(data), self._failed, self._image)


# ---------------------------------------------------------------------------------------- screen


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


# ----------------------------------------------------------------------------------------- calls


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
            if fds or flags & _CUT:  # cut where this process has too many open already
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


# ------------------------------------------------------------------------------------- functions


def bind(
    name: str,
    usage: str,
    parameters: Mapping[str, tuple[str, ...]],
    args: Sequence[object],
    kwargs: Mapping[str, object],
    positional: int = 99,
) -> dict[str, object]:
    """The arguments by parameter, other usual keywords for the same thing accepted."""
    if len(args) > min(positional, len(parameters)):
        raise TypeError(f"{name} got {len(args)} arguments; the call is {usage}")
    given = dict(zip(parameters, args, strict=False))
    for word, value in kwargs.items():
        known = next((p for p, aliases in parameters.items() if word == p or word in aliases), None)
        if known is None:
            raise TypeError(f"{name} has no argument {word!r}; the call is {usage}")
        if known in given:
            raise TypeError(f"{name} got {known!r} twice; the call is {usage}")
        given[known] = value
    return given


_PROMPT = ("query", "question", "text", "message", "content", "input", "q", "instruction")
_PROMPTS = ("queries", "questions", "texts", "messages", "inputs", "items", "prompt", "batch")
_ITEMS = ("texts", "inputs", "prompts", "values", "data", "records", "sentences")
_INSTRUCTION = ("prompt", "question", "task", "query", "template")
_PACK = ("pack_size", "batch_size", "per_call", "size")
_LABELS = ("categories", "classes", "options", "choices", "candidate_labels")
_SCHEMA = ("format", "response_format", "response_model", "output_type", "answer", "type")
_CONTEXT = ("text", "data", "document", "content")
_CONTEXTS = ("context", "texts", "documents", "data")


REACH = f"{__package__.rpartition('.')[0]}.reach" if __package__ else "reach"  # what it is called here


def reach(name: str) -> types.ModuleType:
    """A module of the package ``reach``: beside this file's folder, and in the sandbox loaded before."""
    return sys.modules.get(f"{REACH}.{name}") or importlib.import_module(f"{REACH}.{name}")


def _as_schema(schema: object) -> object:
    """A JSON schema, from one or from a type that says the same."""
    return None if schema is None else cast(object, reach("typed").schema_of(schema))


def _as_wanted(schema: object, value: object) -> object:
    """A reply that fits, as the type that was asked for."""
    return value if schema is None else cast(object, reach("typed").as_wanted(schema, value, LLMError))


def _all_as_wanted(schema: object, values: object) -> object:
    """The same for each item of a batch; one that cannot be made is a failed one."""
    return cast(object, reach("typed").all_as_wanted(schema, values, FailedCall))


def _one_prompt(value: object, call: str, many: str) -> str:
    value = in_full(value)
    if isinstance(value, FailedCall):
        str(value)
    if isinstance(value, str):
        if value.strip():
            return value
        raise ValueError(f'the prompt is empty; the call is {call}("a question and the text it is about")')
    if value is None:
        raise TypeError(f'the prompt is None; the call is {call}("a question and the text it is about")')
    if isinstance(value, Iterable):
        raise TypeError(
            f"{call} takes one prompt, not a {type(value).__name__}; for many prompts the call is {many}([…])"
        )
    raise TypeError(f'{call} takes a str, not a {type(value).__name__}; the call is {call}(f"… {{x}}")')


def _many(value: object, call: str) -> list[object]:
    """The items of any iterable; a str is one text, not many."""
    if isinstance(value, str | bytes) or not isinstance(value, Iterable):
        raise TypeError(
            f"{call} takes a list, not a {type(value).__name__}; the call is {call}([first, second, …])"
        )
    return list(value)


def _prompts(value: object, call: str) -> list[str]:
    items = [in_full(item) for item in _many(value, call)]
    for place, item in enumerate(items):
        if isinstance(item, FailedCall):
            str(item)
        if not isinstance(item, str):
            raise TypeError(
                f"item {place} of {len(items)} is a {type(item).__name__}, not a str; "
                f'the call is {call}([f"… {{x}}" for x in items])'
            )
        if not item.strip():
            raise ValueError(f"item {place} of {len(items)} is empty; leave empty ones out")
    return cast("list[str]", items)


def _item_texts(value: object, call: str, usage: str) -> list[str]:
    """The items of any iterable as texts."""
    if isinstance(value, Mapping) or hasattr(value, "columns"):
        what, instead = (
            ("dict", "list(d.values())") if isinstance(value, Mapping) else ("table", "one column")
        )
        raise TypeError(
            f"{call} takes a list of items, not a {what}: pass {instead}, or texts made of its rows"
        )
    items = _many(value, call)
    for place, item in enumerate(items):
        if isinstance(item, FailedCall):
            str(item)
        if item is None:
            raise TypeError(f"item {place} of {len(items)} is None; the call is {usage}")
    return [item if isinstance(item, str) else str(item) for item in items]


class Labelled(list[object]):
    """The labels of the items, in order; ``counts`` says how many there are of each."""

    @property
    def counts(self) -> Counter[object]:
        return Counter(self)


class Listing(str):
    """A text that is shown as it is, without quotes."""

    __slots__ = ()

    def __repr__(self) -> str:
        return str.__str__(self)


def _size(value: object) -> str:
    if hasattr(type(value), "__unspool_text__"):  # to count it could take a pass over a large file
        return short(value, 200)
    shape = getattr(value, "shape", None)
    if isinstance(shape, tuple):
        return " × ".join(map(str, shape))
    if isinstance(value, str):
        return f"{len(value):,} characters"
    try:
        return f"{len(value):,} items"  # type: ignore[arg-type]
    except Exception:  # many things have no length, and some raise odd errors for it
        text = short(value, 60)
        return text if isinstance(value, int | float | bool | None) else ""


def _line_window(text: str, start: int, end: int, window: int) -> tuple[int, int]:
    """The part of ``text`` to show around a match.

    A line that is not longer than the window is shown whole, with as many whole lines on each side
    as fit into what the window has left; of a longer line, ``window`` characters on each side.
    """
    first = text.rfind("\n", 0, start) + 1
    last = text.find("\n", end)
    last = len(text) if last < 0 else last
    room = window - (last - first)
    if room < 0:
        return max(first, start - window), min(last, end + window)
    low, high = max(0, first - room), min(len(text), last + room)
    if low:
        low = text.find("\n", low - 1, first) + 1  # the line before ends at first - 1, so it is found
    if high < len(text):
        high = text.rfind("\n", last, high + 1)
    return low, high


class Named(dict[str, object]):
    """Several contexts: each is bound under its own name, too."""


def function_names() -> list[str]:
    """The names of the REPL contract but for ``context`` and the tools."""
    return list(Functions(cast("Repl", None), ()).names)


def _with_tables(context: object) -> object:
    """A context for a child, its DataFrames told so that they are DataFrames there, too."""
    return cast(object, reach("dataframes").told(dict(context) if isinstance(context, Named) else context))


def _is_table(value: object) -> bool:
    return hasattr(value, "columns") and hasattr(value, "shape")


class Functions:
    """The functions of the REPL contract. ``repl`` is where they live."""

    def __init__(self, repl: Repl, tools: Sequence[str]) -> None:
        self._repl = repl
        self._last = (0, 0)  # the part of the context that was found last
        self.names: dict[str, object] = {
            name: getattr(self, name)
            for name in (
                "llm_query", "llm_query_batched", "llm_map", "classify", "rlm_query", "rlm_query_batched",
                "grep", "chunks", "budget", "cite", "SHOW_VARS", "submit", "FINAL", "FINAL_VAR", "SUBMIT",
            )
        }  # fmt: skip
        self.names |= {"LLMError": LLMError, "FailedCall": FailedCall}
        self.names |= {tool: self._tool(tool) for tool in tools}

    def _call(self, name: str, /, *args: object, **kwargs: object) -> object:
        return self._repl.calls.call(name, args, kwargs)

    def _read(self, texts: Sequence[str]) -> dict[str, object]:
        """What these texts have of the context, for the host."""
        marks = self._repl.marks
        return {} if marks is None else {"ranges": marks.prompts(texts)}

    def _read_by_children(self, queries: Sequence[str], contexts: Sequence[object]) -> dict[str, object]:
        if (marks := self._repl.marks) is None:
            return {}
        return {"ranges": marks.prompts(queries), "stretches": marks.children(contexts)}

    def _tool(self, name: str) -> Callable[..., object]:
        def tool(*args: object, **kwargs: object) -> object:
            given = self._repl.outgoing((args, kwargs))
            return self._repl.calls.call(name, *cast("tuple[tuple[object, ...], dict[str, object]]", given))

        tool.__name__ = tool.__qualname__ = name
        return tool

    def llm_query(self, *args: object, **kwargs: object) -> object:
        """llm_query(prompt, *, model=None, schema=None, images=None): one call to a language model."""
        usage = "llm_query(prompt, model=None, schema=None, images=None): question and text in one prompt"
        names = {"prompt": _PROMPT, "model": (), "schema": _SCHEMA, "images": ("image",)}
        given = bind("llm_query", usage, names, args, kwargs, positional=1)
        prompt = _one_prompt(given.get("prompt"), "llm_query", "llm_query_batched")
        images = given.get("images")
        more = {} if images is None else {"images": reach("pictures").many(images)}
        more |= self._read([prompt])
        schema = given.get("schema")
        value = self._call("llm_query", prompt, model=given.get("model"), schema=_as_schema(schema), **more)
        return _as_wanted(schema, value)

    def llm_query_batched(self, *args: object, **kwargs: object) -> object:
        """llm_query_batched(prompts, *, model=None, schema=None, on_error="item", images=None): many calls.

        ``images``: a list of images for each prompt.
        """
        usage = 'llm_query_batched(prompts, model=None, schema=None, on_error="item", images=None)'
        names = {"prompts": _PROMPTS, "model": (), "schema": _SCHEMA, "on_error": (), "images": ()}
        given = bind("llm_query_batched", usage, names, args, kwargs, positional=1)
        prompts = _prompts(given.get("prompts"), "llm_query_batched")
        if not prompts:
            return []
        schema, on_error = given.get("schema"), given.get("on_error", "item")
        images = given.get("images")
        more = {} if images is None else {"images": reach("pictures").of_each(images, len(prompts))}
        more |= {"model": given.get("model"), "on_error": on_error, **self._read(prompts)}
        values = self._call("llm_query_batched", prompts, schema=_as_schema(schema), **more)
        return _all_as_wanted(schema, values)

    def llm_map(self, *args: object, **kwargs: object) -> object:
        """llm_map(instruction, items, schema=None, *, model=None, pack=None): a reply to each item, in order.

        Many items go into each sub-call; ``pack`` is how many at most.
        """
        usage = "llm_map(instruction, items, schema=None): what to do with each item, and the items"
        names = {
            "instruction": _INSTRUCTION, "items": _ITEMS, "schema": _SCHEMA, "model": (), "pack": _PACK
        }  # fmt: skip
        given = bind("llm_map", usage, names, args, kwargs, positional=3)
        instruction, items = given.get("instruction"), given.get("items")
        if isinstance(items, str) and not isinstance(instruction, str):
            instruction, items = items, instruction
        instruction = _one_prompt(instruction, "llm_map", "llm_map")
        texts = _item_texts(items, "llm_map", usage)
        if not texts:
            return []
        schema = given.get("schema")
        more = {"model": given.get("model"), "pack": given.get("pack"), **self._read(texts)}
        values = self._call("llm_map", instruction, texts, schema=_as_schema(schema), **more)
        return _all_as_wanted(schema, values)

    def classify(self, *args: object, **kwargs: object) -> object:
        """classify(items, labels, examples=None, *, model=None): the label of each item, by sub-calls.

        ``labels`` is a list, or a dict of what each label means.
        """
        usage = 'classify(items, ["label a", "label b"], examples=[("a text", "label a")])'
        names = {"items": _ITEMS, "labels": _LABELS, "examples": ("shots", "few_shot"), "model": ()}
        given = bind("classify", usage, names, args, kwargs, positional=3)
        texts = _item_texts(given.get("items"), "classify", usage)
        if not texts:
            return Labelled()
        named = given.get("labels")
        meanings = [(str(k), str(v)) for k, v in named.items()] if isinstance(named, dict) else []
        labels = [str(label) for label in _many(named, "classify(items, labels)")]
        examples = given.get("examples")
        if isinstance(examples, dict):
            examples = list(examples.items())
        pairs = [] if examples is None else _many(examples, "examples=")
        more = {"meanings": meanings, "examples": pairs, "model": given.get("model"), **self._read(texts)}
        return Labelled(cast("list[object]", self._call("classify", texts, labels, **more)))

    def rlm_query(self, *args: object, **kwargs: object) -> object:
        """rlm_query(query, context=None, *, schema=None): a child like you, over the context you give it."""
        usage = "rlm_query(query, context=None, schema=None)"
        names = {"query": ("prompt", "question"), "context": _CONTEXT, "schema": _SCHEMA}
        given = bind("rlm_query", usage, names, args, kwargs, positional=2)
        query = _one_prompt(given.get("query"), "rlm_query", "rlm_query_batched")
        schema, part = given.get("schema"), self._place(given.get("context"))
        where: dict[str, object] = (
            {"context": _with_tables(given.get("context"))} if part is None else {"part": part}
        )
        where |= self._read_by_children([query], [where.get("context")])
        return _as_wanted(schema, self._call("rlm_query", query, **where, schema=_as_schema(schema)))

    def rlm_query_batched(self, *args: object, **kwargs: object) -> object:
        """rlm_query_batched(queries, contexts=None, *, schema=None): several children at once."""
        usage = "rlm_query_batched(queries, contexts=None, schema=None)"
        names = {"queries": ("prompts", "questions"), "contexts": _CONTEXTS, "schema": _SCHEMA}
        given = bind("rlm_query_batched", usage, names, args, kwargs, positional=2)
        queries = _prompts(given.get("queries"), "rlm_query_batched")
        contexts = given.get("contexts")
        if contexts is not None:
            contexts = _many(contexts, "rlm_query_batched(queries, contexts)")
            if len(contexts) != len(queries):
                raise ValueError(
                    f"{len(queries)} queries but {len(contexts)} contexts: one for each is needed"
                )
        if not queries:
            return []
        schema, parts = given.get("schema"), [self._place(context) for context in contexts or ()]
        contexts = None if contexts is None else [_with_tables(context) for context in contexts]
        rest = [None if part else context for context, part in zip(contexts or (), parts, strict=True)]
        where: dict[str, object] = {"contexts": contexts}
        if any(parts):
            where = {"contexts": rest, "parts": parts}
        where |= self._read_by_children(queries, rest)
        values = self._call("rlm_query_batched", queries, **where, schema=_as_schema(schema))
        return _all_as_wanted(schema, values)

    def _place(self, text: object) -> tuple[int, int] | None:
        """Where a text lies in the context, so that it need not be copied."""
        find = cast("Callable[..., tuple[int, int] | None]", reach("part_of").find_part)
        place = find(text, self._repl.context, self._last)
        self._last = place or self._last
        return place

    def budget(self) -> object:
        """budget(): what is left of the run's limits, as a dict."""
        return self._call("budget")

    def grep(
        self, pattern: object, text: object = None, window: int = 120, limit: int = 50, flags: int = 0
    ) -> list[str]:
        """grep(pattern, text=context, window=120, limit=50): the text around each match of a regex.

        Of text in a file, ``number: line``; of several files, ``path:number: line``.
        """
        if isinstance(pattern, str):
            flags |= re.MULTILINE
            try:
                compiled = re.compile(pattern, flags)
            except re.error as error:
                self._repl.note(f"grep: {pattern!r} is no regex ({error}); it was searched as plain text")
                compiled = re.compile(re.escape(pattern), flags)
        elif isinstance(pattern, re.Pattern):
            compiled = pattern
        else:
            raise TypeError(f"grep takes a str or a compiled regex, not a {type(pattern).__name__}")
        found: list[str] = []
        for label, part in self._parts(self._repl.context if text is None else text):
            hits = getattr(type(part), "__unspool_hits__", None)
            for snippet in hits(part, compiled) if hits else self._snippets(compiled, part, window):
                if len(found) >= limit:
                    self._repl.note(f"grep stopped at {limit} snippets; pass limit= for more, or use re")
                    return found
                found.append(label + snippet)
        return found

    @staticmethod
    def _snippets(pattern: re.Pattern[str], text: str, window: int) -> Iterator[str]:
        shown = (-1, -1)
        for match in pattern.finditer(text):
            span = _line_window(text, match.start(), match.end(), max(0, window))
            if match.start() != match.end() and span != shown:
                shown = span
                yield text[span[0] : span[1]]

    def _parts(self, text: object) -> Iterator[tuple[str, str]]:
        """Texts with what stands before their snippets; those in files know how to search themselves."""
        if isinstance(text, str) or hasattr(type(text), "__unspool_hits__"):
            yield "", cast(str, text)
        elif _is_table(text):
            raise TypeError("grep searches texts; in a table: t[t['column'].str.contains(pattern)]")
        elif isinstance(text, Iterable):
            pairs = text.items() if isinstance(text, Mapping) else enumerate(text)
            for key, part in pairs:
                if _is_table(part):
                    self._repl.note(f"grep: {key!r} is a table, which is not searched: use str.contains")
                    continue
                known = isinstance(part, str) or hasattr(type(part), "__unspool_hits__")
                yield f"[{key}] ", part if known else str(part)
        else:
            raise TypeError(f"grep searches a str, or a list or dict of str, not a {type(text).__name__}")

    def chunks(self, *args: object, **kwargs: object) -> Sequence[object]:
        """chunks(text, size, overlap=0): pieces of a text (or a list) of at most that size."""
        usage = "chunks(text, size, overlap=0)"
        names = {
            "text": ("context", "data", "items"), "size": ("chunk_size", "n"), "overlap": ("chunk_overlap",)
        }  # fmt: skip
        given = bind("chunks", usage, names, args, kwargs)
        text, size, overlap = given.get("text"), given.get("size"), given.get("overlap", 0)
        if not isinstance(size, int) or not isinstance(overlap, int) or size < 1 or not 0 <= overlap < size:
            raise ValueError(f"{usage}: size has to be at least 1, overlap at least 0 and less than size")
        if not isinstance(text, Sequence):
            raise TypeError(f"{usage}: text has to be a str or a list, not a {type(text).__name__}")
        if hasattr(type(text), "__unspool_text__"):
            return cast("Callable[[int, int], Sequence[object]]", text.chunks)(size, overlap)  # type: ignore[attr-defined]
        starts = range(0, max(1, len(text) - overlap), size - overlap) if len(text) else ()
        if self._repl.marks is not None:
            self._repl.marks.made(text, starts)
        return [text[at : at + size] for at in starts]

    def cite(self, quote: object) -> object:
        """cite(quote): where a passage stands in the context, word for word; false where it does not."""
        marks = self._repl.marks
        if not isinstance(quote, str) or not quote.strip():
            raise TypeError("cite takes the words of a passage of the context, e.g. cite('the first of May')")
        if marks is None:
            raise RuntimeError("cite does not work in this REPL")
        found = marks.cite(quote)
        self._call("cite", quote, found.part, found.offset, found.line, found.source, found.place)
        if not found:
            self._repl.note(f"cite: not in the context, word for word: {found!r}")
        return found

    def SHOW_VARS(self) -> str:
        """SHOW_VARS(): the names you have made, with types and sizes."""
        lines = [
            f"{name}: {type(value).__name__}" + (f", {size}" if (size := _size(value)) else "")
            for name, value in self._repl.made().items()
            if not isinstance(value, types.ModuleType)
        ]
        return Listing("\n".join(lines) or "(you have made no variables yet)")

    def submit(self, *args: object, **kwargs: object) -> NoReturn:
        """submit(value): ends the run with this value if it passes the checks."""
        given = bind("submit", "submit(value)", {"value": ("answer", "result", "final_answer")}, args, kwargs)
        if "value" not in given:
            raise TypeError("submit needs the answer: submit(value)")
        self._submit(given["value"], "submit")

    def FINAL(self, *args: object, **kwargs: object) -> NoReturn:
        """FINAL(value): the same as submit(value)."""
        given = bind("FINAL", "FINAL(value)", {"value": ("answer", "result", "final_answer")}, args, kwargs)
        if "value" not in given:
            raise TypeError("FINAL needs the answer: FINAL(value)")
        self._submit(given["value"], "FINAL")

    def SUBMIT(self, *args: object, **kwargs: object) -> NoReturn:
        """SUBMIT(value) or SUBMIT(name=value, …): the same as submit(value)."""
        if len(args) + len(kwargs) == 0 or len(args) > 1 or (args and kwargs):
            raise TypeError("SUBMIT needs the answer: SUBMIT(value), or SUBMIT(name=value)")
        value = args[0] if args else next(iter(kwargs.values())) if len(kwargs) == 1 else kwargs
        self._submit(value, "SUBMIT")

    def FINAL_VAR(self, name: object) -> NoReturn:
        """FINAL_VAR("name"): submits the variable of that name."""
        if not isinstance(name, str):
            self._submit(name, "FINAL_VAR")
        made = self._repl.made(answer=True)
        key = name.strip().strip("\"'")
        if not key.isidentifier():  # FINAL_VAR(x) where x holds the text
            self._submit(name, "FINAL_VAR", named=True)
        if key not in made:
            known = ", ".join(made) or "none yet"
            raise NameError(f"there is no variable {name[:60]!r}; the names you have made: {known}")
        self._submit(made[key], "FINAL_VAR", named=True)

    def _submit(self, value: object, via: str, named: bool = False) -> NoReturn:
        current = self._repl.namespace.get("answer")
        if value is current and isinstance(value, dict) and set(value) == {"content", "ready"}:
            if value["content"] in ("", None):
                raise NameError('the variable answer was not set; put the answer into it, or use submit("…")')
            value = value["content"]
        made = self._repl.made(answer=True)
        names = isinstance(value, str) and not named and len(value) < 100 and value.strip() in made
        self._call(
            "submit",
            self._repl.outgoing(value),
            printed=self._repl.screen.printed,
            variable=cast(str, value).strip() if names else None,
            via=via,
        )
        raise AnswerRefused("the answer was not taken")  # a host that replies without ending the cell


# ------------------------------------------------------------------------------------------ repl

MAX_MESSAGE = 2_000
MAX_FRAMES = 12
BALLAST = 16 << 20
_FUTURE = 0
for _name in __future__.all_feature_names:
    _FUTURE |= getattr(__future__, _name).compiler_flag
_COROUTINE = 0x80
_MISSING: object = object()


def cut(text: str, most: int) -> str:
    """``text``, or its head and tail where it is longer than ``most``."""
    if len(text) <= most:
        return text
    head, tail = most * 2 // 3, most // 4
    return f"{text[:head]} … {len(text) - head - tail:,} characters left out … {text[-tail:]}"


def _weight(value: object, most: int, depth: int = 0) -> int:
    """About how long ``repr(value)`` is; gives up once it is more than ``most``."""
    kind = type(value)
    if kind in (str, bytes, bytearray):
        return len(cast(str, value)) + 2
    if kind is int:
        return cast(int, value).bit_length() // 3 + 1
    if kind not in (list, tuple, set, frozenset, dict) or depth > 40:
        return 12
    total = 2
    items: Iterable[object] = cast("Iterable[object]", value)
    if kind is dict:
        items = itertools.chain.from_iterable(cast("dict[object, object]", value).items())
    for item in items:
        total += _weight(item, most - total, depth + 1) + 2
        if total > most:
            break
    return total


def short(value: object, most: int) -> str:
    """``repr(value)``, made without building much more than ``most`` characters of it."""
    kind = type(value)
    if kind is int and cast(int, value).bit_length() > INT_BITS:
        return f"(an int of about {int(cast(int, value).bit_length() * 0.30103):,} digits)"
    if _weight(value, most) <= most:
        return repr(value)
    if kind in (str, bytes, bytearray):
        long = cast(str, value)
        head, tail = most * 2 // 3, most // 4
        return f"{long[:head]!r} … {len(long) - head - tail:,} left out … {long[-tail:]!r}"
    if kind not in (list, tuple, set, frozenset, dict):
        return repr(value)
    parts: list[str] = []
    room = most
    sized = cast("dict[object, object]", value)
    for item in sized.items() if kind is dict else sized:
        if room <= 0:
            parts.append(f"… {len(sized) - len(parts):,} more …")
            break
        if kind is dict:
            key, inner = cast("tuple[object, object]", item)
            part = f"{short(key, room)}: {short(inner, room)}"
        else:
            part = short(item, room)
        parts.append(part)
        room -= len(part) + 2
    brackets = {list: "[]", tuple: "()"}.get(kind, "{}")
    return brackets[0] + ", ".join(parts) + brackets[1]


def _message(error: BaseException) -> str:
    try:
        return cut(str(error), MAX_MESSAGE)
    except BaseException as second:  # a __str__ of the model's own may do anything
        return f"(its text cannot be shown: __str__ raised {type(second).__name__})"


def _type_name(error: BaseException) -> str:
    kind = type(error)
    if kind.__module__ in ("builtins", "__main__", __name__):
        return kind.__qualname__[:200]
    return f"{kind.__module__}.{kind.__qualname__}"[:200]


def _cell_frames(error: BaseException) -> list[tuple[str, int, str]]:
    frames = []
    trace = error.__traceback__
    while trace is not None:
        code = trace.tb_frame.f_code
        if code.co_filename.startswith("<cell "):
            frames.append((code.co_filename, trace.tb_lineno or 0, code.co_name))
        trace = trace.tb_next
    return frames


def _through(error: BaseException, package: str) -> bool:
    """Whether it came from a module of that package."""
    trace, name = error.__traceback__, ""
    while trace is not None:
        name, trace = str(trace.tb_frame.f_globals.get("__name__")), trace.tb_next
    return name.partition(".")[0] == package


_RE = (
    "re takes a str: use context.finditer(pattern), context.search(pattern), grep(pattern), or a slice [a:b]"
)
_HINTS = (
    ("expected string or bytes-like object, got 'LazyText'", _RE),
    ("expected string or bytes-like object, got 'Document'", _RE),
    (
        "can't be used in 'await' expression",
        "the functions of the REPL return their value at once: leave out await",
    ),
    (
        "expected str instance, FailedCall found",
        "a sub-call failed: leave failed items out, [a for a in answers if a]",
    ),
    (
        "asyncio.run() cannot be called from a running event loop",
        "this cell has a top-level await: use await there, too, in the place of asyncio.run",
    ),
)


@dataclasses.dataclass(frozen=True, slots=True)
class Failure:
    """What a cell raised, for the host."""

    type: str
    message: str
    traceback: str
    line: int | None


def describe(error: BaseException, cell: str) -> Failure:
    """A short traceback: the frames of cells alone, each with its line, then type and message."""
    kind, message = _type_name(error), _message(error)
    last = f"{kind}: {message}" if message else kind
    if isinstance(error, AnswerRefused):
        return Failure(kind, message, last, None)
    frames = _cell_frames(error)
    lines = ["Traceback:"]
    shown = frames if len(frames) <= MAX_FRAMES else frames[: MAX_FRAMES // 2] + frames[-MAX_FRAMES // 2 :]
    for place, (name, number, function) in enumerate(shown):
        if len(frames) > MAX_FRAMES and place == MAX_FRAMES // 2:
            lines.append(f"  … {len(frames) - MAX_FRAMES:,} more frames …")
        where = f"  {name[1:-1]}, line {number}" + (
            "" if function == "<module>" else f", in {function[:100]}"
        )
        source = cut(linecache.getline(name, number).strip(), 200)
        lines += [where, f"    {source}"] if source else [where]
    line = next((number for name, number, _ in reversed(frames) if name == cell), None)
    if isinstance(error, SyntaxError) and str(error.filename).startswith("<cell "):
        line = error.lineno
        source = (error.text or linecache.getline(cell, error.lineno or 0)).rstrip("\n")
        lines.append(f"  {str(error.filename)[1:-1]}, line {error.lineno}")
        if source and len(source) < 200:
            lines += [f"    {source}", "    " + " " * max(0, (error.offset or 1) - 1) + "^"]
        message = error.msg or message
        last = f"{kind}: {message}"
    lines.append(last)
    if isinstance(error, BaseExceptionGroup):
        lines += [f"  - {_type_name(e)}: {_message(e)}" for e in error.exceptions[:5]]
    cause = error.__cause__
    if cause is not None:
        lines.append(f"(caused by {_type_name(cause)}: {_message(cause)})")
    lines += [f"({hint})" for part, hint in _HINTS if part in message]
    if isinstance(error, OSError) and _through(error, "multiprocessing"):
        lines.append("(processes cannot share locks here: use threads, e.g. ThreadPoolExecutor)")
    return Failure(kind, message, cut("\n".join(lines), 8_000), line)


class Reserve:
    """Memory set aside, so that a cell that ran out of it can still be reported."""

    def __init__(self) -> None:
        self._memory: mmap.mmap | None = None

    def take(self) -> bool:
        """Whether there is as much again beside it: without that, the next cell would fail at once."""
        try:
            mmap.mmap(-1, 2 * BALLAST, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS).close()
            self._memory = self._memory or mmap.mmap(-1, BALLAST, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
        except (OSError, MemoryError):
            return False
        return True

    def drop(self) -> None:
        if self._memory is not None:
            self._memory.close()
            self._memory = None


@dataclasses.dataclass(slots=True)
class Ended:
    """How a cell ended."""

    outcome: str = "ok"
    failure: Failure | None = None
    memory: bool = False  # it ran out of memory


class Repl:
    """The namespace of one node and what runs cells in it."""

    def __init__(
        self, screen: Screen, context: object, tools: Sequence[str], imports: Sequence[str], reserve: Reserve,
        tables: bool = False, marks: Marks | None = None, without: Sequence[str] = (),
    ) -> None:  # fmt: skip
        self.screen = screen
        self._tables = tables
        self.context = context
        self.marks = marks  # what is read of the context; None: nobody traces it
        self.reserve = reserve
        self.interrupts = Interrupts()
        self.calls: Calls = cast(Calls, None)  # each cell has its own
        self.notes: list[str] = []
        self._flags = 0
        self._module = types.ModuleType("__main__")
        self.namespace: dict[str, object] = self._module.__dict__
        sys.modules["__main__"] = self._module
        builtins.input = no_input
        builtins.exit = builtins.quit = leave  # type: ignore[assignment]
        builtins.help = _sitebuiltins._Helper()  # made by site, which is not imported here
        self._builtins = dict(vars(builtins))
        self._builtin_names = {name for name in self._builtins if not name.startswith("_")}
        self._answer: dict[str, object] = {"content": "", "ready": False}
        self._contexts = {"context": context, **(context if isinstance(context, Named) else {})}
        names = {name: value for name, value in Functions(self, tools).names.items() if name not in without}
        self._fixed = {**self._contexts, **names, "__builtins__": builtins}
        self.namespace.update(self._fixed, answer=self._answer, __name__="__main__")
        if f"{REACH}.desk" in sys.modules:  # what is in files: loaded by the zygote
            reach("desk").DESK.connect(
                lambda source, numbers: self.calls.call_for(OPEN, (source, list(numbers)), {})
            )
        self._streams = Stream(screen, 1), Stream(screen, 2), NoInput()
        self._restore_streams()
        threading.excepthook = self._thread_failed
        self._import(imports)
        self._given = dict(self.namespace)

    @classmethod
    def asked_for(
        cls, frame: Frame, screen: Screen, context: object, reserve: Reserve, marks: Marks | None
    ) -> Repl:
        """The one that the host's first frame asks for."""
        tools, imports, _ = cast("tuple[list[str], list[str], int | None]", frame.values)
        without = cast("list[str]", frame.fields.get("without") or [])
        tables = frame.fields.get("tables") is True
        return cls(screen, context, tools, imports, reserve, tables, marks, without)

    def _import(self, imports: Sequence[str]) -> None:
        for line in imports:
            try:
                exec(compile(line, "<imports>", "exec", dont_inherit=True), self.namespace)
            except Exception as error:
                self.note(f"{line!r} did not work here: {type(error).__name__}: {error}")

    def outgoing(self, value: object) -> object:
        """A value on its way to the host, its DataFrames told apart where they are wanted as such."""
        return reach("dataframes").told(value) if self._tables else value

    def note(self, text: str) -> None:
        if len(self.notes) < 30 and text not in self.notes:
            self.notes.append(cut(text, 1_000))

    def take_notes(self) -> list[str]:
        passed = sys.modules.get(f"{REACH}.passed")
        for told in passed.PASSED.take() if passed else ():
            self.note(told)
        notes, self.notes = self.notes, []
        return notes

    def made(self, answer: bool = False) -> dict[str, object]:
        """The names that cells have made."""
        made = {
            name: value
            for name, value in list(self.namespace.items())
            if self._given.get(name, _MISSING) is not value
            and not name.startswith("__")
            and name not in self._fixed
        }
        current = self.namespace.get("answer")
        untouched = current is self._answer and self._answer == {"content": "", "ready": False}
        if answer and "answer" in self.namespace and not untouched:
            made["answer"] = current
        return made

    def run(self, number: int, source: str) -> Ended:
        """One cell, from its text to how it ended. Never raises."""
        name = f"<cell {number}>"
        ended = Ended()
        try:
            linecache.cache[name] = (len(source), None, source.splitlines(True), name)
            codes = self._compile(name, source)
            try:
                self.interrupts.armed = True
                value = self._execute(codes)
                if value is not None:
                    sys.stdout.write(short(value, 2 * self.screen.shown) + "\n")
            finally:
                self.interrupts.armed = False
            value = None
        except BaseException as error:  # whatever a cell raises is data
            self.interrupts.armed = False
            self._raised(error, name, ended)
            error.__traceback__ = None  # its frames hold the locals of the cell's functions
        return ended

    def rehearse(self) -> None:
        """Goes through the motions of a cell: a fresh fork copies each page that it first writes to,
        and that is better done now than when a cell waits."""
        self.interrupts.install()
        ours, theirs = socket.socketpair()
        with ours, theirs:
            theirs.sendall(pack("cell", ["print(end='')"]))
            calls = Calls(ours, self.interrupts)
            ended = self.run(0, str(calls.receive().values[0]))
            self._restore_names()
            made = list(self.made(answer=True))
            calls.send(pack("end", ["", ended.failure, made, list(map(str, self._fixed))], n=0))

    def _compile(self, name: str, source: str) -> list[types.CodeType]:
        """The statements, and the last one apart where it is a bare expression."""
        flags = self._flags | ast.PyCF_ALLOW_TOP_LEVEL_AWAIT
        tree = compile(source, name, "exec", flags | ast.PyCF_ONLY_AST, dont_inherit=True)
        last = tree.body.pop() if tree.body and isinstance(tree.body[-1], ast.Expr) else None
        codes = [compile(tree, name, "exec", flags, dont_inherit=True)]
        self._flags |= codes[0].co_flags & _FUTURE
        if isinstance(last, ast.Expr):
            codes.append(compile(ast.Expression(last.value), name, "eval", flags, dont_inherit=True))
        return codes

    def _execute(self, codes: Sequence[types.CodeType]) -> object:
        if any(code.co_flags & _COROUTINE for code in codes):
            import asyncio  # it takes longer to import than all the rest of a worker

            try:
                return asyncio.run(self._execute_async(codes))
            finally:  # run leaves the thread without a loop, where asyncio.get_event_loop() would make one
                asyncio.set_event_loop_policy(None)
        value = None
        for code in codes:
            value = eval(code, self.namespace)
        return value

    async def _execute_async(self, codes: Sequence[types.CodeType]) -> object:
        value = None
        for code in codes:
            value = eval(code, self.namespace)
            if code.co_flags & _COROUTINE:
                value = await value
        import asyncio

        me = asyncio.current_task()
        left = [task for task in asyncio.all_tasks() if task is not me]
        if left:
            self.note(f"{len(left)} task(s) were not awaited and are cancelled at the end of the cell")
        return value

    def _raised(self, error: BaseException, name: str, ended: Ended) -> None:
        if isinstance(error, Submitted):
            return
        if isinstance(error, SystemExit):
            said = "" if error.code in (None, 0) else f" with {cut(_message(error), 200)!r}"
            self.note(f"exit was called{said}: the cell ended there; the REPL goes on")
            return
        if isinstance(error, MemoryError):
            self.reserve.drop()
            ended.memory = True
        ended.outcome = "error"
        ended.failure = describe(error, name)

    def finish(self, ended: Ended) -> None:
        """What follows a cell: an answer left in ``answer``, and the repair of what it broke."""
        self._restore_builtins()
        if not self.calls.over:
            self._submit_answer(ended)
        self._restore_streams()
        self._restore_names()
        signal.setitimer(signal.ITIMER_REAL, 0)
        if self.calls.over:
            ended.outcome, ended.failure = "submitted", None
        elif self.interrupts.seen:
            ended.outcome = "interrupted"

    def told(self, number: int, ended: Ended) -> bytes:
        """The end of a cell, for the host."""
        output, printed, omitted = self.screen.take()
        failure = ended.failure and (
            ended.failure.type, ended.failure.message, ended.failure.traceback, ended.failure.line
        )  # fmt: skip
        names = [name[:60] for name in itertools.islice(self.made(answer=True), 100)]
        return pack(
            "end", [output, failure, self.take_notes(), names, self.read(output)], n=number,
            outcome=ended.outcome, printed=printed, omitted=omitted,
        )  # fmt: skip

    def read(self, output: str) -> bytes | None:
        """The ranges of the context in what is shown of a cell."""
        try:
            return None if self.marks is None else self.marks.printed(output)
        except Exception:  # whatever code has done to it: the cell stands, what it showed is unknown
            return None

    def _submit_answer(self, ended: Ended) -> None:
        """The value of ``answer`` at the end of the cell counts, after an exception too."""
        answer = self.namespace.get("answer")
        if not isinstance(answer, dict) or self.interrupts.seen:
            return
        try:
            if not answer.get("ready"):
                return
            answer["ready"] = False
            content = answer.get("content")
            if content is None or (isinstance(content, str) and not content.strip()):
                self.note(
                    'answer["ready"] was set, but answer["content"] is empty: set the content, then ready'
                )
                return
            self.calls.call(
                "submit",
                (self.outgoing(content),),
                {"printed": self.screen.printed, "variable": None, "via": "answer"},
            )
        except Submitted:
            pass
        except BaseException as error:
            failure = describe(error, "")
            if ended.failure is None:
                ended.outcome, ended.failure = "error", failure
            else:
                self.note(f"answer was not taken: {failure.type}: {failure.message}")

    def _restore_builtins(self) -> None:
        known = vars(builtins)
        for name, value in self._builtins.items():
            if known.get(name, _MISSING) is not value:
                known[name] = value
                self.note(f"the builtin {name} was changed; it is back")

    def _restore_names(self) -> None:
        space = self.namespace
        space["__name__"] = "__main__"
        for name, value in self._fixed.items():
            now = space.get(name, _MISSING)
            if now is value:
                continue
            space[name] = value
            if name != "__builtins__":
                what = "deleted" if now is _MISSING else "rebound"
                kept = self._keep(name, now) if name in self._contexts else ""
                self.note(f"{name} was {what}; it is back as it was{kept}")
        for name in self._builtin_names & space.keys() - self._fixed.keys():
            value = space[name]
            if self._imported(value):
                continue
            del space[name]
            self.note(f"{name} is a builtin again{self._keep(name, value)}; use another name for a variable")

    @staticmethod
    def _imported(value: object) -> bool:
        """A function of a library under a builtin's name, as after ``from math import pow``."""
        home = getattr(value, "__module__", None) or type(value).__module__
        return callable(value) and home not in ("builtins", "__main__")

    def _keep(self, name: str, value: object) -> str:
        """A value that lost its name is not lost."""
        if value is None or value is _MISSING or callable(value) or f"{name}_" in self.namespace:
            return ""
        self.namespace[f"{name}_"] = value
        return f"; your value is in {name}_"

    def _restore_streams(self) -> None:
        sys.stdout, sys.stderr, sys.stdin = self._streams
        sys.__stdout__, sys.__stderr__, sys.__stdin__ = self._streams  # type: ignore[misc,assignment]
        sys.modules["__main__"] = self._module

    def _thread_failed(self, args: threading.ExceptHookArgs) -> None:
        if args.exc_value is not None and not isinstance(args.exc_value, SystemExit | Submitted):
            sys.stderr.write(f"in a thread: {describe(args.exc_value, '').traceback}\n")


# ---------------------------------------------------------------------------------------- worker


class ContextLost(Exception):
    """The context cannot be made here; the message says why and what to do."""


def not_opened(error: Exception) -> bytes:
    """Why there is no REPL, for the host."""
    lost = isinstance(error, ContextLost)
    why = f"the context cannot be handed over: {error}" if lost else f"{type(error).__name__}: {error}"
    return pack("failed", [why], context=lost)


def rehearse() -> None:
    """Makes a REPL and throws it away: see :meth:`Repl.rehearse`."""
    reserve = Reserve()
    reserve.take()
    screen = Screen(8_000)
    Repl(screen, "", ["tool"], ["import re"], reserve).rehearse()
    screen.close()
    reserve.drop()
    FrameReader().feed(pack("ready"))


_seeds: list[int] = []  # of this node, where it has one


def reseed(seed: int) -> None:
    """A node that is resumed draws the same random numbers again, the system's too: ``uuid4`` and numpy's
    ``default_rng()`` begin with those. Nothing here has to be kept from guessing them."""
    import random  # the zygote has it, in a way that keeps a seed through forks

    system, plain = random.Random(~seed), random.Random.seed
    os.urandom = random._urandom = system.randbytes  # type: ignore[attr-defined]

    def seeded(self: random.Random, a: object = None, version: int = 2) -> None:
        plain(self, system.getrandbits(256) if a is None else a, version)  # type: ignore[arg-type]

    random.Random.seed = seeded  # type: ignore[method-assign]
    random.seed = random._inst.seed
    random.seed(seed)
    _seeds.append(seed)
    seed_numpy()


def seed_numpy() -> None:
    """The same of numpy's own numbers, where it is there by now: it may be imported later."""
    numpy = sys.modules.get("numpy")
    if numpy is not None and _seeds:
        numpy.random.seed(_seeds[-1] & 0xFFFFFFFF)


def _tasks() -> int:
    """How many threads this process has.

    Landlock refuses to open /proc, but not to ask for a folder's number of links.
    """
    try:
        return os.stat("/proc/self/task").st_nlink - 2
    except OSError:
        return threading.active_count()


_begun: dict[int, int] = {}  # by process: threads that the import of libraries has begun


@contextlib.contextmanager
def beginning() -> Iterator[None]:
    """Threads that C code begins in here, and that no fork has, are not counted by :meth:`Worker.threads`.

    They are those of an import; another import may be within it.
    """

    def unknown() -> int:
        return _tasks() - threading.active_count() - _begun.get(os.getpid(), 0)

    before = unknown()
    try:
        yield
    finally:
        _begun[os.getpid()] = _begun.get(os.getpid(), 0) + max(0, unknown() - before)


class Worker:
    """The life of a worker: it waits for cells, and forks a checkpoint of itself before each."""

    def __init__(
        self, control: socket.socket, desk: socket.socket | None, fork: Callable[[], int] = os.fork
    ) -> None:
        self._control = control
        self._desk = desk  # the keeper's
        self._fork = fork
        self._frames = FrameReader()
        self._fds: list[int] = []
        self._channel: socket.socket | None = None
        self._links: dict[int, int] = {}
        self._checkpoint = 0  # the pid of the process that this one falls back on
        self._stands = Screen.STANDS  # the state of the screen when nothing runs
        self._fresh = True  # no cell has run: a new REPL is as good as a checkpoint
        self._ahead = True
        self._forking = False
        self._unguarded = False
        os.register_at_fork(after_in_child=self._forked)

    def _forked(self) -> None:
        """A process that code in a cell forks off must not speak for the REPL."""
        if self._forking:
            return
        for link in self._own_links():
            link.close()

    def serve(
        self, load: Callable[[], object], room: int = -1, trace: Callable[[object], Marks] | None = None,
        fork_off: Callable[[Worker, list[int]], None] | None = None,
    ) -> NoReturn:  # fmt: skip
        """Opens the REPL and runs cells until the host goes. ``load`` makes the context, ``trace`` what
        tells of its reading; ``room`` is for the screen, so that the host can read what a process has
        printed that is no more; ``fork_off`` makes another REPL of this one, where the host asks for it."""
        frame, _ = self._next_order()
        shown = frame.number("shown", 1 << 24)
        if (seed := cast("int | None", frame.values[2])) is not None:
            reseed(seed)
        screen = Screen(shown, room)
        if room >= 0:
            os.close(room)
        screen.attach()
        reserve = Reserve()
        reserve.take()
        try:
            context = load()
            marks = None if trace is None else trace(context)
            self._repl = Repl.asked_for(frame, screen, context, reserve, marks)
        except Exception as error:  # whatever it is, the host is told
            reserve.drop()
            self._control.sendall(not_opened(error))
            os._exit(0)
        self._tell(b"R 0")
        self._control.sendall(pack("ready"))
        while True:
            if not self._fresh:
                self._guard_ahead()
            frame, fds = self._next_order()
            if frame.kind == "fork" and fork_off is not None:
                self._tell(b"F 0")
                fork_off(self, fds)
                continue
            number = frame.number("n")
            self._repl.screen.state = number
            try:
                self._cell(number, socket.socket(fileno=fds[0]))
            except MemoryError:
                self._give_up(b"memory")
            self._fresh = False

    def leave(self) -> NoReturn:
        """The host has hung up."""
        os._exit(0)

    def _next_order(self) -> tuple[Frame, list[int]]:
        while (frame := self._frames.next()) is None:
            data, fds, _, _ = socket.recv_fds(self._control, 65_536, 8)
            if not data:
                self.leave()
            self._frames.feed(data)
            self._fds += fds
        fds, self._fds = self._fds, []
        return frame, fds

    def _tell(self, message: bytes) -> None:
        if self._desk is not None:
            self._desk.send(message)

    def become(self, control: socket.socket, desk: socket.socket, room: int) -> None:
        """In a fork of a REPL: from here on it is one of its own."""
        for link in self._own_links():
            link.close()
        self._control, self._desk, self._frames, self._checkpoint = control, desk, FrameReader(), 0
        self._repl.screen.move(room)
        self._repl.screen.state = self._stands
        os.close(room)
        self._tell(b"R 0")
        control.sendall(pack("ready"))

    def descriptors(self) -> tuple[list[int], int | None]:
        """Those of the REPL itself: its links, and where it reads what is written to 1 and 2."""
        return [link.fileno() for link in self._own_links()], self._repl.screen.pipe

    def fork(self) -> int:
        """A process that goes on as a REPL."""
        self._forking = True
        try:
            return self._fork()
        finally:
            self._forking = False

    def threads(self) -> int:
        """How many threads this process has, those of C libraries too, but not what imports have begun."""
        return max(1, _tasks() - _begun.get(os.getpid(), 0))

    def _cell(self, number: int, channel: socket.socket) -> None:
        self._channel = channel
        if not self._checkpoint and not self._fresh:
            if self._guard():  # threads may have ended meanwhile
                return  # the cell was undone, and its end is told
            self._note_no_checkpoint()
        self._tell(b"C %d" % number)
        repl = self._repl
        pid = os.getpid()
        repl.interrupts.install()
        self._links = {link.fileno(): os.fstat(link.fileno()).st_ino for link in self._own_links()}
        repl.calls = Calls(channel, repl.interrupts)
        source = cast(str, repl.calls.receive().values[0])
        if repl.marks is not None:
            repl.marks.cell_began(source)
        ended = repl.run(number, source)
        if os.getpid() != pid:
            os._exit(0)  # a process that the cell has forked came to its end
        repl.finish(ended)
        repl.calls.drop()
        if ended.memory and not repl.reserve.take() and (self._checkpoint or self._fresh):
            self._give_up(b"memory")
        if not self._linked():
            self._give_up(b"links")
        self._ahead = ended.outcome != "submitted" and self.threads() == 1
        self._report(number, ended)
        channel.close()
        self._channel = None

    def _give_up(self, why: bytes) -> NoReturn:
        """The checkpoint takes over, and tells why."""
        self._repl.screen.last_word(why)
        os._exit(1)

    def _own_links(self) -> list[socket.socket]:
        return [link for link in (self._control, self._desk, self._channel) if link is not None]

    def _linked(self) -> bool:
        """Whether code in the cell has left our own sockets alone."""
        try:
            return all(os.fstat(fd).st_ino == node for fd, node in self._links.items())
        except OSError:
            return False

    def _settle(self) -> None:
        """Waits until the keeper has ended what the cell has left running."""
        if self._desk is not None and not self._desk.recv(16):
            os._exit(0)

    def _report(self, number: int, ended: Ended) -> None:
        repl = self._repl
        frame = repl.told(number, ended)
        # From here on the cell stands: the checkpoint, which the keeper ends when it hears of that, is out of
        # date, and goes by itself if it is woken first.
        self._checkpoint, self._stands = 0, Screen.STANDS + number
        repl.screen.state = self._stands
        # What the cell has left running is ended by the keeper: when it hears of the fork that comes
        # next, or else at once, and then it must have happened before this process forks again.
        self._tell(b"D %d" % number if self._ahead else b"E %d" % number)
        with contextlib.suppress(BrokenPipeError, ConnectionResetError):  # the host may have gone
            repl.calls.send(frame)
        if not self._ahead:
            self._settle()

    def _guard_ahead(self) -> None:
        """Makes the checkpoint while the host is busy elsewhere, unless no further cell is likely."""
        if self._ahead:
            os.sched_yield()  # let the host hear how the cell ended first
            self._guard()

    def _guard(self) -> bool:
        """Forks a checkpoint, where there is one thread. Returns in the child, which goes on as the REPL; the
        parent stands for it again each time that it has died. Whether a cell has been undone meanwhile."""
        deaths, undone = 0, False
        while not self._checkpoint and self.threads() == 1 and deaths < 3:
            me = os.getpid()
            try:
                child = self.fork()
            except OSError:
                break
            if child == 0:
                self._checkpoint = me
                self._tell(b"P 0")
                # The next cell of a reply comes at once, that of the next reply later.
                if not (self._channel or select.select([self._control], [], [], 0.002)[0]):
                    self._repl.rehearse()
                break
            _, status = os.waitpid(child, 0)
            state = self._repl.screen.state
            deaths = deaths + 1 if state == self._stands else 0
            if not deaths:
                self._take_over(state, status)
                undone = True
        return undone

    def _note_no_checkpoint(self) -> None:
        if self._checkpoint:
            self._unguarded = False
            return
        if not self._unguarded:
            why = "threads are running in the REPL" if self.threads() > 1 else "no process could be forked"
            self._repl.note(f"{why}: a cell that crashes now loses all variables")
        self._unguarded = True

    def _take_over(self, number: int, status: int) -> None:
        screen = self._repl.screen
        if number & screen.STANDS:  # of a cell that this process knows nothing of
            os._exit(0)
        screen.state = self._stands
        if self._channel is not None:
            self._channel.close()
            self._channel = None
        word = screen.last_word()
        output, printed, omitted = screen.take()
        if self._repl.marks is not None:
            self._repl.marks.cell_died()
        self._tell(b"T %d" % number)
        self._settle()
        frame = pack(
            "rolled_back", [output, self._repl.read(output)], n=number, status=status,
            word=word.decode("ascii", "replace"), printed=printed, omitted=omitted,
        )  # fmt: skip
        self._control.sendall(frame)
