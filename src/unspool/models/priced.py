"""A model whose price the user says: of a compatible server, or a program, that no list of prices has.

Contract: everything is the model's own but ``info.price`` and the cost of what it is paid for. What a
reply does not report has no known cost, as everywhere.

>>> import asyncio
>>> from unspool.models.protocol import Message
>>> from unspool.testing import ScriptedModel
>>> model = PricedModel(ScriptedModel(["four"], name="my:model"), Price(read=1e-6, written=2e-6))
>>> asyncio.run(model.complete(ModelRequest((Message("user", "hi"),)))).cost is not None
True
"""

from __future__ import annotations

from dataclasses import replace

from ..errors import ConfigError, ModelError
from .fallback import FallbackModel
from .figures import counted
from .protocol import Model, ModelInfo, ModelReply, ModelRequest, Price
from .settings import ModelSettings


class PricedModel:
    """See the module docstring."""

    def __init__(self, model: Model, price: Price) -> None:
        self._model = model
        self._price = price

    @property
    def info(self) -> ModelInfo:
        return replace(self._model.info, price=self._price)

    async def complete(self, request: ModelRequest) -> ModelReply:
        try:
            reply = await self._model.complete(request)
        except ModelError as error:
            if error.usage is not None:
                error.cost = self._price.of(error.usage)
            raise
        return replace(reply, cost=self._price.of(counted(reply.usage)))

    async def close(self) -> None:
        await self._model.close()


def with_prices(
    root: Model, sub: Model, settings: tuple[ModelSettings, ModelSettings]
) -> tuple[Model, Model]:
    """Both models, at the prices that their settings say. One model in both roles stays one."""
    of_root, of_sub = (each.price for each in settings)
    if root is not sub:
        return _priced(root, of_root), _priced(sub, of_sub)
    if of_root is not None and of_sub is not None and of_root != of_sub:
        raise ConfigError(f"price: {root.info.name} is both models, so it has one price: give one")
    both = _priced(root, of_root or of_sub)
    return both, both


def _priced(model: Model, price: tuple[float, float] | None) -> Model:
    if price is None:
        return model
    if isinstance(model, FallbackModel):
        raise ConfigError(f"price: {model.info.name} is a list of models: one price cannot be theirs")
    read, written = price
    return PricedModel(model, Price(read / 1e6, written / 1e6))
