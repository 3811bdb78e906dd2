"""The journal on disk: what is kept, how it is read again, and what it does when it cannot be written."""

from __future__ import annotations

import contextlib
import datetime
import decimal
import json
import os
import sqlite3
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import cast

import pytest

from unspool import RLM, FailedCall, Usage
from unspool.errors import JournalError, WrongSetting
from unspool.events import (
    EVENTS,
    AnswerAccepted,
    CallEnded,
    CallStarted,
    CellEnded,
    Event,
    ModelReplied,
    RunEnded,
    RunStarted,
)
from unspool.folders import runs_folder
from unspool.journal import RESERVE, SPARE, Journal
from unspool.run_index import RunIndex
from unspool.testing import Ask, Behaviour, FaultyServer, MemoryStore, ScriptedModel
from unspool.testing.behaviour import render
from unspool.types import CellError, LedgerLine

from ..engine.helpers import py

CHILDREN = [
    py("print(llm_query_batched(['a', 'b']))"),
    py("print(rlm_query('part?', context[:4]))"),
    py("print(len(context))\nsubmit('child')"),
    py("print(1 / 0)"),
    py("submit({'n': (1, 2), 'late': '" + "x" * 5000 + "'})"),
]


def journalled(folder: Path, replies: list[str], **settings: object) -> tuple[Journal, str, list[Event]]:
    """A finished run in this folder, and the events as they happened."""
    both = Both(Journal(folder))
    engine = RLM(ScriptedModel(replies), sub_model=ScriptedModel(lambda m: "r"), store=both, **settings)  # type: ignore[arg-type]
    run = engine.run("What is there?", "line one\nline two\n")
    return both.journal, run.id, both.memory.read(run.id)


class Both:
    """A journal, and beside it the same events in memory."""

    def __init__(self, journal: Journal) -> None:
        self.journal = journal
        self.memory = MemoryStore()

    def open(self, run: str) -> None:
        self.memory.open(run)
        self.journal.open(run)

    def append(self, run: str, event: Event) -> None:
        self.memory.append(run, event)
        self.journal.append(run, event)

    def read(self, run: str) -> list[Event]:
        return self.journal.read(run)

    def runs(self) -> list[str]:
        return self.journal.runs()

    def close(self, run: str) -> None:
        self.journal.close(run)


def files_in(folder: Path) -> list[Path]:
    """What is kept, without the space that is kept free."""
    return [path for path in folder.rglob("*") if path.is_file() and path.name != SPARE]


def test_the_events_of_a_run_come_back_as_they_were(tmp_path: Path) -> None:
    journal, run, events = journalled(tmp_path, CHILDREN)
    assert journal.read(run) == events
    assert Journal(tmp_path).runs() == [run]
    assert {e.kind for e in events} >= {"call.ended", "node.started", "answer.accepted", "run.ended"}


def test_every_line_is_json_with_its_kind_and_number(tmp_path: Path) -> None:
    journal, run, events = journalled(tmp_path, CHILDREN)
    lines = (journal.path(run) / "events.jsonl").read_bytes().splitlines()
    assert [json.loads(line)["seq"] for line in lines] == [e.seq for e in events]
    assert [json.loads(line)["kind"] for line in lines] == [e.kind for e in events]


def test_long_texts_are_put_away_once(tmp_path: Path) -> None:
    long = "x" * 5000
    cell = f"for _ in range(3): print(llm_query('{long}'))"
    journal, run, events = journalled(tmp_path, [py(cell), py("submit('ok')")])
    kept = list((journal.path(run) / "values").iterdir())
    assert journal.read(run) == events
    prompts = [p for p in kept if p.read_bytes() == long.encode()]
    assert len(prompts) == 1
    assert (journal.path(run) / "events.jsonl").stat().st_size < 5600


def test_the_context_is_never_copied_unless_asked(tmp_path: Path) -> None:
    secretly = "a line that stands in the input and nowhere else\n" * 500

    def kept(folder: Path, **settings: object) -> bytes:
        RLM(ScriptedModel([py("print(len(context))\nsubmit(1)")]), runs=folder, **settings).run("q", secretly)  # type: ignore[arg-type]
        return b"".join(p.read_bytes() for p in files_in(folder))

    assert len(kept(tmp_path / "a")) < len(secretly)
    assert secretly.encode() in kept(tmp_path / "b", keep_context=True)


def a_value(value: object) -> AnswerAccepted:
    return AnswerAccepted(node="0", turn=1, cell=1, value=value, via="submit")


