"""Sub-calls that a limit did not let through were never sent: no figure counts them as made."""

from __future__ import annotations

import json
from dataclasses import replace
from functools import reduce
from pathlib import Path

from unspool import RLM, Budget
from unspool.cli.paint import painted
from unspool.cli.report import lines
from unspool.cli.tree import tree
from unspool.cli.view import View, fold
from unspool.events import CellEnded
from unspool.journal import Journal
from unspool.run_index import RunIndex
from unspool.testing import ScriptedModel
from unspool.trace import folded
from unspool.types import FailedCall, Run, Usage, was_refused

from .helpers import py

BATCH = py("r = llm_query_batched(['a', 'b', 'c', 'd', 'e'])\nprint([bool(each) for each in r])")


def asked(folder: Path) -> Run:
    root = ScriptedModel([BATCH, py("submit(sum(map(bool, r)))")])
    engine = RLM(root, sub_model=ScriptedModel(["yes"] * 9), budget=Budget(calls=2), runs=folder)
    return engine.run("q", "text")


def test_a_run_counts_what_was_made(tmp_path: Path) -> None:
    run = asked(tmp_path)
    assert (run.answer, run.sub_calls, run.ledger[-1].usage.calls) == (2, 2, 2)
    assert "2 sub-calls" in repr(run)
    (row,) = RunIndex(Journal(tmp_path)).rows()
    assert row.sub_calls == 2
    calls = run.trace.turns[0].cells[0].sub_calls
    assert [call.refused for call in calls].count(True) == 3  # they are told of all the same


def test_it_is_shown_so(tmp_path: Path) -> None:
    events = Journal(tmp_path).read(asked(tmp_path).id)
    told: list[str] = []
    view = View()
    for event in events:
        view = fold(view, event)
        if isinstance(event, CellEnded):
            told += [line.text for line in lines(view, event, show_code=False)]
    assert "2 sub-calls, 3 sub-calls refused for a limit" in told[0]
    assert (view.calls_done, view.calls_all, view.calls_failed) == (2, 2, 0)
    root = folded(events).root()
    assert root is not None
    assert "2 sub-calls, 3 refused for a limit" in [painted(row, colour=False) for row in tree(root)][1]


def test_what_is_made_after_all_counts(tmp_path: Path) -> None:
    """A run that was stopped in the cell goes on under a higher limit: the same calls, now sent."""
    run = asked(tmp_path)
    path = tmp_path / run.id / "events.jsonl"
    kept = path.read_text().splitlines(keepends=True)
    cut = next(number for number, line in enumerate(kept) if json.loads(line)["kind"] == "cell.ended")
    path.write_text("".join(kept[:cut]))
    assert RunIndex(Journal(tmp_path)).rows()[0].sub_calls == 2
    root = ScriptedModel([py("submit(sum(map(bool, r)))")])
    engine = RLM(root, sub_model=ScriptedModel(["yes"] * 9), budget=Budget(calls=9), runs=tmp_path)
    again = engine.resume(run.id, "text")
    assert (again.answer, again.sub_calls) == (5, 5)
    assert RunIndex(Journal(tmp_path)).rows()[0].sub_calls == 5
    view = reduce(fold, Journal(tmp_path).read(run.id), View())
    assert (view.calls_done, view.calls_all) == (5, 5)


def test_what_was_sent_once_was_made() -> None:
    over = FailedCall("budget", "over budget")
    assert was_refused(over, Usage())
    assert not was_refused(over, Usage(calls=1))  # its first reply did not fit, and was paid for
    assert not was_refused(replace(over, kind="server"), Usage())
    assert not was_refused(None, Usage())
