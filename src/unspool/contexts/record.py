"""Objects with fields: dataclasses, pydantic models, named tuples. Each field with its type and size.

>>> from dataclasses import dataclass
>>> @dataclass
... class User:
...     name: str
...     tags: list[str]
>>> fields_of(User("Ann", ["a"]))
{'name': 'Ann', 'tags': ['a']}
>>> fields_of({"a": 1}) is None
True
"""

from __future__ import annotations

import dataclasses
import sys


def fields_of(value: object) -> dict[str, object] | None:
    """The fields of such an object, ``None`` for all else. No property is read: that would run code."""
    if isinstance(value, type):
        return None
    if dataclasses.is_dataclass(value):
        return {f.name: getattr(value, f.name, None) for f in dataclasses.fields(value)}
    pydantic = sys.modules.get("pydantic")
    if pydantic is not None and isinstance(value, pydantic.BaseModel):
        return dict(vars(value))
    if isinstance(value, tuple) and hasattr(value, "_fields"):
        return dict(zip(value._fields, value, strict=True))
    return None


def kind_of(value: object) -> str:
    """What kind of object it is, in words."""
    if isinstance(value, tuple):
        return "named tuple"
    return "dataclass" if dataclasses.is_dataclass(value) else "pydantic model"
