"""The models of an engine: found once, on first use, and kept until it is closed.

Contract: :meth:`EngineModels.ready` gives the same callers to every run, however many ask at once; where
finding failed, the next that asks tries again. Where a limit in dollars is to be kept, every price is
known beforehand, or :class:`unspool.errors.UnknownPrice` says which is not.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from .errors import ConfigError, ModelError, UnknownPrice
from .models.naming import check_spec
from .models.settings import UNSET, ModelSettings

if TYPE_CHECKING:
    from .models.calls import Caller
    from .models.named import Spec
    from .models.protocol import Model


@dataclass(frozen=True, slots=True)
class Models:
    """The root, the model for sub-calls, and what ``llm_query(model=…)`` may name."""

    root: Caller
    sub: Caller
    names: Mapping[str, Caller]


class EngineModels:
    """See the module docstring. ``asked``: root and sub-model as the user named them."""

    def __init__(
        self,
        asked: tuple[Spec | None, Spec | None],
        *,
        concurrency: int,
        call_seconds: float,
        settings: tuple[ModelSettings, ModelSettings] = (UNSET, UNSET),
    ) -> None:
        for setting, spec in zip(("model", "sub_model"), asked, strict=True):
            check_spec(setting, spec)  # what nobody is called is refused now
        self._asked = asked
        self._settings = settings
        self._concurrency = concurrency
        self._call_seconds = call_seconds
        self._finding: asyncio.Task[Models] | None = None

    async def ready(self, *, priced: bool) -> Models:
        """``priced``: a limit in dollars is to be kept."""
        if self._finding is None or _failed(self._finding):  # e.g. a key is set by now
            self._finding = asyncio.create_task(self._find())
        models = await asyncio.shield(self._finding)
        if priced:
            await refuse_unknown_prices(models.root, models.sub)
        return models

    async def close(self) -> None:
        """Frees connections and processes. The next run opens them again."""
        if self._finding is None:
            return
        finding, self._finding = self._finding, None
        try:
            models = await finding
        except (ConfigError, ModelError):
            return  # nothing was opened
        await models.root.model.close()
        if models.sub is not models.root:
            await models.sub.model.close()

    async def _find(self) -> Models:
        from .models.discover import resolve_pair

        root, sub = await asyncio.to_thread(resolve_pair, *self._asked)
        if any(each.price is not None for each in self._settings):
            from .models.priced import with_prices

            root, sub = with_prices(root, sub, self._settings)
        root_caller = self._caller(root)
        sub_caller = root_caller if sub is root else self._caller(sub)
        names: dict[str, Caller] = {}
        for caller in (*sub_caller.each, *root_caller.each, sub_caller, root_caller):
            full = caller.info.name
            names[full] = caller
            names[full.partition(":")[2] or full] = caller
        return Models(root_caller, sub_caller, names)

    def _caller(self, model: Model) -> Caller:
        from .models.fallback import caller_for

        return caller_for(model, concurrency=self._concurrency, timeout=self._call_seconds)


async def refuse_unknown_prices(*callers: Caller, file: str = "") -> None:
    """Where a limit in dollars is to be kept; ``file``: which one says so. Raises :class:`UnknownPrice`."""
    from .models import prices

    await prices.ready()
    for caller in callers:
        if caller.info.price is None:
            raise UnknownPrice(caller.info.name, file)


def _failed(finding: asyncio.Task[Models]) -> bool:
    return finding.done() and (finding.cancelled() or finding.exception() is not None)
