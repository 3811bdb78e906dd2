"""Lines that are records: JSON lines, CSV, tables with tabs, and known formats (``small_formats``), as the
helpers of a weak model see them.

``records`` takes the lines of a context apart: each becomes a :class:`Row`, a text that says which field is
which, since a model of that size does not count commas. The source runs in the REPL (see
:mod:`unspool.prompts.small_tools`), so it is standard library only, in one file.

>>> rows, names = records(["level,text", 'error,"no, not now"', "notice,ok"])
>>> rows
['level=error, text=no, not now', 'level=notice, text=ok']
>>> field_list(rows[0])
['error', 'no, not now']
>>> records(['{"level": "error", "code": 7}', '{"level": "notice"}'])
(['level=error, code=7', 'level=notice, code='], ['level', 'code'])
>>> records(['{"user": {"id": 7, "plan": {"name": "pro"}}, "tags": []}'])[0]
['user.id=7, user.plan.name=pro, tags=[]']
>>> records(["one, two", "and then three", "and four"])
(['one, two', 'and then three', 'and four'], [])
"""

from __future__ import annotations

import csv
import itertools
import json
import re
from collections.abc import Iterable, Sequence

from .small_formats import formatted

SNIFFED = 50  # lines by which the form of all is known
FEWEST_ROWS = 3  # the head included: two lines of prose may have as many commas
BAR = " | "
MOST_NAMES = 40  # fields
_NAME = re.compile(r"[^\W\d][\w .#/()-]{0,40}")
MOST_ROWS = 200_000  # more lines stay as they are
MOST_FILES = 1_000  # of a folder


class Row(str):
    """A record as text, with its fields."""

    fields: list[str]

    @classmethod
    def of(cls, names: Sequence[str], fields: list[str]) -> Row:
        row = cls(", ".join(f"{name}={field}" for name, field in zip(names, fields, strict=False)))
        row.fields = fields
        return row


def lines_of(data: object) -> list[str]:
    """The lines of a text, of the texts of a list, a mapping or a folder; other items as JSON, one line each.
    Of what is in files the first ones (``reach/brief.py`` says how many)."""
    if isinstance(data, str):
        return data.splitlines()
    if hasattr(type(data), "texts"):  # a folder, an archive
        texts = itertools.islice(data.texts(), MOST_FILES)  # type: ignore[attr-defined]
        return list(itertools.islice((line for _, text in texts for line in _lines(text)), MOST_ROWS))
    if isinstance(data, dict):
        data = list(data.values())
    if not isinstance(data, list | tuple):
        return []
    lines = (line for item in data for line in _lines(item))
    return list(itertools.islice(lines, MOST_ROWS) if any(map(_is_file, data)) else lines)


def in_files(data: object) -> bool:
    """Whether it is a folder, or a mapping with some of its values in files: nothing of it can be read before
    the first cell runs, so the look makes the lines of it."""
    values = data.values() if isinstance(data, dict) else [data]
    return any(hasattr(type(each), "texts") or (each is not data and _is_file(each)) for each in values)


def _is_file(item: object) -> bool:
    return hasattr(type(item), "line_span")


def _lines(item: object) -> Iterable[str]:
    if isinstance(item, str):
        return item.splitlines()
    if hasattr(type(item), "texts"):
        return lines_of(item)
    if _is_file(item):
        lines = itertools.islice(item.lines(), MOST_ROWS)  # type: ignore[attr-defined]
        return without_marks(lines, getattr(item, "unit", ""))
    return [_told(item)]


def without_marks(lines: Iterable[str], unit: str) -> list[str]:
    """The lines of a document without those that only begin a page (``=== page 3 ===``). ``unit``: what its
    pages are called, if it has any.

    >>> without_marks(["=== slide 1: Hello ===", "=== slide 2 (no text) ===", "=== page 1 ==="], "slide")
    ['=== slide 1: Hello ===', '=== page 1 ===']
    """
    if not unit:
        return list(lines)
    mark = re.compile(rf"=== {re.escape(unit)} \d+(?: \([^)]*\))? ===")
    return [line for line in lines if not mark.fullmatch(line)]


