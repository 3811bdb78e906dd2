"""Contexts on their way into a sandbox: a value in a sealed memfd.

Contract: :func:`hand_over` puts a value into a file descriptor, a ``str`` as characters that a worker
maps without a copy, anything else as a parcel: a pickle, with the large texts and the buffers of arrays and
tables beside it, which a worker maps, too (see :mod:`unspool.sandbox._parcel`). :class:`Handed` owns the
descriptor until :meth:`Handed.close`. A part of a text is another view of the same descriptor: a child of a
node can be given (memfd, start, length). Nothing is imported for it that the value has not. Raises
:class:`ContextError`, which names what cannot go.

>>> handed = hand_over("a long text")
>>> part = handed.part(2, 4)
>>> part.layout, part.length
('ascii', 4)
>>> handed.close(), part.close()
(None, None)
"""

from __future__ import annotations

import asyncio
import copyreg
import io
import json
import mmap
import os
import pickle
import sys
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import islice
from typing import TYPE_CHECKING, Any, cast

from ..errors import ContextError
from ..types import TextPart
from . import _classes, _parcel
from ._texts import WIDTH, memory_file, seal, write_all, write_characters, write_text

if TYPE_CHECKING:
    import polars
    import pyarrow

_LARGE = 4 << 20  # characters
_MANY = 100  # items
_APART = 64 << 10  # characters of a text, or bytes of a buffer, that is worth a place of its own
_LOOKED = 20_000  # values of a collection that are looked at for large texts
_FEW_PER_TEXT = 2_000  # values beside each large text: looking at each value costs, too
_PAGE = max(4096, mmap.ALLOCATIONGRANULARITY)  # 16 KB on some machines
PICKLE = "pickle"


@dataclass(frozen=True, slots=True)
class Handed:
    """A value in a memfd. ``start`` and ``length`` are in characters, for texts alone."""

    fd: int
    layout: str  # "pickle", or how the characters of a text are kept
    start: int = 0
    length: int = 0
    size: int = 0  # bytes that a worker maps

    def has(self, start: int, length: int) -> bool:
        """Whether this can be a part. The wider layout of the whole is not a rule of ``str`` for its
        parts, so they are for texts of one byte a character; of others, only the whole is one."""
        inside = self.layout != PICKLE and 0 <= start <= start + length <= self.length
        return inside and (self.layout == "ascii" or length == self.length)

    def part(self, start: int, length: int) -> Handed:
        """A part of a text, in the same memfd under a descriptor of its own."""
        if not self.has(start, length):
            raise ValueError("this is no part that can be handed over without a copy")
        size = length * WIDTH[self.layout]
        return replace(self, fd=os.dup(self.fd), start=self.start + start, length=length, size=size)

    def close(self) -> None:
        os.close(self.fd)


def hand_over(value: object) -> Handed:
    """``value`` in a sealed memfd."""
    if type(value) is str:
        fd, layout, size = write_text(value)
        return Handed(fd, layout, 0, len(value), size)
    fd = memory_file("context")
    try:
        size = _write(fd, value)
        seal(fd)
    except Exception as error:
        os.close(fd)
        raise ContextError(
            f"the context, a {type(value).__name__}, cannot be handed to the sandbox "
            f"({type(error).__name__}: {error}); {_advice(value)}"
        ) from None
    return Handed(fd, PICKLE, size=size)


def _advice(value: object) -> str:
    """What to pass in the place of a value that cannot go: of it, or of what is in it."""
    inside: Iterable[object] = ()
    if isinstance(value, Mapping):
        inside = value.values()
    elif isinstance(value, list | tuple):
        inside = value
    for each in (value, *islice(inside, _MANY)):
        if isinstance(each, io.IOBase):
            return "in the place of an open file pass its path, Path(…), or the text that is in it"
        if isinstance(each, Iterator):
            return f"in the place of a {type(each).__name__}, which gives its items once, pass list(…) of it"
    return "pass text or plain data: str, list, dict, DataFrame, dataclass, …"


async def hand_over_async(value: object) -> Handed:
    """The same; what may be large is written in a thread, so that the event loop goes on. Of a part of a
    text, the part alone."""
    if isinstance(value, TextPart):
        value = value.text
    return hand_over(value) if _is_small(value) else await asyncio.to_thread(hand_over, value)


def _is_small(value: object, most: int = _LARGE) -> bool:
    """Whether it is handed over sooner than a thread would have it."""
    if type(value) is str or type(value) is bytes:
        return len(value) <= most
    if isinstance(value, list | tuple | dict) and len(value) <= _MANY and most == _LARGE:
        return all(_is_small(item, _APART) for item in (value.values() if isinstance(value, dict) else value))
    return value is None or type(value) in (bool, int, float)


def _write(fd: int, value: object) -> int:
    """The parcel; how many bytes of it are to be mapped."""
    with open(fd, "wb", closefd=False) as file:
        kind = _TextsApart if _has_large_texts(value) else _Pickler
        pickler = kind(file)
        pickler.dump(value)
    pickled = os.lseek(fd, 0, os.SEEK_CUR)
    texts_at = _pad(fd, _PAGE)
    texts = []
    for text in pickler.texts:
        start = _pad(fd, 8)
        texts.append((write_characters(fd, text), start - texts_at, len(text)))
        write_all(fd, bytes(8))  # the end of a C string
    buffers_at = _pad(fd, _PAGE)
    buffers = []
    for buffer in pickler.buffers:
        with buffer.raw() as raw:
            start = _pad(fd, 64)
            write_all(fd, raw)
            buffers.append((start - buffers_at, raw.nbytes))
        buffer.release()
    index_at = _pad(fd, 1)
    index = json.dumps({"texts": texts, "buffers": buffers}).encode()
    write_all(fd, index)
    write_all(fd, _parcel.TAIL.pack(pickled, texts_at, buffers_at, index_at, len(index)))
    return index_at - texts_at if texts or buffers else 0


