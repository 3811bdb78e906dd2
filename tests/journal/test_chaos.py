"""A run that is killed at 25 random moments and resumed each time: the same answer, nothing paid for twice."""

from __future__ import annotations

import asyncio
import hashlib
import json
import os
import random
import re
import sys
import time
from collections import Counter
from dataclasses import replace
from pathlib import Path

from unspool.events import CallEnded, CallStarted, ModelReplied, NodeStarted
from unspool.journal import SPARE, Journal
from unspool.testing import Ask, Behaviour, FaultyServer
from unspool.testing.behaviour import render

from ..cli.conftest import COMMAND, clean_environment
from ..cli.test_cli_stop import children_of, running

KILLS = 25
CONTEXT = "".join(f"record {n:06d}: {hashlib.sha256(str(n).encode()).hexdigest()}\n" for n in range(4000))
LAST = "the root, turn 12"
IN_FLIGHT = 33  # the most that one process may have open: 32 sub-calls and a root call

TURNS = [
    "parts = chunks(context, 400)\nparts = [f'item {n}: {parts[n]}' for n in range(280)]\nprint(len(parts))",
    "a = llm_query_batched(parts[:100])\nprint(a[0])",
    "b = [llm_query(part) for part in parts[100:120]]\nprint(b[-1])",
    "import os\nprint('this goes wrong')\nb = None\nos._exit(3)",
    "kids = rlm_query_batched(['child: 0', 'child: 1'], [context[:16000], context[16000:32000]])\nprint(kids)",
    "kids.append(rlm_query('child: 2', context[32000:48000]))\nprint(kids[2])",
    "c = llm_query_batched(parts[120:220])\nprint({'x', 'y', 'z'}, c[-1])",
    "print(1 / 0)",
    "from concurrent.futures import ThreadPoolExecutor\nwith ThreadPoolExecutor(4) as pool:\n"
    "    d = list(pool.map(llm_query, parts[220:240]))\nprint(len(d))",
    "import random\ne = llm_query_batched(parts[240:])\nprint(random.random() < 2, e[0])",
    "submit('')",
    "submit([a, b, c, d, e, kids])",
]
CHILD = [
    "mine = [f'{context[7:13]} asks {n}: {context[n * 300:n * 300 + 300]}' for n in range(40)]\nprint(len(mine))",
    "one = llm_query_batched(mine[:30])\nprint(one[0])",
    "two = [llm_query(each) for each in mine[30:]]\nsubmit([one, two])",
]


class Traffic:
    """A model whose replies depend on what it is asked alone; counts the bytes of both ways.

    While it is held, the last turn gets no reply: no run ends before it can be killed.
    """

    def __init__(self) -> None:
        self.bytes = 0
        self.held = False

    def __call__(self, ask: Ask) -> Behaviour:
        behaviour = reply(ask)
        if self.held and asked(ask) == LAST:
            return replace(behaviour, fault="hang")
        self.bytes += len(json.dumps(ask.body, ensure_ascii=False)) + len(render(behaviour, ask))
        return behaviour


def reply(ask: Ask) -> Behaviour:
    messages = ask.body["messages"]
    assert isinstance(messages, list)
    if len(messages) == 1:  # a sub-call
        digest = hashlib.sha256(ask.prompt.encode()).hexdigest()
        return Behaviour(f"this is what I found in it: {digest}", delay=0.005)
    turns = CHILD if any("child:" in str(m["content"]) for m in messages[:2]) else TURNS
    turn = sum(m["role"] == "assistant" for m in messages)
    return Behaviour(f"I do the next step.\n```python\n{turns[turn]}\n```", delay=0.005)


def asked(ask: Ask) -> str:
    """A name for what is asked: the prompt of a sub-call, or a node and its turn."""
    messages = ask.body["messages"]
    assert isinstance(messages, list)
    if len(messages) == 1:
        return ask.prompt
    child = re.search(r"child: \d", str(messages[1]["content"]))
    turn = sum(m["role"] == "assistant" for m in messages) + 1
    return f"{child[0] if child else 'the root'}, turn {turn}"


