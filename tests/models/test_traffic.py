"""Every dialect against traffic written by hand from the providers' public descriptions.

What is sent, byte for byte; what replies, usage and errors are read as; and streams and bodies cut
after every byte: the right reply or a typed failure, never another text.
"""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path

import pytest

from unspool.errors import ConfigError, ModelError
from unspool.models.cloud import find_door
from unspool.models.protocol import Delta, Message, ModelReply, ModelRequest
from unspool.models.providers import PROVIDERS
from unspool.models.remote import RemoteModel
from unspool.types import Usage

TRAFFIC = Path(__file__).parent / "traffic"
KEY = "key-0123456789abcdef"
TEXT, THOUGHT = "Forty-two doors — naïvely counted.", "One by one: é, ü."
ASK = ModelRequest(
    (
        Message("system", "Answer briefly."),
        Message("user", "How many doors?"),
        Message("assistant", "Let me count."),
        Message("user", "Well?"),
    ),
    max_tokens=200,
    temperature=0.5,
    seed=7,
    stop=("END",),
    grows=True,
)


@dataclass
class Sent:
    """One request as it came over the wire."""

    line: str
    headers: dict[str, str]
    body: dict[str, object]


@dataclass
class Replay:
    """A server that plays the same bytes to whoever asks. ``cut``: only so many of the body's."""

    body: bytes = b""
    status: int = 200
    headers: tuple[str, ...] = ()
    chunked: bool = False
    length: bool = False
    cut: int | None = None
    port: int = 0
    sent: list[Sent] = field(default_factory=list)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
            line, *lines = head.strip().split("\r\n")
            headers = {n.lower(): v.strip() for n, _, v in (one.partition(":") for one in lines)}
            body = await reader.readexactly(int(headers.get("content-length", "0")))
            self.sent.append(Sent(line, headers, json.loads(body or b"{}")))
            writer.write(self.response())
            await writer.drain()
        finally:
            writer.close()

    def response(self) -> bytes:
        head, body = [f"HTTP/1.1 {self.status} X", *self.headers], self.body
        if self.chunked:
            head.append("Transfer-Encoding: chunked")
            pieces = [body[start : start + 50] for start in range(0, len(body), 50)]
            body = b"".join(b"%x\r\n%s\r\n" % (len(piece), piece) for piece in pieces) + b"0\r\n\r\n"
        elif self.length:
            head.append(f"Content-Length: {len(body)}")
        return "\r\n".join([*head, "", ""]).encode() + body[: self.cut]


@asynccontextmanager
async def replaying(replay: Replay) -> AsyncIterator[Replay]:
    server = await asyncio.start_server(replay.serve, "127.0.0.1", 0)
    replay.port = server.sockets[0].getsockname()[1]
    async with server:
        yield replay


@dataclass(frozen=True)
class Dialect:
    """One way to a provider, and what is known of it."""

    name: str
    line: str
    key: tuple[str, str]  # the header that carries it
    reads: str  # whose replies and streams it has
    usage: Usage
    model: Callable[[Replay], RemoteModel]

    def load(self, what: str) -> object:
        return json.loads((TRAFFIC / f"{self.name}.{what}.json").read_text(encoding="utf-8"))

    @property
    def stream(self) -> bytes:
        return (TRAFFIC / f"{self.reads}.stream.sse").read_bytes()

    @property
    def reply(self) -> bytes:
        return (TRAFFIC / f"{self.reads}.reply.json").read_bytes()


def direct(name: str, model: str, path: str) -> Callable[[Replay], RemoteModel]:
    return lambda r: RemoteModel(PROVIDERS[name], model, key=KEY, base_url=f"{r.url}{path}")


def cloud(name: str, model: str, **environ: str) -> Callable[[Replay], RemoteModel]:
    def make(replay: Replay) -> RemoteModel:
        here = {k: v.format(url=replay.url) for k, v in environ.items()}
        return RemoteModel(PROVIDERS[name], model, door=find_door(PROVIDERS[name], here))

    return make


