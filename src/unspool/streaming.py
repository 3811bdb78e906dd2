"""The events of one run as they come, for a consumer on another loop than the one that the run is on.

Contract: :func:`events_of` begins the run when the first event is asked for. A consumer that leaves, or is
cancelled, cancels the run and waits until it is gone. What the run raises is raised behind its last event.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable, Coroutine

from ._runtime import CLOSE_SECONDS, runtime
from .engine import Asker
from .events import Event

__all__ = ["events_of"]


async def events_of(start: Callable[[Asker], Coroutine[object, object, None]]) -> AsyncGenerator[Event, None]:
    """``start``: the run, on the runtime's loop, which tells its events to the asker that it is given."""
    loop = asyncio.get_running_loop()
    queue: asyncio.Queue[Event | None] = asyncio.Queue()

    def put(event: Event | None) -> None:
        loop.call_soon_threadsafe(queue.put_nowait, event)

    job = runtime().submit(start(Asker(put, loop, live=True)))
    job.future.add_done_callback(lambda _: put(None))
    try:
        while (event := await queue.get()) is not None:
            yield event
    except BaseException:  # the consumer left or was cancelled: so is the run
        job.cancel()
        gone = asyncio.wrap_future(job.future)
        gone.add_done_callback(lambda f: f.cancelled() or f.exception())  # seen: it is not logged
        await asyncio.wait([gone], timeout=CLOSE_SECONDS)
        raise
    await job.wait()
