"""Between our requests and replies and lm15's.

Contract: no state, no I/O. lm15 takes half a second to import: ``preload`` does it early, in a
thread of whoever knows that it will be needed.

>>> wants(ModelRequest((), temperature=0.0), "temperature")
True
"""

from __future__ import annotations

import base64
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from ..images import Image
from ..safe_text import paired
from ..types import Finish
from .protocol import ModelReply, ModelRequest
from .providers import COMPATIBLE, Provider
from .replies import FINISH, Counts, code_of_call, normalised, split_thinking
from .schemas import as_object, in_words, is_closed

if TYPE_CHECKING:
    from lm15 import CacheConfig, ImagePart, Request, Response, Usage
    from lm15.providers.async_base import AsyncBaseProviderLM, AsyncTransport

    from .cloud import Door
    from .wire import Wire

OPTIONAL = ("temperature", "seed", "stop", "effort", "response_format")
"""What a server may refuse, and a call can do without, in the order it is left out."""

_CONNECT_SECONDS = 10.0


def preload() -> None:
    """Import lm15 and what stands on it."""
    from . import wire  # noqa: F401


def open_wire(base_url: str | None) -> Wire:
    from .wire import Wire

    # A proxy is for the net, not for this machine.
    return Wire(connect_seconds=_CONNECT_SECONDS, use_proxy=not _on_loopback(base_url))


def open_adapter(
    provider: Provider, key: str, base_url: str | None, transport: AsyncTransport, door: Door | None = None
) -> AsyncBaseProviderLM:
    """What speaks this provider's dialect over ``transport``. It keeps nothing: it costs microseconds."""
    if provider.lm15 == COMPATIBLE or (base_url != provider.base_url and provider.lm15 == "openai-chat"):
        return _open_compatible(key, base_url, transport)
    from lm15.registry import PROVIDERS

    entry = PROVIDERS[provider.lm15]
    given: dict[str, object] = {"api_key": key, "transport": transport, "access": entry.access}
    if door is not None:
        given["settings"] = door.settings
        given["api_key"] = door.signer or key
        base_url = base_url or door.endpoint
    if base_url:
        given["base_url"] = base_url
    if entry.compat:
        given["compat"] = entry.compat
    adapter: AsyncBaseProviderLM = entry.async_adapter(**given)
    return adapter


def _open_compatible(key: str, base_url: str | None, transport: AsyncTransport) -> AsyncBaseProviderLM:
    from lm15 import AsyncOpenAIChatLM
    from lm15.compat import OpenAIChatCompat

    # The fields that older servers know: the newer spellings are OpenAI's own.
    compat = OpenAIChatCompat(
        instruction_role="system", max_tokens_field="max_tokens", cache_control="none", thinking_format="none"
    )
    assert base_url is not None
    return AsyncOpenAIChatLM(api_key=key, base_url=base_url, compat=compat, transport=transport)


@dataclass(frozen=True, slots=True)
class Received:
    """A provider's reply taken apart, in the order it came. ``calls``: arguments of tool calls. ``body``: the
    whole of it, where it came at once. ``wrong``: the figures in it that can be none.
    """

    texts: tuple[str, ...]
    thoughts: tuple[str, ...]
    calls: tuple[object, ...]
    finish: Finish
    counts: Counts
    model: str
    body: object = None
    wrong: tuple[str, ...] = ()


def take_apart(response: Response) -> Received:
    """A whole reply of lm15's."""
    parts = response.message.parts
    refused = any(part.type == "refusal" for part in parts)
    # lm15 keeps arguments that are no JSON object under one of these names.
    raw = [
        (p.input.get("partial_json") or p.input.get("value"), p.input) for p in parts if p.type == "tool_call"
    ]
    return Received(
        tuple(part.text for part in parts if part.type == "text"),
        tuple(part.text for part in parts if part.type == "thinking"),
        tuple(text if isinstance(text, str) else whole for text, whole in raw),
        "filter" if refused else FINISH.get(response.finish_reason, "other"),
        counts_of(response.usage),
        response.model,
        response.provider_data,
    )


def read_reply(received: Received, provider: Provider, choices: Sequence[str] = ()) -> ModelReply:
    """Our reply; without cost and time."""
    code = (code_of_call(arguments) for arguments in received.calls)
    thinking, text = split_thinking("".join(received.texts))
    usage = normalised(
        received.counts,
        cached_apart=provider.dialect == "anthropic",
        reasoning_apart=provider.dialect == "gemini",
    )
    return ModelReply(
        text,
        received.finish,
        usage,
        received.model,
        thinking="\n".join(filter(None, [*received.thoughts, thinking])),
        code=tuple(found for found in code if found is not None),
        scores=scores_of(received.body, choices) if choices else None,
    )


