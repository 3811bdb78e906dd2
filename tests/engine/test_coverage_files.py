"""What was read of what is in files: in bytes, by part, told by the events, and the same after a resume."""

from __future__ import annotations

import gzip
import io
import tarfile
import zipfile
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from unspool import RLM, Run
from unspool.contexts.parts import parts_looked
from unspool.ground import Ground
from unspool.models.protocol import Message
from unspool.prompts import get_profile
from unspool.reach.sizes import NO_TEXT
from unspool.testing import MemoryStore, ScriptedModel

from .helpers import py, shown
from .test_coverage import ALL, play

TEXT = "".join(f"{n * 7919 % 10007:05d} ist, was Zeile {n} für sich sagt\n" for n in range(600))
DATA = TEXT.encode()


def ok(messages: Sequence[Message]) -> str:
    return "ok"


@pytest.fixture
def log(tmp_path: Path) -> Path:
    path = tmp_path / "app.log"
    path.write_bytes(DATA)
    return path


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    top = tmp_path / "logs"
    (top / "old").mkdir(parents=True)
    for number in range(3):
        (top / f"{number}.txt").write_text(
            "".join(f"file {number} has line {n} here\n" for n in range(40)), encoding="utf-8"
        )
    (top / "core").write_bytes(b"\0\1\2" * 100)
    (top / "old" / "a.gz").write_bytes(gzip.compress(DATA))
    (top / "picture.png").write_bytes(b"\x89PNG\r\n\x1a\n" + bytes(50))
    return top


def at(character: int) -> int:
    return len(TEXT[:character].encode())


def read_of(run: Run, number: int = 0) -> set[int]:
    part = next(part for part in run.coverage.parts if part.number == number)
    return {place for start, end, _ in part.read for place in range(start, end)}


def with_space(read: set[int]) -> set[int]:
    """White space next to what was read counts as read."""
    grown = set(read)
    for step in (1, -1):
        for place in read:
            near = place + step
            while 0 <= near < len(DATA) and DATA[near] in b" \n":
                grown.add(near)
                near += step
    return grown


def test_prints_sub_calls_and_children_are_told_apart(log: Path) -> None:
    child = py("print(context[100:400])\nsubmit('x')")
    replies = [
        py("llm_query_batched([f'Read: {c}' for c in chunks(context, 4000)[:2]])\nprint(context[9000:9500])"),
        py("rlm_query('a child', context[12000:16000])\nsubmit(1)"),
    ]

    def reply(messages: Sequence[Message]) -> str:
        if any("a child" in m.text and "The question" in m.text for m in messages):
            return child
        return replies[sum(m.role == "assistant" for m in messages)]

    bare = replace(get_profile("frontier"), head=0, tail=0)
    run = RLM(ScriptedModel(reply), sub_model=ScriptedModel(ok), profile=bare, runs=False).run("q", log)
    assert run.status == "answered", run.reason
    coverage = run.coverage
    assert (coverage.size, coverage.unit) == (len(DATA), "bytes")
    assert (coverage.unknown, coverage.unplaced, coverage.why) == (0, 0, "")
    truth = {*range(at(8000)), *range(at(9000), at(9500))}
    assert with_space(truth) <= read_of(run)
    # a piece of other than ASCII in a child: laid beside its bytes in short steps
    child_read = read_of(run) - with_space(truth)
    assert set(range(at(12110), at(12390))) <= child_read <= set(range(at(12090), at(12410)))
    assert coverage.by_sub_calls == pytest.approx(at(8000) / len(DATA), abs=1e-3)
    assert coverage.read == len(read_of(run))


