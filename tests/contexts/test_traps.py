"""Files that are made to take memory or time: each is read as far as what is in it goes, or refused by name, once."""

from __future__ import annotations

import io
import tarfile
import zipfile
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from unspool import RLM
from unspool.reach import extent, sheets, slides
from unspool.reach.archives import members
from unspool.reach.document_kinds import document
from unspool.reach.documents import Document
from unspool.reach.octets import Memory
from unspool.reach.sniff import Unreadable
from unspool.testing import ScriptedModel

from .documents import RELATIONS, P, R, docx, package, paragraph, pptx, refused, relations, row, shape, slide

# Workbooks


class Counted:
    """Bytes of a file, and how many of them were asked for."""

    def __init__(self, data: bytes, name: str) -> None:
        self._inner, self.name, self.asked = Memory(data, name), name, 0

    @property
    def size(self) -> int | None:
        return self._inner.size

    def read(self, at: int, size: int) -> bytes:
        self.asked += size
        return self._inner.read(at, size)


MAIN = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
SHEET_ML = "application/vnd.openxmlformats-officedocument.spreadsheetml"
PART = "xl/worksheets/sheet1.xml"


def book(rows: str, *, part: str = PART) -> bytes:
    """A workbook of one sheet, "Far", with this XML for its rows."""
    kinds = {"xl/workbook.xml": "sheet.main", part: "worksheet"}
    types = "".join(
        f'<Override PartName="/{name}" ContentType="{SHEET_ML}.{kind}+xml"/>' for name, kind in kinds.items()
    )
    sheet = '<sheets><sheet name="Far" sheetId="1" r:id="s"/></sheets>'
    return package("xl/workbook.xml", {
        "[Content_Types].xml": f'<Types xmlns="{RELATIONS.replace("relationships", "content-types")}">{types}</Types>',
        "xl/workbook.xml": f'<workbook xmlns="{MAIN}" {R}>{sheet}</workbook>',
        "xl/_rels/workbook.xml.rels": relations({"s": ("worksheet", part.removeprefix("xl/"))}),
        part: f'<worksheet xmlns="{MAIN}"><sheetData>{rows}</sheetData></worksheet>',
    })  # fmt: skip


def cells(*places: str) -> str:
    return "".join(
        f'<row r="{place.lstrip("ABCDEFGHIJKLMNOPQRSTUVWXYZ")}"><c r="{place}"><v>1</v></c></row>'
        for place in places
    )


def opened(data: bytes) -> sheets.Sheets:
    return sheets.Sheets("t.xlsx", Memory(data, "t.xlsx"))


FAR = {
    "far corner": (
        cells("A1", "XFD1048576"),
        "1,048,576 rows × 16,384 columns, at most 20,000,000 cells, of which 2",
    ),
    "wide and long": (cells("XFD1", "A1048576"), "1,048,576 rows × 16,384 columns"),
    "far row": (cells("A1", "B1099511627776"), "in row 109,951,162, column"),
    "far column": (cells("A1", "ZZZZ2"), "in row 2, column 475,254, where no sheet has one"),
    "row with another number": ('<row r="1e9"><c r="A1"><v>1</v></c></row>', "where no sheet has one"),
    "row without cells": ('<row r="99999999999999999999"/>', "where no sheet has one"),
}


@pytest.mark.parametrize("what", FAR)
def test_cells_far_away_are_refused_by_file_sheet_and_size(what: str) -> None:
    pytest.importorskip("pandas")
    pytest.importorskip("openpyxl")
    rows, why = FAR[what]
    found = opened(book(rows))
    for _ in range(2):
        with pytest.raises(Unreadable) as error:
            found.table("Far")
        assert str(error.value).startswith("t.xlsx, sheet 'Far', ")
        assert why in str(error.value)
    with pytest.raises(Unreadable, match="sheet 'Far'"):
        found.table("Far", nrows=10_000_000)


def test_what_is_near_is_read_of_a_sheet_with_cells_far_away() -> None:
    pytest.importorskip("pandas")
    pytest.importorskip("openpyxl")
    found = opened(book(cells("A1", "A2", "B3", "XFD1048576")))
    assert found.table("Far", nrows=3, header=None).shape == (3, 2)
    assert opened(book(cells("A1", "B30000"))).table().shape == (29_999, 2)
    # Cells without values, as a sheet that was formatted to its end has them, take no place.
    styled = cells("A1", "B2") + '<row r="1048576"><c r="XFD1048576" s="1"/></row>'
    assert opened(book(styled)).table().shape == (1, 2)


