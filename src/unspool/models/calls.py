"""One way to call any model: retries, a limit on what is open at once, timeouts, refusals.

Contract of :class:`Caller`: ``call`` returns a reply, or raises :class:`ModelError` for a call that
failed for good. What may help is sent again (408, 409, 429, 5xx, a lost connection, a timeout)
with a growing, jittered wait; where the server says how long to wait, that long. A prompt that
cannot fit the model's window is refused before it is sent, and more than the model can write is not
asked for. A call that is told "too many" is not given up while other calls of the model go well. A
reply without text or code is asked for once more, with room for four times as much where it was cut (a
model may think all its tokens away), then is the error ``empty``. ``reply.seconds`` runs from the first
send to the reply, waits included, without the time in the queue; ``reply.usage`` counts every attempt
that was paid. A :class:`Payer` is asked before each send, and told after it.

>>> import asyncio
>>> from unspool.models.protocol import Message, ModelRequest
>>> from unspool.testing import ScriptedModel
>>> caller = Caller(ScriptedModel(["hello"]), concurrency=8)
>>> asyncio.run(caller.call(ModelRequest((Message("user", "hi"),)))).text
'hello'
"""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import AsyncIterable, Callable, Mapping
from contextlib import AbstractContextManager
from dataclasses import replace
from time import perf_counter
from typing import Protocol

from ..errors import MISTAKE_OF, ModelError
from ..foreign_errors import is_stop
from ..types import FailureKind, Usage, known_sum
from .figures import told_rightly
from .gate import Gate
from .in_time import in_time
from .protocol import Delta, Model, ModelInfo, ModelReply, ModelRequest, OnDelta, refuse_too_long
from .statuses import failure_of

LONGEST_WAIT = 120.0  # a server that asks for a longer pause than this has failed the call
LEAST_ROOM = 4096  # tokens for a reply whose limit was used up before any text
MORE_ROOM = 4


class Payer(Protocol):
    """Who pays for a call: after ``reserve`` comes ``served``, ``refused`` or ``lost``, if it was sent."""

    async def reserve(self, request: ModelRequest, info: ModelInfo) -> ModelRequest:
        """Before a send. Gives the request to send, or raises where it may not be sent."""
        ...

    def served(self, usage: Usage, cost: float | None) -> None:
        """A reply came."""
        ...

    def failed(self, error: ModelError) -> None:
        """What became of a send that failed; ``refused`` or ``lost`` says what it took."""
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

    @property
    def each(self) -> tuple[Caller, ...]:
        """The callers of a list of models; of one model, itself."""
        return (self,)

    async def close(self) -> None:
        await self.model.close()

    async def call(self, request: ModelRequest, payer: Payer | None = None) -> ModelReply:
        request = within_limits(request, self.model.info)
        clock = _Clock()
        reply = await self._reliably(request, payer, clock)
        if not reply.text.strip() and not reply.code:
            reply = await self._not_empty(request, payer, clock, reply)
        return reply.served(clock.seconds(), clock.sends - 1, self.model.info.name)

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
            payer.failed(error)
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
            reply = await in_time(self.model.complete(request), seconds)
        except ModelError:
            raise
        except TimeoutError:
            name = self.model.info.name
            raise ModelError("timeout", f"{name} gave no reply within {seconds:g} s", model=name) from None
        except Exception as error:
            if (failed := failure_of(error, self.model.info.name)) is not None:  # of a library that it asks
                raise failed from error
            self._mistake(error)
            raise
        except BaseException as error:
            if is_stop(error):
                raise
            # This is a thread, so nothing ends the program here; and nobody has stopped the call.
            what = f"{error!r} was raised in a model, where it cannot end the program"
            raise self._mistake(RuntimeError(what)) from error
        self.gate.went_well()
        return told_rightly(reply, self.model.info.name)

    def _mistake(self, error: Exception) -> Exception:
        """Of the model itself: it comes out of the run, and says whose it is."""
        error.add_note(f"{MISTAKE_OF}{self.model.info.name}")
        return error

    async def _reliably(self, request: ModelRequest, payer: Payer | None, clock: _Clock) -> ModelReply:
        while True:
            served = self.gate.served
            try:
                return await self._round(request, payer, clock)
            except ModelError as error:
                # Others got through meanwhile: so will this one. (With one attempt nothing waits between.)
                later = error.kind == "rate_limit" and self._attempts > 1
                if not later or self.gate.served == served or not _may_help(error):
                    raise

    async def _round(self, request: ModelRequest, payer: Payer | None, clock: _Clock) -> ModelReply:
        """As many attempts as a call has."""
        try:
            return await self._send(request, payer, clock)
        except ModelError as error:
            if self._attempts == 1 or not _may_help(error):
                raise
            first = [error]
        # Only now does stamina come in: the way of a call that goes well stays short. Its first
        # attempt is the one that failed.
        patience = _Patience(self.gate, self._attempts, request.on_delta)
        async for attempt in _attempts(patience, self._attempts * 3, self._backoff):
            with attempt:
                if first:
                    raise first.pop()
                return await self._send(request, payer, clock)
        raise AssertionError("unreachable: the last attempt returns or raises")

    async def _not_empty(
        self, request: ModelRequest, payer: Payer | None, clock: _Clock, empty: ModelReply
    ) -> ModelReply:
        """Ask once more where that may help; raise where the reply stays empty."""
        spent, cost, name = empty.usage, empty.cost, self.model.info.name
        again = _once_more(request, empty, self.model.info) if self._attempts > 1 else None
        if again is not None:
            try:
                second = await self._reliably(again, payer, clock)
            except ModelError as error:
                if error.kind == "bad_request" and again is not request:  # it does not take such a limit
                    raise ModelError(
                        "empty", _why_empty(name, empty, request), model=name, usage=spent, cost=cost
                    ) from None
                if error.usage is None:
                    error.usage, error.cost = spent, cost
                else:
                    error.usage, error.cost = error.usage + spent, known_sum(error.cost, cost)
                raise
            spent, cost = spent + second.usage, known_sum(cost, second.cost)
            if second.text.strip() or second.code:
                return replace(second, usage=spent, cost=cost)
            empty, request = second, again
        raise ModelError("empty", _why_empty(name, empty, request), model=name, usage=spent, cost=cost)


