"""What a model of one's own raises by mistake comes out as it is, and is blamed on nothing else; the run that is
kept has its end."""

from __future__ import annotations

import asyncio
from typing import Annotated, Any

import pytest
from pydantic import AfterValidator

from tests.engine.helpers import py
from unspool import RLM
from unspool.errors import JournalError
from unspool.events import CallStarted, Event, NodeEnded, RunEnded
from unspool.models.protocol import ModelInfo, ModelReply, ModelRequest
from unspool.onlookers import look_on
from unspool.testing import MemoryStore, ScriptedModel


@pytest.mark.parametrize("error", [IndexError, KeyError, ValueError, TypeError])
@pytest.mark.parametrize("call", ["llm_query('a')", "llm_query_batched(['a', 'b'])", "llm_map('a', ['b'])"])
def test_a_mistake_in_a_model_is_raised(error: type[Exception], call: str) -> None:
    def reply(_: object) -> str:
        raise error("a mistake of the model's own")

    rlm = RLM(ScriptedModel([py(f"print(1)\nsubmit({call})")]), sub_model=ScriptedModel(reply), runs=False)
    with pytest.raises((error, ExceptionGroup)) as raised:
        rlm.run("q", "text")
    inner: BaseException = raised.value
    while isinstance(inner, BaseExceptionGroup):
        inner = inner.exceptions[0]
    assert isinstance(inner, error)
    assert "a mistake of the model's own" in str(inner)


@pytest.mark.parametrize("branches", [1, 2])
def test_a_mistake_in_a_model_ends_the_run_that_is_kept(branches: int) -> None:
    store = MemoryStore()
    rlm = RLM(ScriptedModel(lambda _: KeyError("choices"), name="mine:x"), store=store)
    with pytest.raises((KeyError, ExceptionGroup)):
        rlm.run("q", "text", branches=branches)
    *_, last = store.read(store.runs()[0])
    assert isinstance(last, RunEnded)
    assert (last.status, last.turns) == ("failed", 1)
    assert last.reason == "the model mine:x failed: KeyError: 'choices'"


def test_a_mistake_in_the_model_of_sub_calls_ends_the_nodes_and_the_run_goes_on_when_it_is_mended() -> None:
    store = MemoryStore()
    root = ScriptedModel(lambda _: py("print(llm_query('a'))\nsubmit(llm_query('b'))"), name="mine:root")
    broken = ScriptedModel(lambda m: "A" if m[-1].text == "a" else OSError("no route"), name="mine:sub")
    with pytest.raises(OSError, match="no route") as raised:
        RLM(root, sub_model=broken, store=store).run("q", "text")
    assert raised.value.__notes__ == ["raised by the model mine:sub"]
    (run,) = store.runs()
    ends = [event for event in store.read(run) if isinstance(event, NodeEnded | RunEnded)]
    assert [(end.kind, end.status, end.reason) for end in ends] == [
        (kind, "failed", "the model mine:sub failed: OSError: no route")
        for kind in ("node.ended", "run.ended")
    ]
    mended = ScriptedModel(lambda m: m[-1].text.upper(), name="mine:sub")
    resumed = RLM(root, sub_model=mended, store=store).resume(run, "text")
    assert (resumed.status, resumed.answer) == ("answered", "B")
    assert [request.messages[-1].text for request in mended.requests] == ["b"]


class _Ends:
    """A model of one's own that ends the program, as it thinks."""

    def __init__(self, error: BaseException) -> None:
        self._error = error
        self.info = ModelInfo("mine:ends", "frontier", 10_000, 1_000)

    async def complete(self, request: ModelRequest) -> ModelReply:
        raise self._error

    async def close(self) -> None:
        return None


class Odd(BaseException):
    """Nobody's: no Exception, and nothing that ends a program."""


