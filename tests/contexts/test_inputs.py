"""docs/contexts.md says what comes out when every kind of input is tried."""

from __future__ import annotations

from pathlib import Path

import pytest

from .inputs import INPUTS, REFUSED, Input, refused, tried

PAGE = (Path(__file__).parents[2] / "docs" / "contexts.md").read_text(encoding="utf-8")
HINT = "docs/contexts.md is not what was tried: put in what `python -m tests.contexts.inputs` prints"


@pytest.mark.parametrize("each", INPUTS, ids=lambda each: each.name)
def test_an_input_is_described_read_and_comes_back(each: Input) -> None:
    if each.needs:
        pytest.importorskip(each.needs)
    row = "| " + " | ".join(cell.replace("|", "\\|") for cell in tried(each)) + " |"
    assert row in PAGE, HINT


@pytest.mark.parametrize(("name", "bad"), REFUSED, ids=lambda value: value if isinstance(value, str) else "")
def test_what_is_refused(name: str, bad: tuple[str, bytes | None]) -> None:
    if ".pdf` without" in name:
        pytest.importorskip("pypdfium2")
    assert f"| {name} | – | – | refused | {refused(*bad)} |" in PAGE, HINT


def test_no_row_is_there_that_was_not_tried() -> None:
    rows = [line for line in PAGE.splitlines() if line.startswith("| ") and line.count(" | ") == 4]
    names = {each.name for each in INPUTS} | {name for name, _ in REFUSED} | {"input"}
    assert {row[2:].split(" | ")[0] for row in rows} == names
