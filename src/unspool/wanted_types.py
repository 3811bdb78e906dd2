"""What pydantic does not know of the types that answers and arguments may have: DataFrames, TypedDicts.

Contract: :func:`prepared` gives an annotation that pydantic takes in place of one that it does not:
DataFrames of pandas and polars, alone or inside a generic type, and ``typing.TypedDict`` on Python 3.11.
A DataFrame takes a table of the other library, a list of records or a dict of columns as well.

>>> holds_table(dict[str, int])
False
"""

from __future__ import annotations

import dataclasses
import importlib
import re
import sys
import types
import typing
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Annotated, Literal, Union, cast, get_args, get_origin

from .reach import dataframes
from .type_names import library_of

if TYPE_CHECKING:
    from pydantic import GetCoreSchemaHandler, GetJsonSchemaHandler
    from pydantic_core import CoreSchema

_DEPTH = 20
_OWN_TYPED_DICT = sys.version_info >= (3, 12)


def prepared(hint: object) -> object:
    """The annotation as pydantic takes it."""
    if (library := library_of(hint)) is not None:
        return Annotated[cast(type, hint), _Frame(library)]
    if typing.is_typeddict(hint):
        return _typed_dict(cast(type, hint))
    origin, args = get_origin(hint), get_args(hint)
    if origin is None or origin is Literal:
        return hint
    if origin is Annotated:
        return Annotated[(prepared(args[0]), *args[1:])]
    if origin in (Union, types.UnionType):
        return Union[tuple(prepared(arg) for arg in args)]  # noqa: UP007
    if not isinstance(origin, type) or any(isinstance(arg, list) for arg in args):
        return hint
    inner = tuple(arg if arg is ... else prepared(arg) for arg in args)
    return (
        hint if all(a is b for a, b in zip(inner, args, strict=True)) else types.GenericAlias(origin, inner)
    )


def _typed_dict(kind: type) -> object:
    import typing_extensions as more

    hints = typing.get_type_hints(kind, include_extras=True)
    if _OWN_TYPED_DICT and not any(holds_table(hint) for hint in hints.values()):
        return kind
    optional = cast("frozenset[str]", getattr(kind, "__optional_keys__", frozenset()))
    fields = {
        name: more.NotRequired[prepared(hint)] if name in optional else prepared(hint)
        for name, hint in hints.items()
    }
    return more.TypedDict(kind.__name__, fields)  # type: ignore[operator]


def holds_table(hint: object, depth: int = 0) -> bool:
    """Whether a DataFrame is the type, or is somewhere inside."""
    if library_of(hint) is not None or (isinstance(hint, str) and "DataFrame" in hint):
        return True
    if depth > _DEPTH:
        return False
    return any(holds_table(part, depth + 1) for part in (*get_args(hint), *_fields(hint).values()))


def fields_of(kind: object) -> str:
    """The fields of a class with their types, in words."""
    return ", ".join(f"{name}: {said(hint)}" for name, hint in _fields(kind).items())


def _fields(kind: object) -> Mapping[str, object]:
    if not isinstance(kind, type):
        return {}
    if (model := getattr(kind, "model_fields", None)) is not None:
        return {name: field.annotation for name, field in model.items()}
    if not dataclasses.is_dataclass(kind) and not typing.is_typeddict(kind):
        return {}
    try:
        return typing.get_type_hints(kind)
    except (NameError, TypeError):  # names that are not known here
        return dict(getattr(kind, "__annotations__", {}))


def said(hint: object) -> str:
    """An annotation in words: classes by their names alone."""
    origin, args = get_origin(hint), get_args(hint)
    if hint is ...:
        return "..."
    if not args or origin is None or origin is Literal:
        name = hint.__name__ if isinstance(hint, type) else hint if isinstance(hint, str) else repr(hint)
        return "None" if hint is type(None) else re.sub(r"\b(?:\w+\.)+(?=\w)", "", name)
    if origin is Annotated:
        return said(args[0])
    if origin in (Union, types.UnionType):
        return " | ".join(said(arg) for arg in args)
    inner = ", ".join("[…]" if isinstance(arg, list) else said(arg) for arg in args)
    return f"{said(origin)}[{inner}]"


def with_tables(value: object) -> object:
    """The value that came out of a REPL, its tables as DataFrames. Raises ``ValueError``."""
    return dataframes.read_all(value)


def as_records(value: object) -> object:
    """The same with its tables as lists of records, as where no DataFrame is wanted."""
    from .sandbox import _frames, _values

    if not dataframes.holds(value):
        return value
    encoder = _values.Encoder()
    try:
        node = encoder.value(with_tables(value))
    except TypeError as error:
        raise ValueError(str(error)) from None
    return _frames.Decoder([memoryview(part) for part in encoder.segments], _values.FailedCall).value(node)


@dataclasses.dataclass(frozen=True, slots=True)
class _Frame:
    """What tells pydantic how a DataFrame is checked."""

    library: str

    def __get_pydantic_core_schema__(self, source: object, handler: GetCoreSchemaHandler) -> CoreSchema:
        from pydantic_core import core_schema

        return core_schema.no_info_plain_validator_function(self.check)

    def __get_pydantic_json_schema__(
        self, schema: CoreSchema, handler: GetJsonSchemaHandler
    ) -> dict[str, object]:
        return {"type": "array", "items": {"type": "object"}, "description": f"a {self.library} DataFrame"}

    def check(self, value: object) -> object:
        wanted = importlib.import_module(self.library)
        if isinstance(value, wanted.DataFrame):
            return value
        other = "polars" if self.library == "pandas" else "pandas"
        if isinstance(value, getattr(sys.modules.get(other), "DataFrame", ())):
            return self._converted(value)
        columns = isinstance(value, dict) and all(isinstance(column, list) for column in value.values())
        if not columns and not (isinstance(value, list) and all(isinstance(row, dict) for row in value)):
            raise ValueError(f"a {self.library} DataFrame is wanted, not {type(value).__name__}")
        try:
            return wanted.DataFrame(value)
        except Exception as error:  # the library's own, of any kind
            raise ValueError(f"it makes no {self.library} DataFrame: {error}") from None

    def _converted(self, frame: dataframes.Frame) -> object:
        if self.library == "pandas":
            return importlib.import_module("pandas").DataFrame(frame.to_dict(as_series=False))
        columns = {str(name): frame[name].tolist() for name in frame.columns}
        return importlib.import_module("polars").DataFrame(columns, strict=False)


def hints_of(function: object) -> Mapping[str, object]:
    """The annotations of a function; without those that name what is not known where it is made."""
    told = getattr(function, "__annotations__", None)
    names = getattr(function, "__globals__", {})
    hints: dict[str, object] = {}
    for name, hint in told.items() if isinstance(told, dict) else ():
        one = types.SimpleNamespace(__annotations__={name: hint})
        try:
            hints |= typing.get_type_hints(one, globalns=names, include_extras=True)
        except (NameError, TypeError, AttributeError, SyntaxError):
            continue
    return hints


def any_table(hints: Iterable[object]) -> bool:
    return any(holds_table(hint) for hint in hints)