CHAT = Usage(1, 2257, 39, 2048, 27)
DIALECTS = (
    Dialect(
        "anthropic", "POST /v1/messages HTTP/1.1", ("x-api-key", KEY), "anthropic",
        Usage(1, 21 + 188 + 2048, 39, 2048, None), direct("anthropic", "claude-sonnet-4-5", "/v1"),
    ),
    Dialect(
        "gemini", "POST /v1beta/models/gemini-2.5-flash:generateContent HTTP/1.1", ("x-goog-api-key", KEY),
        "gemini", Usage(1, 2257, 39, 2048, 27), direct("gemini", "gemini-2.5-flash", "/v1beta"),
    ),
    Dialect(
        "openai", "POST /v1/chat/completions HTTP/1.1", ("authorization", f"Bearer {KEY}"),
        "openai", CHAT, direct("openai", "gpt-5-mini", "/v1"),
    ),
    Dialect(
        "openrouter", "POST /api/v1/chat/completions HTTP/1.1", ("authorization", f"Bearer {KEY}"),
        "openrouter", CHAT, direct("openrouter", "anthropic/claude-sonnet-4.5", "/api/v1"),
    ),
    Dialect(
        "azure", "POST /openai/v1/chat/completions HTTP/1.1", ("api-key", KEY), "openai", CHAT,
        cloud("azure", "my-gpt", AZURE_OPENAI_API_KEY=KEY, AZURE_OPENAI_ENDPOINT="{url}"),
    ),
    Dialect(
        "bedrock", "POST /openai/v1/chat/completions HTTP/1.1", ("authorization", f"Bearer {KEY}"),
        "openai", CHAT,
        cloud("bedrock", "openai.gpt-oss-20b-1:0", AWS_BEARER_TOKEN_BEDROCK=KEY, AWS_REGION="eu-west-1",
              AWS_ENDPOINT_URL="{url}"),
    ),
)  # fmt: skip
each_dialect = pytest.mark.parametrize("dialect", DIALECTS, ids=lambda d: d.name)


async def ask(dialect: Dialect, replay: Replay, request: ModelRequest = ASK) -> ModelReply:
    async with replaying(replay):
        model = dialect.model(replay)
        try:
            return await model.complete(request)
        finally:
            await model.close()


def streamed(told: list[Delta]) -> ModelRequest:
    return replace(ASK, on_delta=told.append)


@each_dialect
async def test_what_is_sent(dialect: Dialect) -> None:
    replay = Replay(dialect.reply, length=True)
    await ask(dialect, replay)
    (sent,) = replay.sent
    assert sent.line == dialect.line
    assert sent.headers[dialect.key[0]] == dialect.key[1]
    assert sent.body == dialect.load("sent")


@each_dialect
async def test_what_is_sent_for_a_stream_differs_by_what_asks_for_one(dialect: Dialect) -> None:
    replay = Replay(dialect.stream)
    await ask(dialect, replay, streamed([]))
    sent = replay.sent[0].body
    if dialect.name == "gemini":
        assert "streamGenerateContent?alt=sse" in replay.sent[0].line
    else:
        assert sent.pop("stream") is True
    assert sent.pop("stream_options", None) in (None, {"include_usage": True})
    plain = dialect.load("sent")
    assert isinstance(plain, dict)
    plain.pop("stream", None)
    assert sent == plain


@each_dialect
@pytest.mark.parametrize("framing", ["length", "chunked", "end"])
async def test_a_reply_is_read(dialect: Dialect, framing: str) -> None:
    replay = Replay(dialect.reply, length=framing == "length", chunked=framing == "chunked")
    reply = await ask(dialect, replay)
    assert (reply.text, reply.thinking, reply.finish, reply.code) == (TEXT, THOUGHT, "stop", ())
    assert reply.usage == dialect.usage


@each_dialect
@pytest.mark.parametrize("chunked", [True, False])
async def test_a_stream_is_read_and_told_as_it_comes(dialect: Dialect, chunked: bool) -> None:
    told: list[Delta] = []
    reply = await ask(dialect, Replay(dialect.stream, chunked=chunked), streamed(told))
    assert (reply.text, reply.thinking, reply.finish) == (TEXT, THOUGHT, "stop")
    assert reply.usage == dialect.usage
    assert "".join(delta.text for delta in told) == TEXT
    assert "".join(delta.thinking for delta in told) == THOUGHT
    assert [delta.fresh for delta in told] == [True] + [False] * (len(told) - 1)
    assert len(told) >= 4


