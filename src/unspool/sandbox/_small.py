"""A REPL in a node of the small zygote: whether it may begin there, and with how much memory.

Contract: :func:`may_begin_small` says whether a REPL can do without libraries at first. :func:`more_memory`
is what such a one may use beside its own limit, so that a library that its code imports later fits as it
would have, had it been there before. Nothing of this is seen from inside: the same names, the same
random numbers.

>>> more_memory(2 << 30), more_memory(64 << 20)
(0, 134217728)
"""

from __future__ import annotations

import sys

from ._handover import PICKLE, Handed
from ._libraries import names_a_library
from .protocol import ReplSpec

ROOM = 1 << 30  # bytes: with less, libraries that are imported late would take too much of it
LATE = 128 << 20  # bytes: they take 90 MiB
_MADE_OF = ("numpy", "pandas", "pyarrow", "polars")


def may_begin_small(spec: ReplSpec, handed: Handed, memory: int) -> bool:
    """Whether a REPL needs none of the libraries to open. ``memory``: bytes that it may use."""
    if spec.memory is not None and memory < ROOM:
        return False
    made_of_it = handed.layout == PICKLE and any(name in sys.modules for name in _MADE_OF)
    return not made_of_it and not any(map(names_a_library, spec.imports))


def more_memory(memory: int) -> int:
    """Bytes that a REPL without libraries is given beside ``memory``, its share of what is free."""
    return 0 if memory >= ROOM else LATE
