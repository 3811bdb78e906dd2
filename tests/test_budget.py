"""The tree of limits, and the purses that spend from it."""

from __future__ import annotations

import asyncio

import pytest

from unspool import Budget, ConfigError, Message, ModelInfo, ModelRequest, Usage
from unspool.budget import Amount, Meter, OverBudget
from unspool.models.protocol import Price
from unspool.purse import Purse, prompt_tokens, worst_case

CALL = Amount(calls=1)
INFO = ModelInfo("scripted:m", price=Price(1e-6, 2e-6))


def ask(text: str = "hi", max_tokens: int | None = None) -> ModelRequest:
    return ModelRequest((Message("user", text),), max_tokens=max_tokens)


def words(meter: Meter, amount: Amount) -> str:
    blocked = meter.block(amount)
    return "" if blocked is None else blocked.words


def test_a_child_spends_from_every_ancestor() -> None:
    root = Meter(Budget(calls=3))
    child = Meter(Budget(), parent=root, owner="node 0.1")
    grandchild = Meter(Budget(calls=2), parent=child, owner="node 0.1.1")
    grandchild.book(CALL)
    grandchild.book(CALL)
    assert words(grandchild, CALL) == "the limit of 2 sub-calls of node 0.1.1"
    child.book(CALL)
    assert words(child, CALL) == "the limit of 3 sub-calls of the run"
    assert (root.spent.calls, child.spent.calls, grandchild.spent.calls) == (3, 3, 2)


