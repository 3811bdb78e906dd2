"""What a suite is: a name, words for it, and a function that makes samples.

>>> def make(room, chance, data): return []
>>> Suite("none", "Nothing.", ("a",), make).make(8_000, seed=1)
[]
"""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from ...errors import ConfigError
from ...strategies.protocol import CHARACTERS_PER_TOKEN
from ..data import Data
from ..sample import Sample, rng, size_words

Make = Callable[[int, random.Random, Data], Sequence[Sample]]
"""(characters, chance, data) -> the samples of one seed, their suite, size and seed not yet said."""


ATTEMPTS = 40


class Redraw(Exception):
    """What was drawn has nothing that a question could be asked about: another draw will."""


@dataclass(frozen=True, slots=True)
class Suite:
    """``tasks`` are the kinds of question, one sample each for every size and seed."""

    name: str
    words: str  # what it measures, in a sentence
    tasks: tuple[str, ...]
    build: Make
    aggregates: bool = False  # whether answers are made of all items: the oracle must get them all right
    smallest: int = 500  # tokens

    def make(self, size: int, *, seed: int, data: Data | None = None) -> list[Sample]:
        """The samples of one size and seed, one a task, in the order of ``tasks``."""
        self.check(size)
        for attempt in range(ATTEMPTS):
            chance = rng(f"{self.name}/{attempt}" if attempt else self.name, size, seed)
            try:
                made = self.build(size * CHARACTERS_PER_TOKEN, chance, data or Data())
            except Redraw:
                continue
            return [replace(sample, suite=self.name, size=size, seed=seed) for sample in made]
        raise ConfigError(
            f"{self.name}: no draw of {size_words(size)} tokens has a question: take a larger size"
        )

    def check(self, size: int) -> None:
        """Raises :class:`ConfigError` for a size that is too small to ask anything about."""
        if size < self.smallest:
            raise ConfigError(
                f"{self.name} cannot be made of {size_words(size)} tokens: "
                f"{size_words(self.smallest)} at least"
            )