@pytest.mark.parametrize(
    "error", [SystemExit(3), KeyboardInterrupt(), Odd("odd"), GeneratorExit(), asyncio.CancelledError("odd")]
)
@pytest.mark.parametrize("role", ["root", "sub", "batch"])
def test_a_model_that_ends_the_program_ends_its_run_alone(error: BaseException, role: str) -> None:
    store = MemoryStore()
    call = "llm_query_batched(['a', 'b'])" if role == "batch" else "llm_query('a')"
    good = ScriptedModel(lambda _: py(f"print(1)\nsubmit({call})"))
    bad = _Ends(error)
    rlm = RLM(bad if role == "root" else good, sub_model=None if role == "root" else bad, store=store)
    with pytest.raises((RuntimeError, ExceptionGroup)):
        rlm.run("q", "text")
    *_, last = store.read(store.runs()[0])
    assert isinstance(last, RunEnded)
    assert last.status == "failed"
    assert last.reason.startswith(f"the model mine:ends failed: RuntimeError: {error!r} was raised in")
    again = RLM(ScriptedModel([py("submit(len(context))")]), runs=False).run("q", "text")
    assert again.answer == 4


@pytest.mark.parametrize("error", [SystemExit, KeyboardInterrupt])
@pytest.mark.parametrize("where", ["on_event", "tool", "store", "store in a call"])
def test_what_else_ends_the_program_reaches_who_asked_and_no_other_run(
    error: type[BaseException], where: str
) -> None:
    def ends(*_: object) -> None:
        raise error

    class Store(MemoryStore):
        def append(self, run: str, event: Event) -> None:
            if where == "store" or isinstance(event, CallStarted):
                raise error

    code = "llm_query('a')" if where == "store in a call" else "ends()"
    model = ScriptedModel([py(f"print({code})"), py("submit(1)")])
    tools, store = [ends] * (where == "tool"), Store() if "store" in where else None
    with RLM(model, tools=tools, store=store) as rlm:
        reached: BaseException | None = None
        try:
            if where == "on_event":
                rlm.session("text", on_event=ends)
            assert rlm.run("q", "text").answer == 1  # the model read it
        except (SystemExit, KeyboardInterrupt) as raised:
            reached = raised
        assert type(reached) is (type(None) if where == "tool" else error)
        model = ScriptedModel([py("submit(len(context))")])
        assert RLM(model, runs=False).run("q", "text").answer == 4


@pytest.mark.parametrize("error", [Odd, GeneratorExit, asyncio.CancelledError])
@pytest.mark.parametrize("where", ["on_event", "answer", "agree", "store", "store at first", "onlooker"])
def test_a_function_of_the_users_that_raises_no_exception_is_told_and_stops_nothing_else(
    error: type[BaseException], where: str
) -> None:
    def odd(*_: object) -> Any:
        raise error("odd")

    class Store(MemoryStore):
        def append(self, run: str, event: Event) -> None:
            if where == "store at first" or (where == "store" and isinstance(event, CallStarted)):
                odd()
            super().append(run, event)

    def listens(event: Event) -> None:
        if where == "on_event" and isinstance(event, CallStarted):
            odd()

    store = Store()
    model = ScriptedModel(lambda m: "b" if m[-1].text == "a" else py("print(llm_query('a'))\nsubmit(1)"))
    words = f"{error.__name__}: odd"
    remove = look_on(lambda _: odd) if where == "onlooker" else None
    with RLM(model, store=store) as rlm:
        try:
            if where == "on_event":
                session = rlm.session("text", on_event=listens)
                with pytest.raises((error, RuntimeError), match="odd"):
                    session.execute("llm_query('a')")
                session.close()  # waits for its end
            elif where == "answer":
                with pytest.raises((error, RuntimeError), match="odd"):
                    rlm.run("q", "text", answer=Annotated[int, AfterValidator(lambda _: odd())])
            elif where == "store at first":
                with pytest.raises(JournalError, match=f"the store of runs failed: {words}"):
                    rlm.run("q", "text")
            elif where == "store":
                run = rlm.run("q", "text")
                assert (run.status, run.reason) == ("failed", f"the store of runs failed: {words}")
            else:
                run = rlm.run("q", "text", agree=odd, branches=2 if where == "agree" else 1)
                assert run.answer == 1
                assert where == "onlooker" or any(words in note for note in run.notes)
        finally:
            if remove is not None:
                remove()
        if where in ("on_event", "answer"):
            *_, last = store.read(store.runs()[0])
            assert isinstance(last, RunEnded)
            assert where == "on_event" or (last.status, words in last.reason) == ("failed", True)
    assert RLM(ScriptedModel([py("submit(len(context))")]), runs=False).run("q", "text").answer == 4
