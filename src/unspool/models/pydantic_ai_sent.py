"""What goes to a model of pydantic-ai's and what comes back: messages, settings, replies, failures.

Contract: no state, no I/O. A setting that their class says it ignores is not sent, so that it warns of
nothing that the user did not choose. A wanted schema is enforced by the provider where the model's profile
says that it can, and else asked for in words.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

from ..errors import ModelError
from ..images import Image
from ..safe_text import paired
from ..types import FailureKind, Usage
from .failures import scrub
from .protocol import Effort, Message, ModelReply, ModelRequest
from .replies import FINISH, code_of_call, split_thinking
from .schemas import as_object, in_words, is_closed
from .statuses import failure_of

if TYPE_CHECKING:
    from pydantic_ai import messages as theirs
    from pydantic_ai.models import Model, ModelRequestParameters
    from pydantic_ai.profiles import ModelProfile
    from pydantic_ai.settings import ModelSettings, ThinkingLevel
    from pydantic_ai.usage import RequestUsage

_EFFORTS: Mapping[Effort, ThinkingLevel] = {
    "off": False,
    "minimal": "minimal",
    "low": "low",
    "medium": "medium",
    "high": "high",
}


def messages_of(request: ModelRequest, profile: ModelProfile) -> list[theirs.ModelMessage]:
    """The conversation; what the user and the system say in a row is one request of theirs."""
    from pydantic_ai import messages as theirs

    said = request.messages
    if request.schema is not None and not _enforced(request.schema, profile):
        said = in_words(said, request.schema)
    sent: list[theirs.ModelMessage] = []
    parts: list[theirs.ModelRequestPart] = []
    for message in said:
        if message.role == "assistant":
            if parts:
                sent.append(theirs.ModelRequest(parts=parts))
            parts = []
            sent.append(theirs.ModelResponse(parts=[theirs.TextPart(paired(message.text))]))
        elif message.role == "system":
            parts.append(theirs.SystemPromptPart(paired(message.text)))
        else:
            parts.append(theirs.UserPromptPart(_content(message)))
    if parts:
        sent.append(theirs.ModelRequest(parts=parts))
    return sent


def _content(message: Message) -> str | list[theirs.UserContent]:
    from pydantic_ai.messages import BinaryContent

    def sent(image: Image) -> theirs.UserContent:
        return BinaryContent(image.data, media_type=image.media_type)

    text = paired(message.text)
    return [*map(sent, message.images), text] if message.images else text


def settings_of(request: ModelRequest, model: Model) -> ModelSettings:
    """``timeout`` and ``max_retries`` so that a send is one send; the rest as it is asked for."""
    settings: ModelSettings = {"timeout": request.timeout, "max_retries": 0}
    if request.max_tokens is not None:
        settings["max_tokens"] = request.max_tokens
    if request.temperature is not None:
        settings["temperature"] = request.temperature
    if request.seed is not None:
        settings["seed"] = request.seed
    if request.stop:
        settings["stop_sequences"] = list(request.stop)
    if request.effort is not None:
        settings["thinking"] = _EFFORTS[request.effort]
    for name in model.unsupported_settings:
        settings.pop(name, None)
    return settings


def parameters_of(request: ModelRequest, profile: ModelProfile) -> ModelRequestParameters:
    from pydantic_ai.models import ModelRequestParameters
    from pydantic_ai.output import OutputObjectDefinition

    if request.schema is None or not _enforced(request.schema, profile):
        return ModelRequestParameters()
    wanted = OutputObjectDefinition(json_schema=dict(as_object(request.schema)), name="reply")
    return ModelRequestParameters(output_mode="native", output_object=wanted)


def _enforced(schema: Mapping[str, object], profile: ModelProfile) -> bool:
    """Whether the provider enforces it; some take no schema that leaves an object open."""
    return bool(profile.get("supports_json_schema_output")) and is_closed(as_object(schema))


def read_reply(response: theirs.ModelResponse) -> ModelReply:
    """Our reply; without cost and time."""
    from pydantic_ai import messages as theirs

    parts = response.parts
    calls = [part for part in parts if isinstance(part, theirs.ToolCallPart)]
    thinking, text = split_thinking(_joined(p.content for p in parts if isinstance(p, theirs.TextPart)))
    thoughts = [part.content for part in parts if isinstance(part, theirs.ThinkingPart)]
    code = (code_of_call(call.args) for call in calls)
    told = response.finish_reason or ("tool_call" if calls else "stop")
    return ModelReply(
        text,
        FINISH.get(told, "other"),
        usage_of(response.usage),
        response.model_name or "",
        thinking="\n".join(filter(None, [*thoughts, thinking])),
        code=tuple(found for found in code if found is not None),
    )


def _joined(texts: Iterable[str]) -> str:
    return "".join(texts)


def usage_of(told: RequestUsage) -> Usage:
    """One call. Theirs has 0 for what was not told of cache and reasoning: that is not known here."""
    if told.unmeasured_requests or not told.has_values():
        return Usage(calls=1, calls_unmeasured=1)
    return Usage(
        calls=1,
        input_tokens=told.input_tokens,
        output_tokens=told.output_tokens,
        cached_tokens=told.cache_read_tokens or None,
        reasoning_tokens=told.output_reasoning_tokens or None,
    )


def failure(error: Exception, name: str) -> ModelError | None:
    """The typed error for what pydantic-ai raises; ``None`` for what is not its own."""
    from pydantic_ai import exceptions as theirs

    if isinstance(error, ModelError):
        return error
    if isinstance(error, theirs.FallbackExceptionGroup):
        return _of_group(error.exceptions, name)
    if isinstance(error, theirs.ContentFilterError):
        return _error("empty", error, name, "its content filter stopped the reply", paid=True)
    if isinstance(error, theirs.UnexpectedModelBehavior):
        return _error("server", error, name, "it sent a reply that cannot be read", paid=True)
    if isinstance(error, theirs.UserError):
        return _error("bad_request", error, name, "pydantic-ai cannot send this")
    if isinstance(error, theirs.ModelAPIError):
        return _of_api(error, name)
    return None


def _of_api(error: Exception, name: str) -> ModelError:
    from pydantic_ai import exceptions as theirs

    match error:
        case theirs.ModelAuthenticationError():
            return _error("auth", error, name, "it refused the key")
        case theirs.ModelQuotaExceededError():
            return _error("auth", error, name, "the account cannot pay")
        case theirs.ModelRateLimitError():
            return _error("rate_limit", error, name, "it allows no more requests now")
        case theirs.ModelContextWindowExceededError():
            return _error("too_long", error, name, "the prompt is too long: send slices of it")
        case theirs.ModelNotFoundError():
            return _error("unknown_model", error, name, "it was not found")
        case theirs.ModelRequestRejectedError():
            return _error("bad_request", error, name, "it refused the request")
        case theirs.ModelTimeoutError() | theirs.ModelRequestTimeout():
            return _error("timeout", error, name, "it took too long", paid=_arrived(error))
        case theirs.ModelConnectionError():
            return _error("connection", error, name, "no connection", paid=_arrived(error))
        case theirs.ModelServerError() | theirs.ModelUnavailableError():
            return _error("server", error, name, "it failed")
        case theirs.ModelHTTPError() if (failed := failure_of(error, name)) is not None:
            return failed
    return _error("server", error, name, "it sent what cannot be read", paid=True)


def _arrived(error: Exception) -> bool:
    """Whether a request may have reached the service."""
    return getattr(error, "phase", None) not in ("pool", "connect")


def _error(kind: FailureKind, error: Exception, name: str, what: str, *, paid: bool = False) -> ModelError:
    said = scrub(" ".join(str(error).split()), None)[:1000]
    after = getattr(error, "retry_after", None)
    return ModelError(
        kind,
        f"{name}: {what}: {said}",
        model=name,
        retry_after=after if isinstance(after, int | float) else None,
        unsure=paid,
    )


def _of_group(errors: Iterable[Exception], name: str) -> ModelError | None:
    """What every model of a list of theirs said; as the last of them failed."""
    failures = [failure(each, name) for each in errors]
    typed = [each for each in failures if each is not None]
    if not typed or len(typed) < len(failures):  # a mistake is among them
        return None
    last = typed[-1]
    return ModelError(
        last.kind if not last.fatal or all(each.fatal for each in typed) else "server",
        "every model of the list failed: " + "; ".join(each.message for each in typed),
        model=name,
        retryable=any(each.retryable for each in typed),
        unsure=any(each.unsure for each in typed),
    )
