"""Whether a value may be one that cannot be handed to a sandbox.

Contract: :func:`doubtful` looks at no more than ``MOST_LOOKED`` values and calls nothing of theirs. Where it
says no, the REPL opens while the model is asked; where it says yes, the REPL opens first, so that nothing is
paid for an input that cannot be used.

>>> doubtful("text"), doubtful({"a": [1, 2.5, None]}), doubtful(print), doubtful([{"a": iter("ab")}])
(False, False, True, True)
"""

from __future__ import annotations

import datetime
import decimal
import fractions
import uuid
from collections.abc import Iterator, Mapping
from pathlib import PurePath

from .several import Contexts

MOST_LOOKED = 20_000  # values: some milliseconds
MOST_DEEP = 100
_PLAIN = frozenset(
    (str, bytes, bytearray, int, float, complex, bool, type(None), range, datetime.datetime, datetime.date,
     datetime.time, datetime.timedelta, datetime.timezone, decimal.Decimal, fractions.Fraction, uuid.UUID)
)  # fmt: skip
_OF_DATA = (
    "unspool",
    "numpy",
    "pandas",
    "polars",
    "pyarrow",
    "PIL",
)  # what is handed over in ways of its own


def doubtful(value: object) -> bool:
    """See the module docstring."""
    looked, todo = 0, [iter((value,))]
    while todo and looked < MOST_LOOKED:
        item = next(todo[-1], todo)
        if item is todo:
            todo.pop()
            continue
        looked += 1
        inner = _inner(item)
        if inner is None or len(todo) > MOST_DEEP:
            return True
        todo.append(inner)
    return False


def _inner(item: object) -> Iterator[object] | None:
    """The values in it; ``None`` where it may not be data."""
    kind = type(item)
    if isinstance(item, Contexts):
        return _both(item)
    if kind in _PLAIN or isinstance(item, PurePath) or kind.__module__.partition(".")[0] in _OF_DATA:
        return iter(())
    if kind is dict:
        return _both(item)  # type: ignore[arg-type]
    return iter(item) if kind in (list, tuple, set, frozenset) else None  # type: ignore[call-overload]


def _both(pairs: Mapping[str, object] | dict[object, object]) -> Iterator[object]:
    return (part for pair in pairs.items() for part in pair)
