"""The page in a real browser: what a person does with it, and that it stays quiet and keeps to itself."""

from __future__ import annotations

import asyncio
import re
import threading
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from unspool import RLM
from unspool.models.protocol import Message
from unspool.testing import ScriptedModel

from .. import stories
from .conftest import SECONDS, Kept, Up, Window

pytest.importorskip("playwright.sync_api")


def test_the_list_is_searched_and_filtered(window: Window, kept: Kept) -> None:
    page = window.open()
    rows = page.locator(".run")
    rows.nth(len(kept.ids) - 1).wait_for()
    page.get_by_label("Search in questions, models, ids").fill("SPAM IS IN")
    page.get_by_text("1 of 5 runs").wait_for()
    page.locator(".run", has_text="How much spam is in these mails?").wait_for()
    page.get_by_label("Which runs").select_option("failed")
    page.get_by_text("0 of 5 runs").wait_for()
    assert "token" not in page.url


def test_a_child_opens_in_place_and_has_an_address(window: Window, kept: Kept) -> None:
    page = window.open(f"/run/{kept['children']}/node/0/turn/3")
    page.get_by_text("Child 0.1").click()
    page.locator(".child-body .turn .code").first.wait_for()
    assert "context.count('spam')" in page.locator(".child-body").first.inner_text()
    page.locator(".child a", has_text="node 0.1").first.click()
    page.get_by_role("heading", name="Node 0.1").wait_for()
    assert page.url.endswith("/node/0.1")
    page.go_back()
    page.get_by_role("heading", name="Turn 3").wait_for()


def test_a_failed_call_opens_in_place(window: Window, kept: Kept) -> None:
    page = window.open(f"/run/{kept['children']}/node/0/turn/1")
    page.locator(".call button", has_text="failed: bad_request").click()
    page.get_by_text("the server said 400").last.wait_for()
    page.locator(".opened a", has_text="link").click()
    page.get_by_role("heading", name="Sub-call 3").wait_for()
    assert page.locator("pre.error").inner_text() == "the server said 400"


def test_code_and_answer_are_told_apart(window: Window, kept: Kept) -> None:
    page = window.open(f"/run/{kept['children']}/node/0/turn/3")
    page.locator(".answer").wait_for()
    code, answer = page.locator(".part.code pre"), page.locator(".answer pre")
    assert answer.inner_text() == '{"spam": 400}'
    assert page.locator(".part.code h3").first.inner_text().startswith("Code of cell")
    assert code.locator(".tok-call, .tok-ours").count() > 1
    shown = "el => getComputedStyle(el.closest('.part, .answer')).backgroundColor"
    assert code.evaluate(shown) != answer.evaluate(shown)


def test_the_map_shows_text_and_who_read_it(window: Window, kept: Kept) -> None:
    page = window.open(f"/run/{kept['map']}/map")
    page.get_by_label("only what was never read").check()
    page.locator(".range button:not(.unread)").first.wait_for(state="detached")
    page.locator(".range button", has_text="never read").first.click()
    page.get_by_text("No model was shown any of it").wait_for()
    page.get_by_label("only what was never read").uncheck()
    page.locator(".range button", has_text="read by").first.click()
    page.locator(".map-detail mark").wait_for()
    reader = page.locator(".brief-list a").first
    page.locator(".brief-list", has_text="0.1").wait_for()
    assert "the mail number" in page.locator(".map-detail mark").inner_text()
    reader.click()
    page.locator("#detail h2").wait_for()
    window.go(f"/run/{kept['map']}/map")
    page.locator("a", has_text="line 8").click()
    page.locator(".map-detail mark").wait_for()
    assert page.locator(".map-detail mark").inner_text() == "0007 the mail number 7 says spam"
    page.locator(".strip canvas").first.click()
    page.get_by_text("from line 1").wait_for()


