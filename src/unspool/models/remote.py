"""A model behind an HTTP API, through lm15: OpenAI, every compatible server, and the other services.

Contract: implements :class:`unspool.models.protocol.Model`. One pool of connections for each event
loop it is used on. A cancelled call closes its connection. Thinking is kept out of the text, code
that came as a tool call is in ``code``, usage is counted once. A parameter that the server says it
does not take is left out from then on. Cost is ``None`` where the price is not known, and 0.0 on a
server of this machine.

>>> from unspool.models.providers import PROVIDERS
>>> model = RemoteModel(PROVIDERS["openai"], "gpt-5-mini", key="not a key")
>>> model.info.name
'openai:gpt-5-mini'
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from difflib import get_close_matches
from time import perf_counter
from typing import TYPE_CHECKING
from urllib.parse import urlsplit
from weakref import WeakKeyDictionary

from ..errors import ModelError
from . import prices
from .failures import no_key, refused_parameter, translate
from .protocol import ModelInfo, ModelReply, ModelRequest
from .providers import COMPATIBLE, Provider
from .replies import FINISH, Counts, code_of_call, normalised, split_thinking

if TYPE_CHECKING:
    from lm15 import Request, Response
    from lm15.providers.async_base import AsyncBaseProviderLM

_CONNECT_SECONDS = 10.0
_LIST_SECONDS = 5.0
_NO_KEY = "none"

# Where the wires but chat completions put the reply itself: a body with none of these is not one.
_OTHER_REPLIES = ("content", "candidates", "output")

# The order in which a server may refuse what it does not know.
_OPTIONAL = ("temperature", "seed", "stop", "response_format")


class RemoteModel:
    """One model of one provider.

    ``base_url`` sends the calls to another server that speaks the same wire. ``extra`` holds
    fields for the body of each request. ``cost``: what a call is said to have cost; ``None`` looks
    it up.
    """

    def __init__(
        self,
        provider: Provider,
        model: str,
        *,
        key: str | None = None,
        base_url: str | None = None,
        profile: str = "frontier",
        window: int | None = None,
        parallel: int | None = None,
        cost: float | None = None,
        extra: Mapping[str, object] | None = None,
        name: str | None = None,
    ) -> None:
        self._provider = provider
        self._model = model
        self._key = key
        self._base_url = base_url or provider.base_url
        self._elsewhere = self._base_url != provider.base_url
        self._cost = 0.0 if cost is None and provider.here else cost
        self._extra = dict(extra or {})
        self._info = ModelInfo(
            name or f"{provider.name}:{model}", profile=profile, window=window, parallel=parallel
        )
        self._refused: set[str] = set()
        self._adapters: WeakKeyDictionary[asyncio.AbstractEventLoop, AsyncBaseProviderLM] = (
            WeakKeyDictionary()
        )

    @property
    def info(self) -> ModelInfo:
        return self._info

    @property
    def base_url(self) -> str | None:
        """Where the calls go, or None for the provider's own address."""
        return self._base_url

    async def complete(self, request: ModelRequest, extra: Mapping[str, object] | None = None) -> ModelReply:
        """One call. ``extra`` is added to the body of this one."""
        if self._key is None and self._provider.keys and not self._elsewhere:
            raise no_key(self._provider, self._info.name)
        if self._priced:
            prices.load()
        started = perf_counter()
        try:
            response = await self._ask(request, {**self._extra, **(extra or {})})
        except ModelError as error:
            if error.kind != "unknown_model":
                raise
            raise await self._with_known_names(error) from None
        reply = self._reply(response)
        if self._priced:
            reply = await self._with_price(reply, response)
        return replace(reply, seconds=perf_counter() - started)

    async def list_models(self) -> tuple[str, ...]:
        """The names the server gives its models."""
        import lm15

        try:
            found = await self._adapter().list_models()  # type: ignore[no-untyped-call]
        except lm15.LM15Error as error:
            raise translate(error, self._provider, self._info.name, self._key) from None
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
    def _priced(self) -> bool:
        return self._cost is None and self._provider.prices is not None and not self._elsewhere

    async def _ask(self, request: ModelRequest, extra: Mapping[str, object]) -> Response:
        """Send it; leave out what the server does not take, and send it again."""
        while True:
            sent = tuple(p for p in _OPTIONAL if p not in self._refused and _wants(request, p))
            try:
                return await self._send(_to_lm15(self._model, request, sent, extra))
            except ModelError as error:
                refused = refused_parameter(error, sent)
                if refused is None:
                    raise
                self._refused.add(refused)

    async def _send(self, request: Request) -> Response:
        import lm15

        try:
            response = await self._adapter().complete(request)
        except lm15.LM15Error as error:
            raise translate(error, self._provider, self._info.name, self._key) from None
        except (TypeError, ValueError, KeyError, AttributeError, IndexError) as error:
            # lm15 reads some odd bodies with plain Python, which then raises plain errors.
            raise self._unreadable(str(error)) from error
        data = response.provider_data
        if not isinstance(data, Mapping) or not (
            data.get("choices") or any(data.get(field) is not None for field in _OTHER_REPLIES)
        ):
            raise self._unreadable("it is no completion")
        return response

    def _unreadable(self, why: str) -> ModelError:
        return ModelError(
            "server",
            f"{self._provider.name} sent a reply that cannot be read: {why[:300]}",
            model=self._info.name,
        )

    def _reply(self, response: Response) -> ModelReply:
        texts: list[str] = []
        thoughts: list[str] = []
        code: list[str] = []
        finish = FINISH.get(response.finish_reason, "other")
        for part in response.message.parts:
            if part.type == "text":
                texts.append(part.text)
            elif part.type == "thinking":
                thoughts.append(part.text)
            elif part.type == "refusal":
                finish = "filter"
            elif part.type == "tool_call":
                arguments = part.input
                raw = arguments.get("partial_json") or arguments.get("value")
                found = code_of_call(raw if isinstance(raw, str) else arguments)
                if found is not None:
                    code.append(found)
        thinking, text = split_thinking("".join(texts))
        if finish == "tool" and response.finish_reason == "tool_call" and not code and text:
            finish = "stop"
        return ModelReply(
            text,
            finish,
            normalised(
                _counts(response),
                cached_apart=self._provider.lm15 == "anthropic",
                reasoning_apart=self._provider.lm15 == "gemini",
            ),
            response.model or self._model,
            thinking="\n".join(filter(None, [*thoughts, thinking])),
            code=tuple(code),
            cost=self._cost,
        )

    async def _with_price(self, reply: ModelReply, response: Response) -> ModelReply:
        await prices.ready()
        service = self._provider.prices
        assert service is not None
        if self._info.window is None:
            self._info = replace(self._info, window=prices.window(service, self._model))
        counts = replace(_counts(response), input=reply.usage.input_tokens, output=reply.usage.output_tokens)
        cost = prices.cost(service, reply.model, counts)
        if cost is None and reply.model != self._model:
            cost = prices.cost(service, self._model, counts)
        return replace(reply, cost=cost)

    def _adapter(self) -> AsyncBaseProviderLM:
        loop = asyncio.get_running_loop()
        adapter = self._adapters.get(loop)
        if adapter is None:
            adapter = self._adapters[loop] = _open(self._provider, self._key or _NO_KEY, self._base_url)
        return adapter


