"""A list of models: the first that answers.

Contract: a call goes to the first model, with all the retries that it would have alone, and where that
fails for good to the next. A model that cannot serve (its key is refused, it does not exist) is not
asked again; one that is down or out of requests is left alone for ``REST`` seconds. Where every model
failed, the error says what each said. What the failed ones were paid is in the reply. A
:class:`FallbackModel` is a model of its own for whoever calls one directly; a :func:`caller_for` it
gives each of its models the limits and retries of a single one.

>>> import asyncio
>>> from unspool.models.protocol import Message, ModelRequest
>>> from unspool.testing import ScriptedModel
>>> down = ScriptedModel([ModelError("bad_request", "no")], name="a:down")
>>> both = FallbackModel([down, ScriptedModel(["hello"], name="b:up")])
>>> reply = asyncio.run(caller_for(both).call(ModelRequest((Message("user", "hi"),))))
>>> reply.text, reply.source
('hello', 'b:up')
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from time import monotonic

from ..errors import PERMANENT, ModelError
from ..types import FailureKind, Usage, known_sum
from .calls import Caller, Payer
from .protocol import Model, ModelInfo, ModelReply, ModelRequest, Price

REST = 60.0
_FOR_A_WHILE: frozenset[FailureKind] = frozenset({"rate_limit", "timeout", "connection", "server"})


class FallbackModel:
    """Several models in the order in which they are asked. ``missing``: why others of a list are not here."""

    def __init__(self, models: Sequence[Model], *, missing: Sequence[str] = ()) -> None:
        if not models:
            raise ValueError("a list of models needs at least one")
        self.models = tuple(models)
        self.missing = tuple(missing)

    @property
    def info(self) -> ModelInfo:
        """The name is the list; a price that holds for each; the windows are kept apart."""
        infos = [model.info for model in self.models]
        prices = [info.price for info in infos if info.price is not None]
        price = None
        if len(prices) == len(infos):
            price = Price(
                max(p.read for p in prices), max(p.written for p in prices), max(p.call for p in prices)
            )
        name = ",".join(info.name for info in infos)
        return replace(infos[0], name=name, window=None, max_output=None, parallel=None, price=price)

    async def complete(self, request: ModelRequest) -> ModelReply:
        """Each model once."""
        return await caller_for(self, attempts=1).call(request)

    async def close(self) -> None:
        for model in self.models:
            await model.close()


def caller_for(
    model: Model,
    *,
    concurrency: int = 32,
    timeout: float | None = None,
    attempts: int = 6,
    backoff: float = 0.5,
) -> Caller:
    """What calls this model, or this list of models."""

    def single(one: Model) -> Caller:
        return Caller(one, concurrency=concurrency, timeout=timeout, attempts=attempts, backoff=backoff)

    if isinstance(model, FallbackModel):
        return FallbackCaller(model, [single(each) for each in model.models])
    return single(model)


class FallbackCaller(Caller):
    """Calls the models of a list, each through the :class:`Caller` that is given for it."""

    def __init__(self, model: FallbackModel, callers: Sequence[Caller]) -> None:
        super().__init__(model)
        self._missing = model.missing
        self._callers = list(callers)
        self._rests: dict[str, float] = {}  # until when a model is left alone

    @property
    def each(self) -> tuple[Caller, ...]:
        return tuple(self._callers)

    async def call(self, request: ModelRequest, payer: Payer | None = None) -> ModelReply:
        failures: list[ModelError] = []
        for caller in self._in_turn():
            try:
                reply = await caller.call(request, payer)
            except ModelError as error:
                failures.append(error)
                self._note(caller, error)
            else:
                return self._after(reply, failures)
        raise self._all_failed(failures)

    def _in_turn(self) -> list[Caller]:
        """The models that are not left alone; where that is all of them, all."""
        now = monotonic()
        ready = [caller for caller in self._callers if self._rests.get(caller.info.name, 0.0) <= now]
        return ready or self._callers

    def _note(self, caller: Caller, error: ModelError) -> None:
        if error.kind in PERMANENT:
            self._rests[caller.info.name] = float("inf")
        elif error.kind in _FOR_A_WHILE:
            self._rests[caller.info.name] = monotonic() + REST

    def _after(self, reply: ModelReply, failures: Sequence[ModelError]) -> ModelReply:
        """The reply with what was paid for those before it, and a note that says who failed."""
        usage, cost = reply.usage, reply.cost
        for error in failures:
            if error.usage is not None:
                usage, cost = usage + error.usage, known_sum(cost, error.cost)
        notes = [f"{error.model} failed ({error.message}): {reply.source} answered" for error in failures]
        notes += [f"{why}: {reply.source} answered" for why in self._missing]
        return replace(reply, usage=usage, cost=cost, notes=(*reply.notes, *notes))

    def _all_failed(self, failures: Sequence[ModelError]) -> ModelError:
        last = failures[-1]
        paid = [error for error in failures if error.usage is not None]
        usage: Usage | None = None
        cost: float | None = 0.0
        for error in paid:
            usage = (usage or Usage()) + (error.usage or Usage())
            cost = known_sum(cost, error.cost)
        fatal = all(error.fatal for error in failures) and len(failures) == len(self._callers)
        kind = last.kind if fatal or not last.fatal else "server"
        said = "; ".join(f"{error.model}: {error.message}" for error in failures)
        return ModelError(
            kind,
            last.message if len(failures) == 1 else f"every model of the list failed: {said}",
            model=last.model,
            retryable=False,
            permanent=all(error.permanent for error in failures),
            usage=usage,
            cost=cost if paid else None,
        )
