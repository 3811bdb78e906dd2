"""Between our requests and replies and lm15's.

Contract: no state, no I/O. lm15 takes half a second to import: ``preload`` does it early, in a
thread of whoever knows that it will be needed.

>>> wants(ModelRequest((), temperature=0.0), "temperature")
True
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from .protocol import ModelReply, ModelRequest
from .providers import COMPATIBLE, Provider
from .replies import FINISH, Counts, code_of_call, normalised, split_thinking

if TYPE_CHECKING:
    from lm15 import Request, Response
    from lm15.providers.async_base import AsyncBaseProviderLM

OPTIONAL = ("temperature", "seed", "stop", "response_format")
"""What a server may refuse, and a call can do without, in the order it is left out."""

_CONNECT_SECONDS = 10.0


def preload() -> None:
    """Import lm15 and what stands on it."""
    from . import wire  # noqa: F401


def open_adapter(provider: Provider, key: str, base_url: str | None) -> AsyncBaseProviderLM:
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


def read_reply(response: Response, provider: Provider, choices: Sequence[str] = ()) -> ModelReply:
    """Our reply of lm15's; without cost and time."""
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
            # lm15 keeps arguments that are no JSON object under one of these names.
            raw = part.input.get("partial_json") or part.input.get("value")
            found = code_of_call(raw if isinstance(raw, str) else part.input)
            if found is not None:
                code.append(found)
    thinking, text = split_thinking("".join(texts))
    usage = normalised(
        counts_of(response),
        cached_apart=provider.lm15 == "anthropic",
        reasoning_apart=provider.lm15 == "gemini",
    )
    return ModelReply(
        text,
        finish,
        usage,
        response.model,
        thinking="\n".join(filter(None, [*thoughts, thinking])),
        code=tuple(code),
        scores=scores_of(response.provider_data, choices) if choices else None,
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
        case _:
            return request.schema is not None


def to_lm15(model: str, request: ModelRequest, sent: Sequence[str], extra: Mapping[str, object]) -> Request:
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


def counts_of(response: Response) -> Counts:
    usage = response.usage
    return Counts(
        input=usage.input_tokens,
        output=usage.output_tokens,
        cached=usage.cache_read_tokens,
        written=usage.cache_write_tokens,
        reasoning=usage.reasoning_tokens,
        total=usage.total_tokens,
    )
