"""Branches: several trajectories for one question, what they share, and how they decide."""

from __future__ import annotations

import asyncio
import random
import re
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace

import pytest

from unspool import RLM, Budget, ConfigError, ModelError, ModelReply, ModelRequest, Run
from unspool.agreement import MOST, Tally, normalised
from unspool.errors import Divergence
from unspool.events import (
    AnswerAccepted,
    BranchesDecided,
    CellEnded,
    CellStarted,
    Event,
    ModelReplied,
    NodeEnded,
    RunEnded,
    RunStarted,
    TurnStarted,
)
from unspool.models.settings import ModelSettings
from unspool.testing import MemoryStore, ScriptedModel

from .helpers import py

Reply = str | BaseException | Awaitable[str]
LOOK = py("x = len(context)\nprint(x)")


class Sampled(ScriptedModel):
    """A model whose reply depends on the branch that asks (by its seed) and on its turn."""

    def __init__(self, reply: Callable[[int, int], Reply], **settings: object) -> None:
        super().__init__(
            lambda messages: reply(self._branch, 1 + sum(m.role == "assistant" for m in messages)), **settings
        )  # type: ignore[arg-type,return-value]
        self._branch = 0

    async def complete(self, request: ModelRequest) -> ModelReply:
        self._branch = 1 + (request.seed or 0)
        return await super().complete(request)


class InTurn(MemoryStore):
    """A store that lets each branch say its second reply when the one before it has ended."""

    def __init__(self) -> None:
        super().__init__()
        self.ended = {node: asyncio.Event() for node in ("0", "0@2", "0@3")}

    def append(self, run: str, event: Event) -> None:
        super().append(run, event)
        if isinstance(event, NodeEnded):
            self.ended[event.node].set()

    def __call__(self, reply: Callable[[int, int], Reply]) -> Callable[[int, int], Reply]:
        async def wait(branch: int, turn: int) -> str:
            await self.ended["0" if branch == 2 else f"0@{branch - 1}"].wait()
            said = reply(branch, turn)
            if isinstance(said, BaseException):
                raise said
            assert isinstance(said, str)
            return said

        return lambda branch, turn: wait(branch, turn) if branch > 1 and turn == 2 else reply(branch, turn)


def answers(*values: object) -> Callable[[int, int], Reply]:
    """The first turn looks; in the second each branch submits its value."""
    return lambda branch, turn: LOOK if turn == 1 else py(f"print(x)\nsubmit({values[branch - 1]!r})")


def engine(model: ScriptedModel, store: MemoryStore | None = None, **settings: object) -> RLM:
    settings.setdefault("settings", ModelSettings(seed=0))
    return RLM(model, store=store or MemoryStore(), **settings)  # type: ignore[arg-type]


def run(
    model: ScriptedModel, branches: int, *, context: object = "abc", agree: Callable[[object], object] | None = None,
    **settings: object,
) -> Run:  # fmt: skip
    return engine(model, **settings).run("q", context, branches=branches, agree=agree)


def test_most_agree_and_the_first_turn_is_paid_for_once() -> None:
    store = InTurn()
    model = Sampled(store(answers("Yes.", "no", "yes")), cost=0.01)
    result = run(model, 3, store=store)
    assert (result.answer, result.status) == ("Yes.", "answered")
    assert result.reason == "submitted; 2 of 3 branches agree"
    assert len(model.requests) == 4  # one shared first turn, then one turn each
    assert result.cost == pytest.approx(0.04)
    assert [(b.number, b.status, b.answer, b.agrees) for b in result.branches] == [
        (1, "answered", "Yes.", True), (2, "answered", "no", False), (3, "answered", "yes", True),
    ]  # fmt: skip
    assert [b.cost for b in result.branches] == pytest.approx([0.02, 0.01, 0.01])
    assert sum(b.usage.calls for b in result.branches) == result.usage.calls == 4
    outputs = [[c.output for t in b.trace.turns for c in t.cells] for b in result.branches]
    assert outputs == [["3\n", "3\n"]] * 3
    assert result.trace == result.branches[0].trace


