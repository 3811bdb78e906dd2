"""The texts that things are hidden in: one kind of prose, and what a suite over it is called.

Contract: a suite over other prose is another suite, with a name of its own (``needle-essays``), so that no
two haystacks are ever one row, one picture or one sample.

>>> ESSAYS.suite("needle"), REFERENCE.suite("needle"), len(REFERENCE.paragraphs(Data())) > 500
('needle-essays', 'needle', True)
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from .data import Data, paragraphs, words_of
from .fetched import LONG_CONTEXT


@dataclass(frozen=True, slots=True)
class Prose:
    """Paragraphs, and how they are spoken of."""

    words: str  # what it is, in a suite's description
    paragraphs: Callable[[Data], tuple[str, ...]]
    ending: str = ""  # of the names of suites over it
    needs: tuple[str, ...] = ()  # packages that are fetched

    def suite(self, name: str) -> str:
        return name + self.ending

    @property
    def within(self) -> str:
        """Where something is, for a suite whose words say it only of what is not the usual prose."""
        return f" in {self.words}" if self.ending else ""

    def common_words(self, data: Data) -> tuple[str, ...]:
        """Its words, the most frequent first."""
        return words_of(self.paragraphs(data))


REFERENCE = Prose("prose", lambda _: paragraphs())
ESSAYS = Prose("Paul Graham's essays", lambda data: data.essays(), "-essays", (LONG_CONTEXT,))
EVERY = (REFERENCE, ESSAYS)
