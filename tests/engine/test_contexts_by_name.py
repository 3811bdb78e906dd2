"""Several contexts at once: bound by name, described with a share each, the same when a run is resumed."""

from __future__ import annotations

from pathlib import Path

import pandas
import pytest

from unspool import RLM, ContextError, Contexts
from unspool.contexts import describe
from unspool.errors import UnspoolError
from unspool.testing import MemoryStore, ScriptedModel

from .helpers import py

LOGS = "".join(f"line {n}\n" for n in range(1_000))


def users() -> pandas.DataFrame:
    return pandas.DataFrame({"id": [1, 2, 3], "name": ["Ann", "Bo", None]})


def test_each_is_bound_by_its_name_and_all_are_the_context() -> None:
    code = (
        "print(type(context).__name__, list(context), context['users'] is users, len(logs), users.shape)\n"
        "users.loc[0, 'id'] = 9"
    )
    model = ScriptedModel([py(code), py("submit([int(users.id[0]), int(context['users'].id[0]), limit])")])
    run = RLM(model).run("?", Contexts(logs=LOGS, users=users(), limit=5))
    assert run.answer == [9, 9, 5]
    output = run.trace.turns[0].cells[0].output
    assert output == f"Named ['logs', 'users', 'limit'] True {len(LOGS)} (3, 2)\n"


def test_a_name_that_is_rebound_is_back_and_the_model_is_told() -> None:
    model = ScriptedModel([py("logs = 'x'\ndel users"), py("submit([len(logs), len(users), logs_])")])
    run = RLM(model).run("?", Contexts(logs=LOGS, users=users()))
    assert run.answer is None or run.answer == [len(LOGS), 3, "x"]
    notes = "\n".join(run.trace.turns[0].cells[0].notes)
    assert "logs was rebound; it is back as it was; your value is in logs_" in notes
    assert "users was deleted; it is back as it was" in notes


BAD = [
    "context",
    "answer",
    "submit",
    "llm_query",
    "grep",
    "FailedCall",
    "print",
    "class",
    "a b",
    "1a",
    "",
    "_x",
]


@pytest.mark.parametrize("name", BAD)
def test_a_name_that_cannot_be_is_refused(name: str) -> None:
    with pytest.raises(ContextError, match="a context cannot be called"):
        Contexts({name: 1})


def test_a_name_of_a_tool_or_of_the_profile_is_refused_before_anything_is_sent() -> None:
    def lookup(key: str) -> str:
        """Looks up."""
        return key

    model = ScriptedModel([])
    with pytest.raises(ContextError, match="'lookup': that is one of the tools"):
        RLM(model, tools=[lookup]).run("?", Contexts(lookup="x"))
    with pytest.raises(ContextError, match="that is a name that the REPL has already"):
        RLM(model, profile="small").run("?", Contexts(find="x"))
    with pytest.raises(ContextError, match="has no context"):
        Contexts()
    assert model.requests == []


@pytest.mark.parametrize("count", [1, 2, 3, 6, 40])
def test_the_description_has_a_share_for_each_and_does_not_grow(count: int) -> None:
    frame = pandas.DataFrame({f"c{i}": range(100) for i in range(1_000)})
    values = [LOGS * 100, frame, {"k": LOGS}, [1, 2], frame["c1"], b"x" * 10_000]
    told = describe(Contexts({f"part{i}": values[i % 6] for i in range(count)}))
    for place in range(min(count, 6)):
        assert f"`part{place}` is a" in told or f"`part{place}` is bytes" in told
    assert len(told) < 1_000 + 620 * min(count, 6) + 120 * min(count, 30)


def test_the_first_prompt_stays_short() -> None:
    frame = pandas.DataFrame({f"a long name of a column {i}": ["x" * 500] * 10 for i in range(1_000)})
    model = ScriptedModel([py("print(1)\nsubmit(2)")])
    RLM(model).run("?", Contexts(users=frame, events=frame, subscriptions=frame))
    assert sum(len(m.text) for m in model.requests[0].messages) < 6_000


