"""A loopback server that speaks the OpenAI chat API and misbehaves on order.

Contract: it runs in a thread of its own, so that the tested code may use any event loop, or none.
It serves ``/v1/chat/completions`` and ``/v1/models``. ``asks`` holds what came, in order;
``peak`` is the most requests that were open at once; ``cancelled`` counts clients that went away
before they had their reply. ``served`` is the server's own account: the usage it reported in whole
replies, by the model that was asked for; ``cut`` is the same for replies that it cut off. A script
that is a list goes on with its last entry when it runs out.

>>> from urllib.request import urlopen
>>> with FaultyServer(["hello"], models=("tiny",)) as server:
...     b"tiny" in urlopen(f"{server.base_url}/models").read()
True

``python -m unspool.testing --delay 0.05`` serves in a process of its own and prints the URL.
"""

from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import Callable, Mapping, Sequence
from http import HTTPStatus
from types import TracebackType
from typing import Self, cast

from ..types import Usage
from .behaviour import Ask, Behaviour, render, usage_of

Script = Sequence[Behaviour | str] | Callable[[Ask], Behaviour | str]

_END_OF_HEAD = b"\r\n\r\n"


class FaultyServer:
    """The server. ``with`` or ``async with`` starts and stops it; ``base_url`` ends in ``/v1``.

    ``key``: where given, a request without it is answered 401. ``models``: where given, they are
    listed and a request for another is answered 404.
    """

    def __init__(
        self,
        script: Script = ("ok",),
        *,
        port: int = 0,
        key: str | None = None,
        models: tuple[str, ...] = (),
    ) -> None:
        if not callable(script) and not script:
            raise ValueError("a script needs at least one entry")
        self._script = script
        self._port = port
        self._key = key
        self._models = models
        self._open = 0
        self._connections: set[_Connection] = set()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread: threading.Thread | None = None
        self.asks: list[Ask] = []
        self.peak = 0
        self.cancelled = 0
        self.connections = 0
        self.served: dict[str, Usage] = {}
        self.cut: dict[str, Usage] = {}

    @property
    def port(self) -> int:
        return self._port

    @property
    def base_url(self) -> str:
        return f"http://127.0.0.1:{self._port}/v1"

    def start(self) -> Self:
        """Start serving; returns when the port is open."""
        ready = threading.Event()
        failed: list[BaseException] = []
        self._thread = threading.Thread(target=self._run, args=(ready, failed), daemon=True)
        self._thread.start()
        ready.wait()
        if failed:
            self._thread.join()
            raise failed[0]
        return self

    def stop(self) -> None:
        """Close every connection and the port, and end the thread. Twice is fine."""
        loop, thread = self._loop, self._thread
        self._loop = self._thread = None
        if loop is not None and thread is not None:
            loop.call_soon_threadsafe(loop.stop)
            thread.join()

    def drop_idle(self) -> None:
        """Close the connections that wait for a request, as servers do after a while."""
        assert self._loop is not None
        done = threading.Event()

        def close() -> None:
            for connection in list(self._connections):
                connection.close_idle()
            done.set()

        self._loop.call_soon_threadsafe(close)
        done.wait()

    async def until(self, condition: Callable[[], bool], *, seconds: float = 5.0) -> None:
        """Wait for what the server sees a moment later than the client, e.g. ``cancelled == 1``."""
        async with asyncio.timeout(seconds):
            while not condition():  # noqa: ASYNC110 (the other thread has no loop of ours to set an event on)
                await asyncio.sleep(0.002)

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    async def __aenter__(self) -> Self:
        return self.start()

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await asyncio.to_thread(self.stop)

    def _run(self, ready: threading.Event, failed: list[BaseException]) -> None:
        loop = asyncio.new_event_loop()
        try:
            server = loop.run_until_complete(
                loop.create_server(lambda: _Connection(self, loop), "127.0.0.1", self._port, backlog=1024)
            )
        except OSError as error:
            loop.close()
            failed.append(error)
            ready.set()
            return
        self._port = server.sockets[0].getsockname()[1]
        self._loop = loop
        ready.set()
        try:
            loop.run_forever()
        finally:
            server.close()
            for connection in list(self._connections):
                connection.abort()
            loop.run_until_complete(server.wait_closed())
            loop.run_until_complete(asyncio.sleep(0))
            loop.close()

    def behave(self, ask: Ask) -> Behaviour:
        """What to do with this request; counts it."""
        place = len(self.asks)
        self.asks.append(ask)
        if self._key is not None and ask.headers.get("authorization") != f"Bearer {self._key}":
            return Behaviour(status=401, message="Incorrect API key provided", error_code="invalid_api_key")
        model = ask.body.get("model")
        if self._models and model not in self._models:
            return Behaviour(
                status=404, message=f"The model `{model}` does not exist", error_code="model_not_found"
            )
        script = self._script
        given = script(ask) if callable(script) else script[min(place, len(script) - 1)]
        return Behaviour(given) if isinstance(given, str) else given

    def list_models(self) -> bytes:
        names = self._models or ("served",)
        return json.dumps({"object": "list", "data": [{"id": n, "object": "model"} for n in names]}).encode()

    def opened(self, connection: _Connection) -> None:
        self.connections += 1
        self._connections.add(connection)

    def closed(self, connection: _Connection, *, waiting: bool) -> None:
        self._connections.discard(connection)
        if waiting:
            self._open -= 1
            self.cancelled += 1

    def began(self) -> None:
        self._open += 1
        self.peak = max(self.peak, self._open)

    def ended(self) -> None:
        self._open -= 1

    def count(self, behaviour: Behaviour, ask: Ask) -> None:
        """Enters a reply into the server's account."""
        if behaviour.status >= 400 or behaviour.fault == "reset" or behaviour.body is not None:
            return
        reported = usage_of(behaviour, ask)
        usage = Usage(1, calls_unmeasured=1)
        if reported is not None:
            usage = Usage(1, _number(reported, "prompt_tokens"), _number(reported, "completion_tokens"))
        account = self.served if behaviour.fault is None else self.cut
        model = str(ask.body.get("model", ""))
        account[model] = account.get(model, Usage()) + usage


