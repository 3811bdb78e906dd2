"""ScriptedModel: the double that most tests, ours and users', are written with."""

from __future__ import annotations

import asyncio

import pytest

from unspool.errors import ModelError
from unspool.models.protocol import Message, Model, ModelReply, ModelRequest
from unspool.testing import ScriptedModel
from unspool.types import Usage


def ask(text: str) -> ModelRequest:
    return ModelRequest((Message("user", text),))


async def test_a_list_is_used_up_in_order_and_requests_are_kept() -> None:
    model: Model = ScriptedModel(["one", ModelReply("two", "length", Usage(calls=1), "m")])
    assert (await model.complete(ask("a"))).text == "one"
    second = await model.complete(ask("b"))
    assert (second.text, second.finish) == ("two", "length")
    assert isinstance(model, ScriptedModel)
    assert [r.messages[0].text for r in model.requests] == ["a", "b"]


async def test_running_out_says_how_many_there_were_and_what_was_asked() -> None:
    model = ScriptedModel(["only"])
    await model.complete(ask("first"))
    with pytest.raises(ModelError, match=r"given 1 and this is request 2.*second question") as failed:
        await model.complete(ask("second question"))
    assert not failed.value.retryable


async def test_an_exception_in_the_list_is_raised() -> None:
    model = ScriptedModel([ModelError("rate_limit", "slow down"), "fine"])
    with pytest.raises(ModelError, match="slow down"):
        await model.complete(ask("a"))
    assert (await model.complete(ask("a"))).text == "fine"


async def test_plain_and_async_functions_answer() -> None:
    async def slow(messages: tuple[Message, ...]) -> str:
        await asyncio.sleep(0)
        return messages[-1].text[::-1]

    assert (await ScriptedModel(slow).complete(ask("abc"))).text == "cba"
    assert (await ScriptedModel(lambda m: m[-1].text * 2).complete(ask("ab"))).text == "abab"


async def test_latency_overlaps_and_cancelled_requests_are_counted() -> None:
    model = ScriptedModel(lambda m: "x", latency=0.05)
    await asyncio.gather(*(model.complete(ask(str(i))) for i in range(5)))
    assert model.peak == 5
    task = asyncio.create_task(model.complete(ask("gone")))
    await asyncio.sleep(0.01)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert model.cancelled == 1


@pytest.mark.parametrize(
    ("usage", "expected"),
    [
        ("estimate", Usage(calls=1, input_tokens=2, output_tokens=1)),
        (None, Usage(calls=1, calls_unmeasured=1)),
        (Usage(calls=1, input_tokens=9), Usage(calls=1, input_tokens=9)),
    ],
)
async def test_usage_is_what_was_asked_for(usage: object, expected: Usage) -> None:
    model = ScriptedModel(["four"], usage=usage)  # type: ignore[arg-type]
    assert (await model.complete(ask("12345678"))).usage == expected


def test_a_bare_string_is_refused() -> None:
    with pytest.raises(TypeError, match=r"\[text\]"):
        ScriptedModel("hello")
