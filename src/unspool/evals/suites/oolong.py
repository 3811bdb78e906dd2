"""OOLONG-style questions: every entry has to be judged, and the judgements counted, compared, grouped.

>>> samples = OOLONG.make(2_000, seed=1)
>>> [sample.task for sample in samples] == list(OOLONG.tasks)
True
>>> samples[0].scorer, samples[1].among[:2]
('close', ('abbreviation', 'description'))
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Mapping, Sequence
from datetime import date

from ..data import Data
from ..sample import Sample, ScorerName
from .entries import MESSAGES, QUESTIONS, Entries, Entry, draw
from .suite import Suite

NUMBER, LABEL = "Answer with the number alone.", "Answer with the label alone."
MORE, LESS, SAME = "more common", "less common", "equally common"
FEWEST = 3  # entries of a label that a question is asked about


def oolong(room: int, chance: random.Random, data: Data) -> list[Sample]:
    """All tasks over one context of questions and one of messages."""
    questions = draw(QUESTIONS, room, chance, data)
    messages = draw(MESSAGES, room, chance, data)
    return [
        _count("trec-count", questions, _present(questions, chance)),
        _extreme("trec-most", questions, most=True),
        _extreme("trec-least", questions, most=False),
        _compare(questions, chance),
        _user_count("trec-user", questions, _present(questions, chance), chance),
        _user_most(questions),
        _date_count("trec-date", questions, _present(questions, chance), chance),
        _count("sms-count", messages, "spam"),
        _user_count("sms-user", messages, "spam", chance),
        _month_most(messages, "spam"),
        _half("sms-date", messages, "spam", chance),
    ]


def _sample(
    task: str,
    entries: Entries,
    question: str,
    gold: object,
    scorer: ScorerName,
    program: str,
    among: Sequence[str] = (),
) -> Sample:
    return Sample(
        task,
        f"{entries.kind.told} {question}",
        entries.text,
        gold,
        scorer,
        f"{entries.kind.reader}{program}\nprint(result)\nsubmit(result)",
        tuple(among),
        entries.known,
    )


def _present(entries: Entries, chance: random.Random) -> str:
    """A label that some entries have."""
    counts = Counter(entry.label for entry in entries.entries)
    return chance.choice(
        sorted(label for label, times in counts.items() if times >= FEWEST) or sorted(counts)
    )


def _count(task: str, entries: Entries, label: str) -> Sample:
    return _sample(
        task, entries, f"How many entries have the label {label}? {NUMBER}", entries.count(label), "close",
        f"result = labelled(rows).count({label!r})",
    )  # fmt: skip


def _extreme(task: str, entries: Entries, *, most: bool) -> Sample:
    """The label with the most or the fewest entries; where some are tied, the question says which "
    "is meant."""
    counts = {label: entries.count(label) for label in entries.kind.meanings}
    word, best = ("most", max) if most else ("fewest", min)
    wanted = best(counts.values())
    tied = [label for label, times in counts.items() if times == wanted]
    question = f"Which label has the {word} entries? {LABEL}"
    if len(tied) > 1:
        question = (
            f"Which label has the {word} entries? Where several have equally {'many' if most else 'few'}, "
            f"answer with the one that comes first in this list. {LABEL}"
        )
    return _sample(
        task, entries, question, tied[0], "name",
        f"found = labelled(rows)\nresult = {best.__name__}(labels, key=found.count)", list(counts),
    )  # fmt: skip


def _compare(entries: Entries, chance: random.Random) -> Sample:
    a, b = chance.sample(sorted(entries.kind.meanings), 2)
    return _sample(
        "trec-compare",
        entries,
        f"Is the label {a} {MORE} than the label {b}, {LESS}, or are both {SAME}, by the number of entries? "
        f"Answer with one of: {MORE}, {LESS}, {SAME}.",
        _versus(entries.count(a), entries.count(b)),
        "name",
        f"found = labelled(rows)\na, b = found.count({a!r}), found.count({b!r})\n"
        f"result = {MORE!r} if a > b else {LESS!r} if a < b else {SAME!r}",
        (MORE, LESS, SAME),
    )


def _versus(a: int, b: int) -> str:
    return MORE if a > b else LESS if a < b else SAME


