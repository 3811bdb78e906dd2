"""A run of 5,000 sub-calls in a browser. The bounds are wide: what was measured is in docs/viewer.md."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from .. import stories
from .conftest import Up, Window

pytest.importorskip("playwright.sync_api")

CALLS = 5_000
WATCH = """
window.long = [];
new PerformanceObserver((list) => {
  for (const each of list.getEntries()) long.push(Math.round(each.duration));
}).observe({ entryTypes: ["longtask"] });
"""
SCROLL = """async (selector) => {
  const box = document.querySelector(selector);
  const begun = performance.now();
  for (let at = 0; performance.now() - begun < 1500; at++) {
    box.scrollTop = (at * 997) % box.scrollHeight;
    await new Promise(requestAnimationFrame);
  }
  return long.splice(0);
}"""


def test_many_sub_calls_open_and_scroll(
    browser: Any,
    make_up: Callable[[Path], Up],
    tmp_path: Path,
) -> None:
    run = stories.long(tmp_path, CALLS)
    up = make_up(tmp_path)
    context = browser.new_context(viewport={"width": 1600, "height": 900})
    page = context.new_page()
    page.add_init_script(WATCH)
    window = Window(page, up.url)
    begun = time.perf_counter()
    window.open(f"/run/{run.id}/calls")
    page.get_by_text(f"{CALLS:,} of {CALLS:,}").wait_for()
    page.locator(".call").nth(15).wait_for()
    opened = time.perf_counter() - begun
    opening = page.evaluate("long.splice(0)")
    scrolled = page.evaluate(SCROLL, ".calls")
    assert page.locator(".call").count() < 100  # of 5,000: the rest is not made
    window.go(f"/run/{run.id}/timeline")
    page.locator("canvas").wait_for()
    page.wait_for_timeout(300)
    opening += page.evaluate("long.splice(0)")
    scrolled += page.evaluate(SCROLL, ".timeline")
    print(f"opened in {opened:.2f} s, long tasks {opening} ms; while it scrolled {scrolled} ms")
    assert opened < 15
    assert max(scrolled, default=0) < 1_000
    assert window.is_quiet()
    context.close()
