"""docs/values.md says what comes out when every kind of value is tried."""

from __future__ import annotations

from pathlib import Path

import pytest

from .values import KINDS, Kind, tried

PAGE = (Path(__file__).parents[2] / "docs" / "values.md").read_text(encoding="utf-8")
HINT = "docs/values.md is not what was tried: put in what `python -m tests.contexts.values` prints"


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.label)
def test_each_row_of_the_table_is_what_happens(kind: Kind) -> None:
    if "image" in kind.label:
        pytest.importorskip("PIL", reason="Pillow is not installed: pip install pillow")
    assert tried(kind) in PAGE.split("\n"), HINT


def test_the_table_has_no_other_rows() -> None:
    rows = PAGE.split("| a value |")[1].split("\n\n")[0].split("\n")[2:]
    assert len(rows) == len(KINDS), HINT
