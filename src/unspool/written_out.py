"""A function that tells all fields of a class of records, written out as ``dataclasses`` write ``__init__``.

Contract: :func:`written_out` does what a loop over the fields does, in half of its time: a batch of thousands
has two events an item. What is not known (None) is left out, and so is what is empty (0, "", ()), but where
``maybe`` says that a field may be unknown. What is not of its field's kind, and a kind that has no form
of its own here, is told by ``other``.

>>> fields = (Field("real", '"re":', int), Field("imag", '"im":', float))
>>> line = written_out("{", fields, lambda prefix, value, field, keep: f"{prefix}{keep(value)},")
>>> line(5, str), line(0.5 + 0j, str)
('{"re":5"im":0,', '{"re":0.5,"im":0.0')
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from json.encoder import encode_basestring as _quoted  # the encoder's own, in C
from math import isfinite
from typing import NamedTuple, TypeVar, cast, get_origin

K = TypeVar("K")
LARGE = 4096  # characters; a longer text is told by ``other``


class Field(NamedTuple):
    """``prefix``: how it begins. ``kind``: of what is in it, where it is known."""

    name: str
    prefix: str
    kind: object
    maybe: bool = False


class Form(NamedTuple):
    """How a kind of value is told: two pieces of code, of which the second stands in an f-string."""

    holds: str
    told: str


_FORMS: Mapping[object, Form] = {
    str: Form("type(value) is str and len(value) < LARGE", "quoted(value)"),
    int: Form("type(value) is int", "value"),
    float: Form("type(value) is float and isfinite(value)", "value!r"),
    bool: Form("type(value) is bool", "'true' if value else 'false'"),
}
_NOTHING = (str, int, tuple)  # of these kinds what is empty says nothing; 0.0 may be a cost


def written_out(
    start: str, fields: Sequence[Field], other: Callable[[str, object, Field, K], str]
) -> Callable[[object, K], str]:
    """The function: of a record, and of what ``other`` is given beside each value."""
    lines = ["def line(record, keep):", f"    line = {start!r}"]
    for place, field in enumerate(fields):
        always = field.maybe or (get_origin(field.kind) or field.kind) not in _NOTHING
        lines.append(f"    if (value := record.{field.name}){' is not None' if always else ''}:")
        told = f"other(prefix_{place}, value, field_{place}, keep)"
        if (form := _FORMS.get(field.kind)) is not None:
            told = f'f"{{prefix_{place}}}{{{form.told}}}" if {form.holds} else {told}'
        lines.append(f"        line += {told}")
    lines.append("    return line")
    names: dict[str, object] = {"other": other, "quoted": _quoted, "isfinite": isfinite, "LARGE": LARGE}
    names |= {f"prefix_{place}": field.prefix for place, field in enumerate(fields)}
    names |= {f"field_{place}": field for place, field in enumerate(fields)}
    exec("\n".join(lines), names)  # of the names of fields alone, which are identifiers
    return cast("Callable[[object, K], str]", names["line"])