def test_a_child_can_be_given_a_part_and_the_whole() -> None:
    def reply(messages: tuple[object, ...]) -> str:
        return next(text for word, text in scripts.items() if word in str(messages[1]))

    scripts = {
        "part?": py("print(1)\nsubmit(len(context))"),
        "whole?": py("print(1)\nsubmit(sorted(context))"),
        "root?": py("submit([rlm_query('part?', logs[:100]), rlm_query('whole?', dict(logs=logs, n=n))])"),
    }
    run = RLM(ScriptedModel(reply)).run("root?", Contexts(logs=LOGS, n=1))  # type: ignore[arg-type]
    assert run.answer == [100, ["logs", "n"]]


def test_a_child_has_tables_as_tables() -> None:
    def reply(messages: tuple[object, ...]) -> str:
        return next(text for word, text in scripts.items() if word in str(messages[1]))

    scripts = {
        "table?": py(
            "print(type(context).__name__)\nsubmit([type(context).__name__, context.name.isna().sum()])"
        ),
        "all?": py(
            "print(1)\nsubmit([type(context['users']).__name__, context['logs'][:4], len(context['users'])])"
        ),
        "root?": py(
            "print(1)\nsubmit([rlm_query('table?', users[users.id > 1]), rlm_query('all?', context)])"
        ),
    }
    run = RLM(ScriptedModel(reply)).run("root?", Contexts(logs=LOGS, users=users()))  # type: ignore[arg-type]
    assert run.answer == [["DataFrame", 1], ["DataFrame", "line", 3]]


def test_where_no_depth_is_left_a_table_is_no_text() -> None:
    code = "try:\n    rlm_query('q', users)\nexcept ValueError as e:\n    print(e)\nsubmit(1)"
    run = RLM(ScriptedModel([py(code)]), max_depth=0).run("?", Contexts(users=users(), n=1))
    assert "give the rows that matter, table.to_csv()" in run.trace.turns[0].cells[0].output


def test_grep_says_that_it_does_not_search_a_table() -> None:
    code = "print(grep('line 77$'))\ntry:\n    grep('Ann', users)\nexcept TypeError as e:\n    print(e)\nsubmit(1)"
    run = RLM(ScriptedModel([py(code)])).run("?", Contexts(logs=LOGS, users=users()))
    cell = run.trace.turns[0].cells[0]
    assert "str.contains(pattern)" in cell.output
    assert any("'users' is a table, which is not searched" in note for note in cell.notes)


def test_a_child_with_the_same_question_over_a_table_is_no_crash() -> None:
    code = (
        "try:\n    rlm_query('root?', [1])\nexcept Exception as e:\n    print(type(e).__name__, str(e)[:40])"
    )
    model = ScriptedModel([py(code), py("print(1)\nsubmit(7)"), py("submit(8)")], name="scripted:root")
    run = RLM(model).run("root?", users())
    assert run.status == "answered"


@pytest.mark.parametrize("keep", [False, True])
def test_a_run_goes_on_with_the_same_contexts_and_no_others(keep: bool, tmp_path: Path) -> None:
    given = Contexts(logs=LOGS, users=[1, 2, 3])
    store = MemoryStore()
    first = RLM(
        ScriptedModel([py("n = len(logs)\nprint(n)")], name="scripted:m"), store=store, keep_context=keep
    )
    run = first.run("?", given)
    assert run.status != "answered"
    again = RLM(ScriptedModel([py("submit([n, users])")], name="scripted:m"), store=store, keep_context=keep)
    for other in (dict(given), Contexts(logs=LOGS, users=[1, 2, 4]), Contexts(logs=LOGS, user=[1, 2, 3])):
        with pytest.raises(UnspoolError, match="not the one that the run"):
            again.resume(run.id, other)
    assert again.resume(run.id, None if keep else given).answer == [len(LOGS), [1, 2, 3]]


def test_a_file_is_one_of_them_by_its_path(tmp_path: Path) -> None:
    path = tmp_path / "app.log"
    path.write_text(LOGS)
    code = "print(type(logs).__name__, logs is context['logs'])\nsubmit([len(logs), logs[:6], len(users)])"
    model = ScriptedModel([py(code)])
    run = RLM(model, runs=False).run("?", Contexts(logs=path, users=users()))
    assert run.answer == [len(LOGS), "line 0", 3]
    first = model.requests[0].messages[-1].text
    assert "`logs` is a" in first
    assert "`users` is a pandas DataFrame" in first
