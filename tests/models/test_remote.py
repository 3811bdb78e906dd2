"""Remote models against a real server on loopback that misbehaves on order."""

from __future__ import annotations

import asyncio
import contextlib
import json
import time
from collections.abc import Mapping
from dataclasses import replace

import pytest

from unspool.errors import ModelError
from unspool.models import prices
from unspool.models.calls import Caller
from unspool.models.protocol import Message, ModelReply, ModelRequest, Price
from unspool.models.providers import PROVIDERS, Provider
from unspool.models.remote import RemoteModel
from unspool.models.replies import Counts
from unspool.testing import Ask, Behaviour, FaultyServer
from unspool.testing.server import Script
from unspool.types import Usage

KEY = "sk-test-0123456789abcdef"


def ask(text: str = "hi", **fields: object) -> ModelRequest:
    return ModelRequest((Message("system", "be brief"), Message("user", text)), **fields)  # type: ignore[arg-type]


def model_at(server: FaultyServer, key: str | None = KEY) -> RemoteModel:
    return RemoteModel(PROVIDERS["openai"], "tiny", key=key, base_url=server.base_url)


async def talk(
    script: Script, *, calls: int = 1, attempts: int = 4, seconds: float | None = None
) -> tuple[list[ModelReply], FaultyServer]:
    """The replies to some calls, one after the other, and the server that gave them."""
    async with FaultyServer(script) as server:
        speaker = Caller(model_at(server), attempts=attempts, backoff=0.01, timeout=seconds)
        try:
            return [await speaker.call(ask(f"call {i}")) for i in range(calls)], server
        finally:
            await speaker.close()


async def fails(
    script: Script, *, attempts: int = 1, seconds: float | None = None
) -> tuple[ModelError, FaultyServer]:
    async with FaultyServer(script) as server:
        speaker = Caller(model_at(server), attempts=attempts, backoff=0.01, timeout=seconds)
        try:
            with pytest.raises(ModelError) as failed:
                await speaker.call(ask())
            return failed.value, server
        finally:
            await speaker.close()


async def test_a_reply_and_what_was_sent() -> None:
    async with FaultyServer(["hello"]) as server:
        model = model_at(server)
        reply = await model.complete(
            ask(max_tokens=50, temperature=0.5, seed=7, stop=("END",), schema={"type": "object"})
        )
        await model.close()
    assert (reply.text, reply.finish, reply.model, reply.cost) == ("hello", "stop", "tiny", None)
    assert reply.usage == Usage(calls=1, input_tokens=3, output_tokens=2)
    assert reply.seconds > 0
    (sent,) = server.asks
    assert sent.headers["authorization"] == f"Bearer {KEY}"
    assert sent.body["messages"] == [
        {"role": "system", "content": "be brief"},
        {"role": "user", "content": "hi"},
    ]
    assert (sent.body["max_tokens"], sent.body["temperature"], sent.body["seed"]) == (50, 0.5, 7)
    assert sent.body["stop"] == ["END"]
    assert sent.body["response_format"] == {
        "type": "json_schema",
        "json_schema": {"name": "reply", "schema": {"type": "object"}, "strict": False},
    }


async def test_a_long_conversation_keeps_its_roles_and_empty_texts() -> None:
    said = (
        Message("system", "a"), Message("user", "b"), Message("assistant", "c"),
        Message("user", ""), Message("assistant", ""), Message("system", "late"), Message("user", "d"),
    )  # fmt: skip
    async with FaultyServer() as server:
        model = model_at(server)
        await model.complete(ModelRequest(said))
        await model.close()
    messages = server.asks[0].body["messages"]
    assert isinstance(messages, list)
    assert [(m["role"], m["content"] or "") for m in messages] == [(m.role, m.text) for m in said]


@pytest.mark.parametrize("text", ["😀 e\u0301 \u202eabc", "nul \0 byte", "\r\n\t", "a" * 300_000])
async def test_odd_text_round_trips_exactly(text: str) -> None:
    async with FaultyServer(lambda a: Behaviour(a.prompt)) as server:
        model = model_at(server)
        reply = await model.complete(ask(text))
        await model.close()
    assert server.asks[0].prompt == text
    assert reply.text == text


