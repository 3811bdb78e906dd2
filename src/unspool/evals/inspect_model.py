"""A model of inspect-ai as one of ours, so that what it is asked counts, and is shown, as inspect's calls.

Contract: made in a sample of inspect-ai, and used for it alone. Calls are sent on inspect's loop and in the
sample's context, from ours; inspect sends again what failed. Whatever it raises is a failed call; ``stopped``
keeps a limit of inspect's own, which ends the sample. Texts alone: images and choices are not told to it.
"""

from __future__ import annotations

import asyncio
import contextvars
from typing import TYPE_CHECKING

from ..errors import ModelError
from ..models.protocol import Message, ModelInfo, ModelReply, ModelRequest, refuse_images
from ..models.statuses import failure_of
from ..safe_text import paired
from ..types import Finish, Usage

if TYPE_CHECKING:
    from inspect_ai.model import ChatMessage, GenerateConfig, Model, ModelOutput

FINISH: dict[str, Finish] = {
    "stop": "stop",
    "max_tokens": "length",
    "model_length": "length",
    "tool_calls": "tool",
    "content_filter": "filter",
}


class InspectModel:
    """Sends to the model of the sample that is under way."""

    def __init__(self, model: Model) -> None:
        self._model = model
        self._info = ModelInfo(f"inspect:{model}")
        self._loop = asyncio.get_running_loop()
        self._context = contextvars.copy_context()
        self.stopped: Exception | None = None

    @property
    def info(self) -> ModelInfo:
        return self._info

    async def complete(self, request: ModelRequest) -> ModelReply:
        from inspect_ai.util import LimitExceededError

        refuse_images(request, self._info)
        sent = self._model.generate([_told(each) for each in request.messages], config=_config(request))
        future = self._context.run(asyncio.run_coroutine_threadsafe, sent, self._loop)
        try:
            return self._reply(await asyncio.wrap_future(future))
        except LimitExceededError as error:
            self.stopped = error
            raise ModelError("bad_request", str(error), model=self._info.name, permanent=True) from error
        except ModelError:
            raise
        except Exception as error:  # what a provider of inspect's raises is of many libraries
            if (failed := failure_of(error, self._info.name)) is not None:
                raise failed from error
            told = f"{type(error).__name__}: {error}".partition("\n")[0]
            raise ModelError("bad_request", told, model=self._info.name) from error

    async def close(self) -> None:
        """Inspect closes its models."""

    def _reply(self, output: ModelOutput) -> ModelReply:
        if output.error:
            raise ModelError("bad_request", output.error, model=self._info.name)
        used = output.usage
        cached = (used.input_tokens_cache_read or 0) if used else 0
        written = (used.input_tokens_cache_write or 0) if used else 0
        return ModelReply(
            output.completion,
            FINISH.get(str(output.stop_reason), "other"),
            Usage(calls=1, calls_unmeasured=1)
            if used is None
            else Usage(1, used.input_tokens + cached + written, used.output_tokens, cached),
            model=output.model,
            cost=None if used is None else used.total_cost,
            seconds=output.time or 0.0,
            source=self._info.name,
        )


def _told(message: Message) -> ChatMessage:
    from inspect_ai.model import ChatMessageAssistant, ChatMessageSystem, ChatMessageUser

    if message.role == "system":
        return ChatMessageSystem(content=paired(message.text))
    of = ChatMessageUser if message.role == "user" else ChatMessageAssistant
    return of(content=paired(message.text))


def _config(request: ModelRequest) -> GenerateConfig:
    """What inspect can be told of a request; what is not set stays as inspect was told."""
    from inspect_ai.model import GenerateConfig

    return GenerateConfig(
        max_tokens=request.max_tokens,
        temperature=request.temperature,
        seed=request.seed,
        stop_seqs=list(request.stop) or None,
    )
