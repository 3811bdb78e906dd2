"""A wanted JSON schema on its way to a model: enforced by the provider, or asked for in words.

Contract: pure functions. What a reply has to fit is checked by the caller in any case.

>>> is_closed({"type": "object", "properties": {}, "additionalProperties": False})
True
>>> is_closed({"type": "array", "items": {"type": "object"}})
False
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace

from ..schema import VALUE
from .protocol import Message


def is_closed(schema: object) -> bool:
    """Whether every object in it says that it has no other fields: some providers take no other schema."""
    if isinstance(schema, Mapping):
        is_object = schema.get("type") == "object" or "properties" in schema
        if is_object and schema.get("additionalProperties") is not False:
            return False
        return all(is_closed(part) for part in schema.values())
    if isinstance(schema, Sequence) and not isinstance(schema, str | bytes):
        return all(is_closed(part) for part in schema)
    return True


def as_object(schema: Mapping[str, object]) -> Mapping[str, object]:
    """A schema that has an object at its root, as providers want it: other values in a field of one.

    >>> as_object({"type": "integer"})["properties"]
    {'value': {'type': 'integer'}}
    """
    if schema.get("type") == "object" or "$ref" in schema or "properties" in schema:
        return schema
    inner = {key: part for key, part in schema.items() if key not in ("$defs", "$schema")}
    return {
        "type": "object",
        "properties": {VALUE: inner},
        "required": [VALUE],
        "additionalProperties": False,
        **({"$defs": schema["$defs"]} if "$defs" in schema else {}),
    }


def in_words(messages: Sequence[Message], schema: Mapping[str, object]) -> tuple[Message, ...]:
    """The messages with the schema at the end of the last one.

    >>> print(in_words((Message("user", "How many?"),), {"type": "integer"})[0].text)
    How many?
    <BLANKLINE>
    Reply with JSON that fits this JSON schema, and nothing else: {"type": "integer"}
    """
    *before, last = messages
    asked = f"Reply with JSON that fits this JSON schema, and nothing else: {json.dumps(schema)}"
    return (*before, replace(last, text=f"{last.text}\n\n{asked}"))
