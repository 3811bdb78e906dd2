"""What the page is told of a run: plain data, made from its events.

Contract: pure. Amounts that are not known are None, never 0. A long text is its beginning, its size and where
the rest is to be had (:mod:`.texts`). Nothing here is made safe yet: :func:`as_body` does that for all of it.

>>> as_body({"said": "\\x1b[2J <b>", "cost": None})
b'{"said":"\\\\\\\\x1b[2J <b>","cost":null}'
"""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from itertools import groupby
from typing import cast

from ..past import PastCell
from ..safe_text import one_line, safe
from ..types import DRIVEN, Branch, CellRun, LedgerLine, Node, SubCall, Turn, Usage, known_sum
from ..words import words
from .followed import Seen
from .tally import Counts, spent_by
from .texts import Texts

Json = Mapping[str, object]
HEAD = 120  # characters of a text in a list
PAGE = 2_000  # calls told at once: a page makes of so many what it shows in a few milliseconds
REFUSED = 100  # refusals that are told
CALL_COLUMNS = (
    "id", "node", "turn", "cell", "batch", "index", "state", "model", "started", "ended", "seconds",
    "read", "written", "cost", "retries", "prompt", "reply",
)  # fmt: skip


def as_body(value: object) -> bytes:
    """JSON in which every text only shows: this is the one way from a journal to a page."""
    return json.dumps(_safe(value), ensure_ascii=False, separators=(",", ":")).encode()


def _safe(value: object) -> object:
    if isinstance(value, str):
        return value if value.isascii() and value.isprintable() else safe(value)
    if isinstance(value, Mapping):
        return {safe(str(key)): _safe(item) for key, item in value.items()}
    if isinstance(value, list | tuple):  # of numbers and names, mostly, and thousands of them
        return [
            item
            if item is None
            or (kind := type(item)) is int
            or (kind is float and math.isfinite(item))
            or (kind is str and item.isascii() and item.isprintable())
            else _safe(item)
            for item in value
        ]
    if isinstance(value, float) and not math.isfinite(value):
        return None  # JSON has none, and no figure that is shown can be that
    return value


def figures_told(seen: Seen) -> Json:
    """What a run came to so far."""
    started, ended = seen.started, seen.ended
    usage, cost = (ended.usage, ended.cost) if ended else _spent_so_far(seen)
    calls = seen.tally.in_all()
    return {
        "id": seen.run,
        "going": seen.going,
        "status": ended.status if ended else "running" if seen.going else "interrupted",
        "reason": ended.reason if ended else "",
        "started": started.time if started else None,
        "last": seen.last,
        "lasted": seen.lasted,
        "seconds": ended.seconds if ended else None,
        "usage": usage_told(usage),
        "cost": cost,
        "turns": ended.turns if ended else _last_turn(seen.root),
        "sub_calls": calls.calls,
        "failed_calls": calls.failed,
    }


def _last_turn(root: Node | None) -> int:
    return max((turn.number for turn in root.turns), default=0) if root else 0


def run_told(seen: Seen, texts: Texts) -> Json:
    """The run as a whole, and its nodes with their turns in short."""
    started, ended = seen.started, seen.ended
    refused = list(_refusals(seen))
    told: dict[str, object] = {
        **figures_told(seen),
        "seq": seen.seq,
        "dropped": seen.dropped,
        "gaps": seen.gaps,
        "ledger": [_line(line) for line in (ended.ledger if ended else seen.tally.ledger())],
        "nodes": [_node(seen, node) for node in seen.nodes.values()],
        "branches": [_branch(branch, texts) for branch in seen.branches],
        "refused": refused[:REFUSED],
        "refused_more": max(0, len(refused) - REFUSED),
        "go_on": _to_go_on(seen),
    }
    if started is not None:
        told |= {
            "query": texts.of("query"),
            "model": started.model,
            "sub_model": started.sub_model,
            "profile": started.profile,
            "context": texts.of("context"),
            "sources": started.sources,
            "settings": {name: value for name, value in started.settings.items() if value is not None},
        }
    if ended is not None:
        told |= {
            "answer": texts.of("answer") if ended.answer is not None else None,
            "draft": ended.draft,
            "notes": ended.notes,
            "reused": usage_told(ended.reused),
            "reused_cost": ended.reused_cost,
        }
    return told


def _to_go_on(seen: Seen) -> str:
    """What a person types to go on with a run that nobody goes on with and that has no answer."""
    from ..cli.runs import to_go_on

    if seen.started is None or seen.going or seen.started.model.startswith(DRIVEN):
        return ""
    answered = seen.ended is not None and seen.ended.status == "answered"
    return "" if answered else to_go_on(seen.run, seen.folder, seen.ended, seen.started)