@pytest.mark.parametrize(
    ("budget", "amount", "said"),
    [
        (Budget(usd=0.5), Amount(usd=0.51), "the limit of $0.5 of node 0.1"),
        (Budget(tokens=10_000), Amount(tokens=10_001), "the limit of 10,000 tokens of node 0.1"),
        (Budget(calls=1), Amount(calls=2), "the limit of 1 sub-call of node 0.1"),
    ],
)
def test_a_limit_says_what_and_whose_it_is(budget: Budget, amount: Amount, said: str) -> None:
    meter = Meter(budget, parent=Meter(Budget()), owner="node 0.1")
    assert words(meter, amount) == said
    assert words(meter, Amount(amount.calls // 2, amount.tokens // 2, amount.usd / 2)) == ""


def test_what_is_held_stands_in_the_way_for_a_while_and_what_is_spent_for_ever() -> None:
    root = Meter(Budget(tokens=100))
    child = Meter(Budget(), parent=root)
    child.hold(Amount(tokens=80))
    blocked = root.block(Amount(tokens=30))
    assert blocked is not None
    assert blocked.passes
    child.release(Amount(tokens=80))
    child.book(Amount(tokens=80))
    blocked = root.block(Amount(tokens=30))
    assert blocked is not None
    assert not blocked.passes
    assert child.left()["tokens"] == 20


def test_time_by_a_virtual_clock() -> None:
    now = 0.0
    root = Meter(Budget(seconds=10), clock=lambda: now)
    now = 4.0
    child = Meter(Budget(seconds=30), parent=root, owner="node 0.1", clock=lambda: now)
    deadline = child.deadline()
    assert deadline == (6.0, "the time limit of 10 s of the run")
    now = 99.0
    assert child.left() == {"usd": None, "tokens": None, "calls": None, "seconds": 0.0}


def test_no_limit_is_none() -> None:
    assert set(Meter(Budget()).left().values()) == {None}
    assert Meter(Budget()).deadline() is None
    assert list(Meter(Budget()).low()) == []


def test_what_is_low_is_told_once_with_its_limit() -> None:
    now = 0.0
    root = Meter(Budget(usd=1, tokens=3_000, calls=9, seconds=60), clock=lambda: now)
    child = Meter(Budget(calls=5), parent=root)
    assert list(child.low()) == []
    child.book(Amount(4, 2_100, 0.7))
    now = 45.0
    assert list(child.low()) == [
        "1 of 5 sub-calls",
        "$0.3000 of $1",
        "900 of 3,000 tokens",
        "15 of 60 s",
    ]


def test_the_ledger_keeps_roles_apart_and_unknown_cost_unknown() -> None:
    meter = Meter(Budget())
    child = Meter(Budget(), parent=meter)
    child.settle("sub", "m", Usage(1, 5, 1), 0.25)
    child.settle("sub", "m", Usage(1, 5, 1), 0.25)
    meter.settle("root", "m", Usage(1, 7, 2), 1.0)
    assert [(line.role, line.usage.input_tokens, line.cost) for line in meter.ledger] == [
        ("root", 7, 1.0),
        ("sub", 10, 0.5),
    ]
    assert (meter.total.usage.calls, meter.total.cost) == (3, 1.5)
    assert child.total.cost == 0.5
    child.settle("sub", "m", Usage(1), None)
    assert meter.total.cost is None
    child.settle("sub", "m", Usage(1), 0.1)
    assert meter.total.cost is None


@pytest.mark.parametrize(
    "limits",
    [
        {"usd": -1},
        {"usd": float("nan")},
        {"tokens": -1},
        {"calls": -1},
        {"seconds": 0},
        {"seconds": -2.0},
        {"seconds": float("nan")},
        {"turns": 0},
        {"depth": -1},
    ],
)
def test_limits_that_make_no_sense_are_named(limits: dict[str, float]) -> None:
    with pytest.raises(ConfigError, match=next(iter(limits))):
        Budget(**limits)  # type: ignore[arg-type]


# Purses


def test_the_worst_case_is_never_less_than_a_token_a_byte() -> None:
    assert prompt_tokens(ask("x" * 1000)) >= 1000
    assert prompt_tokens(ask("語" * 1000)) >= 3000
    schema = {"type": "object", "description": "y" * 500}
    assert prompt_tokens(ModelRequest((Message("user", ""),), schema=schema)) >= 500
    assert worst_case(10, 5, Price(0.1, 0.2, 1.0)).usd == pytest.approx(3.0)


async def test_a_call_that_was_never_sent_gives_its_place_back() -> None:
    meter = Meter(Budget(calls=1))
    with Purse(meter, "sub", "m"):
        assert meter.spent.calls == 1
    assert meter.spent.calls == 0
    with Purse(meter, "sub", "m") as purse:
        await purse.reserve(ask(), INFO)
        purse.refused()
    assert meter.spent.calls == 1
    with pytest.raises(OverBudget, match="1 sub-call of the run"), Purse(meter, "sub", "m"):
        pass


async def test_asking_again_that_is_refused_gives_its_place_back_too() -> None:
    meter = Meter(Budget(calls=5, tokens=1_000))
    with Purse(meter, "sub", "m") as purse:
        await purse.reserve(ask(max_tokens=600), INFO)
        purse.served(Usage(1, 300, 600), 0.0)
        with pytest.raises(OverBudget, match="1,000 tokens"):
            await purse.reserve(ask(max_tokens=600), INFO)
    assert meter.spent == Amount(1, 900, 0.0)


async def test_a_send_after_one_that_was_served_is_a_call_of_its_own() -> None:
    meter = Meter(Budget(calls=2))
    with Purse(meter, "sub", "m") as purse:
        for _ in range(3):  # refused by the server: the same call
            await purse.reserve(ask(), INFO)
            purse.refused()
        await purse.reserve(ask(), INFO)
        purse.served(Usage(1, 3, 1), 0.5)
        await purse.reserve(ask(), INFO)
        purse.lost()
        with pytest.raises(OverBudget):
            await purse.reserve(ask(), INFO)
    assert (meter.spent.calls, meter.unsure) == (2, 1)
    assert (purse.usage, purse.cost) == (Usage(1, 3, 1), 0.5)
    assert meter.ledger[0].usage == purse.usage


async def test_what_a_reply_does_not_report_counts_as_the_worst_case() -> None:
    meter = Meter(Budget(tokens=100_000, usd=1))
    with Purse(meter, "sub", "m") as purse:
        sent = await purse.reserve(ask(max_tokens=50), INFO)
        purse.served(Usage(1, calls_unmeasured=1), None)
    assert meter.spent.tokens == prompt_tokens(sent) + 50
    assert meter.spent.usd == pytest.approx(prompt_tokens(sent) * 1e-6 + 50 * 2e-6)
    assert purse.cost is None
    assert meter.held == Amount()


async def test_a_call_waits_for_those_under_way_and_takes_what_they_leave() -> None:
    meter = Meter(Budget(tokens=1_000))
    first, second = Purse(meter, "sub", "m"), Purse(meter, "sub", "m")
    with first, second:
        await first.reserve(ask(max_tokens=800), INFO)
        waiting = asyncio.create_task(second.reserve(ask(max_tokens=800), INFO))
        await asyncio.sleep(0)
        assert not waiting.done()
        first.served(Usage(1, 10, 10), 0.0)
        assert (await waiting).max_tokens == 800
        assert meter.spent.tokens + meter.held.tokens <= 1_000


async def test_alone_a_call_gets_a_shorter_reply_and_at_last_none() -> None:
    meter = Meter(Budget(tokens=1_000))
    with Purse(meter, "sub", "m") as purse:
        sent = await purse.reserve(ask(max_tokens=5_000), INFO)
        assert sent.max_tokens == 1_000 - prompt_tokens(sent)
        purse.served(Usage(1, 400, 400), 0.0)
        with pytest.raises(OverBudget, match="1,000 tokens of the run has no room"):
            await purse.reserve(ask(max_tokens=5_000), INFO)
        assert (await purse.reserve(ask(max_tokens=60), INFO)).max_tokens == 60


async def test_without_a_limit_on_tokens_or_dollars_nothing_is_changed() -> None:
    with Purse(Meter(Budget(calls=5)), "sub", "m") as purse:
        assert (await purse.reserve(ask(), ModelInfo("scripted:m"))).max_tokens is None


async def test_a_cancelled_wait_holds_nothing() -> None:
    meter = Meter(Budget(usd=0.01))
    first, second = Purse(meter, "sub", "m"), Purse(meter, "sub", "m")
    with first, second:
        await first.reserve(ask(max_tokens=4_500), INFO)
        waiting = asyncio.create_task(second.reserve(ask(max_tokens=4_500), INFO))
        await asyncio.sleep(0)
        waiting.cancel()
        with pytest.raises(asyncio.CancelledError):
            await waiting
        first.served(Usage(1, 1, 1), 0.001)
    assert (meter.held, meter.spent) == (Amount(), Amount(1, 2, 0.001))


async def test_a_call_that_took_more_than_was_thought_possible_makes_the_next_ones_dearer() -> None:
    meter = Meter(Budget(usd=1))
    for _ in range(6):
        with Purse(meter, "sub", "m") as purse:
            await purse.reserve(ask(max_tokens=10), INFO)
            purse.served(Usage(1, 10, 1), 0.15)  # by its price, it could have cost 0.0001
    with Purse(meter, "sub", "m") as purse, pytest.raises(OverBudget, match=r"the limit of \$1 of the run"):
        await purse.reserve(ask(max_tokens=10), INFO)
    assert meter.spent.usd <= 1
