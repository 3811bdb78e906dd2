"""JSON schemas of sub-call replies: parse a reply, check it, say what does not fit.

Contract: the keywords that bound a value's shape are checked (type, enum, const, properties,
required, additionalProperties, items, prefixItems, min/max of items, length and number, anyOf,
oneOf, allOf, local ``$ref``, ``format`` of dates and times); ``pattern``, other formats and remote
references are not, on purpose: schemas come from code that a model wrote, and a general validator would
fetch addresses and run regular expressions of the model's choosing in the host.

>>> Schema({"type": "integer"}).parse("```json\\n3\\n```")
3
>>> Schema({"type": "integer"}).parse("1,030"), Schema({"enum": ["yes", "no"]}).parse("Yes.")
(1030, 'yes')
>>> Schema({"type": "integer"}).parse('"x"')
Traceback (most recent call last):
ValueError: the value: expected integer, got 'x'
"""

from __future__ import annotations

import datetime
import itertools
import json
import math
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from typing import cast

from . import references
from .errors import HostCallError
from .fitting import fit

_FENCE = re.compile(r"^[ \t]*```[a-zA-Z]*[ \t]*\n(.*?)\n?[ \t]*```[ \t]*$", re.DOTALL | re.MULTILINE)
_STARTS = 20  # places in a reply where JSON is looked for
STEPS, STEPS_EACH = 20_000, 50  # that a check may take: at least, and more for each value that is in a value
_DEPTH = 64  # nesting of schema and value, references included
_TYPES: Mapping[str, type | tuple[type, ...]] = {
    "object": dict,
    "array": (list, tuple),
    "string": str,
    "integer": int,
    "number": (int, float),
    "boolean": bool,
    "null": type(None),
}
_BOUNDS: Sequence[tuple[str, type | tuple[type, ...], bool, str]] = (
    ("minimum", (int, float), True, "at least"),
    ("maximum", (int, float), False, "at most"),
    ("minLength", str, True, "of length at least"),
    ("maxLength", str, False, "of length at most"),
    ("minItems", (list, tuple), True, "with a number of items of at least"),
    ("maxItems", (list, tuple), False, "with a number of items of at most"),
)
_FORMATS: Mapping[str, Callable[[str], object]] = {
    "date": datetime.date.fromisoformat,
    "date-time": datetime.datetime.fromisoformat,
    "time": datetime.time.fromisoformat,
}
VALUE = "value"  # the one field of an object that stands for a value that is none, see adapters


def _is(value: object, name: object) -> bool:
    kind = _TYPES.get(str(name))
    if kind is None:
        raise ValueError(f"this is no JSON schema: no type {name!r}; types: {', '.join(_TYPES)}")
    if isinstance(value, bool):
        return name == "boolean"
    if name == "integer" and isinstance(value, float):
        return value.is_integer()
    return isinstance(value, kind)


def _check_types(schema: object, depth: int = _DEPTH) -> None:
    """Refuses a schema with a type that there is not, such as "int", before a call is paid for."""
    if isinstance(schema, Mapping):
        kinds = schema.get("type")
        for name in kinds if isinstance(kinds, list) else [kinds]:
            if isinstance(name, str):
                _is(None, name)
    if depth and isinstance(schema, Mapping | list):
        for item in schema.values() if isinstance(schema, Mapping) else schema:
            _check_types(item, depth - 1)


def _check_choices(part: Mapping[str, object]) -> None:
    """Refuses a ``type`` or an ``enum`` that leaves no choice, or is none."""
    kinds = part.get("type", "null")
    if not isinstance(kinds, str) and not (
        isinstance(kinds, list) and kinds and all(isinstance(each, str) for each in kinds)
    ):
        raise ValueError(f"this is no JSON schema: no type {_short(kinds)}; types: {', '.join(_TYPES)}")
    options = part.get("enum", [None])
    if not isinstance(options, list) or not options:
        raise ValueError(f"this is no JSON schema: enum is {_short(options)}; it takes a list of values")


