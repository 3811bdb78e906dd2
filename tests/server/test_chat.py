"""``/v1/chat/completions``: answers, drafts, failures, typed answers, whole and as a stream."""

from __future__ import annotations

import json
from typing import Any

import pytest

from unspool import Budget
from unspool.errors import ModelError
from unspool.testing import ScriptedModel
from unspool.types import Usage

from .conftest import LOOK, Start, chat_body, submits

DRAFT = "```python\nprint(1)\nresult = 'so far'\n```"


def choice(events: list[dict[str, Any]], part: str) -> str:
    deltas = [event["choices"][0]["delta"] for event in events if event["choices"]]
    return "".join(delta.get(part) or "" for delta in deltas)


async def test_an_answer_comes_with_its_run_its_usage_and_what_happened(serve: Start) -> None:
    up = await serve(ScriptedModel([LOOK, submits("'forty-two'")]))
    reply = await up.chat()
    (told,) = reply.json["choices"]
    run = reply.headers["x-unspool-run"]
    assert reply.status == 200
    assert told["message"]["content"] == "forty-two"
    assert told["finish_reason"] == "stop"
    assert "turn 1: 1 line of code" in told["message"]["reasoning_content"]
    assert reply.json["unspool"]["run"] == run
    assert reply.json["unspool"]["status"] == "answered"
    usage = reply.json["usage"]
    assert usage["prompt_tokens"] + usage["completion_tokens"] == usage["total_tokens"] > 0
    assert up.store.read(run)[0].query == "How long?"


async def test_usage_is_that_of_the_whole_tree(serve: Start) -> None:
    sub = ScriptedModel(lambda _: "yes", name="scripted:sub", usage=Usage(1, 1_000, 10))
    root = ScriptedModel(
        ["```python\nsubmit(llm_query_batched(['a', 'b', 'c']))\n```"], usage=Usage(1, 100, 5)
    )
    reply = await (await serve(root, sub_model=sub)).chat()
    assert reply.json["usage"]["prompt_tokens"] == 3_100
    assert reply.json["usage"]["completion_tokens"] == 35
    assert reply.json["unspool"]["sub_calls"] == 3
    assert reply.json["choices"][0]["message"]["content"] == '["yes", "yes", "yes"]'


async def test_usage_that_is_not_known_is_null_and_never_zero(serve: Start) -> None:
    reply = await (await serve(ScriptedModel([LOOK, submits("1")], usage=None, cost=None))).chat()
    assert reply.json["usage"] is None
    assert reply.json["unspool"]["cost"] is None
    assert reply.json["unspool"]["calls_unmeasured"] == 2


async def test_a_stream_tells_what_happens_then_the_answer_then_the_usage(serve: Start) -> None:
    up = await serve(ScriptedModel([LOOK, submits("'x' * 5_000")]))
    reply = await up.chat(stream=True, stream_options={"include_usage": True})
    events: list[Any] = reply.events
    assert reply.headers["content-type"].startswith("text/event-stream")
    assert reply.headers["x-unspool-run"] == events[0]["id"].removeprefix("chatcmpl-")
    assert choice(events, "content") == "x" * 5_000
    lines = choice(events, "reasoning_content").splitlines()
    assert [line.split(":")[0] for line in lines[:2]] == ["turn 1", "turn 2"]
    assert events[-2]["choices"][0]["finish_reason"] == "stop"
    assert events[-2]["unspool"]["status"] == "answered"
    assert events[-1]["usage"]["total_tokens"] > 0
    assert reply.body.endswith(b"data: [DONE]\n\n")
    kinds = [next(iter(event["choices"][0]["delta"]), "") for event in events if event["choices"]]
    assert kinds == sorted(kinds, key=["role", "reasoning_content", "content", ""].index)


async def test_progress_shows_code_or_nothing_where_that_is_asked_for(serve: Start) -> None:
    up = await serve(ScriptedModel([LOOK, submits("1")] * 2))
    shown = await up.chat(unspool={"progress": "code"})
    assert "print(type(context))" in shown.json["choices"][0]["message"]["reasoning_content"]
    hidden = await up.chat(stream=True, unspool={"progress": "off"})
    assert choice(hidden.events, "reasoning_content") == ""
    assert choice(hidden.events, "content") == "1"


async def test_a_request_may_say_how_it_is_answered(serve: Start) -> None:
    up = await serve(ScriptedModel(["Answer: five"]))
    reply = await up.chat(unspool={"strategy": "direct"})
    assert reply.json["choices"][0]["message"]["content"] == "five"
    wrong = await up.chat(unspool={"strategy": "best"})
    assert (wrong.status, wrong.json["error"]["param"]) == (400, "unspool.strategy")


