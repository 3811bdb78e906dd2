"""What the two shapes of request share: the protocol that :mod:`.app` works with, and what both refuse.

>>> schema_of("json_object", None, "response_format")
{'type': 'object'}
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Protocol

from pydantic import JsonValue

from ..events import RunEnded
from .bodies import Body
from .calls import Calls, Tool, calls_of, unknown_tools
from .problems import Problem
from .question import Question, checked
from .running import Followed
from .told import Json


class Shape(Protocol):
    """One request, in the shape that it came in and goes out in."""

    @property
    def body(self) -> Body: ...

    @property
    def stream(self) -> bool: ...

    def question(self) -> Question: ...

    def whole(self, run: Followed, progress: str, ended: RunEnded) -> Json: ...

    def begin(self, run: Followed) -> Iterator[bytes]: ...

    def progress(self, run: Followed, text: str) -> Iterator[bytes]: ...

    def end(self, run: Followed, ended: RunEnded) -> Iterator[bytes]: ...

    def fail(self, run: Followed, problem: Problem) -> Iterator[bytes]: ...


def schema_of(kind: str, schema: Mapping[str, object] | None, field: str) -> Mapping[str, object] | None:
    """What the answer has to fit, of a format that a client asks for."""
    if kind == "text":
        return None
    if kind == "json_object":
        return {"type": "object"}
    if schema is None:
        raise Problem(400, f"{field}: is missing", code="missing_required_parameter", param=field)
    return checked(schema, field)


def forced(body: Body) -> Calls | None:
    """The tools of the client's that the reply has to call; it may choose among several."""
    choice = body.tool_choice
    if choice in (None, "auto", "none"):
        return None
    known = [tool for tool in map(_tool, body.tools or []) if tool is not None]
    name = _name(choice)
    if choice != "required" and name is None:
        raise Problem(
            400,
            "tool_choice: give auto, none, required, or one function by its name",
            code="unsupported_value",
            param="tool_choice",
        )
    chosen = [tool for tool in known if name in (None, tool.name)]
    if not chosen:
        raise unknown_tools([name] if name else [], [tool.name for tool in known])
    return calls_of(chosen, None)


def _name(choice: JsonValue) -> str | None:
    """Of the function that is chosen, in either shape."""
    if not isinstance(choice, dict) or choice.get("type") != "function":
        return None
    inner = choice.get("function", choice)
    name = inner.get("name") if isinstance(inner, dict) else None
    return name if isinstance(name, str) else None


def _tool(given: JsonValue) -> Tool | None:
    """A function; ``None`` for what is none, as tools of a provider's."""
    if not isinstance(given, dict) or given.get("type") != "function":
        return None
    inner = given.get("function", given)
    if not isinstance(inner, dict) or not isinstance(name := inner.get("name"), str):
        return None
    parameters, description = inner.get("parameters"), inner.get("description")
    return Tool(
        name,
        {"type": "object", **(parameters if isinstance(parameters, dict) else {})},
        description if isinstance(description, str) else "",
    )


def ignored(body: Body) -> list[str]:
    """What a reply says was left alone."""
    if not body.tools or body.tool_choice not in (None, "auto", "none"):
        return []
    return ["tools: were not given to the model, which answers with text or JSON"]
