"""The viewer in a browser: how soon a run of thousands of sub-calls is open, and its longest task.

``scripts/bench viewer [--calls 5000] [--rounds 3] [--json FILE]`` needs Chromium, and playwright of
requirements/extras.txt. Each opening is that of a browser and of an ``unspool view`` that were just started,
so that nothing is known yet: the journal is read while the page waits. A task is what keeps the page from
answering to a key or a scroll; what browsers call a long one begins at 50 ms.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import random
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

sys.path.insert(0, str(Path(__file__).parent))  # run as a file

from measure import Row, report, row

from unspool import RLM
from unspool.errors import ModelError
from unspool.models.protocol import Message
from unspool.testing import ScriptedModel

if TYPE_CHECKING:
    from playwright.sync_api import Page

OPEN, TASK = 1.5, 0.1  # seconds: the goals
WIDTHS = (1600, 400)
WATCH = """
window.tasks = [];
new PerformanceObserver((list) => {
  for (const each of list.getEntries()) tasks.push(each.duration / 1000);
}).observe({ type: "longtask", buffered: true });
window.has = (tag, text) => [...document.querySelectorAll(tag)].some((e) => e.textContent.includes(text));
window.until = (ready) => new Promise((done) => {
  const look = () => (ready() ? done(performance.now() / 1000) : requestAnimationFrame(look));
  look();
});
"""
SCROLL = """async (selector) => {
  const box = document.querySelector(selector);
  for (let at = 0, begun = performance.now(); performance.now() - begun < 2000; at++) {
    box.scrollTop = (at * 997) % box.scrollHeight;
    await new Promise(requestAnimationFrame);
  }
}"""


@dataclass(frozen=True)
class Tab:
    """``ready``: what is true of the page when all is there; ``scrolls``: what is scrolled then."""

    name: str
    place: str
    ready: str
    scrolls: str


CALL = "document.querySelector('.call')"
TABS = (
    Tab("overview", "/run/{one}", "document.querySelector('.share')", ".tree"),
    Tab("a turn", "/run/{one}/node/0/turn/1", f"has('h3', '{{calls}} sub-calls') && {CALL}", ".calls"),
    Tab("sub-calls", "/run/{one}/calls", f"has('.tools p', '{{calls}} of {{calls}}') && {CALL}", ".calls"),
    Tab(
        "timeline",
        "/run/{one}/timeline",
        "document.querySelector('canvas[aria-label*=\"{calls} sub-calls\"]')",
        ".timeline",
    ),
    Tab("input", "/run/{one}/map", "document.querySelector('.map-ranges .range')", ".map-ranges .rows"),
    Tab("side by side", "/beside/{one}/{two}", "document.querySelector('.diff')", "main"),
)


def kept(folder: Path, calls: int) -> str:
    """A run of so many sub-calls on pieces of its input, of which some fail."""
    chance = random.Random(calls)

    async def sub(messages: Sequence[Message]) -> str | ModelError:
        await asyncio.sleep(chance.uniform(0.002, 0.03))
        if chance.random() < 0.02:
            return ModelError("server", "the server said 503", retryable=False)
        return f"There are {chance.randrange(40)} of them, as far as this part says."

    code = (
        f"size = len(context) // {calls}\n"
        f"parts = [context[i * size:(i + 1) * size] for i in range({calls})]\n"
        "replies = llm_query_batched(['How many of these are spam? ' + part for part in parts])\n"
        "print(len(replies), context[:500])"
    )
    turns = [f"I ask of each piece.\n```python\n{code}\n```", "```python\nsubmit(len(replies))\n```"]
    text = "".join(f"{n:06d} a line of a mail that somebody has written\n" for n in range(calls * 8))
    model = ScriptedModel(turns, cost=0.001)
    engine = RLM(model, sub_model=ScriptedModel(sub, cost=0.0001, name="scripted:sub"), runs=folder)
    try:
        return engine.run("How many of the mails are spam?", text).id
    finally:
        engine.close()


@contextmanager
def viewing(runs: Path) -> Iterator[str]:
    """``unspool view`` in a process of its own; its address."""
    command = [sys.executable, "-m", "unspool", "view", "--no-browser", "--runs", str(runs)]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    try:
        assert process.stdout is not None
        yield process.stdout.readline().strip()
    finally:
        process.send_signal(signal.SIGTERM)
        process.wait(30)


@contextmanager
def browsing(width: int) -> Iterator[Page]:
    """A page of a browser that was just started."""
    from playwright.sync_api import sync_playwright

    found = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=found, args=["--no-sandbox", "--disable-gpu"])
        page = browser.new_page(viewport={"width": width, "height": 900})
        page.add_init_script(WATCH)
        page.goto("about:blank")
        yield page
        browser.close()


@dataclass(frozen=True)
class Seen:
    """Seconds: until it was open; of the longest task until shortly after that, and while it scrolled."""

    opened: float
    opening: float
    scrolling: float


def look(runs: Path, tab: Tab, names: dict[str, str], width: int) -> Seen:
    with viewing(runs) as address, browsing(width) as page:
        page.goto(f"{address}&{tab.place.format_map(names)}", wait_until="commit")
        opened = page.evaluate(f"until(() => {tab.ready.format_map(names)})")
        page.wait_for_timeout(700)  # what comes late
        opening = page.evaluate("Math.max(0, ...tasks.splice(0))")
        page.evaluate(SCROLL, tab.scrolls)
        page.wait_for_timeout(100)
        return Seen(opened, opening, page.evaluate("Math.max(0, ...tasks.splice(0))"))


def rows(folder: Path, calls: int, rounds: int, tabs: Sequence[Tab]) -> Iterator[Row]:
    names = {"one": kept(folder, calls), "two": kept(folder, calls), "calls": f"{calls:,}"}
    for width in WIDTHS:
        for tab in tabs:
            seen = [look(folder, tab, names, width) for _ in range(rounds)]
            what = f"{calls:,} sub-calls, {width} wide: {tab.name}"
            for name, values, goal in (
                ("open", [each.opened for each in seen], OPEN),
                ("longest task while it opens", [each.opening for each in seen], TASK),
                ("and while it scrolls", [each.scrolling for each in seen], TASK),
            ):
                yield row(f"{what}: {name}", values, "the goal", (goal,) * rounds, f"≤ {goal:g} s", goal)
                print(what, name, [round(each, 3) for each in values], file=sys.stderr)


def main() -> int:
    parser = argparse.ArgumentParser(description="The viewer in a browser.")
    parser.add_argument("--calls", type=int, nargs="+", default=[5_000])
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--tab", action="append", help="This one alone; may be given several times.")
    parser.add_argument("--json", type=Path, metavar="FILE")
    options = parser.parse_args()
    tabs = [tab for tab in TABS if not options.tab or tab.name in options.tab]
    found: list[Row] = []
    for calls in options.calls:
        with TemporaryDirectory(prefix="unspool-bench-") as folder:
            found += rows(Path(folder), calls, options.rounds, tabs)
    return report(found, options.json)


if __name__ == "__main__":
    os.environ.setdefault("PYTHONUNBUFFERED", "1")
    sys.exit(main())