@pytest.mark.parametrize(
    "value",
    [
        None, 0, 0.0, False, "", [], "text", "\ud800 lone", "\ud83d\ude00 two", "\0", "a\nb\r\u2028c", b"", b"\xff\0", 2**80, -1.5,
        float("inf"), (1, (2,)), {1: (2, 3), "s": {4}}, frozenset({1}), datetime.datetime(2026, 1, 2, 3, 4, 5, 6),
        datetime.date(2026, 1, 2), datetime.timedelta(1), decimal.Decimal("1.10"), 1 + 2j, [FailedCall("timeout", "slow")],
        "é" * 5000, b"\xff" * 6000, {"$": "not a reference"}, {"v": 1},
    ],
    ids=repr,
)  # fmt: skip
def test_any_plain_value_comes_back_as_itself(tmp_path: Path, value: object) -> None:
    journal = Journal(tmp_path)
    journal.open("r")
    event = a_value(value)
    journal.append("r", event)
    (read,) = journal.read("r")
    assert read == event
    assert isinstance(read, AnswerAccepted)
    assert type(read.value) is type(value)
    journal.close("r")


def test_a_value_that_is_no_data_is_kept_as_it_shows_itself(tmp_path: Path) -> None:
    journal = Journal(tmp_path)
    journal.open("r")
    journal.append("r", a_value(object()))
    journal.append("r", a_value(LedgerLine("sub", "m", Usage(), 0.5)))
    journal.close("r")
    first, second = journal.read("r")
    assert isinstance(first, AnswerAccepted)
    assert isinstance(second, AnswerAccepted)
    assert "object object" in str(first.value)
    assert isinstance(second.value, dict)
    assert second.value["cost"] == 0.5


def test_fields_that_are_zero_are_not_fields_that_are_unknown(tmp_path: Path) -> None:
    def replied(cost: float | None, usage: Usage) -> ModelReplied:
        return ModelReplied(
            node="0", turn=1, role="root", model="m", text="", thinking="", code=(), finish="stop",
            usage=usage, cost=cost, seconds=0.0, retries=0,
        )  # fmt: skip

    ended = CellEnded(
        node="0", turn=1, cell=1, outcome="error", output="", printed=0, omitted=0,
        error=CellError("E", "", "tb", None), notes=("a", ""), seconds=0.0, own_seconds=1.5,
    )  # fmt: skip
    line = LedgerLine("root", "m", Usage(calls=1), 0.0)
    last = RunEnded(
        run="r", status="answered", reason="", answer=0, draft=None, usage=Usage(), cost=0.0, ledger=(line,),
        turns=0, sub_calls=0, seconds=0.0,
    )  # fmt: skip
    mute = CallEnded(
        node="0", call=1, model="m", reply="", error=None, finish="stop", cost=0.0, seconds=0.0, retries=0,
        usage=Usage(calls=1, input_tokens=5, output_tokens=0, cached_tokens=0, reasoning_tokens=None),
    )  # fmt: skip
    lost = replace(mute, reply=None, finish=None, usage=Usage(), cost=None)
    events: list[Event] = [
        replied(None, Usage()), replied(0.0, Usage(calls=1, input_tokens=7)), ended, mute, lost, last,
    ]  # fmt: skip
    journal = Journal(tmp_path)
    journal.open("r")
    for event in events:
        journal.append("r", event)
    journal.close("r")
    assert journal.read("r") == events


def test_the_lines_of_a_sub_call_are_as_earlier_versions_wrote_them(tmp_path: Path) -> None:
    started = CallStarted(
        seq=1,
        time=5.0,
        node="0",
        turn=1,
        cell=1,
        call=7,
        batch=None,
        index=0,
        role="sub",
        model="a:m",
        prompt="p",
    )
    ended = CallEnded(
        seq=2, time=5.0, node="0", call=7, model="a:m", reply="", error=None, finish="stop",
        usage=Usage(calls=1), cost=0.0, seconds=0.0, retries=0,
    )  # fmt: skip
    odd = replace(
        started, batch=0, prompt='"\\\né\ud800', key="k", images=("png",), ranges=((0, 1, 2),), unplaced=3
    )
    failed = replace(
        ended, reply=None, error=FailedCall("auth", "no"), usage=Usage(), cost=None, seconds=float("inf"),
        unsent=True, scores={"a": -0.5},
    )  # fmt: skip
    journal = Journal(tmp_path)
    journal.open("r")
    for event in (started, odd, replace(started, ranges=()), ended, failed):
        journal.append("r", event)
    journal.close("r")
    head = '{"kind":"call.started","seq":1,"time":5.0,"node":"0","turn":1,"cell":1,"call":7,'
    tail = '{"kind":"call.ended","seq":2,"time":5.0,"node":"0","call":7,"model":"a:m",'
    odd_prompt = '"prompt":"\\"\\\\\\né\ud800","key":"k","images":["png"],"ranges":[[0,1,2]],"unplaced":3}'
    lines = (tmp_path / "r" / "events.jsonl").read_text("utf-8", "surrogatepass").splitlines()
    assert lines == [
        head + '"role":"sub","model":"a:m","prompt":"p"}',
        head + '"batch":0,"role":"sub","model":"a:m",' + odd_prompt,
        head + '"role":"sub","model":"a:m","prompt":"p","ranges":[]}',
        tail
        + '"reply":"","finish":"stop","usage":{"calls":1},"cost":0.0,"seconds":0.0,"cached":false,"unsent":false}',
        tail + '"error":{"kind":"auth","message":"no"},"finish":"stop","usage":{},"seconds":Infinity,'
        '"cached":false,"scores":{"a":-0.5},"unsent":true}',
    ]


