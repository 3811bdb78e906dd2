"""``map_reduce``: the question asked of every part, with a schema; sums by code."""

from __future__ import annotations

import json

import pytest

from unspool import RLM, Message, ModelError, ModelReply, Usage
from unspool.testing import ScriptedModel

from .helpers import asked, by

LONG = "".join(f"{number:05} {'spam' if number % 4 == 0 else 'ham'} mail\n" for number in range(4_000))


def part_of(messages: tuple[Message, ...]) -> str:
    return messages[-1].text.partition("The part:")[2]


def reader(messages: tuple[Message, ...]) -> str:
    """Judges every part right, and answers what it is told."""
    text, part = messages[-1].text, part_of(messages)
    if not part:
        return f"Answer: {text.partition('summed over')[2].partition('</data>')[0]}"
    if '"tally"' in text:
        return json.dumps(
            {
                "tally": [
                    {"name": "Ham", "count": part.count(" ham ")},
                    {"name": "spam", "count": part.count(" spam ")},
                    {"name": "ham ", "count": 0},
                ]
            }
        )
    if '"count"' in text:
        return json.dumps({"count": part.count(" spam "), "examples": ["a spam mail"]})
    return json.dumps({"facts": [f"it begins with {part.split()[1]}"]})


def test_counts_are_summed_by_code() -> None:
    run, model = by("map_reduce", reader, LONG, query="How many mails are spam?")
    assert isinstance(run.answer, str)
    assert run.answer.startswith(f"{run.sub_calls} parts: 1000\n")
    assert run.sub_calls > 3
    assert run.coverage.by_sub_calls == 1.0
    assert model.requests[0].schema is not None
    assert "a spam mail" in asked(model, -1)


def test_groups_are_summed_whatever_their_spelling() -> None:
    run, _ = by("map_reduce", reader, LONG, query="Which kind of mail is more common?")
    assert isinstance(run.answer, str)
    assert "- Ham: 3000\n- spam: 1000" in run.answer


def test_facts_stand_with_their_parts() -> None:
    run, model = by("map_reduce", reader, LONG, query="What does the last mail say?")
    assert run.status == "answered"
    last = asked(model, -1)
    assert "[part 1] it begins with 00000" in last
    assert f"[part {run.sub_calls}] it begins with" in last


def test_all_parts_are_asked_at_once() -> None:
    async def slow(messages: tuple[Message, ...]) -> str:
        import asyncio

        await asyncio.sleep(0.02)
        return reader(messages)

    model = ScriptedModel(slow, window=4_000)
    RLM(model, strategy="map_reduce", runs=False).run("How many mails are spam?", LONG)
    assert model.peak > 3


def test_each_part_is_told_the_first_line_but_the_first() -> None:
    _, model = by("map_reduce", reader, "id,kind\n" + LONG, query="How many mails are spam?")
    with_line = [
        "(it is not in your part):\n<data>\nid,kind\n" in r.messages[-1].text for r in model.requests
    ]
    assert with_line == [False, *[True] * (len(with_line) - 2), False]


def test_facts_that_are_too_many_are_put_together() -> None:
    def wordy(messages: tuple[Message, ...]) -> str:
        text = messages[-1].text
        if "Put together those" in text:
            return json.dumps({"facts": [f"{text.count('[part ')} facts in one"]})
        if part_of(messages):
            return json.dumps({"facts": [f"a fact of many words {n} " * 10 for n in range(10)]})
        return "Answer: x"

    run, model = by("map_reduce", wordy, LONG, query="What is it?")
    assert run.status == "answered"
    assert "facts in one" in asked(model, -1)
    assert "a fact of many words" not in asked(model, -1)
    assert run.notes == ()


def test_a_reply_that_does_not_fit_is_asked_for_once_more() -> None:
    said: list[str] = []

    def sloppy(messages: tuple[Message, ...]) -> str:
        if part_of(messages) and messages[-1].text not in said:
            said.append(messages[-1].text)
            return "many"
        if "This does not fit" in messages[-1].text:
            return reader(messages[:1])
        return reader(messages)

    run, _ = by("map_reduce", sloppy, LONG, query="How many mails are spam?")
    assert "parts: 1000" in str(run.answer)


def test_parts_that_fail_are_left_out_and_noted() -> None:
    def flaky(messages: tuple[Message, ...]) -> str:
        if "00000" in part_of(messages):
            raise ModelError("bad_request", "no such luck")
        return reader(messages)

    model = ScriptedModel(flaky, window=4_000)
    run = RLM(model, strategy="map_reduce", runs=False).run("How many mails are spam?", LONG)
    (note,) = run.notes
    assert note == f"1 of {run.sub_calls} sub-calls that read the input failed: no such luck"
    assert "could not be read" in asked(model, -1)


@pytest.mark.parametrize("kind", ["auth", "bad_request"])
def test_where_all_fail_the_run_has_failed(kind: str) -> None:
    def broken(messages: tuple[Message, ...]) -> str:
        raise ModelError(kind, "no such luck")  # type: ignore[arg-type]

    run = RLM(ScriptedModel(broken, window=4_000), runs=False).run("q", LONG, strategy="map_reduce")
    assert (run.status, run.answer, run.turns) == ("failed", None, 0)
    assert "no such luck" in run.reason


def test_more_groups_than_there_is_room_for_are_told() -> None:
    def many(messages: tuple[Message, ...]) -> str:
        if not part_of(messages):
            return "Answer: x"
        return json.dumps({"tally": [{"name": f"group {n} " + "x" * 40, "count": n} for n in range(200)]})

    _, model = by("map_reduce", many, LONG, query="Which is more common?", window=3_000)
    last = asked(model, -1)
    assert "- group 199 " in last
    assert "lines more)" in last


def test_answers_are_typed() -> None:
    def typed(messages: tuple[Message, ...]) -> ModelReply | str:
        if part_of(messages):
            return reader(messages)
        return ModelReply(messages[-1].text.partition("parts: ")[2].split()[0], "stop", Usage(1, 1, 1), "m")

    model = ScriptedModel(typed, window=4_000)
    run = RLM(model, strategy="map_reduce", runs=False).run("How many mails are spam?", LONG, answer=int)
    assert run.answer == 1_000


def test_an_empty_input_has_nothing() -> None:
    run, model = by("map_reduce", ["Answer: nothing"], "")
    assert (run.answer, run.sub_calls) == ("nothing", 0)
    assert "No part has anything for the question." in asked(model)


def test_where_each_part_fails_alike_the_rest_are_not_sent() -> None:
    def nobody(messages: tuple[Message, ...]) -> str:
        raise ModelError("unknown_model", "there is no model of that name")

    sub = ScriptedModel(nobody, name="scripted:sub", window=4_000)
    run, _ = by("map_reduce", reader, LONG * 4, query="How many mails are spam?", sub=sub, concurrency=2)
    assert run.status == "failed"
    assert len(sub.requests) < 12 < run.sub_calls
    assert "there is no model of that name" in run.reason
    assert any("were not sent after 8 that failed alike" in note for note in run.notes)
