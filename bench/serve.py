"""The scripted server of the benchmarks, in a process of its own: prints its base URL, ends with its stdin.

A request with two messages (system, first) gets a cell that prints, one with more a cell that
submits; a request with one message (a sub-call) gets "ok" after ``--delay`` seconds. With
``--faults`` some requests fail as providers do, and cells crash, hang and take too much, before they submit.
"""

from __future__ import annotations

import argparse
import random
import sys

from unspool.testing import Ask, Behaviour, FaultyServer

LOOK = "print(len(context))"
SUBMIT = "submit(len(context))"
WILD = (
    LOOK,
    "answers = llm_query_batched([f'{i}: {context[i]}' for i in range(20)])\nprint(sum(map(bool, answers)))",
    "import numpy, pandas\nframe = pandas.DataFrame({'a': numpy.arange(10_000)})\nprint(frame.a.sum())",
    "print(rlm_query('How long is it?', context[:100]))",
    "import os; os._exit(3)",
    "import ctypes; ctypes.string_at(0)",
    "while True: pass",
    "sum(range(10**12))",
    "x = bytearray(10**10)",
    "import os, time\nfor _ in range(100):\n    if not os.fork(): time.sleep(5); os._exit(0)",
    "import threading, time\nthreading.Thread(target=time.sleep, args=(60,), daemon=True).start()\nos_ = 1",
    "open('big', 'wb').write(bytes(10**7)); print('x' * 10**6)",
    "raise ValueError(context)",
    "def f(): return f()\nf()",
)
FAULTS = (
    Behaviour(status=429, retry_after=0.02),
    Behaviour(status=500),
    Behaviour(fault="cut"),
    Behaviour(fault="reset"),
    Behaviour(fault="malformed"),
    Behaviour("late", delay=0.2),
)


def cell(code: str) -> str:
    return f"```python\n{code}\n```"


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--delay", type=float, default=0.0)
    parser.add_argument("--faults", type=float, default=0.0, help="the part of the requests that fail")
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args()
    chance = random.Random(arguments.seed)

    def script(ask: Ask) -> Behaviour:
        messages = ask.body.get("messages")
        count = len(messages) if isinstance(messages, list) else 0
        if chance.random() < arguments.faults:
            return chance.choice(FAULTS)
        if count == 1:
            return Behaviour("ok", delay=arguments.delay)
        if arguments.faults and count < 8:
            return Behaviour(cell(chance.choice(WILD)))
        return Behaviour(cell(LOOK if count == 2 else SUBMIT))

    with FaultyServer(script) as server:
        print(server.base_url, flush=True)
        sys.stdin.read()


if __name__ == "__main__":
    main()
