"""What was read of an input, in words: shares, ranges, quotes.

Contract: nothing here does I/O or imports another room. Positions are characters, in what is in files bytes
of the (unpacked) text. What is not known is ``None``, never 0.

>>> Coverage().share is None
True
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Range = tuple[int, int, int]
"""A stretch of the input: the number of its part, start and end."""


@dataclass(frozen=True, slots=True)
class PartCoverage:
    """One part of the input: the text itself, an item of a list, a value of a mapping, a file."""

    number: int
    name: str | None  # its key in a mapping, its path
    size: int | None  # None: packed, and not read to its end
    share: float | None  # read, of 1
    read: tuple[Range, ...]  # start, end, how often
    unread: tuple[tuple[int, int], ...]  # start, end


@dataclass(frozen=True, slots=True)
class Coverage:
    """What models were shown of the input: by prints, by sub-calls, by children. Shares are of 1.

    All is ``None`` where the input is not made of text, the shares where its size is not known. Where
    ``unplaced`` or ``unknown`` is not 0, the shares are lower bounds. What code read without showing it to a
    model is not in it.
    """

    share: float | None = None  # by anything
    size: int | None = None  # in ``unit``
    read: int | None = None
    by_prints: float | None = None
    by_sub_calls: float | None = None  # None, too, where it is known of none of them
    by_children: float | None = None
    unplaced: int = 0  # characters shown that there was no time to look for in the input
    unknown: int = 0  # prints and sub-calls of which it is not known what they showed
    parts: tuple[PartCoverage, ...] = ()  # the first thousand
    parts_in_all: int = 0
    unit: Literal["characters", "bytes"] = "characters"  # bytes: the input is in files
    why: str = ""  # why the share is not known, and which files are not counted in it


@dataclass(frozen=True, slots=True)
class Citation:
    """A quote, and where it stands in the input of the node that cited it."""

    quote: str
    source: str | None  # the key or number of the part; None: the input is one text
    offset: int | None  # characters of the part; None: it is not there
    line: int | None  # from 1
    found: bool
    verified: bool | None  # the host has compared it with the input; None: it could not
    node: str = "0"
    via: str = "cite"  # or "answer": it stood between quotation marks there
    place: Range | None = None  # in files, as coverage counts: the part, first byte, the one behind the last