def test_the_history_of_the_branches_begins_alike() -> None:
    model = Sampled(answers(1, 2, 3))
    run(model, 3)  # nothing is decided before all have answered
    second = [request.messages for request in model.requests[1:]]
    assert second[0] == second[1] == second[2]


def test_the_chosen_branch_gives_the_answer_and_the_trace() -> None:
    store = InTurn()
    result = run(Sampled(store(answers("a", "b", "B!"))), 3, store=store)
    assert result.answer == "b"
    assert result.trace.id == "0@2"
    assert [b.agrees for b in result.branches] == [False, True, True]


def test_where_no_two_agree_the_first_counts() -> None:
    result = run(Sampled(answers(1, 2, 3)), 3)
    assert (result.answer, result.reason) == (1, "submitted; no two of 3 branches agree")


def test_one_branch_is_a_run_as_always() -> None:
    model = Sampled(answers(1))
    result = run(model, 1)
    assert (result.answer, result.reason, result.branches) == (1, "submitted", ())


def test_what_cannot_change_the_answer_is_stopped() -> None:
    asked = asyncio.Event()

    async def second(branch: int) -> str:
        if branch == 3:
            asked.set()
            await asyncio.Event().wait()
        await asked.wait()  # the others decide when the third is under way
        said = answers(5, 5.0)(branch, 2)
        assert isinstance(said, str)
        return said

    def reply(branch: int, turn: int) -> Reply:
        return LOOK if turn == 1 else second(branch)  # type: ignore[return-value]

    model, store = Sampled(reply), MemoryStore()
    result = engine(model, store).run("q", "abc", branches=3)
    assert result.answer == 5
    assert model.cancelled == 1
    third = result.branches[2]
    assert (third.status, third.reason) == ("cancelled", "the others have decided")
    decided = next(e for e in store.read(result.id) if isinstance(e, BranchesDecided))
    assert (decided.node, decided.count, decided.agreeing, decided.stopped) == (
        "0",
        3,
        ("0", "0@2"),
        ("0@3",),
    )


async def hold() -> str:
    """Never ends by itself."""
    await asyncio.Event().wait()
    return ""


STAYS = "try:\n    submit({!r})\nfinally:\n    import threading\n    threading.Event().wait()"  # until it is stopped


class Cancels(MemoryStore):
    """Stops the run as soon as an answer is accepted."""

    rlm: RLM

    def append(self, run: str, event: Event) -> None:
        super().append(run, event)
        if isinstance(event, AnswerAccepted):
            self.rlm.cancel(run)


class Held(MemoryStore):
    """The store and the replies of three branches: the third has submitted its value, and its cell goes on
    until it is stopped, before the others reply. With ``None`` it is held before it submits."""

    def __init__(self, *values: object) -> None:
        super().__init__()
        self._values = values
        self._there = asyncio.Event()

    def append(self, run: str, event: Event) -> None:
        super().append(run, event)
        submits = self._values[2] is not None
        awaited = isinstance(event, AnswerAccepted if submits else CellStarted) and event.node == "0@3"
        if awaited and (submits or event.turn == 2):
            self._there.set()

    async def _after(self, value: object) -> str:
        await self._there.wait()
        return py(f"submit({value!r})")

    def __call__(self, branch: int, turn: int) -> Reply:
        value = self._values[branch - 1]
        if turn == 1:
            return LOOK
        if branch < 3:
            return self._after(value)
        return py("hold()" if value is None else STAYS.format(value))


@pytest.mark.parametrize(
    ("last", "agrees", "reason"),
    [(42, True, "submitted; 3 of 3 branches agree"), (7, False, "submitted; 2 of 3 branches agree")],
)
def test_an_answer_that_was_accepted_before_its_branch_was_stopped_counts(
    last: int, agrees: bool, reason: str
) -> None:
    store = Held(42, 42, last)
    result = run(Sampled(store), 3, tools=[hold], store=store)
    assert (result.answer, result.reason) == (42, reason)
    assert [(b.status, b.answer, b.agrees) for b in result.branches] == [
        ("answered", 42, True), ("answered", 42, True), ("answered", last, agrees),
    ]  # fmt: skip
    assert result.branches[2].trace.turns[1].cells[0].outcome is None  # it was stopped
    decided = next(e for e in store.read(result.id) if isinstance(e, BranchesDecided))
    assert decided.stopped == ()


