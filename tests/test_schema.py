"""JSON schemas of sub-call replies."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel

from unspool.answers import AnswerType
from unspool.errors import ConfigError, HostCallError
from unspool.references import check_ends
from unspool.schema import Schema

PERSON = {
    "type": "object",
    "required": ["name", "tags"],
    "additionalProperties": False,
    "properties": {
        "name": {"type": "string", "minLength": 1},
        "age": {"type": "integer", "minimum": 0},
        "tags": {"type": "array", "items": {"enum": ["a", "b"]}, "maxItems": 2},
    },
}


def test_what_fits_comes_back() -> None:
    value = {"name": "Ada", "age": 3, "tags": ["a"]}
    assert Schema(PERSON).parse(json.dumps(value)) == value
    assert Schema(PERSON).parse(f"```json\n{json.dumps(value)}\n```") == value


@pytest.mark.parametrize(
    ("value", "words"),
    [
        ([], "expected object"),
        ({"tags": []}, "name: is missing"),
        ({"name": "", "tags": []}, "at least 1"),
        ({"name": "x", "tags": ["c"]}, r"tags\[0\]: expected one of"),
        ({"name": "x", "tags": ["a"] * 3}, "at most 2"),
        ({"name": "x", "tags": [], "age": -1}, "age: expected a value at least 0"),
        ({"name": "x", "tags": [], "age": True}, "age: expected integer"),
        ({"name": "x", "tags": [], "more": 1}, "more: no value is allowed"),
    ],
)
def test_the_first_misfit_is_named(value: object, words: str) -> None:
    with pytest.raises(ValueError, match=words):
        Schema(PERSON).check(value)


def test_references_and_combinations() -> None:
    class Leaf(BaseModel):
        n: int | None

    class Tree(BaseModel):
        leaves: list[Leaf]

    schema = Schema(Tree.model_json_schema())
    assert schema.check({"leaves": [{"n": 1}, {"n": None}]})
    with pytest.raises(ValueError, match=r"leaves\[1\].n"):
        schema.check({"leaves": [{"n": 1}, {"n": "x"}]})


def test_a_schema_that_goes_round_in_circles_ends() -> None:
    with pytest.raises(ValueError, match="too deeply"):
        Schema({"$ref": "#"}).check(1)


@pytest.mark.parametrize("schema", [{"type": "int"}, {"items": [{"type": "text"}]}, "integer", 3])
def test_what_is_no_schema_is_refused(schema: object) -> None:
    with pytest.raises(HostCallError, match="schema"):
        Schema.of(schema)


def test_remote_references_are_never_followed() -> None:
    with pytest.raises(ValueError, match="leads nowhere"):
        Schema({"$ref": "http://127.0.0.1:9/schema.json"}).check(1)


@given(st.text())
def test_any_text_parses_or_is_refused(text: str) -> None:
    try:
        Schema({"type": "object"}).parse(text)
    except ValueError:
        return


@given(st.recursive(st.none() | st.booleans() | st.integers() | st.text(), st.lists, max_leaves=8))
def test_an_empty_schema_takes_any_value(value: object) -> None:
    assert Schema({}).check(value) == value


@pytest.mark.parametrize("kind", ["anyOf", "oneOf", "allOf"])
@pytest.mark.parametrize("cyclic", [True, False])
def test_a_schema_that_would_take_for_ever_is_refused_at_once(kind: str, cyclic: bool) -> None:
    """Two references to the next part in each part: 2 ** 60 ways. A model or a client may write such a thing."""
    parts: dict[str, object] = {
        f"p{n}": {kind: [{"$ref": f"#/$defs/p{0 if cyclic else n + 1}"}] * 2} for n in range(60)
    }
    schema = Schema({"$ref": "#/$defs/p0", "$defs": {**parts, "p60": {"type": "string"}}})
    with pytest.raises(ValueError, match="combines too many parts"):
        schema.check(1)
    with pytest.raises(ValueError, match="combines too many parts"):
        AnswerType(schema.json).check([1, 2])


def test_one_schema_checks_any_number_of_values() -> None:
    schema = Schema({"type": "array", "items": {"anyOf": [{"type": "integer"}, {"type": "null"}]}})
    for _ in range(50):
        assert schema.fits(schema.json, [1, None] * 500)
    assert schema.check([1, None] * 20_000)


NOWHERE = {"type": "object", "properties": {"a": {"type": "array", "items": {"$ref": "#/$defs/X"}}}}


@pytest.mark.parametrize(
    "schema",
    [
        NOWHERE,
        {"anyOf": [{"type": "integer"}, {"$ref": "#/$defs/X"}]},
        {"$ref": "#/$defs/A", "$defs": {"A": {"additionalProperties": {"$ref": "#/anyOf/2"}}}},
        {"prefixItems": [{"allOf": [{"$ref": "other.json"}]}]},
    ],
)
def test_a_reference_that_leads_nowhere_is_refused_before_anything_is_asked(
    schema: Mapping[str, object],
) -> None:
    with pytest.raises(HostCallError, match=r"the reference '.*' leads nowhere"):
        Schema.of(schema)
    with pytest.raises(ConfigError, match=r"answer= is no JSON schema: the reference '.*' leads nowhere"):
        AnswerType(schema)


def test_what_no_value_is_held_against_may_lead_anywhere_and_every_pointer_is_followed() -> None:
    schema = Schema(
        {
            "anyOf": [{"type": "integer"}, {"$ref": "#/$defs/a~1b%20c"}, {"$ref": "#/anyOf/0"}],
            "$defs": {"a/b c": {"type": "boolean"}, "unused": {"$ref": "#/nowhere"}},
            "default": {"$ref": "#/nowhere"},
        }
    )
    assert schema.check(True) is True
    with pytest.raises(ValueError, match="expected integer"):
        schema.check("x")


def test_a_long_chain_of_references_is_checked_in_a_moment() -> None:
    count = 20_000
    chain: dict[str, object] = {f"p{n}": {"$ref": f"#/$defs/p{n + 1}"} for n in range(count)}
    schema = {"$ref": "#/$defs/p0", "$defs": {**chain, f"p{count}": {"type": "string"}}}
    check_ends(schema)
    with pytest.raises(ValueError, match="leads to itself"):
        check_ends({**schema, "$defs": {**chain, f"p{count}": {"$ref": "#/$defs/p7"}}})


@pytest.mark.parametrize("number", [float("nan"), float("inf"), float("-inf")])
@pytest.mark.parametrize(
    ("schema", "value"),
    [
        ({"type": "number"}, lambda n: n),
        ({"type": ["number", "null"]}, lambda n: n),
        ({"type": "array", "items": {"type": "number"}}, lambda n: [1.5, n]),
        ({"type": "object"}, lambda n: {"a": [{"b": n}]}),
        ({"anyOf": [{"type": "integer"}, {"type": "object"}]}, lambda n: {"a": (n,)}),
        ({"type": "array", "items": True}, lambda n: [n]),
    ],
)
def test_a_number_that_json_does_not_have_is_refused(
    schema: Mapping[str, object], value: Callable[[float], object], number: float
) -> None:
    with pytest.raises(ValueError, match=f"got {number}, which JSON does not have: give a finite number"):
        AnswerType(schema).check(value(number))
    told = json.dumps(value(number))  # NaN, Infinity: Python writes and reads them
    with pytest.raises(ValueError, match="JSON does not have"):
        Schema(schema).parse(told)
    assert AnswerType(schema).check(value(2.5)) is not None
