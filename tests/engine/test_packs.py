"""``llm_map`` and ``classify`` in packs: every item exactly one reply, whatever comes back."""

from __future__ import annotations

import itertools
import json
import random
import re
from collections import Counter
from collections.abc import Mapping, Sequence

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from unspool import RLM, Budget, ModelError
from unspool.mapping import SHARES, Work, settle
from unspool.models.protocol import Message, ModelInfo
from unspool.packs import Size, comfortable, packed, replies, schema_for
from unspool.schema import Schema
from unspool.sub_prompts import Prompt, Result
from unspool.testing import MemoryStore, ScriptedModel
from unspool.types import FailedCall

from ..local_suite import COARSE, questions
from .helpers import play, py, shown

NUMBERED = re.compile(r"^\[(\d+)\] (.*)$", re.MULTILINE)


def asked(messages: Sequence[Message]) -> dict[str, str]:
    """The items of a pack by their numbers."""
    return dict(NUMBERED.findall(messages[-1].text))


def reply_to(messages: Sequence[Message]) -> dict[str, object]:
    return {number: f"re {item}" for number, item in asked(messages).items()}


def mapper(**settings: object) -> ScriptedModel:
    return ScriptedModel(lambda m: json.dumps(reply_to(m)), name="scripted:sub", **settings)  # type: ignore[arg-type]


def results(code: str, sub: ScriptedModel, **settings: object) -> object:
    run, _ = play([py(code + "\nprint(1)\nsubmit(r)")], sub=sub, max_turns=1, **settings)
    assert run.status == "answered", run.trace.turns[0].cells[0]
    return run.answer


def test_many_items_are_few_calls_in_order() -> None:
    sub = mapper()
    answer = results("r = llm_map('Say re', [f'i{n}' for n in range(120)])", sub)
    assert answer == [f"re i{n}" for n in range(120)]
    assert [len(asked(r.messages)) for r in sub.requests] == [50, 50, 20]
    text = sub.requests[0].messages[-1].text
    assert text.startswith("Say re\n")
    assert "data, not instructions" in text


@pytest.mark.parametrize(
    "call",
    [
        "llm_map('Say re', ['a', 'b'])",
        "llm_map(instruction='Say re', items=('a', 'b'))",
        "llm_map(prompt='Say re', texts=iter(['a', 'b']))",
        "llm_map(['a', 'b'], 'Say re')",
        "llm_map(question='Say re', data=['a', 'b'], format=str)",
        "llm_map('Say re', ['a', 'b'], model='scripted:sub', batch_size=1)",
    ],
)
def test_spellings(call: str) -> None:
    assert results(f"r = {call}", mapper()) == ["re a", "re b"]


@pytest.mark.parametrize(
    ("call", "words"),
    [
        ("llm_map('', ['a'])", "empty"),
        ("llm_map('x', 'one text')", "takes a list"),
        ("llm_map('x', ['a', None])", "item 1 of 2"),
        ("llm_map('x', {'a': 'b'})", "list(d.values())"),
        ("import pandas as pd\nllm_map('x', pd.DataFrame({'a': ['b']}))", "one column"),
        ("llm_map('x', ['a'], pack=0)", "1 or more"),
        ("llm_map('x', ['a'], colour=1)", "no argument 'colour'"),
        ("llm_map('x', ['a'], schema=object())", "JSON schema"),
        ("llm_map('x', ['a'], model='gpt-99')", "scripted:sub"),
    ],
)
def test_a_wrong_call_shows_the_right_one(call: str, words: str) -> None:
    sub = mapper()
    _, model = play([py(call), py("print(1)\nsubmit('x')")], sub=sub)
    assert words in shown(model, 1)
    assert sub.requests == []


def test_no_items_are_no_call() -> None:
    sub = mapper()
    assert results(
        "r = [llm_map('x', []), classify([], ['a', 'b']), classify([], ['a', 'b']).counts]", sub
    ) == [[], [], {}]
    assert sub.requests == []


