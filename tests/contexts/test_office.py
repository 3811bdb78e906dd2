"""Word documents and presentations by their paths: text with its structure, traps and broken ones refused."""

from __future__ import annotations

import io
import zipfile
from pathlib import Path

import pytest

from tests.engine.helpers import play, py
from unspool.reach import extracted
from unspool.reach.document_kinds import document
from unspool.reach.octets import Memory

from .documents import A, P, R, W, docx, item, package, paragraph, pptx, refused, relations, row, shape, slide

LEVELS = (("decimal", "%1."), ("lowerLetter", "%1.%2)"), ("upperRoman", "%3"))
NUMBERING = f"""<w:numbering {W}>
<w:abstractNum w:abstractNumId="0">{
    "".join(
        f'<w:lvl w:ilvl="{n}"><w:start w:val="1"/><w:numFmt w:val="{form}"/><w:lvlText w:val="{text}"/></w:lvl>'
        for n, (form, text) in enumerate(LEVELS)
    )
}</w:abstractNum>
<w:abstractNum w:abstractNumId="1">
<w:lvl w:ilvl="0"><w:numFmt w:val="bullet"/><w:lvlText w:val="o"/></w:lvl></w:abstractNum>
<w:num w:numId="1"><w:abstractNumId w:val="0"/></w:num><w:num w:numId="2"><w:abstractNumId w:val="1"/></w:num>
<w:num w:numId="3"><w:abstractNumId w:val="0"/>
<w:lvlOverride w:ilvl="0"><w:startOverride w:val="7"/></w:lvlOverride></w:num></w:numbering>"""
STYLES = f"""<w:styles {W}><w:style w:styleId="H2"><w:name w:val="heading 2"/></w:style>
<w:style w:styleId="Mine"><w:name w:val="mine"/><w:basedOn w:val="H2"/>
<w:pPr><w:numPr><w:numId w:val="1"/></w:numPr></w:pPr></w:style>
<w:style w:styleId="Loop"><w:name w:val="loop"/><w:basedOn w:val="Loop"/></w:style></w:styles>"""


def text_of(data: bytes, name: str = "a.docx") -> str:
    return str(document(name, Memory(data, name)))


def test_headings_lists_and_tables() -> None:
    body = (
        paragraph("Terms", '<w:pStyle w:val="H2"/>')
        + paragraph("An outline", '<w:outlineLvl w:val="0"/>')
        + paragraph("Plain", '<w:pStyle w:val="Loop"/>')
        + "".join(
            [item("one", 1), item("in it", 1, 1), item("deep", 1, 2), item("too", 1, 1), item("two", 1)]
        )
        + "".join([item("point", 2), item("anew", 3), item("unknown", 9)])
        + paragraph("Clause", '<w:pStyle w:val="Mine"/>')
        + f"<w:tbl>{row('a', 'b|c')}{row('1')}</w:tbl>"
    )
    assert text_of(docx(body, {"word/numbering.xml": NUMBERING, "word/styles.xml": STYLES})) == (
        "## Terms\n\n# An outline\n\nPlain\n\n"
        "1. one\n  1.a) in it\n    I deep\n  1.b) too\n2. two\n- point\n7. anew\n- unknown\n"
        "\n## 8. Clause\n\n| a | b\\|c |\n|---|---|\n| 1 |  |\n\n"
    )


def test_what_word_shows_is_there_and_what_it_hides_is_not() -> None:
    body = (
        "<w:sdt><w:sdtPr><w:alias/></w:sdtPr><w:sdtContent>"
        + paragraph("in a control")
        + "</w:sdtContent></w:sdt>"
        "<w:p><w:ins><w:r><w:t>put in</w:t></w:r></w:ins><w:del><w:r><w:delText>taken out</w:delText></w:r></w:del>"
        "<w:moveFrom><w:r><w:t>moved</w:t></w:r></w:moveFrom><w:hyperlink r:id='x'><w:r><w:t> a link</w:t></w:r>"
        "</w:hyperlink><w:r><w:instrText>PAGE</w:instrText><w:tab/><w:t>é</w:t><w:br/><w:t>x</w:t>"
        "<w:noBreakHyphen/></w:r></w:p>"
        "<w:p><w:r><w:drawing><wp:docPr xmlns:wp='wp' descr='A  cat'/></w:drawing></w:r>"
        "<mc:AlternateContent xmlns:mc='mc'><mc:Choice><w:txbxContent>"
        + paragraph("boxed")
        + "</w:txbxContent></mc:Choice>"
        "<mc:Fallback><w:txbxContent>"
        + paragraph("boxed")
        + "</w:txbxContent></mc:Fallback></mc:AlternateContent></w:p>"
    )
    assert text_of(docx(body)) == "in a control\n\nput in a link\té\nx-\n\n[image: A cat]\nboxed\n\n"


