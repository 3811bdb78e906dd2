"""Lists of models: who is asked, who is left alone, what is paid, and what a run says of it."""

from __future__ import annotations

import asyncio

import pytest

from unspool import RLM, ConfigError
from unspool.errors import ModelError, NoModelFound, UnknownModel
from unspool.models.discover import resolve, resolve_pair
from unspool.models.fallback import FallbackModel, caller_for
from unspool.models.protocol import Message, ModelReply, ModelRequest, Price
from unspool.models.providers import PROVIDERS
from unspool.models.remote import RemoteModel
from unspool.testing import Behaviour, FaultyServer, ScriptedModel
from unspool.types import FailureKind, Usage

HI = ModelRequest((Message("user", "hi"),))
KEYS = {"OPENAI_API_KEY": "sk-test-0123456789"}


def down(kind: FailureKind = "server", name: str = "a:down") -> ScriptedModel:
    return ScriptedModel(lambda _: ModelError(kind, "not now", model=name), name=name)


def up(text: str = "hello", name: str = "b:up") -> ScriptedModel:
    return ScriptedModel(lambda _: text, name=name)


async def test_the_first_that_answers_is_taken() -> None:
    first, second = up("one", "a:up"), up("two")
    reply = await caller_for(FallbackModel([first, second])).call(HI)
    assert (reply.text, reply.source, reply.notes) == ("one", "a:up", ())
    assert second.requests == []


async def test_the_first_has_all_its_retries_before_the_next_is_asked() -> None:
    first, second = down(), up()
    reply = await caller_for(FallbackModel([first, second]), attempts=3, backoff=0.001).call(HI)
    assert (len(first.requests), len(second.requests)) == (3, 1)
    assert (reply.text, reply.source) == ("hello", "b:up")
    assert reply.notes == ("a:down failed (not now): b:up answered",)


@pytest.mark.parametrize(
    ("kind", "asked_again"),
    [
        ("server", False), ("rate_limit", False), ("auth", False), ("unknown_model", False),
        ("too_long", True), ("bad_request", True),
    ],
)  # fmt: skip
async def test_what_is_down_is_left_alone_and_what_refused_one_request_is_not(
    kind: FailureKind, asked_again: bool
) -> None:
    first = down(kind)
    caller = caller_for(FallbackModel([first, up()]), attempts=1)
    for _ in range(20):
        assert (await caller.call(HI)).text == "hello"
    assert len(first.requests) == (20 if asked_again else 1)


async def test_many_calls_at_once_all_get_through() -> None:
    caller = caller_for(FallbackModel([down(), up()]), concurrency=8, attempts=1)
    replies = await asyncio.gather(*(caller.call(HI) for _ in range(100)))
    assert {reply.source for reply in replies} == {"b:up"}


async def test_where_every_model_fails_the_error_says_what_each_said() -> None:
    caller = caller_for(FallbackModel([down("auth"), down("server", "b:down")]), attempts=1)
    with pytest.raises(ModelError, match="a:down: not now; b:down: not now") as failed:
        await caller.call(HI)
    assert (failed.value.kind, failed.value.fatal, failed.value.retryable) == ("server", False, False)
    both = caller_for(FallbackModel([down("auth"), down("auth", "b:down")]), attempts=1)
    with pytest.raises(ModelError) as refused:
        await both.call(HI)
    assert refused.value.fatal


async def test_what_a_failed_model_was_paid_is_counted() -> None:
    mute = ScriptedModel([ModelReply("", "filter", Usage(1, 10, 3), "m", cost=0.25)], name="a:mute")
    well = ScriptedModel([ModelReply("yes", "stop", Usage(1, 10, 2), "m", cost=0.5)], name="b:up")
    reply = await caller_for(FallbackModel([mute, well])).call(HI)
    assert (reply.usage, reply.cost) == (Usage(2, 20, 5), 0.75)


async def test_each_model_has_its_own_window() -> None:
    small = ScriptedModel(lambda _: "small", name="a:small", window=10)
    reply = await caller_for(FallbackModel([small, up()])).call(ModelRequest((Message("user", "x" * 1000),)))
    assert reply.source == "b:up"
    assert small.requests == []


