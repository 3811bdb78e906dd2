"""What nobody has read is not called read: limits without room, a provider out of reach, before and after a
resume; the viewer's map has no readers then, either."""

from __future__ import annotations

import pytest

from unspool import RLM, Budget, Run
from unspool.testing import Ask, Behaviour, FaultyServer, MemoryStore, ScriptedModel
from unspool.viewer.followed import Seen
from unspool.viewer.readers import map_told

from .helpers import py
from .served import engine_at

TEXT = "".join(f"{n * 7919 % 10007:05d} is what line {n} of this log says\n" for n in range(400))
SMALL = TEXT[:800]  # the description shows all of it


def share_told(run: Run, store: MemoryStore) -> float | None:
    """The share, for all who tell it: the run, and the viewer."""
    told = map_told(Seen.of(run.id, store.read(run.id)))
    assert bool(told["readers"]) == bool(run.coverage.read)
    assert told["coverage"]["share"] == run.coverage.share  # type: ignore[index]
    return run.coverage.share


@pytest.mark.parametrize("strategy", ["rlm", "direct", "codeact", "compaction", "map_reduce"])
@pytest.mark.parametrize("text", [SMALL, TEXT])
def test_a_limit_without_room_for_a_call_has_read_nothing(strategy: str, text: str) -> None:
    store = MemoryStore()
    engine = RLM(ScriptedModel(["none is sent"]), budget=Budget(tokens=10), store=store, strategy=strategy)
    run = engine.run("How many?", text)
    assert (run.status, run.usage.calls) == ("budget", 0)
    assert share_told(run, store) == 0


@pytest.mark.parametrize("profile", ["frontier", "small"])
def test_a_provider_that_refuses_has_read_nothing(profile: str) -> None:
    """A small profile has a first look of its own."""
    store = MemoryStore()
    with FaultyServer(lambda ask: Behaviour(status=401)) as server:
        run = engine_at(server, store=store, profile=profile).run("How many?", SMALL)
    assert run.status == "failed"
    assert share_told(run, store) == 0


def test_a_prompt_that_was_refused_is_not_read_and_one_that_was_answered_is() -> None:
    code = "r = llm_query_batched([context[:6000], context[6000:12000]])\nprint(len(r))\nsubmit('done')"

    def script(ask: Ask) -> Behaviour | str:
        if ask.body["model"] == "root":
            return py(code)
        return "ok" if ask.prompt.startswith(TEXT[:20]) else Behaviour(status=400)

    store = MemoryStore()
    with FaultyServer(script) as server:
        run = engine_at(server, store=store).run("What?", TEXT)
    assert run.answer == "done"
    assert run.coverage.by_sub_calls == pytest.approx(6_000 / len(TEXT), abs=0.001)
    share_told(run, store)


def test_a_question_counts_once_the_child_has_replied() -> None:
    code = (
        "try:\n    rlm_query(context[3000:9000])\nexcept LLMError as error:\n    print('no')\nsubmit('done')"
    )

    def script(ask: Ask) -> Behaviour | str:
        asked = ask.body["messages"][-1]["content"]
        return Behaviour(status=400) if TEXT[4_000:4_100] in str(asked) else py(code)

    store = MemoryStore()
    with FaultyServer(script) as server:
        run = engine_at(server, store=store).run("What?", TEXT)
    assert run.answer == "done"
    assert run.coverage.by_children == 0
    share_told(run, store)


def test_after_a_resume_it_is_read_as_soon_as_the_model_has_replied() -> None:
    store = MemoryStore()
    broke = RLM(ScriptedModel(["none"]), budget=Budget(tokens=10), store=store).run("How many?", SMALL)
    assert share_told(broke, store) == 0
    again = RLM(ScriptedModel([py("print(1)\nsubmit(7)")]), store=store).resume(broke.id, SMALL)
    assert again.answer == 7
    assert again.coverage.share == 1
    assert share_told(again, store) == 1


def test_who_drives_a_session_has_read_its_description() -> None:
    store = MemoryStore()
    with RLM(ScriptedModel(["none"]), store=store).session(SMALL) as session:
        session.execute("1 + 1")
    assert share_told(session.close(), store) == 1
