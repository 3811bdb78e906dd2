"""A run that is followed: what is kept up event by event is what the whole of it says, and news cost little."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from unspool import events as ev
from unspool.journal import EVENTS_FILE, Journal
from unspool.types import Node, Usage, known_sum
from unspool.viewer.followed import Followed, Seen
from unspool.viewer.readers import map_told
from unspool.viewer.stamps import Stamps
from unspool.viewer.tally import Tally, spent_by
from unspool.viewer.texts import Texts
from unspool.viewer.told import calls_told, node_told, run_told, turn_told

from .. import stories
from .conftest import SECONDS, with_map


def events_of(make: Callable[[Path], object], folder: Path) -> Sequence[ev.Event]:
    make(folder)
    journal = Journal(folder)
    return journal.read(journal.runs()[-1])


STORIES = {
    "children": stories.with_children,
    "hostile": stories.hostile,
    "branches": stories.with_branches,
    "map": with_map,
}


def naive(node: Node) -> tuple[list[int], Usage, float | None]:
    calls = [call for each in node.walk() for call in each.calls()]
    counts = [
        sum(not call.refused for call in calls),
        sum(call.error is not None and not call.refused for call in calls),
        sum(call.ended is None for call in calls),
    ]
    return (counts, *node.spent())


def ledger(tally: Tally) -> set[object]:
    def rounded(cost: float | None) -> float | None:
        return None if cost is None else round(cost, 9)  # sums of floats in another order

    return {
        (each.role, each.model, each.usage, each.reused, rounded(each.cost), rounded(each.reused_cost))
        for each in tally.ledger()
    }


def check(seen: Seen) -> None:
    """What is kept up is what the tree says, all of it anew."""
    total, usage, cost = [0, 0, 0], Usage(), 0.0
    for root in seen.roots:
        counts, more, price = naive(root)
        assert spent_by(seen.tally, root) == (more, pytest.approx(price))
        total = [a + b for a, b in zip(total, counts, strict=True)]
        usage, cost = usage + more, known_sum(cost, price)  # type: ignore[assignment]
    told = run_told(seen, Texts(seen))
    in_all = seen.tally.in_all()
    assert [in_all.calls, in_all.failed, in_all.waiting] == total
    if seen.ended is None:
        assert (told["usage"]["calls"], told["cost"]) == (usage.calls, pytest.approx(cost))  # type: ignore[index]
    anew = Tally.of(seen.nodes.values())
    assert seen.tally.counts == anew.counts
    assert seen.tally.blocked == anew.blocked
    assert ledger(seen.tally) == ledger(anew)
    assert set(seen.calls) == {call.id for node in seen.nodes.values() for call in node.calls()}


@pytest.mark.parametrize("name", STORIES)
def test_what_is_kept_up_is_what_the_whole_says_at_every_event(tmp_path: Path, name: str) -> None:
    events = events_of(STORIES[name], tmp_path)
    seen, rows = Seen("r"), dict[object, object]()
    since = 0
    for number, event in enumerate(events, 1):
        seen.add(event)
        check(seen)
        whole = Seen.of("r", events[:number])
        assert run_told(seen, Texts(seen)) == run_told(whole, Texts(whole))
        for node in seen.nodes.values():
            assert node_told(seen, Texts(seen), node) == node_told(whole, Texts(whole), whole.nodes[node.id])
            for turn in node.turns:
                other = whole.turns[node.id, turn.number]
                assert turn_told(seen, Texts(seen), node, turn) == turn_told(
                    whole, Texts(whole), whole.nodes[node.id], other
                )
        told = calls_told(seen, since)
        rows.update((row[0], row) for row in told["rows"])  # type: ignore[attr-defined]
        since = told["seq"]  # type: ignore[assignment]
    at_once = {row[0]: row for row in calls_told(seen, 0)["rows"]}  # type: ignore[attr-defined]
    assert rows == at_once
    if name == "map":
        assert map_told(seen) == map_told(Seen.of("r", events))


def test_what_no_longer_counts_is_taken_back(tmp_path: Path) -> None:
    events = list(events_of(stories.with_children, tmp_path))
    seen = Seen.of("r", events)
    assert len(seen.nodes) == 3
    before = dict(seen.calls)
    seq = events[-1].seq
    resumed = ev.RunResumed(run="r", seq=seq + 1, time=events[-1].time)
    first = next(event for event in events if isinstance(event, ev.CellEnded))
    seen.add(resumed)
    check(seen)
    seen.add(ev.Diverged(node="0", turn=1, cell=first.cell, reason="?", seq=seq + 2, time=events[-1].time))
    check(seen)
    assert list(seen.nodes) == ["0"]
    assert seen.dropped == 1
    assert set(seen.calls) == set(before)  # all were in the first cell
    again = [event for event in events if event.seq > first.seq and not isinstance(event, ev.RunEnded)]
    for number, event in enumerate(again, seq + 3):
        object.__setattr__(event, "seq", number)
        seen.add(event)
        check(seen)
    assert len(seen.nodes) == 3


def test_a_journal_that_is_followed_is_read_once(tmp_path: Path) -> None:
    """5,000 sub-calls, 50 events at a time: what each look costs does not grow with what is there."""
    run = stories.long(tmp_path, 5_000)
    path = tmp_path / run.id / EVENTS_FILE
    lines = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(b"")
    followed, since, took = Followed(Journal(tmp_path), run.id), 0, 0.0
    with path.open("ab", buffering=0) as file:
        for at in range(0, len(lines), 50):
            file.write(b"".join(lines[at : at + 50]))
            begun = time.thread_time()
            with followed.seen() as seen:
                run_told(seen, Texts(seen))
                told = calls_told(seen, since)
            took += time.thread_time() - begun
            since = told["seq"]  # type: ignore[assignment]
            assert len(told["rows"]) <= 50  # type: ignore[arg-type]
    assert len(seen.calls) == 5_000
    assert took < 4  # about 0.7 s; folding all of it at each look takes 6


WRITER = """
import sys
from unspool.events import TurnStarted
from unspool.journal import Journal
journal = Journal(sys.argv[1])
journal.open("r1")
journal.append("r1", TurnStarted(node="0", turn=1))
print("written", flush=True)
sys.stdin.read()
"""


def test_the_end_of_another_process_is_news_though_it_writes_nothing(tmp_path: Path) -> None:
    stamps = Stamps(Journal(tmp_path))
    process = subprocess.Popen(
        [sys.executable, "-c", WRITER, str(tmp_path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    assert process.stdout is not None
    assert process.stdin is not None
    assert process.stdout.readline() == b"written\n"
    going = stamps.of("r1")
    assert going is not None
    assert going.written
    assert stamps.of("r1") == going
    process.kill()
    process.wait(SECONDS)
    process.stdin.close()
    process.stdout.close()
    stopped = stamps.of("r1")
    assert stopped is not None
    assert (stopped.written, stopped.size) == (False, going.size)


def test_runs_that_nobody_writes_cost_no_lock(tmp_path: Path) -> None:
    journal = Journal(tmp_path)
    for number in range(20):
        journal.open(f"r{number}")
        journal.append(f"r{number}", ev.TurnStarted(node="0", turn=1))
        if number:
            journal.close(f"r{number}")
    stamps = Stamps(journal)
    first = stamps.all()
    assert stamps.tried == 20
    assert [run for run, stamp in first.items() if stamp is not None and stamp.written] == ["r0"]
    for _ in range(10):
        assert stamps.all() == first
    assert stamps.tried == 30  # that of the one that is written
    journal.open("r7")  # goes on
    journal.append("r7", ev.TurnStarted(node="0", turn=2))
    later = stamps.all()["r7"]
    assert later is not None
    assert later.written
    journal.close("r7")
    journal.close("r0")
    assert not any(stamp.written for stamp in stamps.all().values() if stamp is not None)
