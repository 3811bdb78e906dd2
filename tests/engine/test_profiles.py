"""Profiles: what each sends first, and the hooks that a profile has."""

from __future__ import annotations

from itertools import pairwise

import pytest

from unspool import RLM
from unspool.prompts import PROFILES, get_profile
from unspool.testing import ScriptedModel
from unspool.types import CellRun

from .helpers import py

LOG = "".join(
    f"08:{i // 60:02}:{i % 60:02} door {i} {'opened' if i % 3 else 'jammed'} by user{i % 7} after {i} s\n"
    for i in range(900)
)
LONGEST = {
    "frontier": 4_000,
    "small": 9_000,
    "paper": 3_500,
}  # characters of the first prompt, worked turns included


@pytest.mark.parametrize("name", PROFILES)
@pytest.mark.parametrize(
    "context", [LOG, LOG * 50, {"a.log": LOG}, [LOG] * 3, ""], ids=["text", "long", "dict", "list", "none"]
)
def test_first_prompt_does_not_grow_by_accident(name: str, context: object) -> None:
    model = ScriptedModel([py("print(1)\nsubmit('x')")] * 2)
    RLM(model, profile=name).run("How often was a door jammed?", context)
    assert sum(len(m.text) for m in model.requests[0].messages) <= LONGEST[name]


@pytest.mark.parametrize("name", PROFILES)
def test_a_profile_starts_the_same_for_every_question(name: str) -> None:
    """All but the last message: that is what providers and the local model keep between runs."""
    starts = []
    for question, context in (("One?", LOG), ("Two?", "other text")):
        model = ScriptedModel([py("print(1)\nsubmit('x')")] * 2)
        RLM(model, profile=name).run(question, context)
        starts.append(model.requests[0].messages[:-1])
    assert starts[0] == starts[1]
    assert starts[0][0].role == "system"


@pytest.mark.parametrize("name", PROFILES)
def test_worked_turns_alternate_and_hold_code(name: str) -> None:
    examples = get_profile(name).examples("How often was a door jammed?", "", 1)
    assert [m.role for m in examples] == ["user", "assistant"] * (len(examples) // 2)
    assert all("```python" in m.text for m in examples if m.role == "assistant")


def test_the_model_of_a_small_machine_gets_the_small_profile() -> None:
    model = ScriptedModel([py("print(1)\nsubmit('x')")] * 2, profile="small")
    RLM(model).run("How often?", LOG)
    assert model.requests[0].messages[0].text == get_profile("small").system


def look(query: str, context: object) -> CellRun:
    """The small profile's first look, in a REPL."""
    run = RLM(ScriptedModel([py("submit('x')")] * 2, profile="small")).run(query, context)
    return run.trace.turns[0].cells[0]


def test_a_look_groups_the_lines_by_form() -> None:
    seen = look("How often was a door jammed?", LOG).output
    assert "A: 300 lines" in seen
    assert "jammed by user" in seen
    assert len(seen) < 1_200


def test_an_example_in_the_question_is_not_looked_for() -> None:
    log = "".join(f"door{n % 3} {'opened' if n % 2 else 'jammed'} at {n}\n" for n in range(90))
    assert "A: 30 lines" in look("How often was door1 moved?", log).output
    seen = look("Which door, such as door1, has the most lines?", log).output
    assert "field(lines, 1): door0 30x, door1 30x, door2 30x" in seen
    assert "A: 90 lines" in seen


@pytest.mark.parametrize(
    "context",
    [
        "",
        "no such thing\n",
        [],
        {},
        7,
        ["x", 3],
        b"bytes",
        "\ud800 door\n" * 50,
        "\n" * 1000,
        {"a": LOG},
        [LOG],
    ],
)
def test_a_look_at_anything_is_no_error(context: object) -> None:
    cell = look("Which door was {opened} \\ first's \"?", context)
    assert cell.outcome == "ok", cell


def test_the_first_look_is_turn_zero_and_is_no_turn_of_the_model() -> None:
    model = ScriptedModel([py("submit('x')")] * 2, profile="small")
    run = RLM(model).run("How often was a door jammed?", LOG)
    assert [turn.number for turn in run.trace.turns] == list(range(run.turns + 1))
    assert run.trace.turns[0].text is None
    assert "jammed" in run.trace.turns[0].cells[0].output
    assert "jammed by user" in model.requests[0].messages[-1].text


def test_the_question_ends_every_message_of_the_small_profile() -> None:
    question = "How often was a door jammed?"
    model = ScriptedModel([py("print(1)"), py("print(2)"), py("submit('x')")], profile="small")
    RLM(model).run(question, LOG)
    for request in model.requests:
        assert request.messages[-1].text.rstrip().endswith(question)


FUNCTIONS = (
    "llm_query(", "llm_query_batched(", "llm_map(", "classify(", "rlm_query(", "rlm_query_batched(", "grep(",
    "chunks(", "cite(", "budget()", "SHOW_VARS()", "submit(",
)  # fmt: skip
RULES = (
    "```python", "after exceptions too", "No network", "working folder", "LLMError", "FailedCall", "on_error",
    "Look first", "in one batch", "never in your head", "Prose is never an answer", "not for you",
    "cut in the middle", "time limit", "is undone",
)  # fmt: skip


def test_a_capable_model_is_told_each_function_and_rule_once() -> None:
    system = get_profile("frontier").system
    assert [name for name in (*FUNCTIONS, *RULES) if name not in system] == []
    assert [name for name in FUNCTIONS if system.count(f"`{name}") != 1] == []
    assert len(system) <= 2_400


def test_what_a_turn_has_printed_is_sent_again_with_few_words_around_it() -> None:
    turns = [py(f"print('{i:04}' * 500)") for i in range(9)]
    model = ScriptedModel([*turns, py("submit(1)")])
    RLM(model, runs=False).run("How many?", LOG)
    last = model.requests[-1].messages
    told = [message.text for message in last[2:] if message.role == "user"]
    assert told == [f"[cell {i + 1}]\n" + f"{i:04}" * 500 for i in range(9)]
    for before, after in pairwise(model.requests):
        assert after.messages[: len(before.messages)] == before.messages
