"""How many tokens a text is taken to have."""

from __future__ import annotations

from pathlib import Path

import pytest

from unspool.strategies.window import density

DATA = Path(__file__).parents[2] / "examples" / "data"


@pytest.mark.parametrize(
    ("name", "characters"),
    [
        # Characters in a token of Qwen2.5's tokenizer, measured on the first 60,000.
        ("apache_2k.log", 2.10),
        ("hdfs_2k.log", 1.71),
        ("openssh_2k.log", 2.02),
        ("sms_spam.tsv", 3.33),
        ("trec_questions.label", 4.07),
    ],
)
def test_the_estimate_is_on_the_safe_side_and_not_far(name: str, characters: float) -> None:
    text = (DATA / name).read_text(encoding="utf-8", errors="replace")[:60_000]
    assert characters / 1.5 < density(text) < characters


@pytest.mark.parametrize("text", ["", " ", "\n", "\0", "a", "\ud800", "é" * 99, "你好", "😀" * 9, "-" * 999])
def test_any_text_has_one(text: str) -> None:
    assert 0.3 < density(text) <= 10
