"""Finds the code in a model's reply: tolerant of every way models write it, and never inventive.

Contract of :func:`find_cells`: any text in, never an exception; time linear in the text; cells in
the order they stand. Code that parses comes out byte for byte, save for the indentation of its
fence and CRLF. What is not run is reported: blocks of another language in ``skipped``, with the
reason, and, where nothing is left to run, one sentence in ``hint`` that says what to do.

How a reply is read, from left to right:

- *Reasoning* (``<think>`` and its kin, harmony's analysis channel, all that stands before a
  closing tag that was never opened) is passed over with the drafts in it.
- A *fence* opens a block. Inside Python, a line of backticks ends it only outside strings and
  comments; so do the next opening fence, a closing reasoning tag and a leaked end-of-turn token,
  none of which can stand in Python. If the string that hid the end turns out to be a broken one,
  the first closing line counts. A fence that never closes runs to the end.
- ``<code>``, ``<python>`` and tool calls written as text count as blocks.
- A block without a tag, and a reply without any fence, is code only by the signs in
  :mod:`unspool._cells_signs`. A fence inside a block quote (``> ```\\```) is a quotation, not a cell.

>>> found = find_cells("Let me look.\\n```python\\nprint(len(context))\\n```")
>>> found.cells[0].code
'print(len(context))'
>>> find_cells("The answer is probably FINAL(42).").hint
'An answer in prose does not count: call submit(value) inside a ```python block.'
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from ._cells_calls import read_calls, skip_json
from ._cells_ends import End, Ends
from ._cells_marks import (
    CALL_TAGS,
    EVENT,
    HARMONY_END,
    HOLDS_CODE,
    ONE_LINE,
    TOKENS,
    Reasoning,
    ends_line,
    is_known,
    is_python,
    quoted,
    starts_line,
    stop_of,
    tag_of,
)
from ._cells_repair import Mended, mend, only_magics
from ._cells_signs import NOT_PYTHON, unmistakable, why_not_code

MOST_READ = 1_000_000  # characters of a reply: no model's output limit comes near
_ANSWER = re.compile(r"\b(?:FINAL|FINAL_VAR|SUBMIT|submit)\s?\(")
_CODE_LINE = re.compile(
    r"^[ \t>]*(?:print\(|import \w|from \w+ import |\w+ = |for \w+ in |def \w+\(|llm_query|context\[)",
    re.MULTILINE,
)
_FENCE_NEXT = re.compile(r"\s*(?:`{3}|~{3})")


@dataclass(frozen=True, slots=True)
class Cell:
    """One block to run. ``lang`` is the tag as written, "" without one, "tool" for a tool call."""

    code: str
    lang: str
    closed: bool
    repairs: tuple[str, ...] = ()  # e.g. "smart quotes on line 3"


@dataclass(frozen=True, slots=True)
class Skipped:
    """One block that is not run, and why."""

    lang: str
    code: str
    reason: str


@dataclass(frozen=True, slots=True)
class Found:
    """What a reply holds. ``hint`` is set exactly when there is no cell.

    ``prose`` is what stands outside of cells, other blocks and reasoning.
    """

    cells: tuple[Cell, ...]
    skipped: tuple[Skipped, ...]
    hint: str | None
    prose: str = ""


def find_cells(text: str, *, code: Sequence[str] = (), thinking: str = "") -> Found:
    """The cells of a reply. ``code`` came inside provider tool calls, ``thinking`` beside the text.

    ``thinking`` is never run; it is looked at only to say in the hint that code was left in it.
    """
    if (size := len(text) + sum(map(len, code))) > MOST_READ:
        return Found(
            (), (), f"Nothing was run: your reply has {size:,} characters, too many to read. Be short."
        )
    reader = _Reader(text.replace("\r\n", "\n"))
    reader.read()
    for step in code:
        reader.take_tool_call(step.replace("\r\n", "\n"))
    if not reader.cells and not reader.skipped and not any(step.strip() for step in code):
        reader.take_whole_reply()
    hint = None if reader.cells else reader.hint(thinking)
    return Found(tuple(reader.cells), tuple(reader.skipped), hint, reader.prose)


class _Reader:
    """One pass over a reply, from left to right."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.cells: list[Cell] = []
        self.skipped: list[Skipped] = []
        self._prose: list[str] = []
        self._prose_from = 0
        self._reasoning = Reasoning.of(text)
        self._ends = Ends(text)
        self._opened = False  # a reasoning tag was seen: a closing one is no longer a stray
        self._tagged = False  # a cell was found that said it was Python
        self._draft = ""  # where code was left that is not run, for the hint
        self._broken_calls = 0  # each costs the decoder a look at all that stands before it
        self._empty = ""  # what a block without code was, for the hint

    def read(self) -> None:
        text, pos = self.text, 0
        if bare := re.match(r"\s*analysis(?=[A-Z\s])", text):  # harmony with its tokens stripped
            final = text.find("assistantfinal", bare.end())
            if final >= 0:
                pos = self._pass_over(bare.end(), final) + len("assistantfinal")
        self._prose_from = pos
        while mark := EVENT.search(text, pos):
            after = self._event(mark)
            if after is None:  # a mention, not a mark
                pos = mark.end("run") if mark["run"] else mark.end()
            else:
                self._prose.append(text[self._prose_from : mark.start()])
                pos = self._prose_from = after
        self._prose.append(text[self._prose_from :])

    def _event(self, mark: re.Match[str]) -> int | None:
        """Where reading goes on behind a mark; ``None`` if it is only talked about."""
        if mark["run"] or mark["inline"]:
            return self._fence(mark)
        if quoted(self.text, mark.start()):
            return None
        if mark["close"]:
            return self._closing(mark)
        if mark["open"]:
            return self._opening(mark)
        if mark["harmony"]:
            return self._harmony(mark)
        return self._tag(mark) if mark["tag"] else self._call(mark)

    # ---- reasoning -------------------------------------------------------------------------

    def _pass_over(self, start: int, end: int, where: str = "your reasoning, which is not run") -> int:
        self._opened = True
        if HOLDS_CODE.search(self.text, start, end):
            self._draft = where
        return end

    def _opening(self, mark: re.Match[str]) -> int | None:
        end = self._reasoning.end(mark.start())
        if end == -1:
            return self._pass_over(mark.end(), len(self.text), f"{mark[0]}, which was never closed")
        return None if end is None else self._pass_over(mark.end(), end)

    def _closing(self, mark: re.Match[str]) -> int:
        if not self._opened:  # the opening tag was part of the prompt: all before is reasoning
            self.cells.clear()
            self.skipped.clear()
            self._prose.clear()
            self._prose_from = mark.start()
            self._empty = ""
            self._pass_over(0, mark.start())
        return mark.end()

    def _harmony(self, mark: re.Match[str]) -> int:
        called = " to=" in mark[0]
        if not called and "analysis" not in mark[0]:
            return mark.end()  # the final channel, or a preamble: prose like any other
        stop = HARMONY_END.search(self.text, mark.end())
        end = stop.start() if stop else len(self.text)
        if not called:
            return self._pass_over(mark.end(), end)
        self._called(self.text[mark.end() : end], stop is not None, trusted=True)
        return end

    # ---- fences ----------------------------------------------------------------------------

    def _fence(self, mark: re.Match[str]) -> int | None:
        run, info = mark["run"] or mark["inline"], mark["info"] or mark["inline_info"] or ""
        before = self.text[max(0, mark.start() - 200) : mark.start()].rpartition("\n")[2]
        if before.startswith(">"):
            return None  # a quotation
        if run[0] == "`" and "`" in info:
            if one := ONE_LINE.fullmatch(info):
                self._block(one["code"].strip(), one["tag"].lower(), True)
            return mark.end() if one else None
        tag, first = tag_of(info)
        start = min(mark.end() + 1, len(self.text))
        if info.strip() and not tag and not first and not re.match(r"\s*(?:\{|code\b)", info, re.IGNORECASE):
            return None  # no tag, and no code either
        if tag and not is_python(tag):
            if not is_known(tag) and len(info.split()) > 1 and not re.search("[={]", info):
                return None  # backticks in front of a sentence
            return self._other_language(tag, start, self._ends.of_text(start, run))
        end = self._ends.of_code(start, run)
        body = self.text[start : end.body]
        if first:
            body = f"{first}\n{body}"
        if tag:
            self._block(body, tag, end.closed)
        elif not self._untagged(body, mark.start(), end.closed):
            self._ends.again(start, end.next)  # a stray fence: what stands behind it is prose
            return end.next if self._ends.spent else start
        return end.next

    def _other_language(self, tag: str, start: int, end: End) -> int:
        body = self.text[start : end.body]
        if tag not in CALL_TAGS or not self._called(body, end.closed):
            self.skipped.append(
                Skipped(tag, body, f"only Python is run, and this block is tagged {tag[:40]}")
            )
        return end.next

    def _untagged(self, body: str, at: int, closed: bool) -> bool:
        """Takes a block without a tag; False if it is no block."""
        marked = EVENT.match(body, len(body) - len(body.lstrip()))
        if marked and not marked["run"]:
            return False  # a fence around <tool_call> or the like
        mended = self._mended(body, "")
        if mended is None:
            return True
        line_before = self.text[max(0, at - 300) : at].rstrip().rpartition("\n")[2]
        reason = why_not_code(mended, line_before, behind_tagged=self._tagged)
        if reason is None:
            self.cells.append(Cell(mended.code, "", closed, mended.repairs))
        elif closed or reason != NOT_PYTHON:
            self.skipped.append(Skipped("", body, reason))
        return closed or reason != NOT_PYTHON

    # ---- tags and tool calls ---------------------------------------------------------------

    def _tag(self, mark: re.Match[str]) -> int | None:
        """``<code>…</code>`` and its kin, where they stand apart from the sentence around them."""
        text, name, start = self.text, mark["tag"].lower(), mark.end()
        if _FENCE_NEXT.match(text, start):
            return start  # the fence inside says it all
        end = self._ends.of_tag(start, name)
        if end is None:
            return None
        body = text[start : end.body]
        apart = starts_line(text, mark.start())
        if name == "code":  # also HTML's way to name something
            apart = apart and ends_line(text, end.next)
            mended = mend(body.strip("\n"))
            sure = mended.tree is not None and unmistakable(mended.tree, mended.code)
            fits = sure if "\n" not in body.strip() else why_not_code(mended) is None
        else:
            fits = True
        if not (fits and (apart or body.startswith("\n"))):
            self._ends.again(start, end.next)
            return None
        self._block(body.strip("\n"), name, end.closed)
        return end.next

    def _call(self, mark: re.Match[str]) -> int | None:
        name = (mark["call"] or ("function" if mark["function"] else "")).lower()
        behind = skip_json(self.text, mark.end()) if self._broken_calls < 8 else mark.end()
        self._broken_calls += behind == mark.end()
        stop = (stop_of(name, hidden=False) if name else TOKENS).search(self.text, behind)
        end = stop.start() if stop else len(self.text)
        closed = stop is not None and (not name or stop["end"] is not None)
        start = mark.start() if name in ("function", "invoke") else mark.end()  # these name the tool
        if not self._called(self.text[start:end], closed, trusted=not name):
            return None
        return stop.end() if stop and closed and name else end

    def _called(self, body: str, closed: bool, *, trusted: bool = False) -> bool:
        """Takes the calls in the body; False if there is none. A trusted one may be plain code."""
        calls = read_calls(body)
        if not calls and body.strip():
            mended = mend(body)
            if not trusted and (mended.tree is None or not unmistakable(mended.tree, mended.code)):
                return False
            self._block(body.strip("\n"), "tool", closed)
        for call in calls:
            if call.code is None:
                self.skipped.append(Skipped("tool", body.strip(), call.reason))
            else:
                self._block(call.code, "tool", closed)
        return True

    def take_tool_call(self, code: str) -> None:
        """Code of a provider's tool call, unless the text already showed the same code."""
        if any(cell.code.strip() == code.strip() and cell.lang != "tool" for cell in self.cells):
            return
        if "```" in code and mend(code).wrong:
            inner = _Reader(code)
            inner.read()
            if inner.cells:
                self.cells += inner.cells
                self.skipped += inner.skipped
                return
        self._block(code, "tool", True)

    def take_whole_reply(self) -> None:
        """A reply without any block, if nothing but code is in it."""
        text = TOKENS.sub("", "".join(self._prose)).strip()
        if span := re.fullmatch(r"`([^`\n]+)`", text):
            text = span[1]
        calls = read_calls(text) if text.startswith("{") else ()
        for code in [call.code for call in calls] or [text]:
            mended = mend(code or "")
            if mended.tree is not None and unmistakable(mended.tree, mended.code):
                self.cells.append(Cell(mended.code, "tool" if calls else "", True, mended.repairs))

    # ---- blocks and the hint ---------------------------------------------------------------

    def _mended(self, code: str, tag: str) -> Mended | None:
        """The code ready to run, or ``None`` if there is nothing in it that could be."""
        if only_magics(code):
            self.skipped.append(Skipped(tag, code, "notebook commands (%pip, !ls) are not run here"))
            return None
        mended = mend(code) if code.strip() else None
        if mended is None or (mended.tree is not None and not mended.tree.body):
            self._empty = "holds only comments" if mended and mended.code.strip() else "was empty"
            return None
        return mended

    def _block(self, code: str, tag: str, closed: bool) -> None:
        if mended := self._mended(code, tag):
            self.cells.append(Cell(mended.code, tag, closed, mended.repairs))
            self._tagged = True

    @property
    def prose(self) -> str:
        return "".join(self._prose)

    def hint(self, thinking: str) -> str:
        """One sentence for a reply with nothing to run: what is the matter, and what to do."""
        prose = self.prose
        if self.skipped:
            return f"Nothing was run: {self.skipped[0].reason}; put Python in a ```python block."
        if self._empty:
            return f"Nothing was run: the block {self._empty}; write the code that does the next step."
        if self._draft or (HOLDS_CODE.search(thinking) and not prose.strip()):
            where = self._draft or "your reasoning, which is not run"
            return f"The only code was inside {where}: end the reasoning, then write a ```python block."
        if not prose.strip():
            what = "only reasoning" if self._opened or thinking.strip() else "empty"
            return f"Your reply was {what}: write the next step as Python in a ```python block."
        if _ANSWER.search(prose):
            return "An answer in prose does not count: call submit(value) inside a ```python block."
        if _CODE_LINE.search(prose):
            return "The code was not in a block, so it was not run: put it between ```python and ```."
        return (
            "There was no code in your reply: write the next step in a ```python block, "
            "and call submit(value) there once you have the answer."
        )