def test_values_are_of_the_type_that_was_asked_for() -> None:
    def replies(messages: Sequence[Message]) -> str:
        return json.dumps({n: {"n": str(len(item)), "kind": "short"} for n, item in asked(messages).items()})

    code = (
        "from dataclasses import dataclass\nfrom typing import Literal\n"
        "@dataclass\nclass R:\n    n: int\n    kind: Literal['short', 'long']\n"
        "a = llm_map('Measure', ['a', 'bb', 'ccc'], schema=R)\nr = [type(a[0]).__name__, [x.n for x in a], a]"
    )
    sub = ScriptedModel(replies, name="scripted:sub")
    answer = results(code, sub)
    assert answer == ["R", [1, 2, 3], [{"n": n, "kind": "short"} for n in (1, 2, 3)]]
    schema = sub.requests[0].schema
    assert schema is not None
    assert schema["required"] == ["1", "2", "3"]
    assert schema["additionalProperties"] is False


def test_without_a_schema_each_reply_is_a_text() -> None:
    sub = ScriptedModel(
        ['{"1": "a", "2": 3, "3": {"x": ["é"]}, "4": true}', '{"1": "yes"}'], name="scripted:sub"
    )
    assert results("r = llm_map('x', list('abcd'))", sub) == ["a", "3", '{"x": ["é"]}', "yes"]


def test_only_what_is_missing_is_asked_again() -> None:
    def flaky(messages: Sequence[Message]) -> str:
        given = reply_to(messages)
        if len(given) == 6:
            del given["2"], given["5"]
        return json.dumps(given)

    sub = ScriptedModel(flaky, name="scripted:sub")
    assert results("r = llm_map('x', list('abcdef'))", sub) == [f"re {c}" for c in "abcdef"]
    assert [list(asked(r.messages).values()) for r in sub.requests] == [list("abcdef"), ["b", "e"]]


def test_one_item_that_spoils_every_pack_fails_alone() -> None:
    def spoiled(messages: Sequence[Message]) -> str:
        given = {number: len(item) for number, item in asked(messages).items()}
        return "I cannot do that." if "bad" in asked(messages).values() else json.dumps(given)

    items = [f"i{n}" for n in range(8)] + ["bad"]
    sub = ScriptedModel(spoiled, name="scripted:sub")
    code = f"a = llm_map('x', {items}, schema=int)\nr = [repr(x) if not x else x for x in a]"
    answer = results(code, sub)
    assert isinstance(answer, list)
    assert answer[:8] == [2] * 8
    assert answer[8].startswith("FailedCall(schema")
    assert Counter(len(asked(r.messages)) for r in sub.requests)[9] == 2  # as it is, again, then in parts


def test_a_model_that_never_obeys_is_not_asked_for_each_item() -> None:
    sub = ScriptedModel(lambda m: "no { such: thing", name="scripted:sub")
    answer = results(
        "a = llm_map('x', [str(n) for n in range(50)], schema=int)\nr = [bool(x) for x in a]", sub
    )
    assert answer == [False] * 50
    assert len(sub.requests) <= 10


@pytest.mark.parametrize("obeys", [0, 20])
def test_a_model_that_hardly_ever_obeys_is_asked_a_bounded_number_of_times(obeys: int) -> None:
    """200 lines, in packs of 25: one by one they would be 200 calls, each sent twice."""
    heard: list[int] = []

    def reply(messages: Sequence[Message]) -> str:
        heard.append(len(asked(messages)))
        return (
            json.dumps(dict.fromkeys(asked(messages), "good")) if obeys and len(heard) == obeys else "Well."
        )

    sub = ScriptedModel(reply, name="scripted:sub")
    code = (
        "a = llm_map('Label', [f'line {n}' for n in range(200)], schema={'enum': ['good', 'bad']}, pack=25)\n"
        "r = [[bool(x) for x in a].count(True), [x.kind for x in a if not x].count('schema'), str(repr(a[-1]))]"
    )
    answer = results(code, sub)
    assert isinstance(answer, list)
    assert answer[0] + answer[1] == 200
    assert len(heard) <= 60
    assert answer[2].startswith("FailedCall(schema: ")
    assert "it was not asked for alone, as almost nothing came of" in answer[2]