def test_a_sheet_with_cells_far_away_in_a_run(tmp_path: Path) -> None:
    pytest.importorskip("pandas")
    pytest.importorskip("openpyxl")
    (tmp_path / "t.xlsx").write_bytes(book(cells("A1", "A2", "XFD1048576")))
    code = "try:\n    context['Far']\nexcept ValueError as error:\n    print(error)\nsubmit(context.table(nrows=9, header=None)[0].tolist())"
    run = RLM(ScriptedModel([f"```python\n{code}\n```"]), runs=False).run("?", tmp_path / "t.xlsx")
    assert run.answer == [1, 1]
    assert "t.xlsx, sheet 'Far', is too large for a table" in run.trace.turns[-1].cells[-1].output


EXTENTS = {
    "": (0, 0, 0),
    cells("C3"): (3, 3, 1),
    "<row><c><v>1</v></c><c><v>1</v></c></row><row><c/><c t='inlineStr'><is><t>a</t></is></c></row>": (
        2,
        2,
        3,
    ),
    "<row r='5'><c r='B5'><f>1+1</f></c><c><v/></c></row>": (5, 3, 1),
    "<row r='2e3'><c><v>1</v></c></row><row><c><v>1</v></c></row>": (2_001, 1, 2),
    "<row r='x'><c r='AA1'><v>1</v></c></row>": (1, 27, 1),
}


@pytest.mark.parametrize("rows", EXTENTS)
def test_how_far_the_values_of_a_sheet_reach(rows: str) -> None:
    from unspool.reach.office import Package

    data = book(rows)
    found = extent.extent(Package("t.xlsx", Memory(data)), PART, "Far")
    assert (found.rows, found.columns, found.values) == EXTENTS[rows]


NO_BOOKS: Mapping[str, tuple[bytes, str]] = {
    "a zip of something else": (
        package("a.txt", {}),
        "is no workbook that can be read (it is no Office document)",
    ),
    "a zip of nothing": (b"PK\x05\x06" + bytes(18), "is no workbook that can be read"),
    "types alone": (
        package("a.txt", {"[Content_Types].xml": "<Types/>"}),
        "is no workbook that can be read (it is no Office document)",
    ),
    "a workbook that is none": (
        package("xl/workbook.xml", {"xl/workbook.xml": "<a/>"}),
        "(it has no sheets)",
    ),
    "no types": (
        book(cells("A1")).replace(b"[Content_Types]", b"[Content_Tapes]"),
        "is no workbook that can be read",
    ),
    "a Word document": (docx(paragraph("x")), "is a Word document: name it .docx"),
    "a presentation": (pptx([shape("x")]), "is a presentation: name it .pptx"),
    "a document type": (
        package("xl/workbook.xml", {"xl/workbook.xml": '<!DOCTYPE x [<!ENTITY a "a">]><workbook/>'}),
        "has XML with a document type (x), which Office never writes",
    ),
}


@pytest.mark.parametrize("what", NO_BOOKS)
def test_what_is_no_workbook_is_named(tmp_path: Path, what: str) -> None:
    pytest.importorskip("openpyxl")
    data, why = NO_BOOKS[what]
    said = refused(tmp_path / "t.xlsx", data)
    assert said.startswith("t.xlsx ")
    assert why in said


def test_a_part_that_is_called_something_else_has_the_same_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("openpyxl")
    monkeypatch.setattr(sheets, "MOST_UNPACKED", 10_000)
    found = opened(book(cells("A1") + " " * 20_000, part="xl/worksheets/sheet1.dat"))
    with pytest.raises(Unreadable, match=r"t\.xlsx is too large to be read as a workbook"):
        found.table()


BAD_ROWS = {
    "no number": "<row r='1'><c r='A1' t='n'><v>abc</v></c></row>",
    "no string of that number": "<row r='1'><c r='A1' t='s'><v>7</v></c></row>",
    "cut": "<row r='1'><c r='A1'>",
    "far away": cells("A1", "XFD1048576"),
}


@pytest.mark.parametrize("what", BAD_ROWS)
def test_what_is_wrong_with_a_sheet_names_the_file_and_is_not_tried_again(what: str) -> None:
    pytest.importorskip("pandas")
    pytest.importorskip("openpyxl")
    octets = Counted(book(BAD_ROWS[what]), "t.xlsx")
    found = sheets.Sheets("t.xlsx", octets)
    said = []
    for _ in range(2):
        octets.asked = 0
        with pytest.raises(Unreadable) as error:
            found.table()
        said.append(str(error.value))
    assert said[0] == said[1]
    assert said[0].startswith("t.xlsx")
    assert octets.asked == 0


