"""Quotes: found to the character or flagged, for the model and in the result."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from unspool import RLM
from unspool.citations import quoted
from unspool.reach.cite import cite
from unspool.reading import Citation
from unspool.testing import MemoryStore, ScriptedModel

from .helpers import play, py, shown

TEXT = "The first letter came on Monday.\nNobody read it.\nThe second letter, from Zoë, came in May.\n"


def test_a_quote_has_its_place() -> None:
    run, model = play(
        [py("c = cite('letter, from Zoë')\nprint(c, c.offset, c.line)"), py("submit(c.line)")], TEXT
    )
    assert run.answer == 3
    assert "'letter, from Zoë' (line 3)" in shown(model, 1)
    offset = TEXT.index("letter, from")
    assert run.citations == (Citation("letter, from Zoë", None, offset, 3, True, True),)


def test_a_quote_that_is_not_there_is_flagged_to_the_model_and_in_the_result() -> None:
    run, model = play([py("print(bool(cite('The second letter from Zoë, came')))"), py("submit('?')")], TEXT)
    told = shown(model, 1)
    assert "False" in told
    assert "not in the context, word for word" in told
    assert "nearest is line 3: 'The second letter, from Zoë, came in May.'" in told
    assert run.citations == (Citation("The second letter from Zoë, came", None, None, None, False, True),)


def test_parts_are_named() -> None:
    pages = {"a.txt": "nothing here\n", "b.txt": TEXT}
    run, model = play([py("print(cite('Nobody read it.'))"), py("submit(1)")], pages)
    assert "(b.txt, line 2)" in shown(model, 1)
    assert run.citations == (Citation("Nobody read it.", "b.txt", 33, 2, True, True),)
    run, _ = play([py("cite('Nobody read it.')\nprint(1)"), py("submit(1)")], ["x", TEXT])
    assert run.citations[0].source == "1"


def test_quotes_of_many_lines_and_odd_characters_are_found_as_they_are() -> None:
    text = "\ufeffa\r\nb \U0001f600 c\r\n\ud800 d\n"
    code = "print(cite('a\\r\\nb \\U0001f600').line, cite('\\ud800 d').line, bool(cite('a\\nb')))"
    run, model = play([py(code), py("submit(1)")], text)
    assert "1 3 False" in shown(model, 1)
    assert [c.found for c in run.citations] == [True, True, False]


@settings(max_examples=200, deadline=None)
@given(st.text(), st.text(alphabet="ab\n", min_size=1), st.text())
def test_places_are_those_of_find(before: str, quote: str, after: str) -> None:
    text = before + quote + after
    place = cite(quote, text)
    assert place.offset == text.find(quote)
    assert place.line == text.count("\n", 0, place.offset) + 1


def test_a_value_of_cite_may_be_in_an_answer() -> None:
    run, _ = play([py("c = cite('Nobody')\nprint(c)\nsubmit({'where': c, 'line': c.line})")], TEXT)
    assert isinstance(run.answer, dict)
    assert run.answer["line"] == 2
    assert run.answer["where"]["quote"] == "Nobody"


def test_a_false_claim_of_a_repl_is_not_believed() -> None:
    lie = "llm_query.__self__._repl.calls.call('cite', ({quote}, {part}, {offset}, {line}, None, None), {{}})"
    claims = [
        lie.format(quote="'no such words'", part=0, offset=4, line=1),
        lie.format(quote="'Nobody'", part=0, offset=33, line=99),
        lie.format(quote="'Nobody'", part=5, offset=33, line=2),
        lie.format(quote="'Nobody'", part=0.5, offset=33, line=2),
        lie.format(quote="['Nobody']", part=0, offset=33, line=2),
        lie.format(quote="'Nobody'", part=0, offset=-1, line=2),
        lie.format(quote="'x' * 10**6", part=0, offset=1, line=2),
        lie.format(quote="'also not there'", part=0, offset=None, line=None),
        lie.format(quote="'letter'", part=0, offset=None, line=None),
    ]
    run, _ = play([py("\n".join(claims) + "\nprint(1)"), py("submit(1)")], TEXT)
    assert run.status == "answered"
    told = [(c.quote, c.offset, c.line, c.found, c.verified) for c in run.citations]
    assert told == [
        ("no such words", None, None, False, False),
        ("Nobody", 33, 2, True, True),
        ("also not there", None, None, False, True),
        ("letter", 10, 1, True, True),
    ]


def test_files_are_cited_by_path_and_line(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("nothing here\n", "utf-8")
    (tmp_path / "b.txt").write_text(TEXT, "utf-8")
    run, model = play([py("print(cite('Nobody read'), cite('not there'))"), py("submit(1)")], tmp_path)
    assert "b.txt, line 2" in shown(model, 1)
    first, second = run.citations
    assert (first.source, first.offset, first.line, first.found) == ("b.txt", 33, 2, True)
    assert (first.verified, second.found, second.verified) == (None, False, None)
    assert (first.place, second.place) == ((1, 33, 33 + len("Nobody read")), None)
    run, _ = play([py("print(cite('from Zoë').line)"), py("submit(1)")], tmp_path / "b.txt")
    assert [(c.source, c.offset, c.line) for c in run.citations] == [(None, TEXT.index("from Zoë"), 3)]
    at = TEXT.encode().index("from Zoë".encode())
    assert [c.place for c in run.citations] == [(0, at, at + len("from Zoë".encode()))]


@pytest.mark.parametrize(
    "place", ["(0, 5, 2)", "(0, -1, 2)", "(0, 1)", "'abc'", "(0, 1.5, 2)", "7", "(0, 1, 1 << 70)"]
)
def test_a_place_that_is_none_is_not_kept(tmp_path: Path, place: str) -> None:
    (tmp_path / "a.txt").write_text(TEXT, "utf-8")
    lie = f"llm_query.__self__._repl.calls.call('cite', ('Nobody', 0, 33, 2, None, {place}), {{}})"
    run, _ = play([py(f"{lie}\nprint(1)"), py("submit(1)")], tmp_path / "a.txt")
    assert [(c.quote, c.offset, c.place) for c in run.citations] == [("Nobody", 33, None)]


def test_an_input_without_text_has_no_passages() -> None:
    run, model = play([py("cite('words')"), py("submit(1)")], [1, 2])
    assert "TypeError: cite finds passages of text; the context is a list" in shown(model, 1)
    assert run.citations == ()


@pytest.mark.parametrize("argument", ["", "''", "7", "None"])
def test_what_is_no_quote_is_refused(argument: str) -> None:
    run, model = play([py(f"cite({argument})"), py("submit(1)")], TEXT)
    assert "TypeError" in shown(model, 1)
    assert run.citations == ()


def test_quotes_in_an_answer_are_looked_for() -> None:
    answer = 'They wrote “The first letter came on Monday.” and "a letter that nobody wrote" and "May".'
    run, _ = play([py("print(context[:9])"), py(f"submit({answer!r})")], TEXT)
    assert [(c.quote, c.found, c.line, c.via) for c in run.citations] == [
        ("The first letter came on Monday.", True, 1, "answer"),
        ("a letter that nobody wrote", False, None, "answer"),
    ]


def test_words_of_the_question_are_no_quotes_of_the_input() -> None:
    query = 'Does anybody say "a letter that nobody wrote"?'
    run, _ = play(
        [py("print(1)"), py("submit('Nobody says \"a letter that nobody wrote\".')")], TEXT, query=query
    )
    assert run.citations == ()
    assert quoted(7) == []


def test_a_resumed_run_has_the_same_citations() -> None:
    turns = [py("a = cite('Nobody')\nprint(a)"), py("b = cite('nothing like it')\nprint(b)"), py("submit(1)")]

    def engine(store: MemoryStore) -> RLM:
        model = ScriptedModel(lambda messages: turns[sum(m.role == "assistant" for m in messages)])
        return RLM(model, sub_model=ScriptedModel(["ok"]), store=store)

    store = MemoryStore()
    whole = engine(store).run("q", TEXT)
    events = store.read(whole.id)
    for cut in range(3, len(events)):
        half = MemoryStore()
        half.open(whole.id)
        for event in events[:cut]:
            half.append(whole.id, event)
        again = engine(half).resume(whole.id, TEXT)
        assert again.citations == whole.citations, cut
        assert len([e for e in half.read(whole.id) if e.kind == "citation"]) == 2, cut
