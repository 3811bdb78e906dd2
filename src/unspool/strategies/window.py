"""How much text goes into a model's window, without a tokenizer; and what is handed over of an input.

Contract: pure functions. Tokens are estimated from the classes of characters in a sample, on the side of
too many (:data:`SAFETY`): a prompt that is too long fails, one that leaves room does not. Where the window
of a model is not known, :data:`ASSUMED` tokens are taken, and a note says so.

>>> round(density("The quick brown fox jumps over the lazy dog. " * 9), 1)
3.3
>>> round(density("10.0.0.7 - - [2031-05-24 10:11:12] GET /a 200"), 1)
1.2
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from itertools import chain
from typing import Literal, cast

from ..budget import OverBudget
from ..contexts.parts import parts_of_source
from ..contexts.sources import Source
from ..errors import ContextError
from ..models.protocol import ModelInfo
from ..reach.sizes import PACKED
from ..sandbox.protocol import CellResult
from ..types import FailedCall
from .protocol import Given
from .repl_retrieval import NO_WORD

ASSUMED = 128_000  # tokens of a window that is not known
REPLY = 4_096  # tokens kept for a reply that nobody bounds
LEAST_REPLY = 1_024
SAFETY = 1.05  # so many times the estimate
OVERHEAD = 300  # tokens of what stands around a prompt: its template, the marks, the form of the answer
LEAST = 200  # characters of the input, however small the window is
MOST = 12_000_000  # characters that a REPL may show at once
LOOKED_AT = 1_000_000  # values of a collection whose sizes are added up: more is large in any case
SCALAR = 8  # characters of a number, with what stands around it
ANY_HOLDS = 8_000  # characters
SAMPLES, SAMPLE = 20, 2_000  # places of a text that are looked at, and characters at each

_TOKENS = re.compile(r"[A-Z]?[a-z]+|[A-Z]+|[\u0370-\u1fff]+|\n+|[^\sA-Za-z]|[^\S\n]{2,}")
_LETTERS, _OTHERS = 4, 2  # of a word that are one token, at most: in Latin, and in other alphabets


@lru_cache(maxsize=8)  # several sizes of one run are asked for, of the same sample
def density(sample: str) -> float:
    """Characters in a token of such text, on the low side."""
    if not sample:
        return 1.0
    return len(sample) / max(1.0, sum(map(_tokens, _TOKENS.findall(sample))) * SAFETY)


def _tokens(piece: str) -> int:
    if "a" <= piece[0] <= "z" or "A" <= piece[0] <= "Z":
        return math.ceil(len(piece) / _LETTERS)
    return math.ceil(len(piece) / _OTHERS) if "\u0370" <= piece[0] <= "\u1fff" else 1


def sample_of(context: object, description: str) -> str:
    """Pieces from all over a text; of all else the description, which shows some of it."""
    if not isinstance(context, str):
        return description
    if len(context) <= SAMPLES * SAMPLE:
        return context
    step = (len(context) - SAMPLE) // (SAMPLES - 1)
    return "".join(context[at : at + SAMPLE] for at in range(0, SAMPLES * step, step))


Unsized = Literal["the input is not text", "the size of its text is not known before it is read"]
"""Why the size of an input is not known, in words for a reason."""


def size_of(context: object) -> int | Unsized:
    """About how many characters the text of an input has; of what holds itself, once around."""
    total = seen = 0
    around: list[int] = [0]  # what the value at hand is in
    todo: list[Iterator[object]] = [iter((context,))]
    while todo and seen < LOOKED_AT:
        value = next(todo[-1], todo)
        if value is todo:
            todo.pop()
            around.pop()
            continue
        seen += 1
        if isinstance(value, str):
            total += len(value)
        elif isinstance(value, Source):
            size = _size_in_files(value)
            if not isinstance(size, int):
                return size
            total += size
        elif value is None or isinstance(value, bool | int | float):
            total += SCALAR
        elif (inner := _inner(value)) is None:
            return "the input is not text"
        elif id(value) not in around:
            todo.append(inner)
            around.append(id(value))
    return total


def _inner(value: object) -> Iterator[object] | None:
    """The values in a collection; ``None`` where it is none."""
    if isinstance(value, Mapping):
        return chain.from_iterable(value.items())
    several = isinstance(value, Sequence | set | frozenset) and not isinstance(value, bytes | bytearray)
    return iter(cast("Sequence[object]", value)) if several else None


def _size_in_files(source: Source) -> int | Unsized:
    """Bytes; of a document, and of what is packed, as far as the look before the run has read it."""
    if source.kind not in ("text", "document", "folder", "archive"):
        return "the input is not text"
    if source.kind == "folder" or (source.kind == "text" and not source.name.lower().endswith(PACKED)):
        return source.size
    parts = parts_of_source(source)
    sizes = [size for number, size in enumerate(parts.sizes) if number not in parts.no_text]
    known = [size for size in sizes if size is not None]
    if parts.why or len(known) < len(sizes):
        return "the size of its text is not known before it is read"
    return sum(known)


def window_of(info: ModelInfo) -> int:
    """Tokens."""
    return ASSUMED if info.window is None else info.window


def reply_tokens(info: ModelInfo, most: int | None) -> int:
    """Tokens of a reply that is a text, where a profile says ``most``: no more than a quarter of the window,
    and more than what is enough for code."""
    most = REPLY if most is None else max(LEAST_REPLY, most)
    return min(most, info.max_output or most, window_of(info) // 4)


def room(given: Given) -> int:
    """Characters of the input that fit into a prompt of the root, beside what else is in it."""
    beside = "\n".join([given.query, given.instructions, given.answer.words, given.description])
    reply = given.reply or reply_tokens(given.root, given.profile.sampling.max_tokens)
    return _characters(given, window_of(given.root) - reply - OVERHEAD, beside)


def part_size(given: Given) -> int:
    """Characters of a part of the input that fit into a sub-call beside the question."""
    reply = reply_tokens(given.sub, given.sub_profile.sampling.sub_max_tokens)
    tokens = window_of(given.sub) - reply - 2 * OVERHEAD
    return _characters(given, tokens, given.query)


def _characters(given: Given, tokens: int, beside: str) -> int:
    tokens -= math.ceil(len(beside) / density(beside))
    return min(MOST, max(LEAST, int(tokens * density(sample_of(given.context, given.description)))))


def notes_of(given: Given, *models: ModelInfo) -> tuple[str, ...]:
    """What a run should say of windows that are not known, where not every window holds the input."""
    size = size_of(given.context)
    if isinstance(size, int) and size <= ANY_HOLDS:
        return ()
    unknown = dict.fromkeys(info.name for info in models if info.window is None)
    return tuple(f"the window of {name} is not known: {ASSUMED:,} tokens are assumed" for name in unknown)


def handed_over(look: CellResult, made: int, failed: Sequence[FailedCall]) -> list[str]:
    """What to note of what a strategy's program has printed for the model, and of its ``made`` sub-calls.

    Raises :class:`OverBudget` or :class:`ContextError` where there is nothing to ask the model about.
    """
    if look.outcome != "ok":
        why = look.error.message if look.error else "; ".join(look.notes) or look.outcome
        if look.error is not None and look.error.type == "LLMError" and why.startswith("over budget: "):
            raise OverBudget(why.removeprefix("over budget: "), None)
        if failed:
            many = "its sub-call" if made == 1 else f"{len(failed):,} of its {made:,} sub-calls"
            raise ContextError(f"the strategy had nothing to answer from, since {many} failed: {why}")
        raise ContextError(f"the input could not be made ready for the model: {why}")
    notes: list[str] = []
    if look.output.startswith(NO_WORD):
        notes.append("no word of the question is in the input: the model was given its first passages")
    if failed:
        calls = "1 sub-call" if made == 1 else f"{made:,} sub-calls"
        notes.append(f"{len(failed):,} of {calls} that read the input failed: {failed[-1].message}")
    if look.omitted:
        given = look.printed - look.omitted
        notes.append(
            f"the model was given {given:,} of {look.printed:,} characters, the head and the tail: "
            f"{look.omitted:,} were left out"
        )
    return notes
