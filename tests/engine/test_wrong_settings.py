"""What is wrong with an engine is said where it is made, with the nearest name: nothing is run, nothing sent."""

from __future__ import annotations

import inspect
from collections.abc import Callable

import pytest

from unspool import RLM, Budget, ConfigError, ModelSettings
from unspool.errors import UnknownModel, UnknownSetting, WrongSetting
from unspool.testing import ScriptedModel


@pytest.mark.parametrize(
    ("name", "meant"),
    [
        ("gpt-5", "openai:gpt-5"),
        ("claude-sonnet-5", "anthropic:claude-sonnet-5"),
        ("Gemini-3.5-pro", "gemini:Gemini-3.5-pro"),
        ("openai/gpt-5", "openai:gpt-5"),
        ("opnai:gpt-5", "openai:gpt-5"),
        ("OpenAI:gpt-5", "openai:gpt-5"),
        ("olama", "ollama"),
        ("qwen2.5-coder", "qwen2.5-coder-1.5b"),
        ("local:qwen2.5-coder-15b", "qwen2.5-coder-1.5b"),
    ],
)
def test_a_model_that_nobody_is_called_is_refused_where_it_is_named(name: str, meant: str) -> None:
    with pytest.raises(UnknownModel, match=f"Did you mean '{meant}'"):
        RLM(name)
    with pytest.raises(UnknownModel, match=f"Did you mean '{meant}'"):
        RLM([ScriptedModel(["x"]), name])
    with pytest.raises(UnknownModel, match=f"Did you mean '{meant}'"):
        RLM(ScriptedModel(["x"]), sub_model=name)


def test_a_name_that_is_near_to_none_lists_the_known_ones() -> None:
    for name in ("foo", "", ":", "http://x"):
        with pytest.raises(UnknownModel, match=r"A name is provider:model, and the providers are openai, "):
            RLM(name)


@pytest.mark.parametrize("spec", [42, {"model": "openai:x"}, [], [42], ["openai:x", None]])
def test_what_is_no_model_is_refused_where_it_is_given(spec: object) -> None:
    for setting in ("model", "sub_model"):
        with pytest.raises(WrongSetting, match=f"^{setting}=.*: give "):
            RLM(**{"model": "openai:x", setting: spec})  # type: ignore[arg-type]


def test_names_that_may_be_had_are_taken_without_a_key() -> None:
    for name in (
        "openai:gpt-5",
        "openai",
        "local",
        "local:/no/such.gguf",
        "command:no-such-program -x",
        None,
    ):
        RLM(name)


@pytest.mark.parametrize(
    ("called", "said"),
    [
        ("run", r"run\(\) takes no max_turn=\. Did you mean RLM\(max_turns=…\)\?"),
        ("stream", r"stream\(\) takes no max_turn="),
        ("resume", r"resume\(\) takes no max_turn="),
        ("stream_resume", r"stream_resume\(\) takes no max_turn="),
        ("session", r"session\(\) takes no max_turn="),
        ("within", r"within\(\) takes no max_turn="),
    ],
)
def test_a_way_to_ask_says_where_a_setting_belongs(called: str, said: str) -> None:
    with pytest.raises(UnknownSetting, match=said):
        getattr(RLM(ScriptedModel(["x"])), called)("?", max_turn=3)


@pytest.mark.parametrize(
    ("made", "keyword", "said"),
    [
        (RLM, "max_turn", r"^RLM\(\) takes no max_turn=\. Did you mean max_turns=…\?"),
        (RLM, "usd", r"Did you mean budget=Budget\(usd=…\)\?"),
        (RLM, "temprature", r"Did you mean settings=ModelSettings\(temperature=…\)\?"),
        (RLM, "submodel", r"Did you mean sub_model=…\?"),
        (RLM, "zzz", r"It takes model, sub_model, max_turns, "),
        (Budget, "max_turns", r"^Budget\(\) takes no max_turns=\. Did you mean turns=…\?"),
        (Budget, "dollars", r"It takes usd, tokens, calls, seconds, turns, depth$"),
        (ModelSettings, "temp", r"^ModelSettings\(\) takes no temp=\. Did you mean temperature=…\?"),
    ],
    ids=lambda each: each if isinstance(each, str) else each.__name__,
)
def test_a_keyword_that_there_is_not_says_the_nearest(made: type, keyword: str, said: str) -> None:
    with pytest.raises(ConfigError, match=said):
        made(**{keyword: 1})
    with pytest.raises(TypeError):  # as of every function of Python's
        made(**{keyword: 1})


async def test_so_do_the_ways_to_ask_of_asyncio() -> None:
    engine = RLM(ScriptedModel(["x"]))
    with pytest.raises(UnknownSetting, match=r"arun\(\) takes no anwser=\. Did you mean answer=…\?"):
        await engine.arun("?", "x", anwser=int)  # type: ignore[call-arg]
    assert inspect.iscoroutinefunction(RLM.arun)
    assert [*inspect.signature(RLM).parameters][:2] == ["model", "sub_model"]


@pytest.mark.parametrize(
    ("wrong", "told"),
    [
        (
            lambda: RLM("openai:a", "openai:b"),  # type: ignore[misc]
            "RLM() takes model by position: the next is a keyword, sub_model=…",
        ),
        (
            lambda: RLM(ScriptedModel(["x"])).run("How many?", "a text", int),  # type: ignore[misc]
            "run() takes query, context by position: the next is a keyword, answer=…",
        ),
        (
            lambda: Budget(1, 2, 3, 4, 5, 6, 7),  # type: ignore[call-arg]
            "Budget() takes usd, tokens, calls, seconds, turns, depth by position, and no more",
        ),
    ],
)
def test_more_by_position_than_is_taken_says_what_is_a_keyword(
    wrong: Callable[[], object], told: str
) -> None:
    with pytest.raises(UnknownSetting) as refused:
        wrong()
    assert str(refused.value) == told
    assert isinstance(refused.value, TypeError)  # as Python says it