def _spent_so_far(seen: Seen) -> tuple[Usage, float | None]:
    usage, cost = Usage(), cast("float | None", 0.0)
    for node in seen.roots:
        more, price = spent_by(seen.tally, node)
        usage, cost = usage + more, known_sum(cost, price)
    return usage, cost


def usage_told(usage: Usage) -> Json:
    return {
        "calls": usage.calls,
        "read": usage.input_tokens,
        "written": usage.output_tokens,
        "cached": usage.cached_tokens,
        "reasoning": usage.reasoning_tokens,
        "unmeasured": usage.calls_unmeasured,
    }


def _line(line: LedgerLine) -> Json:
    return {
        "role": line.role,
        "model": line.model,
        "usage": usage_told(line.usage),
        "cost": line.cost,
        "reused": line.reused.calls,
        "reused_cost": line.reused_cost,
    }


def _branch(branch: Branch, texts: Texts) -> Json:
    return {
        "node": branch.trace.id,
        "number": branch.number,
        "status": branch.status,
        "agrees": branch.agrees,
        "draft": branch.draft,
        "answer": texts.of(f"node/{branch.trace.id}/answer") if branch.answer is not None else None,
        "cost": branch.cost,
    }


def _refusals(seen: Seen) -> Iterator[Json]:
    """What was not let through, and why: answers, and calls that no limit had room for, alike ones as one."""
    for node, past in seen.past.nodes.items():
        for cell in past.cells.values():
            for refused in cell.refused:
                yield {"what": "answer", "node": node, "turn": refused.turn, "why": refused.reason}
    blocked = [seen.calls[number] for number in sorted(seen.tally.blocked)]
    for (node, turn, why), alike in groupby(blocked, key=_blocked):
        first, *more = alike
        calls = {"call": first.id, "count": 1 + len(more)}
        yield {"what": "sub-call", "node": node, "turn": turn, **calls, "why": why}


def _blocked(call: SubCall) -> tuple[str, int, str]:
    """What is alike of calls that are told together."""
    return call.node, call.turn, call.error.message if call.error is not None else ""


def _node(seen: Seen, node: Node) -> Json:
    usage, cost = spent_by(seen.tally, node)
    asked = Counter(child.cell for child in node.children)
    parent = seen.nodes.get(node.parent) if node.parent else None
    return {
        "id": node.id,
        "parent": node.parent,
        "depth": node.depth,
        "turn": next((t.number for t in parent.turns if _asked(t, node)), None) if parent else None,
        "cell": node.cell,
        "query": one_line(node.query, HEAD),
        "status": node.status,
        "reason": node.reason,
        "started": node.started,
        "ended": node.ended,
        "paused": node.paused,
        "usage": usage_told(usage),
        "cost": cost,
        "turns": [_short_turn(turn, asked, seen.tally.of_turn(node.id, turn.number)) for turn in node.turns],
    }


def node_told(seen: Seen, texts: Texts, node: Node) -> Json:
    """What a node was asked and what it answered."""
    ended = seen.past.nodes[node.id].ended
    return {
        "query": texts.of(f"node/{node.id}/query"),
        "answer": texts.of(f"node/{node.id}/answer") if node.answer is not None else None,
        "draft": ended.draft if ended else None,
    }


def _asked(turn: Turn, child: Node) -> bool:
    return any(cell.number == child.cell for cell in turn.cells)


def _short_turn(turn: Turn, asked: Mapping[int, int], calls: Counts) -> Json:
    return {
        "number": turn.number,
        "started": turn.started,
        "ended": turn.ended,
        "seconds": turn.seconds,
        "waited": turn.waited,
        "paused": turn.paused,
        # A first look, and a turn of a session, are code that no model wrote.
        "replied": turn.text is not None or bool(turn.cells) or turn.number == 0,
        "cost": turn.cost if turn.usage.calls else None,
        "usage": usage_told(turn.usage),
        "lines": sum(len(cell.code.strip().splitlines()) for cell in turn.cells),
        "calls": calls.calls,
        "failed": calls.failed,
        "refused": calls.refused,
        "waiting": calls.waiting,
        "cells": [
            [cell.number, cell.started, cell.ended, cell.outcome, cell.error.type if cell.error else None]
            for cell in turn.cells
        ],
        "children": sum(asked.get(cell.number, 0) for cell in turn.cells),
    }


# A turn in full