@pytest.mark.parametrize(
    ("place", "told"),
    [
        ("0/999999/1", "There is no range from 999,999 to 1: the input goes from 0 to"),
        ("0/999999/9999999", "There is no range from 999,999 to 9,999,999: the input goes from 0 to"),
        ("0/5/5", "There is no range from 5 to 5: the input goes from 0 to"),
        ("7/1/20", "The input has no part 7."),
    ],
)
def test_a_range_that_is_not_there_is_told(window: Window, kept: Kept, place: str, told: str) -> None:
    page = window.open(f"/run/{kept['map']}/map/{place}")
    page.locator(".map-detail .trouble").wait_for()
    assert told in page.locator(".map-detail").inner_text()
    assert page.locator(".map-detail h3, .map-detail mark").count() == 0
    page.locator(".range button", has_text="read by").first.click()
    page.locator(".map-detail mark").wait_for()
    assert page.locator(".map-detail .trouble").count() == 0


def test_a_run_that_is_not_there_is_told_and_nothing_else_is_shown(window: Window, kept: Kept) -> None:
    page = window.open("/run/nosuch/timeline")
    page.get_by_text("there is no run 'nosuch'").wait_for()
    assert page.locator(".tabs, .side, .timeline").count() == 0
    page.get_by_role("link", name="All runs").click()
    page.locator(".run").nth(len(kept.ids) - 1).wait_for()
    assert {problem.partition(" (")[0] for problem in window.problems} == {
        "Failed to load resource: the server responded with a status of 404"
    }
    window.problems.clear()


def test_on_a_narrow_page_the_map_is_whole_and_its_ranges_are_in_sight(window: Window, kept: Kept) -> None:
    window.page.set_viewport_size({"width": 400, "height": 800})
    page = window.open(f"/run/{kept['map']}/map")
    page.locator(".range button").first.wait_for()
    page.locator(".strip canvas").first.wait_for()
    shown = "each => [each.clientHeight, each.scrollHeight]"
    height, whole = page.locator(".strips").evaluate(shown)
    assert height >= whole
    assert height < 300
    height, whole = page.locator(".map-ranges .rows").evaluate(shown)
    assert height >= whole or height % 28 == 0  # rows are whole


@pytest.fixture
def narrow(browser: Any, make_up: Callable[[Path], Up], tmp_path: Path) -> Iterator[Window]:
    """400 pixels; the runs are of one question, without sub-calls, of a model without prices."""
    replies = [stories.py("print(context)"), stories.py("submit(3)")]
    for name in ("openai:a-model-with-a-name-that-is-long-2026-08-07", "scripted:other"):
        model = ScriptedModel(list(replies), cost=None, name=name)
        RLM(model, runs=tmp_path).run("How many failed logins are in this log of the night?", "some text")
    context = browser.new_context(viewport={"width": 400, "height": 900})
    window = Window(context.new_page(), make_up(tmp_path).url)
    yield window
    assert window.is_quiet()
    context.close()


def test_a_row_of_a_narrow_list_shows_the_time_of_day_and_the_model(narrow: Window) -> None:
    page = narrow.open()
    page.locator(".run").nth(1).wait_for()
    for number, model in enumerate(("scripted:other", "openai:a-model-with-a-name-that-is-long-2026-08-07")):
        row = page.locator(".run").nth(number)
        begun = row.get_by_text(re.compile(r"^\d{4}-\d\d-\d\d \d\d:\d\d$"))
        assert begun.evaluate("each => each.scrollWidth <= each.clientWidth")
        assert row.get_by_text("cost unknown").is_visible()
        assert row.get_by_text(model).is_visible()
        box = row.bounding_box()
        parts = [row.get_by_text(text).bounding_box() for text in ("cost unknown", model)]
        parts.append(begun.bounding_box())
        for part in parts:
            assert box["y"] <= part["y"]
            assert part["y"] + part["height"] <= box["y"] + box["height"]
            assert part["x"] + part["width"] <= 400
    page.set_viewport_size({"width": 1600, "height": 900})
    from playwright.sync_api import expect

    expect(page.locator(".runs .run").first).to_have_css(
        "height", re.compile(r"^5\d(\.\d+)?px$")
    )  # two lines