def _told(item: object) -> str:
    if isinstance(item, str):
        return item
    try:
        return json.dumps(item, ensure_ascii=False)
    except (TypeError, ValueError, RecursionError):
        return str(item)


def records(data: Sequence[str]) -> tuple[Sequence[str], list[str]]:
    """The lines as rows, without the head of a table, and the names of the fields, where they are records."""
    if not isinstance(data, list) or not 0 < len(data) <= MOST_ROWS:
        return data, []  # what is in files is not read before it is asked for
    some = data[:SNIFFED]
    found = [_record(line) for line in data] if _record(some[0]) else []
    if found and all(found[: len(some)]):
        names = list(dict.fromkeys(key for record in found[:SNIFFED] if record for key in record))[
            :MOST_NAMES
        ]
        rows = [_row(names, record, line) for record, line in zip(found, data, strict=True)]
        return rows, names
    if known := formatted(data):
        names, each = known
        return [one if isinstance(one, str) else Row.of(names, one) for one in each], names
    for separator in ("\t", ",", ";") if len(some) >= FEWEST_ROWS else ():
        names, *first = (_split(line, separator) for line in some)
        named = all(_NAME.fullmatch(name.strip()) for name in names) and len(set(names)) == len(names)
        even = sum(len(row) == len(names) for row in first) >= 0.9 * len(first)
        if 1 < len(names) <= MOST_NAMES and named and even and not _is_entry(names, first):
            names = [name.strip() for name in names]
            return [Row.of(names, _split(line, separator)) for line in data[1:]], names
    return data, []


def _is_entry(names: Sequence[str], rows: Sequence[Sequence[str]]) -> bool:
    """Whether what could be the head of a table is an entry like those below it ("Bo - room 7")."""
    forms = [_form(name) for name in names]
    alike = [sum(_form(row[at]) == form for row in rows if len(row) > at) for at, form in enumerate(forms)]
    return any(
        form.count("w") > 2 and same >= 0.9 * len(rows) for form, same in zip(forms, alike, strict=True)
    )


def _form(field: str) -> str:
    return re.sub(r"\w+", "w", field.strip())


def described(data: Sequence[str], names: Sequence[str]) -> list[Row] | None:
    """The lines as rows with the fields between bars that the question names; ``None`` if they have none."""
    parts = [line.split(BAR, len(names) - 1) for line in data]
    even = sum(len(part) == len(names) for part in parts)
    return [Row.of(names, part) for part in parts] if even >= 0.95 * len(parts) > 0 else None


def _row(names: Sequence[str], record: dict[str, object] | None, line: str) -> str:
    return line if record is None else Row.of(names, [_told(record.get(name, "")) for name in names])


def _record(line: str) -> dict[str, object] | None:
    if not line.startswith("{"):
        return None
    try:
        record = json.loads(line)
    except (ValueError, RecursionError):
        return None
    return _flat(record) if isinstance(record, dict) and record else None


def _flat(record: dict[str, object]) -> dict[str, object]:
    """What is in objects within it, by names with dots."""
    flat: dict[str, object] = {}
    rest = list(record.items())[::-1]
    while rest and len(flat) <= MOST_NAMES:
        name, value = rest.pop()
        if isinstance(value, dict) and value:
            rest += [(f"{name}.{inner}", held) for inner, held in value.items()][::-1]
        else:
            flat[name] = value
    return flat


def _split(line: str, separator: str) -> list[str]:
    if separator == "\t":
        return line.split("\t")
    try:
        return next(csv.reader([line], delimiter=separator), [])
    except csv.Error:
        return line.split(separator)


def field_list(line: str) -> list[str]:
    """The fields of a line: those of a row, else between tabs where it has any, else between spaces."""
    if isinstance(line, Row):
        return line.fields
    return line.split("\t") if "\t" in line else line.split()
