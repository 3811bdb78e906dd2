"""A question about files has the lines of the file that it names, or each line with its file."""

from __future__ import annotations

import zipfile
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from unspool import RLM
from unspool.prompts.small_named import narrowed
from unspool.testing import ScriptedModel

FILES = {
    "shop/tea.py": "class Tea:\n    hour = 9\n\nclass Cup(Tea):\n    def pour(self):\n        pass\n",
    "shop/ice.py": "class Ice:\n    hour = 11\n" + "    # a cone of ice, or two\n" * 40,
    "other/ice.txt": "cold\n",
    "orders.csv": "id,name,total\n" + "".join(f"{n},ann,{n}.5\n" for n in range(30)),
}


def run_on(context: object, query: str, cell: str) -> tuple[object, str]:
    """The answer of a cell in a REPL of the profile, and what its first look printed."""
    run = RLM(ScriptedModel([f"```python\n{cell}\n```"]), profile="small", runs=False).run(query, context)
    assert run.status == "answered", run.reason
    return run.answer, run.trace.turns[0].cells[0].output


@pytest.fixture(params=["mapping", "folder", "zip"])
def context(request: pytest.FixtureRequest, tmp_path: Path) -> object:
    if request.param == "mapping":
        return FILES
    for name, text in FILES.items():
        (tmp_path / "all" / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "all" / name).write_text(text)
    if request.param == "folder":
        return tmp_path / "all"
    with zipfile.ZipFile(tmp_path / "all.zip", "w") as archive:
        for name, text in FILES.items():
            archive.writestr(name, text)
    return tmp_path / "all.zip"


@pytest.mark.parametrize("said", ["shop/tea.py", "tea.py"])
def test_the_file_that_is_named_is_looked_at_alone(context: object, said: str) -> None:
    query = f"How many classes are there in {said}?"
    answer, look = run_on(context, query, "print(1)\nsubmit([len(classes), len(lines)])")
    assert "lines: those of shop/tea.py alone" in look
    assert answer == [2, 6]


def test_the_rows_of_a_table_that_is_named(context: object) -> None:
    cell = 'print(1)\nsubmit(sum(numbers(lines, "total")))'
    assert run_on(context, "What is the sum of total in orders.csv?", cell)[0] == sum(
        n + 0.5 for n in range(30)
    )


def test_which_file_is_asked(context: object) -> None:
    query = "In which file is the class Cup defined?"
    answer, look = run_on(context, query, 'print(1)\nsubmit(field(find("class Cup"), "file")[0])')
    assert answer == "shop/tea.py"
    assert "file=shop/tea.py, line=class Cup(Tea):" in look


def test_other_questions_see_all_lines_as_before(context: object) -> None:
    answer, look = run_on(context, "How many cones are there?", 'print(1)\nsubmit(len(find("cone")))')
    assert answer == 40
    assert "lines: " not in look


def test_names_that_are_of_several_files_or_of_none_choose_nothing() -> None:
    twice = {"a/one.txt": "x", "b/one.txt": "y"}
    assert narrowed("What is in one.txt?", twice) is None
    assert narrowed("What is in xone.txt or one.txt.bak?", twice) is None
    chosen = narrowed("What is in b/one.txt?", twice)
    assert chosen is not None
    assert chosen[0] == ["y"]
    for other in ("a text", ["a", "b"], {"a": 1, "b": "c"}, {"only": "one"}, {1: "a", 2: "b"}, None):
        assert narrowed("Which file is it, a or b?", other) is None


@given(st.text(), st.dictionaries(st.text(), st.text()))
def test_any_question_and_names_are_taken(query: str, files: dict[str, str]) -> None:
    found = narrowed(f"Which file {query}", files)
    assert found is None or len(files) > 1
