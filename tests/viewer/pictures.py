"""The pictures of docs/viewer: a real log, scripted models, the viewer in Chromium.

``.venv/bin/python -m tests.viewer.pictures [OUT]`` makes them anew; look at each before it is kept.
"""

from __future__ import annotations

import asyncio
import os
import random
import shutil
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from playwright.sync_api import Browser, sync_playwright

from unspool import RLM, Budget, Run
from unspool.errors import ModelError
from unspool.models.protocol import Message
from unspool.testing import ScriptedModel

from .. import stories
from .conftest import TOKEN, Up, until_whole

HERE = Path(__file__).parents[2]
LOG = HERE / "examples" / "data" / "openssh_2k.log"
QUESTION = "Which IP address had the most failed password attempts, and when did it begin?"
TURNS = (
    stories.py(
        "import re\nfrom collections import Counter\nfailed = context.grep('Failed password', limit=5)\n"
        "print(len(context), failed)",
        "I look at the size of the log and at a few of the lines that matter.",
    ),
    stories.py(
        "found = Counter(re.search(r'from (\\S+)', line)[1] for line in context.lines() if 'Failed password' in line)\n"
        "address, attempts = found.most_common(1)[0]\n"
        "parts = chunks(context[60_000:160_000], 5_000)\n"
        "notes = llm_query_batched(['Which accounts are tried here, and from where?\\n' + part for part in parts])\n"
        "bad = [note for note in notes if not note]\n"
        "print(address, attempts, len(bad), 'failed')\n"
        "print(notes[0])",
        "Counting is for code; what the attempts were about is for a model, piece by piece.",
    ),
    stories.py(
        "first = context.find(f'Failed password for root from {address}')\n"
        "quote = cite(context[first:first + 52])\n"
        "began, ended = rlm_query_batched(\n"
        "    ['When did this address begin, and with which accounts?', 'When did it stop?'],\n"
        "    [context[first:first + 4_000], context[-8_000:]],\n"
        ")\n"
        "submit('unknown')",
        "Two children read the beginning and the end.",
    ),
    stories.py(
        "told = {'address': address, 'attempts': attempts, 'line': quote.line, 'about': began}\nsubmit(told)",
        "The answer has to be a dictionary.",
    ),
)
CHILDREN = {
    "begin": "print(context[:600])\nwhat = llm_query('Which accounts? ' + context[:3_000])\nsubmit('at 11:03 as root, admin and oracle')",
    "stop": "print(context[-1_500:])\nsubmit('the log ends before')",
}


def _models(seed: int, turns: Sequence[str]) -> tuple[ScriptedModel, ScriptedModel]:
    """A large one for the code, a small one for the pieces; each takes its time."""
    chance = random.Random(seed)

    async def root(messages: Sequence[Message]) -> str:
        await asyncio.sleep(chance.uniform(0.2, 0.9))
        for word, code in CHILDREN.items():
            if word in messages[1].text and QUESTION not in messages[1].text:
                return stories.py(code, "I read the beginning of it." if word == "begin" else "")
        return turns[sum(message.role == "assistant" for message in messages)]

    async def sub(messages: Sequence[Message]) -> str | ModelError:
        await asyncio.sleep(chance.uniform(0.1, 0.9))
        text = messages[-1].text
        if "sshd[24597]" in text:
            return ModelError("server", "the server said 503", retryable=False)
        users = sorted(
            {
                line.split("user ")[1].split()[0]
                for line in text.split("\n")
                if "invalid user " in line and "user " in line
            }
        )
        return f"{', '.join(users[:6]) or 'root'}; {text.count('Failed password')} failed passwords"

    return (
        ScriptedModel(root, cost=0.0041, name="scripted:large", window=200_000),
        ScriptedModel(sub, cost=0.0003, name="scripted:small"),
    )


