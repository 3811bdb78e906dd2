"""Ways to answer a question over an input: ``RLM(strategy=…)``. One file each; see docs/strategies.md.

>>> strategy_of("direct").__name__
'direct'
>>> strategy_of("dirct")  # doctest: +ELLIPSIS
Traceback (most recent call last):
unspool.errors.WrongSetting: strategy='dirct': there are rlm, no_subcalls, ... Did you mean 'direct'?
"""

from __future__ import annotations

from importlib import import_module
from typing import cast

from ..checks import meant
from ..errors import WrongSetting
from .protocol import Choice, Given, Plan, Strategy, StrategyName, names

__all__ = ["Choice", "Given", "Plan", "Strategy", "StrategyName", "checked", "names", "strategy_of"]


def checked(name: object) -> StrategyName:
    """The name of a strategy, or :class:`ConfigError`."""
    if name not in names():
        raise WrongSetting("strategy", name, f"there are {', '.join(names())}{meant(name, names())}")
    return name


def strategy_of(name: object) -> Strategy:
    """The strategy of that name; each is a function in a file that is called as it is."""
    name = checked(name)
    return cast(Strategy, getattr(import_module(f"{__name__}.{name}"), name))
