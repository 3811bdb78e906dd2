"""The best draft of a node that stops without an answer: a variable named like a result.

Contract: :func:`hand_over_draft` runs a cell that gives it to the host by the reserved function ``draft``;
what keeps it from doing so is in the words it returns, to be added to the reason that the node stopped.
"""

from __future__ import annotations

import asyncio

from .errors import SandboxError
from .sandbox.protocol import Repl
from .tools import DRAFT

SECONDS = 0.1  # where a limit of time may be what has stopped the node
UNHURRIED_SECONDS = 1.0  # where it is not

CELL = f"""
for _name in ("final_answer", "final", "answer", "result", "results", "draft", "output"):
    _value = globals().get(_name)
    if _name == "answer" and isinstance(_value, dict) and set(_value) == {{"content", "ready"}}:
        _value = _value["content"]
    if _value is not None and not callable(_value) and (not hasattr(_value, "__len__") or len(_value)):
        {DRAFT}(_name, _value)
        break
"""


async def hand_over_draft(repl: Repl, *, hurried: bool) -> str:
    seconds = SECONDS if hurried else UNHURRIED_SECONDS
    try:
        async with asyncio.timeout(2 * seconds):
            await repl.execute(CELL, seconds=seconds)
    except TimeoutError:
        return "; no draft could be read in time"
    except SandboxError as error:
        return f"; no draft could be read ({error})"
    return ""
