"""Tables as the small profile sees them: their rows are the lines, with the names of their columns."""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.test_small_files import asked
from unspool import Contexts
from unspool.contexts import describe

pandas = pytest.importorskip("pandas")
NAMES = ["region", "rep", "amount"]
CELLS = [("north", "ann", 10), ("south", "bo", 20), ("south", "cy", 591)]
ROWS = [f"region={region}, rep={rep}, amount={amount}" for region, rep, amount in CELLS]
WAYS = re.compile(r"\.\w+\(|DataFrame it|sqlite3|Reach it|Sheets,")
FRAME = pandas.DataFrame(CELLS, columns=NAMES)


def workbook(folder: Path) -> object:
    pytest.importorskip("openpyxl")
    FRAME.to_excel(folder / "sales.xlsx", index=False)
    return folder / "sales.xlsx"


def parquet(folder: Path) -> object:
    pytest.importorskip("pyarrow")
    FRAME.to_parquet(folder / "sales.parquet")
    return folder / "sales.parquet"


def database(folder: Path) -> object:
    return stored(folder / "sales.db", "sales")


def polars(folder: Path) -> object:
    return pytest.importorskip("polars").DataFrame(CELLS, schema=NAMES, orient="row")


def arrow(folder: Path) -> object:
    return pytest.importorskip("pyarrow").Table.from_pandas(FRAME)


def stored(path: Path, *tables: str) -> Path:
    connection = sqlite3.connect(path)
    for table in (name.replace('"', '""') for name in tables):
        connection.execute(f'CREATE TABLE "{table}" (region, rep, amount)')
        connection.executemany(f'INSERT INTO "{table}" VALUES (?, ?, ?)', CELLS)
    connection.commit()
    connection.close()
    return path


@pytest.mark.parametrize("make", [workbook, parquet, database, polars, arrow, lambda folder: FRAME],
                         ids=["workbook", "parquet", "database", "polars", "arrow", "pandas"])  # fmt: skip
def test_the_rows_of_a_table_are_the_lines(tmp_path: Path, make: Callable[[Path], object]) -> None:
    answer, told = asked(make(tmp_path), "submit([lines, columns, field(find('cy'), 'amount')])")
    assert answer == [ROWS, NAMES, ["591"]]
    assert "fields: 1 region, 2 rep, 3 amount" in told
    assert "The list `lines` has its rows." in told
    assert not WAYS.search(told)


def test_of_several_sheets_each_row_says_its_own_and_an_empty_one_is_none(tmp_path: Path) -> None:
    pytest.importorskip("openpyxl")
    with pandas.ExcelWriter(tmp_path / "year.xlsx") as book:
        pandas.DataFrame().to_excel(book, sheet_name="Notes")
        FRAME.to_excel(book, sheet_name="Q1", index=False)
    answer, told = asked(tmp_path / "year.xlsx", "submit([lines, columns])")
    assert answer == [ROWS, NAMES]
    assert "lines has the rows of the sheet Q1." in told

    with pandas.ExcelWriter(tmp_path / "year.xlsx") as book:
        FRAME.to_excel(book, sheet_name="Q1", index=False)
        FRAME[["rep"]].assign(day=pandas.Timestamp(2024, 5, 1)).to_excel(book, sheet_name="Q2", index=False)
    code = (
        "submit([lines[2:4], columns, field(lines, 'rep')[3:], field(lines[3:4], 'amount'), lines[3].fields])"
    )
    answer, told = asked(tmp_path / "year.xlsx", code)
    q2 = "sheet=Q2, rep=ann, day=2024-05-01"
    fields = ["Q2", "", "ann", "", "2024-05-01"]
    names = ["sheet", *NAMES, "day"]
    assert answer == [[f"sheet=Q1, {ROWS[2]}", q2], names, ["ann", "bo", "cy"], [""], fields]
    assert "lines has the rows of 2 sheets (Q1, Q2): the field sheet says of which." in told


def test_a_title_above_the_head_of_a_sheet_is_no_head(tmp_path: Path) -> None:
    pytest.importorskip("openpyxl")
    rows = [["Report of May", None, None], [None] * 3, NAMES, *CELLS]
    pandas.DataFrame(rows).to_excel(tmp_path / "may.xlsx", index=False, header=False)
    assert asked(tmp_path / "may.xlsx", "submit([lines, columns])")[0] == [ROWS, NAMES]


def test_of_several_tables_each_row_says_its_own(tmp_path: Path) -> None:
    answer, told = asked(
        stored(tmp_path / "two.db", "new", 'o"ld'), "submit([len(lines), lines[3], columns])"
    )
    assert answer == [6, f'table=o"ld, {ROWS[0]}', ["table", *NAMES]]
    assert 'lines has the rows of 2 tables (new, o"ld)' in told
    answer, _ = asked({"may": FRAME, "june": FRAME}, "submit([len(lines), lines[3]])")
    assert answer == [6, f"table=june, {ROWS[0]}"]
    answer, _ = asked(Contexts(may=FRAME, june=FRAME), "submit([len(lines), lines[3]])")
    assert answer == [6, f"table=june, {ROWS[0]}"]


def test_tables_beside_texts_come_after_their_lines(tmp_path: Path) -> None:
    answer, told = asked({"note": "one\ntwo", "sales": FRAME}, "submit([lines, columns])")
    assert answer == [["one", "two", *ROWS], []]
    assert "lines has the lines of the texts, then the rows of the table sales." in told


def test_of_a_folder_what_cannot_be_read_is_told_and_the_rest_is_read(tmp_path: Path) -> None:
    stored(tmp_path / "sales.db", "sales")
    (tmp_path / "note.txt").write_text("one\n")
    (tmp_path / "cut.parquet").write_bytes(b"PAR1 and no more")
    answer, told = asked(tmp_path, "submit(lines)")
    assert answer == ["one", *ROWS]
    assert "cut.parquet is not in lines: " in told


def test_cells_are_told_as_they_are_meant() -> None:
    frame = pandas.DataFrame(
        {
            "whole": [1, None],
            "part": [1.5, 2.0],
            "day": pandas.to_datetime(["2024-05-01", None]),
            "time": pandas.to_datetime(["2024-05-01 00:00", "2024-05-01 10:30"]),
            "text": ["two\nlines", None],
        }
    )
    assert asked(frame, "submit(lines)")[0] == [
        "whole=1, part=1.5, day=2024-05-01, time=2024-05-01 00:00:00, text=two lines",
        "whole=, part=2.0, day=, time=2024-05-01 10:30:00, text=",
    ]
    by_rep = FRAME.groupby("rep")[["amount"]].sum()
    assert asked(by_rep, "submit(lines[:1])")[0] == ["rep=ann, amount=10"]


def test_what_is_left_out_is_told() -> None:
    wide = pandas.DataFrame([[1] * 50], columns=[f"c{n}" for n in range(50)])
    answer, told = asked(wide, "submit([len(columns)])")
    assert answer == [40]
    assert "lines has the first 40 of the 50 columns." in told
    answer, told = asked(pandas.DataFrame({"n": range(200_001)}), "submit([len(lines), lines[-1]])")
    assert answer == [200_000, "n=199999"]
    assert "lines has the first 200,000 lines of these tables." in told
    answer, told = asked(FRAME[:0], "submit([len(lines)])")
    assert answer == [0]
    assert "There are no rows in it." in told


def test_other_profiles_are_told_how_to_reach_a_table() -> None:
    assert "Reach it with pandas" in asked(FRAME, "submit(1)", profile="frontier")[1]
    assert "Reach it with pandas" in describe(FRAME)
