"""Any answer as plain JSON data, and as the text that goes to stdout.

Contract: total; what JSON has no word for becomes the nearest thing a reader would expect (a set a
list, a date its ISO text, a table its records), and an unknown object its ``repr``.

>>> plain({1: (2, 3), "s": {4}})
{'1': [2, 3], 's': [4]}
>>> as_text([1, "é"])
'[1, "é"]'
"""

from __future__ import annotations

import dataclasses
import json
import math
import re
from collections.abc import Mapping, Sequence, Set
from datetime import date, time
from enum import Enum

from ..images import Image

# Valid in JSON as they are, but a terminal obeys some of them, many readers take some for the end of a line
# (NEL, U+2028, U+2029), and UTF-8 has no bytes for others.
_ESCAPED = re.compile("[\x7f-\x9f\u2028-\u202e\u2066-\u2069\ud800-\udfff]")


def plain(value: object) -> object:
    """``value`` made of dict, list, str, int, float, bool and None alone."""
    if isinstance(value, Enum):
        return plain(value.value)
    if value is None or isinstance(value, str | bool | int):
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) else str(value)
    if isinstance(value, Mapping):
        return {key if isinstance(key, str) else _key(key): plain(item) for key, item in value.items()}
    if isinstance(value, Set):
        return [plain(item) for item in _ordered(value)]
    if isinstance(value, bytes | bytearray):
        return bytes(value).decode("utf-8", "backslashreplace")
    if isinstance(value, Sequence):
        return [plain(item) for item in value]
    if isinstance(value, date | time):
        return value.isoformat()
    if isinstance(value, Image):
        return {"image": value.format, "width": value.width, "height": value.height, "sha256": value.hash}
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {f.name: plain(getattr(value, f.name)) for f in dataclasses.fields(value)}
    return _foreign(value)


def _key(key: object) -> str:
    simple = plain(key)
    return simple if isinstance(simple, str) else json.dumps(simple, ensure_ascii=False)


def _ordered(value: Set[object]) -> list[object]:
    try:
        return sorted(value)  # type: ignore[type-var]
    except TypeError:  # items that have no order among them
        return sorted(value, key=repr)


def _foreign(value: object) -> object:
    """Values of libraries that may not be installed here: asked for what they can do."""
    if callable(dump := getattr(value, "model_dump", None)):  # pydantic
        return plain(dump())
    # Rows of a table (polars, pyarrow), items of an array or a series (numpy, pandas, polars)
    for name in ("to_dicts", "to_pylist", "tolist", "to_list"):
        if callable(items := getattr(value, name, None)):
            return plain(items())
    if hasattr(value, "columns") and callable(records := getattr(value, "to_dict", None)):  # a pandas table
        return plain(records("records"))
    return str(value) if type(value).__str__ is not object.__str__ else repr(value)


def as_json(value: object, *, indent: int | None = None) -> str:
    """JSON text that is safe on a terminal and in any encoding of Unicode."""
    return escaped(json.dumps(plain(value), ensure_ascii=False, indent=indent))


def escaped(text: str) -> str:
    """JSON text whose characters all show, on one line where it has no indent.

    >>> escaped('"two\u2028lines"')
    '"two\\\\u2028lines"'
    """
    return _ESCAPED.sub(lambda match: f"\\u{ord(match[0]):04x}", text)


def as_text(answer: object) -> str:
    """The answer as a person wants to read it: text as it is, data as JSON, nothing for None."""
    if answer is None:
        return ""
    simple = plain(answer)
    return simple if isinstance(simple, str) else as_json(simple)
