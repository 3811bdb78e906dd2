"""Events as lines of JSON and back.

Contract: :func:`encode` gives one line of UTF-8 without its newline; :func:`decode` gives the event, equal
to the one that went in. A field that is empty (None, 0, "", ()) is left out. A text of :data:`LARGE`
characters or more stands in the line as the hash under which ``keep`` put it away. Values of any plain type
come back as they were; one that is no plain data comes back as the nearest plain thing: see
:func:`is_exact`. Fields and kinds that this version does not know are passed over.

>>> from unspool.events import TurnStarted
>>> line = encode(TurnStarted(seq=3, time=5.0, node="0", turn=1), keep=lambda text: "")
>>> line
b'{"kind":"turn.started","seq":3,"time":5.0,"node":"0","turn":1}'
>>> decode(line, fetch=lambda key: b"")
TurnStarted(seq=3, time=5.0, node='0', turn=1)
"""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import fields
from functools import cache, lru_cache
from types import UnionType
from typing import TYPE_CHECKING, Literal, Union, cast, get_args, get_origin, get_type_hints

from .events import EVENTS, Event
from .images import Image
from .types import CellError, FailedCall, LedgerLine, Usage
from .written_out import LARGE, Field, written_out

if TYPE_CHECKING:
    from .sandbox._values import Encoder

_RECORDS: tuple[type[Usage | CellError | FailedCall | LedgerLine], ...] = (
    Usage,
    CellError,
    FailedCall,
    LedgerLine,
)
_REFERENCE = "$"  # no field of a record is called so
_IMAGE = "image"

Keep = Callable[[str | bytes], str]
"""Puts a text, or the bytes of an image, away; returns its hash."""
Fetch = Callable[[str], bytes]
"""What a hash stands for. Raises :class:`JournalError` where it is not there."""

_to_json = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"), check_circular=False).encode
_KINDS: Mapping[str, type[Event]] = {kind.kind: kind for kind in EVENTS}
_CLASSES: Mapping[str, type] = {kind.__name__: kind for kind in (*EVENTS, *_RECORDS)}


def encode(event: Event, keep: Keep) -> bytes:
    """The line of an event."""
    return (_writer(event.kind)(event, keep) + "}").encode("utf-8", "surrogatepass")


def decode(line: bytes, fetch: Fetch) -> Event | None:
    """The event of a line, ``None`` for a kind that is not known. Raises ``ValueError`` for other lines."""
    try:
        found = json.loads(line.decode("utf-8", "surrogatepass"))
    except RecursionError:
        raise ValueError("it is nested too deeply") from None
    if not isinstance(found, dict):
        raise ValueError("a line of a journal is a JSON object")
    kind = _KINDS.get(str(found.get("kind")))
    if kind is None:
        return None
    return cast(Event, _record(kind, found, fetch))


def is_exact(value: object) -> bool:
    """Whether :func:`decode` gives back an equal value."""
    try:
        _encoder(plain=True).value(value)
    except TypeError:
        return False
    return True


@lru_cache(maxsize=4096)
def _usage(usage: Usage) -> str:
    """The same few figures come thousands of times."""
    return _to_json(_plain(usage, keep=str))


@cache
def _fields(name: str) -> tuple[Field, ...]:
    """An event's fields. Where one may be unknown, what is left out is that, and a 0 or an empty text has to
    be told."""
    kind = _CLASSES[name]
    hints = get_type_hints(kind)
    return tuple(Field(f.name, f',"{f.name}":', *_kind(hints[f.name])) for f in fields(kind))


def _kind(hint: object) -> tuple[object, bool]:
    """Of what is in a field, and whether it may be unknown."""
    inner = get_args(hint)
    if type(None) in inner:
        (hint,) = (part for part in inner if part is not type(None))
    return (str if get_origin(hint) is Literal else hint), type(None) in inner


@cache
def _writer(kind: str) -> Callable[[Event, Keep], str]:
    """Of the lines of such events, without their ends."""
    return written_out(f'{{"kind":"{kind}"', _fields(_KINDS[kind].__name__), _field)


