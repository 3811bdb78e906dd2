"""One request for an answer: from its head to the last byte of its reply.

Contract: whatever happens, the client gets one reply in OpenAI's shape or is gone, the place among the runs
is free again, and a run that nobody waits for is cancelled.
"""

from __future__ import annotations

import asyncio
import time
import traceback
from collections.abc import AsyncGenerator, Callable, Mapping
from contextlib import aclosing
from dataclasses import dataclass
from typing import TYPE_CHECKING

from pydantic import ValidationError
from starlette.types import Receive, Scope, Send

from .client import Gone, Incoming, Writer, beating, while_there
from .problems import Problem, of_validation
from .question import Question
from .replies import to_json
from .running import Followed, problem_of
from .shape import Shape

if TYPE_CHECKING:
    from .app import Service

INLINE = 100_000  # bytes of a body up to which reading it holds nobody up
RUN_HEADER = "X-Unspool-Run"
_JSON = {"Content-Type": "application/json"}
_EVENTS = {
    "Content-Type": "text/event-stream; charset=utf-8",
    "Cache-Control": "no-cache",
    "X-Accel-Buffering": "no",  # a proxy in between passes each event on at once
}


@dataclass(slots=True)
class _Told:
    """What the log says of a request."""

    status: int | None = None
    words: str = ""


class Asked:
    """A route that answers questions."""

    def __init__(self, service: Service, route: str, read: Callable[[bytearray], Shape]) -> None:
        self._service = service
        self._route = route
        self._read = read

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        service, began, told = self._service, time.monotonic(), _Told()

        def count(status: int) -> None:
            told.status = status
            service.metrics.requests.add(self._route, str(status))

        writer = Writer(send, seconds=service.settings.send_seconds, count=count)
        incoming = Incoming(receive, scope)
        try:
            try:
                await self._answer(scope, receive, incoming, writer, told)
            except Problem as problem:
                told.words = problem.message
                await incoming.drain()
                await _refuse(writer, problem)
            except Gone:
                raise
            except Exception:
                service.log(traceback.format_exc())
                await _refuse(writer, Problem(500, "a bug of the server: its log says more", code="bug"))
        except Gone:
            told.words = f"the client is gone {told.words}"
            service.metrics.gone.add()
            if abort := scope.get("state", {}).get("abort"):
                abort()  # what it has not read is not kept for it
        finally:
            status = told.status or "-"
            service.log(f"{self._route} {status} {time.monotonic() - began:.1f} s {told.words}".rstrip())

    async def _answer(
        self, scope: Scope, receive: Receive, incoming: Incoming, writer: Writer, told: _Told
    ) -> None:
        service, settings = self._service, self._service.settings
        headers = {
            name.decode("latin-1").lower(): value.decode("latin-1") for name, value in scope["headers"]
        }
        service.admit(headers)
        _check_type(headers)
        with service.runs.place():
            body = await incoming.read(
                limit=settings.body_bytes, piece=settings.body_seconds, whole=settings.seconds
            )
            shape, question = await self._understood(body)
            del body
            await while_there(self._run(shape, question, writer, told), receive)

    async def _understood(self, body: bytearray) -> tuple[Shape, Question]:
        if len(body) <= INLINE:
            return self._understand(body)
        return await asyncio.to_thread(self._understand, body)

    def _understand(self, body: bytearray) -> tuple[Shape, Question]:
        try:
            shape = self._read(body)
        except ValidationError as error:
            raise of_validation(error) from None
        self._service.check_model(shape.body.model)
        return shape, shape.question()

    async def _run(self, shape: Shape, question: Question, writer: Writer, told: _Told) -> None:
        run: Followed | None = None
        try:
            async with self._service.runs.follow(question) as run:
                told.words = f"run {run.id}"
                if shape.stream:
                    await self._stream(shape, run, writer)
                else:
                    await _whole(shape, run, writer)
                told.words += f" {run.end.status}"
        except Problem as problem:
            if run is None or not writer.started:
                raise
            told.words += f" {problem.message}"
            for piece in shape.fail(run, problem):
                await writer.piece(piece)
            await writer.end()

    async def _stream(self, shape: Shape, run: Followed, writer: Writer) -> None:
        await writer.start(200, {**_EVENTS, RUN_HEADER: run.id})
        async with aclosing(beating(_pieces(shape, run), self._service.settings.beat_seconds)) as pieces:
            async for piece in pieces:
                await writer.piece(piece)
        await writer.end()


async def _pieces(shape: Shape, run: Followed) -> AsyncGenerator[bytes, None]:
    for piece in shape.begin(run):
        yield piece
    async with aclosing(run.lines()) as lines:
        async for line in lines:
            for piece in shape.progress(run, line):
                yield piece
    problem = problem_of(run.end, run.question)
    for piece in shape.end(run, run.end) if problem is None else shape.fail(run, problem):
        yield piece


async def _whole(shape: Shape, run: Followed, writer: Writer) -> None:
    async with aclosing(run.lines()) as lines:
        progress = "".join([line async for line in lines])
    problem = problem_of(run.end, run.question)
    if problem is not None:
        raise problem
    body = to_json(shape.whole(run, progress, run.end))
    await writer.whole(200, {**_JSON, RUN_HEADER: run.id}, body)


async def _refuse(writer: Writer, problem: Problem) -> None:
    if writer.started:  # the reply was under way: it breaks off
        raise Gone
    run = {RUN_HEADER: problem.run} if problem.run else {}
    await writer.whole(problem.status, {**_JSON, **run, **problem.headers}, to_json(problem.body()))


def _check_type(headers: Mapping[str, str]) -> None:
    kind = headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind != "application/json":
        raise Problem(
            415, "send JSON, with the header Content-Type: application/json", code="unsupported_media_type"
        )
    if headers.get("content-encoding", "identity").lower() != "identity":
        raise Problem(415, "send the body without Content-Encoding", code="unsupported_encoding")
