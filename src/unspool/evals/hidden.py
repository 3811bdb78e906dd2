"""Haystacks: real prose up to a size, and lines hidden in it.

Contract: pure but for the ``random.Random`` it is given; the result is at most ``characters`` long and as
near to it as a paragraph allows. Prose comes round again where a size wants more than there is of it.

>>> import random
>>> text = hidden(["THE NEEDLE"], 5_000, random.Random(1))
>>> text.count("THE NEEDLE"), 4_000 < len(text) <= 5_000
(1, True)
"""

from __future__ import annotations

import random
from collections.abc import Sequence

from .data import paragraphs
from .sample import endless

BREAK = "\n\n"


def prose(characters: int, chance: random.Random, among: Sequence[str] | None = None) -> list[str]:
    """Paragraphs in a shuffled order, with the breaks between them at most ``characters``.

    ``among`` are others than those of the language reference.
    """
    found: list[str] = []
    room = characters
    for paragraph in endless(paragraphs() if among is None else among, chance):
        room -= len(paragraph) + len(BREAK)
        if room < 0:
            break
        found.append(paragraph)
    return found


def hidden(
    needles: Sequence[str], characters: int, chance: random.Random, among: Sequence[str] | None = None
) -> str:
    """Prose with each of the needles as a paragraph of its own, in their order, at places by chance."""
    around = prose(characters - sum(len(needle) + len(BREAK) for needle in needles), chance, among)
    places = sorted(chance.randint(0, len(around)) for _ in needles)
    for place, needle in reversed(list(zip(places, needles, strict=True))):
        around.insert(place, needle)
    return BREAK.join(around)
