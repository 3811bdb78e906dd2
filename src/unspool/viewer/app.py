"""The application behind the page: what it may ask for, who may ask, and how it hears of news.

Contract: only reads. Every reply to a question about runs is JSON in which every text only shows
(:func:`.told.as_body`); what cannot be answered is a status and ``{"error": …}`` in words. News are a stream
of events without content: the page then asks for what it shows.
"""

from __future__ import annotations

import asyncio
import contextlib
import traceback
from collections import OrderedDict
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from dataclasses import asdict

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse
from starlette.routing import Route

from ..errors import JournalError
from ..journal import Journal
from ..run_index import RunIndex
from ..server.settings import ServerSettings
from ..types import ROOT
from .admission import HEADERS, Admission, Refusal
from .assets import PAGE, asset
from .beside import beside_told
from .followed import Runs, Seen
from .readers import map_told
from .sources import Input, NotHere
from .stamps import Stamps
from .texts import NoSuchText, Texts
from .told import Json, as_body, call_told, calls_told, node_told, run_told, turn_told

LOOK_SECONDS = 0.2  # between two looks at a journal that may be growing
LIST_SECONDS = 1.0  # and at the folder
BEAT_SECONDS = 15.0  # after which a silent stream says that it is alive
_INPUTS = 2  # inputs that are held in memory
Query = Mapping[str, str]


class Viewer:
    """What the viewer has while it is up."""

    def __init__(self, journal: Journal, token: str, port: int, log: Callable[[str], None]) -> None:
        self.settings = ServerSettings(port=port, token=token)
        self._log = log
        self.admission = Admission(token, port)
        self.runs = Runs(journal)
        self._index = RunIndex(journal)
        self._stamps = Stamps(journal)
        self._inputs: OrderedDict[str, Input] = OrderedDict()
        self._stopped = asyncio.Event()

    def app(self) -> Starlette:
        told: Mapping[str, Callable[[Request], object]] = {
            "/api/runs": self._list,
            "/api/runs/{run}": lambda r: self._of(r, lambda seen, texts: run_told(seen, texts)),
            "/api/runs/{run}/calls": self._calls,
            "/api/runs/{run}/calls/{call}": lambda r: self._of(r, lambda s, t: _call(r, s, t)),
            "/api/runs/{run}/nodes/{node}": lambda r: self._of(r, lambda s, t: _node(r, s, t)),
            "/api/runs/{run}/turns/{node}/{turn}": lambda r: self._of(r, lambda s, t: _turn(r, s, t)),
            "/api/runs/{run}/map": lambda r: self._of(r, lambda seen, _: map_told(seen)),
            "/api/runs/{run}/input": self._input,
            "/api/runs/{run}/text/{name:path}": self._text,
            "/api/beside/{one}/{two}": self._beside,
        }
        app = Starlette(
            routes=[
                Route("/", self._file),
                Route("/app/{name}", self._file),
                Route("/api/live", self._live),
                *(Route(path, self._answered(answer)) for path, answer in told.items()),
            ],
            exception_handlers={HTTPException: self._no_route},
        )
        app.router.redirect_slashes = False
        return app

    async def warm(self, run: str) -> None:
        """Reads a run that will be asked for; what is wrong with it is told to who asks."""
        with contextlib.suppress(JournalError):
            await asyncio.to_thread(self._read, run)

    def _read(self, run: str) -> None:
        with self.runs.seen(run):
            pass

    def stop(self) -> None:
        """Ends the streams."""
        self._stopped.set()

    # The page itself: it tells nothing of runs, and needs no token

    async def _file(self, request: Request) -> Response:
        if (refusal := self.admission.host_refusal(request.headers.get("host", ""))) is not None:
            return _refused(refusal)
        found = asset(request.path_params.get("name", PAGE))
        if found is None:
            return _refused(Refusal(404, "there is no such file"))
        return Response(found.data, media_type=found.kind, headers=dict(HEADERS))

    async def _no_route(self, request: Request, error: Exception) -> Response:
        assert isinstance(error, HTTPException)
        refusal = self.admission.host_refusal(request.headers.get("host", ""))
        return _refused(refusal or Refusal(error.status_code, "there is nothing here of that name"))

    # Questions

    def _admit(self, request: Request) -> None:
        headers = request.headers
        refusal = self.admission.refusal(headers.get("host", ""), headers.get("authorization", ""))
        if refusal is not None:
            raise refusal

    def _answered(self, answer: Callable[[Request], object]) -> Callable[[Request], Awaitable[Response]]:
        async def answered(request: Request) -> Response:
            try:
                self._admit(request)
                body = await asyncio.to_thread(lambda: as_body(answer(request)))
            except Refusal as refusal:
                return _refused(refusal)
            except NoSuchText:
                return _refused(Refusal(404, "the run has no such text"))
            except JournalError as error:
                return _refused(Refusal(404 if self._is_gone(request) else 422, str(error)))
            except Exception:  # a bug: its traceback is for who runs the viewer, not for who asks
                self._log(traceback.format_exc())
                return _refused(Refusal(500, "the viewer has a bug here: where it runs, it says more"))
            return Response(body, media_type="application/json", headers=dict(HEADERS))

        return answered

    def _is_gone(self, request: Request) -> bool:
        names = [request.path_params.get(each) for each in ("run", "one", "two")]
        known = self.runs.journal.runs()
        return any(name is not None and name not in known for name in names)

    def _of(self, request: Request, answer: Callable[[Seen, Texts], object]) -> object:
        with self.runs.seen(request.path_params["run"]) as (seen,):
            return answer(seen, Texts(seen))

    def _list(self, request: Request) -> object:
        rows = (asdict(row) for row in self._index.rows())
        return {"runs": [{name: value for name, value in row.items() if name != "stamp"} for row in rows]}

    def _calls(self, request: Request) -> object:
        return self._of(request, lambda seen, _: calls_told(seen, _int(request.query_params, "since")))

    def _text(self, request: Request) -> object:
        start = _int(request.query_params, "from")
        return self._of(request, lambda _, texts: texts.piece(request.path_params["name"], start))

    def _input(self, request: Request) -> object:
        part, start, end = (_int(request.query_params, name) for name in ("part", "start", "end"))
        with self.runs.seen(request.path_params["run"]) as (seen,):
            started, root = seen.started, seen.past.nodes.get(ROOT)
        if started is None:
            return {"why": "the journal does not say how the run began"}
        measured = root.measured[0] if root is not None and root.measured else None
        held = self._inputs.pop(started.run, None) or Input(started, measured)
        try:
            piece = asdict(held.piece(part, start, end))
        except NotHere as why:
            return {"why": str(why)}  # asked again, a file may be there
        self._inputs[started.run] = held
        while len(self._inputs) > _INPUTS:
            self._inputs.popitem(last=False)
        return piece

    def _beside(self, request: Request) -> object:
        with self.runs.seen(request.path_params["one"], request.path_params["two"]) as (one, two):
            return beside_told(one, two)

    # News

    async def _live(self, request: Request) -> Response:
        run = request.query_params.get("run")
        try:
            self._admit(request)
            if run is not None:
                await asyncio.to_thread(self.runs.journal.path, run)
        except Refusal as refusal:
            return _refused(refusal)
        except JournalError as error:
            return _refused(Refusal(404, str(error)))
        news = self._news(run)
        return StreamingResponse(news, media_type="text/event-stream", headers=dict(HEADERS))

    async def _news(self, run: str | None) -> AsyncIterator[bytes]:
        """A line whenever there is something new; comments show whether the client is still there."""
        state, silent = await asyncio.to_thread(self._state, run), 0.0
        yield b"data: now\n\n"
        pause = LIST_SECONDS if run is None else LOOK_SECONDS
        while True:
            try:
                await asyncio.wait_for(self._stopped.wait(), pause)
                return
            except TimeoutError:
                silent += pause
            if (now := await asyncio.to_thread(self._state, run)) != state:
                state, silent = now, 0.0
                yield b"data: now\n\n"
            elif silent >= BEAT_SECONDS:
                silent = 0.0
                yield b":\n\n"

    def _state(self, run: str | None) -> object:
        """What changes when there is something new."""
        return self._stamps.all() if run is None else self._stamps.of(run)


