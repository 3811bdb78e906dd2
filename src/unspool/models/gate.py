"""How many calls to one model may be open at once, and when none may be sent.

Contract of :class:`Gate`: at most ``limit`` holders, in the order they came. A server that says
"too many" (429) halves what is let in, and holds everybody for as long as it asked; calls that go
well raise it by one for each full round, up to ``limit``. Of one event loop at a time.

>>> import asyncio
>>> gate = Gate(8)
>>> gate.pushed_back(None); gate.allowed
4
"""

from __future__ import annotations

import asyncio
from collections import deque
from time import monotonic


class Gate:
    """A semaphore that adapts. ``open`` counts the holders, ``allowed`` how many may be."""

    def __init__(self, limit: int) -> None:
        self.limit = limit
        self.allowed = limit
        self.open = 0
        self.served = 0  # calls that went well
        self._well = 0
        self._paused_until = 0.0
        self._halved_at = 0.0
        self._waiting: deque[asyncio.Future[None]] = deque()

    async def enter(self) -> None:
        if self.open >= self.allowed or self._waiting:
            await self._queue()
        else:
            self.open += 1
        if self._paused_until:
            try:
                await self.resumed()
            except BaseException:  # cancelled while it waited: its place is free again
                self.leave()
                raise

    def leave(self) -> None:
        self.open -= 1
        self._let_in()

    async def resumed(self) -> None:
        """Wait until the pause that a server asked for is over."""
        while (left := self._paused_until - monotonic()) > 0:  # noqa: ASYNC110 (it may be made longer)
            await asyncio.sleep(left)
        self._paused_until = 0.0

    def pushed_back(self, pause: float | None) -> None:
        """A 429. Those of one burst count once, or a burst would close the gate."""
        now = monotonic()
        if pause:
            self._paused_until = max(self._paused_until, now + pause)
        if now - self._halved_at > 0.25:
            self._halved_at = now
            self.allowed = max(1, self.allowed // 2)
        self._well = 0

    def went_well(self) -> None:
        self.served += 1
        if self.allowed < self.limit:
            self._well += 1
            if self._well >= self.allowed:
                self._well = 0
                self.allowed += 1
                self._let_in()

    async def _queue(self) -> None:
        ticket: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting.append(ticket)
        try:
            await ticket
        except asyncio.CancelledError:
            if ticket.done() and not ticket.cancelled():
                self.leave()  # let in and cancelled at the same moment
            elif ticket in self._waiting:
                self._waiting.remove(ticket)
            raise

    def _let_in(self) -> None:
        while self._waiting and self.open < self.allowed:
            ticket = self._waiting.popleft()
            if not ticket.done():
                self.open += 1
                ticket.set_result(None)
