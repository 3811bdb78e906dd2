"""Files that cannot be read among others: named to the model and in the run; and one judge for a file alone
and in a folder."""

from __future__ import annotations

import os
import subprocess
import zipfile
from pathlib import Path

import pytest

from tests.engine.helpers import play, py, shown
from unspool import RLM, ContextError
from unspool.reach.files import Files
from unspool.reach.octets import Memory
from unspool.reach.passed import NAMED, PASSED
from unspool.reach.sniff import OLE
from unspool.testing import ScriptedModel

from .documents import docx, paragraph, pdf, pptx, shape, slide

TEXT = "Alice lent Bo ten pounds.\n"
CUT = docx(paragraph(TEXT))[:200]
BROKEN = docx("<w:p><w:r><w:t>Alice</w:t></w:r></w:p></w:nothing>")
WHY = {
    "cut.docx": "is no document that can be read (File is not a zip file)",
    "empty.pptx": "is empty",
    "old.doc": "is a document of a kind that is not read",
    "ole.docx": "has a password, or is an old .doc or .ppt",
    "broken.docx": "is no document that can be read",
}
BAD = {
    "cut.docx": CUT,
    "empty.pptx": b"",
    "old.doc": OLE + b"old",
    "ole.docx": OLE + b"x",
    "broken.docx": BROKEN,
}


def scans(root: Path, more: dict[str, bytes] | None = None) -> Path:
    root.mkdir(exist_ok=True)
    for name, data in {**BAD, **(more or {})}.items():
        (root / name).write_bytes(data)
    return root


@pytest.mark.parametrize(
    "code",
    [
        "print(grep('Alice'))",
        "print(context.grep('Alice'))",
        "print([t.grep('Alice') for _, t in context.texts()])",
    ],
)
def test_what_a_search_passes_over_is_told_to_the_model_and_in_the_run(tmp_path: Path, code: str) -> None:
    run, model = play([py(code), py("print(1)"), py("submit('none')")], scans(tmp_path / "scans"))
    told = shown(model, 1)
    assert "[]" in told
    assert f"passed over in {tmp_path / 'scans'}: 5 of its 5 files cannot be read: " in told
    for name, why in WHY.items():
        assert f"{name} ({why}" in told
    assert "passed over" not in shown(model, 2)
    (note,) = run.notes
    assert note in told
    assert run.coverage.share is None
    assert run.coverage.why == "none of the files can be read as text"


def test_nothing_is_read_before_it_is_searched_and_readable_ones_are_found(tmp_path: Path) -> None:
    folder = scans(
        tmp_path / "f", {"good.docx": docx(paragraph(TEXT)), "a.txt": TEXT.encode(), "logo.png": b"\0\1"}
    )
    run, model = play([py("submit(grep('Alice'))")], folder)
    assert run.answer == ["a.txt:1: Alice lent Bo ten pounds.", "good.docx:1: Alice lent Bo ten pounds."]
    first = model.requests[0].messages[-1].text
    assert "searches pass over one that cannot be read" in first
    assert "passed over in" not in first
    (note,) = run.notes
    assert "5 of its 8 files" in note
    assert "logo.png" not in note
    assert "documents that cannot be read are not counted" in run.coverage.why


def test_one_note_for_a_run_that_learns_more_and_none_where_all_is_well(tmp_path: Path) -> None:
    folder = scans(tmp_path / "f", {f"z{n}.docx": CUT for n in range(NAMED)})
    cells = [
        py("context.grep('A', glob='old.*')"),
        py("context.grep('A', glob='c*')"),
        py("submit(grep('A'))"),
    ]
    run, model = play(cells, folder)
    assert "1 of its 13 files" in shown(model, 1)
    assert "2 of its 13" in shown(model, 2)
    (note,) = run.notes
    assert "13 of its 13 files" in note
    assert note.endswith(f"and {13 - NAMED} more")
    assert len(note) <= 1_000
    (tmp_path / "well").mkdir()
    (tmp_path / "well" / "a.txt").write_text(TEXT)
    (tmp_path / "well" / "core").write_bytes(b"\0\1")
    assert play([py("submit(len(grep('Alice')))")], tmp_path / "well")[0].notes == ()


def test_in_an_archive_and_by_a_glob(tmp_path: Path) -> None:
    folder = scans(tmp_path / "f")
    with zipfile.ZipFile(tmp_path / "all.zip", "w") as made:
        for name, data in BAD.items():
            made.writestr(f"in/{name}", data)
    for context, of in ((tmp_path / "all.zip", 5), (folder / "*.docx", 3)):
        run, _ = play([py("submit(grep('Alice'))")], context)
        assert run.answer == []
        assert f"{of} of its {of} files" in run.notes[0]
        assert "cut.docx (is no" in run.notes[0]


