"""The page's own files: small, and nothing in them that a browser would fetch from elsewhere or obey."""

from __future__ import annotations

import ast
import gzip
import re
from pathlib import Path

import pytest

from unspool.viewer.assets import PAGE, SCRIPT, STYLE, assets

MOST = 150_000  # bytes of all of them, packed
SOURCES = sorted(
    path
    for path in (Path(__file__).parents[2] / "viewer" / "src").iterdir()
    if path.suffix in (".js", ".ts", ".tsx")
)


def test_they_are_small() -> None:
    packed = sum(len(gzip.compress(each.data, 9)) for each in assets().values())
    assert packed < MOST


def test_the_page_asks_for_its_script_and_its_style_alone() -> None:
    page = assets()[PAGE].text
    assert re.findall(r"<script[^>]*>", page) == [f'<script defer src="app/{SCRIPT}">']
    assert re.findall(r"<link[^>]*>", page) == [
        '<link rel="icon" href="data:,">',
        f'<link rel="stylesheet" href="app/{STYLE}">',
    ]


def test_the_script_is_one_that_a_page_can_hold() -> None:
    """No module, nothing that is fetched or that the policy forbids, nothing that ends its element."""
    code = assets()[SCRIPT].text
    for way in (
        "eval(",
        "new Function",
        "document.write",
        "insertAdjacent",
        "import(",
        "import.meta",
        "</script",
    ):
        assert way not in code
    assert "sourceMappingURL" not in code
    assert not re.search(r"^(import|export)\b", code, re.MULTILINE)
    assert set(re.findall(r"https?:[^\"'`\s]*", code)) <= {  # names of kinds of elements, fetched by nobody
        "http://www.w3.org/2000/svg",
        "http://www.w3.org/1998/Math/MathML",
        "http://www.w3.org/1999/xhtml",
    }


def test_the_style_asks_for_nothing() -> None:
    text = assets()[STYLE].text
    assert "url(" not in text
    assert "@import" not in text
    assert "prefers-color-scheme: dark" in text
    assert "prefers-reduced-motion" in text


@pytest.mark.parametrize("source", SOURCES, ids=lambda path: path.name)
def test_a_source_sets_text_as_text_alone(source: Path) -> None:
    text = source.read_text("utf-8")
    for way in (
        "dangerouslySetInnerHTML",
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
    assert "http:" not in text
    assert "https:" not in text


@pytest.mark.parametrize("source", SOURCES, ids=lambda path: path.name)
def test_a_source_says_what_it_is(source: Path) -> None:
    text = source.read_text("utf-8")
    assert text.startswith("// ")
    assert text.count("\n") <= 300


def test_no_test_of_the_page_waits_by_an_expression() -> None:
    """The page's policy refuses to evaluate it again, where it does not hold at once; a function it calls."""
    waits = [
        (path.name, node.lineno)
        for path in sorted(Path(__file__).parent.glob("*.py"))
        for node in ast.walk(ast.parse(path.read_text("utf-8")))
        if isinstance(node, ast.Call)
        and getattr(node.func, "attr", "") == "wait_for_function"
        and "=>" not in ast.unparse(node.args[0])
        and not isinstance(node.args[0], ast.Name)
    ]
    assert waits == []
