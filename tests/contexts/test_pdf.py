"""A PDF by its path: pages as text, read in the sandbox, traced, cited; a bad one is one clear error."""

from __future__ import annotations

import io
import sys
import time
import zipfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.engine.helpers import play, py, shown
from unspool import RLM
from unspool.contexts import looking
from unspool.reach import extracted
from unspool.reach.document_kinds import document
from unspool.reach.documents import Document
from unspool.reach.extracted import Spoken
from unspool.reach.octets import Memory
from unspool.reach.sniff import Unreadable
from unspool.testing import ScriptedModel

from .documents import pdf, refused

pytest.importorskip("pypdfium2", reason="pypdfium2 is not installed: pip install 'unspool[docs]'")

PAGES = [
    "An agreement between Ann (the lender) and Bo\nof the first of May",
    "",
    "The interest is 4 percent a year, \xe9 included\nand is due on the last day of June",
]
LOCKED = b"/ID[<00><00>]/Encrypt<</Filter/Standard/V 1/R 2/O(%s)/U(%s)/P -4>>" % (b"o" * 32, b"u" * 32)


@pytest.fixture
def paper(tmp_path: Path) -> Path:
    path = tmp_path / "loan.pdf"
    path.write_bytes(pdf(PAGES, title="A loan"))
    return path


def test_it_is_described_read_by_page_and_cited(paper: Path) -> None:
    code = (
        "print(type(context).__name__, context.page_count, context.info)\n"
        "print(grep('interest'), context.page_of(context.find('June')), [n for n, text in context.pages() if text])\n"
        "print(cite('due on the last day of June'))\n"
        "submit([context.page(3), context.page(2), context[:15], str(context).count('==='), context.lines()[2]])"
    )
    run, model = play([py(code)], paper)
    assert run.answer == [PAGES[2], "", "=== page 1 ===\n", 6, "of the first of May"]
    told = model.requests[0].messages[-1].text
    for word in (
        "Document",
        "loan.pdf",
        "3 pages",
        "title: A loan",
        "1 of its 3 pages has no text",
        *PAGES[0].split("\n"),
    ):
        assert word in told
    assert len(told) < 2_500
    output = run.trace.turns[-1].cells[-1].output
    assert "Document 3 {'title': 'A loan'}" in output
    assert "['page 3, line 6: The interest is 4 percent a year, é included'] 3 [1, 3]" in output
    assert "'due on the last day of June' (page 3, line 7)" in output
    (cited,) = [each for each in run.citations if each.quote == "due on the last day of June"]
    assert (cited.source, cited.line, cited.found) == ("page 3", 7, True)


def test_what_needs_a_str_says_what_to_do(paper: Path) -> None:
    _, model = play([py("import re\nre.findall('May', context)"), py("submit(1)")], paper)
    assert "context.finditer(pattern)" in shown(model, 1)


def test_wrong_pages_say_which_there_are(paper: Path) -> None:
    code = "try:\n    context.page({})\nexcept IndexError as error:\n    print(error)"
    _, model = play([py(code.format(0), code.format(4)), py("submit(1)")], paper)
    assert shown(model, 1).count("there are 3, from 1") == 2


def test_what_models_read_is_traced_in_bytes_of_the_text(tmp_path: Path) -> None:
    path = tmp_path / "a.pdf"
    path.write_bytes(
        pdf([f"page {n}: " + "\n".join(f"{n}.{k} a clause of words" for k in range(50)) for n in range(9)])
    )
    sub = ScriptedModel(["read"] * 9)
    code = "llm_query_batched(['Sum up: ' + text for n, text in context.pages()])\nprint(context.page(2)[:90])\nsubmit(1)"
    run, _ = play([py(code)], path, sub=sub)
    assert run.coverage.unit == "bytes"
    assert run.coverage.by_sub_calls is not None
    assert run.coverage.by_sub_calls > 0.95  # all but the headings
    assert run.coverage.unplaced == 0


