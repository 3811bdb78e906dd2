"""A submitted value made to fit a JSON schema, where that takes no guess.

Contract: :func:`fit` gives back the value with what JSON has no word for as the nearest thing that it
has (a tuple is a list, a date its ISO text), and with "42" as 42 where a number is wanted ("1,030" as 1030
where that can be nothing else), 42 as "42" where a text is, "Yes." as "yes" where that is the one option
meant. It never drops a field and never makes one up; whether the result fits is for
:meth:`unspool.schema.Schema.check` to say.

>>> from unspool.schema import Schema
>>> fit(Schema({"type": "object", "properties": {"n": {"type": "integer"}}}), {"n": "42", "t": (1, 2)})
{'n': 42, 't': [1, 2]}
>>> fit(Schema({"type": "integer"}), "many")
'many'
"""

from __future__ import annotations

import datetime
import decimal
import enum
import re
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .schema import Schema

_INTEGER = re.compile(r"\s*[+-]?\d{1,4000}\s*")
_NUMBER = re.compile(r"\s*[+-]?(\d+(\.\d*)?|\.\d+)([eE][+-]?\d+)?\s*")
_GROUPED = re.compile(
    r"[+-]?[1-9]\d{0,2}(?P<groups>(?P<sign>[,'’\u00a0\u2009\u202f])\d{3}(?:(?P=sign)\d{3}){0,1000})"
    r"(?P<rest>\.\d*)?"
)
_AROUND = " \t\r\n.\"'`“”„‘’«»"  # what may stand around an option
_WORDS = {"true": True, "false": False}


def fit(schema: Schema, value: object) -> object:
    """The value, nearer to the schema."""
    schema.begin(value)
    return _Fitting(schema).value(schema.json, value, 0)


class _Fitting:
    def __init__(self, schema: Schema) -> None:
        self._whole = schema

    def value(self, schema: object, value: object, depth: int) -> object:
        self._whole.step()
        value = _as_json(value)
        if not isinstance(schema, Mapping) or depth > 64:
            return self._nested({}, value, depth)
        if "$ref" in schema:
            try:
                target = self._whole.target(schema["$ref"])
            except ValueError:  # it leads nowhere: the check says so
                return value
            return self.value(target, value, depth + 1)
        options = schema.get("anyOf") or schema.get("oneOf")
        if isinstance(options, list):
            return self._first(options, value, depth)
        value = _as_option(schema, _as_kind(schema.get("type"), value))
        return self._nested(schema, value, depth)

    def _first(self, options: list[object], value: object, depth: int) -> object:
        """As the first option that takes it as it is, else the first that takes it when it is fitted."""
        plain = self._nested({}, value, depth)
        if any(self._whole.takes(option, plain) for option in options):
            return plain
        fitted = (self.value(option, value, depth + 1) for option in options)
        return next(
            (each for each, o in zip(fitted, options, strict=True) if self._whole.takes(o, each)), plain
        )

    def _nested(self, schema: Mapping[str, object], value: object, depth: int) -> object:
        if depth > 64:
            return value
        if isinstance(value, dict):
            known = schema.get("properties")
            known = known if isinstance(known, Mapping) else {}
            rest = schema.get("additionalProperties")
            return {key: self.value(known.get(key, rest), item, depth + 1) for key, item in value.items()}
        if isinstance(value, list):
            first = schema.get("prefixItems")
            first = first if isinstance(first, list) else []
            rest = schema.get("items")
            return [
                self.value(first[place] if place < len(first) else rest, item, depth + 1)
                for place, item in enumerate(value)
            ]
        return value


def _as_json(value: object) -> object:
    if isinstance(value, enum.Enum):
        return value.value
    if isinstance(value, tuple):
        return list(value)
    if isinstance(value, set | frozenset):
        return sorted(value, key=lambda item: (type(item).__name__, repr(item)))
    if isinstance(value, datetime.date | datetime.time):
        return value.isoformat()
    if isinstance(value, decimal.Decimal) and value.is_finite():
        return int(value) if value == value.to_integral_value() else float(value)
    return value


def _as_kind(kinds: object, value: object) -> object:
    """A scalar as the first of the kinds that it can be read as, where it is none of them."""
    names = kinds if isinstance(kinds, list) else [kinds]
    if isinstance(value, float) and value.is_integer() and "integer" in names and "number" not in names:
        return int(value)
    if any(str(name) not in _IS or _IS[str(name)](value) for name in names):
        return value
    for name in names:
        if name in ("integer", "number") and isinstance(value, str):
            plain = _ungrouped(value, whole="number" not in names)
            if _INTEGER.fullmatch(plain):
                return int(plain)
            if name == "number" and _NUMBER.fullmatch(plain):
                return float(plain)
        if name == "boolean" and isinstance(value, str) and value.strip().lower() in _WORDS:
            return _WORDS[value.strip().lower()]
        if name == "string" and isinstance(value, int | float) and not isinstance(value, bool):
            return str(value)
    return value


def _ungrouped(text: str, *, whole: bool) -> str:
    """A number without the separators of its thousands, where these can be nothing else: a single comma may
    begin a fraction, if no ``whole`` number is wanted.

    >>> _ungrouped("1,030", whole=True), _ungrouped("1,030", whole=False), _ungrouped("1,030.5", whole=False)
    ('1030', '1,030', '1030.5')
    >>> _ungrouped("1,03", whole=True), _ungrouped("1,234'567", whole=True)
    ('1,03', "1,234'567")
    """
    found = _GROUPED.fullmatch(text.strip())
    if found is None:
        return text
    sign = found["sign"]
    if sign == "," and not whole and found["groups"].count(sign) == 1 and not found["rest"]:
        return text
    return text.strip().replace(sign, "")


def _as_option(schema: Mapping[str, object], value: object) -> object:
    """A text as the one of the options that it differs from in case, quotes and a full stop alone."""
    options = [schema["const"]] if "const" in schema else schema.get("enum")
    if not isinstance(value, str) or not isinstance(options, list) or value in options:
        return value
    bare = _bare(value)
    near = [option for option in options if isinstance(option, str) and bare and _bare(option) == bare]
    return near[0] if len(near) == 1 else value


def _bare(text: str) -> str:
    return text.strip(_AROUND).casefold()


def _number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


_IS: Mapping[str, Callable[[object], bool]] = {
    "integer": _number,
    "number": _number,
    "string": lambda value: isinstance(value, str),
    "boolean": lambda value: isinstance(value, bool),
    "null": lambda value: value is None,
    "array": lambda value: isinstance(value, list),
    "object": lambda value: isinstance(value, dict),
}
