"""What a measurement says of when to answer how."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from unspool.evals.kept import Kept
from unspool.evals.limits import measured
from unspool.evals.record import Record
from unspool.strategies.auto import limits

from .test_report import record

COUNT, WHOLE = "How many are there?", "Summarise the text."


def asked(question: str, scores: Mapping[str, Mapping[int, float]], seeds: int = 30) -> list[Record]:
    """The same score at each seed, by strategy and size."""
    return [
        replace(record(score, seed=seed, size=size, strategy=strategy), question=question)
        for strategy, sizes in scores.items()
        for size, score in sizes.items()
        for seed in range(seeds)
    ]


def test_direct_is_as_good_until_rlm_gains_over_it() -> None:
    scores = {
        "direct": {8_000: 1.0, 32_000: 0.5, 128_000: 0.5},
        "rlm": {8_000: 0.5, 32_000: 0.5, 128_000: 1.0},
    }
    (row,) = measured(asked(COUNT, scores), "small")
    assert (row["profile"], row["kind"]) == ("small", "count")
    direct, beyond = row["direct"], row["beyond"]
    assert isinstance(direct, dict)
    assert isinstance(beyond, dict)
    assert (direct["tokens"], direct["basis"]) == (32_000, "measured")
    assert "unspool eval, m:x: rlm over direct at 8k -0.50" in direct["source"]
    assert "of 30" in direct["source"]
    assert beyond == {"strategy": "rlm", "basis": "assumed"}


def test_where_rlm_gains_at_once_direct_is_never_as_good() -> None:
    (row,) = measured(asked(COUNT, {"direct": {8_000: 0.0}, "rlm": {8_000: 1.0}}), "small")
    assert isinstance(row["direct"], dict)
    assert row["direct"]["tokens"] == 0


def test_a_gain_within_the_interval_is_none() -> None:
    some = asked(COUNT, {"direct": {8_000: 0.5}, "rlm": {8_000: 0.5}}, seeds=4)
    some += asked(COUNT, {"direct": {8_000: 0.0}, "rlm": {8_000: 1.0}}, seeds=1)
    (row,) = measured(some[:-1], "small")
    assert isinstance(row["direct"], dict)
    assert row["direct"]["tokens"] == 8_000


def test_map_reduce_comes_beyond_where_it_gains_over_rlm() -> None:
    scores = {"direct": {8_000: 0.5}, "rlm": {8_000: 0.2}, "map_reduce": {8_000: 0.9}}
    (row,) = measured(asked(WHOLE, scores), "frontier")
    assert isinstance(row["beyond"], dict)
    assert (row["kind"], row["beyond"]["strategy"], row["beyond"]["basis"]) == (
        "whole",
        "map_reduce",
        "measured",
    )


def test_what_was_not_asked_by_both_has_no_row() -> None:
    assert measured(asked(COUNT, {"direct": {8_000: 1.0}, "rlm": {32_000: 1.0}}), "small") == []


def test_the_command_prints_rows_as_the_table_has_them(tmp_path: Path) -> None:
    with Kept.open(tmp_path, {}, "eval") as kept:
        for each in asked(COUNT, {"direct": {8_000: 1.0}, "rlm": {8_000: 0.0}}, seeds=3):
            kept.add(each)
    command = [sys.executable, "-m", "unspool", "eval", "limits", str(tmp_path), "--profile", "small"]
    done = subprocess.run(command, capture_output=True, timeout=60, check=True)
    row = json.loads(done.stdout)
    assert ("small", row["kind"]) in limits().rows
    assert set(row) == {"profile", "kind", "direct", "beyond"}
    assert row["direct"]["tokens"] == 8_000
