"""The report: what records say, and no more."""

from __future__ import annotations

import random
import xml.etree.ElementTree as ET
from dataclasses import replace
from itertools import combinations, pairwise
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from unspool.errors import ConfigError
from unspool.evals.intervals import mean_of
from unspool.evals.kept import Kept
from unspool.evals.pages import write
from unspool.evals.plot import APART, Point, Series, plot, series_of
from unspool.evals.record import Record
from unspool.evals.report import markdown
from unspool.evals.rows import rows


def record(
    score: float = 1.0, *, seed: int = 1, task: str = "number", size: int = 8_000, strategy: str = "rlm",
    cost: float | None = 0.01, tokens: int | None = 100, status: str = "answered", reason: str = "submitted",
    seconds: float = 1.0, kind: str = "", coverage: float | None = 0.5, suite: str = "needle", model: str = "m:x",
) -> Record:  # fmt: skip
    return Record(
        suite, task, size, seed, strategy, model, model, "?", 32_000, "abc", '"a"', '"b"', score, kind,  # type: ignore[arg-type]
        status, reason, 2, tokens, 10, 3, 0, 0, 2, cost, seconds, coverage, "run", 1.0,  # type: ignore[arg-type]
    )  # fmt: skip


def test_a_row_is_the_mean_of_its_samples() -> None:
    some = [
        record(1.0, seed=1),
        record(0.0, seed=2, kind="wrong"),
        record(0.5, seed=3, kind="part", seconds=3.0),
    ]
    (row,) = rows(some)
    assert (row.score.value, row.right, row.score.count) == (0.5, 1, 3)
    assert row.cost == pytest.approx(0.01)
    assert row.cost_per_right == pytest.approx(0.03)
    assert (row.root_tokens, row.sub_tokens, row.turns, row.sub_calls) == (110, 0, 2, 3)
    assert (row.p50, row.p95) == (1.0, pytest.approx(2.8))
    assert row.failures == {"wrong answer": 1, "partly right": 1}


def test_what_one_sample_does_not_know_no_sum_knows() -> None:
    (row,) = rows([record(), record(cost=None, tokens=None, coverage=None)])
    assert (row.cost, row.cost_per_right, row.root_tokens, row.coverage) == (None, None, None, None)
    assert row.sub_tokens == 0
    page = markdown(rows([record(cost=None, tokens=None, coverage=None)]), {}, ["eval"], {})
    assert page.count("unknown") == 4


def test_nothing_right_has_no_price_of_a_right_answer() -> None:
    (row,) = rows([record(0.0)])
    assert (row.cost, row.cost_per_right) == (0.01, None)


def test_like_failures_are_counted_together() -> None:
    some = [
        record(0.0, status="budget", reason=f"the limit of ${n} of the run 'x{n}' was reached after {n}.5 s")
        for n in (1, 2)
    ]
    (row,) = rows(some)
    assert row.failures == {"budget: the limit of … of the run … was reached after … s": 2}


def test_a_gain_is_over_the_samples_that_both_were_asked() -> None:
    some = [record(score, seed=n, strategy="rlm") for n, score in ((1, 1.0), (2, 0.5), (3, 0.0))]
    some += [record(score, seed=n, strategy="direct") for n, score in ((1, 0.5), (2, 0.0))]
    rlm, direct = rows(some)
    assert rlm.gain is not None
    assert (rlm.gain.value, rlm.gain.count) == (0.5, 2)
    assert -1 <= rlm.gain.low < 0.5 < rlm.gain.high <= 1
    assert direct.gain is None
    page = markdown(rows(some), {}, ["eval"], {})
    assert "| over direct |" in page
    assert "| needle | 8k | **0.50** | 0.25 |" in page
    assert "over direct" not in markdown(rows([record()]), {}, ["eval"], {})


def test_what_was_chosen_is_told() -> None:
    some = [
        replace(record(strategy="auto", seed=n), answered_by="direct" if n < 3 else "rlm") for n in (1, 2, 3)
    ]
    some += [replace(record(), answered_by="rlm")]
    assert [row.chosen for row in rows(some)] == [{}, {"direct": 2, "rlm": 1}]
    assert "What was chosen:\n\n- 8k auto: 2 × direct; 1 × rlm\n" in markdown(rows(some), {}, ["eval"], {})


def test_rows_come_by_suite_size_and_strategy_and_models_apart() -> None:
    some = [
        record(suite=suite, size=size, strategy=strategy, model=model)
        for model in ("b", "a")
        for strategy in ("rlm", "direct")
        for size in (32_000, 8_000)
        for suite in ("logs", "needle")
    ]
    found = rows(some)
    assert len(found) == 16
    assert [row.suite for row in found] == ["needle"] * 8 + ["logs"] * 8
    assert [(r.model, r.size, r.strategy) for r in found[:4]] == [
        ("a", 8_000, "rlm"), ("a", 8_000, "direct"), ("a", 32_000, "rlm"), ("a", 32_000, "direct"),
    ]  # fmt: skip
    assert "| model |" in markdown(rows(some), {}, ["eval"], {})


def test_the_tables_are_whole_whatever_is_in_them() -> None:
    page = markdown(
        rows([record(0.0, status="failed", reason="a | b\nc"), record(strategy="direct")]),
        {"usd": 0.5, "seconds": None}, ["unspool eval needle"], {"needle": "plots/needle.svg"},
    )  # fmt: skip
    tables = [part for part in page.split("\n\n") if part.startswith("|")]
    assert len(tables) == 2
    for table in tables:
        assert len({line.replace("\\|", "").count("|") for line in table.splitlines()}) == 1
    assert "Set: usd 0.5." in page
    assert "1 × failed: a \\| b c" in page
    assert "](plots/needle.svg)" in page


