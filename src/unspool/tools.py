"""The user's own functions in the REPL, run on the host's side.

Contract: a tool is named by its ``__name__``; a sync tool runs in a thread, an async one on the loop
of the caller (in a thread of its own where the caller waits without a loop). Arguments are checked against
the annotations and come as what they say: "3" as 3 where an int is wanted, a dict as the dataclass, a table
as a DataFrame. What does not fit is a ``TypeError`` in the cell that names the argument; what a tool raises
is a ``ToolError`` there. Neither reaches the host.

>>> def lookup(name: str) -> str:
...     "The address of a customer."
...     return name.upper()
>>> Toolbox([lookup]).describe()
'- `lookup(name: str) -> str`: The address of a customer.'
"""

from __future__ import annotations

import asyncio
import builtins
import inspect
import keyword
from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from functools import cached_property
from typing import cast, get_args

from .answers import AnswerType
from .errors import ConfigError, HostCallError
from .foreign_errors import is_stop, said
from .wanted_types import any_table, as_records, fields_of, hints_of
from .wanted_types import said as as_said

Tool = Callable[..., object]

RESERVED = frozenset(
    {"context", "llm_query", "llm_query_batched", "llm_map", "classify", "rlm_query", "rlm_query_batched"}
    | {"grep", "chunks", "budget", "SHOW_VARS", "cite", "submit", "SUBMIT", "FINAL", "FINAL_VAR", "answer"}
    | {"LLMError", "FailedCall"}
)
DRAFT = "_unspool_draft"  # the engine's own, see loop.py
_VARIABLE = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)


class _Tool:
    """One function, and what is known of its arguments."""

    def __init__(self, name: str, function: Tool) -> None:
        self.name = name
        self.function = function
        self.hints = hints_of(function)
        try:
            self._signature: inspect.Signature | None = inspect.signature(function)
        except (TypeError, ValueError):  # some builtins tell no signature
            self._signature = None

    @cached_property
    def _types(self) -> Mapping[str, AnswerType]:
        """What each argument has to be; one of a type that cannot be checked is taken as it comes."""
        known: dict[str, AnswerType] = {}
        for name, hint in self.hints.items():
            try:
                known[name] = AnswerType(hint)
            except ConfigError:
                continue
        return known

    @cached_property
    def call(self) -> str:
        """How it is called, with types by their names."""
        if self._signature is None:
            return f"{self.name}(…)"
        nothing = inspect.Signature.empty
        told = {
            name: hint if hint is nothing else _Words(as_said(self.hints.get(name, hint)))
            for name, hint in (
                *((name, p.annotation) for name, p in self._signature.parameters.items()),
                ("return", self._signature.return_annotation),
            )
        }
        named = [p.replace(annotation=told[name]) for name, p in self._signature.parameters.items()]
        return self.name + str(inspect.Signature(named, return_annotation=told["return"]))

    def describe(self) -> str:
        doc = (inspect.getdoc(self.function) or "").strip().partition("\n")[0]
        line = f"- `{self.call}`" + (f": {doc}" if doc else "")
        kinds = dict.fromkeys(kind for hint in self.hints.values() for kind in (hint, *get_args(hint)))
        made_of = ((kind.__name__, fields_of(kind)) for kind in kinds if isinstance(kind, type))
        return "".join([line, *(f"\n  {name}: {fields}" for name, fields in made_of if fields)])

    def bind(self, args: Sequence[object], kwargs: Mapping[str, object]) -> Callable[[], object]:
        """The call with its arguments as they have to be. Raises :class:`HostCallError`."""
        if self._signature is None:
            return lambda: self.function(*args, **kwargs)
        try:
            bound = self._signature.bind(*args, **kwargs)
        except TypeError as error:
            raise self._wrong(str(error)) from None
        for name, value in bound.arguments.items():
            kind = self._signature.parameters[name].kind
            if kind not in _VARIABLE:
                bound.arguments[name] = self._checked(name, value)
            elif isinstance(value, dict):
                bound.arguments[name] = {key: self._checked(name, item) for key, item in value.items()}
            else:
                bound.arguments[name] = tuple(self._checked(name, item) for item in value)
        return lambda: self.function(*bound.args, **bound.kwargs)

    def _checked(self, name: str, value: object) -> object:
        wanted = self._types.get(name)
        try:
            if wanted is None:
                return as_records(value)
            return wanted.check(wanted.received(value))
        except ValueError as error:
            raise self._wrong(f"{name}: {str(error).removeprefix('the value: ')}") from None

    def _wrong(self, why: str) -> HostCallError:
        return HostCallError("TypeError", f"{self.name}: {why}; the call is {self.call}")


