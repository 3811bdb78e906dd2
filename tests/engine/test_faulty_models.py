"""What a model of one's own raises by mistake comes out as it is, and is blamed on nothing else; the run that is
kept has its end."""

from __future__ import annotations

import pytest

from tests.engine.helpers import py
from unspool import RLM
from unspool.events import NodeEnded, RunEnded
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
