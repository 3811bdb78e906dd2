"""A question about all of the input, answered after a part of it was read: the model is told once.

Contract: :func:`unread_notice` says what to tell a model that submits, or None. It speaks where the question
is about everything (:data:`ABOUT_ALL`), sub-calls went over most of the input and passed by the rest, and
nothing says that code has judged the rest: what code reads cannot be traced.

>>> is_about_all("How many of the reviews are negative?"), is_about_all("Who wrote the second letter?")
(True, False)
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from .ground import Ground
from .ranges import Spans, unread
from .reach.short_lines import LEAST
from .reading import Range

# Words of questions whose answer depends on everything.
ABOUT_ALL = re.compile(
    r"\b(?:all|every|each|how many|count|number of|most|least|any|none|never|always|total|overall|"
    r"whole|entire|summari[sz]e|list the)\b",
    re.IGNORECASE,
)
# Code that goes through the whole input by itself, or picks from it what it asks models about.
COMPUTES = re.compile(
    r"\bre\.\w+\(|\bgrep\(|\.find(?:iter|all)\(|\bCounter\(|\bcontext\.(?:count|find|index)\(|\bif\b[^\n]*(?:\bin\b|[<>=(])"
)
AT_LEAST = 0.25  # of the input that sub-calls went over: less is a choice, not an attempt at all of it
MOST_TOLD = 5  # ranges


def is_about_all(query: str) -> bool:
    return ABOUT_ALL.search(query) is not None


def unread_notice(
    query: str, codes: Sequence[str], ground: Ground, calls: Spans, prints: Spans
) -> str | None:
    """What to say before an answer is taken."""
    sizes, whole = ground.sizes, ground.size
    if not whole or sizes is None or not is_about_all(query) or any(COMPUTES.search(code) for code in codes):
        return None
    if not AT_LEAST <= calls.size() / whole < 1:
        return None
    every = Spans()
    every.join(calls)
    every.join(prints)
    gaps = [
        (part, start, end)
        for part, size in enumerate(sizes)
        if size is not None and part not in ground.no_text
        for start, end in unread(every.union(part), size)
        if end - start >= min(LEAST, size)
    ]
    missed = sum(end - start for _, start, end in gaps)
    if missed * 200 < whole:  # half a percent: separators, headings
        return None
    return (
        f"{_percent(missed / whole)} of the input was never read by a sub-call or printed: "
        f"{_ranges(gaps, ground)}. Read the rest, or submit again if it does not matter"
    )


def _percent(share: float) -> str:
    return "under 1%" if share < 0.01 else f"{share:.0%}"


def _ranges(gaps: Sequence[Range], ground: Ground) -> str:
    largest = sorted(sorted(gaps, key=lambda gap: gap[1] - gap[2])[:MOST_TOLD])
    more = len(gaps) - len(largest)
    return ", ".join(_named(gap, ground) for gap in largest) + (f" and {more:,} more" if more else "")


def _named(gap: Range, ground: Ground) -> str:
    """A gap as a model can reach it."""
    part, start, end = gap
    assert ground.sizes is not None
    if not ground.in_bytes:
        return f"context[{start}:{end}]" if len(ground.sizes) == 1 else f"item {part} [{start}:{end}]"
    name = ground.names[part] if part < len(ground.names) else f"file {part}"
    if not start and end == ground.sizes[part]:
        return f"all of {name}"
    return f"bytes {start:,} to {end:,} of {name}"
