"""The bodies of requests, as pydantic models: what is read of OpenAI's, and ``unspool``, which is ours.

Contract: fields of OpenAI's that have no meaning here are taken and left alone; a field that is read and
has a wrong value is refused with its name. In ``unspool`` an unknown field is refused, too: it is a typing
error, and what it should have said would be lost.

>>> ChatBody.model_validate({"messages": [{"role": "user", "content": "hi"}], "top_p": 0.5}).model
'unspool'
"""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, JsonValue

from ..strategies import StrategyName

MODEL = "unspool"

Amount = Annotated[float, Field(ge=0, allow_inf_nan=False)]
Progress = Literal["lines", "code", "off"]


class Limits(BaseModel):
    """Limits of one run. They make those of the server tighter, never wider."""

    model_config = ConfigDict(extra="forbid", strict=True)

    usd: Amount | None = Field(None, description="US dollars, of all model calls.")
    tokens: Annotated[int, Field(gt=0, le=10**15)] | None = Field(None, description="Read and written.")
    calls: Annotated[int, Field(ge=0, le=10**15)] | None = Field(None, description="Sub-calls.")
    seconds: Annotated[float, Field(gt=0, allow_inf_nan=False)] | None = Field(
        None, description="Of the run; what is found by then is given as a draft."
    )


class Options(BaseModel):
    """What OpenAI's API has no word for."""

    model_config = ConfigDict(extra="forbid", strict=True)

    query: Annotated[str, Field(min_length=1)] | None = Field(
        None, description="The question, in place of the last user message, which becomes a context."
    )
    context: JsonValue = Field(
        None, description="The input, in place of what the rule takes from messages and files."
    )
    budget: Limits | None = None
    max_turns: Annotated[int, Field(ge=1, le=10**6)] | None = Field(
        None, description="Replies of the model at most."
    )
    max_depth: Annotated[int, Field(ge=0, le=100)] | None = Field(
        None, description="Levels of children at most."
    )
    strategy: StrategyName | None = Field(
        None, description="How the question is answered; null: the server's own way."
    )
    answer: dict[str, JsonValue] | None = Field(None, description="A JSON schema that the answer has to fit.")
    progress: Progress = Field("lines", description="What the reasoning tells of the run.")


def _as_it_is(value: object) -> object:
    """No number in the place of a truth value: for Python 0 is false."""
    if value is not None and not isinstance(value, bool):
        raise ValueError("give false, or leave it out")
    return value


No = Annotated[Literal[False] | None, BeforeValidator(_as_it_is)]


class _Lenient(BaseModel):
    model_config = ConfigDict(extra="allow", strict=True)


class FileData(_Lenient):
    """A file in a message. Only ``file_data`` is read: nothing is fetched, and no files are kept here."""

    filename: str | None = None
    file_data: str | None = Field(None, description="base64, or a data: URL.")
    file_id: str | None = None


class ImageUrl(_Lenient):
    """An image in a message: a ``data:`` URL. Nothing is fetched."""

    url: str


class ChatPart(_Lenient):
    """A part of a message: ``text``, ``file`` or ``image_url``."""

    type: str
    text: str | None = None
    refusal: str | None = None
    file: FileData | None = None
    image_url: ImageUrl | str | None = None


class ChatMessage(_Lenient):
    role: Literal["system", "developer", "user", "assistant", "tool", "function"]
    content: str | list[ChatPart] | None = None
    tool_calls: list[JsonValue] | None = None


class JsonSchema(_Lenient):
    name: str | None = None
    schema_: dict[str, JsonValue] | None = Field(None, alias="schema")


class ResponseFormat(_Lenient):
    type: Literal["text", "json_object", "json_schema"]
    json_schema: JsonSchema | None = None


class StreamOptions(_Lenient):
    include_usage: bool | None = None


class Body(_Lenient):
    """What both kinds of request have."""

    model: str = MODEL
    stream: bool | None = None
    tool_choice: JsonValue = None
    tools: list[JsonValue] | None = None
    unspool: Options | None = None


class ChatBody(Body):
    """``POST /v1/chat/completions``."""

    messages: Annotated[list[ChatMessage], Field(min_length=1)]
    n: Annotated[int, Field(ge=1, le=1)] | None = Field(None, description="One answer is given.")
    logprobs: No = Field(None, description="Not known of an answer.")
    response_format: ResponseFormat | None = None
    stream_options: StreamOptions | None = None


class InputPart(_Lenient):
    """A part of an item: ``input_text``, ``output_text``, ``refusal``, ``input_file``, ``input_image``."""

    type: str
    text: str | None = None
    refusal: str | None = None
    filename: str | None = None
    file_data: str | None = Field(None, description="base64, or a data: URL.")
    file_id: str | None = None
    file_url: str | None = None
    image_url: ImageUrl | str | None = Field(None, description="A data: URL.")


class InputItem(_Lenient):
    """A message, or what a client kept of an earlier turn."""

    type: str = "message"
    role: Literal["system", "developer", "user", "assistant"] | None = None
    content: str | list[InputPart] | None = None


class TextFormat(_Lenient):
    type: Literal["text", "json_object", "json_schema"]
    schema_: dict[str, JsonValue] | None = Field(None, alias="schema")


class TextOptions(_Lenient):
    format: TextFormat | None = None


class ResponsesBody(Body):
    """``POST /v1/responses``."""

    input: Annotated[str | list[InputItem], Field(min_length=1)]
    instructions: str | None = None
    text: TextOptions | None = None
    previous_response_id: None = Field(None, description="No replies are kept here: send the turns again.")
    conversation: None = Field(None, description="No conversations are kept here: send the turns again.")
    background: No = Field(None, description="A client that goes away ends its run.")
    metadata: dict[str, JsonValue] | None = None
