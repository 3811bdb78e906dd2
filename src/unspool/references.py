"""References within a JSON schema: where each leads, and whether a value can come of it.

Contract: pure, in a time that goes with the schema's size. :func:`target` follows one JSON pointer
(``#/$defs/Item``, ``#/anyOf/0``). :func:`parts` goes the ways that :class:`unspool.schema.Schema` goes, and
raises ``ValueError`` for a reference on one of them that leads nowhere; :func:`check_ends` for one that leads
to itself, and for a schema whose references go round without ever coming to a value. In each case no value
could ever fit, and a model would be asked in vain. A list or a tree, which may end, is none of these.

>>> len(list(parts({"$ref": "#/$defs/A", "$defs": {"A": {"type": "integer"}, "B": {"$ref": "#/unused"}}})))
2
>>> list(parts({"type": "array", "items": {"$ref": "#/$defs/A"}}))
Traceback (most recent call last):
ValueError: this is no JSON schema: the reference '#/$defs/A' leads nowhere
>>> check_ends({"type": "array", "items": {"$ref": "#"}})
>>> check_ends({"anyOf": [{"type": "null"}, {"$ref": "#"}]})
>>> check_ends({"anyOf": [{"$ref": "#"}, {"type": "array", "minItems": 1, "items": {"$ref": "#"}}]})
Traceback (most recent call last):
ValueError: this is no JSON schema: no value ever fits: what has to be there needs itself, or is forbidden
>>> check_ends({"allOf": [{"$ref": "#"}]})
Traceback (most recent call last):
ValueError: this is no JSON schema: the reference '#' leads to itself
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from urllib.parse import unquote

__all__ = ["check_ends", "parts", "target"]


def target(schema: object, reference: object) -> object:
    """What a local reference leads to. Raises ``ValueError``."""
    if not isinstance(reference, str):
        raise ValueError(
            f"this is no JSON schema: $ref is {reference!r:.80}; it takes a text such as '#/$defs/Item'"
        )
    path, found = reference, schema
    if not path.startswith("#"):
        raise ValueError(
            f"this is no JSON schema: the reference {path!r:.80} leads nowhere: those within the schema, "
            "such as '#/$defs/Item', are followed alone"
        )
    for part in path.removeprefix("#").split("/")[1:]:
        name = unquote(part).replace("~1", "/").replace("~0", "~")
        if isinstance(found, Mapping) and name in found:
            found = found[name]
        elif isinstance(found, list) and name.isdecimal() and int(name) < len(found):
            found = found[int(name)]
        else:
            raise ValueError(f"this is no JSON schema: the reference {path!r:.80} leads nowhere")
    return found


def check_ends(schema: Mapping[str, object]) -> None:
    """Raises ``ValueError`` where a value would be held against the same part again and again, or where
    there can be no value at all."""
    done: set[int] = set()
    every = list(parts(schema))
    for part in every:
        trail, on_it = [(part, _same_value(schema, part))], {id(part)}
        while trail:
            at, following = trail[-1]
            led = next(following, None)
            if led is None:
                trail.pop()
                on_it.remove(id(at))
                done.add(id(at))
            elif id(led) in on_it:
                named = f"{at.get('$ref')!r:.80}"
                raise ValueError(f"this is no JSON schema: the reference {named} leads to itself")
            elif id(led) not in done:
                trail.append((led, _same_value(schema, led)))
                on_it.add(id(led))
    if not _has_a_value(schema, every):
        raise ValueError(
            "this is no JSON schema: no value ever fits: what has to be there needs itself, or is forbidden"
        )


def _same_value(schema: object, part: Mapping[str, object]) -> Iterator[Mapping[str, object]]:
    """What a value has to fit, too, to fit this."""
    led = [target(schema, part["$ref"])] if "$ref" in part else []
    return (each for each in (*led, *_listed(part, "allOf")) if isinstance(each, Mapping))


def _has_a_value(schema: Mapping[str, object], every: Sequence[Mapping[str, object]]) -> bool:
    """Whether a value that is finite can fit, as far as references decide that: what needs nothing has one,
    and so does what needs only parts that have one."""
    left: dict[int, int] = {}  # of each part, how many of its needs are not met
    needed: dict[int, list[list[int]]] = {}  # by part, the needs that it meets; each is once of a part
    have: list[int] = []
    for part in every:
        needs = [need for need in _needs(schema, part) if not any(_any_value(one) for one in need)]
        left[id(part)] = len(needs)
        if not needs:
            have.append(id(part))
        for need in needs:
            open_need = [id(part)]
            for one in need:
                needed.setdefault(id(one), []).append(open_need)
    while have:
        for need_of in needed.get(have.pop(), ()):
            if need_of:
                whose = need_of.pop()
                left[whose] -= 1
                if not left[whose]:
                    have.append(whose)
    return not left[id(schema)]


def _any_value(part: object) -> bool:
    return part is not False and not isinstance(part, Mapping)


def _needs(schema: object, part: Mapping[str, object]) -> Iterator[list[object]]:
    """Of each group of parts one has to have a value, for this one to have one."""
    if "$ref" in part:
        yield [target(schema, part["$ref"])]
    yield from ([each] for each in _listed(part, "allOf"))
    yield from (options for name in ("anyOf", "oneOf") if (options := _listed(part, name)))
    if part.get("type") in ("object", ["object"]):
        fields = part.get("properties")
        known = fields if isinstance(fields, Mapping) else {}
        for name in _listed(part, "required"):
            if isinstance(name, str):
                yield [known.get(name, part.get("additionalProperties", True))]
    least = part.get("minItems")
    if part.get("type") in ("array", ["array"]) and isinstance(least, int):
        first = _listed(part, "prefixItems")
        yield from ([each] for each in first[:least])
        if least > len(first):
            yield [part.get("items", True)]


def parts(schema: Mapping[str, object]) -> Iterator[Mapping[str, object]]:
    """The schema, and all in it that a value, or what is in it, is held against. Raises ``ValueError`` for a
    reference that leads nowhere."""
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
