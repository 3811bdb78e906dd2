"""A limit on how long something is waited for, whose timer is set only where there is something to wait for.

Contract: :func:`in_time` is ``async with asyncio.timeout(seconds): await work``, except that the clock begins
with the call and no timer is set for what never waits: a reply that is in memory. Of one event loop.

>>> import asyncio
>>> asyncio.run(in_time(asyncio.sleep(0, "ready"), 5.0))
'ready'
>>> asyncio.run(in_time(asyncio.sleep(60), 0.001))
Traceback (most recent call last):
TimeoutError
"""

from __future__ import annotations

import asyncio
import types
from collections.abc import Awaitable, Generator
from typing import TypeVar, cast

T = TypeVar("T")


async def in_time(work: Awaitable[T], seconds: float) -> T:
    """What ``work`` comes to. Raises ``TimeoutError`` and cancels it where that takes longer."""
    until = asyncio.get_running_loop().time() + seconds
    steps = cast("Generator[object, None, T]", work.__await__())
    try:
        waits_for = next(steps)
    except StopIteration as done:
        return cast(T, done.value)
    async with asyncio.timeout_at(until):
        return await _rest(steps, waits_for)


@types.coroutine
def _rest(steps: Generator[object, None, T], waits_for: object) -> Generator[object, None, T]:
    """The rest of what has begun to wait, and what it was waiting for."""
    while True:
        try:
            yield waits_for
        except BaseException as error:  # a cancellation, for instance: it is told of it where it waits
            try:
                waits_for = steps.throw(error)
            except StopIteration as done:
                return cast(T, done.value)
        else:
            return (yield from steps)
