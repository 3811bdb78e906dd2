"""Calls of a client's tools as an answer: the types of several tools stand in one, and each means what it meant."""

from __future__ import annotations

from typing import Any

import pytest

from unspool.schema import Schema
from unspool.server.calls import Tool, calls_of

LEAF = {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}
INNER = {"type": "object", "$defs": {"Q": LEAF}, "properties": {"q": {"$ref": "#/$defs/P/$defs/Q"}}}


def misfit(schema: Any, value: Any) -> str | None:
    try:
        Schema(schema).check(value)
    except ValueError as error:
        return str(error)
    return None


def tool(properties: Any, **more: Any) -> Tool:
    return Tool("first", {"type": "object", "properties": properties, **more}, "")


OTHER = Tool("other", {"type": "object", "properties": {"x": {"type": "string"}}, "required": ["x"]}, "")
LIST = {"type": "array", "items": {"$ref": "#"}}


@pytest.mark.parametrize(
    ("one", "right", "wrong"),
    [
        (tool({"a": {"$ref": "#/$defs/L"}}, **{"$defs": {"L": LEAF}}), {"a": {"n": 1}}, {"a": {"n": "x"}}),
        (tool({"a": {"$ref": "#/definitions/L"}}, definitions={"L": LEAF}), {"a": {"n": 1}}, {"a": {}}),
        (tool({"b": LEAF, "a": {"$ref": "#/properties/b"}}), {"a": {"n": 1}}, {"a": {}}),
        (tool({"a": {"$ref": "#/$defs/P"}}, **{"$defs": {"P": INNER}}), {"a": {"q": {"n": 1}}}, {"a": {"q": {}}}),
        (tool({"kids": LIST}), {"kids": [{"kids": []}]}, {"kids": [{"kids": 1}]}),
        (tool({"$defs": {"type": "integer"}}), {"$defs": 1}, {"$defs": "x"}),
        (tool({"default": {"$ref": "#/$defs/L"}}, **{"$defs": {"L": LEAF}}), {"default": {"n": 1}}, {"default": {}}),
        (tool({"a": {"const": {"$ref": "#/x"}}}), {"a": {"$ref": "#/x"}}, {"a": {"$ref": "#/$defs/0/x"}}),
    ],
)  # fmt: skip
def test_references_lead_to_where_they_led(one: Tool, right: Any, wrong: Any) -> None:
    """Alone, and beside another tool and an answer."""

    assert misfit(one.parameters, right) is None
    assert misfit(one.parameters, wrong) is not None
    both = calls_of([one, OTHER], {"type": "string"}).schema
    assert misfit(both, {"tool_calls": [{"tool": "first", "arguments": right}]}) is None
    assert misfit(both, {"tool_calls": [{"tool": "first", "arguments": wrong}]}) is not None
    assert misfit(both, {"answer": "text"}) is None


def test_what_is_wrong_is_told_of_the_tool_that_is_called() -> None:
    tools = [
        Tool(f"t{n}", {"type": "object", "properties": {"a": {"type": "integer"}}}, "") for n in range(9)
    ]
    told = str(
        misfit(calls_of(tools, None).schema, {"tool_calls": [{"tool": "t7", "arguments": {"a": "x"}}]})
    )
    assert "arguments.a" in told
    assert "t0" not in told