def _node(request: Request, seen: Seen, texts: Texts) -> Json:
    name = request.path_params["node"]
    if name not in seen.nodes:
        raise Refusal(404, f"the run has no node {name[:60]!r}")
    return node_told(seen, texts, seen.nodes[name])


def _turn(request: Request, seen: Seen, texts: Texts) -> Json:
    name, number = request.path_params["node"], _numbered(request, "turn")
    if (name, number) not in seen.turns:
        raise Refusal(404, f"the run has no turn {number} of a node {name[:60]!r}")
    return turn_told(seen, texts, seen.nodes[name], seen.turns[name, number])


def _call(request: Request, seen: Seen, texts: Texts) -> Json:
    number = _numbered(request, "call")
    if number not in seen.calls:
        raise Refusal(404, f"the run has no sub-call {number}")
    return call_told(seen, texts, seen.calls[number])


def _numbered(request: Request, what: str) -> int:
    text = request.path_params[what]
    if not (text.isascii() and text.isdigit() and len(text) < 16):
        raise Refusal(404, f"{text[:20]!r} is the number of no {what}")
    return int(text)


def _int(query: Query, name: str) -> int:
    text = query.get(name, "0")
    if not (text.isascii() and text.isdigit() and len(text) < 16):
        raise Refusal(400, f"{name}={text[:20]!r}: give a whole number from 0")
    return int(text)


def _refused(refusal: Refusal) -> Response:
    body = as_body({"error": refusal.message})
    return Response(body, refusal.status, media_type="application/json", headers=dict(HEADERS))