async def test_half_a_surrogate_pair_does_not_stop_the_call() -> None:
    async with FaultyServer() as server:
        model = model_at(server)
        await model.complete(ask("a \ud800 b \ud83d\ude00"))
        await model.close()
    assert server.asks[0].prompt == "a \ufffd b 😀"


async def test_connections_are_kept_and_a_thousand_calls_are_as_parallel_as_allowed() -> None:
    async with FaultyServer(lambda a: Behaviour(a.prompt, delay=0.01)) as server:
        caller = Caller(model_at(server), concurrency=64)
        replies = await asyncio.gather(*(caller.call(ask(str(i))) for i in range(1000)))
        await caller.close()
    assert [r.text for r in replies] == [str(i) for i in range(1000)]
    assert server.peak == 64
    assert server.connections <= 64


async def test_one_of_sixteen_fails_and_fifteen_stand() -> None:
    def script(a: Ask) -> Behaviour:
        return Behaviour(status=400, message="no") if a.prompt == "7" else Behaviour(a.prompt)

    async with FaultyServer(script) as server:
        caller = Caller(model_at(server))
        done = await asyncio.gather(*(caller.call(ask(str(i))) for i in range(16)), return_exceptions=True)
        await caller.close()
    bad = [d for d in done if isinstance(d, ModelError)]
    assert [e.kind for e in bad] == ["bad_request"]
    assert [d.text for d in done if isinstance(d, ModelReply)] == [str(i) for i in range(16) if i != 7]


async def test_retry_after_is_obeyed() -> None:
    started = time.monotonic()
    (reply,), server = await talk([Behaviour(status=429, retry_after=1), "fine"])
    assert 0.95 <= time.monotonic() - started < 3
    assert (reply.text, reply.retries) == ("fine", 1)
    assert reply.seconds >= 0.95
    assert len(server.asks) == 2


async def test_retry_after_holds_the_others_too() -> None:
    async with FaultyServer([Behaviour(status=429, retry_after="0.4"), "fine"]) as server:
        caller = Caller(model_at(server), backoff=0.01)
        first = asyncio.create_task(caller.call(ask("a")))
        await server.until(lambda: len(server.asks) == 1)
        await asyncio.sleep(0.1)
        started = time.monotonic()
        await caller.call(ask("b"))
        assert time.monotonic() - started >= 0.2
        await first
        await caller.close()


@pytest.mark.parametrize(
    "fault",
    [
        Behaviour(status=500), Behaviour(status=502), Behaviour(status=503), Behaviour(status=529),
        Behaviour(status=408), Behaviour(status=409), Behaviour(status=429), Behaviour(fault="cut"),
        Behaviour(fault="reset"), Behaviour(fault="malformed"),
    ],
    ids=lambda b: b.fault or str(b.status),
)  # fmt: skip
async def test_what_may_help_is_sent_again_twice(fault: Behaviour) -> None:
    (reply,), server = await talk([fault, fault, "fine"])
    assert (reply.text, reply.retries) == ("fine", 2)
    assert len(server.asks) == 3


@pytest.mark.parametrize(
    ("behaviour", "kind"),
    [
        (Behaviour(status=429), "rate_limit"),
        (Behaviour(status=500), "server"),
        (Behaviour(status=504), "timeout"),
        (Behaviour(fault="cut"), "connection"),
        (Behaviour(fault="reset"), "connection"),
        (Behaviour(fault="malformed"), "server"),
        (Behaviour(status=400, message="messages is required"), "bad_request"),
        (Behaviour(status=422), "bad_request"),
        (Behaviour(status=400, message="too big", error_code="context_length_exceeded"), "too_long"),
        (Behaviour(status=400, message="the request exceeds the available context size"), "too_long"),
        (
            Behaviour(status=404, message="The model `x` does not exist", error_code="model_not_found"),
            "unknown_model",
        ),
        (Behaviour(status=401), "auth"),
        (Behaviour(status=403), "auth"),
        (Behaviour(status=429, message="quota", error_code="insufficient_quota"), "auth"),
    ],
)
async def test_failures_have_their_kind(behaviour: Behaviour, kind: str) -> None:
    error, _ = await fails([behaviour])
    assert error.kind == kind
    assert error.model == "openai:tiny"


