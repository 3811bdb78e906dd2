"""What a run leaves: its answer on stdout, and below it, on stderr, what was read of the input.

Contract: stdout has the answer alone, or one object with ``--json``. A draft that does not fit the wanted
type is no answer: it is told on stderr, and in the object by itself.
"""

from __future__ import annotations

import signal
import sys
from dataclasses import asdict
from typing import TYPE_CHECKING

from ..errors import ConfigError
from ..safe_text import one_line
from .exits import CODES, FAILED, TERMINATED
from .reading import coverage_object, reading_lines
from .terminal import Output, complain, is_terminal, page_width, safe, unwritten

if TYPE_CHECKING:
    from ..events import RunEnded
    from .story import Story

_DRAFT = 500  # characters of a draft that is no answer


def deliver(story: Story, *, as_object: bool) -> int:
    """Writes the answer to stdout; returns the exit code."""
    from ..images import Image
    from .pictures import saved
    from .plain import as_json, as_text, plain

    ended = story.ended
    if ended is None:
        raise RuntimeError("the events of a run ended without run.ended")
    terminal = is_terminal(sys.stdout)
    file = ""
    answer, misfit = _checked(story, ended)
    if isinstance(answer, Image) and not misfit:
        try:
            file = saved(answer, ended.run)
        except OSError as error:
            complain(f"the answer is {answer}, which cannot be written to a file here: {error}")
            return FAILED
    if as_object:
        shown = _object(story, ended)
        shown["answer"] = {"file": file, "image": plain(answer)} if file else None if misfit else answer
        if misfit:
            shown["draft_value"] = answer
        text = as_json(shown, indent=2 if terminal else None)
    elif misfit:
        text = ""
        complain(f"the draft is no answer ({misfit}): {one_line(as_text(answer), _DRAFT)}")
    else:
        text = file or as_text(answer)
        text = safe(text) if terminal else text
    out = Output(sys.stdout)
    if text:
        if terminal and is_terminal(sys.stderr) and not as_object:
            Output(sys.stderr).line()
        out.write(text if text.endswith("\n") else text + "\n")
    kept = "" if ended.run == "" else f" (unspool runs show {ended.run} shows it, where the run is kept)"
    if unwritten("the answer", kept):
        return FAILED
    return TERMINATED if story.stopped == signal.SIGTERM else CODES[ended.status]


def _checked(story: Story, ended: RunEnded) -> tuple[object, str]:
    """The answer; a draft in the type that was wanted, or as it is and why it is not of that."""
    from ..answers import AnswerType

    if ended.draft is None or story.started is None:
        return ended.answer, ""
    try:
        return AnswerType.kept_as(story.started.settings.get("answer")).check(ended.answer), ""
    except ConfigError:  # a type of a program's, which no run keeps
        return ended.answer, ""
    except ValueError as error:
        return ended.answer, str(error)


def tell_reading(story: Story) -> None:
    """On stderr, below the answer: how much of the input models read, and the quotes from it."""
    out = Output(sys.stderr)
    width = page_width(sys.stderr) or 100
    for line in reading_lines(story.reading.coverage(), story.reading.citations(), width):
        out.line(safe(line))


def _object(story: Story, ended: RunEnded) -> dict[str, object]:
    """What --json prints; ``draft`` is what the answer is a draft from, as ``Run.draft``. With --cache also
    what was not paid again, with --branches how they agree."""
    told = story.decided
    agreed = (
        {"count": told.count, "agreeing": len(told.agreeing), "stopped": len(told.stopped)} if told else None
    )
    cache = story.started is not None and story.started.settings.get("cache")
    return {
        "answer": ended.answer,
        "status": ended.status,
        "reason": ended.reason,
        "draft": ended.draft,
        "notes": list(ended.notes),
        "run_id": ended.run,
        "model": story.started.model if story.started else None,
        "sub_model": story.started.sub_model if story.started else None,
        "strategy": story.strategy,
        "turns": ended.turns,
        "sub_calls": ended.sub_calls,
        "usage": asdict(ended.usage),
        "cost": ended.cost,
        "seconds": round(ended.seconds, 3),
        **({"branches": agreed} if agreed else {}),
        "coverage": coverage_object(story.reading.coverage()),
        "citations": [asdict(cited) for cited in story.reading.citations()],
        **({"reused": asdict(ended.reused), "reused_cost": ended.reused_cost} if cache else {}),
    }
