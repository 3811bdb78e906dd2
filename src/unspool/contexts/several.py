"""Several contexts at once, each under a name of its own.

Contract: :class:`Contexts` is a mapping that does not change. In the REPL each value is bound under its own
name, as ``context`` is, and all of them together are the dict ``context``. A name that code could not write,
or that would hide a function of the REPL, raises :class:`unspool.errors.ContextError` at once.

>>> both = Contexts(logs="a line", users=[1, 2])
>>> list(both), both["users"]
(['logs', 'users'], [1, 2])
>>> Contexts(submit=1)
Traceback (most recent call last):
unspool.errors.ContextError: a context cannot be called 'submit': that is a function of the REPL; take another
"""

from __future__ import annotations

import ast
import builtins
import keyword
from collections.abc import Callable, Iterable, Iterator, Mapping

from ..errors import ContextError
from .data import size_of

DESCRIBED = 6  # contexts that are described in full
LISTED = 30
_LEAST = 120  # characters of each

_KEPT = ("context", "answer")
_ALSO = "take another"


class Contexts(Mapping[str, object]):
    """Named contexts: ``Contexts(logs=text, users=frame)``, or ``Contexts({"logs": text})``."""

    __slots__ = ("_values",)

    def __init__(self, contexts: Mapping[str, object] | None = None, /, **named: object) -> None:
        values = {**(contexts or {}), **named}
        if not values:
            raise ContextError("Contexts() has no context: give each under a name, Contexts(logs=text)")
        functions = _functions()
        for name in values:
            _check(name, functions)
        self._values = values

    def __getitem__(self, name: str) -> object:
        return self._values[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._values)

    def __len__(self) -> int:
        return len(self._values)

    def __repr__(self) -> str:
        return f"Contexts({', '.join(self._values)})"

    def changed(self, change: Callable[[object], object]) -> Contexts:
        """The same names with other values."""
        return Contexts({name: change(value) for name, value in self._values.items()})

    def __handed_over__(self) -> tuple[object, ...]:
        """What becomes of it in a sandbox, in the form of ``__reduce__``."""
        from ..sandbox._parcel import named

        return named, (self._values,)


def plain(context: object) -> object:
    """Named contexts as the dict that they are; all else as it is."""
    return dict(context) if isinstance(context, Contexts) else context


def check_beside(contexts: object, tools: Iterable[str], imports: Iterable[str]) -> None:
    """Refuses names that hide a tool of the user's, or what the profile has in the REPL."""
    if not isinstance(contexts, Contexts):
        return
    helpers = {name for code in imports for name in _bound(code)}
    for taken, what in ((set(tools), "one of the tools"), (helpers, "a name that the REPL has already")):
        if both := sorted(taken & contexts.keys()):
            raise ContextError(f"a context cannot be called {both[0]!r}: that is {what}; {_ALSO}")


def describe_several(
    contexts: Contexts, describe: Callable[[object, int, int, str], str], head: int, tail: int
) -> str:
    """All of them, each with its share of the room."""
    count = len(contexts)
    lines = [
        f"There {'is 1 context' if count == 1 else f'are {count:,} contexts'}, each bound to its own name; "
        f"`context` is the dict of them all: {', '.join(f'`{name}`' for name in list(contexts)[:LISTED])}"
        f"{', …' if count > LISTED else ''}."
    ]
    share = min(count, DESCRIBED)
    for place, (name, value) in enumerate(contexts.items()):
        if place < DESCRIBED:
            lines.append(describe(value, max(_LEAST, head // share), max(_LEAST // 2, tail // share), name))
        elif place < LISTED:
            lines.append(f"`{name}`: {size_of(value)[:160]}")
    return "\n\n".join(lines)


def _functions() -> frozenset[str]:
    """The names that the worker binds, from the worker itself."""
    from ..sandbox._functions import function_names

    return frozenset(function_names())


def _check(name: object, functions: frozenset[str]) -> None:
    if not isinstance(name, str) or not name.isidentifier() or keyword.iskeyword(name):
        raise ContextError(
            f"a context cannot be called {name!r}: code has to be able to write its name, as logs or users_2"
        )
    if name.startswith("_"):
        raise ContextError(f"a context cannot be called {name!r}: begin the name with a letter")
    if name in functions or name in _KEPT:
        what = "what all of them are called" if name == "context" else "a function of the REPL"
        what = "where code puts its answer" if name == "answer" else what
        raise ContextError(f"a context cannot be called {name!r}: that is {what}; {_ALSO}")
    if hasattr(builtins, name):
        raise ContextError(f"a context cannot be called {name!r}: that is a builtin of Python; {_ALSO}")


def _bound(code: str) -> Iterator[str]:
    """The names that a piece of code binds at its top."""
    for node in ast.parse(code).body:
        if isinstance(node, ast.Import | ast.ImportFrom):
            yield from ((alias.asname or alias.name).partition(".")[0] for alias in node.names)
        elif isinstance(node, ast.FunctionDef | ast.ClassDef):
            yield node.name
        elif isinstance(node, ast.Assign):
            yield from (target.id for target in node.targets if isinstance(target, ast.Name))
