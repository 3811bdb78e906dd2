"""The scripted server of the benchmarks, in a process of its own: prints its base URL, ends with its stdin.

A request with two messages (system, first) gets a cell that prints, one with more a cell that
submits; a request with one message (a sub-call) gets "ok" after ``--delay`` seconds.
"""

from __future__ import annotations

import argparse
import sys

from unspool.testing import Ask, Behaviour, FaultyServer

LOOK = "```python\nprint(len(context))\n```"
SUBMIT = "```python\nsubmit(len(context))\n```"


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--delay", type=float, default=0.0)
    delay = parser.parse_args().delay

    def script(ask: Ask) -> Behaviour:
        messages = ask.body.get("messages")
        count = len(messages) if isinstance(messages, list) else 0
        if count == 1:
            return Behaviour("ok", delay=delay)
        return Behaviour(LOOK if count == 2 else SUBMIT)

    with FaultyServer(script) as server:
        print(server.base_url, flush=True)
        sys.stdin.read()


if __name__ == "__main__":
    main()
