"""A store that fails at any event: the run tells what it has found out, and that its journal lacks the rest."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

from unspool import RLM, Run
from unspool.errors import JournalError
from unspool.events import Event, RunEnded, RunStarted
from unspool.journal import Journal
from unspool.models.protocol import Message
from unspool.testing import MemoryStore, ScriptedModel

TEXT = "\n".join(f"line {n}: the words of this line are about the number {n}" for n in range(90))
CELLS = (
    "print(context[:90])\nx = llm_query_batched(['a', 'b'])\nprint(cite('line 7: the words'), double(2))\n"
    "try:\n    submit('')\nexcept Exception as e:\n    print(type(e))",
    "y = rlm_query('how many?', 'one two')\nprint(y)",
    "submit([x, y])",
)
ANSWER = [["said", "said"], "2"]


def double(n: int) -> int:
    """Twice n."""
    return 2 * n


class Failing(MemoryStore):
    """Fails at the event of that number, from 0; ``kept``: with the last room that it has."""

    def __init__(self, at: int, error: Exception) -> None:
        super().__init__()
        self.at, self.error, self.asked = at, error, 0

    def append(self, run: str, event: Event) -> None:
        self.asked += 1
        fails = self.asked > self.at if getattr(self.error, "kept", False) else self.asked == self.at + 1
        if not fails or getattr(self.error, "kept", False):
            super().append(run, event)
        if fails:
            raise self.error


def engine(store: MemoryStore) -> tuple[RLM, ScriptedModel, ScriptedModel]:
    child = ["```python\nprint(context)\nsubmit('2')\n```"]
    root = [f"```python\n{code}\n```" for code in CELLS]

    def reply(messages: Sequence[Message]) -> str:
        query = next(message.text for message in messages if message.role == "user")
        return (child if "how many?" in query else root)[sum(m.role == "assistant" for m in messages)]

    model, sub = ScriptedModel(reply), ScriptedModel(lambda m: "said", name="scripted:sub")
    return RLM(model, sub_model=sub, store=store, tools=[double], sandbox="none"), model, sub


@pytest.fixture(scope="module")
def whole() -> Sequence[Event]:
    store = MemoryStore()
    run = engine(store)[0].run("q", TEXT)
    assert run.answer == ANSWER, (run.reason, run.trace)
    assert run.notes == ()
    return store.read(run.id)


def told(run: Run) -> bool:
    return run.reason.count("it is full") + sum(note.count("it is full") for note in run.notes) == 1


def test_wherever_it_fails_the_run_says_so_and_can_be_resumed(whole: Sequence[Event]) -> None:
    kinds = {event.kind for event in whole}
    assert {
        "answer.accepted",
        "answer.refused",
        "call.ended",
        "citation",
        "node.ended",
        "tool.ended",
    } <= kinds
    answered = 0
    for at in range(1, len(whole)):
        store = Failing(at, JournalError("it is full"))
        rlm, model, sub = engine(store)
        run = rlm.run("q", TEXT)
        what = (at, whole[at].kind, run.status, run.reason, run.notes)
        assert told(run), what
        if run.status == "answered":
            answered += 1
            assert run.answer == ANSWER
            assert [n for n in run.notes if n == "the end of this run is not kept: it is full"], what
        else:
            assert run.status in ("partial", "failed"), what
        kept = store.read(run.id)
        assert [e.seq for e in kept] == list(range(1, at + 1)), what  # nothing stands behind a gap
        paid = len(model.requests) + len(sub.requests)
        assert paid <= sum(e.kind in ("model.replied", "call.started") for e in whole[: at + 1]) + 1, what
        whole_store = MemoryStore()
        whole_store.open(run.id)
        for event in kept:
            whole_store.append(run.id, event)
        again = engine(whole_store)[0].resume(run.id, TEXT)
        assert (again.status, again.answer) == ("answered", ANSWER), what
    assert answered >= 3  # answer.accepted, cell.ended, node.ended, run.ended


def test_what_was_kept_with_the_last_room_is_not_said_to_be_lost(whole: Sequence[Event]) -> None:
    for at in (len(whole) - 1, len(whole) - 3, len(whole) // 2):
        store = Failing(at, JournalError("it is full", kept=True))
        run = engine(store)[0].run("q", TEXT)
        ended = store.read(run.id)[-1]
        assert isinstance(ended, RunEnded)
        assert (ended.status, ended.reason, ended.notes) == (run.status, run.reason, run.notes)
        assert run.notes == ()
        assert told(run) is (run.status != "answered")


def test_a_first_event_that_is_not_kept_is_raised() -> None:
    for error in (JournalError("it is full"), JournalError("it is full", kept=True), OSError("it is full")):
        rlm, model, _ = engine(Failing(0, error))
        with pytest.raises(JournalError, match="it is full"):
            rlm.run("q", TEXT)
        assert not model.requests


@pytest.mark.parametrize(
    "error", [OSError(28, "it is full"), ValueError("it is full"), KeyError("it is full")]
)
def test_whatever_a_store_raises_the_answer_is_there(whole: Sequence[Event], error: Exception) -> None:
    run = engine(Failing(len(whole) - 1, error))[0].run("q", TEXT)
    assert run.answer == ANSWER
    assert run.notes[0].startswith(
        f"the end of this run is not kept: the store of runs failed: {type(error).__name__}"
    )


def test_a_store_that_cannot_be_closed_takes_nothing_away(caplog: pytest.LogCaptureFixture) -> None:
    class Stuck(MemoryStore):
        def close(self, run: str) -> None:
            raise OSError("it is full")

    assert engine(Stuck())[0].run("q", TEXT).answer == ANSWER
    assert "the store of runs failed to close run" in caplog.text


LAST = """
import resource, signal, sys
from pathlib import Path
from unspool import RLM
from unspool.onlookers import look_on
from unspool.testing import ScriptedModel
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)

def no_more(event):
    if event.kind == sys.argv[2]:
        (journal,) = Path(sys.argv[1]).glob("*/events.jsonl")
        size = journal.stat().st_size
        resource.setrlimit(resource.RLIMIT_FSIZE, (size + 20, resource.RLIM_INFINITY))

model = ScriptedModel(["```python\\nprint(context)\\nsubmit(7)\\n```"])
look_on(lambda log: no_more)
run = RLM(model, runs=sys.argv[1], sandbox="none").run("q", "c")
print(run.status, run.answer, *run.notes)
"""


@pytest.mark.parametrize("last", ["answer.accepted", "cell.ended", "node.ended"])
def test_a_disk_that_is_full_at_the_end_of_a_run_costs_no_answer(tmp_path: Path, last: str) -> None:
    """A limit on the size of files fails the same writes as a full disk does."""
    done = subprocess.run(
        [sys.executable, "-c", LAST, str(tmp_path), last], capture_output=True, text=True, check=True
    )
    assert done.stdout.startswith("answered 7 the end of this run is not kept: the journal of the run cannot")
    assert done.stderr == ""
    (run,) = Journal(tmp_path).runs()
    events = Journal(tmp_path).read(run)
    assert isinstance(events[0], RunStarted)
    assert events[-1].kind == last
    again = RLM(ScriptedModel([]), runs=tmp_path, sandbox="none").resume(run, "c")
    assert (again.status, again.answer, again.notes) == ("answered", 7, ())
