"""Blocks of the documentation that are cells of the REPL run as they stand, and all blocks are Python."""

from __future__ import annotations

import ast
import io
import json
import re
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from unspool import RLM
from unspool.models.protocol import Message
from unspool.testing import ScriptedModel

ROOT = Path(__file__).parent.parent
PAGES = (ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md")))
OURS = {"llm_query", "llm_query_batched", "llm_map", "classify", "rlm_query", "rlm_query_batched", "submit"}


def blocks(page: Path) -> list[str]:
    return re.findall(r"^```python\n(.*?)^```$", page.read_text("utf-8"), re.DOTALL | re.MULTILINE)


def is_cell(block: str) -> bool:
    """Whether code calls what only code in the REPL has."""
    calls = (node.func for node in ast.walk(ast.parse(block)) if isinstance(node, ast.Call))
    return any(isinstance(name, ast.Name) and name.id in OURS for name in calls)


CELLS = [(page.name, block) for page in PAGES for block in blocks(page) if is_cell(block)]


def picture() -> bytes:
    image = pytest.importorskip("PIL.Image")
    file = io.BytesIO()
    image.new("RGB", (40, 20), "red").save(file, "PNG")
    return file.getvalue()


def logs(folder: Path) -> Path:
    (folder / "a.log").write_text("the disk was full at noon\n", "utf-8")
    return folder


COMPLAINT = {"product": "lamp", "severity": "high", "since": "2026-01-02"}
GIVEN: dict[str, tuple[Callable[[Path], object], Callable[[str], str]]] = {
    # what is in the block: its context, and what a sub-model says
    "schema=Complaint": (
        lambda _: ["The lamp broke.", "It broke again."],
        lambda prompt: json.dumps([COMPLAINT] if "array" in prompt else COMPLAINT),
    ),
    "the tone of this review": (lambda _: ["Fine.", "Awful."], lambda _: '{"1": "good", "2": "bad"}'),
    "Name every outage": (logs, lambda _: '{"1": "noon"}'),
    "Copy this table": (lambda _: picture(), lambda _: "a,b"),
}


@pytest.mark.parametrize(("page", "block"), CELLS, ids=[page for page, _ in CELLS])
def test_a_cell_of_the_documentation_runs(page: str, block: str, tmp_path: Path) -> None:
    (given,) = (each for part, each in GIVEN.items() if part in block)  # a new block: say what it is given
    context, says = given

    def sub(messages: Sequence[Message]) -> str:
        return says(messages[-1].text)

    root = ScriptedModel([f"```python\n{block}```", "```python\nsubmit('done')\n```"])
    model = ScriptedModel(sub, name="scripted:sub")
    with RLM(root, sub_model=model) as engine:
        run = engine.run("q", context(tmp_path))
    (cell, *_) = run.trace.turns[0].cells
    assert cell.error is None, (page, cell.output)
    assert cell.outcome in ("ok", "submitted")
    assert all(call.error is None and call.reply for call in cell.sub_calls)
    assert len(cell.sub_calls) > 0
    assert run.status == "answered"


def test_each_kind_of_cell_is_found() -> None:
    assert len(CELLS) == len(GIVEN)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_what_is_named_like_python_is_python(page: Path) -> None:
    for block in blocks(page):
        compile(block, page.name, "exec", ast.PyCF_ALLOW_TOP_LEVEL_AWAIT)