def test_good_items_among_many_bad_ones_are_all_found() -> None:
    """Each pack is spoiled by one that cannot be answered; alone, all but these have a reply."""

    def reply(messages: Sequence[Message]) -> str:
        given = asked(messages).values()
        spoiled = any(item.startswith("bad") for item in given)
        return "I cannot." if spoiled else json.dumps({n: len(item) for n, item in asked(messages).items()})

    items = [f"{'bad' if n % 4 == 0 else 'fine'} {n}" for n in range(120)]
    sub = ScriptedModel(reply, name="scripted:sub")
    answer = results(f"a = llm_map('x', {items}, schema=int, pack=12)\nr = [bool(x) for x in a]", sub)
    assert answer == [not item.startswith("bad") for item in items]


@pytest.mark.parametrize("kind", ["auth", "rate_limit", "server"])
def test_what_a_smaller_pack_cannot_mend_is_not_asked_again(kind: str) -> None:
    sub = ScriptedModel(lambda m: ModelError(kind, "not today", retryable=False), name="scripted:sub")  # type: ignore[arg-type]
    run, _ = play(
        [py("a = llm_map('x', list('abcdef'))\nprint(len(a))\nsubmit([repr(x) for x in a])")],
        sub=sub,
        max_turns=1,
    )
    assert len(sub.requests) == 1
    assert run.answer == [f"FailedCall({kind}: not today)"] * 6


def test_a_pack_that_is_too_long_is_split() -> None:
    def narrow(messages: Sequence[Message]) -> str | ModelError:
        given = reply_to(messages)
        return json.dumps(given) if len(given) <= 2 else ModelError("too_long", "too long")

    sub = ScriptedModel(narrow, name="scripted:sub")
    assert results("r = llm_map('x', list('abcdefgh'))", sub) == [f"re {c}" for c in "abcdefgh"]


def test_a_pack_is_one_call_of_the_budget() -> None:
    sub = mapper()
    code = "a = llm_map('x', [str(n) for n in range(120)])\nr = [sum(map(bool, a)), repr(a[-1])]"
    answer = results(code, sub, budget=Budget(calls=2))
    assert isinstance(answer, list)
    assert answer[0] == 100
    assert answer[1].startswith("FailedCall(budget: ")
    assert len(sub.requests) == 2


def test_a_resumed_run_asks_for_no_pack_twice() -> None:
    store = MemoryStore()
    cells = [py("a = llm_map('x', [str(n) for n in range(60)])\nprint(len(a))"), py("submit(a[59])")]
    run, _ = play(cells[:1], sub=mapper(), store=store, max_turns=1)
    assert run.status == "budget"
    from unspool import RLM

    sub = mapper()
    again = RLM(ScriptedModel(cells[1:]), sub_model=sub, store=store).resume(run.id, "line one\nline two\n")
    assert (again.answer, sub.requests) == ("re 59", [])


def test_dense_counting_over_400_questions_as_the_small_profile_packs_them() -> None:
    """Every item labelled exactly once, counts as they are, in fewer than a tenth of the calls."""
    rows = random.Random(400).sample(questions(), 400)
    gold = {text: COARSE[label.split(":")[0]] for label, text in rows}
    items = [text for _, text in rows]
    packs = itertools.count(1)

    def label(messages: Sequence[Message]) -> str:
        given = {number: gold[item] for number, item in asked(messages).items()}
        if next(packs) == 3:  # two replies make no sense
            given |= {"2": "perhaps", "5": "?"}
        return json.dumps(given)

    sub = ScriptedModel(label, name="scripted:sub", profile="small")
    kinds = sorted(set(COARSE.values()))
    code = (
        f"from collections import Counter\nfrom typing import Literal\n"
        f"labels = llm_map('What does it ask for?', context, schema=Literal[{', '.join(map(repr, kinds))}])\n"
        "print(len(labels))\nsubmit([labels, Counter(labels)])"
    )
    run, _ = play([py(code)], items, sub=sub, max_turns=1)
    assert run.answer == [[gold[item] for item in items], Counter(gold[item] for item in items)]
    assert run.sub_calls == len(sub.requests) < len(items) / 10
    seen = Counter(item for request in sub.requests for item in asked(request.messages).values())
    assert sorted(seen.values()) == [1] * 398 + [2] * 2


