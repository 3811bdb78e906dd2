"""Lines that are records: JSON lines, CSV and tables with tabs, as the helpers of a weak model see them.

``records`` takes the lines of a context apart: those of a table lose their head, whose names, like the keys
of JSON lines, become the names of the fields. The source runs in the REPL (see
:mod:`unspool.prompts.small_tools`), so it is standard library only, in one file.

>>> records(["level,text", 'error,"no, not now"', "notice,ok"])
(['error,"no, not now"', 'notice,ok'], ['level', 'text'])
>>> field_list('error,"no, not now"')
['error', 'no, not now']
>>> records(['{"level": "error", "text": "no"}', '{"level": "notice", "text": "ok"}'])[1]
['level', 'text']
>>> records(["one, two", "and then three"])
(['one, two', 'and then three'], [])
"""

from __future__ import annotations

import csv
import json
import re
from collections.abc import Sequence

SNIFFED = 50  # lines by which the form of all is known
FEWEST_ROWS = 3  # the head included: two lines of prose may have as many commas
MOST_NAMES = 40  # fields
_NAME = re.compile(r"[^\W\d][\w .#/()-]{0,40}")
_separator = ""  # of a table with a head; set by records


def lines_of(data: object) -> list[str]:
    """The lines of a text, of the texts of a list or a mapping; other items as JSON, one line each."""
    if isinstance(data, str):
        return data.splitlines()
    if isinstance(data, dict):
        data = list(data.values())
    if not isinstance(data, list | tuple):
        return []
    return [line for item in data for line in (item.splitlines() if isinstance(item, str) else [_told(item)])]


def _told(item: object) -> str:
    try:
        return json.dumps(item, ensure_ascii=False)
    except (TypeError, ValueError, RecursionError):
        return str(item)


def records(data: Sequence[str]) -> tuple[Sequence[str], list[str]]:
    """The lines without the head of a table, and the names of their fields, where these are records."""
    globals()["_separator"] = ""
    some = list(data[:SNIFFED])
    keys = [list(record) for line in some if (record := _record(line)) is not None]
    if some and len(keys) == len(some):
        return data, list(dict.fromkeys(key for each in keys for key in each))[:MOST_NAMES]
    for separator in ("\t", ",", ";") if len(some) >= FEWEST_ROWS else ():
        names, *rows = (_split(line, separator) for line in some)
        named = all(_NAME.fullmatch(name.strip()) for name in names) and len(set(names)) == len(names)
        even = sum(len(row) == len(names) for row in rows) >= 0.9 * len(rows)
        if 1 < len(names) <= MOST_NAMES and named and even:
            globals()["_separator"] = separator
            # What is in files stays as it is: only a list can be cut without reading all of it.
            return data[1:] if isinstance(data, list) else data, [name.strip() for name in names]
    return data, []


def _record(line: str) -> dict[str, object] | None:
    if not line.startswith("{"):
        return None
    try:
        record = json.loads(line)
    except (ValueError, RecursionError):
        return None
    return record if isinstance(record, dict) and record else None


def _split(line: str, separator: str) -> list[str]:
    if separator == "\t":
        return line.split("\t")
    try:
        return next(csv.reader([line], delimiter=separator), [])
    except csv.Error:
        return line.split(separator)


def field_list(line: str) -> list[str]:
    """The fields of a line: of a record, of a table, between tabs where it has any, else between spaces."""
    if (record := _record(line)) is not None:
        return [value if isinstance(value, str) else _told(value) for value in record.values()]
    if _separator:
        return _split(line, _separator)
    return line.split("\t") if "\t" in line else line.split()
