"""Real clients: the ``openai`` SDK (where it is installed) and ``curl``."""

from __future__ import annotations

import asyncio
import json
import shutil
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from unspool.testing import ScriptedModel

from .conftest import LOOK, SECONDS, Start, Up, submits

if TYPE_CHECKING:
    from openai import AsyncOpenAI


def client(up: Up, key: str = "any", **more: Any) -> AsyncOpenAI:
    openai = pytest.importorskip("openai")
    return openai.AsyncOpenAI(base_url=up.base_url, api_key=key, timeout=SECONDS, **more)


async def test_openai_chat_whole_and_as_a_stream(serve: Start) -> None:
    up = await serve(ScriptedModel([LOOK, submits("'forty-two'")] * 2))
    async with client(up) as openai:
        messages: Any = [{"role": "user", "content": "How many?"}]
        raw = await openai.chat.completions.with_raw_response.create(model="unspool", messages=messages)
        whole = raw.parse()
        assert whole.choices[0].message.content == "forty-two"
        assert whole.choices[0].finish_reason == "stop"
        assert whole.usage is not None
        assert whole.usage.total_tokens > 0
        assert whole.id == "chatcmpl-" + raw.headers["X-Unspool-Run"]
        text, thought, usage = "", "", None
        stream = await openai.chat.completions.create(
            model="unspool", messages=messages, stream=True, stream_options={"include_usage": True}
        )
        async for chunk in stream:
            usage = chunk.usage or usage
            for choice in chunk.choices:
                text += choice.delta.content or ""
                thought += getattr(choice.delta, "reasoning_content", None) or ""
        assert text == "forty-two"
        assert "turn 2" in thought
        assert usage is not None


async def test_openai_responses_whole_and_as_a_stream(serve: Start) -> None:
    up = await serve(ScriptedModel([LOOK, submits("'forty-two'")] * 2))
    async with client(up) as openai:
        whole = await openai.responses.create(model="unspool", input="How many?")
        assert whole.output_text == "forty-two"
        assert whole.usage is not None
        async with openai.responses.stream(model="unspool", input="How many?") as stream:
            kinds = [event.type async for event in stream]
            last = await stream.get_final_response()
        assert last.output_text == "forty-two"
        assert "response.reasoning_summary_text.delta" in kinds
        assert kinds[-1] == "response.completed"


async def test_openai_parses_typed_answers(serve: Start) -> None:
    from pydantic import BaseModel

    class Person(BaseModel):
        name: str
        age: int

    class People(BaseModel):
        people: list[Person]

    answer = submits("{'people': [{'name': 'Ada', 'age': 36}]}")
    up = await serve(ScriptedModel([LOOK, submits("'Ada'"), answer] * 2))
    wanted = People(people=[Person(name="Ada", age=36)])
    async with client(up) as openai:
        chat = await openai.chat.completions.parse(
            model="unspool", messages=[{"role": "user", "content": "Who?"}], response_format=People
        )
        assert chat.choices[0].message.parsed == wanted
        response = await openai.responses.parse(model="unspool", input="Who?", text_format=People)
        assert response.output_parsed == wanted


async def test_openai_gets_the_call_that_it_insists_on(serve: Start) -> None:
    called = submits("{'city': 'Rome'}")
    up = await serve(ScriptedModel([LOOK, called] * 4))
    parameters = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}
    function = {"name": "weather", "description": "How it is.", "parameters": parameters}
    chat: Any = {
        "model": "unspool",
        "messages": [{"role": "user", "content": "How is it in Rome?"}],
        "tools": [{"type": "function", "function": function}],
        "tool_choice": {"type": "function", "function": {"name": "weather"}},
    }
    item: Any = {
        "model": "unspool", "input": "How is it in Rome?", "tools": [{"type": "function", **function}],
        "tool_choice": "required",
    }  # fmt: skip
    async with client(up) as openai:
        whole = await openai.chat.completions.create(**chat)
        (call,) = whole.choices[0].message.tool_calls or []
        assert (call.function.name, call.function.arguments) == ("weather", '{"city":"Rome"}')  # type: ignore[union-attr]
        assert (whole.choices[0].finish_reason, whole.choices[0].message.content) == ("tool_calls", None)
        async with openai.chat.completions.stream(**chat) as stream:
            last = (await stream.get_final_completion()).choices[0]
        assert last.message.tool_calls is not None
        assert last.message.tool_calls[0].function.arguments == '{"city":"Rome"}'
        response = await openai.responses.create(**item)
        assert [each.type for each in response.output] == ["reasoning", "function_call"]
        async with openai.responses.stream(**item) as events:
            kinds = [event.type async for event in events]
            final = await events.get_final_response()
        assert final.output[-1].arguments == '{"city":"Rome"}'  # type: ignore[union-attr]
        assert "response.function_call_arguments.delta" in kinds


async def test_openai_raises_what_it_has_for_each_refusal(serve: Start) -> None:
    openai = pytest.importorskip("openai")
    up = await serve(ScriptedModel(lambda _: LOOK), token="right")
    messages: Any = [{"role": "user", "content": "How many?"}]
    async with client(up, "wrong") as other:
        with pytest.raises(openai.AuthenticationError, match="the token is wrong"):
            await other.models.list()
    async with client(up, "right") as ours:
        assert [model.id async for model in ours.models.list()] == ["unspool", "scripted:model"]
        assert (await ours.models.retrieve("scripted:model")).owned_by == "unspool"
        with pytest.raises(openai.NotFoundError, match="known: unspool"):
            await ours.chat.completions.create(model="gpt-5", messages=messages)
        with pytest.raises(openai.BadRequestError, match="max_turns") as caught:
            await ours.chat.completions.create(
                model="unspool", messages=messages, extra_body={"unspool": {"max_turns": 0}}
            )
        assert caught.value.param == "unspool.max_turns"
        limited: Any = {"model": "unspool", "messages": messages, "extra_body": {"unspool": {"max_turns": 1}}}
        with pytest.raises(openai.APIStatusError, match="without an answer"):
            await ours.chat.completions.create(**limited)
        assert len(up.model.requests) == 1  # a run that was paid for is not tried again
        stream = await ours.chat.completions.create(**limited, stream=True)
        with pytest.raises(openai.APIError, match="without an answer"):
            _ = [chunk async for chunk in stream]


