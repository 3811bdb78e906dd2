"""Caller over scripted models: limits, empty replies, windows, accounting. No network here."""

from __future__ import annotations

import asyncio
import gc
import time
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace
from itertools import pairwise

import pytest

from unspool.errors import ModelError
from unspool.models.calls import Caller
from unspool.models.gate import Gate
from unspool.models.protocol import Message, ModelInfo, ModelReply, ModelRequest
from unspool.testing import ScriptedModel
from unspool.types import FailureKind, Usage


def ask(text: str = "hi", **more: float) -> ModelRequest:
    return ModelRequest((Message("user", text),), timeout=more.get("timeout", 600.0))


def empty(**fields: object) -> ModelReply:
    given: dict[str, object] = {
        "text": "",
        "finish": "stop",
        "usage": Usage(calls=1, output_tokens=3),
        "model": "m",
    }
    return ModelReply(**{**given, **fields})  # type: ignore[arg-type]


async def test_a_thousand_prompts_come_back_in_order_and_as_parallel_as_allowed() -> None:
    model = ScriptedModel(lambda m: m[-1].text.upper(), latency=0.002)
    caller = Caller(model, concurrency=64)
    replies = await asyncio.gather(*(caller.call(ask(f"p{i}")) for i in range(1000)))
    assert [r.text for r in replies] == [f"P{i}" for i in range(1000)]
    assert model.peak == 64
    assert [r.messages[0].text for r in model.requests] == [f"p{i}" for i in range(1000)]


async def test_a_model_with_fixed_slots_is_never_given_more() -> None:
    model = ScriptedModel(lambda m: "x", latency=0.002, parallel=2)
    caller = Caller(model, concurrency=64)
    await asyncio.gather(*(caller.call(ask()) for _ in range(20)))
    assert model.peak == 2


async def test_the_limit_survives_cancelled_callers() -> None:
    model = ScriptedModel(lambda m: "x", latency=0.01)
    caller = Caller(model, concurrency=2)
    tasks = [asyncio.create_task(caller.call(ask(str(i)))) for i in range(40)]
    await asyncio.sleep(0.015)
    for task in tasks[::2]:
        task.cancel()
    done = await asyncio.gather(*tasks, return_exceptions=True)
    assert all(isinstance(d, asyncio.CancelledError | ModelReply) for d in done)
    assert caller.gate.open == 0
    assert model.peak == 2
    assert (await caller.call(ask())).text == "x"


async def test_retries_are_all_sends_but_the_first() -> None:
    """Also where a call was given up as too often refused, and taken up since others got through."""
    refused = 0

    def answer(messages: Sequence[Message]) -> str:
        nonlocal refused
        if messages[-1].text == "late" and refused < 12:
            refused += 1
            raise ModelError("rate_limit", "later", model="m", retryable=True, retry_after=0.001)
        return "x"

    caller = Caller(ScriptedModel(answer), attempts=2, backoff=0.001)
    late = asyncio.create_task(caller.call(ask("late")))
    while not late.done():
        await caller.call(ask("other"))
        await asyncio.sleep(0)  # a scripted model lets nobody else run
    assert (await late).retries == refused == 12


async def test_a_prompt_larger_than_the_window_is_refused_with_both_sizes() -> None:
    model = ScriptedModel(["never"], window=1000)
    with pytest.raises(ModelError, match=r"about 25,000 tokens .* at most 1,000: send slices") as refused:
        await Caller(model).call(ask("x" * 100_000))
    assert refused.value.kind == "too_long"
    assert model.requests == []
    assert (await Caller(model).call(ask("x" * 3_900))).text == "never"


async def test_wide_characters_count_by_their_bytes() -> None:
    with pytest.raises(ModelError, match="at most 1,000"):
        await Caller(ScriptedModel([], window=1000)).call(ask("語" * 1_500))
    with pytest.raises(ModelError, match="at most 1,000"):
        await Caller(ScriptedModel([], window=1000)).call(ask("\ud800" * 1_500))


async def test_an_empty_reply_is_asked_for_once_more_and_both_are_counted() -> None:
    model = ScriptedModel([empty(cost=0.25), empty(text="now", cost=0.5)])
    reply = await Caller(model).call(ask())
    assert (reply.text, reply.retries, reply.cost) == ("now", 1, 0.75)
    assert reply.usage == Usage(calls=2, output_tokens=6)


async def test_a_reply_that_stays_empty_is_an_error_that_says_what_was_paid() -> None:
    model = ScriptedModel([empty(), empty(text=" \n")])
    with pytest.raises(ModelError) as failed:
        await Caller(model).call(ask())
    assert failed.value.kind == "empty"
    assert failed.value.usage == Usage(calls=2, output_tokens=6)
    assert len(model.requests) == 2


