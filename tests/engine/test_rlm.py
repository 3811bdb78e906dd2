"""The engine as an object: threads, loops, streams, cancellation, tools, wrong settings."""

from __future__ import annotations

import asyncio
import gc
import threading
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise

import pytest

from unspool import RLM, Budget, ConfigError
from unspool._runtime import runtime
from unspool.errors import JournalError
from unspool.events import CellEnded, ModelDelta, RunEnded
from unspool.models.protocol import Message
from unspool.models.providers import PROVIDERS
from unspool.models.remote import RemoteModel
from unspool.sandbox.process import ProcessSandbox
from unspool.sandbox.protocol import OnCall, Repl, ReplSpec
from unspool.testing import Behaviour, FaultyServer, MemoryStore, ScriptedModel

from .helpers import play, py, shown


def own_word(messages: tuple[Message, ...]) -> str:
    """Sets a variable to the context in the first turn and submits it in the second."""
    if len(messages) <= 2:
        return py("mine = context\nprint(mine)")
    return py("submit(mine)")


def test_two_runs_of_one_engine_in_threads() -> None:
    engine = RLM(ScriptedModel(own_word, latency=0.01))
    with ThreadPoolExecutor(8) as pool:
        runs = list(pool.map(lambda i: engine.run("q", f"word {i}"), range(8)))
    assert [run.answer for run in runs] == [f"word {i}" for i in range(8)]
    assert len({run.id for run in runs}) == 8


async def test_two_runs_of_one_engine_in_asyncio() -> None:
    engine = RLM(ScriptedModel(own_word, latency=0.01))
    runs = await asyncio.gather(*[engine.arun("q", f"word {i}") for i in range(8)])
    assert [run.answer for run in runs] == [f"word {i}" for i in range(8)]


async def test_the_sync_call_works_inside_a_running_loop() -> None:
    run, _ = play([py("print(1)\nsubmit('x')")])
    assert run.answer == "x"


async def test_stream_gives_events_as_they_happen() -> None:
    engine = RLM(ScriptedModel([py("print('one')"), py("submit('x')")]))
    events = [event async for event in engine.stream("q", "c")]
    assert [e.seq for e in events] == list(range(1, len(events) + 1))
    assert isinstance(events[-1], RunEnded)
    assert events[-1].answer == "x"
    assert any(isinstance(e, CellEnded) and "one" in e.output for e in events)


async def test_replies_are_told_of_while_they_are_written_and_kept_once() -> None:
    replies = [py("print('one')"), py("submit('x')")]
    store = MemoryStore()
    engine = RLM(ScriptedModel(replies, pieces=5), store=store)
    events = [event async for event in engine.stream("q", "c")]
    pieces = [e for e in events if isinstance(e, ModelDelta)]
    for turn, reply in enumerate(replies, 1):
        mine = [e for e in pieces if e.turn == turn]
        assert "".join(e.text for e in mine) == reply
        assert [e.fresh for e in mine] == [True] + [False] * (len(mine) - 1)
    kept = [e for e in events if not e.passing]
    assert [e.seq for e in kept] == list(range(1, len(kept) + 1))
    assert all(one.seq in (other.seq, other.seq - 1) for one, other in pairwise(events))
    (run,) = store.runs()
    assert store.read(run) == kept


async def test_nobody_looks_on_and_nothing_is_streamed() -> None:
    model = ScriptedModel([py("print('one')"), py("submit('x')")], pieces=5)
    await RLM(model).arun("q", "c")
    assert all(request.on_delta is None for request in model.requests)


async def test_a_reply_that_breaks_off_is_told_again_from_its_start() -> None:
    script = [Behaviour(py("print('one')"), fault="cut"), py("print('one')"), py("submit('x')")]
    async with FaultyServer(script) as server:
        model = RemoteModel(PROVIDERS["openai"], "tiny", base_url=server.base_url)
        engine = RLM(model)
        pieces = [e async for e in engine.stream("q", "c") if isinstance(e, ModelDelta) and e.turn == 1]
        await asyncio.to_thread(engine.close)
    fresh = [place for place, e in enumerate(pieces) if e.fresh]
    assert len(fresh) == 2
    assert "".join(e.text for e in pieces[fresh[1] :]) == py("print('one')")
    assert py("print('one')").startswith("".join(e.text for e in pieces[: fresh[1]]))
    assert all(ask.body["stream"] is True for ask in server.asks)


async def test_who_looks_on_is_told_why_a_call_is_sent_again() -> None:
    busy = Behaviour(status=503, message="the model is being loaded")
    async with FaultyServer([busy, busy, py("print('one')\nsubmit('x')")]) as server:
        engine = RLM(RemoteModel(PROVIDERS["openai"], "tiny", base_url=server.base_url))
        events = [e async for e in engine.stream("q", "c")]
        await asyncio.to_thread(engine.close)
    troubles = [e.trouble for e in events if isinstance(e, ModelDelta) and e.trouble]
    assert len(troubles) == 2
    assert all("the model is being loaded" in trouble for trouble in troubles)
    assert isinstance(events[-1], RunEnded)
    assert events[-1].status == "answered"