async def test_openai_comes_back_after_a_429(serve: Start) -> None:
    go = asyncio.Event()
    loop = asyncio.get_running_loop()

    async def replies(messages: tuple[object, ...]) -> str:
        await asyncio.wrap_future(asyncio.run_coroutine_threadsafe(go.wait(), loop))
        return LOOK if len(messages) < 3 else submits("1")

    up = await serve(ScriptedModel(replies), runs=1)
    async with client(up, max_retries=10) as openai:
        both = [asyncio.create_task(openai.responses.create(model="unspool", input=str(i))) for i in range(2)]
        await up.until(lambda: 'status="429"' in up.service.metrics.text(running=0))
        go.set()
        assert [reply.output_text for reply in await asyncio.gather(*both)] == ["1", "1"]


async def test_openai_that_leaves_a_stream_cancels_the_run(serve: Start) -> None:
    up = await serve(ScriptedModel([LOOK] * 500, latency=0.05))
    async with client(up) as openai:
        stream = await openai.chat.completions.create(
            model="unspool", messages=[{"role": "user", "content": "How many?"}], stream=True
        )
        async for _ in stream:
            break
        await stream.close()
    await up.until(lambda: up.service.runs.taken == 0)
    (run,) = up.store.runs()
    assert up.store.read(run)[-1].status == "cancelled"  # type: ignore[attr-defined]


async def test_openai_sends_files(serve: Start) -> None:
    up = await serve(ScriptedModel([LOOK, submits("sorted(context)")]))
    async with client(up) as openai:
        content: Any = [
            {"type": "input_file", "filename": "a.csv", "file_data": "data:text/csv;base64,YSxi"},
            {"type": "input_file", "filename": "b.csv", "file_data": "data:text/csv;base64,YyxkCg=="},
            {"type": "input_text", "text": "Which files?"},
        ]
        asked: Any = [{"role": "user", "content": content}]
        reply = await openai.responses.create(model="unspool", input=asked)
    assert reply.output_text == '["a.csv", "b.csv"]'


# curl


async def curl(*arguments: str, stdin: bytes = b"") -> tuple[int | None, bytes]:
    if shutil.which("curl") is None:
        pytest.skip("curl is not installed")
    process = await asyncio.create_subprocess_exec(
        "curl", "-sS", "--max-time", str(SECONDS), *arguments,
        stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE,
    )  # fmt: skip
    out, _ = await process.communicate(stdin)
    return process.returncode, out


async def test_curl_asks_and_watches(serve: Start) -> None:
    up = await serve(ScriptedModel([LOOK, submits("'forty-two'")] * 2))
    url = f"{up.base_url}/chat/completions"
    asked = {"messages": [{"role": "user", "content": "How many?"}]}
    _, out = await curl(url, "--json", json.dumps(asked))
    assert json.loads(out)["choices"][0]["message"]["content"] == "forty-two"
    _, out = await curl("-N", url, "--json", json.dumps({**asked, "stream": True}))
    assert b'"reasoning_content":"turn 1' in out
    assert out.endswith(b"data: [DONE]\n\n")


async def test_curl_without_the_right_header_is_told_which(serve: Start) -> None:
    up = await serve(ScriptedModel([]))
    _, out = await curl(f"{up.base_url}/chat/completions", "-d", "{}")
    assert "Content-Type: application/json" in json.loads(out)["error"]["message"]


async def test_curl_sends_a_large_file_and_hears_of_the_limit(serve: Start, tmp_path: Path) -> None:
    up = await serve(ScriptedModel([LOOK, submits("len(context)")]), body_bytes=12_000_000)
    asked = {"messages": [{"role": "user", "content": "How many?"}], "unspool": {"context": "y" * 10_000_000}}
    body = tmp_path / "body.json"
    body.write_text(json.dumps(asked))
    _, out = await curl(f"{up.base_url}/chat/completions", "--json", f"@{body}")
    assert json.loads(out)["choices"][0]["message"]["content"] == "10000000"
    asked["unspool"] = {"context": "y" * 100_000_000}
    body.write_text(json.dumps(asked))
    _, out = await curl(f"{up.base_url}/chat/completions", "--json", f"@{body}")
    assert json.loads(out)["error"]["code"] == "body_too_large"


async def test_curl_that_is_killed_cancels_its_run(serve: Start) -> None:
    up = await serve(ScriptedModel([LOOK] * 500, latency=0.05))
    if shutil.which("curl") is None:
        pytest.skip("curl is not installed")
    body = json.dumps({"messages": [{"role": "user", "content": "How many?"}]})
    process = await asyncio.create_subprocess_exec(
        "curl", "-sS", f"{up.base_url}/chat/completions", "--json", body, stdout=asyncio.subprocess.DEVNULL
    )
    await up.until(lambda: len(up.model.requests) >= 2)
    process.kill()
    await process.wait()
    await up.until(lambda: up.service.runs.taken == 0)
    (run,) = up.store.runs()
    assert up.store.read(run)[-1].status == "cancelled"  # type: ignore[attr-defined]
