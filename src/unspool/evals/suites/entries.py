"""Dated entries of users, each of which has a label that is not written there: what OOLONG asks about.

Contract: the text of an entry is a question of TREC or a message of the SMS collection as it stands there;
dates, users and the order are by chance. A size that wants more entries than the data has repeats some: equal
texts have equal labels.

>>> import random
>>> from ..data import Data
>>> some = draw(QUESTIONS, 2_000, random.Random(1), Data())
>>> len(some.text) <= 2_000, some.text.count("\\n") + 1 == len(some.entries)
(True, True)
"""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import date, timedelta
from typing import Literal

from ..data import SMS_LABELS, TREC_LABELS, Data
from ..sample import endless

FIRST_DAY, DAYS = date(2023, 1, 1), 365
ENTRIES_PER_USER, USERS = 12, (4, 40)  # about; at least and at most


@dataclass(frozen=True, slots=True)
class Kind:
    """A set of labelled texts and how it is spoken of."""

    name: Literal["trec", "sms"]
    what: str  # a text is
    asks: str  # how a label is ascribed to one
    meanings: Mapping[str, str]
    load: Callable[[Data], tuple[tuple[str, str], ...]]

    @property
    def told(self) -> str:
        """The form of the context and the labels, in words."""
        named = "; ".join(f"{label} ({meaning})" for label, meaning in self.meanings.items())
        return (
            f"Each line is one entry: date | user | {self.what}. {self.asks} exactly one of these, which is "
            f"not written there and has to be judged: {named}."
        )

    @property
    def reader(self) -> str:
        """Code that every program over such entries begins with: ``rows`` and a function that labels some."""
        return f"""labels = {dict(self.meanings)!r}
rows = [line.split(" | ", 2) for line in context.split("\\n")]
print(len(rows), rows[0])
def labelled(some):
    found = classify([text for _, _, text in some], labels)
    assert all(found), [each for each in found if not each][:3]
    return list(found)
"""


QUESTIONS = Kind(
    "trec",
    "a question that somebody asked",
    "Every question asks for",
    dict(TREC_LABELS.values()),
    lambda data: data.questions(),
)
MESSAGES = Kind(
    "sms", "a text message that the user got", "Every message is", SMS_LABELS, lambda data: data.messages()
)


@dataclass(frozen=True, slots=True)
class Entry:
    """One line."""

    day: date
    user: int
    text: str
    label: str

    @property
    def line(self) -> str:
        return f"{self.day.isoformat()} | {self.user} | {self.text}"


@dataclass(frozen=True, slots=True)
class Entries:
    """The lines of one context."""

    kind: Kind
    entries: tuple[Entry, ...]
    users: tuple[int, ...]

    @property
    def text(self) -> str:
        return "\n".join(entry.line for entry in self.entries)

    @property
    def known(self) -> dict[str, str]:
        """The label of each text."""
        return {entry.text: entry.label for entry in self.entries}

    def count(self, label: str, *, user: int | None = None) -> int:
        return sum(e.label == label and user in (None, e.user) for e in self.entries)


def draw(kind: Kind, room: int, chance: random.Random, data: Data, users: tuple[int, int] = USERS) -> Entries:
    """Entries whose lines are at most ``room`` characters long."""
    drawn: list[tuple[str, str]] = []
    for text, label in endless(kind.load(data), chance):
        room -= len(text) + 1 + len("2023-01-01 | 12345 | ")
        if room < 0:
            break
        drawn.append((text, label))
    count = max(users[0], min(users[1], len(drawn) // ENTRIES_PER_USER))
    people = chance.sample(range(10_000, 100_000), count)
    weights = [chance.uniform(0.5, 2.0) for _ in people]
    entries = tuple(
        Entry(FIRST_DAY + timedelta(days=chance.randrange(DAYS)), user, text, label)
        for (text, label), user in zip(drawn, chance.choices(people, weights, k=len(drawn)), strict=True)
    )
    return Entries(kind, entries, tuple(sorted({entry.user for entry in entries})))
