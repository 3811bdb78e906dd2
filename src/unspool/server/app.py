"""The application: routes, who may use them, and the way of one request from its head to its end.

Contract: a request is refused as early as it can be: by its host, its token, its place among the runs,
its size, its body, in this order. Every refusal is a :class:`Problem`. A bug is a 500 with the same
shape, and its traceback goes to the log, not to the client.
"""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable, Mapping
from typing import TYPE_CHECKING

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from .admission import check_token, names_this_machine
from .asked import Asked
from .bodies import MODEL
from .chat import Chat
from .metrics import TYPE, Metrics
from .openapi import document
from .problems import Problem
from .replies import json_reply, reply_of
from .responses import Responses
from .running import Runs
from .settings import ServerSettings

if TYPE_CHECKING:
    from ..rlm import RLM

Log = Callable[[str], None]


class Service:
    """What a server has while it is up. ``names`` are those of the model: ``unspool``, and its own."""

    def __init__(self, engine: RLM, settings: ServerSettings, *, name: str, log: Log) -> None:
        self.settings = settings
        self.metrics = Metrics()
        self.runs = Runs(engine, limit=settings.runs, seconds=settings.seconds, metrics=self.metrics)
        self.names = tuple(dict.fromkeys((MODEL, name)))
        self.log = log
        self.began = int(time.time())

    def app(self) -> Starlette:
        app = Starlette(
            routes=[
                Route(
                    "/v1/chat/completions", Asked(self, "/v1/chat/completions", Chat.read), methods=["POST"]
                ),
                Route("/v1/responses", Asked(self, "/v1/responses", Responses.read), methods=["POST"]),
                Route("/v1/models", self._plain("/v1/models", self._models)),
                Route("/v1/models/{name:path}", self._plain("/v1/models/{name}", self._model)),
                Route("/metrics", self._plain("/metrics", self._metrics)),
                Route("/health", self._plain("/health", self._health, free=True)),
                Route("/openapi.json", self._plain("/openapi.json", self._document, free=True)),
            ],
            exception_handlers={HTTPException: self._no_route},
        )
        app.router.redirect_slashes = False
        return app

    def admit(self, headers: Mapping[str, str], *, free: bool = False) -> None:
        """Raises :class:`Problem` for who may not use this. ``free``: needs no token."""
        token = self.settings.token
        if token is None:
            # A web page that a browser here has open may send to any address: it cannot set this header.
            if not names_this_machine(host := headers.get("host", "")):
                raise Problem(
                    403, f"Host {host[:60]!r}: without a token only this machine is served", code="host"
                )
        elif not free:
            check_token(headers, token)

    def stop(self) -> None:
        """Cancels every run; each tells its end to who waits for it."""
        self.runs.stop()

    def check_model(self, name: str) -> None:
        if name not in self.names:
            known = ", ".join(self.names)
            raise Problem(
                404,
                f"model: there is no {name[:80]!r} here; known: {known}",
                code="model_not_found",
                param="model",
            )

    # Pages

    def _plain(
        self, route: str, page: Callable[[Request], Response], *, free: bool = False
    ) -> Callable[[Request], Awaitable[Response]]:
        async def answer(request: Request) -> Response:
            try:
                self.admit(request.headers, free=free)
                response = page(request)
            except Problem as problem:
                response = reply_of(problem)
            self.metrics.requests.add(route, str(response.status_code))
            return response

        return answer

    def _models(self, request: Request) -> Response:
        return json_reply({"object": "list", "data": [self._described(name) for name in self.names]})

    def _model(self, request: Request) -> Response:
        name = request.path_params["name"]
        self.check_model(name)
        return json_reply(self._described(name))

    def _described(self, name: str) -> dict[str, object]:
        return {"id": name, "object": "model", "created": self.began, "owned_by": "unspool"}

    def _metrics(self, request: Request) -> Response:
        return Response(self.metrics.text(running=self.runs.taken), media_type=TYPE)

    def _health(self, request: Request) -> Response:
        if self.runs.stopping:
            return json_reply({"status": "stopping"}, 503)
        return json_reply({"status": "ok", "running": self.runs.taken, "limit": self.settings.runs})

    def _document(self, request: Request) -> Response:
        return json_reply(document(with_token=self.settings.token is not None, names=self.names))

    async def _no_route(self, request: Request, error: Exception) -> Response:
        assert isinstance(error, HTTPException)
        self.metrics.requests.add("other", str(error.status_code))
        where = f"{request.method} {request.url.path[:80]}"
        message = f"there is no {where} here; see /openapi.json"
        return reply_of(
            Problem(error.status_code, message, code="no_route", headers=dict(error.headers or {}))
        )
