"""Files and folders that may not be opened, among others: named to the model, in the run, in errors. Root may open
all, so each case runs in a process that has given up these powers."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
WITHOUT_POWERS = """
import ctypes, os, sys
if os.geteuid() == 0:
    for power in (1, 2):  # CAP_DAC_OVERRIDE, CAP_DAC_READ_SEARCH
        ctypes.CDLL(None).prctl(24, power, 0, 0, 0)  # PR_CAPBSET_DROP: gone with the exec
os.execv(sys.executable, [sys.executable, "-c", *sys.argv[1:]])
"""
START = """
import json, sys
from pathlib import Path
from unspool.contexts.sources import source_of
from unspool.errors import ContextError
from tests.engine.helpers import play, py, shown
folder = Path(sys.argv[1])
try:
    open(folder / "no.txt").close()
except PermissionError:
    pass
else:
    print("null")
    sys.exit()
def seen(context, *cells):
    run, model = play([*map(py, cells), py("submit(1)")], context)
    told = [shown(model, number + 1) for number in range(len(cells))]
    return {"notes": run.notes, "told": told, "first": model.requests[0].messages[-1].text}
def refused(path):
    try:
        source_of(path)
    except ContextError as error:
        return str(error)
"""


def closed(folder: Path, code: str) -> object:
    """What the code prints as JSON, ``folder`` being its, where it may not open what is closed."""
    done = subprocess.run(
        [sys.executable, "-c", WITHOUT_POWERS, START + code, str(folder)],
        cwd=ROOT, capture_output=True, text=True, timeout=120,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    said: object = json.loads(done.stdout)
    if said is None:
        pytest.skip("here a process may open every file, and cannot give that up")
    return said


@pytest.fixture
def mixed(tmp_path: Path) -> Iterator[Path]:
    folder = tmp_path / "mixed"
    (folder / "locked").mkdir(parents=True)
    (folder / "ok.txt").write_text("hi\n")
    (folder / "no.txt").write_text("hi there\n")
    (folder / "locked" / "in.txt").write_text("hi\n")
    (folder / "no.txt").chmod(0)
    (folder / "locked").chmod(0)
    yield folder
    (folder / "locked").chmod(0o700)


BOTH = "2 of its 3 files cannot be read: locked/ (Permission denied), no.txt (Permission denied)"
FILE = "1 of its 2 files cannot be read: no.txt (Permission denied)"
FOLDER = "1 of its 2 files cannot be read: locked/ (Permission denied)"


@pytest.mark.parametrize(
    ("glob", "told"),
    [("", BOTH), ("/*", FILE), ("/**", BOTH), ("/**/*.txt", BOTH), ("/[!n]*", ""), ("/**/ok.*", FOLDER)],
    ids=["folder", "one-level", "all-below", "texts-below", "none-matched", "one-below"],
)
def test_what_may_not_be_opened_is_named(mixed: Path, glob: str, told: str) -> None:
    code = f"print(json.dumps(seen(Path(f'{{folder}}{glob}'), 'print(context.grep(\"hi\"))', 'print(2)')))"
    said = closed(mixed, code)
    assert isinstance(said, dict)
    assert [note.partition(f"mixed{glob}: ")[2] for note in said["notes"]] == [told] * bool(told)
    assert "ok.txt:1: hi" in said["told"][0]
    assert all(note in said["told"][0] for note in said["notes"])
    assert "passed over in" not in said["told"][1]  # once
    assert ("without permission (" in said["first"]) is bool(told)


def test_it_is_in_the_run_without_a_search_and_with_a_listing_in_the_cell(mixed: Path) -> None:
    code = "print(json.dumps([seen({'a': folder}, 'print(1)'), seen(folder, 'print(context.tree())')]))"
    said = closed(mixed, code)
    assert isinstance(said, list)
    for each in said:
        (note,) = each["notes"]
        assert note.startswith("passed over in ")
        assert note.endswith(f"mixed: {BOTH}")
    assert "passed over" not in said[0]["told"][0]
    assert f"mixed: {BOTH}" in said[1]["told"][0]


def test_with_other_bad_files_there_is_one_note_that_counts_all(mixed: Path) -> None:
    (mixed / "cut.docx").write_bytes(b"PK\3\4cut")
    code = "print(json.dumps(seen(folder, 'print(context.tree())', 'print(grep(\"hi\"))')))"
    said = closed(mixed, code)
    assert isinstance(said, dict)
    (note,) = said["notes"]
    assert "3 of its 4 files cannot be read: " in note
    assert "cut.docx (" in note
    assert note in said["told"][1]


def test_to_read_one_says_why(mixed: Path) -> None:
    said = closed(mixed, "print(json.dumps(seen(folder, 'context[\"no.txt\"]')))")
    assert isinstance(said, dict)
    assert "no.txt cannot be read: Permission denied. Check its permissions." in said["told"][0]


def test_of_thousands_a_few_are_named_and_all_counted(mixed: Path) -> None:
    for number in range(2_000):
        (mixed / f"x{number:04}.txt").touch(mode=0)
    said = closed(mixed, "print(json.dumps(seen(folder, 'print(grep(\"hi\"))')))")
    assert isinstance(said, dict)
    (note,) = said["notes"]
    assert "2,002 of its 2,003 files cannot be read: locked/ (Permission denied), no.txt" in note
    assert note.endswith("x0005.txt (Permission denied), and 1,994 more")
    assert len(note) < 600
    assert "2,002 without permission (locked/, no.txt, x0000.txt, …)" in said["first"]


def test_in_a_checkout(mixed: Path) -> None:
    subprocess.run(["git", "init", "-q", str(mixed)], check=True, capture_output=True)
    (mixed / "sub" / "shut").mkdir(parents=True)
    (mixed / "sub" / "a.txt").write_text("a\n")
    (mixed / "sub" / "shut").chmod(0)
    said = closed(mixed, "print(json.dumps([source_of(folder).closed, source_of(folder / 'sub').closed]))")
    (mixed / "sub" / "shut").chmod(0o700)
    why = "Permission denied"
    shut = ["locked/", "no.txt", "sub/shut/"]
    assert said == [[3, [[path, why] for path in shut]], [1, [["shut/", why]]]]


def test_nothing_but_what_may_not_be_opened_is_refused(mixed: Path) -> None:
    names = ["locked", "locked/*", "locked/sub/*", "locked/in.txt", "no.txt", "n*", "none/*"]
    said = closed(mixed, f"print(json.dumps([refused(folder / each) for each in {names}]))")
    assert isinstance(said, list)
    *denied, matched, absent = said
    assert all("cannot be read: Permission denied. Check" in each for each in denied)
    assert "has no files in it that could be read (left out: 1 without permission (no.txt))" in matched
    assert "there is no folder" in absent
