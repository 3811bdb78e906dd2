"""One way to call any model: retries, a limit on what is open at once, timeouts, refusals.

Contract of :class:`Caller`: ``call`` returns a reply, or raises :class:`ModelError` for a call that
failed for good. What may help is sent again (408, 409, 429, 5xx, a lost connection, a timeout)
with a growing, jittered wait; where the server says how long to wait, that long. A prompt that
cannot fit the model's window is refused before it is sent. A reply without text or code is asked
for once more, then is the error ``empty``. ``reply.seconds`` runs from the first send to the reply,
waits included, without the time in the queue; ``reply.usage`` counts every attempt that was paid. A
:class:`Payer` is asked before each send, and told after it.

>>> import asyncio
>>> from unspool.models.protocol import Message, ModelRequest
>>> from unspool.testing import ScriptedModel
>>> caller = Caller(ScriptedModel(["hello"]), concurrency=8)
>>> asyncio.run(caller.call(ModelRequest((Message("user", "hi"),)))).text
'hello'
"""

from __future__ import annotations

import asyncio
import sys
from collections import Counter
from collections.abc import AsyncIterable, Callable, Mapping
from contextlib import AbstractContextManager
from dataclasses import replace
from time import perf_counter
from typing import Protocol

from ..errors import ModelError
from ..types import FailureKind, Finish, Usage, known_sum
from .gate import Gate
from .protocol import Model, ModelInfo, ModelReply, ModelRequest

BYTES_PER_TOKEN = 4  # more than most text has: what is refused with it surely does not fit
LONGEST_WAIT = 120.0  # a server that asks for a longer pause than this has failed the call
NO_SECOND_TRY: frozenset[Finish] = frozenset({"length", "filter"})


class Payer(Protocol):
    """Who pays for a call: after each ``reserve`` comes one of the other three, or nothing was sent."""

    async def reserve(self, request: ModelRequest, info: ModelInfo) -> ModelRequest:
        """Before a send. Gives the request to send, or raises where it may not be sent."""
        ...

    def served(self, usage: Usage, cost: float | None) -> None:
        """A reply came."""
        ...

    def refused(self) -> None:
        """The server did not do it."""
        ...

    def lost(self) -> None:
        """No whole reply came, and it may have been done."""
        ...


class Caller:
    """Calls one model. Share one between all users of the model, so that the limit holds.

    ``timeout`` (seconds) cuts each attempt, as ``request.timeout`` does; the smaller counts.
    ``attempts`` is how often a call that fails is sent; twice as often where the server asks to come
    later (429), about half as often where it hangs. ``backoff`` is the first wait in seconds; it doubles.
    """

    def __init__(
        self,
        model: Model,
        *,
        concurrency: int = 32,
        timeout: float | None = None,
        attempts: int = 6,
        backoff: float = 0.5,
    ) -> None:
        if concurrency < 1 or attempts < 1:
            raise ValueError("concurrency and attempts are at least 1")
        self.model = model
        self.gate = Gate(min(concurrency, model.info.parallel or concurrency))
        self._timeout = timeout
        self._attempts = attempts
        self._backoff = backoff

    @property
    def info(self) -> ModelInfo:
        return self.model.info

    async def close(self) -> None:
        await self.model.close()

    async def call(self, request: ModelRequest, payer: Payer | None = None) -> ModelReply:
        refuse_too_long(request, self.model.info)
        clock = _Clock()
        reply, retries = await self._reliably(request, payer, clock)
        if not reply.text.strip() and not reply.code:
            reply, retries = await self._not_empty(request, payer, clock, reply, retries)
        return replace(reply, seconds=clock.seconds(), retries=retries)

    async def _send(self, request: ModelRequest, payer: Payer | None, clock: _Clock) -> ModelReply:
        """Sends it once, when its turn has come: a call that waits for its next try is in nobody's way."""
        await self.gate.enter()
        try:
            clock.start()
            if payer is None:
                return await self._in_time(request)
            return await self._paid(await payer.reserve(request, self.model.info), payer)
        finally:
            self.gate.leave()

    async def _paid(self, request: ModelRequest, payer: Payer) -> ModelReply:
        try:
            reply = await self._in_time(request)
        except ModelError as error:
            if error.unsure:
                payer.lost()
            else:
                payer.refused()
            raise
        except BaseException:  # cancelled, or a bug of the model: it was sent
            payer.lost()
            raise
        payer.served(reply.usage, reply.cost)
        return reply

    async def _in_time(self, request: ModelRequest) -> ModelReply:
        seconds = request.timeout if self._timeout is None else min(request.timeout, self._timeout)
        try:
            async with asyncio.timeout(seconds):
                reply = await self.model.complete(request)
        except TimeoutError:
            name = self.model.info.name
            raise ModelError("timeout", f"{name} gave no reply within {seconds:g} s", model=name) from None
        self.gate.went_well()
        return reply

    async def _reliably(
        self, request: ModelRequest, payer: Payer | None, clock: _Clock
    ) -> tuple[ModelReply, int]:
        """A reply and how many retries it took."""
        try:
            return await self._send(request, payer, clock), 0
        except ModelError as error:
            if self._attempts == 1 or not _may_help(error):
                raise
            first = error
        # Only now does stamina come in: the way of a call that goes well stays short. Its first
        # attempt is the one that failed.
        retries = -1
        patience = _Patience(self.gate, self._attempts)
        async for attempt in _attempts(patience, self._attempts * 3, self._backoff):
            with attempt:
                retries += 1
                if retries == 0:
                    raise first
                return await self._send(request, payer, clock), retries
        raise AssertionError("unreachable: the last attempt returns or raises")

    async def _not_empty(
        self, request: ModelRequest, payer: Payer | None, clock: _Clock, empty: ModelReply, retries: int
    ) -> tuple[ModelReply, int]:
        """Ask once more where that may help; raise where the reply stays empty."""
        spent, cost = empty.usage, empty.cost
        if empty.finish not in NO_SECOND_TRY and self._attempts > 1:
            try:
                second, more = await self._reliably(request, payer, clock)
            except ModelError as error:
                if error.usage is None:
                    error.usage, error.cost = spent, cost
                else:
                    error.usage, error.cost = error.usage + spent, known_sum(error.cost, cost)
                raise
            spent, cost = spent + second.usage, known_sum(cost, second.cost)
            if second.text.strip() or second.code:
                return replace(second, usage=spent, cost=cost), retries + 1 + more
            empty = second
        name = self.model.info.name
        raise ModelError("empty", _why_empty(name, empty), model=name, usage=spent, cost=cost)