async def test_leaving_a_stream_cancels_its_run() -> None:
    model = ScriptedModel(lambda m: py("print(1)"), latency=0.05)
    store = MemoryStore()
    stream = RLM(model, store=store).stream("q", "c")
    async for _ in stream:
        break
    await stream.aclose()
    (run,) = store.runs()
    assert isinstance(store.read(run)[-1], RunEnded)
    assert store.read(run)[-1].status == "cancelled"


async def test_cancelling_stops_requests_and_completes_the_journal() -> None:
    full = asyncio.Event()
    here = asyncio.get_running_loop()

    def reply(_: tuple[Message, ...]) -> str:
        if len(sub.requests) == 32:
            here.call_soon_threadsafe(full.set)
        return "r"

    sub = ScriptedModel(reply, latency=60, name="scripted:sub")
    store = MemoryStore()
    engine = RLM(ScriptedModel([py("llm_query_batched(['a'] * 100)")]), sub_model=sub, store=store)
    task = asyncio.create_task(engine.arun("q", "c"))
    await full.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert sub.cancelled == 32
    (run,) = store.runs()
    events = store.read(run)
    assert [e.kind for e in events][-2:] == ["node.ended", "run.ended"]
    started = sum(e.kind == "call.started" for e in events)
    assert started == sum(e.kind == "call.ended" for e in events) == 100


def test_tools_sync_async_and_raising() -> None:
    def double(x: int) -> int:
        """Twice x."""
        return 2 * x

    async def later(word: str) -> str:
        await asyncio.sleep(0)
        return word + "!"

    def broken() -> None:
        raise RuntimeError("the shelf is empty")

    run, model = play(
        [py("print(double(4), later('hi'))"), py("broken()"), py("submit(double(x=5))")],
        tools=[double, later, broken],
    )
    assert run.answer == 10
    assert "double(x: int) -> int`: Twice x." in model.requests[0].messages[-1].text
    assert "8 hi!" in shown(model, 1)
    assert "the shelf is empty" in shown(model, 2)


async def test_async_tools_run_on_the_callers_loop() -> None:
    here = threading.get_ident()
    seen: list[int] = []

    async def where() -> int:
        seen.append(threading.get_ident())
        return 1

    await RLM(ScriptedModel([py("print(where())\nsubmit('x')")]), tools=[where]).arun("q", "c")
    assert seen == [here]


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"max_turns": 0}, "max_turns"),
        ({"max_depth": -1}, "max_depth"),
        ({"cell_seconds": 0}, "cell_seconds"),
        ({"call_seconds": 0}, "call_seconds"),
        ({"concurrency": 0}, "concurrency"),
        ({"sandbox": "docker-ish"}, "docker-ish"),
        ({"profile": "huge"}, "frontier"),
        ({"tools": [lambda: 1]}, "def"),
        ({"model": "nope:x"}, "nope"),
        ({"model": 5}, "model=5: give a name"),
        ({"model": [5]}, "model=5: give a name"),
        ({"max_turns": "x"}, "max_turns='x': give a whole number"),
        ({"max_turns": 1.5}, "give a whole number, at least 1"),
        ({"concurrency": True}, "give a whole number"),
        ({"cell_seconds": "1"}, "give a number"),
        ({"cell_seconds": float("nan")}, "give a number"),
        ({"cell_memory": "1G"}, "cell_memory='1G': give bytes, at least 16,777,216"),
        ({"branches": 3}, r"RLM\(\) takes no branches=. Did you mean run\(…, branches=…\)"),
        ({"answer": int}, r"Did you mean run\(…, answer=…\)"),
        ({"sandbox": None}, "sandbox=None: give a name"),
        ({"tools": print}, "a list of functions"),
        ({"instructions": None}, "give text"),
        ({"budget": {"usd": 1}}, "a Budget"),
        ({"settings": {"temperature": 0}}, "ModelSettings"),
        ({"profile": 3}, "the name of a profile"),
        ({"cache": 5}, "a folder"),
        ({"runs": 5}, "a folder"),
        ({"store": object()}, "give a Store"),
    ],
)
def test_wrong_settings_are_named(settings: dict[str, object], words: str) -> None:
    with pytest.raises(ConfigError, match=words):
        RLM(**{"model": ScriptedModel([]), **settings}).run("q", "c")  # type: ignore[arg-type]


@pytest.mark.parametrize(("answer", "told"), [(5, "int"), ([int], "list"), (True, "bool")])
def test_a_value_for_the_type_of_an_answer_is_told_in_plain_words(answer: object, told: str) -> None:
    with pytest.raises(ConfigError, match=f"it is a value. Give a type, such as {told}, or a JSON schema$"):
        RLM(ScriptedModel([])).run("q", "c", answer=answer)


