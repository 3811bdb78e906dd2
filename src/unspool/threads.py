"""Threads for what would hold up the loop, until the interpreter itself is gone.

Contract: a :class:`Threads` is what ``asyncio.to_thread`` uses on the loop of all runs. The executor of the
standard library takes no more work once the main thread has come to its end, while other threads, and the
runs that they wait for, go on; and it keeps the interpreter from ending until each of its functions has
returned, however long a user's tool takes. This one does neither.

>>> Threads().submit(pow, 2, 3).result()
8
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import nullcontext, suppress
from queue import SimpleQueue
from typing import ParamSpec, TypeVar

P = ParamSpec("P")
T = TypeVar("T")

MOST = min(32, (os.cpu_count() or 1) + 4)  # as the standard library's


class Threads(ThreadPoolExecutor):
    """See the module docstring."""

    def __init__(self) -> None:
        super().__init__(MOST)  # none of its own is ever started
        self._waiting: SimpleQueue[Callable[[], None]] = SimpleQueue()
        self._idle = threading.Semaphore(0)
        self._begun = 0
        self._one = threading.Lock()

    def submit(self, fn: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> Future[T]:
        future: Future[T] = Future()

        def work() -> None:
            if not future.set_running_or_notify_cancel():
                return
            try:
                result = fn(*args, **kwargs)
            except BaseException as error:  # it is raised where the result is waited for
                future.set_exception(error)
            else:
                future.set_result(result)

        with self._one:
            self._waiting.put(work)
            if not self._idle.acquire(blocking=False) and self._begun < MOST:
                self._begin()
        return future

    def _begin(self) -> None:
        thread = threading.Thread(target=self._serve, name=f"unspool-{self._begun + 1}", daemon=True)
        with suppress(RuntimeError) if self._begun else nullcontext():  # Python 3.12 begins none at its end
            thread.start()
            self._begun += 1

    def _serve(self) -> None:
        while True:
            work = self._waiting.get()
            work()
            del work
            self._idle.release()
