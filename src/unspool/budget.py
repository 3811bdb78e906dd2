"""The tree of limits: a node spends from its own budget and from every ancestor's.

Contract of :class:`Meter`: what a call may take is held before it is sent (:meth:`Meter.hold`) and
what it took is booked after (:meth:`Meter.book`), here and on every ancestor; :meth:`Meter.block`
says which limit stands in the way of an amount. What may have been spent and is not known (a call
cut off, a reply without usage) counts as its worst case against the limits, and is in no figure
that is reported. Unknown cost makes the total unknown (``None``), never less. One event loop.

>>> meter = Meter(Budget(calls=1))
>>> meter.block(Amount(calls=1)) is None
True
>>> meter.book(Amount(calls=1)); meter.block(Amount(calls=1)).words
'the limit of 1 sub-call of the run'
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, fields

from .checks import fields_alone, number
from .errors import WrongSetting
from .money import money
from .types import LedgerLine, Limit, Role, Usage, known_sum

Reply = tuple[Role, str, Usage, float | None]
"""What a reply was paid with: role and model, usage, cost."""

LOW = 1 / 3  # the model is told what is left of a limit from here on
_ROUNDING = 1e-9  # dollars: sums of floats are not exact


@fields_alone
@dataclass(frozen=True, slots=True)
class Budget:
    """Limits of a run and of every node in it; ``None`` is no limit.

    ``usd`` (US dollars) and ``tokens`` (read and written) count every model call of the tree,
    ``calls`` its sub-calls, ``seconds`` the run's wall time. ``turns`` and ``depth`` are what
    ``RLM(max_turns=, max_depth=)`` set: replies per node, levels of children. The tighter holds.
    """

    usd: float | None = None
    tokens: int | None = None
    calls: int | None = None
    seconds: float | None = None
    turns: int | None = None
    depth: int | None = None

    def __post_init__(self) -> None:
        for name, least in (("tokens", 1), ("calls", 0), ("turns", 1), ("depth", 0)):
            if (value := getattr(self, name)) is not None:
                number(name, value, least, whole=True)
        if self.usd is not None:
            number("usd", self.usd, 0)
        if self.seconds is not None and (type(self.seconds) not in (int, float) or not self.seconds > 0):
            raise WrongSetting("seconds", self.seconds, "give a time above zero")

    def within(self, other: Budget) -> Budget:
        """The tighter of each limit of both.

        >>> Budget(usd=1.0, calls=10).within(Budget(calls=20, turns=4))
        Budget(usd=1.0, tokens=None, calls=10, seconds=None, turns=4, depth=None)
        """
        limits = {f.name: (getattr(self, f.name), getattr(other, f.name)) for f in fields(self)}
        return Budget(
            **{name: min((x for x in two if x is not None), default=None) for name, two in limits.items()}
        )

    @property
    def counts_tokens(self) -> bool:
        """Whether a call has to be sized before it is sent."""
        return self.usd is not None or self.tokens is not None


@dataclass(frozen=True, slots=True)
class Amount:
    """What a call takes, or may take."""

    calls: int = 0
    tokens: int = 0
    usd: float = 0.0

    def __add__(self, other: Amount) -> Amount:
        return Amount(self.calls + other.calls, self.tokens + other.tokens, self.usd + other.usd)

    def __sub__(self, other: Amount) -> Amount:
        return Amount(self.calls - other.calls, self.tokens - other.tokens, self.usd - other.usd)


NOTHING = Amount()
NO_USAGE = Usage()


@dataclass(frozen=True, slots=True)
class Block:
    """A limit that stands in the way, in words. ``passes``: what other calls hold may come free."""

    words: str
    passes: bool
    limit: Limit


@dataclass(slots=True)
class _Account:
    """What one model in one role was paid, while it goes on."""

    usage: Usage = NO_USAGE
    cost: float | None = 0.0
    reused: Usage = NO_USAGE
    reused_cost: float | None = 0.0


class OverBudget(Exception):
    """A limit is reached; the message names it and whose it is. ``limit`` None: a REPL has told of it."""

    def __init__(self, message: str, limit: Limit | None) -> None:
        super().__init__(message)
        self.limit = limit


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
        self.spent = NOTHING  # booked, and the worst case of what is not known
        self.held = NOTHING  # by calls that are under way
        self.kept = NOTHING  # for the node's next turn
        self.overrun = NOTHING  # the most that a call has taken beyond what was held for it
        self.trouble: str | None = None  # why a call had failed that was cut off while it was tried again
        self.unsure = 0  # sends that had no whole reply
        self.charged = 0  # those of them for which a provider may charge
        # Where no limit here or above counts an amount, there is nothing to hold or to book.
        self.counts_tokens: bool = budget.counts_tokens or (parent is not None and parent.counts_tokens)
        self.counts: bool = (
            self.counts_tokens or budget.calls is not None or (parent is not None and parent.counts)
        )
        self._clock = clock
        self._started = clock()
        self._ledger: dict[tuple[Role, str], _Account] = {}
        self._waiting: list[asyncio.Future[None]] = []

    def _up(self) -> Iterator[Meter]:
        meter: Meter | None = self
        while meter is not None:
            yield meter
            meter = meter.parent

    # Limits

    def block(self, amount: Amount) -> Block | None:
        """The limit that ``amount`` would go over, the nearest first; ``None`` where it fits."""
        if not self.counts:
            return None
        passing: Block | None = None
        for meter in self._up():
            taken = meter.spent + meter.kept
            for limit, name, words in meter._limits():
                asked = getattr(taken, name) + getattr(amount, name)
                if getattr(amount, name) and asked + getattr(meter.held, name) > limit + _ROUNDING:
                    passes = asked <= limit + _ROUNDING
                    if not passes:
                        return Block(words, False, name)
                    passing = passing or Block(words, True, name)
        return passing

    def limit(self, name: str) -> float | None:
        """The tightest limit of this name on the way up."""
        limits = (getattr(meter.budget, name) for meter in self._up())
        return min((limit for limit in limits if limit is not None), default=None)

    def free(self, name: str) -> float | None:
        """What is left of ``usd``, ``tokens`` or ``calls`` under the tightest limit on the way up."""
        rest: float | None = None
        for meter in self._up():
            limit = getattr(meter.budget, name)
            if limit is not None:
                taken = meter.spent + meter.held + meter.kept
                here = max(0, limit - getattr(taken, name))
                rest = here if rest is None else min(rest, here)
        return rest

    def _limits(self) -> Iterator[tuple[float, Limit, str]]:
        """Each limit of this meter: the number, its name, and its words."""
        budget = self.budget
        if budget.usd is not None:
            yield budget.usd, "usd", f"the limit of ${budget.usd:g} of {self.owner}"
        if budget.tokens is not None:
            yield budget.tokens, "tokens", f"the limit of {budget.tokens:,} tokens of {self.owner}"
        if budget.calls is not None:
            noun = "sub-call" if budget.calls == 1 else "sub-calls"
            yield budget.calls, "calls", f"the limit of {budget.calls:,} {noun} of {self.owner}"

    # Before and after a call

    def hold(self, amount: Amount) -> None:
        """For a call that goes out now."""
        for meter in self._up():
            meter.held += amount

    def release(self, amount: Amount) -> None:
        """What was held is held no more; who waits for that looks again."""
        if amount == NOTHING:
            return
        for meter in self._up():
            meter.held -= amount
            waiting, meter._waiting = meter._waiting, []
            for ticket in waiting:
                if not ticket.done():
                    ticket.set_result(None)

    async def released(self) -> None:
        """Wait until any call of the tree gives back what it held."""
        ticket: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        for meter in self._up():
            meter._waiting = [t for t in meter._waiting if not t.done()]
            meter._waiting.append(ticket)
        await ticket

    def keep(self, amount: Amount) -> None:
        """Sets aside (below zero: gives back) what this node's next turn needs."""
        for meter in self._up():
            meter.kept += amount

    def book(self, amount: Amount) -> None:
        """Counts against the limits."""
        if not self.counts:
            return
        for meter in self._up():
            meter.spent += amount

    def learn(self, beyond: Amount) -> None:
        """A call took more than its worst case: its size or its price is not what was thought."""
        for meter in self._up():
            tokens, usd = max(meter.overrun.tokens, beyond.tokens), max(meter.overrun.usd, beyond.usd)
            meter.overrun = Amount(0, tokens, usd)

    def lose(self, *, charged: bool) -> None:
        """Notes a send that had no whole reply: what it took is not known. ``charged``: nor what it cost."""
        for meter in self._up():
            meter.unsure += 1
            meter.charged += charged

    def cut(self, trouble: str) -> None:
        """Notes why a call had failed that was cut off while it was tried again."""
        for meter in self._up():
            meter.trouble = trouble

    # What was paid

    def restore(self, replies: Iterable[Reply], reused: Iterable[Reply], calls: int, seconds: float) -> None:
        """What the run had spent before it was resumed."""
        self._started -= seconds
        self.book(Amount(calls))
        for role, model, usage, cost in replies:
            self.settle(role, model, usage, cost)
            self.book(Amount(0, (usage.input_tokens or 0) + (usage.output_tokens or 0), cost or 0.0))
        for reply in reused:
            self.reuse(*reply)

    def settle(self, role: Role, model: str, usage: Usage, cost: float | None) -> None:
        """Enters what a reply was paid with into the ledger, here and above."""
        for meter in self._up():
            account = meter._account(role, model)
            account.usage += usage
            account.cost = known_sum(account.cost, cost)

    def reuse(self, role: Role, model: str, usage: Usage, cost: float | None) -> None:
        """Enters what a reply that was known had been paid with."""
        for meter in self._up():
            account = meter._account(role, model)
            account.reused += usage
            account.reused_cost = known_sum(account.reused_cost, cost)

    def _account(self, role: Role, model: str) -> _Account:
        account = self._ledger.get((role, model))
        if account is None:
            account = self._ledger[role, model] = _Account()
        return account

    @property
    def ledger(self) -> tuple[LedgerLine, ...]:
        return tuple(
            LedgerLine(role, model, each.usage, each.cost, each.reused, each.reused_cost)
            for (role, model), each in sorted(self._ledger.items(), key=lambda item: item[0])
        )

    @property
    def total(self) -> LedgerLine:
        """The lines of the ledger as one; its role and model mean nothing."""
        return sum(self.ledger, LedgerLine("root", "", Usage(), 0.0))

    # Time, and what is told to the model

    @property
    def seconds(self) -> float:
        """Wall time since this meter was made."""
        return self._clock() - self._started

    def deadline(self) -> tuple[float, str] | None:
        """Seconds to the nearest time limit on the way up, and that limit in words."""
        nearest: tuple[float, str] | None = None
        for meter in self._up():
            limit = meter.budget.seconds
            if limit is not None:
                rest = max(0.0, limit - meter.seconds)
                if nearest is None or rest < nearest[0]:
                    nearest = (rest, f"the time limit of {limit:g} s of {meter.owner}")
        return nearest

    def left(self) -> dict[str, float | int | None]:
        """What is left under the tightest limit on the way up; ``None`` where there is no limit."""
        usd, deadline = self.free("usd"), self.deadline()
        return {
            "usd": None if usd is None else round(usd, 6),
            "tokens": self.free("tokens"),
            "calls": self.free("calls"),
            "seconds": None if deadline is None else round(deadline[0], 1),
        }

    def low(self) -> Iterator[str]:
        """What is left of each limit of which less than a third is, in words."""
        told: set[str] = set()
        for meter in self._up():
            for field in fields(Budget):
                limit = getattr(meter.budget, field.name)
                if limit is None or field.name in told or field.name in ("turns", "depth"):
                    continue
                rest = limit - meter.seconds if field.name == "seconds" else self.free(field.name)
                if rest is not None and rest < limit * LOW:
                    told.add(field.name)
                    yield _words(field.name, max(0.0, rest), limit)


def _words(name: str, rest: float, limit: float) -> str:
    match name:
        case "usd":
            return f"{money(rest)} of ${limit:g}"
        case "seconds":
            return f"{rest:.0f} of {limit:g} s"
        case "tokens":
            return f"{rest:,.0f} of {limit:,} tokens"
        case _:
            return f"{rest:.0f} of {limit:,} sub-calls"
