"""What code that is not ours raises, told apart from the stop of a task.

Contract: pure. Such code may raise anything: ``GeneratorExit``, a ``BaseException`` of its own, even
``CancelledError``. Only a cancellation that somebody asked the task for, and the close of a coroutine that no
task runs any more, are a stop and have to pass; all else is a failure to be told.

>>> said(KeyError("a")), said(GeneratorExit())
("KeyError: 'a'", 'GeneratorExit')
"""

from __future__ import annotations

import asyncio

__all__ = ["is_stop", "passable", "said"]


def is_stop(error: BaseException) -> bool:
    """Whether it ends the task that is running now, and so has to pass."""
    try:
        task = asyncio.current_task()
    except RuntimeError:  # no loop runs: a coroutine that is closed
        task = None
    if isinstance(error, asyncio.CancelledError):
        return task is None or task.cancelling() > 0
    return task is None and isinstance(error, GeneratorExit)


def said(error: BaseException) -> str:
    """Its name and its words; an exception whose words cannot be had has none."""
    name = type(error).__name__
    try:
        words = str(error)
    except BaseException as another:  # its ``__str__`` is somebody's code, too
        words = f"its text cannot be had ({type(another).__name__})"
    return f"{name}: {words}" if words else name


def passable(error: BaseException) -> BaseException:
    """The same as an error that can be raised where it would else be taken for a stop of what runs there."""
    if not isinstance(error, asyncio.CancelledError | GeneratorExit | StopIteration | StopAsyncIteration):
        return error
    raised = RuntimeError(f"{said(error)} was raised by a function that nobody had stopped")
    raised.__cause__ = error
    return raised
