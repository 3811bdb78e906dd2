"""A question in two steps taken apart by its own words, for a model that asks for the wrong first step.

Contract: :func:`steps_of` gives two questions, the second of which speaks of what the first one asks for, or
``None`` where the words do not say how. It takes any text, and has no words of its own but "What is the".

>>> steps_of("Find the shop that took the payment for order 77. How many cards were refused in it?")
('What is the shop that took the payment for order 77?', 'How many cards were refused in it?')
>>> steps_of("Who paid for order 77, and how many orders did this customer create?")
('Who paid for order 77?', 'How many orders did this customer create?')
>>> steps_of("Somebody paid for order 77. How many customers had a card refused in the same shop?")
('What is the shop? (Somebody paid for order 77)', 'How many customers had a card refused in the same shop?')
>>> steps_of("In which street does the owner of the Blue Room live?")
('What is the name of the owner of the Blue Room?', 'In which street does this owner live?')
>>> steps_of("In which province lies the town where the founder of the mill was born?")
('In which town was the founder of the mill born?', 'In which province lies this town?')
>>> steps_of("How many cards were refused?")
"""

from __future__ import annotations

import re

from .small_words import FORM

_SENTENCE = re.compile(r"(?<=[.?!])\s+")
_AND = re.compile(r",? and (?=(?:how|what|when|who|which|where|at what|in which)\b)", re.IGNORECASE)
_ASKS = re.compile(
    r"(?:(?:in|at|on|from|to|for|by|of) )?(?:who|whose|what|which|when|where|how)\b", re.IGNORECASE
)
_FIND = re.compile(
    r"(?:find|take|get|identify|determine|look (?:up|for)|start (?:with|from)) (?=the\b)", re.IGNORECASE
)
_BACK = re.compile(r"\b(?:this|that|these|those|the same|it|its|they|them)\b", re.IGNORECASE)
# What is no thing that "this" or "that" could be said of: "the gate that was shut".
_NO_THING = (
    r"(?!(?:is|are|was|were|be|has|have|had|do|does|did|can|could|may|must|will|would|the|an?|as|it|they|he|she"
    r"|\w+ed)\b)"
)
_OF_WHICH = re.compile(
    rf"\bthe ((?:\w+ )?\w+) of (?:this|that|the same) {_NO_THING}\w+"
    rf"|\b(?:the same|this|that) {_NO_THING}(\w+)",
    re.IGNORECASE,
)
# One question about what another thing is said to be: "the owner of the Blue Room", "the town where …".
_ASKS_OF = (
    r"(?P<asks>(?:(?:in|at|on|from|to|for|by) )?(?:when|where|(?:which|what) (?!is|was|are|were)[\w-]+)"
    r"(?: (?!the\b)[\w-]+){1,2})"
)
_WHOM = r"(?:the )?(?-i:[A-Z\"“])[\w'’&.-]*(?: (?-i:[A-Z])[\w'’&.-]*)*[\"”]?"
_NESTED = re.compile(
    rf"{_ASKS_OF} the (?P<noun>[\w-]+) of (?P<name>{_WHOM})(?P<rest> (?-i:[a-z])[\w-]*(?: [\w-]+){{0,3}})\?",
    re.IGNORECASE,
)
_PLACE = re.compile(
    rf"{_ASKS_OF} the (?P<noun>[\w-]+) (?:where|in which) (?P<of>the [^?.;,]{{1,120}})"
    r" (?P<verb>was|is|were|are) (?P<part>[\w-]+)\?",
    re.IGNORECASE,
)


def nested_of(question: str) -> tuple[str, str] | None:
    """The steps of one question about what stands in another."""
    if found := _PLACE.fullmatch(question):
        first = f"In which {found['noun']} {found['verb']} {found['of']} {found['part']}?"
        return first, f"{found['asks']} this {found['noun']}?"
    if found := _NESTED.fullmatch(question):
        first = f"What is the name of the {found['noun']} of {found['name']}?"
        return first, f"{found['asks']} this {found['noun']}{found['rest']}?"
    return None


def steps_of(question: str) -> tuple[str, str] | None:
    """The two steps of ``question``, as questions."""
    parts = _SENTENCE.split(FORM.sub(" ", question).strip())
    if len(parts) == 1 and (nested := nested_of(parts[0])):
        return nested
    if len(parts) == 1:
        parts = _AND.split(parts[0], maxsplit=1)
    if len(parts) != 2:
        return None
    second = _AND.split(parts[1])[-1].strip()
    if not _BACK.search(second):
        return None
    said = parts[0].strip(" .,?!")
    first = _first(said, second) if said else None
    return (first, second[:1].upper() + second[1:]) if first else None


def steps_told(question: str) -> str:
    """The steps as lines below the question; nothing where there are none."""
    steps = steps_of(question)
    return f"\nFirst step: {steps[0]}\nSecond step: {steps[1]}" if steps else ""


def _first(said: str, second: str) -> str | None:
    if found := _FIND.match(said):
        return f"What is {said[found.end() :]}?"
    if _ASKS.match(said):
        return f"{said}?"
    named = [name for found in _OF_WHICH.finditer(second) for name in found.groups() if name]
    return f"What is the {named[0]}? ({said})" if named else None