def _open(provider: Provider, key: str, base_url: str | None) -> AsyncBaseProviderLM:
    from .wire import Wire

    # A proxy is for the net, not for this machine.
    transport = Wire(connect_seconds=_CONNECT_SECONDS, use_proxy=not _on_loopback(base_url))
    if provider.lm15 == COMPATIBLE or (base_url != provider.base_url and provider.lm15 == "openai-chat"):
        return _open_compatible(key, base_url, transport)
    from lm15.registry import PROVIDERS

    entry = PROVIDERS[provider.lm15]
    given: dict[str, object] = {"api_key": key, "transport": transport, "access": entry.access}
    if base_url:
        given["base_url"] = base_url
    if entry.compat:
        given["compat"] = entry.compat
    adapter: AsyncBaseProviderLM = entry.async_adapter(**given)
    return adapter


def _open_compatible(key: str, base_url: str | None, transport: object) -> AsyncBaseProviderLM:
    from lm15 import AsyncOpenAIChatLM
    from lm15.compat import OpenAIChatCompat

    # The fields that older servers know: the newer spellings are OpenAI's own.
    compat = OpenAIChatCompat(
        instruction_role="system", max_tokens_field="max_tokens", cache_control="none", thinking_format="none"
    )
    assert base_url is not None
    return AsyncOpenAIChatLM(api_key=key, base_url=base_url, compat=compat, transport=transport)  # type: ignore[arg-type]


def _on_loopback(base_url: str | None) -> bool:
    host = urlsplit(base_url or "").hostname or ""
    return host in ("localhost", "::1") or host.startswith("127.")


def _wants(request: ModelRequest, parameter: str) -> bool:
    match parameter:
        case "temperature":
            return request.temperature is not None
        case "seed":
            return request.seed is not None
        case "stop":
            return bool(request.stop)
        case _:
            return request.schema is not None


def _to_lm15(model: str, request: ModelRequest, sent: Sequence[str], extra: Mapping[str, object]) -> Request:
    from lm15 import Config, Message, Request, TextPart

    messages = list(request.messages)
    system = None
    if len(messages) > 1 and messages[0].role == "system":
        system = _sendable(messages.pop(0).text) or None
    config = Config(
        max_tokens=request.max_tokens,
        temperature=request.temperature if "temperature" in sent else None,
        seed=request.seed if "seed" in sent else None,
        stop=request.stop if "stop" in sent else (),
        response_format=_response_format(request) if "response_format" in sent else None,
        extensions=dict(extra) or None,  # type: ignore[arg-type]  # any JSON; theirs is a closed union
    )
    return Request(
        model=model,
        system=system,
        messages=tuple(
            Message(
                role="developer" if m.role == "system" else m.role, parts=(TextPart(text=_sendable(m.text)),)
            )
            for m in messages
        ),
        config=config,
    )


def _sendable(text: str) -> str:
    """The text with halves of surrogate pairs replaced: no provider takes them, and lm15 says so."""
    if text.isascii():
        return text
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def _response_format(request: ModelRequest) -> dict[str, object]:
    return {"type": "json_schema", "name": "reply", "schema": dict(request.schema or {}), "strict": False}


def _counts(response: Response) -> Counts:
    usage = response.usage
    return Counts(
        input=usage.input_tokens,
        output=usage.output_tokens,
        cached=usage.cache_read_tokens,
        written=usage.cache_write_tokens,
        reasoning=usage.reasoning_tokens,
        total=usage.total_tokens,
    )