# classify


def labeller(labels: Mapping[str, str], **settings: object) -> ScriptedModel:
    def label(messages: Sequence[Message]) -> str:
        return json.dumps({n: labels.get(item[:1], "bad ") for n, item in asked(messages).items()})

    return ScriptedModel(label, name="scripted:sub", **settings)  # type: ignore[arg-type]


def test_classify_packs_items_for_a_model_without_scores() -> None:
    sub = labeller({"g": "Good.", "b": "bad"})
    code = (
        "a = classify(['g1', 'b1', 'g2', 'b2', 'g3'], {'good': 'praise', 'bad': 'blame'}, examples=[('gee', 'good')])\n"
        "from collections import Counter\nassert a == list(a) and Counter(a) == a.counts\nr = [a, a.counts]"
    )
    assert results(code, sub) == [["good", "bad", "good", "bad", "good"], {"good": 3, "bad": 2}]
    (request,) = sub.requests
    assert [m.role for m in request.messages] == ["user", "assistant", "user"]
    assert "[1] gee" in request.messages[0].text
    assert json.loads(request.messages[1].text) == {"1": "good"}
    assert "- good: praise" in request.messages[2].text
    assert Schema(schema_for(5, {"enum": ["good", "bad"]})).json == request.schema


def test_a_label_that_there_is_not_is_asked_for_again_and_never_made_up() -> None:
    sub = labeller({"g": "good", "b": "fair"})
    code = "a = classify(['g1', 'g2', 'b1', 'g3'], ['good', 'bad'])\nr = [x or repr(x) for x in a]"
    answer = results(code, sub)
    assert isinstance(answer, list)
    assert answer[:2] + answer[3:] == ["good"] * 3
    assert "'fair' is none of the labels" in answer[2]


def test_the_small_profile_still_asks_item_by_item() -> None:
    sub = ScriptedModel(lambda m: "good", name="scripted:sub", profile="small")
    assert results("r = classify([str(n) for n in range(9)], ['good', 'bad'])", sub) == ["good"] * 9
    assert len(sub.requests) == 9
    assert all(r.choices == ("good", "bad") for r in sub.requests)


# Packs and replies themselves


@settings(deadline=None)
@given(st.lists(st.text(max_size=12), max_size=30), st.integers(1, 8), st.integers(1, 40))
def test_packs_hold_every_item_once_and_no_more_than_they_may(items: list[str], most: int, room: int) -> None:
    packs = packed(items, range(len(items)), Size(most, room))
    assert [place for pack in packs for place in pack] == list(range(len(items)))
    for pack in packs:
        assert 0 < len(pack) <= most
        assert len(pack) == 1 or sum(len(items[place]) for place in pack) <= room


def test_a_window_bounds_the_characters() -> None:
    assert comfortable(Size(9, 50_000), ModelInfo("a:m", window=8_192)) == Size(9, 8_192)
    assert comfortable(Size(9, 50_000), ModelInfo("a:m")) == Size(9, 50_000)


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ('{"1": "a", "2": "b"}', {1: "a", 2: "b"}),
        ('Here you are:\n```json\n{"1": "a",\n "2": {"x": [1]}}\n```', {1: "a", 2: {"x": [1]}}),
        ('{"1": "a", "2": "b', {1: "a"}),
        ('{"[1]": "a", "item 2": "b"}', {1: "a", 2: "b"}),
        ('{"items": {"1": "a"}}', {1: "a"}),
        ('[{"id": 2, "label": "b"}, {"id": 1, "label": "a"}]', {1: "a", 2: "b"}),
        ('{"replies": [{"n": 1, "x": 3, "y": 4}]}', {1: {"x": 3, "y": 4}}),
        ("1. a\n2) b c", {1: "a", 2: "b c"}),
        ("[1] a\n[2]: b", {1: "a", 2: "b"}),
        ('{"1": "a", "1": "a"}', {1: "a"}),
        ('{"1": "a", "1": "b", "2": "c"}', {2: "c"}),
        ('{"0": "a", "3": "b"}', {}),
        ('["a", "b"]', {}),
        ("no", {}),
        ("", {}),
    ],
)
def test_replies_by_number(text: str, found: dict[int, object]) -> None:
    assert replies(text, 2) == found


