"""References within a JSON schema: where each leads, and whether all of them lead somewhere.

Contract: pure. :func:`target` follows one JSON pointer (``#/$defs/Item``, ``#/anyOf/0``). :func:`check` goes
the ways that :class:`unspool.schema.Schema` goes, and raises ``ValueError`` for a reference on one of them
that leads nowhere; :func:`check_ends` for one that leads to itself. In either case no value could ever fit,
and a model would be asked in vain.

>>> check({"$ref": "#/$defs/A", "$defs": {"A": {"type": "integer"}, "B": {"$ref": "#/unused"}}})
>>> check({"type": "array", "items": {"$ref": "#/$defs/A"}})
Traceback (most recent call last):
ValueError: this is no JSON schema: the reference '#/$defs/A' leads nowhere
>>> check_ends({"type": "array", "items": {"$ref": "#"}})
>>> check_ends({"allOf": [{"$ref": "#"}]})
Traceback (most recent call last):
ValueError: this is no JSON schema: the reference '#' leads to itself
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from urllib.parse import unquote

__all__ = ["check", "check_ends", "target"]


def target(schema: object, reference: object) -> object:
    """What a local reference leads to. Raises ``ValueError``."""
    path = str(reference)
    found: object = schema
    for part in path.removeprefix("#").split("/")[1:] if path.startswith("#") else ["?"]:
        name = unquote(part).replace("~1", "/").replace("~0", "~")
        if isinstance(found, Mapping) and name in found:
            found = found[name]
        elif isinstance(found, list) and name.isdecimal() and int(name) < len(found):
            found = found[int(name)]
        else:
            raise ValueError(f"this is no JSON schema: the reference {path!r} leads nowhere")
    return found


def check(schema: Mapping[str, object]) -> None:
    """Raises ``ValueError`` for a reference that leads nowhere."""
    for _ in _parts(schema):
        pass


def check_ends(schema: Mapping[str, object]) -> None:
    """Raises ``ValueError`` where a value would be held against the same part again and again."""
    done: set[int] = set()
    for part in _parts(schema):
        trail, on_it = [(part, _same_value(schema, part))], {id(part)}
        while trail:
            at, following = trail[-1]
            led = next(following, None)
            if led is None:
                trail.pop()
                on_it.remove(id(at))
                done.add(id(at))
            elif id(led) in on_it:
                raise ValueError(f"this is no JSON schema: the reference {at.get('$ref')!r} leads to itself")
            elif id(led) not in done:
                trail.append((led, _same_value(schema, led)))
                on_it.add(id(led))


def _same_value(schema: object, part: Mapping[str, object]) -> Iterator[Mapping[str, object]]:
    """What a value has to fit, too, to fit this."""
    led = [target(schema, part["$ref"])] if "$ref" in part else []
    return (each for each in (*led, *_listed(part, "allOf")) if isinstance(each, Mapping))


def _parts(schema: Mapping[str, object]) -> Iterator[Mapping[str, object]]:
    """The schema, and all in it that a value, or what is in it, is held against."""
    seen: set[int] = set()
    rest: list[object] = [schema]
    while rest:
        part = rest.pop()
        if not isinstance(part, Mapping) or id(part) in seen:
            continue
        seen.add(id(part))
        yield part
        if "$ref" in part:
            rest.append(target(schema, part["$ref"]))
        for name in ("allOf", "anyOf", "oneOf", "prefixItems"):
            rest += _listed(part, name)
        fields = part.get("properties")
        rest += fields.values() if isinstance(fields, Mapping) else ()
        rest += (part.get(name) for name in ("additionalProperties", "items"))


def _listed(part: Mapping[str, object], name: str) -> list[object]:
    found = part.get(name)
    return found if isinstance(found, list) else []