def test_a_branch_that_was_stopped_before_it_answered_is_not_said_to_disagree() -> None:
    store = Held(42, 42, None)
    result = run(Sampled(store), 3, tools=[hold], store=store)
    assert result.reason == (
        "submitted; 2 of 2 branches that ended agree, 1 was stopped as it could not change it"
    )
    assert [(b.status, b.answer, b.agrees) for b in result.branches] == [
        ("answered", 42, True), ("answered", 42, True), ("cancelled", None, None),
    ]  # fmt: skip


def test_a_run_that_is_stopped_right_after_its_answer_was_accepted_has_answered() -> None:
    """As where a limit is reached in that moment."""
    store = Cancels()
    store.rlm = engine(ScriptedModel([LOOK, py(STAYS.format(42))]), store)
    result = store.rlm.run("q", "abc")
    assert (result.status, result.answer, result.draft) == ("answered", 42, None)
    assert (result.trace.status, result.trace.answer) == ("answered", 42)
    assert result.trace.turns[1].cells[0].outcome is None  # it was stopped


def test_a_run_that_is_stopped_after_a_branch_has_submitted_hands_that_over() -> None:
    def reply(branch: int, turn: int) -> Reply:
        if turn == 1:
            return LOOK
        return py(STAYS.format(42)) if branch == 2 else asyncio.Event().wait()  # type: ignore[return-value]

    store = Cancels()
    store.rlm = engine(Sampled(reply), store)
    result = store.rlm.run("q", "abc", branches=3)
    assert (result.status, result.answer, result.draft) == ("cancelled", 42, "the answer of branch 2")
    assert [(b.status, b.answer, b.agrees) for b in result.branches] == [
        ("cancelled", None, None), ("answered", 42, None), ("cancelled", None, None),
    ]  # fmt: skip


def test_sub_calls_tools_and_children_of_the_shared_turn_are_made_once() -> None:
    used: list[str] = []

    def lookup(name: str) -> str:
        """Finds it."""
        used.append(name)
        return f"{name}-{len(used)}"

    first = py("a = llm_query('once?')\nb = lookup('n')\nc = rlm_query('child?', 'xy')\nprint(a, b, c)")

    def reply(messages: Sequence[object]) -> str:
        if "child?" in messages[-1].text:  # type: ignore[attr-defined]
            return py("print(1)\nsubmit(len(context))")
        turn = 1 + sum(m.role == "assistant" for m in messages)  # type: ignore[attr-defined]
        return first if turn == 1 else py("submit([a, b, c])")

    root, sub = ScriptedModel(reply), ScriptedModel(lambda _: "reply", name="scripted:sub")
    result = run(root, 3, sub_model=sub, tools=[lookup])
    assert result.answer == ["reply", "n-1", 2]
    answered = [b for b in result.branches if b.status == "answered"]  # two are enough: one may be stopped
    assert len(answered) >= 2
    assert (len(sub.requests), used, result.sub_calls) == (1, ["n"], 1)
    assert {b.trace.turns[0].cells[0].output for b in answered} == {"reply n-1 2\n"}


def test_variables_of_one_branch_are_not_the_others() -> None:
    def reply(branch: int, turn: int) -> Reply:
        if turn == 1:
            return py("seen = []\nprint(seen)")
        if turn == 2:
            return py(f"seen.append({branch})\nprint(seen)")
        return py("submit(seen)")

    result = run(Sampled(reply), 3)
    assert [b.answer for b in result.branches] == [[1], [2], [3]]


