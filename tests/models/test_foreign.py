"""Models of anybody's: what their exceptions' HTTP statuses mean, and usage that cannot be."""

from __future__ import annotations

import json
import math
from types import SimpleNamespace
from typing import Any

import pytest

from unspool import RLM, Budget, ModelSettings
from unspool.errors import ModelError
from unspool.models.calls import Caller
from unspool.models.protocol import Message, ModelInfo, ModelReply, ModelRequest
from unspool.testing import MemoryStore
from unspool.types import FailureKind, Usage

ASK = ModelRequest((Message("user", "hi"),))
CODE = "```python\nprint(len(context))\nsubmit(len(context))\n```"


class Own:
    """A model of somebody's: raises what it is given, one after another, and then replies."""

    def __init__(self, *raises: Exception, usage: Usage | None = None, cost: Any = 0.0) -> None:
        self.raises = list(raises)
        self.sent = 0
        self._usage, self._cost = usage or Usage(1, 10, 2), cost
        self.info = ModelInfo("mine:own", window=100_000)

    async def complete(self, request: ModelRequest) -> ModelReply:
        self.sent += 1
        if self.raises:
            raise self.raises.pop(0)
        return ModelReply(CODE, "stop", self._usage, "own", cost=self._cost)

    async def close(self) -> None:
        return None


class Refused(Exception):
    """As those of SDKs: a status of its own, or that of its response."""

    def __init__(
        self, status: int, said: str = "so it is", where: str = "status_code", **headers: str
    ) -> None:
        super().__init__(said)
        if where.startswith("response"):
            name = where.partition(".")[2]
            self.response = SimpleNamespace(**{name: status}, headers=headers)
        else:
            setattr(self, where, status)
            self.headers = headers


STATUSES: list[tuple[int, FailureKind, bool]] = [
    (400, "bad_request", False), (401, "auth", False), (402, "auth", False), (403, "auth", False),
    (404, "unknown_model", False), (408, "timeout", True), (409, "server", True), (413, "too_long", False),
    (422, "bad_request", False), (429, "rate_limit", True), (500, "server", True), (503, "server", True),
    (504, "timeout", True), (529, "server", True),
]  # fmt: skip


@pytest.mark.parametrize(("status", "kind", "again"), STATUSES)
@pytest.mark.parametrize("where", ["status_code", "status", "response.status_code", "response.status"])
async def test_a_status_says_what_kind_of_failure_it_is(
    status: int, kind: FailureKind, again: bool, where: str
) -> None:
    model = Own(*(Refused(status, where=where) for _ in range(2)))
    with pytest.raises(ModelError, match=rf"^mine:own [a-z].* \(HTTP {status}\): so it is$") as failed:
        await Caller(model, attempts=1).call(ASK)
    assert (failed.value.kind, failed.value.retryable) == (kind, again)
    if again:  # what may help is sent again
        assert (await Caller(model, backoff=0.001).call(ASK)).retries == 1


async def test_a_service_that_says_when_to_come_back_is_waited_for() -> None:
    with pytest.raises(ModelError) as failed:
        await Caller(Own(Refused(429, **{"retry-after": "7"})), attempts=1).call(ASK)
    assert failed.value.retry_after == 7.0
    with pytest.raises(ModelError) as failed:
        await Caller(Own(Refused(400, "maximum context length is 4096 tokens")), attempts=1).call(ASK)
    assert failed.value.kind == "too_long"


async def test_an_exception_without_a_status_is_a_mistake_as_before() -> None:
    for error in (KeyError("x"), Refused(200), Refused(600)):
        with pytest.raises(type(error)):
            await Caller(Own(error)).call(ASK)


@pytest.mark.parametrize("key", ["sk-abcdefghijklmnopqrst"])
async def test_no_key_is_in_what_is_told(key: str) -> None:
    with pytest.raises(ModelError) as failed:
        await Caller(Own(Refused(401, f"Incorrect API key provided: {key}")), attempts=1).call(ASK)
    assert key not in str(failed.value)


@pytest.mark.parametrize(("status", "kind", "again"), STATUSES)
async def test_so_it_is_of_models_of_pydantic_ais(status: int, kind: FailureKind, again: bool) -> None:
    pytest.importorskip("pydantic_ai", reason="needs the extra pydantic-ai")
    from pydantic_ai.exceptions import ModelHTTPError
    from pydantic_ai.models.function import FunctionModel

    from unspool.models.pydantic_ai import PydanticAIModel

    for error in (ModelHTTPError(status, "x", {"message": "so it is"}), Refused(status)):

        def refuses(*_: object, error: Exception = error) -> Any:
            raise error

        with pytest.raises(ModelError) as failed:
            await Caller(PydanticAIModel(FunctionModel(refuses)), attempts=1).call(ASK)
        assert (failed.value.kind, failed.value.retryable) == (kind, again)
        assert "so it is" in str(failed.value)


def test_a_run_of_a_model_that_is_refused_ends_with_what_to_do() -> None:
    with RLM(Own(*(Refused(401) for _ in range(9))), sandbox="none", runs=False) as rlm:
        run = rlm.run("How long?", "text")
    assert (run.status, run.turns) == ("failed", 1)
    assert "mine:own refused the key (HTTP 401): so it is" in run.reason


NO_COUNTS: list[Any] = [-5, math.nan, math.inf, 1.5, "12", 10**400, True, [], 10**16]


@pytest.mark.parametrize("bad", NO_COUNTS)
@pytest.mark.parametrize(
    "field", ["input_tokens", "output_tokens", "cached_tokens", "reasoning_tokens", "calls"]
)
def test_usage_that_cannot_be_is_not_known_and_pays_no_budget_back(bad: Any, field: str) -> None:
    usage = Usage(**{"calls": 1, "input_tokens": 10, "output_tokens": 2, field: bad})
    store = MemoryStore()
    settings = ModelSettings(price=(1.0, 2.0))
    with RLM(
        Own(usage=usage),
        sandbox="none",
        store=store,
        settings=settings,
        budget=Budget(usd=1.0, tokens=100_000),
    ) as rlm:
        run = rlm.run("How long?", "text")
    assert (run.answer, run.usage.calls) == (4, 1)
    tokens = (run.usage.input_tokens, run.usage.output_tokens)
    counts = field in ("input_tokens", "output_tokens")
    assert tokens == tuple(
        None if field == name else known for name, known in (("input_tokens", 10), ("output_tokens", 2))
    )
    assert run.usage.calls_unmeasured == int(counts)
    assert run.cost is None if counts else run.cost == pytest.approx((10 * 1.0 + 2 * 2.0) / 1e6)
    (note,) = [note for note in run.notes if "no call can take" in note]
    assert note.startswith(f"mine:own told what no call can take ({field} ")
    json.dumps([run.usage.input_tokens, run.cost], allow_nan=False)


@pytest.mark.parametrize("bad", [-1.0, math.nan, math.inf, "0.1", True])
def test_a_cost_that_cannot_be_is_not_known(bad: Any) -> None:
    with RLM(Own(cost=bad), sandbox="none", runs=False) as rlm:
        run = rlm.run("How long?", "text")
    assert (run.answer, run.cost) == (4, None)
    assert any("told what no call can take (cost " in note for note in run.notes)


def test_whole_numbers_of_other_kinds_are_counts() -> None:
    with RLM(Own(usage=Usage(1, 10.0, 2)), sandbox="none", runs=False) as rlm:  # type: ignore[arg-type]
        run = rlm.run("How long?", "text")
    assert (run.usage.input_tokens, type(run.usage.input_tokens)) == (10, int)
    assert not any("no call can take" in note for note in run.notes)