class _Words(str):
    """An annotation that is shown as it is, without quotes."""

    __slots__ = ()

    def __repr__(self) -> str:
        return str.__str__(self)


class Toolbox:
    """The tools of one engine by name. Raises :class:`ConfigError` for a name that cannot be used."""

    def __init__(self, tools: Sequence[Tool] = ()) -> None:
        self._tools: dict[str, _Tool] = {}
        for tool in tools:
            name = getattr(tool, "__name__", "")
            if not callable(tool) or not name.isidentifier() or keyword.iskeyword(name):
                raise ConfigError(f"tools: {tool!r} has no usable name; pass a function made with def")
            if hasattr(builtins, name):
                raise ConfigError(
                    f"tools: {name!r} is a builtin of Python, which code in the REPL could use no more; "
                    "rename the function"
                )
            if name in RESERVED or name in self._tools or name == DRAFT:
                raise ConfigError(f"tools: the name {name!r} is taken; rename the function")
            self._tools[name] = _Tool(name, tool)

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(self._tools)

    def keep_clear_of(self, names: Collection[str], profile: str) -> None:
        """Raises :class:`ConfigError` where a tool has a name that a profile puts into the REPL."""
        for name in self._tools:
            if name in names:
                raise ConfigError(
                    f"tools: the name {name!r} is one that the profile {profile!r} uses in the REPL; "
                    "rename the function"
                )

    @cached_property
    def tables(self) -> bool:
        """Whether an argument of one is a DataFrame."""
        return any(any_table(hint for name, hint in t.hints.items() if name != "return") for t in self._all)

    @property
    def _all(self) -> Sequence[_Tool]:
        return tuple(self._tools.values())

    def describe(self) -> str:
        return "\n".join(tool.describe() for tool in self._all)

    async def call(
        self,
        name: str,
        args: Sequence[object],
        kwargs: Mapping[str, object],
        loop: asyncio.AbstractEventLoop | None,
    ) -> object:
        tool = self._tools[name]
        call = tool.bind(args, kwargs)
        try:
            if inspect.iscoroutinefunction(tool.function):
                result = _caught(call)
            else:
                result = await asyncio.to_thread(_caught, call)
            if inspect.isawaitable(result):
                result = await _on_loop(result, loop)
        except BaseException as error:
            if is_stop(error):
                raise
            result = _Raised(error)
        if isinstance(result, _Raised):  # whatever a user's function raises is the model's to read
            raise HostCallError("ToolError", f"{name}: {said(result.error)}") from result.error
        return result


class _Raised:
    """What a function raised, as a value: some exceptions cannot pass through a future, or end its loop."""

    def __init__(self, error: BaseException) -> None:
        self.error = error


def _caught(call: Callable[[], object]) -> object:
    try:
        return call()
    except BaseException as error:
        return _Raised(error)


async def _on_loop(awaitable: object, loop: asyncio.AbstractEventLoop | None) -> object:
    """Awaited on the caller's loop, where it has one that runs."""

    async def awaited() -> object:
        try:
            return await cast("Awaitable[object]", awaitable)
        except BaseException as error:
            if is_stop(error):
                raise
            return _Raised(error)

    if loop is not None and loop.is_running():
        return await asyncio.wrap_future(asyncio.run_coroutine_threadsafe(awaited(), loop))
    return await asyncio.to_thread(asyncio.run, awaited())
