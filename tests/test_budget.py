"""The tree of limits."""

from __future__ import annotations

import pytest

from unspool import Budget, ConfigError, Usage
from unspool.budget import Meter, OverBudget


def test_a_child_spends_from_every_ancestor() -> None:
    root = Meter(Budget(calls=3))
    child = Meter(Budget(), parent=root, owner="node 0.1")
    grandchild = Meter(Budget(calls=2), parent=child, owner="node 0.1.1")
    grandchild.take_call()
    grandchild.take_call()
    with pytest.raises(OverBudget, match=r"2 sub-calls of node 0\.1\.1"):
        grandchild.take_call()
    child.take_call()
    with pytest.raises(OverBudget, match="3 sub-calls of the run"):
        child.take_call()
    assert (root.calls, child.calls, grandchild.calls) == (3, 3, 2)


def test_a_refused_call_counts_nowhere() -> None:
    root = Meter(Budget(calls=0))
    child = Meter(Budget(calls=5), parent=root)
    with pytest.raises(OverBudget):
        child.take_call()
    assert child.calls == 0


def test_time_by_a_virtual_clock() -> None:
    now = 0.0
    root = Meter(Budget(seconds=10), clock=lambda: now)
    now = 4.0
    child = Meter(Budget(seconds=30), parent=root, owner="node 0.1", clock=lambda: now)
    deadline = child.deadline()
    assert deadline == (6.0, "the time limit of 10 s of the run")
    now = 99.0
    assert child.left() == {"calls": None, "seconds": 0.0}


def test_no_limit_is_none() -> None:
    assert Meter(Budget()).left() == {"calls": None, "seconds": None}
    assert Meter(Budget()).deadline() is None


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
    assert (meter.usage.calls, meter.cost) == (3, 1.5)
    assert child.cost == 0.5
    child.settle("sub", "m", Usage(1), None)
    assert meter.cost is None
    child.settle("sub", "m", Usage(1), 0.1)
    assert meter.cost is None


@pytest.mark.parametrize(
    "limits", [{"calls": -1}, {"seconds": 0}, {"seconds": -2.0}, {"seconds": float("nan")}]
)
def test_limits_that_make_no_sense_are_named(limits: dict[str, float]) -> None:
    with pytest.raises(ConfigError, match=next(iter(limits))):
        Budget(**limits)  # type: ignore[arg-type]
