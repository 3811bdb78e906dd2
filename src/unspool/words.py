"""The words of a reply without the code in it that was run, for who reads code and words apart.

Contract: only a fenced block whose code is one of the turn's cells, line for line, is left out; all else that
the model wrote stays, drafts and blocks of other languages included.

>>> from unspool.types import CellRun, Turn
>>> text = "Let me look.\\n```python\\nprint(1)\\n```\\nThen I count."
>>> turn = Turn(1, text=text, cells=(CellRun(1, "print(1)"),))
>>> words(turn)
'Let me look.\\n\\nThen I count.'
"""

from __future__ import annotations

import re

from .types import Node, Turn

_FENCE = re.compile(r"^[ \t]*(`{3,}|~{3,})[^\n]*\n(.*?)(?:^[ \t]*\1[ \t]*$\n?|\Z)", re.MULTILINE | re.DOTALL)


def words(turn: Turn) -> str:
    """What the model said in a turn beside its code."""
    codes = {_bare(cell.code) for cell in turn.cells}
    text = turn.text or ""
    text = _FENCE.sub(
        lambda match: "\n" if _bare(match[2]) in codes else match[0], text.replace("\r\n", "\n")
    )
    return re.sub(r"\n{3,}", "\n\n", text).strip()


def script(node: Node, turn: int | None = None) -> str:
    """The code of all cells of a node, or of one of its turns, as one script with its places as comments."""
    parts = [
        f"# node {node.id}, turn {each.number}, cell {cell.number}"
        + (f": {cell.outcome}" if cell.outcome not in ("ok", "submitted") else "")
        + f"\n{cell.code.strip(chr(10))}\n"
        for each in node.turns
        if turn is None or each.number == turn
        for cell in each.cells
    ]
    return "\n".join(parts)


def _bare(code: str) -> str:
    return "\n".join(line.strip() for line in code.replace("\r\n", "\n").strip().split("\n"))
