"""``retrieval``: the passages that share most with the question (BM25), then one reply from them. No code, no
sub-calls.

Contract: needs ``bm25s`` (the extra ``retrieval``), where the sandbox runs. The best passages are given
in the order of the input, as many as fit, at most :data:`MOST`.
"""

from __future__ import annotations

from importlib.util import find_spec

from ..errors import ConfigError
from ..reach.extras import how_to_add
from .answering import answered_at_once
from .protocol import Given, Plan
from .window import notes_of, room

PASSAGE = 1_000  # characters
MOST = 40  # passages

ABOUT = """\
The input is too long for one prompt, or most of it is of no use. These are the passages of it that share
most words with the question, in their order:""".replace("\n", " ")


def retrieval(given: Given) -> Plan:
    """Ranked passages, then one reply."""
    if find_spec("bm25s") is None:
        raise ConfigError(
            'strategy="retrieval" ranks passages with bm25s, which is not installed: '
            f"{how_to_add('retrieval')}"
        )
    whole = room(given)
    program = (
        f"print(_input.best_passages(_input.parts(context, {PASSAGE}), {given.query!r},\n"
        f"    most={MOST}, room={whole}))"
    )
    notes = notes_of(given, given.root)
    return answered_at_once(given, program, window=whole, about=ABOUT, repl="repl_retrieval.py", notes=notes)
