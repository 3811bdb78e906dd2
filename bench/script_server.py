"""The scripted server of ``scripts/bench peers``, in a process of its own.

Prints its base URL, ends with its stdin. A driver tells it what to reply (a request to the model
``bench-script``) and asks what it has seen (``bench-seen``). A request that holds the text of a leaf gets
"ok", one that holds a child's question the next of that child's replies, one for ``bench-model`` "ok" as a
leaf does, every other one the next of the root's.
"""

from __future__ import annotations

import json
import re
import sys
import time
from dataclasses import asdict, dataclass, field

from drivers.driver import Seen

from unspool.testing import Ask, Behaviour, FaultyServer

KID = re.compile(r"kid-query-(\d+)")


@dataclass
class State:
    """``told`` are replies by who asks: "root", or a child's number."""

    root: list[str] = field(default_factory=list)
    child: list[str] = field(default_factory=list)
    delay: float = 0.0
    told: dict[str, int] = field(default_factory=dict)
    leaf: int = 0
    characters: int = 0
    first: float = 0.0

    def seen(self) -> Seen:
        root = self.told.get("root", 0)
        return Seen(root, self.leaf, sum(self.told.values()) - root, self.characters, self.first)

    def by_turn(self, text: str) -> str:
        """The reply to a child whose question is in no message."""
        turn = text.count('"role": "assistant"')
        self.told["child"] = self.told.get("child", 0) + 1
        return self.child[turn % len(self.child)] if self.child else "ok"

    def next(self, who: str) -> str:
        """A script that has ended begins again, so that no engine hangs: the count shows it."""
        number = self.told[who] = self.told.get(who, 0) + 1
        replies = self.root if who == "root" else self.child
        return replies[(number - 1) % len(replies)] if replies else "ok"


def main() -> None:
    state = State()

    def answer(ask: Ask) -> Behaviour:
        nonlocal state
        model = ask.body.get("model")
        if model == "bench-script":
            state = State(**json.loads(ask.prompt))
            return Behaviour("told")
        if model == "bench-seen":
            return Behaviour(json.dumps(asdict(state.seen())))
        if model == "bench-model":
            return Behaviour("ok", delay=state.delay)
        text = json.dumps(ask.body.get("messages"))
        if "leaf-prompt" in text:
            state.leaf += 1
            return Behaviour("ok", delay=state.delay)
        found = KID.search(text)
        if found or model == "bench-child":
            return Behaviour(state.next(found[1]) if found else state.by_turn(text), delay=state.delay)
        state.first = state.first or time.monotonic()
        messages = ask.body.get("messages")
        assert isinstance(messages, list)
        state.characters += sum(len(str(message.get("content") or "")) for message in messages)
        return Behaviour(state.next("root"), delay=state.delay)

    with FaultyServer(answer) as server:
        print(server.base_url, flush=True)
        sys.stdin.read()


if __name__ == "__main__":
    main()