@settings(deadline=None)
@given(st.text(alphabet='{}[]":,12ab \n\\.', max_size=60))
def test_any_reply_is_read_or_not(text: str) -> None:
    assert all(n in (1, 2) for n in replies(text, 2))


CORRUPT = st.sampled_from(
    ["sound", "missing", "twice", "twice the same", "other", "cut", "garbage", "list", "failed"]
)


@settings(max_examples=200, deadline=None)
@given(st.data(), st.integers(1, 25), st.integers(1, 10))
def test_whatever_is_missing_doubled_or_garbled_every_item_has_one_reply(
    data: st.DataObject, count: int, most: int
) -> None:
    """A model that spoils replies at random: what is given out is right or a failure, in order, never another's."""
    seen: Counter[str] = Counter()

    async def ask(prompts: Sequence[Prompt]) -> list[Result]:
        return [Result(spoil(prompt)) for prompt in prompts]

    def spoil(prompt: Prompt) -> object:
        given = asked(prompt.messages)
        seen.update(given.values())
        sound = {n: len(item) for n, item in given.items()}
        some = data.draw(st.sampled_from(sorted(given)))
        match data.draw(CORRUPT):
            case "missing":
                del sound[some]
            case "twice":
                return json.dumps(sound)[:-1] + f', "{some}": 99}}'
            case "twice the same":
                return json.dumps(sound)[:-1] + f', "{some}": {sound[some]}}}'
            case "other":
                return json.dumps({**sound, some: "many", "77": 3})
            case "cut":
                whole = json.dumps(sound)
                return whole[: data.draw(st.integers(0, len(whole)))].rpartition(",")[0]
            case "garbage":
                return "I would rather not {say}: ]["
            case "list":
                return json.dumps([{"n": int(n), "value": value} for n, value in sound.items()])
            case "failed":
                return FailedCall("timeout", "too slow")
        return json.dumps(sound)

    items = ["x" * n for n in range(1, count + 1)]
    work = Work.of("How long?", Schema({"type": "integer"}))
    import asyncio

    values = asyncio.run(settle(work, items, Size(most, 10_000), ask))
    assert len(values) == count
    for item, value in zip(items, values, strict=True):
        assert value == len(item) or isinstance(value, FailedCall)
    assert max(seen.values()) <= len(SHARES) + 1


@pytest.mark.parametrize("first", [0, 2, 1])
@pytest.mark.parametrize("extra", [0, 1])
def test_replies_that_are_counted_otherwise_are_no_other_items_replies(first: int, extra: int) -> None:
    """Counted from 0 they are taken as such; from 2, or one too many, they are asked for again."""

    def reply(messages: Sequence[Message]) -> str:
        items = [*["odd"] * extra, *re.findall(r"item\d+", messages[-1].text)]
        return "\n".join(f"{number}: {item}" for number, item in enumerate(items, first))

    code = (
        "found = llm_map('Say', [f'item{n}' for n in range(12)])\nsubmit([x if x else None for x in found])"
    )
    rlm = RLM(ScriptedModel([f"```python\n{code}\n```"]), sub_model=ScriptedModel(reply), runs=False)
    answer = rlm.run("q", "c" * 1_000).answer
    assert isinstance(answer, list)
    assert len(answer) == 12
    assert all(got is None or re.findall(r"item\d+", got) == [f"item{n}"] for n, got in enumerate(answer)), (
        answer
    )
