"""What a question itself says of the data: labels, for a model that takes some of them alone or words of its
own, and the fields of a line.

Contract: :func:`labels_of` gives the labels between which the question shares out all lines, in order, with
what it says of each (in brackets, else its words), and none where it names none or only some: "Which want a
or b?" leaves lines over.

>>> labels_of("Each text is praise, a complaint (also of a price) or an offer. How many are an offer?")
{'praise': 'praise', 'complaint': 'a complaint, also of a price', 'offer': 'an offer'}
>>> labels_of("Which of these texts are praise or an offer?")
{}

:func:`fields_told` gives the names of the fields that lines have between bars, where the question shows them.

>>> fields_told("Each line is an entry: date | guest | what the guest said. How many entries are praise?")
['date', 'guest', 'text']
"""

from __future__ import annotations

import re

_BRACKET = re.compile(r" ?\(([^()]{1,200})\)")
_MARK = "\x01"  # stands for a bracket while sentences and lists are told apart
_SENTENCE = re.compile(r"(?<=[.?!])\s+")
_ONE = rf"(?:(?:an?|the) )?[a-z][\w-]*(?: [a-z][\w-]*)?{_MARK}?"
_BEFORE = r"\b(?:is|are|for|of|as|either|whether)(?: (?:it|this|that|each|they))?"
_LIST = re.compile(
    rf"(?:(?:{_BEFORE}|:) |^)({_ONE}(?:, {_ONE}){{,40}}),? or ({_ONE})(?=[.,:;?]|$)",
    re.IGNORECASE,
)
_SHARES = re.compile(r"\b(?:each|every|it is|it asks|is it|most often|sort|label)\b", re.IGNORECASE)
_SOME = re.compile(r"\b(?:which|how many) (?:of )?(?:these|those|them|the)\b", re.IGNORECASE)

_ITEM = rf"([A-Za-z][\w-]*(?: [\w-]+)?){_MARK}"  # a label with what it means, in a list of such
_ITEMS = re.compile(rf": {_ITEM}(?:[;,] (?:or |and )?{_ITEM})+(?=[.;:]|$)")
_PHRASE = r"[\w'’-]{1,60}(?: [\w'’-]{1,60}){,11}"  # bounded: tried from every character
_BARS = re.compile(rf"{_PHRASE}(?: \| {_PHRASE})+")
_LONGEST_NAME = 2  # words: what is longer describes a text


def labels_of(question: str) -> dict[str, str]:
    """What each label is called, and what is said of it."""
    said = _BRACKET.findall(question)
    for sentence in _SENTENCE.split(_BRACKET.sub(_MARK, question.replace(_MARK, " "))):
        marks = sentence.count(_MARK)
        here, said = said[:marks], said[marks:]
        if items := _ITEMS.search(sentence):
            names = re.findall(_ITEM, items[0])
            skipped = sentence[: items.start()].count(_MARK)
            return dict(zip(names, here[skipped : skipped + len(names)], strict=True))
        asks = sentence.endswith("?") and not _SHARES.search(sentence)
        found = None if asks or _SOME.search(sentence) else _LIST.search(sentence)
        if found:
            here = here[sentence[: found.start(1)].count(_MARK) :]
            return _told([*found[1].split(", "), found[2]], here)
    return {}


def fields_told(question: str) -> list[str]:
    """The names of the fields of a line; what is a longer description is called ``text``."""
    if " | " not in question or not (shown := _BARS.search(question)):
        return []
    first, *others = (part.strip().split() for part in shown[0].split(" | "))
    parts = [first[-1:], *others]
    names = ["_".join(part) if 0 < len(part) <= _LONGEST_NAME else "text" for part in parts]
    return names if len(set(names)) == len(names) else []


def _told(names: list[str], said: list[str]) -> dict[str, str]:
    told: dict[str, str] = {}
    for name in names:
        text = name.rstrip(_MARK).strip()
        label = re.sub(r"^(?:an?|the) ", "", text, flags=re.IGNORECASE)
        more = said.pop(0) if name.endswith(_MARK) else ""
        told[label] = f"{text}, {more}" if more.startswith("also ") else more or text
    return told