def test_a_child_over_the_file_or_a_part_of_it_is_mapped_back(tmp_path: Path) -> None:
    path, size = tmp_path / "big.log", 18_000_000
    line = "%07d a line of the log that is longer than the others are, by some\n"
    data = "".join(line % n for n in range(size // len(line % 0)))
    path.write_text(data)
    child = py("print(context[500:900])\nsubmit('x')")
    code = "rlm_query('a child', context[200:17_000_000])\nrlm_query('a child again', context)\nsubmit(1)"

    def reply(messages: Sequence[Message]) -> str:
        return child if any("a child" in m.text and "The question" in m.text for m in messages) else py(code)

    run = RLM(ScriptedModel(reply), sub_model=ScriptedModel(ok), runs=False).run("q", path)
    assert run.status == "answered", run.reason
    children = [child.context for child in run.trace.children]
    assert "a part of the text" in children[0]
    read = read_of(run)
    for start, end in ((700, 1100), (500, 900), (0, 600), (len(data) - 300, len(data))):
        assert set(range(start, end)) <= read
    assert len(read) < 4_000


def test_lines_over_the_end_of_a_slice_that_was_shown_are_known_whole(log: Path) -> None:
    codes = ("print(context[0:100])", "llm_query('\\n'.join(list(context.lines())[0:3]) + '?')", "submit(1)")
    bare = replace(get_profile("frontier"), head=0, tail=0)
    model = ScriptedModel([py(code) for code in codes])
    run = RLM(model, sub_model=ScriptedModel(ok), profile=bare, runs=False).run("q", log)
    three = sum(map(len, TEXT.splitlines(keepends=True)[:3]))
    assert read_of(run) == with_space(set(range(at(three))))


OPERATIONS = ("slice", "line", "grep", "lines", "chunks", "prompt", "match")


@settings(max_examples=12, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    st.lists(  # the same cell again and again would end the run
        st.tuples(st.sampled_from(OPERATIONS), st.integers(0, 590)), min_size=1, max_size=6, unique=True
    )
)
def test_whatever_code_does_what_models_saw_is_known_to_the_byte(
    log: Path, steps: list[tuple[str, int]]
) -> None:
    lines = TEXT.splitlines(keepends=True)
    starts = [0]
    for line in lines:
        starts.append(starts[-1] + len(line))
    truth: set[int] = set()
    codes = []

    def reads(start: int, end: int) -> None:
        truth.update(range(at(start), at(end)))

    for kind, number in steps:
        first, last = starts[number], starts[number + 1]
        if kind == "slice":
            codes.append(f"print(context[{first}:{first + 100}])")
            reads(first, first + 100)
        elif kind == "line":
            codes.append(f"print('it says', context.line({number + 1}))")
            reads(first, last)
        elif kind == "grep":
            codes.append(f"print(grep('Zeile {number} für'))")
            reads(first, last)
        elif kind == "lines":
            codes.append(f"print([x for x in context.lines() if 'Zeile {number} ' in x])")
            reads(first, last)
        elif kind == "chunks":
            piece = starts[-1] * number // 600 // 500
            codes.append(f"llm_query(f'Say it in a word: {{chunks(context, 500)[{piece}]}}')")
            reads(500 * piece, min(500 * piece + 500, starts[-1]))
        elif kind == "prompt":
            codes.append(f"llm_query('\\n'.join(list(context.lines())[{number}:{number + 3}]) + '?')")
            reads(first, starts[min(number + 3, len(lines))])
        else:
            codes.append(
                f"m = context.search(r'\\d+ ist, was Zeile {number} für sich sagt')\nprint(m.group())"
            )
            reads(first, last)
    store = MemoryStore()
    replies = [*map(py, codes), py("submit(1)")]

    def engine(kept: MemoryStore) -> RLM:
        reply = ScriptedModel(lambda messages: replies[sum(m.role == "assistant" for m in messages)])
        bare = replace(get_profile("frontier"), head=0, tail=0)
        return RLM(reply, sub_model=ScriptedModel(ok), profile=bare, store=kept, max_turns=20)

    run = engine(store).run("q", log)
    assert run.status == "answered", run.reason
    assert (run.coverage.unplaced, run.coverage.unknown) == (0, 0)
    assert read_of(run) == with_space(truth)
    half = MemoryStore()
    half.open(run.id)
    events = store.read(run.id)
    for event in events[: len(events) * 2 // 3]:
        half.append(run.id, event)
    assert engine(half).resume(run.id, log).coverage == run.coverage


def test_files_of_a_folder_are_parts_and_what_is_no_text_does_not_count(folder: Path) -> None:
    look = [py("print(context['1.txt'][:300])\nprint(grep('line 7 here'))"), py("submit(1)")]
    run, _ = play(look, folder)
    parts = {part.name: part for part in run.coverage.parts}
    assert run.coverage.parts_in_all == 6
    assert sorted(parts) == ["0.txt", "1.txt", "2.txt", "old/a.gz"]  # the search has met the binary file
    sizes = {path.name: path.stat().st_size for path in folder.glob("*.txt")}
    assert {name: parts[name].size for name in sizes} == sizes
    line = "file 0 has line 7 here\n"
    assert parts["0.txt"].share == pytest.approx(len(line) / sizes["0.txt"], abs=1 / sizes["0.txt"])
    assert parts["1.txt"].share == pytest.approx((300 + len(line)) / sizes["1.txt"], abs=0.03)
    assert parts["old/a.gz"].size == len(DATA)  # the search went to its end
    assert run.coverage.size == sum(sizes.values()) + len(DATA)
    assert run.coverage.share is not None


@pytest.mark.parametrize("word", ["again", "noch größer"])
@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_pieces_of_a_slice_are_told_apart_though_their_lines_are_nearly_alike(
    folder: Path, word: str, end: str
) -> None:
    alike = (
        f"of a thing that is said {word} in each of the lines, word for word, with nothing of its own in it"
    )
    file = folder / "alike.log"
    file.write_bytes("".join(f"{number:05d} {alike}{end}" for number in range(400)).encode())
    text = file.read_bytes().decode()
    code = (
        "parts = chunks(context[5_000:25_000], 2_000)\n"
        "llm_query_batched(['Which? ' + part for part in parts])\nsubmit(1)"
    )
    run, _ = play([py(code)], file, sub=ScriptedModel(lambda _: "ok"))
    first, last = len(text[:5_000].encode()), len(text[:25_000].encode())
    assert run.coverage.by_sub_calls == pytest.approx((last - first) / len(text.encode()), abs=0.002)
    read = [(start, stop) for start, stop, _ in run.coverage.parts[0].read if stop > 2_000]
    assert min(start for start, _ in read) >= first - 100
    assert max(stop for _, stop in read) <= last + 100


def test_the_size_of_a_packed_file_is_not_known_before_it_was_read_to_its_end(folder: Path) -> None:
    (folder / "old" / "a.gz").write_bytes(gzip.compress(DATA * 100, 1))
    run, _ = play([py("print(context['old/a.gz'][:400])"), py("submit(1)")], folder)
    coverage = run.coverage
    assert (coverage.share, coverage.size, coverage.by_prints) == (None, None, None)
    assert "1 of the files are packed" in coverage.why
    part = next(part for part in coverage.parts if part.name == "old/a.gz")
    assert (part.size, part.share, part.unread) == (None, None, ())
    assert part.read[0][:2] == (0, at(400))
    assert next(part for part in coverage.parts if part.name == "0.txt").share == 0.0


def test_positions_in_a_packed_file_are_those_of_its_text(tmp_path: Path) -> None:
    (tmp_path / "a.log.gz").write_bytes(gzip.compress(DATA))
    run, _ = play([py("print(context[5000:5600])"), py("submit(1)")], tmp_path / "a.log.gz")
    assert run.coverage.size == len(DATA)
    assert with_space(set(range(at(5000), at(5600)))) == read_of(run)


@pytest.mark.parametrize("form", ["zip", "tar", "tar.gz"])
def test_files_in_archives(tmp_path: Path, form: str) -> None:
    path = tmp_path / f"all.{form}"
    if form == "zip":
        with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as made:
            made.writestr("a/one.txt", TEXT)
            made.writestr("two.txt", "the second of the files in this archive\n" * 9)
    else:
        with tarfile.open(path, "w:gz" if form.endswith("gz") else "w") as made_tar:
            for name, text in (("a/one.txt", TEXT), ("two.txt", "the second of the files here\n" * 9)):
                info = tarfile.TarInfo(name)
                info.size = len(text.encode())
                made_tar.addfile(info, io.BytesIO(text.encode()))
    run, _ = play(
        [py("print(context['a/one.txt'][300:900])\nprint(context['two.txt'])"), py("submit(1)")], path
    )
    first, second = run.coverage.parts
    assert (first.name, first.size, second.name, second.share) == ("a/one.txt", len(DATA), "two.txt", 1.0)
    assert read_of(run) == with_space(set(range(at(300), at(900))))


def test_texts_in_memory_beside_files(log: Path, folder: Path) -> None:
    context = {"log": log, "note": "a note of more than a few characters", "n": 5, "all": folder}
    code = "print(context['note'])\nprint(context['log'][:500])\nprint(context['all']['0.txt'][:100])"
    run, _ = play([py(code), py("submit(1)")], context)
    parts = {part.name: part for part in run.coverage.parts}
    assert run.coverage.parts[0].name == "note"
    assert parts["note"].share == 1.0
    assert parts["log"].read[0][:2] == (0, at(500))
    assert parts["all/0.txt"].read[0][:2] == pytest.approx((0, 100), abs=1)
    assert "n" not in parts  # no text


def test_what_the_description_shows_was_read(log: Path) -> None:
    run, _ = play([py("print(1)"), py("submit(1)")], log, profile="frontier")
    assert read_of(run) == {*range(at(600)), *range(at(len(TEXT) - 300), len(DATA))}


def test_a_cell_that_was_undone_leaves_unknown_what_it_has_shown(log: Path) -> None:
    code = "print(context[2000:2600])\nllm_query(context[4000:4400])\nimport os; os.kill(os.getpid(), 9)"
    run, _ = play([py("x = 1"), py(code), py("submit(1)")], log, sub=ScriptedModel(ok))
    assert [c.outcome for t in run.trace.turns for c in t.cells][1] == "rolled_back"
    assert run.coverage.unknown == 1  # the print; where its slices stood died with it
    assert read_of(run) == with_space(set(range(at(4000), at(4400))))


@pytest.mark.parametrize("name", ["t.sqlite", "spans.otlp.jsonl"])
def test_what_is_read_of_tables_is_not_known_and_the_reason_is_told(tmp_path: Path, name: str) -> None:
    path = tmp_path / name
    if name.endswith("sqlite"):
        import sqlite3

        with sqlite3.connect(path) as made:
            made.execute("CREATE TABLE t AS SELECT 1 AS a")
        made.close()
    else:
        path.write_text('{"resourceSpans":[]}\n')
    run, _ = play([py("print(context)"), py("submit(1)")], path)
    assert run.coverage.share is None
    assert "not traced" in run.coverage.why
    assert run.coverage.parts == ()


def test_a_model_that_passed_by_a_part_of_its_files_is_told_once(log: Path, folder: Path) -> None:
    part = "llm_query_batched([f'Judge: {c}' for c in chunks(context, 2000)[:6]])"
    run, model = play([py(part), py("submit(3)"), py("submit(3)")], log, query=ALL, sub=ScriptedModel(ok))
    assert (run.answer, run.turns) == (3, 3)
    left = f"{(len(DATA) - at(12_000)) / len(DATA):.0%}"
    told = shown(model, 2)
    assert f"{left} of the input was never read by a sub-call or printed" in told
    assert f"to {len(DATA):,} of app.log" in told
    (folder / "old" / "a.gz").unlink()
    files = "llm_query_batched([f'Judge: {context[p]}' for p in ('0.txt', '2.txt')])\nlist(context.texts())"
    run, model = play([py(files), py("submit(3)"), py("submit(3)")], folder, query=ALL, sub=ScriptedModel(ok))
    assert run.turns == 3
    assert "all of 1.txt" in shown(model, 2)
    every = "llm_query_batched([f'Judge: {c}' for c in chunks(context, 2000)])"
    run, _ = play([py(every), py("submit(3)")], log, query=ALL, sub=ScriptedModel(ok))
    assert (run.turns, run.coverage.by_sub_calls) == (2, 1.0)


# What comes out of a sandbox


@settings(max_examples=200, deadline=None)
@given(
    st.one_of(st.none(), st.integers(), st.lists(st.one_of(st.none(), st.integers(), st.text()))),
    st.one_of(st.none(), st.lists(st.text())),
    st.lists(st.tuples(st.integers(), st.integers())),
)
def test_whatever_a_look_says_is_checked(sizes: object, names: object, seen: object) -> None:
    parts = parts_looked(sizes, names, seen)
    for size in parts.sizes if parts is not None else ():
        assert size is None or 0 <= size < 1 << 62


def test_sizes_that_a_repl_tells_stay_within_bounds(folder: Path) -> None:
    import struct

    from unspool.contexts.sources import with_sources

    ground = Ground.of(with_sources(folder))
    assert ground.sizes is not None
    before = list(ground.sizes)
    rows = [(-2, 99, 5, 0), (-2, -1, 5, 0), (-2, 0, -7, 0), (-2, 0, 1 << 62, 0)]
    ground.read(b"".join(struct.pack("<4q", *row) for row in rows), 1)
    assert ground.sizes == before
    packed = before.index(None)
    ground.read(struct.pack("<4q", -2, packed, 1234, 0) + struct.pack("<4q", -2, 0, NO_TEXT, 0), 0)
    assert ground.sizes[packed] == 1234
    assert 0 in ground.no_text


@pytest.mark.parametrize("ends", ["\nsubmit(1)", ""])
def test_more_files_than_can_be_open_at_once(tmp_path: Path, ends: str) -> None:
    for number in range(150):
        (tmp_path / f"{number:03}.txt").write_text(
            f"file {number} says something of its own, {number**2}\n" * 2
        )
    code = f"for path in context:\n    print(context[path][:30]){ends}"
    run, _ = play([py(code), py("submit(1)")], tmp_path)
    assert (run.status, run.turns) == ("answered", 1 if ends else 2)
    (cell,) = (c for t in run.trace.turns[:1] for c in t.cells)
    assert cell.outcome == ("submitted" if ends else "ok")
    read = sum(bool(part.read) for part in run.coverage.parts)
    if ends:  # once an answer is accepted no file is opened any more: what was closed meanwhile is not placed
        assert 50 < read < 150
        assert run.coverage.unplaced > 0
    else:
        assert (read, run.coverage.unplaced) == (150, 0)


def test_a_file_that_changes_under_the_run_leaves_its_prints_unplaced(log: Path) -> None:
    def reply(messages: Sequence[Message]) -> str:
        turn = sum(m.role == "assistant" for m in messages)
        if turn == 1:
            log.write_bytes(DATA[:100])
        return [py("text = context[9000:9500]"), py("print(text)"), py("submit(1)")][turn]

    bare = replace(get_profile("frontier"), head=0, tail=0)
    run = RLM(ScriptedModel(reply), profile=bare, runs=False).run("q", log)
    assert run.status == "answered", run.reason
    assert (run.coverage.read, run.coverage.unplaced > 400) == (0, True)


@pytest.mark.parametrize(
    "code", ["print(grep('.'))", "for hit in grep('.'): print(hit)", "print(*map(str, context.values()))"]
)
@pytest.mark.parametrize("text", ["hello\n", "port=80\nhost=x\n", "it's\n", "a tab\there\n"])
def test_a_tiny_file_that_was_printed_was_read(tmp_path: Path, code: str, text: str) -> None:
    (tmp_path / "tiny.conf").write_text(text)
    run, _ = play([py(code), py("submit(1)")], tmp_path)
    assert run.coverage.by_prints == 1.0, run.trace.turns[0].cells[0].output


def test_what_was_not_shown_of_tiny_files_was_not_read(tmp_path: Path) -> None:
    (tmp_path / "a.conf").write_text("port=80\nhost=x\n")
    (tmp_path / "b.conf").write_text("port=80\nhost=y\n")
    run, _ = play(
        [py("hits = grep('.')\nprint(hits[1])\nprint(len(hits), 'port=80?')"), py("submit(1)")], tmp_path
    )
    (one, two) = run.coverage.parts
    assert (one.read, two.read) == (((7, 15, 1),), ())
    run, _ = play([py("print(*[hit for hit in grep('port')], sep='\\n')"), py("submit(1)")], tmp_path)
    (one, two) = run.coverage.parts
    assert [part.read for part in (one, two)] == [((0, 8, 1),), ((0, 8, 1),)]
