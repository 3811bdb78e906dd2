"""Stretches that are taken: as looking at each of them says."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from unspool.reach.taken import Taken

STRETCHES = st.tuples(st.integers(0, 40), st.integers(0, 12)).map(lambda each: (each[0], each[0] + each[1]))


@given(st.lists(STRETCHES, max_size=12), STRETCHES)
def test_a_stretch_is_met_where_one_by_one_says_so(
    taken: list[tuple[int, int]], asked: tuple[int, int]
) -> None:
    at, end = asked
    assert Taken(taken).meets(at, end) == any(low < end and at < high for low, high in taken)
