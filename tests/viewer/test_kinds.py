"""Runs that ended in odd ways, or are odd in what they hold, as a person sees them; each place keeps to the rules."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from unspool import RLM, Budget, Run
from unspool.errors import ModelError
from unspool.testing import ScriptedModel

from .. import stories
from .conftest import Up, Window
from .test_accessible import faults

pytest.importorskip("playwright.sync_api")

View = Callable[..., Window]


@pytest.fixture(params=[(1600, "dark"), (400, "light")], ids=lambda p: f"{p[0]}-{p[1]}")
def view(
    browser: Any, make_up: Callable[[Path], Up], tmp_path: Path, request: pytest.FixtureRequest
) -> Iterator[View]:
    """Opens a place of a run of this folder."""
    width, scheme = request.param
    opened: list[tuple[Any, Window]] = []

    def open_(place: str) -> Window:
        context = browser.new_context(
            viewport={"width": width, "height": 900}, color_scheme=scheme, reduced_motion="reduce"
        )
        window = Window(context.new_page(), make_up(tmp_path).url)
        window.open(place)
        opened.append((context, window))
        return window

    yield open_
    for context, window in opened:
        assert faults(window.page) == []
        assert window.is_quiet()
        context.close()


def cut(runs: Path, run: Run, kind: str, number: int) -> int:
    """As if the process had been killed after the event of this kind, the first, second, …; how many sub-calls
    then wait for a reply."""
    file = runs / run.id / "events.jsonl"
    lines = file.read_bytes().splitlines(keepends=True)
    places = [at for at, line in enumerate(lines) if f'"kind":"{kind}"'.encode() in line]
    left = b"".join(lines[: places[number - 1] + 1])
    file.write_bytes(left)
    return left.count(b'"kind":"call.started"') - left.count(b'"kind":"call.ended"')


def test_a_run_that_failed_at_once_says_why_and_how_to_go_on(view: View, tmp_path: Path) -> None:
    run = RLM(ScriptedModel([ModelError("auth", "no such key")]), runs=tmp_path).run("What?", "a mail")
    window = view(f"/run/{run.id}")
    page = window.page
    page.get_by_text(
        f"to go on: rlm.resume('{run.id}') in Python, where the model scripted:model is"
    ).wait_for()
    page.get_by_text("Nothing was paid for.").wait_for()
    window.go(f"/run/{run.id}/node/0/turn/1")
    page.get_by_text("The model did not reply: the model scripted:model failed: no such key").wait_for()
    assert " yet" not in page.locator("body").inner_text()


def test_what_a_killed_run_waited_for_does_not_go_on(view: View, tmp_path: Path) -> None:
    run = stories.with_children(tmp_path)
    waiting = cut(tmp_path, run, "call.started", 3)
    assert waiting
    window = view(f"/run/{run.id}")
    page = window.page
    page.get_by_text("interrupted: the process that made it is gone").wait_for()
    assert page.locator("[aria-label='going on'], .live").count() == 0
    window.go(f"/run/{run.id}/calls")
    page.locator(".call").nth(2).wait_for()
    page.get_by_label("Which sub-calls").select_option("without a reply")
    page.get_by_text(f"{waiting} of 3").wait_for()
    page.locator(".call").nth(waiting).wait_for(state="detached")  # rows are drawn in the next frame
    assert page.locator(".call .dot[aria-label='no reply']").count() == waiting
    page.locator(".call button").first.click()
    page.locator(".opened [data-waiting]").wait_for()
    page.wait_for_function(
        "() => document.querySelector('.opened [data-waiting]').textContent === 'no reply'"
    )
    page.keyboard.press("Escape")
    window.go(f"/run/{run.id}/timeline")
    page.locator("canvas[aria-label*='3 sub-calls']").wait_for()
    page.locator(".timeline").focus()
    for _ in range(5):
        page.keyboard.press("ArrowRight")
    page.locator(".timeline-told", has_text="sub-call 3").wait_for()
    assert "no reply" in page.locator(".timeline-told").inner_text()
    window.go(f"/beside/{run.id}/{run.id}")
    page.locator("tr", has_text="time").wait_for()
    assert "NaN" not in page.locator("body").inner_text()


def test_the_time_that_a_run_lay_still_is_nowhere(view: View, tmp_path: Path) -> None:
    model = ScriptedModel([stories.py("print(1)"), stories.py("print(2)"), stories.py("submit(1)")])
    run = RLM(model, runs=tmp_path, max_turns=2).run("?", "a mail")
    cut(tmp_path, run, "cell.started", 2)
    file = tmp_path / run.id / "events.jsonl"
    events = [json.loads(line) for line in file.read_text("utf-8").splitlines()]
    earlier = [json.dumps({**event, "time": event["time"] - 5_000}) for event in events]
    file.write_text("\n".join(earlier) + "\n", "utf-8")
    RLM(model, runs=tmp_path, max_turns=5).resume(run.id, "a mail")
    window = view(f"/run/{run.id}")
    page = window.page
    page.locator(".facts").wait_for()
    assert " min" not in page.locator("body").inner_text()
    window.go(f"/run/{run.id}/timeline")
    page.locator("canvas[aria-label*='0 sub-calls']").wait_for()
    page.locator(".timeline").focus()
    for bar in ("model, turn 1", "cell 1", "model, turn 2", "cell 2", "model, turn 3", "cell 3"):
        page.keyboard.press("ArrowRight")
        page.locator(".timeline-told", has_text=bar).wait_for()
        assert " min" not in page.locator(".timeline-told").inner_text()
    window.go("/")
    page.locator(".run .time").wait_for()
    assert " min" not in page.locator(".run .time").inner_text()


def test_refusals_alike_are_told_once(view: View, tmp_path: Path) -> None:
    code = "print(sum(not reply for reply in llm_query_batched([f'Is {n} odd?' for n in range(150)])))"
    engine = RLM(
        ScriptedModel([stories.py(code), stories.py("submit(1)")]),
        sub_model=ScriptedModel(lambda messages: "yes"),
        runs=tmp_path,
        budget=Budget(calls=20),
    )
    run = engine.run("How many?", "a text")
    window = view(f"/run/{run.id}")
    page = window.page
    page.get_by_role("link", name="130 sub-calls, from 21 on").click()
    page.get_by_role("heading", name="Refused, and not sent").wait_for()
    window.go(f"/run/{run.id}/node/0/turn/1")
    page.get_by_role("heading", name="20 sub-calls").wait_for()
    assert "130 refused for a limit" in page.locator(".part h3", has_text="20 sub-calls").inner_text()
    assert "failed" not in page.locator("#detail").inner_text()


def test_prompts_that_begin_alike_show_in_what_they_differ(view: View, tmp_path: Path) -> None:
    question = "You are given a part of a long text. Say who is named in it, and nothing else. " * 3
    code = f"print(len(llm_query_batched([{question!r} + name for name in ('Anna', 'Berta', 'Clara')])))"
    engine = RLM(
        ScriptedModel([stories.py(code), stories.py("submit(1)")]),
        sub_model=ScriptedModel(lambda messages: "somebody"),
        runs=tmp_path,
    )
    run = engine.run("Who?", "a text")
    page = view(f"/run/{run.id}/calls").page
    page.locator(".call").nth(2).wait_for()
    assert page.locator(".call .prompt").all_inner_texts() == ["… Anna", "… Berta", "… Clara"]


def test_files_with_long_names_are_told_apart(view: View, tmp_path: Path) -> None:
    names = [f"a folder with a long name/note {n} of a meeting that was long.txt" for n in range(4)]
    run = RLM(ScriptedModel([stories.py("print(len(context))\nsubmit(4)")]), runs=tmp_path).run(
        "How many?", dict.fromkeys(names, "text " * 50)
    )
    page = view(f"/run/{run.id}/map").page
    page.locator(".strip .label").nth(3).wait_for()
    assert len(set(page.locator(".strip .label").all_inner_texts())) == 4
    assert page.locator(".strip .label").first.get_attribute("title") == names[0]


def test_many_quotes_come_in_pieces(view: View, tmp_path: Path) -> None:
    code = "for line in context.splitlines():\n    cite(line)\nprint(1)\nsubmit(1)"
    text = "".join(f"line number {n} says something\n" for n in range(230))
    run = RLM(ScriptedModel([stories.py(code)]), runs=tmp_path).run("What?", text)
    page = view(f"/run/{run.id}").page
    page.get_by_role("heading", name="230 quotes").wait_for()
    assert page.locator("q").count() == 100
    page.get_by_role("button", name="Show more: 130 are left").focus()
    page.keyboard.press("Enter")  # the focus stays
    page.get_by_role("button", name="Show more: 30 are left").wait_for()
    page.keyboard.press("Enter")
    page.locator("q").nth(229).wait_for()
    assert page.evaluate("document.activeElement.tagName") == "UL"
    assert page.get_by_role("button", name="Show more").count() == 0


def test_a_button_that_is_pressed_twice_shows_no_piece_twice(view: View, tmp_path: Path) -> None:
    """What is pressed while a piece is on its way is one press."""
    code = "submit(''.join(f'{n} of many lines\\n' for n in range(8_000)))"
    run = RLM(ScriptedModel([stories.py(f"print(1)\n{code}")]), runs=tmp_path).run("What?", "a text")
    page = view(f"/run/{run.id}").page
    page.locator(".answer button", has_text="Show more").wait_for()
    while page.locator(".answer button").count():
        size = len(page.locator(".answer pre").inner_text())
        page.locator(".answer button").evaluate("button => { button.click(); button.click(); }")
        page.wait_for_function(
            "size => document.querySelector('.answer pre').textContent.length > size", arg=size
        )
    lines = page.locator(".answer pre").inner_text().split("\n")
    assert lines[:8_000] == [f"{n} of many lines" for n in range(8_000)]


def test_a_long_text_is_gone_through_by_the_keyboard(view: View, tmp_path: Path) -> None:
    answer = "".join(f"{n} of many lines\n" for n in range(8_000))
    code = "submit(''.join(f'{n} of many lines\\n' for n in range(8_000)))"
    run = RLM(ScriptedModel([stories.py(f"print(1)\n{code}")]), runs=tmp_path).run("What?", "a text")
    page = view(f"/run/{run.id}").page
    page.locator(".answer button", has_text="Show more").focus()
    page.keyboard.press("Enter")
    page.locator(".answer button", has_text="Show more: ").get_by_text("characters are left").wait_for()
    while len(shown := page.locator(".answer pre").inner_text()) < len(answer.strip()):
        page.locator(".answer button").wait_for()
        page.keyboard.press("Enter")
        page.wait_for_function(
            "size => document.querySelector('.answer pre').textContent.length > size", arg=len(shown)
        )
    assert page.locator(".answer pre").inner_text().strip() == answer.strip()
    page.wait_for_function("() => document.activeElement.tagName === 'PRE'")
