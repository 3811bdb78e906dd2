"""The arguments of the functions of the REPL contract: other usual words for them, and what is wrong.

Contract: what is meant is taken; else ``TypeError`` or ``ValueError`` says what the call is. Standard library
only; importable as a sibling module too.

>>> bind("llm_query", "llm_query(prompt)", {"prompt": ("question",)}, (), {"question": "Why?"})
{'prompt': 'Why?'}
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, cast

if TYPE_CHECKING or __package__:
    from ._reach import reach
    from ._values import FailedCall, LLMError, Named, in_full
else:
    from _reach import reach
    from _values import FailedCall, LLMError, Named, in_full


def bind(
    name: str,
    usage: str,
    parameters: Mapping[str, tuple[str, ...]],
    args: Sequence[object],
    kwargs: Mapping[str, object],
    positional: int = 99,
) -> dict[str, object]:
    """The arguments by parameter, other usual keywords for the same thing accepted."""
    if len(args) > min(positional, len(parameters)):
        raise TypeError(f"{name} got {len(args)} arguments; the call is {usage}")
    given = dict(zip(parameters, args, strict=False))
    for word, value in kwargs.items():
        known = next((p for p, aliases in parameters.items() if word == p or word in aliases), None)
        if known is None:
            raise TypeError(f"{name} has no argument {word!r}; the call is {usage}")
        if known in given:
            raise TypeError(f"{name} got {known!r} twice; the call is {usage}")
        given[known] = value
    return given


def as_schema(schema: object) -> object:
    """A JSON schema, from one or from a type that says the same."""
    return None if schema is None else cast(object, reach("typed").schema_of(schema))


def as_wanted(schema: object, value: object) -> object:
    """A reply that fits, as the type that was asked for."""
    return value if schema is None else cast(object, reach("typed").as_wanted(schema, value, LLMError))


def all_as_wanted(schema: object, values: object) -> object:
    """The same for each item of a batch; one that cannot be made is a failed one."""
    return cast(object, reach("typed").all_as_wanted(schema, values, FailedCall))


def as_prompt(value: object, call: str, many: str) -> str:
    value = in_full(value)
    if isinstance(value, FailedCall):
        str(value)
    if isinstance(value, str):
        if value.strip():
            return value
        raise ValueError(f'the prompt is empty; the call is {call}("a question and the text it is about")')
    if value is None:
        raise TypeError(f'the prompt is None; the call is {call}("a question and the text it is about")')
    if isinstance(value, Iterable):
        raise TypeError(
            f"{call} takes one prompt, not a {type(value).__name__}; for many prompts the call is {many}([…])"
        )
    raise TypeError(f'{call} takes a str, not a {type(value).__name__}; the call is {call}(f"… {{x}}")')


def as_items(value: object, call: str) -> list[object]:
    """The items of any iterable; a str is one text, not many."""
    if isinstance(value, str | bytes) or not isinstance(value, Iterable):
        raise TypeError(
            f"{call} takes a list, not a {type(value).__name__}; the call is {call}([first, second, …])"
        )
    return list(value)


def as_prompts(value: object, call: str) -> list[str]:
    items = [in_full(item) for item in as_items(value, call)]
    for place, item in enumerate(items):
        if isinstance(item, FailedCall):
            str(item)
        if not isinstance(item, str):
            raise TypeError(
                f"item {place} of {len(items)} is a {type(item).__name__}, not a str; "
                f'the call is {call}([f"… {{x}}" for x in items])'
            )
        if not item.strip():
            raise ValueError(f"item {place} of {len(items)} is empty; leave empty ones out")
    return cast("list[str]", items)


def as_texts(value: object, call: str, usage: str) -> list[str]:
    """The items of any iterable as texts."""
    if isinstance(value, Mapping) or hasattr(value, "columns"):
        what, instead = (
            ("dict", "list(d.values())") if isinstance(value, Mapping) else ("table", "one column")
        )
        raise TypeError(
            f"{call} takes a list of items, not a {what}: pass {instead}, or texts made of its rows"
        )
    items = as_items(value, call)
    for place, item in enumerate(items):
        if isinstance(item, FailedCall):
            str(item)
        if item is None:
            raise TypeError(f"item {place} of {len(items)} is None; the call is {usage}")
    return [item if isinstance(item, str) else str(item) for item in items]


def with_tables(context: object) -> object:
    """A context for a child, its DataFrames told so that they are DataFrames there, too."""
    return cast(object, reach("dataframes").told(dict(context) if isinstance(context, Named) else context))


def is_table(value: object) -> bool:
    return hasattr(value, "columns") and hasattr(value, "shape")
