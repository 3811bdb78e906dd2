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
from concurrent.futures import Future, wait
from contextlib import suppress
from typing import Generic, Protocol, TypeVar

from .errors import ConfigError
from .threads import Threads

T = TypeVar("T")
A = TypeVar("A")
B = TypeVar("B")

CLOSE_SECONDS = 5.0
END_SECONDS = 2.0  # for runs that are under way when the interpreter ends
ENDED = "the program ended"


class Job(Generic[T]):
    """A coroutine on the runtime's loop. ``future`` is done when the coroutine is, clean-up included."""

    def __init__(self, runtime: Runtime, coroutine: Coroutine[object, object, T]) -> None:
        self.future: Future[T] = Future()
        self._runtime = runtime
        self._loop = runtime.loop
        self._task: asyncio.Task[T] | None = None
        self._loop.call_soon_threadsafe(self._start, coroutine)

    def _start(self, coroutine: Coroutine[object, object, T]) -> None:
        self._task = self._loop.create_task(coroutine)
        self._task.add_done_callback(self._done)

    def _done(self, task: asyncio.Task[T]) -> None:
        if self._runtime.over:
            return  # only threads that end with the interpreter wait for it: they go no further
        if task.cancelled():
            self.future.set_exception(asyncio.CancelledError())
        elif (error := task.exception()) is not None:
            self.future.set_exception(error)
        else:
            self.future.set_result(task.result())

    def cancel(self) -> None:
        """From any thread; the future is done once the task has cleaned up."""

        def cancel() -> None:
            assert self._task is not None  # _start was queued before
            self._task.cancel()

        self._loop.call_soon_threadsafe(cancel)

    async def wait(self) -> T:
        """From another loop: cancelling the waiter cancels the job and waits until it is gone."""
        inner = asyncio.wrap_future(self.future)
        try:
            return await asyncio.shield(inner)
        except asyncio.CancelledError:
            self.cancel()
            inner.add_done_callback(lambda f: f.cancelled() or f.exception())  # seen: it is not logged
            await asyncio.wait([inner], timeout=CLOSE_SECONDS)
            raise


class Stoppable(Protocol):
    """What is under way in a task, and comes to an end of its own when it is stopped."""

    task: asyncio.Task[object]

    def stop(self, reason: str) -> None: ...


class Runtime:
    """The loop's thread. Before the interpreter ends, what is ``going`` is stopped, and ``closers`` are
    awaited on it. From then on, ``over``, nothing begins, and who waits for a run is not woken: that can be
    a daemon thread alone, and it would only fail at whatever it does next."""

    def __init__(self) -> None:
        self.pid = os.getpid()
        self.loop = asyncio.new_event_loop()
        self.loop.set_default_executor(Threads())
        self.closers: list[Callable[[], Awaitable[None]]] = []
        self.going: set[Stoppable] = set()
        self.over = False
        self._thread = threading.Thread(target=self._serve, name="unspool", daemon=True)
        self._thread.start()

    def _serve(self) -> None:
        asyncio.set_event_loop(self.loop)
        while True:
            try:
                self.loop.run_forever()
            except (SystemExit, KeyboardInterrupt):
                # A function of somebody's (on_event, a store) has raised it. asyncio gives it to whoever
                # waits for the task, and stops the loop; all other runs go on.
                continue
            return

    def submit(self, coroutine: Coroutine[object, object, T]) -> Job[T]:
        """Raises :class:`ConfigError` where the interpreter is about to end."""
        if self.over:
            coroutine.close()
            if threading.current_thread().daemon:
                threading.Event().wait()  # it ends with the interpreter
            raise ConfigError("the program is ending: nothing can be begun any more")
        return Job(self, coroutine)

    def wait(self, coroutine: Coroutine[object, object, T]) -> T:
        """Runs it to its end from a plain thread; Ctrl-C cancels it and waits until it is gone.

        Refuses on the loop's own thread, which would wait for what it has to do itself."""
        if threading.current_thread() is self._thread:
            coroutine.close()
            raise ConfigError(
                "this would wait for ever: on_event, models and stores are called on the thread of all runs; "
                "hand what is to be done to a thread of your own"
            )
        job = self.submit(coroutine)
        try:
            return job.future.result()
        except KeyboardInterrupt:
            job.cancel()
            wait([job.future], CLOSE_SECONDS)
            raise

    def shut_down(self) -> None:
        if self.pid != os.getpid():
            return
        self.over = True
        wait(
            [asyncio.run_coroutine_threadsafe(self._close_all(), self.loop)], END_SECONDS + CLOSE_SECONDS + 1
        )
        self.loop.call_soon_threadsafe(self.loop.stop)
        self._thread.join(CLOSE_SECONDS)
        if not self._thread.is_alive():
            self.loop.close()

    async def _close_all(self) -> None:
        """Runs tell their end first, while there is still what they need; then all else goes."""
        for going in tuple(self.going):
            going.stop(ENDED)
        if self.going:
            await asyncio.wait([going.task for going in self.going], timeout=END_SECONDS)
        with suppress(TimeoutError):
            async with asyncio.timeout(CLOSE_SECONDS):
                for closer in reversed(self.closers):
                    await closer()
                others = [t for t in asyncio.all_tasks() if t is not asyncio.current_task()]
                for task in others:
                    task.cancel()
                await asyncio.gather(*others, return_exceptions=True)


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


async def both(first: Coroutine[object, object, A], second: Coroutine[object, object, B]) -> tuple[A, B]:
    """The results of both, run at once; the first failure cancels the other and is raised as it is."""
    try:
        async with asyncio.TaskGroup() as group:
            one, other = group.create_task(first), group.create_task(second)
    except BaseExceptionGroup as errors:
        raise alone(errors) from None
    return one.result(), other.result()


def alone(error: BaseException) -> BaseException:
    """The first error of a group, itself."""
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    return error