async def test_a_draft_is_marked_as_cut_short(serve: Start) -> None:
    up = await serve(ScriptedModel(lambda _: DRAFT))
    reply = await up.chat(unspool={"max_turns": 1})
    assert reply.status == 200
    assert reply.json["choices"][0]["message"]["content"] == "so far"
    assert reply.json["choices"][0]["finish_reason"] == "length"
    assert reply.json["unspool"]["status"] == "budget"
    assert reply.json["unspool"]["draft"] == "variable result"
    streamed: list[Any] = (await up.chat(stream=True, unspool={"max_turns": 1})).events
    assert choice(streamed, "content") == "so far"
    assert streamed[-1]["choices"][0]["finish_reason"] == "length"


@pytest.mark.parametrize(
    ("replies", "unspool", "status", "code", "words"),
    [
        ([LOOK] * 3, {"max_turns": 1}, 402, "budget_exceeded", "turn"),
        ([LOOK] * 3, {"budget": {"tokens": 10}}, 402, "budget_exceeded", "10 tokens"),
        (
            ["```python\nimport time; time.sleep(30)\n```"],
            {"budget": {"seconds": 0.5}},
            504,
            "timeout",
            "0.5 s",
        ),
        ([ModelError("auth", "the key is wrong")], {}, 502, "run_failed", "the key is wrong"),
        (["Dear me."] * 3, {}, 502, "run_failed", "without code"),
    ],
)
async def test_a_run_without_an_answer_is_an_error_that_is_not_tried_again(
    serve: Start, replies: list[Any], unspool: dict[str, object], status: int, code: str, words: str
) -> None:
    up = await serve(ScriptedModel(replies * 2))
    reply = await up.chat(unspool=unspool)
    assert reply.status == status
    assert reply.error["code"] == code
    assert words in reply.error["message"]
    assert reply.error["run"] == reply.headers["x-unspool-run"]
    assert reply.headers["x-should-retry"] == "false"
    streamed = await up.chat(stream=True, unspool=unspool)
    assert streamed.status == 200
    assert streamed.events[-1]["error"]["code"] == code  # type: ignore[index]
    assert streamed.body.endswith(b"data: [DONE]\n\n")


async def test_each_context_is_bound_by_its_name(serve: Start) -> None:
    code = "[len(message), files['a.txt'], conversation[0]['text'], context['message'] is message]"
    up = await serve(ScriptedModel([LOOK, submits(code)]))
    messages = [
        {"role": "user", "content": "Before."},
        {
            "role": "user",
            "content": [
                {"type": "text", "text": "long " * 1_000},
                {"type": "file", "file": {"filename": "a.txt", "file_data": "aGk="}},
                {"type": "text", "text": "What is there?"},
            ],
        },
    ]
    reply = await up.send("/v1/chat/completions", {"messages": messages})
    assert reply.json["choices"][0]["message"]["content"] == '[5000, "hi", "Before.", true]'


async def test_an_answer_that_is_an_image_is_a_data_url(serve: Start) -> None:
    pytest.importorskip("PIL")
    code = "```python\nfrom PIL import Image\nprint(1)\nsubmit(Image.new('RGB', (2, 3)))\n```"
    reply = await (await serve(ScriptedModel([code] * 2))).chat()
    assert reply.json["choices"][0]["message"]["content"].startswith("data:image/png;base64,iVBOR")


SCHEMA = {
    "type": "object",
    "properties": {"n": {"$ref": "#/$defs/N"}},
    "required": ["n"],
    "$defs": {"N": {"type": "integer"}},
}


async def test_a_schema_makes_the_answer_fit(serve: Start) -> None:
    replies = [LOOK, submits("{'n': 'many'}"), submits("{'n': 3}")]
    up = await serve(ScriptedModel(replies * 2))
    wanted = {"type": "json_schema", "json_schema": {"name": "count", "schema": SCHEMA, "strict": True}}
    reply = await up.chat(response_format=wanted)
    assert reply.json["choices"][0]["message"]["content"] == '{"n":3}'
    refused = [
        each for each in up.store.read(reply.headers["x-unspool-run"]) if each.kind == "answer.refused"
    ]
    assert len(refused) == 1
    assert "integer" in up.model.requests[0].messages[-1].text
    reply = await up.chat(unspool={"answer": SCHEMA}, response_format={"type": "text"})
    assert reply.json["choices"][0]["message"]["content"] == '{"n":3}'