def test_the_price_of_a_list_holds_for_each() -> None:
    cheap = ScriptedModel([], name="a:cheap", cost=Price(1.0, 9.0))
    dear = ScriptedModel([], name="b:dear", cost=Price(2.0, 3.0))
    assert FallbackModel([cheap, dear]).info.price == Price(2.0, 9.0)
    assert FallbackModel([cheap, ScriptedModel([], cost=None)]).info.price is None


def test_a_run_says_who_answered_and_books_it_there() -> None:
    answer = "```python\nprint(1)\nsubmit(llm_query('?'))\n```"
    sub = FallbackModel([down("auth", "a:sub"), up("7", "b:sub")])
    with RLM([down("auth", "a:root"), up(answer, "b:root")], sub_model=sub) as engine:
        run = engine.run("How many?", "abc")
    assert (run.status, run.answer) == ("answered", "7")
    booked = {(line.role, line.model) for line in run.ledger if line.usage.calls}
    assert booked == {("root", "b:root"), ("sub", "b:sub")}
    assert any("a:root failed" in note and "b:root answered" in note for note in run.notes)
    assert any("a:sub failed" in note for note in run.notes)
    assert (run.model, run.sub_model) == ("a:root,b:root", "a:sub,b:sub")


def test_code_can_name_one_of_a_list() -> None:
    answer = "```python\nprint(1)\nsubmit([llm_query('?', model=m) for m in ('b:sub', 'sub', 'a:sub')])\n```"
    sub = FallbackModel([up("first", "a:sub"), up("second", "b:sub")])
    with RLM(up(answer), sub_model=sub) as engine:
        run = engine.run("?", "abc")
    assert run.answer[0] == "second"  # type: ignore[index]
    assert run.answer[2] == "first"  # type: ignore[index]


async def test_a_list_over_real_servers() -> None:
    async with FaultyServer([Behaviour(status=503)]) as sick, FaultyServer(["fine"]) as well:
        models = [
            RemoteModel(PROVIDERS["openai"], name, base_url=server.base_url)
            for name, server in (("sick", sick), ("well", well))
        ]
        caller = caller_for(FallbackModel(models), attempts=2, backoff=0.001)
        replies = [await caller.call(HI) for _ in range(3)]
        await caller.close()
    assert [reply.source for reply in replies] == ["openai:well"] * 3
    assert (len(sick.asks), len(well.asks)) == (2, 3)


def test_lists_are_named_in_every_way() -> None:
    for spec in (["openai:a", "openai:b"], "openai:a,openai:b", " openai:a , openai:b "):
        model = resolve(spec, environ=KEYS)
        assert isinstance(model, FallbackModel)
        assert [each.info.name for each in model.models] == ["openai:a", "openai:b"]
    environ = {**KEYS, "UNSPOOL_MODEL": "openai:a,openai:b"}
    root, sub = resolve_pair(environ=environ, servers=())
    assert isinstance(root, FallbackModel)
    assert sub is root
    mixed = resolve([ScriptedModel([], name="s:m"), "openai:b"], environ=KEYS)
    assert isinstance(mixed, FallbackModel)


def test_what_is_not_to_be_had_here_is_left_out_and_said() -> None:
    model = resolve(["anthropic:x", "openai:a"], environ=KEYS)
    assert isinstance(model, FallbackModel)
    assert [each.info.name for each in model.models] == ["openai:a"]
    assert "ANTHROPIC_API_KEY" in model.missing[0]
    with pytest.raises(NoModelFound, match=r"anthropic:x .*ANTHROPIC_API_KEY.*gemini:y"):
        resolve("anthropic:x,gemini:y", environ=KEYS)
    with pytest.raises(UnknownModel, match="nobody"):
        resolve(["openai:a", "nobody:b"], environ=KEYS)
    with pytest.raises(ConfigError, match="at least one"):
        resolve([], environ=KEYS)