def scores_of(body: object, choices: Sequence[str]) -> dict[str, float] | None:
    """The log probability of each choice by its first token, or ``None`` where it is not told apart.

    >>> first = [{"token": "sp", "logprob": -0.1}, {"token": "ham", "logprob": -2.4}]
    >>> scores_of({"choices": [{"logprobs": {"content": [{"top_logprobs": first}]}}]}, ("spam", "ham"))
    {'spam': -0.1, 'ham': -2.4}
    >>> scores_of({"choices": [{"message": {}}]}, ("spam", "ham")) is None
    True
    """
    try:
        told = body["choices"][0]["logprobs"]["content"][0]["top_logprobs"]  # type: ignore[index]
        tokens = {str(entry["token"]): float(entry["logprob"]) for entry in told}
    except (KeyError, IndexError, TypeError, ValueError):
        return None  # no such field, or not in the form that is known: the text of the reply stands
    lowest = min(tokens.values(), default=0.0)
    scores: dict[str, float] = {}
    used: list[str] = []
    for choice in choices:
        fitting = [token for token in tokens if token and choice.startswith(token)]
        best = max(fitting, key=lambda token: tokens[token], default="")
        scores[choice] = tokens[best] if best else lowest
        used += [best] if best else []
    return scores if len(used) == len(set(used)) > 0 else None


def _on_loopback(base_url: str | None) -> bool:
    host = urlsplit(base_url or "").hostname or ""
    return host in ("localhost", "::1") or host.startswith("127.")


def wants(request: ModelRequest, parameter: str) -> bool:
    match parameter:
        case "temperature":
            return request.temperature is not None
        case "seed":
            return request.seed is not None
        case "stop":
            return bool(request.stop)
        case "effort":
            return request.effort is not None
        case _:
            return request.schema is not None


def to_lm15(
    provider: Provider, model: str, request: ModelRequest, sent: Sequence[str], extra: Mapping[str, object]
) -> Request:
    from lm15 import Config, Message, Reasoning, Request, TextPart

    fmt = _response_format(provider, request) if "response_format" in sent else None
    said = request.messages if fmt or not request.schema else in_words(request.messages, request.schema)
    messages = list(said)
    system = None
    if len(messages) > 1 and messages[0].role == "system":
        system = paired(messages.pop(0).text) or None
    fields = {**_cache_field(provider, model, request), **extra}
    config = Config(
        max_tokens=request.max_tokens,
        temperature=request.temperature if "temperature" in sent else None,
        seed=request.seed if "seed" in sent else None,
        stop=request.stop if "stop" in sent else (),
        response_format=fmt,
        reasoning=Reasoning(effort=request.effort) if request.effort and "effort" in sent else None,
        cache=_cache(provider, _kept(request) - (len(request.messages) - len(messages))),
        extensions=fields or None,  # type: ignore[arg-type]  # any JSON; theirs is a closed union
    )
    return Request(
        model=model,
        system=system,
        messages=tuple(
            Message(
                role="developer" if m.role == "system" else m.role,
                parts=(*map(_image_part, m.images), TextPart(text=paired(m.text))),
            )
            for m in messages
        ),
        config=config,
    )


def _image_part(image: Image) -> ImagePart:
    from lm15 import ImagePart

    return ImagePart(media_type=image.media_type, data=base64.b64encode(image.data).decode())


def _kept(request: ModelRequest) -> int:
    """How many of the first messages will be sent again."""
    return len(request.messages) if request.grows else request.stable


def _cache(provider: Provider, kept: int) -> CacheConfig | None:
    """The marks at the end of what will be sent again, where a provider wants to be told.

    ``kept`` counts the messages behind the system prompt; that has a mark of its own.
    """
    if provider.dialect != "anthropic" or kept < 0:
        return None
    from lm15 import CacheConfig

    return CacheConfig(prefix_until_index=kept - 1) if kept else CacheConfig(prefix="stable")


def _cache_field(provider: Provider, model: str, request: ModelRequest) -> dict[str, object]:
    """The same for Claude behind OpenRouter, which places the mark at the end of the request itself."""
    if provider.name == "openrouter" and model.startswith("anthropic/") and request.grows:
        return {"cache_control": {"type": "ephemeral"}}
    return {}


def _response_format(provider: Provider, request: ModelRequest) -> dict[str, object] | None:
    """What makes the provider enforce the schema; None where it would not take it."""
    schema = request.schema or {}
    if not provider.here:  # servers on this machine take any schema
        schema = as_object(schema)
    if provider.dialect == "anthropic" and not is_closed(schema):
        return None
    return {"type": "json_schema", "name": "reply", "schema": dict(schema), "strict": False}


def counts_of(usage: Usage) -> Counts:
    return Counts(
        input=usage.input_tokens,
        output=usage.output_tokens,
        cached=usage.cache_read_tokens,
        written=usage.cache_write_tokens,
        reasoning=usage.reasoning_tokens,
        total=usage.total_tokens,
    )
