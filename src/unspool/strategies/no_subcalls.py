"""``no_subcalls``: the RLM without models in its REPL. What sub-calls add is what this one lacks.

Contract: the functions that ask models are neither in the REPL nor in any text that the model is shown; what
a profile checks of an answer by its sub-calls is not asked.

>>> print(without_sub_calls("1. Look: `grep`.\\n2. Ask in one sub-call.\\n3. Then `submit`."))
1. Look: `grep`.
2. Then `submit`.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace

from ..models.protocol import Message
from ..prompts import First, Profile
from .protocol import OF_MODELS, Given, Plan

_ASKS = re.compile(rf"\b(?:{'|'.join(OF_MODELS)}|sub-calls?|a language model|a model can read|ask about)\b")
_ITEM, _SENTENCE = re.compile(r"\s*(?:- |\d+\. )"), re.compile(r"(?<=[.!?]) ")
_NUMBER = re.compile(r"^\d+(?=\. )", re.MULTILINE)


def no_subcalls(given: Given) -> Plan:
    """The profile without all that speaks of sub-calls, and no children."""
    return Plan(bare(given.profile), given.sub_profile, replace(given.limits, max_depth=0))


def bare(profile: Profile) -> Profile:
    """A profile whose REPL has no functions that ask models."""
    asks = re.compile("|".join([_ASKS.pattern, *(rf"\b{name}\(" for name in profile.asking)]))

    def first(first: First) -> str:
        return without_sub_calls(profile.first(replace(first, depth=None)), asks)

    def examples(query: str, look: str, depth_left: int) -> tuple[Message, ...]:
        return tuple(_able(profile.examples(query, look, 0), asks) or _able(profile.alone, asks))

    def check_answer(query: str, value: object, sub_calls: int) -> str | None:
        return profile.check_answer(query, value, max(sub_calls, 1))

    return replace(
        profile,
        system=without_sub_calls(profile.system, asks),
        examples=examples,
        first=first,
        imports=(*profile.imports, *(f"del {name}" for name in profile.asking)),
        asking=(),
        nudge=lambda query: without_sub_calls(profile.nudge(query), asks),
        check_answer=check_answer,
        tells_unread=False,
        without=OF_MODELS,
    )


def _able(examples: Sequence[Message], asks: re.Pattern[str]) -> list[Message]:
    """The worked turns that do without sub-calls: a reply that makes some goes with what it replies to. With
    no turns at all a weak model fails at what needs no sub-call, too, and nothing would be learnt of them."""
    able: list[Message] = []
    turn: list[Message] = []
    for message in examples:
        turn.append(message)
        if message.role != "assistant":
            continue
        if not asks.search(message.text):
            able += (replace(each, text=without_sub_calls(each.text, asks)) for each in turn)
        turn = []
    return able


def without_sub_calls(text: str, asks: re.Pattern[str] = _ASKS) -> str:
    """The text without what speaks of asking models: items of lists as a whole, else sentences. A numbered
    list is numbered anew."""
    lines = [kept for line in text.split("\n") if (kept := _kept(line, asks)) or not line]
    count = 0

    def number(_: re.Match[str]) -> str:
        nonlocal count
        count += 1
        return str(count)

    return _NUMBER.sub(number, "\n".join(lines))


def _kept(line: str, asks: re.Pattern[str]) -> str:
    if not asks.search(line):
        return line
    if _ITEM.match(line):
        return ""
    return " ".join(sentence for sentence in _SENTENCE.split(line) if not asks.search(sentence))
