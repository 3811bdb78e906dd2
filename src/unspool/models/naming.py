"""What a model is called: the parts of a name, checked without a key, a file or a server.

Contract: no I/O, and nothing heavy is loaded, so that :class:`unspool.RLM` refuses a wrong name where it is
made. What is no name at all is :class:`WrongSetting`, what nobody is called
:class:`UnknownModel`, with the nearest name and the known ones.

>>> check_spec("model", ["openai:gpt-5", "local"])
>>> nearest("gpt-5"), nearest("opnai:gpt-5"), nearest("openai/gpt-5"), nearest("qwen2.5-coder")
('openai:gpt-5', 'openai:gpt-5', 'openai:gpt-5', 'qwen2.5-coder-1.5b')
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from ..checks import near
from ..errors import UnknownModel, WrongSetting
from .catalog import FILES, known
from .foreign import PREFIX, is_foreign
from .providers import PROVIDERS

_KINDS = (*PROVIDERS, "local", "command", PREFIX)
BEGINNINGS = (*_KINDS, *FILES)  # what a name begins with
# "gpt" of "gpt-5": who makes models of that name, by the model that the provider's row takes.
_FAMILIES = {
    re.split(r"[-\d]", row.root)[0]: row.name
    for row in PROVIDERS.values()
    if row.root is not None and "/" not in row.root
}


def split_names(text: str) -> tuple[str, ...]:
    """The names in a list with commas; a comma that no name follows belongs to a command.

    >>> split_names("openai:gpt-5, command:echo a,b,local")
    ('openai:gpt-5', 'command:echo a,b', 'local')
    """
    starts = "|".join(map(re.escape, _KINDS))
    return tuple(name.strip() for name in re.split(rf",(?=\s*(?:{starts})(?:[:,]|\s*$))", text))


def check_spec(setting: str, spec: object) -> None:
    """Raises what is wrong with what a user gave as ``setting``, as far as it is known without asking."""
    if spec is None:
        return
    names = split_names(spec) if isinstance(spec, str) else spec
    if isinstance(names, Sequence) and not names:
        raise WrongSetting(setting, spec, "give at least one model")
    for each in names if isinstance(names, Sequence) else [names]:
        if isinstance(each, str):
            check_name(each)
        elif not is_foreign(each) and not (hasattr(each, "complete") and hasattr(each, "info")):
            raise WrongSetting(
                setting, each, "give a name such as 'openai:gpt-5', a Model, or a list of them"
            )


_ELSEWHERE = {
    "oracle": "the oracle is a script that unspool eval alone has, for its own questions",
    "scripted": "a scripted model is made in Python, unspool.testing.ScriptedModel",
}


def check_name(name: str) -> None:
    """Raises :class:`UnknownModel` for a name of one model that nobody can have."""
    first, _, rest = name.strip().partition(":")
    if first == "local" and not rest.endswith(".gguf"):
        known(rest)
    elif first in _ELSEWHERE:
        raise UnknownModel(
            f"there is no model {name!r} here: {_ELSEWHERE[first]}. Name none, and the small model of this "
            "machine answers where no other is found; or let a program reply: command:PROGRAM, such as "
            '"command:cat FILE"'
        )
    elif first not in BEGINNINGS or (first in FILES and rest):
        guess = nearest(name.strip())
        raise UnknownModel(
            f"there is no model {name!r}{f'. Did you mean {guess!r}?' if guess else '.'} A name is "
            f"provider:model, and the providers are {', '.join(PROVIDERS)}, local "
            f"(local:{', local:'.join(FILES)}), command (command:PROGRAM ARGUMENTS) and pydantic-ai "
            "(pydantic-ai:PROVIDER:MODEL)"
        )


def nearest(name: str) -> str:
    """The whole name that a wrong one may be meant for; "" where none is near."""
    first, colon, rest = name.partition(":")
    maker, slash, model = name.partition("/")
    if slash and maker.lower() in PROVIDERS:
        return f"{maker.lower()}:{model}"
    family = re.split(r"[-\d]", first.lower())[0]
    if family in _FAMILIES and not colon and family != first:
        return f"{_FAMILIES[family]}:{name}"
    return f"{guess}{colon}{rest}" if (guess := near(first, BEGINNINGS)) else ""
