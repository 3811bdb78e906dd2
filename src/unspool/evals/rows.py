"""What the samples of one suite by one strategy at one size come to.

Contract: :func:`rows` is a pure function of the records; what one of them does not know, no sum knows that it
is a part of.

>>> rows([])
[]
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from ..strategies import StrategyName, names
from ..types import known_sum
from .intervals import Mean, gain_of, mean_of, quantile
from .record import Record
from .suites import KNOWN

BASE: StrategyName = "direct"  # what every other strategy has to beat


@dataclass(frozen=True, slots=True)
class Row:
    """One suite by one strategy, with one pair of models, at one size. Amounts are a sample's mean."""

    suite: str
    model: str
    strategy: str
    size: int
    score: Mean
    gain: Mean | None  # over direct, on the samples that both were asked
    right: int
    cost: float | None
    cost_per_right: float | None  # None where it is not known, or nothing is right
    root_tokens: float | None  # read and written
    sub_tokens: float | None
    turns: float
    sub_calls: float
    p50: float  # seconds
    p95: float
    coverage: float | None
    failures: Mapping[str, int]
    chosen: Mapping[str, int]  # what answered, where the strategy chose another; nothing where it did not


def rows(records: Sequence[Record]) -> list[Row]:
    """By suite, model, size and strategy; suites and strategies in their usual order."""
    groups: dict[tuple[str, str, int, str], list[Record]] = {}
    for record in records:
        groups.setdefault((record.suite, record.asked.models, record.size, record.strategy), []).append(
            record
        )

    base = {_sample(record): record.score for record in records if record.strategy == BASE}

    def place(row: Row) -> tuple[int, str, str, int, int, str]:
        suite, strategy = place_of(row.suite, list(KNOWN)), place_of(row.strategy, names())
        return suite, row.suite, row.model, row.size, strategy, row.strategy

    return sorted((_row(group, base) for group in groups.values()), key=place)


def _sample(record: Record) -> tuple[str, str, int, int, str]:
    """What is the same for all strategies."""
    return *record.sample, record.asked.models


def by_seed(scores: Iterable[tuple[int, float]]) -> list[list[float]]:
    groups: dict[int, list[float]] = {}
    for seed, score in scores:
        groups.setdefault(seed, []).append(score)
    return list(groups.values())


def place_of(name: str, known: Sequence[str]) -> int:
    """Its place in an order; what is not known any more comes last."""
    return known.index(name) if name in known else len(known)


def _row(group: Sequence[Record], base: Mapping[tuple[str, str, int, int, str], float]) -> Row:
    gains = [(r.seed, r.score - base[_sample(r)]) for r in group if r.strategy != BASE and _sample(r) in base]
    right = sum(record.score == 1 for record in group)
    paid = _sum(record.cost for record in group)
    seconds = sorted(record.seconds for record in group)
    first, count = group[0], len(group)
    return Row(
        first.suite,
        first.asked.models,
        first.strategy,
        first.size,
        mean_of(by_seed((record.seed, record.score) for record in group)),
        gain_of(by_seed(gains)) if gains else None,
        right,
        None if paid is None else paid / count,
        None if paid is None or not right else paid / right,
        _mean([known_sum(record.root_input, record.root_output) for record in group]),
        _mean([known_sum(record.sub_input, record.sub_output) for record in group]),
        sum(record.turns for record in group) / count,
        sum(record.sub_calls for record in group) / count,
        quantile(seconds, 0.5),
        quantile(seconds, 0.95),
        _mean([record.coverage for record in group]),
        dict(Counter(record.failure for record in group if record.failure).most_common()),
        dict(Counter(r.answered_by for r in group if r.answered_by not in ("", r.strategy)).most_common()),
    )


def _sum(values: Iterable[float | None]) -> float | None:
    total: float | None = 0.0
    for value in values:
        total = known_sum(total, value)
    return total


def _mean(values: Sequence[float | None]) -> float | None:
    total = _sum(values)
    return None if total is None or not values else total / len(values)
