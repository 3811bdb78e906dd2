"""Who may ask, how much, how long; clients that leave, dawdle or say nothing."""

from __future__ import annotations

import asyncio
import contextlib
import json
from collections.abc import Mapping

import pytest

from unspool.errors import ConfigError
from unspool.server.settings import ServerSettings
from unspool.testing import ScriptedModel

from .conftest import LOOK, SECONDS, Start, Up, chat_body, read_reply, submits

TOKEN = "s3cret-token"


def answering() -> ScriptedModel:
    return ScriptedModel(lambda messages: submits("1") if len(messages) > 2 else LOOK)


async def post(up: Up, body: object, **headers: str) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    """Sends a request and leaves the connection open."""
    data = json.dumps(body).encode()
    reader, writer = await up.connect()
    head = {
        "Host": f"127.0.0.1:{up.port}",
        "Content-Type": "application/json",
        "Content-Length": str(len(data)),
    }
    lines = [f"{name}: {value}" for name, value in {**head, **headers}.items()]
    writer.write("\r\n".join(["POST /v1/chat/completions HTTP/1.1", *lines]).encode() + b"\r\n\r\n" + data)
    await writer.drain()
    return reader, writer


# Who may ask


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({"Authorization": f"Bearer {TOKEN}"}, 200),
        ({"Authorization": f"bearer {TOKEN}"}, 200),
        ({"Authorization": f"Bearer {TOKEN}x"}, 401),
        ({"Authorization": "Bearer "}, 401),
        ({"Authorization": f"Basic {TOKEN}"}, 401),
        ({"Authorization": "Bearer \xff"}, 401),
        ({}, 401),
    ],
)
async def test_a_token_is_asked_for(serve: Start, headers: Mapping[str, str], status: int) -> None:
    up = await serve(answering(), token=TOKEN)
    for path, body in (("/v1/models", None), ("/metrics", None), ("/v1/chat/completions", chat_body("x"))):
        reply = await up.send(path, body, headers=headers)
        assert reply.status == status
        if status == 401:
            assert reply.error["code"] == "invalid_api_key"
            assert reply.headers["www-authenticate"] == "Bearer"
    for path in ("/health", "/openapi.json"):
        assert (await up.send(path)).status == 200
    assert TOKEN not in "".join(up.logged)


async def test_without_a_token_a_web_page_of_elsewhere_gets_nothing(serve: Start) -> None:
    up = await serve(answering())
    for host in ("evil.example", "evil.example:80", "127.0.0.1.evil.example", ""):
        reply = await up.send("/v1/models", headers={"Host": host})
        assert (reply.status, reply.error["code"]) == (403, "host")
    for host in ("localhost", f"localhost:{up.port}", "127.0.0.1", "[::1]:1"):
        assert (await up.send("/v1/models", headers={"Host": host})).status == 200
    plain = await up.send("/v1/chat/completions", chat_body("x"), headers={"Content-Type": "text/plain"})
    assert (plain.status, plain.error["code"]) == (415, "unsupported_media_type")
    packed = await up.send("/v1/chat/completions", chat_body("x"), headers={"Content-Encoding": "gzip"})
    assert packed.status == 415
    assert up.model.requests == []


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "192.0.2.1", "example.org"])
def test_a_host_that_others_reach_needs_a_token(host: str) -> None:
    with pytest.raises(ConfigError, match="needs a token: set UNSPOOL_TOKEN"):
        ServerSettings(host=host)
    assert ServerSettings(host=host, token=TOKEN).host == host


async def test_other_ways_in_are_closed(serve: Start) -> None:
    up = await serve(answering())
    for path, method, status in (
        ("/", "GET", 404),
        ("/v1/chat/completions", "GET", 405),
        ("/v1/models", "POST", 405),
        ("/v1/chat/completions/", "POST", 404),
        ("/../etc/passwd", "GET", 404),
    ):
        reply = await up.send(path, method=method)
        assert (reply.status, reply.error["code"]) == (status, "no_route")


# How many, how much


