"""What one call gives is bounded: what does not fit is told by its size, in the place of the data.

>>> short({"a": "x", "b": "y" * 5_000})["b"]["oversized"]
'str of 5,000 characters'
>>> rows_within([{"n": "z" * 100_000}, {"n": "z" * 100_000}])[-1]
{'left_out': '1 more rows: ask for fewer'}
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence

MOST = 150_000  # bytes of a call
MOST_ATTRIBUTE = 4_000  # characters
NAME = 200  # characters of a name that are shown

Row = dict[str, object]


def cut(name: str) -> str:
    return name if len(name) <= NAME else name[:NAME] + "…"


def lines_within(lines: Sequence[str]) -> str:
    """As many lines as fit into a call; the others are counted."""
    kept: list[str] = []
    room = MOST
    for number, line in enumerate(lines):
        room -= len(line.encode("utf-8", "backslashreplace")) + 1
        if room < 0:
            return "\n".join([*kept, f"… {len(lines) - number:,} more lines"])
        kept.append(line)
    return "\n".join(kept)


def rows_within(rows: list[Row]) -> list[Row]:
    """As many rows as fit into a call; the last says how many are left out."""
    room = MOST
    for number, row in enumerate(rows):
        room -= len(json.dumps(row))
        if room < 0:
            return [*rows[:number], {"left_out": f"{len(rows) - number:,} more rows: ask for fewer"}]
    return rows


def short(values: Mapping[str, object]) -> Row:
    """Attributes, those that are too long told by their size and start."""
    return {key[:NAME]: short_value(value) for key, value in values.items()}


def short_value(value: object) -> object:
    shown = value if isinstance(value, str) else json.dumps(value, default=str)
    if len(shown) <= MOST_ATTRIBUTE:
        return value
    return {"oversized": f"{type(value).__name__} of {len(shown):,} characters", "start": shown[:NAME]}


def parts_within(row: Row) -> Row:
    """What is in a span, within the size of a call: what is left out of each part is counted."""
    room = MOST
    for name, value in list(row.items()):
        if isinstance(value, list):
            kept: list[object] = []
            for each in value:
                room -= len(json.dumps(each))
                if room < 0:
                    break
                kept.append(each)
            row[name] = kept
            if len(kept) < len(value):
                row[f"{name}_left_out"] = len(value) - len(kept)
        elif isinstance(value, dict):
            fits: Row = {}
            for key, each in value.items():
                room -= len(json.dumps([key, each]))
                if room < 0:
                    break
                fits[key] = each
            row[name] = fits
            if len(fits) < len(value):
                row[f"{name}_left_out"] = len(value) - len(fits)
    return row