def test_a_half_written_last_line_is_left_out_and_cut_off_before_more_is_written(tmp_path: Path) -> None:
    journal, run, events = journalled(tmp_path, CHILDREN)
    path = journal.path(run) / "events.jsonl"
    whole = path.read_bytes()
    for cut in (1, 2, 30, len(whole) // 2):
        path.write_bytes(whole[:-cut])
        read = Journal(tmp_path).read(run)
        assert read == events[: len(read)]
        assert len(read) == whole[:-cut].count(b"\n")
    again = Journal(tmp_path)
    again.open(run)
    again.append(run, events[-1])
    again.close(run)
    assert again.read(run) == [*read, events[-1]]


def test_a_line_in_the_middle_that_is_no_event_is_named(tmp_path: Path) -> None:
    journal, run, _ = journalled(tmp_path, CHILDREN)
    path = journal.path(run) / "events.jsonl"
    lines = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(b"".join([*lines[:3], b"garbage\n", *lines[4:]]))
    with pytest.raises(JournalError, match="line 4"):
        journal.read(run)


def test_what_a_newer_version_adds_is_passed_over(tmp_path: Path) -> None:
    journal, run, events = journalled(tmp_path, CHILDREN)
    path = journal.path(run) / "events.jsonl"
    lines = path.read_bytes().splitlines(keepends=True)
    first = lines[0].replace(b"{", b'{"new_field":{"a":1},', 1)
    path.write_bytes(b"".join([first, b'{"kind":"new.kind","seq":2}\n', *lines[1:]]))
    assert journal.read(run) == events


def test_a_run_that_is_being_written_is_locked(tmp_path: Path) -> None:
    journal = Journal(tmp_path)
    journal.open("r")
    journal.append("r", a_value(1))
    assert journal.is_written("r")
    with pytest.raises(JournalError, match="another process"):
        Journal(tmp_path).open("r")
    with pytest.raises(JournalError, match="still going"):
        Journal(tmp_path).remove("r")
    journal.close("r")
    assert not journal.is_written("r")
    Journal(tmp_path).remove("r")
    assert [path.name for path in tmp_path.iterdir()] == [SPARE]


def test_a_reserve_goes_from_run_to_run(tmp_path: Path) -> None:
    """To make one and to remove it takes some disks longer than a short run."""
    journal, nodes = Journal(tmp_path), set[int]()
    for run in ("a", "b", "c"):
        journal.open(run)
        journal.append(run, a_value(1))
        nodes.add((tmp_path / run / RESERVE).stat().st_ino)
        journal.close(run)
        assert not (tmp_path / run / RESERVE).exists()
    assert nodes == {(tmp_path / SPARE).stat().st_ino}
    for run in ("d", "e"):  # at the same time: each has one of its own
        journal.open(run)
        journal.append(run, a_value(1))
    assert (tmp_path / "d" / RESERVE).stat().st_ino != (tmp_path / "e" / RESERVE).stat().st_ino
    journal.close("d")
    journal.close("e")
    assert sorted(p.name for p in tmp_path.rglob("*reserve*")) == [SPARE]


def test_a_spare_that_takes_no_space_is_no_reserve(tmp_path: Path) -> None:
    (tmp_path / SPARE).touch()
    journal = Journal(tmp_path)
    journal.open("a")
    assert (tmp_path / "a" / RESERVE).stat().st_size >= 256 << 10
    journal.close("a")


@pytest.mark.parametrize("name", ["", "nope", "../x", "/etc"])
def test_a_run_that_is_not_there_is_named(tmp_path: Path, name: str) -> None:
    with pytest.raises(JournalError, match="no run"):
        Journal(tmp_path).read(name)


def test_secrets_never_reach_the_journal(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-a-key-of-this-test-alone")
    leak = "print('sk-a-key-of-this-test-alone')\nprint(list(range(3000)))"
    journal, run, _ = journalled(tmp_path, [py(leak), py("submit(1)")])
    for path in journal.path(run).rglob("*"):
        assert not path.is_file() or b"sk-a-key-of" not in path.read_bytes()
    assert any(isinstance(e, CellEnded) and "[secret]" in e.output for e in journal.read(run))


def test_the_files_are_the_owners_alone(tmp_path: Path) -> None:
    journal, run, _ = journalled(tmp_path, CHILDREN)
    assert journal.path(run).stat().st_mode & 0o077 == 0
    for path in journal.path(run).rglob("*"):
        assert path.stat().st_mode & 0o077 == 0


def test_runs_are_kept_by_default_and_not_when_told(tmp_path: Path) -> None:
    run = RLM(ScriptedModel([py("print(1)\nsubmit(1)")])).run("q", "c")
    assert run.id in Journal(runs_folder()).runs()
    run = RLM(ScriptedModel([py("print(1)\nsubmit(1)")]), runs=False).run("q", "c")
    assert run.id not in Journal(runs_folder()).runs()


def test_a_folder_that_cannot_be_written_is_told_before_money_is_spent(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    model = ScriptedModel([py("submit(1)")])
    with pytest.raises(WrongSetting, match="it is a file: name a folder"):
        RLM(model, runs=tmp_path / "file")
    with pytest.raises(JournalError, match="runs=DIR"):
        RLM(model, runs=tmp_path / "file" / "below").run("q", "c")
    assert model.requests == []


FULL = """
import resource, sys
from unspool import RLM
from unspool.testing import ScriptedModel
resource.setrlimit(resource.RLIMIT_FSIZE, (int(sys.argv[2]), int(sys.argv[2])))
import signal
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
sub = ScriptedModel(lambda m: "r" * 1000, name="scripted:sub")
cell = "result = []\\nfor n in range(1000): result.append(llm_query(str(n)))"
model = ScriptedModel([f"```python\\n{cell}\\n```"] + ["```python\\nsubmit(result)\\n```"])
try:
    run = RLM(model, sub_model=sub, runs=sys.argv[1], sandbox="none").run("q", "c")
    print(run.status, len(model.requests), len(sub.requests), run.reason)
except Exception as error:
    print(type(error).__name__, len(model.requests), len(sub.requests), error)
"""


@pytest.mark.parametrize("size", [100, 400_000])
def test_a_disk_that_is_full_stops_the_run(tmp_path: Path, size: int) -> None:
    """A limit on the size of files fails the same writes as a full disk does."""
    done = subprocess.run(
        [sys.executable, "-c", FULL, str(tmp_path), str(size)], capture_output=True, text=True, check=True
    )
    status, asked, sub_calls, *words = done.stdout.split()
    assert "journal" in words
    assert done.stderr == ""
    if size == 100:
        assert (status, asked, sub_calls) == ("JournalError", "0", "0")
        assert not [path for path in tmp_path.iterdir() if path.is_dir()]  # a run that never began
    else:  # it ends with what it had, and spends nothing more
        assert (status, asked) == ("partial", "1")
        assert 0 < int(sub_calls) < 400
        (run,) = Journal(tmp_path).runs()
        assert isinstance(Journal(tmp_path).read(run)[0], RunStarted)


def test_the_index_is_made_from_the_journals(tmp_path: Path) -> None:
    journal, first, _ = journalled(tmp_path, CHILDREN)
    _, second, _ = journalled(tmp_path, [py("print(1)"), "prose", "prose", "prose"])
    index = RunIndex(journal)
    rows = {row.id: row for row in index.rows()}
    assert rows[first].state == "answered"
    assert (rows[first].turns, rows[first].sub_calls, rows[first].cost) == (4, 2, 0.0)
    assert rows[second].state == "failed"
    assert index.rows() == RunIndex(Journal(tmp_path)).rows()


@pytest.mark.parametrize("damage", [b"", b"no database", b"SQLite format 3\0" + b"\xff" * 4096])
def test_an_index_that_is_gone_or_damaged_is_made_anew(tmp_path: Path, damage: bytes) -> None:
    journal, _, _ = journalled(tmp_path, CHILDREN)
    rows = RunIndex(journal).rows()
    (tmp_path / "index.sqlite").write_bytes(damage)
    assert RunIndex(journal).rows() == rows
    (tmp_path / "index.sqlite").unlink()
    assert RunIndex(journal).rows() == rows


def test_an_index_of_another_version_is_made_anew(tmp_path: Path) -> None:
    journal, run, _ = journalled(tmp_path, CHILDREN)
    rows = RunIndex(journal).rows()
    assert rows[0].seconds > 0
    for names in (
        "id, stamp, query",
        "id, stamp, query, model, state, started, ended, turns, sub_calls, cost, size",
    ):
        (tmp_path / "index.sqlite").unlink()
        with contextlib.closing(sqlite3.connect(tmp_path / "index.sqlite")) as old:
            old.execute(f"CREATE TABLE runs ({names})")
            values = [run, rows[0].stamp, "…", *[1] * (names.count(",") - 2)]
            old.execute(f"INSERT INTO runs VALUES ({', '.join('?' * len(values))})", values)
            old.commit()
        assert RunIndex(journal).rows() == rows


def test_a_run_that_was_cut_is_interrupted_and_one_that_goes_on_is_running(tmp_path: Path) -> None:
    journal, run, events = journalled(tmp_path, CHILDREN)
    path = journal.path(run) / "events.jsonl"
    path.write_bytes(b"".join(path.read_bytes().splitlines(keepends=True)[:12]))
    (row,) = RunIndex(journal).rows()
    assert (row.state, row.query) == ("interrupted", "What is there?")
    journal.open(run)
    journal.append(run, events[12])
    (row,) = RunIndex(journal).rows()
    assert row.state == "running"
    journal.close(run)


def test_a_run_that_cannot_be_read_is_an_unreadable_row_and_no_error(tmp_path: Path) -> None:
    journal, run, _ = journalled(tmp_path, CHILDREN)
    odd = tmp_path / "odd"
    (odd / "events.jsonl").mkdir(parents=True)
    states = {row.id: row.state for row in RunIndex(journal).rows()}
    assert states == {run: "answered", "odd": "unreadable"}


def test_every_kind_of_event_is_known_by_its_name() -> None:
    assert len({kind.kind for kind in EVENTS}) == len(EVENTS)


def test_the_default_folder_can_be_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("UNSPOOL_RUNS")
    monkeypatch.setenv("XDG_DATA_HOME", "/data-home")
    assert runs_folder() == Path("/data-home/unspool/runs")
    monkeypatch.setenv("UNSPOOL_RUNS", "/named")
    assert runs_folder() == Path("/named")
    monkeypatch.setenv("UNSPOOL_RUNS", " ~/named ")
    assert runs_folder() == Path.home() / "named"
    assert "XDG_DATA_HOME" in os.environ


def test_a_journal_is_small_beside_what_went_over_the_wire(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The worst case: 1,000 prompts of a few characters, each answered with one word."""
    traffic: list[int] = []

    def reply(ask: Ask) -> Behaviour:
        said = len(cast("list[object]", ask.body["messages"]))
        root = (
            py("x = llm_query_batched([str(n) for n in range(1000)])") if said == 2 else py("submit(len(x))")
        )
        behaviour = Behaviour("yes" if said == 1 else root)
        traffic.append(len(json.dumps(ask.body, ensure_ascii=False)) + len(render(behaviour, ask)))
        return behaviour

    monkeypatch.setenv("OPENAI_API_KEY", "test")
    with FaultyServer(reply) as server:
        monkeypatch.setenv("OPENAI_BASE_URL", server.base_url)
        with RLM("openai:test-model", runs=tmp_path) as engine:
            assert engine.run("q", "a context").answer == 1000
    kept = sum(path.stat().st_size for path in files_in(tmp_path))
    assert kept <= 1.5 * sum(traffic)


def test_runs_that_begin_in_the_same_second_are_in_the_order_in_which_they_began(tmp_path: Path) -> None:
    """The last of the list is what ``runs rm last`` removes."""
    begun = [
        RLM(ScriptedModel([py("print(1)\nsubmit(1)")]), runs=tmp_path).run("?", "x").id for _ in range(6)
    ]
    assert Journal(tmp_path).runs() == begun
    assert [row.id for row in RunIndex(Journal(tmp_path)).rows()] == begun


def test_a_long_question_is_in_the_index_by_its_beginning(tmp_path: Path) -> None:
    model = ScriptedModel([py("print(1)\nsubmit(1)")])
    RLM(model, runs=tmp_path).run("Wer ist das?  Ä" * 1000, "some text")
    (row,) = RunIndex(Journal(tmp_path)).rows()
    assert row.query == (" ".join(("Wer ist das?  Ä" * 1000).split()))[:200]