class Schema:
    """One JSON schema. Raises ``ValueError`` for a type or a reference to something that there is not, and
    where references alone let no value fit."""

    def __init__(self, schema: Mapping[str, object]) -> None:
        _check_types(schema)
        for part in references.parts(schema):
            _check_choices(part)
        references.check_ends(schema)
        self.json = dict(schema)
        self._left = STEPS

    @classmethod
    def of(cls, value: object) -> Schema | None:
        """From a host call's ``schema=``; ``None`` stays ``None``."""
        if value is None:
            return None
        if not isinstance(value, Mapping):
            raise HostCallError(
                "TypeError", 'schema= takes a JSON schema, e.g. {"type": "integer"}, or a type such as int'
            )
        try:
            return cls({str(key): item for key, item in value.items()})
        except ValueError as error:
            raise HostCallError("ValueError", str(error)) from None

    def check(self, value: object) -> object:
        """The value, or ``ValueError`` that names the first part that does not fit."""
        self.begin(value)
        for where, what in self._misfits(self.json, value, "", _DEPTH):
            raise ValueError(f"{where or 'the value'}: {what}")
        if (number := _no_number(value)) is not None:
            raise ValueError(f"the value: {_unknown(number)}")
        return value

    def fits(self, part: object, value: object) -> bool:
        """Whether a value fits a part of this schema."""
        self.begin(value)
        return self.takes(part, value) and _no_number(value) is None

    def takes(self, part: object, value: object) -> bool:
        """The same within the steps that :meth:`begin` gave."""
        return next(self._misfits(part, value, "", _DEPTH), None) is None

    def begin(self, value: object) -> None:
        """Gives steps for this value: references that combine references would take for ever."""
        self._left = STEPS + STEPS_EACH * sum(1 for _ in _parts(value))

    def step(self) -> None:
        """A part of the schema is held against a value. Raises ``ValueError`` where it is one too many."""
        self._left -= 1
        if self._left < 0:
            raise ValueError("the schema combines too many parts to be checked")

    def parse(self, text: str) -> object:
        """The value of a reply: JSON alone, in a fence or behind some words; text where text is wanted; what
        nearly fits is mended by :func:`unspool.fitting.fit`."""
        misfit = ""
        values = list(values_in(text))
        for found in values:
            try:
                return self.check(self._unwrapped(found))
            except ValueError as error:
                misfit = str(error)
        bare = text.strip()
        if bare and self._takes_text() and self.fits(self.json, bare):
            return bare
        for near in (*values, *map(self._unwrapped, values), bare):
            with suppress(ValueError):
                if self.fits(self.json, fitted := fit(self, near)):
                    return fitted
        raise ValueError(misfit or _no_json(text))

    def _takes_text(self) -> bool:
        """Whether a reply without quotes can be meant: a label, say."""
        options = self.json.get("enum")
        return self.json.get("type") == "string" or (
            isinstance(options, list) and all(isinstance(option, str) for option in options)
        )

    def _unwrapped(self, value: object) -> object:
        """What stands in an object that was only asked for to hold it."""
        wrapped = isinstance(value, dict) and set(value) == {VALUE}
        return value[VALUE] if wrapped and not self.fits(self.json, value) else value  # type: ignore[index]

    def _misfits(self, schema: object, value: object, where: str, depth: int) -> Iterator[tuple[str, str]]:
        self.step()
        if schema is True or not isinstance(schema, Mapping):
            if schema is False:
                yield where, "no value is allowed here"
            return
        if depth == 0:
            yield where, "nested too deeply"
            return
        if "$ref" in schema:
            yield from self._misfits(self.target(schema["$ref"]), value, where, depth - 1)
        if isinstance(value, float) and not math.isfinite(value):
            yield where, _unknown(value)
            return
        kinds = schema.get("type")
        if kinds is not None:
            names = kinds if isinstance(kinds, list) else [kinds]
            if not any(_is(value, name) for name in names):
                yield where, f"expected {' or '.join(map(str, names))}, got {_short(value)}"
                return
        for key, options in (("enum", schema.get("enum")), ("const", [schema.get("const")])):
            if key in schema and isinstance(options, list) and value not in options:
                yield where, f"expected one of {_short(options)}, got {_short(value)}"
        for key, kind, least, words in _BOUNDS:
            bound = schema.get(key)
            if not isinstance(bound, int | float) or not isinstance(value, kind) or isinstance(value, bool):
                continue
            size = value if isinstance(value, int | float) else len(cast("Sequence[object]", value))
            if size < bound if least else size > bound:
                yield where, f"expected a value {words} {bound}, got {_short(value)}"
        read = _FORMATS.get(str(schema.get("format")))
        if read is not None and isinstance(value, str):
            try:
                read(value)
            except ValueError:
                yield where, f"expected a {schema['format']} such as 2031-05-24, got {_short(value)}"
        yield from self._nested(schema, value, where, depth - 1)
        yield from self._combined(schema, value, where, depth - 1)

    def _nested(
        self, schema: Mapping[str, object], value: object, where: str, depth: int
    ) -> Iterator[tuple[str, str]]:
        if isinstance(value, Mapping):
            known = schema.get("properties")
            known = known if isinstance(known, Mapping) else {}
            required = schema.get("required")
            for name in required if isinstance(required, list) else []:
                if name not in value:
                    yield f"{where}.{name}".lstrip("."), "is missing"
            for name, item in value.items():
                inner = known.get(name, schema.get("additionalProperties", True))
                yield from self._misfits(inner, item, f"{where}.{name}".lstrip("."), depth)
        elif isinstance(value, Sequence) and not isinstance(value, str | bytes):
            first = schema.get("prefixItems")
            first = first if isinstance(first, list) else []
            for place, item in enumerate(value):
                inner = first[place] if place < len(first) else schema.get("items", True)
                yield from self._misfits(inner, item, f"{where}[{place}]", depth)

    def _combined(
        self, schema: Mapping[str, object], value: object, where: str, depth: int
    ) -> Iterator[tuple[str, str]]:
        for name in ("allOf", "anyOf", "oneOf"):
            options = schema.get(name)
            if not isinstance(options, list) or not options:
                continue
            misfits: list[tuple[str, str] | None] = []
            for option in options:
                misfits.append(next(self._misfits(option, value, where, depth), None))
                if misfits[-1] is None and name == "anyOf":  # the others need not be looked at
                    break
            fits = misfits.count(None)
            wrong = {"allOf": fits < len(options), "anyOf": fits == 0, "oneOf": fits != 1}[name]
            if wrong:
                first = _meant(options, value, misfits)
                yield first or (where, "fits more than one of the options")

    def target(self, reference: object) -> object:
        """Where a local reference like ``#/$defs/Item`` points."""
        return references.target(self.json, reference)


