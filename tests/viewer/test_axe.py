"""axe-core on every page of the viewer: light and dark, at 400 and 1,600 pixels; nothing of any weight is let through."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from .conftest import Kept, Window, until_whole
from .test_accessible import PLACES
from .test_exported import exported

axe = pytest.importorskip("axe_playwright_python.sync_playwright")

TRIES = 20
WATCHED = """() => {
  window.changes = 0;
  new MutationObserver(() => { window.changes += 1; }).observe(
    document.querySelector("#page"), { childList: true, subtree: true, characterData: true });
}"""


def found(page: Any) -> list[str]:
    """What axe says of the page as it is, with all of its rules; and what it leaves to us, but for contrast.

    Of text over a canvas or below a strip that stays, axe cannot tell the contrast: audit.js computes it."""
    page.evaluate(WATCHED)
    for _ in range(TRIES):
        page.evaluate("() => new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))")
        before = page.evaluate("window.changes")
        told = axe.Axe().run(page, options={"resultTypes": ["violations", "incomplete"]}).response
        if page.evaluate("window.changes") == before:
            break  # else axe saw half of one page and half of another
    else:
        pytest.fail("the page does not come to rest")
    wrong = [*told["violations"], *(each for each in told["incomplete"] if each["id"] != "color-contrast")]
    return [
        f"{each['id']} ({each['impact']}): {node['target']} {node.get('failureSummary', '')}"
        for each in wrong
        for node in each["nodes"]
    ]


def test_axe_finds_nothing_anywhere(look: Window, kept: Kept) -> None:
    page = look.open()
    wrong: dict[str, list[str]] = {}
    for place, whole in PLACES.items():
        look.go(place.format_map(kept.ids))
        page.locator(f"#detail {whole}").first.wait_for()
        page.evaluate("document.querySelectorAll('#detail details').forEach(each => { each.open = true; })")
        until_whole(page)
        if said := found(page):
            wrong[place] = said
    assert wrong == {}


def test_axe_finds_nothing_in_what_opens(look: Window, kept: Kept) -> None:
    page = look.open(f"/run/{kept['children']}/calls")
    page.locator(".call button").nth(2).click()
    page.locator(".opened pre.error").wait_for()
    assert found(page) == []
    look.go(f"/run/{kept['children']}/node/0/turn/1")
    page.locator(".call button").nth(0).click()
    page.locator(".opened .reply").wait_for()
    assert found(page) == []
    page.keyboard.press("?")
    page.get_by_role("dialog").wait_for()
    assert found(page) == []


def test_axe_finds_nothing_in_an_exported_page(browser: Any, kept: Kept, tmp_path: Path) -> None:
    file = exported(kept, "map", tmp_path / "map.html")
    page = browser.new_page()
    for place in ("", "/node/0/turn/1", "/calls", "/timeline", "/map/0/0/100"):
        page.goto(f"{file}#/run/{kept['map']}{place}")
        page.locator("#detail h2").first.wait_for()
        assert found(page) == [], place
    page.close()


def test_axe_sees_what_is_wrong(window: Window, kept: Kept) -> None:
    page = window.open(f"/run/{kept['children']}")
    page.locator(".share").wait_for()
    page.evaluate(
        """() => {
          const add = (tag, text, style) => {
            const made = document.createElement(tag);
            made.textContent = text;
            Object.assign(made.style, style);
            document.querySelector("#detail").append(made);
          };
          add("p", "pale", { color: "#999", backgroundColor: "#fff" });
          add("button", "", {});
        }"""
    )
    assert [each.partition(" ")[0] for each in found(page)] == ["button-name", "color-contrast"]
