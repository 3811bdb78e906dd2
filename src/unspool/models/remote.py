"""A model behind an HTTP API, through lm15: OpenAI, every compatible server, and the other services.

Contract: implements :class:`unspool.models.protocol.Model`. One pool of connections for each event
loop it is used on. A cancelled call closes its connection. Thinking is kept out of the text, code
that came as a tool call is in ``code``, usage is counted once. A parameter that the server says it
does not take is left out from then on. Where the request has an ``on_delta`` the reply is streamed,
and counts only if the provider said that it is complete. Cost is ``None`` where the price is not
known, and 0.0 on a server of this machine. ``info`` has window and price once the list of prices is read.

>>> from unspool.models.providers import PROVIDERS
>>> model = RemoteModel(PROVIDERS["openai"], "gpt-5-mini", key="not a key")
>>> model.info.name
'openai:gpt-5-mini'
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from difflib import get_close_matches
from time import perf_counter
from typing import TYPE_CHECKING
from weakref import WeakKeyDictionary

from ..errors import ModelError
from . import prices
from .adapters import OPTIONAL, Received, open_adapter, open_wire, read_reply, take_apart, to_lm15, wants
from .bodies import Heard, Sound
from .failures import no_key, refused_parameter, translate
from .figures import with_wrong
from .limits import output_limit
from .protocol import FREE, ModelInfo, ModelReply, ModelRequest, OnDelta, Price, refuse_too_long, size_of
from .providers import Provider, check_address
from .streams import CutShort, NotAStream, gather

if TYPE_CHECKING:
    from lm15 import Request
    from lm15.providers.async_base import AsyncBaseProviderLM, AsyncTransport

    from .cloud import Door

_LIST_SECONDS = 5.0
_NO_KEY = "none"
_SURELY_FITS = 4_000  # tokens; for a larger prompt the window is looked up before it is sent

# Where the wires but chat completions put the reply itself: a body with none of these is not one.
_OTHER_REPLIES = ("content", "candidates", "output")


class RemoteModel:
    """One model of one provider.

    ``base_url`` sends the calls to another server that speaks the same wire, ``door`` to an account
    in a cloud. ``extra`` holds fields for the body of each request. ``price``: what its tokens cost;
    ``None`` looks it up for the provider's own address, and is free for a server of this machine.
    """

    def __init__(
        self,
        provider: Provider,
        model: str,
        *,
        key: str | None = None,
        base_url: str | None = None,
        door: Door | None = None,
        profile: str = "frontier",
        window: int | None = None,
        parallel: int | None = None,
        price: Price | None = None,
        extra: Mapping[str, object] | None = None,
        name: str | None = None,
    ) -> None:
        self._provider = provider
        self._model = model
        self._key = door.key if door else key
        self._door = door
        self._streams = True
        self._base_url = base_url or provider.base_url
        self._elsewhere = self._base_url != provider.base_url
        if self._elsewhere and self._base_url:  # such a mistake heals by no retry
            check_address(self._base_url, provider.base_url_variable or "base_url")
        price = FREE if price is None and provider.here else price
        self._extra = dict(extra or {})
        self._info = ModelInfo(
            name or f"{provider.name}:{model}",
            profile=profile,
            window=window,
            max_output=output_limit(model),
            parallel=parallel,
            price=price,
            endpoint=self._base_url if self._elsewhere and name is None else None,
        )
        self._listed = price is None and provider.prices is not None and not self._elsewhere
        self._looked_up = False
        self._refused: set[str] = set()
        self._adapters: WeakKeyDictionary[asyncio.AbstractEventLoop, AsyncBaseProviderLM] = (
            WeakKeyDictionary()
        )

    @property
    def info(self) -> ModelInfo:
        """Window and price are there once the list of prices is read, see :mod:`.prices`."""
        if self._listed and not self._looked_up and prices.loaded():
            service = self._provider.prices
            assert service is not None
            self._looked_up = True
            self._info = replace(
                self._info,
                window=self._info.window or prices.window(service, self._model),
                price=prices.price(service, self._model),
            )
        return self._info

    @property
    def base_url(self) -> str | None:
        """Where the calls go, or None for the provider's own address."""
        return self._base_url

    async def complete(self, request: ModelRequest, extra: Mapping[str, object] | None = None) -> ModelReply:
        """One call. ``extra`` is added to the body of this one."""
        if self._key is None and self._provider.keys and not (self._elsewhere or self._door):
            raise no_key(self._provider, self._info.name)
        if self._listed:
            prices.load()
            if not prices.loaded() and size_of(request) > _SURELY_FITS:
                await prices.ready()
                refuse_too_long(request, self.info)
        started = perf_counter()
        try:
            received = await self._ask(request, {**self._extra, **(extra or {})})
        except ModelError as error:
            if error.kind != "unknown_model":
                raise
            raise await self._with_known_names(error) from None
        reply = read_reply(received, self._provider, request.choices)
        if received.wrong:
            reply = with_wrong(reply, self._info.name, received.wrong)
        if self._listed:
            reply = await self._with_price(reply, received)
        elif self._info.price is not None:
            reply = replace(reply, cost=self._info.price.of(reply.usage))
        return replace(reply, seconds=perf_counter() - started)

    async def list_models(self) -> tuple[str, ...]:
        """The names the server gives its models."""
        with self._typed():
            found = await self._adapter().list_models()  # type: ignore[no-untyped-call]
        return tuple(str(model.id) for model in found)

    async def post(self, path: str, body: Mapping[str, object]) -> Mapping[str, object]:
        """Post to a path beside the API's own (its base URL without ``/v1``)."""
        from lm15.transports import TransportError, TransportRequest

        name = self._provider.name
        request = TransportRequest(
            "POST",
            (self._base_url or "").removesuffix("/v1") + path,
            [("Content-Type", "application/json"), ("Authorization", f"Bearer {self._key}")],
            json.dumps(body).encode(),
        )
        try:
            async with self._adapter().transport.stream(request) as response:
                raw: bytes = await response.read()
        except TransportError as error:
            raise ModelError(
                "connection", f"no connection to {name}: {error}", model=self._info.name
            ) from None
        if response.status >= 400:
            raise ModelError("server", f"{name}: HTTP {response.status} for {path}", model=self._info.name)
        with self._typed():
            found = json.loads(raw)
        if not isinstance(found, dict):
            raise self._unreadable(f"{path} gave no object")
        return found

    async def close(self) -> None:
        adapter = self._adapters.pop(asyncio.get_running_loop(), None)
        if adapter is not None:
            await adapter.aclose()

    async def _with_known_names(self, error: ModelError) -> ModelError:
        """The error, with the names that come close to the one asked for."""
        try:
            async with asyncio.timeout(_LIST_SECONDS):
                names = await self.list_models()
        except (ModelError, TimeoutError):
            return error
        close = get_close_matches(self._model, names, n=5, cutoff=0.3) or list(names[:5])
        if not close:
            return error
        message = f"{error.message} It has {', '.join(close)}"
        if (others := len(names) - len(close)) > 0:
            message += f" and {others} more"
        return ModelError("unknown_model", message, model=self._info.name)

    @property
    def _secret(self) -> str | None:
        return self._door.secret if self._door else self._key

    async def _ask(self, request: ModelRequest, extra: Mapping[str, object]) -> Received:
        """Send it; leave out what the server does not take, and send it again."""
        while True:
            sent = tuple(p for p in OPTIONAL if p not in self._refused and wants(request, p))
            asked = to_lm15(self._provider, self._model, request, sent, extra)
            streamed = request.on_delta is not None and self._streams
            try:
                if request.on_delta is not None and streamed:
                    return await self._stream(asked, request.on_delta)
                return await self._send(asked)
            except ModelError as error:
                refused = refused_parameter(error, (*sent, "stream") if streamed else sent)
                if refused == "stream":
                    self._streams = False
                elif refused is None:
                    raise
                else:
                    self._refused.add(refused)

    async def _send(self, request: Request) -> Received:
        with Heard(whole=True) as heard, self._typed(heard):
            response = await self._adapter().complete(request)
            data = response.provider_data
            if not isinstance(data, Mapping) or not (
                data.get("choices") or any(data.get(field) is not None for field in _OTHER_REPLIES)
            ):
                raise self._unreadable("it is no completion")
            return replace(take_apart(response), wrong=tuple(heard.wrong))

    async def _stream(self, request: Request, on_delta: OnDelta) -> Received:
        with Heard(whole=False) as heard, self._typed(heard):
            try:
                received = await gather(
                    self._open_adapter, self._adapter().transport, request, self._provider.dialect, on_delta
                )
                return replace(received, wrong=tuple(heard.wrong))
            except NotAStream:
                self._streams = False  # the next attempt asks for the reply in one piece
                raise self._unreadable("it is no stream") from None
            except CutShort:
                raise ModelError(
                    "connection",
                    f"{self._provider.name} broke off in the middle of the reply",
                    model=self._info.name,
                ) from None

    @contextmanager
    def _typed(self, heard: Heard | None = None) -> Iterator[None]:
        """What goes wrong inside as :class:`ModelError`."""
        import lm15

        try:
            yield
        except lm15.LM15Error as error:
            answered = heard.answered if heard is not None else None
            raise translate(error, self._provider, self._info.name, self._secret, answered) from None
        except RecursionError:
            raise self._unreadable("it is nested too deeply") from None
        except (TypeError, ValueError, LookupError, AttributeError, ArithmeticError) as error:
            # lm15 reads some odd bodies with plain Python, which then raises plain errors.
            raise self._unreadable(str(error)) from error

    def _unreadable(self, why: str) -> ModelError:
        return ModelError(
            "server",
            f"{self._provider.name} sent a reply that cannot be read: {why[:300]}",
            model=self._info.name,
            unsure=True,
        )

    async def _with_price(self, reply: ModelReply, received: Received) -> ModelReply:
        await prices.ready()
        service = self._provider.prices
        assert service is not None
        counts = replace(received.counts, input=reply.usage.input_tokens, output=reply.usage.output_tokens)
        cost = prices.cost(service, reply.model, counts)
        if cost is None and reply.model != self._model:
            cost = prices.cost(service, self._model, counts)
        return replace(reply, cost=cost)

    def _adapter(self) -> AsyncBaseProviderLM:
        loop = asyncio.get_running_loop()
        adapter = self._adapters.get(loop)
        if adapter is None:
            adapter = self._adapters[loop] = self._open_adapter(Sound(open_wire(self._base_url)))
        return adapter

    def _open_adapter(self, transport: AsyncTransport) -> AsyncBaseProviderLM:
        return open_adapter(self._provider, self._key or _NO_KEY, self._base_url, transport, self._door)