async def test_a_draft_that_does_not_fit_the_schema_is_an_error(serve: Start) -> None:
    up = await serve(ScriptedModel(lambda _: DRAFT))
    reply = await up.chat(unspool={"max_turns": 1, "answer": SCHEMA})
    assert reply.status == 402
    assert "its draft does not fit the schema" in reply.error["message"]


async def test_limits_of_a_request_never_widen_those_of_the_server(serve: Start) -> None:
    up = await serve(ScriptedModel(lambda _: LOOK), budget=Budget(turns=2))
    reply = await up.chat(unspool={"max_turns": 50})
    assert reply.status == 402
    assert len(up.model.requests) == 2


async def test_a_limit_in_dollars_without_a_price_is_refused_before_anything_is_sent(serve: Start) -> None:
    up = await serve(ScriptedModel([LOOK], cost=None))
    reply = await up.chat(unspool={"budget": {"usd": 1}})
    assert (reply.status, reply.error["type"]) == (400, "invalid_request_error")
    assert "price" in reply.error["message"]
    assert up.model.requests == []


@pytest.mark.parametrize(
    ("body", "status", "param"),
    [
        (b"{", 400, None),
        (b"", 400, None),
        (b"[]", 400, None),
        (b'"x"', 400, None),
        (b"\xff\xfe", 400, None),
        ({}, 400, "messages"),
        ({"messages": []}, 400, "messages"),
        ({"messages": [{"role": "user"}]}, 400, "messages"),
        ({"messages": [{"role": "king", "content": "x"}]}, 400, "messages[0].role"),
        ({"messages": [{"role": "user", "content": 3}]}, 400, "messages[0].content"),
        ({"messages": [{"role": "system", "content": "x"}]}, 400, "messages"),
        (chat_body("  "), 400, "messages"),
        (chat_body("x", model="gpt-5"), 404, "model"),
        (chat_body("x", n=2), 400, "n"),
        (chat_body("x", stream="maybe"), 400, "stream"),
        (chat_body("x", tool_choice="required"), 400, "tool_choice"),
        (chat_body("x", tool_choice={"type": "function", "function": {"name": "no"}}), 400, "tool_choice"),
        (chat_body("x", tool_choice={"type": "allowed_tools"}), 400, "tool_choice"),
        (
            chat_body(
                "x",
                tool_choice="required",
                tools=[{"type": "function", "function": {"name": "f"}}],
                unspool={"answer": {"type": "integer"}},
            ),
            400,
            "unspool.answer",
        ),
        (chat_body("x", response_format={"type": "xml"}), 400, "response_format.type"),
        (
            chat_body("x", response_format={"type": "json_schema"}),
            400,
            "response_format.json_schema.schema",
        ),
        (
            chat_body(
                "x", response_format={"type": "json_schema", "json_schema": {"schema": {"type": "int"}}}
            ),
            400,
            "response_format.json_schema.schema",
        ),
        (chat_body("x", unspool={"turns": 3}), 400, "unspool.turns"),
        (chat_body("x", unspool={"max_turns": 0}), 400, "unspool.max_turns"),
        (chat_body("x", unspool={"max_turns": "3"}), 400, "unspool.max_turns"),
        (chat_body("x", unspool={"budget": {"usd": -1}}), 400, "unspool.budget.usd"),
        (chat_body("x", unspool={"budget": {"seconds": 0}}), 400, "unspool.budget.seconds"),
        (chat_body("x", unspool={"query": ""}), 400, "unspool.query"),
        (chat_body("x", unspool={"query": "  "}), 400, "unspool.query"),
        (chat_body("x", unspool={"answer": {"type": "int"}}), 400, "unspool.answer"),
        (chat_body("x", unspool={"answer": {"title": "x"}}), 400, "unspool.answer"),
        (chat_body("x" * 5_000, unspool={"context": "y"}), 400, "unspool.query"),
    ],
)
async def test_what_is_wrong_is_named(serve: Start, body: object, status: int, param: str | None) -> None:
    up = await serve(ScriptedModel([]))
    reply = await up.send("/v1/chat/completions", body, method="POST")
    assert (reply.status, reply.error["param"]) == (status, param)
    assert reply.error["type"] == "invalid_request_error"
    assert reply.error["message"]
    assert up.model.requests == []


async def test_an_unknown_field_of_ours_is_told_the_known_ones(serve: Start) -> None:
    up = await serve(ScriptedModel([]))
    reply = await up.chat(unspool={"contxt": "x", "budget": {"euro": 1}})
    assert reply.error["message"] == (
        "unspool.budget.euro: there is no such field; known: usd, tokens, calls, seconds; unspool.contxt: there "
        "is no such field; known: query, context, budget, max_turns, max_depth, strategy, answer, progress"
    )


