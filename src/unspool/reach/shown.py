"""Content as a description shows it: between marks, and cut.

>>> print(quoted("a line\\n"), cut("abcdef", 4))
<data>
a line
</data> abcd… (2 more characters)
"""

from __future__ import annotations


def quoted(text: str) -> str:
    shown = text.encode("utf-8", "backslashreplace").decode()  # bytes that are no text are shown as such
    return f"<data>\n{shown.rstrip(chr(10))}\n</data>"


def cut(text: str, most: int) -> str:
    return text if len(text) <= most else f"{text[:most]}… ({len(text) - most:,} more characters)"