def test_a_table_that_does_not_fit_into_memory_says_so(tmp_path: Path) -> None:
    pytest.importorskip("pandas")
    pytest.importorskip("openpyxl")
    (tmp_path / "t.xlsx").write_bytes(book(cells("A1", "J1048576")))
    code = "try:\n    context['Far']\nexcept ValueError as error:\n    print(error)\nsubmit(1)"
    model = ScriptedModel([f"```python\n{code}\n```"])
    run = RLM(model, runs=False, sandbox="process", cell_memory=100 << 20).run("?", tmp_path / "t.xlsx")
    assert "sheet 'Far', does not fit into the memory limit" in run.trace.turns[-1].cells[-1].output, (
        run.trace
    )


def test_a_workbook_that_cannot_be_opened_for_want_of_memory_says_so() -> None:
    """Another time there may be more."""
    pytest.importorskip("pandas")
    pytest.importorskip("openpyxl")

    class Short(Counted):
        short = True

        def read(self, at: int, size: int) -> bytes:
            if self.short:
                raise MemoryError
            return super().read(at, size)

    octets = Short(book(cells("A1", "A2")), "t.xlsx")
    found = sheets.Sheets("t.xlsx", octets)
    with pytest.raises(Unreadable, match=r"t\.xlsx does not fit into the memory limit"):
        found.table()
    octets.short = False
    assert found.table().shape == (1, 1)


# Documents


def wide(series: int) -> str:
    """A chart in which every series has one number, each in a row of its own."""
    one = "<c:ser><c:cat><c:pt idx='0'><c:v>c{0}</c:v></c:pt></c:cat><c:val><c:pt idx='0'><c:v>{0}</c:v></c:pt></c:val></c:ser>"
    return f"<c:chartSpace xmlns:c='c'><c:chart>{''.join(map(one.format, range(series)))}</c:chart></c:chartSpace>"


CHART = "<p:graphicFrame><a:graphic><a:graphicData><c:chart xmlns:c='c' r:id='c1'/></a:graphicData></a:graphic></p:graphicFrame>"
DOCTYPE = '<!DOCTYPE x [<!ENTITY a "aaaa">]>'
NESTED = "<a:p>" * 200 + f"<a:r><a:t>{'z' * 100_000}</a:t></a:r>" + "</a:p>" * 200
TRAPS: Mapping[str, tuple[str, bytes, str]] = {
    "a deck with a document type": (
        "a.pptx", package("ppt/presentation.xml", {"ppt/presentation.xml": f"{DOCTYPE}<presentation/>"}),
        "which Office never writes: it is a trap",
    ),
    "a slide with a document type": ("a.pptx", pptx([""], {"ppt/slides/slide1.xml": f"{DOCTYPE}<p:sld {P}/>"}), "which Office never writes: it is a trap"),
    "paragraphs in paragraphs": ("a.pptx", pptx([f"<p:sp><p:txBody>{NESTED}</p:txBody></p:sp>"]), "on slide 1: it is a trap"),
    "notes in notes": (
        "a.pptx",
        pptx([shape("fine")], {
            "ppt/slides/_rels/slide1.xml.rels": relations({"n": ("notesSlide", "../notesSlides/n.xml")}),
            "ppt/notesSlides/n.xml": slide(f"<p:sp><p:txBody>{NESTED}</p:txBody></p:sp>"),
        }),
        "on slide 1: it is a trap",
    ),
    "a slide that is broken": ("a.pptx", pptx(["<p:sp></p:pic>"]), "is no document that can be read"),
    "a deck without slides": ("a.pptx", package("ppt/x.xml", {"ppt/x.xml": "<presentation2/>"}), "there are no slides"),
    "a document with a document type": (
        "a.docx", package("word/d.xml", {"word/d.xml": f"{DOCTYPE}<d/>"}), "it is a trap"
    ),
    "a document that is nested": ("a.docx", docx("<w:p>" * 300 + "</w:p>" * 300), "nested too deep"),
    "a zip of something else": ("a.docx", package("x.xml", {}), "it is no Office document"),
    "no zip": ("a.docx", b"PK\x03\x04rest", "is no document that can be read"),
}  # fmt: skip


ASK: Mapping[str, Callable[[Document], object]] = {
    "text": str,
    "grep": lambda text: text.grep("z"),
    "page": lambda text: text.page(1),
    "last page": Document.last_page,
    "outline": Document.outline,
    "info": lambda text: text.info,
}


