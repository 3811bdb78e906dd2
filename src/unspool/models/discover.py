"""Makes a model of what a user wrote, or finds one where nothing was written.

Contract: ``resolve`` and ``resolve_pair`` block (they may ask servers, and pull the local model):
call them in a thread. Names are ``provider:model``; a wrong one is :class:`UnknownModel` with the
known ones, a missing key a :class:`ConfigError` that names the variable, and where there is nothing
:class:`NoModelFound` tells the three ways out. A model object is handed back as it is.

Where no name is given, in this order: ``UNSPOOL_MODEL``, a key in the environment, a server that
answers on this machine, the local model.

>>> resolve("openai:gpt-5-mini", environ={"OPENAI_API_KEY": "not a key"}).info.name
'openai:gpt-5-mini'
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from ..errors import ConfigError, NoModelFound, UnknownModel
from .catalog import DEFAULT, FILES, find, known
from .probe import Answer, ask_all
from .protocol import Model
from .providers import PROVIDERS, Provider, masked
from .pull import OnProgress, PullFailed, pull

Kind = Literal["variable", "key", "server", "local"]

MODEL_VARIABLE = "UNSPOOL_MODEL"
SUB_MODEL_VARIABLE = "UNSPOOL_SUB_MODEL"

WAYS_OUT = """There are three ways to a model:
  1. a key: set OPENAI_API_KEY, ANTHROPIC_API_KEY, or another provider's ({others})
  2. a server on this machine: start Ollama, llama.cpp, vLLM or LM Studio
  3. a small model in this process's care: pip install "unspool[local]" and unspool models pull"""

