"""The suites by name, in the order in which they are listed.

``SUITES`` are made of what is there; the data of ``FETCHED`` is fetched once. Each group has a name of its
own, so that what ``all`` is does not depend on a network.

>>> list(SUITES)
['needle', 'needles', 'tracking', 'words', 'oolong', 'pairs', 'hops', 'code', 'history', 'logs']
>>> list(FETCHED)
['needle-essays', 'needles-essays', 'tracking-essays', 'words-essays', 'hotpot', 'lcr']
>>> [suite.name for suite in chosen("needle, logs")], len(chosen("all,fetched"))
(['needle', 'logs'], 16)
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
from .hotpot import HOTPOT
from .lcr import LCR
from .logs import LOGS
from .needle import NEEDLE, NEEDLE_ESSAYS, NEEDLES, NEEDLES_ESSAYS
from .oolong import OOLONG
from .pairs import PAIRS
from .suite import Suite
from .tracking import TRACKING, TRACKING_ESSAYS
from .words import WORDS, WORDS_ESSAYS

__all__ = ["ALL", "FETCHED", "KNOWN", "SUITES", "Suite", "chosen"]

ALL, REST = "all", "fetched"
SUITES: Mapping[str, Suite] = {
    suite.name: suite
    for suite in (NEEDLE, NEEDLES, TRACKING, WORDS, OOLONG, PAIRS, HOPS, CODE, HISTORY, LOGS)
}
FETCHED: Mapping[str, Suite] = {
    suite.name: suite for suite in (NEEDLE_ESSAYS, NEEDLES_ESSAYS, TRACKING_ESSAYS, WORDS_ESSAYS, HOTPOT, LCR)
}
KNOWN: Mapping[str, Suite] = {**SUITES, **FETCHED}
_GROUPS: Mapping[str, Mapping[str, Suite]] = {ALL: SUITES, REST: FETCHED}


def chosen(names: str) -> list[Suite]:
    """The suites of a list with commas, each once; ``all`` is every one that needs nothing fetched, and
    ``fetched`` every other."""
    wanted = [name.strip() for name in names.split(",") if name.strip()]
    for name in wanted:
        if name not in KNOWN and name not in _GROUPS:
            there = f"{', '.join(KNOWN)}, and {ALL} and {REST}{meant(name, KNOWN)}"
            raise ConfigError(f"there is no suite {name!r}: there are {there}")
    if not wanted:
        raise ConfigError(f"name a suite: there are {', '.join(KNOWN)}, and {ALL} and {REST}")
    found = [name for each in wanted for name in _GROUPS.get(each, (each,))]
    if ALL in wanted:
        found.sort(key=list(KNOWN).index)
    return [KNOWN[name] for name in dict.fromkeys(found)]
