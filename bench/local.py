"""Questions over real data, answered by the local model through the real engine.

``scripts/bench local [--set SET] [--only KIND] [--model NAME] [--branches N] [--without PART] [--seconds S]
[--json FILE] [--show]`` prints a line per
question, totals per kind, and the share that is right with its 95% interval (Wilson). The profile was tuned
on the sets ``tuned``, ``more``, ``opened``, ``made`` and ``ranges``; ``held-out`` was left alone.
``--without`` takes a part of the small profile away (an ablation): ``look`` the first look, ``turns`` the
worked turns, ``kinds`` their choice by the kind of question (all get those of reading a value), ``checks``
the check of an answer, ``offer`` the one to submit what was printed, ``small`` all of it, but for sub-calls.
It ends with 1 where fewer than 70% are right.
"""

from __future__ import annotations

import argparse
import json
import math
import sys
import textwrap
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from statistics import median

sys.path.insert(0, str(Path(__file__).parent))  # run as a file
sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from measure import runs_apart
from tests.local_held_out import HELD_OUT
from tests.local_made import MADE
from tests.local_more import MORE
from tests.local_opened import OPENED
from tests.local_ranges import RANGES
from tests.local_suite import SUITE, Question

from unspool import RLM, Budget
from unspool.models.protocol import Message
from unspool.prompts import Profile, get_profile
from unspool.prompts.small_turns import worked
from unspool.types import Run

MODEL = "local:qwen2.5-coder-1.5b"
GOAL = 0.7
SETS = {"tuned": SUITE, "more": MORE, "opened": OPENED, "made": MADE, "ranges": RANGES, "held-out": HELD_OUT}
MAX_TURNS = 10


def _for_a_reading(query: str, look: str, depth_left: int) -> tuple[Message, ...]:
    return worked("read")


PLAIN = Profile("plain", "")  # the defaults of each part
WITHOUT: Mapping[str, Callable[[Profile], Profile]] = {
    "look": lambda small: replace(small, look=None),
    "turns": lambda small: replace(small, examples=PLAIN.examples),
    "kinds": lambda small: replace(small, examples=_for_a_reading),
    "checks": lambda small: replace(small, check_answer=PLAIN.check_answer),
    "offer": lambda small: replace(small, feedback=PLAIN.feedback),
    "small": lambda small: get_profile("frontier"),
}


@dataclass(frozen=True, slots=True)
class Row:
    id: str
    kind: str
    right: bool
    answer: str
    gold: str
    status: str
    turns: int
    sub_calls: int
    seconds: float


def ask(rlm: RLM, question: Question, branches: int) -> tuple[Row, Run]:
    started = time.perf_counter()
    run = rlm.run(question.question, question.context(), branches=branches)
    gold = question.gold()
    right = run.status == "answered" and question.score(run.answer, gold)
    row = Row(
        question.id,
        question.kind,
        right,
        repr(run.answer),
        repr(gold),
        run.status,
        run.turns,
        run.sub_calls,
        round(time.perf_counter() - started, 1),
    )
    return row, run


def show(row: Row) -> str:
    mark = "right" if row.right else "wrong"
    answer, gold = (textwrap.shorten(text, 48, placeholder="…") for text in (row.answer, row.gold))
    told = f"{answer} = {gold}" if row.right else f"{answer}, not {gold} ({row.status})"
    effort = f"{row.turns:>2} turns {row.sub_calls:>3} sub-calls {row.seconds:>6.1f} s"
    return f"{row.kind:<8} {row.id:<20} {mark}  {effort}  {told}"


def show_turns(run: Run) -> str:
    parts: list[str] = []
    for turn in run.trace.turns:
        parts.append(turn.text or "")
        for cell in turn.cells:
            parts.append(f"[{cell.outcome}] {cell.output}{cell.error.traceback if cell.error else ''}")
        parts += turn.hints
    return textwrap.indent("\n".join(part.strip() for part in parts if part.strip()), "    ")


def totals(rows: Sequence[Row]) -> str:
    lines = [f"\n{'kind':<10} {'right':>7}"]
    for kind in dict.fromkeys(row.kind for row in rows):
        of_kind = [row.right for row in rows if row.kind == kind]
        lines.append(f"{kind:<10} {f'{sum(of_kind)}/{len(of_kind)}':>7}")
    right = sum(row.right for row in rows)
    low, high = wilson(right, len(rows))
    lines.append(
        f"{'all':<10} {f'{right}/{len(rows)}':>7}  {right / len(rows):.0%} ({low:.0%} to {high:.0%})"
    )
    seconds = sorted(row.seconds for row in rows)
    p95 = seconds[math.ceil(0.95 * len(seconds)) - 1]
    lines.append(f"seconds a question: p50 {median(seconds):.1f}, p95 {p95:.1f}, all {sum(seconds):.0f}")
    return "\n".join(lines)


def wilson(right: int, of: int) -> tuple[float, float]:
    """The 95% interval of a share, also of a few."""
    z, share = 1.96, right / of
    middle, spread = share + z * z / (2 * of), z * math.sqrt(share * (1 - share) / of + (z / (2 * of)) ** 2)
    return (middle - spread) / (1 + z * z / of), (middle + spread) / (1 + z * z / of)


def main() -> int:
    kinds = sorted({question.kind for question in SUITE})
    parser = argparse.ArgumentParser(prog="scripts/bench local", description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--set", choices=SETS, default="tuned", help="which questions (default tuned)")
    parser.add_argument("--only", choices=kinds, help="questions of this kind alone")
    parser.add_argument("--model", default=MODEL, help=f"the model asked (default {MODEL})")
    parser.add_argument("--branches", type=int, default=1, help="how many try each, the agreed answer counts")
    parser.add_argument("--without", choices=WITHOUT, help="the small profile without this part of it")
    parser.add_argument("--seconds", type=float, help="the limit of a question (default none)")
    parser.add_argument("--json", metavar="FILE", help="write what was measured to this file")
    parser.add_argument("--show", action="store_true", help="show the code of what went wrong")
    settings = parser.parse_args()
    rows: list[Row] = []
    profile = WITHOUT[settings.without](get_profile("small")) if settings.without else None
    budget = Budget(seconds=settings.seconds)
    with RLM(settings.model, max_turns=MAX_TURNS, profile=profile, budget=budget) as rlm:
        for question in SETS[settings.set]:
            if settings.only in (None, question.kind):
                row, run = ask(rlm, question, settings.branches)
                rows.append(row)
                print(show(row), flush=True)
                if settings.show and not row.right:
                    print(show_turns(run), flush=True)
    print(totals(rows))
    share = sum(row.right for row in rows) / len(rows)
    if settings.json:
        result = {
            "model": settings.model,
            "set": settings.set,
            "branches": settings.branches,
            "without": settings.without,
            "seconds": settings.seconds,
            "share": share,
            "rows": [asdict(row) for row in rows],
        }
        Path(settings.json).write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")
    if share < GOAL:
        print(f"below {GOAL:.0%}", file=sys.stderr)
    return 0 if share >= GOAL else 1


if __name__ == "__main__":
    with runs_apart():
        status = main()
    sys.exit(status)
