"""A call that goes on says so."""

from __future__ import annotations

import asyncio

from unspool.mcp.progress import BEAT, Progress


async def test_a_silent_call_says_that_it_goes_on_until_it_is_over() -> None:
    told: list[tuple[float, str]] = []
    enough = asyncio.Event()

    async def tell(number: float, text: str) -> None:
        told.append((number, text))
        if len(told) == 3:
            enough.set()

    progress = Progress(tell, beat=0.001)
    async with progress.beating(lambda: f"{len(told)} so far\x1b[2J"):
        async with asyncio.timeout(BEAT):
            await enough.wait()
    count = len(told)
    await asyncio.sleep(0.05)
    assert len(told) == count
    assert told[:3] == [(1, "0 so far\\x1b[2J"), (2, "1 so far\\x1b[2J"), (3, "2 so far\\x1b[2J")]


async def test_a_text_is_one_short_line() -> None:
    told: list[str] = []

    async def tell(_: float, text: str) -> None:
        told.append(text)

    await Progress(tell).say("two\nlines " + "x" * 1_000)
    assert told[0].startswith("two lines x")
    assert len(told[0]) == 200
