"""What may be submitted: the wanted type, and the checks that hold for every answer.

Contract: :meth:`AnswerType.check` returns the value in the wanted type or raises ``ValueError``
with every field that does not fit and why. Without a wanted type every value passes. A type is
anything that pydantic takes, a DataFrame of pandas or polars alone or inside it, or a JSON schema.

>>> AnswerType(int).check("42")
42
>>> AnswerType({"type": "array", "items": {"type": "integer"}}).check(("1", 2))
[1, 2]
>>> AnswerType(None).check(["x"])
['x']
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from contextlib import suppress
from functools import cached_property
from types import BuiltinFunctionType, FunctionType
from typing import TYPE_CHECKING, cast

from .errors import ConfigError
from .fitting import fit
from .misfits import plainly
from .schema import Schema
from .type_names import library_of, name_of, read_type
from .types import FailedCall

if TYPE_CHECKING:
    from pydantic import TypeAdapter

SHOWN_SCHEMA = 1_000  # characters of a JSON schema shown to the model
SHOWN_MISFITS = 8
NOT_KEPT = "?"  # begins what a run keeps of a type that has no name and no schema
_NEAR = frozenset(("int_parsing", "float_parsing", "decimal_parsing", "literal_error", "enum"))  # pydantic's
_KEYWORDS = frozenset(
    ("type", "properties", "items", "prefixItems", "enum", "const", "anyOf", "oneOf", "allOf", "$ref")
)


class AnswerType:
    """The type an answer is checked against; ``None`` takes anything."""

    def __init__(self, wanted: object) -> None:
        self.wanted = wanted
        if wanted is not None:
            _ = self.words  # a type that cannot be checked is refused now, before money is spent

    @classmethod
    def kept_as(cls, text: object) -> AnswerType:
        """From what a run has kept of it, see :attr:`kept`."""
        if not isinstance(text, str):
            return cls(None)
        if text.startswith(NOT_KEPT):
            raise ConfigError(
                f"this run wants an answer of the type {text.removeprefix(NOT_KEPT)}, which a run cannot "
                "keep: give it again, answer=…"
            )
        return cls(json.loads(text) if text.startswith("{") else read_type(text))

    @cached_property
    def kept(self) -> str | None:
        """The type as text, for a run that is resumed: its name, or its JSON schema."""
        if self.wanted is None:
            return None
        if self._schema is not None:
            return json.dumps(self._schema.json)
        name = name_of(self.wanted)
        if name is not None:
            return name
        schema = self._json_schema
        return json.dumps(schema) if schema is not None else f"{NOT_KEPT}{_named(self.wanted)}"

    @cached_property
    def _schema(self) -> Schema | None:
        if not isinstance(self.wanted, Mapping):
            return None
        try:
            schema = Schema({str(key): part for key, part in self.wanted.items()})
            json.dumps(schema.json)
        except (ValueError, TypeError) as error:
            why = str(error).removeprefix("this is no JSON schema: ")
            raise ConfigError(f"answer= is no JSON schema: {why}") from None
        if not schema.json.keys() & _KEYWORDS:
            raise ConfigError(
                "answer= is no JSON schema: it says neither type nor properties. For named fields give a "
                "dataclass, a TypedDict or a pydantic model"
            )
        return schema

    @cached_property
    def _adapter(self) -> TypeAdapter[object]:
        from pydantic import (
            ConfigDict,
            PydanticSchemaGenerationError,
            PydanticUndefinedAnnotation,
            PydanticUserError,
            TypeAdapter,
        )

        if isinstance(self.wanted, str):
            raise ConfigError(f"answer={self.wanted!r} is text: give the type itself, or a JSON schema")
        if isinstance(self.wanted, FunctionType | BuiltinFunctionType):
            raise self._refused(TypeError("it is a function"))
        if isinstance(self.wanted, bool | int | float | bytes | list | tuple | set):
            kind_of = type(self.wanted).__name__
            raise self._refused(TypeError(f"it is a value. Give a type, such as {kind_of}, or a JSON schema"))
        wanted = self.wanted
        if self.tables or _is_typed_dict(wanted):
            from .wanted_types import prepared

            wanted = prepared(wanted)
        kind = cast("type[object]", wanted)  # or any other annotation that pydantic takes
        try:
            return TypeAdapter(kind, config=ConfigDict(coerce_numbers_to_str=True))
        except PydanticUserError as error:
            # A pydantic model or dataclass brings its own config and refuses a second one.
            if error.code != "type-adapter-config-unused":
                raise self._refused(error) from None
        except (PydanticSchemaGenerationError, PydanticUndefinedAnnotation, TypeError) as error:
            raise self._refused(error) from None
        try:
            return TypeAdapter(kind)
        except (PydanticUserError, PydanticSchemaGenerationError, PydanticUndefinedAnnotation) as error:
            raise self._refused(error) from None

    def _refused(self, error: Exception) -> ConfigError:
        why = str(error).partition("\n")[0]
        return ConfigError(f"answer={_named(self.wanted)} is no type that answers can have: {why}")

    @cached_property
    def tables(self) -> bool:
        """Whether a DataFrame is wanted, alone or somewhere inside."""
        if self.wanted is None or isinstance(self.wanted, Mapping | str):
            return False
        if name_of(self.wanted) is not None:
            return "DataFrame" in str(name_of(self.wanted))
        from .wanted_types import holds_table

        return holds_table(self.wanted)

    @cached_property
    def _json_schema(self) -> Mapping[str, object] | None:
        """What JSON can say of the type; ``None`` where that is nothing."""
        from pydantic import PydanticInvalidForJsonSchema, PydanticUserError

        try:
            return self._adapter.json_schema()
        except PydanticInvalidForJsonSchema:
            return None
        except PydanticUserError as error:
            raise self._refused(error) from None

    @cached_property
    def json_schema(self) -> Mapping[str, object] | None:
        """The type as a JSON schema; ``None`` where anything is taken, or JSON has no word for it."""
        if self.wanted is None or self.tables:
            return None
        return self._schema.json if self._schema is not None else self._json_schema

    @cached_property
    def words(self) -> str:
        """The wanted type in words for the prompt; empty where anything is taken."""
        if self.wanted is None:
            return ""
        schema: Mapping[str, object] | None = self._schema.json if self._schema else None
        if schema is None:
            _ = self._adapter
            if (library := library_of(self.wanted)) is not None:
                return f"a {library} DataFrame"
            name = name_of(self.wanted)
            if name is not None:
                return name
            schema = self._json_schema
        if schema is None:
            from .wanted_types import fields_of

            return f"{_named(self.wanted)}({fields_of(self.wanted)}), as a dict of these fields"
        text = json.dumps(_without_titles(schema), ensure_ascii=False)
        if len(text) > SHOWN_SCHEMA:
            text = text[:SHOWN_SCHEMA] + " … (cut; what does not fit is named when it is submitted)"
        return f"a value that fits this JSON schema: {text}"

    def takes_none(self) -> bool:
        """Whether None is an answer, as it is none where no type is wanted."""
        if self.wanted is None:
            return False
        try:
            return self.check(None) is None
        except ValueError:
            return False

    def received(self, value: object) -> object:
        """A value as it came out of a REPL that tells tables apart: DataFrames, or records where none is
        wanted. Raises ``ValueError``."""
        from .wanted_types import as_records, with_tables

        return with_tables(value) if self.tables else as_records(value)

    def _mended(self, value: object, wrong: set[str]) -> object | None:
        """The value with numbers and options as they are meant, where it is no more than that: a type that
        takes no text for a number says so in another way, and stays strict."""
        if wrong.isdisjoint(_NEAR) or (schema := self.json_schema) is None:
            return None
        try:
            return fit(Schema(schema), value)
        except ValueError:  # a type that JSON schema has no words for: there is nothing to mend by
            return None

    def check(self, value: object) -> object:
        if self.wanted is None:
            return value
        if self._schema is not None:
            return self._schema.check(fit(self._schema, value))
        from pydantic import ValidationError

        try:
            return self._adapter.validate_python(value)
        except ValidationError as error:
            mended = self._mended(value, {each["type"] for each in error.errors(include_url=False)})
            if mended is not None:
                with suppress(ValidationError):
                    return self._adapter.validate_python(mended)
            found = error.errors(include_url=False, include_context=False)
            lines = [
                f"{'.'.join(map(str, e['loc'])) or 'the value'}: {plainly(e['msg'])}{_got(e['input'])}"
                for e in found[:SHOWN_MISFITS]
            ]
            more = [f"and {len(found) - SHOWN_MISFITS:,} more"] if len(found) > SHOWN_MISFITS else []
            raise ValueError("; ".join([*lines, *more])) from None


def _got(value: object) -> str:
    """What was given in place of a scalar; of a collection, its kind says enough."""
    if value is None or isinstance(value, str | int | float):
        text = repr(value)
        return f", got {text if len(text) <= 60 else text[:57] + '…'}"
    return f", got a {type(value).__name__}"


def _named(kind: object) -> str:
    return kind.__qualname__ if isinstance(kind, type) else repr(kind)


def _is_typed_dict(kind: object) -> bool:
    from typing import is_typeddict

    return is_typeddict(kind) or bool(getattr(kind, "__args__", ()))


def _without_titles(schema: object) -> object:
    """pydantic's titles repeat the names."""
    if isinstance(schema, Mapping):
        return {
            key: _without_titles(part)
            for key, part in schema.items()
            if key != "title" or not isinstance(part, str)
        }
    return [_without_titles(part) for part in schema] if isinstance(schema, list) else schema


def failed_items(value: object) -> list[FailedCall]:
    """Every failed call inside a submitted value, at any depth."""
    if isinstance(value, FailedCall):
        return [value]
    if isinstance(value, Mapping):
        return [f for pair in value.items() for part in pair for f in failed_items(part)]
    if isinstance(value, list | tuple | set | frozenset):
        return [f for item in value for f in failed_items(item)]
    return []


def is_empty(value: object) -> bool:
    """Nothing at all: None or blank text. 0, False and [] are answers."""
    return value is None or (isinstance(value, str) and not value.strip())
