"""The labels that a question itself gives, for a model that takes some of them alone or words of its own.

Contract: :func:`labels_of` gives the labels between which the question shares out all lines, in order, with
what it says of each (in brackets, else its words), and none where it names none or only some: "Which want a
or b?" leaves lines over.

>>> labels_of("Each text is praise, a complaint (also of a price) or an offer. How many are an offer?")
{'praise': 'praise', 'complaint': 'a complaint, also of a price', 'offer': 'an offer'}
>>> labels_of("Which of these texts are praise or an offer?")
{}
"""

from __future__ import annotations

import re

_BRACKET = re.compile(r" ?\(([^()]{1,200})\)")
_MARK = "\x01"  # stands for a bracket while sentences and lists are told apart
_SENTENCE = re.compile(r"(?<=[.?!])\s+")
_ONE = rf"(?:(?:an?|the) )?[a-z][\w-]*(?: [a-z][\w-]*)?{_MARK}?"
_BEFORE = r"\b(?:is|are|for|of|as|either|whether)(?: (?:it|this|that|each|they))?"
_LIST = re.compile(
    rf"(?:(?:{_BEFORE}|:) |^)({_ONE}(?:, {_ONE})*),? or ({_ONE})(?=[.,:;?]|$)",
    re.IGNORECASE,
)
_SHARES = re.compile(r"\b(?:each|every|it is|it asks|is it|most often|sort|label)\b", re.IGNORECASE)
_SOME = re.compile(r"\b(?:which|how many) (?:of )?(?:these|those|them|the)\b", re.IGNORECASE)


def labels_of(question: str) -> dict[str, str]:
    """What each label is called, and what is said of it."""
    said = _BRACKET.findall(question)
    for sentence in _SENTENCE.split(_BRACKET.sub(_MARK, question.replace(_MARK, " "))):
        marks = sentence.count(_MARK)
        here, said = said[:marks], said[marks:]
        asks = sentence.endswith("?") and not _SHARES.search(sentence)
        found = None if asks or _SOME.search(sentence) else _LIST.search(sentence)
        if found:
            here = here[sentence[: found.start(1)].count(_MARK) :]
            return _told([*found[1].split(", "), found[2]], here)
    return {}


def _told(names: list[str], said: list[str]) -> dict[str, str]:
    told: dict[str, str] = {}
    for name in names:
        text = name.rstrip(_MARK).strip()
        label = re.sub(r"^(?:an?|the) ", "", text, flags=re.IGNORECASE)
        more = said.pop(0) if name.endswith(_MARK) else ""
        told[label] = f"{text}, {more}" if more.startswith("also ") else more or text
    return told
