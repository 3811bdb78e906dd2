"""The live region of a terminal as a pure function of the view, the clock and the size.

Contract: never wider than ``width`` and never higher than half of ``height``; every text is safe.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from ..safe_text import one_line
from .report import calls, money, tokens
from .terminal import safe
from .view import View

if TYPE_CHECKING:
    from rich.console import Group
    from rich.text import Text

_MARGIN = 1  # a row of full width makes some terminals wrap


def highlighted(code: str) -> Text:
    """Python in the colours of the terminal's own palette."""
    from rich.syntax import Syntax

    text = Syntax("", "python", theme="ansi_dark", background_color="default").highlight(code)
    text.rstrip()
    text.no_wrap = False  # where it stays on the screen, nothing of it is cut
    return text


def screen(
    view: View, *, now: float, width: int, height: int, unicode: bool = True, with_code: bool = True
) -> Group:
    """What the run does at this moment."""
    from rich.console import Group
    from rich.text import Text

    rows: list[Text] = [_status(view, now, unicode)]
    room = max(3, height // 2 - 3)
    children = _children(view, room // 2, unicode)
    room -= len(children)
    if view.reply.strip():  # what is being written comes before what ran last
        rows += _tail(_tabless(view.reply), room, "│ " if unicode else "| ")
    elif with_code:
        if view.code:
            rows += _block(highlighted(_tabless(view.code)), room * 2 // 3, "│ " if unicode else "| ")
        if view.output:
            rows += _block(Text(_tabless(view.output), style="dim"), room // 3, "→ " if unicode else "> ")
    rows += children
    done, every, failed = view.cell_calls
    if every > 1:
        rows.append(_bar(done, every, failed, width, unicode))
    if view.usage.calls:
        rows.append(Text(f"{tokens(view.usage)}{_dot(unicode)}{money(view.cost)}", style="dim"))
    for row in rows:
        row.no_wrap = True
        row.truncate(max(1, width - _MARGIN), overflow="ellipsis" if unicode else "crop")
    return Group(*rows)


def _dot(unicode: bool) -> str:
    return " · " if unicode else " | "


def _status(view: View, now: float, unicode: bool) -> Text:
    from rich.text import Text

    frames = "⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏" if unicode else "|/-\\"
    parts = []
    if view.turn:
        parts.append(f"turn {view.turn}" + (f" of {view.max_turns}" if view.max_turns else ""))
    going = view.phase != "done"  # of a run that is over the last line says how long it took
    step = max(0.0, now - view.since) if going and view.since is not None else None
    parts.append(view.phase if step is None else f"{view.phase}, {step:.0f} s")
    if going and view.started is not None:
        parts.append(f"{max(0.0, now - view.started - view.paused):.0f} s in all")
    if view.nodes > 1:
        parts.append("1 child" if view.nodes == 2 else f"{view.nodes - 1:,} children")
    return Text.assemble(
        (frames[int(now * 8) % len(frames)] + " ", "cyan"), (_dot(unicode).join(parts), "bold")
    )


def _children(view: View, room: int, unicode: bool) -> list[Text]:
    """The children at work, each below its parent; what does not fit is counted."""
    from rich.text import Text

    names = sorted(view.children, key=_place)
    kept = names if len(names) <= room else names[: room - 1]
    rows: list[Text] = []
    for name in kept:
        child = view.children[name]
        parts = [f"turn {child.turn}" if child.turn else "", child.phase]
        parts += [calls(child.calls_done, child.calls_all, 0)] if child.calls_all else []
        indent = _branch(name, names, unicode)
        told = _dot(unicode).join(each for each in parts if each)
        title = name if "." in name else f"branch {_place(name)[0]}"
        query = (f"  {one_line(safe(child.query))}", "dim")
        rows.append(Text.assemble((indent, "dim"), f"{title}  {told}", query))
    if len(names) > len(kept):
        rows.append(Text(f"({len(names) - len(kept):,} more children at work)", style="dim"))
    return rows


def _place(name: str) -> list[int]:
    """Of a node in the order of the tree: its branch of the run, then its number at each depth.

    >>> _place("0.2"), _place("0@3.1")
    ([1, 2], [3, 1])
    """
    root, *below = name.split(".")
    return [int(root.partition("@")[2] or 1), *map(int, below)]


def _branch(name: str, names: Sequence[str], unicode: bool) -> str:
    """The lines of the tree before a child."""
    parts = name.split(".")
    if len(parts) == 1:
        return ""
    above = [".".join(parts[: depth + 1]) for depth in range(1, len(parts))]
    more = [any(_sibling(each, other) for other in names) for each in above]
    down, last, on = ("│  ", "└─ ", "├─ ") if unicode else ("|  ", "`- ", "|- ")
    return "".join(down if each else "   " for each in more[:-1]) + (on if more[-1] else last)


def _sibling(name: str, other: str) -> bool:
    """Whether ``other`` comes after ``name`` below the same parent."""
    (parent, _, number), (others, _, later) = name.rpartition("."), other.rpartition(".")
    return parent == others and int(later) > int(number)


def _tabless(text: str) -> str:
    return safe(text.strip("\n")).expandtabs(4)


def _block(text: Text, room: int, mark: str) -> list[Text]:
    """The first rows of ``text`` behind a mark; what does not fit is counted."""
    from rich.text import Text

    rows = list(text.split("\n"))
    kept = rows if len(rows) <= room else rows[: room - 1]
    bar = (mark, "dim")
    shown = [Text.assemble(bar, row) for row in kept]
    if len(rows) > len(kept):
        shown.append(Text.assemble(bar, (f"({len(rows) - len(kept):,} more)", "dim")))
    return shown


def _tail(text: str, room: int, mark: str) -> list[Text]:
    """The last rows of ``text`` behind a mark."""
    from rich.text import Text

    return [Text.assemble((mark, "dim"), (row, "dim")) for row in text.split("\n")[-room:]]


def _bar(done: int, every: int, failed: int, width: int, unicode: bool) -> Text:
    from rich.text import Text

    label = calls(done, every, failed)
    room = min(30, width - _MARGIN - len(label) - 1)
    if room < 5:
        return Text(label)
    full = room * done // every
    on, off = ("━", "─") if unicode else ("#", "-")
    return Text.assemble((on * full, "cyan"), (off * (room - full), "dim"), " ", label)
