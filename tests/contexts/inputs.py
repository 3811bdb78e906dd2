"""Every kind of input: how it is made, what is read of it, and what a bad one is refused with.

``python -m tests.contexts.inputs`` tries them all and prints the table of ``docs/contexts.md``; a test compares.
A row that does not do what it says ends in an error, and no "yes" is printed for it.
"""

from __future__ import annotations

import bz2
import gzip
import io
import json
import lzma
import os
import sqlite3
import subprocess
import tarfile
import tempfile
import zipfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from unspool import RLM, ContextError
from unspool.testing import ScriptedModel

from .documents import docx, paragraph, pdf, pptx, shape

TEXT = "first line\r\nsecond é \U0001f642\nlast"
OTLP = json.dumps({"resourceSpans": [{
    "resource": {"attributes": [{"key": "service.name", "value": {"stringValue": "shop"}}]},
    "scopeSpans": [{"spans": [{"traceId": "t", "spanId": "s", "name": "GET /", "startTimeUnixNano": "1000000",
                               "endTimeUnixNano": "3000000"}]}],
}]}) + "\n"  # fmt: skip
CSV = "name,n\nbo,1\ncy,2\n"

Make = Callable[[Path], object]


@dataclass(frozen=True)
class Input:
    """``expression`` is evaluated in the REPL; ``wanted`` is what has to come back to the host."""

    name: str
    make: Make
    expression: str
    wanted: object
    reached: str  # how the docs say that it is read
    bad: tuple[str, bytes | None] | None = None  # a file that is refused
    needs: str = ""  # a library that is not always there


def file(name: str, data: bytes | str) -> Make:
    def make(folder: Path) -> Path:
        (folder / name).write_bytes(data.encode() if isinstance(data, str) else data)
        return folder / name

    return make


def packed(name: str) -> bytes:
    buffer = io.BytesIO()
    if name.endswith(".zip"):
        with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as made:
            made.writestr("a/b.txt", TEXT)
    else:
        with tarfile.open(fileobj=buffer, mode="w:gz" if name.endswith("gz") else "w") as archive:
            info = tarfile.TarInfo("a/b.txt")
            info.size = len(TEXT.encode())
            archive.addfile(info, io.BytesIO(TEXT.encode()))
    return buffer.getvalue()


def zstd() -> bytes:
    import pyarrow

    sink = pyarrow.BufferOutputStream()
    with pyarrow.CompressedOutputStream(sink, "zstd") as stream:
        stream.write(TEXT.encode())
    return bytes(sink.getvalue().to_pybytes())


def parquet(folder: Path) -> Path:
    import pandas

    pandas.DataFrame({"name": ["bo", "cy"], "n": [1, 2]}).to_parquet(folder / "t.parquet")
    return folder / "t.parquet"


def workbook(folder: Path) -> Path:
    import pandas

    pandas.DataFrame({"name": ["bo", "cy"], "n": [1, 2]}).to_excel(
        folder / "t.xlsx", sheet_name="Sheet", index=False
    )
    return folder / "t.xlsx"


def database(folder: Path) -> Path:
    made = sqlite3.connect(folder / "d.sqlite")
    made.execute("PRAGMA journal_mode = WAL")
    made.execute("CREATE TABLE t (name, n)")
    made.execute("INSERT INTO t VALUES ('bo', 1), ('cy', 2)")
    made.commit()
    made.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    made.close()
    return folder / "d.sqlite"


def tree(folder: Path) -> Path:
    (folder / "docs").mkdir()
    (folder / "docs" / "a.txt").write_bytes(TEXT.encode())
    (folder / "logo.png").write_bytes(bytes(range(256)))
    return folder


def checkout(folder: Path) -> Path:
    tree(folder)
    subprocess.run(["git", "init", "-q", str(folder)], check=True)
    (folder / ".gitignore").write_text(".env\n")
    (folder / ".env").write_text("KEY=secret\n")
    return folder


