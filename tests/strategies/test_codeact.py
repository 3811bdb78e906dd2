"""``codeact``: the input in the window, and code that does not have it."""

from __future__ import annotations

import pytest

from unspool.strategies.protocol import SUB_CALLS

from .helpers import all_text, asked, by

LONG = "".join(f"{number:05} the quick brown fox\n" for number in range(4_000))


def py(*cells: str) -> str:
    return "\n\n".join(f"```python\n{cell}\n```" for cell in cells)


@pytest.mark.parametrize("strategy", ["codeact", "codeact_subcalls"])
def test_the_input_is_in_the_first_message_and_not_in_the_repl(strategy: str) -> None:
    look = "print(repr(context), 'fox' in repr(globals()))"
    run, model = by(strategy, [py(look), py("submit(2)")], LONG)  # type: ignore[arg-type]
    assert run.answer == 2
    assert LONG[:500] in asked(model, 0)
    assert LONG[-200:-1] in asked(model, 0)
    assert "'' False" in asked(model, 1)
    (note,) = run.notes
    assert "were left out" in note
    assert "copy into it" in model.requests[0].messages[0].text


def test_it_answers_at_once_where_it_wants_to() -> None:
    run, _ = by("codeact", [py("submit('two')")])
    assert (run.answer, run.turns) == ("two", 1)


def test_without_sub_calls_nothing_speaks_of_them() -> None:
    names = py(f"print([name for name in {SUB_CALLS!r} if name in globals()], 'none')")
    _, model = by("codeact", [names, py("submit(1)")])
    told = all_text(model).replace(names, "")
    assert "[] none" in told
    assert not any(name in told for name in SUB_CALLS)


def test_with_sub_calls_they_are_there_and_children_are_not() -> None:
    code = py("print(llm_query('hi'), 'rlm_query' in globals())")
    run, model = by("codeact_subcalls", [code, "ho", py("submit(1)")])
    assert run.sub_calls == 1
    assert "ho False" in model.requests[2].messages[-1].text
    assert "rlm_query" not in model.requests[0].messages[0].text
    assert "llm_query_batched" in model.requests[0].messages[0].text


def test_what_cells_print_is_bounded_as_ever() -> None:
    _, model = by("codeact", [py("print('x' * 100_000)"), py("submit(1)")], window=100_000)
    assert len(asked(model, 1)) < 9_000


def test_prose_is_no_answer_and_says_so() -> None:
    run, model = by("codeact", ["It is two.", py("submit(2)")])
    assert run.answer == 2
    assert "submit" in asked(model, 1)


def test_what_the_model_copies_into_a_sub_call_is_not_known_to_be_nothing() -> None:
    code = py(f"print(llm_query('Which animal? ' + {LONG[:480]!r}))")
    run, _ = by("codeact_subcalls", [code, "fox", py("submit(1)")], LONG[:1_000])
    assert run.coverage.share == 1  # all of it is in the window
    assert (run.coverage.by_sub_calls, run.coverage.unknown) == (None, 1)
    run, _ = by("codeact_subcalls", [py("submit(1)")], LONG[:1_000])
    assert (run.coverage.by_sub_calls, run.coverage.unknown) == (0, 0)
