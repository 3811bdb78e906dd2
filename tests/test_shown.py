"""How a run shows itself: in one line, in a notebook, and as a tree to walk."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import pytest

from unspool import Run
from unspool.types import Node

from . import stories

BAD = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\ud800-\udfff]")


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Run:
    return stories.with_children(tmp_path_factory.mktemp("runs"))


def test_the_repr_is_one_short_line(run: Run) -> None:
    assert re.fullmatch(
        r"<Run [\w-]+ answered \{'spam': 400\} \| 3 turns, 4 sub-calls, \$0\.0053, [\d.]+ s>", repr(run)
    )
    assert repr(run.trace).startswith(
        "<Node 0 answered: How much spam is in these mails? | 3 turns, 2 children"
    )
    stopped = replace(run, status="budget", reason="the turns are used up", draft="variable x", cost=None)
    assert "budget: the turns are used up, draft {'spam': 400}" in repr(stopped)
    assert "cost unknown" in repr(stopped)
    assert len(repr(replace(run, answer="x" * 10**6))) < 400


def test_a_notebook_shows_it_escaped_and_bounded(run: Run, tmp_path: Path) -> None:
    page = run._repr_html_()
    assert "<b>How much spam is in these mails?</b>" in page
    assert "{&#x27;spam&#x27;: 400}" in page
    assert page.count("<tr>") == 4
    evil = stories.hostile(tmp_path)
    page = evil._repr_html_()
    assert "<script" not in page
    assert "&lt;script&gt;" in page
    assert not BAD.search(page)
    children = tuple(replace(run.trace, id=f"0.{n}", children=()) for n in range(5000))
    huge = replace(
        run, answer="<" * 10**7, trace=replace(run.trace, children=children), notes=("n" * 10**6,) * 999
    )
    assert len(huge._repr_html_()) < 100_000


def test_the_trace_can_be_walked(run: Run) -> None:
    assert [node.id for node in run.trace.walk()] == ["0", "0.1", "0.2"]
    child = run.trace.find("0.2")
    assert child is not None
    assert run.trace.find("1") is None
    assert (child.answer, child.cell, child.parent) == (400, 3, "0")
    assert [call.index for call in run.trace.calls()] == [0, 1, 2, 3]
    assert [turn.model for turn in run.trace.turns] == ["scripted:model"] * 3
    usage, cost = run.trace.spent()
    assert (usage, cost) == (run.usage, pytest.approx(run.cost))
    for node in run.trace.walk():
        assert node.started is not None
        assert node.ended is not None
        last = node.started
        for turn in node.turns:
            assert turn.started is not None
            assert turn.ended is not None
            assert last <= turn.started <= turn.ended <= node.ended
            last = turn.ended


def test_what_a_node_that_goes_on_has_spent_is_summed_from_its_calls(run: Run) -> None:
    def going(node: Node) -> Node:
        return replace(node, ended=None, ledger=(), children=tuple(going(child) for child in node.children))

    assert going(run.trace).spent()[0].input_tokens == run.usage.input_tokens
    assert going(run.trace).spent()[1] == pytest.approx(run.cost)
