"""Types that code in the REPL asks sub-calls for: as a JSON schema, and the reply as a value of the type.

Contract: :func:`schema_of` takes a JSON schema (as it is), Python's types and generics of them, ``Literal``,
``Enum``, dataclasses, ``TypedDict`` and named tuples made in a cell, and what pydantic takes where a model of
pydantic's is in it; ``TypeError`` says what to write for anything else. :func:`made` turns a reply that fits
the schema into the type, or raises ``ValueError``. Nothing but the standard library is needed.

>>> schema_of(list[int])
{'type': 'array', 'items': {'type': 'integer'}}
>>> made(tuple[str, float], ["a", 1])
('a', 1.0)
"""

from __future__ import annotations

import dataclasses
import datetime
import decimal
import enum
import sys
import types
import typing
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal, Union, cast, get_args, get_origin

Schema = dict[str, object]
MAX_DEPTH = 24

_PLAIN: Mapping[object, Schema] = {
    str: {"type": "string"},
    int: {"type": "integer"},
    float: {"type": "number"},
    bool: {"type": "boolean"},
    None: {"type": "null"},
    type(None): {"type": "null"},
    dict: {"type": "object"},
    list: {"type": "array"},
    tuple: {"type": "array"},
    set: {"type": "array"},
    frozenset: {"type": "array"},
    object: {},
    Any: {},
    decimal.Decimal: {"type": "number"},
    datetime.datetime: {"type": "string", "format": "date-time"},
    datetime.date: {"type": "string", "format": "date"},
    datetime.time: {"type": "string", "format": "time"},
}
_READ: Mapping[object, Callable[[str], object]] = {
    datetime.datetime: datetime.datetime.fromisoformat,
    datetime.date: datetime.date.fromisoformat,
    datetime.time: datetime.time.fromisoformat,
}
_LISTS: Mapping[object, Callable[[Sequence[object]], object]] = {
    list: list, tuple: tuple, set: set, frozenset: frozenset,
}  # fmt: skip


def schema_of(wanted: object) -> Schema | None:
    """The JSON schema of what ``schema=`` was given; ``None`` stays ``None``."""
    if wanted is None:
        return None
    if isinstance(wanted, dict):
        return _as_given(wanted)
    if _of_pydantic(wanted):
        return cast(Schema, _adapter(wanted).json_schema())
    return _schema(wanted, 0)


def _as_given(wanted: dict[object, object]) -> Schema:
    """A JSON schema; or the short form ``{"name": str, "age": int}`` of an object with these fields."""
    schema = {str(key): part for key, part in wanted.items()}
    if wanted and all(not isinstance(part, str | dict | list | int) for part in wanted.values()):
        return _object({name: _schema(part, 1) for name, part in schema.items()}, list(schema))
    return schema


def _schema(wanted: object, depth: int) -> Schema:
    if depth > MAX_DEPTH:
        raise TypeError("schema=: the type goes round in circles, or is nested too deeply")
    try:
        if wanted in _PLAIN:
            return dict(_PLAIN[wanted])
    except TypeError:  # it has no hash
        raise _unknown(wanted) from None
    origin, args = get_origin(wanted), get_args(wanted)
    if origin is Literal:
        return {"enum": list(args)}
    if origin is typing.Annotated:
        return _schema(args[0], depth)
    if origin in (Union, types.UnionType):
        return {"anyOf": [_schema(arg, depth + 1) for arg in args]}
    if origin is dict and len(args) == 2:
        return {"type": "object", "additionalProperties": _schema(args[1], depth + 1)}
    if origin is tuple and ... not in args:
        items = [_schema(arg, depth + 1) for arg in args]
        return {"type": "array", "prefixItems": items, "minItems": len(items), "maxItems": len(items)}
    if origin in _LISTS or (origin is not None and _is_sequence(origin)):
        return {"type": "array", "items": _schema(args[0], depth + 1)}
    if isinstance(wanted, type) and issubclass(wanted, enum.Enum):
        return {"enum": [member.value for member in wanted]}
    fields = _fields(wanted)
    if fields is None:
        raise _unknown(wanted)
    hints, required = fields
    return _object({name: _schema(hint, depth + 1) for name, hint in hints.items()}, required)


def _object(properties: Mapping[str, Schema], required: list[str]) -> Schema:
    """Closed, as some providers enforce no other."""
    return {
        "type": "object", "properties": dict(properties), "required": required, "additionalProperties": False,
    }  # fmt: skip


def _is_sequence(origin: object) -> bool:
    return (
        isinstance(origin, type) and issubclass(origin, Sequence) and origin.__module__ == "collections.abc"
    )


def _unknown(wanted: object) -> TypeError:
    name = wanted.__name__ if isinstance(wanted, type) else repr(wanted)[:60]
    return TypeError(
        f'schema={name} is no type of a reply; give a JSON schema, e.g. {{"type": "integer"}}, a type '
        "such as int, list[str] or Literal['a', 'b'], an Enum, a dataclass or a pydantic model"
    )


