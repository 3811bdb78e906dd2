"""Models of pydantic-ai's as models of ours: its own doubles, and its OpenAI model against a server that misbehaves."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from collections.abc import AsyncIterator
from typing import Any

import pytest

from unspool import RLM, Budget, ConfigError, Message, ModelError, ModelReply, ModelRequest, ModelSettings
from unspool.errors import NoModelFound, UnknownModel, WrongSetting
from unspool.images import Image
from unspool.models import prices
from unspool.models.discover import resolve
from unspool.models.foreign import is_foreign
from unspool.models.protocol import Delta
from unspool.models.pydantic_ai import PydanticAIModel
from unspool.testing import Behaviour, FaultyServer
from unspool.testing.server import Script
from unspool.types import Usage

pytest.importorskip("pydantic_ai", reason="needs the extra pydantic-ai")

from pydantic_ai import messages as theirs
from pydantic_ai.exceptions import UserError
from pydantic_ai.models import override_allow_model_requests
from pydantic_ai.models.fallback import FallbackModel
from pydantic_ai.models.function import AgentInfo, DeltaThinkingPart, FunctionModel
from pydantic_ai.models.test import TestModel
from pydantic_ai.usage import RequestUsage

PIXEL = bytes.fromhex(
    "89504e470d0a1a0a0000000d49484452000000010000000108060000001f15c4890000000d49444154789c6360000000000500010d0a2db4"
    "0000000049454e44ae426082"
)
KEY = "sk-test-0123456789abcdef"


def text(content: str, **more: Any) -> theirs.ModelResponse:
    return theirs.ModelResponse(parts=[theirs.TextPart(content)], **more)


def cells(*replies: str) -> FunctionModel:
    """Turns of a script, by how many there were."""

    def reply(messages: list[theirs.ModelMessage], info: AgentInfo) -> theirs.ModelResponse:
        done = sum(isinstance(message, theirs.ModelResponse) for message in messages)
        return text(f"```python\n{replies[done]}\n```", usage=RequestUsage(input_tokens=10, output_tokens=2))

    return FunctionModel(reply, model_name="script")


def openai_at(server: FaultyServer) -> PydanticAIModel:
    return PydanticAIModel(theirs_at(server))


def theirs_at(server: FaultyServer) -> Any:
    pytest.importorskip("openai", reason="needs openai")
    from pydantic_ai.models.openai import OpenAIChatModel
    from pydantic_ai.providers.openai import OpenAIProvider

    return OpenAIChatModel("tiny", provider=OpenAIProvider(base_url=server.base_url, api_key=KEY))


def ask(words: str = "hi", **fields: Any) -> ModelRequest:
    return ModelRequest((Message("system", "be brief"), Message("user", words)), **fields)


async def one(script: Script, request: ModelRequest | None = None) -> tuple[ModelReply, FaultyServer]:
    async with FaultyServer(script) as server:
        model = openai_at(server)
        try:
            return await model.complete(request or ask()), server
        finally:
            await model.close()


async def fails(script: Script) -> tuple[ModelError, FaultyServer]:
    async with FaultyServer(script) as server:
        model = openai_at(server)
        try:
            with pytest.raises(ModelError) as failed:
                await model.complete(ask())
            return failed.value, server
        finally:
            await model.close()


# As a root and as a sub-model


def test_it_is_the_root_and_the_sub_model_of_a_run() -> None:
    root = cells("print(len(context))", "submit(llm_query('Say it: ' + context))")
    sub = TestModel(custom_output_text="said")
    with RLM(root, sub_model=sub, sandbox="none", runs=False) as engine:
        run = engine.run("Say it.", "a text")
    assert (run.answer, run.status, run.model) == ("said", "answered", "pydantic-ai:function:script")
    assert run.sub_model == "pydantic-ai:test:test"
    assert run.cost is None
    roles = {line.role: line.usage for line in run.ledger}
    assert (roles["root"].input_tokens, roles["root"].output_tokens) == (20, 4)
    assert roles["sub"].calls == 1


def test_one_model_in_both_roles_is_asked_by_its_name_in_code() -> None:
    def reply(messages: list[theirs.ModelMessage], info: AgentInfo) -> theirs.ModelResponse:
        if "REPL" in str(messages):
            return text("```python\nprint(context)\nsubmit(llm_query('x', model='function:both'))\n```")
        return text("from the sub-call")

    with RLM(FunctionModel(reply, model_name="both"), sandbox="none", runs=False) as engine:
        assert engine.run("What?", "a text").answer == "from the sub-call"


def test_it_stands_in_a_list_of_models() -> None:
    def refuses(messages: list[theirs.ModelMessage], info: AgentInfo) -> theirs.ModelResponse:
        raise UserError("not today")

    models = [FunctionModel(refuses, model_name="first"), cells("print(context)\nsubmit(1)")]
    with RLM(models, sandbox="none", runs=False) as engine:
        run = engine.run("What?", "a text")
    assert run.answer == 1
    assert any("not today" in note for note in run.notes)


def test_a_limit_in_dollars_needs_a_price_that_is_known() -> None:
    model = cells("print(context)\nsubmit(1)")
    with (
        RLM(model, sandbox="none", runs=False, budget=Budget(usd=1)) as engine,
        pytest.raises(ConfigError, match="price of pydantic-ai:function:script is not known"),
    ):
        engine.run("What?", "a text")
    priced = ModelSettings(price=(1.0, 2.0))
    with RLM(model, sandbox="none", runs=False, budget=Budget(usd=1), settings=priced) as engine:
        assert engine.run("What?", "a text").cost == pytest.approx((10 * 1.0 + 2 * 2.0) / 1e6)


def test_a_mistake_of_a_model_of_ones_own_is_told_as_its_own() -> None:
    def broken(messages: list[theirs.ModelMessage], info: AgentInfo) -> theirs.ModelResponse:
        raise ZeroDivisionError

    with (
        RLM(FunctionModel(broken, model_name="broken"), sandbox="none", runs=False) as engine,
        pytest.raises(ZeroDivisionError),
    ):
        engine.run("What?", "a text")


# What is sent and what comes back


async def test_roles_images_and_settings_reach_the_model() -> None:
    seen: list[Any] = []

    def reply(messages: list[theirs.ModelMessage], info: AgentInfo) -> theirs.ModelResponse:
        seen.extend([messages, info.model_settings])
        return text("ok")

    said = (
        Message("system", "a"), Message("user", "b", images=(Image.of(PIXEL),)), Message("assistant", "c"),
        Message("user", "d \ud800"),
    )  # fmt: skip
    request = ModelRequest(
        said, max_tokens=9, temperature=0.5, seed=7, stop=("END",), effort="low", timeout=30.0
    )
    await PydanticAIModel(FunctionModel(reply)).complete(request)
    messages, settings = seen
    first, answer, second = messages
    assert [type(part).__name__ for part in first.parts] == ["SystemPromptPart", "UserPromptPart"]
    image, words = first.parts[1].content
    assert (image.data, image.media_type, words) == (PIXEL, "image/png", "b")
    assert answer.parts[0].content == "c"
    assert second.parts[0].content == "d \ufffd"
    assert {**settings, "thinking": None} == {
        "timeout": 30.0, "max_retries": 0, "max_tokens": 9, "temperature": 0.5, "seed": 7,
        "stop_sequences": ["END"], "thinking": None,
    }  # fmt: skip


async def test_what_a_model_says_it_ignores_is_not_sent() -> None:
    class Plain(FunctionModel):
        unsupported_settings = frozenset({"timeout", "max_retries", "stop_sequences"})

    def reply(messages: list[theirs.ModelMessage], info: AgentInfo) -> theirs.ModelResponse:
        return text(str(dict(info.model_settings or {})))

    # pydantic-ai would warn, and warnings are errors here
    assert (await PydanticAIModel(Plain(reply)).complete(ask(stop=("x",), seed=1))).text == "{'seed': 1}"


@pytest.mark.parametrize(
    ("schema", "enforced"),
    [
        ({"type": "object", "properties": {"n": {"type": "integer"}}, "additionalProperties": False}, True),
        ({"type": "integer"}, True),
        ({"type": "object"}, False),
    ],
)
async def test_a_wanted_schema_is_enforced_where_it_can_be(schema: dict[str, Any], enforced: bool) -> None:
    reply, server = await one(['{"value": 3}'], ask(schema=schema))
    assert reply.text == '{"value": 3}'
    body = server.asks[0].body
    assert ("response_format" in body) == enforced
    assert ("JSON schema" in server.asks[0].prompt) == (not enforced)


def test_a_typed_sub_call_gets_its_value() -> None:
    root = cells("print(context)\nsubmit(llm_query('How many?', schema={'type': 'integer'}) + 1)")
    for sub in (TestModel(custom_output_text='{"value": 3}'), TestModel(custom_output_text="3")):
        with RLM(root, sub_model=sub, sandbox="none", runs=False) as engine:
            assert engine.run("How many?", "a text").answer == 4


@pytest.mark.parametrize(
    ("told", "usage"),
    [
        (
            RequestUsage(input_tokens=9, output_tokens=4, cache_read_tokens=5, output_reasoning_tokens=3),
            Usage(1, 9, 4, 5, 3),
        ),
        (RequestUsage(input_tokens=9, output_tokens=4), Usage(1, 9, 4)),
        (RequestUsage(unmeasured_requests=1), Usage(calls=1, calls_unmeasured=1)),
    ],
)
async def test_usage_is_normalised_and_what_is_not_told_is_unknown(told: RequestUsage, usage: Usage) -> None:
    model = PydanticAIModel(FunctionModel(lambda messages, info: text("x", usage=told)))
    reply = await model.complete(ask())
    assert (reply.usage, reply.cost) == (usage, None)


async def test_thinking_code_and_the_finish_are_kept_apart() -> None:
    parts = [
        theirs.ThinkingPart("hm"), theirs.TextPart("<think>so</think>Yes."),
        theirs.ToolCallPart("python", {"code": "print(1)"}),
    ]  # fmt: skip
    said = theirs.ModelResponse(parts=parts, finish_reason="tool_call")
    reply = await PydanticAIModel(FunctionModel(lambda messages, info: said)).complete(ask())
    assert (reply.text, reply.thinking, reply.code, reply.finish) == (
        "Yes.", "hm\nso", ("print(1)",), "tool",
    )  # fmt: skip
    cut = text("half", finish_reason="length")
    model = PydanticAIModel(FunctionModel(lambda messages, info: cut))
    assert (await model.complete(ask())).finish == "length"


async def test_a_stream_tells_its_pieces_and_the_whole_counts() -> None:
    async def pieces(messages: list[theirs.ModelMessage], info: AgentInfo) -> AsyncIterator[Any]:
        yield {0: DeltaThinkingPart(content="hm ")}
        yield {0: DeltaThinkingPart(content="so")}
        for piece in ("one ", "two ", "three"):
            yield piece

    told: list[Delta] = []
    model = PydanticAIModel(FunctionModel(stream_function=pieces))
    reply = await model.complete(ask(on_delta=told.append))
    assert (reply.text, reply.thinking) == ("one two three", "hm so")
    assert "".join(delta.text for delta in told) == "one two three"
    assert "".join(delta.thinking for delta in told) == "hm so"
    assert [delta.fresh for delta in told] == [True, False, False, False, False]


async def test_a_model_that_cannot_stream_is_asked_for_the_whole() -> None:
    told: list[Delta] = []
    model = PydanticAIModel(FunctionModel(lambda messages, info: text("whole")))
    assert (await model.complete(ask(on_delta=told.append))).text == "whole"
    assert told == []


async def test_a_run_is_streamed_over_the_wire() -> None:
    code = "```python\nprint(context)\nsubmit(len(context))\n```"
    async with FaultyServer(lambda _: code) as server:
        with RLM(openai_at(server), sandbox="none", runs=False) as engine:
            events = [event async for event in engine.stream("How many?", "abc")]
            again = await engine.arun("How many?", "abcd")
    kinds = {event.kind for event in events}
    assert "model.delta" in kinds
    assert (events[-1].answer, again.answer) == (3, 4)  # type: ignore[attr-defined]


# What can go wrong, on a real socket


@pytest.mark.parametrize(
    ("behaviour", "kind", "retryable", "unsure"),
    [
        (Behaviour(status=401), "auth", False, False),
        (Behaviour(status=402), "auth", False, False),
        (Behaviour(status=429, retry_after=7), "rate_limit", True, False),
        (Behaviour(status=500), "server", True, False),
        (Behaviour(status=503), "server", True, False),
        (Behaviour(status=400, message="no such field"), "bad_request", False, False),
        (Behaviour(status=400, error_code="context_length_exceeded"), "too_long", False, False),
        (Behaviour(status=404), "unknown_model", False, False),
        (Behaviour(fault="reset"), "connection", True, True),
        (Behaviour(fault="cut"), "connection", True, True),
    ],
)
async def test_failures_have_their_kind(
    behaviour: Behaviour, kind: str, retryable: bool, unsure: bool
) -> None:
    error, server = await fails([behaviour])
    assert (error.kind, error.retryable, error.unsure) == (kind, retryable, unsure), error.message
    assert error.message.startswith("pydantic-ai:openai:tiny: ")
    assert KEY not in error.message
    assert "\n" not in error.message
    assert len(server.asks) == 1  # one send is one send: retries are ours
    assert error.retry_after == (7 if kind == "rate_limit" else None)


async def test_nobody_listens_there() -> None:
    async with FaultyServer() as server:
        model = openai_at(server)
    with pytest.raises(ModelError) as failed:
        await model.complete(ask())
    assert (failed.value.kind, failed.value.unsure) == ("connection", False)
    await model.close()


async def test_a_body_that_is_no_reply_is_a_typed_failure() -> None:
    error, _ = await fails([Behaviour(fault="malformed")])
    assert error.kind == "server"
    assert error.unsure


async def test_a_retry_is_a_second_request_of_ours() -> None:
    code = "```python\nprint(context)\nsubmit(1)\n```"
    async with FaultyServer([Behaviour(status=503, retry_after=0), code]) as server:
        with RLM(openai_at(server), sandbox="none", runs=False) as engine:
            run = await engine.arun("How many?", "abc")
    assert (run.answer, run.trace.turns[0].retries, len(server.asks)) == (1, 1, 2)


@pytest.mark.parametrize("streamed", [False, True])
async def test_cancelling_closes_the_connection(streamed: bool) -> None:
    async with FaultyServer([Behaviour(fault="hang")]) as server:
        model = openai_at(server)
        request = ask(on_delta=[].append) if streamed else ask()
        call = asyncio.create_task(model.complete(request))
        await server.until(lambda: len(server.asks) == 1)
        call.cancel()
        with pytest.raises(asyncio.CancelledError):
            await call
        await server.until(lambda: server.cancelled == 1)
        await model.close()


async def test_every_model_of_their_list_that_fails_is_told() -> None:
    async with (
        FaultyServer([Behaviour(status=401)]) as first,
        FaultyServer([Behaviour(status=503)]) as second,
    ):
        model = PydanticAIModel(FallbackModel(theirs_at(first), theirs_at(second)))
        with pytest.raises(ModelError) as failed:
            await model.complete(ask())
        await model.close()
    assert (failed.value.kind, failed.value.retryable) == ("server", True)
    assert failed.value.message.startswith("every model of the list failed: ")
    assert failed.value.message.count("tiny") >= 2


async def test_requests_that_pydantic_ai_forbids_are_a_typed_failure() -> None:
    async with FaultyServer() as server:
        model = openai_at(server)
        with override_allow_model_requests(False), pytest.raises(Exception, match="not allowed"):
            await model.complete(ask())
        await model.close()
    assert server.asks == []


# Prices and names


async def test_a_price_is_that_of_the_service_at_the_address() -> None:
    await prices.ready()
    usage = RequestUsage(input_tokens=1_000_000, output_tokens=0)

    def at(url: str) -> PydanticAIModel:
        class At(FunctionModel):
            base_url = url
            system = "openai"

        return PydanticAIModel(
            At(lambda messages, info: text("x", usage=usage), model_name="gpt-5-mini")  # type: ignore[abstract]
        )

    there, elsewhere = at("https://api.openai.com/v1/"), at("http://127.0.0.1:1/v1")
    assert (await there.complete(ask())).cost == pytest.approx(0.25)
    assert there.info.price is not None
    assert there.info.window is not None
    assert (await elsewhere.complete(ask())).cost is None
    assert elsewhere.info.price is None
    assert elsewhere.info.endpoint == "http://127.0.0.1:1/v1"


def test_a_name_makes_the_model_that_pydantic_ai_has_under_it(monkeypatch: pytest.MonkeyPatch) -> None:
    assert resolve("pydantic-ai:test").info.name == "pydantic-ai:test:test"
    both = resolve(["pydantic-ai:test", TestModel(model_name="other")])
    assert both.info.name == "pydantic-ai:test:test,pydantic-ai:test:other"
    with pytest.raises(UnknownModel, match="Unknown model: nobody:gpt"):
        resolve("pydantic-ai:nobody:gpt")
    with pytest.raises(ConfigError, match="pydantic-ai: needs the name of a model"):
        resolve("pydantic-ai:")
    pytest.importorskip("openai", reason="needs openai")
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    with pytest.raises(ConfigError, match="OPENAI_API_KEY"):
        resolve("pydantic-ai:openai:gpt-5")
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    info = resolve("pydantic-ai:openai:gpt-5").info
    assert (info.name, info.profile) == ("pydantic-ai:openai:gpt-5", "frontier")
    with pytest.raises(NoModelFound, match="none of these models"):
        resolve(["pydantic-ai:", "anthropic:claude-haiku-4-5"], environ={})


def test_what_is_no_model_is_still_refused() -> None:
    assert is_foreign(TestModel())
    with pytest.raises(WrongSetting, match="give a name"):
        RLM(object())  # type: ignore[arg-type]


def test_the_shell_asks_one_of_its_models() -> None:
    command = [
        sys.executable,
        "-m",
        "unspool",
        "ask",
        "What?",
        "--model",
        "pydantic-ai:test",
        "--max-turns",
        "1",
    ]
    done = subprocess.run(
        [*command, "--sandbox", "none", "--no-journal", "--json"],
        input="a text", capture_output=True, text=True, timeout=120, check=False,
    )  # fmt: skip
    assert '"model": "pydantic-ai:test:test"' in done.stdout, done.stderr
    assert done.returncode == 4  # it answers "success (no tool calls)", never with code


def test_without_the_package_one_line_says_how_to_have_it() -> None:
    code = (
        "import sys\nsys.modules['pydantic_ai'] = None\n"  # as where it is not installed
        "from unspool import RLM\n"
        "try:\n    RLM('pydantic-ai:openai:gpt-5', runs=False).run('What?', 'x')\n"
        "except Exception as error:\n    print(type(error).__name__, error)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=True
    )
    assert done.stdout == (
        "ConfigError models of pydantic-ai need its package: pip install 'unspool[pydantic-ai]' "
        "(in a checkout: pip install '.[pydantic-ai]')\n"
    )
