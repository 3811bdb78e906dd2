"""Where texts stand in files: what code took out of them, in whatever way, is found again, to the byte."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from unspool.reach import file_marks, handed
from unspool.reach import marks as marks_module
from unspool.reach.blocks import Blocks
from unspool.reach.files import Files
from unspool.reach.handed import HANDED, Handed
from unspool.reach.marks import ALL, MEASURED, UNPLACED, Marks, unpack_ranges
from unspool.reach.octets import Memory
from unspool.reach.sizes import NO_TEXT
from unspool.reach.text import LazyText

from .test_marks import TEMPLATES, characters, contexts, cuts

SPACE = b" \t\n\r\v\f"


@pytest.fixture(autouse=True)
def _fresh(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(marks_module, "GRACE", 60.0)  # what is exact must not depend on how busy a machine is
    forget()


def forget() -> None:
    """As in a new REPL: each has a process of its own."""
    HANDED.forget()


def lazy(data: bytes, number: int | None = 0, encoding: str | None = None) -> LazyText:
    return LazyText(Blocks(Memory(data), encoding, size=64, number=number), "a.log")


def spaced(data: bytes, read: set[int]) -> set[int]:
    """White space next to what was read counts as read."""
    grown = set(read)
    for step in (1, -1):
        for place in read:
            near = place + step
            while 0 <= near < len(data) and data[near : near + 1] in [bytes([b]) for b in SPACE]:
                grown.add(near)
                near += step
    return grown


def bytes_of(text: str, cut: Sequence[tuple[int, int]]) -> set[int]:
    return {
        place for start, end in cut for place in range(len(text[:start].encode()), len(text[:end].encode()))
    }


def sliced(text: LazyText, start: int, end: int) -> str:
    return text[start:end]


def gone_through(text: LazyText, start: int, end: int) -> str:
    """Code went through all of it, and kept a part."""
    return "\n".join(text.lines())[start:end] if "\r" not in str(text) else str(text)[start:end]


def from_a_file_object(text: LazyText, start: int, end: int) -> str:
    with text.open() as file:
        return file.read()[start:end]


WAYS: Sequence[Callable[[LazyText, int, int], str]] = (sliced, gone_through, from_a_file_object)


@settings(max_examples=80, deadline=None, suppress_health_check=[HealthCheck.filter_too_much])
@given(st.data())
def test_what_prompts_show_is_found_to_the_byte(data: st.DataObject) -> None:
    forget()
    text = data.draw(contexts())
    cut = data.draw(cuts(text))
    template = data.draw(st.sampled_from(TEMPLATES))
    way = data.draw(st.sampled_from(WAYS))
    context = lazy(text.encode())
    marks = Marks(context)
    marks.cell_began("a cell")
    prompts = [template(i, way(context, start, end)) for i, (start, end) in enumerate(cut)]
    if data.draw(st.booleans()):
        rows = unpack_ranges(marks.prompts(prompts) or b"")
    else:
        rows = [row for prompt in prompts for row in unpack_ranges(marks.prompts([prompt]) or b"")]
    assert characters(rows) == spaced(text.encode(), bytes_of(text, cut))


def test_a_slice_that_ends_with_a_wide_character_is_found_to_its_end() -> None:
    forget()
    text = "a line of words that stands alone 日本語 and goes on"
    context = lazy(text.encode())
    marks = Marks(context)
    marks.cell_began("a cell")
    rows = unpack_ranges(marks.prompts([f"Sum up:\n⟦{context[:35]}⟧"]) or b"")
    assert characters(rows) == set(range(len(text[:35].encode())))


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.filter_too_much])
@given(st.data())
def test_what_a_cell_prints_is_found_as_text_and_as_repr(data: st.DataObject) -> None:
    forget()
    text = data.draw(contexts().filter(lambda text: "\r" not in text))
    cut = data.draw(cuts(text))
    context = lazy(text.encode())
    marks = Marks(context)
    marks.cell_began("a cell")
    pieces = [sliced(context, start, end) for start, end in cut]
    shown = data.draw(st.sampled_from([lambda p: "⟧\n⟦".join(p) + "⟧\n", lambda p: f"⟦{p!r}⟧"]))
    read = characters(unpack_ranges(marks.printed(shown(pieces)) or b""))
    truth = bytes_of(text, cut)
    assert read >= truth
    assert len(read - spaced(text.encode(), truth)) <= 12 * len(cut)


@settings(max_examples=50, deadline=None, suppress_health_check=[HealthCheck.filter_too_much])
@given(contexts(), st.integers(24, 200), st.integers(0, 20))
def test_all_chunks_are_all_of_it(text: str, size: int, overlap: int) -> None:
    forget()
    context = lazy(text.encode())
    marks = Marks(context)
    marks.cell_began("[f'Summarize this: {c}' for c in chunks(context)]")
    rows = unpack_ranges(
        marks.prompts([f"Summarize this: {c}" for c in context.chunks(size, overlap)]) or b""
    )
    missing = set(range(len(text.encode()))) - characters(rows)
    assert len(missing) < 100  # a last chunk shorter than what counts
    assert not any(row[1] == UNPLACED for row in rows)


def test_a_hit_is_found_wherever_it_stands() -> None:
    text = "".join(f"{n:06d} the line of number {n * 7919 % 100_003}\n" for n in range(100_000))
    context = lazy(text.encode())
    marks = Marks(context)
    marks.cell_began("print(grep('number 17'))")
    hits = context.grep(r"number 777\d$")
    rows = unpack_ranges(marks.printed(repr(hits)) or b"")
    lines = [m.span() for m in re.finditer(r"^.*number 777\d\n", text, re.MULTILINE)]
    assert len(lines) > 3
    assert characters(rows) >= {p for a, b in lines for p in range(a, b)}
    assert len(characters(rows)) <= sum(b - a for a, b in lines) + len(lines)


@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_lines_kept_from_a_long_pass_are_known_by_their_places(end: str) -> None:
    lines = [f"{n:07d} said {n * 7919 % 1_000_003} to nobody at all" for n in range(120_000)]
    data = end.join(lines).encode()
    context = lazy(data)
    context._blocks._size = 1 << 20
    kept = [line for line in context.lines() if line[3:7] == "0007"]
    assert len(kept) == 12
    marks = file_marks.FileMarks(HANDED)
    found, late = marks.find("\n".join(kept), 0.0)  # no time to look for anything
    assert late < 100
    assert [data[first:last].decode().strip() for _, _, _, first, last in found] == kept


def test_a_loop_that_ends_early_or_keeps_all_is_no_trouble() -> None:
    text = "".join(f"{n:07d} said {n * 7919 % 1_000_003} to nobody at all\n" for n in range(3_000))
    context = lazy(text.encode())
    context._blocks._size = 1 << 16
    for line in context.lines():
        if line.startswith("0000777"):
            break
    every = list(context.lines())
    assert len(HANDED.beginnings) < 100
    found, late = file_marks.FileMarks(HANDED).find(f"What is {line}? And {every[1234]}?", 60.0)
    assert late == 0
    assert {text[first:last].strip() for _, _, _, first, last in found} == {line, every[1234]}


def test_lines_of_a_file_object_are_found_in_the_last_cells_and_by_probes() -> None:
    text = "".join(f"{n:07d} said {n * 7919 % 1_000_003} to nobody at all\n" for n in range(120_000))
    context = lazy(text.encode())
    context._blocks._size = 1 << 20
    assert len(text) > file_marks.FULL * handed.CELL  # so the first lines are in cells that are only probed
    marks = Marks(context)
    marks.cell_began("kept = [line for line in context.lines() if line[:7] in wanted]")
    wanted = ("0000007", "0060000", "0119990")
    with context.open() as file:
        kept = [line.rstrip("\n") for line in file if line[:7] in wanted]
    found, late = file_marks.FileMarks(HANDED).find("\n".join(kept), 60.0)
    assert late == 0
    pieces = [text[first:last] for _, _, _, first, last in found]
    assert [any(line in piece for piece in pieces) for line in kept] == [True] * 3
    assert sum(map(len, pieces)) < sum(map(len, kept)) + 20  # characters that agree by chance


def test_what_code_says_is_looked_for_in_no_file() -> None:
    context = lazy(b"a line of the file that says so\n" * 3)
    _ = list(context.lines())
    marks = file_marks.FileMarks(HANDED)
    marks.cell_began("llm_query(f'''Read part {i} of 9 and say\\nwhat it is about:\n{c}''')")
    found, late = marks.find("Read part 3 of 9 and say", 0.0)
    assert (found, late) == ([], 0)
    assert marks.find("that is not in the code at all", 0.0)[1] > 0


def test_sizes_of_packed_files_and_files_that_are_no_text_are_told_once_they_are_known() -> None:
    import gzip

    packed = gzip.compress(b"one line\n" * 50)
    files = Files("x", loaded={"a.gz": Memory(packed, "a.gz"), "b": Memory(b"\0\1" * 90, "b")}, first=4)
    marks = Marks(files)
    marks.cell_began("")
    assert unpack_ranges(marks.printed("nothing of it") or b"") == []
    assert files.grep("nowhere") == []
    rows = unpack_ranges(marks.prompts([]) or b"")
    assert sorted(rows) == [(MEASURED, 4, 450, 0), (MEASURED, 5, NO_TEXT, 0)]
    assert marks.prompts([]) == b""


def test_children_are_given_parts_of_files_or_texts_out_of_them() -> None:
    text = "".join(f"Zeile {n} sagt für sich: {n * n}\n" for n in range(50))
    data = text.encode()
    context = lazy(data)
    context._entry = ("source", 0)
    marks = Marks(context)
    marks.cell_began("")
    whole, part, piece = unpack_ranges(marks.children([context]) or b"", 6), [], context[100:400]
    assert whole == [(0, ALL, 0, ALL, 0, 0)]
    rows = unpack_ranges(marks.children(["nothing", piece]) or b"", 6)
    first = len(text[:100].encode())
    read = {place for row in rows for place in range(row[4], row[5])}
    assert read == set(range(first, len(text[:400].encode())))
    assert {row[0] for row in rows} == {1}
    for _, of, at, number, start, end in rows:  # each character lies beside its bytes
        assert (of, number) == (0, 0)
        there = data[start:end].decode(errors="ignore")
        assert there in piece[at : at + (end - start)]
    assert not part


def test_another_encoding_and_utf16() -> None:
    text = "".join(f"Größe {n}: {n * n} m² und mehr davon\n" for n in range(40))
    for encoding, told in (("latin-1", "latin-1"), ("utf-16", None)):
        forget()
        data = text.encode(encoding)
        context = lazy(data, encoding=told)
        marks = Marks(context)
        marks.cell_began("")
        start, end = text.index("Größe 7"), text.index("Größe 9")
        ((_, part, first, last),) = unpack_ranges(marks.prompts([f"x {context[start:end]} y"]) or b"")
        assert part == 0
        assert (
            data[first:last].decode("utf-16-le" if told is None else told).strip() == text[start:end].strip()
        )


def test_memory_is_bounded_and_what_is_forgotten_is_not_denied(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(handed, "MOST_CELLS", 3)
    monkeypatch.setattr(handed, "MOST_PIECES", 5)
    store = Handed()
    data = b"".join(b"%07d words of a line of this text\n" % n for n in range(60_000))
    blocks = Blocks(Memory(data), number=0)
    assert blocks.take(0, 7) == "0000000"
    for start in range(0, len(data) - 100, 50_000):
        store.piece(blocks, start, start + 90, data[start : start + 90].decode())
    assert len(store.cells) == 3
    assert store.lost
    assert len(store._order) == 5
    marks = file_marks.FileMarks(store)
    assert marks.find(data[100:160].decode())[1] > 0  # it may have been there
    assert marks.find(data[-300_000:-299_900].decode())[0]


def test_texts_that_are_no_part_of_the_context_are_not_traced() -> None:
    other = lazy(b"a text of another file, of no account\n", number=None)
    assert other[:20]
    assert list(other.lines())
    assert not HANDED.cells
    assert Marks(other).prompts(["anything"]) is None
