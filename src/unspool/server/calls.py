"""Calls of a client's tools, as the type of a run's answer.

Contract: pure. An RLM's reply is an answer that fits a type, so calls are answers, too. The type is "calls of
these tools" or "calls, or an answer of your own"; one tool that has to be called has its own type as that of
the answer. :meth:`Calls.made` reads what was submitted.

>>> calls = calls_of([Tool("weather", {"type": "object"}, "How it is.")], None)
>>> calls.schema, calls.made({"city": "Rome"})
({'type': 'object'}, [('weather', {'city': 'Rome'})])
>>> calls_of([Tool("weather")], {"type": "string"}).made({"answer": "Fine."}) is None
True
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from ..checks import near
from ..cli.plain import plain
from .problems import Problem
from .question import Question, checked

MOST_NAMED = 20  # tools in a refusal
CALLS, ANSWER = "tool_calls", "answer"
Json = Mapping[str, object]


@dataclass(frozen=True, slots=True)
class Tool:
    """A function of the client's: the JSON schema of its arguments, and what it is for."""

    name: str
    parameters: Json = field(default_factory=lambda: {"type": "object", "properties": {}})
    description: str = ""


@dataclass(frozen=True, slots=True)
class Calls:
    """``schema``: what the answer has to fit. ``instructions``: what the model is told of the tools.

    ``only``: the one tool whose arguments the answer is.
    """

    schema: Json
    instructions: str
    only: str | None = None

    def made(self, answer: object) -> list[tuple[str, object]] | None:
        """Names and arguments, in order; ``None`` where it is an answer of its own, see :meth:`said`."""
        submitted = plain(answer)
        if self.only is not None:
            return [(self.only, submitted)]
        assert isinstance(submitted, dict)  # it fits the schema
        if CALLS not in submitted:
            return None
        return [(call["tool"], call["arguments"]) for call in submitted[CALLS]]

    def said(self, answer: object) -> object:
        """The answer of its own."""
        submitted = plain(answer)
        assert isinstance(submitted, dict)
        return submitted[ANSWER]

    def asked(self, question: Question) -> Question:
        """The question with what the model has to know of the tools. Raises :class:`Problem` where
        ``unspool.answer`` wants something else."""
        if question.schema is not self.schema:
            raise Problem(
                400,
                "unspool.answer: the answer calls the tools that were chosen, so it has their type",
                code="invalid_value",
                param="unspool.answer",
            )
        told = f"{question.instructions}\n\n{self.instructions}".strip()
        return replace(question, instructions=told, calls=self)


def calls_of(tools: Sequence[Tool], final: Json | None, place: str = "tools") -> Calls:
    """``final``: the type of an answer of its own, where there may be one. Raises :class:`Problem` for a type
    that answers cannot be checked with; ``place`` names it."""
    if len(tools) == 1 and final is None:
        (tool,) = tools
        schema = checked(tool.parameters, f"{place}: {tool.name}")
        return Calls(schema, tool.description, only=tool.name)
    if not tools:
        raise Problem(400, f"{place}: there is none that could be called", param="tool_choice")
    for tool in tools:  # each by its own name, and by its own references
        checked(tool.parameters, f"{place}: {tool.name}")
    return Calls(checked(_either(tools, final), place), _told(tools, final is not None))


def unknown_tools(names: Sequence[str], known: Sequence[str]) -> Problem:
    """What there is to say of a choice of tools that are not there: all of them, and those that are."""
    guesses = ((name, near(name, known)) for name in names[:MOST_NAMED])
    told = ", ".join(f"{name[:60]!r}" + (f" ({guess[:60]}?)" if guess else "") for name, guess in guesses)
    told += f", and {len(names) - MOST_NAMED:,} more" if len(names) > MOST_NAMED else ""
    there = ", ".join(name[:60] for name in known[:MOST_NAMED]) + (", …" if len(known) > MOST_NAMED else "")
    what = f"there is no function {told}" if names else "there is no function"
    also = f"; there are: {there}" if known else " among the tools"
    return Problem(400, f"tool_choice: {what}{also}", code="invalid_value", param="tool_choice")


def _either(tools: Sequence[Tool], final: Json | None) -> Json:
    """Calls of these tools, or the answer."""
    definitions: dict[str, object] = {}
    calls = [
        _object(tool={"const": tool.name}, arguments=_placed(tool.parameters, f"{number}", definitions))
        for number, tool in enumerate(tools)
    ]
    options = [_object(**{CALLS: {"type": "array", "minItems": 1, "items": {"anyOf": calls}}})]
    if final is not None:
        options.append(_object(**{ANSWER: _placed(final, ANSWER, definitions)}))
    schema: Json = {"anyOf": options} if len(options) > 1 else options[0]
    return {**schema, "$defs": definitions} if definitions else schema


def _object(**fields: object) -> Json:
    return {"type": "object", "properties": fields, "required": [*fields], "additionalProperties": False}


_NAMED = frozenset(("properties", "patternProperties", "dependentSchemas", "$defs", "definitions"))
_VALUES = frozenset(("const", "enum", "default", "examples"))


def _placed(schema: Json, room: str, definitions: dict[str, object]) -> object:
    """A schema within a larger one: whole, under a name of its own, which its references lead to."""

    def moved(part: object) -> object:
        if isinstance(part, Mapping):
            return {key: within(key, value) for key, value in part.items()}
        return [moved(each) for each in part] if isinstance(part, list) else part

    def within(key: str, value: object) -> object:
        if key == "$ref":
            own = isinstance(value, str) and value.startswith("#")
            return f"#/$defs/{room}{str(value)[1:]}" if own else value
        if key in _NAMED and isinstance(value, Mapping):  # its keys are names, whatever they are
            return {name: moved(each) for name, each in value.items()}
        return value if key in _VALUES else moved(value)

    definitions[room] = moved(schema)
    return {"$ref": f"#/$defs/{room}"}


def _told(tools: Sequence[Tool], final: bool) -> str:
    form = f'{{"{CALLS}": [{{"tool": NAME, "arguments": {{…}}}}]}}'
    or_answer = (
        f' When you need none, submit {{"{ANSWER}": …}}.' if final else " An answer without one is refused."
    )
    return (
        "Who asks has tools, which no code can call. To have some called, submit "
        f"{form}: you are asked again, with what they gave in the conversation.{or_answer} The tools:\n"
        + "\n".join(_listed(tool) for tool in tools)
    )


def _listed(tool: Tool) -> str:
    said = " ".join(tool.description.split())
    arguments = json.dumps(tool.parameters, ensure_ascii=False)
    return (
        f"- {tool.name}: {said} Arguments: {arguments}" if said else f"- {tool.name}: arguments {arguments}"
    )
