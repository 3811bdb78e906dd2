"""Numbers in the fields of records and in lines: those of a range, sums by another field, the highest.

``numbers``, ``within``, ``above``, ``sums``, ``highest`` and others are for a weak model's code. The source
runs in the REPL, after that of :mod:`unspool.prompts.small_tools`; so it is standard library only.

>>> columns[:] = ["shop", "total"]
>>> rows = [Row.of(columns, fields) for fields in (["b", "1.5"], ["a", "20"], ["b", "3"], ["a", "none"])]
>>> numbers(rows, "total"), sums(rows, "shop", "total")
([1.5, 20.0, 3.0], [('a', 20.0), ('b', 4.5)])
>>> highest(rows, "total"), lowest(rows, "total")
('shop=a, total=20', 'shop=b, total=1.5')
>>> highest(["a took 3.5s", "b took 12s", "c"], "took {}s")
'b took 12s'
>>> some = ["a took 3.5s", "b took 12s", "c"]
>>> below("took {}s", 12, among=some), at_most("took {}s", 12, among=some)
(['a took 3.5s'], ['a took 3.5s', 'b took 12s'])
>>> columns.clear()
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Sequence

from .small_look import columns
from .small_records import Row
from .small_tools import _at_hole, _number, field, lines


def numbered(hits: Iterable[str], name: int | str) -> list[tuple[str, float]]:
    """The rows with a number in this field, or the lines with one at {} in this pattern, with it."""
    rows = list(hits)
    if isinstance(name, str) and "{}" in name:
        found = _at_hole(rows, name)
    elif isinstance(name, str) and rows and not isinstance(rows[0], Row):  # the hole was forgotten
        found = max((_at_hole(rows, form) for form in (f"{name} {{}}", f"{{}} {name}")), key=_count)
    else:
        found = [(row, text) for row in rows if isinstance(row, Row) for text in field([row], name)]
    told = [(row, number) for row, text in found if (number := _number(text)) is not None]
    if found and not told:
        print(f"{name!r} holds no numbers. sums(lines, {name!r}, 'a field of numbers') adds those up by it.")  # noqa: T201
    return told


def _count(found: Sequence[tuple[str, str]]) -> int:
    return sum(_number(text) is not None for _, text in found)


def numbers(hits: Iterable[str], name: int | str) -> list[float]:
    """The numbers in this field of these rows, or at {} in these lines; those without one are left out."""
    return [number for _, number in numbered(hits, name)]


def within(name: int | str, low: float, high: float, among: Iterable[str] | None = None) -> list[str]:
    """The lines with a number from ``low`` to ``high`` at {} in the pattern, or in the field of rows."""
    pool = lines if among is None else among
    return [line for line, number in numbered(pool, name) if low <= number <= high]


def at_least(name: int | str, low: float, among: Iterable[str] | None = None) -> list[str]:
    return within(name, low, math.inf, among)


def at_most(name: int | str, high: float, among: Iterable[str] | None = None) -> list[str]:
    return within(name, -math.inf, high, among)


def above(name: int | str, low: float, among: Iterable[str] | None = None) -> list[str]:
    return within(name, math.nextafter(low, math.inf), math.inf, among)


def below(name: int | str, high: float, among: Iterable[str] | None = None) -> list[str]:
    return within(name, -math.inf, math.nextafter(high, -math.inf), among)


def sums(hits: Iterable[str], by: int | str, name: int | str) -> list[tuple[str, float]]:
    """The sum of the numbers of a field for each value of another one, the greatest first."""
    totals: Counter[str] = Counter()
    for row, number in numbered(hits, name):
        for value in field([row], by):
            totals[value] += number  # type: ignore[assignment]
    return [(value, round(total, 6)) for value, total in totals.most_common()]


def highest(hits: Iterable[str], name: int | str) -> str:
    """The first row with the highest number in this field."""
    return max(_some(hits, name), key=lambda found: found[1])[0]


def lowest(hits: Iterable[str], name: int | str) -> str:
    """The first row with the lowest number in this field."""
    return min(_some(hits, name), key=lambda found: found[1])[0]


def _some(hits: Iterable[str], name: int | str) -> Sequence[tuple[str, float]]:
    found = numbered(hits, name)
    if not found:
        where = f"; the fields are {', '.join(columns)}" if columns else ""
        raise ValueError(f"no line has a number at {name!r}{where}")
    return found
