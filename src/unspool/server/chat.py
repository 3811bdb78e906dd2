"""The shape of ``/v1/chat/completions``: whole, or as a stream of chunks.

Contract: ``finish_reason`` is ``stop`` for an answer, ``tool_calls`` for calls that were insisted on, and
``length`` for the draft of a run that stopped early. Progress is ``reasoning_content``. A stream that fails
ends with an ``error`` and ``[DONE]``.
"""

from __future__ import annotations

from collections.abc import Iterator

from ..events import RunEnded
from .bodies import ChatBody, ResponseFormat
from .messages import turns_of_chat
from .problems import Problem
from .question import Question, question_of
from .replies import frame
from .running import Followed
from .shape import forced, ignored, schema_of
from .told import Json, about, calls_in, known, pieces, text_of

DONE = b"data: [DONE]\n\n"


class Chat:
    """One request for a chat completion."""

    def __init__(self, body: ChatBody) -> None:
        self.body = body

    @classmethod
    def read(cls, data: bytes | bytearray) -> Chat:
        return cls(ChatBody.model_validate_json(data))

    @property
    def stream(self) -> bool:
        return bool(self.body.stream)

    def question(self) -> Question:
        body = self.body
        calls = forced(body)
        asked = question_of(
            turns_of_chat(body.messages),
            body.unspool,
            schema=_schema(body.response_format) if calls is None else calls.schema,
            notes=ignored(body),
        )
        return asked if calls is None else calls.asked(asked)

    def whole(self, run: Followed, progress: str, ended: RunEnded) -> Json:
        message: dict[str, object] = {"role": "assistant", "content": None, "refusal": None}
        if calls := _calls(run, ended):
            message["tool_calls"] = calls
        else:
            message["content"] = text_of(ended, run.question)
        if progress:
            message["reasoning_content"] = progress
        choice = {"index": 0, "message": message, "finish_reason": _finish(run, ended), "logprobs": None}
        return {
            **self._head(run, "chat.completion"),
            "choices": [choice],
            "usage": _usage(ended),
            "unspool": about(ended, run.question),
        }

    def begin(self, run: Followed) -> Iterator[bytes]:
        yield self._chunk(run, {"role": "assistant", "content": ""})

    def progress(self, run: Followed, text: str) -> Iterator[bytes]:
        yield self._chunk(run, {"reasoning_content": text})

    def end(self, run: Followed, ended: RunEnded) -> Iterator[bytes]:
        calls = _calls(run, ended)
        for number, call in enumerate(calls):
            yield self._chunk(run, {"tool_calls": [{"index": number, **call}]})
        for piece in [] if calls else pieces(text_of(ended, run.question)):
            yield self._chunk(run, {"content": piece})
        yield self._chunk(run, {}, _finish(run, ended), {"unspool": about(ended, run.question)})
        options = self.body.stream_options
        if options is not None and options.include_usage:
            yield frame({**self._head(run, "chat.completion.chunk"), "choices": [], "usage": _usage(ended)})
        yield DONE

    def fail(self, run: Followed, problem: Problem) -> Iterator[bytes]:
        yield frame(problem.body())
        yield DONE

    def _head(self, run: Followed, kind: str) -> dict[str, object]:
        return {"id": f"chatcmpl-{run.id}", "object": kind, "created": run.created, "model": self.body.model}

    def _chunk(
        self, run: Followed, delta: Json, finish: str | None = None, more: Json | None = None
    ) -> bytes:
        choice = {"index": 0, "delta": delta, "finish_reason": finish, "logprobs": None}
        return frame({**self._head(run, "chat.completion.chunk"), "choices": [choice], **(more or {})})


def _finish(run: Followed, ended: RunEnded) -> str:
    if ended.status != "answered":
        return "length"
    return "tool_calls" if run.question.calls is not None else "stop"


def _calls(run: Followed, ended: RunEnded) -> list[Json]:
    return [
        {
            "id": f"call_{run.id}_{number}",
            "type": "function",
            "function": {"name": name, "arguments": arguments},
        }
        for number, (name, arguments) in enumerate(calls_in(ended, run.question))
    ]


def _usage(ended: RunEnded) -> Json | None:
    usage, both = ended.usage, known(ended.usage)
    if both is None:
        return None
    read, written = both
    return {
        "prompt_tokens": read,
        "completion_tokens": written,
        "total_tokens": read + written,
        "prompt_tokens_details": {"cached_tokens": usage.cached_tokens},
        "completion_tokens_details": {"reasoning_tokens": usage.reasoning_tokens},
    }


def _schema(given: ResponseFormat | None) -> Json | None:
    if given is None:
        return None
    inner = given.json_schema
    return schema_of(given.type, inner.schema_ if inner else None, "response_format.json_schema.schema")
