"""Names made into models, and models found where no name was given."""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

import pytest

from unspool import RLM
from unspool.errors import ConfigError, NoModelFound, NoServer, UnknownModel
from unspool.models import catalog
from unspool.models.discover import Found, discover, resolve, resolve_pair
from unspool.models.probe import ask_all
from unspool.models.providers import PROVIDERS, Provider
from unspool.models.pull import Progress
from unspool.testing import FaultyServer, ScriptedModel

KEYS = {"OPENAI_API_KEY": "sk-test-0123456789"}
NOBODY = (Provider("ollama", base_url="http://127.0.0.1:9/v1", here=True),)


@pytest.fixture
def ollama() -> Iterator[FaultyServer]:
    with FaultyServer(models=("embed-small", "qwen3:8b", "qwen2.5-coder:1.5b")) as server:
        yield server


def at(server: FaultyServer, name: str = "ollama") -> tuple[Provider, ...]:
    return (Provider(name, base_url=server.base_url, here=True),)


def test_a_model_object_is_handed_back() -> None:
    model = ScriptedModel([])
    assert resolve(model) is model
    assert resolve_pair(model, environ={}) == (model, model)
    assert resolve_pair(model, "openai:x", environ=KEYS)[1].info.name == "openai:x"


@pytest.mark.parametrize("name", [p.name for p in PROVIDERS.values() if p.root])
def test_every_provider_with_a_key_can_be_named(name: str) -> None:
    provider = PROVIDERS[name]
    environ = {provider.keys[-1]: "a-key-of-some-length"}
    assert resolve(f"{name}:some/model:free", environ=environ).info.name == f"{name}:some/model:free"
    assert resolve(name, environ=environ).info.name == f"{name}:{provider.root}"
    with pytest.raises(ConfigError, match=provider.keys[0]):
        resolve(f"{name}:m", environ={})


@pytest.mark.parametrize("name", ["gpt-5", "nobody:model", "", ":", "http://x"])
def test_an_unknown_name_lists_the_known_ones(name: str) -> None:
    for other, words in (
        ("oracle", "unspool eval alone"),
        ("oracle:0.9", "eval"),
        ("scripted:x", "made in Python"),
    ):
        with pytest.raises(UnknownModel, match=f"no model '{other}' here: .*{words}.*command:cat FILE"):
            RLM(other)
    with pytest.raises(UnknownModel, match=r"openai, anthropic.*local:qwen2\.5-coder-1\.5b"):
        resolve(name, environ=KEYS)


def test_a_variable_that_names_nobody_is_said_and_nothing_else_is_taken() -> None:
    environ = {**KEYS, "UNSPOOL_MODEL": "gpt-5"}
    with pytest.raises(NoModelFound, match=r"UNSPOOL_MODEL names gpt-5: .* Did you mean 'openai:gpt-5'\?"):
        resolve(environ=environ, servers=NOBODY)
    assert discover(environ=environ, servers=NOBODY).model is None
    environ = {**KEYS, "UNSPOOL_SUB_MODEL": "gpt-5"}
    with pytest.raises(
        UnknownModel, match=r"UNSPOOL_SUB_MODEL names gpt-5: .* Did you mean 'openai:gpt-5'\?"
    ):
        resolve_pair("openai:a", environ=environ, servers=NOBODY)


def test_an_unknown_local_model_lists_the_known_ones(tmp_path: Path) -> None:
    with pytest.raises(UnknownModel, match=r"qwen2\.5-coder-0\.5b"):
        resolve("local:gpt", environ={}, cache=str(tmp_path))
    with pytest.raises(ConfigError, match=r"no model file .*nothing\.gguf"):
        resolve(f"local:{tmp_path}/nothing.gguf", environ={})


def test_a_key_comes_first_and_brings_its_cheaper_sub_model(ollama: FaultyServer) -> None:
    found = discover(environ=KEYS, servers=at(ollama))
    assert (found.model, found.sub_model) == ("openai:gpt-6.1-sol", "openai:gpt-6-luna")
    assert found.reason == "OPENAI_API_KEY: is set"
    root, sub = resolve_pair(environ=KEYS, servers=at(ollama))
    assert (root.info.name, sub.info.name) == (found.model, found.sub_model)


def test_a_named_model_is_its_own_sub_model() -> None:
    root, sub = resolve_pair("openai:gpt-5", environ=KEYS)
    assert sub is root
    root, sub = resolve_pair("openai:gpt-6.1-sol", environ=KEYS)
    assert sub.info.name == "openai:gpt-6-luna"
    root, sub = resolve_pair("openai:gpt-6.1-sol", "openai:gpt-6.1-sol", environ=KEYS)
    assert sub is root


