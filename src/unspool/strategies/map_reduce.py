"""``map_reduce``: the question is asked of every part of the input, with a schema; what comes back is put
together by code where it can be (counts are summed), else by models, and answered from. No free code.

Contract: what is asked of a part goes by the kind of question (:mod:`.questions`): how many there are in
it, how many of each, or the facts in it. All parts are asked at once, as many as the model takes. A part
whose call fails is left out, and a note of the run counts them.
"""

from __future__ import annotations

from .answering import answered_at_once
from .protocol import Given, Plan
from .questions import kind_of
from .window import notes_of, part_size, room

MOST = 60_000  # characters of a part
ABOUT = """\
The input was cut into parts, and a model was asked of each what it has for the question. Sums were made
by code, and are exact where the parts were judged right. This is what came back:""".replace("\n", " ")


def map_reduce(given: Given) -> Plan:
    """One typed sub-call a part, then one reply."""
    size = min(MOST, part_size(given) // 2)
    whole = room(given)
    kind = kind_of(given.query)
    wanted = kind if kind in ("count", "groups") else "facts"
    program = (
        f"print(_input.mapped(_input.parts(context, {size}), {given.query!r}, {wanted!r},\n"
        f"    llm_query_batched, size={size}, room={whole}))"
    )
    return answered_at_once(
        given, program, window=whole, about=ABOUT, repl="repl_map_reduce.py",
        notes=notes_of(given, given.root, given.sub),
    )  # fmt: skip
