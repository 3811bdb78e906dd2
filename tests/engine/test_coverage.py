"""What was read of the input: told by the events, whoever read it, and the same after a resume."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from unspool import RLM, Run
from unspool.claims import is_about_all
from unspool.events import CallStarted, CellEnded, ContextMeasured, Event
from unspool.ground import Ground
from unspool.models.protocol import Message
from unspool.prompts import Profile, get_profile
from unspool.ranges import Spans, unread
from unspool.testing import MemoryStore, ScriptedModel
from unspool.trace import run_from_events

from . import helpers
from .helpers import py, shown

TEXT = "".join(f"{n * 7919 % 10007:05d} is what line {n} of this log says\n" for n in range(400))
ALL = "How many of the lines are errors?"
WHICH = "Which line says most of it?"


BARE = replace(get_profile("frontier"), head=0, tail=0)  # the description shows nothing of a text


def play(
    replies: Sequence[str],
    context: object,
    *,
    query: str = "What is there?",
    sub: ScriptedModel | None = None,
    profile: str | Profile = BARE,
    **settings: object,
) -> tuple[Run, ScriptedModel]:
    return helpers.play(replies, context, query=query, sub=sub, profile=profile, **settings)


def ok(messages: Sequence[Message]) -> str:
    return "ok"


def read(run: Run) -> list[tuple[int, int]]:
    (part,) = run.coverage.parts
    return [(start, end) for start, end, _ in part.read]


def test_sub_calls_prints_and_children_are_told_apart() -> None:
    child = py("print(context[100:400])\nsubmit('x')")
    replies = [
        py("llm_query_batched([f'Read: {c}' for c in chunks(context, 4000)[:2]])\nprint(context[9000:9500])"),
        py("rlm_query('a child', context[12000:16000])\nsubmit(1)"),
    ]

    def reply(messages: Sequence[Message]) -> str:
        if any("a child" in m.text and "The question" in m.text for m in messages):
            return child
        return replies[sum(m.role == "assistant" for m in messages)]

    run = RLM(ScriptedModel(reply), sub_model=ScriptedModel(ok), profile=BARE).run("q", TEXT)
    assert run.status == "answered"
    coverage = run.coverage
    assert coverage.size == len(TEXT)
    assert (coverage.unknown, coverage.unplaced) == (0, 0)
    assert coverage.by_sub_calls == pytest.approx(8000 / len(TEXT), abs=2 / len(TEXT))
    assert coverage.by_prints == pytest.approx(500 / len(TEXT), abs=3 / len(TEXT))
    assert coverage.by_children == pytest.approx(300 / len(TEXT), abs=3 / len(TEXT))
    assert coverage.read == pytest.approx(8800, abs=8)
    for wanted in ((0, 8000), (9000, 9500), (12100, 12400)):
        assert any(start <= wanted[0] and wanted[1] <= end + 1 for start, end in _joined(read(run)))
    gaps = run.coverage.parts[0].unread
    assert sum(b - a for a, b in gaps) == len(TEXT) - coverage.read


def _joined(ranges: Sequence[tuple[int, int]]) -> list[tuple[int, int]]:
    spans = Spans()
    spans.add((0, start, end) for start, end in ranges)
    return spans.union(0)


def test_what_is_read_twice_counts_twice_and_once_in_the_share() -> None:
    run, _ = play(
        [py("for _ in range(3):\n    llm_query('Read: ' + context[1000:2000])"), py("submit(1)")],
        TEXT,
        sub=ScriptedModel(ok),
    )
    (part,) = run.coverage.parts
    assert [times for _, _, times in part.read] == [3]
    assert run.coverage.read == pytest.approx(1000, abs=2)


def test_what_is_cut_from_the_output_was_not_read() -> None:
    run, _ = play([py("print(context)"), py("submit(1)")], TEXT)
    (cell, _) = (c for turn in run.trace.turns for c in turn.cells)
    assert cell.omitted > 0
    assert run.coverage.read == pytest.approx(len(TEXT) - cell.omitted, abs=4)
    (head, tail) = _joined(read(run))
    assert head[0] == 0
    assert tail[1] == len(TEXT)


def test_a_value_shown_at_the_end_of_a_cell_is_read() -> None:
    run, _ = play([py("context[500:900]"), py("grep('line 17 ')"), py("submit(1)")], TEXT)
    assert run.coverage.unknown == 0
    place = TEXT.index("line 17 ")
    assert any(a <= place < b for a, b in read(run))
    assert any(a <= 500 and b >= 899 for a, b in _joined(read(run)))


@pytest.mark.parametrize(
    "code", ["print(repr(context[2000:4000]))", "context[2000:4000]", "print([context[2000:4000]])"]
)
@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_a_repr_is_read_whatever_ends_its_lines(code: str, end: str) -> None:
    run, _ = play([py(code), py("submit(1)")], TEXT.replace("\n", end))
    ((start, stop),) = read(run)
    assert start <= 2000
    assert stop >= 4000
    assert stop - start < 2100


def test_items_of_a_list_and_pages_of_a_mapping() -> None:
    items = [f"question number {n}: what is {n} times {n} ?" for n in range(50)]
    run, _ = play(
        [py("classify(context[:40], ['easy', 'hard'])"), py("submit(1)")],
        items,
        sub=ScriptedModel(lambda messages: "easy"),
    )
    assert run.coverage.by_sub_calls == sum(map(len, items[:40])) / sum(map(len, items))
    assert [part.share for part in run.coverage.parts] == [1.0] * 40 + [0.0] * 10
    pages = {"a.txt": TEXT[:3000], "b.txt": TEXT[3000:6000]}
    run, _ = play([py("print(context['b.txt'][1000:1200])"), py("submit(1)")], pages)
    first, second = run.coverage.parts
    assert (first.name, first.share, second.name) == ("a.txt", 0.0, "b.txt")
    assert second.read[0][:2] == pytest.approx((1000, 1200), abs=2)


@pytest.mark.parametrize("context", [{"a": 1}, [1, 2], 7, [{"text": "a" * 50}]])
def test_an_input_that_is_no_text_is_unknown_not_unread(context: object) -> None:
    run, _ = play(
        [py("print(context)\nllm_query('what is that?')"), py("submit(1)")], context, sub=ScriptedModel(ok)
    )
    assert run.coverage.share is None
    assert run.coverage.parts == ()


def test_what_the_description_shows_was_read() -> None:
    run, _ = helpers.play([py("print(1)"), py("submit(1)")], TEXT)
    assert read(run) == [(0, 600), (len(TEXT) - 300, len(TEXT))]
    run, _ = helpers.play([py("print(1)"), py("submit(1)")], "short enough to be shown whole\n")
    assert run.coverage.share == 1.0


def test_code_that_reads_shows_a_model_nothing() -> None:
    run, _ = play([py("n = context.count('line')\nprint(n)"), py("submit(n)")], TEXT)
    assert run.coverage.share == 0.0
    assert run.coverage.unknown == 0


def test_what_a_cell_that_was_undone_has_shown_was_read() -> None:
    code = "print(context[2000:2600])\nllm_query(context[4000:4400])\nimport os; os.kill(os.getpid(), 9)"
    run, _ = play([py("x = 1"), py(code), py("submit(1)")], TEXT, sub=ScriptedModel(ok))
    assert [c.outcome for t in run.trace.turns for c in t.cells][1] == "rolled_back"
    assert run.coverage.read == pytest.approx(1000, abs=4)
    assert run.coverage.unknown == 0


def test_a_fallback_of_a_child_is_a_sub_call_on_its_context() -> None:
    run, _ = play(
        [py("rlm_query('Read this', context[:800])"), py("submit(1)")],
        TEXT,
        sub=ScriptedModel(ok),
        max_depth=0,
    )
    assert run.coverage.by_sub_calls == pytest.approx(800 / len(TEXT), abs=2 / len(TEXT))


# Resume, and events of others


def test_a_resumed_run_has_read_the_same() -> None:
    turns = [
        py("a = llm_query_batched([f'Read: {c}' for c in chunks(context, 3000)])"),
        py("print(context[300:900])\nllm_query(context[50:120])"),
        py("submit(len(a))"),
    ]

    def engine(store: MemoryStore) -> RLM:
        replies = ScriptedModel(lambda messages: turns[sum(m.role == "assistant" for m in messages)])
        return RLM(replies, sub_model=ScriptedModel(ok), store=store)

    store = MemoryStore()
    whole = engine(store).run("q", TEXT)
    events = store.read(whole.id)
    for cut in range(3, len(events), 3):
        half = MemoryStore()
        half.open(whole.id)
        for event in events[:cut]:
            half.append(whole.id, event)
        again = engine(half).resume(whole.id, TEXT)
        assert again.coverage == whole.coverage, cut


def test_events_of_before_there_was_coverage_tell_of_none() -> None:
    store = MemoryStore()
    run = RLM(
        ScriptedModel([py("print(context[:900])"), py("submit(1)")]), sub_model=ScriptedModel(ok), store=store
    ).run("q", TEXT)
    old = [event for event in store.read(run.id) if not isinstance(event, ContextMeasured)]
    assert run_from_events(old).coverage.share is None


# A REPL that lies


@settings(max_examples=300, deadline=None)
@given(st.one_of(st.binary(max_size=400), st.none(), st.integers(), st.text(), st.lists(st.floats())))
def test_whatever_a_repl_says_was_read_is_a_range_or_unknown(data: object) -> None:
    ground = Ground.of(["a" * 10, "b" * 20])
    for each in ground.read(data, 3):
        for part, start, end in each.ranges or ():
            assert 0 <= start < end <= (10, 20)[part]
    for stretch in ground.stretches(data, 1, 3) or ():
        assert 0 <= stretch[3] < stretch[4] <= (10, 20)[stretch[2]]


@pytest.mark.parametrize(
    "data",
    [
        "b'x' * 5",
        "struct.pack('<4q', 0, 0, 5, 10**9)",
        "struct.pack('<4q', 0, 7, 0, 1)",
        "struct.pack('<4q', 9, 0, 0, 1)",
        "struct.pack('<4q', 0, 0, -5, 1)",
        "struct.pack('<4q', 0, 0, 3, 3)",
        "struct.pack('<4q', 0, 0, 0, 9) * 1_000_000",
        "[[0, 0, 0.5, 1]]",
        "{'a': [1]}",
        "[[0, 0, 9]] * 100_000",
    ],
)
def test_ranges_that_are_none_change_nothing(data: str) -> None:
    code = (
        "import struct\ncall = llm_query.__self__._repl.calls.call\n"
        f"print(call('llm_query', ('a prompt',), {{'ranges': {data}}}))"
    )
    run, _ = play([py(code), py("submit(1)")], TEXT, sub=ScriptedModel(ok))
    assert run.status == "answered"
    assert [c.reply for t in run.trace.turns for cell in t.cells for c in cell.sub_calls] == ["ok"]
    assert (run.coverage.share, run.coverage.unknown) == (0.0, 1)


def test_a_repl_whose_tracing_is_broken_goes_on_with_all_unknown() -> None:
    code = "llm_query.__self__._repl.marks.context = None\nllm_query.__self__._repl.marks._is_text = False"
    run, _ = play([py(f"{code}\nprint('x' * 50)"), py("submit(1)")], TEXT)
    assert run.status == "answered"


# The journal


def test_events_keep_ranges_and_stay_small() -> None:
    store = MemoryStore()
    prompts = "[f'Read this and say what it is about: {c}' for c in chunks(context, 400)]"
    RLM(
        ScriptedModel([py(f"r = llm_query_batched({prompts})\nsubmit(len(r))")]),
        sub_model=ScriptedModel(ok),
        store=store,
    ).run("q", TEXT)
    (run,) = store.runs()
    events: list[Event] = list(store.read(run))
    calls = [event for event in events if isinstance(event, CallStarted)]
    assert [call.ranges is not None and len(call.ranges) for call in calls] == [1] * len(calls)
    (cell,) = (event for event in events if isinstance(event, CellEnded))
    assert cell.ranges == ()


# Told before an answer about all of it is taken

PART = "llm_query_batched([f'Judge: {c}' for c in chunks(context, 2000)[:6]])"


def test_a_model_that_passed_by_a_part_is_told_once() -> None:
    run, model = play([py(PART), py("submit(3)"), py("submit(3)")], TEXT, query=ALL, sub=ScriptedModel(ok))
    assert (run.answer, run.turns) == (3, 3)
    left = f"{(len(TEXT) - 12_000) / len(TEXT):.0%}"
    assert f"{left} of the input was never read by a sub-call or printed" in shown(model, 2)
    assert "context[1200" in shown(model, 2)


@pytest.mark.parametrize(
    ("query", "code"),
    [
        (WHICH.replace("most", "a lot"), PART),
        (ALL, "llm_query(context[:900])"),  # a choice, not an attempt at all
        (ALL, "import re\nerrors = re.findall('.*error.*', context)\n" + PART),
        (ALL, "lines = [x for x in context.splitlines() if 'error' in x]\n" + PART),
        (ALL, "llm_query_batched([f'Judge: {c}' for c in chunks(context, 2000)])"),
        (ALL, PART + "\nfor c in chunks(context, 2000)[6:]:\n    print(c)"),
    ],
)
def test_a_model_that_need_not_be_told_is_not(query: str, code: str) -> None:
    run, _ = play([py(code), py("submit(3)")], TEXT, query=query, sub=ScriptedModel(ok))
    assert (run.answer, run.turns) == (3, 2)


def test_the_small_profile_and_unknown_inputs_are_left_alone() -> None:
    run, _ = play([py(PART), py("submit(3)")], TEXT, query=ALL, sub=ScriptedModel(ok), profile="paper")
    assert run.turns == 2
    code = "llm_query_batched([str(x) for x in context[:60]])"
    run, _ = play(
        [py(code), py("submit(3)")], [{"n": n} for n in range(100)], query=ALL, sub=ScriptedModel(ok)
    )
    assert run.turns == 2


@pytest.mark.parametrize(
    "query", ["Summarize the letters", "How many men?", "Is there any error?", "list the names"]
)
def test_questions_about_all(query: str) -> None:
    assert is_about_all(query)


def test_gaps() -> None:
    assert unread([(2, 4), (6, 9)], 10) == [(0, 2), (4, 6), (9, 10)]
    assert unread([(0, 10)], 10) == []
    assert unread([], 0) == []
