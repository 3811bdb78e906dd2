"""Which places of a text are taken: many stretches, asked for many others.

Contract: :meth:`Taken.meets` says whether a stretch has a place in common with one of those that are taken,
as fast with many of them as with few. They may lie in one another.

>>> taken = Taken([(4, 9), (0, 2)])
>>> taken.meets(2, 4), taken.meets(1, 4), taken.meets(8, 30)
(False, True, True)
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable
from itertools import accumulate


class Taken:
    """See the module docstring."""

    def __init__(self, stretches: Iterable[tuple[int, int]]) -> None:
        ordered = sorted(stretches)
        self._lows = [low for low, _ in ordered]
        self._highs = list(accumulate((high for _, high in ordered), max))  # the furthest so far

    def meets(self, low: int, high: int) -> bool:
        before = bisect_left(self._lows, high)
        return before > 0 and self._highs[before - 1] > low
