"""``unspool ask`` over what is not one small text: large files, folders, globs, archives; and going on with it."""

from __future__ import annotations

import gzip
import json

from tests.cli.conftest import MakeCli, submits

BIG = "".join(f"line {number} of a log\n" for number in range(250_000)) + "FATAL é\n"


def test_small_text_is_a_str_and_all_else_stays_in_its_file(make_cli: MakeCli) -> None:
    cli = make_cli([submits("{name: type(value).__name__ for name, value in context.items()}")])
    (cli.folder / "src").mkdir()
    cli.file("src/a.py", "x = 1\n")
    names = [cli.file("small.txt", "one"), cli.file("big.log", BIG), "src", "s*/*.py",
             cli.file("a.txt.gz", gzip.compress(b"text"))]  # fmt: skip
    done = cli.run(cli.ask("?", *names, "--json"))
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["answer"] == {
        "small.txt": "str", "big.log": "LazyText", "src": "Files", "s*/*.py": "Files", "a.txt.gz": "LazyText",
    }  # fmt: skip


def test_a_run_over_a_large_file_goes_on_from_the_file(make_cli: MakeCli) -> None:
    found = "```python\nhits = grep('FATAL')\nprint(hits)\n```"
    cli = make_cli([found, "```python\nsubmit(hits)\n```"])
    name = cli.file("big.log", BIG)
    done = cli.run(cli.ask("?", name, "--max-turns", "1", "--runs", "kept"))
    assert done.returncode == 4, done.stderr
    cli.file("big.log", BIG.replace("line 7 ", "line 8 "))
    resume = cli.command("runs", "resume", "last", "--runs", "kept", "--max-turns", "3", "--json")
    refused = cli.run(resume)
    assert refused.returncode == 2
    assert b"not the one" in refused.stderr
    cli.file("big.log", BIG)
    done = cli.run(resume)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["answer"] == ["250001: FATAL é"]


def test_files_that_cannot_be_read_are_named(make_cli: MakeCli) -> None:
    cli = make_cli(["```python\nprint(grep('Alice'))\n```", submits("'none'")])
    (cli.folder / "scans").mkdir()
    cli.file("scans/cut.docx", b"PK\x03\x04cut")
    cli.file("scans/none.pdf", b"")
    done = cli.run(cli.ask("?", "scans", "--json"))
    assert done.returncode == 0, done.stderr
    (note,) = json.loads(done.stdout)["notes"]
    assert note.startswith("passed over in scans: 2 of its 2 files cannot be read: cut.docx (is no document")
    assert "none.pdf (is empty)" in note
    assert b"note: passed over in scans" in done.stderr
