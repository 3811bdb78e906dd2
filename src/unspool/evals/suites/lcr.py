"""AA-LCR: questions over sets of long reports, as they are; those whose answer code can score.

>>> LCR.tasks, LCR.smallest == LCR.largest
(('question',), True)
"""

from __future__ import annotations

import random

from ..aa_lcr import Question
from ..data import Data
from ..fetched import AA_LCR
from ..sample import Sample
from .suite import Given

SIZE = 100_000  # tokens: what the sets have on average, of four characters each
PART = 50_000  # characters that the oracle reads at once

PROGRAM = """from collections import Counter
question = {question!r}
print(len(context), context[0][:300])
parts = [text[at : at + {part}] for text in context for at in range(0, len(text), {part})]
replies = llm_query_batched([question + "\\n\\n" + part for part in parts], on_error="raise")
result = Counter(replies).most_common(1)[0][0]
print(len(parts), result)
submit(result)"""


def lcr(room: int, chance: random.Random, data: Data) -> list[Sample]:
    """All of them, in the order in which they are asked."""
    return [_sample(question) for question in data.lcr()]


def _sample(question: Question) -> Sample:
    gold = question.gold if isinstance(question.gold, str) else list(question.gold)
    return Sample(
        "question",
        question.text,
        list(question.documents),
        gold,
        question.form,
        PROGRAM.format(question=question.text, part=PART),
        facts={question.text: gold if isinstance(gold, str) else ", ".join(gold)},
    )


LCR = Given(
    "lcr",
    "questions over sets of long reports, those that code can score (AA-LCR)",
    ("question",),
    lcr,
    smallest=SIZE,
    largest=SIZE,
    needs=(AA_LCR,),
)
