"""The shape of ``/v1/responses``: whole, or as a stream of typed events.

Contract: the output is a reasoning item (the progress, as its summary) and a message. ``status`` is
``completed`` for an answer, ``incomplete`` for the draft of a run that stopped early, ``failed`` where
there is neither. Events are numbered from 0.
"""

from __future__ import annotations

from collections.abc import Iterator

from ..events import RunEnded
from .bodies import ResponsesBody
from .messages import Turn, turns_of_input
from .problems import Problem
from .question import Question, question_of
from .replies import frame
from .running import Followed
from .shape import forced, ignored, schema_of
from .told import Json, about, calls_in, known, pieces, text_of


class Responses:
    """One request for a response."""

    def __init__(self, body: ResponsesBody) -> None:
        self.body = body
        self._number = 0
        self._progress = ""

    @classmethod
    def read(cls, data: bytes | bytearray) -> Responses:
        return cls(ResponsesBody.model_validate_json(data))

    @property
    def stream(self) -> bool:
        return bool(self.body.stream)

    def question(self) -> Question:
        body = self.body
        calls = forced(body)
        given = body.text.format if body.text else None
        schema = schema_of(given.type, given.schema_, "text.format.schema") if given else None
        turns = turns_of_input(body.input)
        if body.instructions:
            turns = [Turn("system", (body.instructions,)), *turns]
        schema = schema if calls is None else calls.schema
        asked = question_of(turns, body.unspool, schema=schema, notes=ignored(body), field="input")
        return asked if calls is None else calls.asked(asked)

    def whole(self, run: Followed, progress: str, ended: RunEnded) -> Json:
        self._progress = progress
        said = _calls(run, ended) or [_message(run, text_of(ended, run.question), _status(ended))]
        return self._response(run, _status(ended), [*self._reasoning(run), *said], ended)

    # A stream

    def begin(self, run: Followed) -> Iterator[bytes]:
        for kind in ("response.created", "response.in_progress"):
            yield self._event(kind, response=self._response(run, "in_progress", []))

    def progress(self, run: Followed, text: str) -> Iterator[bytes]:
        place = {"item_id": f"rs_{run.id}", "output_index": 0}
        if not self._progress:
            item = {"id": f"rs_{run.id}", "type": "reasoning", "summary": []}
            yield self._event("response.output_item.added", output_index=0, item=item)
            part = {"type": "summary_text", "text": ""}
            yield self._event("response.reasoning_summary_part.added", **place, summary_index=0, part=part)
        self._progress += text
        yield self._event("response.reasoning_summary_text.delta", **place, summary_index=0, delta=text)

    def end(self, run: Followed, ended: RunEnded) -> Iterator[bytes]:
        yield from self._thought_out(run)
        said = _calls(run, ended)
        for number, call in enumerate(said, start=1 if self._progress else 0):
            yield from self._called(call, number)
        if not said:
            said = [_message(run, text_of(ended, run.question), _status(ended))]
            yield from self._told(run, ended, said[0])
        whole = self._response(run, _status(ended), [*self._reasoning(run), *said], ended)
        yield self._event(f"response.{_status(ended)}", response=whole)

    def _called(self, call: Json, number: int) -> Iterator[bytes]:
        """A call of one of the client's tools."""
        place = {"item_id": call["id"], "output_index": number}
        begun = {**call, "arguments": "", "status": "in_progress"}
        yield self._event("response.output_item.added", output_index=number, item=begun)
        yield self._event("response.function_call_arguments.delta", **place, delta=call["arguments"])
        yield self._event(
            "response.function_call_arguments.done", **place, arguments=call["arguments"], name=call["name"]
        )
        yield self._event("response.output_item.done", output_index=number, item=call)

    def _told(self, run: Followed, ended: RunEnded, message: Json) -> Iterator[bytes]:
        """The answer as text."""
        place = {"item_id": f"msg_{run.id}", "output_index": 1 if self._progress else 0, "content_index": 0}
        item = {**_message(run, "", "in_progress"), "content": []}
        yield self._event("response.output_item.added", output_index=place["output_index"], item=item)
        yield self._event("response.content_part.added", **place, part=_part(""))
        text = text_of(ended, run.question)
        for piece in pieces(text):
            yield self._event("response.output_text.delta", **place, delta=piece, logprobs=[])
        yield self._event("response.output_text.done", **place, text=text, logprobs=[])
        yield self._event("response.content_part.done", **place, part=_part(text))
        yield self._event("response.output_item.done", output_index=place["output_index"], item=message)

    def fail(self, run: Followed, problem: Problem) -> Iterator[bytes]:
        yield from self._thought_out(run)
        response = self._response(run, "failed", self._reasoning(run), run.ended)
        error = {"code": problem.code or "server_error", "message": problem.message}
        yield self._event("response.failed", response={**response, "error": error})

    def _thought_out(self, run: Followed) -> Iterator[bytes]:
        """Closes the reasoning item."""
        if not self._progress:
            return
        place = {"item_id": f"rs_{run.id}", "output_index": 0, "summary_index": 0}
        (item,) = self._reasoning(run)
        yield self._event("response.reasoning_summary_text.done", **place, text=self._progress)
        part = {"type": "summary_text", "text": self._progress}
        yield self._event("response.reasoning_summary_part.done", **place, part=part)
        yield self._event("response.output_item.done", output_index=0, item=item)

    def _event(self, kind: str, **fields: object) -> bytes:
        number, self._number = self._number, self._number + 1
        return frame({"type": kind, "sequence_number": number, **fields}, kind)

    def _reasoning(self, run: Followed) -> list[Json]:
        if not self._progress:
            return []
        summary = [{"type": "summary_text", "text": self._progress}]
        return [{"id": f"rs_{run.id}", "type": "reasoning", "summary": summary, "status": "completed"}]

    def _response(
        self, run: Followed, status: str, output: list[Json], ended: RunEnded | None = None
    ) -> dict[str, object]:
        body = self.body
        return {
            "id": f"resp_{run.id}",
            "object": "response",
            "created_at": run.created,
            "status": status,
            "error": None,
            "incomplete_details": {"reason": "max_output_tokens"} if status == "incomplete" else None,
            "instructions": body.instructions,
            "model": body.model,
            "output": output,
            "parallel_tool_calls": False,
            "tool_choice": "none",
            "tools": [],
            "text": {"format": {"type": "text"}} if body.text is None else _dumped(body),
            "metadata": body.metadata or {},
            "usage": None if ended is None else _usage(ended),
            "unspool": None if ended is None else about(ended, run.question),
        }


