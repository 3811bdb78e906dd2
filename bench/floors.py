"""What is measured beside an engine: the same work without one. Standard library only."""

from __future__ import annotations

import asyncio
import http.client
import json
import os
from collections.abc import Callable
from time import perf_counter
from urllib.parse import urlsplit


def timed(function: Callable[[], object]) -> float:
    started = perf_counter()
    function()
    return perf_counter() - started


def bare_calls(url: str, count: int) -> None:
    """The floor of a run: the same number of calls over one connection, and nothing else."""
    parts = urlsplit(url)
    connection = http.client.HTTPConnection(str(parts.hostname), parts.port)
    for number in range(count):
        messages = [{"role": "user", "content": "x" * 2_000}] * (2 + 2 * number)
        body = json.dumps({"model": "bench-model", "messages": messages})
        connection.request(
            "POST", f"{parts.path}/chat/completions", body, {"Content-Type": "application/json"}
        )
        json.loads(connection.getresponse().read())
    connection.close()


def fan_out(url: str, count: int, width: int) -> None:
    """The floor of a fan-out: the same calls by a minimal keep-alive client."""
    asyncio.run(_bare_client(url, count, width))


async def _bare_client(url: str, count: int, width: int) -> None:
    parts = urlsplit(url)
    body = json.dumps({"model": "bench-model", "messages": [{"role": "user", "content": "prompt"}]}).encode()
    lines = [
        f"POST {parts.path}/chat/completions HTTP/1.1",
        f"Host: {parts.netloc}",
        f"Content-Length: {len(body)}",
    ]
    request = "\r\n".join([*lines, "\r\n"]).encode() + body
    left = iter(range(count))

    async def line() -> None:
        reader, writer = await asyncio.open_connection(parts.hostname, parts.port)
        for _ in left:
            writer.write(request)
            answer = await reader.readuntil(b"\r\n\r\n")
            size = next(h for h in answer.lower().split(b"\r\n") if h.startswith(b"content-length:"))
            json.loads(await reader.readexactly(int(size.split(b":")[1])))
        writer.close()
        await writer.wait_closed()

    await asyncio.gather(*[line() for _ in range(width)])


def fill_memfd(text: str) -> None:
    """The floor of a large context: it is copied once."""
    fd = os.memfd_create("floor")
    view = memoryview(text.encode())
    while view:
        view = view[os.write(fd, view) :]
    os.close(fd)
