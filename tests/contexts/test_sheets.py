"""A workbook: its sheets are DataFrames in the sandbox; a bad one is an error that says what to do."""

from __future__ import annotations

import io
import zipfile
from pathlib import Path

import pytest

from unspool import RLM, ContextError, Run
from unspool.reach import sheets
from unspool.reach.octets import Memory
from unspool.reach.sniff import Unreadable
from unspool.testing import ScriptedModel

openpyxl = pytest.importorskip("openpyxl", reason="openpyxl is not installed: pip install openpyxl")


@pytest.fixture
def book(tmp_path: Path) -> Path:
    import datetime

    import openpyxl.chart

    made = openpyxl.Workbook()
    sales = made.active
    sales.title = "Sales 2026"
    for row in (["name", "n", "day"], ["Bö", 1, datetime.datetime(2026, 1, 2)], ["cy", None, None]):
        sales.append(row)
    notes = made.create_sheet("Notes")
    notes.append(["a heading above the table"])
    notes.append(["k", "v"])
    notes.append(["x", 2.5])
    made.create_sheet("Empty")
    chart = openpyxl.chart.PieChart()
    chart.add_data(openpyxl.chart.Reference(notes, min_col=2, min_row=3, max_row=3))
    made.create_chartsheet("Picture").add_chart(chart)  # has no cells, and is passed over
    made.save(tmp_path / "t.xlsx")
    return tmp_path / "t.xlsx"


def asked(context: object, code: str) -> tuple[Run, ScriptedModel]:
    model = ScriptedModel([f"```python\n{code}\n```"])
    run = RLM(model, runs=False).run("?", context)
    assert run.status == "answered", (run.reason, run.trace.turns)
    return run, model


def test_each_sheet_is_a_table(book: Path) -> None:
    code = (
        "t = context['Sales 2026']\nprint(t)\n"
        "v = context.table('Notes', skiprows=1)['v'].tolist()\n"
        "submit([list(context), t['name'].tolist(), str(t['day'].iloc[0]), int(t['n'].isna().sum()), v, "
        "context['Empty'].shape, context.table().equals(t)])"
    )
    run, model = asked(book, code)
    names = ["Sales 2026", "Notes", "Empty"]
    assert run.answer == [names, ["Bö", "cy"], "2026-01-02 00:00:00", 1, [2.5], (0, 0), True]
    told = model.requests[0].messages[-1].text
    assert "'Sales 2026': 3 rows × 3 columns, the heading included" in told
    assert "Bö" in told
    assert "Notes" in told


def test_in_a_folder_and_by_a_wrong_name_of_a_sheet(book: Path) -> None:
    code = (
        "try:\n    context['t.xlsx']['sales']\nexcept KeyError as error:\n    print(error)\n    said = str(error)\n"
        "submit([said, len(context['t.xlsx']['Notes'])])"
    )
    run, _ = asked(book.parent, code)
    assert isinstance(run.answer, list)
    assert "there are 'Sales 2026', 'Notes', 'Empty'" in str(run.answer[0])
    assert run.answer[1] == 2


def test_what_is_read_of_sheets_is_not_traced_and_that_is_said(book: Path) -> None:
    run, _ = asked(book, "print(context['Notes'])\nsubmit(1)")
    assert run.coverage.share is None
    assert "not traced" in run.coverage.why


def refused(path: Path) -> str:
    model = ScriptedModel([])
    with pytest.raises(ContextError) as error:
        RLM(model, runs=False).run("?", path)
    assert not model.requests
    return str(error.value)


def test_a_broken_one(book: Path) -> None:
    data = book.read_bytes()
    book.write_bytes(data[: len(data) // 2])
    assert "t.xlsx is no workbook that can be read" in refused(book)
    with zipfile.ZipFile(book, "w") as made:
        made.writestr("hello.txt", "hello")
    assert "t.xlsx is no workbook that can be read" in refused(book)
    with zipfile.ZipFile(io.BytesIO(data)) as whole, zipfile.ZipFile(book, "w") as made:
        for name in whole.namelist():
            made.writestr(name, whole.read(name)[: 50 if "sheet1" in name else None])
    assert "t.xlsx is no workbook that can be read" in refused(book)


def test_one_with_a_password_and_an_old_one(tmp_path: Path) -> None:
    compound = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + bytes(600)
    (tmp_path / "t.xlsx").write_bytes(compound)
    assert refused(tmp_path / "t.xlsx") == (
        "t.xlsx has a password, or is an old .xls: save it as .xlsx without a password"
    )
    (tmp_path / "t.xls").write_bytes(compound)
    assert refused(tmp_path / "t.xls") == "t.xls is an old spreadsheet: save it as .xlsx or .csv"


def test_a_huge_one_is_refused_before_it_is_unpacked(book: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sheets, "MOST_UNPACKED", 1_000)
    with pytest.raises(Unreadable, match=r"too large to be read as a workbook \(.* at most 1\.0 kB\): save"):
        list(sheets.Sheets("t.xlsx", Memory(book.read_bytes(), "t.xlsx")))


def test_a_trap_that_unpacks_to_gigabytes(tmp_path: Path) -> None:
    with (
        zipfile.ZipFile(tmp_path / "t.xlsx", "w", zipfile.ZIP_DEFLATED, compresslevel=1) as made,
        made.open("xl/worksheets/sheet1.xml", "w", force_zip64=True) as sheet,
    ):
        for _ in range(300):
            sheet.write(bytes(1 << 20))
    assert "too large to be read as a workbook (314.6 MB unpacked" in refused(tmp_path / "t.xlsx")