def test_merged_cells_and_tables_in_cells() -> None:
    wide = "<w:tc><w:tcPr><w:gridSpan w:val='2'/></w:tcPr>" + paragraph("wide") + "</w:tc>"
    inner = f"<w:tc>{paragraph('first')}{paragraph('second')}<w:tbl>{row('in', 'side')}</w:tbl></w:tc>"
    body = f"<w:tbl><w:tr>{wide}</w:tr><w:tr>{inner}<w:tc>{paragraph('x')}</w:tc></w:tr></w:tbl>"
    table = text_of(docx(body)).splitlines()
    assert table[:2] == ["| wide |  |", "|---|---|"]
    assert table[2] == "| first<br>second<br>\\| in \\| side \\|<br>\\|---\\|---\\| | x |"
    huge = body.replace("'2'", "'999999999'")
    assert len(text_of(docx(huge))) < 2_000


def test_notes_comments_and_margins_stand_at_the_end() -> None:
    body = (
        "<w:p><w:r><w:t>Said</w:t><w:footnoteReference w:id='2'/><w:t> and more</w:t><w:endnoteReference w:id='2'/>"
        "<w:commentReference w:id='0'/></w:r></w:p>"
        "<w:p><w:r><w:footnoteReference w:id='2'/></w:r></w:p>"
    )
    parts = {
        "word/footnotes.xml": f"<w:footnotes {W}><w:footnote w:id='2'>{paragraph('below')}</w:footnote></w:footnotes>",
        "word/endnotes.xml": f"<w:endnotes {W}><w:endnote w:id='2'>{paragraph('behind')}</w:endnote></w:endnotes>",
        "word/comments.xml": f"<w:comments {W}><w:comment w:id='0' w:author='Ann'>{paragraph('why?')}</w:comment></w:comments>",
        "word/header1.xml": f"<w:hdr {W}>{paragraph('SECRET')}</w:hdr>",
        "word/header2.xml": f"<w:hdr {W}>{paragraph('SECRET')}</w:hdr>",
        "word/footer1.xml": f"<w:ftr {W}>{paragraph('v2')}</w:ftr>",
    }
    assert text_of(docx(body, parts)) == (
        "Said[^1] and more[^2][comment 1]\n\n[^1]\n\n\n[^1]: below\n[^2]: behind\n\n[comment 1] Ann: why?\n"
        "\n[header] SECRET\n[footer] v2\n"
    )


def test_a_word_document_in_a_run(tmp_path: Path) -> None:
    path = tmp_path / "terms.docx"
    path.write_bytes(docx(
        paragraph("Terms of sale", '<w:outlineLvl w:val="0"/>') + paragraph("Payment is due in thirty days.") * 3,
        {"docProps/core.xml": "<c xmlns:d='d'><d:title>Terms</d:title><d:creator>Ann</d:creator></c>"},
    ))  # fmt: skip
    code = (
        "print(type(context).__name__, grep('due')[:1], grep('^#'), cite('thirty days').line)\n"
        "try:\n    context.page(1)\nexcept TypeError as error:\n    print(error)\nsubmit(context.outline())"
    )
    run, model = play([py(code)], path)
    assert run.answer == [(1, "Terms of sale", 0)]
    output = run.trace.turns[-1].cells[-1].output
    assert "Document ['3: Payment is due in thirty days.'] ['1: # Terms of sale'] 3" in output
    assert "terms.docx has no pages" in output
    told = model.requests[0].messages[-1].text
    for word in ("a Word document", "title: Terms\nauthor: Ann", "All of it", "grep('^#', context)"):
        assert word in told
    assert run.coverage.share == 1  # it is short: the description shows all of it


