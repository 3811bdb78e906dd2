"""What the drivers of all engines have in common: the scenarios, the floors and how both are measured.

A driver is a file beside this one that uses one engine's public API. It runs in that engine's own
environment, so that nothing but the standard library is here:

    python with_NAME.py SCENARIO URL ROUNDS SECONDS    # prints its figures as JSON, on the last line

The first round warms the engine up and does not count. Then there are ROUNDS at most, one at least, and no
new one after SECONDS. With 0 rounds it is the first that counts.

URL is a scripted server (``bench/script_server.py``) that is told here what to reply. Texts by which it tells
requests apart are written backwards in code, so that no transcript holds them by accident.
"""

from __future__ import annotations

import json
import os
import sys
import time
import traceback
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Protocol

sys.path.insert(0, str(Path(__file__).parent.parent))

from floors import bare_calls, fan_out, fill_memfd, timed

QUERY = "How long is the context?"
CONTEXT = "one line of text\n" * 10_000
LEAF = "'tpmorp-fael'[::-1]"
CHILD = "'-yreuq-dik'[::-1]"
DELAY = 0.05
WIDTH = 64
CHILDREN = 8


class Driver(Protocol):
    """One engine. ``context`` is the name of the input in its REPL."""

    package: str
    where: str  # the model's code runs there
    context: str

    def reply(self, code: str) -> str:
        """What a model says to have ``code`` run."""
        ...

    def final(self, name: str) -> str:
        """What a model says to answer with the variable of that name."""
        ...

    def batch(self, prompts: str) -> str | None:
        """An expression: replies to ``prompts``, a list of texts; ``None`` where it has no such calls."""
        ...

    def children(self, queries: str) -> str | None:
        """Code: ``r`` are the answers of a child for each query, all at once; ``None`` where it has none."""
        ...

    def run(self, url: str, context: str) -> object:
        """One run of an engine made for it; the answer."""
        ...


@dataclass(frozen=True)
class Figures:
    """Values and floors in the scenario's unit, taken in turn; ``wrong`` says what was not as asked for."""

    values: list[float] = field(default_factory=list)
    floors: list[float] = field(default_factory=list)
    wrong: str = ""


@dataclass(frozen=True)
class Seen:
    """What the server has had since it was told the script."""

    root: int
    leaf: int
    child: int
    characters: int  # in the messages of root requests
    first: float  # when the first root request was there, by the monotonic clock


class Script:
    """The server's other end."""

    def __init__(self, url: str) -> None:
        self.url = url

    def tell(self, root: Sequence[str], child: Sequence[str] = (), delay: float = 0.0) -> None:
        self._ask("bench-script", json.dumps({"root": root, "child": child, "delay": delay}))

    def seen(self) -> Seen:
        return Seen(**json.loads(self._ask("bench-seen", "")))

    def _ask(self, model: str, text: str) -> str:
        import urllib.request

        body = json.dumps({"model": model, "messages": [{"role": "user", "content": text}]}).encode()
        request = urllib.request.Request(
            f"{self.url}/chat/completions", body, {"Content-Type": "application/json"}
        )
        with urllib.request.urlopen(request) as response:
            reply = json.load(response)["choices"][0]["message"]["content"]
        assert isinstance(reply, str)
        return reply


