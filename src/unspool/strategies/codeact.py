"""``codeact``: the input in the window, and code that does not have it. What an RLM adds is that its code
does.

Contract: the model reads the input in its first message, head and tail where it does not fit, and works
turn by turn in a REPL that has no ``context``: what code should work on, the model has to copy.
``codeact_subcalls`` has the functions that make sub-calls in the REPL besides.
"""

from __future__ import annotations

from dataclasses import replace

from ..prompts import First
from ..prompts.profile import accept_any, extras, no_examples, no_nudge
from .answering import PROGRAM, input_given, repl_text, text_beside
from .protocol import CHILDREN, OF_MODELS, Given, Plan
from .window import notes_of, room

OF_THE_INPUT = ("grep", "chunks", "cite")  # they would look at an empty one
SHARE = 0.6  # of the room that a reply at once would have: the rest is for the turns


def codeact(given: Given) -> Plan:
    """Code without models in its REPL."""
    return _plan(given, OF_MODELS, calls="")


def codeact_subcalls(given: Given) -> Plan:
    """Code that may ask models, and make no children."""
    return _plan(given, CHILDREN, calls="\n" + text_beside("codeact_calls.md"))


def _plan(given: Given, without: tuple[str, ...], calls: str) -> Plan:
    profile = replace(
        given.profile,
        system=text_beside("codeact.md").format(calls=calls),
        examples=no_examples,
        imports=(repl_text(),),
        first=first_message,
        look=lambda query: PROGRAM,
        nudge=no_nudge,
        check_answer=accept_any,
        tells_unread=False,
        without=(*without, *OF_THE_INPUT),
        window=int(room(given) * SHARE),
    )
    return Plan(profile, given.sub_profile, replace(given.limits, max_depth=0), notes_of(given, given.root))


def first_message(first: First) -> str:
    """The input, what the user has added, and the question last."""
    return "\n\n".join(
        [
            input_given(first.look),
            *extras(first, "Extra functions in the REPL"),
            f"The question:\n{first.query}",
        ]
    )
