"""The suites by name, in the order in which they are listed.

>>> list(SUITES)
['needle', 'needles', 'tracking', 'words', 'oolong', 'pairs', 'hops', 'code', 'history', 'logs']
>>> [suite.name for suite in chosen("needle, logs")]
['needle', 'logs']
>>> chosen("nothing")
Traceback (most recent call last):
unspool.errors.ConfigError: there is no suite 'nothing': there are needle, needles, tracking, words, ...
"""

from __future__ import annotations

from collections.abc import Mapping

from ...checks import meant
from ...errors import ConfigError
from .code import CODE
from .history import HISTORY
from .hops import HOPS
from .logs import LOGS
from .needle import NEEDLE, NEEDLES
from .oolong import OOLONG
from .pairs import PAIRS
from .suite import Suite
from .tracking import TRACKING
from .words import WORDS

__all__ = ["ALL", "SUITES", "Suite", "chosen"]

ALL = "all"
SUITES: Mapping[str, Suite] = {
    suite.name: suite
    for suite in (NEEDLE, NEEDLES, TRACKING, WORDS, OOLONG, PAIRS, HOPS, CODE, HISTORY, LOGS)
}


def chosen(names: str) -> list[Suite]:
    """The suites of a list with commas, each once; ``all`` is every one."""
    wanted = [name.strip() for name in names.split(",") if name.strip()]
    for name in wanted:
        if name != ALL and name not in SUITES:
            there = f"{', '.join(SUITES)}, and {ALL}{meant(name, SUITES)}"
            raise ConfigError(f"there is no suite {name!r}: there are {there}")
    if not wanted:
        raise ConfigError(f"name a suite: there are {', '.join(SUITES)}, and {ALL}")
    return list(SUITES.values()) if ALL in wanted else [SUITES[name] for name in dict.fromkeys(wanted)]
