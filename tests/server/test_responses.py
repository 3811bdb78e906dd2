"""``/v1/responses``: whole and as typed events."""

from __future__ import annotations

from typing import Any

import pytest

from unspool.errors import ModelError
from unspool.testing import ScriptedModel

from .conftest import LOOK, Reply, Start, Up, submits


async def ask(up: Up, **more: object) -> Reply:
    return await up.send("/v1/responses", {"model": "unspool", "input": "How long?", **more})


async def test_an_answer_is_a_reasoning_item_and_a_message(serve: Start) -> None:
    up = await serve(ScriptedModel([LOOK, submits("'forty-two'")]))
    reply = await ask(up, instructions="Be brief.", metadata={"a": "b"})
    body = reply.json
    assert body["status"] == "completed"
    assert body["id"] == "resp_" + reply.headers["x-unspool-run"]
    assert [item["type"] for item in body["output"]] == ["reasoning", "message"]
    assert "turn 1" in body["output"][0]["summary"][0]["text"]
    assert body["output"][1]["content"][0]["text"] == "forty-two"
    assert body["usage"]["input_tokens"] + body["usage"]["output_tokens"] == body["usage"]["total_tokens"]
    assert body["metadata"] == {"a": "b"}
    assert "Be brief." in up.model.requests[0].messages[-1].text


async def test_the_events_of_a_stream_add_up_to_the_response(serve: Start) -> None:
    up = await serve(ScriptedModel([LOOK, submits("'x' * 5_000")]))
    events: list[Any] = (await ask(up, stream=True)).events
    assert [event["sequence_number"] for event in events] == list(range(len(events)))
    kinds = [event["type"] for event in events]
    assert kinds[:2] == ["response.created", "response.in_progress"]
    assert kinds[-1] == "response.completed"
    told = "".join(e["delta"] for e in events if e["type"] == "response.output_text.delta")
    thought = "".join(e["delta"] for e in events if e["type"] == "response.reasoning_summary_text.delta")
    last = events[-1]["response"]
    assert told == last["output"][1]["content"][0]["text"] == "x" * 5_000
    assert thought == last["output"][0]["summary"][0]["text"]
    added = [e["item"]["id"] for e in events if e["type"] == "response.output_item.added"]
    done = [e["item"] for e in events if e["type"] == "response.output_item.done"]
    assert [item["id"] for item in done] == added
    assert done == last["output"]


async def test_without_progress_there_is_no_reasoning_item(serve: Start) -> None:
    up = await serve(ScriptedModel([LOOK, submits("1")]))
    events: list[Any] = (await ask(up, stream=True, unspool={"progress": "off"})).events
    assert [item["type"] for item in events[-1]["response"]["output"]] == ["message"]
    assert {event.get("output_index", 0) for event in events} == {0}


async def test_a_draft_is_incomplete_and_a_failure_is_failed(serve: Start) -> None:
    up = await serve(ScriptedModel(lambda _: "```python\nprint(1)\nresult = 'so far'\n```"))
    whole = await ask(up, unspool={"max_turns": 1})
    assert whole.json["status"] == "incomplete"
    assert whole.json["output"][1]["content"][0]["text"] == "so far"
    events: list[Any] = (await ask(up, stream=True, unspool={"max_turns": 1})).events
    assert events[-1]["type"] == "response.incomplete"
    failing = await serve(ScriptedModel([ModelError("auth", "the key is wrong")] * 2))
    assert (await ask(failing)).status == 502
    events = (await ask(failing, stream=True)).events
    assert events[-1]["type"] == "response.failed"
    assert events[-1]["response"]["error"]["code"] == "run_failed"
    assert "the key is wrong" in events[-1]["response"]["error"]["message"]


async def test_a_format_makes_the_answer_fit(serve: Start) -> None:
    up = await serve(ScriptedModel([LOOK, submits("'x'"), submits("{'n': 3}")]))
    schema = {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}
    reply = await ask(up, text={"format": {"type": "json_schema", "name": "count", "schema": schema}})
    assert reply.json["output"][1]["content"][0]["text"] == '{"n":3}'
    assert reply.json["text"]["format"]["schema"] == schema


@pytest.mark.parametrize(
    ("more", "param"),
    [
        ({"input": None}, "input"),
        ({"input": ""}, "input"),
        ({"input": []}, "input"),
        ({"input": [{"role": "system", "content": "x"}]}, "input"),
        (
            {"input": [{"role": "user", "content": [{"type": "input_image"}]}]},
            "input[0].content[0].image_url",
        ),
        (
            {"input": [{"role": "user", "content": [{"type": "input_file", "file_url": "http://a/b"}]}]},
            "input[0].content[0].file_data",
        ),
        ({"previous_response_id": "resp_1"}, "previous_response_id"),
        ({"conversation": "c1"}, "conversation"),
        ({"background": True}, "background"),
        ({"text": {"format": {"type": "json_schema"}}}, "text.format.schema"),
        ({"unspool": {"progress": "all"}}, "unspool.progress"),
    ],
)
async def test_what_is_wrong_is_named(serve: Start, more: dict[str, object], param: str) -> None:
    up = await serve(ScriptedModel([]))
    reply = await ask(up, **more)
    assert (reply.status, reply.error["param"]) == (400, param)
    assert up.model.requests == []