def test_what_is_empty_says_so_and_takes_no_room(narrow: Window) -> None:
    page = narrow.open()
    page.locator(".run").nth(1).wait_for()
    page.get_by_label("Search in questions, models, ids").fill("no run has this")
    page.get_by_text("none is like that").wait_for()
    assert page.locator(".rows").count() == 0
    page.get_by_label("Search in questions, models, ids").fill("")
    page.locator(".run").nth(1).wait_for()
    page.locator(".run a").first.click()
    page.get_by_role("link", name="Sub-calls").click()
    page.locator("#detail").get_by_text("no sub-calls", exact=True).wait_for()
    assert page.locator("#detail .rows, #detail input").count() == 0
    assert page.evaluate("document.documentElement.scrollHeight <= innerHeight")
    page.get_by_role("link", name="Input").click()
    page.get_by_label("only what was never read").check()
    page.get_by_text("everything was read").wait_for()
    assert page.locator(".map-ranges .rows").count() == 0


def test_branches_that_were_stopped_are_not_said_to_disagree(
    browser: Any, make_up: Callable[[Path], Up], tmp_path: Path
) -> None:
    async def reply(messages: Sequence[Message]) -> str:
        if sum(message.role == "assistant" for message in messages) == 0:
            return stories.py("print(1)")
        asked.append(1)
        if len(asked) == 3:
            await asyncio.Event().wait()
        return stories.py("submit(42)")

    asked: list[int] = []
    run = RLM(ScriptedModel(reply), runs=tmp_path).run("Which?", "text", branches=3)
    context = browser.new_context(viewport={"width": 1600, "height": 900})
    window = Window(context.new_page(), make_up(tmp_path).url)
    page = window.open(f"/run/{run.id}")
    page.locator("table tr", has_text="branch 3").wait_for()
    rows = [page.locator("table tr", has_text=f"branch {number}").inner_text() for number in (1, 2, 3)]
    stopped = next(b.number for b in run.branches if b.status == "cancelled")
    assert ["stopped early" in row for row in rows] == [number == stopped for number in (1, 2, 3)]
    assert "does not agree" not in "".join(rows)
    assert sum("agrees" in row for row in rows) == 2
    assert window.is_quiet()
    context.close()


def test_a_quote_from_a_file_leads_to_the_map(
    browser: Any, make_up: Callable[[Path], Up], tmp_path: Path
) -> None:
    file = tmp_path / "letter.txt"
    file.write_text("Zoë wrote a letter.\nNobody, not even Zoë, read it.\n", "utf-8")
    model = ScriptedModel([stories.py("print(cite('not even Zoë').line)\nsubmit('nobody')")])
    run = RLM(model, runs=tmp_path / "runs").run("Who read it?", file)
    context = browser.new_context(viewport={"width": 1600, "height": 900})
    window = Window(context.new_page(), make_up(tmp_path / "runs").url)
    page = window.open(f"/run/{run.id}")
    page.locator("a", has_text="line 2").click()
    page.locator(".map-detail mark").wait_for()
    assert page.locator(".map-detail mark").inner_text() == "not even Zoë"
    page.get_by_text("from line 2").wait_for()
    assert window.is_quiet()
    context.close()


def test_an_input_that_was_not_kept_is_told(window: Window, kept: Kept) -> None:
    page = window.open(f"/run/{kept['forgotten']}/map/0/0/90")
    page.get_by_text("the run did not keep its input").wait_for()


def test_two_runs_are_put_side_by_side(window: Window, kept: Kept) -> None:
    page = window.open()
    for name in ("children", "map"):
        page.get_by_label(f"choose run {kept[name]} to put it beside another").check()
    page.get_by_role("button", name="Side by side").click()
    page.get_by_text("They part in turn 1:").wait_for()
    assert page.locator(".diff .first").count() >= 3
    assert page.locator(".diff .second").count() >= 3
    assert page.locator(".pair").first.inner_text().count("Answer") == 2