@pytest.mark.parametrize(
    ("reply", "said"),
    [
        (
            empty(finish="length", usage=Usage(1, calls_unmeasured=1)),
            "limit of tokens before any text: raise",
        ),
        (empty(finish="filter"), "content filter"),
    ],
)
async def test_asking_again_is_left_out_where_it_cannot_help(reply: ModelReply, said: str) -> None:
    model = ScriptedModel([reply])
    with pytest.raises(ModelError, match=said):
        await Caller(model).call(ask())
    assert len(model.requests) == 1


@pytest.mark.parametrize(
    ("limit", "thought", "second"), [(2000, 2000, 8000), (100, 100, 4096), (None, 3000, 12_000)]
)
async def test_thinking_that_ate_the_reply_is_given_more_room_once(
    limit: int | None, thought: int, second: int
) -> None:
    cut = empty(finish="length", thinking="hm", usage=Usage(1, 10, thought), cost=0.25)
    model = ScriptedModel([cut, empty(text="42", cost=0.5)])
    reply = await Caller(model).call(replace(ask(), max_tokens=limit))
    assert [request.max_tokens for request in model.requests] == [limit, second]
    assert (reply.text, reply.retries, reply.cost) == ("42", 1, 0.75)
    assert reply.usage.output_tokens == thought + 3


async def test_thinking_that_eats_the_larger_limit_too_is_a_clear_error() -> None:
    cut = empty(finish="length", thinking="hm", usage=Usage(1, 10, 2000))
    with pytest.raises(
        ModelError, match=r"limit of 8,000 tokens before any text, only thinking: raise"
    ) as failed:
        await Caller(ScriptedModel([cut, cut])).call(replace(ask(), max_tokens=2000))
    assert failed.value.kind == "empty"
    assert failed.value.usage == Usage(2, 20, 4000)


async def test_a_server_that_refuses_the_larger_limit_leaves_the_first_error() -> None:
    cut = empty(finish="length", thinking="hm", usage=Usage(1, 10, 2000))
    model = ScriptedModel([cut, ModelError("bad_request", "max_tokens is too large")])
    with pytest.raises(ModelError, match="limit of 2,000 tokens before any text, only thinking") as failed:
        await Caller(model).call(replace(ask(), max_tokens=2000))
    assert (failed.value.kind, failed.value.usage) == ("empty", Usage(1, 10, 2000))


async def test_calls_settle_at_what_the_server_allows() -> None:
    """A server that takes four at a time, and 200 calls that begin 64 at a time."""
    busy = refused = 0

    async def reply(_: object) -> str | ModelError:
        nonlocal busy, refused
        if busy >= 4:
            refused += 1
            return ModelError("rate_limit", "too many")
        busy += 1
        try:
            await asyncio.sleep(0.001)
            return "fine"
        finally:
            busy -= 1

    caller = Caller(ScriptedModel(reply), concurrency=64, backoff=0.002)
    replies = await asyncio.gather(*(caller.call(ask(str(i))) for i in range(200)))
    assert [r.text for r in replies] == ["fine"] * 200
    assert caller.gate.open == 0
    assert caller.gate.allowed < 64
    assert refused < 2_000


async def test_a_rate_limit_that_lets_nobody_through_is_an_error() -> None:
    model = ScriptedModel(lambda _: ModelError("rate_limit", "too many"))
    caller = Caller(model, attempts=3, backoff=0.001)
    done = await asyncio.gather(*(caller.call(ask()) for _ in range(5)), return_exceptions=True)
    assert [e.kind for e in done if isinstance(e, ModelError)] == ["rate_limit"] * 5
    assert caller.gate.open == 0
    assert len(model.requests) == 30  # each twice as often as a call that fails


async def test_code_in_a_tool_call_is_not_an_empty_reply() -> None:
    model = ScriptedModel([empty(code=("print(1)",), finish="tool")])
    assert (await Caller(model).call(ask())).code == ("print(1)",)


async def test_an_error_of_the_second_try_keeps_what_the_first_cost() -> None:
    model = ScriptedModel([empty(cost=0.5), ModelError("bad_request", "no")])
    with pytest.raises(ModelError) as failed:
        await Caller(model).call(ask())
    assert (failed.value.kind, failed.value.cost) == ("bad_request", 0.5)
    assert failed.value.usage == Usage(calls=1, output_tokens=3)


async def test_a_retryable_error_is_sent_again_up_to_the_attempts() -> None:
    model = ScriptedModel([ModelError("server", "boom")] * 3)
    with pytest.raises(ModelError, match="boom"):
        await Caller(model, attempts=3, backoff=0.001).call(ask())
    assert len(model.requests) == 3