async def test_nobody_listens_there() -> None:
    with FaultyServer() as server:
        pass
    caller = Caller(model_at(server), attempts=1)
    with pytest.raises(ModelError, match="no connection to openai") as failed:
        await caller.call(ask())
    assert failed.value.kind == "connection"
    assert not failed.value.unsure
    await caller.close()


async def test_a_hang_is_cut_at_the_timeout_retried_and_then_a_typed_failure() -> None:
    error, server = await fails([Behaviour(fault="hang")], attempts=2, seconds=0.15)
    assert error.kind == "timeout"
    assert len(server.asks) == 2
    (reply,), _ = await talk([Behaviour(fault="hang"), "fine"], seconds=0.15)
    assert (reply.text, reply.retries) == ("fine", 1)


async def test_cancelling_closes_the_connection() -> None:
    async with FaultyServer([Behaviour(fault="hang")]) as server:
        caller = Caller(model_at(server))
        tasks = [asyncio.create_task(caller.call(ask())) for _ in range(5)]
        await server.until(lambda: len(server.asks) == 5)
        for task in tasks:
            task.cancel()
        done = await asyncio.gather(*tasks, return_exceptions=True)
        assert all(isinstance(d, asyncio.CancelledError) for d in done)
        await server.until(lambda: server.cancelled == 5)
        await caller.close()


async def test_a_connection_that_the_server_closed_while_idle_is_not_used() -> None:
    async with FaultyServer() as server:
        caller = Caller(model_at(server), attempts=1)
        await caller.call(ask())
        server.drop_idle()
        assert (await caller.call(ask())).retries == 0
        await caller.close()
    assert server.connections == 2


@pytest.mark.parametrize("status", [401, 403])
async def test_a_refused_key_names_provider_and_variable_and_never_the_key(status: int) -> None:
    said = f"Incorrect API key provided: {KEY}. Also sk-proj-abcd****wxyz1234."
    error, server = await fails([Behaviour(status=status, message=said)], attempts=4)
    assert (error.kind, error.fatal) == ("auth", True)
    assert "openai" in error.message
    assert "OPENAI_API_KEY" in error.message
    assert str(status) in error.message
    assert KEY not in repr(error) + error.message
    assert "wxyz1234" not in error.message
    assert len(server.asks) == 1
    assert error.__cause__ is None


async def test_no_key_is_said_before_anything_is_sent() -> None:
    model = RemoteModel(PROVIDERS["openai"], "tiny")
    with pytest.raises(ModelError, match="set OPENAI_API_KEY") as failed:
        await model.complete(ask())
    assert failed.value.kind == "auth"


async def test_a_server_of_ones_own_needs_no_key() -> None:
    async with FaultyServer(["hello"]) as server:
        model = model_at(server, key=None)
        assert (await model.complete(ask())).text == "hello"
        await model.close()


@pytest.mark.parametrize(
    ("behaviour", "expected"),
    [
        (Behaviour("x", usage=None), Usage(calls=1, calls_unmeasured=1)),
        (
            Behaviour("x", usage={
                "prompt_tokens": 100, "completion_tokens": 20, "total_tokens": 120,
                "prompt_tokens_details": {"cached_tokens": 80},
                "completion_tokens_details": {"reasoning_tokens": 15},
            }),
            Usage(calls=1, input_tokens=100, output_tokens=20, cached_tokens=80, reasoning_tokens=15),
        ),
        (
            Behaviour("x", usage={
                "prompt_tokens": 100, "completion_tokens": 5, "total_tokens": 120,
                "completion_tokens_details": {"reasoning_tokens": 15},
            }),
            Usage(calls=1, input_tokens=100, output_tokens=20, reasoning_tokens=15),
        ),
    ],
    ids=["none", "included", "apart"],
)  # fmt: skip
async def test_usage_is_counted_once(behaviour: Behaviour, expected: Usage) -> None:
    (reply,), _ = await talk([behaviour])
    assert reply.usage == expected


