"""One thread with one event loop per process; every run of every engine is a task on it.

Why a thread: ``run`` must work in scripts, threads, notebooks (where a loop is already running) and
any asyncio program, and connections, the zygote and local servers are shared between runs.

A child made by ``os.fork`` starts its own: the parent's thread does not exist in it.
"""

from __future__ import annotations

import asyncio
import atexit
import os
import threading
from collections.abc import Awaitable, Callable, Coroutine
from concurrent.futures import Future
from typing import TypeVar

T = TypeVar("T")

CLOSE_SECONDS = 5.0


class Runtime:
    """The loop's thread. ``closers`` are awaited on it before the interpreter ends."""

    def __init__(self) -> None:
        self.pid = os.getpid()
        self.loop = asyncio.new_event_loop()
        self.closers: list[Callable[[], Awaitable[None]]] = []
        self._thread = threading.Thread(target=self._serve, name="unspool", daemon=True)
        self._thread.start()

    def _serve(self) -> None:
        asyncio.set_event_loop(self.loop)
        self.loop.run_forever()

    def submit(self, coroutine: Coroutine[object, object, T]) -> Future[T]:
        return asyncio.run_coroutine_threadsafe(coroutine, self.loop)

    def wait(self, coroutine: Coroutine[object, object, T]) -> T:
        """Runs it to its end from a plain thread; Ctrl-C cancels it and waits until it is gone."""
        future = self.submit(coroutine)
        try:
            return future.result()
        except KeyboardInterrupt:
            done = threading.Event()
            future.add_done_callback(lambda _: done.set())
            self.loop.call_soon_threadsafe(future.cancel)
            done.wait(CLOSE_SECONDS)
            raise

    def shut_down(self) -> None:
        if self.pid != os.getpid():
            return

        async def close_all() -> None:
            for closer in reversed(self.closers):
                await closer()
            others = [t for t in asyncio.all_tasks() if t is not asyncio.current_task()]
            for task in others:
                task.cancel()
            await asyncio.gather(*others, return_exceptions=True)

        self.submit(asyncio.wait_for(close_all(), CLOSE_SECONDS)).exception(CLOSE_SECONDS + 1)
        self.loop.call_soon_threadsafe(self.loop.stop)
        self._thread.join(CLOSE_SECONDS)


_runtime: Runtime | None = None
_lock = threading.Lock()  # two threads may ask for the first runtime at once


def runtime() -> Runtime:
    """The process's runtime, started on first use."""
    global _runtime
    with _lock:
        if _runtime is None or _runtime.pid != os.getpid():
            _runtime = Runtime()
            atexit.register(_runtime.shut_down)
        return _runtime
