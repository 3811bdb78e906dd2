"""docs/design.md and the code say the same."""

from __future__ import annotations

import re
from dataclasses import fields
from pathlib import Path

from unspool import events, reading, types

PAGE = (Path(__file__).parent.parent / "docs" / "design.md").read_text(encoding="utf-8")


def row(first: str) -> list[str]:
    """The names in backticks of the table row that starts with ``first``, a parenthesis left out."""
    line = next(line for line in PAGE.splitlines() if line.startswith(f"| `{first}` |"))
    return re.findall(r"`(\w+)`", line.split("|", 2)[2])


def test_the_event_table_is_the_code() -> None:
    for kind in events.EVENTS:
        cls, *names = row(kind.kind)
        assert cls == kind.__name__
        assert names == [f.name for f in fields(kind) if f.name not in ("seq", "time")]


def test_the_result_table_is_the_code() -> None:
    for kind in (
        types.Run,
        types.Branch,
        types.Node,
        types.Turn,
        types.CellRun,
        types.SubCall,
        types.Usage,
        types.LedgerLine,
        reading.Coverage,
        reading.PartCoverage,
        reading.Citation,
    ):
        assert row(kind.__name__) == [f.name for f in fields(kind)], kind


def test_the_signatures_stand_in_the_protocols() -> None:
    block = PAGE.split("```python", 1)[1].split("```", 1)[0]
    source = "".join(
        (Path(types.__file__).parent / name).read_text(encoding="utf-8")
        for name in ("models/protocol.py", "sandbox/protocol.py", "journal.py")
    )
    signatures = re.findall(r"(?:async )?def .*", block)
    assert len(signatures) == 12
    for signature in signatures:
        assert signature in source