def _fields(wanted: object) -> tuple[dict[str, object], list[str]] | None:
    """The fields of a class with their types, and those that have no default; ``None`` for other classes."""
    if not isinstance(wanted, type):
        return None
    if dataclasses.is_dataclass(wanted):
        known = {f.name: f for f in dataclasses.fields(wanted) if f.init}
        hints = {name: hint for name, hint in _hints(wanted).items() if name in known}
        missing = dataclasses.MISSING
        needed = [n for n, f in known.items() if f.default is missing and f.default_factory is missing]
        return hints, needed
    if typing.is_typeddict(wanted):
        optional = cast("frozenset[str]", getattr(wanted, "__optional_keys__", frozenset()))
        hints = {name: _bare(hint) for name, hint in _hints(wanted).items()}
        return hints, [name for name in hints if name not in optional]
    if issubclass(wanted, tuple) and hasattr(wanted, "_fields"):
        hints = {name: _hints(wanted).get(name, object) for name in wanted._fields}
        return hints, [name for name in hints if name not in wanted._field_defaults]  # type: ignore[attr-defined]
    return None


def _bare(hint: object) -> object:
    """The type in ``Required[…]`` or ``NotRequired[…]``."""
    return get_args(hint)[0] if get_origin(hint) in (typing.Required, typing.NotRequired) else hint


def _hints(wanted: type) -> dict[str, object]:
    try:
        return typing.get_type_hints(wanted)
    except NameError as error:
        raise TypeError(f"schema={wanted.__name__}: {error}") from None


def _of_pydantic(wanted: object, depth: int = 0) -> bool:
    pydantic = sys.modules.get("pydantic")
    if pydantic is None or depth > MAX_DEPTH:
        return False
    if isinstance(wanted, type) and issubclass(wanted, pydantic.BaseModel):
        return True
    if isinstance(wanted, type) and hasattr(wanted, "__pydantic_fields__"):
        return True
    return any(_of_pydantic(arg, depth + 1) for arg in get_args(wanted))


def _adapter(wanted: object) -> Any:
    return sys.modules["pydantic"].TypeAdapter(wanted)


def made(wanted: object, value: object) -> object:
    """A reply, which fits the schema of the type, as the type. Raises ``ValueError`` where it cannot be."""
    if wanted is None:
        return value
    if isinstance(wanted, dict):
        types_alone = wanted and all(not isinstance(p, str | dict | list | int) for p in wanted.values())
        if not types_alone or not isinstance(value, dict):
            return value
        return {key: _made(wanted[key], item) if key in wanted else item for key, item in value.items()}
    if _of_pydantic(wanted):
        return _adapter(wanted).validate_python(value)  # its ValidationError is a ValueError
    return _made(wanted, value)


def as_wanted(wanted: object, value: object, error: Callable[[str, str], Exception]) -> object:
    """The same, with the error that a failed sub-call raises."""
    try:
        return made(wanted, value)
    except (ValueError, TypeError, ArithmeticError) as why:  # whatever a class of the model's own raises
        name = getattr(wanted, "__name__", wanted)
        raise error("schema", f"the reply makes no {name}: {why}") from None


def all_as_wanted(wanted: object, values: Sequence[object], failed: type) -> list[object]:
    """The same for each item of a batch; one that cannot be made is a failed one."""

    class Refused(Exception):
        pass

    done: list[object] = []
    for value in values:
        try:
            done.append(value if isinstance(value, failed) else as_wanted(wanted, value, Refused))
        except Refused as why:
            done.append(failed(*why.args))
    return done


def _made(wanted: object, value: object) -> object:
    try:
        read = _READ.get(wanted)
    except TypeError:
        return value
    if read is not None:
        return read(cast(str, value))
    if wanted is float and isinstance(value, int):
        return float(value)
    if wanted is int and isinstance(value, float):
        return int(value)
    if wanted is decimal.Decimal:
        return decimal.Decimal(str(value))
    if wanted in _LISTS:
        return _LISTS[wanted](cast("Sequence[object]", value))
    origin, args = get_origin(wanted), get_args(wanted)
    if origin is typing.Annotated:
        return _made(args[0], value)
    if origin in (Union, types.UnionType):
        return _made(_option(args, value), value)
    if origin is dict and isinstance(value, dict):
        return {_key(args[0], key): _made(args[1], item) for key, item in value.items()}
    if isinstance(value, list) and origin is tuple and ... not in args:
        return tuple(_made(arg, item) for arg, item in zip(args, value, strict=True))
    if isinstance(value, list) and args and (origin in _LISTS or _is_sequence(origin)):
        return _LISTS.get(origin, list)([_made(args[0], item) for item in value])
    if isinstance(wanted, type) and issubclass(wanted, enum.Enum):
        return wanted(value)
    return _instance(wanted, value)


def _key(wanted: object, key: object) -> object:
    """A key, which JSON has as text only."""
    return int(key) if wanted is int and isinstance(key, str) else _made(wanted, key)


def _instance(wanted: object, value: object) -> object:
    fields = _fields(wanted)
    if fields is None or not isinstance(value, dict):
        return value
    parts = {name: _made(fields[0][name], item) for name, item in value.items() if name in fields[0]}
    return parts if typing.is_typeddict(wanted) else cast(Any, wanted)(**parts)


def _option(options: Sequence[object], value: object) -> object:
    """The one of several types that the value is of; the first that it can be made."""
    for option in options:
        kinds = _schema(option, 0).get("type")
        known = {"string": str, "integer": int, "number": float, "boolean": bool, "null": type(None)}
        kind = known.get(str(kinds), dict if kinds == "object" else list if kinds == "array" else object)
        if type(value) is not kind and not (kind is float and type(value) is int) and kind is not object:
            continue
        try:
            result = _made(option, value)
        except (ValueError, TypeError, KeyError):
            continue
        if get_origin(option) is not Literal or value in get_args(option):
            return option if result is not None or value is None else object
    return object
