"""Bounded looks at a value of any kind, for who cannot hold it: heads, tails, ranges, lines.

Contract: standard library only, as all of ``reach``. What comes back is a ``str`` of at most the size that
was asked for, below a line that says what it is and how to go on; what cannot be shown so raises
``ValueError`` with what to do instead. A *part* is named by its key or number; ``""`` is the whole.

>>> print(span("one two three", 4, None, 3))
[characters 4 to 7; more follows: start=7]
two
>>> print(lines("a\\nb\\nc\\n", 2, 3, 100))
[lines 2 to 3]
b
c
>>> print(head({"a.txt": "x" * 50, "b": 2}, 40))
[the first 2 of 2 entries]
'a.txt': 'xxxxxxxxx…
'b': 2
"""

from __future__ import annotations

import difflib
import itertools
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import cast

from .lines import shown_line
from .searched import LONG_LINE
from .text import LazyText

_FEW = 20  # items whose starts are shown


def part_of(context: object, part: str | int) -> object:
    """The part of that name."""
    if part == "":
        return context
    if isinstance(context, Mapping):
        for key in (part, int(part) if isinstance(part, str) and part.lstrip("-").isdigit() else part):
            if key in context:
                return cast(object, context[key])
        raise ValueError(_missing(context, str(part)))
    if isinstance(context, list | tuple):
        if str(part).lstrip("-").isdigit() and -len(context) <= int(part) < len(context):
            return cast(object, context[int(part)])
        raise ValueError(f"there is no item {part!r}: there are {len(context):,}, from 0")
    raise ValueError(f"the context is one {_name(context)} without parts: leave part out")


def _missing(context: Mapping[object, object], part: str) -> str:
    known = [str(key) for key in itertools.islice(context, 20_000)]
    near = difflib.get_close_matches(part, known, 3, 0.4) or known[:3]
    return f"there is no part {part!r} among {len(context):,}; for example {', '.join(map(repr, near))}"


def head(value: object, size: int) -> str:
    """How it begins."""
    if isinstance(value, str | LazyText):
        return span(value, 0, None, size)
    return _items(value, size, last=False)


def tail(value: object, size: int) -> str:
    """How it ends."""
    if not isinstance(value, str | LazyText):
        return _items(value, size, last=True)
    shown = str(value[-size:])
    return f"[the last {len(shown):,} characters]\n{shown}"


def span(value: object, start: int, stop: int | None, size: int) -> str:
    """The characters from ``start`` to ``stop``, as many as there is room for."""
    text = _text(value)
    wanted = start + size if stop is None else min(stop, start + size)
    shown = str(text[start:wanted])
    end = start + len(shown)
    if not shown:
        raise ValueError(f"there is nothing from character {start:,} on: the text has {len(text):,}")
    more = (stop is None or end < stop) and bool(text[end : end + 1])
    return f"[characters {start:,} to {end:,}{f'; more follows: start={end}' if more else ''}]\n{shown}"


def lines(value: object, first: int, last: int, size: int) -> str:
    """The lines from ``first`` to ``last``, numbered from 1, as many as there is room for."""
    text = _text(value)
    start = _line_start(text, first)
    if start is None:
        raise ValueError(f"there is no line {first:,}")
    piece = str(text[start : start + size + 1])
    found = piece.split("\n")
    if len(piece) > size or not found[-1]:  # of the last one there is only a part, or nothing
        del found[-1]
    if not found:
        more = f"; line {first:,} is longer than {size:,} characters: read it by start={start} and stop"
        return _told(first, [piece[:size]], more)
    taken = found[: last - first + 1]
    end = start + sum(len(line) + 1 for line in taken)
    cut = len(taken) < last - first + 1 and bool(text[end : end + 1])
    more = f"; more follows: first_line={first + len(taken)}" if cut else ""
    return _told(first, taken, more)


def _line_start(text: str | LazyText, number: int) -> int | None:
    """Where a line begins; ``None`` where there is none of that number."""
    if isinstance(text, LazyText):
        found = text.line_span(number)
        return None if found is None or not text[found[0] : found[0] + 1] else found[0]
    at = 0
    for _ in range(number - 1):
        at = text.find("\n", at) + 1
        if not at:
            return None
    return at if at < len(text) else None


