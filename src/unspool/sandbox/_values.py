"""Values that go into a REPL and come out of it: plain data as JSON, long parts in segments behind it.

Contract: :class:`Encoder` takes data, and what known libraries have for it, and raises ``TypeError`` with
what to do for all else. What it made is read by :class:`unspool.sandbox._frames.Decoder`. Standard library
only; importable as a sibling module too.

>>> encoder = Encoder()
>>> encoder.value([("a", 1.5, None), {"b": 2}])
[{'t': ['a', 1.5, None]}, {'d': ['b', 2]}]
"""

from __future__ import annotations

import dataclasses
import datetime
import decimal
import enum
import math
import sys
from collections import deque
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, NoReturn, Protocol, cast

if TYPE_CHECKING or __package__:
    from ._reach import reach
else:
    from _reach import reach

MAX_DEPTH = 64  # containers inside one another
MAX_ITEMS = 2_000_000  # elements of all containers of a frame
MAX_BODY = 256 << 20
INLINE = 256  # longer strings travel as segments
INT_BITS = 14_000  # Python refuses to print ints much larger than this
_CONTAINERS = (list, tuple, set, frozenset, dict)


class ContextLost(Exception):
    """The context cannot be made here; the message says why and what to do."""


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


def open_image(data: bytes) -> object:
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


class Named(dict[str, object]):
    """Several contexts: each is bound under its own name, too."""
