"""A text file by its path: described, read, searched, given to children, resumed; in the sandbox alone."""

from __future__ import annotations

import gzip
import os
from pathlib import Path

import pytest

from tests.engine.helpers import play, py, shown
from unspool import RLM, ContextError
from unspool.events import NodeStarted, RunStarted
from unspool.testing import MemoryStore, ScriptedModel

LINES = [f"10:{number // 60 % 60:02}:{number % 60:02} worker-{number % 7} ok" for number in range(60_000)]
LINES[40_321] = "11:12:01 worker-3 FATAL disk é gone"


@pytest.fixture(scope="module")
def log(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("logs") / "big.log"
    path.write_bytes("\r\n".join(LINES).encode())
    return path


def test_it_is_described_searched_and_cited(log: Path) -> None:
    text = log.read_bytes().decode()
    code = (
        "print(type(context).__name__, len(context), context[-9:])\n"
        "hits = grep('FATAL')\nprint(hits, context.line_of(context.find('FATAL')))\n"
        "print(context.line(40322) == hits[0].split(': ', 1)[1], len(chunks(context, 100_000)))"
    )
    run, model = play([py(code), py("submit(context[context.find('FATAL'):][:12])")], log)
    assert (run.status, run.answer) == ("answered", text[text.find("FATAL") :][:12])
    told = model.requests[0].messages[-1].text
    for word in ("LazyText", "big.log", "1,320,013 characters", LINES[0], LINES[-1], "\\r\\n"):
        assert word in told
    assert len(told) < 3_000
    output = shown(model, 1)
    assert f"LazyText {len(text)} {text[-9:]}" in output
    assert f"['40322: {LINES[40_321]}'] 40322" in output
    assert f"True {-(-len(text) // 100_000)}" in output


def test_what_needs_a_str_says_what_to_do(log: Path) -> None:
    cells = ["import re; re.search('FATAL', context)", "llm_query(context)"]
    sub = ScriptedModel(["read"])
    run, model = play([py(cell) for cell in [*cells, "print(1)\nsubmit(1)"]], log, sub=sub)
    assert "context.finditer(pattern)" in shown(model, 1)
    assert run.answer == 1
    assert sub.requests[0].messages[-1].text == log.read_bytes().decode()  # it is small enough for a str


def test_a_child_gets_the_same_file_or_a_part_of_it(tmp_path: Path) -> None:
    path = tmp_path / "big.log"
    path.write_text("".join(f"{number} {'é' * 60}\n" for number in range(260_000)))
    text = path.read_text()
    child = py(
        "print(1)\nsubmit([type(context).__name__, len(context), context[:9], context[-9:], grep(' 9|200000 é')])"
    )
    root = (
        "a = rlm_query('all?', context)\npart = context[500_000:]\nb = rlm_query('part?', part[:16_200_000])\n"
        "c = rlm_query('both?', {'x': part, 'y': 'z'})\nprint(1)\nsubmit([a, b, c])"
    )
    both = py("print(1)\nsubmit([sorted(context), context['x'][:9], context['x'].line_of(0)])")
    model = ScriptedModel([py(root), child, child, both])
    store = MemoryStore()
    run = RLM(model, store=store).run("?", path)
    assert run.status == "answered", run.reason
    part = text[500_000:16_700_000]
    assert run.answer == [
        ["LazyText", len(text), text[:9], text[-9:], [f"200001: 200000 {'é' * 60}"]],
        ["LazyText", len(part), part[:9], part[-9:], [f"200001: 200000 {'é' * 60}"]],
        [["x", "y"], text[500_000:500_009], text.count("\n", 0, 500_000) + 1],
    ]
    nodes = [event for event in store.read(run.id) if isinstance(event, NodeStarted)]
    assert all("big.log" in node.context for node in nodes)


def test_the_journal_names_the_file_and_resume_reads_it_again(log: Path, tmp_path: Path) -> None:
    path = tmp_path / "a.log"
    path.write_bytes(log.read_bytes())
    store = MemoryStore()
    first = RLM(ScriptedModel([py("print(context[:9])\nx = grep('FATAL')")]), store=store, max_turns=1)
    run = first.run("?", path)
    (started,) = [event for event in store.read(run.id) if isinstance(event, RunStarted)]
    assert (started.sources, started.paths, started.kept) == ((str(path),), True, None)
    again = RLM(ScriptedModel([py("submit(x)")]), store=store, max_turns=3).resume(run.id)
    assert again.answer == [f"40322: {LINES[40_321]}"]

    run = first.run("?", path)
    with path.open("r+b") as file:  # one byte, the size as it was
        file.seek(1_000)
        file.write(b"#")
    with pytest.raises(ContextError, match="not the one"):
        RLM(ScriptedModel([py("submit(x)")]), store=store, max_turns=3).resume(run.id)


def test_gzip_is_read_as_the_text_in_it(log: Path, tmp_path: Path) -> None:
    path = tmp_path / "big.log.gz"
    path.write_bytes(gzip.compress(log.read_bytes()[:600_000]) + gzip.compress(log.read_bytes()[600_000:]))
    code = "print(context[-3:], context[700_000:700_009], context[:5], grep('FATAL'), len(context))"
    run, model = play([py(code), py("submit(grep('FATAL'))")], path)
    assert run.answer == [f"40322: {LINES[40_321]}"]
    text = log.read_bytes().decode()
    assert f"{text[-3:]} {text[700_000:700_009]} {text[:5]}" in shown(model, 1)
    assert f"{len(text)}" in shown(model, 1)


def test_several_paths_by_name(log: Path, tmp_path: Path) -> None:
    other = tmp_path / "b.txt"
    other.write_text("second\n")
    run, model = play(
        [py("print(sorted(context), context['b'][:3])"), py("submit(grep('FATAL|sec'))")],
        {"a": log, "b": other, "c": "plain"},
    )
    told = model.requests[0].messages[-1].text
    assert "context['a']" in told
    assert "big.log" in told
    assert "['a', 'b', 'c'] sec" in shown(model, 1)
    assert run.answer == [f"[a] 40322: {LINES[40_321]}", "[b] 1: second"]


@pytest.mark.parametrize(
    ("name", "data", "words"),
    [
        ("none.txt", None, "no such file"),
        ("empty.txt", b"", "is empty"),
        ("core", b"\x7fELF\0\0\1", "binary file"),
        ("cut.gz", gzip.compress(b"x" * 100_000, mtime=0)[:60], "cut.gz cannot be unpacked"),
        ("a.odt", b"PK\x03\x04rest", "save it as .docx, .pptx or .pdf"),
        ("report.docx", b"PK\x03\x04rest", "report.docx is no document that can be read"),
        ("odd.parquet", b"PAR1 no more", "odd.parquet is no Parquet file"),
        ("odd.sqlite", b"SQLite format 3\0 no more", "odd.sqlite is no SQLite database"),
        ("odd.zip", b"PK\x03\x04 no more", "odd.zip is no archive"),
        ("bare.gz", gzip.compress(b"\x7fELF\0\0\1", mtime=0), "binary file"),
    ],
)
def test_a_file_that_cannot_be_read_is_one_error_before_a_model_is_asked(
    tmp_path: Path, name: str, data: bytes | None, words: str
) -> None:
    if data is not None:
        (tmp_path / name).write_bytes(data)
    model = ScriptedModel([py("submit(1)")])
    store = MemoryStore()
    with pytest.raises(ContextError, match=words) as caught:
        RLM(model, store=store).run("?", tmp_path / name)
    assert name in str(caught.value)
    assert model.requests == []
    assert list(store.runs()) == []


def test_a_pipe_and_a_device_are_refused(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    for path in (tmp_path / "pipe", Path("/dev/null")):
        with pytest.raises(ContextError, match="no regular file"):
            RLM(ScriptedModel([])).run("?", path)


def test_the_kind_is_told_by_what_is_in_it(tmp_path: Path) -> None:
    import sqlite3

    path = tmp_path / "data"
    with sqlite3.connect(path) as made:
        made.execute("CREATE TABLE t (a, b)")
        made.execute("INSERT INTO t VALUES (1, 'x')")
    made.close()
    run, model = play(
        [py("print(context.tables())\nsubmit(context.execute('SELECT b FROM t').fetchall())")], path
    )
    assert run.answer == [("x",)]
    assert "t (1 rows): a, b" in model.requests[0].messages[-1].text


def test_it_works_without_a_sandbox(log: Path) -> None:
    run, _ = play([py("print(len(context))\nsubmit(grep('FATAL'))")], log, sandbox="none")
    assert run.answer == [f"40322: {LINES[40_321]}"]


def test_the_small_profile_looks_at_its_lines(log: Path) -> None:
    run, model = play(
        [py("print(len(lines), lines[40321])"), py("submit(len(find('fatal', 'disk')))")],
        log, query="When was the FATAL disk error?", profile="small",
    )  # fmt: skip
    assert run.answer == 1, run.reason
    assert "FATAL disk" in model.requests[0].messages[-1].text  # the first look has found it
    assert f"60000 {LINES[40_321]}" in shown(model, 1)