class _Connection(asyncio.Protocol):
    """One client connection: requests one after the other, kept alive between them."""

    def __init__(self, server: FaultyServer, loop: asyncio.AbstractEventLoop) -> None:
        self._server = server
        self._loop = loop
        self._buffer = bytearray()
        self._waiting = False
        self._timer: asyncio.TimerHandle | None = None
        self._transport: asyncio.Transport | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)
        self._server.opened(self)

    def connection_lost(self, error: Exception | None) -> None:
        if self._timer is not None:
            self._timer.cancel()
        self._server.closed(self, waiting=self._waiting)
        self._waiting = False

    def abort(self) -> None:
        self._waiting = False
        if self._transport is not None:
            self._transport.abort()

    def close_idle(self) -> None:
        if not self._waiting and self._transport is not None:
            self._transport.close()

    def data_received(self, data: bytes) -> None:
        self._buffer += data
        head_end = self._buffer.find(_END_OF_HEAD)
        if self._waiting or head_end < 0:
            return
        first, *lines = self._buffer[:head_end].decode("latin-1").split("\r\n")
        headers = {n.strip().lower(): v.strip() for n, _, v in (line.partition(":") for line in lines)}
        end = head_end + len(_END_OF_HEAD) + int(headers.get("content-length", "0"))
        if len(self._buffer) < end:
            return
        body = bytes(self._buffer[head_end + len(_END_OF_HEAD) : end])
        del self._buffer[:end]
        method, path, _ = first.split(" ", 2)
        if method == "GET":
            self._write(200, {}, self._server.list_models())
            return
        decoded = json.loads(body) if body else {}
        self._answer(Ask(path, headers, decoded if isinstance(decoded, dict) else {}))

    def _answer(self, ask: Ask) -> None:
        self._waiting = True
        self._server.began()
        behaviour = self._server.behave(ask)
        if behaviour.fault == "hang":
            return
        if behaviour.delay:
            self._timer = self._loop.call_later(behaviour.delay, self._finish, behaviour, ask)
        else:
            self._finish(behaviour, ask)

    def _finish(self, behaviour: Behaviour, ask: Ask) -> None:
        self._waiting = False
        self._server.ended()
        self._server.count(behaviour, ask)
        assert self._transport is not None
        if behaviour.fault == "reset":
            self._transport.abort()
            return
        events = behaviour.body is None or behaviour.body.startswith(b"data:")
        stream = ask.body.get("stream") is True and behaviour.status < 400 and events
        kind = "text/event-stream" if stream else "application/json"
        self._write(
            behaviour.status,
            {"Content-Type": kind, **behaviour.headers()},
            render(behaviour, ask),
            cut=behaviour.fault == "cut",
        )

    def _write(self, status: int, headers: dict[str, str], body: bytes, *, cut: bool = False) -> None:
        assert self._transport is not None
        lines = [f"HTTP/1.1 {status} {_phrase(status)}", f"Content-Length: {len(body)}"]
        lines += [f"{name}: {value}" for name, value in headers.items()]
        head = ("\r\n".join(lines) + "\r\n\r\n").encode("latin-1")
        self._transport.write(head + (body[: len(body) // 2] if cut else body))
        if cut:
            self._transport.close()


def _number(reported: Mapping[str, object], name: str) -> int | None:
    value = reported.get(name)
    return value if type(value) is int and value >= 0 else None


def _phrase(status: int) -> str:
    try:
        return HTTPStatus(status).phrase
    except ValueError:
        return "Unknown"
