"""Lines whose labels are to be judged, all of them, between the labels that the question gives.

Contract: :func:`shared_out` says so to the model, beside ``meanings``, the labels with what they mean. Labels
are made by ``classify``, one sub-call a line, so of more than ``MOST_JUDGED`` lines :func:`sample` takes
some. The source runs in the REPL (see :mod:`unspool.prompts.small_tools`), so it is standard library only, in
one file.

>>> len(sample(["a"] * 500))
500
>>> some = sample(list(range(1_000)))
sample: 200 of 1,000, spread evenly
>>> len(some), some[:3]
(200, [0, 5, 10])
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TypeVar

MOST_JUDGED = 500  # lines: each takes a model of a few billion parameters about half a second on two cores
SAMPLED = 200  # of more: a share of them is known to 3.5 points (one standard error), and of 500 to 2.2
MEANINGS = "meanings = "  # before the labels, in what a look prints
meanings: dict[str, str] = {}  # set by ``look``
_T = TypeVar("_T")


def sample(hits: Sequence[_T]) -> list[_T]:
    """All of these lines, or of many ``SAMPLED`` that are spread evenly."""
    if len(hits) <= MOST_JUDGED:
        return list(hits)
    print(f"sample: {SAMPLED} of {len(hits):,}, spread evenly")  # noqa: T201
    return [hits[n * len(hits) // SAMPLED] for n in range(SAMPLED)]


def shared_out(count: int, labels: Mapping[str, str]) -> str:
    """What the look says of so many lines."""
    told = f"{count:,} lines, each with one label that is not written there: classify judges it."
    return f"{told}\n{MEANINGS}{dict(labels)}"
