"""Words counted: ten that are common in a list of words, and the most frequent ones of real prose.

>>> common, frequent, times = WORDS.make(2_000, seed=1)
>>> len(common.gold), frequent.scorer, times.gold > 0
(10, 'set', True)
"""

from __future__ import annotations

import random
import re
from collections import Counter
from collections.abc import Sequence
from functools import partial

from ..data import Data
from ..hidden import BREAK, prose
from ..prose import EVERY, Prose
from ..sample import Sample
from .suite import Redraw, Suite

COMMON, OFTEN, SELDOM = 10, 30, 3  # words that stand out, how often they come, and the others
LEAST, TOP = 6, (3, 12)  # letters of a word that counts in prose; how many words are asked for

COUNT = """import re
from collections import Counter
counts = Counter(re.findall(r"[a-z]+", context.lower()))
ranked = [word for word, _ in counts.most_common() if len(word) >= {least}]
print(ranked[:20])
result = ranked[:{top}]
submit(result)"""

TIMES = """import re
result = len(re.findall(r"(?<![a-z]){word}(?![a-z])", context.lower()))
print(result)
submit(result)"""


def words(of: Prose, room: int, chance: random.Random, data: Data) -> list[Sample]:
    """The three tasks; the last two over the same prose."""
    text = BREAK.join(prose(room, chance, of.paragraphs(data)))
    counts = Counter(word for word in re.findall(r"[a-z]+", text.lower()) if len(word) >= LEAST)
    return [
        _common(room, of.common_words(data), chance),
        _frequent(text, counts),
        _times(text, counts, chance),
    ]


def _common(room: int, words: Sequence[str], chance: random.Random) -> Sample:
    """A list of words in which ten come more often than the others."""
    known = list(words)
    chance.shuffle(known)
    top, rest = known[:COMMON], known[COMMON:]
    size = sum(len(word) + 1 for word in top) / COMMON
    rounds = max(1, int(room / (size * COMMON * OFTEN * 2)))  # half of the list is the common words
    often, seldom = OFTEN * rounds, SELDOM * rounds
    listed = top * often
    left = room - sum(len(word) + 1 for word in listed)
    for word in rest:
        if left < (len(word) + 1) * seldom:
            break
        left -= (len(word) + 1) * seldom
        listed += [word] * seldom
    chance.shuffle(listed)
    return Sample(
        "common",
        f"The text is a list of words. Which {COMMON} words come most often? List them, in any order.",
        " ".join(listed),
        sorted(top),
        "set",
        COUNT.format(least=1, top=COMMON),
    )


def _frequent(text: str, counts: Counter[str]) -> Sample:
    """The most frequent words of prose: as many as are told apart from the next by their count."""
    ranked = counts.most_common(TOP[1] + 1)
    gaps = {n: ranked[n - 1][1] - ranked[n][1] for n in range(TOP[0], min(TOP[1] + 1, len(ranked)))}
    top = max(gaps, key=lambda n: gaps[n])
    if gaps[top] < 1:
        raise Redraw("no word of this text stands out")
    return Sample(
        "frequent",
        f"Of the words with {LEAST} letters or more (a word is a run of the letters a to z; upper and lower "
        f"case are the same), which {top} come most often? List them, in any order.",
        text,
        sorted(word for word, _ in ranked[:top]),
        "set",
        COUNT.format(least=LEAST, top=top),
    )


def _times(text: str, counts: Counter[str], chance: random.Random) -> Sample:
    ranked = [word for word, times in counts.most_common(60) if times > 2]
    word = chance.choice(ranked)
    return Sample(
        "times",
        f'How many times does the word "{word}" come in the text, in upper or lower case, and not as '
        "a part of "
        "a longer word? Answer with the number alone.",
        text,
        counts[word],
        "number",
        TIMES.format(word=word),
    )


WORDS, WORDS_ESSAYS = (
    Suite(
        of.suite("words"),
        f"counting words: the common ones of a list, the frequent ones of {of.words}",
        ("common", "frequent", "times"),
        partial(words, of),
        aggregates=True,
        smallest=2_000,
        needs=of.needs,
    )
    for of in EVERY
)
