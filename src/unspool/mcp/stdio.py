"""A server for one client, over stdin and stdout.

Contract: stdout carries the protocol and nothing else: while it is served, whatever writes to descriptor 1
writes to stderr. When stdin ends, as it does when the client is gone in any way, or a TERM or INT comes,
what runs is cancelled, sessions end with their journals complete, no process is left, and the server
returns.
"""

from __future__ import annotations

import asyncio
import signal
from collections.abc import Callable
from typing import TYPE_CHECKING

from .desk import Desk

if TYPE_CHECKING:
    from mcp.server.lowlevel.server import Server

END_SECONDS = 5.0  # for the sessions to end


async def serve(server: Server[dict[str, object]], desk: Desk, leave: Callable[[], None]) -> None:
    """``leave`` ends the process at once: the thread that waits for stdin cannot be woken."""
    loop = asyncio.get_running_loop()
    ends: list[asyncio.Task[None]] = []

    def stop() -> None:
        if not ends:
            ends.append(loop.create_task(_end(desk)))
            ends[0].add_done_callback(lambda _: leave())

    for each in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(each, stop)
    try:
        await _until_the_end(server)
    finally:
        await _end(desk)


async def _until_the_end(server: Server[dict[str, object]]) -> None:
    from mcp.server.stdio import stdio_server

    try:
        async with stdio_server() as (reader, writer):
            await server.run(reader, writer, server.create_initialization_options())
    except BaseExceptionGroup as errors:
        _, others = errors.split(OSError)  # stdout is closed: the client is gone
        if others is not None:
            raise others from None
    except OSError:
        return


async def _end(desk: Desk) -> None:
    try:
        async with asyncio.timeout(END_SECONDS):
            await desk.end()
    except TimeoutError:
        return  # the processes end with this one
