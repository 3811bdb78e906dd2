"""``auto``: what is decided, that it is told, and that it costs nothing."""

from __future__ import annotations

import gzip
import json
import re
import zipfile
from importlib.resources import files
from pathlib import Path
from typing import get_args

import pytest

from tests.contexts.documents import docx, paragraph
from unspool import RLM, Contexts
from unspool.events import StrategyChosen
from unspool.strategies import names
from unspool.strategies.questions import QuestionKind, kind_of
from unspool.testing import MemoryStore, ScriptedModel

from .helpers import by

LINE = "the quick brown fox ran over the hill and into the den\n"


def chosen(
    context: object, query: str, window: int | None = 100_000, profile: str = "frontier"
) -> StrategyChosen:
    store = MemoryStore()
    model = ScriptedModel(lambda messages: "no", window=window, profile=profile)
    run = RLM(model, strategy="auto", store=store, max_turns=1).run(query, context)
    (event,) = (event for event in store.read(run.id) if isinstance(event, StrategyChosen))
    assert run.strategy == event.strategy
    return event


def test_what_is_small_is_answered_at_once() -> None:
    event = chosen(LINE * 100, "Where did the fox run?")
    assert event.strategy == "direct"
    assert event.window == 100_000
    assert event.size is not None
    assert 1_000 < event.size < 2_500
    assert "as good up to 64,000 (assumed)" in event.reason


@pytest.mark.parametrize(
    ("query", "strategy"),
    [
        ("Where did the fox run?", "rlm"),
        ("How many foxes ran?", "rlm"),
        ("Summarise the text.", "map_reduce"),
    ],
)
def test_what_does_not_fit_goes_by_the_question(query: str, strategy: str) -> None:
    event = chosen(LINE * 4_000, query, window=20_000)
    assert event.strategy == strategy
    told = re.search(
        r"tokens: more than (6,\d+), which is 50% of the (1\d,\d+) or so that fit into a prompt beside the rest "
        r"of it and the reply \(the window has 20,000 tokens\)$",
        event.reason,
    )
    assert told is not None
    most, fitting = (int(number.replace(",", "")) for number in told.groups())
    assert most == fitting // 2  # the arithmetic is there to be seen


def test_a_window_that_is_not_known_is_told_as_such() -> None:
    event = chosen(LINE * 40_000, "How many foxes ran?", window=None)
    assert "(the window has 128,000 tokens, which is assumed)" in event.reason


def test_a_count_needs_a_program_earlier_than_a_needle() -> None:
    text = LINE * 2_000  # some 26,000 tokens
    assert chosen(text, "Where did the fox run?").strategy == "direct"
    assert chosen(text, "How many foxes ran?").strategy == "rlm"


def test_a_small_model_needs_one_earlier_still() -> None:
    text = LINE * 500
    assert chosen(text, "Where did the fox run?").strategy == "direct"
    assert chosen(text, "Where did the fox run?", profile="small").strategy == "rlm"


def test_what_is_no_text_goes_to_code(tmp_path: Path) -> None:
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame({"a": [1, 2]})
    (tmp_path / "a.txt.gz").write_bytes(b"\x1f\x8b")
    for context in (frame, {"table": frame}, b"bytes"):
        event = chosen(context, "What is there?")
        assert (event.strategy, event.size) == ("rlm", None)


def test_collections_and_files_have_sizes(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text(LINE * 100)
    for context in (
        [LINE] * 100,
        {"a": LINE * 100},
        Contexts(logs=LINE * 100),
        [{"n": 1, "text": LINE}] * 100,
        tmp_path / "a.txt",
        tmp_path,
    ):
        event = chosen(context, "Where did the fox run?")
        assert event.strategy == "direct"
        assert event.size is not None
        assert 1_000 < event.size < 5_000
    (tmp_path / "b.txt").write_text(LINE * 40_000)
    assert chosen(tmp_path / "b.txt", "Where did the fox run?").strategy == "rlm"


def test_documents_and_what_is_packed_have_the_size_of_their_text(tmp_path: Path) -> None:
    (tmp_path / "a.docx").write_bytes(docx("".join(paragraph(LINE[:-1]) for _ in range(20))))
    (tmp_path / "a.txt.gz").write_bytes(gzip.compress((LINE * 20).encode()))
    with zipfile.ZipFile(tmp_path / "a.zip", "w") as archive:
        archive.writestr("a.txt", LINE * 20)
        archive.writestr("a.png", b"\x89PNG\r\n\x1a\n")
    for name in ("a.docx", "a.txt.gz", "a.zip"):
        event = chosen(tmp_path / name, "Where did the fox run?")
        assert event.strategy == "direct", event.reason
        assert event.size is not None
        assert 250 <= event.size < 300


def test_why_code_looks_at_it_is_said_as_it_is(tmp_path: Path) -> None:
    (tmp_path / "a.docx").write_bytes(docx(paragraph(LINE[:-1]) * 30_000))
    event = chosen(tmp_path / "a.docx", "Where did the fox run?")
    assert (event.strategy, event.size) == ("rlm", None)
    assert event.reason == "the size of its text is not known before it is read: code looks at it"
    assert chosen(b"bytes", "What is there?").reason == "the input is not text: code looks at it"


def test_it_asks_no_model() -> None:
    _, model = by("auto", ["Answer: x"], LINE)
    assert len(model.requests) == 1


def test_a_named_strategy_is_not_chosen() -> None:
    store = MemoryStore()
    run = RLM(ScriptedModel(["Answer: x"]), store=store).run("q", "c", strategy="direct")
    assert not [event for event in store.read(run.id) if isinstance(event, StrategyChosen)]
    assert run.strategy == "direct"


def test_every_limit_says_where_it_comes_from() -> None:
    table = json.loads(files("unspool.strategies").joinpath("measured.json").read_text())
    facts = [table["comfortable"], *(row[part] for row in table["rows"] for part in ("direct", "beyond"))]
    for fact in facts:
        assert fact["basis"] in ("assumed", "published", "measured")
        assert fact["basis"] == "assumed" or fact["source"]
    for profile in ("frontier", "small"):
        kinds = {row["kind"] for row in table["rows"] if row["profile"] == profile}
        assert kinds == set(get_args(QuestionKind))


@pytest.mark.parametrize(
    ("query", "kind"),
    [
        ("What is the magic number of the harbour?", "needle"),
        ("Which IP address had the most failed attempts?", "groups"),
        ("How many questions ask for a location?", "count"),
        ("For each user, how many messages did they send?", "groups"),
        ("Is the label spam more common than ham?", "groups"),
        ("List all the companies that are named.", "list"),
        ("Which variables have the value 7 in the end? List all of their names.", "list"),
        ("Translate the text into French.", "whole"),
        ("What is the capital of the country that Eve was born in?", "hop"),
        ("", "needle"),
        ("\0" * 10_000, "needle"),
    ],
)
def test_kinds_of_questions(query: str, kind: str) -> None:
    assert kind_of(query) == kind


def test_the_names() -> None:
    assert set(names()) == {
        "rlm", "no_subcalls", "direct", "codeact", "codeact_subcalls", "compaction", "retrieval", "map_reduce", "auto"
    }  # fmt: skip