def _ask(runs: Path, seed: int, turns: Sequence[str] = TURNS, query: str = QUESTION) -> Run:
    root, sub = _models(seed, turns)
    engine = RLM(root, sub_model=sub, runs=runs, budget=Budget(usd=0.1, calls=200, seconds=120))
    try:
        return engine.run(query, Path(LOG.name), answer=dict)
    finally:
        engine.close()


def _runs(folder: Path) -> tuple[Run, Run]:
    """What the list shows: some that ended in other ways, and the two that are looked at."""
    stories.with_children(folder)
    RLM(ScriptedModel([ModelError("auth", "no such key")]), runs=folder).run(
        "What is in this mail?", "a mail"
    )
    counts = stories.py("print(context.grep('Invalid user', limit=3))", "I look.")
    RLM(ScriptedModel([counts]), runs=folder, max_turns=1).run("Which users do not exist?", Path(LOG.name))
    other = stories.py(
        "failed = [line for line in context.lines() if 'Failed password' in line]\nprint(len(failed), failed[0])",
        "I look for the lines that matter.",
    )
    end = stories.py(
        "submit({'address': failed[0].split()[10], 'attempts': len(failed)})", "The first one will do."
    )
    two = _ask(folder, 2, (other, end))
    return _ask(folder, 1), two


PICTURES = (  # name, address, what is there when all of it is, width, scheme, what is clicked
    ("list-1600", "/", ".run", 1600, "light", ""),
    ("overview-1600", "/run/{one}", ".share", 1600, "light", ""),
    ("overview-400", "/run/{one}", ".share", 400, "light", ""),
    ("turn-1600-dark", "/run/{one}/node/0/turn/2", ".call", 1600, "dark", ""),
    ("turn-400", "/run/{one}/node/0/turn/2", ".call", 400, "light", ""),
    ("timeline-1600", "/run/{one}/timeline", "canvas", 1600, "light", ""),
    ("timeline-400-dark", "/run/{one}/timeline", "canvas", 400, "dark", ""),
    ("map-1600", "/run/{one}/map", ".range", 1600, "light", "#detail .steps a"),
    ("map-400-dark", "/run/{one}/map", ".range", 400, "dark", ""),
    ("beside-1600-dark", "/beside/{one}/{two}", ".diff", 1600, "dark", ""),
)


def _take(browser: Browser, url: str, ids: dict[str, str], out: Path, picture: tuple[Any, ...]) -> None:
    name, place, whole, width, scheme, click = picture
    size = {"width": width, "height": 900 if width > 400 else 850}
    context = browser.new_context(viewport=size, color_scheme=scheme, reduced_motion="reduce")
    page = context.new_page()
    page.goto(f"{url}#token={TOKEN}&{place.format_map(ids)}")
    page.locator(f"#detail {whole}").first.wait_for()
    if click:
        page.locator(click).first.click()
        page.locator(".map-detail mark").wait_for()
        page.locator("#detail").evaluate("detail => { detail.scrollTop = 320; }")
    until_whole(page)
    page.wait_for_timeout(400)  # for what is drawn in the next frames
    page.screenshot(path=out / f"{name}.png")
    context.close()


def main(out: Path) -> None:
    out.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory() as name:
        shutil.copy(LOG, name)
        os.chdir(name)  # a picture shows the path of the log as it was given
        one, two = _runs(Path(name) / "runs")
        assert (one.status, two.status) == ("answered", "answered"), (one, two)
        up = Up(Path(name) / "runs")
        found = shutil.which("chromium") or shutil.which("google-chrome")
        with sync_playwright() as playwright:
            browser = playwright.chromium.launch(
                executable_path=found, args=["--no-sandbox", "--disable-gpu"]
            )
            for picture in PICTURES:
                _take(browser, up.url, {"one": one.id, "two": two.id}, out, picture)
            browser.close()
        up.stop()


if __name__ == "__main__":
    main(Path(sys.argv[1]).resolve() if len(sys.argv) > 1 else HERE / "docs" / "viewer")
