"""The page for who sees little, uses a keyboard or a screen reader, or a narrow window.

Checked by hand (audit.js): contrast from computed styles, also where axe cannot tell it, names, landmarks, headings,
roles, ids; and the order of focus, key by key. axe itself: test_axe.py.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from unspool import RLM
from unspool.testing import ScriptedModel

from .. import stories
from .conftest import TOKEN, Kept, Up, Window, until_whole
from .test_exported import exported

pytest.importorskip("playwright.sync_api")

AUDIT, RULES = (
    (Path(__file__).parent / name).read_text("utf-8").partition("\n")[2] for name in ("audit.js", "rules.js")
)
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
    "/run/{hostile}": ".share, .why",
    "/run/{hostile}/node/0/turn/2": ".answer",
    "/run/{children}/node/0.1": ".brief .answer",
    "/run/{children}/map": ".range",
    "/beside/{children}/{map}": ".diff",
}


def test_every_place_can_be_read_and_named(look: Window, kept: Kept) -> None:
    page = look.open()
    wrong: dict[str, list[str]] = {}
    for place, whole in PLACES.items():
        look.go(place.format_map(kept.ids))
        page.locator(f"#detail {whole}").first.wait_for()
        page.evaluate("document.querySelectorAll('#detail details').forEach(each => { each.open = true; })")
        until_whole(page)
        if found := faults(page):
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


def faults(page: Any) -> list[str]:
    page.evaluate("() => new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))")
    return [*page.evaluate(AUDIT), *page.evaluate(RULES)]


def test_what_opens_follows_the_rules(look: Window, kept: Kept) -> None:
    page = look.open(f"/run/{kept['children']}/calls")
    page.locator(".call button").nth(2).click()
    page.locator(".opened pre.error").wait_for()
    assert faults(page) == []
    assert page.evaluate("document.activeElement.getAttribute('aria-expanded')") == "true"  # the focus stays
    order = (
        "[...document.querySelectorAll('.calls .space > *')].map(each => each.getBoundingClientRect().top)"
    )
    tops = page.evaluate(order)
    assert tops == sorted(tops)  # who hears the page hears the rows, and what is open, in their order
    page.keyboard.press("Escape")
    page.locator(".call button").nth(2).click()
    page.locator(".opened").wait_for(state="detached")
    page.get_by_label("Search in how prompts and replies begin").fill("nothing has this")
    page.get_by_text("0 of 4").wait_for()
    assert faults(page) == []
    page.keyboard.press("Escape")
    page.keyboard.press("?")
    page.get_by_role("dialog").wait_for()
    assert page.evaluate(RULES) == []


def test_a_chosen_leaf_that_is_out_of_sight_is_not_pointed_at(
    browser: Any, make_up: Callable[[Path], Up], tmp_path: Path
) -> None:
    def root(messages: Any) -> str:
        if "Part?" in messages[1].text:
            return stories.py("print(1)\nsubmit(1)")
        return stories.py("submit(len(rlm_query_batched(['Part?'] * 25, ['x'] * 25)))")

    run = RLM(ScriptedModel(root), runs=tmp_path).run("How many?", "some text")
    context = browser.new_context(viewport={"width": 1600, "height": 500})
    window = Window(context.new_page(), make_up(tmp_path).url)
    page = window.open(f"/run/{run.id}/node/0.25")
    page.locator(".leaf.active").wait_for()
    tree = page.locator(".tree")
    assert tree.get_attribute("aria-activedescendant") == "leaf-node-0.25"
    tree.evaluate("tree => { tree.scrollTop = 0; }")
    page.locator(".leaf.active").wait_for(state="detached")
    assert tree.get_attribute("aria-activedescendant") is None
    assert faults(page) == []
    tops = page.evaluate(
        "[...document.querySelectorAll('.tree .row')].map(e => e.getBoundingClientRect().top)"
    )
    assert tops == sorted(tops)
    tree.evaluate("tree => { tree.scrollTop = tree.scrollHeight; }")
    page.locator(".leaf.active").wait_for()
    assert tree.get_attribute("aria-activedescendant") == "leaf-node-0.25"
    assert window.is_quiet()
    context.close()


@pytest.mark.parametrize("place", ["/run/nothing", "/run/nothing/calls", "/beside/no/such"])
def test_what_is_not_there_follows_the_rules(browser: Any, up: Up, place: str) -> None:
    page = browser.new_page(viewport={"width": 400, "height": 850})
    page.goto(f"{up.url}#token={TOKEN}&{place}")
    page.get_by_text("there is no run").first.wait_for()
    assert faults(page) == []
    page.close()


def test_the_exported_page_follows_the_rules(browser: Any, kept: Kept, tmp_path: Path) -> None:
    for name in ("children", "map"):
        file = exported(kept, name, tmp_path / f"{name}.html")
        page = browser.new_page()
        for place in ("", "/node/0/turn/1", "/calls", "/timeline", "/map/0/0/100"):
            page.goto(f"{file}#/run/{kept[name]}{place}")
            page.locator("#detail h2").first.wait_for()
            assert faults(page) == [], place
        page.close()


SOUND = """<!DOCTYPE html><html lang="{lang}"><head><title>a page</title><meta name="viewport" content="{view}">
<style>button, a {{ display: inline-block; }} .far {{ margin: 40px; min-width: 40px; min-height: 40px; }}</style>
</head><body><main>{body}</main></body></html>"""
VIEW = "width=device-width, initial-scale=1"
SMALL = 'style="width: 12px; height: 12px; padding: 0; margin: 0; overflow: hidden; display: inline-block"'
CONTROLS = {  # rule: what breaks it, and what is like it and sound
    "nested-interactive": [
        ("<button class=far>a <a href='#x'>link</a></button>", "<p>a <a href='#x'>link</a></p>"),
        ("<details><summary>a <a href='#x'>b</a></summary></details>", "<details><summary>a</summary></details>"),
        ("<div role=img aria-label=x><a class=far href='#x'>b</a></div>", "<div role=img aria-label=x>b</div>"),
    ],
    "aria-required-children": [
        ("<div role=list>words</div>", "<div role=list><div role=listitem>words</div></div>"),
        (
            "<div role=list><div role=listitem>a</div><div><h2>b</h2></div></div>",
            "<div role=list><div role=presentation><div role=listitem>a</div></div></div>",
        ),
        ("<div role=tree><a class=far href='#x'>a</a></div>", "<div role=tree><div role=treeitem class=far>a</div></div>"),
        ("<div role=grid><p>a</p>b</div>", "<div role=grid><div role=row><div role=gridcell>a</div></div></div>"),
        ("<div role=tablist><a class=far href='#x'>a</a></div>", "<div role=tablist><div role=tab class=far>a</div></div>"),
    ],
    "aria-required-parent": [
        ("<div role=treeitem class=far>a</div>", "<div role=tree><div role=treeitem class=far>a</div></div>"),
        ("<div role=list><div role=group><p role=listitem>a</p></div></div>", "<ul><li>a</li></ul>"),
        ("<div role=row><div role=gridcell>a</div></div>", "<table><tr><td>a</td></tr></table>"),
        ("<div role=tab class=far>a</div>", "<div role=tablist><div role=tab class=far>a</div></div>"),
    ],
    "aria-valid-attr-value": [
        ("<button class=far aria-expanded=maybe>a</button>", "<button class=far aria-expanded=false>a</button>"),
        ("<div role=tree tabindex=0 aria-activedescendant=gone></div>", "<p id=there>a</p><div aria-details=there>b</div>"),
        ("<h2 aria-level=0>a</h2>", "<h2 aria-level=2>a</h2>"),
        ("<p aria-lable=x>a</p>", "<p aria-label=x>a</p>"),
    ],
    "aria-hidden-focus": [
        ("<div aria-hidden=true><a class=far href='#x'>a</a></div>", "<div aria-hidden=true><a class=far>a</a></div>"),
        ("<div aria-hidden=true><p tabindex=0>a</p></div>", "<div aria-hidden=true><p tabindex=-1>a</p></div>"),
    ],
    "scrollable-region-focusable": [
        (
            "<div style='height: 20px; overflow: auto'><p style='height: 90px'>a</p></div>",
            "<div tabindex=0 style='height: 20px; overflow: auto'><p style='height: 90px'>a</p></div>",
        ),
    ],
    "duplicate-id-aria": [
        (
            "<p id=a>a</p><p id=a>b</p><div aria-labelledby=a>c</div>",
            "<p id=a>a</p><p id=b>b</p><div aria-labelledby='a b'>c</div>",
        ),
        (
            "<i id=f>x</i><label for=f>a</label><input id=f class=far>",
            "<label for=f>a</label><input id=f class=far>",
        ),
    ],
    "cut-text": [
        (
            "<p style='width: 40px; overflow: hidden; white-space: nowrap; text-overflow: ellipsis'>words and words</p>",
            "<p title='words and words' style='width: 40px; overflow: hidden; white-space: nowrap; text-overflow: ellipsis'>words and words</p>",
        ),
    ],
    "cut-alike": [
        (
            "<p title='a long name 1'>a long…</p><p title='a long name 2'>a long…</p>",
            "<p title='a long name 1'>a…1</p><p title='a long name 2'>a…2</p>",
        ),
    ],
    "label-title-only": [("<input class=far title=name>", "<input class=far title=name aria-label=name>")],
    "list": [("<ul><div>a</div></ul>", "<ul><li>a</li></ul>")],
    "listitem": [("<div><li>a</li></div>", "<ol><li>a</li></ol>")],
    "definition-list": [("<dl><p>a</p></dl>", "<dl><dt>a</dt><dd>b</dd></dl>")],
    "dlitem": [("<div><dt>a</dt></div>", "<dl><div><dt>a</dt><dd>b</dd></div></dl>")],
    "svg-img-alt": [
        ("<svg role=img width=9 height=9></svg>", "<svg role=img width=9 height=9><title>a</title></svg>"),
    ],
    "image-alt": [("<img src='data:,'>", "<img src='data:,' alt=''>")],
    "target-size": [
        (f"<button {SMALL}>a</button><button {SMALL}>b</button>", "<button class=far>a</button><button class=far>b</button>"),
        (f"<p><a href='#x' {SMALL}>a</a><a href='#y' {SMALL}>b</a></p>", "<p>words <a href='#x' style='display: inline'>a</a> and words</p>"),
    ],
}  # fmt: skip


@pytest.mark.parametrize("rule", [*CONTROLS, "html-lang", "meta-viewport"])
def test_each_rule_finds_what_breaks_it_and_nothing_else(browser: Any, rule: str) -> None:
    page = browser.new_page()

    def found(body: str = "words", lang: str = "en", view: str = VIEW) -> set[str]:
        page.set_content(SOUND.format(body=body, lang=lang, view=view))
        return {each.partition(":")[0] for each in page.evaluate(RULES)}

    assert found() == set()
    for bad, good in CONTROLS.get(rule, ()):
        assert rule in found(bad), bad
        assert found(good) == set(), good
    if rule == "html-lang":
        assert [found(lang=lang) for lang in ("", "english, mostly")] == [{rule}] * 2
    if rule == "meta-viewport":
        assert [found(view=f"{VIEW}, {more}") for more in ("user-scalable=no", "maximum-scale=1.5")] == [
            {rule}
        ] * 2
    page.close()


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
