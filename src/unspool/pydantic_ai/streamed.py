"""A reply while its run goes on: progress as thinking, the answer at the end.

Contract: ``cancel()`` cancels the run; what was thought so far stays. This module needs pydantic-ai.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import aclosing
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from pydantic_ai.messages import ModelResponseStreamEvent, TextPart
from pydantic_ai.models import ModelRequestParameters, StreamedResponse

from ..server.running import Followed, problem_of
from ..server.told import pieces
from .replied import error_of, finish_of, told, usage_of

if TYPE_CHECKING:
    from .wanted import Wanted


class RLMStream(StreamedResponse):
    """See the module docstring."""

    def __init__(
        self,
        parameters: ModelRequestParameters,
        run: Followed,
        want: Wanted,
        name: str,
        cancel: Callable[[], None],
    ) -> None:
        super().__init__(parameters)
        self._run = run
        self._want = want
        self._name = name
        self._cancel_run = cancel
        self.provider_response_id = run.id

    async def _get_event_iterator(self) -> AsyncIterator[ModelResponseStreamEvent]:
        run, parts = self._run, self._parts_manager
        async with aclosing(run.lines()) as lines:
            async for line in lines:
                for event in parts.handle_thinking_delta(vendor_part_id="progress", content=line):
                    yield event
        self._usage = usage_of(run.end)
        self.provider_details = told(run.end, run.question)
        if self.cancelled:
            return
        if (problem := problem_of(run.end, run.question)) is not None:
            raise error_of(problem, self._name)
        replied = self._want.parts(run.end, run.question)
        self.finish_reason = finish_of(run.end, replied)
        for number, part in enumerate(replied):
            if isinstance(part, TextPart):
                for piece in pieces(part.content):
                    for event in parts.handle_text_delta(vendor_part_id=number, content=piece):
                        yield event
            else:
                yield parts.handle_tool_call_part(
                    vendor_part_id=number,
                    tool_name=part.tool_name,
                    args=part.args,
                    tool_call_id=part.tool_call_id,
                )

    async def close_stream(self) -> None:
        self._cancel_run()

    @property
    def model_name(self) -> str:
        return self._name

    @property
    def provider_name(self) -> str:
        return "unspool"

    @property
    def provider_url(self) -> None:
        return None

    @property
    def timestamp(self) -> datetime:
        return datetime.fromtimestamp(self._run.created, UTC)