def turn_told(seen: Seen, texts: Texts, node: Node, turn: Turn) -> Json:
    place = f"turn/{node.id}/{turn.number}"
    past = seen.past.nodes[node.id]
    return {
        "node": node.id,
        "number": turn.number,
        "words": texts.of(f"{place}/words") if words(turn) else None,
        "thinking": texts.of(f"{place}/thinking") if turn.thinking.strip() else None,
        "finish": turn.finish,
        "model": turn.model,
        "usage": usage_told(turn.usage),
        "cost": turn.cost if turn.usage.calls else None,
        "seconds": turn.seconds,
        "waited": turn.waited,
        "retries": turn.retries,
        "shared": (reply := past.replies.get(turn.number)) is not None and reply.shared,
        "started": turn.started,
        "ended": turn.ended,
        "hints": turn.hints,
        "cells": [_cell(seen, texts, node, cell, past.cells[cell.number]) for cell in turn.cells],
        "accepted": _accepted(seen, texts, node, turn),
    }


def _accepted(seen: Seen, texts: Texts, node: Node, turn: Turn) -> Json | None:
    accepted = seen.past.nodes[node.id].accepted
    if accepted is None or accepted.turn != turn.number:
        return None
    return {"value": texts.of(f"node/{node.id}/answer"), "via": accepted.via, "cell": accepted.cell}


def _cell(seen: Seen, texts: Texts, node: Node, cell: CellRun, past: PastCell) -> Json:
    place = f"cell/{node.id}/{cell.number}"
    return {
        "number": cell.number,
        "code": texts.of(f"{place}/code"),
        "outcome": cell.outcome,
        "output": texts.of(f"{place}/output") if cell.output.strip() else None,
        "printed": past.ended.printed if past.ended else None,
        "omitted": cell.omitted,
        "error": asdict(cell.error) if cell.error else None,
        "notes": cell.notes,
        "seconds": cell.seconds,
        "own_seconds": cell.own_seconds,
        "calls": len(cell.sub_calls),
        "batches": [batch.size for batch in past.batches],
        "children": [child.id for child in node.children if child.cell == cell.number],
        "tools": [
            {"name": tool.ended.name, "error": tool.ended.error}
            for tool in past.tools
            if not tool.ended.name.startswith("_")
        ],
        "refused": [
            {"value": texts.of(f"{place}/refused/{number}"), "reason": refused.reason}
            for number, refused in enumerate(past.refused)
        ],
    }


# Sub-calls


def calls_told(seen: Seen, since: int, most: int = PAGE) -> Json:
    """The sub-calls that something happened to after an event, as rows; where there are more, the next ask
    begins at ``seq``."""
    after = seen.changed_since(since)
    while 0 < most < len(after) and after[most][0] == after[most - 1][0]:
        most += 1  # what one event has changed is told at once
    told = after[:most]
    return {
        "seq": told[-1][0] if len(told) < len(after) else max(seen.seq, since),
        "more": len(told) < len(after),
        "dropped": seen.dropped,
        "columns": CALL_COLUMNS,
        "rows": [_row(seen, seen.calls[call]) for _, call in told],
    }


def state_of(call: SubCall) -> str:
    if call.error is not None:
        return "refused" if call.refused else f"failed: {call.error.kind}"
    return "going on" if call.ended is None else "cached" if call.cached else "ok"


def _row(seen: Seen, call: SubCall) -> Sequence[object]:
    usage = call.usage
    asked = seen.alike.shown(call.node, call.cell, call.batch, call.prompt)
    said = call.error.message if call.error is not None else call.reply or ""
    return (
        call.id, call.node, call.turn, call.cell, call.batch, call.index, state_of(call), call.model,
        *map(_tenths, (call.started, call.ended, call.seconds)), usage.input_tokens, usage.output_tokens,
        call.cost if usage.calls else None, call.retries, one_line(asked, HEAD), one_line(said, HEAD),
    )  # fmt: skip


def _tenths(seconds: float | None) -> float | None:
    """To a tenth of a millisecond: thousands of rows are shorter by a sixth."""
    return None if seconds is None else round(seconds, 4)


def call_told(seen: Seen, texts: Texts, call: SubCall) -> Json:
    """One in full."""
    return {
        **dict(zip(CALL_COLUMNS, _row(seen, call), strict=True)),
        "prompt": texts.of(f"call/{call.id}/prompt"),
        "reply": texts.of(f"call/{call.id}/reply") if call.reply is not None else None,
        "error": asdict(call.error) if call.error is not None else None,  # it is falsy
        "finish": call.finish,
        "usage": usage_told(call.usage),
        "images": call.images,
        "role": call.role,
    }
