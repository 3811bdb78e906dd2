"""What an agent wants of a reply, as the type of a run's answer: text, JSON, calls of the agent's tools.

Contract: pure. Calls are answers of a type, as they are in ``unspool serve`` (:mod:`unspool.server.calls`),
and an output tool is one tool more. :meth:`Wanted.parts` makes of what was submitted what pydantic-ai
expects.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ..events import RunEnded
from ..safe_text import paired
from ..server.calls import Calls, Tool, calls_of, unknown_tools
from ..server.problems import Problem
from ..server.question import Question, checked
from ..server.told import text_of

if TYPE_CHECKING:
    from pydantic_ai.messages import TextPart, ToolCallPart
    from pydantic_ai.models import ModelRequestParameters
    from pydantic_ai.settings import ModelSettings
    from pydantic_ai.tools import ToolDefinition

WRAPPED = "response"  # what pydantic-ai calls the field


@dataclass(frozen=True, slots=True)
class Wanted:
    """``schema``: what the answer has to fit, where no tool may be called; ``calls``: where some may.

    ``as_text``: an answer of its own is text, and no JSON value. ``wrapped``: pydantic-ai wants the
    answer, which is no object, as this field of one.
    """

    schema: Mapping[str, object] | None = None
    calls: Calls | None = None
    as_text: bool = True
    wrapped: str | None = None

    def parts(self, ended: RunEnded, question: Question) -> list[TextPart | ToolCallPart]:
        """The parts of the reply."""
        from pydantic_ai.messages import TextPart, ToolCallPart

        if self.calls is None and self.wrapped is not None:
            return [TextPart(_json({self.wrapped: ended.answer}))]
        if self.calls is None:
            return [TextPart(text_of(ended, question))]
        if (made := self.calls.made(ended.answer)) is not None:
            return [ToolCallPart(name, _json(arguments)) for name, arguments in made]
        said = self.calls.said(ended.answer)
        return [TextPart(paired(str(said)) if self.as_text else _json(said))]


def wanted(parameters: ModelRequestParameters, settings: ModelSettings | None) -> Wanted:
    """Raises :class:`Problem` for a type that answers cannot be checked with, or a choice of no tool."""
    tools, final = _chosen(parameters, settings)
    own = parameters.output_object.json_schema if parameters.output_object is not None else None
    if tools:
        known = [Tool(tool.name, tool.parameters_json_schema, tool.description or "") for tool in tools]
        answer = (own or {"type": "string"}) if final else None
        return Wanted(calls=calls_of(known, answer, "the agent's tools"), as_text=own is None)
    if not final:
        raise Problem(400, "tool_choice: there is no such tool, and no text may be the answer")
    if own is None:
        return Wanted()
    inner, wrapped = _unwrapped(own)
    return Wanted(checked(inner, "output_type"), as_text=False, wrapped=wrapped)


def _unwrapped(schema: Mapping[str, object]) -> tuple[Mapping[str, object], str | None]:
    """The type of the answer itself, where pydantic-ai has put one that is no object into a field of one, and
    the name of the field: a model would submit the answer as it is."""
    fields = schema.get("properties")
    if not isinstance(fields, dict) or list(fields) != [WRAPPED]:
        return schema, None
    shared = {key: schema[key] for key in ("$defs",) if key in schema}
    return {**fields[WRAPPED], **shared}, WRAPPED


def _chosen(
    parameters: ModelRequestParameters, settings: ModelSettings | None
) -> tuple[list[ToolDefinition], bool]:
    """The tools that may be called, and whether an answer of its own may end it."""
    from pydantic_ai.settings import ToolOrOutput

    functions, outputs = parameters.declared_function_tools, parameters.output_tools
    final = parameters.allow_text_output
    match (settings or {}).get("tool_choice"):
        case "none":
            return list(outputs), final
        case "required":
            return list(functions), False
        case ToolOrOutput(function_tools=names):
            _refuse_unknown(names, functions)
            return [tool for tool in functions if tool.name in names] + list(outputs), final
        case list(names):
            _refuse_unknown(names, (*functions, *outputs))
            return [tool for tool in (*functions, *outputs) if tool.name in names], False
    return [*functions, *outputs], final


def _refuse_unknown(names: Sequence[str], tools: Sequence[ToolDefinition]) -> None:
    known = [tool.name for tool in tools]
    if unknown := [name for name in names if name not in known]:
        raise unknown_tools(unknown, known)


def _json(value: object) -> str:
    return paired(json.dumps(value, ensure_ascii=False))
