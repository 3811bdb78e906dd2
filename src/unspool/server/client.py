"""A client at the other end: its body read within bounds, its reply written, its going away noticed.

Contract: :class:`Incoming` never holds more than the limit and never waits longer than it says.
:func:`while_there` ends the work as soon as the client is gone, in any way that the connection tells.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable, Coroutine
from typing import cast

from starlette.types import Message, Receive, Scope, Send

from .problems import Problem

BEAT = b": still at work\n\n"  # a comment: clients pass over it, and no proxy takes the silence for the end


DRAIN_SECONDS = 10.0


class Gone(Exception):
    """The client is not there any more, or does not read."""


class Incoming:
    """The body of one request, read once, within bounds."""

    def __init__(self, receive: Receive, scope: Scope) -> None:
        self._receive = receive
        self._headers = dict(scope["headers"])
        self._closes = (
            self._headers.get(b"connection", b"").lower() == b"close" or scope["http_version"] == "1.0"
        )
        self._done = False

    async def read(self, *, limit: int, piece: float, whole: float) -> bytearray:
        """All of it. ``piece`` and ``whole``: seconds for the next piece and for the whole."""
        size = self._headers.get(b"content-length", b"")
        if size.isdigit() and int(size) > limit:
            raise too_large(limit)
        body = bytearray()
        try:
            async with asyncio.timeout(whole):
                while not self._done:
                    async with asyncio.timeout(piece):
                        body += await self._next()
                    if len(body) > limit:
                        raise too_large(limit)
        except TimeoutError:
            self._done = True
            message = "the body did not come in time: send it again"
            raise Problem(408, message, code="body_timeout", headers={"Connection": "close"}) from None
        return body

    async def drain(self) -> None:
        """Before a refusal: where the connection closes with it, what is still on its way would tear it off,
        and the client would never read it."""
        if self._done or not self._closes or b"expect" in self._headers:
            return
        try:
            async with asyncio.timeout(DRAIN_SECONDS):
                while not self._done:
                    await self._next()
        except TimeoutError:
            return

    async def _next(self) -> bytes:
        message = await self._receive()
        if message["type"] == "http.disconnect":
            raise Gone
        self._done = not message.get("more_body", False)
        return cast("bytes", message.get("body", b""))


def too_large(limit: int) -> Problem:
    return Problem(
        413,
        f"the body is larger than {limit:,} bytes: send less, or start the server with a larger --body-mb",
        code="body_too_large",
    )


async def while_there(work: Coroutine[object, object, None], receive: Receive) -> None:
    """Does the work for as long as the client is there. Raises :class:`Gone` once it is not."""
    doing = asyncio.ensure_future(work)
    watching = asyncio.ensure_future(_gone(receive))
    try:
        await asyncio.wait({doing, watching}, return_when=asyncio.FIRST_COMPLETED)
        if not doing.done():
            raise Gone
        await doing
    finally:
        for task in (doing, watching):
            task.cancel()
        await asyncio.gather(doing, watching, return_exceptions=True)


async def _gone(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass


class Writer:
    """Sends a reply. A client that takes longer than ``seconds`` for a piece of it is :class:`Gone`."""

    def __init__(self, send: Send, *, seconds: float, count: Callable[[int], None]) -> None:
        self._send = send
        self._seconds = seconds
        self._count = count
        self.started = False

    async def whole(self, status: int, headers: dict[str, str], body: bytes) -> None:
        await self.start(status, {**headers, "Content-Length": str(len(body))})
        await self._out({"type": "http.response.body", "body": body, "more_body": False})

    async def start(self, status: int, headers: dict[str, str]) -> None:
        self.started = True
        self._count(status)
        raw = [(name.lower().encode(), value.encode("latin-1", "replace")) for name, value in headers.items()]
        await self._out({"type": "http.response.start", "status": status, "headers": raw})

    async def piece(self, data: bytes) -> None:
        await self._out({"type": "http.response.body", "body": data, "more_body": True})

    async def end(self) -> None:
        await self._out({"type": "http.response.body", "body": b"", "more_body": False})

    async def _out(self, message: Message) -> None:
        try:
            async with asyncio.timeout(self._seconds):
                await self._send(message)
        except (TimeoutError, OSError):
            raise Gone from None


async def beating(source: AsyncGenerator[bytes, None], every: float) -> AsyncGenerator[bytes, None]:
    """What comes from ``source``, and a sign of life where nothing comes for so many seconds."""
    waiting: asyncio.Task[bytes] | None = None
    try:
        while True:
            waiting = waiting or asyncio.ensure_future(anext(source))
            await asyncio.wait({waiting}, timeout=every)
            if not waiting.done():
                yield BEAT
                continue
            done, waiting = waiting, None
            try:
                piece = done.result()
            except StopAsyncIteration:
                return
            yield piece
    finally:
        if waiting is not None:
            waiting.cancel()
            await asyncio.gather(waiting, return_exceptions=True)
        await source.aclose()