def _field(prefix: str, value: object, field: Field, keep: Keep) -> str:
    """A field that is not simply told as it stands."""
    if field.kind is object:
        return prefix + _to_json(_encode_value(value, keep))
    if type(value) is Usage:
        return prefix + _usage(value)
    if not field.maybe and _is_left_out(value):
        return ""
    return prefix + ("[]" if value == () else _to_json(_plain(value, keep)))


def _is_left_out(value: object) -> bool:
    """0 of an int and nothing: their types say so again. 0.0 may be a cost, which is not None."""
    return value is None or (type(value) is int and value == 0) or value == ()


def _plain(value: object, keep: Keep) -> object:
    """A field of a known type: a number, a mapping of settings, a record or a tuple of them."""
    if type(value) is int:
        return value
    if isinstance(value, str):
        return value if len(value) < LARGE else {_REFERENCE: keep(value)}
    if isinstance(value, tuple):
        return [_plain(item, keep) for item in value]
    if isinstance(value, _RECORDS):
        told = ((f.name, getattr(value, f.name), f.maybe) for f in _fields(type(value).__name__))
        return {
            name: _plain(item, keep)
            for name, item, maybe in told
            if (item is not None if maybe else not _is_left_out(item))
        }
    return value


# Reading: what a field's type says decides

_WORD = re.compile(r"[a-zA-Z0-9_-]{0,40}")
_HIGHEST = 1 << 63  # what an index can hold


@cache
def _readers(name: str) -> tuple[Mapping[str, Callable[[object, Fetch], object]], Mapping[str, object]]:
    """By field: how it is read, and what it is where it is left out."""
    kind = _CLASSES[name]
    hints = get_type_hints(kind)
    told = {f.name: _reader(hints[f.name]) for f in fields(kind)}
    return {f: read for f, (read, _) in told.items()}, {f: empty for f, (_, empty) in told.items()}


def _reader(hint: object) -> tuple[Callable[[object, Fetch], object], object]:
    if hint is object:
        return _decode_value, None
    origin, inner = get_origin(hint), get_args(hint)
    if origin in (Union, UnionType):
        ((read, _),) = (_reader(part) for part in inner if part is not type(None))
        return lambda value, fetch: None if value is None else read(value, fetch), None
    if origin is tuple:
        read_item, _ = _reader(inner[0])
        return lambda value, fetch: tuple(read_item(i, fetch) for i in _list(value, inner)), ()
    if isinstance(hint, type) and hint in _RECORDS:
        return lambda value, fetch: _record(hint, _mapping(value, fetch), fetch), (
            Usage() if hint is Usage else None
        )
    if hint is str:
        return _text, ""
    if origin is Literal:
        return _word, ""
    return _PLAIN.get(hint, (_mapping, {}))


def _list(value: object, inner: Sequence[object]) -> list[object]:
    """Of as many items as the type has."""
    if not isinstance(value, list) or (inner[-1] is not Ellipsis and len(value) != len(inner)):
        raise ValueError(f"{_short(value)} is no list of that size")
    return value


def _int(value: object, fetch: Fetch) -> object:
    if type(value) is not int or not -_HIGHEST <= value < _HIGHEST:
        raise ValueError(f"{_short(value)} is no whole number")
    return value


def _float(value: object, fetch: Fetch) -> object:
    if not (type(value) in (float, int) and -_HIGHEST <= cast("float", value) < _HIGHEST):
        raise ValueError(f"{_short(value)} is no number")
    return value


def _bool(value: object, fetch: Fetch) -> object:
    if type(value) is not bool:
        raise ValueError(f"{_short(value)} is neither true nor false")
    return value


_PLAIN: Mapping[object, tuple[Callable[[object, Fetch], object], object]] = {
    int: (_int, 0),
    float: (_float, 0.0),
    bool: (_bool, False),
}


def _mapping(value: object, fetch: Fetch) -> dict[str, object]:
    """A record, the settings or the scores."""
    if not isinstance(value, dict):
        raise ValueError(f"{_short(value)} is no object")
    return value


def _text(value: object, fetch: Fetch) -> str:
    if isinstance(value, dict):
        return fetch(str(value[_REFERENCE])).decode("utf-8", "surrogatepass")
    if not isinstance(value, str):
        raise ValueError(f"{_short(value)} is no text")
    return value


