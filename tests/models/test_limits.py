"""Windows and output limits of models: where they come from, and what they do to a call."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer

import pytest

from unspool.errors import ModelError
from unspool.models.calls import Caller
from unspool.models.discover import resolve
from unspool.models.protocol import Message, ModelRequest
from unspool.models.providers import PROVIDERS, Provider
from unspool.models.remote import RemoteModel
from unspool.testing import FaultyServer


def ask(text: str, max_tokens: int | None = None) -> ModelRequest:
    return ModelRequest((Message("user", text),), max_tokens=max_tokens)


@pytest.mark.parametrize(
    ("provider", "model"),
    [("openai", "gpt-5-mini"), ("anthropic", "claude-haiku-4-5"), ("gemini", "gemini-2.5-flash")],
)
async def test_a_prompt_that_no_window_holds_is_never_sent(provider: str, model: str) -> None:
    """At the provider's own address: a test that sent it would fail for want of a network."""
    caller = Caller(RemoteModel(PROVIDERS[provider], model, key="key-0123456789"), attempts=1)
    with pytest.raises(
        ModelError, match=r"about 5,000,000 tokens .* reads at most [\d,]{7,}: send slices"
    ) as no:
        await caller.call(ask("x" * 20_000_000))
    assert no.value.kind == "too_long"
    await caller.close()


async def test_more_than_a_model_writes_is_not_asked_for() -> None:
    async with FaultyServer() as server:
        caller = Caller(RemoteModel(PROVIDERS["openai"], "gpt-4o-mini", base_url=server.base_url))
        for wanted in (1_000_000, 500, None):
            await caller.call(ask("hi", wanted))
        await caller.close()
    assert [sent.body.get("max_tokens") for sent in server.asks] == [16_384, 500, None]


LISTS = {
    "vllm": {"id": "m", "object": "model", "owned_by": "vllm", "max_model_len": 8192},
    "lmstudio": {"id": "m", "object": "model", "max_context_length": 32_768, "loaded_context_length": 8192},
    "llamacpp": {
        "id": "m",
        "object": "model",
        "owned_by": "llamacpp",
        "meta": {"n_ctx": 8192, "n_ctx_train": 9},
    },
    "ollama": {"id": "m", "object": "model", "owned_by": "library"},
}


@pytest.fixture(params=LISTS)
def listing(request: pytest.FixtureRequest) -> Iterator[Provider]:
    """A server of one's own that lists a model as this kind of server does."""
    body = json.dumps({"object": "list", "data": [LISTS[request.param]]}).encode()

    class Listing(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(200)
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            return

    with HTTPServer(("127.0.0.1", 0), Listing) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        yield Provider(request.param, base_url=f"http://127.0.0.1:{server.server_port}/v1", here=True)
        server.shutdown()
        thread.join()


async def test_a_server_tells_the_window_of_what_it_serves(listing: Provider) -> None:
    model = resolve(f"{listing.name}:m", environ={}, servers=[listing])
    assert model.info.window == (None if listing.name == "ollama" else 8192)
    if model.info.window:
        with pytest.raises(ModelError, match=r"reads at most 8,192: send slices"):
            await Caller(model).call(ask("x" * 40_000))


@pytest.mark.parametrize(
    "entry",
    [{"id": "m", "max_model_len": v} for v in (0, -5, True, "8192", None, [8])] + [{"id": "m", "meta": 3}],
)
def test_odd_sizes_are_no_sizes(entry: dict[str, object]) -> None:
    from unspool.models.limits import window_of

    assert window_of(entry) is None
