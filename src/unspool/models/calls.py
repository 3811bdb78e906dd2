"""One way to call any model: retries, a limit on what is open at once, timeouts, refusals.

Contract of :class:`Caller`: ``call`` returns a reply, or raises :class:`ModelError` for a call that
failed for good. What may help is sent again (408, 409, 429, 5xx, a lost connection, a timeout)
with a growing, jittered wait; where the server says how long to wait, that long. A prompt that
cannot fit the model's window is refused before it is sent. A reply without text or code is asked
for once more, then is the error ``empty``. ``reply.seconds`` runs from the first send to the reply,
waits included, without the time in the queue; ``reply.usage`` counts every attempt that was paid.

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
from collections.abc import AsyncIterable, Callable
from contextlib import AbstractContextManager
from dataclasses import replace
from time import perf_counter

from ..errors import ModelError
from ..types import Finish
from .gate import Gate
from .protocol import Model, ModelInfo, ModelReply, ModelRequest

BYTES_PER_TOKEN = 4  # more than most text has: what is refused with it surely does not fit
LONGEST_WAIT = 120.0  # a server that asks for a longer pause than this has failed the call
NO_SECOND_TRY: frozenset[Finish] = frozenset({"length", "filter"})


class Caller:
    """Calls one model. Share one between all users of the model, so that the limit holds.

    ``timeout`` (seconds) cuts each attempt, as ``request.timeout`` does; the smaller counts.
    ``attempts`` counts all sends of a call. ``backoff`` is the first wait in seconds; it doubles.
    """

    def __init__(
        self,
        model: Model,
        *,
        concurrency: int = 32,
        timeout: float | None = None,
        attempts: int = 4,
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

    async def call(self, request: ModelRequest) -> ModelReply:
        refuse_too_long(request, self.model.info)
        gate = self.gate
        await gate.enter()
        started = perf_counter()
        try:
            reply, retries = await self._reliably(request)
            if not reply.text.strip() and not reply.code:
                reply, retries = await self._not_empty(request, reply, retries)
        finally:
            gate.leave()
        return replace(reply, seconds=perf_counter() - started, retries=retries)

    async def _send(self, request: ModelRequest) -> ModelReply:
        seconds = request.timeout if self._timeout is None else min(request.timeout, self._timeout)
        try:
            async with asyncio.timeout(seconds):
                reply = await self.model.complete(request)
        except TimeoutError:
            name = self.model.info.name
            raise ModelError("timeout", f"{name} gave no reply within {seconds:g} s", model=name) from None
        self.gate.went_well()
        return reply

    async def _reliably(self, request: ModelRequest) -> tuple[ModelReply, int]:
        """A reply and how many retries it took."""
        try:
            return await self._send(request), 0
        except ModelError as error:
            if self._attempts == 1 or not _may_help(error):
                raise
            first = error
        # Only now does stamina come in: the way of a call that goes well stays short. Its first
        # attempt is the one that failed.
        retries = -1
        async for attempt in _attempts(self._wait_before_retry, self._attempts, self._backoff):
            with attempt:
                retries += 1
                if retries == 0:
                    raise first
                await self.gate.resumed()
                return await self._send(request), retries
        raise AssertionError("unreachable: the last attempt returns or raises")

    def _wait_before_retry(self, error: Exception) -> bool | float:
        """stamina's hook: False gives up, a number is the wait, True leaves the wait to it."""
        if not isinstance(error, ModelError) or not _may_help(error):
            return False
        if error.kind == "rate_limit":
            self.gate.pushed_back(error.retry_after)
        return True if error.retry_after is None else error.retry_after

    async def _not_empty(
        self, request: ModelRequest, empty: ModelReply, retries: int
    ) -> tuple[ModelReply, int]:
        """Ask once more where that may help; raise where the reply stays empty."""
        spent, cost = empty.usage, empty.cost
        if empty.finish not in NO_SECOND_TRY and self._attempts > 1:
            try:
                second, more = await self._reliably(request)
            except ModelError as error:
                if error.usage is None:
                    error.usage, error.cost = spent, cost
                else:
                    error.usage, error.cost = error.usage + spent, _sum(error.cost, cost)
                raise
            spent, cost = spent + second.usage, _sum(cost, second.cost)
            if second.text.strip() or second.code:
                return replace(second, usage=spent, cost=cost), retries + 1 + more
            empty = second
        name = self.model.info.name
        raise ModelError("empty", _why_empty(name, empty), model=name, usage=spent, cost=cost)


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


def _sum(a: float | None, b: float | None) -> float | None:
    return None if a is None or b is None else a + b


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
