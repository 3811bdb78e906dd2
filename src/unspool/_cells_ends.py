"""Where a block in a reply ends.

Contract of :class:`Ends`: for a place where a block begins, the end of its body and the place where
reading goes on. Python's own strings and comments decide which marks count, by a scan of its
literals rather than by trial compilation, so that the whole of a reply costs linear time.

>>> text = "s = '''\\n```\\n'''\\n```\\nThat was it."
>>> text[: Ends(text).of_code(0, "```").body]
"s = '''\\n```\\n'''"
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from ._cells_marks import CODE_STOP, FENCE_LINE, is_known, is_python, stop_of, tag_of
from ._cells_repair import mend, string_end


@dataclass(frozen=True, slots=True)
class End:
    """Where the body of a block ends, where reading goes on, and whether it was closed."""

    body: int
    next: int
    closed: bool


class Ends:
    """The ends of the blocks in one text."""

    def __init__(self, text: str) -> None:
        self.text = text
        # Characters that may be read twice. A string that seems to hide the end of a block can turn
        # out broken; when such trips have cost this much, strings no longer hide anything.
        self._spare = 2 * len(text) + 10_000

    @property
    def spent(self) -> bool:
        """Whether nothing more may be read twice."""
        return self._spare < 0

    def again(self, start: int, end: int) -> None:
        """Notes that this stretch will be read once more."""
        self._spare -= max(0, end - start)

    def of_code(self, start: int, run: str) -> End:
        """The end of Python behind a fence: the first mark that no string and no comment hides."""
        text, pos, end = self.text, start, End(len(self.text), len(self.text), False)
        hidden: End | None = None  # the first closing line inside a string
        short: End | None = None  # the first one with fewer backticks than the opening line
        doubtful = broken = False
        while stop := CODE_STOP.search(text, pos):
            pos = stop.end()
            literal = stop["literal"]
            if literal and literal[0] != "#" and not self.spent:
                pos, whole = string_end(text, stop.start(), literal)
                closing, opens = self._fences_within(stop.start(), pos, run)
                hidden, doubtful = hidden or closing, doubtful or opens
                broken = not whole and len(literal) == 3
            elif not literal:
                if found := self._stop(stop, start, run):
                    end = found
                    break
                if short is None and stop["run"] and not stop["rest"].strip() and run[0] == stop["run"][0]:
                    short = self._closed_at(stop, start)
        if hidden and (broken or (doubtful and mend(text[start : end.body]).wrong)):
            end, reached = hidden, end.next
            self.again(end.next, reached)
        elif short and end.body == len(text) and not end.closed:
            end, reached = short, end.next
            self.again(end.next, reached)
        return end

    def of_text(self, start: int, run: str) -> End:
        """The end of a block that is not Python: the first closing line."""
        for line in FENCE_LINE.finditer(self.text, start):
            if line["run"].startswith(run) and not line["rest"].strip():
                return self._closed_at(line, start)
        return End(len(self.text), len(self.text), False)

    def of_tag(self, start: int, name: str) -> End | None:
        """The end of ``<name>``; ``None`` if the next such tag opens before this one is closed."""
        text, pos, pattern = self.text, start, stop_of(name)
        while stop := pattern.search(text, pos):
            literal, pos = stop["literal"], stop.end()
            if not literal:
                if stop["again"]:
                    self.again(start, pos)
                    return None
                closed = stop["end"] is not None
                return End(stop.start(), pos if closed else stop.start(), closed)
            if literal[0] != "#" and not self.spent:
                pos, _ = string_end(text, stop.start(), literal)
        return End(len(text), len(text), False)

    def _fences_within(self, start: int, end: int, run: str) -> tuple[End | None, bool]:
        """In a string: its first line that could close the block, and whether a fence is left open.

        A string that takes in an opening fence but not its end has probably taken in the real end
        of the block, some prose, and the next block.
        """
        closing: End | None = None
        opens = False
        for line in FENCE_LINE.finditer(self.text, start, end):
            if line["rest"].strip():
                opens = is_known(tag_of(line["rest"])[0])
            else:
                opens = False
                if closing is None and line["run"].startswith(run):
                    closing = self._closed_at(line, start)
        return closing, opens

    def _closed_at(self, line: re.Match[str], start: int) -> End:
        return End(max(start, line.start() - 1), line.end(), True)

    def _stop(self, stop: re.Match[str], start: int, run: str) -> End | None:
        """What a mark outside strings and comments means for the block that it stands in."""
        if stop["token"]:
            at = stop.start()
            return End(at - 1 if at > start and self.text[at - 1] == "\n" else at, at, False)
        if stop["tail"]:
            return End(stop.start(), stop.end(), True) if stop["tail"].startswith(run) else None
        mine, rest = stop["run"], stop["rest"].strip()
        sloppy = run[0] == "~" and mine[0] == "`"  # opened with tildes, closed with backticks
        if not (mine.startswith(run) or sloppy):
            return None
        if not rest:
            return self._closed_at(stop, start)
        if "`" in rest:
            return None
        tag, alone = tag_of(rest)[0], len(rest.split()) == 1
        before = self._closed_at(stop, start).body
        if (is_python(tag) and (alone or mine[0] == "`")) or (is_known(tag) and alone):
            return End(before, stop.start(), False)  # the next block opens: this one was not closed
        if mine[0] == "~":
            return None  # three inversions, which Python knows
        return End(before, stop.end("run"), True)  # prose behind the closing backticks
