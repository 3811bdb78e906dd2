"""How one role's model is sampled and priced, where the user says so: it goes before the profile's own.

>>> request = ModelSettings(temperature=0.2).over(ModelRequest((), temperature=1.0, max_tokens=5))
>>> request.temperature, request.max_tokens
(0.2, 5)
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from types import UnionType
from typing import get_args

from ..checks import fields_alone, number
from ..errors import ConfigError
from .protocol import Effort, ModelRequest


@fields_alone
@dataclass(frozen=True, slots=True)
class ModelSettings:
    """``None`` leaves the choice to the profile, and that to the provider.

    ``effort`` is how much a model thinks before it answers, for those that can be told. ``price`` is
    dollars for a million tokens read and written, of a model whose price is not known otherwise.
    """

    temperature: float | None = None
    max_tokens: int | None = None
    seed: int | None = None
    stop: tuple[str, ...] | None = None
    effort: Effort | None = None
    price: tuple[float, float] | None = None

    def __post_init__(self) -> None:
        if self.temperature is not None:
            number("temperature", self.temperature, 0, most=2)
        if self.max_tokens is not None:
            number("max_tokens", self.max_tokens, 1, whole=True)
        if self.seed is not None:
            number("seed", self.seed, -(2**63), whole=True, most=2**63)
        if self.effort is not None and self.effort not in get_args(Effort):
            raise ConfigError(f"effort={self.effort!r}: give one of {', '.join(get_args(Effort))}")
        if self.stop is not None and not _all(self.stop, str):
            raise ConfigError(f"stop={self.stop!r}: give a tuple of texts")
        if self.price is not None:
            if not _all(self.price, int | float) or len(self.price) != 2:
                raise ConfigError(
                    f"price={self.price!r}: give dollars for a million tokens read, and written"
                )
            for each in self.price:
                number("price", each, 0)

    def over(self, request: ModelRequest, *, differently: bool = False) -> ModelRequest:
        """The request with these settings. ``differently``: its temperature is there to get another reply."""
        if self is UNSET:
            return request
        given = {
            "temperature": None if differently and request.temperature is not None else self.temperature,
            "max_tokens": self.max_tokens,
            "seed": self.seed,
            "stop": self.stop,
            "effort": self.effort,
        }
        set_here = {name: value for name, value in given.items() if value is not None}
        return replace(request, **set_here) if set_here else request  # type: ignore[arg-type]


def _all(value: object, wanted: type | UnionType) -> bool:
    return isinstance(value, tuple) and all(isinstance(part, wanted) for part in value)


UNSET = ModelSettings()
