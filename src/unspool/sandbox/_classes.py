"""Classes that a sandbox cannot import: which they are, and what to tell it of them.

Contract: :func:`importable` says whether a module is to be had in the sandbox: the standard library and the
installed packages are, ``__main__`` and the modules of a project are not. :func:`told` is how a class comes
there that is not, and :func:`taken_apart` how its instances do, both in the form of ``__reduce_ex__``: a
dataclass, a pydantic model, an Enum and a named tuple keep their kind, any other class is a record; all keep
their name and their fields, none its methods.

>>> importable("json"), importable("__main__")
(True, False)
"""

from __future__ import annotations

import copyreg
import dataclasses
import enum
import functools
import os
import sys
from collections.abc import Mapping
from typing import cast

from . import _parcel
from ._launch import packages

Reduced = tuple[object, ...]
_MIXED = (str, int, float, bytes, complex)
_FLAGS = ("eq", "order", "frozen", "unsafe_hash")
_HOLD_MORE = (dict, list, tuple, set, frozenset, str, bytes, int, float, BaseException)  # than their fields


@functools.cache
def importable(module: str) -> bool:
    root = module.partition(".")[0]
    if root in ("__main__", "__mp_main__"):
        return False
    if root in sys.stdlib_module_names or root in sys.builtin_module_names:
        return True
    found = sys.modules.get(root)
    places = [getattr(found, "__file__", None), *getattr(found, "__path__", ())]
    folders = tuple(os.path.realpath(folder) + os.sep for folder in packages())
    known = [os.path.realpath(place) for place in places if place]
    return not known or any(place.startswith(folders) for place in known)  # what has no file is built in


def is_there(kind: type) -> bool:
    """Whether the sandbox can import this class, or need not: ours with a ``__reduce__`` say it all."""
    if kind.__module__.startswith("unspool.") and "__reduce__" in vars(kind):
        return True
    return "<locals>" not in kind.__qualname__ and importable(kind.__module__)


def told(kind: type) -> Reduced:
    """How a class is made again."""
    name = kind.__name__
    if issubclass(kind, enum.Enum):
        bases = (base for base in kind.__mro__ if base.__module__ == "enum" and hasattr(enum, base.__name__))
        base = next(bases)
        mixed = next((plain for plain in _MIXED if plain in kind.__mro__ and plain not in base.__mro__), None)
        members = {key: member.value for key, member in kind.__members__.items()}
        return _parcel.make_enum, (name, base.__name__, mixed, members)
    if _is_dataclass(kind):
        known_fields = dataclasses.fields(kind)  # type: ignore[arg-type]
        fields = [(f.name, getattr(f.type, "__name__", str(f.type))) for f in known_fields]
        params = kind.__dataclass_params__  # type: ignore[attr-defined]
        flags = {flag: bool(getattr(params, flag)) for flag in _FLAGS}
        return _parcel.make_dataclass, (name, fields, flags, kind.__hash__ is not None)
    if _is_model(kind):
        known = cast("Mapping[str, object]", kind.model_fields)  # type: ignore[attr-defined]
        config = cast("Mapping[str, object]", kind.model_config)  # type: ignore[attr-defined]
        private = list(kind.__private_attributes__)  # type: ignore[attr-defined]
        return _parcel.make_model, (name, list(known), private, bool(config.get("frozen")))
    if issubclass(kind, tuple) and hasattr(kind, "_fields"):
        return _parcel.make_tuple, (name, list(kind._fields))
    return _parcel.make_record, (name, next((base for base in kind.__mro__[1:-1] if is_there(base)), None))


def taken_apart(value: object) -> Reduced | None:
    """How an instance of such a class is made again; ``None`` where its own way will do."""
    kind = type(value)
    if isinstance(value, enum.Enum):
        known = value.name in type(value).__members__  # a flag may be several
        return (getattr, (kind, value.name)) if known else (kind, (value.value,))
    if _is_model(kind):
        private = getattr(value, "__pydantic_private__", None)
        given, extra = sorted(value.model_fields_set), value.model_extra  # type: ignore[attr-defined]
        state = (dict(vars(value)), given, extra, private)
        return _parcel.bare, (kind,), state, None, None, _parcel.set_model
    own = kind.__reduce__ is not object.__reduce__ or kind.__reduce_ex__ is not object.__reduce_ex__
    if _is_dataclass(kind) and not own:
        return _parcel.bare, (kind,), _fields(value), None, None, _parcel.set_fields
    if isinstance(value, tuple) and hasattr(kind, "_fields"):
        return None
    return _by_its_own_way(value)


def _by_its_own_way(value: object) -> Reduced | None:
    """As the class says, if that needs none of its methods; else its items and attributes."""
    kind = type(value)
    try:
        own = value.__reduce_ex__(5)
    except TypeError:  # it forbids it; a copy of its fields is made all the same
        own = ""
    if isinstance(own, tuple) and own[0] is kind:
        return None
    items = iter(value) if isinstance(value, list) else None
    pairs = iter(value.items()) if isinstance(value, dict) else None
    arguments: tuple[object, ...] = ()
    if isinstance(own, tuple) and own[0] is copyreg.__newobj__:  # type: ignore[attr-defined]
        _, arguments, _, items, pairs = (*own, *[None] * 5)[:5]
        arguments = arguments[1:]
    return _parcel.bare, (kind, *arguments), _fields(value), items, pairs, _parcel.set_fields


def _fields(value: object) -> dict[str, object]:
    """The attributes of an object, those in slots included."""
    found: dict[str, object] = {}
    for base in type(value).__mro__:
        slots = vars(base).get("__slots__", ())
        for name in (slots,) if isinstance(slots, str) else slots:
            if name not in ("__dict__", "__weakref__") and hasattr(value, name):
                found[name] = getattr(value, name)
    return {**found, **getattr(value, "__dict__", {})}


def _is_dataclass(kind: type) -> bool:
    return dataclasses.is_dataclass(kind) and not issubclass(kind, _HOLD_MORE)


def _is_model(kind: type) -> bool:
    pydantic = sys.modules.get("pydantic")
    return pydantic is not None and issubclass(kind, pydantic.BaseModel)