def answered(journal: Journal) -> set[str]:
    """The same names, of all that the journal holds the reply of."""
    names, prompts, found = {"0": "the root"}, {}, set()
    for run in journal.runs():
        for event in journal.read(run):
            if isinstance(event, NodeStarted) and event.parent:
                names[event.node] = event.query
            elif isinstance(event, CallStarted):
                prompts[event.call] = event.prompt
            elif isinstance(event, CallEnded):
                assert event.error is None
                found.add(prompts[event.call])
            elif isinstance(event, ModelReplied):
                found.add(f"{names[event.node]}, turn {event.turn}")
    return found


async def start(server: FaultyServer, folder: Path, command: list[str]) -> asyncio.subprocess.Process:
    return await asyncio.create_subprocess_exec(
        *COMMAND,
        *command,
        cwd=folder,
        env=clean_environment(OPENAI_BASE_URL=server.base_url, OPENAI_API_KEY="test"),
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
        start_new_session=True,
    )


async def killed(
    server: FaultyServer, process: asyncio.subprocess.Process, asks: int, seconds: float
) -> None:
    """Kills it once the server has seen so many requests of it, or its last; or after some time.

    Nothing is left of it.
    """
    before, until = len(server.asks), time.monotonic() + seconds
    while len(server.asks) - before < asks and time.monotonic() < until:
        if len(server.asks) > before and asked(server.asks[-1]) == LAST:
            break
        assert process.returncode is None, await process.communicate()
        await asyncio.sleep(0.002)
    family = children_of(process.pid)
    process.kill()
    await process.communicate()
    until = time.monotonic() + 10
    while any(map(running, family)):  # its workers see that it is gone, and go too
        assert time.monotonic() < until, family
        await asyncio.sleep(0.01)


async def test_a_run_that_is_killed_25_times(tmp_path: Path) -> None:
    """12 turns, 3 children, 400 sub-calls."""
    seed = int.from_bytes(os.urandom(4))
    sys.stdout.write(f"seed {seed}\n")
    chance = random.Random(seed)
    (tmp_path / "input.txt").write_text(CONTEXT)
    ask = ["ask", "What is in it?", "input.txt", "--model", "openai:test-model", "--runs"]
    resume = ["runs", "resume", "last", "--runs", "kept"]
    journal, traffic = Journal(tmp_path / "kept"), Traffic()
    async with FaultyServer(traffic) as server:
        process = await start(server, tmp_path, [*ask, "whole"])
        expected, err = await process.communicate()
        assert process.returncode == 0, err.decode()
        whole = Counter(map(asked, server.asks))
        assert set(whole.values()) == {1}
        assert len(answered(Journal(tmp_path / "whole"))) == len(whole) == 400 + 12 + 9
        kept = sum(
            p.stat().st_size for p in (tmp_path / "whole").rglob("*") if p.is_file() and p.name != SPARE
        )
        assert kept <= 1.5 * traffic.bytes, (kept, traffic.bytes)

        server.asks.clear()
        traffic.held = True
        known: set[str] = set()
        flying: Counter[str] = Counter()  # how often each was under way when the process was killed
        for kill in range(KILLS):
            left = len(whole) - len(known) - 2 * IN_FLIGHT
            asks = chance.randint(1, max(1, min(120, 5 * left // (KILLS - kill))))
            seconds = chance.uniform(0.1, 3.0) if chance.random() < 0.2 else 60.0
            seen = len(server.asks)
            command = resume if journal.runs() else [*ask, "kept"]
            await killed(server, await start(server, tmp_path, command), asks, seconds)
            now = Counter(map(asked, server.asks[seen:]))
            assert set(now.values()) <= {1}
            assert not known & now.keys(), "what the journal has the reply of was asked again"
            known = answered(journal)
            under_way = now.keys() - known
            assert len(under_way) <= IN_FLIGHT
            flying.update(under_way)
        traffic.held = False
        process = await start(server, tmp_path, resume)
        answer, err = await process.communicate()
        assert process.returncode == 0, err.decode()
    assert answer == expected
    assert Counter(map(asked, server.asks)) == whole + flying
    sys.stdout.write(
        f"{len(known)} of {len(whole)} replies before the last resume; journal {kept} bytes of {traffic.bytes}\n"
    )
