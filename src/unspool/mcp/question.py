"""``ask``: a whole run over a context that is open, followed to its end.

Contract: :func:`follow` gives the answer as text and the figures as one JSON object of at most ``FIGURES``
characters. A run without an answer and without a draft is :class:`Refused`, with the reason. Leaving it
early, in any way, cancels the run.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import aclosing
from dataclasses import asdict
from typing import TYPE_CHECKING

from ..cli.plain import as_json, as_text
from ..cli.report import lines
from ..cli.view import View, fold
from ..coverage import CoverageBuilder
from ..events import ModelDelta, RunEnded
from ..reading import Citation, Coverage
from ..safe_text import one_line, safe
from .bounds import Refused
from .handles import Opened
from .progress import Progress

if TYPE_CHECKING:
    from ..rlm import RLM

FIGURES = 4_000  # characters
_QUOTE = 200  # characters of a quote


async def follow(
    engine: RLM, opened: Opened, question: str, schema: Mapping[str, object] | None, progress: Progress
) -> list[str]:
    """See the module docstring. ``engine`` has the limits of this run."""
    view, reading = View(), CoverageBuilder()
    ended: RunEnded | None = None
    wanted = None if schema is None else dict(schema)
    events = engine.stream(question, opened.value, answer=wanted, sources=opened.sources)
    async with aclosing(events), progress.beating(lambda: _now(view)):
        async for event in events:
            if isinstance(event, ModelDelta):
                continue
            view = fold(view, event)
            reading.add(event)
            for line in lines(view, event, show_code=False):
                await progress.say(line.text)
            if isinstance(event, RunEnded):
                ended = event
    assert ended is not None  # the last event of every run
    if ended.answer is None and ended.status != "answered":
        raise Refused(f"no answer, the run {ended.run} ended {ended.status}: {ended.reason}")
    return [as_text(ended.answer), _figures(ended, reading.coverage(), reading.citations())]


def _now(view: View) -> str:
    told = f"turn {view.turn}, {view.phase}"
    return f"{told}, {view.calls_done:,} of {view.calls_all:,} sub-calls" if view.calls_all else told


def _figures(ended: RunEnded, coverage: Coverage, citations: Sequence[Citation]) -> str:
    """What is to be said of the answer; quotes as many as there is room for."""
    told: dict[str, object] = {
        "status": ended.status,
        "reason": one_line(safe(ended.reason)),
        "run": ended.run,
        "draft": ended.draft,
        "turns": ended.turns,
        "sub_calls": ended.sub_calls,
        "seconds": round(ended.seconds, 3),
        "cost": ended.cost,
        "usage": asdict(ended.usage),
        "coverage": {
            "share": coverage.share,
            "size": coverage.size,
            "read": coverage.read,
            "sure": not coverage.unplaced and not coverage.unknown,
        },
        "notes": [one_line(safe(note)) for note in ended.notes[:3]],
        "quotes": len(citations),
    }
    quoted: list[dict[str, object]] = []
    for each in citations:
        one = {**asdict(each), "quote": one_line(safe(each.quote), _QUOTE)}
        if len(safe(as_json({**told, "citations": [*quoted, one]}))) > FIGURES:
            break
        quoted.append(one)
    return as_json({**told, "citations": quoted})
