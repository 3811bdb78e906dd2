"""``no_subcalls``: the RLM without models in its REPL."""

from __future__ import annotations

import pytest

from unspool import RLM
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