# Intervals


def test_an_interval_holds_its_mean_and_narrows_with_more_seeds() -> None:
    few, many = (mean_of([[1.0, 0.0]] * count) for count in (3, 50))
    assert few.low < few.value < few.high
    assert many.high - many.low < few.high - few.low


def test_seeds_that_differ_widen_it_more_than_tasks_that_do() -> None:
    """The same scores: once each context is all right or all wrong, once each is half right."""
    by_seed = mean_of([[1.0] * 4, [0.0] * 4, [1.0] * 4, [0.0] * 4])
    by_task = mean_of([[1.0, 0.0, 1.0, 0.0]] * 4)
    assert by_seed.value == by_task.value
    assert by_seed.high - by_seed.low > by_task.high - by_task.low


def test_it_holds_the_truth_about_as_often_as_it_says() -> None:
    chance, held = random.Random(1), 0
    for _ in range(50):
        rates = [min(1.0, max(0.0, chance.gauss(0.6, 0.1))) for _ in range(10)]
        mean = mean_of([[float(chance.random() < rate) for _ in range(6)] for rate in rates])
        held += mean.low <= 0.6 <= mean.high
    assert held >= 44


def test_equal_scores_are_not_certain() -> None:
    assert mean_of([[1.0] * 5]).low == pytest.approx(0.478, abs=0.001)
    assert mean_of([[0.0] * 5]).high == pytest.approx(0.522, abs=0.001)
    assert mean_of([[0.5]]).words == "0.50 [0.01–0.99]"
    assert mean_of([[0.5] * 5]).words == "0.50 [0.24–0.76]"
    with pytest.raises(ValueError, match="no scores"):
        mean_of([[]])


# Pictures

SVG = "{http://www.w3.org/2000/svg}"
scores = st.floats(0, 1)


def texts(picture: str) -> list[tuple[float, float, str]]:
    root = ET.fromstring(picture)
    return [(float(e.get("x", "")), float(e.get("y", "")), e.text or "") for e in root.iter(f"{SVG}text")]


@settings(max_examples=60)
@given(st.lists(st.lists(scores, min_size=3, max_size=3), min_size=1, max_size=9))
def test_names_keep_their_distance_and_stay_in_the_picture(values: list[list[float]]) -> None:
    series = [
        Series(f"line {n}", tuple(Point(size, v, max(0, v - 0.1), min(1, v + 0.1)) for size, v in zip((8_000, 32_000, 256_000), each, strict=True)))
        for n, each in enumerate(values)
    ]  # fmt: skip
    picture = plot("suite", series)
    names = sorted(y for _, y, text in texts(picture) if text.startswith("line "))
    assert len(names) == len(values)
    assert all(b - a >= APART - 0.11 for a, b in pairwise(names))
    assert names[0] > 30
    assert names[-1] < 320


Box = tuple[float, float, float, float]


def boxes(picture: str) -> list[tuple[str, Box]]:
    """About where each text stands: left, top, right, bottom, for letters of six tenths of the size."""
    found: list[tuple[str, Box]] = []
    for element in ET.fromstring(picture).iter(f"{SVG}text"):
        text, size = element.text or "", float(element.get("font-size", "12"))
        x, y = float(element.get("x", "")), float(element.get("y", ""))
        wide = 0.6 * size * len(text)
        left = x - {"start": 0.0, "middle": wide / 2, "end": wide}[element.get("text-anchor", "start")]
        found.append((text, (left, y - 0.75 * size, left + wide, y + 0.22 * size)))
    return found


def test_no_text_lies_on_another_or_outside() -> None:
    sizes = (2_000, 8_000, 32_000, 131_000, 256_000, 1_000_000)
    series = [
        Series(f"a strategy of number {n}", tuple(Point(s, 1.0, 0.9, 1.0) for s in sizes)) for n in range(8)
    ]
    found = boxes(plot("a suite with a long name", series))
    assert len(found) == 8 + 6 + 6 + 3
    for (text, a), (other, b) in combinations(found, 2):
        assert a[2] <= b[0] or b[2] <= a[0] or a[3] <= b[1] or b[3] <= a[1], (text, other)
    for text, (left, top, right, bottom) in found:
        assert left >= 0, text
        assert top >= 0, text
        assert right <= 760, text
        assert bottom <= 340, text


def test_hostile_names_are_only_shown() -> None:
    point = (Point(8_000, 0.5, 0.4, 0.6),)
    picture = plot('<script>"&', [Series("</text><script>x", point), Series("a" * 400, point)])
    assert "<script" not in picture
    assert [text for _, _, text in texts(picture) if text.startswith("</text>")] == ["</text><script>x"]
    assert max(len(text) for _, _, text in texts(picture)) <= 40


def test_lines_are_of_strategies_and_their_points_in_order() -> None:
    some = [record(strategy=s, size=size) for s in ("rlm", "direct") for size in (32_000, 8_000)]
    series = series_of(rows(some))
    assert [each.name for each in series] == ["rlm", "direct"]
    assert [point.size for point in series[0].points] == [8_000, 32_000]


# Files


def test_the_report_is_written_beside_what_it_is_made_of(tmp_path: Path) -> None:
    with Kept.open(tmp_path, {"seconds": 60.0}, "unspool eval needle") as kept:
        with pytest.raises(ConfigError, match="no sample yet"):
            write(tmp_path)
        kept.add(record())
        kept.add(record(suite="logs"))
    page, _ = write(tmp_path)
    assert (tmp_path / "report.md").read_text("utf-8") == page == write(tmp_path)[0]
    assert {path.name for path in (tmp_path / "plots").iterdir()} == {"needle.svg", "logs.svg"}
    ET.parse(tmp_path / "plots" / "logs.svg")
