"""``compaction``: the input is read part by part, and what matters of it is kept in notes that are written
anew after each part; the answer comes from the last notes.

Contract: an input that fits into the window is given as it is. Each part is one sub-call, one after the
other; a part whose call fails is passed over, and a note of the run counts them. Where a limit ends the
reading, the answer comes from the notes so far.
"""

from __future__ import annotations

from .answering import answered_at_once
from .protocol import Given, Plan
from .window import notes_of, part_size, room

MOST = 100_000  # characters of a part
NOTES = 6_000  # characters that the notes should have at most
SHARE = 4  # the notes are never more than this part of what fits

ABOUT = """\
All of it, or, where that is too long for one prompt, the notes of a model that has read it part by part for
the question:""".replace("\n", " ")


def compaction(given: Given) -> Plan:
    """Notes by sub-calls, then one reply."""
    fits = part_size(given)
    notes = min(NOTES, fits // SHARE)
    size, whole = min(MOST, fits - 2 * notes), room(given)  # notes may be longer than they should
    program = (
        f"for draft in _input.compacted(_input.parts(context, {size}), {given.query!r},\n"
        f"        llm_query, whole={whole}, notes={notes}):\n"
        "    pass\n"
        "print(draft)"
    )
    return answered_at_once(
        given, program, window=whole, about=ABOUT, repl="repl_compaction.py",
        notes=notes_of(given, given.root, given.sub),
    )  # fmt: skip