def test_where_two_runs_part_what_one_of_them_alone_has_is_linked_once(
    browser: Any, make_up: Callable[[Path], Up], tmp_path: Path
) -> None:
    models = [ScriptedModel([stories.py("submit(1)")], profile=name) for name in ("frontier", "small")]
    runs = [RLM(model, runs=tmp_path).run("How many doors?", "a door\n" * 9).id for model in models]
    context = browser.new_context()
    window = Window(context.new_page(), make_up(tmp_path).url)
    page = window.open(f"/beside/{runs[0]}/{runs[1]}")
    page.get_by_text("They part in first look:").wait_for()
    assert page.locator("p.parts a").all_inner_texts() == ["first look of the second"]
    page.locator("p.parts a").click()
    page.get_by_role("heading", name="first look").wait_for()
    assert window.is_quiet()
    context.close()


@pytest.mark.parametrize("name", ["hostile", "children", "branches", "map"])
def test_every_place_is_quiet(window: Window, kept: Kept, name: str) -> None:
    """Also of a run that is hostile: all its text only shows."""
    run = kept[name]
    page = window.open(f"/run/{run}")
    page.get_by_role("heading", name="Spent, and left").wait_for()
    places = ["calls", "timeline", "map", "node/0", "node/0/turn/1", "node/0/turn/2"]
    if name != "branches":
        places.append("call/1")
    for place in places:
        window.go(f"/run/{run}/{place}")
        page.locator("#detail h2").first.wait_for()
        page.locator("#detail p, #detail pre, #detail canvas").first.wait_for()
    if name == "hostile":
        window.go(f"/run/{run}/node/0/turn/2")
        page.locator(".answer pre").wait_for()
        shown = page.locator("#detail").inner_text()
        assert shown.count("<script>alert(1)</script>") >= 2
        assert "\\x1b[2J" in shown
        assert "\x1b" not in shown
        assert page.locator("#detail script, #detail img, #detail iframe").count() == 0
    assert page.locator("a[href^=javascript]").count() == 0


def test_names_and_quotes_of_a_hostile_input_only_show(
    browser: Any, make_up: Callable[[Path], Up], tmp_path: Path
) -> None:
    evil = "javascript:alert(1)//</script><img src=x onerror=alert(2)>\x1b]8;;http://evil.example\x07"
    texts = {
        evil: f"{evil} is what this part says, and it goes on for a while " * 3,
        "plain": "nothing " * 40,
    }
    code = f"print(context[{evil!r}])\nprint(cite('is what this part says').line)\nsubmit({evil!r})"
    sub = ScriptedModel(lambda _: evil, name="scripted:<b>sub</b>")
    engine = RLM(
        ScriptedModel([stories.py(f"llm_query({evil!r})\n{code}", evil)], name="scripted:<i>x</i>"),
        sub_model=sub,
        runs=tmp_path,
        keep_context=True,
    )
    run = engine.run(evil, texts)
    up = make_up(tmp_path)
    context = browser.new_context(viewport={"width": 1600, "height": 900})
    window = Window(context.new_page(), up.url)
    page = window.open(f"/run/{run.id}/map/0/0/60")
    page.locator(".map-detail mark").wait_for()
    shown = page.locator("#detail").inner_text()
    assert shown.count("javascript:alert(1)//</script><img src=x onerror=alert(2)>") >= 3
    assert "\\x1b]8;;http://evil.example\\x07" in shown
    for place in ("", "calls", "call/1", "node/0/turn/1", "timeline"):
        window.go(f"/run/{run.id}/{place}")
        page.locator("#detail h2").first.wait_for()
        page.locator("#detail", has_text="scripted" if not place else "").wait_for()
        assert (
            page.locator("#page img, #page script, #page iframe, #page i, a[href^='javascript']").count() == 0
        )
    window.go("/")
    page.locator(".run", has_text="scripted:<i>x</i>").wait_for()
    page.wait_for_timeout(200)  # for what would come late
    assert window.is_quiet()
    context.close()


