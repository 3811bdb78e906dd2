"""What an agent wants of a reply, as the type of a run's answer: text, JSON, calls of the agent's tools.

Contract: pure. An RLM's reply is an answer that fits a type, so calls are answers, too: where an agent has
tools, the type is "calls of tools, or an answer", and :meth:`Wanted.parts` makes of what was submitted what
pydantic-ai expects. One output tool alone (``ToolOutput``) has its own type as that of the answer.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from ..cli.plain import plain
from ..events import RunEnded
from ..server.problems import Problem
from ..server.question import Question, checked
from ..server.told import text_of

if TYPE_CHECKING:
    from pydantic_ai.messages import TextPart, ToolCallPart
    from pydantic_ai.models import ModelRequestParameters
    from pydantic_ai.settings import ModelSettings
    from pydantic_ai.tools import ToolDefinition

CALLS, ANSWER = "tool_calls", "answer"
Json = Mapping[str, object]


@dataclass(frozen=True, slots=True)
class Wanted:
    """``schema``: what the answer has to fit; ``instructions``: what the model is told of the tools.

    ``tools``: those that may be called in place of an answer. ``only``: the one whose arguments it is.
    """

    schema: Json | None = None
    instructions: str = ""
    tools: Sequence[str] = field(default=())
    only: str | None = None
    as_text: bool = True  # the final answer is text, and no JSON value

    def parts(self, ended: RunEnded, question: Question) -> list[TextPart | ToolCallPart]:
        """The parts of the reply."""
        from pydantic_ai.messages import TextPart

        if self.only is not None:
            return [_call(self.only, plain(ended.answer))]
        if not self.tools:
            return [TextPart(text_of(ended, question))]
        submitted = plain(ended.answer)
        assert isinstance(submitted, dict)  # it fits the schema
        if CALLS in submitted:
            return [_call(call["tool"], call["arguments"]) for call in submitted[CALLS]]
        answer = submitted[ANSWER]
        return [TextPart(answer if self.as_text else json.dumps(answer, ensure_ascii=False))]


def wanted(parameters: ModelRequestParameters, settings: ModelSettings | None) -> Wanted:
    """Raises :class:`Problem` for a type that answers cannot be checked with, or a choice of no tool."""
    tools, final = _chosen(parameters, settings)
    own = parameters.output_object.json_schema if parameters.output_object is not None else None
    if not tools:
        if not final:
            raise Problem(400, "tool_choice: there is no such tool, and no text may be the answer")
        return Wanted() if own is None else Wanted(checked(own, "output_type"), as_text=False)
    if len(tools) == 1 and not final and tools[0].kind == "output":
        (tool,) = tools
        return Wanted(checked(tool.parameters_json_schema, tool.name), _about(tool), only=tool.name)
    schema = _either(tools, (own or {"type": "string"}) if final else None)
    return Wanted(
        checked(schema, "the agent's tools"),
        _told(tools, final),
        tools=tuple(tool.name for tool in tools),
        as_text=own is None,
    )


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
            return [tool for tool in functions if tool.name in names] + list(outputs), final
        case list(names):
            return [tool for tool in (*functions, *outputs) if tool.name in names], False
    return [*functions, *outputs], final


def _either(tools: Sequence[ToolDefinition], final: Json | None) -> Json:
    """Calls of these tools, or the answer."""
    definitions: dict[str, object] = {}
    calls = [
        _object(
            tool={"const": tool.name},
            arguments=_placed(tool.parameters_json_schema, f"{number}", definitions),
        )
        for number, tool in enumerate(tools)
    ]
    options = [_object(**{CALLS: {"type": "array", "minItems": 1, "items": {"anyOf": calls}}})]
    if final is not None:
        options.append(_object(**{ANSWER: _placed(final, ANSWER, definitions)}))
    schema: Json = {"anyOf": options} if len(options) > 1 else options[0]
    return {**schema, "$defs": definitions} if definitions else schema


def _object(**fields: object) -> Json:
    return {"type": "object", "properties": fields, "required": [*fields], "additionalProperties": False}


def _placed(schema: Json, room: str, definitions: dict[str, object]) -> object:
    """A schema within a larger one: what it defines goes to the top, under names of its own."""

    def moved(part: object) -> object:
        if isinstance(part, Mapping):
            return {
                key: _renamed(value, room) if key == "$ref" else moved(value)
                for key, value in part.items()
                if key != "$defs"
            }
        return [moved(each) for each in part] if isinstance(part, list) else part

    own = schema.get("$defs")
    for name, definition in (own if isinstance(own, Mapping) else {}).items():
        definitions[f"{room}.{name}"] = moved(definition)
    return moved(schema)


def _renamed(reference: object, room: str) -> object:
    start = "#/$defs/"
    if isinstance(reference, str) and reference.startswith(start):
        return f"{start}{room}.{reference.removeprefix(start)}"
    return reference


def _told(tools: Sequence[ToolDefinition], final: bool) -> str:
    form = f'{{"{CALLS}": [{{"tool": NAME, "arguments": {{…}}}}]}}'
    or_answer = (
        f' When you need none, submit {{"{ANSWER}": …}}.' if final else " An answer without one is refused."
    )
    return (
        "Who asks has tools, which no code can call. To have some called, submit "
        f"{form}: you are asked again, with what they gave in the conversation.{or_answer} The tools:\n"
        + "\n".join(_listed(tool) for tool in tools)
    )


def _listed(tool: ToolDefinition) -> str:
    said = " ".join((tool.description or "").split())
    arguments = json.dumps(tool.parameters_json_schema, ensure_ascii=False)
    return (
        f"- {tool.name}: {said} Arguments: {arguments}" if said else f"- {tool.name}: arguments {arguments}"
    )


def _about(tool: ToolDefinition) -> str:
    return tool.description or ""


def _call(name: str, arguments: object) -> ToolCallPart:
    from pydantic_ai.messages import ToolCallPart

    return ToolCallPart(name, json.dumps(arguments, ensure_ascii=False))
