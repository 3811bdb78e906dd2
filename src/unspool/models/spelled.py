"""Settings of both models as words: on a command line, and in what a run keeps.

Contract: ``NAME=VALUE`` is of both roles, ``root.NAME=VALUE`` and ``sub.NAME=VALUE`` of one; the later goes
before. :func:`told` and :func:`taken` are each other's inverse. What is wrong is a
:class:`unspool.errors.ConfigError` that says what there is.

>>> root, sub = parsed(["temperature=0.2", "sub.temperature=0", "price=0.25/2"])
>>> root.temperature, sub.temperature, root.price
(0.2, 0.0, (0.25, 2.0))
>>> taken(told(root, sub)) == (root, sub)
True
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import fields

from ..checks import meant
from ..errors import ConfigError
from .settings import ModelSettings

Word = str | int | float | None
ROLES = ("root", "sub")
_NAMES = tuple(field.name for field in fields(ModelSettings))
_FORMS = {
    "temperature": "a number, such as 0.2",
    "max_tokens": "a whole number",
    "seed": "a whole number",
    "price": "READ/WRITTEN, dollars for a million tokens, such as 0.25/2",
    "stop": 'a text, or several as a JSON list, such as ["END", "STOP"]',
}
"""What is to be given, of the settings that not every text is a value of."""


def parsed(given: Iterable[str]) -> tuple[ModelSettings, ModelSettings]:
    """Settings of the root and of the model for sub-calls, from ``NAME=VALUE``."""
    found: dict[str, dict[str, object]] = {role: {} for role in ROLES}
    for each in given:
        name, equals, value = each.partition("=")
        role, dot, rest = name.strip().partition(".")
        setting = (rest if dot else role).strip()
        if not equals or setting not in _NAMES or (dot and role not in ROLES):
            raise ConfigError(
                f"--set {each}: give NAME=VALUE, where NAME is one of {', '.join(_NAMES)}, and root.NAME or "
                f"sub.NAME for one of the models{meant(setting, _NAMES) if setting not in _NAMES else ''}"
            )
        for here in (role,) if dot else ROLES:
            found[here][setting] = _read(setting, value.strip(), each)
    try:
        root, sub = (ModelSettings(**found[role]) for role in ROLES)  # type: ignore[arg-type]
    except ConfigError as error:
        raise ConfigError(f"--set {error}") from None
    return root, sub


def told(root: ModelSettings, sub: ModelSettings) -> Mapping[str, Word]:
    """What is set, as plain words."""
    return {
        f"{role}.{name}": _word(value)
        for role, settings in zip(ROLES, (root, sub), strict=True)
        for name in _NAMES
        if (value := getattr(settings, name)) is not None
    }


def taken(words: Mapping[str, Word]) -> tuple[ModelSettings, ModelSettings]:
    """The settings that were told."""
    return parsed(f"{name}={value}" for name, value in words.items() if name.partition(".")[0] in ROLES)


def _word(value: object) -> Word:
    if isinstance(value, tuple):
        texts = all(isinstance(part, str) for part in value)
        return json.dumps(value) if texts else "/".join(f"{part:g}" for part in value)
    assert isinstance(value, Word)
    return value


def _read(name: str, text: str, given: str) -> object:
    try:
        match name:
            case "temperature":
                return float(text)
            case "max_tokens" | "seed":
                return int(text)
            case "price":
                read, _, written = text.partition("/")
                return float(read), float(written)
            case "stop":
                return tuple(json.loads(text)) if text.startswith("[") else (text,)
            case _:
                return text
    except (ValueError, RecursionError):
        raise ConfigError(f"--set {given}: {text!r} is no value of {name}: give {_FORMS[name]}") from None
