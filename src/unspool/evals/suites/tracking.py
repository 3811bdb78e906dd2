"""Variables that are given other variables' values, hidden in prose: every hop has to be followed.

>>> chain, chains = TRACKING.make(2_000, seed=1)
>>> len(chain.gold), len(chains.gold)
(5, 5)
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from functools import partial
from itertools import pairwise

from ..data import Data
from ..hidden import hidden
from ..prose import EVERY, Prose
from ..sample import Sample
from .suite import Suite

HOPS, CHAINS = 4, 4
_LETTERS = "ABCDEFGHJKLMNPQRSTUVWXYZ"

FOLLOW = """import re
value = {value!r}
holders = []
line = r"Set ([A-Z]{{5}}) to (?:the number (\\d+)|the value of ([A-Z]{{5}}))\\."
for name, number, source in re.findall(line, context):
    if number == value or source in holders:
        holders.append(name)
print(holders)
result = holders
submit(result)"""


def tracking(prose: Prose, room: int, chance: random.Random, data: Data) -> list[Sample]:
    """One chain, and one among others."""
    among = prose.paragraphs(data)
    return [_sample("chain", 1, room, chance, among), _sample("chains", CHAINS, room, chance, among)]


def _sample(task: str, count: int, room: int, chance: random.Random, among: Sequence[str]) -> Sample:
    names: set[str] = set()
    while len(names) < count * (HOPS + 1):
        names.add("".join(chance.choices(_LETTERS, k=5)))
    order = sorted(names)
    chance.shuffle(order)
    values = chance.sample(range(10_000, 100_000), count)
    chains = [order[at * (HOPS + 1) : (at + 1) * (HOPS + 1)] for at in range(count)]
    told = [
        [f"Set {chain[0]} to the number {value}."]
        + [f"Set {name} to the value of {before}." for before, name in pairwise(chain)]
        for chain, value in zip(chains, values, strict=True)
    ]
    lines: list[str] = []
    while any(told):  # the chains by turns, by chance, each in its own order
        lines.append(chance.choice([chain for chain in told if chain]).pop(0))
    return Sample(
        task,
        f"The text sets variables, to a number or to the value of another variable. Which variables have the "
        f"value {values[0]} in the end? List all of their names, in any order.",
        hidden(lines, room, chance, among),
        chains[0],
        "set",
        FOLLOW.format(value=str(values[0])),
    )


TRACKING, TRACKING_ESSAYS = (
    Suite(
        prose.suite("tracking"),
        f"which variables have a value, over four hops{prose.within} (F1)",
        ("chain", "chains"),
        partial(tracking, prose),
        smallest=1_500,
        needs=prose.needs,
    )
    for prose in EVERY
)
