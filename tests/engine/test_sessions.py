"""``RLM.session``: a REPL that is driven from outside, as a run."""

from __future__ import annotations

import asyncio
import gc
import subprocess
import sys
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from unspool import RLM, Budget, ConfigError, ContextError, SandboxError
from unspool import events as ev
from unspool.errors import JournalError
from unspool.events import Event
from unspool.journal import Journal
from unspool.session import Session
from unspool.testing import MemoryStore, ScriptedModel
from unspool.types import Run

from .helpers import py

SECONDS = 60  # a hang is a failure, not a stuck suite


def echo() -> ScriptedModel:
    return ScriptedModel(lambda messages: messages[-1].text.upper())


def test_code_has_what_the_code_of_a_model_has_and_keeps_its_variables() -> None:
    store = MemoryStore()
    with RLM(echo(), store=store).session("one line\nanother line\n", by="a test") as session:
        first = session.execute("rows = context.splitlines()\nlen(rows)")
        second = session.execute("print(llm_query(rows[0]))\ncite('another line')")
        third = session.execute("print(llm_query_batched(rows))")
    run = session.close()
    assert (first.output, first.outcome, first.number) == ("2\n", "ok", 1)
    assert second.output.startswith("ONE LINE\n")
    assert [call.prompt for call in third.sub_calls] == ["one line", "another line"]
    assert "21 characters" in session.description or "22 characters" in session.description
    assert (run.id, run.status, run.reason, run.turns, run.sub_calls) == (
        session.id,
        "cancelled",
        "closed",
        3,
        3,
    )
    assert run.model == "agent:a test"
    assert [line.role for line in run.ledger] == ["sub"]
    assert [cited.line for cited in run.citations] == [2]
    assert run.coverage.by_sub_calls
    kinds = [event.kind for event in store.read(session.id)]
    assert kinds[0] == "run.started"
    assert kinds[-2:] == ["node.ended", "run.ended"]
    assert "model.replied" not in kinds


def test_what_code_does_wrong_is_data_and_a_hang_is_stopped_with_all_variables_kept() -> None:
    with RLM(echo(), runs=False, cell_seconds=0.3).session("text") as session:
        assert session.execute("kept = 7\n1 / 0").error.type == "ZeroDivisionError"  # type: ignore[union-attr]
        assert session.execute("def (").error.type == "SyntaxError"  # type: ignore[union-attr]
        assert session.execute("while True: pass").outcome == "interrupted"
        killed = session.execute("import os; os._exit(3)")
        assert killed.outcome == "rolled_back"
        assert session.execute("kept").output == "7\n"


def test_the_same_code_as_often_as_one_likes() -> None:
    with RLM(echo(), runs=False, max_turns=1).session("text") as session:
        assert {session.execute("print(context)").output for _ in range(6)} == {"text\n"}
        assert session.execute("budget()['turns'] is None").output == "True\n"


def test_its_budget_holds_and_what_is_left_is_told() -> None:
    model = echo()
    with RLM(model, runs=False, budget=Budget(calls=2)).session("text") as session:
        cell = session.execute("[bool(reply) for reply in llm_query_batched(['a', 'b', 'c'])]")
        assert cell.output == "[True, True, False]\n"
        assert session.left()["calls"] == 0
        refused = session.execute("llm_query('d')")
        assert "limit of 2 sub-calls" in refused.error.message  # type: ignore[union-attr]
    assert len(model.requests) == 2


def test_what_is_submitted_last_is_its_answer_and_it_goes_on_until_then() -> None:
    with RLM(echo(), runs=False).session("text") as session:
        session.execute("print(context); submit(1)")
        assert session.execute("submit(2)").outcome == "submitted"
        assert session.execute("len(context)").output == "4\n"
    assert (session.close().status, session.close().answer) == ("answered", 2)


def test_children_work_as_in_any_run() -> None:
    model = ScriptedModel([py("print(context)"), py("submit(context[::-1])")])
    with RLM(model, runs=False).session("text") as session:
        assert session.execute("rlm_query('Turn it around', 'abc')").output == "'cba'\n"
    assert [node.id for node in session.close().trace.walk()] == ["0", "0.1"]


