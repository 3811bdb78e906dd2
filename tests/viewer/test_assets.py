"""The page's own files: small, plain, and nothing in them that a browser would fetch from elsewhere or obey."""

from __future__ import annotations

import gzip
import re

import pytest

from unspool.viewer.assets import assets, script

MOST = 150_000  # bytes of all of them, packed
SCRIPTS = [each for each in assets().values() if each.name.endswith(".js")]


def test_they_are_small() -> None:
    packed = sum(len(gzip.compress(each.data, 9)) for each in assets().values())
    assert packed < MOST
    assert all(each.text.count("\n") <= 300 for each in assets().values())


@pytest.mark.parametrize("asset", SCRIPTS, ids=lambda asset: asset.name)
def test_a_module_sets_text_as_text_alone(asset: object) -> None:
    text = asset.text  # type: ignore[attr-defined]
    for way in (
        "innerHTML",
        "outerHTML",
        "insertAdjacent",
        "document.write",
        "eval(",
        "new Function",
        "srcdoc",
    ):
        assert way not in text
    assert not re.search(r"""setAttribute\(["'](style|href|src)""", text)
    assert "http:" not in text.replace("http://www.w3.org", "")
    assert "https:" not in text


@pytest.mark.parametrize("asset", SCRIPTS, ids=lambda asset: asset.name)
def test_a_module_says_what_it_is_and_names_what_it_needs(asset: object) -> None:
    text = asset.text  # type: ignore[attr-defined]
    assert text.startswith("// ")
    for names, module in re.findall(r'^import \{([^}]*)\} from "\./([\w.]+)";$', text, re.MULTILINE):
        assert module in assets()
        for name in names.split(","):
            found = rf"^export (?:async )?(?:function|const|let) {name.strip()}\b"
            assert re.search(found, assets()[module].text, re.MULTILINE), (module, name)
    assert len(re.findall(r"^import\b", text, re.MULTILINE)) == len(
        re.findall(r'^import \{[^}]*\} from "\./[\w.]+";$', text, re.MULTILINE)
    )


def test_the_style_asks_for_nothing() -> None:
    text = assets()["viewer.css"].text
    assert "url(" not in text
    assert "@import" not in text
    assert "prefers-color-scheme: dark" in text
    assert "prefers-reduced-motion" in text


def test_the_page_asks_for_all_modules_at_once() -> None:
    assert re.findall(r"<script[^>]*>", assets()["index.html"].text) == ['<script defer src="app/page.js">']
    for each in SCRIPTS:  # each whole, but for what it takes from others and gives them
        body = re.sub(r"^import .*\n|^export ", "", each.text, flags=re.MULTILINE).strip()
        assert body in re.sub(r"^const \{.*\} = modules\[.*\n", "", script().text, flags=re.MULTILINE), (
            each.name
        )
