"""``compaction``: notes that are written anew after each part."""

from __future__ import annotations

import asyncio
import re

from unspool import RLM, Budget, Message, ModelError
from unspool.testing import ScriptedModel

from .helpers import all_text, asked, by

LONG = "".join(f"{number:05} the quick brown fox\n" for number in range(4_000))


def counting(messages: tuple[Message, ...]) -> str:
    """Notes that carry the number of lines on; the answer is the number in the last notes."""
    text = messages[-1].text
    if "part by part" not in text or "Reply with the" not in text:
        return f"Answer: {text.partition('lines: ')[2].split()[0]}"
    before = int(text.partition("lines: ")[2].split()[0]) if "lines: " in text else 0
    return f"lines: {before + text.count('fox')}"


def test_every_part_is_read_once_and_the_notes_are_carried_on() -> None:
    run, model = by("compaction", counting, LONG, query="How many lines?")
    assert run.answer == "4000"
    assert run.sub_calls == len(model.requests) - 1 > 3
    assert run.coverage.share == run.coverage.by_sub_calls == 1.0
    assert {line.role for line in run.ledger} == {"root", "sub"}
    assert model.peak == 1  # one after the other
    assert "How many lines?" in asked(model, 0)


def test_prompts_fit_the_window() -> None:
    _, model = by("compaction", counting, LONG, window=2_000)
    assert max(sum(len(m.text) for m in request.messages) for request in model.requests) < 2_000 * 4


def test_what_fits_is_given_as_it_is() -> None:
    run, model = by("compaction", ["Answer: two"])
    assert (run.answer, run.sub_calls) == ("two", 0)
    assert "line one\nline two" in asked(model)


def test_a_part_that_fails_is_passed_over_and_noted() -> None:
    def flaky(messages: tuple[Message, ...]) -> str:
        if "part 2." in messages[-1].text or "part\n2." in messages[-1].text:
            raise ModelError("bad_request", "no such luck")
        return counting(messages)

    model = ScriptedModel(flaky, window=4_000)
    run = RLM(model, strategy="compaction", runs=False).run("How many lines?", LONG)
    assert run.status == "answered"
    assert isinstance(run.answer, str)
    assert 2_000 < int(run.answer) < 4_000
    (note,) = run.notes
    assert note == f"1 of {run.sub_calls} sub-calls that read the input failed: no such luck"
    assert f"(1 of {run.sub_calls} parts could not be read)" in all_text(model)


def test_where_all_fail_the_run_has_failed() -> None:
    def broken(messages: tuple[Message, ...]) -> str:
        raise ModelError("unknown_model", "no such luck")

    run = RLM(ScriptedModel(broken, window=4_000), runs=False).run("q", LONG, strategy="compaction")
    assert (run.status, run.answer, run.turns) == ("failed", None, 0)
    assert re.fullmatch(
        r"the strategy had nothing to answer from, since \d+ of its \d+ sub-calls failed: "
        r"no such luck \(not sent: 8 calls in a row have failed alike\)",
        run.reason,
    )


def test_a_limit_on_calls_ends_the_reading_and_the_notes_are_answered_from() -> None:
    run, model = by("compaction", counting, LONG, budget=Budget(calls=3))
    assert run.sub_calls == 3  # the fourth is refused, so never sent
    assert len(model.requests) == 4
    assert run.status == "answered"
    (note,) = run.notes
    assert note.startswith("1 of 4 sub-calls that read the input failed: over budget")
    assert "(the reading stopped in part 4: what comes after it was not read)" in asked(model, -1)


def test_a_limit_of_no_calls_is_a_limit() -> None:
    run, model = by("compaction", counting, LONG, budget=Budget(calls=0))
    assert (run.status, model.requests) == ("budget", [])
    assert "0 sub-calls" in run.reason


def test_the_parts_are_read_by_the_sub_model() -> None:
    sub = ScriptedModel(counting, name="scripted:sub", window=4_000)
    run, model = by("compaction", counting, LONG, sub=sub)
    assert len(model.requests) == 1
    assert len(sub.requests) == run.sub_calls


def test_the_small_profile_has_room_for_notes() -> None:
    _, model = by("compaction", counting, LONG, profile="small")
    assert {request.max_tokens for request in model.requests} == {1_000}  # a quarter of the window
    assert all(request.stop == () for request in model.requests)


def test_a_limit_on_time_leaves_the_notes_as_a_draft() -> None:
    async def stuck(messages: tuple[Message, ...]) -> str:
        if "part\n3." in messages[-1].text:
            await asyncio.sleep(60)
        return counting(messages)

    model = ScriptedModel(stuck, window=4_000)
    run = RLM(model, strategy="compaction", runs=False, budget=Budget(seconds=3)).run("How many?", LONG)
    assert (run.status, run.draft) == ("budget", "variable draft")
    assert "lines: " in str(run.answer)
