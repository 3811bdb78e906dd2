"""How much a client is given, and in which characters.

Contract: what one call of a tool gives, an error included, is at most ``MOST`` characters over all its
blocks; a cut is named where it is made. Nothing in it is obeyed by a terminal, and all of it can be written
as JSON.

>>> fitted(["a" * 50, '{"n": 1}'], most=40)
['aaaaaaaaaa … [40 characters cut]', '{"n": 1}']
"""

from __future__ import annotations

from collections.abc import Sequence

from ..safe_text import one_line, safe

MOST = 12_000  # characters: about 3,000 tokens of an agent's window for a call
LOOKED = 7_000  # characters of the input in one look or range: with its line above, all of it is shown
ERROR = 1_000  # characters of an error
PROGRESS = 200  # characters of a notification


class Refused(Exception):
    """A call that cannot be done: what is wrong and what to do, for the agent to read."""


def fitted(blocks: Sequence[str], *, most: int = MOST) -> list[str]:
    """The blocks made safe; the first is cut so that all of them fit."""
    first, *others = (safe(block) for block in blocks)
    room = most - sum(map(len, others))
    if len(first) > room:
        mark = f" … [{len(first):,} characters cut]"
        kept = max(0, room - len(mark))
        first = first[:kept] + f" … [{len(first) - kept:,} characters cut]"
    return [first, *others]


def sentence(error: BaseException | str) -> str:
    """An error in one line."""
    return one_line(safe(str(error)), ERROR)
