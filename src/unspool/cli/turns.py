"""One turn, and sub-calls, in full: what the model said, the code, what came of it. Pure.

>>> from unspool.cli.paint import painted
>>> from unspool.types import SubCall, Usage
>>> call = SubCall(7, "0", 2, 3, 1, 4, "sub", "openai:m", "Is it\\nspam?", "yes", usage=Usage(1, 9, 1))
>>> for row in calls([call]):
...     print(painted(row, colour=False))
7  node 0, turn 2, cell 3, item 4 of batch 1  openai:m  10 tokens  cost unknown
   → Is it spam?
   ← yes
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from ..safe_text import one_line
from ..types import CellRun, Node, SubCall, Turn
from ..words import words
from .paint import BOLD, CYAN, DIM, PLAIN, RED, Row, block, code_block, part
from .report import count, duration, model_name, money, tokens
from .tree import calls_told, sandbox_start, short_tokens, took, tree

_HEAD = 300  # characters of a prompt or a reply
_FIRST, _LAST = 150, 50  # lines of a text that is shown in short
_LONG = 2_000  # characters of one of them


def turn_rows(node: Node, turn: Turn, *, now: float | None = None, short: bool = False) -> Iterator[Row]:
    """A turn of a node in full; ``short``: of long texts head and tail, for a terminal."""
    name = f"turn {turn.number}" if turn.number else "first look (code of the profile)"
    figures = [
        took(turn.started, turn.ended, now, without=turn.waited + turn.paused),
        sandbox_start(turn),
        model_name(turn.model),
    ]
    if turn.usage.calls:
        figures += [tokens(turn.usage), money(turn.cost)]
    figures += [count(turn.retries, "retry").replace("retrys", "retries")] if turn.retries else []
    yield (
        part(f"{name} of node {node.id}", BOLD),
        part("".join(f"  {each}" for each in figures if each), DIM),
    )
    if turn.thinking.strip():
        yield from _titled("the model's thoughts", _shown(turn.thinking, DIM, short=short))
    if said := words(turn):
        yield from _titled("the model's words", _shown(said, short=short))
    if turn.finish not in (None, "stop", "tool"):
        yield (part(f"the reply ended for another reason: {turn.finish}", RED),)
    for cell in turn.cells:
        yield from _cell(cell, short=short, going=now is not None)
    for hint in turn.hints:
        yield from _titled("told the model", _shown(hint, short=short))
    numbers = {cell.number for cell in turn.cells}
    children = [child for child in node.children if child.cell in numbers]
    if children:
        yield from _titled("children", (row for child in children for row in tree(child, now=now)))


def _titled(title: str, rows: Iterable[Row]) -> Iterator[Row]:
    yield ()
    yield (part(title, CYAN),)
    yield from rows


def _shown(text: str, style: str = PLAIN, *, short: bool) -> Iterator[Row]:
    """A text, in short its first and last lines, with what is left out counted."""
    lines = text.strip("\n").split("\n")
    if not short or (len(lines) <= _FIRST + _LAST and all(len(line) <= _LONG for line in lines)):
        yield from block(text, style)
        return
    cut = [line if len(line) <= _LONG else _cut(line) for line in lines]
    out = len(lines) - _FIRST - _LAST
    if out <= 0:
        yield from block("\n".join(cut), style)
        return
    yield from block("\n".join(cut[:_FIRST]), style)
    yield (part(f"  … {out:,} lines left out here; all of it: | less", DIM),)
    yield from block("\n".join(cut[-_LAST:]), style)


def _cut(line: str) -> str:
    return f"{line[:_LONG]} … {len(line) - _LONG:,} characters left out here; all of it: | less"


def _cell(cell: CellRun, *, short: bool, going: bool) -> Iterator[Row]:
    yield from _titled(f"code of cell {cell.number}", code_block(cell.code))
    how = [duration(cell.seconds)] if cell.seconds is not None else []
    how += [cell.outcome or "not ended", calls_told([cell])]
    how += [f"{cell.omitted:,} characters left out"] if cell.omitted else []
    rows = _shown(cell.output, short=short) if cell.output.strip() else iter([(part("  (nothing)", DIM),)])
    yield from _titled(f"output of cell {cell.number}  {', '.join(each for each in how if each)}", rows)
    if cell.error is not None:
        told = cell.error.traceback.strip() or f"{cell.error.type}: {cell.error.message}"
        yield from _shown(told, RED, short=short)
    for note in cell.notes:
        yield from block(f"note: {note}", DIM)
    if cell.sub_calls:
        yield from _titled(
            f"sub-calls of cell {cell.number}", calls(cell.sub_calls, going=going and cell.outcome is None)
        )


def calls(made: Iterable[SubCall], *, going: bool = False) -> Iterator[Row]:
    """Sub-calls: where each was made, what it took, how its prompt and its reply begin."""
    for call in made:
        place = f"node {call.node}, turn {call.turn}, cell {call.cell}"
        if call.batch is not None:
            place += f", item {call.index} of batch {call.batch}"
        figures = [
            model_name(call.model),
            duration(call.seconds) if call.seconds else "",
            short_tokens(call.usage),
        ]
        figures += [money(call.cost)] if call.usage.calls else []
        figures += [f"sent {call.retries + 1} times"] if call.retries else []
        figures += ["from the cache"] if call.cached else []
        yield (
            part(str(call.id), BOLD),
            part(f"  {place}", DIM),
            part("".join(f"  {each}" for each in figures if each)),
        )
        yield (part("   → ", DIM), part(one_line(call.prompt, _HEAD)))
        if call.error is not None:
            yield (part(f"   failed: {call.error.kind}: {one_line(call.error.message, _HEAD)}", RED),)
        elif call.reply is not None:
            cut = call.finish not in (None, "stop", "tool")
            end = part(f"  ({call.finish})", RED) if cut else part("", PLAIN)
            yield (part("   ← ", DIM), part(one_line(call.reply, _HEAD)), end)
        else:
            yield (part("   no reply yet", CYAN) if going else part("   no reply", DIM),)