def test_random_numbers_of_the_shared_turn_are_the_same() -> None:
    def reply(branch: int, turn: int) -> Reply:
        return py("import random\nr = random.random()\nprint(r)") if turn == 1 else py("submit(r)")

    result = run(Sampled(reply), 3)
    assert len({b.answer for b in result.branches if b.status == "answered"}) == 1
    assert re.search(r"; (3 of 3 branches|2 of 2 branches that ended) agree", result.reason)


def test_of_two_branches_the_first_to_end_may_decide() -> None:
    def reply(branch: int, turn: int) -> Reply:
        return asyncio.Event().wait() if branch == 2 and turn > 1 else answers(5)(branch, turn)  # type: ignore[return-value]

    assert run(Sampled(reply), 2).reason == "submitted; the other branches could not change it"


def test_a_first_turn_that_answers_is_the_answer_of_one_branch() -> None:
    """The others have nothing to leave from, and begin at the beginning."""
    model = Sampled(lambda branch, turn: py(f"print(1)\nsubmit({[1, 2, 2][branch - 1]})"))
    result = run(model, 3)
    assert result.answer == 2
    assert len(model.requests) == 3
    assert [b.usage.calls for b in result.branches] == [1, 1, 1]


def test_a_cell_of_the_shared_turn_that_crashed_is_not_run_again() -> None:
    first = py("print('before')", "import os\nprint('in it')\nos._exit(3)")
    store = InTurn()

    async def last() -> str:
        await store.ended["0@2"].wait()
        return py("submit('x')")

    def reply(branch: int, turn: int) -> Reply:
        return first if turn == 1 else last() if branch == 1 else py("submit('x')")

    result = engine(Sampled(reply), store).run("q", "abc", branches=2)
    ended = {b.number: [c.outcome for c in b.trace.turns[0].cells] for b in result.branches}
    assert ended == {1: ["ok", "rolled_back"], 2: ["ok", "rolled_back"]}
    assert [b.answer for b in result.branches] == ["x", "x"]


def test_branches_sample_by_themselves() -> None:
    model = Sampled(answers(1, 2, 3))
    run(model, 3, settings=ModelSettings(seed=0, temperature=0.0))
    assert {(r.seed, r.temperature) for r in model.requests} == {(0, 0.0), (1, 0.7), (2, 0.7)}


def test_a_function_of_the_users_says_what_agrees() -> None:
    store = InTurn()
    result = run(Sampled(store(answers("a long one", "other", "brief"))), 3, agree=len, store=store)
    assert result.answer == "other"
    assert run(Sampled(answers("a", "bb", "cc")), 3, agree=lambda answer: len(str(answer))).answer == "bb"


def test_a_function_that_raises_is_told_and_ends_nothing() -> None:
    def bad(answer: object) -> object:
        raise KeyError("no")

    result = run(Sampled(answers("a", "b", "b")), 3, agree=bad)
    assert result.answer == "b"
    assert any("agree= raised KeyError" in note for note in result.notes)


@pytest.mark.parametrize("count", [0, -1, MOST + 1, 2.0, True, "3"])
def test_a_number_of_branches_that_is_none_is_refused(count: object) -> None:
    model = Sampled(answers(1))
    with pytest.raises(ConfigError, match="branches="):
        engine(model).run("q", "abc", branches=count)  # type: ignore[arg-type]
    assert not model.requests


def test_branches_that_fail_do_not_vote() -> None:
    def reply(branch: int, turn: int) -> Reply:
        if turn == 1:
            return LOOK
        return py("submit('good')") if branch == 3 else ModelError("bad_request", "no")

    store = InTurn()
    result = run(Sampled(store(reply)), 3, store=store)
    assert (result.answer, result.status) == ("good", "answered")
    assert result.reason == "submitted; only 1 of 3 branches answered"
    assert [(b.status, b.agrees) for b in result.branches] == [
        ("failed", None), ("failed", None), ("answered", True),
    ]  # fmt: skip


