"""Values that fit a JSON schema, or nearly, and such with one part replaced by anything."""

from __future__ import annotations

import copy
from typing import Any

from hypothesis import strategies as st

TEXT = st.text(max_size=12) | st.sampled_from(["", "user", "\ud800", "\x00", "data:;base64,%%%", "a" * 4_100])
JSON: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | TEXT | st.just(10**4_000),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXT, inner, max_size=3),
    max_leaves=6,
)


def values(schema: Any, parts: Any, depth: int = 0) -> st.SearchStrategy[Any]:
    """Values that fit a schema of the document, or nearly."""
    if "$ref" in schema:
        return values(parts[schema["$ref"].rsplit("/", 1)[1]], parts, depth + 1)
    if "anyOf" in schema:
        return st.one_of([values(option, parts, depth + 1) for option in schema["anyOf"]])
    if "enum" in schema or "const" in schema:
        return st.sampled_from(schema.get("enum") or [schema["const"]])
    match schema.get("type"):
        case "object" if "properties" in schema:
            needed = set(schema.get("required", ()))
            fields = {name: values(part, parts, depth + 1) for name, part in schema["properties"].items()}
            return st.fixed_dictionaries(
                {name: fields[name] for name in fields if name in needed},
                optional={name: fields[name] for name in fields if name not in needed},
            )
        case "array":
            return st.lists(values(schema.get("items", {}), parts, depth + 1), min_size=1, max_size=3)
        case "string":
            return TEXT
        case "integer":
            return st.integers(0, 5) | st.integers()
        case "number":
            return st.floats(0, 5) | st.floats()
        case "boolean":
            return st.booleans()
        case "null":
            return st.none()
    return JSON


def spoiled(data: st.DataObject, value: Any) -> Any:
    """One part of a body replaced by anything."""
    value = copy.deepcopy(value)
    holder, keys = value, []
    while isinstance(holder, dict | list) and holder:
        key = data.draw(st.sampled_from(list(holder) if isinstance(holder, dict) else range(len(holder))))
        keys.append((holder, key))
        holder = holder[key]
    if keys:
        place, key = data.draw(st.sampled_from(keys))
        place[key] = data.draw(JSON)
    return value
