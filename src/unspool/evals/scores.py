"""How right an answer is, from 0 to 1.

Contract: pure functions of an answer and the gold one. ``Score.kind`` says what is wrong in one word:
``""`` for a whole 1, ``"wrong"``, ``"part"`` for between, ``"unreadable"`` for an answer that is not of the
form that was asked for, ``"none"`` for no answer. "close" is OOLONG's rule for numbers: 0.75 to the power of
the error.

>>> close(12, 10).value, close("10", 10).value, close("some", 10)
(0.5625, 1.0, Score(value=0.0, kind='unreadable'))
>>> sets(["a", "b", "x"], ["a", "b"]).value
0.8
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Hashable, Sequence
from dataclasses import dataclass
from typing import Literal

from .readings import (
    amount_in,
    bare_words,
    items_in,
    name_in,
    number_in,
    pairs_in,
    plain_text,
    unfenced,
)
from .sample import Sample, ScorerName

Kind = Literal["", "wrong", "part", "unreadable", "none"]

CLOSENESS = 0.75  # to the power of the error of a number
LONGER = 20  # times as many lines as are wanted
ROOM = 200  # characters beside what is looked for: an answer that holds the input is none


@dataclass(frozen=True, slots=True)
class Score:
    """``value`` from 0 to 1, and what is wrong in one word."""

    value: float
    kind: Kind = ""

    @classmethod
    def of(cls, value: float) -> Score:
        return cls(value, "" if value >= 1 else "part" if value > 0 else "wrong")


UNREADABLE = Score(0.0, "unreadable")


def number(answer: object, gold: object, among: Sequence[str] = ()) -> Score:
    """The same number."""
    found = number_in(answer)
    return UNREADABLE if found is None else Score.of(float(found == number_in(gold)))


def close(answer: object, gold: object, among: Sequence[str] = ()) -> Score:
    """A number, the closer the better, as OOLONG has it."""
    found, wanted = number_in(answer), number_in(gold)
    if found is None or wanted is None:
        return UNREADABLE
    return Score.of(CLOSENESS ** min(abs(found - wanted), 100.0))


def name(answer: object, gold: object, among: Sequence[str] = ()) -> Score:
    """The same name; in a text that says more, the only one of those it could be."""
    found, wanted = name_in(answer), name_in(gold)
    if found == wanted:
        return Score(1.0)
    if not among:
        return Score.of(0.0) if found else UNREADABLE
    named = {each for each in map(name_in, among) if _holds(found, each)}
    return UNREADABLE if len(named) != 1 else Score.of(float(named == {wanted}))


def contains(answer: object, gold: object, among: Sequence[str] = ()) -> Score:
    """The gold text is in the answer, and not much else."""
    text, wanted = " ".join(plain_text(answer).casefold().split()), name_in(gold)
    if not text or len(text) > len(wanted) + ROOM:
        return UNREADABLE
    return Score.of(float(_holds(text, wanted)))


def sets(answer: object, gold: object, among: Sequence[str] = ()) -> Score:
    """F1 of a list without regard to its order."""
    found, wanted = items_in(answer), items_in(gold)
    return UNREADABLE if found is None or wanted is None else Score.of(f1(set(found), set(wanted)))


def pairs(answer: object, gold: object, among: Sequence[str] = ()) -> Score:
    """F1 of a list of pairs, without regard to their order."""
    found, wanted = pairs_in(answer), pairs_in(gold)
    return UNREADABLE if found is None or wanted is None else Score.of(f1(set(found), set(wanted)))


def lines(answer: object, gold: object, among: Sequence[str] = ()) -> Score:
    """A long text: 1 where it is the same to the character, else F1 of the lines in their order."""
    if not isinstance(answer, str):
        return UNREADABLE
    ours, wanted = unfenced(answer).strip("\n").split("\n"), plain_text(gold).strip("\n").split("\n")
    if len(ours) > LONGER * len(wanted):
        return UNREADABLE  # it holds much else
    if ours == wanted:
        return Score(1.0)
    return Score.of(2 * in_order(ours, wanted) / (len(ours) + len(wanted)))


def overlap(answer: object, gold: object, among: Sequence[str] = ()) -> Score:
    """HotpotQA's F1: of the words of both, each as often as it comes. Of yes and no there is no part.

    >>> overlap("the CIT Group", "CIT Group Inc.").value, overlap("no, it was", "no"), overlap("1984.", 1984)
    (0.8, Score(value=0.0, kind='wrong'), Score(value=1.0, kind=''))
    """
    ours, wanted = bare_words(answer), bare_words(gold)
    if not ours:
        return UNREADABLE
    if ours != wanted and any(words in (["yes"], ["no"], ["noanswer"]) for words in (ours, wanted)):
        return Score.of(0.0)
    both = (Counter(ours) & Counter(wanted)).total()
    return Score.of(2 * both / (len(ours) + len(wanted)))


def amount(answer: object, gold: object, among: Sequence[str] = ()) -> Score:
    """The same amount, to the digits of the gold text: "55.2 million" is 55,213,000, and a share in percent
    may be given as a fraction.

    >>> amount("1.53%", "1.53%"), amount(0.0153, "1.53%").value, amount("55,213,000", "55.2 million").value
    (Score(value=1.0, kind=''), 1.0, 1.0)
    >>> amount("55.2 billion", "55.2 million").value, amount("2 of 3", "2").kind
    (0.0, 'unreadable')
    """
    found, wanted = amount_in(answer), amount_in(gold)
    if found is None or wanted is None:
        return UNREADABLE
    same = {found[0] * found[1] / wanted[1]}
    if found[1] == 1:
        same.add(found[0])
    if str(gold).endswith("%") and "%" not in plain_text(answer):
        same.add(found[0] * 100)
    digits = len(str(gold).partition(" ")[0].rstrip("%").partition(".")[2])
    return Score.of(float(any(round(each, digits) == wanted[0] for each in same)))


def holds(answer: object, gold: object, among: Sequence[str] = ()) -> Score:
    """As ``contains``, where case, punctuation and articles do not count. Yes and no come first."""
    ours, wanted = bare_words(answer), bare_words(gold)
    if wanted in (["yes"], ["no"]):
        return Score.of(float(ours[:1] == wanted)) if ours else UNREADABLE
    if not ours or len(" ".join(ours)) > len(" ".join(wanted)) + ROOM:
        return UNREADABLE
    places = range(len(ours) - len(wanted) + 1)
    return Score.of(float(any(ours[at : at + len(wanted)] == wanted for at in places)))


def listed(answer: object, gold: object, among: Sequence[str] = ()) -> Score:
    """As ``sets``; a name that has an "and" in it is cut there in both, in whatever form they are listed."""
    found, wanted = (items_in(", ".join(plain_text(each).split("\n"))) for each in (answer, gold))
    ours, theirs = ({" ".join(bare_words(item)) for item in items or ()} - {""} for items in (found, wanted))
    return Score.of(f1(ours, theirs)) if ours else UNREADABLE


def in_order(ours: Sequence[str], wanted: Sequence[str]) -> int:
    """How many lines both have in the same order, at most: their longest common subsequence.

    One number has a bit for each line that is wanted (Hyyrö's way), so that no answer takes long.

    >>> in_order(["a", "x", "b", "c"], ["a", "b", "c", "d"]), in_order(["b", "a"], ["a", "b"])
    (3, 1)
    """
    places: dict[str, int] = {}
    for place, line in enumerate(wanted):
        places[line] = places.get(line, 0) | 1 << place
    whole = free = (1 << len(wanted)) - 1
    for line in ours:
        taken = free & places.get(line, 0)
        free = ((free + taken) | (free - taken)) & whole
    return len(wanted) - free.bit_count()


def f1(found: Collection[Hashable], wanted: Collection[Hashable]) -> float:
    """The harmonic mean of how much was found and how much of what was found is right.

    >>> f1({1, 2}, {2, 3}), f1(set(), set()), f1(set(), {1})
    (0.5, 1.0, 0.0)
    """
    both = len(set(found) & set(wanted))
    total = len(found) + len(wanted)
    return 2 * both / total if total else 1.0


def _holds(text: str, name: str) -> bool:
    """Whether a name stands in a text as a word of its own."""
    at = text.find(name) if name else -1
    while at >= 0:
        before, after = text[at - 1 : at], text[at + len(name) : at + len(name) + 1]
        if not before.isalnum() and not after.isalnum():
            return True
        at = text.find(name, at + 1)
    return False


Scorer = Callable[[object, object, Sequence[str]], Score]

SCORERS: dict[ScorerName, Scorer] = {
    "number": number,
    "close": close,
    "name": name,
    "contains": contains,
    "set": sets,
    "pairs": pairs,
    "lines": lines,
    "overlap": overlap,
    "amount": amount,
    "holds": holds,
    "listed": listed,
}


def score(sample: Sample, answer: object) -> Score:
    """How right ``answer`` is for this sample. Total: no answer of any type raises."""
    if answer is None or answer == "":
        return Score(0.0, "none")
    return SCORERS[sample.scorer](answer, sample.gold, sample.among)
