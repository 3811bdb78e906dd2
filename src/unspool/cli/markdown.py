"""A run as Markdown. Pure.

Contract: what a model, an input or code wrote stands in fenced blocks alone, each with a fence that the text
cannot close, so that nothing of it becomes markup, a link or an image; controls show as escapes.

>>> fenced("a ```` b", "text")
'`````text\\na ```` b\\n`````\\n'
"""

from __future__ import annotations

import re
import time
from collections.abc import Iterator

from ..trace import TraceBuilder
from ..types import CellRun, Node, SubCall, Turn
from ..words import words
from .paint import painted
from .plain import as_text
from .reading import map_lines, reading_lines
from .report import count, duration, money, tokens
from .terminal import safe
from .timeline import timeline
from .tree import sandbox_start, took, tree


def markdown(builder: TraceBuilder, run: str) -> str:
    """The whole run."""
    return "\n".join(_run(builder, run))


def fenced(text: str, language: str = "text") -> str:
    shown = safe(text.strip("\n"))
    longest = max((len(ticks) for ticks in re.findall("`+", shown)), default=0)
    fence = "`" * max(3, longest + 1)
    return f"{fence}{language}\n{shown}\n{fence}\n"


def _run(builder: TraceBuilder, run: str) -> Iterator[str]:
    started, ended = builder.started, builder.ended
    yield f"# Run {run}\n"
    if started is None:
        yield "Nothing is kept of this run but its name.\n"
        return
    yield fenced(started.query)
    yield f"- begun: {time.strftime('%Y-%m-%d %H:%M:%S', time.gmtime(started.time))} UTC"
    yield f"- models: `{_name(started.model)}`, sub-calls `{_name(started.sub_model)}`"
    if ended is None:
        yield "- status: not ended\n"
    else:
        took_ = f"{duration(ended.seconds)}, {tokens(ended.usage)}, {money(ended.cost)}"
        yield f"- status: {ended.status}, {took_}"
        yield f"- {count(ended.turns, 'turn')}, {count(ended.sub_calls, 'sub-call')}\n"
        if ended.ledger:
            yield "| role | model | calls | tokens | cost |\n|---|---|---|---|---|"
            for line in ended.ledger:
                paid = f"{line.usage.calls:,} | {tokens(line.usage)} | {money(line.cost)}"
                yield f"| {line.role} | `{_name(line.model)}` | {paid} |"
            yield ""
        for title, text in (
            ("Why", ended.reason if ended.status != "answered" else ""),
            ("The answer is a draft", ended.draft or ""),
            ("Answer", as_text(ended.answer)),
            ("Notes", "\n".join(ended.notes)),
        ):
            if text:
                yield f"## {title}\n\n{fenced(text)}"
    yield f"## Context\n\n{fenced(started.context)}"
    coverage, citations = builder.reading.coverage(), builder.reading.citations()
    read = [*reading_lines(coverage, citations), *map_lines(coverage)]
    if read:
        yield "## What models read of the input\n\n" + fenced("\n".join(read))
    roots = builder.roots()
    rows = (painted(row, colour=False) for root in roots for row in tree(root))
    if roots:
        yield "## Nodes\n\n" + fenced("\n".join(rows))
    if lines := list(timeline(roots, builder.lived)):
        yield "## Timeline\n\n" + fenced("\n".join(lines))
    for root in roots:
        for node in root.walk():
            yield from _node(node)


def _name(name: str) -> str:
    """A name inside backticks, in a table too."""
    return safe(name).replace("`", "'").replace("|", "/").replace("\n", " ")


def _node(node: Node) -> Iterator[str]:
    yield f"## Node `{_name(node.id)}`\n\n{fenced(node.query)}"
    if node.parent is not None and node.answer is not None:
        yield f"Its answer:\n\n{fenced(as_text(node.answer))}"
    for turn in node.turns:
        yield from _turn(node, turn)


def _turn(node: Node, turn: Turn) -> Iterator[str]:
    name = f"turn {turn.number}" if turn.number else "first look"
    figures = [took(turn.started, turn.ended, without=turn.waited + turn.paused), sandbox_start(turn)]
    figures += [tokens(turn.usage), money(turn.cost)] if turn.usage.calls else []
    yield f"### Node `{_name(node.id)}`, {name}\n\n{', '.join(each for each in figures if each)}\n"
    for title, text in (("Thoughts", turn.thinking), ("Words", words(turn))):
        if text.strip():
            yield f"{title}:\n\n{fenced(text)}"
    for cell in turn.cells:
        yield from _cell(cell)
    for hint in turn.hints:
        yield f"Told the model:\n\n{fenced(hint)}"


def _cell(cell: CellRun) -> Iterator[str]:
    yield f"Code of cell {cell.number}:\n\n{fenced(cell.code, 'python')}"
    time_ = f", {duration(cell.seconds)}" if cell.seconds is not None else ""
    yield f"Output ({cell.outcome or 'not ended'}{time_}):\n\n{fenced(cell.output)}"
    if cell.error is not None:
        yield fenced(cell.error.traceback or f"{cell.error.type}: {cell.error.message}")
    for call in cell.sub_calls:
        yield from _call(call)


def _call(call: SubCall) -> Iterator[str]:
    item = f", item {call.index} of batch {call.batch}" if call.batch is not None else ""
    figures = [f"`{_name(call.model)}`", duration(call.seconds) if call.seconds else ""]
    figures += [tokens(call.usage), money(call.cost)] if call.usage.calls else []
    figures += [f"sent {call.retries + 1} times"] if call.retries else []
    figures += ["from the cache"] if call.cached else []
    yield f"#### Sub-call {call.id}{item}\n\n{', '.join(each for each in figures if each)}\n"
    yield fenced(call.prompt)
    if call.error is not None:
        yield f"Failed:\n\n{fenced(f'{call.error.kind}: {call.error.message}')}"
    elif call.reply is not None:
        yield f"Reply:\n\n{fenced(call.reply)}"