def test_what_a_document_says_of_itself_does_not_make_its_description_long(tmp_path: Path) -> None:
    path = tmp_path / "long.docx"
    title = f"<c xmlns:d='d'><d:title>{'T' * 100_000}</d:title></c>"
    heading = paragraph("H" * 5_000, '<w:outlineLvl w:val="0"/>')
    path.write_bytes(docx(heading * 300 + paragraph("words " * 100) * 9_000, {"docProps/core.xml": title}))
    run, model = play([py("print(1)\nsubmit([len(context.outline()), len(context)])")], path)
    assert run.answer == [300, 300 * 5_004 + 9_000 * 602]
    assert len(model.requests[0].messages[-1].text) < 3_000


def test_one_that_is_broken_shows_itself() -> None:
    text = document("a.docx", Memory(b"PK odd", "a.docx"))
    assert repr(text).startswith("<Document a.docx is no document that can be read")


def test_a_presentation() -> None:
    picture = "<p:pic><p:nvPicPr><p:cNvPr id='4' name='x' descr='A map'/></p:nvPicPr></p:pic>"
    table = (
        "<p:graphicFrame><a:graphic><a:graphicData><a:tbl>"
        + "".join(
            "<a:tr>"
            + "".join(
                f"<a:tc><a:txBody><a:p><a:r><a:t>{cell}</a:t></a:r></a:p></a:txBody></a:tc>" for cell in cells
            )
            + "</a:tr>"
            for cells in (("year", "sum"), ("2025", "7"))
        )
        + "</a:tbl></a:graphicData></a:graphic></p:graphicFrame>"
    )
    chart = "<p:graphicFrame><a:graphic><a:graphicData><c:chart xmlns:c='c' r:id='c1'/></a:graphicData></a:graphic></p:graphicFrame>"
    series = "".join(
        f"<c:ser><c:tx><c:strRef><c:strCache><c:pt idx='0'><c:v>{name}</c:v></c:pt></c:strCache></c:strRef></c:tx>"
        "<c:cat><c:pt idx='0'><c:v>Q1</c:v></c:pt><c:pt idx='1'><c:v>Q2</c:v></c:pt></c:cat>"
        f"<c:val><c:pt idx='0'><c:v>{value}</c:v></c:pt></c:val></c:ser>"
        for name, value in (("cost", 1), ("gain", 2.5))
    )
    parts = {
        "ppt/slides/_rels/slide1.xml.rels": relations({
            "n": ("notesSlide", "../notesSlides/notesSlide1.xml"), "c1": ("chart", "../charts/chart1.xml"),
        }),
        "ppt/notesSlides/notesSlide1.xml": slide(shape("Speak", "slowly") + shape("1", place="sldNum")),
        "ppt/charts/chart1.xml": f"<c:chartSpace xmlns:c='c'><c:chart>{series}</c:chart></c:chartSpace>",
        "ppt/slides/slide3.xml": slide(shape("unseen"), 'show="0"'),
    }  # fmt: skip
    group = f"<p:grpSp>{shape('in a group')}</p:grpSp>"
    first = shape("Our", "plan", place="ctrTitle") + shape("one", "\ttwo") + group + picture + table + chart
    data = pptx([first + shape("3", place="sldNum"), "", ""], parts)
    assert text_of(data, "talk.pptx") == (
        "=== slide 1: Our plan ===\none\n  two\nin a group\n[image: A map]\n"
        "| year | sum |\n|---|---|\n| 2025 | 7 |\n[chart]\n"
        "|  | cost | gain |\n|---|---|---|\n| Q1 | 1 | 2.5 |\nNotes: Speak\nslowly\n"
        "=== slide 2 (no text) ===\n=== slide 3 (hidden) ===\nunseen\n"
    )


def test_a_presentation_in_a_run(tmp_path: Path) -> None:
    path = tmp_path / "talk.pptx"
    path.write_bytes(
        pptx([shape(f"Part {n}", place="title") + shape(f"the words of part {n}") for n in range(1, 31)])
    )
    code = (
        "print(grep('part 7'), context.page_count, cite('words of part 9').source)\nsubmit(context.page(7))"
    )
    run, model = play([py(code)], path)
    assert run.answer == "the words of part 7"
    assert "['slide 7, line 14: the words of part 7'] 30 slide 9" in run.trace.turns[-1].cells[-1].output
    told = model.requests[0].messages[-1].text
    assert "30 slides" in told
    assert "Part 12  (slide 12)\n… 18 more: context.outline()" in told
    assert len(told) < 2_500