def test_once_it_is_closed_nothing_runs() -> None:
    session = RLM(echo(), runs=False).session("text")
    session.close()
    assert session.over
    with pytest.raises(SandboxError, match="the session is closed"):
        session.execute("1")


def test_its_time_limit_ends_it() -> None:
    session = RLM(echo(), runs=False, budget=Budget(seconds=0.5)).session("text")
    with pytest.raises(SandboxError, match="closed"):
        session.execute("import time; time.sleep(30)")
    run = session.close()
    assert (run.status, "time limit of 0.5 s" in run.reason) == ("budget", True)


def test_what_hinders_it_is_raised_before_it_begins(tmp_path: Path) -> None:
    engine = RLM(echo(), runs=False)
    with pytest.raises(ContextError, match="no such file"):
        engine.session(tmp_path / "none.txt")
    with engine.session("text") as session, pytest.raises(ConfigError, match="code"):
        session.execute("  \n")


def test_it_is_kept_as_a_run_that_cannot_be_resumed(tmp_path: Path) -> None:
    with RLM(echo(), runs=tmp_path).session("text") as session:
        session.execute("print('seen')")
    events = list(Journal(tmp_path).read(session.id))
    assert [event.code for event in events if isinstance(event, ev.CellStarted)] == ["print('seen')"]
    with pytest.raises(ConfigError, match="was a session: a program sent its code"):
        RLM(echo(), runs=tmp_path).resume(session.id, "text")


def test_a_journal_that_cannot_be_written_ends_it() -> None:
    class Full(MemoryStore):
        def append(self, run: str, event: ev.Event) -> None:
            if isinstance(event, ev.CellEnded):
                raise JournalError("the disk is full")
            super().append(run, event)

    session = RLM(echo(), store=Full()).session("text")
    with pytest.raises(JournalError, match="disk is full"):
        session.execute("1")
    assert (session.close().status, session.close().reason) == ("failed", "the disk is full")


@asynccontextmanager
async def opened(model: ScriptedModel, **settings: object) -> AsyncIterator[tuple[Session, list[ev.Event]]]:
    seen: list[ev.Event] = []
    engine = RLM(model, runs=False, **settings)  # type: ignore[arg-type]
    session = await engine.asession("text", on_event=seen.append)
    try:
        async with asyncio.timeout(SECONDS):
            yield session, seen
    finally:
        await session.aclose()


async def until(model: ScriptedModel, count: int) -> None:
    while len(model.requests) < count:  # noqa: ASYNC110 (the run is on another thread's loop)
        await asyncio.sleep(0.01)


async def test_a_caller_that_is_cancelled_stops_the_code_and_its_requests_alone() -> None:
    model = ScriptedModel(lambda _: "ok", latency=30)
    async with opened(model) as (session, seen):
        await session.aexecute("kept = 1")
        asking = asyncio.create_task(session.aexecute("llm_query_batched(['a', 'b'])"))
        await until(model, 2)
        asking.cancel()
        with pytest.raises(asyncio.CancelledError):
            await asking
        cell = await session.aexecute("kept")
        assert cell.output == "1\n"
        assert model.cancelled == 2
        ended = [event.outcome for event in seen if isinstance(event, ev.CellEnded)]
        assert ended == ["ok", "interrupted", "ok"]


async def test_pieces_that_come_at_once_run_one_after_the_other() -> None:
    async with opened(echo()) as (session, _):
        await session.aexecute("seen = []")
        code = "size = len(seen); llm_query('x'); seen.append(size)"
        await asyncio.gather(*(session.aexecute(code) for _ in range(5)))
        assert (await session.aexecute("seen")).output == "[0, 1, 2, 3, 4]\n"


async def test_closing_stops_what_runs_and_what_waits() -> None:
    model = ScriptedModel(lambda _: "ok", latency=30)
    async with opened(model) as (session, _):
        calls = [asyncio.create_task(session.aexecute("llm_query('a')")) for _ in range(2)]
        await until(model, 1)
        run = await session.aclose()
        for call in calls:
            with pytest.raises(SandboxError, match="closed"):
                await call
        assert (run.status, run.turns) == ("cancelled", 1)


