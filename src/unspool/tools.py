"""The user's own functions in the REPL, run on the host's side.

Contract: a tool is named by its ``__name__``; a sync tool runs in a thread, an async one on the loop
of the caller (in a thread of its own where the caller waits without a loop). What it raises reaches
the model as ``ToolError`` and never the host.

>>> def lookup(name):
...     "The address of a customer."
...     return name.upper()
>>> Toolbox([lookup]).describe()
'- `lookup(name)`: The address of a customer.'
"""

from __future__ import annotations

import asyncio
import inspect
import keyword
from collections.abc import Callable, Mapping, Sequence

from .errors import ConfigError, HostCallError

Tool = Callable[..., object]

RESERVED = frozenset(
    {"context", "llm_query", "llm_query_batched", "rlm_query", "rlm_query_batched", "classify"}
    | {"grep", "chunks", "budget", "SHOW_VARS", "submit", "SUBMIT", "FINAL", "FINAL_VAR", "answer"}
    | {"LLMError", "FailedCall"}
)
DRAFT = "_unspool_draft"  # the engine's own, see loop.py


class Toolbox:
    """The tools of one engine by name. Raises :class:`ConfigError` for a name that cannot be used."""

    def __init__(self, tools: Sequence[Tool] = ()) -> None:
        self._tools: dict[str, Tool] = {}
        for tool in tools:
            name = getattr(tool, "__name__", "")
            if not callable(tool) or not name.isidentifier() or keyword.iskeyword(name):
                raise ConfigError(f"tools: {tool!r} has no usable name; pass a function made with def")
            if name in RESERVED or name in self._tools or name == DRAFT:
                raise ConfigError(f"tools: the name {name!r} is taken; rename the function")
            self._tools[name] = tool

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(self._tools)

    def describe(self) -> str:
        lines = []
        for name, tool in self._tools.items():
            try:
                signature = str(inspect.signature(tool)).replace("'", "")
            except (TypeError, ValueError):  # some builtins tell no signature
                signature = "(…)"
            doc = (inspect.getdoc(tool) or "").partition("\n")[0]
            lines.append(f"- `{name}{signature}`" + (f": {doc}" if doc else ""))
        return "\n".join(lines)

    async def call(
        self,
        name: str,
        args: Sequence[object],
        kwargs: Mapping[str, object],
        loop: asyncio.AbstractEventLoop | None,
    ) -> object:
        tool = self._tools[name]
        try:
            if inspect.iscoroutinefunction(tool):
                coroutine = tool(*args, **kwargs)
                if loop is not None and loop.is_running():
                    return await asyncio.wrap_future(asyncio.run_coroutine_threadsafe(coroutine, loop))
                return await asyncio.to_thread(asyncio.run, coroutine)
            return await asyncio.to_thread(tool, *args, **kwargs)
        except Exception as error:  # whatever a user's function raises is the model's to read
            raise HostCallError("ToolError", f"{name}: {type(error).__name__}: {error}") from error