def _dumped(body: ResponsesBody) -> Json:
    assert body.text is not None
    return body.text.model_dump(mode="json", by_alias=True, exclude_none=True)


def _status(ended: RunEnded) -> str:
    return "completed" if ended.status == "answered" else "incomplete"


def _calls(run: Followed, ended: RunEnded) -> list[Json]:
    return [
        {
            "id": f"fc_{run.id}_{number}",
            "type": "function_call",
            "call_id": f"call_{run.id}_{number}",
            "name": name,
            "arguments": arguments,
            "status": "completed",
        }
        for number, (name, arguments) in enumerate(calls_in(ended, run.question))
    ]


def _part(text: str) -> Json:
    return {"type": "output_text", "text": text, "annotations": [], "logprobs": []}


def _message(run: Followed, text: str, status: str) -> Json:
    return {
        "id": f"msg_{run.id}",
        "type": "message",
        "role": "assistant",
        "status": status,
        "content": [_part(text)],
    }


def _usage(ended: RunEnded) -> Json | None:
    usage, both = ended.usage, known(ended.usage)
    if both is None:
        return None
    read, written = both
    return {
        "input_tokens": read,
        "input_tokens_details": {"cached_tokens": usage.cached_tokens},
        "output_tokens": written,
        "output_tokens_details": {"reasoning_tokens": usage.reasoning_tokens},
        "total_tokens": read + written,
    }
