"""Replies that are odd on the wire: nested without end, figures that can be none, errors told as a success."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import replace

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.engine.helpers import py
from tests.engine.served import at, engine_at
from unspool import RLM, Budget
from unspool.errors import ModelError
from unspool.models.calls import Caller
from unspool.models.protocol import Delta, Message, ModelReply, ModelRequest
from unspool.testing import Ask, Behaviour, FaultyServer

HI = ModelRequest((Message("user", "hi"),))
NESTED = 100_000


async def ask(behaviour: Behaviour, *, streamed: bool = False) -> tuple[ModelReply | ModelError, int]:
    """What a call comes to that would be sent up to six times, and how often it was."""
    with FaultyServer([behaviour]) as server:
        model = at(server, "m")
        request = replace(HI, on_delta=list[Delta]().append) if streamed else HI
        try:
            return await Caller(model, backoff=0.001).call(request), len(server.asks)
        except ModelError as error:
            return error, len(server.asks)
        finally:
            await model.close()


BODIES = {
    "lists": b"[" * NESTED,
    "objects": b'{"a":' * NESTED,
    "closed": b"[" * NESTED + b"]" * NESTED,
    "in a reply": b'{"choices": [{"message": {"content": "x"}}], "usage": '
    + b"[" * NESTED
    + b"]" * NESTED
    + b"}",
    "in an error": b'{"error": ' + b"[" * NESTED + b"]" * NESTED + b"}",
    "digits": b'{"choices": ' + b"1" * 5000 + b"}",
    "constants": b'{"choices": NaN, "usage": Infinity, "error": -Infinity}',
    "surrogates": b'{"choices": [{"message": {"content": ["\\ud800"]}}], "usage": {"\\udfff": NaN}, "x": ',
    "half a pair": b'{"choices": "\\ud800", "error": "\\udfff"}',
    "events": b"data: " + b"[" * NESTED + b"\n\n",
    "no text": b"\xff\xfe\x00",
    "html": b"<html>Sign in</html>",
}


@pytest.mark.parametrize("streamed", [False, True])
@pytest.mark.parametrize("body", BODIES.values(), ids=BODIES)
async def test_a_body_that_cannot_be_read_is_a_typed_failure(body: bytes, streamed: bool) -> None:
    failed, asked = await ask(Behaviour(body=body), streamed=streamed)
    assert isinstance(failed, ModelError)
    assert (failed.kind, asked) == ("server", 6)
    assert "sent a reply that cannot be read" in failed.message


@pytest.mark.parametrize("status", [400, 401, 500])
async def test_a_nested_error_has_the_kind_of_its_status(status: int) -> None:
    failed, _ = await ask(Behaviour(status=status, fault=None, body=b"[" * NESTED))
    assert isinstance(failed, ModelError)
    assert failed.kind == {400: "bad_request", 401: "auth", 500: "server"}[status]
    assert f"HTTP {status}" in failed.message


def test_a_sub_call_with_a_nested_reply_is_data_and_a_root_with_one_fails_the_run() -> None:
    def script(asked: Ask) -> Behaviour | str:
        return Behaviour(body=b"[" * NESTED) if asked.body["model"] == "sub" else py(code)

    code = "r = llm_query_batched(['a', 'b'])\nprint([x.kind for x in r])\nsubmit([x.kind for x in r])"
    with FaultyServer(script) as server, RLM(at(server, "root"), sub_model=Once(server), runs=False) as rlm:
        run = rlm.run("q", "text")
    assert (run.status, run.answer) == ("answered", ["server", "server"])
    with FaultyServer([Behaviour(body=b"[" * NESTED)]) as server, RLM(Once(server), runs=False) as rlm:
        run = rlm.run("q", "text")
    assert run.status == "failed"
    assert "sent a reply that cannot be read: it is nested too deeply" in run.reason


class Once:
    """A model of that server whose failures are not for trying again."""

    def __init__(self, server: FaultyServer) -> None:
        self._model = at(server, "sub")
        self.info = self._model.info
        self.close = self._model.close

    async def complete(self, request: ModelRequest) -> ModelReply:
        try:
            return await self._model.complete(request)
        except ModelError as error:
            error.retryable = False
            raise


FIGURES = ("prompt_tokens", "completion_tokens", "total_tokens")
DETAILS = {"prompt_tokens_details": "cached_tokens", "completion_tokens_details": "reasoning_tokens"}
ODD = (-7, "5", 5.5, True, [5], {"a": 5}, math.nan, math.inf, 10**40, -(10**40))
SOUND = {"prompt_tokens": 5, "completion_tokens": 7, "total_tokens": 12}


@pytest.mark.parametrize("streamed", [False, True])
@pytest.mark.parametrize("value", ODD, ids=str)
@pytest.mark.parametrize("name", [*FIGURES, *DETAILS, *DETAILS.values(), "usage"])
async def test_a_figure_that_can_be_none_is_not_known_and_the_reply_is_kept(
    name: str, value: object, streamed: bool
) -> None:
    inside = {outer: {inner: value} for outer, inner in DETAILS.items() if inner == name}
    usage: Mapping[str, object] = (inside and {**SOUND, **inside}) or {**SOUND, name: value}
    if name == "usage":
        extra, usage = {"usage": value}, None  # type: ignore[assignment]
    behaviour = (
        Behaviour("kept", usage=usage) if name != "usage" else Behaviour("kept", usage=None, extra=extra)
    )
    reply, asked = await ask(behaviour, streamed=streamed)
    assert isinstance(reply, ModelReply), reply
    assert (reply.text, asked) == ("kept", 1)
    if name in DETAILS and isinstance(value, dict):
        return  # it has none of the figures that are read
    if name == "usage":
        known = None, None, 1
        if streamed or isinstance(value, dict):
            return  # a stream of such a server has none; an object may have others
    else:
        lost = name in FIGURES[:2]
        known = None if name == FIGURES[0] else 5, None if name == FIGURES[1] else 7, int(lost)
    assert (reply.usage.input_tokens, reply.usage.output_tokens, reply.usage.calls_unmeasured) == known
    (note,) = reply.notes
    assert note.startswith("openai:m told what no call can take (")
    assert name in note


anything = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=6,
)
figure = st.sampled_from([*FIGURES, *DETAILS, *DETAILS.values(), "cached_tokens", "cost"])
usages = st.dictionaries(figure, anything | st.dictionaries(figure, anything, max_size=3), max_size=5)


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(told=usages, streamed=st.booleans())
async def test_whatever_the_usage_is_the_reply_is_kept_and_asked_for_once(
    told: dict[str, object], streamed: bool
) -> None:
    reply, asked = await ask(Behaviour("kept", usage=told), streamed=streamed)
    assert isinstance(reply, ModelReply), reply
    assert (reply.text, asked) == ("kept", 1)
    for count in (reply.usage.input_tokens, reply.usage.output_tokens, reply.usage.cached_tokens):
        assert count is None or (type(count) is int and count >= 0)


def test_a_run_tells_of_odd_figures_and_pays_no_budget_back() -> None:
    script = [
        Behaviour(py("print(llm_query('a'))\nsubmit(1)"), usage={**SOUND, "completion_tokens": -7}),
        "b",
    ]
    with FaultyServer(script) as server, engine_at(server, runs=False, budget=Budget(tokens=100_000)) as rlm:
        run = rlm.run("q", "text")
    assert (run.answer, len(server.asks)) == (1, 2)
    assert (run.usage.calls, run.usage.calls_unmeasured, run.usage.output_tokens) == (2, 1, 1)
    assert any("completion_tokens -7" in note and "counts as not known" in note for note in run.notes)


@pytest.mark.parametrize("streamed", [False, True])
@pytest.mark.parametrize(
    ("error", "kind"),
    [
        ({"code": "insufficient_quota"}, "auth"),
        ({"code": "invalid_api_key"}, "auth"),
        ({"type": "authentication_error"}, "auth"),
        ({"code": "model_not_found"}, "unknown_model"),
        ({"code": 402}, "auth"),
        ({"code": "403"}, "auth"),
        ({"code": "context_length_exceeded"}, "too_long"),
        ({"type": "invalid_request_error"}, "bad_request"),
    ],
    ids=str,
)
async def test_an_error_told_as_a_success_is_judged_by_its_code_and_not_sent_again(
    error: dict[str, object], kind: str, streamed: bool
) -> None:
    body = json.dumps({"error": {**error, "message": "you are out of luck"}}).encode()
    failed, asked = await ask(Behaviour(body=body), streamed=streamed)
    assert isinstance(failed, ModelError)
    assert (failed.kind, asked, failed.unsure) == (kind, 1, False)
    assert "you are out of luck" in failed.message
    assert "HTTP 4" not in failed.message
    if "code" in error:
        failed, asked = await ask(Behaviour(body=b"data: " + body + b"\n\n"), streamed=True)
        assert isinstance(failed, ModelError)
        assert (failed.kind, asked) == (kind, 1)


@pytest.mark.parametrize("number", ["NaN", "Infinity", "-Infinity", "9" * 5000, "1e999"])
async def test_a_number_that_is_none_takes_no_reply_with_it(number: str) -> None:
    choice = '{"message": {"content": "kept \\ud83d"}, "finish_reason": "stop"}'
    usage = f'{{"prompt_tokens": 5, "completion_tokens": 7, "cost": {number}}}'
    body = f'{{"model": "m", "choices": [{choice}], "usage": {usage}}}'
    reply, asked = await ask(Behaviour(body=body.encode()))
    assert isinstance(reply, ModelReply), reply
    assert (reply.text.startswith("kept"), reply.usage.output_tokens, asked) == (True, 7, 1)


@pytest.mark.parametrize("role", ["root", "sub"])
def test_a_run_that_is_stopped_while_it_tries_again_says_what_had_failed(role: str) -> None:
    def script(asked: Ask) -> Behaviour | str:
        if asked.body["model"] == role:
            return Behaviour(body=b'{"error": {"message": "you are out of luck"}}')
        return py("print(llm_query('a'))")

    with FaultyServer(script) as server, engine_at(server, runs=False, budget=Budget(seconds=2)) as rlm:
        run = rlm.run("q", "text")
    assert (run.status, run.reason) == ("budget", "the time limit of 2 s of the run is reached")
    (note,) = [note for note in run.notes if "tried again" in note]
    assert note.startswith("a call was being tried again, whose last attempt had failed: ")
    assert note.endswith("you are out of luck")


@pytest.mark.parametrize(
    "behaviour",
    [
        Behaviour(body=b"<html>Sign in</html>"),
        Behaviour(status=204, body=b""),
        Behaviour(status=302, body=b""),
        Behaviour(body=b"\x1f\x8b\x08 no gzip"),
        Behaviour(status=503, message="you are out of luck"),
    ],
    ids=["html", "204", "redirect", "gzip", "503"],
)
def test_whatever_had_failed_is_told_by_the_run_that_its_time_stops(behaviour: Behaviour) -> None:
    with FaultyServer([behaviour]) as server, engine_at(server, runs=False, budget=Budget(seconds=1)) as rlm:
        run = rlm.run("q", "text")
    assert (run.status, run.answer) == ("budget", None)
    (note,) = [note for note in run.notes if "tried again" in note]
    assert "you are out of luck" in note or "sent a reply that cannot be read" in note


def test_a_run_that_is_answered_says_nothing_of_what_went_well_in_the_end() -> None:
    script = [Behaviour(status=500), py("print(1)\nsubmit(1)")]
    with FaultyServer(script) as server, engine_at(server, runs=False, budget=Budget(seconds=60)) as rlm:
        run = rlm.run("q", "text")
    assert (run.answer, len(server.asks)) == (1, 2)
    assert not any("tried again" in note for note in run.notes)
