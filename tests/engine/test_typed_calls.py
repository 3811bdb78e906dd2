"""Typed sub-calls: types written in the REPL, and the three ways in which a schema reaches a model."""

from __future__ import annotations

import json
from collections.abc import Sequence

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from unspool import RLM, Run
from unspool.models.providers import PROVIDERS, Provider
from unspool.models.remote import RemoteModel
from unspool.models.schemas import as_object
from unspool.reach.typed import made, schema_of
from unspool.schema import Schema
from unspool.testing import Ask, Behaviour, FaultyServer, ScriptedModel

from .helpers import play, py, shown

SETUP = """
import datetime as dt, enum
from collections import namedtuple
from dataclasses import dataclass, field
from decimal import Decimal
from typing import *
class Tone(enum.Enum):
    GOOD = "good"
    BAD = "bad"
@dataclass
class Item:
    name: str
    price: float
    tags: list[str] = field(default_factory=list)
@dataclass
class Order:
    items: list[Item]
    tone: Tone
    due: Optional[dt.date] = None
class Row(TypedDict):
    id: int
    label: NotRequired[str]
class Spot(NamedTuple):
    row: int
    column: int = 0
"""


def value_of(schema: str, reply: object, setup: str = SETUP) -> str:
    """How a reply shows itself in the REPL."""
    sub = ScriptedModel([json.dumps(reply)], name="scripted:sub")
    code = f"{setup}\nr = repr(llm_query('?', schema={schema}))\nprint(1)\nsubmit(r)"
    run, _ = play([py(code)], sub=sub, max_turns=1)
    assert run.status == "answered", run.trace.turns[0].cells[0].error
    assert len(sub.requests) == 1
    return str(run.answer)


@pytest.mark.parametrize(
    ("schema", "reply", "shown"),
    [
        ("int", 3, "3"),
        ("float", 3, "3.0"),
        ("bool", True, "True"),
        ("str", "a", "'a'"),
        ("list[str]", ["a"], "['a']"),
        ("dict[str, int]", {"a": 1}, "{'a': 1}"),
        ("dict[int, str]", {"1": "a"}, "{1: 'a'}"),
        ("tuple[str, float]", ["a", 1], "('a', 1.0)"),
        ("set[int]", [1, 1], "{1}"),
        ("int | None", None, "None"),
        ("list[int | str]", [1, "a"], "[1, 'a']"),
        ("Literal['a', 'b']", "b", "'b'"),
        ("Tone", "bad", "<Tone.BAD: 'bad'>"),
        ("Item", {"name": "x", "price": 1}, "Item(name='x', price=1.0, tags=[])"),
        ("list[Item]", [{"name": "x", "price": 1, "tags": ["t"]}], "[Item(name='x', price=1.0, tags=['t'])]"),
        (
            "Order",
            {"items": [{"name": "x", "price": 1.5}], "tone": "good", "due": "2031-05-24"},
            "Order(items=[Item(name='x', price=1.5, tags=[])], tone=<Tone.GOOD: 'good'>, due=datetime.date(2031, 5, 24))",
        ),
        ("Row", {"id": 1}, "{'id': 1}"),
        ("Spot", {"row": 1}, "Spot(row=1, column=0)"),
        ("dt.date", "2031-05-24", "datetime.date(2031, 5, 24)"),
        ("Decimal", 1.1, "Decimal('1.1')"),
        ("{'n': int, 'when': dt.date}", {"n": 1, "when": "2031-05-24"}, "{'n': 1, 'when': datetime.date(2031, 5, 24)}"),
        ("{'type': 'array', 'items': {'type': 'integer'}}", [1], "[1]"),
    ],
)  # fmt: skip
def test_types_written_in_the_repl(schema: str, reply: object, shown: str) -> None:
    assert value_of(schema, reply) == shown


def test_a_model_of_pydantics_made_in_a_cell() -> None:
    setup = (
        "from pydantic import BaseModel, Field\nclass P(BaseModel):\n    name: str\n    age: int = Field(ge=0)\n"
        "class T(BaseModel):\n    people: list[P]"
    )
    assert value_of("T", {"people": [{"name": "a", "age": 1}]}, setup) == "T(people=[P(name='a', age=1)])"
    assert value_of("list[P]", [{"name": "a", "age": 1}], setup) == "[P(name='a', age=1)]"