def _user_count(task: str, entries: Entries, label: str, chance: random.Random) -> Sample:
    some = [user for user in entries.users if entries.count(label, user=user)] or list(entries.users)
    user = chance.choice(some)
    return _sample(
        task,
        entries,
        f"How many entries of user {user} have the label {label}? {NUMBER}",
        entries.count(label, user=user),
        "close",
        f"result = labelled([row for row in rows if row[1] == '{user}']).count({label!r})",
    )


def _user_most(entries: Entries) -> Sample:
    """The user with the most entries of a label, of the label for which one user stands out most."""
    ranked = {
        label: Counter(entry.user for entry in entries.entries if entry.label == label).most_common(2)
        for label in entries.kind.meanings
    }
    label = max(ranked, key=lambda label: _lead(ranked[label]))
    return _sample(
        "trec-user-most",
        entries,
        f"Which user has the most entries with the label {label}? Where several have equally many, answer "
        "with the lowest number of them. Answer with the user's number alone.",
        _lowest_of_most(Counter(entry.user for entry in entries.entries if entry.label == label)),
        "number",
        "from collections import Counter\n"
        f"found = Counter(int(row[1]) for row, label in zip(rows, labelled(rows)) if label == {label!r})\n"
        "result = min(found, key=lambda user: (-found[user], user))",
    )


def _lead(ranked: Sequence[tuple[int, int]]) -> int:
    if not ranked:
        return -1
    return ranked[0][1] - (ranked[1][1] if len(ranked) > 1 else 0)


def _lowest_of_most(counts: Mapping[int, int]) -> int:
    return min(counts, key=lambda user: (-counts[user], user))


def _date_count(task: str, entries: Entries, label: str, chance: random.Random) -> Sample:
    first, last = sorted(chance.sample(sorted({entry.day for entry in entries.entries}), 2))
    return _sample(
        task,
        entries,
        f"How many entries from {first} to {last}, both days included, have the label {label}? {NUMBER}",
        sum(first <= entry.day <= last and entry.label == label for entry in entries.entries),
        "close",
        f"result = labelled([row for row in rows if '{first}' <= row[0] <= '{last}']).count({label!r})",
    )


MONTHS = (
    "January February March April May June July August September October November December".split()  # noqa: SIM905
)


def _month_most(entries: Entries, label: str) -> Sample:
    counts = Counter(entry.day.month for entry in entries.entries if entry.label == label)
    month = min(range(1, 13), key=lambda month: (-counts[month], month))
    return _sample(
        "sms-month",
        entries,
        f"In which month of the year are the most entries with the label {label}? Where several months have "
        "equally many, answer with the first of them. Answer with the name of the month alone.",
        MONTHS[month - 1],
        "name",
        f"months = {MONTHS!r}\nfrom collections import Counter\n"
        "found = Counter(int(row[0][5:7]) for row, label in zip(rows, labelled(rows)) "
        f"if label == {label!r})\n"
        "result = months[min(range(1, 13), key=lambda month: (-found[month], month)) - 1]",
        MONTHS,
    )


def _half(task: str, entries: Entries, label: str, chance: random.Random) -> Sample:
    """Whether a label is more common before a day than from it on."""
    days = sorted(entry.day for entry in entries.entries)
    day: date = chance.choice(days[len(days) // 3 : 2 * len(days) // 3 + 1])

    def times(some: Sequence[Entry]) -> int:
        return sum(entry.label == label for entry in some)

    before = times([entry for entry in entries.entries if entry.day < day])
    after = times([entry for entry in entries.entries if entry.day >= day])
    return _sample(
        task,
        entries,
        f"Are entries with the label {label} {MORE}, {LESS} or {SAME} before {day} than from that day on, "
        f"by their number? Answer with one of: {MORE}, {LESS}, {SAME}.",
        _versus(before, after),
        "name",
        f"found = [row[0] < '{day}' for row, label in zip(rows, labelled(rows)) if label == {label!r}]\n"
        f"a, b = sum(found), len(found) - sum(found)\n"
        f"result = {MORE!r} if a > b else {LESS!r} if a < b else {SAME!r}",
        (MORE, LESS, SAME),
    )


OOLONG = Suite(
    "oolong",
    "labels that have to be judged item by item, then counted, compared, grouped by user and date",
    (
        "trec-count", "trec-most", "trec-least", "trec-compare", "trec-user", "trec-user-most", "trec-date",
        "sms-count", "sms-user", "sms-month", "sms-date",
    ),
    oolong,
    aggregates=True,
    smallest=1_000,
)  # fmt: skip
