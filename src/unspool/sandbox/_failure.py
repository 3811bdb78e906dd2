"""What a cell raised, as the model is told: the frames of cells alone, and a hint where one is known.

Contract: :func:`describe` never raises, whatever the error's own methods do. Standard library only;
importable as a sibling module too.

>>> describe(ValueError("no"), "<cell 1>").message
'no'
"""

from __future__ import annotations

import dataclasses
import linecache
from typing import TYPE_CHECKING

if TYPE_CHECKING or __package__:
    from ._calls import AnswerRefused
    from ._shown import cut
    from ._values import LLMError
else:
    from _calls import AnswerRefused
    from _shown import cut
    from _values import LLMError

_KNOWN = ("builtins", "__main__", LLMError.__module__, AnswerRefused.__module__)  # without their modules
MAX_MESSAGE = 2_000
MAX_FRAMES = 12


def message_of(error: BaseException) -> str:
    try:
        return cut(str(error), MAX_MESSAGE)
    except BaseException as second:  # a __str__ of the model's own may do anything
        return f"(its text cannot be shown: __str__ raised {type(second).__name__})"


def _type_name(error: BaseException) -> str:
    kind = type(error)
    if kind.__module__ in _KNOWN:
        return kind.__qualname__[:200]
    return f"{kind.__module__}.{kind.__qualname__}"[:200]


def _cell_frames(error: BaseException) -> list[tuple[str, int, str]]:
    frames = []
    trace = error.__traceback__
    while trace is not None:
        code = trace.tb_frame.f_code
        if code.co_filename.startswith("<cell "):
            frames.append((code.co_filename, trace.tb_lineno or 0, code.co_name))
        trace = trace.tb_next
    return frames


def _through(error: BaseException, package: str) -> bool:
    """Whether it came from a module of that package."""
    trace, name = error.__traceback__, ""
    while trace is not None:
        name, trace = str(trace.tb_frame.f_globals.get("__name__")), trace.tb_next
    return name.partition(".")[0] == package


_RE = (
    "re takes a str: use context.finditer(pattern), context.search(pattern), grep(pattern), or a slice [a:b]"
)
_HINTS = (
    ("expected string or bytes-like object, got 'LazyText'", _RE),
    ("expected string or bytes-like object, got 'Document'", _RE),
    (
        "can't be used in 'await' expression",
        "the functions of the REPL return their value at once: leave out await",
    ),
    (
        "expected str instance, FailedCall found",
        "a sub-call failed: leave failed items out, [a for a in answers if a]",
    ),
    (
        "asyncio.run() cannot be called from a running event loop",
        "this cell has a top-level await: use await there, too, in the place of asyncio.run",
    ),
)


@dataclasses.dataclass(frozen=True, slots=True)
class Failure:
    """What a cell raised, for the host."""

    type: str
    message: str
    traceback: str
    line: int | None


def describe(error: BaseException, cell: str) -> Failure:
    """A short traceback: the frames of cells alone, each with its line, then type and message."""
    kind, message = _type_name(error), message_of(error)
    last = f"{kind}: {message}" if message else kind
    if isinstance(error, AnswerRefused):
        return Failure(kind, message, last, None)
    frames = _cell_frames(error)
    lines = ["Traceback:"]
    shown = frames if len(frames) <= MAX_FRAMES else frames[: MAX_FRAMES // 2] + frames[-MAX_FRAMES // 2 :]
    for place, (name, number, function) in enumerate(shown):
        if len(frames) > MAX_FRAMES and place == MAX_FRAMES // 2:
            lines.append(f"  … {len(frames) - MAX_FRAMES:,} more frames …")
        where = f"  {name[1:-1]}, line {number}" + (
            "" if function == "<module>" else f", in {function[:100]}"
        )
        source = cut(linecache.getline(name, number).strip(), 200)
        lines += [where, f"    {source}"] if source else [where]
    line = next((number for name, number, _ in reversed(frames) if name == cell), None)
    if isinstance(error, SyntaxError) and str(error.filename).startswith("<cell "):
        line = error.lineno
        source = (error.text or linecache.getline(cell, error.lineno or 0)).rstrip("\n")
        lines.append(f"  {str(error.filename)[1:-1]}, line {error.lineno}")
        if source and len(source) < 200:
            lines += [f"    {source}", "    " + " " * max(0, (error.offset or 1) - 1) + "^"]
        message = error.msg or message
        last = f"{kind}: {message}"
    lines.append(last)
    if isinstance(error, BaseExceptionGroup):
        lines += [f"  - {_type_name(e)}: {message_of(e)}" for e in error.exceptions[:5]]
    cause = error.__cause__
    if cause is not None:
        lines.append(f"(caused by {_type_name(cause)}: {message_of(cause)})")
    lines += [f"({hint})" for part, hint in _HINTS if part in message]
    if isinstance(error, OSError) and _through(error, "multiprocessing"):
        lines.append("(processes cannot share locks here: use threads, e.g. ThreadPoolExecutor)")
    return Failure(kind, message, cut("\n".join(lines), 8_000), line)