def test_a_batch_makes_each_value_and_what_cannot_be_made_is_a_failed_item() -> None:
    sub = ScriptedModel(lambda m: json.dumps({"n": m[-1].text.partition("\n")[0]}), name="scripted:sub")
    code = (
        "from dataclasses import dataclass\n@dataclass\nclass P:\n    n: str\n    def __post_init__(self):\n"
        "        if self.n == 'b': raise ValueError('b is bad')\n"
        "a = llm_query_batched(['a', 'b', 'c'], schema=P)\nr = [repr(x) for x in a]\nprint(1)\nsubmit(r)"
    )
    run, _ = play([py(code)], sub=sub)
    assert run.answer == ["P(n='a')", "FailedCall(schema: the reply makes no P: b is bad)", "P(n='c')"]
    run, _ = play(
        [py(code.replace("llm_query_batched(['a', 'b', 'c']", "llm_query('b'"))], sub=sub, max_turns=1
    )
    cell = run.trace.turns[0].cells[0]
    assert cell.error is not None
    assert (cell.error.type, cell.error.message) == ("LLMError", "the reply makes no P: b is bad")


@pytest.mark.parametrize("schema", ["object()", "'int'", "3", "lambda x: x", "list[object()]", "[int]"])
def test_what_is_no_type_is_refused_before_a_call(schema: str) -> None:
    sub = ScriptedModel([])
    _, model = play([py(f"llm_query('?', schema={schema})"), py("print(1)\nsubmit(1)")], sub=sub)
    assert "JSON schema" in shown(model, 1)
    assert sub.requests == []


@pytest.mark.parametrize(
    ("reply", "schema", "value"),
    [
        ("The answer:\n```json\n[1, 2]\n```\nDone.", "list[int]", [1, 2]),
        ('I think it is {"n": 1}, really.', "{'n': int}", {"n": 1}),
        ("good", "Literal['good', 'bad']", "good"),
        ('{"value": 3}', "int", 3),
        ("plain words", "str", "plain words"),
    ],
)
def test_a_reply_with_words_around_it_needs_no_repair(reply: str, schema: str, value: object) -> None:
    sub = ScriptedModel([reply], name="scripted:sub")
    code = f"from typing import *\nr = llm_query('?', schema={schema})\nprint(1)\nsubmit(r)"
    run, _ = play([py(code)], sub=sub, max_turns=1)
    assert run.answer == value


def test_one_repair_that_names_the_misfit_and_then_a_typed_failure() -> None:
    sub = ScriptedModel(['"2031-13-99"', '"2031-12-24"', '"soon"', '"later"'], name="scripted:sub")
    code = (
        "import datetime as dt\na = llm_query('When?', schema=dt.date)\n"
        "try:\n    llm_query('When?', schema=dt.date)\nexcept LLMError as e:\n    r = [a, e.kind, str(e)]\n"
        "print(1)\nsubmit(r)"
    )
    run, _ = play([py(code)], sub=sub, max_turns=1)
    assert isinstance(run.answer, list)
    assert str(run.answer[0]) == "2031-12-24"
    assert run.answer[1] == "schema"
    assert "expected a date" in run.answer[2]
    assert "expected a date" in sub.requests[1].messages[-1].text
    assert len(sub.requests) == 4


# The three ways, by the bytes of the request

ROOT = py("r = llm_query('How many?', schema=int)\nprint(r)\nsubmit(r)")


def asked_of(provider: Provider, sub_replies: Sequence[Behaviour | str]) -> tuple[Run, list[Ask]]:
    """A run whose sub-model is served over HTTP by this provider's rules, and what it was sent."""
    with FaultyServer(sub_replies) as server:
        sub = RemoteModel(provider, "tiny", key="test", base_url=server.base_url)
        with RLM(ScriptedModel([ROOT]), sub_model=sub, max_turns=1) as engine:
            run = engine.run("q", "c")
        return run, server.asks