@pytest.mark.parametrize(
    ("behaviour", "expected"),
    [
        (Behaviour("cut of", finish="length"), ("cut of", "length", "", ())),
        (Behaviour("42", reasoning="6 times 7"), ("42", "stop", "6 times 7", ())),
        (Behaviour("<think>6 times 7</think>\n42"), ("42", "stop", "6 times 7", ())),
        (Behaviour("6 times 7\n</think>\n\n42"), ("42", "stop", "6 times 7", ())),
        (
            Behaviour("<|channel|>analysis<|message|>6 times 7<|end|><|start|>assistant<|channel|>final<|message|>42"),
            ("42", "stop", "6 times 7", ()),
        ),
        (Behaviour(None, code=("print(1)", "print(2)")), ("", "tool", "", ("print(1)", "print(2)"))),
        (Behaviour("I run it", code=("x = 1",)), ("I run it", "tool", "", ("x = 1",))),
    ],
)  # fmt: skip
async def test_text_thinking_and_code_are_kept_apart(
    behaviour: Behaviour, expected: tuple[object, ...]
) -> None:
    (reply,), _ = await talk([behaviour])
    assert (reply.text, reply.finish, reply.thinking, reply.code) == expected


@pytest.mark.parametrize(
    ("behaviour", "said"),
    [
        (Behaviour(""), "empty reply"),
        (Behaviour(None), "empty reply"),
        (Behaviour(None, reasoning="hm", finish="length"), "only thinking: raise max_tokens"),
        (Behaviour("<think>and on and on", finish="length"), "only thinking: raise max_tokens"),
        (Behaviour(None, finish="content_filter"), "content filter"),
    ],
)
async def test_a_reply_without_text_says_why(behaviour: Behaviour, said: str) -> None:
    error, _ = await fails([behaviour], attempts=2)
    assert error.kind == "empty"
    assert said in error.message
    assert error.usage is not None
    assert error.usage.calls >= 1


@pytest.mark.parametrize(
    "body",
    [
        {},
        {"choices": []},
        {"choices": None},
        {"choices": "x"},
        {"choices": [3]},
        {"choices": [{"message": 3}]},
    ],
)
async def test_a_body_that_is_no_completion_is_no_empty_answer(body: Mapping[str, object]) -> None:
    error, _ = await fails([Behaviour("", extra={"choices": [], **body})])
    assert error.kind in ("server", "empty")
    assert error.usage is None or error.kind == "empty"


async def test_a_parameter_the_server_does_not_take_is_left_out_from_then_on() -> None:
    def script(a: Ask) -> Behaviour:
        for field in ("temperature", "response_format"):
            if field in a.body:
                return Behaviour(
                    status=400, message=f"Unsupported value: '{field}' does not support 0.2 with this model."
                )
        return Behaviour("fine")

    async with FaultyServer(script) as server:
        model = model_at(server)
        for _ in range(2):
            assert (await model.complete(ask(temperature=0.2, schema={"type": "object"}))).text == "fine"
        await model.close()
    assert [sorted(a.body.keys() & {"temperature", "response_format"}) for a in server.asks] == [
        ["response_format", "temperature"], ["response_format"], [], [],
    ]  # fmt: skip


async def test_the_models_of_a_server_are_listed() -> None:
    async with FaultyServer(models=("one", "two")) as server:
        model = model_at(server)
        assert await model.list_models() == ("one", "two")
        await model.close()


async def test_an_unknown_model_is_told_the_names_that_come_close() -> None:
    async with FaultyServer(models=("tiny-2", "huge", "embed")) as server:
        caller = Caller(model_at(server))
        with pytest.raises(ModelError, match=r"does not exist.* It has tiny-2 and 2 more") as failed:
            await caller.call(ask())
        await caller.close()
    assert failed.value.kind == "unknown_model"
    assert len(server.asks) == 1


