"""An RLM as a model of pydantic-ai's: ``Agent(RLMModel(RLM("openai:gpt-5")))``.

What :class:`RLMModel` is made of is loaded when it is first asked for; without the extra ``pydantic-ai`` that
is a :class:`unspool.errors.ConfigError` with the command that installs it. The other way round, a model of
pydantic-ai's under an RLM, is :mod:`unspool.models.pydantic_ai`.

>>> import unspool.pydantic_ai
>>> unspool.pydantic_ai.__all__
['RLMModel']
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..reach.extras import how_to_add

if TYPE_CHECKING:
    from .model import RLMModel

__all__ = ["RLMModel"]

INSTALL = f"RLMModel needs pydantic-ai: {how_to_add('pydantic-ai')}"


def __getattr__(name: str) -> object:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from ..errors import ConfigError

    try:
        import pydantic_ai  # noqa: F401
    except ImportError:
        raise ConfigError(INSTALL) from None
    from .model import RLMModel

    return RLMModel
