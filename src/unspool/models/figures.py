"""What a model of anybody's says that a call took, as far as it can be so.

Contract: pure and total. A count is a whole number from 0 on, a cost a finite number of dollars from 0 on.
What is anything else (negative, NaN, text) is not known, and is told: a budget is never paid back by it.

>>> counted(Usage(1, -5, 20)).input_tokens, cost_of(float("nan"))
(None, None)
"""

from __future__ import annotations

import math
import operator
from collections.abc import Iterator, Sequence
from dataclasses import replace

from ..types import Usage
from .protocol import ModelReply

__all__ = ["cost_of", "count_of", "counted", "told_rightly", "with_wrong"]

_MOST = 10**15  # tokens of a call: more is a mistake, and would be too large for a price
_COUNTS = ("input_tokens", "output_tokens", "cached_tokens", "reasoning_tokens")


def count_of(told: object) -> int | None:
    """A number of tokens; ``None`` where it can be none."""
    if isinstance(told, bool):
        return None
    if isinstance(told, float):
        return int(told) if told.is_integer() and 0 <= told <= _MOST else None
    try:
        count = operator.index(told)  # type: ignore[arg-type]
    except TypeError:
        return None
    return count if 0 <= count <= _MOST else None


def cost_of(told: object) -> float | None:
    """US dollars; ``None`` where it can be no cost."""
    try:
        cost = float(told)  # type: ignore[arg-type]
    except (TypeError, ValueError, OverflowError):
        return None
    return cost if math.isfinite(cost) and cost >= 0 and not isinstance(told, str | bool) else None


def counted(usage: Usage) -> Usage:
    """The usage of one call with what cannot be so as not known."""
    found = {name: count_of(getattr(usage, name)) for name in _COUNTS}
    lost = any(found[name] is None and getattr(usage, name) is not None for name in _COUNTS[:2])
    calls, unmeasured = count_of(usage.calls), count_of(usage.calls_unmeasured)
    calls = 1 if calls is None else calls
    unmeasured = max(1 if unmeasured is None else unmeasured, int(lost))
    return Usage(calls=calls, calls_unmeasured=min(calls, unmeasured), **found)


def told_rightly(reply: ModelReply, name: str) -> ModelReply:
    """The reply with usage and cost that can be so, and a note where another was told."""
    if _can_be(reply.usage) and (
        (cost := reply.cost) is None or (type(cost) is float and 0 <= cost <= _MOST)
    ):
        return reply  # nearly all: to read each figure again takes longer than all else that is done here
    wrong = tuple(_wrong(reply))
    usage, cost = counted(reply.usage), cost_of(reply.cost)
    if not wrong:
        return replace(reply, usage=usage, cost=cost)
    return with_wrong(replace(reply, usage=usage, cost=cost), name, wrong)


def with_wrong(reply: ModelReply, name: str, wrong: Sequence[str]) -> ModelReply:
    """The reply with a note of the figures that were told and can be none; they are not in its usage."""
    usage = reply.usage
    if usage.input_tokens is None or usage.output_tokens is None:
        usage = replace(usage, calls_unmeasured=usage.calls)
    note = f"{name} told what no call can take ({', '.join(wrong)}): it counts as not known"
    return replace(reply, usage=usage, notes=(*reply.notes, note))


def _can_be(usage: Usage) -> bool:
    """Whether every count is one as it stands."""
    for count in (usage.input_tokens, usage.output_tokens, usage.cached_tokens, usage.reasoning_tokens):
        if count is not None and (type(count) is not int or not 0 <= count <= _MOST):
            return False
    calls, unmeasured = usage.calls, usage.calls_unmeasured
    return type(calls) is type(unmeasured) is int and 0 <= unmeasured <= calls <= _MOST


def _wrong(reply: ModelReply) -> Iterator[str]:
    told = {name: getattr(reply.usage, name) for name in (*_COUNTS, "calls", "calls_unmeasured")}
    for name, value in told.items():
        if value is not None and count_of(value) is None:
            yield f"{name} {str(value)[:40]}"
    if reply.cost is not None and cost_of(reply.cost) is None:
        yield f"cost {str(reply.cost)[:40]}"
