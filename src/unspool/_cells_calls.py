"""Code in tool calls that a model wrote as text: JSON or XML, in ``<tool_call>`` and its kin.

Contract: :func:`read_calls` takes any text, never raises, and gives for each call the code or why
there is none.
Only a call whose tool sounds like a Python REPL, or names no tool, gives code.

>>> read_calls('{"name": "python", "arguments": {"code": "print(1)"}}')[0].code
'print(1)'
>>> read_calls('{"name": "search", "arguments": {"input": "cats"}}')[0].reason
'there is no tool “search”, only Python is run'
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass

_KEYS = ("code", "input", "python", "python_code", "source", "script", "cell")
_NESTED = ("arguments", "parameters", "args", "input", "kwargs", "function")
_NAMES = ("name", "tool", "tool_name", "function", "recipient_name")
_REPL = re.compile(r"py|repl|code|exec|interpreter|jupyter|notebook|run|cell", re.IGNORECASE)
_NO_REPL = re.compile(r"bash|shell|sql|javascript|node\b|terminal", re.IGNORECASE)
_PARAMETER = re.compile(
    r"<parameter(?:=|\s+name=)[\"']?(?:code|input|source|python|cell)[\"']?\s*>(.*?)(?:</parameter>|\Z)",
    re.DOTALL,
)
_FUNCTION = re.compile(r"<(?:function=|invoke\s+name=)[\"']?([\w.-]{1,100})")
_DECODER = json.JSONDecoder(strict=False)  # models put line ends in strings
_HEAD = re.compile(r"[\s,;]*[{\[]")
_FENCED = re.compile(r"```\w*\n(.*)\n[ \t]*```", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Call:
    """One call: its code, or why none of it is run."""

    code: str | None
    reason: str = ""


def read_calls(text: str) -> tuple[Call, ...]:
    """The calls in text: one after the other or in a list. Empty where it is neither JSON nor XML."""
    body = text.strip()
    if fenced := _FENCED.fullmatch(body):
        body = fenced[1].strip()
    if "<parameter" in body or "<function" in body or "<invoke" in body:
        named, codes = _FUNCTION.search(body), _PARAMETER.findall(body)
        name = named[1] if named else ""
        return tuple(_checked(name, code.strip("\n")) for code in codes) or (_checked(name, None),)
    if not body.startswith(("{", "[")):
        return ()
    values = _objects(body)
    if not values:
        return (Call(None, "a tool call that is not valid JSON is not run"),)
    return tuple(_checked(_name(value), _code(value)) for value in values)


def skip_json(text: str, start: int) -> int:
    """The end of the JSON that stands at a place, or the place: a string in it may hold any mark."""
    return _values(text, start)[1]


def _values(text: str, start: int) -> tuple[list[object], int]:
    """The JSON objects and lists that follow each other from a place on, and where they end."""
    found: list[object] = []
    end = start
    while (head := _HEAD.match(text, end)) is not None:
        try:
            value, end = _DECODER.raw_decode(text, head.end() - 1)
        except (ValueError, RecursionError):
            break
        found.append(value)
    return found, end


def _objects(body: str) -> list[dict[str, object]]:
    """The JSON objects at the head of the body; what stands behind them is left out."""
    values = _values(body, 0)[0]
    items = [item for value in values for item in (value if isinstance(value, list) else [value])]
    return [item for item in items if isinstance(item, dict)]


def _checked(name: str, code: str | None) -> Call:
    if name and (_NO_REPL.search(name) or not _REPL.search(name)):
        return Call(None, f"there is no tool “{name[:60]}”, only Python is run")
    return Call(code, "" if code is not None else "a tool call without code is not run")


def _name(value: Mapping[str, object]) -> str:
    for key in _NAMES:
        found = value.get(key)
        if isinstance(found, str):
            return found
        if isinstance(found, dict) and isinstance(found.get("name"), str):
            return str(found["name"])
    return ""


def _code(value: Mapping[str, object], depth: int = 3) -> str | None:
    for key in _KEYS:
        found = value.get(key)
        if isinstance(found, str):
            return found
    for key in _NESTED:
        found = value.get(key)
        if isinstance(found, str) and found.lstrip().startswith("{"):
            try:
                found = json.loads(found, strict=False)
            except (ValueError, RecursionError):
                continue
        if isinstance(found, dict) and depth and (code := _code(found, depth - 1)) is not None:
            return code
    return None
