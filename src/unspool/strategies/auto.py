"""``auto``: direct, map_reduce or rlm, by the size of the input, the model's window and the kind of question.

Contract: no model is asked. What is decided, and why, is the event ``strategy.chosen``; a run that is resumed
goes on with what was chosen. The limits are in ``measured.json``, each with where it comes from: measured,
published, or assumed until a report says better. An input that code reads better than a model (a table, a
database, images), or whose size is not known, goes to rlm.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cache

from .answering import text_beside
from .direct import direct
from .map_reduce import map_reduce
from .protocol import Choice, Given, Plan, Strategy, StrategyName
from .questions import QuestionKind, kind_of
from .rlm import rlm
from .window import density, room, sample_of, size_of, window_of

_STRATEGIES: Mapping[StrategyName, Strategy] = {"direct": direct, "map_reduce": map_reduce, "rlm": rlm}
_WORDS: Mapping[QuestionKind, str] = {
    "needle": "a question that a passage may answer",
    "hop": "a question in several steps",
    "list": "a list of all that are so",
    "count": "a count",
    "groups": "a comparison of counts",
    "whole": "work on the whole input",
}


def auto(given: Given) -> Plan:
    """The plan of the strategy that is chosen."""
    choice = choose(given)
    return replace(_STRATEGIES[choice.strategy](given), chosen=choice)


def choose(given: Given) -> Choice:
    """Which strategy, and why."""
    size, window, kind = size_of(given.context), window_of(given.root), kind_of(given.query)
    if size is None:
        why = "the input is not text, or its size is not known: code looks at it"
        return Choice("rlm", why, None, window)
    table = _table()
    tokens = int(size / density(sample_of(given.context, given.description)))
    limit = table.direct.get((given.profile.name, kind)) or table.direct["frontier", kind]
    fits = size <= table.comfortable * room(given)
    asked = f"{_WORDS[kind]} over about {tokens:,} tokens"
    if fits and tokens <= limit.tokens:
        why = f"{asked}: a reply at once is as good up to {limit.tokens:,} ({limit.basis})"
        return Choice("direct", why, tokens, window)
    over = f"more than {limit.tokens:,} ({limit.basis})" if fits else f"too much for a window of {window:,}"
    if kind in table.mapped:
        return Choice("map_reduce", f"{asked}: {over}, and all has to be read", tokens, window)
    return Choice("rlm", f"{asked}: {over}", tokens, window)


@dataclass(frozen=True, slots=True)
class Limit:
    """Tokens, and where the figure comes from."""

    tokens: int
    basis: str


@dataclass(frozen=True, slots=True)
class _Table:
    comfortable: float
    mapped: tuple[str, ...]
    direct: Mapping[tuple[str, str], Limit]


@cache
def _table() -> _Table:
    table = json.loads(text_beside("measured.json"))
    rows = {(row["profile"], row["kind"]): Limit(row["tokens"], row["basis"]) for row in table["direct"]}
    return _Table(table["comfortable"]["share"], tuple(table["map_reduce"]["kinds"]), rows)
