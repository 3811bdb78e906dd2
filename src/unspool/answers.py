"""What may be submitted: the wanted type, and the checks that hold for every answer.

Contract: :meth:`AnswerType.check` returns the value in the wanted type or raises ``ValueError``
with every field that does not fit and why. Without a wanted type every value passes.

>>> AnswerType(int).check("42")
42
>>> AnswerType(None).check(["x"])
['x']
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from typing import TYPE_CHECKING, cast

from .errors import ConfigError
from .types import FailedCall

if TYPE_CHECKING:
    from pydantic import TypeAdapter

SHOWN_SCHEMA = 600  # characters of a JSON schema shown to the model


class AnswerType:
    """The type an answer is checked against; ``None`` takes anything."""

    def __init__(self, wanted: object) -> None:
        self.wanted = wanted
        if wanted is not None:
            _ = self.words  # a type that pydantic does not know is refused now, before money is spent

    @cached_property
    def _adapter(self) -> TypeAdapter[object]:
        from pydantic import ConfigDict, PydanticSchemaGenerationError, PydanticUserError, TypeAdapter

        wanted = cast("type[object]", self.wanted)  # or any other annotation that pydantic takes
        try:
            return TypeAdapter(wanted, config=ConfigDict(coerce_numbers_to_str=True))
        except PydanticUserError as error:
            # A pydantic model or dataclass brings its own config and refuses a second one.
            if error.code != "type-adapter-config-unused":
                raise ConfigError(
                    f"answer={self.wanted!r} is no type that answers can have: {error}"
                ) from None
            return TypeAdapter(wanted)
        except PydanticSchemaGenerationError as error:
            raise ConfigError(f"answer={self.wanted!r} is no type that answers can have: {error}") from None

    @cached_property
    def words(self) -> str:
        """The wanted type in words for the prompt; empty where anything is taken."""
        if self.wanted is None:
            return ""
        adapter = self._adapter
        if isinstance(self.wanted, type) and self.wanted in (int, float, bool, str):
            return self.wanted.__name__
        import json

        schema = json.dumps(adapter.json_schema(), ensure_ascii=False)
        if len(schema) > SHOWN_SCHEMA:
            schema = schema[:SHOWN_SCHEMA] + " …"
        return f"a value that fits this JSON schema: {schema}"

    def check(self, value: object) -> object:
        if self.wanted is None:
            return value
        from pydantic import ValidationError

        try:
            return self._adapter.validate_python(value)
        except ValidationError as error:
            lines = [
                f"{'.'.join(str(part) for part in e['loc']) or 'the value'}: {e['msg']}"
                for e in error.errors()
            ]
            raise ValueError("; ".join(lines)) from None


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
