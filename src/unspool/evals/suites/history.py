"""A long exact output: the last state of a file, from the history of its changes.

The history is made of a real module: commits, oldest first, in the form of ``git log -p --reverse``; each
replaces, removes, repeats or moves a few lines. Whoever applies all of the changes has the file to the
character; whoever summarises has not.

>>> sample = HISTORY.make(4_000, seed=1)[0]
>>> sample.scorer, sample.context.startswith("commit "), sample.gold.count("\\n") > 20
('lines', True, True)
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from datetime import date, timedelta
from difflib import unified_diff

from ..data import Data, modules
from ..sample import Sample
from .suite import Suite

LINES = (60, 400)  # of the file as it begins
NEW = "new file mode 100644\n"
_WHO = ("Ada Barton", "Bruno Calwood", "Clara Dorman", "Dario Elmridge")

REPLAY = """import re
lines = []
print(context[:500])
for commit in re.split(r"(?m)^commit [0-9a-f]{40}$", context)[1:]:
    at, shift, todo = 0, 0, []
    body = commit[commit.index("\\n@@"):] if "\\n@@" in commit else ""
    for row in body.strip("\\n").split("\\n"):
        if found := re.match(r"@@ -(\\d+)(?:,(\\d+))? \\+\\d+(?:,\\d+)? @@", row):
            at = int(found[1]) - (0 if found[2] == "0" else 1) + shift
        elif row[:1] == "-":
            assert lines[at] == row[1:], (lines[at], row)
            del lines[at]
            shift -= 1
        elif row[:1] == "+":
            lines.insert(at, row[1:])
            at += 1
            shift += 1
        elif row[:1] == " ":
            assert lines[at] == row[1:], (lines[at], row)
            at += 1
result = "\\n".join(lines) + "\\n"
print(len(lines))
submit(result)"""


def history(room: int, chance: random.Random, data: Data) -> list[Sample]:
    """One file and its history."""
    path, lines = _start(room, chance)
    day = date(2024, 1, 1)
    before: list[str] = []
    commits: list[str] = []
    for number, after in enumerate(_states(lines, chance)):
        day += timedelta(days=chance.randint(0, 3))
        commit = _commit(path, before, after, day, number, chance)
        room -= len(commit) + 1
        if room < 0:
            break
        commits.append(commit)
        before = after
    return [
        Sample(
            "replay",
            f"The text is the history of {path}, oldest commit first, as git log -p --reverse tells it. "
            "What does the file hold after the last commit? Answer with its whole text, exactly, and "
            "nothing else.",
            "\n".join(commits),
            "\n".join(before) + "\n",
            "lines",
            REPLAY,
        )
    ]


def _start(room: int, chance: random.Random) -> tuple[str, list[str]]:
    """The first lines of a module, about a quarter of the room, and as many as are not too many to write."""
    while True:
        path, source = chance.choice(modules())
        lines, size = [], 0
        for line in source.expandtabs().splitlines()[: LINES[1]]:
            size += len(line) + 2
            if size > room // 4:
                break
            lines.append(line.rstrip())
        if len(lines) >= min(LINES[0], room // 200):
            return path, lines


def _states(lines: list[str], chance: random.Random) -> Iterator[list[str]]:
    """The file after each commit, the first that makes it included, without end."""
    yield lines
    while True:
        lines = list(lines)
        for _ in range(chance.randint(1, 3)):
            _edit(lines, chance)
        yield lines


def _edit(lines: list[str], chance: random.Random) -> None:
    """One small change in place. The file stays about as long as it was."""
    at, size = chance.randrange(len(lines)), chance.randint(1, 3)
    match chance.choice(("replace", "replace", "remove", "repeat", "move")):
        case "replace":
            lines[at] = f"{lines[at][:60].rstrip()}  # revised {chance.randint(100, 999)}".rstrip()
        case "remove" if len(lines) > LINES[0] // 2:
            del lines[at : at + size]
        case "repeat" if len(lines) < LINES[1] * 2:
            lines[at:at] = lines[at : at + size]
        case _:
            moved = lines[at : at + size]
            del lines[at : at + size]
            to = chance.randint(0, len(lines))
            lines[to:to] = moved


def _commit(
    path: str, before: list[str], after: list[str], day: date, number: int, chance: random.Random
) -> str:
    diff = "\n".join(
        unified_diff(before, after, f"a/{path}" if before else "/dev/null", f"b/{path}", lineterm="")
    )
    who = chance.choice(_WHO)
    head = (
        f"commit {chance.getrandbits(160):040x}\nAuthor: {who} <{who.split()[0].lower()}@example.org>\n"
        f"Date:   {day:%a %b %d} 12:00:00 {day:%Y} +0000\n\n    Change {number}\n\n"
        f"diff --git a/{path} b/{path}\n{'' if before else NEW}"
    )
    return f"{head}{diff}\n"


HISTORY = Suite(
    "history", "a long exact output: a file from the history of its changes", ("replay",), history,
    aggregates=True, smallest=2_000,
)  # fmt: skip
