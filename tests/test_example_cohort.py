"""The example of the three tables: short for its user, and exact against pandas run directly."""

from __future__ import annotations

import asyncio
import importlib.util
import inspect
from pathlib import Path
from types import ModuleType

import pandas
import pytest

from unspool import RLM
from unspool.testing import ScriptedModel

from .engine.helpers import py

EXAMPLE = Path(__file__).parents[1] / "examples" / "cohort.py"

LOOK = """
for name, table in context.items():
    print(name, table.shape, list(table.columns))
print(users.signed_up.min(), users.channel.unique().tolist())
"""
COUNT = """
import pandas as pd
cohort = users[(users.signed_up >= "2026-01-01") & (users.signed_up < "2026-04-01")]
early = events.merge(cohort[["user_id", "signed_up"]], on="user_id")
early = early[early.time - early.signed_up < pd.Timedelta(days=7)]
counts = early.groupby("user_id").size()
active = cohort[cohort.user_id.isin(counts[counts >= 5].index)]
paid = subscriptions[~subscriptions.refunded].merge(active, on="user_id")
paid = paid[paid.started - paid.signed_up <= pd.Timedelta(days=30)].user_id.unique()
shares = active.user_id.isin(paid).groupby(active.channel, observed=True).mean()
print(len(active), shares)
"""
SUBMIT = "submit((shares.max(), shares.idxmax()))"


@pytest.fixture(scope="module")
def example() -> ModuleType:
    spec = importlib.util.spec_from_file_location("cohort_example", EXAMPLE)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def directly(
    users: pandas.DataFrame, events: pandas.DataFrame, subscriptions: pandas.DataFrame
) -> tuple[float, str]:
    """The same question in plain loops over rows: another way than that of the model's code."""
    first, end = pandas.Timestamp("2026-01-01"), pandas.Timestamp("2026-04-01")
    people = {
        row.user_id: (row.signed_up, row.channel)
        for row in users.itertuples()
        if first <= row.signed_up < end
    }
    seen = dict.fromkeys(people, 0)
    for user, time in zip(events["user_id"], events["time"], strict=True):
        if user in people and time - people[user][0] < pandas.Timedelta(days=7):
            seen[user] += 1
    active = {user for user, count in seen.items() if count >= 5}
    paid = {
        row.user_id
        for row in subscriptions.itertuples()
        if row.user_id in active
        and not row.refunded
        and row.started - people[row.user_id][0] <= pandas.Timedelta(days=30)
    }
    shares = {}
    for channel in {people[user][1] for user in active}:
        group = {user for user in active if people[user][1] == channel}
        shares[channel] = len(group & paid) / len(group)
    best = max(shares, key=lambda channel: shares[channel])
    return shares[best], best


def test_the_answer_is_typed_and_exact(example: ModuleType) -> None:
    tables = example.tables()
    assert [len(table) for table in tables] == [10_000, 250_000, 10_000]
    with RLM(ScriptedModel([py(LOOK), py(COUNT), py(SUBMIT)]), runs=False) as rlm:
        run = example.ask(rlm, *tables)
    assert run.status == "answered", run.reason
    share, channel = run.answer
    assert (type(share), type(channel)) == (float, str)
    assert (share, channel) == directly(*tables)
    assert 0.05 < share < 0.95


def test_the_example_tells_of_each_turn_as_it_goes(
    example: ModuleType, capsys: pytest.CaptureFixture[str]
) -> None:
    tables = example.tables()
    with RLM(ScriptedModel([py(LOOK), py(COUNT), py(SUBMIT)]), runs=False) as rlm:
        ended = asyncio.run(example.watch(rlm, *tables))
    assert (ended.status, ended.answer) == ("answered", directly(*tables))
    begun, *lines = capsys.readouterr().out.splitlines()
    assert begun == "asks scripted:model, for at most 600 seconds"
    assert [line.partition(":")[0] for line in lines] == [f"turn {n}" for n in (1, 1, 2, 2, 3, 3)]


def test_a_near_miss_tells_the_model_which_part_is_wrong(example: ModuleType) -> None:
    wrong = "submit((shares.idxmax(), shares.max()))"
    with RLM(ScriptedModel([py(LOOK), py(COUNT), py(wrong), py(SUBMIT)]), runs=False) as rlm:
        run = example.ask(rlm, *example.tables())
    error = run.trace.turns[2].cells[0].error
    assert error is not None
    assert "0: " in error.message
    assert run.status == "answered"


def test_a_user_writes_at_most_twenty_lines(example: ModuleType) -> None:
    lines = [line for line in inspect.getsource(example.ask).splitlines() if line.strip()]
    assert len(lines) <= 20
