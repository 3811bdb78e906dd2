"""The process around the application: its socket, its connections, its signals, its end.

Contract: :func:`listen` raises :class:`unspool.errors.ConfigError` where the address cannot be had. A
connection that sends no whole head, or whose peer has vanished, is closed. Ctrl-C and TERM cancel every
run, give each client its end, and return; a second one does not wait for clients.
"""

from __future__ import annotations

import asyncio
import errno
import logging
import signal
import socket
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from typing import TYPE_CHECKING, Protocol, cast

import uvicorn
from uvicorn.protocols.http.h11_impl import H11Protocol

from ..errors import ConfigError
from .settings import ServerSettings

if TYPE_CHECKING:
    from starlette.types import ASGIApp

IDLE_SECONDS = 15  # that a connection is kept open for a further request
END_SECONDS = 10  # for clients to take their end when the server stops
_ALIVE = (("TCP_KEEPIDLE", 30), ("TCP_KEEPINTVL", 10), ("TCP_KEEPCNT", 3), ("TCP_USER_TIMEOUT", 60_000))


class Served(Protocol):
    """What is served: an application, and what ends the work that it has begun."""

    @property
    def settings(self) -> ServerSettings: ...

    def app(self) -> ASGIApp: ...

    def stop(self) -> None: ...


class Connection(H11Protocol):
    """uvicorn's, with limits on who connects and says nothing."""

    head_seconds = 15.0

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        self.app_state = {**self.app_state, "abort": transport.abort}
        self._head_timer: asyncio.TimerHandle | None = None
        super().connection_made(transport)
        peer = cast("socket.socket | None", transport.get_extra_info("socket"))
        if peer is not None:
            peer.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
            for name, value in _ALIVE:
                if hasattr(socket, name):
                    peer.setsockopt(socket.IPPROTO_TCP, getattr(socket, name), value)
        self._watch()

    def connection_lost(self, exc: Exception | None) -> None:
        self._unwatch()
        super().connection_lost(exc)

    def handle_events(self) -> None:
        super().handle_events()
        if self.cycle is not None and not self.cycle.response_complete:
            self._unwatch()
        elif self._head_timer is None:
            self._watch()

    def _watch(self) -> None:
        self._head_timer = self.loop.call_later(self.head_seconds, self.transport.abort)

    def _unwatch(self) -> None:
        if self._head_timer is not None:
            self._head_timer.cancel()
            self._head_timer = None


class Server(uvicorn.Server):
    """uvicorn's, which stops our work first. ``stop()`` ends :meth:`serve`; signals are not its business."""

    def __init__(self, service: Served) -> None:
        logging.getLogger("uvicorn.error").setLevel(logging.CRITICAL)  # the service tells what there is
        super().__init__(
            uvicorn.Config(
                service.app(),
                http=type("Connection", (Connection,), {"head_seconds": service.settings.head_seconds}),
                ws="none",
                lifespan="off",
                loop="asyncio",
                log_config=None,
                access_log=False,
                server_header=False,
                proxy_headers=False,
                timeout_keep_alive=IDLE_SECONDS,
                timeout_graceful_shutdown=END_SECONDS,
            )
        )
        self._service = service

    def capture_signals(self) -> AbstractContextManager[None]:  # type: ignore[override]
        return nullcontext()

    def stop(self) -> None:
        """Ends it; the second time, without waiting for clients."""
        self.force_exit = self.should_exit
        self.should_exit = True

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        self._service.stop()
        await super().shutdown(sockets)


def listen(settings: ServerSettings) -> socket.socket:
    """The socket, bound: who asks from now on waits."""
    family = socket.AF_INET6 if ":" in settings.host else socket.AF_INET
    try:
        return socket.create_server((settings.host, settings.port), family=family, backlog=1024)
    except OSError as error:
        why = (error.strerror or str(error)).partition(" (while")[0]
        do = "try another port" if error.errno == errno.EADDRINUSE else "check the host"
        raise ConfigError(f"{settings.host} port {settings.port} cannot be had: {why}: {do}") from None
    except OverflowError:
        raise ConfigError(f"port {settings.port}: there are 0 to 65535") from None


async def serve(service: Served, bound: socket.socket, ready: Callable[[], None]) -> None:
    """Serves until Ctrl-C or a TERM. ``ready`` is called when who connects is answered."""
    _more_descriptors()
    server, loop = Server(service), asyncio.get_running_loop()
    for each in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(each, server.stop)
    ready()
    try:
        await server.serve(sockets=[bound])
    finally:
        for each in (signal.SIGINT, signal.SIGTERM):
            loop.remove_signal_handler(each)
            signal.signal(each, signal.SIG_IGN)  # what is left to do is short, and is not cut in two


def _more_descriptors() -> None:
    """Each client and each of a run's processes takes some: as many as may be had without rights."""
    try:
        import resource
    except ImportError:  # not on this system
        return
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = min(hard, 65_536) if hard != resource.RLIM_INFINITY else 65_536
    if soft < wanted:
        resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))