def test_a_thousand_pages_cost_little_before_the_first_request(tmp_path: Path) -> None:
    path = tmp_path / "long.pdf"
    path.write_bytes(
        pdf([f"This is sheet {n} of many\n" + "some words on it\n" * 40 for n in range(1, 1_001)])
    )
    code = "print(context.page(900).split('\\n')[0], len(context))\nsubmit(grep('sheet 77 '))"
    started = time.monotonic()
    run, model = play([py(code)], path)
    assert time.monotonic() - started < 30  # about 3 s where nothing else runs
    assert run.answer == ["page 77, line 3194: This is sheet 77 of many"]
    told = model.requests[0].messages[-1].text
    for word in ("1,000 pages", "read as far as it is asked for", "The end of its last page"):
        assert word in told
    assert len(told) < 3_000
    assert "This is sheet 900 of many" in run.trace.turns[-1].cells[-1].output
    assert run.coverage.share is not None  # all of it was read, so its size is known


def test_the_size_of_a_long_one_that_was_not_read_is_unknown_and_that_is_said(tmp_path: Path) -> None:
    path = tmp_path / "long.pdf"
    path.write_bytes(pdf(["words\n" * 50] * 600))
    run, _ = play([py("print(context.page(3))\nsubmit(1)")], path)
    assert run.coverage.share is None
    assert "known when they were read to the end" in run.coverage.why


def test_in_folders_and_archives_its_text_is_searched_too(paper: Path) -> None:
    (paper.parent / "a.txt").write_text("no interest here\n")
    (paper.parent / "odd.pdf").write_bytes(b"%PDF-1.7 odd")
    code = (
        "print(context['loan.pdf'].page_count, cite('4 percent').source)\n"
        "try:\n    context['odd.pdf'][:]\nexcept ValueError as error:\n    print(error)\n"
        "submit(grep('interest'))"
    )
    found = [
        "a.txt:1: no interest here",
        "loan.pdf:page 3, line 6: The interest is 4 percent a year, \xe9 included",
    ]
    run, _ = play([py(code)], paper.parent)
    assert run.answer == found
    output = run.trace.turns[-1].cells[-1].output
    assert "3 loan.pdf, page 3" in output
    assert "odd.pdf is no PDF that can be read" in output
    assert {part.name for part in run.coverage.parts} == {"a.txt", "loan.pdf"}  # odd.pdf has no text

    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as made:
        for name in ("a.txt", "loan.pdf", "odd.pdf"):
            made.write(paper.parent / name, name)
    (paper.parent / "all.zip").write_bytes(buffer.getvalue())
    run, _ = play([py(code)], paper.parent / "all.zip")
    assert run.answer == found


def test_children_are_given_all_of_it_or_a_text(paper: Path) -> None:
    child = py("print(1)\nsubmit([type(context).__name__, grep('interest')])")
    root = py(
        "print(1)\nsubmit([rlm_query('q', context), rlm_query('r', context.page(3)), rlm_query('s', context[:40])])"
    )
    run, _ = play([root, child, child, child], paper)
    line = "The interest is 4 percent a year, \xe9 included"
    whole, page, start = run.answer  # type: ignore[misc]
    assert whole == ["Document", [f"page 3, line 6: {line}"]]
    assert page[0] == start[0] == "str"
    assert line in page[1][0]
    assert start[1] == []


def test_direct_reads_it_as_text(paper: Path) -> None:
    model = ScriptedModel(["4 percent"])
    run = RLM(model, runs=False, strategy="direct").run("Which interest?", paper)
    assert run.status == "answered"
    assert "=== page 3 ===\nThe interest is 4 percent" in model.requests[0].messages[-1].text


def test_a_pdf_by_another_name_is_read_and_what_is_called_so_and_is_none_too(tmp_path: Path) -> None:
    (tmp_path / "report").write_bytes(pdf(PAGES))
    (tmp_path / "plain.pdf").write_text("only text\n")
    (tmp_path / "junk.pdf").write_bytes(b"HTTP/1.1 200 OK\r\n\r\n" + pdf(PAGES))
    for name, kind in (("report", "Document"), ("plain.pdf", "LazyText"), ("junk.pdf", "Document")):
        run, _ = play([py("print(1)\nsubmit(type(context).__name__)")], tmp_path / name)
        assert run.answer == kind, name


