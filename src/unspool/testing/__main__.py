"""``python -m unspool.testing``: a :class:`FaultyServer` in a process of its own, until stdin closes.

Benchmarks need it: in one process with the client, the server's CPU time would be the client's too.
The first line of stdout is the base URL.
"""

from __future__ import annotations

import argparse
import sys

from .behaviour import Behaviour
from .server import FaultyServer


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m unspool.testing", description=__doc__)
    parser.add_argument("--delay", type=float, default=0.0, help="seconds before each reply")
    parser.add_argument("--text", default="ok", help="the text of each reply")
    given = parser.parse_args()
    with FaultyServer([Behaviour(given.text, delay=given.delay)]) as server:
        sys.stdout.write(f"{server.base_url}\n")
        sys.stdout.flush()
        sys.stdin.read()


if __name__ == "__main__":
    main()