def told(ask: Callable[[Document], object], text: Document) -> str:
    """Why a document does not answer; "" where it does."""
    try:
        ask(text)
    except (Unreadable, TypeError) as error:  # a .docx has no pages
        return str(error)
    return ""


@pytest.mark.parametrize("trap", TRAPS)
def test_a_trap_is_refused_once_and_not_read_again(trap: str) -> None:
    name, data, wanted = TRAPS[trap]
    octets = Counted(data, name)
    text = document(name, octets)
    said = {how: told(ask, text) for how, ask in ASK.items()}
    octets.asked = 0
    for how, why in said.items():
        if why:
            assert told(ASK[how], text) == why
    assert octets.asked == 0
    assert wanted in said["text"]
    assert said["text"].startswith(f"{name} ")


def test_a_chart_of_many_series_takes_memory_for_its_numbers_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(slides, "MOST_NUMBERS", 10_000)
    relation = {"ppt/slides/_rels/slide1.xml.rels": relations({"c1": ("chart", "../charts/c.xml")})}
    told = str(document("a.pptx", Memory(pptx([CHART], {**relation, "ppt/charts/c.xml": wide(300)}))))
    assert told == "=== slide 1 ===\n[chart]\n(its 300 rows of 300 numbers are too many to be shown)\n"
    told = str(document("a.pptx", Memory(pptx([CHART], {**relation, "ppt/charts/c.xml": wide(2)}))))
    assert told.endswith("| c0 | 0 |  |\n| c1 |  | 1 |\n")


def test_a_row_of_many_cells_makes_no_others_long() -> None:
    """Neither row by row nor, in a note or a slide, at once."""
    wide_row, short = row(*"x" * 2_000), row("y")
    text = str(document("a.docx", Memory(docx(f"<w:tbl>{wide_row}{short * 2_000}</w:tbl>"))))
    assert len(text) < 60_000
    many = f"<a:tr>{'<a:tc/>' * 2_000}</a:tr>{'<a:tr><a:tc/></a:tr>' * 2_000}"
    table = f"<p:graphicFrame><a:graphic><a:graphicData><a:tbl>{many}</a:tbl></a:graphicData></a:graphic></p:graphicFrame>"
    assert len(str(document("a.pptx", Memory(pptx([table]))))) < 60_000


def test_many_notes_are_numbered_in_their_order() -> None:
    body = "".join(f"<w:p><w:r><w:footnoteReference w:id='{n % 7}'/></w:r></w:p>" for n in range(21))
    text = str(document("a.docx", Memory(docx(body))))
    assert text.split() == [f"[^{n % 7 + 1}]" for n in range(21)]


# Archives


def tar(kind: bytes, size: int, rest: bytes = b"") -> bytes:
    info = tarfile.TarInfo("././@LongLink")
    info.type, info.size = kind, size
    return info.tobuf(tarfile.GNU_FORMAT) + rest + bytes(1024)


@pytest.mark.parametrize(
    "kind", [tarfile.GNUTYPE_LONGNAME, tarfile.GNUTYPE_LONGLINK, tarfile.XHDTYPE, tarfile.XGLTYPE]
)
def test_a_tar_with_a_name_of_gigabytes_is_refused_by_its_own_name(tmp_path: Path, kind: bytes) -> None:
    data = tar(kind, 1 << 33, b"x" * 512)
    assert refused(tmp_path / "a.tar", data).startswith(
        "a.tar is no archive that can be read (a header of 8.6 GB)"
    )


def test_long_names_are_read() -> None:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w", format=tarfile.PAX_FORMAT) as made:
        for name in ("a" * 5_000, "b"):
            info = tarfile.TarInfo(name)
            info.size = 2
            made.addfile(info, io.BytesIO(b"hi"))
    assert [len(name) for name in members(Memory(buffer.getvalue(), "a.tar"))] == [5_000, 1]


@pytest.mark.parametrize("at", [20, 24])
def test_a_zip_that_lies_about_sizes_is_read_as_far_as_it_goes(at: int) -> None:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as made:
        made.writestr("a.txt", "hello\n" * 100)
    data = bytearray(buffer.getvalue())
    place = data.index(b"PK\x01\x02") + at
    data[place : place + 4] = b"\xf0\xff\xff\xff"
    member = members(Memory(bytes(data), "a.zip"))["a.txt"]
    assert member.read(0, 600) == b"hello\n" * 100