def test_scanned_and_locked_pdfs_are_passed_over(tmp_path: Path) -> None:
    pytest.importorskip("pypdfium2", reason="pypdfium2 is not installed: pip install 'unspool[docs]'")
    locked = b"/ID[<00><00>]/Encrypt<</Filter/Standard/V 1/R 2/O(%s)/U(%s)/P -4>>" % (b"o" * 32, b"u" * 32)
    (tmp_path / "scan.pdf").write_bytes(pdf(["", ""]))
    (tmp_path / "locked.pdf").write_bytes(pdf(["Alice"], trailer=locked))
    (tmp_path / "invoice").write_bytes(pdf(["Alice owes ten pounds"]))
    (tmp_path / "x.txt").write_bytes(pdf(["Alice owes more"]))
    run, _ = play(
        [py("submit([grep('Alice'), sorted(p for p, _ in context.texts()), context['x.txt'].page(1)])")],
        tmp_path,
    )
    assert run.answer == [
        ["invoice:page 1, line 2: Alice owes ten pounds", "x.txt:page 1, line 2: Alice owes more"],
        ["invoice", "x.txt"],
        "Alice owes more",
    ]
    assert (
        "2 of its 4 files cannot be read: locked.pdf (has a password), scan.pdf (has 2 pages, but no text)"
        in run.notes[0]
    )


ALIKE = {
    "cut.docx": CUT,
    "broken.docx": BROKEN,
    "ole.docx": OLE + b"x",
    "ole.xlsx": OLE + b"x",
    "old.doc": OLE + b"x",
    "a.rtf": b"{\\rtf1 x}",
    "core": b"a\0b",
    "noise.pdf": b"\0\1\2",
    "fake.pdf": TEXT.encode(),
    "n.docx": TEXT.encode(),
    "good.docx": docx(paragraph(TEXT)),
    "good.pptx": pptx([slide(shape("Alice"))]),
    "note.db": TEXT.encode(),
}  # fmt: skip
ALONE = """
try:
    submit([type(context).__name__, str(context)])
except ValueError as error:
    submit(str(error))
"""


@pytest.mark.parametrize("name", list(ALIKE))
def test_a_file_in_a_folder_is_judged_as_it_is_alone(tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_bytes(ALIKE[name])
    try:
        alone = play([py(ALONE)], tmp_path / name)[0].answer
    except ContextError as error:
        alone = str(error)
    run, _ = play([py(ALONE.replace("context", f"context[{name!r}]"))], tmp_path)
    inside = run.answer
    if isinstance(inside, str):  # there it is said, too, what can be done with the others
        inside = inside.partition("; .texts()")[0]
    assert inside == alone


@pytest.mark.parametrize("name", ["a.pdf", "a.docx", "a.pptx", "a.xlsx"])
def test_an_empty_document_is_empty(tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_bytes(b"")
    with pytest.raises(ContextError, match="is empty: there is nothing to ask about"):
        RLM(ScriptedModel([]), runs=False).run("?", tmp_path / name)
    code = f"try:\n    str(context[{name!r}])\nexcept ValueError as error:\n    submit(str(error))"
    assert str(play([py(code)], tmp_path)[0].answer).startswith(f"{name} is empty: there is nothing in it")


def test_going_through_a_mapping_is_not_stopped_by_a_bad_file() -> None:
    files = Files(
        "f", loaded={name: Memory(data, name) for name, data in {**BAD, "core": b"\0", "a": b"x"}.items()}
    )
    assert [path for path, value in files.items() if value is not None] == list(files)
    assert files.grep("x") == ["a:1: x"]
    assert "5 of its 7 files" in PASSED.take()[0]
    assert not PASSED.take()


def test_an_empty_folder_is_empty(tmp_path: Path) -> None:
    def said(folder: Path) -> str:
        with pytest.raises(ContextError) as error:
            RLM(ScriptedModel([]), runs=False).run("?", folder)
        return str(error.value).replace(str(folder), "F")

    (tmp_path / "e").mkdir()
    assert said(tmp_path / "e") == "F is empty: there are no files in it."
    os.symlink("nowhere", tmp_path / "e" / "link")
    assert said(tmp_path / "e") == "F has no files in it that could be read (left out: 1 link)."
    subprocess.run(["git", "init", "-q", str(tmp_path / "g")], check=True)
    assert said(tmp_path / "g") == "F is empty: there are no files in it."
    (tmp_path / "g" / "in").mkdir()
    (tmp_path / "g" / ".git" / "info" / "exclude").write_text("*.log\n")
    (tmp_path / "g" / "in" / "a.log").write_text("x")
    assert said(tmp_path / "g" / "in") == "F has no files in it but what Git ignores: name them with a glob."
    (tmp_path / "g" / "a.txt").write_text("x")
    _, model = play([py("submit(1)")], tmp_path / "g")
    assert "Left out: what Git ignores." in model.requests[0].messages[-1].text
