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
from .protocol import CHARACTERS_PER_TOKEN, Choice, Given, Plan, Strategy, StrategyName
from .questions import QuestionKind, kind_of
from .rlm import rlm
from .window import room, size_of, window_of

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
    if not isinstance(size, int):
        return Choice("rlm", f"{size}: code looks at it", None, window)
    table = limits()
    row = table.rows.get((given.profile.name, kind)) or table.rows["frontier", kind]
    fitting = room(given)
    most = int(table.comfortable * fitting)
    fits, tokens = size <= most, size // CHARACTERS_PER_TOKEN
    asked = f"{_WORDS[kind]} over about {tokens:,} tokens"
    if fits and tokens <= row.tokens:
        why = f"{asked}: a reply at once is as good up to {row.tokens:,} ({row.basis})"
        return Choice("direct", why, tokens, window)
    over = f"more than {row.tokens:,} ({row.basis})"
    if not fits:
        own = "" if given.root.window else ", which is assumed"
        over = (
            f"more than {most // CHARACTERS_PER_TOKEN:,}, which is {table.comfortable:.0%} of the "
            f"{fitting // CHARACTERS_PER_TOKEN:,} or so that fit into a prompt beside the rest of it and the "
            f"reply (the window has {window:,} tokens{own})"
        )
    return Choice(row.beyond, f"{asked}: {over}", tokens, window)


@dataclass(frozen=True, slots=True)
class Row:
    """What is known for one kind of question. ``tokens``: up to which a reply at once is as good."""

    tokens: int
    basis: str
    beyond: StrategyName
    beyond_basis: str


@dataclass(frozen=True, slots=True)
class Limits:
    """``comfortable``: the share of the room in a window that is used. Rows by profile and kind."""

    comfortable: float
    rows: Mapping[tuple[str, str], Row]


@cache
def limits() -> Limits:
    """What is in ``measured.json``."""
    table = json.loads(text_beside("measured.json"))
    rows = {
        (row["profile"], row["kind"]): Row(
            row["direct"]["tokens"], row["direct"]["basis"], row["beyond"]["strategy"], row["beyond"]["basis"]
        )
        for row in table["rows"]
    }
    return Limits(table["comfortable"]["share"], rows)