@pytest.mark.parametrize(
    ("dialect", "status", "body", "kind"),
    [
        pytest.param(d, status, body, kind, id=f"{d.name}-{status}-{kind}")
        for d in DIALECTS
        for status, body, kind in d.load("errors")  # type: ignore[attr-defined]
    ],
)
@pytest.mark.parametrize("stream", [False, True], ids=["whole", "stream"])
async def test_an_error_has_its_kind(
    dialect: Dialect, status: int, body: object, kind: str, stream: bool
) -> None:
    replay = Replay(json.dumps(body).encode(), status, ("Retry-After: 7",), length=True)
    with pytest.raises(ModelError) as failed:
        await ask(dialect, replay, streamed([]) if stream else ASK)
    assert failed.value.kind == kind
    assert KEY not in str(failed.value)
    assert failed.value.retry_after == (7.0 if kind in ("rate_limit", "server") else failed.value.retry_after)


@pytest.mark.parametrize("dialect", DIALECTS[:4], ids=lambda d: d.name)
async def test_a_stream_cut_after_any_byte_is_right_or_a_typed_failure(dialect: Dialect) -> None:
    replay = Replay(dialect.stream)
    outcomes = await cut_everywhere(dialect, replay, streamed, step=1)
    assert outcomes["right"] < 400 < outcomes["failed"]


@pytest.mark.parametrize("dialect", DIALECTS[:4], ids=lambda d: d.name)
async def test_a_chunked_stream_cut_after_any_byte_is_a_typed_failure(dialect: Dialect) -> None:
    replay = Replay(dialect.stream, chunked=True)
    outcomes = await cut_everywhere(dialect, replay, streamed, step=7)
    assert outcomes["right"] == 0


@pytest.mark.parametrize("dialect", DIALECTS[:4], ids=lambda d: d.name)
async def test_a_body_cut_after_any_byte_is_right_or_a_typed_failure(dialect: Dialect) -> None:
    outcomes = await cut_everywhere(dialect, Replay(dialect.reply), lambda _: ASK, step=1)
    assert outcomes["right"] == 1  # without the line's end it is still whole


async def cut_everywhere(
    dialect: Dialect, replay: Replay, request: Callable[[list[Delta]], ModelRequest], *, step: int
) -> dict[str, int]:
    """How many cuts gave the right reply and how many failed; whatever else is an error."""
    outcomes = {"right": 0, "failed": 0}
    async with replaying(replay):
        size = len(replay.response()) - replay.response().index(b"\r\n\r\n") - 4
        for replay.cut in range(0, size, step):
            told: list[Delta] = []
            model = dialect.model(replay)
            outcome = await reply_or_error(model, request(told))
            await model.close()
            assert TEXT.startswith("".join(delta.text for delta in told)), replay.cut
            if isinstance(outcome, ModelError):
                assert outcome.kind in ("connection", "server"), replay.cut
                assert outcome.retryable, replay.cut
                outcomes["failed"] += 1
            else:
                assert (outcome.text, outcome.thinking) == (TEXT, THOUGHT), replay.cut
                assert outcome.usage == dialect.usage or outcome.usage.calls_unmeasured == 1, replay.cut
                outcomes["right"] += 1
    return outcomes


async def reply_or_error(model: RemoteModel, request: ModelRequest) -> ModelReply | ModelError:
    try:
        return await model.complete(request)
    except ModelError as error:
        return error


