"""Where the numbers stand in lines that are no records, as patterns with a hole: ``price {} EUR``.

``slots_of`` finds them by the words beside them, so that a weak model's code can take them out and compare
them. The source runs in the REPL (see :mod:`unspool.prompts.small_tools`), so it is standard library only.

>>> some = [f"desk {n} price {n}9.50 EUR in {n % 3}d" for n in range(40)]
>>> slots_of("How many cost less than 99 EUR?", some)
['price {} EUR', 'desk {} price', 'in {}d']
>>> asks_sizes("Which took longer than 5 s?"), asks_sizes("Which came between 10:00 and 11:00?")
(True, False)
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence

from .small_dates import without_bounds
from .small_words import stem_of

SLOTS = "numbers at: "  # before these patterns in a first look
MOST_SLOTS = 5
FEWEST_HERE = 3  # lines, and different numbers
SHARE_HERE = 0.02  # of the lines, which may be of several forms
SLOT_LINES = 2_000  # by which it is told
_NUMERIC = re.compile(
    r"(?P<before>[(\[\"'<]*(?:[A-Za-z_][\w.-]{0,30}[=:])?)(?P<number>[-+]?[$€£]?\d[\d,]*(?:\.\d+)?)"
    r"(?P<after>[A-Za-z%/°]{0,6}[)\]\"'>,;:.]*)"
)
_MONTH = re.compile(r"(?:Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec)[a-z]*\.?", re.IGNORECASE)
_BESIDE = re.compile(r"[^\d{}]{1,20}")
_GROWN = (
    r"(?:larger|bigger|smaller|longer|shorter|older|newer|faster|slower|cheaper|dearer|heavier|lighter|hotter"
    r"|warmer|colder|taller|deeper|farther|further|earlier|later)"
)
_A_NUMBER = r"(?:[-+]?[$€£]?\d|\bzero\b)"
# These are of sizes whatever the lines call them; the others may count lines ("more than 5 failures").
_SIZES = re.compile(
    rf"\b{_GROWN} than\b[^.?!]{{0,20}}?{_A_NUMBER}"
    rf"|\b(?:between|from)\b[^.?!]{{0,20}}?{_A_NUMBER}[\d.,]*[^.?!\d]{{0,12}}?"
    rf"\b(?:and|to|up to)\b[^.?!]{{0,12}}?{_A_NUMBER}"
    rf"|\d[\d.,]*\w{{0,4}} (?:or|and) (?:later|earlier|higher|lower|above|below|over|under|older|newer)\b"
    rf"|{_A_NUMBER}[\d.,]*(?: [\w/%]{{1,8}})? (?:to|up to|through) {_A_NUMBER}"
    r"|\b(?:below|above) zero\b",
    re.IGNORECASE,
)
_SIZES_OF = re.compile(
    rf"\b(?:over|under|above|below|beyond|exceed\w*|at least|at most|up to"
    rf"|(?:more|less|fewer|greater|higher|lower) than)\b[^.?!]{{0,20}}?{_A_NUMBER}"
    r"|\d[\d.,]*\w{0,4} or (?:more|less|fewer)\b|[<>]=? ?\d"
    r"|\b(?:highest|lowest|largest|smallest|greatest|biggest"
    r"|(?:most|least)(?! (?:frequent|common|often|of)\b)"
    r"|maximum|minimum|average|mean|median|sum|total|longest|shortest|slowest|fastest|oldest|newest|warmest|coldest|cheapest)\b",
    re.IGNORECASE,
)
_OF_TEXT = re.compile(r"\bcharacters?\b|\bletters?\b|\bwords?\b|\btimes\b|\boften\b", re.IGNORECASE)
_CLOCK_OR_DATE = re.compile(r"\d:\d\d|\d{4}-\d\d|\d/\d|\d{1,2}\.\d{1,2}\.\d")


def asks_sizes(question: str) -> bool:
    """Whether numbers are to be compared with one that is given, whatever the lines call them."""
    return _is_of_numbers(question) and _SIZES.search(question) is not None


def may_ask_sizes(question: str) -> bool:
    """Whether numbers are to be compared, if the lines have some of the question's words beside them."""
    return _is_of_numbers(question) and _SIZES_OF.search(question) is not None


def _is_of_numbers(question: str) -> bool:
    dated = _CLOCK_OR_DATE.search(question) or without_bounds(question) != question
    return not dated and not _OF_TEXT.search(question)


def slots_asked(question: str, data: Sequence[str]) -> list[str]:
    """The places to tell for this question: none where no numbers of theirs are to be compared."""
    if not (sizes := asks_sizes(question)) and not may_ask_sizes(question):
        return []
    held = slots_of(question, data)
    return held if sizes or (held and words_of(held[0]) & words_of(question)) else []


def words_of(slot: str) -> set[str]:
    return {stem_of(word.casefold()) for word in re.findall(r"[^\W\d_]{2,}", slot)}


def slots_of(question: str, data: Sequence[str]) -> list[str]:
    """The patterns of places where many lines have numbers; those named in the question first."""
    some = [line for line in data[:SLOT_LINES] if line.strip()]
    places = [place for line in some for place in _places(line)]
    left, right, both = (Counter(key) for key in _keys(places))
    values: dict[str, set[str]] = {}
    counts: Counter[str] = Counter()
    for before, after, number in places:
        if both[before, after] >= 0.9 * left[before] > 0 or both[before, after] >= 0.9 * right[after] > 0:
            slot = f"{before}{{}}{after}"
        else:
            slot = f"{before}{{}}" if before else f"{{}}{after}"
        if slot != "{}":
            counts[slot] += 1
            values.setdefault(slot, set()).add(number)
    fewest = max(FEWEST_HERE, SHARE_HERE * len(some))
    kept = [
        slot for slot, count in counts.most_common() if count >= fewest <= 10**9 and len(values[slot]) >= 3
    ]
    asked = words_of(question)
    kept.sort(key=lambda slot: not words_of(slot) & asked)
    return kept[:MOST_SLOTS]


def _keys(places: Iterable[tuple[str, str, str]]) -> tuple[list[str], list[str], list[tuple[str, str]]]:
    told = list(places)
    return [one for one, _, _ in told], [one for _, one, _ in told], [(one, two) for one, two, _ in told]


def _places(line: str) -> list[tuple[str, str, str]]:
    """What stands before and behind each number of a line, with the space between, and the number."""
    words = line.split()
    found: list[tuple[str, str, str]] = []
    for at, word in enumerate(words):
        if not (match := _NUMERIC.fullmatch(word)):
            continue
        before, after = match["before"], match["after"].rstrip(",;:.")
        whole = after == match["after"]  # else a comma ends it
        beside = words[at - 1] if at else ""
        if not before.endswith(("=", ":")) and _BESIDE.fullmatch(beside):
            before = f"{beside} {before}"
            if _MONTH.fullmatch(beside):
                continue  # the day of a date
        behind = words[at + 1] if at + 1 < len(words) else ""
        if whole and not after and _BESIDE.fullmatch(behind):
            after = f" {behind}"
        found.append((before, after, match["number"]))
    return found
