"""A REPL in a node of the early zygote: whether it may begin there, and how long it stays.

Contract: :func:`may_begin_early` says whether a REPL can do without libraries at first. A :class:`Stay` is
that of one which does: it has the REPL move as soon as the zygote is warm, unless its first cell comes before
that; :meth:`Stay.before` says whether that cell has to wait. Nothing of this is seen from inside: the same
names, the same random numbers.

>>> names_a_library("import pandas as pd"), names_a_library("print(len(context))")
(True, False)
"""

from __future__ import annotations

import asyncio
import re
import sys
from collections.abc import Awaitable, Callable

from ._handover import PICKLE, Handed
from ._launch import Early
from .protocol import ReplSpec

ROOM = 1 << 30  # bytes: with less, libraries that are imported late would take too much of it
_LIBRARY = re.compile(r"\b(?:numpy|pandas|pyarrow)\b")
_MADE_OF = ("numpy", "pandas", "pyarrow", "polars")


def names_a_library(code: str) -> bool:
    """Whether code speaks of what takes long to import."""
    return _LIBRARY.search(code) is not None


def may_begin_early(spec: ReplSpec, handed: Handed, memory: int) -> bool:
    """Whether a REPL needs none of the libraries to open. ``memory``: bytes that it may use."""
    made_of_it = handed.layout == PICKLE and any(name in sys.modules for name in _MADE_OF)
    return memory >= ROOM and not made_of_it and not any(map(names_a_library, spec.imports))


class Stay:
    """See the module docstring."""

    def __init__(self, early: Early, move: Callable[[], Awaitable[None]]) -> None:
        self._warm = asyncio.wrap_future(early.zygote.warm)
        self._seconds = early.seconds
        self._move = move
        self._task = asyncio.create_task(self._wait())

    async def _wait(self) -> None:
        await asyncio.wait([self._warm])
        await self._move()

    async def before(self, code: str) -> bool:
        """Whether to move before this code runs; waits, where it has to, until that can be done."""
        if not self._warm.done() and names_a_library(code):
            await asyncio.wait([self._warm], timeout=self._seconds)
        return self._warm.done()

    async def end(self) -> None:
        """No move from here on; one that has begun is broken off."""
        if self._task is not asyncio.current_task():
            self._task.cancel()
            await asyncio.wait([self._task])