async def test_it_works_on_one_loop_after_the_other() -> None:
    async with FaultyServer(["hello"]) as server:
        model = model_at(server)

        async def once() -> str:
            try:
                return (await model.complete(ask())).text
            finally:
                await model.close()

        assert await asyncio.to_thread(asyncio.run, once()) == "hello"
        assert await once() == "hello"
        await model.close()


async def test_a_call_has_its_price_and_the_window_is_known_then() -> None:
    usage = {
        "prompt_tokens": 1_000_000,
        "completion_tokens": 500_000,
        "prompt_tokens_details": {"cached_tokens": 400_000},
    }
    async with FaultyServer([Behaviour("x", usage=usage), Behaviour("x", usage=None)]) as server:
        provider = replace(PROVIDERS["openai"], base_url=server.base_url)
        model = RemoteModel(provider, "gpt-5-mini", key=KEY)
        reply = await model.complete(ask())
        # A million tokens cost 0.25 read, 0.025 from the cache, and 2 written.
        assert reply.cost == pytest.approx(0.6 * 0.25 + 0.4 * 0.025 + 0.5 * 2)
        assert model.info.window == 400_000
        assert model.info.price == Price(read=0.25e-6, written=2e-6)
        assert (await model.complete(ask())).cost is None  # no usage, no price
        await model.close()
        unknown = RemoteModel(provider, "no-such-model", key=KEY)
        assert (await unknown.complete(ask())).cost is None
        assert unknown.info.price is None
        await unknown.close()


async def test_a_price_of_ones_own_is_what_a_call_costs() -> None:
    usage = {"prompt_tokens": 1000, "completion_tokens": 10}
    async with FaultyServer([Behaviour("x", usage=usage), Behaviour("x", usage=None)]) as server:
        price = Price(read=1e-6, written=1e-4, call=0.5)
        model = RemoteModel(PROVIDERS["openai"], "tiny", key=KEY, base_url=server.base_url, price=price)
        assert (model.info.price, model.info.endpoint) == (price, server.base_url)
        assert (await model.complete(ask())).cost == pytest.approx(0.502)
        assert (await model.complete(ask())).cost is None
        await model.close()


def test_the_dearest_tier_is_the_price_before_a_call() -> None:
    asyncio.run(prices.ready())
    flat, tiered = prices.price("openai", "gpt-5-mini"), prices.price("google", "gemini-2.5-pro")
    assert flat is not None
    assert tiered is not None
    for size in (1_000, 1_000_000):
        for service, model, price in (("openai", "gpt-5-mini", flat), ("google", "gemini-2.5-pro", tiered)):
            cost = prices.cost(service, model, Counts(input=size, output=1_000))
            assert cost is not None
            assert cost <= price.read * size + price.written * 1_000 + 1e-9
    assert prices.price("openai", "no-such-model") is None


@pytest.mark.parametrize(
    ("behaviour", "unsure"),
    [
        (Behaviour(status=429), False),
        (Behaviour(status=500), False),
        (Behaviour(status=400), False),
        (Behaviour(fault="cut"), True),
        (Behaviour(fault="reset"), True),
        (Behaviour(fault="malformed"), True),
        (Behaviour(fault="hang"), True),
    ],
    ids=lambda b: str(b.fault or b.status) if isinstance(b, Behaviour) else "",
)
async def test_a_failure_says_whether_the_work_may_have_been_done(behaviour: Behaviour, unsure: bool) -> None:
    error, _ = await fails([behaviour], seconds=0.15)
    assert error.unsure is unsure


async def test_a_server_of_this_machine_costs_nothing() -> None:
    async with FaultyServer() as server:
        model = RemoteModel(Provider("ollama", base_url=server.base_url, here=True), "m")
        assert (await model.complete(ask())).cost == 0.0
        await model.close()


