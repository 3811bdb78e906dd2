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
from ..sample import LARGEST, Sample, rng, size_words

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
    largest: int = LARGEST
    needs: tuple[str, ...] = ()  # packages of data that are fetched (fetched.py)

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
        """Raises :class:`ConfigError` for a size that is too small to ask anything about, or too large."""
        end = "at least" if size < self.smallest else "at most" if size > self.largest else ""
        if end:
            bound = self.smallest if size < self.smallest else self.largest
            told = f"{self.name} cannot be made of {size_words(size)} tokens: "
            raise ConfigError(told + f"{size_words(bound)} {end}")

    def check_seeds(self, seeds: int, data: Data) -> None:
        """Raises :class:`ConfigError` where there are not so many contexts; made ones have no end."""


@dataclass(frozen=True, slots=True)
class Given(Suite):
    """A suite of samples that are as they are: ``build`` gives all, and a seed is the number of one. Its only
    size says how long they are on average."""

    def make(self, size: int, *, seed: int, data: Data | None = None) -> list[Sample]:
        self.check(size)
        data = data or Data()
        self.check_seeds(seed, data)
        return [replace(self._all(data)[seed - 1], suite=self.name, size=size, seed=seed)]

    def check(self, size: int) -> None:
        if size != self.largest:
            raise ConfigError(
                f"{self.name} cannot be made of {size_words(size)} tokens: its inputs are as they are, "
                f"{size_words(self.largest)} on average: ask it with --sizes {size_words(self.largest)}"
            )

    def check_seeds(self, seeds: int, data: Data) -> None:
        if seeds > (there := len(self._all(data))):
            raise ConfigError(f"{self.name} has {there} questions, one a seed: --seeds {there} at most")

    def _all(self, data: Data) -> Sequence[Sample]:
        return self.build(self.largest * CHARACTERS_PER_TOKEN, rng(self.name, self.largest, 0), data)
