"""Settings that are not what they have to be: one clear error for each, before anything is done.

>>> number("max_turns", 3, 1, whole=True)
>>> number("max_turns", "three", 1, whole=True)
Traceback (most recent call last):
unspool.errors.WrongSetting: max_turns='three': give a whole number, at least 1
>>> kind("instructions", None, str, "text")
Traceback (most recent call last):
unspool.errors.WrongSetting: instructions=None: give text
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Mapping
from functools import wraps
from inspect import Parameter, iscoroutinefunction, signature
from types import UnionType
from typing import ParamSpec, TypeVar, cast

from .errors import UnknownSetting, WrongSetting

_P = ParamSpec("_P")
_T = TypeVar("_T")
_C = TypeVar("_C")
_LEAST_START = 3  # characters of a name that are taken for the start of a longer one
_LEAST_LIKE = 0.65  # of difflib: at its 0.6, "nope" is like "openai"


def number(
    name: str,
    value: object,
    least: float,
    *,
    whole: bool = False,
    most: float | None = None,
    noun: str | None = None,
) -> None:
    """Raises :class:`ConfigError` for what is no number, or out of bounds, or not a number at all (nan)."""
    fits = isinstance(value, int if whole else int | float) and not isinstance(value, bool)
    if fits and least <= value and (most is None or value <= most):  # type: ignore[operator]
        return
    noun = noun or ("a whole number" if whole else "a number")
    bounds = (
        f", at least {f'{least:,}' if whole else f'{least:g}'}"
        if most is None
        else f" from {least:g} to {most:g}"
    )
    raise WrongSetting(name, value, f"give {noun}{bounds}")


def kind(name: str, value: object, wanted: type | UnionType, words: str) -> None:
    """Raises :class:`ConfigError` for a value of another type."""
    if not isinstance(value, wanted):
        raise WrongSetting(name, value, f"give {words}")


def _begins(name: str, known: str) -> bool:
    """Whether a name is a longer one of a known one: "integer" of "int"."""
    return len(known) >= _LEAST_START and name.startswith(known)


def near(name: object, known: Iterable[str]) -> str:
    """The known name that a wrong one is nearest to, however it is capitalized; "" where none is near.

    >>> near("temp", ["stop", "temperature"])
    'temperature'
    """
    from difflib import get_close_matches

    if not isinstance(name, str):
        return ""
    as_known, name = {each.lower(): each for each in known}, name.lower()
    found = get_close_matches(name, as_known, 1, cutoff=_LEAST_LIKE)
    if not found and len(name) >= _LEAST_START:
        found = [each for each in as_known if each.startswith(name) or _begins(name, each)]
    return as_known[found[0]] if found else ""


def meant(name: object, known: Iterable[str]) -> str:
    """The same as a question; nothing where none is near.

    >>> meant("rml", ["direct", "rlm"]), meant("RLM", ["rlm"]), meant("x", ["rlm"])
    (". Did you mean 'rlm'?", ". Did you mean 'rlm'?", '')
    """
    return f". Did you mean {guess!r}?" if (guess := near(name, known)) else ""


def keywords(
    homes: Mapping[str, Callable[..., object]] = {},
) -> Callable[[Callable[_P, _T]], Callable[_P, _T]]:
    """For a function: a keyword that it does not have is :class:`UnknownSetting`, which says the nearest; so
    is more by position than it takes, which says what is given by name.

    ``homes``: where settings of other names belong, as it is written, and the class or function of them.
    A method knows those of its own class.

    >>> @keywords({"size=Size({})": type("Size", (), {"__init__": lambda self, *, width: None})})
    ... def paint(*, color: str, size: object = None) -> None: ...
    >>> paint(colour="red")
    Traceback (most recent call last):
    unspool.errors.UnknownSetting: paint() takes no colour=. Did you mean color=…?
    >>> paint(width=3)
    Traceback (most recent call last):
    unspool.errors.UnknownSetting: paint() takes no width=. Did you mean size=Size(width=…)?
    >>> paint("red")
    Traceback (most recent call last):
    unspool.errors.UnknownSetting: paint() takes nothing by position: the next is a keyword, color=…
    """

    def told(called: Callable[_P, _T]) -> Callable[_P, _T]:
        own, placed = _keywords_of(called), _placed(called)

        def refuse_unknown(given: Mapping[str, object], args: tuple[object, ...]) -> None:
            if placed is not None and len(args) > len(placed):
                raise UnknownSetting(_too_many(called, placed, own))
            for name in given:
                if name not in own:
                    raise UnknownSetting(_unknown(called, name, own, homes, args))

        @wraps(called)
        def checked(*args: _P.args, **kwargs: _P.kwargs) -> _T:
            refuse_unknown(kwargs, args)
            return called(*args, **kwargs)

        @wraps(called)
        async def awaited(*args: _P.args, **kwargs: _P.kwargs) -> object:
            refuse_unknown(kwargs, args)
            return await cast("Awaitable[object]", called(*args, **kwargs))

        return cast("Callable[_P, _T]", awaited) if iscoroutinefunction(called) else checked

    return told


def fields_alone(made: type[_C]) -> type[_C]:
    """The same for the fields of a dataclass."""
    made.__init__ = keywords()(made.__init__)  # type: ignore[method-assign]
    return made


def _keywords_of(called: Callable[..., object]) -> tuple[str, ...]:
    return tuple(name for name in signature(called).parameters if name != "self")


def _placed(called: Callable[..., object]) -> tuple[str, ...] | None:
    """What may be given by position, ``self`` as well; None: any number."""
    parameters = signature(called).parameters.values()
    if any(each.kind is each.VAR_POSITIONAL for each in parameters):
        return None
    by_place = (Parameter.POSITIONAL_ONLY, Parameter.POSITIONAL_OR_KEYWORD)
    return tuple(each.name for each in parameters if each.kind in by_place)


def _too_many(called: Callable[..., object], placed: Iterable[str], own: Iterable[str]) -> str:
    """What is wrong where more is given by position than is taken so."""
    names = [name for name in placed if name != "self"]
    told = f"{_name_of(called)}() takes {', '.join(names) or 'nothing'} by position"
    by_name = next((name for name in own if name not in names), "")
    return f"{told}: the next is a keyword, {by_name}=…" if by_name else f"{told}, and no more"


def _name_of(called: Callable[..., object]) -> str:
    title, _, method = called.__qualname__.rpartition(".")
    return title if method == "__init__" else method


def _unknown(
    called: Callable[..., object],
    name: str,
    own: Iterable[str],
    homes: Mapping[str, Callable[..., object]],
    args: tuple[object, ...],
) -> str:
    """What is wrong with the keyword ``name``, and what may be meant."""
    title, _, method = called.__qualname__.rpartition(".")
    written = {each: f"{each}=…" for each in own}
    if method != "__init__" and title and args:
        homes = {f"{title}({{}})": type(args[0]), **homes}
    for form, home in homes.items():
        for each in _keywords_of(home):
            written.setdefault(each, form.format(f"{each}=…"))
    guess = near(name, written)
    more = f"Did you mean {written[guess]}?" if guess else f"It takes {', '.join(own)}"
    return f"{_name_of(called)}() takes no {name}=. {more}"
