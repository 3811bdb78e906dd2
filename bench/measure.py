"""One measured row beside its floor, and how a table of rows is printed."""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Literal

HERE = Path(__file__).resolve().parent
Unit = Literal["s", "characters", "MB", "calls"]


@contextmanager
def runs_apart() -> Iterator[None]:
    """What is measured keeps its runs as every run does, but not among the user's."""
    with TemporaryDirectory(prefix="unspool-bench-") as folder:
        os.environ["UNSPOOL_RUNS"] = folder
        yield


@contextmanager
def served(script: str, *options: str) -> Iterator[str]:
    """The address that a script of this folder serves at, in a process of its own, until it is left."""
    process = subprocess.Popen(
        [sys.executable, str(HERE / script), *options],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdin is not None
    assert process.stdout is not None
    try:
        yield process.stdout.readline().strip()
    finally:
        process.stdin.close()
        process.wait()


@dataclass(frozen=True)
class Row:
    """``values`` and ``floors`` in the unit, taken in turn; ``goal`` in words, ``met`` by the medians."""

    what: str
    values: tuple[float, ...]
    floor: str
    floors: tuple[float, ...]
    goal: str
    met: bool
    unit: Unit = "s"

    @property
    def median(self) -> float:
        return statistics.median(self.values)

    @property
    def floor_median(self) -> float:
        return statistics.median(self.floors)


def row(
    what: str,
    values: Sequence[float],
    floor: str,
    floors: Sequence[float],
    goal: str,
    limit: float,
    unit: Unit = "s",
) -> Row:
    """A row that is met where the median is within ``limit``."""
    return Row(what, tuple(values), floor, tuple(floors), goal, statistics.median(values) <= limit, unit)


def show(value: float, unit: Unit) -> str:
    match unit:
        case "s":
            return show_seconds(value)
        case "MB":
            return f"{value:,.0f} MB" if value >= 10 else f"{value:.3g} MB"
        case _:
            return f"{value:,.0f} {unit}"


def show_seconds(seconds: float) -> str:
    if seconds < 0.001:
        return f"{seconds * 1e6:.1f} µs"
    return f"{seconds * 1000:.2f} ms" if seconds < 0.5 else f"{seconds:.2f} s"


def table(rows: Sequence[Row]) -> str:
    lines = [
        "| what | median (min to max) | floor | its median | ratio | goal | |",
        "|---|---|---|---|---|---|---|",
    ]
    for row in rows:
        spread = f"{show(min(row.values), row.unit)} to {show(max(row.values), row.unit)}"
        lines.append(
            f"| {row.what} | {show(row.median, row.unit)} ({spread}) | {row.floor} | "
            f"{show(row.floor_median, row.unit)} | {row.median / row.floor_median:.2f} | {row.goal} | "
            f"{'met' if row.met else '**missed**'} |"
        )
    return "\n".join(lines)


def as_json(rows: Sequence[Row]) -> str:
    return json.dumps([asdict(row) for row in rows], indent=1)


def report(rows: Sequence[Row], file: Path | None) -> int:
    """Prints the table and what was missed, writes the figures to a file; the exit code."""
    print(table(rows))
    missed = [row.what for row in rows if not row.met]
    print(
        f"\nPython {sys.version.split()[0]}, {os.cpu_count()} cores. Missed: {'; '.join(missed) or 'none'}."
    )
    if file is not None:
        file.write_text(as_json(rows), encoding="utf-8")
    return 1 if missed else 0
