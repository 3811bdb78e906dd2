"""The served OpenAPI document; and what no document has: bytes, heads and paths of any kind. Never a 500.

What is made from the document, and against it, is in test_schemathesis.
"""

from __future__ import annotations

import asyncio
import json
import string
from collections.abc import Callable, Iterator
from contextlib import AsyncExitStack
from functools import cache
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from unspool.server.openapi import document
from unspool.testing import ScriptedModel

from .conftest import LOOK, Reply, Start, Up, started, submits


def check(reply: Reply, document: Any, path: str, method: str) -> None:
    """As documented: a status that is listed, and a body in the shape that goes with it."""
    said = document["paths"][path][method]["responses"]
    assert str(reply.status) in said, reply.body
    assert reply.status not in (500, 503), reply.body
    if reply.status >= 400:
        assert set(reply.error) >= {"message", "type", "param", "code"}
        assert reply.error["message"]


def answering() -> ScriptedModel:
    return ScriptedModel(lambda messages: submits("1") if len(messages) > 2 else LOOK)


async def test_every_page_is_as_documented(serve: Start) -> None:
    for up in (await serve(answering()), await serve(answering(), token="x")):
        document = (await up.send("/openapi.json")).json
        assert document["openapi"].startswith("3.1")
        assert ("securitySchemes" in document["components"]) == (up.service.settings.token is not None)
        for path, methods in document["paths"].items():
            for method in methods:
                reply = await up.send(path, method=method.upper())
                check(reply, document, path, method)


async def test_the_document_is_whole(serve: Start) -> None:
    document = (await (await serve(answering())).send("/openapi.json")).json

    def references(value: Any) -> list[str]:
        if isinstance(value, dict):
            own = [value["$ref"]] if isinstance(value.get("$ref"), str) else []
            return own + [each for part in value.values() for each in references(part)]
        return [each for part in value for each in references(part)] if isinstance(value, list) else []

    names = {reference.removeprefix("#/components/schemas/") for reference in references(document)}
    assert names <= set(document["components"]["schemas"])
    fields = document["components"]["schemas"]["Options"]["properties"]
    assert all(field.get("description") or "$ref" in json.dumps(field) for field in fields.values())


async def fuzz(up: Up, path: str, body: bytes, document: Any) -> None:
    check(await up.send(path, body, method="POST"), document, path, "post")


ROUTES = ["/v1/chat/completions", "/v1/responses"]
SLOWLY = settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck), derandomize=True)


Sending = Callable[..., None]


@cache
def told() -> Any:
    """The document as clients have it."""
    return json.loads(json.dumps(document(with_token=False)))


@pytest.fixture(scope="module")
def sending() -> Iterator[Sending]:
    """``sending(send)``: one server for all examples, in a loop that turns while ``send(up)`` does.

    To start and stop one takes longer than an example. ``token=True``: one that wants a token.
    """
    stack = AsyncExitStack()

    async def start(token: str | None) -> Up:
        return await stack.enter_async_context(started(answering(), token=token))

    with asyncio.Runner(loop_factory=asyncio.new_event_loop) as runner:
        ups = {bool(token): runner.run(start(token)) for token in (None, "any")}

        def sending(send: Callable[[Up], Any], *, token: bool = False) -> None:
            runner.run(send(ups[token]))

        yield sending
        runner.run(stack.aclose())


@SLOWLY
@given(
    path=st.sampled_from(ROUTES),
    body=st.binary(max_size=200) | st.text(string.printable).map(str.encode),
)
def test_bytes_of_any_kind_are_never_a_500(sending: Sending, path: str, body: bytes) -> None:
    sending(lambda up: fuzz(up, path, body, told()))


async def test_what_python_does_not_write_out_is_handled(serve: Start) -> None:
    up = await serve(answering())
    document = (await up.send("/openapi.json")).json
    number, deep = "9" * 5_000, "[" * 3_000 + "]" * 3_000
    for value in (number, f"[{number}]", deep, "1e999", "-1e999", "NaN", '"\\ud800"'):
        for field in ("context", "query", "max_turns", "answer"):
            asked = f'{{"messages": [{{"role": "user", "content": "x"}}], "unspool": {{"{field}": {value}}}}}'
            await fuzz(up, "/v1/chat/completions", asked.encode(), document)


METHODS = ["GET", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "HEAD", "TRACE"]
SHOWN = "".join(chr(code) for code in range(33, 127))
HEADERS = {
    "Authorization": st.sampled_from(["Bearer any", "Basic eDp5", "Bearer", ""])
    | st.text(SHOWN, max_size=20),
    "Content-Type": st.sampled_from(
        ["application/json", "text/plain", "application/json; charset=latin-1", "/"]
    ),
    "Accept": st.sampled_from(["*/*", "text/event-stream", "image/png"]),
    "Host": st.sampled_from(["localhost", "127.0.0.1:1", "elsewhere.example", "[::1]", ""]),
    "Range": st.just("bytes=0-1"),
    "X-Odd": st.text(SHOWN, max_size=40),
}


@SLOWLY
@given(
    path=st.sampled_from(sorted(document(with_token=True)["paths"])),
    name=st.sampled_from(["unspool", "..%2f..", "%00", "%ff", "a/b", "", "?x=1"]) | st.text(SHOWN, max_size=30),
    tail=st.sampled_from(["", "", "/", "?stream=true", "?%00", "/../health", "#x"]),
    method=st.sampled_from(METHODS),
    headers=st.fixed_dictionaries({}, optional=HEADERS),
    token=st.booleans(),
)  # fmt: skip
def test_every_operation_takes_any_method_path_and_header(
    sending: Sending, path: str, name: str, tail: str, method: str, headers: dict[str, str], token: bool
) -> None:
    async def send(up: Up) -> None:
        asked = path.replace("{name}", name.replace(" ", "")) + tail
        reply = await up.send(asked, b"{}", method=method, headers=headers)
        assert reply.status < 500, reply.body
        if reply.status >= 400 and method != "HEAD" and reply.body.startswith(b"{"):
            assert set(reply.error) >= {"message", "type", "param", "code"}
        elif reply.status >= 400:  # no HTTP: the head itself is wrong
            assert reply.status == 400 or method == "HEAD", reply.body

    sending(send, token=token)
