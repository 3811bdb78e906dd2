"""Rows of a context of a gigabyte, each measured in a process of its own.

``python bench/size.py NAME`` measures one and prints it as JSON. Memory is what all processes of the run
hold together: pages that they share counted once, files in memory whole.
"""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

sys.path.insert(0, str(Path(__file__).parent))  # run as a file

from measure import Row, row, runs_apart

if TYPE_CHECKING:
    from unspool.models.protocol import Message

GIGABYTE = 10**9
PARTS, PART = 20, 50_000_000
AT = 312_345_678  # where a part begins that is none of equal pieces
Figures = dict[str, list[float]]

TAKES = f"""
import time
def took(context):
    started = time.perf_counter()
    rlm_query('child', context)
    return time.perf_counter() - started
small = [took('abc') for _ in range(7)]
whole = [took(context) for _ in range(7)]
started = time.perf_counter()
part = context[{AT}:{AT} + 100_000_000]
cut = time.perf_counter() - started
first = took(part)
again = [took(part) for _ in range(5)]
print(1)
submit([small, whole, [cut], [first], again])
"""
TWENTY = f"""
parts = [context[i * {PART}:(i + 1) * {PART}] for i in range({PARTS})]
print(sum(rlm_query_batched(['child'] * {PARTS}, parts)))
submit(1)
"""