def xml(text: str | bytes) -> bytes:
    return package("word/document.xml", {"word/document.xml": text})


TRAPS = {
    "cut": (docx(paragraph("x"))[:200], "is no document that can be read (File is not a zip file)"),
    "a zip of something else": (
        package("x.xml", {}),
        "is no document that can be read (it is no Office document)",
    ),
    "a workbook": (package("xl/workbook.xml", {"xl/workbook.xml": "<a/>"}), "is a workbook: name it .xlsx"),
    "entities": (
        xml('<!DOCTYPE x [<!ENTITY a "aaaa"><!ENTITY b "&a;&a;">]><d><body><p><t>&b;</t></p></body></d>'),
        "has XML with a document type (x), which Office never writes: it is a trap",
    ),
    "nested": (xml("<d><body>" + "<p>" * 50_000 + "</p>" * 50_000 + "</body></d>"), "nested too deep"),
    "no XML": (xml(b"\0\xff"), "is no document that can be read (syntax error"),
    "bad XML": (xml("<a><b></a>"), "is no document that can be read (mismatched tag"),
    "no text": (docx("<w:p/>"), "has no text in it: there is nothing to ask about"),
    "huge": (
        xml(bytes(140 << 20)),
        "is too large to be read as a document (146.8 MB unpacked, at most 134.2 MB)",
    ),
    "a password": (
        b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + bytes(600),
        "has a password, or is an old .doc or .ppt: save it",
    ),
}


@pytest.mark.parametrize("trap", TRAPS)
def test_traps_and_broken_ones_are_one_clear_error(tmp_path: Path, trap: str) -> None:
    data, why = TRAPS[trap]
    said = refused(tmp_path / "a.docx", data)
    assert said.startswith("a.docx ")
    assert why in said


def test_a_slide_that_is_there_a_thousand_times_is_no_way_to_fill_memory(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(extracted, "MOST_TEXT", 10**7)
    big = slide(shape("z" * 100_000))
    ids = "".join(f'<p:sldId id="{n}" r:id="s{n}"/>' for n in range(1_000))
    main = f"<p:presentation {P} {A} {R}><p:sldIdLst>{ids}</p:sldIdLst></p:presentation>"
    parts = {
        "ppt/presentation.xml": main,
        "ppt/_rels/presentation.xml.rels": relations(
            {f"s{n}": ("slide", "slides/slide1.xml") for n in range(1_000)}
        ),
        "ppt/slides/slide1.xml": big,
    }
    with pytest.raises(ValueError, match=r"has more than 10\.0 MB of text"):
        len(document("a.pptx", Memory(package("ppt/presentation.xml", parts), "a.pptx")))


def test_a_part_with_a_wrong_checksum(tmp_path: Path) -> None:
    data = docx(paragraph("some words " * 50))
    with zipfile.ZipFile(io.BytesIO(data)) as whole:
        at = whole.getinfo("word/document.xml").header_offset + 30 + len("word/document.xml") + 10
    said = refused(tmp_path / "a.docx", data[:at] + bytes([data[at] ^ 0xFF]) + data[at + 1 :])
    assert said.startswith("a.docx is no document that can be read (")


def test_what_python_docx_writes(tmp_path: Path) -> None:
    library = pytest.importorskip("docx", reason="python-docx is not installed")
    made = library.Document()
    made.add_heading("Title", 0)
    made.add_heading("First", 1)
    made.add_paragraph("Some text")
    made.add_paragraph("point", style="List Bullet")
    for text in ("one", "two"):
        made.add_paragraph(text, style="List Number")
    table = made.add_table(2, 2)
    table.cell(0, 0).merge(table.cell(0, 1)).text = "both"
    table.cell(1, 1).text = "y\nz"
    made.sections[0].header.paragraphs[0].text = "HEAD"
    made.core_properties.title = "T"
    made.save(str(tmp_path / "a.docx"))
    text = document("a.docx", Memory((tmp_path / "a.docx").read_bytes(), "a.docx"))
    assert str(text) == (
        "# Title\n\n# First\n\nSome text\n\n- point\n1. one\n2. two\n\n| both |  |\n|---|---|\n|  | y<br>z |\n\n"
        "\n[header] HEAD\n"
    )
    assert text.info["title"] == "T"