def test_the_variables_name_models() -> None:
    environ = {**KEYS, "UNSPOOL_MODEL": "openai:a", "UNSPOOL_SUB_MODEL": "openai:b"}
    root, sub = resolve_pair(environ=environ, servers=NOBODY)
    assert (root.info.name, sub.info.name) == ("openai:a", "openai:b")
    assert discover(environ=environ, servers=NOBODY).reason == "UNSPOOL_MODEL: names openai:a"


def test_a_base_url_is_asked_what_it_serves_and_needs_no_key(ollama: FaultyServer) -> None:
    environ = {"OPENAI_BASE_URL": ollama.base_url}
    found = discover(environ=environ, servers=NOBODY)
    assert (found.model, found.sub_model) == ("openai:qwen3:8b", "openai:qwen3:8b")
    assert resolve("openai:whatever", environ=environ).info.name == "openai:whatever"
    assert resolve("openai", environ=environ).info.name == "openai:qwen3:8b"


def test_a_server_on_this_machine_is_found_before_the_local_model(
    ollama: FaultyServer, tmp_path: Path
) -> None:
    found = discover(environ={}, servers=(*NOBODY, *at(ollama)), cache=str(tmp_path))
    assert found.model == "ollama:qwen3:8b"
    assert "serves qwen3:8b, and 1 more" in found.reason
    model = resolve(environ={}, servers=at(ollama))
    assert (model.info.name, model.info.profile) == ("ollama:qwen3:8b", "frontier")


def test_a_small_model_gets_the_prompts_for_small_models(ollama: FaultyServer) -> None:
    model = resolve("ollama:qwen2.5-coder:1.5b", environ={}, servers=at(ollama))
    assert model.info.profile == "small"
    for name, profile in [("m-0.6b", "small"), ("llama-3.2-3B-instruct", "small"), ("a-70b", "frontier"),
                          ("mix-3b-of-8x7b", "frontier"), ("gpt-4", "frontier"), ("30b-a3b", "frontier")]:  # fmt: skip
        assert resolve(f"openai:{name}", environ=KEYS).info.profile == profile, name


def test_a_name_the_server_does_not_have_lists_what_it_has(ollama: FaultyServer) -> None:
    with pytest.raises(UnknownModel, match=r"does not serve 'llama'; it serves embed-small, qwen3:8b"):
        resolve("ollama:llama", environ={}, servers=at(ollama))
    with pytest.raises(NoModelFound, match="no answer"):
        resolve("ollama:llama", environ={}, servers=NOBODY)


