"""A small coder model on this machine: no key, no network once its file is there, no cost.

Contract: implements :class:`unspool.models.protocol.Model`. llama.cpp runs in a process of its own
that starts with the first call and ends with ``close`` or with this process, however that ends.
``choices`` and ``schema`` are enforced while the reply is made. What several prompts begin with is
read once: within a start by llama.cpp, across starts by :mod:`unspool.models.prefixes`.

>>> as_grammar(("yes", 'a "no"'))
'root ::= "yes" | "a \\\\"no\\\\""'
"""

from __future__ import annotations

import asyncio
import json
import os
import re
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from time import perf_counter

from ..errors import ConfigError, ModelError, NoModelFound
from .adapters import preload
from .catalog import FILES, find, known, models_dir
from .local_process import LocalServer, Served, Settings, require_llama_cpp
from .prefixes import Prefixes
from .protocol import FREE, Message, ModelInfo, ModelReply, ModelRequest, refuse_images
from .providers import Provider
from .remote import RemoteModel

WINDOW = 8192
MAX_TOKENS = 1024  # where a request sets none: a small model that repeats itself must end
CACHE_MIB = 1024
TOP_TOKENS = 60  # whose probability is asked for, so that each label of a few is among them

_HERE = Provider("local", here=True)
_SIZES = re.compile(r"\((\d+) tokens\).*\((\d+) tokens\)")


class LocalModel:
    """A known model (``qwen2.5-coder-1.5b``) or a GGUF file of one's own (``path``).

    ``slots`` prompts are worked on at once, each of up to ``window`` tokens.
    """

    def __init__(
        self,
        name: str = "",
        *,
        path: str | os.PathLike[str] | None = None,
        slots: int | None = None,
        window: int = WINDOW,
        threads: int | None = None,
        cache: str | os.PathLike[str] | None = None,
    ) -> None:
        require_llama_cpp()
        self._path = _file(name, path, cache)
        cores = usable_cores()
        slots = slots or default_slots(cores)
        shown = name.removeprefix("local:") or self._path.stem
        if path is None:
            shown = known(name).name
        self._info = ModelInfo(
            f"local:{shown}", "small", window, max_output=window, parallel=slots, price=FREE
        )
        states = models_dir(cache) / "states"
        self._settings = Settings(str(self._path), window, slots, threads or cores, CACHE_MIB, str(states))
        self._states = states
        self._prefixes = Prefixes(states, _seed(self._path), slots)
        self._server: LocalServer | None = None
        self._remote: tuple[int, RemoteModel] | None = None

    @property
    def info(self) -> ModelInfo:
        return self._info

    async def complete(self, request: ModelRequest) -> ModelReply:
        started = perf_counter()
        refuse_images(request, self._info)
        served, remote = await self._ready()
        await self._prefixes.prepare(request.messages[: request.stable], served.start, remote.post)
        extra: dict[str, object] = {}
        if request.choices:
            extra["grammar"] = as_grammar(request.choices)
            extra |= {"logprobs": True, "top_logprobs": TOP_TOKENS}
            request = replace(request, schema=None)
        if request.max_tokens is None:
            request = replace(request, max_tokens=MAX_TOKENS)
        try:
            reply = await remote.complete(request, extra)
        except ModelError as error:
            raise await self._explained(error) from None
        model = self._info.name.removeprefix("local:")  # llama.cpp would name the file
        return replace(reply, model=model, seconds=perf_counter() - started)

    async def warm(self, prefix: Sequence[Message] = ()) -> None:
        """Load the model, and read what the next conversation begins with, before it is needed."""
        served, remote = await self._ready()
        await self._prefixes.prepare(prefix, served.start, remote.post)

    async def close(self) -> None:
        server, self._server = self._server, None
        remote, self._remote = self._remote, None
        if remote is not None:
            await remote[1].close()
        if server is not None:
            await asyncio.to_thread(server.leave)

    async def _ready(self) -> tuple[Served, RemoteModel]:
        if self._server is None:
            self._states.mkdir(parents=True, exist_ok=True, mode=0o700)
            self._server = LocalServer.join(self._settings)
        # Loading takes seconds: in a thread, and a caller that is cancelled leaves it running.
        served = self._server.served
        if served is None:
            loaded, _ = await asyncio.gather(
                asyncio.to_thread(self._server.ensure), asyncio.to_thread(preload)
            )
            served = loaded
        if self._remote is None or self._remote[0] != served.start:
            remote = RemoteModel(
                _HERE,
                self._info.name,
                key=served.key,
                base_url=f"{served.url}/v1",
                price=FREE,
                name=self._info.name,
            )
            old, self._remote = self._remote, (served.start, remote)
            if old is not None:
                await old[1].close()
        return served, self._remote[1]

    async def _explained(self, error: ModelError) -> ModelError:
        name = self._info.name
        if error.kind == "too_long" and (sizes := _SIZES.search(error.message)):
            message = (
                f"the prompt is {int(sizes[1]):,} tokens and {name} reads at most {int(sizes[2]):,}: "
                "send slices of it, one call for each"
            )
            return ModelError("too_long", message, model=name)
        server = self._server
        if error.kind == "connection" and server is not None and await asyncio.to_thread(server.has_ended):
            words = server.last_words() or "it said nothing"
            return ModelError("server", f"llama.cpp ended: {words}", model=name)
        return error


def as_grammar(choices: Sequence[str]) -> str:
    """The grammar of exactly one of these texts."""
    return "root ::= " + " | ".join(json.dumps(choice, ensure_ascii=False) for choice in choices)


def default_slots(cores: int) -> int:
    """How many prompts to work on at once.

    On two cores more slots are no faster (18 labels: 9.5 s with one, 10.7 s with two, 12.2 s with
    four; 18 sentences: 25 s with each). Two keep the turns of the root and its sub-calls apart.
    """
    return 2 if cores < 8 else 4


def usable_cores() -> int:
    """The cores this process may use: its affinity, and the quota of its container."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    try:
        quota, period = Path("/sys/fs/cgroup/cpu.max").read_text().split()
        if quota != "max":
            cores = min(cores, max(1, int(quota) // int(period)))
    except (OSError, ValueError):
        return cores  # no control group of version 2 here
    return cores


def _file(name: str, path: str | os.PathLike[str] | None, cache: str | os.PathLike[str] | None) -> Path:
    if path is not None:
        file = Path(path).expanduser()
        if not file.is_file():
            raise ConfigError(f"there is no model file {file}")
        return file.absolute()
    found = find(name, cache)
    if found is None:
        entry = known(name)
        raise NoModelFound(
            f"{entry.file} ({entry.size / 1e9:.1f} GB) is not on this machine: "
            f"unspool models pull {entry.name}"
        )
    return found.absolute()


def _seed(path: Path) -> str:
    from importlib.metadata import version

    stat = path.stat()
    known_size = next((f.sha256 for f in FILES.values() if f.size == stat.st_size), None)
    return f"{known_size or (str(path), stat.st_size, stat.st_mtime_ns)} {version('xllamacpp')}"