async def test_one_run_too_many_is_told_when_to_come_back(serve: Start) -> None:
    go = asyncio.Event()
    loop = asyncio.get_running_loop()

    async def replies(messages: object) -> str:
        await asyncio.wrap_future(asyncio.run_coroutine_threadsafe(go.wait(), loop))
        return submits("1")

    up = await serve(ScriptedModel(replies), runs=2)
    first = [asyncio.create_task(up.chat(unspool={"max_turns": 3})) for _ in range(2)]
    await up.until(lambda: len(up.model.requests) == 2)
    late = await up.chat()
    assert (late.status, late.error["type"], late.error["code"]) == (429, "rate_limit_error", "too_many_runs")
    assert 1 <= int(late.headers["retry-after"]) <= 60
    assert (await up.send("/health")).json == {"status": "ok", "running": 2, "limit": 2}
    go.set()
    assert [reply.status for reply in await asyncio.gather(*first)] == [200, 200]
    assert (await up.chat()).status == 200


async def test_a_body_over_the_limit_is_refused_at_once_and_one_below_it_is_read(serve: Start) -> None:
    up = await serve(ScriptedModel([LOOK, submits("len(context)")]), body_bytes=2_000_000)
    within = await up.send("/v1/chat/completions", chat_body("x", unspool={"context": "y" * 1_900_000}))
    assert within.json["choices"][0]["message"]["content"] == "1900000"
    reader, writer = await up.connect()
    head = "POST /v1/chat/completions HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
    writer.write(f"{head}Content-Length: 2000001\r\n\r\n".encode())  # and nothing of it is sent
    async with asyncio.timeout(SECONDS):
        assert b" 413 " in await reader.readline()
    writer.close()


async def test_a_body_of_unknown_length_is_cut_off_at_the_limit(serve: Start) -> None:
    up = await serve(answering(), body_bytes=100_000)
    reader, writer = await up.connect()
    head = "POST /v1/chat/completions HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
    writer.write(f"{head}Transfer-Encoding: chunked\r\n\r\n".encode())
    for _ in range(3):
        writer.write(b"c350\r\n" + b"x" * 50_000 + b"\r\n")
    async with asyncio.timeout(SECONDS):
        assert b" 413 " in await reader.readline()
    writer.close()


async def test_a_hundred_megabytes_are_handled(serve: Start) -> None:
    text = "y" * 100_000_000
    body = json.dumps(chat_body("How many?", unspool={"context": text})).encode()
    up = await serve(ScriptedModel([LOOK, submits("len(context)")]), body_bytes=128 << 20)
    reply = await up.send("/v1/chat/completions", body)
    assert reply.json["choices"][0]["message"]["content"] == "100000000"
    small = await serve(answering())
    refused = await small.send("/v1/chat/completions", body)
    assert (refused.status, refused.error["code"]) == (413, "body_too_large")
    assert small.model.requests == []


async def test_a_body_that_does_not_come_is_a_408_and_frees_its_place(serve: Start) -> None:
    up = await serve(answering(), body_seconds=0.3, runs=1)
    reader, writer = await up.connect()
    head = "POST /v1/chat/completions HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
    writer.write(f"{head}Content-Length: 100\r\n\r\n".encode() + b'{"messages": ')
    async with asyncio.timeout(SECONDS):
        reply = read_reply(await reader.read())
    assert (reply.status, reply.error["code"]) == (408, "body_timeout")
    writer.close()
    assert (await up.chat()).status == 200


# Clients that say nothing, leave, or do not read


@pytest.mark.parametrize("sent", [b"", b"POST /v1/chat/comp", b"GET /health HTTP/1.1\r\nHost: localhost\r\n"])
async def test_a_connection_without_a_whole_head_is_closed(serve: Start, sent: bytes) -> None:
    up = await serve(answering(), head_seconds=0.3)
    reader, writer = await up.connect()
    writer.write(sent)
    async with asyncio.timeout(SECONDS):
        with pytest.raises(ConnectionError):
            raise ConnectionResetError if await reader.read() == b"" else AssertionError
    writer.close()
    assert (await up.send("/health")).status == 200


async def test_a_connection_is_kept_for_further_requests(serve: Start) -> None:
    up = await serve(answering())
    reader, writer = await up.connect()
    for _ in range(3):
        writer.write(b"GET /health HTTP/1.1\r\nHost: localhost\r\n\r\n")
        head = await reader.readuntil(b"\r\n\r\n")
        assert b" 200 " in head
        size = int(head.lower().partition(b"content-length: ")[2].partition(b"\r")[0])
        await reader.readexactly(size)
    writer.close()


