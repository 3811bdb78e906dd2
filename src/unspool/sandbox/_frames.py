"""Frames: messages between the host, a worker and a checkpoint, over sockets and pipes.

Contract: :func:`pack` makes one, :class:`FrameReader` takes bytes as they come. What comes out of a REPL is
hostile: a frame that breaks a bound or a rule raises :class:`ProtocolError` and nothing else. Nothing is ever
unpickled here. Standard library only; importable as a sibling module too.

>>> reader = FrameReader()
>>> reader.feed(pack("call", [("a", {1: {2.5, None}})], id=7))
>>> frame = reader.next()
>>> frame.kind, frame.fields["id"], frame.values == [("a", {1: {2.5, None}})]
('call', 7, True)
"""

from __future__ import annotations

import dataclasses
import datetime
import decimal
import itertools
import json
import socket
import struct
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, NoReturn, cast

if TYPE_CHECKING or __package__:
    from ._values import INT_BITS, MAX_BODY, MAX_DEPTH, MAX_ITEMS, Encoder, FailedCall, Reference, open_image
else:
    from _values import INT_BITS, MAX_BODY, MAX_DEPTH, MAX_ITEMS, Encoder, FailedCall, Reference, open_image

MAX_HEADER = 32 << 20
PREFIX = struct.Struct("<IQ")
LITTLE = 1 << 16  # bytes of a read, as long as no more come at once
CUT = int(socket.MSG_CTRUNC)  # an enum takes longer than the rest of a look at it


class ProtocolError(Exception):
    """A frame breaks a rule: its sender is broken or hostile, and its channel cannot be used further."""


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
        image: Callable[[bytes], object] = open_image,
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
    image: Callable[[bytes], object] = open_image,
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
        image: Callable[[bytes], object] = open_image,
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