def test_bad_ones(tmp_path: Path) -> None:
    path = tmp_path / "a.pdf"
    whole = pdf(PAGES)
    for data in (whole[: len(whole) // 2], b"%PDF-1.7", pdf([])):
        assert refused(path, data) == "a.pdf is no PDF that can be read, or has no pages: is the file whole?"
    assert "a.pdf has a password: save it without one (qpdf" in refused(path, pdf(PAGES, trailer=LOCKED))
    assert refused(path, pdf([""] * 12)) == (
        "a.pdf has 12 pages, but no text: it is scanned. Have the text recognized first (ocrmypdf in.pdf out.pdf), "
        "and pass that"
    )
    assert "says that it has 1,000,000 pages, and 50,000 are read" in refused(path, pdf(PAGES, count=10**6))


def test_one_that_takes_too_long_to_look_at_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(looking, "SECONDS", 0.05)
    said = refused(tmp_path / "a.pdf", pdf(["some words\n" * 50] * 490))
    assert said.startswith("a.pdf could not be looked at: ")
    assert said.endswith("Is the file whole, and no trap? If so, pass its text, or a part of it")


def test_pages_that_are_not_there_are_said_to_be_so(tmp_path: Path) -> None:
    path = tmp_path / "a.pdf"
    path.write_bytes(pdf(["one"], count=3))
    run, _ = play([py("print(1)\nsubmit(str(context))")], path)
    assert (
        run.answer
        == "=== page 1 ===\none\n=== page 2 (cannot be read) ===\n=== page 3 (cannot be read) ===\n"
    )


def test_without_the_library_the_error_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pypdfium2", None)
    with pytest.raises(Unreadable, match=r"a PDF needs pypdfium2.*pip install 'unspool\[docs\]'"):
        str(document("a.pdf", Memory(pdf(PAGES), "a.pdf")))


def test_a_read_that_was_interrupted_goes_on_where_it_was() -> None:
    class Stubborn(Spoken):
        told = False

        def pieces(self, start: int) -> Iterator[str]:
            for piece in super().pieces(start):
                yield piece
                if not self.told:
                    self.told = True
                    raise KeyboardInterrupt

    text = Document(Stubborn(["one", "two", "three"]), "a.pdf")
    with pytest.raises(KeyboardInterrupt):
        len(text)
    assert str(text) == "=== page 1 ===\none\n=== page 2 ===\ntwo\n=== page 3 ===\nthree\n"


def test_texts_that_were_given_up_for_others_are_made_anew(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(extracted, "KEPT", 100)
    pages = {name: [f"{name}{number} " * 9 for number in range(9)] for name in "abc"}
    texts = {name: Document(Spoken(each), name) for name, each in pages.items()}
    wanted = {name: str(text) for name, text in texts.items()}
    for number in (7, 2, 9):
        for name, text in texts.items():
            assert text.page(number) == pages[name][number - 1]
            assert text.page_of(text.find(f"{name}{number - 1} ")) == number
    assert {name: str(text) for name, text in texts.items()} == wanted
    small = [extracted.Extracted(Spoken(each), name) for name, each in pages.items()]
    for text in small:
        text.read(0, 10_000)
    assert [text.held > 0 for text in small] == [False, False, True]
    assert len({text.size for text in small}) == 1


def test_what_is_filled_into_a_form_is_text(tmp_path: Path) -> None:
    canvas = pytest.importorskip("reportlab.pdfgen.canvas", reason="reportlab is not installed")
    made = canvas.Canvas(str(tmp_path / "form.pdf"))
    made.drawString(50, 700, "Name:")
    made.acroForm.textfield(name="n", value="Ann Filled", x=150, y=690, width=200, height=20)
    made.bookmarkPage("a")
    made.addOutlineEntry("The first part", "a", 0)
    made.showPage()
    made.save()
    run, model = play([py("print(1)\nsubmit([context.page(1), context.outline()])")], tmp_path / "form.pdf")
    assert run.answer == ["Name:\nAnn Filled", [(1, "The first part", 1)]]
    assert "The first part  (page 1)" in model.requests[0].messages[-1].text


def test_one_with_a_password_for_real(tmp_path: Path) -> None:
    canvas = pytest.importorskip("reportlab.pdfgen.canvas", reason="reportlab is not installed")
    from reportlab.lib import pdfencrypt

    for user, name in (("secret", "shut.pdf"), ("", "open.pdf")):
        lock = pdfencrypt.StandardEncryption(user, ownerPassword="owner", canPrint=0, strength=128)
        made = canvas.Canvas(str(tmp_path / name), encrypt=lock)
        made.drawString(50, 700, "Some text")
        made.save()
    assert "has a password" in refused(tmp_path / "shut.pdf", (tmp_path / "shut.pdf").read_bytes())
    run, _ = play([py("print(1)\nsubmit(context.page(1))")], tmp_path / "open.pdf")
    assert run.answer == "Some text"  # what it forbids is no password
