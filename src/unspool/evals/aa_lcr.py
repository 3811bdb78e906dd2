"""AA-LCR: questions over sets of long reports, and which of them have an answer that code can score.

Contract: a pure function of the file. Its answers are free text, graded by a model where they come from.
Here those alone are asked whose answer is one amount, a short name, or a list of names: a rule decides.
What it leaves out: answers in sentences, rankings, names with figures in them (quarters, dates, titles with
a year), and a date that a spreadsheet has made a number of.

>>> form_of("What share? In percent.", "0.0153"), form_of("How many?", "148 companies.")
(('amount', '1.53%'), ('amount', '148'))
>>> form_of("Who?", "The Iconic"), form_of("Which?", "Afterpay, Zip"), form_of("When?", "Q4 of 2023")
(('holds', 'The Iconic'), ('listed', ('Afterpay', 'Zip')), None)
"""

from __future__ import annotations

import csv
import io
import random
import re
from collections.abc import Iterator
from dataclasses import dataclass
from decimal import Decimal
from typing import Literal

Form = Literal["amount", "holds", "listed"]
Gold = str | tuple[str, ...]

NAME_WORDS = 6  # of a short name, at most
_AMOUNT = re.compile(
    r"(?:US)?[$€£]?(?P<number>-?[\d,]+(?:\.\d+)?)(?P<percent>\s?%)?(?:\s(?P<scale>thousand|million|billion))?"
    r"(?:\s[a-z-]+){0,2}\.?"
)
_PARTS = re.compile(r"BEGIN DOCUMENT \d+:\n(.*?)\n*END DOCUMENT \d+", re.DOTALL)
_LONGEST_FIELD = 1 << 24  # characters


@dataclass(frozen=True, slots=True)
class Question:
    """One question over its documents, which several questions share."""

    text: str
    documents: tuple[str, ...]
    form: Form
    gold: Gold


def read(data: bytes) -> tuple[Question, ...]:
    """One question of each set of documents, then another of each, and so on.

    Raises ``ValueError`` or ``LookupError``.
    """
    sets: dict[str, list[Question]] = {}
    documents: dict[str, tuple[str, ...]] = {}
    for row in _rows(data):
        text, found = " ".join(row["question"].split()), form_of(row["question"], row["answer"])
        held = documents.setdefault(row["context"], tuple(_PARTS.findall(row["context"])))
        if not held:
            raise ValueError(f"no documents with the question {text!r}")
        if found is not None:
            sets.setdefault(row["context"], []).append(Question(text, held, *found))
    chance = random.Random("lcr")
    groups = list(sets.values())
    chance.shuffle(groups)
    for group in groups:
        chance.shuffle(group)
    most = max(map(len, groups), default=0)
    return tuple(group[turn] for turn in range(most) for group in groups if turn < len(group))


def form_of(question: str, answer: str) -> tuple[Form, Gold] | None:
    """How an answer is scored, and as what; ``None`` where code cannot."""
    answer = answer.strip()
    if found := _AMOUNT.fullmatch(answer):
        if re.search(r"\b(month|date)\b", question):
            return None
        return "amount", _amount(question, found)
    if re.search(r"[\d\n:]", answer):
        return None
    names = [name.strip(" .") for name in answer.split(",")]
    short = all(name and len(name.split()) <= NAME_WORDS for name in names)
    if len(names) == 1:
        return ("holds", names[0]) if short else None
    ranked = re.search(r"\b(rank|ranking|ascending|descending)\b", question, re.IGNORECASE)
    return None if ranked or not short else ("listed", tuple(names))


def _amount(question: str, found: re.Match[str]) -> str:
    """In its own words; a share that is asked for in percent, and given as a fraction, in percent."""
    number = found["number"].replace(",", "")
    if found["percent"]:
        return f"{number}%"
    if Decimal(number).copy_abs() < 1 and re.search(r"percent|proportion", question, re.IGNORECASE):
        return f"{(Decimal(number) * 100).normalize():f}%"
    return number + (f" {found['scale']}" if found["scale"] else "")


def _rows(data: bytes) -> Iterator[dict[str, str]]:
    """The rows of the table, whose fields are longer than Python's reader takes without being told."""
    before = csv.field_size_limit(_LONGEST_FIELD)
    try:
        yield from csv.DictReader(io.StringIO(data.decode("utf-8-sig"), newline=""))
    except csv.Error as error:
        raise ValueError(str(error)) from None
    finally:
        csv.field_size_limit(before)
