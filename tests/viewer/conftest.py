"""The viewer on a real socket, in a thread of its own, and a real browser in front of it."""

from __future__ import annotations

import asyncio
import http.client
import json
import shutil
import threading
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from unspool import RLM, Run
from unspool.journal import Journal
from unspool.server.process import Server, listen
from unspool.server.settings import ServerSettings
from unspool.testing import ScriptedModel
from unspool.viewer.app import Viewer

from .. import stories

SECONDS = 60  # a hang is a failure, not a stuck suite
TOKEN = "a-token-of-the-tests"


def until_whole(page: Any) -> None:
    """Until no piece of a text is on its way any more."""
    page.wait_for_function("() => ![...document.querySelectorAll('p')].some(p => p.textContent === '…')")


@dataclass
class Reply:
    status: int
    headers: Mapping[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.body)


class Up:
    """A viewer that is up."""

    def __init__(self, runs: Path) -> None:
        self.logged: list[str] = []
        self._bound = listen(ServerSettings(port=0))
        self.port: int = self._bound.getsockname()[1]
        self._runs = runs
        self._ready = threading.Event()
        self._thread = threading.Thread(target=lambda: asyncio.run(self._serve()))
        self._thread.start()
        assert self._ready.wait(SECONDS)

    async def _serve(self) -> None:
        viewer = Viewer(Journal(self._runs), TOKEN, self.port, self.logged.append)
        self._server, self._loop = Server(viewer), asyncio.get_running_loop()
        self._ready.set()
        await self._server.serve(sockets=[self._bound])

    def stop(self) -> None:
        self._loop.call_soon_threadsafe(self._server.stop)
        self._thread.join(SECONDS)
        assert not self._thread.is_alive()
        self._bound.close()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}/"

    def ask(
        self, path: str, *, token: str | None = TOKEN, host: str | None = None, method: str = "GET"
    ) -> Reply:
        """One request; ``path`` as it is sent."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=SECONDS)
        headers = {"Host": host or f"127.0.0.1:{self.port}"}
        if token is not None:
            headers["Authorization"] = f"Bearer {token}"
        try:
            connection.request(method, path, headers=headers)
            got = connection.getresponse()
            return Reply(got.status, {k.lower(): v for k, v in got.getheaders()}, got.read())
        finally:
            connection.close()


MAILS = "".join(
    f"{number:04d} the mail number {number} says {'spam' if number % 7 == 0 else 'something'} of the weather\n"
    for number in range(400)
)


def with_map(runs: Path, *, keep: bool = True, context: object = MAILS) -> Run:
    """The first half goes to sub-calls in pieces, a part of the rest to a child; a quote; the rest is unread."""
    look = (
        "parts = [context[at:at + 2000] for at in range(0, len(context) // 2, 2000)]\n"
        "replies = llm_query_batched(['Is there spam in this? ' + part for part in parts])\n"
        "print(context[12_000:12_500])"
    )
    end = (
        "many = rlm_query('How many are in the middle?', context[12_000:14_000])\n"
        "quote = cite('0007 the mail number 7 says spam')\n"
        "submit({'spam': many, 'first': quote.line})"
    )

    def root(messages: Any) -> str:
        if "in the middle" in messages[1].text:
            return stories.py("print(context[:300])\nsubmit(5)", "I look at the middle.")
        return stories.py(look, "In pieces.") if len(messages) == 2 else stories.py(end, "Then a child.")

    sub = ScriptedModel(lambda messages: "yes", cost=0.0001, name="scripted:sub")
    engine = RLM(ScriptedModel(root, cost=0.002), sub_model=sub, runs=runs, keep_context=keep)
    return engine.run("How many mails are spam?", context)


@dataclass
class Kept:
    """A folder of runs and their ids."""

    folder: Path
    ids: dict[str, str] = field(default_factory=dict)

    def __getitem__(self, name: str) -> str:
        return self.ids[name]


@pytest.fixture(scope="session")
def kept(tmp_path_factory: pytest.TempPathFactory) -> Kept:
    folder = tmp_path_factory.mktemp("viewed")
    made: Mapping[str, Callable[[Path], Run]] = {
        "children": stories.with_children,
        "hostile": stories.hostile,
        "branches": stories.with_branches,
        "map": with_map,
        "forgotten": lambda folder: with_map(folder, keep=False),
    }
    return Kept(folder, {name: make(folder).id for name, make in made.items()})


@pytest.fixture(scope="session")
def up(kept: Kept) -> Iterator[Up]:
    viewer = Up(kept.folder)
    yield viewer
    viewer.stop()
    assert viewer.logged == []


@pytest.fixture
def make_up() -> Iterator[Callable[[Path], Up]]:
    """A viewer of a folder of the test's own."""
    made: list[Up] = []

    def make(runs: Path) -> Up:
        made.append(Up(runs))
        return made[-1]

    yield make
    for each in made:
        each.stop()


class Window:
    """A page in a browser that may ask the viewer alone, and has to be quiet."""

    def __init__(self, page: Any, url: str) -> None:
        self.page = page
        self.url = url
        self.problems: list[str] = []
        self.foreign: list[str] = []
        page.set_default_timeout(30_000)
        page.on("console", self._said)
        page.on("pageerror", lambda error: self.problems.append(str(error)))
        page.on("dialog", lambda dialog: self.problems.append(f"a dialog: {dialog.message}"))
        page.on("request", self._asked)

    def _said(self, message: Any) -> None:
        if message.type in ("error", "warning"):
            self.problems.append(message.text)

    def _asked(self, request: Any) -> None:
        if not request.url.startswith((self.url, "data:,")):
            self.foreign.append(request.url)

    def open(self, place: str = "/") -> Any:
        self.page.goto(f"{self.url}#token={TOKEN}&{place}")
        return self.page

    def go(self, place: str) -> None:
        self.page.evaluate("hash => { location.hash = hash; }", f"#{place}")

    def is_quiet(self) -> bool:
        assert self.problems == []
        assert self.foreign == []
        return True


@pytest.fixture(scope="module")  # while it is there a loop runs in this thread: no other module may see it
def browser() -> Iterator[Any]:
    sync_api = pytest.importorskip("playwright.sync_api")
    found = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    if found is None:
        pytest.skip("there is no Chromium here")
    quiet = ("background-networking", "component-update", "sync", "gpu")
    with sync_api.sync_playwright() as playwright:
        chromium = playwright.chromium.launch(
            executable_path=found, args=["--no-sandbox", *(f"--disable-{each}" for each in quiet)]
        )
        yield chromium
        chromium.close()


@pytest.fixture
def window(browser: Any, up: Up) -> Iterator[Window]:
    context = browser.new_context(viewport={"width": 1600, "height": 900})
    window = Window(context.new_page(), up.url)
    yield window
    assert window.is_quiet()
    context.close()


@pytest.fixture(
    params=[(1600, "light"), (1600, "dark"), (400, "light"), (400, "dark")], ids=lambda p: f"{p[0]}-{p[1]}"
)
def look(browser: Any, up: Up, request: pytest.FixtureRequest) -> Iterator[Window]:
    width, scheme = request.param
    context = browser.new_context(
        viewport={"width": width, "height": 900}, color_scheme=scheme, reduced_motion="reduce"
    )
    window = Window(context.new_page(), up.url)
    yield window
    assert window.is_quiet()
    context.close()
