"""Which context it is: a hash of its content, the same in every process and on every machine.

Contract: :func:`context_hash` tells texts, numbers, collections of them, dataclasses, pydantic models,
tables and arrays apart by content and kind; for a value that it does not know it is ``None``.

>>> context_hash("abc") == context_hash("ab" + "c"), context_hash("1") == context_hash(1)
(True, False)
>>> context_hash({"b", "a"}) == context_hash({"a", "b"}), context_hash(object())
(True, None)
"""

from __future__ import annotations

import asyncio
import dataclasses
import datetime
import decimal
import enum
import hashlib
import os
import sys
from collections.abc import Iterable, Iterator, Mapping

from ..images import Image, is_pil
from .fingerprint import parts_of
from .marks import PartMarks, has_marks
from .several import Contexts
from .sources import Source
from .table_bytes import table_parts

_LONG = 4_096  # bits; Python writes no integer of more than some thousand digits
_PART = 1 << 18  # characters of a text that are encoded at a time; more of them fill fresh memory each time
_LARGE = 32 << 20  # characters from which a text is hashed in blocks
_BLOCK = 8 << 20
_PLAIN = (int, float, complex, decimal.Decimal, datetime.date, datetime.time, datetime.timedelta)


class _Unknown(Exception):
    """There is a value inside that no hash is known for."""


def context_hash(value: object, marks: PartMarks | None = None) -> str | None:
    """SHA-256 of the content, in hexadecimal; ``None`` where it cannot be told. ``marks``: they are made on
    the way."""
    try:
        return _hash(value, 0, marks).hex()
    except (_Unknown, RecursionError):
        return None


def _hash(value: object, depth: int, marks: PartMarks | None = None, name: str = "") -> bytes:
    kind = type(value)
    if depth > 64:
        raise _Unknown
    if kind is str:
        return _text(value)  # type: ignore[arg-type]
    if value is None or isinstance(value, bool):
        return _digest("constant", (repr(value).encode(),))
    if isinstance(value, int) and kind is int and value.bit_length() > _LONG:
        return _digest("int", (hex(value).encode(),))
    if kind in _PLAIN or isinstance(value, datetime.datetime):
        return _digest(kind.__name__, (repr(value).encode(),))
    if isinstance(value, enum.Enum):
        return _digest(kind.__qualname__, (value.name.encode(),))
    if isinstance(value, bytes | bytearray):
        return _digest("bytes", (value,))
    if isinstance(value, str):
        return _text(str.__str__(value))
    if isinstance(value, Mapping):
        kind_of_mapping = "contexts" if isinstance(value, Contexts) else "mapping"
        return _digest(kind_of_mapping, _pairs(value, depth + 1, marks if depth == 0 else None))
    if isinstance(value, list | tuple):
        return _digest("tuple" if isinstance(value, tuple) else "list", (_hash(v, depth + 1) for v in value))
    if isinstance(value, set | frozenset):
        return _digest("set", sorted(_hash(item, depth + 1) for item in value))
    if isinstance(value, Source):
        return _digest("source", parts_of(value, None if marks is None else marks.files(name, value)))
    return _record(value, depth)


def _pairs(value: Mapping[object, object], depth: int, marks: PartMarks | None) -> Iterator[bytes]:
    for key, part in value.items():
        yield _hash(key, depth)
        digest = _hash(part, depth, marks, str(key))
        if marks is not None:
            marks.part(str(key), part, digest)
        yield digest


def _text(text: str) -> bytes:
    if len(text) < _LARGE:
        return _characters(text, 0, len(text))
    from concurrent.futures import ThreadPoolExecutor

    # Of a large one, the blocks each for itself: on as many processors as there are.
    starts = range(0, len(text), _BLOCK)
    with ThreadPoolExecutor(max_workers=min(8, os.cpu_count() or 1)) as threads:
        blocks = threads.map(lambda start: _characters(text, start, start + _BLOCK), starts)
        return _digest("large text", blocks)


def _characters(text: str, start: int, end: int) -> bytes:
    digest = hashlib.sha256(b"text\0")
    for at in range(start, min(end, len(text)), _PART):  # a copy of a large text is never made
        part = text[at : min(at + _PART, end)]
        digest.update(part.encode("utf-8", "surrogatepass"))
    return digest.digest()


def _digest(kind: str, parts: Iterable[bytes | bytearray | memoryview]) -> bytes:
    digest = hashlib.sha256(kind.encode() + b"\0")
    for part in parts:
        digest.update(part)
    return digest.digest()


def _record(value: object, depth: int) -> bytes:
    """Images, dataclasses, pydantic models, tables."""
    if isinstance(value, Image) or is_pil(value):
        return _digest("image", (Image.of(value).data,))
    name = type(value).__qualname__
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        told: object = {f.name: getattr(value, f.name) for f in dataclasses.fields(value)}
        return _digest(name, (_hash(told, depth + 1),))
    pydantic = sys.modules.get("pydantic")
    if pydantic is not None and isinstance(value, pydantic.BaseModel):
        return _digest(name, (_hash(value.model_dump(), depth + 1),))
    parts = table_parts(value)
    if parts is None:
        raise _Unknown
    try:
        return _digest(name, parts)
    except TypeError:  # cells that no hash is known for: lists, dicts
        raise _Unknown from None


async def known_by(context: object) -> tuple[str | None, PartMarks]:
    """Its hash and the marks of its parts, of one reading. Of a small text at once; what may be large is read
    in a thread, so that the loop goes on."""
    if isinstance(context, str) and len(context) < 1_000_000:
        return _known_by(context)
    return await asyncio.to_thread(_known_by, context)


def _known_by(context: object) -> tuple[str | None, PartMarks]:
    marks = PartMarks()
    known = context_hash(context, marks if has_marks(context) else None)
    return known, marks if known is not None else PartMarks()
