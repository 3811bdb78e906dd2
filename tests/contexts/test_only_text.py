"""A file that is called what it is not is read as what it is, and that is said."""

from __future__ import annotations

import sqlite3
from pathlib import Path

import pytest

from unspool import RLM, Run
from unspool.testing import ScriptedModel

from ..engine.helpers import py


def asked(context: object) -> Run:
    return RLM(ScriptedModel([py("print(str(context)[:9])\nsubmit(1)")]), runs=False).run("?", context)


@pytest.mark.parametrize(
    ("name", "called"),
    [
        ("a.xlsx", "a workbook"),
        ("a.sqlite", "an SQLite database"),
        ("a.db", "an SQLite database"),
        ("a.parquet", "a Parquet table"),
        ("a.docx", "a document"),
        ("a.pdf", "a document"),
        ("a.otlp.jsonl", "a file of traces"),
        ("a.zip", "an archive"),
    ],
)
def test_text_that_is_called_otherwise_is_noted(tmp_path: Path, name: str, called: str) -> None:
    (tmp_path / name).write_text("name,age\nann,3\n")
    said = f"{name} is read as plain text: it does not begin as {called} does, so it may be broken"
    run = asked(tmp_path / name)
    assert (run.answer, run.notes) == (1, (said,))


def test_so_is_one_of_several(tmp_path: Path) -> None:
    for name in ("a.xlsx", "b.txt"):
        (tmp_path / name).write_text("plain")
    run = asked({"one": tmp_path / "a.xlsx", "two": tmp_path / "b.txt"})
    assert [note.partition(":")[0] for note in run.notes] == ["a.xlsx is read as plain text"]


def test_nothing_is_said_of_what_is_as_it_is_called(tmp_path: Path) -> None:
    with sqlite3.connect(tmp_path / "a.db") as database:
        database.execute("create table t (x)")
    database.close()
    (tmp_path / "a.csv").write_text("name,age\n")
    (tmp_path / "table").write_text("name,age\n")
    for name in ("a.db", "a.csv", "table"):
        assert asked(tmp_path / name).notes == ()
    assert asked(tmp_path).notes == ()
