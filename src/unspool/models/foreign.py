"""Models of pydantic-ai's, as far as they are known without it: what marks one, and how they are named.

Contract: no I/O, and pydantic-ai is not imported: who has a model of its has it already.

>>> is_foreign("openai:gpt-5")
False
"""

from __future__ import annotations

import sys
from typing import Protocol

PREFIX = "pydantic-ai"


class Foreign(Protocol):
    """A model of pydantic-ai's, as far as types go: ``RLM(model=…)`` takes one."""

    @property
    def model_name(self) -> str: ...

    @property
    def system(self) -> str: ...

    @property
    def model_id(self) -> str: ...


def is_foreign(value: object) -> bool:
    """Whether it is a model of pydantic-ai's."""
    module = sys.modules.get("pydantic_ai.models")
    return module is not None and isinstance(value, module.Model)
