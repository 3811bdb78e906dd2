"""What it takes to know what a prompt has of the input: rows of `scripts/bench engine`.

In one process, by processor time: a batch of prompts about pieces of a log, traced as a REPL does it. The
floor is what code needs to cut the pieces and to make the prompts.
"""

from __future__ import annotations

import gc
import os
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from time import thread_time

from measure import Row, row

PROMPTS = 10_000
LINES = 60_000
LIMIT = 60e-6


def _log() -> str:
    return "".join(
        f"2026-11-29T{n % 24:02}:{n % 60:02} web-{n % 37:02} "
        f"served /items/{n * 7919 % 100_003} in {n % 900} ms\n"
        for n in range(LINES)
    )


@contextmanager
def _file(text: str) -> Iterator[object]:
    """The text in a file, as it is in a REPL: read by descriptor."""
    from unspool.reach.desk import DESK
    from unspool.reach.views import make

    with tempfile.NamedTemporaryFile() as file:
        file.write(text.encode())
        file.flush()
        DESK.connect(lambda source, numbers: ([None], [os.dup(file.fileno())]))
        yield make("text", "bench", "a.log", [("a.log", len(text.encode()))])


def _chunks(context: str) -> Sequence[str]:
    """Pieces by position: of a text in memory, too, they are told where they begin."""
    size = len(context) // PROMPTS
    return [context[at : at + size] for at in range(0, size * PROMPTS, size)]


def _lines(context: str) -> Sequence[str]:
    lines = context.splitlines() if isinstance(context, str) else list(context.lines())
    return lines[: 3 * PROMPTS : 3]


def _prompts(pieces: Sequence[str]) -> list[str]:
    return [f"Is there anything odd in this part of a log? Say yes or no.\n\n{piece}" for piece in pieces]


def _measured(context: object, cut: Callable[[str], Sequence[str]]) -> tuple[float, float]:
    """Seconds of a prompt: traced and placed, and made. Tracing has a limit of time, so that what is not
    placed within it (a collection of the whole heap took 0.4 s of it once) makes the others dearer."""
    from unspool.reach.handed import HANDED
    from unspool.reach.marks import MEASURED, UNPLACED, Marks, unpack_ranges

    HANDED.forget()
    gc.collect()
    marks = Marks(context)
    marks.cell_began("llm_query_batched([f'Is there anything odd in this part of a log? Say yes or no.' …])")
    started = thread_time()
    prompts = _prompts(cut(context))  # type: ignore[arg-type]
    made = thread_time() - started
    started = thread_time()
    found = marks.prompts(prompts)
    traced = thread_time() - started
    rows = [each for each in unpack_ranges(found or b"") if each[0] != MEASURED]
    placed = {item for item, part, _, _ in rows if part != UNPLACED}
    return traced / max(1, len(placed)), made / PROMPTS


def rows(rounds: int) -> list[Row]:
    text = _log()
    found = []
    with _file(text) as lazy:
        for where, context in (("a text in memory", text), ("a file", lazy)):
            for what, cut in (("chunks", _chunks), ("lines", _lines)):
                both = [_measured(context, cut) for _ in range(rounds)]
                values, floors = zip(*both, strict=True)
                named = f"tracing a prompt, {PROMPTS:,} {what} of {where}"
                found.append(row(named, values, "cutting and making them", floors, "≤ 60 µs", LIMIT))
    return found
