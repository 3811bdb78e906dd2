"""LangChain's OpenAI model against a server of ours, where ``langchain-openai`` is installed."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from typing import Any

import pytest
from pydantic import BaseModel

from unspool.testing import ScriptedModel

from .conftest import LOOK, SECONDS, Start, Up, submits

HOW = ["chat", "responses"]


class Person(BaseModel):
    name: str
    age: int


Connect = Callable[..., Any]


@pytest.fixture
async def connect() -> AsyncIterator[Connect]:
    """``connect(up, …)``: LangChain's model, whose connections are closed after the test."""
    langchain = pytest.importorskip("langchain_openai", reason="needs langchain-openai")
    made: list[Any] = []

    def make(up: Up, how: str = "chat", **more: Any) -> Any:
        more = {"base_url": up.base_url, "model": "unspool", "api_key": "any", "timeout": SECONDS, **more}
        made.append(langchain.ChatOpenAI(max_retries=0, use_responses_api=how != "chat", **more))
        return made[-1]

    yield make
    for each in made:
        each.root_client.close()
        await each.root_async_client.close()


@pytest.mark.parametrize("how", HOW)
async def test_a_message_is_answered_with_its_usage(serve: Start, connect: Connect, how: str) -> None:
    up = await serve(ScriptedModel([LOOK, submits("'forty-two'")]))
    reply = await connect(up, how).ainvoke([("system", "Be brief."), ("user", "How many?")])
    assert reply.text == "forty-two"
    assert reply.usage_metadata["total_tokens"] > 0


@pytest.mark.parametrize("how", HOW)
async def test_a_stream_comes_in_pieces_that_add_up(serve: Start, connect: Connect, how: str) -> None:
    up = await serve(ScriptedModel([LOOK, submits("'forty-two ' * 20")]))
    whole: Any = None
    async for piece in connect(up, how, stream_usage=True).astream("How many?"):
        whole = piece if whole is None else whole + piece
    assert whole.text == "forty-two " * 20
    assert whole.usage_metadata["total_tokens"] > 0


@pytest.mark.parametrize("how", HOW)
@pytest.mark.parametrize("method", ["json_schema", "function_calling"])
async def test_structured_output_is_of_the_type_that_was_asked_for(
    serve: Start, connect: Connect, how: str, method: str
) -> None:
    up = await serve(ScriptedModel([LOOK, submits("'Ada'"), submits("{'name': 'Ada', 'age': 36}")]))
    person = await connect(up, how).with_structured_output(Person, method=method).ainvoke("Who?")
    assert person == Person(name="Ada", age=36)


async def test_our_own_field_goes_with_it_and_turns_are_contexts(serve: Start, connect: Connect) -> None:
    up = await serve(ScriptedModel([LOOK, submits("context")]))
    model = connect(up, extra_body={"unspool": {"context": "a long text", "budget": {"calls": 3}}})
    assert (await model.ainvoke("What is it?")).text == "a long text"
    up = await serve(ScriptedModel([LOOK, submits("[turn['text'] for turn in context]")]))
    turns = [("user", "One."), ("assistant", "Two."), ("user", "What was said?")]
    assert (await connect(up).ainvoke(turns)).text == '["One.", "Two."]'


async def test_many_at_once_are_each_answered(serve: Start, connect: Connect) -> None:
    def reply(messages: Any) -> str:
        return LOOK if len(messages) < 3 else submits("context")

    up = await serve(ScriptedModel(reply))
    model = connect(up)
    runnable = model.bind(extra_body={"unspool": {"context": "same"}})
    assert [each.text for each in await runnable.abatch([f"Question {n}?" for n in range(8)])] == ["same"] * 8


async def test_refusals_are_errors_that_say_what_is_wrong(serve: Start, connect: Connect) -> None:
    openai = pytest.importorskip("openai")
    up = await serve(ScriptedModel([LOOK]), token="right")
    with pytest.raises(openai.AuthenticationError, match="token is wrong"):
        await connect(up, api_key="wrong").ainvoke("What?")
    with pytest.raises(openai.BadRequestError, match="no such field"):
        await connect(up, api_key="right", extra_body={"unspool": {"contxt": 1}}).ainvoke("What?")
