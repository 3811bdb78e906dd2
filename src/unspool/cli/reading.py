"""What models read of the input, and the quotes from it, in lines for people and as an object for programs.

Contract: pure; nothing is said where nothing is known. The first line fits 40 columns. No line here is made
safe for a terminal yet.

>>> from unspool.types import Coverage
>>> percent(0.1234), percent(0.0049), percent(0.9999), percent(1.0), percent(0.0)
('12%', '0.4%', '99%', '100%', '0%')
>>> list(reading_lines(Coverage(share=0.5, size=10, read=5, unknown=1), ()))
['models read at least 50% of the input']
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict

from ..reading import Citation, Coverage
from .report import count

MOST_CITED = 20  # lines of citations
LEAST = 0.001  # a share that is told in figures
MOST_PARTS = 100  # parts with their unread ranges in an object, and ranges of each


def percent(share: float) -> str:
    """Rounded down: 100% is all of it."""
    if share >= 1:
        return "100%"
    if 0 < share < LEAST:
        return f"under {LEAST:.1%}"
    return f"{int(share * 100)}%" if share >= 0.01 or not share else f"{int(share * 1000) / 10}%"


def reading_lines(coverage: Coverage, citations: Sequence[Citation], width: int = 100) -> Iterator[str]:
    """The share that was read, then each quote with its place; ``width``: what a quote is cut to."""
    if coverage.share is not None:
        sure = coverage.share >= 1 or (not coverage.unplaced and not coverage.unknown)
        if sure or coverage.share >= LEAST:
            yield f"models read {'' if sure else 'at least '}{percent(coverage.share)} of the input"
        else:
            yield "how much of the input models read is not known"
    for each in citations[:MOST_CITED]:
        yield _cited(each, width)
    if len(citations) > MOST_CITED:
        yield f"and {len(citations) - MOST_CITED:,} more quotes"


def _cited(cited: Citation, width: int) -> str:
    if not cited.found:
        start = "not in the input: "
    else:
        line = "?" if cited.line is None else f"{cited.line:,}"
        start = f"line {line}: " if cited.source is None else f"{cited.source}, line {line}: "
        start = start if cited.node == "0" else f"child {cited.node}, {start}"
    quote, room = " ".join(cited.quote.split()), max(20, width - len(start) - 2)
    return f'{start}"{quote if len(quote) <= room else quote[: room - 3] + "..."}"'


def map_lines(coverage: Coverage) -> Iterator[str]:
    """The ranges of each part that models were shown, how often, and those that they were not."""
    for part in coverage.parts[:MOST_PARTS]:
        name = "" if part.name is None and coverage.parts_in_all == 1 else f"{part.name or part.number}: "
        ranges = [(start, end, f"read {count(times, 'time')}") for start, end, times in part.read]
        ranges += [(start, end, "never read") for start, end in part.unread]
        for start, end, told in sorted(ranges)[:MOST_PARTS]:
            yield f"{name}{start:,} to {end:,}: {told}"
        if len(ranges) > MOST_PARTS:
            yield f"{name}and {len(ranges) - MOST_PARTS:,} ranges more"
    if coverage.parts_in_all > MOST_PARTS:
        yield f"and {coverage.parts_in_all - MOST_PARTS:,} parts more"


def coverage_object(coverage: Coverage) -> Mapping[str, object]:
    """For ``--json``: the figures, and what was not read of the first parts."""
    figures = {name: value for name, value in asdict(coverage).items() if name != "parts"}
    partly = [part for part in coverage.parts if part.unread][:MOST_PARTS]
    unread = [{"part": part.number, "name": part.name, "ranges": part.unread[:MOST_PARTS]} for part in partly]
    return {**figures, "unread": unread}