class _Clock:
    """The sends of a call, and the time since the first."""

    def __init__(self) -> None:
        self.sends = 0
        self._started = 0.0

    def start(self) -> None:
        self.sends += 1
        self._started = self._started or perf_counter()

    def seconds(self) -> float:
        return perf_counter() - self._started


class _Patience:
    """How long one call is tried. Called by stamina with each error: False gives up, a number is the wait.

    A server that says "later" is believed longer than one that fails, and one that hangs less long.
    Whoever looks on is told why it takes so long.
    """

    def __init__(self, gate: Gate, attempts: int, tell: OnDelta | None) -> None:
        self._gate = gate
        self._tell = tell
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
        if self._tell is not None:
            self._tell(Delta(trouble=str(error)))
        return True if error.retry_after is None else error.retry_after


def within_limits(request: ModelRequest, info: ModelInfo) -> ModelRequest:
    """The request, asking for no more than the model writes. Raises ``too_long`` where it cannot fit."""
    refuse_too_long(request, info)
    most = info.max_output
    if most is not None and request.max_tokens is not None and request.max_tokens > most:
        return replace(request, max_tokens=most)
    return request


def _once_more(request: ModelRequest, empty: ModelReply, info: ModelInfo) -> ModelRequest | None:
    """What to send after an empty reply; ``None`` where it would be as empty."""
    if empty.finish == "filter":
        return None
    if empty.finish != "length":
        return request
    had = request.max_tokens or empty.usage.output_tokens
    if had is None:
        return None
    room = max(LEAST_ROOM, MORE_ROOM * had)
    if info.max_output is not None:
        room = min(room, info.max_output)
    return replace(request, max_tokens=room) if room > had else None


def _may_help(error: ModelError) -> bool:
    return error.retryable and (error.retry_after or 0.0) <= LONGEST_WAIT


def _why_empty(name: str, reply: ModelReply, request: ModelRequest) -> str:
    if reply.finish == "filter":
        return f"{name} returned no text: its content filter stopped the reply"
    thought = ", only thinking" if reply.thinking or reply.usage.reasoning_tokens else ""
    if reply.finish == "length":
        limit = f"its limit of {request.max_tokens:,} tokens" if request.max_tokens else "its limit of tokens"
        return f"{name} reached {limit} before any text{thought}: raise max_tokens"
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