def _word(value: object, fetch: Fetch) -> str:
    """Of a closed set, to which another version may have added some."""
    if not isinstance(value, str) or _WORD.fullmatch(value) is None:
        raise ValueError(f"{_short(value)} is no word")
    return value


def _short(value: object) -> str:
    return ascii(value)[:60]


def _record(kind: type[object], found: Mapping[str, object], fetch: Fetch) -> object:
    readers, empty = _readers(kind.__name__)
    given = {**empty}
    for name, value in found.items():
        if (read := readers.get(name)) is not None:
            given[name] = read(value, fetch)
    return kind(**given)


# Values of any type: the codec of the REPL's frames, its segments in the line or put away


def _encoder(*, plain: bool) -> Encoder:
    from .sandbox import _values

    return _values.Encoder((FailedCall, _values.FailedCall), plain=plain)


def _encode_value(value: object, keep: Keep) -> object:
    encoder, exact = _encoder(plain=True), True
    try:
        node = encoder.value(value)
    except TypeError:
        if (tables := _encode_tables(value, keep)) is not None:
            return tables
        encoder, exact = _encoder(plain=False), False
        try:
            node = encoder.value(value)
        except TypeError:  # no data at all: how it shows itself
            encoder = _encoder(plain=True)
            node = encoder.value(_shown(value))
    return _with_segments(node, encoder, keep, {} if exact else {"inexact": True})


def _encode_tables(value: object, keep: Keep) -> object | None:
    """A value with DataFrames in it, these as they are; ``None`` where there are none, or other things."""
    from .reach import dataframes

    told = dataframes.told(value)
    encoder = _encoder(plain=True)
    try:
        return _with_segments(encoder.value(told), encoder, keep, {"tables": True})
    except TypeError:
        return None


def _with_segments(node: object, encoder: Encoder, keep: Keep, more: Mapping[str, object]) -> object:
    told: dict[str, object] = {"v": node}
    if encoder.segments:
        told["s"] = [
            _encode_image(segment, keep) if place in encoder.images else _encode_segment(segment, keep)
            for place, segment in enumerate(encoder.segments)
        ]
    return {**told, **more}


def _shown(value: object) -> str:
    try:
        return repr(value)
    except BaseException as error:  # the class is anybody's
        return f"<{type(value).__name__}, whose repr raises {type(error).__name__}>"


def _encode_image(data: bytes, keep: Keep) -> object:
    """An image by its hash, with what it is: its bytes never stand in a line."""
    image = Image.of(data)
    return {_IMAGE: keep(data), "is": f"{image.format} {image.width}x{image.height}"}


def _read_image(data: bytes) -> object:
    try:
        return Image.of(data)
    except ValueError:  # it was not fetched
        return "(an image)"


def _encode_segment(segment: bytes, keep: Keep) -> object:
    try:
        text = segment.decode("utf-8", "surrogatepass")
    except UnicodeDecodeError:
        coded = base64.b64encode(segment).decode()
        return {"b": coded if len(coded) < LARGE else {_REFERENCE: keep(coded)}}
    return text if len(text) < LARGE else {_REFERENCE: keep(text)}


def _decode_value(told: object, fetch: Fetch) -> object:
    from .sandbox import _frames

    if not isinstance(told, dict) or "v" not in told:
        raise ValueError("a value is malformed")
    segments = [memoryview(_decode_segment(s, fetch)) for s in told.get("s", ())]
    try:
        value = _frames.Decoder(segments, _failed, _read_image).value(told["v"])
    except _frames.ProtocolError as error:
        raise ValueError(str(error)) from None
    return _read_tables(value) if told.get("tables") else value


def _read_tables(value: object) -> object:
    """Its DataFrames; as they were told where their library is not here."""
    from .reach import dataframes

    try:
        return dataframes.read_all(value)
    except ValueError:
        return value


def _decode_segment(told: object, fetch: Fetch) -> bytes:
    if isinstance(told, dict) and _IMAGE in told:
        return fetch(str(told[_IMAGE]))
    if isinstance(told, dict) and "b" in told:
        return base64.b64decode(str(_text(told["b"], fetch)))
    return str(_text(told, fetch)).encode("utf-8", "surrogatepass")


def _failed(kind: str, message: str) -> FailedCall:
    from .sandbox._cell import hosts_failed

    return hosts_failed(kind, message)