async def test_fields_of_openai_s_that_mean_nothing_here_are_taken(serve: Start) -> None:
    up = await serve(ScriptedModel([LOOK, submits("1")]))
    more = {"temperature": 0.2, "top_p": 1, "seed": 3, "user": "me", "max_tokens": 5, "n": 1, "stop": ["x"]}
    tools = [{"type": "function", "function": {"name": "f", "parameters": {}}}]
    reply = await up.chat(**more, tools=tools, tool_choice="auto", parallel_tool_calls=True, store=False)
    assert reply.status == 200
    assert reply.json["unspool"]["notes"] == [
        "tools: were not given to the model, which answers with text or JSON"
    ]


HALF = "'\\ud83d, \\ud83d\\ude00'"  # half of a pair alone, and a pair in two halves
CALL: dict[str, Any] = {
    "type": "function",
    "function": {"name": "say", "parameters": {"properties": {"a": {"type": "string"}}}},
}


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize("path", ["/v1/chat/completions", "/v1/responses"])
@pytest.mark.parametrize(
    ("code", "more"),
    [
        (f"submit({HALF})", {}),
        (f"submit({{'a': {HALF}}})", {"tools": [CALL], "tool_choice": "required"}),
        (f"result = {HALF}\nprint(1)", {"unspool": {"max_turns": 1}}),
    ],
)
async def test_half_a_surrogate_pair_is_in_no_reply(
    serve: Start, stream: bool, path: str, code: str, more: dict[str, Any]
) -> None:
    up = await serve(ScriptedModel([f"```python\nprint({HALF})\n{code}\n```"] * 9))
    asked = chat_body("How long?") if "chat" in path else {"input": "How long?"}
    body = {**asked, **more, "stream": stream, "unspool": {"progress": "code", **more.get("unspool", {})}}
    reply = await up.send(path, body)
    assert reply.status == 200
    told = json.dumps(reply.events if stream else reply.json, ensure_ascii=False)
    assert "\ufffd, \U0001f600" in told
    told.encode()  # nothing that UTF-8 has no bytes for


NOWHERE = {"type": "object", "properties": {"a": {"$ref": "#/$defs/X"}}}
ROUND = {"allOf": [{"$ref": "#"}]}


@pytest.mark.parametrize(("schema", "why"), [(NOWHERE, "leads nowhere"), (ROUND, "leads to itself")])
@pytest.mark.parametrize("place", ["format", "answer", "one tool", "tools"])
async def test_a_schema_whose_references_lead_nowhere_is_refused_before_any_call(
    serve: Start, schema: dict[str, Any], why: str, place: str
) -> None:
    up = await serve(ScriptedModel([submits("{}")] * 9))
    tool = {"type": "function", "name": "weather", "parameters": schema}
    bodies: dict[str, tuple[str, dict[str, Any]]] = {
        "format": (
            "response_format.json_schema.schema",
            {"response_format": {"type": "json_schema", "json_schema": {"name": "x", "schema": schema}}},
        ),
        "answer": ("unspool.answer", {"unspool": {"answer": schema}}),
        "one tool": ("tools: weather", {"tools": [tool], "tool_choice": "required"}),
        "tools": (
            "tools: weather",
            {"tools": [{**CALL["function"], "type": "function"}, tool], "tool_choice": "required"},
        ),
    }
    field, more = bodies[place]
    reply = await up.chat(**more)
    assert reply.status == 400
    assert reply.error["message"].startswith(f"{field}: is no JSON schema: the reference '#")
    assert why in reply.error["message"]
    assert up.model.requests == []
    if place == "format":
        body = {"input": "x", "text": {"format": {"type": "json_schema", "name": "x", "schema": schema}}}
        assert (await up.send("/v1/responses", body)).status == 400


async def test_a_tool_that_is_not_there_is_told_with_those_that_are(serve: Start) -> None:
    up = await serve(ScriptedModel([]))
    tools = [{"type": "function", "function": {"name": name}} for name in ("weather", "clock")]
    choice = {"type": "function", "function": {"name": "wether"}}
    reply = await up.chat(tools=tools, tool_choice=choice)
    told = "tool_choice: there is no function 'wether' (weather?); there are: weather, clock"
    assert (reply.status, reply.error["message"]) == (400, told)
    reply = await up.chat(tools=[], tool_choice=choice)
    assert reply.error["message"] == "tool_choice: there is no function 'wether' among the tools"
