"""``direct``: the input in the window, one reply. The baseline that every other strategy has to beat.

Contract: the input is given as text (see :mod:`unspool.strategies.repl_text`), its head and its tail where it
does not fit; a note of the run says how much was left out.
"""

from __future__ import annotations

from .answering import PROGRAM, answered_at_once
from .protocol import Given, Plan
from .window import notes_of, room


def direct(given: Given) -> Plan:
    """The input, then one reply."""
    return answered_at_once(given, PROGRAM, window=room(given), notes=notes_of(given, given.root))
