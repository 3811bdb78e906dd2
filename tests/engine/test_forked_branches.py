"""Branches whose REPLs are forked from the trunk's, and those that run the shared cells again."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

from unspool import RLM, Run
from unspool.events import AnswerRefused, CellEnded, Cited, ContextMeasured, Event, NodeEnded, RunEnded
from unspool.models.settings import ModelSettings
from unspool.testing import MemoryStore

from .helpers import py
from .test_branches import InTurn, Reply, Sampled

# What a REPL of its own, in which the cells run again, would have otherwise.
STAMP = (
    "import time, os\nstamp = (time.monotonic_ns(), os.urandom(4) and id(time))\nrows = (n for n in range(9))"
)
TEXT = "\n".join(f"line {n}: the words of this line are about the number {n}" for n in range(400))


def run(
    reply: object,
    *,
    store: MemoryStore | None = None,
    context: object = TEXT,
    branches: int = 3,
    **settings: object,
) -> tuple[Run, Sequence[Event]]:
    store = store or MemoryStore()
    model = Sampled(reply)  # type: ignore[arg-type]
    rlm = RLM(model, store=store, settings=ModelSettings(seed=0), **settings)  # type: ignore[arg-type]
    result = rlm.run("q", context, branches=branches)
    return result, store.read(result.id)


def stamps(first: str) -> object:
    def reply(branch: int, turn: int) -> Reply:
        return py(first) if turn == 1 else py("next(rows)\nprint(len(context))\nsubmit([stamp, next(rows)])")

    return reply


def cells(events: Sequence[Event], turn: int) -> dict[str, CellEnded]:
    return {e.node: e for e in events if isinstance(e, CellEnded) and e.turn == turn}


@pytest.mark.parametrize("sandbox", ["process", "none"])
def test_what_the_shared_turn_has_made_is_there_and_is_not_made_again(sandbox: str) -> None:
    result, events = run(stamps(f"{STAMP}\ntime.sleep(0.5)\nprint(context[:200])"), sandbox=sandbox)
    answers = [b.answer for b in result.branches if b.status == "answered"]
    assert len(answers) >= 2
    assert all(answer == answers[0] for answer in answers)  # the stamp is of the one cell that ran
    assert answers[0][1] == 1  # type: ignore[index]
    first = cells(events, 1)
    assert first["0"].own_seconds >= 0.5
    assert {e.own_seconds for node, e in first.items() if node != "0"} == {0.0}
    assert len({(e.output, e.ranges, e.unplaced, e.outcome) for e in first.values()}) == 1
    assert result.notes == ()


def test_where_a_sandbox_cannot_fork_the_cells_run_again() -> None:
    sandbox = f"command:{sys.executable} -"
    result, events = run(stamps(f"{STAMP}\nprint(context[:200])"), sandbox=sandbox)
    answered = [b.answer for b in result.branches if b.status == "answered"]
    assert len({repr(answer) for answer in answered}) == len(answered) >= 2
    assert all(e.own_seconds > 0 for e in cells(events, 1).values())
    assert len({e.output for e in cells(events, 1).values()}) == 1


WRITTEN = {
    "a cell has written files": ("open('kept', 'w').close()", "open('kept', 'a').write('{}')", "open('kept').read()"),
    "files or sockets open": (
        "import fcntl\nfd = os.memfd_create('screen', os.MFD_ALLOW_SEALING)\n"
        "sealed = fcntl.fcntl(fd, fcntl.F_ADD_SEALS, fcntl.F_SEAL_SEAL)",
        "os.write(fd, b'{}')",
        "os.pread(fd, 99, 0).decode()",
    ),
    "memory that processes share": (
        "import mmap\nkept = mmap.mmap(-1, 4096)",
        "kept.write(b'{}')",
        "kept[:].strip(bytes(1)).decode()",
    ),
    "in the place of stdin": (
        "r, w = os.pipe()\nmoved = os.dup2(r, 0), os.dup2(w, 1)\nos.close(r)\nos.close(w)",
        "os.write(1, b'{}')",
        "os.read(0, 99).decode()",
    ),
}  # fmt: skip


@pytest.mark.parametrize("why", WRITTEN)
def test_where_a_repl_cannot_be_forked_the_cells_run_again_and_the_run_says_so(why: str) -> None:
    """What one branch writes, no other sees."""
    make, write, read = WRITTEN[why]

    def reply(branch: int, turn: int) -> Reply:
        if turn == 1:
            return py(f"{STAMP}\n{make}\nprint(1)")
        if turn == 2:
            return py(f"done = {write.format(branch)}")
        return py(f"submit([{branch}, {read}, stamp])")  # no two agree, so that none is stopped

    result, events = run(reply)
    answers = [b.answer for b in result.branches]
    assert [answer[:2] for answer in answers] == [[1, "1"], [2, "2"], [3, "3"]]  # type: ignore[index]
    assert len({repr(answer[2]) for answer in answers}) == 3  # type: ignore[index]
    assert any(why in note for note in result.notes), result.notes
    assert {e.output for e in cells(events, 1).values()} == {"1\n"}


def test_a_pipe_in_the_place_of_a_file_of_the_context_is_in_the_way(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text(TEXT)
    lead = "import os, stat\nprint(context[:9])\n"
    seek = (
        "held = []\nfor fd in range(3, 99):\n    try:\n        if stat.S_ISREG(os.fstat(fd)[0]): held.append(fd)\n"
        "    except OSError: pass\n"
    )
    move = "r, w = os.pipe()\nmoved = os.dup2(w, held[-1])\nos.close(r)\nos.close(w)"
    for more, why in ((move, ["a cell has left files or sockets open"]), ("", [])):

        def reply(branch: int, turn: int, more: str = more) -> Reply:
            return py(lead + seek + more) if turn == 1 else py(f"submit({branch})")

        result, _ = run(reply, context=tmp_path / "a.txt")
        assert [note.rpartition(": ")[2] for note in result.notes] == why


def test_what_the_shared_turn_did_counts_in_each_branch() -> None:
    """Refused answers, citations and what was read, as where the cells run again."""
    first = "print(cite('line 7: the words'))\nprint(context[:300])\ntry:\n    submit('')\nexcept Exception as e:\n    print(type(e))"
    told: list[tuple[object, ...]] = []
    for more in ("", "\nopen('kept.txt', 'w').close()"):
        store = InTurn()

        def reply(branch: int, turn: int, first: str = first + more) -> Reply:
            return py(first) if turn == 1 else py(f"submit({['b', 'a', 'a'][branch - 1]!r})")

        result, events = run(store(reply), store=store)
        assert result.answer == "a"
        kinds = (AnswerRefused, Cited, ContextMeasured)
        found = [(type(e), e.node) for e in events if isinstance(e, kinds)]
        told.append((sorted(map(str, found)), result.coverage, result.citations))
    assert told[0] == told[1]
    assert str((Cited, "0@2")) in told[0][0]  # type: ignore[operator]


def test_a_cell_of_the_first_turn_that_began_the_repl_anew_is_what_the_branches_have() -> None:
    crash = "import threading, time\nthreading.Thread(target=time.sleep, args=(0.2,), daemon=True).start()\nn = 1\nprint(n)"

    def reply(branch: int, turn: int) -> Reply:
        if turn == 1:
            return py(crash, "import os\nos._exit(3)", "m = 5\nprint('n' in globals())")
        return py("submit(['n' in globals(), m])")

    result, events = run(reply)
    assert {repr(b.answer) for b in result.branches if b.status == "answered"} == {"[False, 5]"}
    assert [e.outcome for e in events if isinstance(e, CellEnded) and e.node == "0@2" and e.turn == 1] == [
        "ok", "restarted", "ok",
    ]  # fmt: skip


def test_a_branch_whose_repl_ends_begins_anew_and_the_others_do_not() -> None:
    def reply(branch: int, turn: int) -> Reply:
        if turn == 1:
            return py("n = [7]\nprint(n)")
        if turn == 2:
            return py("import os\nos._exit(1)" if branch == 2 else "n.append(1)\nprint(n)")
        return py(f"submit([*n, {branch}])")  # no two agree, so that none is stopped

    result, events = run(reply)
    assert cells(events, 2)["0@2"].outcome == "rolled_back"
    assert [b.answer for b in result.branches] == [[7, 1, 1], [7, 2], [7, 1, 3]]


def longer(branch: int, turn: int) -> Reply:
    if turn == 1:
        return py(STAMP + "\nprint('looked')")
    if turn < 4:
        return py(f"next(rows)\nprint({turn})")
    return py(f"submit([next(rows), {branch % 2}])")


@pytest.mark.parametrize("trunk", ["goes on", "has answered"])
def test_a_run_that_is_resumed_forks_again_or_runs_the_cells_again(trunk: str) -> None:
    """In the new process the trunk's cells run again once; where it is over, they do in each branch."""
    whole, events = run(longer, branches=5)
    assert whole.answer == [2, 1]
    if trunk == "goes on":
        kept = [e for e in events if not (getattr(e, "turn", 0) > 2 or isinstance(e, NodeEnded | RunEnded))]
        kept = [e for e in kept if type(e).__name__ != "BranchesDecided"]
    else:
        last = next(n for n, e in enumerate(events) if isinstance(e, NodeEnded) and e.node == "0")
        kept = [e for n, e in enumerate(events[: last + 1]) if n < last or isinstance(e, NodeEnded)]
    part = MemoryStore()
    part.open(whole.id)
    for event in kept:
        part.append(whole.id, event)
    model = Sampled(longer)
    again = RLM(model, store=part, settings=ModelSettings(seed=0)).resume(whole.id, TEXT)
    assert (again.answer, again.status) == ([2, 1], "answered")
    assert again.notes == ()