@pytest.mark.parametrize(
    "wrong",
    [
        {"usd": "1"},
        {"usd": float("nan")},
        {"tokens": 1.5},
        {"calls": "3"},
        {"seconds": "1"},
        {"seconds": True},
    ],
)
def test_a_limit_that_is_no_number_is_named(wrong: dict[str, object]) -> None:
    with pytest.raises(ConfigError, match="give a"):
        Budget(**wrong)  # type: ignore[arg-type]


@pytest.mark.parametrize("run", [None, 5, "", "..", "\0", "a" * 5_000])
def test_what_is_no_run_is_named(run: object) -> None:
    with pytest.raises((ConfigError, JournalError), match="run"):
        RLM(ScriptedModel([])).resume(run, "c")  # type: ignore[arg-type]


def test_a_context_that_holds_itself_or_numbers_too_long_to_write_is_a_context() -> None:
    ring: list[object] = [1]
    ring.append(ring)
    knot: dict[str, object] = {}
    knot["a"] = knot["b"] = knot
    for context, what in (
        (ring, "list"),
        (knot, "dict"),
        (1 << 100_000, "int"),
        ({"n": 1 << 100_000}, "dict"),
    ):
        run = RLM(ScriptedModel([py("print(1)\nsubmit(type(context).__name__)")])).run("q", context)
        assert (run.status, run.answer) == ("answered", what)


def test_wrong_tools_and_questions_are_named() -> None:
    def submit() -> None: ...

    with pytest.raises(ConfigError, match="submit"):
        RLM(ScriptedModel([]), tools=[submit])
    with pytest.raises(ConfigError, match="query"):
        RLM(ScriptedModel([])).run("  ", "c")
    with pytest.raises(ConfigError, match="answer"):
        RLM(ScriptedModel([])).run("q", "c", answer=object())


def test_close_closes_the_models() -> None:
    model = ScriptedModel([py("print(1)\nsubmit('x')")])
    with RLM(model) as engine:
        engine.run("q", "c")
    assert model.closed


class Slow:
    """A sandbox whose REPLs take their time to close."""

    def __init__(self) -> None:
        self.inner = ProcessSandbox("none")
        self.closing = self.closed = 0

    async def open(self, spec: ReplSpec, on_call: OnCall) -> Repl:
        repl = await self.inner.open(spec, on_call)
        close = repl.close

        async def slowly() -> None:
            self.closing += 1
            await asyncio.sleep(0.3)
            await close()
            self.closed += 1

        repl.close = slowly  # type: ignore[method-assign]
        return repl

    async def close(self) -> None:
        await self.inner.close()


def test_no_run_waits_for_its_repl_to_close_but_the_engine_does() -> None:
    sandbox = Slow()
    with RLM(ScriptedModel([py("print(1)\nsubmit('x')")]), sandbox=sandbox) as engine:
        assert engine.run("q", "c").answer == "x"
        assert sandbox.closed == 0
    assert (sandbox.closing, sandbox.closed) == (1, 1)
    runtime().wait(sandbox.close())


async def test_a_cancelled_run_leaves_no_error_unseen(caplog: pytest.LogCaptureFixture) -> None:
    model = ScriptedModel([py("1")], latency=30)
    run = asyncio.create_task(RLM(model).arun("q", "c"))
    for _ in range(10_000):
        if model.requests:
            break
        await asyncio.sleep(0.001)
    run.cancel()
    with pytest.raises(asyncio.CancelledError):
        await run
    del run
    gc.collect()
    await asyncio.sleep(0)
    assert [
        record for record in caplog.records if record.name != "unspool"
    ] == []  # that is the run's own log


async def test_every_run_that_finds_no_model_says_so_and_the_next_may_try_again() -> None:
    engine = RLM("command:no-such-program")
    for _ in range(2):
        ended = await asyncio.gather(*[engine.arun("q", "c") for _ in range(4)], return_exceptions=True)
        assert [type(error).__name__ for error in ended] == ["ConfigError"] * 4


async def test_an_engine_is_closed_at_the_end_of_an_async_block_and_its_loop_goes_on_meanwhile() -> None:
    turns = 0

    async def other() -> None:
        nonlocal turns
        while True:
            turns += 1
            await asyncio.sleep(0)

    class Closing(ScriptedModel):
        closed = 0

        async def close(self) -> None:
            before = turns
            while turns < before + 3:  # who is asked on this loop is not held up  # noqa: ASYNC110
                await asyncio.sleep(0.001)
            self.closed += 1

    model = Closing([py("print(1)\nsubmit(len(context))")])
    task = asyncio.create_task(other())
    try:
        async with RLM(model, runs=False) as rlm:
            assert (await rlm.arun("How long?", "text")).answer == 4
            assert model.closed == 0
        assert model.closed == 1
        with pytest.raises(ValueError, match="mine"):
            async with rlm:
                raise ValueError("mine")
    finally:
        task.cancel()
