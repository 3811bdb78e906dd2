"""What a client is told while a call goes on, so that it does not take it for dead.

Contract: a line when something happens and at least one every ``BEAT`` seconds, each of at most
``bounds.PROGRESS`` characters. A client that asked for no progress is told nothing.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager

from ..safe_text import one_line, safe
from .bounds import PROGRESS

BEAT = 10.0  # seconds: well below the minute after which many clients give a silent call up

Tell = Callable[[float, str], Awaitable[None]]
"""Sends one notification: a number that grows, and a text."""


class Progress:
    """The notifications of one call. ``beat``: seconds between two that say that it goes on."""

    def __init__(self, tell: Tell, *, beat: float = BEAT) -> None:
        self._tell = tell
        self._beat = beat
        self._number = 0

    async def say(self, text: str) -> None:
        self._number += 1
        await self._tell(float(self._number), one_line(safe(text), PROGRESS))

    @asynccontextmanager
    async def beating(self, told: Callable[[], str]) -> AsyncIterator[None]:
        """Says what is told again and again, until the block is left."""

        async def beat() -> None:
            while True:
                await asyncio.sleep(self._beat)
                await self.say(told())

        task = asyncio.create_task(beat())
        try:
            yield
        finally:
            task.cancel()
