"""What pays for the sends of one model call: holds the worst case before, books what it took after.

Contract: a purse is for one call of a node. Entering it takes a sub-call from the budget; leaving it
gives that back where nothing was sent. It is what :class:`unspool.models.calls.Caller` asks before
each send and tells after it. A send that the server refused is free; one that was served, or may have
been, counts, and so does asking again after it. ``usage`` and ``cost`` are what the call was paid with,
the same figures that are in the ledger.

The worst case is a token for each byte of the prompt (no tokenizer makes more) and every token that
the reply may have. A call that does not fit beside those under way waits for them; alone, it is
sent with room for a shorter reply; where that is too short it is refused (:class:`OverBudget`).

>>> import asyncio
>>> from unspool.budget import Budget
>>> with Purse(Meter(Budget(tokens=10)), "sub", "scripted:model") as purse:
...     asyncio.run(purse.reserve(ModelRequest((Message("user", "hi"),)), ModelInfo("scripted:model")))
Traceback (most recent call last):
unspool.budget.OverBudget: the limit of 10 tokens of the run has no room for a call of 74 tokens and a reply
"""

from __future__ import annotations

import asyncio
import json
import math
from collections.abc import Callable, Iterable
from dataclasses import replace
from types import TracebackType
from typing import Self

from .budget import NO_USAGE, NOTHING, Amount, Meter, OverBudget
from .errors import ModelError
from .images import Image
from .models.protocol import FREE, PROGRAM, Message, ModelInfo, ModelRequest, Price
from .types import Role, Usage, known_sum

MOST_REPLY = 8_192  # tokens of a reply under a limit, where the request does not say
USUAL_REPLY = 1_024  # a limit, however small, has replies of this size
LEAST_REPLY = 256  # a call that can have no more than this is not worth sending
SHARE = 32  # a limit is to be enough for so many replies at once
PER_MESSAGE = 8  # tokens around a message
PER_IMAGE = 2_000  # tokens of any image
PIXELS_PER_TOKEN = 256
PER_PROMPT = 64  # what a chat template may add
_ONE, _ONE_LESS = Amount(calls=1), Amount(calls=-1)


