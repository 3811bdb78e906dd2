"""What a measurement says: a row for each suite, strategy and size.

Contract: :func:`rows` and :func:`markdown` are pure functions of the records; what is not known stays unknown
in every sum that it is a part of.

>>> rows([])
[]
"""

from __future__ import annotations

import shlex
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

from ..strategies import names
from .intervals import Mean, mean_of, quantile
from .kept import Setting
from .record import Record
from .sample import size_words
from .suites import SUITES

UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class Row:
    """One suite by one strategy, with one pair of models, at one size. Amounts are a sample's mean."""

    suite: str
    model: str
    strategy: str
    size: int
    score: Mean
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


def rows(records: Iterable[Record]) -> list[Row]:
    """By suite, model, size and strategy; suites and strategies in their usual order."""
    groups: dict[tuple[str, str, int, str], list[Record]] = {}
    for record in records:
        groups.setdefault((record.suite, record.asked.models, record.size, record.strategy), []).append(
            record
        )

    def place(row: Row) -> tuple[int, str, str, int, int, str]:
        suite, strategy = _place(row.suite, list(SUITES)), _place(row.strategy, names())
        return suite, row.suite, row.model, row.size, strategy, row.strategy

    return sorted(map(_row, groups.values()), key=place)


def _place(name: str, known: Sequence[str]) -> int:
    """What is not known any more comes last."""
    return known.index(name) if name in known else len(known)


def _row(group: Sequence[Record]) -> Row:
    by_seed: dict[int, list[float]] = {}
    for record in group:
        by_seed.setdefault(record.seed, []).append(record.score)
    right = sum(record.score == 1 for record in group)
    paid = _sum(record.cost for record in group)
    seconds = sorted(record.seconds for record in group)
    first, count = group[0], len(group)
    return Row(
        first.suite,
        first.asked.models,
        first.strategy,
        first.size,
        mean_of(list(by_seed.values())),
        right,
        None if paid is None else paid / count,
        None if paid is None or not right else paid / right,
        _mean([_both(record.root_input, record.root_output) for record in group]),
        _mean([_both(record.sub_input, record.sub_output) for record in group]),
        sum(record.turns for record in group) / count,
        sum(record.sub_calls for record in group) / count,
        quantile(seconds, 0.5),
        quantile(seconds, 0.95),
        _mean([record.coverage for record in group]),
        dict(Counter(record.failure for record in group if record.failure).most_common()),
    )


def _sum(values: Iterable[float | None]) -> float | None:
    total = 0.0
    for value in values:
        if value is None:
            return None
        total += value
    return total


def _mean(values: Sequence[float | None]) -> float | None:
    total = _sum(values)
    return None if total is None or not values else total / len(values)


def _both(a: int | None, b: int | None) -> int | None:
    return None if a is None or b is None else a + b


# As a page


def markdown(
    records: Sequence[Record],
    settings: Mapping[str, Setting],
    commands: Sequence[str],
    plots: Mapping[str, str],
) -> str:
    """The page. ``plots``: the path of the picture of each suite."""
    found = rows(records)
    models = sorted({record.asked.models for record in records})
    parts = [
        "# Measured with unspool eval",
        f"{'Models' if len(models) > 1 else 'Model'}: {', '.join(models)}. {len(records):,} samples. "
        "Score: the mean over tasks and seeds, from 0 to 1, with its 95% interval. Tokens, turns, "
        "sub-calls and cost "
        "are a question's mean; right answers are those with a score of 1.",
        "Set: " + ", ".join(f"{name} {value}" for name, value in settings.items() if value is not None) + ".",
        "The same again:\n\n```\n" + "\n".join(commands) + "\n```",
    ]
    for suite in dict.fromkeys(row.suite for row in found):
        words = SUITES[suite].words if suite in SUITES else ""
        parts.append(f"## {suite}\n\n{words[:1].upper()}{words[1:]}.")
        if suite in plots:
            parts.append(f"![Score of {suite} over size]({plots[suite]})")
        mine = [row for row in found if row.suite == suite]
        parts.append(_table(mine, many=len(models) > 1))
        parts += [told] if (told := _failures(mine, many=len(models) > 1)) else []
    return "\n\n".join(parts) + "\n"


def _table(found: Sequence[Row], *, many: bool) -> str:
    columns: list[tuple[str, Callable[[Row], str]]] = [
        ("size", lambda row: size_words(row.size)),
        ("strategy", lambda row: row.strategy),
        ("score", lambda row: row.score.words),
        ("right", lambda row: f"{row.right} of {row.score.count}"),
        ("$ a question", lambda row: money(row.cost)),
        ("$ a right answer", lambda row: money(row.cost_per_right) if row.right else "–"),
        ("tokens root", lambda row: _count(row.root_tokens)),
        ("tokens sub", lambda row: _count(row.sub_tokens)),
        ("turns", lambda row: f"{row.turns:.1f}"),
        ("sub-calls", lambda row: f"{row.sub_calls:,.1f}"),
        ("p50 s", lambda row: f"{row.p50:.1f}"),
        ("p95 s", lambda row: f"{row.p95:.1f}"),
        ("read", lambda row: UNKNOWN if row.coverage is None else f"{row.coverage:.0%}"),
    ]
    if many:
        columns.insert(1, ("model", lambda row: row.model))
    head = "| " + " | ".join(name for name, _ in columns) + " |"
    line = "|" + "---|" * len(columns)
    body = ["| " + " | ".join(_cell(of(row)) for _, of in columns) + " |" for row in found]
    return "\n".join([head, line, *body])


def _failures(found: Sequence[Row], *, many: bool) -> str:
    lines = [
        f"- {size_words(row.size)} {row.strategy}{f' {row.model}' if many else ''}: "
        + "; ".join(f"{count} × {_cell(kind)}" for kind, count in row.failures.items())
        for row in found
        if row.failures
    ]
    return "What was not right:\n\n" + "\n".join(lines) if lines else ""


def _cell(text: str) -> str:
    return " ".join(text.replace("|", "\\|").split())


def money(cost: float | None) -> str:
    """
    >>> money(None), money(0.0), money(0.00312), money(1.5)
    ('unknown', '0', '0.0031', '1.50')
    """
    if cost is None:
        return UNKNOWN
    return "0" if cost == 0 else f"{cost:.2f}" if cost >= 1 else f"{cost:.4f}"


def _count(number: float | None) -> str:
    return UNKNOWN if number is None else f"{number:,.0f}"


def spelled(words: Sequence[str]) -> str:
    """A command as it can be typed again.

    >>> spelled(["unspool", "eval", "needle", "--out", "my folder"])
    "unspool eval needle --out 'my folder'"
    """
    return " ".join(shlex.quote(word) for word in words)
