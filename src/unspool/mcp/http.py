"""A server for any number of clients, over streamable HTTP.

Contract: ``/mcp`` is the protocol, in both of its ages; ``/health`` says that the server is up. Every
request of the protocol needs the token, on this machine, too: the tools read files of who started the
server, and others may have accounts here. Handles are the server's, not a connection's: a client that comes
back goes on with them.
"""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Callable
from typing import TYPE_CHECKING

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route
from starlette.types import Receive, Scope, Send

from ..errors import ConfigError
from ..server.admission import TOKEN_VARIABLE, check_token, given_token
from ..server.problems import Problem
from ..server.process import serve as serve_until_stopped
from ..server.replies import reply_of
from ..server.settings import ServerSettings
from .desk import Desk

if TYPE_CHECKING:
    from mcp.server.lowlevel.server import Server
    from mcp.server.streamable_http_manager import StreamableHTTPSessionManager

PORT = 8643  # beside that of serve
PATH = "/mcp"
SWEEP_SECONDS = 60.0
BODY_BYTES = 16 << 20  # the longest text, escaped, and room around it


def settings_of(host: str, port: int, token: str | None) -> ServerSettings:
    """Raises :class:`ConfigError` where there is no token."""
    if (token := given_token(token)) is None:
        raise ConfigError(
            f"--http needs a token, as its tools read your files: set {TOKEN_VARIABLE}, for example to what "
            "openssl rand -hex 24 prints"
        )
    return ServerSettings(host=host, port=port, token=token)


class Service:
    """What is served: see :class:`unspool.server.process.Served`."""

    def __init__(self, manager: StreamableHTTPSessionManager, desk: Desk, settings: ServerSettings) -> None:
        assert settings.token is not None  # see settings_of
        self.settings = settings
        self._token = settings.token
        self._manager = manager
        self._desk = desk
        self._listening: set[asyncio.Task[object]] = set()
        self._ending: asyncio.Task[None] | None = None

    def app(self) -> Starlette:
        app = Starlette(
            routes=[Route(PATH, _Endpoint(self)), Route("/health", self._health, methods=["GET"])]
        )
        app.router.redirect_slashes = False
        return app

    def stop(self) -> None:
        """Ends all work, and the streams on which clients wait for nothing in particular."""
        self._ending = asyncio.get_running_loop().create_task(self._desk.end())
        for task in self._listening:
            task.cancel()

    async def ended(self) -> None:
        """Once :meth:`stop` has done its work."""
        if self._ending is not None:
            await self._ending

    def _health(self, request: Request) -> Response:
        return JSONResponse({"status": "ok" if self._ending is None else "stopping"})

    async def handle(self, scope: Scope, receive: Receive, send: Send) -> None:
        """One request of the protocol."""
        try:
            check_token(Request(scope).headers, self._token)
        except Problem as problem:
            await reply_of(problem)(scope, receive, send)
            return
        here = asyncio.current_task()
        assert here is not None
        if scope["method"] == "GET":
            self._listening.add(here)
        try:
            await self._manager.handle_request(scope, receive, send)
        except asyncio.CancelledError:
            if self._ending is None:
                raise
        finally:
            self._listening.discard(here)


class _Endpoint:
    """An ASGI application of one route: an object, as starlette takes a method for a page."""

    def __init__(self, service: Service) -> None:
        self._service = service

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        await self._service.handle(scope, receive, send)


async def serve(
    server: Server[dict[str, object]],
    desk: Desk,
    settings: ServerSettings,
    bound: socket.socket,
    ready: Callable[[], None],
) -> None:
    """Serves until Ctrl-C or a TERM."""
    from mcp.server.streamable_http_manager import StreamableHTTPSessionManager

    manager = StreamableHTTPSessionManager(server, max_request_body_size=BODY_BYTES)
    service = Service(manager, desk, settings)
    async with manager.run():
        sweeping = asyncio.create_task(_close_idle(desk))
        try:
            await serve_until_stopped(service, bound, ready)
            await service.ended()
        finally:
            sweeping.cancel()


async def _close_idle(desk: Desk) -> None:
    """Clients may go and never come back: what they left open is closed when it is due."""
    while True:
        await asyncio.sleep(SWEEP_SECONDS)
        await desk.handles.close_idle()
