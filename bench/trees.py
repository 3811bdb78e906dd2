"""Rows of whole runs with models in memory: prompts, children, trees, large batches, what is journalled."""

from __future__ import annotations

import time
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path
from tempfile import TemporaryDirectory

from floors import timed
from measure import Row, row

from unspool import RLM
from unspool.models.protocol import Message, ModelRequest
from unspool.testing import ScriptedModel

LATENCY = 0.05
CHILDREN = 8
LEAVES = CHILDREN * CHILDREN
CALLS = 1_000
WIDTH = 64
ITEMS = 10_000


def cell(code: str) -> str:
    return f"```python\n{code}\n```"


def question(messages: Sequence[Message]) -> str:
    first = next(message.text for message in messages if message.role == "user")
    return first.rpartition("The question:\n")[2]


def size(request: ModelRequest) -> int:
    return sum(len(message.text) for message in request.messages)


def long_prompts(rounds: int) -> list[Row]:
    """20 turns, of which each but the last prints 2,000 characters: what all requests have in them."""
    values, floors = [], []
    for _ in range(rounds):
        turns = [cell(f"print('{i:04}' * 500)") for i in range(19)]
        model = ScriptedModel([*turns, cell("submit(1)")])
        RLM(model).run("q", "c" * 10_000)
        for before, after in pairwise(model.requests):
            assert after.messages[: len(before.messages)] == before.messages, "the history is not append-only"
        values.append(float(sum(map(size, model.requests))))
        floors.append(float(sum(2_000 * turn for turn in range(20))))
    what, floor = "20 turns that print 2,000 characters: prompts sent", "what was printed alone"
    return [row(what, values, floor, floors, "≤ 430,000, append-only", 430_000, "characters")]


def eight_children(rounds: int) -> list[Row]:
    def reply(messages: Sequence[Message]) -> str:
        turn = sum(message.role == "assistant" for message in messages)
        if question(messages).startswith("child"):
            return cell("print(len(context))") if turn == 0 else cell("submit(len(context))")
        if turn:
            return cell("submit(sum(r))")
        names = "[f'child {i}' for i in range(8)]"
        return cell(f"r = rlm_query_batched({names}, ['abc'] * 8)\nprint(r)")

    values = []
    for _ in range(rounds):
        engine = RLM(ScriptedModel(reply, latency=LATENCY))
        values.append(timed(lambda engine=engine: engine.run("top", "c")))
        engine.close()
    ideal = 4 * LATENCY
    what = f"{CHILDREN} children × 2 turns at 50 ms a call"
    return [row(what, values, "four calls in a row", (ideal,) * rounds, "≤ 1.25 ×", 1.25 * ideal)]


def tree(rounds: int) -> list[Row]:
    """1 + 8 + 64 nodes, a turn each, and 1,000 sub-calls from the leaves, all at 50 ms."""

    def reply(messages: Sequence[Message]) -> str:
        asked = question(messages)
        if asked.startswith("leaf"):
            number = int(asked.split()[1])
            share = CALLS // LEAVES + (number < CALLS % LEAVES)
            return cell(f"r = llm_query_batched(['prompt'] * {share})\nsubmit(sum(map(bool, r)))")
        level, first = ("leaf", 8 * int(asked.split()[1])) if asked.startswith("mid") else ("mid", 0)
        names = f"[f'{level} {{{first} + i}}' for i in range(8)]"
        return cell(f"r = rlm_query_batched({names}, ['abc'] * 8)\nsubmit(sum(r))")

    values, counts = [], []
    for _ in range(rounds):
        root = ScriptedModel(reply, latency=LATENCY)
        sub = ScriptedModel(lambda _: "ok", latency=LATENCY, name="scripted:sub")
        engine = RLM(root, sub_model=sub, max_depth=2, concurrency=WIDTH)
        started = time.perf_counter()
        run = engine.run("top", "c")
        values.append(time.perf_counter() - started)
        engine.close()
        assert run.answer == CALLS, run.reason
        assert len(root.requests) == 1 + CHILDREN + LEAVES
        counts.append(float(len(sub.requests)))
    ideal = 3 * LATENCY + CALLS / WIDTH * LATENCY
    what = f"a tree of 1 + 8 + 64 nodes with {CALLS:,} sub-calls of 50 ms, {WIDTH} at a time"
    return [
        row(what, values, "its calls alone", (ideal,) * rounds, "≤ 1.3 ×", 1.3 * ideal),
        row("the same: sub-calls", counts, "asked for", (float(CALLS),) * rounds, "exactly", CALLS, "calls"),
    ]


