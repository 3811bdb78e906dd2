"""The white space next to a piece of a text: whoever has read the piece has missed nothing there.

>>> with_space("one \\n two", 0, 3), with_space("one \\n two", 6, 9)
((0, 6), (3, 9))
"""

from __future__ import annotations

MOST = 100  # characters


def with_space(home: str, start: int, end: int) -> tuple[int, int]:
    """A range of the home text, and the white space around it."""
    last = min(len(home), end + MOST)
    while end < last and home[end].isspace():
        end += 1
    first = max(0, start - MOST)
    while start > first and home[start - 1].isspace():
        start -= 1
    return start, end