def _pad(fd: int, width: int) -> int:
    """Goes on to the next multiple of ``width``, and says where that is."""
    here = os.lseek(fd, 0, os.SEEK_CUR)
    write_all(fd, bytes(-here % width))
    return here + -here % width


class _Pickler(pickle.Pickler):
    """Keeps buffers apart, and says how what the sandbox cannot import is made again."""

    def __init__(self, file: io.BufferedWriter | io.BytesIO) -> None:
        super().__init__(file, protocol=5, buffer_callback=self._keep)
        self.buffers: list[pickle.PickleBuffer] = []
        self.texts: list[str] = []
        self._there: dict[type, bool] = {}

    def _keep(self, buffer: pickle.PickleBuffer) -> bool:
        """Whether a buffer stays in the pickle."""
        with memoryview(buffer) as view:
            small = view.nbytes < _APART
        if not small:
            self.buffers.append(buffer)
        return small

    def reducer_override(self, value: object) -> Any:  # typeshed spells out each form
        kind = type(value)
        if (own := getattr(kind, "__handed_over__", None)) is not None:
            return own(value)
        if issubclass(kind, type):
            return NotImplemented if self._is_there(cast(type, value)) else _classes.told(cast(type, value))
        if not self._is_there(kind):
            return _classes.taken_apart(value) or NotImplemented
        if kind.__module__.startswith("polars."):
            return _from_polars(value) or NotImplemented
        if kind.__module__.startswith("pandas."):
            return _in_chunks(value) or NotImplemented
        return NotImplemented

    def _is_there(self, kind: type) -> bool:
        known = self._there.get(kind)
        if known is None:
            known = self._there[kind] = kind.__module__ == _parcel.HOME or _classes.is_there(kind)
        return known


class _Whole(_Pickler):
    """All in one, for a reply over a channel."""

    def _keep(self, buffer: pickle.PickleBuffer) -> bool:
        return True


def pickled(value: object) -> bytes:
    """A value as :func:`unspool.sandbox._parcel.loads` makes it again. Raises what its class raises."""
    file = io.BytesIO()
    _Whole(file).dump(value)
    return file.getvalue()


class _TextsApart(_Pickler):
    """The same, with large texts out of the pickle."""

    def persistent_id(self, value: object) -> int | None:
        if type(value) is str and len(value) >= _APART:
            self.texts.append(value)
            return len(self.texts) - 1
        return None


def _has_large_texts(value: object) -> bool:
    """Whether a collection has large texts, and few other values beside each of them."""
    found = seen = 0
    todo: list[Iterator[object]] = [iter((value,))]
    while todo and seen < _LOOKED:
        item = next(todo[-1], todo)
        if item is todo:
            todo.pop()
            continue
        seen += 1
        if type(item) is str:
            found += len(item) >= _APART
        elif isinstance(item, dict):
            todo.append(iter(item.values()))
        elif isinstance(item, list | tuple):
            todo.append(iter(item))
        elif hasattr(item, "__dict__") and not isinstance(item, type) and len(todo) < 20:
            todo.append(islice(vars(item).values(), 100))
    return found * _FEW_PER_TEXT >= seen


def _in_chunks(value: object) -> tuple[object, ...] | None:
    """A pandas column that lies in Arrow's memory (texts, mostly), chunk by chunk as it is: pandas would make
    one array of them first, which takes longer than all the rest. Not where a chunk is a slice of a larger
    array: Arrow would write that, too."""
    chunks = getattr(getattr(value, "_pa_array", None), "chunks", ())
    if len(chunks) < 2 or not all(map(_is_whole, chunks)):
        return None
    state = dict(vars(value))
    return copyreg.__newobj__, (type(value),), {**state, **({"_cache": {}} if "_cache" in state else {})}  # type: ignore[attr-defined]


def _is_whole(chunk: pyarrow.Array) -> bool:
    """Whether an Arrow array needs about all of the memory that it refers to."""
    there = sum(buffer.size for buffer in chunk.buffers() if buffer is not None)
    return bool(there <= chunk.nbytes * 1.25 + _APART)


def _from_polars(value: object) -> tuple[object, ...] | None:
    """A polars frame or series by the Arrow table that has its columns, where that loses nothing."""
    module, name = sys.modules["polars"], type(value).__name__
    if type(value) not in (module.Series, module.DataFrame):
        return None
    frame = cast("polars.Series", value).to_frame() if name == "Series" else cast("polars.DataFrame", value)
    try:
        table = frame.to_arrow(compat_level=module.CompatLevel.newest())
        same = module.from_arrow(table.slice(0, 0)).schema == frame.schema
    except Exception:  # types that Arrow does not have: polars has a way of its own for them
        return None
    return (_parcel.open_polars, (name, table)) if same else None
