"""How sure a mean is: 95% intervals, by resampling.

Contract: pure, seeded, standard library alone. Scores come in groups (a seed, which is one context, with its
tasks); a resample draws groups, and then scores within each, so that tasks over one context do not count as
if they were independent. Where all scores are equal, resampling would say that nothing is uncertain: then
the ends are those of so many equal yes-or-no ones: for 1, the share of right ones with which that would still
come once in 40 times.

>>> mean_of([[1.0, 0.0], [1.0, 1.0], [0.0, 1.0]]).words
'0.67 [0.17–1.00]'
>>> mean_of([[1.0, 1.0, 1.0, 1.0, 1.0]]).words
'1.00 [0.48–1.00]'
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass

RESAMPLES = 2_000
TAIL = 0.025  # on each side
_SEED = 20251224


@dataclass(frozen=True, slots=True)
class Mean:
    """A mean and the ends of its interval."""

    value: float
    low: float
    high: float
    count: int

    @property
    def words(self) -> str:
        return f"{self.value:.2f} [{self.low:.2f}–{self.high:.2f}]"

    @property
    def signed(self) -> str:
        """Of a gain.

        >>> Mean(0.25, -0.1, 0.5, 9).signed
        '+0.25 [-0.10 to +0.50]'
        """
        return f"{self.value:+.2f} [{self.low:+.2f} to {self.high:+.2f}]"


def mean_of(groups: Sequence[Sequence[float]]) -> Mean:
    """The mean of all scores, every one with the same weight."""
    groups = [group for group in groups if group]
    scores = [score for group in groups for score in group]
    if not scores:
        raise ValueError("no scores")
    value = sum(scores) / len(scores)
    if len(set(scores)) == 1:
        end = TAIL ** (1 / len(scores))
        return Mean(scores[0], scores[0] * end, 1 - (1 - scores[0]) * end, len(scores))
    chance = random.Random(_SEED)
    means = sorted(_resampled(groups, chance) for _ in range(RESAMPLES))
    return Mean(value, quantile(means, TAIL), quantile(means, 1 - TAIL), len(scores))


def gain_of(groups: Sequence[Sequence[float]]) -> Mean:
    """The mean of differences between two scores, from -1 to 1.

    >>> gain_of([[0.5, 0.0], [1.0, 0.5]]).value
    0.5
    """
    mean = mean_of([[(gain + 1) / 2 for gain in group] for group in groups])
    return Mean(2 * mean.value - 1, 2 * mean.low - 1, 2 * mean.high - 1, mean.count)


def _resampled(groups: Sequence[Sequence[float]], chance: random.Random) -> float:
    drawn = [
        score
        for group in chance.choices(groups, k=len(groups))
        for score in chance.choices(group, k=len(group))
    ]
    return sum(drawn) / len(drawn)


def quantile(ranked: Sequence[float], share: float) -> float:
    """Of values in order, between the two that lie nearest.

    >>> quantile([1.0, 2.0, 3.0, 4.0], 0.5), quantile([5.0], 0.95)
    (2.5, 5.0)
    """
    at = share * (len(ranked) - 1)
    low = int(at)
    high = min(low + 1, len(ranked) - 1)
    return ranked[low] + (ranked[high] - ranked[low]) * (at - low)
