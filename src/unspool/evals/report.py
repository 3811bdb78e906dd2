"""The rows of a measurement as a page of Markdown.

Contract: :func:`markdown` is a pure function of the rows; what is not known is said to be unknown.

>>> money(None), money(0.0), money(0.00312), money(1.5)
('unknown', '0', '0.0031', '1.50')
"""

from __future__ import annotations

import shlex
from collections.abc import Callable, Collection, Mapping, Sequence

from ..strategies import names
from .kept import Setting
from .rows import BASE, Row, place_of
from .sample import size_words
from .suites import KNOWN

UNKNOWN = "unknown"
LEGEND = (
    "Score: the mean over tasks and seeds, from 0 to 1, with its 95% interval. Tokens, turns, sub-calls and "
    "cost are a question's mean; right answers are those with a score of 1."
)


def markdown(
    found: Sequence[Row],
    settings: Mapping[str, Setting],
    commands: Sequence[str],
    plots: Mapping[str, str],
) -> str:
    """The page. ``plots``: the path of the picture of each suite."""
    models = sorted({row.model for row in found})
    samples = sum(row.score.count for row in found)
    parts = [
        "# Measured with unspool eval",
        f"{'Models' if len(models) > 1 else 'Model'}: {', '.join(models)}. "
        f"{samples:,} sample{'' if samples == 1 else 's'}. {LEGEND}",
        "Set: " + ", ".join(f"{name} {value}" for name, value in settings.items() if value is not None) + ".",
        "The same again:\n\n```\n" + "\n".join(commands) + "\n```",
    ]
    parts.append(_overview(found))
    for suite in dict.fromkeys(row.suite for row in found):
        words = KNOWN[suite].words if suite in KNOWN else ""
        parts.append(f"## {suite}\n\n{words[:1].upper()}{words[1:]}.")
        if suite in plots:
            parts.append(f"![Score of {suite} over size]({plots[suite]})")
        mine = [row for row in found if row.suite == suite]
        parts.append(_table(mine, many=len(models) > 1))
        parts += [
            f"{head}:\n\n{told}"
            for head, of in (("What was chosen", _chosen), ("What was not right", _failures))
            if (told := _lines(mine, of, many=len(models) > 1))
        ]
    return "\n\n".join(parts) + "\n"


def _table(found: Sequence[Row], *, many: bool) -> str:
    columns: list[tuple[str, Callable[[Row], str]]] = [
        ("size", lambda row: size_words(row.size)),
        ("strategy", lambda row: row.strategy),
        ("score", lambda row: row.score.words),
        ("right", lambda row: f"{row.right} of {row.score.count}"),
        ("$ a question", lambda row: money(row.cost)),
        ("$ a right answer", lambda row: money(row.cost_per_right) if row.right else "–"),
        ("tokens root", lambda row: _count(row.root_tokens)),
        ("tokens sub", lambda row: _count(row.sub_tokens)),
        ("turns", lambda row: f"{row.turns:.1f}"),
        ("sub-calls", lambda row: f"{row.sub_calls:,.1f}"),
        ("p50 s", lambda row: f"{row.p50:.1f}"),
        ("p95 s", lambda row: f"{row.p95:.1f}"),
        ("read", lambda row: UNKNOWN if row.coverage is None else f"{row.coverage:.0%}"),
    ]
    if any(row.gain for row in found):
        columns.insert(3, (f"over {BASE}", lambda row: "–" if row.gain is None else row.gain.signed))
    if many:
        columns.insert(1, ("model", lambda row: row.model))
    return _grid([name for name, _ in columns], [[of(row) for _, of in columns] for row in found])


def _overview(found: Sequence[Row]) -> str:
    """One line for each suite, model and size, a column for each strategy; the best of a line is bold."""
    strategies = sorted({row.strategy for row in found}, key=lambda name: place_of(name, names()))
    many = len({row.model for row in found}) > 1
    lines: dict[tuple[str, str, int], dict[str, float]] = {}
    for row in found:
        lines.setdefault((row.suite, row.model, row.size), {})[row.strategy] = row.score.value
    return _grid(
        ["suite", *(["model"] if many else []), "size", *strategies],
        [
            [suite, *([model] if many else []), size_words(size)]
            + [_told(scores.get(name), scores.values()) for name in strategies]
            for (suite, model, size), scores in lines.items()
        ],
    )


def _told(score: float | None, scores: Collection[float]) -> str:
    """With two digits; bold where it is the best of several that differ in them."""
    if score is None:
        return ""
    text, others = f"{score:.2f}", {f"{each:.2f}" for each in scores}
    return f"**{text}**" if len(others) > 1 and text == max(others) else text


def _grid(head: Sequence[str], body: Sequence[Sequence[str]]) -> str:
    """A table of Markdown."""
    lines = [list(map(_cell, line)) for line in (head, *body)]
    rule = "|" + "---|" * len(head)
    told = ["| " + " | ".join(line) + " |" for line in lines]
    return "\n".join([told[0], rule, *told[1:]])


def _lines(found: Sequence[Row], of: Callable[[Row], Mapping[str, int]], *, many: bool) -> str:
    """One line for each row that has something to count."""
    return "\n".join(
        f"- {size_words(row.size)} {row.strategy}{f' {row.model}' if many else ''}: "
        + "; ".join(f"{count} × {_cell(kind)}" for kind, count in of(row).items())
        for row in found
        if of(row)
    )


def _chosen(row: Row) -> Mapping[str, int]:
    return row.chosen


def _failures(row: Row) -> Mapping[str, int]:
    return row.failures


def _cell(text: str) -> str:
    return " ".join(text.replace("|", "\\|").split())


def money(cost: float | None) -> str:
    """Dollars."""
    if cost is None:
        return UNKNOWN
    return "0" if cost == 0 else f"{cost:.2f}" if cost >= 1 else f"{cost:.4f}"


def _count(number: float | None) -> str:
    return UNKNOWN if number is None else f"{number:,.0f}"


def spelled(words: Sequence[str]) -> str:
    """A command as it can be typed again.

    >>> spelled(["unspool", "eval", "needle", "--out", "my folder"])
    "unspool eval needle --out 'my folder'"
    """
    return " ".join(shlex.quote(word) for word in words)
