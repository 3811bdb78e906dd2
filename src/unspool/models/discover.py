"""Makes a model of what a user wrote, or finds one where nothing was written.

Contract: ``resolve`` and ``resolve_pair`` block (they may ask servers, and pull the local model):
call them in a thread. Names are ``provider:model``; a wrong one is :class:`UnknownModel` with the
known ones, a missing key a :class:`ConfigError` that names the variable, and where there is nothing
:class:`NoModelFound` tells the three ways out. A model object is handed back as it is. A list of
names (or of names with commas between them) is one model: the first of them that answers.

Where no name is given, in this order: ``UNSPOOL_MODEL``, a key in the environment, a server that
answers on this machine, the local model. A server that the environment names and that gives no model is
the end of the search: who named it does not mean another one.

>>> resolve("openai:gpt-5-mini", environ={"OPENAI_API_KEY": "not a key"}).info.name
'openai:gpt-5-mini'
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from ..errors import ConfigError, NoModelFound, NoServer, UnknownModel
from .catalog import DEFAULT, FILES, find
from .fallback import FallbackModel
from .named import NO_CHAT, Spec, Where, look, make_any, ways_out
from .naming import check_spec
from .probe import Answer, ask_all
from .protocol import Model
from .providers import PROVIDERS, Provider, masked
from .pull import OnProgress

Kind = Literal["variable", "key", "server", "local"]

MODEL_VARIABLE = "UNSPOOL_MODEL"
SUB_MODEL_VARIABLE = "UNSPOOL_SUB_MODEL"


@dataclass(frozen=True, slots=True)
class Candidate:
    """One place that was looked at. ``model`` None: nothing there, and ``detail`` says why."""

    kind: Kind
    place: str  # e.g. "OPENAI_API_KEY", "Ollama at http://127.0.0.1:11434/v1"
    model: str | None
    detail: str
    meant: bool = False  # somebody has named it: what comes after is not taken in its place


@dataclass(frozen=True, slots=True)
class Found:
    """What is taken where no model is named: the names, why, and all that was looked at."""

    model: str | None
    sub_model: str | None
    reason: str
    candidates: tuple[Candidate, ...]


def resolve(
    spec: Spec | None = None,
    *,
    environ: Mapping[str, str] | None = None,
    servers: Sequence[Provider] | None = None,
    cache: str | None = None,
    progress: OnProgress | None = None,
) -> Model:
    """The model of this name, or the one that is found. ``progress`` hears of a pull."""
    where = look(environ, servers, cache, progress)
    if spec is None:
        found = _found(where)
        assert found.model is not None
        return make_any(found.model, replace(where, why=_why(found)))
    return make_any(spec, where)


def resolve_pair(
    model: Spec | None = None,
    sub_model: Spec | None = None,
    *,
    environ: Mapping[str, str] | None = None,
    servers: Sequence[Provider] | None = None,
    cache: str | None = None,
    progress: OnProgress | None = None,
) -> tuple[Model, Model]:
    """Root and sub-model. Without a name for it, the sub-model is the root model; for a provider's
    default root model, the cheaper one that its row of the table has beside it."""
    where, why = look(environ, servers, cache, progress), ""
    if model is None:
        found = _found(where)
        assert found.model is not None
        model, sub_model, why = found.model, sub_model or found.sub_model, _why(found)
    root = make_any(model, replace(where, why=why))
    if sub_model is None:
        sub_model = _sub_variable(where)
    if sub_model is None and isinstance(model, str) and not isinstance(root, FallbackModel):
        sub_model = _cheaper(root.info.name, where)
    if sub_model is None or sub_model == model:
        return root, root
    sub = make_any(sub_model, where)
    same = (
        isinstance(sub_model, str) and not isinstance(sub, FallbackModel) and sub.info.name == root.info.name
    )
    return root, root if same else sub


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
    if (meant := _in_the_way(found.candidates)) is not None:
        raise _given_up(meant)
    if found.model is None:
        looked = "".join(f"  - {c.place}: {c.detail}\n" for c in found.candidates)
        raise NoModelFound(f"No model was found.\n{ways_out()}\nLooked at:\n{looked}".rstrip())
    return found


def _why(found: Found) -> str:
    """Why this model is taken, in the words for one that has to be pulled."""
    best = next(c for c in found.candidates if c.model is not None)
    return "no key and no server found" if best.kind == "local" else f"{best.place} names it"


def _discover(where: Where) -> Found:
    candidates: list[Candidate] = []
    if named := where.environ.get(MODEL_VARIABLE, "").strip():
        candidates.append(_of_variable(named))
    candidates += _keys(where)
    served = [_of_machine(provider, answer, where) for provider, answer in ask_all(where.servers).items()]
    candidates += sorted(served, key=lambda candidate: candidate.model is None)  # one that answers is enough
    candidates.append(_local(where))
    meant = _in_the_way(candidates)
    best = next((c for c in candidates if c.model is not None), None)
    if meant is not None:
        return Found(None, None, f"{meant.place}: {meant.detail}", tuple(candidates))
    if best is None or best.model is None:
        return Found(None, None, "nothing was found", tuple(candidates))
    sub = where.environ.get(SUB_MODEL_VARIABLE, "").strip() or _cheaper(best.model, where) or best.model
    return Found(best.model, sub, f"{best.place}: {best.detail}", tuple(candidates))


def _in_the_way(candidates: Sequence[Candidate]) -> Candidate | None:
    """What somebody has named and gives no model, where nothing that comes before it gives one."""
    first = next((c for c in candidates if c.model is not None or c.meant), None)
    return first if first is not None and first.model is None else None


def _given_up(meant: Candidate) -> ConfigError:
    """What is wrong with what somebody has named, and what to do."""
    variable = meant.place.partition("=")[0]
    if variable == meant.place:  # a key of a cloud, where only a name is missing
        return NoModelFound(f"{variable} {meant.detail}")
    name = next(p.name for p in PROVIDERS.values() if p.base_url_variable == variable)
    return NoServer(
        f"{meant.place}: {meant.detail}. Start that server or correct the address; name a model "
        f"({name}:NAME) where it has no list of them; or unset {variable}, and another model is looked for"
    )


def _sub_variable(where: Where) -> str | None:
    """What the environment names for sub-calls."""
    name = where.environ.get(SUB_MODEL_VARIABLE, "").strip()
    try:
        check_spec(SUB_MODEL_VARIABLE, name or None)
    except UnknownModel as error:
        raise UnknownModel(f"{SUB_MODEL_VARIABLE} names {name}: {error}") from None
    return name or None


def _of_variable(name: str) -> Candidate:
    try:
        check_spec(MODEL_VARIABLE, name)
    except UnknownModel as error:
        return Candidate("variable", MODEL_VARIABLE, None, f"names {name}: {error}", meant=True)
    return Candidate("variable", MODEL_VARIABLE, name, f"names {name}")


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
            if provider.root is None:
                detail = f"is set; name a model: {provider.name}:NAME"
                candidates.append(Candidate("key", variable, None, detail, meant=True))
            else:
                candidates.append(Candidate("key", variable, f"{provider.name}:{provider.root}", "is set"))
    if not candidates:
        candidates.append(Candidate("key", "keys in the environment", None, "none is set"))
    return candidates


def _redirected(provider: Provider, where: Where) -> Candidate:
    """A base URL in the environment: the server there is asked what it has."""
    place = masked(f"{provider.base_url_variable}={provider.address(where.environ)}")
    server = replace(provider, base_url=provider.address(where.environ))
    answer = ask_all([server], seconds=3.0, key=provider.key(where.environ))[server]
    return replace(_served(server, answer), kind="key", place=place, meant=True)


def _of_machine(provider: Provider, answer: Answer, where: Where) -> Candidate:
    """A server on a usual port, or where its own variable says that it is."""
    found, usual = _served(provider, answer), PROVIDERS.get(provider.name)
    if found.model is not None or usual is None or not usual.redirected(where.environ):
        return found
    return replace(found, place=masked(f"{usual.base_url_variable}={provider.base_url}"), meant=True)


def _served(provider: Provider, answer: Answer) -> Candidate:
    place = masked(f"{provider.name} at {provider.base_url}")
    chat = [name for name in answer.models if not NO_CHAT.search(name)]
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