def test_the_keyboard_goes_everywhere(window: Window, kept: Kept) -> None:
    page = window.open(f"/run/{kept['children']}")
    page.locator(".leaf").nth(3).wait_for()
    page.keyboard.press("t")
    assert page.evaluate("document.activeElement.getAttribute('role')") == "tree"
    page.keyboard.press("ArrowDown")
    page.get_by_role("heading", name="Node 0").wait_for()
    page.keyboard.press("ArrowDown")
    page.get_by_role("heading", name="Turn 1").wait_for()
    assert page.evaluate("document.activeElement.getAttribute('role')") == "tree"
    active = page.locator(".tree").get_attribute("aria-activedescendant")
    assert page.locator(f"[id='{active}']").get_attribute("aria-selected") == "true"
    page.keyboard.press("n")
    page.get_by_role("heading", name="Turn 2").wait_for()
    page.keyboard.press("ArrowLeft")
    page.get_by_role("heading", name="Node 0").wait_for()
    page.keyboard.press("ArrowLeft")
    page.locator(".leaf[aria-expanded=false]").wait_for()
    page.keyboard.press("4")
    page.get_by_role("heading", name="Timeline").wait_for()
    page.locator(".timeline").focus()
    page.keyboard.press("ArrowRight")
    page.locator(".timeline-told a").wait_for()
    page.keyboard.press("Enter")
    page.get_by_role("heading", name="Turn 1").wait_for()
    page.keyboard.press("?")
    page.get_by_role("dialog").wait_for()
    page.keyboard.press("Escape")
    page.keyboard.press("3")
    page.get_by_role("heading", name="Sub-calls").wait_for()
    page.keyboard.press("/")
    assert page.evaluate("document.activeElement.type") == "search"


class Gate:
    """A model that gives each reply when it is told to."""

    def __init__(self, replies: list[str]) -> None:
        self._replies = iter(replies)
        self._open = threading.Semaphore(0)

    def let(self) -> None:
        self._open.release()

    async def __call__(self, messages: Any) -> str:
        reply = next(self._replies)
        await asyncio.to_thread(self._open.acquire, True, SECONDS)
        return reply


@pytest.fixture
def going(tmp_path: Path) -> Iterator[tuple[Gate, threading.Thread, Path]]:
    """A run that waits for its replies."""
    gate = Gate(
        [
            stories.py("print('first', llm_query('one'))", "I begin."),
            stories.py("print('second')", "I go on."),
            stories.py("print(context)\nsubmit('the end')", "I am done."),
        ]
    )
    engine = RLM(ScriptedModel(gate), sub_model=ScriptedModel(lambda _: "a reply"), runs=tmp_path)
    thread = threading.Thread(target=lambda: engine.run("What is it?", "some text"))
    thread.start()
    yield gate, thread, tmp_path
    for _ in range(3):
        gate.let()
    thread.join(SECONDS)
    engine.close()


@pytest.fixture
def live(
    browser: Any, make_up: Callable[[Path], Up], going: tuple[Gate, threading.Thread, Path]
) -> Iterator[Window]:
    """The page of the run that waits for its replies."""
    context = browser.new_context(viewport={"width": 1600, "height": 900})
    window = Window(context.new_page(), make_up(going[2]).url)
    page = window.open()
    page.locator(".run", has_text="running").click()
    page.locator(".run-head .live").wait_for()
    yield window
    assert window.is_quiet()
    context.close()


def test_a_live_run_is_followed_to_its_end(
    browser: Any, make_up: Callable[[Path], Up], going: tuple[Gate, threading.Thread, Path]
) -> None:
    gate, thread, runs = going
    up = make_up(runs)
    context = browser.new_context(viewport={"width": 1600, "height": 900})
    window = Window(context.new_page(), up.url)
    page = window.open()
    page.locator(".run", has_text="running").click()
    page.locator(".run-head .live").wait_for()
    page.get_by_role("button", name="Follow").click()
    page.get_by_text("The model has not replied yet.").wait_for()
    gate.let()
    page.get_by_role("heading", name="Turn 2").wait_for()
    page.keyboard.press("p")
    page.locator(".call button", has_text="a reply").wait_for()
    gate.let()
    page.get_by_role("heading", name="Turn 3").wait_for()
    gate.let()
    page.get_by_role("heading", name="Answer").wait_for()
    assert "the end" in page.locator(".answer").inner_text()
    page.locator(".run-head", has_text="answered").wait_for()
    thread.join(SECONDS)
    assert window.is_quiet()
    context.close()


