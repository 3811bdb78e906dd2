"""The tree of limits: a node spends from its own budget and from every ancestor's.

Contract: :meth:`Meter.take_call` is asked before a sub-call is sent and refuses it where a limit is
reached, naming whose limit it is; :meth:`Meter.settle` is told afterwards what it used. Unknown
cost makes the total unknown (``None``), never less.

>>> meter = Meter(Budget(calls=1))
>>> meter.take_call(); meter.take_call()
Traceback (most recent call last):
unspool.budget.OverBudget: the limit of 1 sub-call of the run is reached
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from .errors import ConfigError
from .types import LedgerLine, Role, Usage


@dataclass(frozen=True, slots=True)
class Budget:
    """Limits of a run; ``None`` is no limit. ``calls`` counts sub-calls, ``seconds`` wall time.

    Turns and depth are limited by ``max_turns`` and ``max_depth``.
    """

    calls: int | None = None
    seconds: float | None = None

    def __post_init__(self) -> None:
        if self.calls is not None and self.calls < 0:
            raise ConfigError(f"calls={self.calls}: a limit cannot be negative")
        if self.seconds is not None and not self.seconds > 0:
            raise ConfigError(f"seconds={self.seconds}: give a time above zero")


class OverBudget(Exception):
    """A limit is reached; the message names it and whose it is."""


class Meter:
    """What one node of the tree may spend and has spent, its descendants included."""

    def __init__(
        self,
        budget: Budget,
        *,
        parent: Meter | None = None,
        owner: str = "the run",
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.budget = budget
        self.parent = parent
        self.owner = owner
        self.calls = 0
        self._clock = clock
        self._started = clock()
        self._ledger: dict[tuple[Role, str], tuple[Usage, float | None]] = {}

    def take_call(self) -> None:
        """Counts one sub-call here and above, or raises :class:`OverBudget` and counts nothing."""
        line: list[Meter] = []
        meter: Meter | None = self
        while meter is not None:
            limit = meter.budget.calls
            if limit is not None and meter.calls >= limit:
                calls = "sub-call" if limit == 1 else "sub-calls"
                raise OverBudget(f"the limit of {limit:,} {calls} of {meter.owner} is reached")
            line.append(meter)
            meter = meter.parent
        for each in line:
            each.calls += 1

    def restore(
        self, replies: Iterable[tuple[Role, str, Usage, float | None]], calls: int, seconds: float
    ) -> None:
        """What the run had spent before it was resumed."""
        self.calls += calls
        self._started -= seconds
        for reply in replies:
            self.settle(*reply)

    def settle(self, role: Role, model: str, usage: Usage, cost: float | None) -> None:
        """Books what one call used, here and above."""
        meter: Meter | None = self
        while meter is not None:
            before = meter._ledger.get((role, model))
            if before is None:
                meter._ledger[role, model] = (usage, cost)
            else:
                known = before[1] is not None and cost is not None
                total = (before[1] or 0.0) + (cost or 0.0) if known else None
                meter._ledger[role, model] = (before[0] + usage, total)
            meter = meter.parent

    @property
    def ledger(self) -> tuple[LedgerLine, ...]:
        return tuple(LedgerLine(r, m, u, c) for (r, m), (u, c) in sorted(self._ledger.items()))

    @property
    def usage(self) -> Usage:
        return sum((line.usage for line in self.ledger), Usage())

    @property
    def cost(self) -> float | None:
        total = 0.0
        for line in self.ledger:
            if line.cost is None:
                return None
            total += line.cost
        return total

    @property
    def seconds(self) -> float:
        """Wall time since this meter was made."""
        return self._clock() - self._started

    def deadline(self) -> tuple[float, str] | None:
        """Seconds to the nearest time limit on the way up, and that limit in words."""
        nearest: tuple[float, str] | None = None
        meter: Meter | None = self
        while meter is not None:
            limit = meter.budget.seconds
            if limit is not None:
                rest = max(0.0, limit - meter.seconds)
                if nearest is None or rest < nearest[0]:
                    nearest = (rest, f"the time limit of {limit:g} s of {meter.owner}")
            meter = meter.parent
        return nearest

    def left(self) -> dict[str, float | int | None]:
        """What is left under the tightest limit on the way up; ``None`` where there is no limit."""
        calls: int | None = None
        meter: Meter | None = self
        while meter is not None:
            if meter.budget.calls is not None:
                here = max(0, meter.budget.calls - meter.calls)
                calls = here if calls is None else min(calls, here)
            meter = meter.parent
        deadline = self.deadline()
        return {"calls": calls, "seconds": None if deadline is None else round(deadline[0], 1)}