class Purse:
    """Pays for one call.

    ``known`` is the most tokens its prompt has, where that is known better. ``check`` is called when
    the turn of a send has come, and raises where nothing more is to be sent.
    """

    def __init__(
        self,
        meter: Meter,
        role: Role,
        model: str,
        *,
        known: int | None = None,
        check: Callable[[], None] | None = None,
    ) -> None:
        self.usage = NO_USAGE
        self.cost: float | None = 0.0
        self._meter = meter
        self._role: Role = role
        self._model = model
        self._known = known
        self._check = check
        self.sent = False  # something went out
        self._taken = False  # a sub-call that no served send has used yet
        self._unsent = False  # and that went out with none yet
        self._held = NOTHING
        self._trouble: str | None = None  # why the last send failed
        self._charged = True  # a provider may charge for it

    def __enter__(self) -> Self:
        self._take()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._unsent and self._role == "sub":
            self._meter.book(_ONE_LESS)
        if self._trouble is not None and isinstance(error, asyncio.CancelledError | OverBudget):
            self._meter.cut(self._trouble)

    def _take(self) -> None:
        """Only sub-calls are counted as calls: a node's own are its turns."""
        if self._role == "sub":
            blocked = self._meter.block(_ONE)
            if blocked is not None:
                raise OverBudget(f"{blocked.words} is reached", blocked.limit)
            self._meter.book(_ONE)
        self._taken = self._unsent = True

    # What the Caller tells

    async def reserve(self, request: ModelRequest, info: ModelInfo) -> ModelRequest:
        """Before a send: holds its worst case. Gives the request to send, its reply bounded."""
        if self._check is not None:
            self._check()
        self._model = info.name  # of a list of models, the one that is asked
        self._charged = info.price != FREE and not info.name.startswith(PROGRAM)
        if not self._taken:
            self._take()
        if self._meter.counts_tokens:
            request = await self._room(request, info)
        self._unsent, self.sent = False, True
        return request

    def served(self, usage: Usage, cost: float | None) -> None:
        """A reply came. What it does not report counts as the worst case."""
        self._trouble = None
        self._meter.settle(self._role, self._model, usage, cost)
        self.usage = self.usage + usage if self.usage.calls else usage
        self.cost = known_sum(self.cost, cost)
        self._taken = False
        if self._held is NOTHING:
            return
        tokens = self._held.tokens
        if usage.input_tokens is not None and usage.output_tokens is not None:
            tokens = usage.input_tokens + usage.output_tokens
        took = Amount(0, tokens, self._held.usd if cost is None else cost)
        if took.tokens > self._held.tokens or took.usd > self._held.usd:
            self._meter.learn(took - self._held)
        self._close(took)

    def failed(self, error: ModelError) -> None:
        """Why the last send failed: where the call is cut off before it is sent again, the run says so."""
        self._trouble = error.message

    def refused(self) -> None:
        """The server did nothing: what was held is free, and the next send is the same call."""
        self._meter.release(self._held)
        self._held = NOTHING

    def lost(self) -> None:
        """No whole reply came, and the server may have worked for it: the worst case counts."""
        self._meter.lose(charged=self._charged)
        self._close(self._held)

    def _close(self, took: Amount) -> None:
        self._taken = False
        self._meter.book(took)
        self._meter.release(self._held)
        self._held = NOTHING

    # Room for the worst case

    async def _room(self, request: ModelRequest, info: ModelInfo) -> ModelRequest:
        price = info.price or FREE  # a limit in dollars is refused at the start where it is not known
        prompt = prompt_tokens(request) if self._known is None else self._known
        most = self._most_reply(request, info, price)
        while (blocked := self._meter.block(self._worst(prompt, most, price))) is not None:
            if not blocked.passes:  # even alone: perhaps a shorter reply does
                blocked = self._meter.block(self._worst(prompt, min(most, LEAST_REPLY), price))
            if blocked is None:
                most = self._reply_that_fits(prompt, price)
            elif blocked.passes:
                await self._meter.released()
            else:
                room = f"has no room for a call of {prompt:,} tokens and a reply"
                raise OverBudget(f"{blocked.words} {room}", blocked.limit)
        amount = self._worst(prompt, most, price)
        self._meter.hold(amount)
        self._held = amount
        return replace(request, max_tokens=most)

    def _worst(self, prompt: int, reply: int, price: Price) -> Amount:
        return worst_case(prompt, reply, price) + self._meter.overrun

    def _most_reply(self, request: ModelRequest, info: ModelInfo, price: Price) -> int:
        """What the request says, else a share of the limit, so that many calls fit beside each other."""
        if request.max_tokens is not None:
            return request.max_tokens
        share = min(MOST_REPLY, info.max_output or MOST_REPLY)
        for limit, rate in ((self._meter.limit("tokens"), 1.0), (self._meter.limit("usd"), price.written)):
            if limit is not None and rate:
                share = min(share, max(USUAL_REPLY, int(limit / rate / SHARE)))
        return share

    def _reply_that_fits(self, prompt: int, price: Price) -> int:
        fits = math.inf
        tokens, usd = self._meter.free("tokens"), self._meter.free("usd")
        more = self._meter.overrun
        if tokens is not None:
            fits = tokens - prompt - more.tokens
        if usd is not None and price.written:
            fits = min(fits, (usd - price.call - prompt * price.read - more.usd) / price.written)
        return MOST_REPLY if fits == math.inf else int(fits)


def prompt_tokens(request: ModelRequest) -> int:
    """The most tokens that a prompt can have."""
    schema = 0 if request.schema is None else len(json.dumps(request.schema, default=str))
    return PER_PROMPT + messages_tokens(request.messages) + schema


def messages_tokens(messages: Iterable[Message]) -> int:
    return sum(
        len(m.text.encode("utf-8", "surrogatepass")) + PER_MESSAGE + sum(map(image_tokens, m.images))
        for m in messages
    )


def image_tokens(image: Image) -> int:
    """The most tokens that an image may be: services count by its pixels, each in a way of its own."""
    return PER_IMAGE + image.width * image.height // PIXELS_PER_TOKEN


def worst_case(prompt: int, reply: int, price: Price) -> Amount:
    """What a call may take at most."""
    return Amount(0, prompt + reply, price.call + prompt * price.read + reply * price.written)
