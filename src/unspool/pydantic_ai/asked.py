"""A request of pydantic-ai's as a question, by the rule of ``unspool serve``.

Contract: the history becomes the messages of a chat request, and those become a question as a client's do:
there is one rule (:mod:`unspool.server.question`). Nothing is fetched. What has no place in it is a
:class:`Problem` that names it; thoughts of earlier replies are left out, as they are there. Feedback about a
reply that was no use is said with the question that it answered: the question stays the question.
"""

from __future__ import annotations

import base64
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

from pydantic import BaseModel, ValidationError

from ..server.bodies import ChatMessage, ChatPart, FileData, Options
from ..server.messages import turns_of_chat
from ..server.problems import Problem, of_validation
from ..server.question import Question, question_of
from .wanted import Wanted

if TYPE_CHECKING:
    from pydantic_ai import messages as theirs
    from pydantic_ai.models import ModelRequestParameters
    from pydantic_ai.settings import ModelSettings


class _Extra(BaseModel):
    """``extra_body``, as clients of ``unspool serve`` give it."""

    unspool: Options | None = None


def question(
    messages: Sequence[theirs.ModelMessage],
    settings: ModelSettings | None,
    parameters: ModelRequestParameters,
    wanted: Wanted,
) -> Question:
    """Raises :class:`Problem` where there is none."""
    system = _instructions(messages, parameters)
    chat = [ChatMessage(role="system", content=system)] if system else []
    for message in messages:
        if message.kind == "request":
            _request(message.parts, chat)
        else:
            chat.append(_replied(message))
    calls = wanted.calls
    schema = calls.schema if calls is not None else wanted.schema
    asked = question_of(turns_of_chat(chat), _options(settings), schema=schema)
    return asked if calls is None else calls.asked(asked)


def _options(settings: ModelSettings | None) -> Options | None:
    extra = (settings or {}).get("extra_body")
    if extra is None:
        return None
    try:
        return _Extra.model_validate(extra).unspool
    except ValidationError as error:
        raise of_validation(error) from None


def _instructions(messages: Sequence[theirs.ModelMessage], parameters: ModelRequestParameters) -> str:
    if parameters.instruction_parts is not None:
        return "\n\n".join(part.content.strip() for part in parameters.instruction_parts)
    told = [message.instructions for message in messages if message.kind == "request"]
    return next((words for words in reversed(told) if words), "")


def _request(parts: Iterable[theirs.ModelRequestPart], chat: list[ChatMessage]) -> None:
    """Adds what these say to the chat."""
    from pydantic_ai import messages as theirs

    for part in parts:
        match part:
            case theirs.SystemPromptPart():
                chat.append(ChatMessage(role="system", content=part.content))
            case theirs.UserPromptPart():
                chat.append(ChatMessage(role="user", content=_content(part.content)))
            case theirs.ToolReturnPart():
                said = [part.model_response_str(), *part.files]
                call = {"id": part.tool_call_id, "tool": part.tool_name}
                chat.append(_message("tool", said, [call]))
            case theirs.RetryFeedbackPart():
                _ask_again(part.model_response(), chat)
            case theirs.InstructionBaselinePart():
                pass  # hashes of instructions, no words
            case _:
                kind = type(part).__name__
                raise Problem(
                    400, f"messages: a {kind} is not read here: call prepare_messages of the model first"
                )


def _ask_again(feedback: str, chat: list[ChatMessage]) -> None:
    """The last question comes again behind the replies to it, with the feedback beside it."""
    place = max((place for place, said in enumerate(chat) if said.role == "user"), default=None)
    content = chat.pop(place).content if place is not None else []
    parts = [ChatPart(type="text", text=content)] if isinstance(content, str) else content or []
    chat.append(ChatMessage(role="user", content=[*parts, ChatPart(type="text", text=feedback)]))


def _replied(message: theirs.ModelResponse) -> ChatMessage:
    from pydantic_ai import messages as theirs

    said: list[theirs.UserContent] = []
    calls: list[object] = []
    for part in message.parts:
        match part:
            case theirs.TextPart():
                said.append(part.content)
            case theirs.FilePart():
                said.append(part.content)
            case theirs.CompactionPart():
                said += [part.content] if part.content else []
            case theirs.ToolCallPart():
                called = {"id": part.tool_call_id, "tool": part.tool_name, "arguments": part.args_as_dict()}
                calls.append(called)
    return _message("assistant", said, calls)


def _message(role: str, said: Sequence[theirs.UserContent], calls: Sequence[object]) -> ChatMessage:
    return ChatMessage.model_validate({"role": role, "content": _content(said), "tool_calls": calls or None})


def _content(content: str | Sequence[theirs.UserContent]) -> str | list[ChatPart]:
    if isinstance(content, str):
        return content
    return [part for each in content for part in _part(each)]


def _part(item: theirs.UserContent) -> list[ChatPart]:
    from pydantic_ai import messages as theirs

    match item:
        case str():
            return [ChatPart(type="text", text=item)]
        case theirs.TextContent():
            return [ChatPart(type="text", text=item.content)]
        case theirs.BinaryContent():
            return [_binary(item)]
        case theirs.ImageUrl(url=url):
            return [ChatPart(type="image_url", image_url=url)]
        case theirs.DocumentUrl(url=url):
            data = {"file_data": url} if url.startswith("data:") else {"file_id": url}
            return [ChatPart(type="file", file=FileData.model_validate(data))]
        case theirs.UploadedFile():
            return [ChatPart(type="file", file=FileData(file_data=None, file_id=item.file_id))]
        case theirs.CachePoint():
            return []
    return [ChatPart(type=type(item).__name__)]  # audio, video: refused by its name


def _binary(item: theirs.BinaryContent) -> ChatPart:
    data = f"data:{item.media_type};base64,{base64.b64encode(item.data).decode()}"
    if item.is_image:
        return ChatPart(type="image_url", image_url=data)
    if item.is_audio or item.is_video:
        return ChatPart(type=item.media_type)
    return ChatPart(type="file", file=FileData(filename=_name(item), file_data=data))


def _name(item: theirs.BinaryContent) -> str | None:
    """What the sender calls the file, where that is no hash of its content."""
    metadata: Mapping[str, object] = item.vendor_metadata or {}
    told = metadata.get("filename")
    return told if isinstance(told, str) else None