LINES = "context.lines(), context[a:b], grep"
INPUTS = (
    Input("a `str`", lambda _: TEXT, "context", TEXT, "as itself"),
    Input("`.txt .log .md`, any text file", file("a.log", TEXT), "str(context)", TEXT, LINES, ("core", b"\x7fELF\0")),
    Input("text in UTF-16 with a mark", file("w.txt", TEXT.encode("utf-16")), "str(context)", TEXT, LINES),
    Input(
        "text with bytes that are no UTF-8",
        file("l.txt", b"caf\xe9"),
        "context.encoded('latin-1')[:]",
        "café",
        "the bytes stand as `\\udc80` to `\\udcff`; context.encoded('latin-1')",
    ),
    Input("`.gz`", file("a.log.gz", gzip.compress(TEXT.encode(), mtime=0)), "str(context)", TEXT, LINES, ("cut.gz", b"\x1f\x8b\x08\0")),
    Input("`.bz2`", file("a.log.bz2", bz2.compress(TEXT.encode())), "str(context)", TEXT, LINES, ("cut.bz2", b"BZh9")),
    Input("`.xz`", file("a.log.xz", lzma.compress(TEXT.encode())), "str(context)", TEXT, LINES, ("cut.xz", b"\xfd7zXZ\0\1")),
    Input("`.zst` (needs pyarrow)", lambda folder: file("a.zst", zstd())(folder), "str(context)", TEXT, LINES),
    Input("`.csv .tsv`", file("a.csv", CSV), "[str(context), context.table()['n'].tolist()]", [CSV, [1, 2]], "context.table(), " + LINES),
    Input("`.json`", file("a.json", '{"a": [1]}'), "__import__('json').loads(str(context))", {"a": [1]}, "json.loads(str(context))"),
    Input("`.jsonl`", file("a.jsonl", '{"a": 1}\n{"a": 2}\n'), "context.table()['a'].tolist()", [1, 2], "context.table(), context.lines()"),
    Input("`.ipynb`", file("a.ipynb", json.dumps({"cells": [{"source": "x"}]})), "__import__('json').loads(str(context))['cells'][0]['source']", "x", "json.loads(str(context))"),
    Input("`.html`", file("a.html", "<p>é</p>"), "str(context)", "<p>é</p>", "as text; html.parser"),
    Input("`.eml`", file("a.eml", "Subject: s\n\nb"), "__import__('email').message_from_string(str(context))['subject']", "s", "email.message_from_string"),
    Input("`.parquet` (needs pyarrow)", parquet, "[len(context), context['n'].tolist(), context.arrow().num_columns]", [2, [1, 2], 2], "as the DataFrame; context.table(columns=…), context.arrow()", ("odd.parquet", b"PAR1")),
    Input("`.xlsx .xlsm` (needs openpyxl)", workbook, "[list(context), context['Sheet']['n'].tolist(), context.table('Sheet', nrows=1)['name'].tolist()]", [["Sheet"], [1, 2], ["bo"]], "a mapping of sheet to DataFrame; context.table(sheet, skiprows=…)", ("odd.xlsx", b"PK\x03\x04"), "openpyxl"),
    Input("`.pdf` (needs pypdfium2)", file("a.pdf", pdf(["first page", "second é"])), "[context.page_count, context.page(2), str(context)]", [2, "second é", "=== page 1 ===\nfirst page\n=== page 2 ===\nsecond é\n"], "context.page(n), pages(), page_of(position), outline(); " + LINES, ("cut.pdf", b"%PDF-1.7"), "pypdfium2"),
    Input("`.docx .docm`", file("a.docx", docx(paragraph("Title", '<w:outlineLvl w:val="0"/>') + paragraph("some text"))), "[context.outline(), str(context)]", [[(1, "Title", 0)], "# Title\n\nsome text\n\n"], "headings with `#`, tables as Markdown; context.outline(), " + LINES, ("cut.docx", b"PK\x03\x04")),
    Input("`.pptx .pptm`", file("a.pptx", pptx([shape("Plan", place="title") + shape("one")])), "[context.page_count, context.page(1), str(context)]", [1, "one", "=== slide 1: Plan ===\none\n"], "context.page(n), pages(), page_of(position), outline(); " + LINES, ("cut.pptx", b"PK\x03\x04")),
    Input("`.sqlite .db`", database, "context.execute('SELECT * FROM t').fetchall()", [("bo", 1), ("cy", 2)], "a read-only connection to a copy in memory", ("odd.db", b"SQLite format 3\0.")),
    Input("`.otlp.jsonl`, OpenTelemetry traces", file("a.otlp.jsonl", OTLP), "[len(context), context.trace('t'), context.text[:]]", [1, "trace t: 1 span, 0 with an error, 2.0 ms\nGET /  shop  2.0 ms", OTLP], "context.overview(), search(…), trace(id), span(id); context.text"),
    Input("`.zip`", file("a.zip", packed("a.zip")), "context['a/b.txt'][:]", TEXT, "mapping of path to text, tree(), grep", ("odd.zip", b"PK\x03\x04")),
    Input("`.tar`, `.tar.gz` and others", file("a.tgz", packed("a.tgz")), "context['a/b.txt'][:]", TEXT, "mapping of path to text, tree(), grep", ("cut.tgz", packed("a.tgz")[:60])),
    Input("a folder", tree, "[sorted(context), context['docs/a.txt'][:]]", [["docs/a.txt", "logo.png"], TEXT], "mapping of path to text, tree(), grep"),
    Input("a glob, `Path('docs/*.txt')`", lambda folder: tree(folder) / "docs" / "*.txt", "context['a.txt'][:]", TEXT, "mapping of path to text, tree(), grep", ("*.none", None)),
    Input("a Git checkout", checkout, "sorted(context)", [".gitignore", "docs/a.txt", "logo.png"], "the same without what Git ignores"),
    Input("several paths by name", lambda folder: {"a": file("a.txt", TEXT)(folder), "b": "text"}, "[context['a'][:], context['b']]", [TEXT, "text"], "a dict of what each is", ("none.txt", None)),
)  # fmt: skip
REFUSED = (
    ("a `.pdf` without text", ("a.pdf", pdf(["", ""]))),
    ("`.docx .pptx` with a password", ("a.docx", b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1")),
    ("`.odt .odp .rtf .doc .ppt`", ("a.odt", b"PK\x03\x04")),
    ("`.ods`", ("a.ods", b"PK\x03\x04")),
    ("`.xlsx` with a password", ("a.xlsx", b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1")),
    ("a binary file", ("core", b"\x7fELF\0")),
    ("an empty file", ("a.txt", b"")),
    ("a path where nothing is", ("none.txt", None)),
)


def tried(each: Input) -> tuple[str, str, str, str, str]:
    """A row of the table, or an ``AssertionError``."""
    with tempfile.TemporaryDirectory() as folder:
        code = f"print(type(context).__name__)\nsubmit({each.expression})"
        model = ScriptedModel([f"```python\n{code}\n```"])
        run = RLM(model, runs=False).run("?", each.make(Path(folder)))
        assert run.status == "answered", (each.name, run.reason, run.trace.turns)
        assert run.answer == each.wanted, (each.name, run.answer)
        kind = run.trace.turns[-1].cells[-1].output.strip()
        told = model.requests[0].messages[-1].text
        assert "`context`" in told or "context[" in told, (each.name, told)
        assert len(told) < 4_000, (each.name, told)
    return each.name, f"`{kind}`", each.reached, "yes", refused(*each.bad) if each.bad else "–"


def refused(name: str, data: bytes | None) -> str:
    """The error of a bad file, which comes before a model is asked."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / name
        if data is not None:
            path.write_bytes(data)
        model = ScriptedModel([])
        try:
            RLM(model, runs=False).run("?", path)
        except ContextError as error:
            assert not model.requests
            return str(error).replace(folder + os.sep, "")
    raise AssertionError(f"{name} was not refused")


def table() -> str:
    rows = [
        "| input | `context` is | read by | described, read, round trip | a bad one |",
        "|---|---|---|---|---|",
        *("| " + " | ".join(cell.replace("|", "\\|") for cell in tried(each)) + " |" for each in INPUTS),
        *(f"| {name} | – | – | refused | {refused(*bad)} |" for name, bad in REFUSED),
    ]
    return "\n".join(rows)


if __name__ == "__main__":
    print(table())
