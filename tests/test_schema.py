"""JSON schemas of sub-call replies."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel

from unspool import RLM, references
from unspool.answers import AnswerType
from unspool.errors import ConfigError, HostCallError
from unspool.references import check_ends
from unspool.schema import Schema
from unspool.testing import ScriptedModel

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
        Schema({"anyOf": [{"$ref": "#"}, {"type": "string"}]}).check(1)


@pytest.mark.parametrize("schema", [{"type": "int"}, {"items": [{"type": "text"}]}, "integer", 3])
def test_what_is_no_schema_is_refused(schema: object) -> None:
    with pytest.raises(HostCallError, match="schema"):
        Schema.of(schema)


def test_remote_references_are_never_followed() -> None:
    with pytest.raises(
        ValueError, match=r"leads nowhere: those within the schema, such as .* are followed alone"
    ):
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
        f"p{n}": {kind: [{"$ref": f"#/$defs/p{0 if cyclic else n + 1}"}] * 2 + [{"type": "string"}] * cyclic}
        for n in range(60)
    }
    if cyclic and kind == "allOf":
        with pytest.raises(ValueError, match="leads to itself"):
            Schema({"$ref": "#/$defs/p0", "$defs": parts})
        return
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


LINK = {"type": "object", "required": ["next"], "properties": {"next": {"$ref": "#/$defs/Link"}}}


@pytest.mark.parametrize(
    ("schema", "words"),
    [
        ({"$ref": "#"}, "the reference '#' leads to itself"),
        (
            {"$ref": "#/$defs/A", "$defs": {"A": {"$ref": "#/$defs/B"}, "B": {"$ref": "#/$defs/A"}}},
            "leads to itself",
        ),
        ({"allOf": [{"type": "object"}, {"$ref": "#"}]}, "leads to itself"),
        ({"anyOf": [{"$ref": "#"}]}, "no value ever fits"),
        ({"oneOf": [{"$ref": "#"}, {"anyOf": [{"$ref": "#"}]}]}, "no value ever fits"),
        ({"$ref": "#/$defs/Link", "$defs": {"Link": LINK}}, "no value ever fits"),
        ({"type": "array", "minItems": 1, "items": {"$ref": "#"}}, "no value ever fits"),
        ({"type": "array", "minItems": 2, "prefixItems": [{}, {"$ref": "#"}]}, "no value ever fits"),
        ({"type": "object", "required": ["a"], "additionalProperties": False}, "no value ever fits"),
        ({"$ref": 5}, r"\$ref is 5; it takes a text such as '#/\$defs/Item'"),
        ({"items": {"$ref": ["#"]}}, r"\$ref is \['#'\]"),
        ({"type": 5}, "no type 5; types: object, array"),
        ({"type": []}, r"no type \[\]"),
        ({"anyOf": [{"type": ["null", {}]}]}, r"no type \['null', \{\}\]"),
        ({"enum": []}, r"enum is \[\]; it takes a list of values"),
        ({"properties": {"a": {"enum": "yes"}}}, "enum is 'yes'"),
    ],
)
def test_what_no_value_can_ever_fit_is_refused_before_a_model_is_asked(
    schema: Mapping[str, object], words: str
) -> None:
    with pytest.raises(HostCallError, match=words):
        Schema.of(schema)
    model = ScriptedModel([])
    with pytest.raises(ConfigError, match=f"^answer= is no JSON schema: .*{words}"):
        RLM(model, runs=False).run("q", "c", answer=schema)
    assert not model.requests


@pytest.mark.parametrize(
    ("schema", "value"),
    [
        ({"type": "object", "properties": {"next": {"$ref": "#"}}}, {"next": {"next": {}}}),
        (
            {
                "$ref": "#/$defs/Link",
                "$defs": {
                    "Link": {**LINK, "properties": {"next": {"anyOf": [{"$ref": "#"}, {"type": "null"}]}}}
                },
            },
            {"next": {"next": None}},
        ),
        ({"type": "array", "items": {"$ref": "#"}}, [[], [[]]]),
        (
            {"anyOf": [{"type": "integer"}, {"type": "array", "minItems": 1, "items": {"$ref": "#"}}]},
            [[1], 2],
        ),
        (
            {"type": ["object", "null"], "required": ["a"], "properties": {"a": {"$ref": "#"}}},
            {"a": {"a": None}},
        ),
        ({"required": ["a"], "properties": {"a": {"$ref": "#"}}}, {"a": {"a": 1}}),
        (
            {"properties": {"type": {"enum": ["int"]}, "enum": {"type": "string"}}},
            {"type": "int", "enum": "x"},
        ),
    ],
)
def test_schemas_that_refer_to_themselves_and_come_to_an_end_are_kept(
    schema: Mapping[str, object], value: object
) -> None:
    assert Schema(schema).check(value) == value
    assert AnswerType(schema).check(value) == value


REFERENCES = st.sampled_from(["#", "#/$defs/A", "#/$defs/B", "#/$defs/C"]).map(lambda to: {"$ref": to})
PARTS: st.SearchStrategy[dict[str, object]] = st.recursive(
    st.sampled_from([{"type": "integer"}, {"type": "null"}]) | REFERENCES,
    lambda part: (
        st.lists(part, min_size=1, max_size=3).map(lambda options: {"anyOf": options})
        | st.tuples(part, st.sampled_from([[], ["x"]])).map(
            lambda of: {"type": "object", "properties": {"x": of[0]}, "required": of[1]}
        )
        | st.tuples(part, st.integers(0, 2)).map(
            lambda of: {"type": "array", "items": of[0], "minItems": of[1]}
        )
    ),
    max_leaves=4,
)


class Values:
    """For each part of a schema a value that fits, if there is one that is no deeper than asked."""

    def __init__(self, schema: Mapping[str, object]) -> None:
        self.schema = schema
        self.known: dict[tuple[int, int], list[object]] = {}

    def some(self, part: object, depth: int) -> list[object]:
        key = id(part), depth
        if key not in self.known:
            self.known[key] = self._some(part, depth - 1) if depth else []
        return self.known[key]

    def _some(self, part: object, depth: int) -> list[object]:
        match part:
            case {"$ref": to}:
                return self.some(references.target(self.schema, to), depth)
            case {"anyOf": list(options)}:
                return [value for option in options for value in self.some(option, depth)][:1]
            case {"type": "object", "required": []}:
                return [{}]
            case {"type": "object", "properties": {"x": inner}}:
                return [{"x": value} for value in self.some(inner, depth)]
            case {"type": "array", "minItems": int(least), "items": inner}:
                return [[value] * least for value in self.some(inner, depth)] if least else [[]]
            case {"type": "integer"}:
                return [7]
        return [None]


@given(PARTS, PARTS, PARTS, PARTS)
def test_a_schema_is_refused_exactly_where_it_has_no_value(
    whole: dict[str, object], a: dict[str, object], b: dict[str, object], c: dict[str, object]
) -> None:
    written = {**whole, "$defs": {"A": a, "B": b, "C": c}}
    found = Values(written).some(written, 40)
    refused = ""
    try:
        schema = Schema(written)
    except ValueError as error:
        refused = str(error)
    if refused:
        assert not found or "leads to itself" in refused
    else:
        assert found
        try:
            assert [schema.check(value) for value in found] == found
        except ValueError as error:
            refused = str(error)
        assert refused in ("", "the schema combines too many parts to be checked")


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
