"""What the two shapes of request share: the protocol that :mod:`.app` works with, and what both refuse.

>>> schema_of("json_object", None, "response_format")
{'type': 'object'}
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Protocol

from ..events import RunEnded
from .bodies import Body
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


def refuse_forced_tools(body: Body) -> None:
    """A client's tools are not called here; one that insists on it would wait for nothing."""
    if body.tool_choice in (None, "auto", "none"):
        return
    raise Problem(
        400,
        "tool_choice: an RLM answers with text or JSON and calls no tools of the client: use auto or none",
        code="unsupported_value",
        param="tool_choice",
    )


def ignored(body: Body) -> list[str]:
    """What a reply says was left alone."""
    return ["tools: were not given to the model, which answers with text or JSON"] if body.tools else []