def test_a_provider_that_enforces_schemas_is_sent_one_with_an_object_at_its_root() -> None:
    run, (sent,) = asked_of(PROVIDERS["openai"], ['{"value": 3}'])
    assert run.answer == 3
    wanted = {
        "type": "object", "properties": {"value": {"type": "integer"}}, "required": ["value"],
        "additionalProperties": False,
    }  # fmt: skip
    assert sent.body["response_format"] == {
        "type": "json_schema",
        "json_schema": {"name": "reply", "schema": wanted, "strict": False},
    }
    assert sent.prompt == "How many?"


def test_llama_cpp_is_sent_the_schema_that_its_grammar_is_made_from() -> None:
    here = Provider("local", here=True)  # as the local model speaks to its own server
    run, (sent,) = asked_of(here, ["3"])
    assert run.answer == 3
    assert sent.body["response_format"] == {
        "type": "json_schema",
        "json_schema": {"name": "reply", "schema": {"type": "integer"}, "strict": False},
    }


def test_a_server_that_refuses_schemas_is_asked_in_words_and_its_reply_repaired_once() -> None:
    refusal = Behaviour(status=400, message="response_format is not supported")
    run, asks = asked_of(PROVIDERS["vllm"], [refusal, "three", "3"])
    assert run.answer == 3
    assert ["response_format" in ask.body for ask in asks] == [True, False, False]
    assert (
        'Reply with JSON that fits this JSON schema, and nothing else: {"type": "integer"}' in asks[1].prompt
    )
    assert "This does not fit" in str(asks[2].body["messages"])
    call = run.trace.turns[0].cells[0].sub_calls[0]
    assert (call.error, call.reply) == (None, "3")


def test_a_schema_that_is_never_met_is_a_typed_failure_over_http_too() -> None:
    run, asks = asked_of(PROVIDERS["openai"], ["three"])
    cell = run.trace.turns[0].cells[0]
    assert cell.sub_calls[0].error is not None
    assert cell.sub_calls[0].error.kind == "schema"
    assert cell.error is not None
    assert cell.error.type == "LLMError"
    assert len(asks) == 2


def test_definitions_stay_where_references_look_for_them() -> None:
    schema = {
        "type": "array",
        "items": {"$ref": "#/$defs/P"},
        "$defs": {"P": {"type": "object", "properties": {}}},
    }
    wrapped = as_object(schema)
    assert Schema(wrapped).check({"value": [{}]})
    assert Schema(schema).parse('{"value": [{}]}') == [{}]
    assert as_object({"type": "object"}) == {"type": "object"}


TYPES = st.recursive(
    st.sampled_from([int, str, bool, float]),
    lambda inner: inner.map(lambda t: list[t]) | inner.map(lambda t: dict[str, t]),  # type: ignore[valid-type]
    max_leaves=4,
)


@settings(deadline=None)
@given(st.data())
def test_a_reply_that_fits_a_type_is_made_and_stays_what_it_is(data: st.DataObject) -> None:
    kind = data.draw(TYPES)
    value = data.draw(st.from_type(kind).filter(lambda v: "nan" not in repr(v) and "inf" not in repr(v)))
    schema = schema_of(kind)
    assert schema is not None
    reply = Schema(schema).parse(json.dumps(value))
    assert made(kind, reply) == value


@pytest.mark.parametrize(
    ("schema", "reply", "value"),
    [
        ("int", "1,030", "1030"),
        ("int", '"1,030"', "1030"),
        ("int", '{"value": "1,030"}', "1030"),
        ("Literal['yes', 'no']", "Yes.", "'yes'"),
        ("Literal['yes', 'no']", '{"value": "NO"}', "'no'"),
        ("Tone", "Good", "<Tone.GOOD: 'good'>"),
        ("str", "1.50", "'1.50'"),  # what fits as it is stays
        ("str", "Yes.", "'Yes.'"),
    ],
)
def test_a_near_miss_is_not_asked_for_again(schema: str, reply: str, value: str) -> None:
    sub = ScriptedModel([reply], name="scripted:sub")
    run, _ = play([py(f"{SETUP}\nr = repr(llm_query('?', schema={schema}))\nprint(1)\nsubmit(r)")], sub=sub)
    assert (run.answer, len(sub.requests)) == (value, 1)
