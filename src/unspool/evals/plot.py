"""Score over size as an SVG picture: a line for each strategy, its interval as a bar, its name at the right.

Contract: a pure function of series to text, the same text for the same series; no script, no font file, no
network. Names at the line ends keep their distance whatever the scores are; points of one size stand side by
side, so that their bars do not cover each other; each line has a colour and a mark of its own.

>>> text = plot("needle", [Series("rlm", (Point(8_000, 1.0, 0.9, 1.0), Point(32_000, 0.5, 0.4, 0.6)))])
>>> text.startswith("<svg "), text.count("<circle"), ">32k<" in text
(True, 3, True)
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from html import escape

from .rows import Row
from .sample import size_words

WIDTH, HEIGHT = 760, 340
LEFT, RIGHT, TOP, BOTTOM = 56, 190, 40, 46
SIDE = 7  # pixels between points of one size
APART = 16  # pixels between names
# Told apart by most eyes (Okabe and Ito's choice), and by their marks where colours are not seen.
COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#555555", "#8c6d1f", "#7f3fbf")


@dataclass(frozen=True, slots=True)
class Point:
    """A score at a size, and the ends of its interval."""

    size: int
    value: float
    low: float
    high: float


@dataclass(frozen=True, slots=True)
class Series:
    """One line."""

    name: str
    points: tuple[Point, ...]


def series_of(rows: Sequence[Row]) -> list[Series]:
    """The lines of one suite: one a strategy, and a model where there are several."""
    many = len({row.model for row in rows}) > 1
    lines: dict[str, list[Point]] = {}
    for row in rows:
        name = f"{row.strategy} ({row.model})" if many else row.strategy
        lines.setdefault(name, []).append(Point(row.size, row.score.value, row.score.low, row.score.high))
    return [Series(name, tuple(sorted(points, key=lambda p: p.size))) for name, points in lines.items()]


def plot(title: str, series: Sequence[Series]) -> str:
    """The picture."""
    sizes = sorted({point.size for each in series for point in each.points})
    place = {size: _along(number, len(sizes)) for number, size in enumerate(sizes)}
    ends = _ends(series)
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" width="{WIDTH}" '
        f'height="{HEIGHT}" role="img" font-family="sans-serif" font-size="12" fill="#222">',
        f"<title>Score of {escape(title)} over size</title>",
        f'<rect width="{WIDTH}" height="{HEIGHT}" fill="#fff"/>',
        f'<text x="{LEFT}" y="18" font-size="15" font-weight="bold">{escape(title)}</text>',
        *_axes(place),
    ]
    for number, each in enumerate(series):
        shift = (number - (len(series) - 1) / 2) * SIDE
        parts += _line(each, number, [place[point.size] + shift for point in each.points], ends[number])
    return "\n".join([*parts, "</svg>"]) + "\n"


def _along(number: int, count: int) -> float:
    """Where a size stands: sizes have equal distances, since each is about four times the one before."""
    inner = WIDTH - LEFT - RIGHT
    return LEFT + inner * (number + 0.5) / count


def _up(score: float) -> float:
    return TOP + (HEIGHT - TOP - BOTTOM) * (1 - score)


def _axes(place: dict[int, float]) -> list[str]:
    right, bottom = WIDTH - RIGHT, _up(0)
    parts: list[str] = []
    for fifth in range(6):
        y = _up(fifth / 5)
        parts.append(
            f'<line x1="{LEFT}" y1="{y:.1f}" x2="{right}" y2="{y:.1f}" '
            f'stroke="{"#888" if not fifth else "#ddd"}"/>'
        )
        parts.append(f'<text x="{LEFT - 8}" y="{y + 4:.1f}" text-anchor="end">{fifth / 5:.1f}</text>')
    for size, x in place.items():
        parts.append(
            f'<text x="{x:.1f}" y="{bottom + 18:.1f}" text-anchor="middle">{size_words(size)}</text>'
        )
    middle = (LEFT + right) / 2
    parts.append(f'<text x="{middle:.1f}" y="{HEIGHT - 8}" text-anchor="middle">tokens of the input</text>')
    parts.append(f'<text x="{LEFT}" y="{TOP - 6}" font-size="11" fill="#666">score, 95% interval</text>')
    return parts


def _ends(series: Sequence[Series]) -> list[float]:
    """Heights of the names: that of the last point, moved until no two are too near."""
    wanted = sorted((_up(each.points[-1].value), number) for number, each in enumerate(series))
    placed: list[float] = []
    for y, _ in wanted:
        placed.append(max(y, placed[-1] + APART) if placed else y)
    over = max(0.0, placed[-1] - _up(0)) if placed else 0.0
    for at in reversed(range(len(placed))):  # what would stand below the picture pushes the others up
        limit = placed[at] - over if at == len(placed) - 1 else placed[at + 1] - APART
        placed[at] = min(placed[at], limit)
    heights = {number: y for (_, number), y in zip(wanted, placed, strict=True)}
    return [heights[number] for number in range(len(series))]


def _line(series: Series, number: int, xs: Sequence[float], end: float) -> list[str]:
    colour = COLOURS[number % len(COLOURS)]
    ys = [_up(point.value) for point in series.points]
    path = " ".join(f"{x:.1f},{y:.1f}" for x, y in zip(xs, ys, strict=True))
    parts = [f'<polyline points="{path}" fill="none" stroke="{colour}" stroke-width="1.5"/>']
    for x, y, point in zip(xs, ys, series.points, strict=True):
        parts.append(
            f'<line x1="{x:.1f}" y1="{_up(point.low):.1f}" x2="{x:.1f}" y2="{_up(point.high):.1f}" '
            f'stroke="{colour}" stroke-opacity="0.6"/>'
        )
        parts.append(_mark(number, x, y, colour))
    edge = WIDTH - RIGHT
    parts.append(
        f'<line x1="{xs[-1]:.1f}" y1="{ys[-1]:.1f}" x2="{edge + 10}" y2="{end:.1f}" stroke="{colour}" '
        'stroke-dasharray="2 3" stroke-opacity="0.7"/>'
    )
    parts.append(_mark(number, edge + 18, end, colour))
    name = series.name if len(series.name) <= 24 else f"{series.name[:23]}…"
    parts.append(f'<text x="{edge + 28}" y="{end + 4:.1f}">{escape(name)}</text>')
    return parts


def _mark(number: int, x: float, y: float, colour: str) -> str:
    match number % 4:
        case 0:
            return f'<circle cx="{x:.1f}" cy="{y:.1f}" r="4" fill="{colour}"/>'
        case 1:
            return f'<rect x="{x - 3.5:.1f}" y="{y - 3.5:.1f}" width="7" height="7" fill="{colour}"/>'
        case 2:
            points = f"{x:.1f},{y - 5:.1f} {x - 4.5:.1f},{y + 3.5:.1f} {x + 4.5:.1f},{y + 3.5:.1f}"
            return f'<polygon points="{points}" fill="{colour}"/>'
        case _:
            points = f"{x:.1f},{y - 5:.1f} {x + 5:.1f},{y:.1f} {x:.1f},{y + 5:.1f} {x - 5:.1f},{y:.1f}"
            return f'<polygon points="{points}" fill="{colour}"/>'
