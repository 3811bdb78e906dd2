"""Settings that are not what they have to be: one clear error for each, before anything is done.

>>> number("max_turns", 3, 1, whole=True)
>>> number("max_turns", "three", 1, whole=True)
Traceback (most recent call last):
unspool.errors.WrongSetting: max_turns='three': give a whole number, at least 1
>>> kind("instructions", None, str, "text")
Traceback (most recent call last):
unspool.errors.WrongSetting: instructions=None: give text
"""

from __future__ import annotations

from collections.abc import Iterable
from types import UnionType

from .errors import WrongSetting


def number(name: str, value: object, least: float, *, whole: bool = False, most: float | None = None) -> None:
    """Raises :class:`ConfigError` for what is no number, or out of bounds, or not a number at all (nan)."""
    fits = isinstance(value, int if whole else int | float) and not isinstance(value, bool)
    if fits and least <= value and (most is None or value <= most):  # type: ignore[operator]
        return
    noun = "a whole number" if whole else "a number"
    bounds = f", at least {least:g}" if most is None else f" from {least:g} to {most:g}"
    raise WrongSetting(name, value, f"give {noun}{bounds}")


def kind(name: str, value: object, wanted: type | UnionType, words: str) -> None:
    """Raises :class:`ConfigError` for a value of another type."""
    if not isinstance(value, wanted):
        raise WrongSetting(name, value, f"give {words}")


def meant(name: object, known: Iterable[str]) -> str:
    """The known name that a wrong one is nearest to, as a question; nothing where none is near.

    >>> meant("rml", ["direct", "rlm"]), meant("x", ["rlm"])
    (". Did you mean 'rlm'?", '')
    """
    from difflib import get_close_matches

    near = get_close_matches(name, list(known), 1) if isinstance(name, str) else []
    return f". Did you mean {near[0]!r}?" if near else ""
