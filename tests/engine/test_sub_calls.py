"""Sub-calls from code: right arguments, typed failures, accounting."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

import pytest

from unspool import Budget, ModelError, ModelReply, Usage
from unspool.models.protocol import Message
from unspool.testing import ScriptedModel

from .helpers import play, py, shown


def echo(**settings: object) -> ScriptedModel:
    return ScriptedModel(lambda messages: "re: " + messages[-1].text, name="scripted:sub", **settings)  # type: ignore[arg-type]


def results(code: str, sub: ScriptedModel | None = None, **settings: object) -> object:
    """What a cell that assigns ``r`` got."""
    run, _model = play([py(code + "\nprint(1)\nsubmit(r)")], sub=sub or echo(), max_turns=1, **settings)
    assert run.status == "answered", run.trace.turns[0].cells[0]
    return run.answer


@pytest.mark.parametrize(
    ("call", "expected"),
    [
        ("llm_query('a')", "re: a"),
        ("llm_query(prompt='a')", "re: a"),
        ("llm_query_batched(['a', 'b'])", ["re: a", "re: b"]),
        ("llm_query_batched(prompts=['a'])", ["re: a"]),
        ("llm_query_batched(queries=['a'])", ["re: a"]),
        ("llm_query_batched(('a', 'b'))", ["re: a", "re: b"]),
        ("llm_query_batched(c for c in 'ab')", ["re: a", "re: b"]),
        ("llm_query_batched([])", []),
    ],
)
def test_spellings_of_a_call(call: str, expected: object) -> None:
    assert results(f"r = {call}") == expected


def test_a_column_of_a_table_is_a_batch() -> None:
    pytest.importorskip("pandas")
    code = "import pandas as pd\nr = llm_query_batched(pd.DataFrame({'t': ['a', 'b']})['t'])"
    assert results(code) == ["re: a", "re: b"]


@pytest.mark.parametrize("call", ["llm_query(['a', 'b'])", "llm_query(None)", "llm_query('')", "llm_query()"])
def test_a_wrong_call_shows_the_right_one(call: str) -> None:
    sub = echo()
    run, model = play([py(call), py("print(1)\nsubmit('x')")], sub=sub)
    assert run.answer == "x"
    assert "llm_query" in shown(model, 1)
    assert sub.requests == []


def test_an_unknown_model_is_refused_with_the_known_ones() -> None:
    sub = echo()
    _run, model = play([py("llm_query('a', model='gpt-99')"), py("print(1)\nsubmit('x')")], sub=sub)
    assert "gpt-99" in shown(model, 1)
    assert "scripted:sub" in shown(model, 1)
    assert sub.requests == []


def test_root_and_sub_model_can_be_named() -> None:
    root = ScriptedModel(
        [py("r = llm_query('a', model='scripted:model')\nprint(1)\nsubmit(r)"), "from the root model"]
    )
    from unspool import RLM

    run = RLM(root, sub_model=echo()).run("q", "c")
    assert run.answer == "from the root model"


def one_bad(messages: tuple[Message, ...]) -> str | ModelError:
    text = messages[-1].text
    return ModelError("bad_request", "no such thing") if text == "3" else "re: " + text


def test_one_of_sixteen_fails() -> None:
    code = (
        "a = llm_query_batched([str(i) for i in range(16)])\n"
        "good = [x for x in a if x]\n"
        "try:\n    ' '.join(str(x) for x in a)\n    leaked = True\n"
        "except LLMError as e:\n    leaked = False\n"
        "try:\n    f'{a[3]}'\n    leaked = True\nexcept LLMError:\n    pass\n"
        "r = [len(good), leaked, repr(a[3]), bool(a[3]), a[15]]"
    )
    answer = results(code, ScriptedModel(one_bad, name="scripted:sub"))
    assert isinstance(answer, list)
    assert answer[:2] == [15, False]
    assert "no such thing" in str(answer[2])
    assert answer[3:] == [False, "re: 15"]


def test_a_failed_single_call_raises_and_keeps_its_kind() -> None:
    code = "try:\n    llm_query('3')\n    r = 'no'\nexcept LLMError as e:\n    r = [e.kind, str(e)]"
    answer = results(code, ScriptedModel(one_bad, name="scripted:sub"))
    assert answer == ["bad_request", "no such thing"]


def test_on_error_raise() -> None:
    code = "try:\n    r = llm_query_batched(['1', '3'], on_error='raise')\nexcept LLMError as e:\n    r = 'raised'"
    assert results(code, ScriptedModel(one_bad, name="scripted:sub")) == "raised"


@pytest.mark.parametrize(
    "code",
    [
        "from concurrent.futures import ThreadPoolExecutor\n"
        "with ThreadPoolExecutor(4) as pool:\n    r = list(pool.map(llm_query, ['a', 'b', 'c']))",
        "import asyncio\n"
        "async def one(p):\n    return await asyncio.to_thread(llm_query, p)\n"
        "r = await asyncio.gather(*[one(p) for p in ['a', 'b', 'c']])",
        "async def one(p):\n    return llm_query(p)\nr = [await one(p) for p in ['a', 'b', 'c']]",
        "order = {}\n"
        "def key(p):\n    order[p] = llm_query(p)\n    return order[p]\n"
        "r = [order[p] for p in sorted(['a', 'b', 'c'], key=key)]",
    ],
    ids=["threads", "gather", "async", "key"],
)
def test_calls_from_anywhere_in_a_cell(code: str) -> None:
    assert results(code) == ["re: a", "re: b", "re: c"]


def test_schema_gives_values_and_asks_once_more() -> None:
    sub = ScriptedModel(["three", "3"], name="scripted:sub")
    assert results("r = llm_query('n?', schema=int)", sub) == 3
    assert len(sub.requests) == 2
    sub = ScriptedModel(['{"n": 1}'], name="scripted:sub")
    schema = "{'type': 'object', 'required': ['n'], 'properties': {'n': {'type': 'integer'}}}"
    assert results(f"r = llm_query('n?', schema={schema})", sub) == {"n": 1}


def test_schema_that_is_never_met_is_a_typed_failure() -> None:
    sub = ScriptedModel(["three", "four"], name="scripted:sub")
    code = "try:\n    r = llm_query('n?', schema={'type': 'integer'})\nexcept LLMError as e:\n    r = e.kind"
    assert results(code, sub) == "schema"


def test_classify_asks_each_item_with_the_examples_as_turns() -> None:
    sub = ScriptedModel(lambda m: "Good." if "love" in m[-1].text else "bad", name="scripted:sub")
    code = (
        "r = classify(['I love it', 'awful'], ['good', 'bad'], examples=[('great', 'good'), ('meh', 'bad')])"
    )
    assert results(code, sub) == ["good", "bad"]
    request = sub.requests[0]
    assert request.choices == ("good", "bad")
    assert [m.role for m in request.messages][-5:] == ["user", "assistant", "user", "assistant", "user"]


def test_classify_takes_what_labels_mean_and_one_label_alone() -> None:
    sub = ScriptedModel(lambda m: "spam" if "win" in m[-1].text else "other", name="scripted:sub")
    assert results("r = classify(['win it', 'hello'], {'spam': 'adverts'})", sub) == ["spam", "other"]
    assert "- spam: adverts" in sub.requests[0].messages[0].text
    assert sub.requests[0].choices == ("spam", "other")
    code = "r = classify(['win it'], ['spam (adverts, prizes)', 'other: all else'])"
    assert results(code, sub) == ["spam (adverts, prizes)"]


def test_a_label_that_could_only_be_itself_is_refused() -> None:
    code = "try:\n    r = classify(['x'], ['other'])\nexcept ValueError as e:\n    r = str(e)"
    answer = results(code, ScriptedModel([]))
    assert "give labels" in str(answer)


def biased(messages: Sequence[Message]) -> ModelReply:
    """Says spam to everything unless it sees examples; its scores know better."""
    spam = "win" in messages[-1].text
    sure = len(messages) > 2
    text = "spam" if spam or not sure else "ham"
    scores = {"spam": -0.1 if spam else -0.4, "ham": -3.0 if spam else -1.2}
    return ModelReply(text, "stop", Usage(1, 9, 1), "scripted:sub", cost=0.0, scores=scores)


ITEMS = [f"{'win' if n % 3 == 0 else 'see you at'} {n}" for n in range(12)]
TRUE = ["spam" if n % 3 == 0 else "ham" for n in range(12)]


def test_a_biased_model_that_tells_its_scores_is_corrected() -> None:
    sub = ScriptedModel(biased, name="scripted:sub", profile="small")
    assert results(f"r = classify({ITEMS}, ['spam', 'ham'])", sub) == TRUE
    assert len(sub.requests) == 2 * len(ITEMS)
    turns = sub.requests[-1].messages
    shown = [(a.text, b.text) for a, b in zip(turns[1:-1:2], turns[2:-1:2], strict=True)]
    assert len(shown) == 8
    assert all(dict(zip(ITEMS, TRUE, strict=True))[item] == label for item, label in shown)


@pytest.mark.parametrize(("items", "passes"), [(59, 1), (60, 2)])
def test_each_of_many_labels_has_two_examples_where_there_are_many_items(items: int, passes: int) -> None:
    """Eight examples are too few for six labels, and the surest of a few items are not sure."""
    labels = ["ham", "spam", "news", "bill", "joke", "poem"]

    def judge(messages: Sequence[Message]) -> ModelReply:
        mine = labels[int(messages[-1].text) % 6]
        scores = {label: -0.1 if label == mine else -4.0 for label in labels}
        return ModelReply(mine, "stop", Usage(1, 9, 1), "scripted:sub", cost=0.0, scores=scores)

    sub = ScriptedModel(judge, name="scripted:sub", profile="small")
    numbers = [str(n) for n in range(items)]
    assert results(f"r = classify({numbers}, {labels})", sub) == [labels[n % 6] for n in range(items)]
    assert len(sub.requests) == passes * items
    if passes > 1:
        shown = [turn.text for turn in sub.requests[-1].messages[2:-1:2]]
        assert sorted(shown) == sorted(2 * labels)


def test_examples_that_are_given_and_few_items_are_taken_as_they_are() -> None:
    sub = ScriptedModel(biased, name="scripted:sub", profile="small")
    given = f"r = classify({ITEMS}, ['spam', 'ham'], examples=[('a', 'ham')])"
    assert results(given, sub) == TRUE
    assert results(f"r = classify({ITEMS[:3]}, ['spam', 'ham'])", sub) == ["spam"] * 3
    assert len(sub.requests) == len(ITEMS) + 3


def test_classify_never_makes_up_a_label() -> None:
    sub = ScriptedModel(lambda m: "perhaps", name="scripted:sub")
    code = "r = [bool(x) for x in classify(['a'], ['good', 'bad'])]"
    assert results(code, sub) == [False]


def test_calls_over_the_budget_are_not_sent() -> None:
    sub = echo()
    code = "a = llm_query_batched([str(i) for i in range(16)])\nr = [sum(map(bool, a)), repr(a[15]), budget()['calls']]"
    answer = results(code, sub, budget=Budget(calls=10))
    assert isinstance(answer, list)
    assert answer[0] == 10
    assert "budget" in answer[1]
    assert answer[2] == 0
    assert len(sub.requests) == 10


def test_every_call_is_booked_once_under_its_role() -> None:
    root = ScriptedModel(
        [py("llm_query('a')\nllm_query_batched(['b', 'c'])\nprint(1)\nsubmit('x')")], name="scripted:same"
    )
    sub = ScriptedModel(
        lambda m: ModelReply("r", "stop", Usage(1, 10, 1), "scripted:same", cost=0.5), name="scripted:same"
    )
    from unspool import RLM

    run = RLM(root, sub_model=sub).run("q", "c")
    by_role = {line.role: line for line in run.ledger}
    assert by_role["root"].usage.calls == 1
    assert by_role["sub"].usage.calls == 3
    assert by_role["sub"].usage.input_tokens == 30
    assert by_role["sub"].cost == 1.5
    assert run.usage.calls == 4
    assert run.sub_calls == 3
    calls = run.trace.turns[0].cells[0].sub_calls
    assert [c.prompt for c in calls] == ["a", "b", "c"]
    assert {c.batch for c in calls[1:]} == {1}


def test_unknown_cost_makes_the_total_unknown() -> None:
    sub = ScriptedModel(lambda m: "r", name="scripted:sub", cost=None)
    run, _ = play([py("llm_query('a')\nprint(1)\nsubmit('x')")], sub=sub)
    assert run.cost is None


def test_the_text_of_a_failed_item_cannot_be_a_prompt() -> None:
    code = (
        "a = llm_query_batched(['3'])\n"
        "try:\n    llm_query_batched([a[0]])\n    r = 'sent'\nexcept Exception as e:\n    r = type(e).__name__"
    )
    sub = ScriptedModel(one_bad, name="scripted:sub")
    assert results(code, sub) in ("LLMError", "TypeError")
    assert len(sub.requests) == 1


def test_children_answer_with_their_own_repl() -> None:
    root = ScriptedModel(
        lambda m: (
            py("secret = context\nr = rlm_query('How long?', 'abcd')\nprint(r)\nsubmit(r)")
            if "top question" in m[-1].text
            else py("print('secret' in globals())\nsubmit(len(context))")
        )
    )
    from unspool import RLM

    run = RLM(root, sub_model=echo()).run("top question", "c")
    assert run.answer == 4
    child = run.trace.children[0]
    assert (child.id, child.depth, child.status) == ("0.1", 1, "answered")
    assert "False" in child.turns[0].cells[0].output


def test_beyond_the_depth_a_sub_call_answers_and_says_so() -> None:
    sub = echo()
    run, model = play([py("r = rlm_query('long?', 'abcd')\nprint(r)"), py("submit(r)")], sub=sub, max_depth=0)
    assert run.answer == "re: long?\n\nabcd"
    assert "no depth is left" in shown(model, 1)


def test_a_child_over_the_same_question_and_context_is_refused() -> None:
    run, model = play([py("rlm_query('What is there?', context)"), py("print(1)\nsubmit('x')")])
    assert run.answer == "x"
    assert "your own question" in shown(model, 1)


def test_a_large_batch_has_few_tasks_at_a_time_and_keeps_its_order() -> None:
    most = 0

    def reply(messages: tuple[Message, ...]) -> str:
        nonlocal most
        most = max(most, len(asyncio.all_tasks()))
        return messages[-1].text.upper()

    sub = ScriptedModel(reply, name="scripted:sub")
    code = "r = llm_query_batched([f'item {i}' for i in range(3000)])\nok = r == [f'ITEM {i}' for i in range(3000)]\nprint(ok)\nsubmit(ok)"
    run, _ = play([py(code)], sub=sub, concurrency=8)
    assert run.answer is True
    assert run.sub_calls == 3000
    assert most < 600
