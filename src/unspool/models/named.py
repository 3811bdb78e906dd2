"""Makes a model of its name.

Contract: :func:`make` blocks (it may ask a server, and pull a local model): call it in a thread. A
name is ``provider:model``, ``local:NAME``, ``command:PROGRAM ARGUMENTS`` or ``pydantic-ai:NAME``; a wrong
one is :class:`UnknownModel` with the known ones, a missing key a :class:`ConfigError` that names the
variable.

>>> make("openai:gpt-5-mini", look({"OPENAI_API_KEY": "not a key"})).info.name
'openai:gpt-5-mini'
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, cast

from ..checks import meant
from ..errors import ConfigError, NoModelFound, UnknownModel
from ..reach.extras import how_to_add
from .catalog import FILES, find, known
from .cloud import find_door
from .command import CommandModel
from .fallback import FallbackModel
from .foreign import PREFIX, Foreign, is_foreign
from .naming import check_name, check_spec, split_names
from .probe import ask_all
from .protocol import Model
from .providers import PROVIDERS, Provider, masked
from .pull import OnProgress, PullFailed, pull

if TYPE_CHECKING:
    from pydantic_ai.models import Model as Theirs

WAYS_OUT = """There are three ways to a model:
  1. a key: set OPENAI_API_KEY, ANTHROPIC_API_KEY, or another provider's ({others})
  2. a server on this machine: start Ollama, llama.cpp, vLLM or LM Studio
  3. a small model on this machine: {how}, and unspool models pull (1.1 GB)"""

NO_CHAT = re.compile(r"embed|rerank|whisper|tts|clip|bge-|moderation", re.IGNORECASE)

# Families whose training asks for prompts of their own, whatever their size.
FAMILIES = ((re.compile(r"(?<![a-z])rlm[-_]?(?:qwen|llama|\d|[a-z]+\d)", re.IGNORECASE), "paper"),)

_SMALL = re.compile(r"(?<![\d.])(\d+(?:\.\d+)?)\s*b(?![a-z0-9])", re.IGNORECASE)
_LARGEST_SMALL = 4.0  # billions of parameters that the prompts of the small profile are for


@dataclass(frozen=True, slots=True)
class Where:
    """Where to look; the defaults are this process's environment and machine."""

    environ: Mapping[str, str]
    servers: Sequence[Provider]
    cache: str | None = None
    progress: OnProgress | None = None
    why: str = ""  # a model is pulled that nobody has named


def look(
    environ: Mapping[str, str] | None = None,
    servers: Sequence[Provider] | None = None,
    cache: str | None = None,
    progress: OnProgress | None = None,
) -> Where:
    environ = os.environ if environ is None else environ
    if servers is None:
        rows = (p for p in PROVIDERS.values() if p.here)
        servers = tuple(replace(p, base_url=p.address(environ)) for p in rows)
    return Where(environ, servers, cache, progress)


Spec = str | Model | Foreign | Sequence[str | Model | Foreign]
"""A model (one of pydantic-ai's, too), its name, or a list of them: the first that answers."""


def make_any(spec: Spec, where: Where) -> Model:
    """The model of this name or list. Of a list, those that are not to be had here are left out."""
    check_spec("model", spec)
    if isinstance(spec, str):
        names = split_names(spec)
        if len(names) == 1:
            return make(names[0], where)
        spec = names
    elif not isinstance(spec, Sequence):
        return _ours(spec)
    made: list[Model] = []
    missing: list[str] = []
    for each in spec:
        try:
            made.append(make(each, where) if isinstance(each, str) else _ours(each))
        except UnknownModel:
            raise
        except ConfigError as error:
            missing.append(f"{each} cannot be used here ({str(error).partition(chr(10))[0]})")
    if not made:
        raise NoModelFound("none of these models can be used here: " + "; ".join(missing))
    if len(made) == 1 and not missing:
        return made[0]
    return FallbackModel(made, missing=missing)


def _ours(model: Model | Foreign) -> Model:
    if not is_foreign(model):
        return cast("Model", model)
    from .pydantic_ai import PydanticAIModel

    return PydanticAIModel(cast("Theirs", model))


def make(spec: str, where: Where) -> Model:
    """The model of this name."""
    check_name(spec)
    provider_name, _, model = spec.strip().partition(":")
    if provider_name == "local" or (not model and provider_name in FILES):
        return _make_local(model if provider_name == "local" else provider_name, where)
    if provider_name == "command":
        return CommandModel(model, profile=family_profile(model))
    if provider_name == PREFIX:
        from .pydantic_ai import named

        return named(model)
    return _make_remote(PROVIDERS[provider_name], model, where)


def _make_remote(provider: Provider, model: str, where: Where) -> Model:
    from .adapters import preload
    from .remote import RemoteModel

    preload()  # here, in a thread, rather than on the loop with the first call
    if provider.cloud:
        return _make_cloud(provider, model, where)
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
    window = None
    if provider.here or not model:
        model, window = _checked(replace(provider, base_url=address), model, key)
    return RemoteModel(
        provider if not provider.here else replace(provider, base_url=address),
        model,
        key=key,
        base_url=address if redirected else None,
        profile=family_profile(model),
        window=window,
    )


def _make_cloud(provider: Provider, model: str, where: Where) -> Model:
    from .remote import RemoteModel

    door = find_door(provider, where.environ)
    if not model:
        raise ConfigError(f"{provider.name} serves what you deployed there: name it, {provider.name}:NAME")
    return RemoteModel(provider, model, door=door, profile=family_profile(model))


def _checked(server: Provider, model: str, key: str | None) -> tuple[str, int | None]:
    """The model to ask for from a server of one's own, which says what it has, and its window."""
    answer = ask_all([server], seconds=3.0, key=key)[server]
    place = masked(f"{server.name} at {server.base_url}")
    if not answer.models:
        raise NoModelFound(f"{place}: {answer.trouble or 'it serves no model'}")
    if not model:
        model = next((name for name in answer.models if not NO_CHAT.search(name)), answer.models[0])
    # Ollama lists "qwen3:latest" for what is also called "qwen3".
    listed = next((name for name in (model, f"{model}:latest") if name in answer.models), None)
    if listed is None:
        there = f"{', '.join(answer.models[:20])}{meant(model, answer.models)}"
        raise UnknownModel(f"{place} does not serve {model!r}; it serves {there}")
    return model, answer.windows[listed]


def _make_local(name: str, where: Where) -> Model:
    from .local import LocalModel
    from .local_process import require_llama_cpp

    if name.endswith(".gguf"):
        return LocalModel(path=name)
    entry = known(name)
    require_llama_cpp()
    if find(entry.name, where.cache) is None:
        try:
            pull(entry.name, progress=where.progress, cache=where.cache, why=where.why)
        except PullFailed as error:
            raise PullFailed(f"{error}\n{ways_out()}") from None
    return LocalModel(entry.name, cache=where.cache)


def family_profile(model: str) -> str:
    """The prompts that suit a model, by its family and the size that its name tells."""
    for family, profile in FAMILIES:
        if family.search(model):
            return profile
    sizes = [float(size) for size in _SMALL.findall(model)]
    return "small" if sizes and max(sizes) <= _LARGEST_SMALL else "frontier"


def ways_out() -> str:
    others = [p.keys[0] for p in PROVIDERS.values() if p.keys and p.name not in ("openai", "anthropic")]
    return WAYS_OUT.format(others=", ".join(others[:3]) + ", …", how=how_to_add("local"))
