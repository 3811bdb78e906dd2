"""What a run was, as pydantic-ai says it: usage, details, why it ended, what was wrong with it.

Contract: pure. Counts are those of the whole tree. A cost that is not known is ``None``; calls that told no
usage are counted, so that the sums are lower bounds.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from decimal import Decimal
from typing import TYPE_CHECKING, Literal

from ..events import RunEnded
from ..server.problems import Problem
from ..server.question import Question
from ..server.told import about

if TYPE_CHECKING:
    from pydantic_ai.messages import TextPart, ToolCallPart
    from pydantic_ai.usage import RequestUsage


def usage_of(ended: RunEnded) -> RequestUsage:
    """What the run took, sub-calls and children included."""
    from pydantic_ai.usage import RequestUsage

    used = ended.usage
    return RequestUsage(
        input_tokens=used.input_tokens or 0,
        output_tokens=used.output_tokens or 0,
        cache_read_tokens=used.cached_tokens or 0,
        output_reasoning_tokens=used.reasoning_tokens or 0,
        unmeasured_requests=used.calls_unmeasured,
        cost=None if ended.cost is None else Decimal(str(ended.cost)),
        details={"calls": used.calls, "sub_calls": ended.sub_calls, "turns": ended.turns},
    )


def told(ended: RunEnded, question: Question) -> dict[str, object]:
    """What replies of ``unspool serve`` have in ``unspool``: run, status, reason, draft, cost, notes."""
    return dict(about(ended, question))


def finish_of(
    ended: RunEnded, parts: Sequence[TextPart | ToolCallPart]
) -> Literal["stop", "length", "tool_call"]:
    if ended.status != "answered":
        return "length"
    return "tool_call" if any(part.part_kind == "tool-call" for part in parts) else "stop"


def error_of(problem: Problem, name: str) -> Exception:
    """What pydantic-ai raises for such a problem; ``name`` is that of the model."""
    from pydantic_ai import exceptions as theirs

    said = problem.message if problem.run is None else f"{problem.message} (run {problem.run})"
    if problem.status == 400:
        refused: Exception = theirs.UserError(said)
        return refused
    kinds: Mapping[int, Callable[[str, str], Exception]] = {
        402: theirs.ModelQuotaExceededError,
        503: theirs.ModelUnavailableError,
        504: theirs.ModelTimeoutError,
    }
    failed: Exception = kinds.get(problem.status, theirs.ModelServerError)(name, said)
    return failed