def values_in(text: str) -> Iterator[object]:
    """The JSON values that a reply may mean: the whole, else what is fenced, else the first that is in it."""
    for part in (text, *(found[1] for found in _FENCE.finditer(text))):
        try:
            value = json.loads(part)
        except (ValueError, RecursionError):
            continue
        yield value
        return
    decoder = json.JSONDecoder()
    for start in itertools.islice(re.finditer(r"[{\[]", text), _STARTS):
        try:
            value, _ = decoder.raw_decode(text, start.start())
        except (ValueError, RecursionError):
            continue
        yield value
        return


def _no_json(text: str) -> str:
    try:
        json.loads(text)
    except RecursionError:
        return "no JSON: it is nested too deeply"
    except ValueError as error:
        return f"no JSON: {error}"
    return "no JSON"


def _parts(value: object) -> Iterator[object]:
    """The values in a value, itself included."""
    rest = [value]
    while rest:
        yield (last := rest.pop())
        if isinstance(last, Mapping):
            rest.extend(last.values())
        elif isinstance(last, list | tuple):
            rest.extend(last)


def _no_number(value: object) -> float | None:
    """A float in it that JSON has no word for, wherever it is."""
    floats = (part for part in _parts(value) if isinstance(part, float))
    return next((part for part in floats if not math.isfinite(part)), None)


def _unknown(number: float) -> str:
    return f"got {number}, which JSON does not have: give a finite number"


def _short(value: object) -> str:
    text = repr(value)
    return text if len(text) <= 80 else text[:77] + "…"


def _meant(
    options: Sequence[object], value: object, misfits: Sequence[tuple[str, str] | None]
) -> tuple[str, str] | None:
    """What is wrong with the option whose constants the value has, else with the first."""
    for option, misfit in zip(options, misfits, strict=True):
        fields = option.get("properties") if isinstance(option, Mapping) else None
        told = {n: f["const"] for n, f in (fields or {}).items() if isinstance(f, Mapping) and "const" in f}
        if misfit and told and isinstance(value, Mapping) and all(value.get(n) == c for n, c in told.items()):
            return misfit
    return next((misfit for misfit in misfits if misfit is not None), None)