def grep(value: object, pattern: str, limit: int) -> str:
    """The lines with a match as ``number: line``, in several texts with the part's name before."""
    try:
        compiled = re.compile(pattern, re.MULTILINE)
    except re.error as error:
        raise ValueError(f"{pattern!r} is no regular expression: {error}") from None
    found = list(itertools.islice(_hits(value, compiled), limit + 1))
    more = f"\n[more than {limit} lines match: raise limit, or narrow the pattern]" if found[limit:] else ""
    return "\n".join(found[:limit]) + more if found else "[no line matches]"


def _hits(value: object, pattern: re.Pattern[str]) -> Iterator[str]:
    known = getattr(type(value), "__unspool_hits__", None)
    if known is not None:
        yield from known(value, pattern)
    elif isinstance(value, str):
        yield from _lines_with(value, pattern)
    elif isinstance(value, Mapping | list | tuple):
        for key, part in value.items() if isinstance(value, Mapping) else enumerate(value):
            yield from (f"{key}:{hit}" for hit in _hits(part if _is_searched(part) else str(part), pattern))
    else:
        yield from _lines_with(str(_text(value)), pattern)


def _is_searched(part: object) -> bool:
    return isinstance(part, str) or hasattr(type(part), "__unspool_hits__")


def _lines_with(text: str, pattern: re.Pattern[str]) -> Iterator[str]:
    number, counted, after = 1, 0, -1
    for match in pattern.finditer(text):
        at, end = match.span()
        if at < after or at == end:
            continue
        number += text.count("\n", counted, at)
        counted = at
        line, _, after = shown_line(lambda start, stop: text[start:stop], at, end, LONG_LINE)
        yield f"{number}: {line}"


def _told(first: int, taken: Sequence[str], more: str) -> str:
    last = first + len(taken) - 1
    where = f"line {first:,}" if first == last else f"lines {first:,} to {last:,}"
    return f"[{where}{more}]\n" + "\n".join(line.removesuffix("\r") for line in taken)


def _items(value: object, size: int, *, last: bool) -> str:
    """The first or last items of what is no text, each cut."""
    if hasattr(value, "tree") and hasattr(value, "texts"):  # Files
        return _cut(f"[its files]\n{value.tree(3)}", size)
    if isinstance(value, bytes):
        shown = value[-size // 4 :] if last else value[: size // 4]
        return _cut(f"[{len(shown):,} of {len(value):,} bytes]\n{shown!r}", size)
    if hasattr(value, "head") and hasattr(value, "tail") and hasattr(value, "columns"):
        rows = value.tail(_FEW) if last else value.head(_FEW)
        return _cut(f"[rows of {_name(value)}, columns: {', '.join(map(str, value.columns))}]\n{rows}", size)
    if isinstance(value, Mapping | list | tuple):
        count = len(value)
        keys: Sequence[object] = list(value) if isinstance(value, Mapping) else range(count)
        chosen = keys[-_FEW:] if last else keys[:_FEW]
        each = max(20, size // max(1, len(chosen)) - 2)
        rows_of = [_cut(f"{key!r}: {_start(value[key], each)}", each) for key in chosen]  # type: ignore[call-overload]
        noun = "entries" if isinstance(value, Mapping) else "items"
        told = f"[the {'last' if last else 'first'} {len(chosen):,} of {count:,} {noun}]"
        return _cut("\n".join([told, *rows_of]), size + len(told) + len(chosen))
    return _cut(f"[{_name(value)}]\n{value!r}", size)


def _start(value: object, size: int) -> str:
    if isinstance(value, str):
        return repr(value[: size + 1])
    if isinstance(value, list | tuple):
        return repr(list(value[: size // 2 + 1]))
    return repr(value)


def _cut(text: str, size: int) -> str:
    return text if len(text) <= size else text[: size - 1] + "…"


def _text(value: object) -> str | LazyText:
    if not isinstance(value, str | LazyText):
        raise ValueError(f"this is {_name(value)}, not text: name a part of it, or use run_code")
    return value


def _name(value: object) -> str:
    return type(value).__name__
