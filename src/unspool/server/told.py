"""What both shapes of reply say of a run: its answer as text, its usage, and what OpenAI has no word for.

>>> pieces("abcdef", 4)
['abcd', 'ef']
"""

from __future__ import annotations

import base64
from collections.abc import Mapping, Sequence

from ..cli.plain import as_text, plain
from ..events import RunEnded
from ..images import Image
from ..safe_text import paired
from ..types import Usage
from .question import Question
from .replies import to_json

PIECE = 2_000  # characters of an answer in one event of a stream
Json = Mapping[str, object]


def text_of(ended: RunEnded, question: Question) -> str:
    """The answer: text as it is, an image as a data: URL, all else, and what has a schema, as JSON."""
    if isinstance(ended.answer, Image):
        return f"data:image/{ended.answer.format};base64,{base64.b64encode(ended.answer.data).decode()}"
    if question.schema is not None:
        return to_json(plain(ended.answer)).decode()
    return paired(as_text(ended.answer))


def calls_in(ended: RunEnded, question: Question) -> list[tuple[str, str]]:
    """The calls of the client's tools that the answer makes: names, and arguments as JSON."""
    made = question.calls.made(ended.answer) if question.calls is not None else None
    return [(name, to_json(arguments).decode()) for name, arguments in made or []]


def about(ended: RunEnded, question: Question) -> Json:
    """``unspool`` in a reply. A figure that is not known is null."""
    return {
        "run": ended.run,
        "status": ended.status,
        "reason": paired(ended.reason),
        "draft": None if ended.draft is None else paired(ended.draft),
        "cost": ended.cost,
        "turns": ended.turns,
        "sub_calls": ended.sub_calls,
        "seconds": round(ended.seconds, 3),
        "calls_unmeasured": ended.usage.calls_unmeasured,
        "reused_cost": ended.reused_cost,
        "notes": [paired(note) for note in (*question.notes, *ended.notes)],
    }


def known(usage: Usage) -> tuple[int, int] | None:
    """Tokens read and written; ``None`` where no call reported them."""
    if usage.calls == 0:
        return 0, 0
    if usage.input_tokens is None or usage.output_tokens is None:
        return None
    return usage.input_tokens, usage.output_tokens


def pieces(text: str, size: int = PIECE) -> Sequence[str]:
    return [text[start : start + size] for start in range(0, len(text), size)]
