"""What is in files, as the small profile sees it: described in its own words, its lines in ``lines``."""

from __future__ import annotations

import re
import zipfile
from pathlib import Path

import pytest

from tests.contexts.documents import docx, paragraph, pdf, pptx, shape, slide
from tests.engine.helpers import play, py
from unspool import RLM
from unspool.testing import ScriptedModel

PAGES = ["Order 7 of May\nfor Ann", "Order 8 of June\nfor Bo", "Order 9 of July\nfor Cy"]
LINES = [line for page in PAGES for line in page.split("\n")]
WAYS = re.compile(r"\.\w+\(|\.info|\.page|grep|chunks|LazyText|\bDocument\b|\bFiles\b")


def paged(folder: Path, kind: str) -> Path:
    path = folder / f"orders.{kind}"
    if kind == "pdf":
        pytest.importorskip("pypdfium2")
        path.write_bytes(pdf(PAGES, title="Orders"))
    elif kind == "pptx":
        path.write_bytes(pptx([slide("".join(shape(line) for line in page.split("\n"))) for page in PAGES]))
    else:
        path.write_bytes(docx("".join(map(paragraph, LINES))))
    return path


def asked(context: object, code: str, profile: str = "small") -> tuple[object, str]:
    """The answer of a cell, and what stands before the question in the first request."""
    model = ScriptedModel([py(f"print(1)\n{code}")])
    run = RLM(model, profile=profile, runs=False).run("Which order is for Bo?", context)
    assert run.status == "answered", run.trace.turns[-1].cells[-1].error
    return run.answer, model.requests[0].messages[-1].text


@pytest.mark.parametrize("kind", ["pdf", "pptx", "docx"])
def test_a_document_is_its_lines_and_the_marks_of_pages_are_none_of_them(tmp_path: Path, kind: str) -> None:
    path = paged(tmp_path, kind)
    answer, told = asked(path, "submit([line for line in lines if line])")
    assert answer == LINES
    assert "orders." in told
    assert "`lines` has its lines" in told
    assert "characters" in told
    assert all(line in told for line in LINES)
    assert "===" not in told
    assert not WAYS.search(told)


def test_the_default_profile_is_told_the_ways_and_the_pages(tmp_path: Path) -> None:
    _, told = asked(paged(tmp_path, "pptx"), "submit(2)", profile="frontier")
    assert ".page(3)" in told
    assert "=== slide 2 ===" in told


@pytest.mark.parametrize("many", [1, 400])
def test_a_text_in_a_file_is_told_as_short(tmp_path: Path, many: int) -> None:
    path = tmp_path / "orders.txt"
    path.write_text("\n".join(LINES * many))
    answer, told = asked(path, "submit([len(lines), lines[1], find('for Bo')[:1]])")
    assert answer == [6 * many, "for Ann", ["for Bo"]]
    assert f"`context` is the text of orders.txt, {len(path.read_text()):,} characters" in told
    assert not WAYS.search(told)


@pytest.mark.parametrize("kind", ["folder", "archive", "mapping"])
def test_several_files_have_all_their_lines_in_one_list(tmp_path: Path, kind: str) -> None:
    folder = tmp_path / "all"
    folder.mkdir()
    paged(folder, "pptx")
    (folder / "more.txt").write_text("Order 10\nfor Dee\n")
    context: object = folder
    if kind == "archive":
        context = tmp_path / "all.zip"
        with zipfile.ZipFile(tmp_path / "all.zip", "w") as archive:
            for path in folder.iterdir():
                archive.write(path, path.name)
    elif kind == "mapping":
        context = {path.name: path for path in sorted(folder.iterdir())}
    answer, told = asked(context, "submit([sorted(line for line in lines if line), find('for Bo')])")
    assert answer == [sorted([*LINES, "Order 10", "for Dee"]), ["for Bo"]]
    assert "`lines`" in told
    assert "more.txt" in told
    if kind != "mapping":
        assert not WAYS.search(told.replace(str(tmp_path), ""))


def test_a_slide_with_a_title_keeps_it() -> None:
    from unspool.prompts.small_records import without_marks

    slides = ["=== slide 1: Results ===", "=== slide 2 (hidden) ===", "a", "=== slide 3 ==="]
    assert without_marks(slides, "slide") == ["=== slide 1: Results ===", "a"]
    assert without_marks(slides, "") == slides


def test_what_is_told_of_the_bounds_is_what_is_done() -> None:
    from unspool.prompts import small_look, small_records
    from unspool.reach import brief

    assert (brief.MOST_FILES, brief.MOST_LINES) == (small_records.MOST_FILES, small_records.MOST_ROWS)
    assert small_records.MOST_ROWS == small_look.MOST_LINES


def test_an_empty_file_is_refused_as_ever(tmp_path: Path) -> None:
    from unspool import ContextError

    (tmp_path / "a.pptx").write_bytes(pptx([slide("")]))
    with pytest.raises(ContextError, match="no text in it"):
        play([], tmp_path / "a.pptx", profile="small")


def test_few_lines_are_looked_at_where_the_description_does_not_show_them(tmp_path: Path) -> None:
    (tmp_path / "main.py").write_text("import app\n\nRETRY_LIMIT = 7\n", encoding="utf-8")
    (tmp_path / "app.py").write_text("WIDTH = 80\n", encoding="utf-8")
    model = ScriptedModel([py("print(1)\nsubmit(A)")])
    run = RLM(model, profile="small", runs=False).run("Where is the retry limit set?", tmp_path)
    assert run.answer == ["RETRY_LIMIT = 7"]


def test_the_name_of_a_file_given_as_a_text_is_told(tmp_path: Path) -> None:
    path = tmp_path / "server.log"
    path.write_text("one line\n", encoding="utf-8")
    runs = [
        RLM(ScriptedModel([py("print(1)\nsubmit(len(context))")]), runs=False).run("q", context)
        for context in (str(path), f"{path} is a log", "x" * 10_000)
    ]
    assert [len(run.notes) for run in runs] == [1, 0, 0]
    assert "give Path(…)" in runs[0].notes[0]