@pytest.mark.parametrize("stream", [True, False])
async def test_a_client_that_goes_away_cancels_its_run_and_nothing_more_is_sent(
    serve: Start, stream: bool
) -> None:
    sub = ScriptedModel(lambda _: "yes", latency=0.05, name="scripted:sub")
    code = "```python\nfor i in range(10_000):\n    llm_query(f'question {i}')\n```"
    up = await serve(ScriptedModel([code] * 3), sub_model=sub)
    reader, writer = await post(up, chat_body("x", stream=stream))
    if stream:
        await reader.readuntil(b'"role":"assistant"')
    await up.until(lambda: len(sub.requests) >= 3)
    writer.close()
    await up.until(lambda: up.service.runs.taken == 0)
    asked = len(sub.requests)
    await asyncio.sleep(0.3)
    assert len(sub.requests) == asked
    (run,) = up.store.runs()
    assert up.store.read(run)[-1].status == "cancelled"  # type: ignore[attr-defined]
    assert "unspool_clients_gone_total 1" in (await up.send("/metrics")).body.decode()
    assert any("the client is gone" in line and run in line for line in up.logged)


async def test_a_client_that_does_not_read_is_cut_off(serve: Start) -> None:
    up = await serve(ScriptedModel([LOOK, submits("'x' * 30_000_000")]), send_seconds=0.5)
    reader, writer = await post(up, chat_body("x", stream=True))
    writer.transport.pause_reading()  # type: ignore[attr-defined]  # a reader of asyncio takes it all otherwise
    await up.until(lambda: up.service.runs.taken == 1)
    await up.until(lambda: up.service.runs.taken == 0)
    await up.until(lambda: not up.server.server_state.connections)
    writer.transport.resume_reading()  # type: ignore[attr-defined]
    with contextlib.suppress(ConnectionError):  # what was under way may be lost
        assert len(await reader.read()) < 30_000_000
    writer.close()
    assert (await up.send("/health")).status == 200


async def test_a_client_that_reads_slowly_gets_all_of_it(serve: Start) -> None:
    up = await serve(ScriptedModel([LOOK, submits("'x' * 3_000_000")]), send_seconds=5.0)
    reader, writer = await post(up, chat_body("x", stream=True), Connection="close")
    got = b""
    async with asyncio.timeout(SECONDS):
        while piece := await reader.read(200_000):
            got += piece
            await asyncio.sleep(0.005)
    writer.close()
    events = read_reply(got).events
    assert sum(len(e["choices"][0]["delta"].get("content") or "") for e in events) == 3_000_000


async def test_a_silent_stream_says_that_it_is_alive(serve: Start) -> None:
    up = await serve(ScriptedModel([LOOK, submits("1")], latency=0.4), beat_seconds=0.1)
    reply = await up.chat(stream=True)
    assert reply.body.count(b": still at work\n\n") >= 2
    assert reply.events[-1]["choices"][0]["finish_reason"] == "stop"


async def test_a_run_that_takes_too_long_is_a_504(serve: Start) -> None:
    up = await serve(ScriptedModel([LOOK] * 5, latency=5.0), seconds=0.5)
    reply = await up.chat()
    assert (reply.status, reply.error["code"]) == (504, "timeout")
    assert reply.headers["x-should-retry"] == "false"


async def test_stopping_the_server_ends_its_runs_and_tells_their_clients(serve: Start) -> None:
    up = await serve(ScriptedModel([LOOK] * 50, latency=0.2))
    whole, streamed = asyncio.create_task(up.chat()), asyncio.create_task(up.chat(stream=True))
    await up.until(lambda: len(up.model.requests) >= 3)
    up.server.stop()
    reply, stream = await whole, await streamed
    assert (reply.status, reply.error["code"]) == (503, "shutting_down")
    assert reply.headers["retry-after"] == "5"
    assert stream.events[-1]["error"]["code"] == "shutting_down"
    for run in up.store.runs():
        assert up.store.read(run)[-1].status == "cancelled"  # type: ignore[attr-defined]


async def test_a_bug_is_a_500_that_says_nothing_and_a_traceback_in_the_log(serve: Start) -> None:
    class Broken:
        info = answering().info

        async def complete(self, request: object) -> object:
            raise RuntimeError("boom in /secret/path")

        async def close(self) -> None:
            return None

    up = await serve(Broken())
    reply = await up.chat()
    assert (reply.status, reply.error["code"]) == (500, "bug")
    assert "boom" not in reply.body.decode()
    assert any("RuntimeError: boom" in line for line in up.logged)