def test_where_nobody_answers_the_first_draft_is_handed_over() -> None:
    def reply(branch: int, turn: int) -> Reply:
        return LOOK if turn == 1 else py(f"result = {branch}\nprint(1)" if branch == 2 else "print(1)")

    result = run(Sampled(reply), 3, max_turns=2)
    assert (result.status, result.answer, result.draft) == ("budget", 2, "variable result")
    assert [b.agrees for b in result.branches] == [None, None, None]  # a draft is no answer
    assert result.branches[1].answer == 2


def test_an_error_that_no_retry_mends_ends_all() -> None:
    model = Sampled(lambda branch, turn: ModelError("auth", "bad key"))
    result = run(model, 3)
    assert result.status == "failed"
    assert len(model.requests) == 1


def test_all_branches_spend_from_one_budget() -> None:
    model = Sampled(lambda branch, turn: py(f"print({turn})"))
    result = run(model, 4, budget=Budget(tokens=60_000))
    assert result.status == "budget"
    used = result.usage
    assert (used.input_tokens or 0) + (used.output_tokens or 0) <= 60_000
    assert len({b.number for b in result.branches}) == 4


async def test_a_run_that_is_cancelled_hands_over_what_one_branch_answered() -> None:
    def reply(branch: int, turn: int) -> Reply:
        return asyncio.Event().wait() if branch != 2 and turn > 1 else answers(0, "found")(branch, turn)  # type: ignore[return-value]

    rlm = engine(Sampled(reply))
    events: list[Event] = []
    async for event in rlm.stream("q", "abc", branches=3):
        events.append(event)
        if isinstance(event, NodeEnded) and event.node == "0@2":
            rlm.cancel(next(e.run for e in events if isinstance(e, RunStarted)))
    ended = events[-1]
    assert isinstance(ended, RunEnded)
    assert (ended.status, ended.answer, ended.draft) == ("cancelled", "found", "the answer of branch 2")
    assert sorted(e.node for e in events if isinstance(e, NodeEnded)) == ["0", "0@2", "0@3"]


def test_events_are_the_only_source() -> None:
    from unspool.trace import run_from_events

    store = MemoryStore()
    result = engine(Sampled(answers("a", "b", "b")), store).run("q", "abc", branches=3)
    assert run_from_events(store.read(result.id)) == result
    shared = [e for e in store.read(result.id) if isinstance(e, ModelReplied) and e.shared]
    assert [(e.node, e.turn, e.usage.calls, e.cost) for e in shared] == [
        ("0@2", 1, 0, 0.0),
        ("0@3", 1, 0, 0.0),
    ]


SCRIPT = [
    py("a = llm_query('first')\nprint(a)"),
    py("b = llm_query_batched(['p', 'q'])\nprint(b)\nc = rlm_query('child?', a)\nprint(c)"),
    py("submit(c)"),
]


def longer(messages: Sequence[object]) -> str:
    if "child?" in messages[-1].text:  # type: ignore[attr-defined]
        return py("print(1)\nsubmit(len(context))")
    return SCRIPT[sum(m.role == "assistant" for m in messages)]  # type: ignore[attr-defined]


def test_a_run_that_was_killed_anywhere_goes_on_and_pays_for_nothing_twice() -> None:
    root = ScriptedModel(longer)
    sub = ScriptedModel(lambda m: f"<{m[-1].text}>", name="scripted:sub")
    store = MemoryStore()
    whole = engine(root, store, sub_model=sub).run("q", "abc", branches=3)
    asked = len(root.requests) + len(sub.requests)
    events = store.read(whole.id)
    assert whole.answer == len("<first>")
    last = len(events) - 1  # without run.ended
    for cut in sorted({*range(1, 12), *random.Random(1).sample(range(12, last), 12), last}):
        part = MemoryStore()
        part.open(whole.id)
        for event in events[:cut]:
            part.append(whole.id, event)
        root.requests.clear()
        sub.requests.clear()
        again = engine(root, part, sub_model=sub).resume(whole.id, "abc")
        assert (again.answer, again.status) == (whole.answer, "answered"), cut
        known = sum(isinstance(e, ModelReplied) and not e.shared for e in events[:cut])
        # What was under way when it was cut is asked again; and a branch that had been stopped goes on.
        assert len(root.requests) + len(sub.requests) <= asked - known + 9, cut
        assert again.branches[0].trace.turns[0].text == SCRIPT[0]
        first = [e for e in part.read(whole.id) if isinstance(e, TurnStarted) and e.node == "0@2"]
        assert [e.turn for e in first] == sorted({e.turn for e in first}), cut


