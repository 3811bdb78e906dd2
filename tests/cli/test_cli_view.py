"""The view, the lines and the live region: pure functions of the events."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import reduce

import pytest
from rich.cells import cell_len
from rich.console import Console

from unspool import events as ev
from unspool.cli.report import Line, lines
from unspool.cli.screen import screen
from unspool.cli.view import View, fold
from unspool.types import CellError, CellOutcome, FailedCall, Usage

USAGE = Usage(calls=1, input_tokens=1000, output_tokens=20)


def started(sub_model: str = "p:big") -> ev.Event:
    return ev.RunStarted(
        time=100.0,
        run="r1",
        query="q",
        model="p:big",
        sub_model=sub_model,
        profile="frontier",
        context="a str",
        settings={"max_turns": 20},
    )


def replied(cost: float | None = 0.5, node: str = "0") -> ev.Event:
    return ev.ModelReplied(
        node=node, turn=1, role="root", model="p:big", text="", thinking="", code=(), finish="stop",
        usage=USAGE, cost=cost, seconds=1.0, retries=0,
    )  # fmt: skip


def call_ended(number: int, error: FailedCall | None = None, cost: float | None = 0.001) -> ev.CallEnded:
    return ev.CallEnded(
        node="0", call=number, model="p:small", reply="yes" if error is None else None, error=error, finish="stop",
        usage=USAGE if error is None else Usage(), cost=cost if error is None else 0.0,
        seconds=0.1, retries=0,
    )  # fmt: skip


def cell_ended(
    outcome: CellOutcome = "ok", output: str = "2 hits\n", error: CellError | None = None, node: str = "0"
) -> ev.CellEnded:
    return ev.CellEnded(
        node=node, turn=1, cell=1, outcome=outcome, output=output, printed=len(output), omitted=0, error=error,
        notes=(), seconds=0.25, own_seconds=0.25,
    )  # fmt: skip


def run_ended(**change: object) -> ev.Event:
    values: dict[str, object] = {
        "run": "r1", "status": "answered", "reason": "submitted", "answer": "x", "draft": None, "usage": USAGE,
        "cost": 0.25, "ledger": (), "turns": 2, "sub_calls": 1, "seconds": 75.0,
    }  # fmt: skip
    return ev.RunEnded(**{**values, **change})  # type: ignore[arg-type]


TURN = ev.TurnStarted(node="0", turn=1)
CELL = ev.CellStarted(node="0", turn=1, cell=1, code="import re\nprint(len(context))\n")
BATCH = ev.BatchStarted(node="0", turn=1, cell=1, batch=1, size=4)


def viewed(events: Sequence[ev.Event]) -> View:
    return reduce(fold, events, View())


def told(events: Sequence[ev.Event], *, show_code: bool = False) -> list[Line]:
    """The lines that the last event adds."""
    return list(lines(viewed(events), events[-1], show_code=show_code))


def test_sub_calls_are_counted_of_all_in_the_cell_that_runs() -> None:
    single = ev.CallStarted(
        node="0", turn=1, cell=1, call=1, batch=None, index=0, role="sub", model="p:small", prompt="?"
    )
    view = viewed([started(), TURN, CELL, single, call_ended(1), cell_ended()])
    view = reduce(fold, [CELL, BATCH, call_ended(2), call_ended(3, FailedCall("timeout", "no reply"))], view)
    assert view.cell_calls == (2, 4, 1)
    assert (view.calls_done, view.calls_all) == (3, 5)


def test_what_a_resumed_run_asks_again_is_counted_once() -> None:
    cut = [call_ended(n, FailedCall("cancelled", "stopped")) for n in (2, 3)]
    lost = FailedCall("bad_request", "no")  # stays as it was, and is not told again
    first = [
        started(),
        TURN,
        CELL,
        BATCH,
        call_ended(1),
        *cut,
        call_ended(4, lost),
        run_ended(status="cancelled"),
    ]
    again = [ev.RunResumed(run="r1"), call_ended(2), call_ended(3)]
    view = viewed([*first, *again])
    assert view.cell_calls == (4, 4, 1)
    assert [line.text for line in lines(viewed(first), again[0], show_code=False)] == ["resumed"]


def test_what_failed_in_a_cell_that_ended_is_not_asked_again() -> None:
    late = call_ended(2, FailedCall("timeout", "no reply"))
    view = viewed([started(), TURN, CELL, BATCH, call_ended(1), late, cell_ended(), ev.RunResumed(run="r1")])
    assert view.cell_calls == (2, 4, 1)


def test_a_call_that_failed_leaves_the_cost_known_and_an_unknown_price_does_not() -> None:
    known = viewed(
        [started(), TURN, replied(), CELL, BATCH, call_ended(1), call_ended(2, FailedCall("server", "500"))]
    )
    assert known.cost == pytest.approx(0.501)
    assert known.usage.input_tokens == 2000
    assert fold(known, call_ended(3, cost=None)).cost is None


def test_a_reply_from_the_cache_costs_nothing_now() -> None:
    before = viewed([started(), TURN, replied(), CELL, BATCH])
    after = fold(before, replace(call_ended(1), cached=True))
    assert (after.cost, after.usage) == (before.cost, before.usage)
    assert after.calls_done == 1


def test_a_child_does_not_disturb_what_is_shown_of_the_root() -> None:
    child = [
        ev.NodeStarted(node="0.1", parent="0", depth=1, query="q", context="c"),
        ev.TurnStarted(node="0.1", turn=7),
        replied(node="0.1"),
        ev.CellStarted(node="0.1", turn=7, cell=1, code="other"),
        cell_ended(node="0.1", output="other"),
    ]
    view = viewed(
        [
            started(),
            ev.NodeStarted(node="0", parent=None, depth=0, query="q", context="c"),
            TURN,
            CELL,
            *child,
        ]
    )
    assert (view.turn, view.code, view.output, view.nodes) == (1, CELL.code, "", 2)
    assert view.usage.input_tokens == 1000


def test_one_line_tells_of_a_cell_and_its_sub_calls() -> None:
    events = [started(), TURN, CELL, BATCH, *(call_ended(n) for n in range(1, 4))]
    events += [call_ended(4, FailedCall("timeout", "no reply")), cell_ended()]
    assert told(events) == [
        Line("note", "turn 1: 2 lines of code, 250 ms, 7 characters printed, 4 sub-calls, 1 failed")
    ]


def test_code_and_output_are_told_when_wanted() -> None:
    assert told([started(), TURN, CELL]) == []
    assert told([started(), TURN, CELL], show_code=True) == [
        Line("head", "turn 1: code"),
        Line("code", "import re\nprint(len(context))"),
    ]
    assert told([started(), TURN, CELL, cell_ended()], show_code=True)[:2] == [
        Line("head", "turn 1: output"),
        Line("output", "2 hits"),
    ]


def test_an_error_in_a_cell_names_the_line() -> None:
    error = CellError("NameError", "name 'x' is not\n defined", "Traceback ...", 3)
    assert told([TURN, CELL, cell_ended("error", "", error)])[-1] == Line(
        "error", "turn 1: NameError: name 'x' is not defined (line 3)"
    )


def test_a_refused_answer_is_told_once() -> None:
    refused = ev.AnswerRefused(node="0", turn=1, cell=1, value=1, reason="nothing has been\nprinted yet")
    assert told([TURN, CELL, refused]) == [
        Line("note", "turn 1: answer refused: nothing has been printed yet")
    ]
    error = CellError("AnswerRefused", "nothing has been printed yet", "Traceback ...", 1)
    assert [line.kind for line in told([TURN, CELL, refused, cell_ended("error", "", error)])] == ["note"]


def test_what_the_engine_looks_at_before_the_first_turn_is_called_so() -> None:
    before = [
        ev.TurnStarted(node="0", turn=0),
        ev.CellStarted(node="0", turn=0, cell=1, code="look()"),
        replace(cell_ended(), turn=0),
    ]
    assert told([started(), *before])[0].text.startswith("first look: 1 line of code")
    assert "turn" not in rows(viewed([started(), *before]), width=80)[0]


@pytest.mark.parametrize(
    ("outcome", "words"),
    [("interrupted", "variables kept"), ("rolled_back", "undone"), ("restarted", "began anew")],
)
def test_a_cell_that_was_stopped_says_what_became_of_it(outcome: CellOutcome, words: str) -> None:
    assert words in told([TURN, CELL, cell_ended(outcome)])[0].text


def test_the_end_tells_what_was_spent_and_unknown_is_unknown() -> None:
    assert told([run_ended()]) == [
        Line("good", "answered in 1 min 15 s: 2 turns, 1 sub-call, 1,000 tokens in, 20 out, $0.2500")
    ]
    unknown = told([run_ended(cost=None, usage=Usage(calls=1, calls_unmeasured=1))])[0].text
    assert unknown.endswith("tokens unknown, cost unknown")
    partly = told([run_ended(usage=USAGE + Usage(calls=1, calls_unmeasured=1))])[0].text
    assert "at least 1,000 tokens in" in partly


def test_a_draft_is_called_a_draft() -> None:
    texts = [
        line.text
        for line in told([run_ended(status="budget", reason="all turns are used", draft="variable result")])
    ]
    assert texts[0] == "budget: all turns are used"
    assert texts[1] == "the answer is a draft: variable result"


def rows(
    view: View, *, width: int, height: int = 24, unicode: bool = True, with_code: bool = True
) -> list[str]:
    console = Console(width=width, height=height, color_system=None, file=None, legacy_windows=False)
    shown = screen(view, now=112.0, width=width, height=height, unicode=unicode, with_code=with_code)
    return ["".join(s.text for s in row).rstrip() for row in console.render_lines(shown, pad=False)]


LONG_CODE = ev.CellStarted(
    node="0", turn=1, cell=1, code="\n".join(f"line_{n} = '世界' * {n}  # {'x' * 90}" for n in range(60))
)
BUSY = [started(), TURN, replied(None), LONG_CODE, BATCH, call_ended(1)]


@pytest.mark.parametrize("width", [12, 40, 80, 200])
@pytest.mark.parametrize("height", [8, 24, 60])
def test_the_live_region_fits_any_terminal(width: int, height: int) -> None:
    view = viewed([*BUSY[:4], cell_ended(output="much\n" * 500), *BUSY[3:]])
    shown = rows(view, width=width, height=height)
    assert max(cell_len(row) for row in shown) < width
    assert len(shown) <= max(8, height // 2)


def test_the_live_region_tells_how_things_stand() -> None:
    busy = [replace(each, time=109.0) if isinstance(each, ev.CellStarted) else each for each in BUSY]
    shown = rows(viewed(busy), width=80)
    assert "turn 1 of 20 · running code, 3 s · 12 s in all" in shown[0]
    assert "1 of 4 sub-calls" in shown[-2]
    assert shown[-1] == "2,000 tokens in, 40 out · cost unknown"


def test_the_live_region_has_the_children_that_are_at_work() -> None:
    def child(name: str) -> list[ev.Event]:
        parent, depth = name.rpartition(".")[0], name.count(".")
        start = ev.NodeStarted(
            node=name, parent=parent, depth=depth, query=f"Part {name}\x1b[2J?", context=""
        )
        return [start, ev.TurnStarted(node=name, turn=1)]

    root = ev.NodeStarted(node="0", parent=None, depth=0, query="?", context="")
    batch = ev.BatchStarted(node="0.1", turn=1, cell=1, batch=1, size=16)
    events = [started(), root, TURN, CELL, *child("0.1"), batch, *child("0.1.1"), *child("0.2")]
    shown = [row for row in rows(viewed(events), width=80, height=40) if "0." in row]
    assert [row[:14].rstrip() for row in shown] == ["├─ 0.1  turn 1", "│  └─ 0.1.1  t", "└─ 0.2  turn 1"]
    assert "0 of 16 sub-calls" in shown[0]
    assert "Part 0.2\\x1b[2J?" in shown[2]
    ended = ev.NodeEnded(node="0.1.1", status="answered", reason="")
    assert not any("0.1.1" in row for row in rows(viewed([*events, ended]), width=80, height=40))
    branches = [*child("0.1"), *child("0@2"), *child("0@2.1")]
    shown = rows(viewed([started(), root, TURN, CELL, *branches]), width=80, height=40)
    assert [row[:14].rstrip() for row in shown if "Part" in row] == [
        "└─ 0.1  turn 1",
        "branch 2  turn",
        "└─ 0@2.1  turn",
    ]
    many = [event for number in range(1, 500) for event in child(f"0.{number}")]
    region = rows(viewed([started(), root, TURN, CELL, *many]), width=40, height=24)
    assert len(region) <= 12
    assert any("more children at work" in row for row in region)


def test_a_terminal_without_unicode_gets_ascii() -> None:
    view = viewed([started(), TURN, CELL, BATCH, call_ended(1), cell_ended()])
    assert all(row.isascii() for row in rows(view, width=60, unicode=False))


def test_escape_sequences_never_reach_the_live_region() -> None:
    evil = ev.CellStarted(node="0", turn=1, cell=1, code="print('\x1b]0;owned\x07')")
    shown = "\n".join(rows(viewed([started(), TURN, evil, cell_ended(output="\x1b[2J")]), width=80))
    assert "\x1b" not in shown
    assert "\\x1b]0;owned\\x07" in shown


def delta(text: str, *, fresh: bool = False, thinking: str = "", node: str = "0") -> ev.Event:
    return ev.ModelDelta(node=node, turn=1, text=text, thinking=thinking, fresh=fresh)


def test_a_reply_is_shown_while_it_is_written_and_gone_when_it_is_done() -> None:
    writing = [started(), TURN, CELL, cell_ended(), delta("", thinking="hm. ", fresh=True), delta("I look"),
               delta(" first.\nThen"), delta("other", node="0.1")]  # fmt: skip
    shown = rows(viewed(writing), width=80)
    assert "the model writes" in shown[0]
    assert shown[1:3] == ["│ hm. I look first.", "│ Then"]
    assert not any("import re" in row for row in shown)
    assert viewed([*writing, delta("Again", fresh=True)]).reply == "Again"
    assert viewed([*writing, replied()]).reply == ""
    assert told(writing) == []


def test_a_long_reply_shows_its_end_and_is_not_kept_whole() -> None:
    events = [started(), TURN, delta("x" * 50_000 + "\n" + "\n".join(map(str, range(500))))]
    view = viewed(events)
    assert len(view.reply) <= 8_000
    shown = rows(view, width=40, height=24)
    assert len(shown) <= 12
    assert shown[-1] == "│ 499"


def test_escape_sequences_in_a_reply_never_reach_the_live_region() -> None:
    shown = "\n".join(rows(viewed([started(), TURN, delta("\x1b[2J\x07", fresh=True)]), width=80))
    assert "\x1b" not in shown


def test_what_waits_for_the_sandbox_is_not_told_as_the_models() -> None:
    turn = [
        ev.TurnStarted(time=101.0, node="0", turn=1),
        ev.ModelDelta(node="0", turn=1, text="hm", thinking="", fresh=False),
    ]
    began = ev.CellStarted(time=105.0, node="0", turn=1, cell=1, code="1")
    view = reduce(fold, [started(), *turn, replied()], View())
    assert view.phase == "the sandbox starts"
    view = reduce(fold, [began, cell_ended(), ev.TurnStarted(node="0", turn=2), replied()], view)
    assert view.phase == "asking the model"  # it has started: no cell waits for it again


def test_a_child_whose_sandbox_starts_is_told_so() -> None:
    node = ev.NodeStarted(node="0.1", parent="0", depth=1, query="q", context="")
    view = reduce(fold, [started(), node, ev.TurnStarted(node="0.1", turn=1), replied(node="0.1")], View())
    assert view.children["0.1"].phase == "the sandbox starts"


def test_what_a_run_took_is_told_beside_what_its_step_takes_and_not_while_it_lay_still() -> None:
    begun = replace(started(), time=10.0)
    asks = replace(TURN, time=12.0)
    view = viewed([begun, asks])
    assert "asking the model, 100 s · 102 s in all" in rows(view, width=80)[0]
    view = viewed([begun, asks, ev.RunResumed(run="r1", time=72.0), replace(asks, turn=2, time=107.0)])
    assert "asking the model, 5 s · 42 s in all" in rows(view, width=80)[0]
