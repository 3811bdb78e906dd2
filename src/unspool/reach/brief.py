"""What is in files, described for a profile whose own helpers read it: what it is, how large, head and tail.

Contract: such a description names none of the ways in which a text, a document or files can be used, for a
weak model takes what it reads there for functions that it has. It says that ``lines`` has the lines, which is
how :mod:`unspool.prompts.small` reaches all of these. The marks of pages are left out of what is shown.

>>> print(brief("context", "the text of a.pdf (a PDF: 1 page)", "<data>\\n=== page 1 ===\\nhello\\n</data>"))
`context` is the text of a.pdf (a PDF: 1 page). The list `lines` has its lines.
<data>
hello
</data>
"""

from __future__ import annotations

import re

MOST_FILES = 1_000  # of a folder or an archive whose lines are in ``lines``
MOST_LINES = 200_000
_MARKS = re.compile(r"^=== (?:page|slide) \d+(?: \([^)\n]*\))? ===\n", re.MULTILINE)


def brief(label: str, what: str, shown: str, note: str = "") -> str:
    """Of a text or a document, which ``shown`` has a part of."""
    return (
        f"`{label}` is {what}. The list `lines` has its lines{_among(label)}.{note}\n{_MARKS.sub('', shown)}"
    )


def brief_rows(label: str, what: str, shown: str) -> str:
    """Of a table, a workbook or a database: ``prompts/small_tables.py`` makes lines of their rows."""
    return f"`{label}` is {what}. The list `lines` has its rows{_among(label)}.\n{shown}"


def _among(label: str) -> str:
    return "" if label == "context" else ", beside those of the others"


def brief_files(label: str, name: str, note: str, tree: str) -> str:
    """Of a folder or an archive, by its tree."""
    return (
        f"`{label}` is a folder, {name}. The list `lines` has the lines of its texts, file by file: of at "
        f"most {MOST_FILES:,} files, and at most {MOST_LINES:,} lines.{note}\n{tree}"
    )
