"""A model that answers from a list or a function, at once or after a given latency.

Contract: implements :class:`unspool.models.protocol.Model`. ``requests`` holds every request in
the order it came, ``peak`` the most that were open at once, ``cancelled`` how many were given up
by the caller. A list that runs out raises :class:`unspool.errors.ModelError` (``bad_request``, so
that nothing retries it) that says how many replies there were and what was asked.

>>> import asyncio
>>> from unspool.models.protocol import Message, ModelRequest
>>> echo = ScriptedModel(lambda messages: messages[-1].text.upper())
>>> asyncio.run(echo.complete(ModelRequest((Message("user", "hi"),)))).text
'HI'
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from typing import Literal

from ..errors import ModelError
from ..models.protocol import Delta, Message, ModelInfo, ModelReply, ModelRequest, Price
from ..types import Usage

Scripted = str | ModelReply | BaseException
"""One reply of the script: a text, a whole reply, or an exception to raise."""

ReplyFunction = Callable[[tuple[Message, ...]], "Scripted | Awaitable[Scripted]"]

_CHARACTERS_PER_TOKEN = 4


class ScriptedModel:
    """A model whose replies are given beforehand.

    ``replies`` is a list of texts, :class:`ModelReply` or exceptions, used up in order, or a
    function of the messages (plain or async). ``usage`` is what each reply reports: ``"estimate"``
    counts a token for four characters, ``None`` is a provider that reports nothing. ``cost``: of each
    reply in US dollars, a :class:`Price` that it is counted with, or ``None`` for an unknown one.
    ``pieces``: where somebody looks on, a reply is told of in pieces of so many characters.
    """

    def __init__(
        self,
        replies: Sequence[Scripted] | ReplyFunction,
        *,
        latency: float = 0.0,
        name: str = "scripted:model",
        profile: str = "frontier",
        window: int | None = None,
        parallel: int | None = None,
        usage: Usage | Literal["estimate"] | None = "estimate",
        cost: float | Price | None = 0.0,
        pieces: int | None = None,
    ) -> None:
        if isinstance(replies, str):
            raise TypeError("replies is a list of texts or a function; for one text pass [text]")
        self._function: ReplyFunction | None = replies if callable(replies) else None
        self._replies: tuple[Scripted, ...] = () if callable(replies) else tuple(replies)
        price = cost if cost is None or isinstance(cost, Price) else Price(call=cost)
        self._info = ModelInfo(name, profile=profile, window=window, parallel=parallel, price=price)
        self._latency = latency
        self._usage = usage
        self._pieces = pieces
        self._open = 0
        self._used = 0
        self.requests: list[ModelRequest] = []
        self.peak = 0
        self.cancelled = 0
        self.closed = False

    @property
    def info(self) -> ModelInfo:
        return self._info

    async def complete(self, request: ModelRequest) -> ModelReply:
        self.requests.append(request)
        self._open += 1
        self.peak = max(self.peak, self._open)
        try:
            scripted = await self._next(request)
            if self._latency:
                await asyncio.sleep(self._latency)
        except asyncio.CancelledError:
            self.cancelled += 1
            raise
        finally:
            self._open -= 1
        self._tell(request, scripted)
        if isinstance(scripted, str):
            return self._reply(request, scripted)
        if isinstance(scripted, ModelReply):
            return scripted
        if isinstance(scripted, BaseException):
            raise scripted
        raise TypeError(
            f"a scripted reply is a text, a ModelReply or an exception, not {type(scripted).__name__}"
        )

    async def close(self) -> None:
        self.closed = True

    def _tell(self, request: ModelRequest, scripted: Scripted) -> None:
        if request.on_delta is None or self._pieces is None:
            return
        reply = scripted.text if isinstance(scripted, ModelReply) else scripted
        if isinstance(reply, str):
            for start in range(0, len(reply), self._pieces):
                piece = reply[start : start + self._pieces]
                request.on_delta(Delta(piece, fresh=start == 0))

    async def _next(self, request: ModelRequest) -> Scripted:
        if self._function is not None:
            given = self._function(request.messages)
            return await given if isinstance(given, Awaitable) else given
        place = self._used
        self._used += 1
        if place < len(self._replies):
            return self._replies[place]
        last = request.messages[-1].text if request.messages else ""
        raise ModelError(
            "bad_request",
            f"ScriptedModel has no reply left: it was given {len(self._replies)} and this is request "
            f"{place + 1}, which ends with {last[-200:]!r}",
            model=self._info.name,
        )

    def _reply(self, request: ModelRequest, text: str) -> ModelReply:
        usage = self._usage
        if usage is None:
            usage = Usage(calls=1, calls_unmeasured=1)
        elif usage == "estimate":
            read = sum(len(message.text) for message in request.messages)
            usage = Usage(
                calls=1,
                input_tokens=-(-read // _CHARACTERS_PER_TOKEN),
                output_tokens=-(-len(text) // _CHARACTERS_PER_TOKEN),
            )
        price = self._info.price
        cost = None if price is None else price.of(usage)
        return ModelReply(text, "stop", usage, self._info.name, cost=cost, seconds=self._latency)
