"""Rows of text in a few styles, written to a terminal or a pipe.

Contract: a row is made of parts; every text goes through :func:`part` or :func:`block`, which make it safe.
Into a pipe, with ``NO_COLOR``, or on a dumb terminal nothing but the text is written; on a terminal rows are
cut at its width, or wrap where all of them is wanted. Where the stream cannot show the lines of a tree, plain
characters stand for them.

>>> row = (part("turn 1", BOLD), part("  \\x1b[2J"))
>>> painted(row, colour=False), painted(row, colour=True)
('turn 1  \\\\x1b[2J', '\\x1b[1mturn 1\\x1b[0m  \\\\x1b[2J')
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import NamedTuple

from .terminal import Output, columns, is_terminal, page_width, safe

PLAIN, BOLD, DIM, RED, GREEN, CYAN = "", "1", "2", "31", "32", "36"  # as a terminal is told them
_CODE: Mapping[str, str] = {
    "Token.Keyword": "34",
    "Token.Literal.String": "33",
    "Token.Literal.Number": "35",
    "Token.Comment": DIM,
    "Token.Name.Builtin": CYAN,
    "Token.Name.Function": CYAN,
    "Token.Operator.Word": "34",
}
_LEAST, _ALMOST_NOTHING = 6, 2  # columns that a part keeps
_WORDS = re.compile(r"\s+|\S+")
_ASCII = str.maketrans({"├": "|", "└": "`", "│": "|", "─": "-", "·": "|", "…": "~", "→": ">", "←": "<"})


class Part(NamedTuple):
    text: str
    style: str = PLAIN


Row = tuple[Part, ...]


def part(text: str, style: str = PLAIN) -> Part:
    """One piece of a row: no line break, nothing that a terminal would obey."""
    if text.isascii() and text.isprintable():
        return Part(text, style)
    return Part(safe(text).replace("\n", " ").expandtabs(4), style)


def block(text: str, style: str = PLAIN, *, indent: str = "  ") -> Iterator[Row]:
    """A text of several lines, each a row."""
    for line in safe(text.strip("\n")).expandtabs(4).split("\n"):
        yield (Part(indent), Part(line, style)) if line else ()


def code_block(code: str, *, indent: str = "  ") -> Iterator[Row]:
    """Python, highlighted in the terminal's own colours."""
    from pygments.lexers.python import PythonLexer

    row: list[Part] = []
    for kind, text in PythonLexer(stripnl=False).get_tokens(safe(code.strip("\n")).expandtabs(4)):
        first, *others = text.split("\n")
        if first:
            row.append(Part(first, _style(str(kind))))
        for line in others:
            yield (Part(indent), *row) if row else ()
            row = [Part(line, _style(str(kind)))] if line else []
    if row:
        yield (Part(indent), *row)


def _style(kind: str) -> str:
    return next((style for start, style in _CODE.items() if kind.startswith(start)), PLAIN)


def painted(row: Row, *, colour: bool) -> str:
    if not colour:
        return "".join(each.text for each in row).rstrip()
    return "".join(f"\x1b[{p.style}m{p.text}\x1b[0m" if p.style else p.text for p in row)


def fitted(row: Row, width: int) -> Row:
    """The row in at most ``width`` columns, and a mark where something is left out. What is dim gives way to
    what failed behind it.

    >>> row = (part("turn 1  "), part("3 lines of code", DIM), part(", 1 failed", RED))
    >>> painted(fitted(row, 28), colour=False), painted(fitted(row[:2], 20), colour=False)
    ('turn 1  3 lines o…, 1 failed', 'turn 1  3 lines of…')
    """
    from rich.cells import cell_len, set_cell_size

    row = _shortened(row, width)
    if sum(cell_len(each.text) for each in row) <= width:
        return row
    kept: list[Part] = []
    room = max(1, width) - 1
    for each in row:
        size = cell_len(each.text)
        if size > room:
            kept.append(Part(set_cell_size(each.text, room).rstrip() + "…", each.style))
            break
        kept.append(each)
        room -= size
    return tuple(kept)


def _shortened(row: Row, width: int) -> Row:
    """The row with its dim parts cut, as far as what failed behind them needs the room: the last first, and
    where that is not enough, to almost nothing."""
    from rich.cells import cell_len, set_cell_size

    sizes = [cell_len(each.text) for each in row]
    if sum(sizes) <= width:
        return row
    failed = max((at for at, each in enumerate(row) if each.style == RED), default=0)
    after = failed + 1 < len(row)  # for the mark that more follows
    over = sum(sizes[:failed]) + min(sizes[failed], width // 2) + after - width
    parts, dim = list(row), [at for at in range(1, failed) if row[at].style == DIM]
    for least, places in ((_LEAST, reversed(dim)), (_ALMOST_NOTHING, dim)):
        for at in places:
            size = cell_len(parts[at].text)
            if over > 0 and size > least:
                kept = set_cell_size(row[at].text, max(least, size - over) - 1).rstrip()
                parts[at] = Part(kept + "…", DIM)
                over -= size - cell_len(parts[at].text)
    return tuple(parts)


def wrapped(row: Row, width: int, hang: int) -> Iterator[Row]:
    """The row as rows that are broken between words, all but the first ``hang`` columns in. A word that is
    longer than a row is left to the terminal: a path can be copied then.

    >>> [painted(each, colour=False) for each in wrapped((part("one two "), part("three", BOLD)), 9, 2)]
    ['one two', '  three']
    """
    from rich.cells import cell_len

    kept: list[Part] = []
    room = width
    for each in row:
        for word in _WORDS.findall(each.text):
            size = cell_len(word)
            if size > room and kept and not (len(kept) == 1 and kept[0].text == " " * hang):
                yield tuple(kept[:-1] if kept[-1].text.isspace() else kept)
                kept, room = [Part(" " * hang)], width - hang
                if word.isspace():
                    continue
            kept.append(Part(word, each.style))
            room -= size
    yield tuple(kept)


@dataclass(frozen=True, slots=True)
class Paper:
    """A stream to paint on. ``width`` is None where nothing is cut: a pipe, a file. ``page``: where text is
    broken between words, there too, see :func:`unspool.cli.terminal.page_width`."""

    out: Output
    colour: bool
    width: int | None
    unicode: bool = True
    page: int | None = None

    @staticmethod
    def stdout() -> Paper:
        stream = sys.stdout
        terminal = is_terminal(stream)
        colour = terminal and not os.environ.get("NO_COLOR") and os.environ.get("TERM", "dumb") != "dumb"
        unicode = (getattr(stream, "encoding", None) or "").lower().startswith("utf")
        return Paper(Output(stream), colour, columns(stream), unicode, page_width(stream))

    def write(self, rows: Iterable[Row], *, whole: bool = False, hang: int | None = None) -> None:
        """The rows as lines; cut at the width unless all of them is wanted: as they are (``whole``), or
        broken between words, and then so many columns in (``hang``)."""
        fit = self._wrap if hang is not None else self._whole if whole else self._cut
        lines = (painted(line, colour=self.colour) for row in rows for line in fit(row, hang or 0))
        text = "".join(line + "\n" for line in lines)
        self.out.write(text if self.unicode else text.translate(_ASCII))

    def _whole(self, row: Row, hang: int) -> Iterable[Row]:
        return (row,)

    def _cut(self, row: Row, hang: int) -> Iterable[Row]:
        return (row,) if self.width is None else (fitted(row, self.width),)

    def _wrap(self, row: Row, hang: int) -> Iterable[Row]:
        return (row,) if self.page is None else wrapped(row, self.page, hang)
