"""Sampling settings by role: what is set goes before the profile's own, and a repeat still differs."""

from __future__ import annotations

import re

import pytest

from unspool import RLM, Budget, ConfigError, ModelSettings
from unspool.models.protocol import Message, ModelRequest
from unspool.models.providers import PROVIDERS
from unspool.models.remote import RemoteModel
from unspool.models.settings import UNSET
from unspool.models.spelled import parsed, taken, told
from unspool.prompts import get_profile
from unspool.testing import Behaviour, FaultyServer, ScriptedModel

from .helpers import py

ASK = "print(llm_query('?'))\nllm_query_batched(['a', 'b'])\nclassify(['x'], ['yes', 'no'])"


def test_each_role_has_its_own() -> None:
    root = ScriptedModel([py(ASK), py("submit('x')")])
    sub = ScriptedModel(lambda _: "yes", name="scripted:sub")
    settings = ModelSettings(temperature=0.25, max_tokens=900, seed=3, stop=("END",), effort="low")
    RLM(root, sub_model=sub, settings=settings, sub_settings=ModelSettings(temperature=0.0)).run("?", "abc")
    assert {(r.temperature, r.max_tokens, r.seed, r.stop, r.effort) for r in root.requests} == {
        (0.25, 900, 3, ("END",), "low")
    }
    assert len(sub.requests) == 4
    assert {(r.temperature, r.seed, r.effort) for r in sub.requests} == {(0.0, None, None)}


def test_one_model_in_both_roles_is_asked_by_role() -> None:
    model = ScriptedModel([py("print(llm_query('?'))"), "fine", py("submit('x')")])
    RLM(model, settings=ModelSettings(seed=1), sub_settings=ModelSettings(seed=2)).run("?", "abc")
    assert [request.seed for request in model.requests] == [1, 2, 1]


def test_what_is_not_set_is_the_profiles() -> None:
    model = ScriptedModel([py("print(1)\nsubmit('x')")] * 2, profile="small")
    RLM(model, settings=ModelSettings(seed=1)).run("?", "abc")
    assert model.requests[0].temperature == get_profile("small").sampling.temperature
    assert model.requests[0].max_tokens == get_profile("small").sampling.max_tokens


def test_a_reply_that_repeats_itself_is_still_sampled_differently() -> None:
    model = ScriptedModel([py("print(1)"), py("print(1)"), py("submit('x')")])
    RLM(model, settings=ModelSettings(temperature=0.0)).run("?", "abc")
    assert [request.temperature for request in model.requests] == [0.0, 0.0, 1.0]


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ({"temperature": 3.0}, "from 0 to 2"),
        ({"temperature": -0.1}, "from 0 to 2"),
        ({"max_tokens": 0}, "at least 1"),
        ({"stop": "END"}, "a tuple of texts"),
        ({"effort": "much"}, "one of off, minimal"),
        ({"price": (-1, 2)}, "at least 0"),
        ({"price": (float("nan"), 2)}, "at least 0"),
        ({"price": 5}, "dollars for a million"),
        ({"price": (1,)}, "dollars for a million"),
        ({"stop": (1,)}, "a tuple of texts"),
        ({"temperature": "0"}, "a number from 0 to 2"),
        ({"seed": "x"}, "a whole number"),
    ],
)
def test_a_wrong_setting_is_said_at_once(wrong: dict[str, object], said: str) -> None:
    with pytest.raises(ConfigError, match=said):
        ModelSettings(**wrong)  # type: ignore[arg-type]


async def test_thinking_is_asked_for_where_it_can_be_and_left_out_where_it_is_refused() -> None:
    request = ModelRequest((Message("user", "hi"),), effort="low")
    no = Behaviour(status=400, message="Unrecognized request argument supplied: reasoning_effort")
    async with FaultyServer([no, "fine", "fine"]) as server:
        model = RemoteModel(PROVIDERS["openrouter"], "some/model", key="key-0123", base_url=server.base_url)
        assert (await model.complete(request)).text == "fine"
        assert (await model.complete(request)).text == "fine"
        await model.close()
    asked = ["reasoning" in sent.body or "reasoning_effort" in sent.body for sent in server.asks]
    assert asked == [True, False, False]