@pytest.mark.parametrize(
    ("name", "model", "body", "expected"),
    [
        (
            "anthropic", "claude-haiku-4-5",
            {
                "content": [{"type": "thinking", "thinking": "hm", "signature": "s"}, {"type": "text", "text": "hello"}],
                "stop_reason": "max_tokens",
                "usage": {"input_tokens": 10, "cache_read_input_tokens": 80, "cache_creation_input_tokens": 5, "output_tokens": 7},
            },
            Usage(calls=1, input_tokens=95, output_tokens=7, cached_tokens=80),
        ),
        (
            "gemini", "gemini-2.5-flash",
            {
                "candidates": [{
                    "content": {"role": "model", "parts": [{"text": "hm", "thought": True}, {"text": "hello"}]},
                    "finishReason": "MAX_TOKENS",
                }],
                "usageMetadata": {
                    "promptTokenCount": 95, "cachedContentTokenCount": 80, "candidatesTokenCount": 4,
                    "thoughtsTokenCount": 3, "totalTokenCount": 102,
                },
            },
            Usage(calls=1, input_tokens=95, output_tokens=7, cached_tokens=80, reasoning_tokens=3),
        ),
    ],
)  # fmt: skip
async def test_the_other_wires_count_the_same(
    name: str, model: str, body: Mapping[str, object], expected: Usage
) -> None:
    async with FaultyServer([Behaviour(usage=None, extra=body)]) as server:
        provider = replace(PROVIDERS[name], base_url=server.base_url)
        speaker = RemoteModel(provider, model, key=KEY)
        reply = await speaker.complete(ask())
        await speaker.close()
    assert (reply.text, reply.thinking, reply.finish) == ("hello", "hm", "length")
    assert reply.usage == expected
    assert reply.cost
    assert KEY in "".join(server.asks[0].headers.values())


async def test_a_proxy_of_the_environment_is_used_and_not_for_this_machine(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for name in ("no_proxy", "NO_PROXY", "HTTP_PROXY"):
        monkeypatch.delenv(name, raising=False)
    async with FaultyServer(["by proxy"]) as proxy, FaultyServer(["straight"]) as server:
        monkeypatch.setenv("http_proxy", f"http://127.0.0.1:{proxy.port}")
        far = RemoteModel(PROVIDERS["openai"], "tiny", key=KEY, base_url="http://models.invalid/v1")
        near = model_at(server)
        assert (await far.complete(ask())).text == "by proxy"
        assert (await near.complete(ask())).text == "straight"
        await far.close()
        await near.close()
    assert proxy.asks[0].path == "http://models.invalid/v1/chat/completions"


async def test_a_reply_in_chunks_is_read_whole() -> None:
    body = json.dumps(
        {"model": "m", "choices": [{"message": {"content": "chunked"}, "finish_reason": "stop"}]}
    ).encode()

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")
        for start in range(0, len(body), 7):
            piece = body[start : start + 7]
            writer.write(b"%x;note=1\r\n%s\r\n" % (len(piece), piece))
            await writer.drain()
            await asyncio.sleep(0)
        writer.write(b"0\r\nTrailer: x\r\n\r\n")
        await reader.read()  # until the client has closed
        writer.close()
        await writer.wait_closed()
        gone.set()

    gone = asyncio.Event()
    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    model = RemoteModel(PROVIDERS["openai"], "tiny", key=KEY, base_url=f"http://127.0.0.1:{port}/v1")
    assert (await model.complete(ModelRequest((Message("user", "hi"),)))).text == "chunked"
    await model.close()
    await gone.wait()
    server.close()
    await server.wait_closed()


async def test_a_server_without_tls_is_asked_once() -> None:
    async def speak_plainly(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read(100)
        writer.write(b"HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n")
        await writer.drain()
        with contextlib.suppress(ConnectionError):
            await reader.read()  # until the client goes: a reset would be another error
        writer.close()

    server = await asyncio.start_server(speak_plainly, "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    model = RemoteModel(PROVIDERS["openai"], "m", key="k" * 12, base_url=f"https://127.0.0.1:{port}/v1")
    with pytest.raises(ModelError) as caught:
        await Caller(model, backoff=30.0).call(ModelRequest((Message("user", "hi"),)))
    await model.close()
    server.close()
    await server.wait_closed()
    assert (caught.value.kind, caught.value.retryable) == ("connection", False)
