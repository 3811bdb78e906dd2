"""``no_subcalls``: the RLM without models in its REPL."""

from __future__ import annotations

from dataclasses import replace

import pytest

from unspool import RLM
from unspool.models.protocol import Message
from unspool.prompts import get_profile
from unspool.strategies.protocol import SUB_CALLS
from unspool.testing import ScriptedModel

from .helpers import all_text, by


def py(*cells: str) -> str:
    return "\n\n".join(f"```python\n{cell}\n```" for cell in cells)


@pytest.mark.parametrize("profile", ["frontier", "small", "paper"])
@pytest.mark.parametrize("query", ["How many are positive by their meaning?", "Who paid for order 77?"])
def test_nothing_speaks_of_sub_calls(profile: str, query: str) -> None:
    look = py(f"print([name for name in {SUB_CALLS!r} if name in globals()])\nprint(2)")
    run, model = by("no_subcalls", [look, py("submit(1)")], "a\nb\n" * 500, query=query, profile=profile)
    assert run.answer == 1
    told = "\n".join(m.text for m in model.requests[0].messages) + all_text(model).replace(look, "")
    for name in (*SUB_CALLS, "sub-call"):
        assert name not in told
    assert "[]\n2" in model.requests[1].messages[-1].text


def test_worked_turns_that_make_no_sub_calls_stay() -> None:
    # A small model that is shown none never submits: what it lacks then is not the sub-calls.
    query = 'How many lines contain the word "garden"?'
    looked = py("print([name for name in ('find', 'ask', 'read') if name in globals()])")
    run, model = by(
        "no_subcalls", [looked, py("submit(1)")], "In the garden.\n" * 500, query=query, profile="small"
    )
    first, second = model.requests
    worked = [message.text for message in first.messages if message.role == "assistant"]
    assert len(worked) >= 3
    assert all("submit(" in text for text in worked)
    assert "['find']" in second.messages[-1].text
    assert run.answer == 1


def test_prose_is_read_without_a_reader() -> None:
    # Of prose all worked turns ask a reader: then those of lines stay, from which the answer is read off.
    text = (
        "The owner of the mill is Ann Lee. She came in May.\n\n"
        + "Rain fell, and no bell rang. It was late.\n\n" * 300
    )
    query = "Who is the owner of the mill?"
    run, model = by("no_subcalls", [py("submit('Ann Lee')")], text, query=query, profile="small")
    told = "\n".join(message.text for message in model.requests[0].messages)
    assert "Prose: " in told
    assert "Ann Lee" in told
    for name in ("reader", *SUB_CALLS, "sub-call"):
        assert name not in told
    assert sum(message.role == "assistant" for message in model.requests[0].messages) >= 2
    assert run.answer == "Ann Lee"


def test_a_worked_turn_that_makes_sub_calls_goes_with_its_question() -> None:
    def examples(query: str, look: str, depth_left: int) -> tuple[Message, ...]:
        said = (
            "How many?",
            "submit(len(lines))",
            "Who? Use llm_query. Short.",
            "submit(find('x'))",
            "Why?",
            "guess(1)",
        )
        return tuple(Message("assistant" if n % 2 else "user", text) for n, text in enumerate(said))

    profile = replace(
        get_profile("frontier"),
        examples=examples,
        asking=("guess",),
        imports=("def guess(x): return llm_query(x)",),
    )
    looked = py("print('guess' in globals())")
    model = ScriptedModel([looked, py("submit(1)")])
    RLM(model, profile=profile, runs=False).run("q", "c", strategy="no_subcalls")
    assert [message.text for message in model.requests[0].messages[1:-1]] == [
        "How many?", "submit(len(lines))", "Who? Short.", "submit(find('x'))"
    ]  # fmt: skip
    assert "False" in model.requests[1].messages[-1].text


def test_a_model_that_asks_all_the_same_gets_a_name_error() -> None:
    run, model = by("no_subcalls", [py("print(1)\nllm_query('hi')"), py("submit(1)")])
    assert "NameError: name 'llm_query' is not defined" in model.requests[1].messages[-1].text
    assert run.sub_calls == 0


def test_the_host_refuses_what_code_finds_behind_the_names() -> None:
    sneak = "import gc\ncalls = [o for o in gc.get_objects() if type(o).__name__ == 'Calls'][-1]\n"
    sneak += (
        "try:\n    print(calls.call('llm_query', ('hi',), {}))\nexcept Exception as e:\n    print(repr(e))"
    )
    run, model = by("no_subcalls", [py(sneak), py("submit(1)")])
    assert run.sub_calls == 0
    assert "there is no function 'llm_query'" in model.requests[1].messages[-1].text


def test_the_functions_are_there_without_it() -> None:
    model = ScriptedModel([py("print(llm_query('hi'))"), "ho", py("submit(1)")])
    run = RLM(model, runs=False).run("q", "c", strategy="rlm")
    assert run.sub_calls == 1