_SMALL = re.compile(r"(?<![\d.])(\d+(?:\.\d+)?)\s*b(?![a-z0-9])", re.IGNORECASE)
_LARGEST_SMALL = 4.0  # billions of parameters that the prompts of the small profile are for
_NO_CHAT = re.compile(r"embed|rerank|whisper|tts|clip|bge-|moderation", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Candidate:
    """One place that was looked at. ``model`` None: nothing there, and ``detail`` says why."""

    kind: Kind
    place: str  # e.g. "OPENAI_API_KEY", "Ollama at http://127.0.0.1:11434/v1"
    model: str | None
    detail: str


@dataclass(frozen=True, slots=True)
class Found:
    """What is taken where no model is named: the names, why, and all that was looked at."""

    model: str | None
    sub_model: str | None
    reason: str
    candidates: tuple[Candidate, ...]


@dataclass(frozen=True, slots=True)
class Where:
    """Where to look; the defaults are this process's environment and machine."""

    environ: Mapping[str, str]
    servers: Sequence[Provider]
    cache: str | None = None
    progress: OnProgress | None = None


def look(
    environ: Mapping[str, str] | None = None,
    servers: Sequence[Provider] | None = None,
    cache: str | None = None,
    progress: OnProgress | None = None,
) -> Where:
    if servers is None:
        servers = tuple(p for p in PROVIDERS.values() if p.here)
    return Where(os.environ if environ is None else environ, servers, cache, progress)


def resolve(
    spec: str | Model | None = None,
    *,
    environ: Mapping[str, str] | None = None,
    servers: Sequence[Provider] | None = None,
    cache: str | None = None,
    progress: OnProgress | None = None,
) -> Model:
    """The model of this name, or the one that is found. ``progress`` hears of a pull."""
    if spec is not None and not isinstance(spec, str):
        return spec
    where = look(environ, servers, cache, progress)
    if spec is None:
        spec = _found(where).model
        assert spec is not None
    return _make(spec, where)


def resolve_pair(
    model: str | Model | None = None,
    sub_model: str | Model | None = None,
    *,
    environ: Mapping[str, str] | None = None,
    servers: Sequence[Provider] | None = None,
    cache: str | None = None,
    progress: OnProgress | None = None,
) -> tuple[Model, Model]:
    """Root and sub-model. Without a name for it, the sub-model is the root model; for a provider's
    default root model, the cheaper one that its row of the table has beside it."""
    where = look(environ, servers, cache, progress)
    if model is None:
        found = _found(where)
        assert found.model is not None
        model, sub_model = found.model, sub_model or found.sub_model
    root = _make(model, where) if isinstance(model, str) else model
    if sub_model is None:
        sub_model = where.environ.get(SUB_MODEL_VARIABLE, "").strip() or None
    if sub_model is None and isinstance(model, str):
        sub_model = _cheaper(root.info.name, where)
    if sub_model is None or sub_model == model:
        return root, root
    if not isinstance(sub_model, str):
        return root, sub_model
    sub = _make(sub_model, where)
    return root, root if sub.info.name == root.info.name else sub


def discover(
    *,
    environ: Mapping[str, str] | None = None,
    servers: Sequence[Provider] | None = None,
    cache: str | None = None,
) -> Found:
    """What would be taken without a name, and everything that was looked at. Makes no model."""
    return _discover(look(environ, servers, cache))


def _found(where: Where) -> Found:
    found = _discover(where)
    if found.model is None:
        looked = "".join(f"  - {c.place}: {c.detail}\n" for c in found.candidates)
        raise NoModelFound(f"No model was found.\n{_ways_out()}\nLooked at:\n{looked}".rstrip())
    return found


def _discover(where: Where) -> Found:
    candidates: list[Candidate] = []
    if named := where.environ.get(MODEL_VARIABLE, "").strip():
        candidates.append(Candidate("variable", MODEL_VARIABLE, named, f"names {named}"))
    candidates += _keys(where)
    candidates += [_served(provider, answer) for provider, answer in ask_all(where.servers).items()]
    candidates.append(_local(where))
    best = next((c for c in candidates if c.model is not None), None)
    if best is None or best.model is None:
        return Found(None, None, "nothing was found", tuple(candidates))
    sub = where.environ.get(SUB_MODEL_VARIABLE, "").strip() or _cheaper(best.model, where) or best.model
    return Found(best.model, sub, f"{best.place}: {best.detail}", tuple(candidates))


def _keys(where: Where) -> list[Candidate]:
    """The providers whose key is set, or whose address is."""
    candidates = []
    for provider in PROVIDERS.values():
        if provider.here:
            continue
        if provider.redirected(where.environ):
            candidates.append(_redirected(provider, where))
        elif provider.key(where.environ):
            variable = next(v for v in provider.keys if where.environ.get(v, "").strip())
            candidates.append(Candidate("key", variable, f"{provider.name}:{provider.root}", "is set"))
    if not candidates:
        candidates.append(Candidate("key", "keys in the environment", None, "none is set"))
    return candidates


def _redirected(provider: Provider, where: Where) -> Candidate:
    """A base URL in the environment: the server there is asked what it has."""
    place = masked(f"{provider.base_url_variable}={provider.address(where.environ)}")
    server = replace(provider, base_url=provider.address(where.environ))
    answer = ask_all([server], seconds=3.0, key=provider.key(where.environ))[server]
    return replace(_served(server, answer), kind="key", place=place)


def _served(provider: Provider, answer: Answer) -> Candidate:
    place = masked(f"{provider.name} at {provider.base_url}")
    chat = [name for name in answer.models if not _NO_CHAT.search(name)]
    if chat:
        more = f", and {len(chat) - 1} more" if len(chat) > 1 else ""
        return Candidate("server", place, f"{provider.name}:{chat[0]}", f"serves {chat[0]}{more}")
    return Candidate("server", place, None, answer.trouble or "answers, but serves no chat model")


def _local(where: Where) -> Candidate:
    from .local_process import INSTALL, require_llama_cpp

    place = f"the local model {DEFAULT}"
    try:
        require_llama_cpp()
    except ConfigError:
        return Candidate("local", place, None, INSTALL)
    if find(DEFAULT, where.cache):
        return Candidate("local", place, f"local:{DEFAULT}", "its file is here")
    size = FILES[DEFAULT].size / 1e9
    return Candidate("local", place, f"local:{DEFAULT}", f"is pulled on first use ({size:.1f} GB)")


def _cheaper(name: str, where: Where) -> str | None:
    """The sub-model that goes with a provider's default root model, if ``name`` is one."""
    provider_name, _, model = name.partition(":")
    provider = PROVIDERS.get(provider_name)
    if provider is None or provider.sub is None or model != provider.root:
        return None
    return None if provider.redirected(where.environ) else f"{provider.name}:{provider.sub}"


def _make(spec: str, where: Where) -> Model:
    provider_name, _, model = spec.strip().partition(":")
    if provider_name == "local" or (not model and provider_name in FILES):
        return _make_local(model if provider_name == "local" else provider_name, where)
    provider = PROVIDERS.get(provider_name)
    if provider is None:
        raise UnknownModel(
            f"there is no model {spec!r}: a name is provider:model, and the providers are "
            f"{', '.join(PROVIDERS)} and local (local:{', local:'.join(FILES)})"
        )
    return _make_remote(provider, model, where)


def _make_remote(provider: Provider, model: str, where: Where) -> Model:
    from .adapters import preload
    from .remote import RemoteModel

    preload()  # here, in a thread, rather than on the loop with the first call
    key = provider.key(where.environ)
    address = provider.address(where.environ)
    redirected = provider.redirected(where.environ)
    for server in where.servers:
        if server.name == provider.name:
            address = server.base_url
    if provider.keys and key is None and not redirected:
        raise ConfigError(f"{provider.name} needs a key: set {' or '.join(provider.keys)}")
    if not model and provider.root and not redirected:
        model = provider.root
    if provider.here or not model:
        model = _checked(replace(provider, base_url=address), model, key)
    return RemoteModel(
        provider if not provider.here else replace(provider, base_url=address),
        model,
        key=key,
        base_url=address if redirected else None,
        profile=_profile(model),
    )


def _checked(server: Provider, model: str, key: str | None) -> str:
    """The model to ask for from a server of one's own, which says what it has."""
    answer = ask_all([server], seconds=3.0, key=key)[server]
    place = masked(f"{server.name} at {server.base_url}")
    if not answer.models:
        raise NoModelFound(f"{place}: {answer.trouble or 'it serves no model'}")
    if not model:
        return next((name for name in answer.models if not _NO_CHAT.search(name)), answer.models[0])
    # Ollama lists "qwen3:latest" for what is also called "qwen3".
    if model in answer.models or f"{model}:latest" in answer.models:
        return model
    raise UnknownModel(f"{place} does not serve {model!r}; it serves {', '.join(answer.models[:20])}")


def _make_local(name: str, where: Where) -> Model:
    from .local import LocalModel
    from .local_process import require_llama_cpp

    if name.endswith(".gguf"):
        return LocalModel(path=name)
    entry = known(name)
    require_llama_cpp()
    if find(entry.name, where.cache) is None:
        try:
            pull(entry.name, progress=where.progress, cache=where.cache)
        except PullFailed as error:
            raise PullFailed(f"{error}\n{_ways_out()}") from None
    return LocalModel(entry.name, cache=where.cache)


def _profile(model: str) -> str:
    """The prompts that suit a model, by the size that its name tells."""
    sizes = [float(size) for size in _SMALL.findall(model)]
    return "small" if sizes and max(sizes) <= _LARGEST_SMALL else "frontier"


def _ways_out() -> str:
    others = [p.keys[0] for p in PROVIDERS.values() if p.keys and p.name not in ("openai", "anthropic")]
    return WAYS_OUT.format(others=", ".join(others[:3]) + ", …")
