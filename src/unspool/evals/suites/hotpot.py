"""Questions of people over two documents of Wikipedia, among as many others as there is room for.

HotpotQA's distractor set (Yang et al., arXiv 1809.09600): the two documents that a question needs, the eight
that were put beside it since they look alike, and then documents of other questions.

>>> HOTPOT.tasks, HOTPOT.needs
(('bridge', 'comparison'), ('long-context',))
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import get_args

from ..data import Data
from ..fetched import LONG_CONTEXT
from ..hotpotqa import Hop, HotpotQA, Question
from ..sample import Sample
from .suite import Suite

BRIEF = "Answer with a name, a date, a number, or yes or no, as short as it can be."
NEEDED, OTHER = "needed", "other"
LABELS = {NEEDED: "the question cannot be answered without it", OTHER: "about something else"}

PROGRAM = """question = {question!r}
print(len(context), context[0][:300])
labels = classify([" ".join(text.split()) for text in context], {labels!r})
assert all(labels), [label for label in labels if not label][:3]
found = [text for text, label in zip(context, labels) if label == {needed!r}]
print(len(found))
(result,) = llm_query_batched([question + "\\n\\n" + "\\n\\n".join(found)], on_error="raise")
submit(result)"""


def hotpot(room: int, chance: random.Random, data: Data) -> list[Sample]:
    """A question of each kind over one corpus."""
    found = data.hotpot()
    asked = [chance.choice(found.of(hop)) for hop in get_args(Hop)]
    context = _corpus(found, asked, room, chance)
    return [_sample(found, question, context) for question in asked]


def _corpus(found: HotpotQA, asked: Sequence[Question], room: int, chance: random.Random) -> list[str]:
    """What the questions need, then what was put beside them, then others; each title once."""
    others = list(range(len(found.documents)))
    chance.shuffle(others)
    needed = [place for question in asked for place in question.own[: question.needed]]
    beside = [place for question in asked for place in question.own[question.needed :]]
    titles: set[str] = set()
    texts: list[str] = []
    for place in dict.fromkeys((*needed, *beside, *others)):
        text = found.documents[place]
        title = text.partition("\n")[0]
        if title in titles:
            continue
        room -= len(text)
        if room < 0:
            break
        titles.add(title)
        texts.append(text)
    chance.shuffle(texts)
    return texts


def _sample(found: HotpotQA, question: Question, context: list[str]) -> Sample:
    needed = {found.documents[place] for place in question.own[: question.needed]}
    return Sample(
        question.hop,
        f"{question.text} {BRIEF}",
        context,
        question.answer,
        "overlap",
        PROGRAM.format(question=question.text, labels=LABELS, needed=NEEDED),
        labels={" ".join(text.split()): NEEDED if text in needed else OTHER for text in context},
        facts={question.text: question.answer},
    )


HOTPOT = Suite(
    "hotpot",
    "questions over two documents of Wikipedia among many (HotpotQA; its F1 of words)",
    get_args(Hop),
    hotpot,
    smallest=4_000,
    largest=8_000_000,
    needs=(LONG_CONTEXT,),
)
