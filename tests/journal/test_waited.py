"""The time until a sandbox had started is told apart from the model's."""

from __future__ import annotations

import threading
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from unspool import RLM, Message
from unspool import events as ev
from unspool.cli.paint import painted
from unspool.cli.timeline import timeline
from unspool.cli.tree import tree
from unspool.journal import Journal
from unspool.run_index import RunIndex
from unspool.testing import ScriptedModel
from unspool.trace import folded
from unspool.types import Usage

from ..engine.helpers import py

START = ev.NodeStarted(time=10.0, node="0", parent=None, depth=0, query="?", context="")
TURN = ev.TurnStarted(time=10.0, node="0", turn=1)
REPLY = ev.ModelReplied(
    time=10.5, node="0", turn=1, role="root", model="m", text="x", thinking="", code=(), finish="stop",
    usage=Usage(calls=1), cost=0.0, seconds=0.5, retries=0,
)  # fmt: skip
CELL = ev.CellStarted(time=13.0, node="0", turn=1, cell=1, code="1")
END = ev.CellEnded(
    time=13.25, node="0", turn=1, cell=1, outcome="ok", output="", printed=0, omitted=0, error=None, notes=(),
    seconds=0.25, own_seconds=0.25,
)  # fmt: skip


def rows(events: Sequence[ev.Event]) -> list[str]:
    root = folded(events).root()
    assert root is not None
    return [painted(row, colour=False) for row in tree(root)]


def test_the_start_of_the_sandbox_is_not_in_the_time_of_a_turn() -> None:
    told = [START, TURN, REPLY, CELL, END]
    root = folded(told).root()
    assert root is not None
    assert root.turns[0].waited == 2.5
    assert rows(told)[1] == "└─ turn 1  750 ms  1 line of code, 2.5 s until the sandbox had started"


def test_only_the_first_cell_of_a_node_waits() -> None:
    later = [replace(event, turn=2, time=event.time + 20) for event in (TURN, REPLY, replace(CELL, cell=2))]
    told = [START, TURN, REPLY, replace(CELL, time=10.5), replace(END, time=10.75), *later]
    assert "sandbox" not in "".join(rows(told))


def test_the_time_that_a_run_lay_still_is_none_of_it() -> None:
    resumed = ev.RunResumed(time=9_000.0, run="r")
    told = [START, TURN, REPLY, resumed, replace(CELL, time=9_001.0), replace(END, time=9_001.5)]
    assert "sandbox" not in "".join(rows(told))
    ended = ev.NodeEnded(time=9_002.0, node="0", status="answered", reason="", ledger=())
    again = [replace(TURN, turn=2, time=9_001.5), replace(REPLY, turn=2, time=9_002.0)]
    shown = rows([*told, *again, ended])
    assert shown[0] == "0  answered  2.5 s"
    assert shown[1].startswith("├─ turn 1  2.0 s  ")
    assert shown[2].startswith("└─ turn 2  500 ms  ")


def test_a_run_goes_on_from_when_it_was_resumed(tmp_path: Path) -> None:
    """What is asked of the model before the first new event is of the run, and not of the time it lay still."""
    begun = threading.Event()

    def reply(messages: tuple[Message, ...]) -> str:
        if begun.is_set():
            time.sleep(0.3)
        return py("print(1)") if not begun.is_set() else py("submit(1)")

    model = ScriptedModel(reply)
    run = RLM(model, runs=tmp_path, max_turns=1).run("?", "text")
    begun.set()
    time.sleep(0.2)  # it lies still
    done = RLM(model, runs=tmp_path, max_turns=3).resume(run.id, "text")
    builder = folded(Journal(tmp_path).read(run.id))
    ((start, end),) = builder.gaps
    assert end - start >= 0.2
    root = done.trace
    assert root.started is not None
    assert root.ended is not None
    lived = root.ended - root.started - root.paused
    assert 0.3 <= lived <= done.seconds + 0.1
    assert builder.lasted >= lived
    last = root.turns[-1]
    assert last.started is not None
    assert last.ended is not None
    assert last.ended - last.started - last.paused >= 0.3
    (row,) = RunIndex(Journal(tmp_path)).rows()
    assert row.seconds == done.seconds


def test_a_timeline_has_no_place_for_the_time_it_lay_still() -> None:
    resumed = ev.RunResumed(time=9_000.0, run="r")
    begun = replace(CELL, time=11.0)
    builder = folded([START, TURN, REPLY, begun, resumed, replace(END, time=9_002.0)])
    root = builder.root()
    assert root is not None
    model, cell = timeline([root], builder.lived)
    assert model.split()[:4] == ["0", "ms", "500", "ms"]
    assert cell.split()[:4] == ["1.0", "s", "2.0", "s"]
