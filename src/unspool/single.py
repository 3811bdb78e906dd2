"""Sub-calls outside of a run: one model, its cache, one budget. What ``unspool llm`` and ``map`` are made of.

Contract: a call is the same call as ``llm_query`` makes in a run, so that the cache knows it from there, and
the other way round. A reply that is known takes nothing from the budget. What fails is a
:class:`FailedCall`; after a failure that no further call can mend (a wrong key), or many in a row that are
alike (a model that is not there) while no reply has ever come, nothing more is sent.

>>> import asyncio
>>> from unspool.testing import ScriptedModel
>>> calls = SingleCalls(ScriptedModel(["yes"]))
>>> asyncio.run(calls.ask("Is it?")).reply
'yes'
"""

from __future__ import annotations

from dataclasses import dataclass

from .budget import Budget, Meter, OverBudget
from .cache import ReplyCache, cache_key
from .engine_models import refuse_unknown_prices
from .errors import ModelError
from .models.fallback import caller_for
from .models.protocol import Message, Model, ModelReply, ModelRequest
from .prompts import get_profile
from .purse import Purse
from .request_key import request_key
from .shared_budget import SharedBudget, SharedPurse
from .streak import NotSent, Streak
from .types import FailedCall, Usage, known_sum


@dataclass(frozen=True, slots=True)
class Single:
    """What became of one call. ``usage`` and ``cost``: what was paid for it now."""

    reply: str | None
    error: FailedCall | None = None
    usage: Usage = Usage()  # noqa: RUF009 (frozen)
    cost: float | None = 0.0
    seconds: float = 0.0
    cached: bool = False


class SingleCalls:
    """Calls of one model. ``budget``: limits of this process, or a file that it shares with others."""

    def __init__(
        self,
        model: Model,
        *,
        cache: ReplyCache | None = None,
        budget: Budget | SharedBudget = Budget(),  # noqa: B008 (frozen)
        concurrency: int = 32,
    ) -> None:
        self._caller = caller_for(model, concurrency=concurrency)
        self._cache = cache
        self._shared = budget if isinstance(budget, SharedBudget) else None
        self._meter = Meter(budget if isinstance(budget, Budget) else Budget())
        self._fatal: ModelError | None = None
        self._answered = set[str]()
        self._streak = Streak(self._caller.info.name, self._answered)
        self._sampling = get_profile(model.info.profile).sampling
        self.usage = Usage()
        self.cost: float | None = 0.0

    async def ready(self) -> None:
        """Raises :class:`unspool.errors.UnknownPrice` where a limit in dollars cannot be kept. Where it can,
        the file of a shared budget is made."""
        shared = self._shared
        limits = self._meter.budget if shared is None else shared.limits
        if limits.usd is not None:
            await refuse_unknown_prices(self._caller, file=shared.says("usd") if shared else "")
        if shared is not None:
            shared.begin()

    async def ask(self, prompt: str, occurrence: int = 0) -> Single:
        """One prompt. ``occurrence`` tells equal prompts apart that are samples of their own."""
        request = ModelRequest(
            (Message("user", prompt),),
            max_tokens=self._sampling.sub_max_tokens,
            temperature=self._sampling.sub_temperature,
        )
        info = self._caller.info
        key = cache_key(info, request_key(info.name, request), occurrence)
        if self._cache is not None and (known := self._cache.get(key)) is not None:
            self._answered.add(info.name)  # once
            return Single(known.text, cached=True)
        purse = self._purse()
        try:
            with purse:
                reply = await self._caller.call(request, purse)
                self._answered.add(info.name)
        except OverBudget as over:
            return self._failed(purse, FailedCall("budget", f"over budget: {over}"))
        except NotSent as unsent:
            return self._failed(purse, FailedCall(unsent.kind, str(unsent)))
        except ModelError as error:
            if error.fatal:
                self._fatal = error
            self._streak.failed(error)
            return self._failed(purse, FailedCall(error.kind, error.message))
        if self._cache is not None:
            self._cache.put(key, reply)
        return self._paid(purse, reply)

    async def close(self) -> None:
        await self._caller.close()
        if self._cache is not None:
            self._cache.close()

    def _purse(self) -> Purse | SharedPurse:
        if self._shared is not None:
            return SharedPurse(self._shared, check=self._check)
        return Purse(self._meter, "sub", self._caller.info.name, check=self._check)

    def _check(self) -> None:
        """When the turn of a send has come: calls that waited are not sent after what no call can mend."""
        if self._fatal is not None:
            raise self._fatal
        self._streak.check()

    def _failed(self, purse: Purse | SharedPurse, error: FailedCall) -> Single:
        self._count(purse)
        return Single(None, error, purse.usage, purse.cost)

    def _paid(self, purse: Purse | SharedPurse, reply: ModelReply) -> Single:
        self._count(purse)
        return Single(reply.text, None, purse.usage, purse.cost, reply.seconds)

    def _count(self, purse: Purse | SharedPurse) -> None:
        self.usage += purse.usage
        self.cost = known_sum(self.cost, purse.cost)
