"""Dense counting: 400 questions of TREC, each to be labelled by the local model, in packs and one by one.

``scripts/bench dense [--items N] [--model NAME] [--only packs|single] [--pack N] [--json FILE]`` labels the
same questions through the real engine with ``llm_map`` (many items in each sub-call) and with ``classify``
(one item a sub-call, as the local model is asked), and prints how many sub-calls each way took, how many
labels are right and how long it was. It ends with 1 where an item has no label, or two, or where the packs
took a tenth of the items or more in sub-calls.
"""

from __future__ import annotations

import argparse
import json
import random
import sys
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))  # run as a file

from tests.local_suite import COARSE, questions

from unspool import RLM
from unspool.testing import ScriptedModel

MODEL = "local:qwen2.5-coder-1.5b"
SHARE = 0.1  # of the items: fewer sub-calls than that is the goal
SEED = 400
MEANINGS = {
    "person": "asks who: a person, a group, a title",
    "location": "asks for a place: a city, a country, a mountain",
    "number": "asks for a number, a date, an amount, a distance, a duration",
    "description": "asks for a definition, a reason, a manner, an explanation",
    "entity": "asks for a thing: an animal, a product, a colour, a word, a work of art",
    "abbreviation": "asks what letters stand for, or for the short form",
}
_LABELS = "\n".join(f"- {name}: {means}" for name, means in MEANINGS.items())
INSTRUCTION = f"Each item is a question. Say which kind of answer it asks for, one of:\n{_LABELS}"

PACKS = f"""
from typing import Literal
labels = llm_map({INSTRUCTION!r}, context, schema=Literal[{", ".join(map(repr, MEANINGS))}]PACK)
"""
SINGLE = f"""
labels = []
for part in chunks(context, 20):
    labels += classify(part, {MEANINGS!r})
"""
END = "print(len(labels), sum(not x for x in labels))\nsubmit([x or None for x in labels])"


@dataclass(frozen=True, slots=True)
class Row:
    way: str
    items: int
    labelled: int
    calls: int
    right: float  # share of the items
    counted: int  # labels that would have to be moved to make the counts right
    seconds: float


def sample(count: int) -> list[tuple[str, str]]:
    rows = random.Random(SEED).sample(questions(), count)
    return [(COARSE[label.split(":")[0]], question) for label, question in rows]


def measure(way: str, code: str, gold: Sequence[tuple[str, str]], model: str) -> Row:
    root = ScriptedModel([f"```python\n{code.strip()}\n{END}\n```"])
    with RLM(root, sub_model=model, runs=False, max_turns=1) as engine:
        started = time.perf_counter()
        run = engine.run("How many questions ask for each kind of answer?", [text for _, text in gold])
        seconds = time.perf_counter() - started
    if run.status != "answered" or not isinstance(run.answer, list):
        cell = run.trace.turns[-1].cells[-1]
        raise SystemExit(f"{way}: {run.status}, {run.reason}: {cell.error or cell.output}")
    labels = [label for label, _ in gold]
    right = sum(a == b for a, b in zip(run.answer, labels, strict=True))
    wanted, found = Counter(labels), Counter(run.answer)
    moved = sum((wanted - found).values())
    named = sum(label in MEANINGS for label in run.answer)
    return Row(way, len(gold), named, run.sub_calls, right / len(gold), moved, round(seconds, 1))


def show(row: Row) -> str:
    return (
        f"{row.way:<8} {row.items:>5} items {row.labelled:>5} labelled {row.calls:>5} sub-calls "
        f"{row.right:>6.1%} right {row.counted:>4} counted wrong {row.seconds:>7.1f} s"
    )


def main() -> int:
    parser = argparse.ArgumentParser(prog="scripts/bench dense", description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--items", type=int, default=400, help="how many questions (default 400)")
    parser.add_argument("--model", default=MODEL, help=f"the model asked (default {MODEL})")
    parser.add_argument("--only", choices=["packs", "single"], help="this way alone")
    parser.add_argument("--pack", type=int, help="items of a pack (default: what suits the model)")
    parser.add_argument("--json", metavar="FILE", help="write what was measured to this file")
    given = parser.parse_args()
    gold = sample(given.items)
    pack = f", pack={given.pack}" if given.pack else ""
    rows: list[Row] = []
    for way, code in (("packs", PACKS.replace("PACK", pack)), ("single", SINGLE)):
        if given.only in (None, way):
            row = measure(way, code, gold, given.model)
            rows.append(row)
            print(show(row), flush=True)
    if given.json:
        result = {"model": given.model, "rows": [asdict(row) for row in rows]}
        Path(given.json).write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")
    complete = all(row.labelled == row.items for row in rows)
    few = all(row.calls < SHARE * row.items for row in rows if row.way == "packs")
    if not complete or not few:
        print(
            "not every item has a label" if not complete else f"more than {SHARE:.0%} sub-calls",
            file=sys.stderr,
        )
    return 0 if complete and few else 1


if __name__ == "__main__":
    sys.exit(main())
