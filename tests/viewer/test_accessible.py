"""The page for who sees little, uses a keyboard or a screen reader, or a narrow window.

What axe would find is checked by hand here (audit.js): contrast from computed styles, names, landmarks, headings,
roles, ids; and the order of focus, key by key.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from .conftest import TOKEN, Kept, Up, Window

pytest.importorskip("playwright.sync_api")

AUDIT = (Path(__file__).parent / "audit.js").read_text("utf-8").partition("\n")[2]
PLACES = {  # and what is there when all of it is
    "/": ".run",
    "/run/{children}": ".share",
    "/run/{children}/node/0": ".brief pre",
    "/run/{children}/node/0/turn/1": ".call",
    "/run/{children}/node/0/turn/2": "pre.error",
    "/run/{children}/node/0/turn/3": ".answer",
    "/run/{children}/call/3": "pre.error",
    "/run/{children}/calls": ".call",
    "/run/{children}/timeline": "canvas",
    "/run/{map}/map/0/0/100": ".map-detail mark",
    "/run/{branches}": ".share",
    "/beside/{children}/{map}": ".diff",
}


@pytest.fixture(
    params=[(1600, "light"), (1600, "dark"), (400, "light"), (400, "dark")], ids=lambda p: f"{p[0]}-{p[1]}"
)
def look(browser: Any, up: Up, request: pytest.FixtureRequest) -> Iterator[Window]:
    width, scheme = request.param
    context = browser.new_context(
        viewport={"width": width, "height": 900}, color_scheme=scheme, reduced_motion="reduce"
    )
    window = Window(context.new_page(), up.url)
    yield window
    assert window.is_quiet()
    context.close()


def test_every_place_can_be_read_and_named(look: Window, kept: Kept) -> None:
    page = look.open()
    wrong: dict[str, list[str]] = {}
    for place, whole in PLACES.items():
        look.go(place.format_map(kept.ids))
        page.locator(f"#detail {whole}").first.wait_for()
        page.evaluate("document.querySelectorAll('#detail details').forEach(each => { each.open = true; })")
        page.wait_for_function("![...document.querySelectorAll('p')].some(each => each.textContent === '…')")
        page.evaluate("() => new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))")
        if found := page.evaluate(AUDIT):
            wrong[place] = found
    assert wrong == {}


def test_tabs_and_what_was_spent_are_not_cut(look: Window, kept: Kept) -> None:
    page = look.open(f"/run/{kept['map']}")
    page.locator("#detail .scrolls").first.wait_for()
    page.locator(".tabs a").first.wait_for()
    cut = (
        "[...document.querySelectorAll('.tabs, .scrolls')].filter(e => e.scrollWidth > e.clientWidth).length"
    )
    assert page.evaluate(cut) == 0


def test_the_audit_finds_what_is_wrong(window: Window, kept: Kept) -> None:
    page = window.open(f"/run/{kept['children']}")
    page.locator(".share").wait_for()
    page.evaluate(
        """() => {
          const detail = document.querySelector("#detail");
          const add = (tag, text, style) => {
            const made = document.createElement(tag);
            made.textContent = text;
            Object.assign(made.style, style);
            detail.append(made);
          };
          add("p", "pale", { color: "#999", backgroundColor: "#fff" });
          add("button", "", {});
          add("h1", "another", {});
        }"""
    )
    found = page.evaluate(AUDIT)
    assert [each.partition(" ")[0] for each in found] == ["contrast", "no", "2"], found


def test_focus_goes_in_the_order_of_the_page_and_is_seen(window: Window, kept: Kept) -> None:
    page = window.open(f"/run/{kept['children']}/node/0/turn/1")
    page.locator(".call button").first.wait_for()
    page.evaluate("document.activeElement.blur()")
    places: list[float] = []
    names: list[str] = []
    for _ in range(40):
        page.keyboard.press("Tab")
        told = page.evaluate(
            """() => {
              const at = document.activeElement, style = getComputedStyle(at);
              if (at === document.body) return null;
              const order = [...document.querySelectorAll("*")].indexOf(at);
              const seen = at.matches(":focus-visible") && style.outlineStyle !== "none" && parseFloat(style.outlineWidth) >= 2;
              return [order, at.getAttribute("aria-label") ?? at.textContent.trim().slice(0, 30), seen];
            }"""
        )
        if told is None:
            break
        places.append(told[0])
        names.append(told[1])
        assert told[2], f"the focus is not seen on {told[1]}"
    assert places == sorted(places)
    assert names[0] == "To the content"
    assert {"Overview", "Turns", "Nodes and turns of the run", "next turn", "Code of cell 1"} <= set(names)


def test_the_skip_link_leads_to_the_content(window: Window, kept: Kept) -> None:
    page = window.open(f"/run/{kept['children']}/node/0/turn/1")
    page.get_by_role("heading", name="Turn 1").wait_for()
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    assert page.evaluate("document.activeElement.closest('#detail') !== null")
    assert page.url.endswith("/turn/1")
    assert TOKEN not in page.url