def test_a_price_that_the_user_says_is_paid_and_limited() -> None:
    code = py("r = llm_query_batched(['a' * 1200] * 8)\nprint(sum(map(bool, r)))\nsubmit(sum(map(bool, r)))")
    usage = {"prompt_tokens": 1_000, "completion_tokens": 500, "total_tokens": 1_500}
    with FaultyServer(
        lambda ask: Behaviour("yes" if ask.body["model"] == "sub" else code, usage=usage)
    ) as server:
        models = [
            RemoteModel(PROVIDERS["openai"], n, key="k", base_url=server.base_url) for n in ("root", "sub")
        ]
        free = RLM(models[0], sub_model=models[1]).run("?", "abc")
        assert free.cost is None
        dear = ModelSettings(price=(2.0, 4.0))
        run = RLM(
            models[0], sub_model=models[1], settings=dear, sub_settings=ModelSettings(price=(1.0, 0.0))
        ).run("?", "abc")
        assert run.cost == pytest.approx(0.002 + 0.002 + 8 * 0.001)
        tight = RLM(
            models[0], sub_model=models[1], settings=dear, sub_settings=ModelSettings(price=(1000.0, 0.0)),
            budget=Budget(usd=4.0),
        ).run("?", "abc")  # fmt: skip
        assert tight.cost is not None
        assert tight.cost <= 4.0
        assert tight.answer != 8


def test_one_model_has_one_price_and_a_list_has_none() -> None:
    model = ScriptedModel([py("print(1)\nsubmit(1)")] * 2)
    assert RLM(model, sub_settings=ModelSettings(price=(1, 2))).run("?", "abc").cost is not None
    with pytest.raises(ConfigError, match="one price"):
        RLM(model, settings=ModelSettings(price=(1, 2)), sub_settings=ModelSettings(price=(1, 3))).run(
            "?", "a"
        )
    with pytest.raises(ConfigError, match="a list of models"):
        RLM([model, ScriptedModel(["x"], name="b:b")], settings=ModelSettings(price=(1, 2))).run("?", "abc")


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ("temperature", "NAME=VALUE"),
        ("heat=1", "temperature, max_tokens"),
        ("temprature=1", "Did you mean 'temperature'?"),
        ("leaf.seed=1", "root.NAME or"),
        ("seed=x", "'x' is no value of seed: give a whole number"),
        ("max_tokens=1k", "'1k' is no value of max_tokens: give a whole number"),
        ("temperature=hot", "'hot' is no value of temperature: give a number, such as 0.2"),
        ("stop=[END", "'[END' is no value of stop: give a text, or several as a JSON list"),
        ("price=a/b", "no value of price"),
        ("price=1", "'1' is no value of price: give READ/WRITTEN, dollars for a million tokens"),
        ("price=1/", "give READ/WRITTEN"),
        ("price=1/2/3", "give READ/WRITTEN"),
        ("stop=[1", "no value of stop"),
        ("temperature=9", "--set temperature=9.0: give a number from 0 to 2"),
        ("effort=much", "one of off"),
    ],
)
def test_a_word_that_is_no_setting_says_what_there_is(given: str, said: str) -> None:
    with pytest.raises(ConfigError, match=re.escape(said)):
        parsed([given])


def test_what_is_set_comes_back_from_words() -> None:
    settings = ModelSettings(
        temperature=0.0, max_tokens=5, seed=0, stop=("a", "[b"), effort="low", price=(0.25, 2e-7)
    )
    for pair in ((settings, UNSET), (UNSET, settings), (UNSET, UNSET)):
        assert taken(told(*pair)) == pair
