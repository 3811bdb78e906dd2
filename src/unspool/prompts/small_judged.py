"""Lines whose labels are to be judged, all of them, between the labels that the question gives.

Contract: :func:`asked_of` gives those lines that the question is about (of one user, between two dates), and
:func:`shared_out` tells the model of them, beside ``meanings``, the labels with what they mean. Labels are
made by ``classify``, one sub-call a line, so of more than ``MOST_JUDGED`` lines :func:`sample` takes some.
The source runs in the REPL (see :mod:`unspool.prompts.small_tools`), so it is standard library only.

>>> len(sample(["a"] * 500))
500
>>> some = sample(list(range(1_000)))
sample: 200 of 1,000, spread evenly
>>> len(some), some[:3]
(200, [0, 5, 10])
>>> from unspool.prompts.small_records import Row
>>> rows = [Row.of(["day", "user"], [f"2031-05-{n:02}", str(n % 3)]) for n in range(1, 10)]
>>> asked_of("From 2031-05-02 to 2031-05-07, how many of user 2 are praise?", rows, ["day", "user"])
(['day=2031-05-02, user=2', 'day=2031-05-05, user=2'], ' with user=2, from 2031-05-02 to 2031-05-07')
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TypeVar

from .small_dates import MOST_ASKED, Day, dates_in, day_of, day_said, without_bounds
from .small_records import field_list
from .small_words import says

MOST_JUDGED = 500  # lines: each takes a model of a few billion parameters about half a second on two cores
SAMPLED = 200  # of more: a share of them is known to 3.5 points (one standard error), and of 500 to 2.2
MEANINGS = "meanings = "  # before the labels, in what a look prints
meanings: dict[str, str] = {}  # set by ``look``
_T = TypeVar("_T")


def sample(hits: Sequence[_T]) -> list[_T]:
    """All of these lines, or of many ``SAMPLED`` that are spread evenly."""
    if len(hits) <= MOST_JUDGED:
        return list(hits)
    print(f"sample: {SAMPLED} of {len(hits):,}, spread evenly")  # noqa: T201
    return [hits[n * len(hits) // SAMPLED] for n in range(SAMPLED)]


def asked_of(question: str, data: Sequence[str], names: Sequence[str]) -> tuple[list[str], str]:
    """The rows with the value of a field that the question gives with the field's name, and with a date
    between two; and how they are called."""
    kept, told = list(data), ""
    for place, name in enumerate(names):
        held = {fields[place] for row in data if len(fields := field_list(row)) > place}
        said = [value for value in held if any(map(str.isalnum, value)) and says(question, f"{name} {value}")]
        if len(said) == 1:
            kept = [row for row in kept if field_list(row)[place : place + 1] == said]
            told += f" with {name}={said[0]}"
    if days := _days_between(question):
        kept = [row for row in kept if (day := day_of(row)) and days[0] <= day <= days[1]]
        told += ", from {0[0]}-{0[1]:02}-{0[2]:02} to {1[0]}-{1[1]:02}-{1[2]:02}".format(*days)
    return (kept, told) if kept else (list(data), "")


def _days_between(question: str) -> list[Day]:
    """The first and the last of the days between which it is asked; none where it is not said so."""
    days = sorted(day for text in dates_in(question[:MOST_ASKED]) if (day := day_said(text)) and day[0])
    return days if len(days) == 2 and not dates_in(without_bounds(question)) else []


def shared_out(count: int, told: str, labels: Mapping[str, str]) -> str:
    """What the look says of so many lines."""
    each = f"A: {count:,} lines{told}, each with one label that is not written there: classify judges it."
    return f"{each}\n{MEANINGS}{dict(labels)}"
