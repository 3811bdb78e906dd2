"""pydantic-ai's OpenAI models against a server of ours, where ``pydantic-ai-slim[openai]`` is installed."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack
from typing import Any

import pytest
from pydantic import BaseModel

from unspool.testing import ScriptedModel

from .conftest import LOOK, SECONDS, Start, Up, submits

pytest.importorskip("pydantic_ai", reason="needs pydantic-ai")
pytest.importorskip("openai", reason="needs openai")

from pydantic_ai import Agent, BinaryContent, NativeOutput, PromptedOutput
from pydantic_ai import exceptions as theirs
from pydantic_ai.messages import (
    ModelResponse,
    PartDeltaEvent,
    PartStartEvent,
    ThinkingPart,
    ThinkingPartDelta,
)
from pydantic_ai.models.openai import OpenAIChatModel, OpenAIResponsesModel
from pydantic_ai.providers.openai import OpenAIProvider

HOW = ["chat", "responses"]


class Person(BaseModel):
    name: str
    age: int


Connect = Callable[..., Any]


@pytest.fixture
async def connect() -> AsyncIterator[Connect]:
    """``await connect(up, …)``: their model of the server, whose connections are closed after the test."""
    async with AsyncExitStack() as stack:

        async def make(up: Up, how: str = "chat", key: str = "any") -> Any:
            provider = OpenAIProvider(base_url=up.base_url, api_key=key)
            kind = OpenAIChatModel if how == "chat" else OpenAIResponsesModel
            model = kind("unspool", provider=provider, settings={"timeout": SECONDS, "max_retries": 0})
            return await stack.enter_async_context(model)

        yield make


def last_of(result: Any) -> ModelResponse:
    last = result.all_messages()[-1]
    assert isinstance(last, ModelResponse)
    return last


@pytest.mark.parametrize("how", HOW)
async def test_a_question_is_answered_with_its_usage_and_its_progress(
    serve: Start, connect: Connect, how: str
) -> None:
    up = await serve(ScriptedModel([LOOK, submits("'forty-two'")]))
    agent = Agent(await connect(up, how), system_prompt="Be brief.", instructions="In words.")
    result = await agent.run("How many?")
    assert result.output == "forty-two"
    assert result.usage.input_tokens > 0
    assert result.usage.output_tokens > 0
    last = last_of(result)
    assert "turn 2" in str(last.thinking)
    assert (last.finish_reason, last.model_name) == ("stop", "unspool")
    said = "\n".join(message.text for message in up.model.requests[-1].messages)
    assert "Be brief." in said
    assert "In words." in said


@pytest.mark.parametrize("how", HOW)
async def test_a_stream_comes_in_pieces_with_progress_as_thinking(
    serve: Start, connect: Connect, how: str
) -> None:
    up = await serve(ScriptedModel([LOOK, submits("'forty-two ' * 500")] * 2))
    agent = Agent(await connect(up, how))
    async with agent.run_stream("How many?") as stream:
        pieces = [piece async for piece in stream.stream_text(delta=True, debounce_by=None)]
        assert stream.usage.output_tokens > 0
    assert "".join(pieces) == "forty-two " * 500
    assert len(pieces) > 1
    thought = ""
    async with agent.run_stream_events("How many?") as events:
        async for event in events:
            match event:
                case PartStartEvent(part=ThinkingPart(content=text)):
                    thought += text
                case PartDeltaEvent(delta=ThinkingPartDelta(content_delta=str(text))):
                    thought += text
    assert "turn 2" in thought


@pytest.mark.parametrize("how", HOW)
@pytest.mark.parametrize("kind", [NativeOutput(Person), PromptedOutput(Person)])
@pytest.mark.parametrize("streamed", [False, True])
async def test_structured_output_is_of_the_type_that_was_asked_for(
    serve: Start, connect: Connect, how: str, kind: Any, streamed: bool
) -> None:
    up = await serve(ScriptedModel([LOOK, submits("{'name': 'Ada', 'age': 36}")]))
    agent: Agent[None, Person] = Agent(await connect(up, how), output_type=kind)
    if streamed:
        async with agent.run_stream("Who?") as stream:
            assert await stream.get_output() == Person(name="Ada", age=36)
    else:
        assert (await agent.run("Who?")).output == Person(name="Ada", age=36)


@pytest.mark.parametrize("how", HOW)
async def test_turns_and_files_are_contexts_and_our_own_field_goes_with_it(
    serve: Start, connect: Connect, how: str
) -> None:
    replies = [LOOK, submits("'noted'"), LOOK, submits("[turn['text'] for turn in context]")]
    up = await serve(
        ScriptedModel([*replies, LOOK, submits("sorted(context.values())"), LOOK, submits("context")])
    )
    agent = Agent(await connect(up, how))
    first = await agent.run("Remember: 7.")
    second = await agent.run("What was said?", message_history=first.all_messages())
    assert second.output == '["Remember: 7.", "noted"]'
    files: Any = [BinaryContent(text, media_type="application/pdf") for text in (b"one", b"two")]
    assert (await agent.run([*files, "Which?"])).output == '["one", "two"]'
    own: Any = {"extra_body": {"unspool": {"context": "a long text", "budget": {"calls": 3}}}}
    assert (await agent.run("What is it?", model_settings=own)).output == "a long text"


@pytest.mark.parametrize("how", HOW)
async def test_tools_are_left_alone_where_the_model_may_choose(
    serve: Start, connect: Connect, how: str
) -> None:
    up = await serve(ScriptedModel([LOOK, submits("'Fine.'")]))
    assert (await Agent(await connect(up, how), tools=[weather]).run("How is it?")).output == "Fine."


@pytest.mark.parametrize("how", HOW)
@pytest.mark.parametrize("streamed", [False, True])
async def test_a_call_that_is_insisted_on_is_an_answer_of_its_type(
    serve: Start, connect: Connect, how: str, streamed: bool
) -> None:
    """Their default for a typed output: a tool that has to be called."""
    person = "{'name': 'Ada', 'age': 36}"
    up = await serve(ScriptedModel([LOOK, submits("'Ada'"), submits(person)]))  # the first does not fit
    agent = Agent(await connect(up, how), output_type=Person)
    assert await output(agent, "Who?", streamed) == Person(name="Ada", age=36)
    call = "{'tool_calls': [{'tool': 'weather', 'arguments': {'city': 'Rome'}}]}"
    last = "{'tool_calls': [{'tool': 'final_result', 'arguments': {'name': context[-1]['text'], 'age': 1}}]}"
    up = await serve(ScriptedModel([LOOK, submits(call), LOOK, submits(last)]))
    agent = Agent(await connect(up, how), output_type=Person, tools=[weather])
    told = "rain in Rome" if how == "chat" else ""  # there the result is an item of its own, and no text
    assert await output(agent, "How is it?", streamed) == Person(name=told, age=1)


def weather(city: str) -> str:
    return f"rain in {city}"


async def output(agent: Agent[None, Person], asked: str, streamed: bool) -> Person:
    if not streamed:
        return (await agent.run(asked)).output
    async with agent.run_stream(asked) as stream:
        return await stream.get_output()


@pytest.mark.parametrize("how", HOW)
async def test_refusals_and_failed_runs_are_errors_of_their_category(
    serve: Start, connect: Connect, how: str
) -> None:
    up = await serve(ScriptedModel(lambda _: LOOK), token="right")
    with pytest.raises(theirs.ModelAuthenticationError, match="the token is wrong"):
        await Agent(await connect(up, how, "wrong")).run("What?")
    agent = Agent(await connect(up, how, "right"))
    wrong: Any = {"extra_body": {"unspool": {"contxt": 1}}}
    with pytest.raises(theirs.ModelRequestRejectedError, match="no such field"):
        await agent.run("What?", model_settings=wrong)
    limited: Any = {"extra_body": {"unspool": {"max_turns": 1}}}
    with pytest.raises(theirs.ModelQuotaExceededError, match="without an answer"):
        await agent.run("What?", model_settings=limited)
    assert len(up.model.requests) == 1
    with pytest.raises(theirs.ModelAPIError, match="without an answer"):
        async with agent.run_stream("What?", model_settings=limited) as stream:
            await stream.get_output()


@pytest.mark.parametrize("how", HOW)
@pytest.mark.parametrize("streamed", [False, True])
async def test_an_agent_that_is_cancelled_cancels_its_run(
    serve: Start, connect: Connect, how: str, streamed: bool
) -> None:
    up = await serve(ScriptedModel([LOOK] * 500, latency=0.05))
    agent = Agent(await connect(up, how))

    async def streaming() -> None:
        async with agent.run_stream("How many?") as stream:
            await stream.get_output()

    asking = asyncio.ensure_future(streaming() if streamed else agent.run("How many?"))
    await up.until(lambda: len(up.model.requests) >= 2)
    asking.cancel()
    await asyncio.gather(asking, return_exceptions=True)
    await up.until(lambda: up.service.runs.taken == 0)
    (run,) = up.store.runs()
    assert up.store.read(run)[-1].status == "cancelled"  # type: ignore[attr-defined]


async def test_many_agents_at_once_are_each_answered(serve: Start, connect: Connect) -> None:
    up = await serve(ScriptedModel(lambda messages: LOOK if len(messages) < 3 else submits("context")))
    agent = Agent(await connect(up))
    own: list[Any] = [{"extra_body": {"unspool": {"context": f"text {number}"}}} for number in range(8)]
    results = await asyncio.gather(*(agent.run("What?", model_settings=settings) for settings in own))
    assert [result.output for result in results] == [f"text {number}" for number in range(8)]