def large_batch(rounds: int) -> list[Row]:
    code = (
        f"import time\nprompts = [f'prompt {{i}}' for i in range({ITEMS})]\nt = time.perf_counter()\n"
        "r = llm_query_batched(prompts)\ntaken = time.perf_counter() - t\nprint(len(r))\nsubmit(taken)"
    )

    def once(**settings: object) -> float:
        sub = ScriptedModel(lambda _: "ok", name="scripted:sub")
        engine = RLM(ScriptedModel([cell(code)]), sub_model=sub, **settings)  # type: ignore[arg-type]
        taken = engine.run("q", "c").answer
        engine.close()
        assert isinstance(taken, float)
        return taken / ITEMS

    values, bare, floors = [], [], []
    for _ in range(rounds):
        values.append(once())
        bare.append(once(runs=False))
        floors.append(_tasks(ITEMS) / ITEMS)
    floor = "a task each, awaited"
    return [
        row(f"{ITEMS:,}-item batch, model in memory: an item", values, floor, floors, "≤ 60 µs", 60e-6),
        row("the same, nothing kept (runs=False)", bare, floor, floors, "≤ 60 µs", 60e-6),
    ]


def _tasks(count: int) -> float:
    import asyncio

    async def one() -> None:
        await asyncio.sleep(0)

    async def everyone() -> None:
        async with asyncio.TaskGroup() as group:
            for _ in range(count):
                group.create_task(one())

    return timed(lambda: asyncio.run(everyone()))


def journal(rounds: int) -> list[Row]:
    """What is written of a run with 300 sub-calls on slices, and of its model traffic."""
    code = (
        "parts = [context[i * 2000:(i + 1) * 2000] for i in range(300)]\n"
        "r = llm_query_batched([f'Who is named here?\\n{part}' for part in parts])\n"
        "print(sum(map(len, r)))\nsubmit(len(r))"
    )
    text = "".join(f"{i}: a line of a text that somebody has written\n" for i in range(20_000))
    values, floors = [], []
    for _ in range(rounds):
        with TemporaryDirectory() as folder:
            root = ScriptedModel([cell(code)])
            sub = ScriptedModel(lambda _: "Nobody is named in it.", name="scripted:sub")
            RLM(root, sub_model=sub, runs=folder).run("q", text)
            files = [path for path in Path(folder).rglob("*") if path.is_file() and path.name[0] != "."]
            values.append(sum(path.stat().st_size for path in files if "index" not in path.name) / 1e6)
            assert not any(text[:200_000] in path.read_text(errors="replace") for path in files)
            traffic = sum(map(size, root.requests)) + len(code)
            traffic += sum(map(size, sub.requests)) + 300 * len("Nobody is named in it.")
            floors.append(traffic / 1e6)
    what = "journal of 300 sub-calls of 2,000 characters"
    return [row(what, values, "model traffic", floors, "≤ 1.5 ×, no context", 1.5 * floors[0], "MB")]


def rows(rounds: int) -> list[Row]:
    RLM(ScriptedModel([cell("print(1)\nsubmit(1)")])).run("q", "c")  # the sandbox is warm
    return [
        *long_prompts(1),
        *eight_children(rounds),
        *tree(rounds),
        *large_batch(rounds),
        *journal(1),
    ]