class _Clock:
    """The time since the first send of a call."""

    def __init__(self) -> None:
        self._started = 0.0

    def start(self) -> None:
        self._started = self._started or perf_counter()

    def seconds(self) -> float:
        return perf_counter() - self._started


class _Patience:
    """How long one call is tried. Called by stamina with each error: False gives up, a number is the wait.

    A server that says "later" is believed longer than one that fails, and one that hangs less long.
    """

    def __init__(self, gate: Gate, attempts: int) -> None:
        self._gate = gate
        self._most: Mapping[FailureKind, int] = {
            "rate_limit": 2 * attempts,
            "timeout": max(2, attempts // 2 + 1),
        }
        self._attempts = attempts
        self._seen: Counter[FailureKind] = Counter()

    def __call__(self, error: Exception) -> bool | float:
        if not isinstance(error, ModelError) or not _may_help(error):
            return False
        self._seen[error.kind] += 1
        if error.kind == "rate_limit":
            self._gate.pushed_back(error.retry_after)
        failed = self._seen.total() - self._seen["rate_limit"]
        if failed >= self._attempts or self._seen[error.kind] >= self._most.get(error.kind, self._attempts):
            return False
        return True if error.retry_after is None else error.retry_after


def refuse_too_long(request: ModelRequest, info: ModelInfo) -> None:
    """Raise ``too_long`` where the prompt cannot fit. The estimate is low: it never refuses in doubt."""
    if info.window is None:
        return
    size = sum(_bytes(message.text) for message in request.messages) // BYTES_PER_TOKEN
    if size > info.window:
        raise ModelError(
            "too_long",
            f"the prompt is about {size:,} tokens and {info.name} reads at most {info.window:,}: "
            "send slices of it, one call for each",
            model=info.name,
        )


def _bytes(text: str) -> int:
    return len(text) if text.isascii() else len(text.encode("utf-8", "surrogatepass"))


def _may_help(error: ModelError) -> bool:
    return error.retryable and (error.retry_after or 0.0) <= LONGEST_WAIT


def _why_empty(name: str, reply: ModelReply) -> str:
    if reply.finish == "filter":
        return f"{name} returned no text: its content filter stopped the reply"
    thought = ", only thinking" if reply.thinking or reply.usage.reasoning_tokens else ""
    if reply.finish == "length":
        return f"{name} reached its limit of tokens before any text{thought}: raise max_tokens"
    return f"{name} returned an empty reply{thought}"


def _attempts(
    hook: Callable[[Exception], bool | float], attempts: int, backoff: float
) -> AsyncIterable[AbstractContextManager[None]]:
    # stamina reports every retry to hooks of the whole process; by default they log, through
    # structlog to stdout where that is installed. A reply says how often it was retried, so where
    # the application does not use stamina itself, its hooks are off. Where it does, they are its own.
    ours_alone = "stamina" not in sys.modules
    import stamina

    if ours_alone:
        stamina.instrumentation.set_on_retry_hooks(())
    return stamina.retry_context(
        on=hook,
        attempts=attempts,
        timeout=None,
        wait_initial=backoff,
        wait_max=max(20.0, backoff),
        wait_jitter=backoff,
    )
