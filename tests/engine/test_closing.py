"""An engine that is closed while its runs are under way: they end like any other, and close waits for that."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path

import pytest

from unspool import RLM, ConfigError, Run
from unspool.errors import SandboxError
from unspool.events import Event, RunEnded
from unspool.models.protocol import ModelReply, ModelRequest
from unspool.sandbox.process import ProcessSandbox
from unspool.sandbox.protocol import OnCall, Repl, ReplSpec
from unspool.testing import MemoryStore, ScriptedModel

from .helpers import py

SECONDS = 60.0  # in which all of it is over, on a slow machine
CLOSED = ("cancelled", "the engine was closed")


class Waits(ScriptedModel):
    """A model that replies what it has and then never again; its close notes which runs had told their end."""

    def __init__(self, replies: Sequence[str], store: MemoryStore) -> None:
        super().__init__(lambda _: self.next())
        self.left = list(replies)
        self.asked_last = threading.Event()
        self.store = store
        self.ended: list[str] = []

    async def next(self) -> str:
        if self.left:
            return self.left.pop(0)
        self.asked_last.set()
        return str(await asyncio.Event().wait())

    async def close(self) -> None:
        await super().close()
        self.ended = [
            run for run in self.store.runs() if isinstance(list(self.store.read(run))[-1], RunEnded)
        ]


def begun(work: Callable[[], Run]) -> Future[Run]:
    """The work on a thread of its own."""
    pool = ThreadPoolExecutor(1)
    future = pool.submit(work)
    pool.shutdown(wait=False)
    return future


def close(engine: RLM) -> None:
    """Closes it from yet another thread, within a time: a deadlock fails a test, and hangs none."""
    thread = threading.Thread(target=engine.close, daemon=True)
    thread.start()
    thread.join(SECONDS)
    assert not thread.is_alive()


def test_close_waits_for_a_run_on_another_thread_which_can_be_resumed() -> None:
    store = MemoryStore()
    model = Waits([py("x = 5\nprint(x)")], store)
    engine = RLM(model, store=store)
    going = begun(lambda: engine.run("q", "c"))
    assert model.asked_last.wait(SECONDS)
    close(engine)
    assert (model.closed, model.ended) == (
        True,
        list(store.runs()),
    )  # the model was closed after the run's end
    run = going.result(SECONDS)
    assert (run.status, run.reason, run.turns) == (*CLOSED, 2)
    model.left = [py("submit(x)")]
    assert engine.resume(run.id, "c").answer == 5


def test_close_stops_a_cell_that_runs_and_the_branches_and_children_of_a_run() -> None:
    store = MemoryStore()
    runs = []
    for code, more in (("tell()\nwhile True: pass", {}), ("tell()\nrlm_query('child')", {"branches": 2})):
        told = threading.Event()
        model = Waits([py(code)], store)
        engine = RLM(model, store=store, tools=[_named("tell", told.set)])
        going = begun(lambda engine=engine, more=more: engine.run("q", "c", **more))  # type: ignore[misc]
        assert told.wait(SECONDS)
        close(engine)
        runs.append(going.result(SECONDS))
    assert [(run.status, run.reason) for run in runs] == [CLOSED] * 2


def _named(name: str, work: Callable[[], object]) -> Callable[[], None]:
    def tool() -> None:
        work()

    tool.__name__ = name
    return tool


def test_a_session_that_is_open_ends_with_what_it_has_submitted() -> None:
    store = MemoryStore()
    model = Waits([], store)
    engine = RLM(model, store=store)
    empty, session = engine.session("abc"), engine.session("abc")
    session.execute("print(1)\nsubmit(len(context))")
    stopped: list[BaseException] = []

    def ask() -> None:
        try:
            session.execute("llm_query('never')")
        except SandboxError as error:
            stopped.append(error)

    asking = threading.Thread(target=ask, daemon=True)
    asking.start()
    assert model.asked_last.wait(SECONDS)
    close(engine)
    asking.join(SECONDS)
    assert [str(error) for error in stopped] == ["the session was closed while the code ran"]
    assert len(model.ended) == 2
    assert (session.close().status, session.close().answer) == ("answered", 3)
    assert (empty.close().status, empty.close().reason) == CLOSED


@pytest.mark.parametrize("by", ["tool", "async tool", "model", "thread of a tool"])
@pytest.mark.parametrize("runs", [1, 2])
def test_close_from_within_a_run_stops_it_and_waits_for_the_others(by: str, runs: int) -> None:
    store, both, closed = MemoryStore(), threading.Barrier(runs), threading.Event()

    def closes() -> None:
        both.wait(SECONDS)
        if by == "thread of a tool":
            close(engine)
        else:
            engine.close()

    async def aclose() -> None:
        await asyncio.to_thread(both.wait, SECONDS)
        await engine.aclose()

    class Closes(ScriptedModel):
        async def complete(self, request: ModelRequest) -> ModelReply:
            if by == "model":
                await aclose()
            return await super().complete(request)

        async def close(self) -> None:
            closed.set()

    async def asks() -> None:
        await aclose()

    asks.__name__ = "closes"
    model = Closes(lambda _: py("print(closes())"))
    engine = RLM(model, store=store, tools=[asks if by == "async tool" else closes])
    going = [begun(lambda: engine.run("q", "c")) for _ in range(runs)]
    assert [(run.result(SECONDS).status, run.result(SECONDS).reason) for run in going] == [CLOSED] * runs
    assert closed.wait(SECONDS)
    close(engine)


def test_a_model_that_closes_its_engine_on_the_thread_of_all_runs_is_told() -> None:
    class Closes(ScriptedModel):
        async def complete(self, request: ModelRequest) -> ModelReply:
            engine.close()
            return await super().complete(request)

    store = MemoryStore()
    engine = RLM(Closes([]), store=store)
    with pytest.raises(ConfigError, match="would wait for ever: on_event, models and stores are called on"):
        begun(lambda: engine.run("q", "c")).result(SECONDS)
    assert [list(store.read(run))[-1].kind for run in store.runs()] == ["run.ended"]
    close(engine)


def test_a_run_that_has_not_begun_says_so(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("text")
    looking = threading.Event()

    class Looks:
        """A sandbox whose REPLs never open."""

        inner = ProcessSandbox("none")

        async def open(self, spec: ReplSpec, on_call: OnCall) -> Repl:
            looking.set()
            await asyncio.Event().wait()
            return await self.inner.open(spec, on_call)

        async def close(self) -> None:
            await self.inner.close()

    store = MemoryStore()
    engine = RLM(ScriptedModel([]), store=store, sandbox=Looks())
    going = begun(lambda: engine.run("q", tmp_path))
    assert looking.wait(SECONDS)
    close(engine)
    with pytest.raises(ConfigError, match=r"^the engine was closed before the run began$"):
        going.result(SECONDS)
    assert not list(store.runs())


@pytest.mark.parametrize("how", ["run", "arun", "resume"])
def test_a_run_that_is_cancelled_by_its_id_is_returned(how: str) -> None:
    store = MemoryStore()
    model = Waits([py("x = 1\nprint(x)")], store)
    engine = RLM(model, store=store)
    ways: dict[str, Callable[[], Run]] = {
        "run": lambda: engine.run("q", "c"),
        "arun": lambda: asyncio.run(engine.arun("q", "c")),
        "resume": lambda: engine.resume(next(iter(store.runs())), "c"),
    }
    for each in ("run", how):
        model.asked_last.clear()
        going = begun(ways[each])
        assert model.asked_last.wait(SECONDS)
        (run,) = list(store.runs())[-1:]
        engine.cancel(run, "enough")
        ended = going.result(SECONDS)
        assert (ended.id, ended.status, ended.reason, ended.turns) == (run, "cancelled", "enough", 2)
        if how != "resume":
            break
    close(engine)


async def test_who_stops_waiting_for_a_run_that_is_stopped_has_gone_all_the_same() -> None:
    """Both at once: the run is told to stop, and its caller is cancelled."""
    store = MemoryStore()
    model = Waits([], store)
    engine = RLM(model, store=store)
    asking = asyncio.create_task(engine.arun("q", "c"))
    assert await asyncio.to_thread(model.asked_last.wait, SECONDS)
    (run,) = store.runs()
    asking.cancel()
    engine.cancel(run, "enough")
    with pytest.raises(asyncio.CancelledError):
        await asking
    ended: Event = list(store.read(run))[-1]
    assert isinstance(ended, RunEnded)
    assert ended.status == "cancelled"
    await engine.aclose()
