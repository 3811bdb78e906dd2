"""A model of pydantic-ai's as a model of ours: any provider that it speaks to, and its doubles for tests.

Contract: implements :class:`unspool.models.protocol.Model` on the public classes of pydantic-ai (extra
``pydantic-ai``), which is imported on first use alone. Each call is one request: pydantic-ai's own retries
are off, since ours count. What it raises becomes a :class:`ModelError` of the kind it says; what it does not
know as its own (a mistake in a model of yours) comes out as it is. A cancelled call cancels the request.
Cost is ``None`` where the price list does not know the service at that address, or the usage is not told.

A model object belongs to the event loop that it was used on first, as its connections do: give the engine
one of its own.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterable, AsyncIterator
from dataclasses import replace
from time import perf_counter
from typing import TYPE_CHECKING
from weakref import WeakSet

from ..errors import ConfigError, ModelError, UnknownModel
from ..reach.extras import how_to_add
from ..safe_text import one_line
from . import prices
from .figures import count_of, counted
from .foreign import PREFIX
from .limits import output_limit
from .protocol import Delta, ModelInfo, ModelReply, ModelRequest, OnDelta
from .pydantic_ai_sent import failure, messages_of, parameters_of, read_reply, settings_of
from .replies import Counts

if TYPE_CHECKING:
    from pydantic_ai.messages import ModelResponse
    from pydantic_ai.models import Model as Theirs
    from pydantic_ai.profiles import ModelProfile

INSTALL = f"models of pydantic-ai need its package: {how_to_add('pydantic-ai')}"


def named(name: str) -> PydanticAIModel:
    """The model that pydantic-ai has under this name, as in ``pydantic-ai:openai:gpt-5``.

    Raises :class:`ConfigError` where the package, the provider's own package or its key is missing, and
    :class:`UnknownModel` where pydantic-ai knows no such provider.
    """
    try:
        from pydantic_ai.exceptions import UserError
        from pydantic_ai.models import infer_model
    except ImportError:
        raise ConfigError(INSTALL) from None
    if not name.strip():
        raise ConfigError(f"{PREFIX}: needs the name of a model, e.g. {PREFIX}:openai:gpt-5")
    try:
        return PydanticAIModel(infer_model(name.strip()))
    except (UserError, ValueError) as error:
        kind = UnknownModel if "nknown" in str(error) else ConfigError
        raise kind(f"{PREFIX}:{name}: {error}") from None
    except Exception as error:  # the SDK of its provider, which may want a key, or is not there
        raise ConfigError(f"{PREFIX}:{name}: {one_line(str(error))}") from None


def called(name: str) -> str:
    """Its name for a model as lines and journals have it: that of a function says its maker twice, and ends
    in the function for streams, of which there may be none.

    >>> called("function:function:reply:"), called("openai:gpt-5"), called("test:test")
    ('function:reply', 'openai:gpt-5', 'test:test')
    """
    first, _, rest = name.partition(":")
    return f"{first}:{rest.removeprefix(f'{first}:').strip(':') or first}"


class PydanticAIModel:
    """See the module docstring."""

    def __init__(self, model: Theirs) -> None:
        from .named import family_profile

        self._model = model
        self._info = ModelInfo(
            f"{PREFIX}:{called(model.model_id)}",
            profile=family_profile(model.model_name),
            window=model.context_window,
            max_output=output_limit(model.model_name),
            endpoint=model.base_url,
        )
        self._priced = False
        self._streams = getattr(model, "stream_function", model) is not None  # a FunctionModel may have none
        self._entered: WeakSet[asyncio.AbstractEventLoop] = WeakSet()

    @property
    def info(self) -> ModelInfo:
        """The price is there once the list of prices is read, see :mod:`.prices`."""
        if not self._priced and prices.loaded():
            self._priced = True
            service = self._service
            if service is not None:
                price = prices.price(service, self._model.model_name)
                self._info = replace(self._info, price=price)
        return self._info

    async def complete(self, request: ModelRequest) -> ModelReply:
        started = perf_counter()
        prices.load()
        try:
            await self._enter()
            response = await self._ask(request)
        except Exception as error:
            if (failed := failure(error, self._info.name)) is None:
                raise
            raise failed from error
        reply = read_reply(response)
        return replace(reply, cost=await self._cost(reply, response), seconds=perf_counter() - started)

    async def close(self) -> None:
        """Closes the connections of this loop, where the model made them itself."""
        loop = asyncio.get_running_loop()
        if loop in self._entered:
            self._entered.discard(loop)
            await self._model.__aexit__(None, None, None)

    async def _enter(self) -> None:
        """Their way to say that connections may be opened on this loop."""
        loop = asyncio.get_running_loop()
        if loop not in self._entered:
            self._entered.add(loop)
            await self._model.__aenter__()

    async def _ask(self, request: ModelRequest) -> ModelResponse:
        from pydantic_ai.direct import model_request

        if request.on_delta is not None and self._streams:
            try:
                return await self._stream(request, request.on_delta)
            except NotImplementedError:  # theirs for a model that cannot; nothing was sent
                self._streams = False
        return await model_request(
            self._model,
            messages_of(request, self._profile),
            model_settings=settings_of(request, self._model),
            model_request_parameters=parameters_of(request, self._profile),
        )

    async def _stream(self, request: ModelRequest, on_delta: OnDelta) -> ModelResponse:
        from pydantic_ai.direct import model_request_stream

        async with model_request_stream(
            self._model,
            messages_of(request, self._profile),
            model_settings=settings_of(request, self._model),
            model_request_parameters=parameters_of(request, self._profile),
        ) as stream:
            async for delta in _deltas(stream):
                on_delta(delta)
            response = stream.get()
        if response.state == "incomplete":
            raise ModelError(
                "connection",
                f"{self._info.name} broke off in the middle of the reply",
                model=self._info.name,
            )
        return response

    async def _cost(self, reply: ModelReply, response: ModelResponse) -> float | None:
        if reply.usage.calls_unmeasured:
            return None
        if response.usage.cost is not None:  # the service has told it
            return float(response.usage.cost)
        await prices.ready()
        if (service := self._service) is None:
            return None
        usage = counted(reply.usage)
        counts = Counts(
            input=usage.input_tokens,
            output=usage.output_tokens,
            cached=usage.cached_tokens,
            written=count_of(response.usage.cache_write_tokens),
        )
        cost = prices.cost(service, reply.model, counts)
        return prices.cost(service, self._model.model_name, counts) if cost is None else cost

    @property
    def _profile(self) -> ModelProfile:
        """What the model can do; a list of theirs has none, for each of its models has its own."""
        try:
            return self._model.profile
        except NotImplementedError:
            return {}

    @property
    def _service(self) -> str | None:
        """What the price list calls the service. Another server behind the same API is none of it."""
        return prices.service_of(self._model.base_url, self._model.system)


async def _deltas(stream: AsyncIterable[object]) -> AsyncIterator[Delta]:
    from pydantic_ai.messages import (
        PartDeltaEvent,
        PartStartEvent,
        TextPart,
        TextPartDelta,
        ThinkingPart,
        ThinkingPartDelta,
    )

    fresh = True
    async for event in stream:
        text = thinking = ""
        match event:
            case (
                PartStartEvent(part=TextPart(content=text))
                | PartDeltaEvent(delta=TextPartDelta(content_delta=text))
            ):
                pass
            case PartStartEvent(part=ThinkingPart(content=thinking)):
                pass
            case PartDeltaEvent(delta=ThinkingPartDelta(content_delta=str(thinking))):
                pass
        if text or thinking:
            yield Delta(text, thinking, fresh=fresh)
            fresh = False
