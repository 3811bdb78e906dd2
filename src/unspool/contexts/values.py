"""The values of a mapping, changed: named contexts stay what they are.

>>> changed({"a": 1, "b": 2}, lambda value: -value)
{'a': -1, 'b': -2}
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import cast

Change = Callable[[object], object]


def changed(context: Mapping[object, object], change: Change) -> Mapping[object, object]:
    """``context`` with :func:`change` of each value in its place."""
    kept = cast("Callable[[Change], Mapping[object, object]] | None", getattr(context, "changed", None))
    return kept(change) if kept else {key: change(value) for key, value in context.items()}
