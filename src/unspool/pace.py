"""How a node paces itself: it keeps enough for one more turn, and knows when the last one has come.

Contract: one :class:`Pace` a node, told of every reply and every turn. What sub-calls may spend leaves
room for the node's own next turn, so that a run ends with an answer to submit and not in the middle.
``next_is_last`` is asked after a turn: a limit is so near that the turn after the next one might not
be paid for, or would come too late. The model is told so once, and gets that one turn.

>>> from unspool.budget import Budget
>>> pace = Pace(Meter(Budget(calls=9)), max_turns=3)
>>> pace.next_is_last(1), pace.next_is_last(2), pace.left(2)
(None, 'all 3 turns are used', 'Budget left: 1 of 3 turns.')
"""

from __future__ import annotations

from collections.abc import Sequence
from time import monotonic

from .budget import LOW, NOTHING, Amount, Meter
from .models.protocol import FREE, Message, ModelInfo, ModelReply
from .purse import PER_MESSAGE, Purse, messages_tokens, worst_case
from .types import Limit

SHOWN = 2_048  # tokens that the outcome of a turn is taken to have
REPLY = 512  # and its reply: what may be needed is not what is usual
KEPT = 1 / 4  # of a limit at most: the rest is for sub-calls
LATE = 1 / 20  # of a time limit: too short for another turn after the next


class Pace:
    """What is left for a node's own turns."""

    def __init__(self, meter: Meter, *, max_turns: int) -> None:
        self._meter = meter
        self._max_turns = max_turns
        self._kept = NOTHING
        self.limit: Limit = "turns"  # for which a turn is the last
        self._measured: tuple[int, int] | None = None  # messages, and the most tokens they have
        self._began = monotonic()
        self._price = FREE

    def purse(self, history: Sequence[Message], info: ModelInfo) -> Purse:
        """What pays for the next reply; what was kept for it is free for it."""
        self._began = monotonic()
        self._price = info.price or FREE
        self.give_back()
        return Purse(self._meter, "root", info.name, known=self._size(history))

    def replied(self, history: Sequence[Message], reply: ModelReply) -> None:
        """Learns the size of the history from the reply, and keeps what one more turn may take."""
        read, written = reply.usage.input_tokens, reply.usage.output_tokens
        self._measured = None
        if read is not None and written is not None and reply.usage.calls == 1 and not reply.code:
            self._measured = (len(history) + 1, read + written + PER_MESSAGE)
        if self._meter.counts_tokens and self._measured is not None:
            amount = worst_case(self._measured[1] + SHOWN, REPLY, self._price)
            tokens, usd = self._meter.limit("tokens"), self._meter.limit("usd")
            amount = Amount(
                0,
                amount.tokens if tokens is None else min(amount.tokens, int(tokens * KEPT)),
                amount.usd if usd is None else min(amount.usd, usd * KEPT),
            )
            if self._meter.block(amount) is None:
                self._keep(amount)

    def next_is_last(self, turn: int, history: Sequence[Message] = (), printed: int = 0) -> str | None:
        """Why the turn after ``turn`` is the last, if it is. ``printed``: characters that come on top."""
        if turn >= self._max_turns - 1:
            self.limit = "turns"
            return f"all {self._max_turns} turns are used"
        deadline = self._meter.deadline()
        limit = self._meter.limit("seconds")
        if deadline is not None and limit is not None:
            rest, words = deadline
            if rest < max(monotonic() - self._began, limit * LATE):
                self.limit = "seconds"
                return f"{words} is nearly reached"
        if self._meter.counts_tokens:
            self.give_back()
            size = printed + (self._size(history) or messages_tokens(history))
            blocked = self._meter.block(worst_case(2 * size + SHOWN, 2 * REPLY, self._price))
            if blocked is not None:
                self.limit = blocked.limit
                return f"{blocked.words} is nearly reached"
        return None

    def left(self, turn: int) -> str:
        """One line on the limits of which less than a third is left; nothing where there is more."""
        told = list(self._meter.low())
        turns = self._max_turns - turn
        if turns < self._max_turns * LOW or turns == 1:
            told.append(f"{turns} of {self._max_turns} turns")
        return f"Budget left: {', '.join(told)}." if told else ""

    def give_back(self) -> None:
        """Nothing is kept any more."""
        self._keep(Amount(0, -self._kept.tokens, -self._kept.usd))
        self._kept = NOTHING

    def _keep(self, amount: Amount) -> None:
        self._meter.keep(amount)
        self._kept += amount

    def _size(self, history: Sequence[Message]) -> int | None:
        """The most tokens the history has, where the last reply measured its beginning."""
        if self._measured is None:
            return None
        count, tokens = self._measured
        return tokens + messages_tokens(history[count:])
