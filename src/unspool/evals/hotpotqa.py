"""HotpotQA's distractor set: questions over two documents of Wikipedia, and others that look alike.

Contract: a pure function of the file (``hotpot_dev_distractor_v1.json``; Yang et al., arXiv 1809.09600).
Equal documents are one; ``own`` names those that the dataset gives with a question, the two that are needed
first.

>>> one = {"question": "Who?", "answer": "Ada", "type": "bridge", "supporting_facts": [["B", 0]],
...        "context": [["A", ["a."]], ["B", ["b.", " c."]]]}
>>> found = read(json.dumps([one]).encode())
>>> found.documents, found.questions[0].own, found.questions[0].needed
(('B\\nb. c.', 'A\\na.'), (0, 1), 1)
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Literal, get_args

Hop = Literal["bridge", "comparison"]


@dataclass(frozen=True, slots=True)
class Question:
    """One question, and which documents it comes with: places in :attr:`HotpotQA.documents`."""

    text: str  # one line
    answer: str
    hop: Hop
    own: tuple[int, ...]
    needed: int  # the first so many of them


@dataclass(frozen=True, slots=True)
class HotpotQA:
    """All of it. A document is its title, a line end and its text."""

    questions: tuple[Question, ...]
    documents: tuple[str, ...]

    def of(self, hop: Hop) -> list[Question]:
        return [question for question in self.questions if question.hop == hop]


def read(data: bytes) -> HotpotQA:
    """Raises ``ValueError``, ``LookupError`` or ``TypeError``."""
    places: dict[str, int] = {}
    questions: list[Question] = []
    for each in json.loads(data):
        needed = {title for title, _ in each["supporting_facts"]}
        own = sorted(each["context"], key=lambda document: document[0] not in needed)
        texts = [f"{_line(title)}\n{_line(''.join(sentences))}" for title, sentences in own]
        held = tuple(dict.fromkeys(places.setdefault(text, len(places)) for text in texts))
        questions.append(Question(_line(each["question"]), each["answer"], each["type"], held, len(needed)))
        if each["type"] not in get_args(Hop) or not needed <= {title for title, _ in own}:
            raise ValueError(f"question {each['question']!r}")
    return HotpotQA(tuple(questions), tuple(places))


def _line(text: str) -> str:
    return " ".join(text.split())