@dataclass(frozen=True)
class Bench:
    driver: Driver
    script: Script
    rounds: int
    seconds: float

    def measure(
        self,
        replies: Sequence[str],
        answer: object,
        floor: Callable[[], object],
        *,
        child: Sequence[str] = (),
        delay: float = 0.0,
        context: str = CONTEXT,
        leaves: int = 0,
        children: int = 0,
        value: Callable[[float, float, Seen], float] = lambda began, ended, _: ended - began,
    ) -> Figures:
        """Rounds of a run that is told ``replies`` and should answer with ``answer``."""
        wrong = ""
        figures = Figures()
        until = 0.0
        for number in range(self.rounds + 1):
            if number == 1:
                figures, until = Figures(), time.monotonic() + self.seconds
            elif number > 1 and time.monotonic() > until:
                break
            self.script.tell(replies, child, delay)
            began = time.monotonic()
            given = self.driver.run(self.script.url, context)
            ended = time.monotonic()
            seen = self.script.seen()
            figures.values.append(value(began, ended, seen))
            figures.floors.append(timed(floor))
            for what, wanted, had in (
                ("answer", str(answer), str(given).strip()),
                ("requests of the root", len(replies), seen.root),
                ("sub-calls", leaves, seen.leaf),
                ("requests of children", children, seen.child),
            ):
                if wanted != had and not wrong:
                    wrong = f"{what}: {str(had)[:60]!r} where {wanted!r} was asked for"
        return Figures(figures.values, figures.floors, wrong)

    def two_turns(self) -> Figures:
        look = self.driver.reply(f"n = len({self.driver.context})\nprint(n)")
        return self.measure(
            [look, self.driver.final("n")], len(CONTEXT), lambda: bare_calls(self.script.url, 2)
        )

    def twenty_turns(self) -> Figures:
        turns = [self.driver.reply(f"n = {i}\nprint('{i:04}' * 500)") for i in range(19)]
        figures = self.measure(
            [*turns, self.driver.final("n")],
            18,
            lambda: None,
            value=lambda *times: float(times[2].characters),
        )
        return Figures(
            figures.values,
            [float(sum(2_000 * turn for turn in range(20)))] * len(figures.values),
            figures.wrong,
        )

    def _batch(self, count: int, delay: float) -> Figures:
        prompts = f"[str(i) + ': ' + {LEAF} for i in range({count})]"
        replies = self.driver.batch(prompts)
        if replies is None:
            return Figures(wrong="it has no plain sub-calls")
        code = f"r = {replies}\nn = len([x for x in r if str(x) == 'ok'])\nprint(n)"
        url = self.script.url

        def floor() -> None:
            self.script.tell((), delay=delay)
            fan_out(url, count, WIDTH)

        return self.measure(
            [self.driver.reply(code), self.driver.final("n")], count, floor, delay=delay, leaves=count
        )

    def thousand(self) -> Figures:
        return self._batch(1_000, DELAY)

    def ten_thousand(self) -> Figures:
        return self._batch(10_000, 0.0)

    def eight_children(self) -> Figures:
        made = self.driver.children(f"[{CHILD} + str(i) for i in range({CHILDREN})]")
        if made is None:
            return Figures(wrong="it has no children")
        code = f"{made}\nn = len([x for x in r if str(x).strip() == '7'])\nprint(n)"
        child = [self.driver.reply("k = 3 + 4\nprint(k)"), self.driver.final("k")]
        return self.measure(
            [self.driver.reply(code), self.driver.final("n")],
            CHILDREN,
            lambda: time.sleep(4 * DELAY),
            child=child,
            delay=DELAY,
            children=2 * CHILDREN,
        )

    def large_text(self) -> Figures:
        text = "0123456789abcde\n" * (100 * 2**20 // 16)
        look = self.driver.reply(f"n = len({self.driver.context})\nprint(n)")
        return self.measure(
            [look, self.driver.final("n")],
            len(text),
            lambda: fill_memfd(text),
            context=text,
            value=lambda began, _, seen: seen.first - began,
        )


SCENARIOS: dict[str, Callable[[Bench], Figures]] = {
    "two_turns": Bench.two_turns,
    "twenty_turns": Bench.twenty_turns,
    "thousand": Bench.thousand,
    "ten_thousand": Bench.ten_thousand,
    "eight_children": Bench.eight_children,
    "large_text": Bench.large_text,
}


def main(driver: Driver) -> None:
    name, url, rounds, seconds = sys.argv[1:]
    os.environ["OPENAI_BASE_URL"], os.environ["OPENAI_API_KEY"] = url, "bench"
    bench = Bench(driver, Script(url), int(rounds), float(seconds))
    try:
        figures = SCENARIOS[name](bench)
    except Exception as error:  # whatever an engine raises is what is to be told of it
        traceback.print_exc()
        figures = Figures(wrong=f"{type(error).__name__}: {str(error)[:200]}")
    print(flush=True)
    print(json.dumps(asdict(figures)), flush=True)
    sys.stderr.flush()
    os._exit(0)  # threads and processes that an engine has left are none of ours to wait for
