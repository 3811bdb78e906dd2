"""What a :class:`FaultyServer` does with one request, and the bytes that makes on the wire.

Contract: a :class:`Behaviour` is data. ``render`` turns it into the body of an OpenAI-compatible
chat completion, of an error, or of a stream of chunks; nothing here opens a socket.

>>> Behaviour(status=429, retry_after=1).headers()
{'Retry-After': '1'}
>>> b'"content": "hi"' in render(Behaviour("hi"), Ask("/v1/chat/completions", {}, {"model": "m"}))
True
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

Fault = Literal["hang", "cut", "reset", "malformed"]
"""``hang``: the head and body never come. ``cut``: half of the body, then the connection closes.
``reset``: the connection closes before a byte is sent. ``malformed``: a body that is no JSON."""


@dataclass(frozen=True, slots=True)
class Ask:
    """One request as the server got it. ``body`` is the decoded JSON, empty where there is none."""

    path: str
    headers: Mapping[str, str]
    body: Mapping[str, object]

    @property
    def prompt(self) -> str:
        """The text of the last message."""
        messages = self.body.get("messages")
        if not isinstance(messages, list) or not messages or not isinstance(messages[-1], dict):
            return ""
        return str(messages[-1].get("content", ""))


@dataclass(frozen=True, slots=True)
class Behaviour:
    """How one request is answered. The default is a sound reply with the text ``ok``.

    ``usage`` is what the reply reports: ``"estimate"`` (a token for four characters), ``None`` for
    nothing, or the object itself. ``code`` comes as tool calls with a ``code`` argument. ``body`` is sent as
    it is, in the place of all that the others make.
    """

    text: str | None = "ok"
    delay: float = 0.0
    status: int = 200
    retry_after: float | str | None = None
    fault: Fault | None = None
    message: str = ""  # of an error body
    error_code: str = ""  # of an error body, e.g. "context_length_exceeded"
    finish: str = "stop"
    reasoning: str = ""
    code: tuple[str, ...] = ()
    usage: Mapping[str, object] | Literal["estimate"] | None = "estimate"
    extra: Mapping[str, object] = field(default_factory=lambda: dict[str, object]())
    body: bytes | None = None

    def headers(self) -> dict[str, str]:
        if self.retry_after is None:
            return {}
        return {"Retry-After": str(self.retry_after)}


def render(behaviour: Behaviour, ask: Ask) -> bytes:
    """The body: JSON, or server-sent events where the request asked for a stream."""
    if behaviour.fault == "malformed":
        return b'{"choices": [{"message": {"content": "half a'
    if behaviour.body is not None:
        return behaviour.body
    if behaviour.status >= 400:
        error = {
            "message": behaviour.message or f"asked for: status {behaviour.status}",
            "type": "error",
            "code": behaviour.error_code or None,
        }
        return json.dumps({"error": error}).encode()
    if ask.body.get("stream") is True:
        return _stream(behaviour, ask)
    body: dict[str, object] = {
        "id": "chatcmpl-0",
        "object": "chat.completion",
        "created": 0,
        "model": str(ask.body.get("model", "")),
        "choices": [{"index": 0, "message": _message(behaviour), "finish_reason": _finish(behaviour)}],
        **behaviour.extra,
    }
    usage = usage_of(behaviour, ask)
    if usage is not None:
        body["usage"] = usage
    return json.dumps(body).encode()


def _finish(behaviour: Behaviour) -> str:
    return "tool_calls" if behaviour.code and behaviour.finish == "stop" else behaviour.finish


def _message(behaviour: Behaviour) -> dict[str, object]:
    message: dict[str, object] = {"role": "assistant", "content": behaviour.text}
    if behaviour.reasoning:
        message["reasoning_content"] = behaviour.reasoning
    if behaviour.code:
        message["tool_calls"] = [
            {
                "id": f"call_{number}",
                "type": "function",
                "function": {"name": "python", "arguments": json.dumps({"code": code})},
            }
            for number, code in enumerate(behaviour.code)
        ]
    return message


def usage_of(behaviour: Behaviour, ask: Ask) -> Mapping[str, object] | None:
    """What the reply reports."""
    if behaviour.usage != "estimate":
        return behaviour.usage
    messages = ask.body.get("messages")
    read = sum(len(str(m.get("content", ""))) for m in messages) if isinstance(messages, list) else 0
    written = len(behaviour.text or "")
    prompt, completion = -(-read // 4), -(-written // 4)
    return {
        "prompt_tokens": prompt,
        "completion_tokens": completion,
        "total_tokens": prompt + completion,
    }


def _stream(behaviour: Behaviour, ask: Ask) -> bytes:
    text = behaviour.text or ""
    deltas: list[dict[str, object]] = [{"role": "assistant", "content": ""}]
    if behaviour.reasoning:
        deltas.append({"reasoning_content": behaviour.reasoning})
    deltas += [{"content": text[start : start + 16]} for start in range(0, len(text), 16)]
    head = {"id": "chatcmpl-0", "object": "chat.completion.chunk", "model": ask.body.get("model", "")}
    chunks: list[dict[str, object]] = [
        {**head, "choices": [{"index": 0, "delta": delta, "finish_reason": None}]} for delta in deltas
    ]
    end = {**head, "choices": [{"index": 0, "delta": {}, "finish_reason": behaviour.finish}]}
    usage = usage_of(behaviour, ask)
    chunks += [end] if usage is None else [end, {**head, "choices": [], "usage": usage}]
    return b"".join(b"data: " + json.dumps(c).encode() + b"\n\n" for c in chunks) + b"data: [DONE]\n\n"