@pytest.mark.parametrize(
    ("name", "event"),
    [
        ("anthropic", {"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}}),
        ("openrouter", {"error": {"code": "server_error", "message": "Provider disconnected"}, "choices": [
            {"index": 0, "delta": {"content": ""}, "finish_reason": "error"}]}),
        ("gemini", {"error": {"code": 503, "message": "overloaded", "status": "UNAVAILABLE"}}),
    ],
)  # fmt: skip
async def test_an_error_in_the_middle_of_a_stream_is_an_error(name: str, event: object) -> None:
    dialect = next(d for d in DIALECTS if d.name == name)
    lines = dialect.stream.split(b"\n\n")
    body = b"\n\n".join([*lines[:-3], f"data: {json.dumps(event)}".encode(), b""])
    with pytest.raises(ModelError) as failed:
        await ask(dialect, Replay(body), streamed([]))
    assert (failed.value.kind, failed.value.retryable) == ("server", True)


async def test_a_server_that_does_not_stream_is_asked_for_the_whole_reply_next_time() -> None:
    dialect = DIALECTS[2]
    replay = Replay(dialect.reply, length=True)
    async with replaying(replay):
        model = dialect.model(replay)
        with pytest.raises(ModelError, match="no stream") as failed:
            await model.complete(streamed([]))
        assert failed.value.retryable
        assert (await model.complete(streamed([]))).text == TEXT
        await model.close()


async def test_a_server_that_refuses_to_stream_is_asked_again_at_once() -> None:
    refusal = {
        "error": {"message": "Unsupported parameter: 'stream_options'", "type": "invalid_request_error"}
    }
    dialect, replay = DIALECTS[2], Replay(json.dumps(refusal).encode(), 400, length=True)
    whole = replace(replay, body=dialect.reply, status=200)
    async with replaying(replay):
        serve = replay.serve

        async def first_no(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            await serve(reader, writer)
            replay.body, replay.status = whole.body, whole.status

        replay.serve = first_no  # type: ignore[method-assign]
        server = await asyncio.start_server(replay.serve, "127.0.0.1", 0)
        replay.port = server.sockets[0].getsockname()[1]
        async with server:
            model = dialect.model(replay)
            assert (await model.complete(streamed([]))).text == TEXT
            await model.close()
    assert [sent.body.get("stream") for sent in replay.sent] == [True, None]


@pytest.mark.parametrize(
    ("stable", "grows", "marked"),
    [
        (0, False, []),
        (1, False, ["system"]),
        (2, False, ["system", 0]),
        (0, True, ["system", 2]),
        (1, True, ["system", 2]),
    ],
)
async def test_cache_marks_end_what_will_be_sent_again(
    stable: int, grows: bool, marked: list[object]
) -> None:
    replay = Replay(DIALECTS[0].reply, length=True)
    await ask(DIALECTS[0], replay, replace(ASK, stable=stable, grows=grows))
    body = replay.sent[0].body
    system, messages = body["system"], body["messages"]
    assert isinstance(messages, list)
    found: list[object] = ["system"] if isinstance(system, list) and "cache_control" in system[0] else []
    found += [i for i, m in enumerate(messages) if any("cache_control" in part for part in m["content"])]
    assert found == marked


async def test_a_growing_history_keeps_its_prefix_byte_for_byte() -> None:
    """What a provider's cache looks up: the history of the turn before, but for the mark."""
    replay = Replay(DIALECTS[0].reply, length=True)
    later = replace(ASK, messages=(*ASK.messages, Message("assistant", "42"), Message("user", "Sure?")))
    await ask(DIALECTS[0], replay)
    await ask(DIALECTS[0], replay, later)
    first, second = (json.dumps(s.body["messages"]).replace(', "cache_control": {"type": "ephemeral"}', "")
                     for s in replay.sent)  # fmt: skip
    assert second.startswith(first.removesuffix("]"))
    assert replay.sent[0].body["system"] == replay.sent[1].body["system"]


async def test_signed_requests_of_a_cloud_account() -> None:
    environ = {"AWS_ACCESS_KEY_ID": "AKIDEXAMPLE", "AWS_SECRET_ACCESS_KEY": KEY, "AWS_SESSION_TOKEN": "tok",
               "AWS_REGION": "eu-west-1", "AWS_ENDPOINT_URL": "{url}"}  # fmt: skip
    dialect = replace(DIALECTS[0], model=cloud("bedrock-anthropic", "anthropic.claude-opus-4-7", **environ))
    replay = Replay(dialect.reply, length=True)
    reply = await ask(dialect, replay)
    (sent,) = replay.sent
    assert sent.line == "POST /anthropic/v1/messages HTTP/1.1"
    signed = sent.headers["authorization"]
    assert signed.startswith("AWS4-HMAC-SHA256 Credential=AKIDEXAMPLE/")
    assert "/eu-west-1/bedrock-mantle/aws4_request" in signed
    assert sent.headers["x-amz-security-token"] == "tok"
    assert KEY not in str(sent)
    assert (reply.text, reply.usage) == (TEXT, dialect.usage)


@pytest.mark.parametrize(
    ("name", "environ", "said"),
    [
        ("azure", {}, "AZURE_OPENAI_API_KEY"),
        ("azure", {"AZURE_OPENAI_API_KEY": KEY}, "AZURE_OPENAI_RESOURCE.*AZURE_OPENAI_ENDPOINT"),
        ("bedrock", {}, "AWS_BEARER_TOKEN_BEDROCK, or AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY"),
        ("bedrock", {"AWS_BEARER_TOKEN_BEDROCK": KEY}, "AWS_REGION"),
        ("azure-anthropic", {}, "ANTHROPIC_FOUNDRY_API_KEY"),
    ],
)
def test_a_cloud_without_its_settings_names_the_variable(
    name: str, environ: dict[str, str], said: str
) -> None:
    with pytest.raises(ConfigError, match=said) as failed:
        find_door(PROVIDERS[name], environ)
    assert KEY not in str(failed.value)


def test_a_door_does_not_show_its_key() -> None:
    door = find_door(PROVIDERS["azure"], {"AZURE_OPENAI_API_KEY": KEY, "AZURE_OPENAI_RESOURCE": "mine"})
    assert KEY not in repr(door)


SCHEMA = {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}


@pytest.mark.parametrize("name", ["anthropic", "gemini", "openai"])
@pytest.mark.parametrize("closed", [True, False])
async def test_a_schema_is_enforced_or_asked_for_in_words(name: str, closed: bool) -> None:
    dialect = next(d for d in DIALECTS if d.name == name)
    schema = {**SCHEMA, "additionalProperties": False} if closed else SCHEMA
    replay = Replay(dialect.reply, length=True)
    await ask(dialect, replay, replace(ASK, schema=schema))
    sent = json.dumps(replay.sent[0].body)
    in_words = "Reply with JSON that fits this JSON schema" in sent
    natively = any(
        field in sent
        for field in ("output_config", "responseJsonSchema", "responseSchema", '"response_format"')
    )
    assert natively == (name != "anthropic" or closed)
    assert in_words is not natively


FIGURES = re.compile(rb'("\w+(?:_tokens|TokenCount)"\s*:\s*)\d+')


@each_dialect
@pytest.mark.parametrize("streams", [False, True])
@pytest.mark.parametrize("odd", [b"-7", b'"5"', b"5.5", b"true", b"[5]", b"{}", b"NaN", b"9" * 5000])
async def test_no_figure_of_usage_takes_the_reply_with_it(
    dialect: Dialect, odd: bytes, streams: bool
) -> None:
    sound = dialect.stream if streams else dialect.reply
    figures = [*FIGURES.finditer(sound)]
    assert len(figures) >= 4
    for figure in figures:
        body = sound[: figure.start()] + figure[1] + odd + sound[figure.end() :]
        replay = Replay(body, length=not streams)
        reply = await ask(dialect, replay, streamed([]) if streams else ASK)
        assert (reply.text, reply.finish, len(replay.sent)) == (TEXT, "stop", 1)
        assert all("told what no call can take" in note for note in reply.notes)
        assert len(reply.notes) == 1


@each_dialect
@pytest.mark.parametrize("streams", [False, True])
async def test_a_body_that_is_nested_without_end_is_a_typed_failure(dialect: Dialect, streams: bool) -> None:
    for body in (b"[" * 100_000, b'{"a":' * 100_000):
        replay = Replay(b"data: " + body + b"\n\n" if streams else body, length=True)
        with pytest.raises(ModelError, match="sent a reply that cannot be read") as raised:
            await ask(dialect, replay, streamed([]) if streams else ASK)
        assert (raised.value.kind, raised.value.unsure) == ("server", True)