def made_text() -> str:
    """Text without a pattern, in lines of about 16 characters."""
    chance = random.Random(1)
    return "".join(chance.randbytes(GIGABYTE // 200).hex().replace("f", "\n") for _ in range(100))


def family(pid: int) -> Iterator[int]:
    yield pid
    for thread in os.listdir(f"/proc/{pid}/task"):
        for child in Path(f"/proc/{pid}/task/{thread}/children").read_text().split():
            yield from family(int(child))


def memory() -> float:
    """Megabytes, see the module docstring."""
    total, seen = 0, set[tuple[int, int]]()
    for pid in family(os.getpid()):
        try:
            for line in Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines():
                if line.startswith(("Pss_Anon:", "Pss_File:")):
                    total += int(line.split()[1]) * 1024
            for name in os.listdir(f"/proc/{pid}/fd"):
                status = os.stat(f"/proc/{pid}/fd/{name}")
                key = (status.st_dev, status.st_ino)
                if status.st_nlink == 0 and key not in seen:
                    seen.add(key)
                    total += status.st_blocks * 512
        except FileNotFoundError:  # it has ended, or closed it
            continue
        except ProcessLookupError:
            continue
    return total / 1e6


def cell(code: str) -> str:
    return f"```python\n{code}\n```"


def first_request(context: object, code: str) -> Figures:
    from unspool import RLM
    from unspool.testing import ScriptedModel

    seen: list[float] = []
    held: list[float] = []

    def reply(_: object) -> str:
        seen.append(time.perf_counter())
        return cell(code)

    def answered(_: object) -> str:
        held.append(memory())
        return cell("submit(1)")

    replies = iter((reply, answered))
    RLM(ScriptedModel([cell("print(1)\nsubmit(1)")])).run("q", "c")  # the sandbox is warm
    started = time.perf_counter()
    engine = RLM(ScriptedModel(lambda messages: next(replies)(messages)))
    engine.run("q", context)
    return {"seconds": [seen[0] - started], "memory": held}


def as_text() -> Figures:
    text = made_text()
    figures = first_request(text, "print(len(context), context.count('zz'))")
    started = time.perf_counter()
    fd = os.memfd_create("floor")
    for at in range(0, len(text), 1 << 18):
        os.write(fd, text[at : at + (1 << 18)].encode("ascii"))
    os.close(fd)
    return {**figures, "floor": [time.perf_counter() - started]}


def as_file() -> Figures:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "text.txt"
        path.write_text(made_text())
        return first_request(path, "print(len(context), context.count('zz'))")


def question(messages: Sequence[Message]) -> str:
    first = next(message.text for message in messages if message.role == "user")
    return first.rpartition("The question:\n")[2]


def one_child() -> Figures:
    from unspool import RLM
    from unspool.testing import ScriptedModel

    def reply(messages: Sequence[Message]) -> str:
        return cell("print(1)\nsubmit(len(context))" if question(messages) == "child" else TAKES)

    run = RLM(ScriptedModel(reply)).run("top", made_text())
    assert isinstance(run.answer, list), run.reason
    small, whole, cut, first, again = run.answer
    return {"small": small, "whole": whole, "cut": cut, "first": first, "again": again}


def twenty() -> Figures:
    return children_on_parts(made_text())


def twenty_of_file() -> Figures:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "text.txt"
        path.write_text(made_text())
        return children_on_parts(path)


def children_on_parts(context: str | Path) -> Figures:
    """Memory while 20 children live, each having read all of its part."""
    import asyncio

    from unspool import RLM
    from unspool.testing import ScriptedModel

    held: list[float] = []
    waiting = 0
    all_there = asyncio.Event()

    async def reply(messages: Sequence[Message]) -> str:
        nonlocal waiting
        if question(messages) != "child":
            return cell(TWENTY)
        if len(messages) == 2:
            return cell("print(context.count('zz'))")
        waiting += 1
        if waiting == PARTS:
            held.append(await asyncio.to_thread(memory))
            all_there.set()
        await all_there.wait()
        return cell("submit(len(context))")

    run = RLM(ScriptedModel(reply), cell_memory=4 << 30).run("top", context)
    assert run.status == "answered", run.reason
    return {"memory": held}


MEASURED: Mapping[str, Callable[[], Figures]] = {
    "text": as_text,
    "file": as_file,
    "child": one_child,
    "twenty": twenty,
    "twenty_of_file": twenty_of_file,
}


def measured(name: str) -> Figures:
    done = subprocess.run([sys.executable, __file__, name], check=True, stdout=subprocess.PIPE)
    figures: Figures = json.loads(done.stdout)
    return figures


def rows(rounds: int) -> list[Row]:
    made = []
    texts = [measured("text") for _ in range(rounds)]
    seconds, floors = [t["seconds"][0] for t in texts], [t["floor"][0] for t in texts]
    what = "1 GB text: run() to first root request"
    made.append(row(what, seconds, "written into a memfd", floors, "≤ 1.5 s", 1.5))
    held, size = [t["memory"][0] for t in texts], (1_000.0,) * rounds
    made.append(row("the same: memory of all processes", held, "the text", size, "≤ 2.1 ×", 2_100, "MB"))
    files = [measured("file") for _ in range(rounds)]
    seconds, held = [f["seconds"][0] for f in files], [f["memory"][0] for f in files]
    what = "1 GB ASCII file, by its path: run() to first root request"
    made.append(row(what, seconds, "a text of it into a memfd", floors, "≤ 1.5 s", 1.5))
    made.append(row("the same: memory of all processes", held, "the file", size, "≤ 1.3 ×", 1_300, "MB"))
    child = measured("child")
    floor = "a child over three characters"
    made += [
        row("child over its parent's 1 GB", child["whole"], floor, child["small"], "≤ 10 ms", 0.01),
        row(
            "child over 100 MB of it, first time", child["first"], "the slice", child["cut"], "≤ 50 ms", 0.05
        ),
        row("the same again", child["again"], floor, child["small"], "≤ 50 ms", 0.05),
    ]
    parts = measured("twenty_of_file")["memory"]  # slices of what is in a file are places, not copies
    what = f"1 GB ASCII file, {PARTS} children on slices: memory of all processes"
    made.append(row(what, parts, "the file", (1_000,), "≤ 1.3 × + copies (none)", 1_300, "MB"))
    parts = measured("twenty")["memory"]
    limit = 2_100 + PARTS * PART / 1e6  # the parent's own code has cut the parts: those are copies of its
    what = f"1 GB text, {PARTS} children on parts: memory of all processes"
    made.append(
        row(what, parts, "the text, the parts", (1_000 + PARTS * PART / 1e6,), "≤ 2.1 × + parts", limit, "MB")
    )
    return made


if __name__ == "__main__":
    with runs_apart():
        print(json.dumps(MEASURED[sys.argv[1]]()))