@pytest.mark.parametrize(
    "body",
    [
        b"<html>hello",
        b"[]",
        b"{}",
        b'{"data": 3}',
        b'{"data": [1, {"id": 2}, {}]}',
        b"",
        b"[" * 100_000,
        b"9" * 5000,
    ],
    ids=range(8),
)
def test_what_answers_on_a_usual_port_need_not_be_a_model_server(body: bytes) -> None:
    class Page(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(200)
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            return

    with HTTPServer(("127.0.0.1", 0), Page) as page:
        thread = threading.Thread(target=page.handle_request)
        thread.start()
        server = Provider("llamacpp", base_url=f"http://127.0.0.1:{page.server_port}/v1", here=True)
        found = discover(environ={}, servers=[server]).candidates[1]
        thread.join()
    assert (found.kind, found.model) == ("server", None)
    assert "answers, but" in found.detail


def test_a_server_that_says_nothing_and_an_address_that_is_none_are_passed_over() -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        mute = Provider("vllm", base_url=f"http://127.0.0.1:{silent.getsockname()[1]}/v1", here=True)
        bad = Provider("lmstudio", base_url="nonsense", here=True)
        started = time.monotonic()
        answers = ask_all([mute, bad], seconds=0.2)
    assert time.monotonic() - started < 5
    assert "timed out" in answers[mute].trouble
    assert answers[bad].trouble == "this is no URL"


def test_the_local_model_is_last_and_says_whether_it_must_be_pulled(tmp_path: Path) -> None:
    pytest.importorskip("xllamacpp")
    found = discover(environ={}, servers=NOBODY, cache=str(tmp_path))
    assert found.model == f"local:{catalog.DEFAULT}"
    assert "pulled on first use (1.1 GB)" in found.reason
    entry = catalog.known("")
    (tmp_path / "models").mkdir()
    with open(tmp_path / "models" / entry.file, "wb") as sparse:
        sparse.truncate(entry.size)
    assert "its file is here" in discover(environ={}, servers=NOBODY, cache=str(tmp_path)).reason
    root, sub = resolve_pair(environ={}, servers=NOBODY, cache=str(tmp_path))
    assert (root.info.name, root.info.profile, root is sub) == ("local:qwen2.5-coder-1.5b", "small", True)


def test_nothing_at_all_is_one_message_with_the_three_ways_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As on a machine without llama.cpp: its import is refused."""
    import importlib.util

    whole = importlib.util.find_spec

    def without(name: str, package: str | None = None) -> object:
        return None if name == "xllamacpp" else whole(name, package)

    monkeypatch.setattr(importlib.util, "find_spec", without)
    with pytest.raises(NoModelFound) as failed:
        resolve(environ={}, servers=NOBODY, cache=str(tmp_path))
    said = str(failed.value)
    for needed in (
        "OPENAI_API_KEY",
        "Ollama",
        "pip install 'unspool[local]' (in a checkout: pip install '.[local]')",
        "Connection refused",
        "none is set",
    ):
        assert needed in said
    assert discover(environ={}, servers=NOBODY, cache=str(tmp_path)).model is None


@pytest.mark.parametrize(
    ("environ", "why"),
    [
        ({}, "no key and no server found: "),
        ({"UNSPOOL_MODEL": "local:"}, "UNSPOOL_MODEL names it: "),
        (None, ""),
    ],
)
def test_a_pull_says_what_is_pulled_why_how_large_and_where_to(
    tmp_path: Path, environ: dict[str, str] | None, why: str
) -> None:
    """As told before the first byte; nothing is fetched here."""
    pytest.importorskip("xllamacpp")

    class Heard(Exception):
        pass

    def progress(told: Progress) -> None:
        raise Heard(told.about)

    for find in (resolve, resolve_pair):
        with pytest.raises(Heard) as heard:
            find(
                "local:" if environ is None else None,
                environ=environ or {},
                servers=NOBODY,
                cache=str(tmp_path),
                progress=progress,
            )
        what = f"pulling local:{catalog.DEFAULT} (1.1 GB, once) into {tmp_path / 'models'}"
        assert str(heard.value) == why + what


def test_a_pull_that_fails_tells_the_ways_out_too(tmp_path: Path) -> None:
    pytest.importorskip("xllamacpp")
    (tmp_path / "models").write_text("in the way")
    with pytest.raises(NoModelFound, match=r"(?s)cannot be written.*three ways to a model"):
        resolve(environ={}, servers=NOBODY, cache=str(tmp_path))


def test_no_key_is_in_what_is_found(ollama: FaultyServer) -> None:
    found: Found = discover(environ=KEYS, servers=at(ollama))
    assert KEYS["OPENAI_API_KEY"] not in repr(found)


def test_the_table_names_models_that_the_price_list_has() -> None:
    from unspool.models import prices
    from unspool.models.replies import Counts

    prices.load().result()
    for provider in PROVIDERS.values():
        for model in filter(None, (provider.root, provider.sub)):
            assert provider.prices is not None
            assert prices.cost(provider.prices, model, Counts(input=1000, output=1000)), (
                provider.name,
                model,
            )


def test_a_password_in_an_address_is_never_shown() -> None:
    environ = {"OPENAI_BASE_URL": "http://me:s3cret@127.0.0.1:9/v1", "OPENAI_API_KEY": "k3y-s3cret"}
    found = discover(environ=environ, servers=())
    assert "s3cret" not in repr(found)
    with pytest.raises(NoModelFound) as caught:
        resolve("openai:", environ=environ, servers=())
    assert "s3cret" not in str(caught.value)


@pytest.mark.parametrize(
    ("value", "address"),
    [
        ("0.0.0.0:11435", "http://127.0.0.1:11435/v1"),
        ("0.0.0.0", "http://127.0.0.1:11434/v1"),
        ("box", "http://box:11434/v1"),
        ("http://box:8/", "http://box:8/v1"),
        ("https://box/ollama/v1", "https://box/ollama/v1"),
        ("http://me:pw@[::1]:8", "http://me:pw@[::1]:8/v1"),
        ("not a port:x:y", "not a port:x:y"),
    ],
)
def test_a_server_is_found_where_its_own_variable_says(value: str, address: str) -> None:
    assert PROVIDERS["ollama"].address({"OLLAMA_HOST": value}) == address


@pytest.mark.parametrize(
    ("name", "variable"),
    [
        ("ollama", "OLLAMA_HOST"),
        ("llamacpp", "LLAMACPP_BASE_URL"),
        ("vllm", "VLLM_BASE_URL"),
        ("lmstudio", "LMSTUDIO_BASE_URL"),
    ],
)
def test_named_servers_are_found_by_themselves(name: str, variable: str, ollama: FaultyServer) -> None:
    environ = {variable: ollama.base_url}
    found = discover(environ=environ)
    place = next(c for c in found.candidates if c.model == f"{name}:qwen3:8b")
    assert place.place.endswith(f"at {ollama.base_url}")
    model = resolve(name, environ=environ)
    assert model.info.name == f"{name}:qwen3:8b"
    assert resolve(f"{name}:qwen2.5-coder:1.5b", environ=environ).info.profile == "small"


def test_a_cloud_key_alone_asks_for_the_name_of_a_model() -> None:
    environ = {"AZURE_OPENAI_API_KEY": "a-key-of-some-length", "AZURE_OPENAI_RESOURCE": "mine"}
    found = next(c for c in discover(environ=environ, servers=NOBODY).candidates if c.kind == "key")
    assert (found.place, found.model) == ("AZURE_OPENAI_API_KEY", None)
    assert "azure:NAME" in found.detail
    with pytest.raises(ConfigError, match="azure:NAME"):
        resolve("azure", environ=environ)
    assert resolve("azure:my-gpt", environ=environ).info.name == "azure:my-gpt"


@pytest.mark.parametrize(
    ("variable", "value", "why"),
    [
        ("OPENAI_BASE_URL", "http://127.0.0.1:9/v1", "Connection refused"),
        ("OPENAI_BASE_URL", "nonsense", "this is no URL"),
        ("OLLAMA_HOST", "127.0.0.1:9", "Connection refused"),
        ("VLLM_BASE_URL", "http://127.0.0.1:9/v1", "Connection refused"),
    ],
)
def test_a_server_that_was_named_and_does_not_answer_ends_the_search(
    variable: str, value: str, why: str
) -> None:
    environ = (
        {variable: value, "OPENAI_API_KEY": "sk-test"} if variable.startswith("OPEN") else {variable: value}
    )
    found = discover(environ=environ)
    assert found.model is None
    assert why in found.reason
    with pytest.raises(NoServer, match=rf"(?s){variable}=.*{why}.*unset {variable}"):
        resolve(environ=environ)
    with pytest.raises(NoServer):
        resolve_pair(environ=environ)


def test_a_named_server_without_a_list_asks_for_the_name(ollama: FaultyServer) -> None:
    with FaultyServer(models=("embed-small",)) as empty:
        environ = {"OPENAI_BASE_URL": empty.base_url}
        with pytest.raises(NoServer, match="openai:NAME"):
            resolve(environ=environ, servers=at(ollama))


def test_one_server_that_answers_is_enough(ollama: FaultyServer) -> None:
    environ = {"VLLM_BASE_URL": "http://127.0.0.1:9/v1", "OLLAMA_HOST": ollama.base_url}
    assert discover(environ=environ).model == "ollama:qwen3:8b"
    named = {**environ, "UNSPOOL_MODEL": "openai:a", "OPENAI_BASE_URL": "http://127.0.0.1:9/v1"}
    assert discover(environ=named).model == "openai:a"


def test_a_key_of_a_cloud_is_not_passed_over() -> None:
    environ = {"AZURE_OPENAI_API_KEY": "a-key-of-some-length", "AZURE_OPENAI_RESOURCE": "mine"}
    with pytest.raises(NoModelFound, match="AZURE_OPENAI_API_KEY is set; name a model: azure:NAME"):
        resolve(environ=environ, servers=NOBODY)
    assert discover(environ={**environ, **KEYS}, servers=NOBODY).model == "openai:gpt-6.1-sol"


@pytest.mark.parametrize(
    "address", ["foo", "ftp://x/v1", "http://", "http://box:port/v1", "http://me:s3cret@x:0/"]
)
def test_an_address_that_is_none_is_refused_before_anything_is_sent(address: str) -> None:
    with pytest.raises(ConfigError, match=r"OPENAI_BASE_URL=.*no http or https address") as caught:
        resolve("openai:gpt-5", environ={**KEYS, "OPENAI_BASE_URL": address})
    assert "s3cret" not in str(caught.value)
