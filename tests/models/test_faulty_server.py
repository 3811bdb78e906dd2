"""FaultyServer itself: what it does on order, seen through plain HTTP."""

from __future__ import annotations

import http.client
import json
import socket
import threading
from urllib.error import HTTPError
from urllib.request import Request, urlopen

import pytest

from unspool.testing import Ask, Behaviour, FaultyServer


def post(server: FaultyServer, body: dict[str, object], key: str = "k") -> bytes:
    request = Request(
        f"{server.base_url}/chat/completions",
        json.dumps(body).encode(),
        {"Content-Type": "application/json", "Authorization": f"Bearer {key}"},
    )
    with urlopen(request, timeout=10) as reply:
        content: bytes = reply.read()
    return content


def chat(text: str, **more: object) -> dict[str, object]:
    return {"model": "m", "messages": [{"role": "user", "content": text}], **more}


def test_a_list_goes_on_with_its_last_entry_and_everything_is_recorded() -> None:
    with FaultyServer(["one", "two"]) as server:
        texts = [json.loads(post(server, chat(str(i))))["choices"][0]["message"]["content"] for i in range(3)]
    assert texts == ["one", "two", "two"]
    assert [a.prompt for a in server.asks] == ["0", "1", "2"]
    assert server.asks[0].path == "/v1/chat/completions"
    assert (server.peak, server.cancelled) == (1, 0)


def test_a_function_answers_and_usage_is_estimated_or_left_out() -> None:
    def script(ask: Ask) -> Behaviour | str:
        return ask.prompt[::-1] if ask.prompt != "none" else Behaviour("x", usage=None)

    with FaultyServer(script) as server:
        full = json.loads(post(server, chat("abcdefgh")))
        bare = json.loads(post(server, chat("none")))
    assert full["choices"][0]["message"]["content"] == "hgfedcba"
    assert full["usage"] == {"prompt_tokens": 2, "completion_tokens": 2, "total_tokens": 4}
    assert "usage" not in bare


def test_a_stream_is_a_row_of_chunks_that_make_the_text() -> None:
    text = "a text of more than one chunk, to be put together again"
    with FaultyServer([Behaviour(text, reasoning="hm")]) as server:
        lines = post(server, chat("x", stream=True)).decode().split("\n\n")
    assert lines[-2] == "data: [DONE]"
    chunks = [json.loads(line.removeprefix("data: ")) for line in lines[:-2]]
    deltas = [c["choices"][0]["delta"] for c in chunks if c["choices"]]
    assert "".join(d.get("content", "") for d in deltas) == text
    assert "".join(d.get("reasoning_content", "") for d in deltas) == "hm"
    assert chunks[-2]["choices"][0]["finish_reason"] == "stop"
    assert chunks[-1]["usage"]["completion_tokens"] > 0


def test_errors_have_their_status_header_and_body() -> None:
    with FaultyServer([Behaviour(status=429, retry_after=2, message="slow", error_code="rate")]) as server:
        with pytest.raises(HTTPError) as failed:
            post(server, chat("x"))
        assert (failed.value.code, failed.value.headers["Retry-After"]) == (429, "2")
        assert json.loads(failed.value.read())["error"] == {
            "message": "slow",
            "type": "error",
            "code": "rate",
        }
        failed.value.close()


def test_a_key_and_the_models_are_checked() -> None:
    with FaultyServer(key="right", models=("m",)) as server:
        for key, model, status in (("wrong", "m", 401), ("right", "other", 404)):
            with pytest.raises(HTTPError) as failed:
                post(server, {**chat("x"), "model": model}, key=key)
            assert failed.value.code == status
            failed.value.close()
        assert post(server, chat("x"), key="right")


def test_cut_reset_and_malformed() -> None:
    with FaultyServer(
        [Behaviour(fault="cut"), Behaviour(fault="reset"), Behaviour(fault="malformed")]
    ) as server:
        with pytest.raises(http.client.IncompleteRead):
            post(server, chat("x"))
        with pytest.raises(OSError):  # noqa: PT011 (reset or closed: the system decides)
            post(server, chat("x"))
        with pytest.raises(ValueError, match="Unterminated string"):
            json.loads(post(server, chat("x")))


async def test_a_client_that_goes_away_is_counted() -> None:
    body = json.dumps(chat("x")).encode()
    with FaultyServer([Behaviour(fault="hang")]) as server:
        client = socket.create_connection(("127.0.0.1", server.port))
        client.sendall(b"POST /v1/chat/completions HTTP/1.1\r\nContent-Length: %d\r\n\r\n" % len(body) + body)
        await server.until(lambda: len(server.asks) == 1)
        assert server.cancelled == 0
        client.close()
        await server.until(lambda: server.cancelled == 1)


def test_requests_that_come_in_pieces_are_put_together() -> None:
    body = json.dumps(chat("piecemeal")).encode()
    with FaultyServer() as server, socket.create_connection(("127.0.0.1", server.port)) as client:
        whole = b"POST /v1/chat/completions HTTP/1.1\r\nContent-Length: %d\r\n\r\n" % len(body) + body
        for start in range(0, len(whole), 11):
            client.sendall(whole[start : start + 11])
        assert client.recv(100).startswith(b"HTTP/1.1 200 OK")
    assert server.asks[0].prompt == "piecemeal"


def test_stopping_ends_the_thread_and_twice_is_fine() -> None:
    before = threading.active_count()
    server = FaultyServer().start()
    server.stop()
    server.stop()
    assert threading.active_count() == before


def test_a_port_that_is_taken_is_an_error() -> None:
    with FaultyServer() as server, pytest.raises(OSError, match="in use"):
        FaultyServer(port=server.port).start()


def test_an_empty_script_is_refused() -> None:
    with pytest.raises(ValueError, match="at least one"):
        FaultyServer([])
