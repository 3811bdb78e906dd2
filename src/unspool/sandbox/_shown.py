"""Values as a model sees them: a text of at most so many characters, made without building much more.

Contract: nothing here raises but what a ``__repr__`` of the model's own raises. Standard library only;
importable as a sibling module too.

>>> short(list(range(1_000)), 20)
'[0, 1, 2, 3, 4, 5, 6, … 993 more …]'
>>> cut("x" * 100, 12)
'xxxxxxxx … 89 characters left out … xxx'
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable
from typing import TYPE_CHECKING, cast

if TYPE_CHECKING or __package__:
    from ._values import INT_BITS
else:
    from _values import INT_BITS


class Listing(str):
    """A text that is shown as it is, without quotes."""

    __slots__ = ()

    def __repr__(self) -> str:
        return str.__str__(self)


def size_of(value: object) -> str:
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


def line_window(text: str, start: int, end: int, window: int) -> tuple[int, int]:
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
