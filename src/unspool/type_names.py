"""Types of answers as text and back: what a user types, what a journal keeps, what a model is told.

Contract: :func:`read_type` takes Python's own notation for the types that answers can have, and raises
:class:`unspool.errors.ConfigError` with what to write for anything else; nothing is evaluated.
:func:`name_of` is its inverse, ``None`` for a type that has no such name.

>>> read_type("dict[str, list[int]] | None")
typing.Optional[dict[str, list[int]]]
>>> name_of(read_type("Literal['a', 'b']"))
"Literal['a', 'b']"
>>> name_of(object) is None
True
"""

from __future__ import annotations

import ast
import datetime
import decimal
import types
from collections.abc import Mapping
from typing import Any, Literal, Union, cast, get_args, get_origin

from .checks import meant
from .errors import ConfigError
from .reach.extras import how_to_add

_PLAIN: Mapping[str, object] = {
    "int": int,
    "float": float,
    "bool": bool,
    "str": str,
    "bytes": bytes,
    "date": datetime.date,
    "datetime": datetime.datetime,
    "time": datetime.time,
    "timedelta": datetime.timedelta,
    "Decimal": decimal.Decimal,
    "list": list,
    "dict": dict,
    "tuple": tuple,
    "set": set,
    "Any": Any,
    "None": type(None),
}
_CONTAINERS: Mapping[object, tuple[int, ...]] = {list: (1,), set: (1,), dict: (2,), tuple: ()}
_OF_LIBRARIES = ("pandas", "polars")
_MODULES = ("typing", "datetime", "decimal", "builtins")
_MOST = 2_000  # characters
WHAT = (
    "int, float, bool, str, date, datetime, Decimal, list[str], dict[str, int], tuple[float, str], "
    "Literal['yes', 'no'], int | None, DataFrame, or a file with a JSON schema"
)


def read_type(text: str) -> object:
    """The type that is written there."""
    try:
        if len(text) > _MOST:
            raise ValueError(f"it has more than {_MOST:,} characters")
        return _read(ast.parse(text.strip(), mode="eval").body)
    except (SyntaxError, ValueError, TypeError, RecursionError, MemoryError) as error:
        why = "it is not Python's notation" if isinstance(error, SyntaxError) else str(error)
        why += "" if why.endswith("?") else "."
        raise ConfigError(f"{text[:80]!r} is no type of an answer: {why} Use {WHAT}") from None


def _read(node: ast.expr) -> object:
    match node:
        case ast.Constant(value=None):
            return type(None)
        case ast.Name(id="DataFrame" | "table"):
            return _table("pandas")
        case ast.Name(id=name) if name in _PLAIN:
            return _PLAIN[name]
        case ast.Name(id="decimal"):
            return decimal.Decimal
        case ast.Attribute(value=ast.Name(id="pd" | "pandas"), attr="DataFrame"):
            return _table("pandas")
        case ast.Attribute(value=ast.Name(id="pl" | "polars"), attr="DataFrame"):
            return _table("polars")
        case ast.Attribute(value=ast.Name(id=module), attr=name) if module in _MODULES:
            return _read(ast.Name(name))
        case ast.BinOp(left=left, op=ast.BitOr(), right=right):
            return Union[_read(left), _read(right)]  # noqa: UP007 (None may be left)
        case ast.Subscript(value=ast.Attribute(value=ast.Name(id="typing"), attr=name), slice=inner):
            return _read_generic(name, inner)
        case ast.Subscript(value=ast.Name(id=name), slice=inner):
            return _read_generic(name, inner)
    name = ast.unparse(node)[:60]
    raise ValueError(f"{name!r} is not known here{meant(name, _PLAIN)}")


def _read_generic(name: str, inner: ast.expr) -> object:
    parts = inner.elts if isinstance(inner, ast.Tuple) else [inner]
    if name == "Literal":
        values = tuple(_constant(part) for part in parts)
        return Literal[values]
    if name == "Optional" and len(parts) == 1:
        return Union[_read(parts[0]), None]  # noqa: UP007
    if name == "Union":
        return Union[tuple(_read(part) for part in parts)]  # noqa: UP007
    kind = _PLAIN.get(name.lower() if name in ("List", "Dict", "Tuple", "Set") else name)
    if kind not in _CONTAINERS:
        raise ValueError(f"{name!r} takes nothing in brackets")
    counts = _CONTAINERS[kind]
    if counts and len(parts) not in counts:
        raise ValueError(f"{name}[…] takes {counts[0]} type(s), not {len(parts)}")
    if kind is tuple and len(parts) == 2 and isinstance(parts[1], ast.Constant) and parts[1].value is ...:
        return types.GenericAlias(tuple, (_read(parts[0]), ...))
    return types.GenericAlias(cast(type, kind), tuple(_read(part) for part in parts))


def _constant(node: ast.expr) -> object:
    value = ast.literal_eval(node)
    if value is not None and type(value) not in (str, int, bool):
        raise ValueError(f"Literal[…] holds texts, whole numbers, True, False and None, not {value!r}")
    return value


def _table(library: str) -> object:
    import importlib

    try:
        return cast(object, importlib.import_module(library).DataFrame)
    except ImportError:
        how = how_to_add("data") if library == "pandas" else f"pip install {library}"
        raise ConfigError(f"a DataFrame as answer needs {library}: {how}") from None


def library_of(kind: object) -> str | None:
    """``"pandas"`` or ``"polars"`` for their DataFrame; nothing is imported."""
    if not isinstance(kind, type) or kind.__name__ != "DataFrame":
        return None
    home = kind.__module__.partition(".")[0]
    return home if home in _OF_LIBRARIES else None


def name_of(kind: object) -> str | None:
    """The type as :func:`read_type` takes it."""
    if kind is None:
        return "None"
    if (library := library_of(kind)) is not None:
        return f"{library}.DataFrame"
    name = next((name for name, known in _PLAIN.items() if known is kind), None)
    if name is not None:
        return name
    origin, args = get_origin(kind), get_args(kind)
    if origin is Literal:
        fit = all(arg is None or type(arg) in (str, int, bool) for arg in args)
        return f"Literal[{', '.join(map(repr, args))}]" if fit else None
    if origin is not Union and not isinstance(kind, types.UnionType) and origin not in _CONTAINERS:
        return None
    parts = ["..." if arg is ... else name_of(arg) for arg in args]
    known = [part for part in parts if part is not None]
    if len(known) < len(parts):
        return None
    if origin in _CONTAINERS:
        return f"{cast(type, origin).__name__}[{', '.join(known)}]" if known else None
    return " | ".join(known)
