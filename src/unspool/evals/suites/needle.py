"""One thing hidden in prose, and several: S-NIAH and its harder kin.

>>> [sample.task for sample in NEEDLE.make(2_000, seed=1)]
['number', 'word', 'among']
>>> sample = NEEDLES.make(2_000, seed=1)[0]
>>> len(sample.gold), all(code in sample.context for code in sample.gold)
(6, True)
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from functools import partial

from ..data import Data
from ..hidden import hidden
from ..prose import EVERY, Prose
from ..sample import Sample
from .suite import Suite

_RARE = slice(300, 900)  # of the words by frequency: names of things, neither everywhere nor odd
SENTENCE = "Note for later: the access code of the {} is {}."
DISTRACTORS, VALUES, QUERIES = 12, 6, 5

ONE = """import re
found = re.findall(r"access code of the {name} is (\\w+)\\.", context)
print(found)
result = found[0]
submit(result)"""

ALL = """import re
result = [code for name, code in re.findall(r"access code of the ([\\w -]+?) is (\\w+)\\.", context)
          if name in {names!r}]
print(result)
submit(result)"""


def _names(count: int, known: Sequence[str], chance: random.Random) -> list[str]:
    """Names of two words, each once."""
    words = chance.sample(known[_RARE], 2 * count)
    return [f"{a} {b} vault" for a, b in zip(words[::2], words[1::2], strict=True)]


def _codes(count: int, chance: random.Random) -> list[str]:
    return [str(code) for code in chance.sample(range(1_000_000, 10_000_000), count)]


def needle(prose: Prose, room: int, chance: random.Random, data: Data) -> list[Sample]:
    """One needle: a number, a word, and one among others of its shape."""
    among, known = prose.paragraphs(data), prose.common_words(data)
    samples: list[Sample] = []
    for task, others in (("number", 0), ("word", 0), ("among", DISTRACTORS)):
        names = _names(others + 1, known, chance)
        codes = [chance.choice(known[_RARE])] if task == "word" else _codes(len(names), chance)
        lines = [SENTENCE.format(name, code) for name, code in zip(names, codes, strict=True)]
        chance.shuffle(lines)
        samples.append(
            Sample(
                task,
                f"What is the access code of the {names[0]}? Answer with the code alone.",
                hidden(lines, room, chance, among),
                codes[0],
                "contains",
                ONE.format(name=names[0]),
            )
        )
    return samples


def needles(prose: Prose, room: int, chance: random.Random, data: Data) -> list[Sample]:
    """Several needles: all codes of one thing, and the codes of several things."""
    among, known = prose.paragraphs(data), prose.common_words(data)
    name, *others = _names(1 + DISTRACTORS, known, chance)
    codes = _codes(VALUES + len(others), chance)
    owners = [name] * VALUES + others
    values = _listed(
        "values",
        f"The text gives the {name} several access codes. List all of its codes, in any order.",
        owners, codes, [name], room, chance, among,
    )  # fmt: skip
    owners = _names(QUERIES + DISTRACTORS, known, chance)
    wanted = owners[:QUERIES]
    told = ", ".join(f"the {each}" for each in wanted[:-1]) + f" and the {wanted[-1]}"
    queries = _listed(
        "queries",
        f"What are the access codes of {told}? List the codes, in any order.",
        owners, _codes(len(owners), chance), wanted, room, chance, among,
    )  # fmt: skip
    return [values, queries]


def _listed(
    task: str,
    question: str,
    owners: Sequence[str],
    codes: Sequence[str],
    wanted: Sequence[str],
    room: int,
    chance: random.Random,
    among: Sequence[str],
) -> Sample:
    gold = [code for owner, code in zip(owners, codes, strict=True) if owner in wanted]
    lines = [SENTENCE.format(owner, code) for owner, code in zip(owners, codes, strict=True)]
    chance.shuffle(lines)
    text = hidden(lines, room, chance, among)
    return Sample(task, question, text, gold, "set", ALL.format(names=list(wanted)))


NEEDLE, NEEDLE_ESSAYS = (
    Suite(
        prose.suite("needle"),
        f"one line hidden in {prose.words}, alone or among lines of its shape",
        ("number", "word", "among"),
        partial(needle, prose),
        smallest=1_000,
        needs=prose.needs,
    )
    for prose in EVERY
)
NEEDLES, NEEDLES_ESSAYS = (
    Suite(
        prose.suite("needles"),
        f"several hidden lines{prose.within}, all of which are asked for (F1)",
        ("values", "queries"),
        partial(needles, prose),
        smallest=1_000,
        needs=prose.needs,
    )
    for prose in EVERY
)