async def test_the_wait_grows_and_is_jittered() -> None:
    moments: list[float] = []

    def note(_: object) -> ModelError:
        moments.append(time.monotonic())
        return ModelError("server", "boom")

    with pytest.raises(ModelError):
        await Caller(ScriptedModel(note), attempts=4, backoff=0.02).call(ask())
    waits = [b - a for a, b in pairwise(moments)]
    assert waits[0] >= 0.02
    assert waits[2] >= 0.08


async def test_what_cannot_help_is_not_sent_again() -> None:
    kinds: tuple[FailureKind, ...] = ("auth", "bad_request", "unknown_model", "too_long")
    for kind in kinds:
        model = ScriptedModel([ModelError(kind, "no")])
        with pytest.raises(ModelError):
            await Caller(model).call(ask())
        assert len(model.requests) == 1


async def test_a_server_that_asks_for_a_very_long_pause_has_failed() -> None:
    model = ScriptedModel([ModelError("rate_limit", "come back tomorrow", retry_after=86_400)])
    with pytest.raises(ModelError, match="tomorrow"):
        await Caller(model).call(ask())


async def test_the_smaller_timeout_counts_and_is_a_typed_error() -> None:
    model = ScriptedModel(lambda m: "late", latency=30)
    with pytest.raises(ModelError, match=r"no reply within 0\.02 s") as failed:
        await Caller(model, timeout=0.02, attempts=1).call(ask())
    assert failed.value.kind == "timeout"
    with pytest.raises(ModelError, match=r"within 0\.03 s"):
        await Caller(model, timeout=10, attempts=1).call(ask(timeout=0.03))
    assert model.cancelled == 2


class Awaited:
    """A model whose replies are no coroutines, and which may hear of a cancellation and go on."""

    info = ModelInfo("awaited:model")

    def __init__(self, work: Callable[[], Awaitable[ModelReply]]) -> None:
        self._work = work

    def complete(self, request: ModelRequest) -> Awaitable[ModelReply]:
        return self._work()

    async def close(self) -> None:
        return


async def test_a_reply_may_be_anything_that_can_be_awaited() -> None:
    ready: asyncio.Future[ModelReply] = asyncio.get_running_loop().create_future()
    ready.set_result(empty(text="ready"))
    assert (await Caller(Awaited(lambda: ready)).call(ask())).text == "ready"  # type: ignore[arg-type]
    later: asyncio.Future[ModelReply] = asyncio.get_running_loop().create_future()
    call = asyncio.create_task(Caller(Awaited(lambda: later)).call(ask()))  # type: ignore[arg-type]
    asyncio.get_running_loop().call_soon(later.set_result, empty(text="later"))
    assert (await call).text == "later"


async def test_a_model_hears_of_a_cancellation_where_it_waits_and_may_wait_again_before_it_goes() -> None:
    begun, heard, tidied = asyncio.Event(), list[str](), asyncio.Event()

    async def work() -> ModelReply:
        try:
            begun.set()
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            heard.append("cancelled")
            await asyncio.sleep(0)
            tidied.set()
            raise
        raise AssertionError("nobody sets that event")

    caller = Caller(Awaited(work), concurrency=1)  # type: ignore[arg-type]
    call = asyncio.create_task(caller.call(ask()))
    await begun.wait()
    call.cancel()
    with pytest.raises(asyncio.CancelledError):
        await call
    assert heard == ["cancelled"]
    assert tidied.is_set()
    assert caller.gate.open == 0


async def test_the_time_of_a_call_runs_from_its_beginning_not_from_when_it_first_waits() -> None:
    async def work() -> ModelReply:
        time.sleep(0.06)  # noqa: ASYNC251 (it computes before it waits)
        await asyncio.sleep(0.01)
        return empty(text="late")

    with pytest.raises(ModelError, match=r"no reply within 0\.05 s"):
        await Caller(Awaited(work), timeout=0.05, attempts=1).call(ask())  # type: ignore[arg-type]


async def test_a_push_back_halves_what_is_let_in_and_success_raises_it_again() -> None:
    gate = Gate(8)
    gate.pushed_back(None)
    gate.pushed_back(None)  # of the same burst
    assert gate.allowed == 4
    for _ in range(4 + 5 + 6 + 7):
        gate.went_well()
    assert gate.allowed == 8
    for _ in range(100):
        gate.went_well()
    assert gate.allowed == 8


async def test_a_pause_holds_newcomers_too() -> None:
    gate = Gate(8)
    gate.pushed_back(0.05)
    started = time.monotonic()
    await gate.enter()
    assert time.monotonic() - started >= 0.045
    gate.leave()
    assert gate.open == 0


async def test_a_call_costs_little() -> None:
    caller = Caller(ScriptedModel(lambda m: "x"))
    request = ask()
    for _ in range(200):
        await caller.call(request)
    gc.collect()
    started = time.process_time()
    for _ in range(2_000):
        await caller.call(request)
    assert (time.process_time() - started) / 2_000 < 0.0005
