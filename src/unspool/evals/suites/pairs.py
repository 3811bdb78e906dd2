"""OOLONG-Pairs-style: all pairs of users whose entries, judged one by one, satisfy a condition. Scored by F1.

>>> [sample.task for sample in PAIRS.make(2_000, seed=1)]
['both', 'differ', 'equal']
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import combinations, permutations

from ..data import Data
from ..sample import Sample
from .entries import QUESTIONS, Entries, draw
from .suite import Suite

USERS = (8, 24)  # at most 276 pairs: the answer stays a list that a model could write

Of = Callable[[int, str], int]
"""(user, label) -> how many of the user's entries have it."""

COUNTS = """from collections import Counter
from itertools import combinations
counts = Counter((int(row[1]), label) for row, label in zip(rows, labelled(rows)))
users = sorted({int(row[1]) for row in rows})
of = lambda user, label: counts[user, label]
"""


def pairs(room: int, chance: random.Random, data: Data) -> list[Sample]:
    """Three conditions over one context."""
    entries = draw(QUESTIONS, room, chance, data, USERS)
    two = list(permutations(sorted(entries.kind.meanings), 2))
    return [_sample(make, entries, chance.sample(two, len(two))) for make in (_both, _differ, _equal)]


@dataclass(frozen=True, slots=True)
class Condition:
    """On two users: in words, as a function, and as code."""

    task: str
    words: str
    holds: Callable[[Of, int, int], bool]
    code: str


def _both(a: str, b: str) -> Condition:
    return Condition(
        "both",
        f"both users have more entries with the label {a} than with the label {b}",
        lambda of, x, y: of(x, a) > of(x, b) and of(y, a) > of(y, b),
        f"of(x, {a!r}) > of(x, {b!r}) and of(y, {a!r}) > of(y, {b!r})",
    )


def _differ(a: str, b: str) -> Condition:
    return Condition(
        "differ",
        f"one of the two users has more entries with the label {a} than the other, and fewer with the "
        f"label {b}",
        lambda of, x, y: (of(x, a) - of(y, a)) * (of(x, b) - of(y, b)) < 0,
        f"(of(x, {a!r}) - of(y, {a!r})) * (of(x, {b!r}) - of(y, {b!r})) < 0",
    )


def _equal(a: str, b: str) -> Condition:
    return Condition(
        "equal",
        f"the numbers of their entries with the label {a} differ by one at most",
        lambda of, x, y: abs(of(x, a) - of(y, a)) <= 1,
        f"abs(of(x, {a!r}) - of(y, {a!r})) <= 1",
    )


def _sample(
    make: Callable[[str, str], Condition], entries: Entries, labels: Sequence[tuple[str, str]]
) -> Sample:
    """With the first labels for which the condition holds for some pairs and not for all."""
    counts = Counter((entry.user, entry.label) for entry in entries.entries)
    every = [[x, y] for x, y in combinations(entries.users, 2)]
    for a, b in labels:
        condition = make(a, b)
        gold = [[x, y] for x, y in every if condition.holds(lambda user, label: counts[user, label], x, y)]
        if 0 < len(gold) < len(every):
            break
    return Sample(
        condition.task,
        f"{entries.kind.told} List all pairs of users for which this holds: {condition.words}. Each pair "
        "once, as a list of [lower number, higher number].",
        entries.text,
        gold,
        "pairs",
        f"{entries.kind.reader}{COUNTS}result = [[x, y] for x, y in combinations(users, 2) if "
        f"{condition.code}]\n"
        "print(len(result))\nsubmit(result)",
        labels=entries.known,
    )


PAIRS = Suite(
    "pairs",
    "all pairs of users whose judged entries satisfy a condition (F1 over pairs)",
    ("both", "differ", "equal"),
    pairs,
    aggregates=True,
    smallest=1_000,
)