def test_the_shell_shows_it_and_names_no_way_to_resume_it(tmp_path: Path) -> None:
    with RLM(echo(), runs=tmp_path).session("text", by="a test") as session:
        session.execute("first = 1\nprint(llm_query('x'))")
        session.execute("1 / 0")

    def unspool(*arguments: str) -> tuple[int, str, str]:
        done = subprocess.run(
            [sys.executable, "-m", "unspool", *arguments, session.id, "--runs", str(tmp_path)],
            capture_output=True, text=True, timeout=SECONDS, check=False,
        )  # fmt: skip
        return done.returncode, done.stdout, done.stderr

    status, out, _ = unspool("runs", "show")
    assert (status, "question: a session of a test" in out) == (0, True)
    assert "2 lines of code, 1 sub-call" in out
    assert "ZeroDivisionError" in out
    assert "resume" not in out
    status, out, err = unspool("watch")
    assert status == 130  # cancelled: nothing was submitted
    assert "resume" not in out + err
    status, _, err = unspool("runs", "resume")
    assert (status, "was a session: a test sent its code" in err) == (2, True)
    assert unspool("runs", "show", "--code")[1].startswith("# node 0, turn 1, cell 1\nfirst = 1\n")


@pytest.mark.parametrize("seconds", [0.0, 0.001, 0.01, 0.1])
async def test_one_that_nobody_waits_for_any_more_ends_by_itself(tmp_path: Path, seconds: float) -> None:
    (tmp_path / "a.txt").write_text("text")
    store = MemoryStore()
    making = asyncio.create_task(RLM(echo(), store=store).asession(tmp_path))
    await asyncio.sleep(seconds)  # wherever in its beginning that is
    if making.cancel():
        with pytest.raises(asyncio.CancelledError):
            await making
    else:
        await (await making).aclose()
    async with asyncio.timeout(SECONDS):
        while any(list(store.read(run))[-1].kind != "run.ended" for run in store.runs()):  # noqa: ASYNC110
            await asyncio.sleep(0.01)


@pytest.mark.parametrize("what", ["execute", "close", "run"])
def test_waiting_on_the_thread_of_all_runs_is_refused(what: str) -> None:
    """It would wait for itself, and every run of the process with it."""
    engine, told, made = RLM(echo(), runs=False), list[str](), list[Session]()

    def listen(event: ev.Event) -> None:
        if isinstance(event, ev.CellStarted) and made:
            try:
                if what == "run":
                    engine.run("How many?", "text")
                elif what == "close":
                    made[0].close()
                else:
                    made[0].execute("print(1)")
            except ConfigError as error:
                told.append(str(error))

    session = engine.session("text", on_event=listen)
    made.append(session)
    assert session.execute("print(2)").output == "2\n"
    assert session.close().status == "cancelled"
    assert len(told) == 1
    assert "thread of your own" in told[0]


def _events_of_a_session(listen: Callable[[Event], None]) -> tuple[list[str], Run | None]:
    """What was raised, where, and the run that a last closing gives."""
    raised: list[str] = []
    session: Session | None = None
    run: Run | None = None
    with RLM(ScriptedModel(["a reply"]), store=MemoryStore()) as rlm:
        for name in ("begin", "execute", "close", "close again"):
            try:
                if name == "begin":
                    session = rlm.session("text", on_event=listen)
                elif session is not None and name == "execute":
                    session.execute("print(llm_query('a'))")
                elif session is not None:
                    run = session.close()
            except LookupError as error:
                raised.append(f"{name}: {error}")
    return raised, run


def test_what_a_listener_raises_at_any_event_reaches_the_caller_and_is_nobodys_lost_error(
    caplog: pytest.LogCaptureFixture,
) -> None:
    kinds: list[str] = []
    assert _events_of_a_session(lambda event: kinds.append(event.kind))[0] == []
    assert {"run.started", "call.ended", "node.ended", "run.ended"} <= set(kinds)
    for kind in dict.fromkeys(kinds):

        def listen(event: Event, kind: str = kind) -> None:
            if event.kind == kind:
                raise LookupError(kind)

        raised, run = _events_of_a_session(listen)
        gc.collect()  # tells of errors that nobody asked for
        assert [each.partition(": ")[2] for each in raised] == [kind], kind
        early = kind in ("run.started", "node.started", "context.measured")  # none is given, so none is open
        assert (raised[0].startswith("begin"), run is None) == (early, early), raised
    assert [each.getMessage() for each in caplog.records if each.name == "asyncio"] == []
