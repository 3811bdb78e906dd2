"""``no_subcalls``: the RLM without models in its REPL. What sub-calls add is what this one lacks.

Contract: the functions that ask models are neither in the REPL nor in any text that the model is shown; what
a profile checks of an answer by its sub-calls is not asked.

>>> print(without_sub_calls("1. Look: `grep`.\\n2. Ask in one sub-call.\\n3. Then `submit`."))
1. Look: `grep`.
2. Then `submit`.
"""

from __future__ import annotations

import re
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

    def first(first: First) -> str:
        return without_sub_calls(profile.first(replace(first, depth=None)))

    def examples(query: str, look: str, depth_left: int) -> tuple[Message, ...]:
        told = profile.examples(query, look, 0)
        return () if any(_ASKS.search(message.text) for message in told) else told

    def check_answer(query: str, value: object, sub_calls: int) -> str | None:
        return profile.check_answer(query, value, max(sub_calls, 1))

    return replace(
        profile,
        system=without_sub_calls(profile.system),
        examples=examples,
        first=first,
        nudge=lambda query: without_sub_calls(profile.nudge(query)),
        check_answer=check_answer,
        tells_unread=False,
        without=OF_MODELS,
    )


def without_sub_calls(text: str) -> str:
    """The text without what speaks of asking models: items of lists as a whole, else sentences. A numbered
    list is numbered anew."""
    lines = [kept for line in text.split("\n") if (kept := _kept(line)) or not line]
    count = 0

    def number(_: re.Match[str]) -> str:
        nonlocal count
        count += 1
        return str(count)

    return _NUMBER.sub(number, "\n".join(lines))


def _kept(line: str) -> str:
    if not _ASKS.search(line):
        return line
    if _ITEM.match(line):
        return ""
    return " ".join(sentence for sentence in _SENTENCE.split(line) if not _ASKS.search(sentence))
