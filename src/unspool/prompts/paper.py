"""The profile for models trained as in the paper (RLM-Qwen3-8B): ``FINAL`` and ``FINAL_VAR`` in prose.

Contract: an ending counts where it begins a line of prose and ends one; what stands in code, in
reasoning or in the middle of a sentence is none. Such models often confuse the two endings, so a bare
name in ``FINAL`` is the variable of that name where there is one, and else the text; a number or a list
as Python writes it is that value. The ending is run
in the REPL like any code, so that it is checked, and refused with a reason, like any answer.

>>> print(ending("I am sure now.\\nFINAL(42 doors)"))
FINAL('42 doors')
>>> print(ending("FINAL_VAR(total)"))
FINAL_VAR('total')
>>> ending("My plan is to call FINAL(the count) at the end.") is None
True
"""

from __future__ import annotations

import ast
import re
from dataclasses import replace

from ..cells import Cell, Found
from ..models.protocol import ModelReply
from .profile import Profile, read_cells, read_text

_OPENING = re.compile(r"^[ \t]*[*_`]*(?P<name>FINAL_VAR|FINAL)\(", re.MULTILINE)
_REST_OF_LINE = re.compile(r"[ \t*_`.;]*(?:\n|\Z)")


def ending(prose: str) -> str | None:
    """The code that submits what the first ending in ``prose`` names; ``None`` without one."""
    for opening in _OPENING.finditer(prose):
        inside = _inside(prose, opening.end())
        if inside is None or not inside.strip():
            continue
        value = _read(inside)
        if opening["name"] == "FINAL_VAR":
            return f"FINAL_VAR({str(value)!r})"
        if inside.strip().isidentifier():
            return f"FINAL(globals().get({value!r}, {value!r}))"
        return f"FINAL({value!r})"
    return None


def _inside(prose: str, start: int) -> str | None:
    """What stands in the parentheses: up to the one that closes them, or the last at the end of a line."""
    depth, last = 1, None
    for paren in re.finditer(r"[()]", prose[start:]):
        at = start + paren.start()
        depth += 1 if paren[0] == "(" else -1
        ends_line = paren[0] == ")" and _REST_OF_LINE.match(prose, at + 1) is not None
        if depth == 0:
            return prose[start:at] if ends_line else None  # the sentence goes on: it is talked about
        if ends_line and not prose[at + 1 :].strip(" \t\n*_`.;"):
            last = at  # an opening one in the text has no partner
    return None if last is None else prose[start:last]


def _read(text: str) -> object:
    """The value that is written there: a text, a number, a list, … of Python's; else the text as it is."""
    text = text.strip()
    try:
        value = ast.literal_eval(text)
    except (ValueError, SyntaxError, MemoryError, RecursionError):
        return text
    # 1,234 is a tuple to Python and a number to people.
    return value if isinstance(value, str | int | float | list | dict) else text


def read(reply: ModelReply) -> Found:
    """The cells of a reply; an ending in its prose is the last of them."""
    found = read_cells(reply)
    if not (code := ending(found.prose)):
        return found
    # A reply without any fence may have been taken for code as a whole, its ending too.
    cells = [cell for cell in found.cells if cell.code not in found.prose]
    return replace(found, cells=(*cells, Cell(code, "ending", True)), hint=None)


PAPER = Profile(name="paper", system=read_text("paper.md"), read=read)