def test_a_branch_that_does_not_do_again_what_it_did_stops_the_resumed_run() -> None:
    store = MemoryStore()
    whole = engine(Sampled(answers(1, 2, 3)), store).run("q", "abc", branches=3)
    part = MemoryStore()
    part.open(whole.id)
    events = [e for e in store.read(whole.id) if not isinstance(e, NodeEnded | BranchesDecided | RunEnded)]
    for event in events:
        if isinstance(event, CellEnded) and event.node != "0" and event.turn == 2:
            event = replace(event, output="something else\n")
        part.append(whole.id, event)
    model = Sampled(answers(1, 2, 3))
    with pytest.raises(Divergence, match="node 0@"):
        engine(model, part).resume(whole.id, "abc")
    assert not model.requests
    again = engine(Sampled(answers(1, 2, 3)), part).resume(whole.id, "abc", diverged="continue")
    assert again.answer == 1


def test_a_resumed_run_needs_its_function_again() -> None:
    store = MemoryStore()
    whole = engine(Sampled(answers("a", "bb", "cc")), store).run("q", "abc", branches=3, agree=len)
    part = MemoryStore()
    part.open(whole.id)
    for event in store.read(whole.id)[:-3]:
        part.append(whole.id, event)
    with pytest.raises(ConfigError, match="decides which answers agree"):
        engine(Sampled(answers("a", "bb", "cc")), part).resume(whole.id, "abc")
    assert engine(Sampled(answers("a", "bb", "cc")), part).resume(whole.id, "abc", agree=len).answer == "bb"


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (3, "3"), (3, 3.0), ("1,234", 1234), ("$5", 5), ("42 %", 42), (0.1 + 0.2, 0.3), ("Yes.", "yes"),
        ("New  York", "new york!"), ({1, 2}, {2.0, "1"}), ([1, "A"], ["1", "a."]), ({"a": 1}, {"A": "1"}),
        (True, "true"), ("well-known", "Well known"), ((1,), [1]), ("café", "cafe\u0301"),
    ],
)  # fmt: skip
def test_answers_that_people_would_call_the_same(one: object, other: object) -> None:
    assert normalised(one) == normalised(other)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (3, 4), ("-3", "3"), ("1.5", "15"), ([1, 2], [2, 1]), ({1}, {1, 2}), ("C++", "C"), (None, ""), ("a", ["a"]),
        ("10.0.0.1", "10.0.01"), (float("nan"), 0), ({"a": 1}, {"a": 2}), (1, True),
    ],
)  # fmt: skip
def test_answers_that_are_not(one: object, other: object) -> None:
    assert normalised(one) != normalised(other)


def test_decided_is_exact() -> None:
    """Against every way the open branches can still answer."""
    chance = random.Random(5)
    for _ in range(300):
        count = chance.randint(1, 5)
        order = chance.sample(range(1, count + 1), count)
        done = chance.randint(0, count)
        tally = Tally(count)
        for number in order[:done]:
            tally.add(number, chance.choice("ab")) if chance.random() < 0.8 else tally.ended(number)
        votes = dict(tally._votes)

        def winners(
            left: list[int], votes: dict[int, object], silent: set[int], count: int = count
        ) -> set[object]:
            if not left:
                full = Tally(count)
                for number, key in votes.items():
                    full.add(number, key)  # type: ignore[arg-type]
                return {full.winner}
            found: set[object] = set()
            for key in ("a", "b", "c", "d"):
                found |= winners(left[1:], {**votes, left[0]: key}, silent)
            return found | winners(left[1:], votes, silent | {left[0]})

        possible = winners(order[done:], votes, set())  # type: ignore[arg-type]
        assert tally.decided == (len(possible) == 1), (count, votes, tally.open, possible)
