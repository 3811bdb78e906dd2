"""Paul Graham's essays, in which RULER hides its needles: one text, cut into paragraphs again.

Contract: a pure function of the file. Essays stand there one after the other, and where a paragraph ended the
next one begins without a space. Lines that are no prose (code, headings, dates) are left out.

>>> told = "Much was said of it, and then still more, so that no end was to be seen. " * 2
>>> glued = told.strip() + " It ended." + told.strip() + " That was all.\\n\\n   (a line of code)"
>>> [line[-9:] for line in read(json.dumps({"text": glued}).encode())]
['It ended.', ' was all.']
"""

from __future__ import annotations

import json
import re

PROSE, WORDS = 120, 20  # characters and words of a paragraph, at least
_GLUED = re.compile(r"""\n\s*\n|(?<=[a-z0-9)\]"'][.?!:])(?=["'(]?[A-Z])""")
_ENDS = (".", ":", "?", "!", '."', ".)", '?"')


def read(data: bytes) -> tuple[str, ...]:
    """The paragraphs, each once, one line each. Raises ``ValueError``, ``LookupError`` or ``TypeError``."""
    found: dict[str, None] = {}
    for part in _GLUED.split(json.loads(data)["text"]):
        line = " ".join(part.split())
        if len(line) >= PROSE and line.endswith(_ENDS) and len(line.split()) >= WORDS:
            found[line] = None
    if not found:
        raise ValueError("no paragraphs")
    return tuple(found)
