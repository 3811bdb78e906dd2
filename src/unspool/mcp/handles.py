"""The contexts that are open: each a session of its own, known by its handle.

Contract: a handle is the id of the session's run, and is good for every connection of the server that gave
it, until it is closed, nobody has used it for ``IDLE`` seconds, or the server ends. One that is not good
any more is refused with the reason. At most ``MOST_OPEN`` are open at once: each may have processes.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from ..budget import Budget
from ..events import CallEnded, CallStarted, Event
from .bounds import Refused

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from ..rlm import RLM
    from ..session import Session
    from ..types import Run

MOST_OPEN = 16
IDLE = 3_600.0  # seconds: an agent that comes back after a pause finds its variables
REMEMBERED = 1_000  # handles that are not good any more


@dataclass(slots=True)
class Counts:
    """Sub-calls of a session, counted as they happen."""

    asked: int = 0
    done: int = 0

    def add(self, event: Event) -> None:
        self.asked += isinstance(event, CallStarted)
        self.done += isinstance(event, CallEnded)

    def told(self) -> str:
        return f"{self.done:,} of {self.asked:,} sub-calls" if self.asked else "running"


@dataclass(slots=True)
class Opened:
    """A context that is open."""

    session: Session
    value: object
    sources: tuple[str, ...]
    counts: Counts
    used: float = field(default_factory=time.monotonic)
    users: int = 0

    @property
    def handle(self) -> str:
        return self.session.id


class Handles:
    """See the module docstring."""

    def __init__(self, engine: RLM, *, most: int = MOST_OPEN, idle: float = IDLE) -> None:
        self._engine = engine
        self._most = most
        self._idle = idle
        self._open: dict[str, Opened] = {}
        self._gone: dict[str, str] = {}
        self._opening = 0
        self._stopping = False

    async def open(self, value: object, sources: Sequence[str], by: str, budget: Budget) -> Opened:
        """A session over the value. What hinders it is raised."""
        await self.close_idle()
        if self._stopping:
            raise Refused("the server is shutting down")
        if len(self._open) + self._opening >= self._most:
            raise Refused(f"{self._most} contexts are open, as many as may be at once: close one first")
        counts = Counts()
        self._opening += 1
        try:
            session = await self._engine.within(budget).asession(
                value, by=by, sources=sources, on_event=counts.add
            )
        finally:
            self._opening -= 1
        opened = Opened(session, value, tuple(sources), counts)
        self._open[opened.handle] = opened
        return opened

    @asynccontextmanager
    async def using(self, handle: str) -> AsyncIterator[Opened]:
        """The context of a handle, which is not idle meanwhile. Raises :class:`Refused`."""
        await self.close_idle()
        opened = self._open.get(handle)
        if opened is not None and opened.session.over:  # e.g. its journal could not be written
            self._forget(handle, "has ended")
            self._gone[handle] = f"has ended: {(await opened.session.aclose()).reason}"
            opened = None
        if opened is None:
            raise Refused(
                f"the handle {handle[:60]!r} {self._gone.get(handle, _UNKNOWN)}; open_context gives one"
            )
        opened.users += 1
        try:
            yield opened
        finally:
            opened.users -= 1
            opened.used = time.monotonic()

    async def close(self, handle: str) -> Run:
        async with self.using(handle) as opened:
            self._forget(handle, "was closed")
            return await opened.session.aclose()

    async def close_all(self) -> None:
        """Ends every session; no further one begins."""
        self._stopping = True
        await self._close(list(self._open), "was closed")

    async def close_idle(self) -> None:
        """Ends the sessions that nobody has used for long."""
        now = time.monotonic()
        idle = [h for h, each in self._open.items() if not each.users and now - each.used > self._idle]
        await self._close(idle, f"was closed: nobody used it for {self._idle / 60:,.0f} minutes")

    async def _close(self, handles: Sequence[str], why: str) -> None:
        closing = [self._open[handle].session for handle in handles]
        for handle in handles:
            self._forget(handle, why)
        await asyncio.gather(*(session.aclose() for session in closing))

    def _forget(self, handle: str, why: str) -> None:
        del self._open[handle]
        self._gone[handle] = why
        while len(self._gone) > REMEMBERED:
            del self._gone[next(iter(self._gone))]


_UNKNOWN = "is not known here (the server may have been started again)"