TIMES = """said => {
  const times = [".run-head .facts > span:nth-of-type(2)", ".leaf .time"].map(
    (at) => document.querySelector(at).textContent);
  return times[1] !== said && times;
}"""


def _seconds(told: str) -> float:
    parts = told.split()
    each = zip(parts[::2], parts[1::2], strict=True)
    return sum(float(number) * {"ms": 0.001, "s": 1, "min": 60}[unit] for number, unit in each)


def test_the_times_of_a_live_run_go_on_together(
    browser: Any, make_up: Callable[[Path], Up], going: tuple[Gate, threading.Thread, Path]
) -> None:
    _, _, runs = going
    context = browser.new_context(viewport={"width": 1600, "height": 900})
    window = Window(context.new_page(), make_up(runs).url)
    page = window.open()
    page.locator(".run", has_text="running").click()
    page.locator(".leaf .time").first.wait_for()
    begun = page.locator(".leaf .time").first.inner_text()
    # Each tick says both in one go, so that no look falls between them.
    before = page.wait_for_function(TIMES, arg=begun).json_value()
    after = page.wait_for_function(TIMES, arg=before[1]).json_value()
    apart = [_seconds(head) - _seconds(root) for head, root in (before, after)]
    rounded = 1.1 if "min" in "".join((*before, *after)) else 0.16
    assert apart[0] == pytest.approx(apart[1], abs=rounded)
    assert apart[0] > -rounded
    assert window.is_quiet()
    context.close()


def test_what_is_chosen_in_the_map_of_a_live_run_stays(
    going: tuple[Gate, threading.Thread, Path], live: Window
) -> None:
    (gate, thread, _), page = going, live.page
    gate.let()
    page.get_by_role("link", name="Input", exact=True).click()
    only = page.get_by_label("only what was never read")
    only.check()
    only.evaluate("box => { box.dataset.before = 'true'; }")
    for _ in range(2):
        gate.let()
    thread.join(SECONDS)
    page.locator(
        ".map", has_text="100% of 9 characters was shown"
    ).wait_for()  # the map at the end of the run
    assert only.is_checked()
    assert only.get_attribute("data-before") == "true"  # it is the box that was there, and keeps the focus
    assert page.evaluate("document.activeElement.id") == "only-unread"


def test_what_is_open_in_a_live_run_stays(going: tuple[Gate, threading.Thread, Path], live: Window) -> None:
    (gate, thread, _), page = going, live.page
    gate.let()
    page.locator(".leaf", has_text="turn 1").click()
    call = page.locator(".call button", has_text="a reply")
    call.click()
    page.locator(".opened .reply").wait_for()
    for element in (call, page.locator(".opened"), page.locator(".part.code"), page.locator(".leaf").nth(1)):
        element.evaluate("element => { element.dataset.before = 'true'; }")
    for turns in ("2 turns", "3 turns"):
        gate.let()
        page.locator(".run-head", has_text=turns).wait_for()
    thread.join(SECONDS)
    page.locator(".run-head", has_text="answered").wait_for()
    assert page.locator("[data-before]").count() == 4  # each is the element that it was
    assert page.evaluate("document.activeElement.getAttribute('aria-expanded')") == "true"


def test_a_run_that_goes_stays_told(
    browser: Any, make_up: Callable[[Path], Up], tmp_path: Path, capfd: Any
) -> None:
    import shutil

    run = stories.with_children(tmp_path)
    up = make_up(tmp_path)
    context = browser.new_context()
    page = Window(context.new_page(), up.url).open(f"/run/{run.id}")
    page.get_by_role("heading", name="Spent, and left").wait_for()
    shutil.rmtree(tmp_path / run.id)
    page.get_by_text("there is no run").first.wait_for()
    context.close()


def test_without_the_token_the_page_says_what_to_do(browser: Any, up: Up) -> None:
    context = browser.new_context()
    page = context.new_page()
    page.goto(up.url)
    page.get_by_text("open the address that unspool view printed").wait_for()
    context.close()
