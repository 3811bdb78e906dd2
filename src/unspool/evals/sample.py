"""One question of a suite, with all that is needed to ask it, to score it, and to solve it without a model.

Contract: a sample follows from its suite, task, size and seed alone (and the Python whose standard library
and documentation some suites are made of): made twice, it is equal. ``digest`` tells contexts apart.

>>> parse_size("131k"), parse_size("1m"), parse_size("500")
(131000, 1000000, 500)
>>> size_words(131_000), size_words(1_500_000), size_words(512)
('131k', '1.5m', '512')
"""

from __future__ import annotations

import hashlib
import json
import random
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Literal, TypeVar

from ..errors import ConfigError

SMALLEST, LARGEST = 500, 50_000_000  # tokens

ScorerName = Literal[
    "number", "close", "name", "contains", "set", "pairs", "lines", "overlap", "amount", "holds", "listed"
]
Context = str | list[str] | dict[str, str]
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Sample:
    """One question over one context. ``gold`` is computed by code from the same data.

    ``program`` is what a root model without a fault would write, ``labels`` and ``facts`` are what a
    sub-model without a fault would reply: the label of each item, the answer to each question. They are for
    the scripted oracle; no other model sees them.
    """

    task: str
    question: str
    context: Context = field(repr=False)
    gold: object
    scorer: ScorerName
    program: str = field(repr=False)
    among: tuple[str, ...] = ()  # where the answer is one of these names
    labels: Mapping[str, str] = field(default_factory=dict, repr=False)
    facts: Mapping[str, str] = field(default_factory=dict, repr=False)
    suite: str = ""  # this and what follows is said by the suite that makes it
    size: int = 0  # tokens, of four characters each
    seed: int = 0

    @property
    def name(self) -> str:
        return f"{self.suite}/{self.task} {size_words(self.size)} seed {self.seed}"

    @property
    def characters(self) -> int:
        """Of the context, the names of its parts left out."""
        parts = self.context.values() if isinstance(self.context, dict) else self.context
        return len(self.context) if isinstance(self.context, str) else sum(map(len, parts))

    @property
    def digest(self) -> str:
        """Of the context: the same here and there, or it was another question."""
        whole = self.context if isinstance(self.context, str) else json.dumps(self.context)
        return hashlib.sha256(whole.encode("utf-8", "surrogatepass")).hexdigest()[:16]


def rng(suite: str, size: int, seed: int) -> random.Random:
    """The one source of chance of a suite at a size and a seed; the same in every process."""
    return random.Random(f"{suite}/{size}/{seed}")


def endless(items: Iterable[T], chance: random.Random) -> Iterator[T]:
    """Each once, in a shuffled order, and again where more are wanted; of none, none."""
    order = list(items)
    while order:
        chance.shuffle(order)
        yield from order


def parse_size(text: str) -> int:
    """Tokens, from ``8k``, ``1.5m`` or a plain number."""
    found = re.fullmatch(r"([0-9]+(?:\.[0-9]+)?)([km]?)", text.strip().lower())
    size = round(float(found[1]) * {"": 1, "k": 1_000, "m": 1_000_000}[found[2]]) if found else 0
    if not SMALLEST <= size <= LARGEST:
        raise ConfigError(
            f"size {text!r}: give tokens such as 8k, 131k or 1m, from {SMALLEST} to {size_words(LARGEST)}"
        )
    return size


def size_words(size: int) -> str:
    """A size as it is given."""
    for unit, word in ((1_000_000, "m"), (1_000, "k")):
        if size >= unit and size * 10 % unit == 0:
            return f"{size / unit:g}{word}"
    return str(size)
