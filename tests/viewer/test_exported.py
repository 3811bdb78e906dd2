"""The page that ``unspool runs export --html`` writes, opened from its file."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from unspool.cli.app import app

from .conftest import Kept, Window

pytest.importorskip("playwright.sync_api")


def exported(kept: Kept, name: str, target: Path, *more: str) -> str:
    arguments = ["runs", "export", kept[name], "--runs", str(kept.folder), "--html", str(target), *more]
    assert not app(arguments, standalone_mode=False)
    return target.as_uri()


@pytest.fixture
def file(browser: Any) -> Any:
    context = browser.new_context(viewport={"width": 1600, "height": 900}, offline=True)
    window = Window(context.new_page(), "file:///")
    yield window
    assert window.is_quiet()
    context.close()


def test_it_is_the_same_page_and_asks_for_nothing(file: Window, kept: Kept, tmp_path: Path) -> None:
    url = exported(kept, "children", tmp_path / "a.html")
    page = file.page
    page.goto(url)
    page.get_by_role("heading", name="Spent, and left").wait_for()
    page.goto(f"{url}#/run/{kept['children']}/node/0/turn/3")
    page.get_by_text("Child 0.2").click()
    page.locator(".child-body .answer").first.wait_for()
    page.goto(f"{url}#/run/{kept['children']}/call/3")
    page.get_by_text("the server said 400").first.wait_for()
    for place in ("calls", "timeline", "map/0/0/100"):
        page.goto(f"{url}#/run/{kept['children']}/{place}")
        page.locator("#detail h2").first.wait_for()
    page.get_by_text("This page does not hold the input itself").wait_for()


def test_hostile_text_only_shows(file: Window, kept: Kept, tmp_path: Path) -> None:
    file.page.goto(exported(kept, "hostile", tmp_path / "a.html") + f"#/run/{kept['hostile']}/node/0/turn/2")
    file.page.locator(".answer pre").wait_for()
    assert "<script>alert(1)</script>" in file.page.locator(".answer pre").inner_text()


def test_a_redacted_page_says_so(file: Window, kept: Kept, tmp_path: Path) -> None:
    file.page.goto(exported(kept, "map", tmp_path / "a.html", "--redact"))
    file.page.get_by_text("redacted: texts stand here as sizes and hashes").wait_for()
    file.page.goto(f"{file.page.url.partition('#')[0]}#/run/{kept['map']}/map")
    file.page.locator(".range button").first.wait_for()
    assert "mail" not in file.page.locator("#detail").inner_text()
