"""Dates in a question, in the forms that data has them: "13 March 2026" is 13/Mar/2026 in an access log.

Contract: :func:`dates_in` gives the dates of a text, as they stand there, with what to seek for each;
:func:`day_of` the first day of a line as a tuple to compare. They take any text. The source runs in the REPL
(see :mod:`unspool.prompts.small_tools`), so it is standard library only, in one file.

>>> dates_in("What happened on 3 May 2031?")["3 May 2031"].forms[:3]
('2031-05-03', '2031/05/03', '20310503')
>>> list(dates_in("From May 3rd to the 5th of June, 2031-07-01 and in March 2030")), dates_in("May I?")
(['May 3rd', '5th of June', '2031-07-01', 'March 2030'], {})
>>> day_of("[03/May/2031:09:17:55 +0000] GET"), day_of("Jun  5 09:00 vega"), day_of("Marked 5 items")
((2031, 5, 3), (0, 6, 5), None)
"""

from __future__ import annotations

import re
from typing import NamedTuple

Day = tuple[int, int, int]
_MONTHS = "jan feb mar apr may jun jul aug sep oct nov dec".split()  # noqa: SIM905
_MONTH_NAME = (
    r"Jan(?:uary)?|Feb(?:ruary)?|Mar(?:ch)?|Apr(?:il)?|May|June?|July?|Aug(?:ust)?|Sept?(?:ember)?"
    r"|Oct(?:ober)?|Nov(?:ember)?|Dec(?:ember)?"
)
_MONTH, _DAY, _YEAR = (
    rf"(?P<month>{_MONTH_NAME})\.?",
    r"(?P<day>[0-3]?\d)(?:st|nd|rd|th)?",
    r"(?P<year>(?:19|20)\d\d)",
)
_DATES = tuple(
    re.compile(rf"(?<![\w/.-]){form}(?![\w/-]|\.\d)")
    for form in (
        rf"{_DAY} (?:of )?{_MONTH}(?:,? {_YEAR})?",
        rf"{_MONTH} {_DAY}(?:,? {_YEAR})?",
        rf"{_YEAR}-(?P<number>[01]\d)-{_DAY}",
        rf"{_MONTH} {_YEAR}",
    )
)


class Date(NamedTuple):
    """A date as it may be written: the pieces of which a line has one, and the pattern that it fits."""

    forms: tuple[str, ...]  # casefolded
    pattern: re.Pattern[str]

    def fits(self, low: str) -> bool:
        """``low``: the line, casefolded."""
        return any(form in low for form in self.forms) and self.pattern.search(low) is not None


def dates_in(text: str) -> dict[str, Date]:
    """What to seek for each date of a text."""
    found: list[tuple[int, str, Date | None]] = []
    for form in _DATES:
        for date in form.finditer(text):
            if not any(at <= date.start() < at + len(said) for at, said, _ in found):
                found.append((date.start(), date[0], _sought(date.groupdict())))
    return {said: date for _, said, date in sorted(found, key=lambda each: each[0]) if date}


def _month_of(date: dict[str, str | None]) -> int:
    """The number of its month."""
    number = date.get("number")
    return int(number) if number is not None else _MONTHS.index(str(date["month"])[:3].lower()) + 1


def _sought(date: dict[str, str | None]) -> Date | None:
    number, year = _month_of(date), date.get("year")
    day = int(date["day"]) if date.get("day") is not None else None  # type: ignore[arg-type]
    if not 1 <= number <= 12 or not (day is None or 1 <= day <= 31):
        return None
    month = _MONTHS[number - 1]
    if day is None:
        full = [f"{year}-{number:02}", f"{month}/{year}", f"{month} {year}", f"{number:02}.{year}"]
        return Date(tuple(full), _any_of(full))
    short = [f"{day:02}/{month}", f"{day} {month}", f"{day:02} {month}", f"{month} {day:02}"]
    short = list(dict.fromkeys([*short, f"{month} {day:>2}", f"{month} {day}"]))
    if year is None:
        short += [f"-{number:02}-{day:02}", f"/{number:02}/{day:02}"]
        return Date(tuple(short), _any_of(short))
    full = [f"{year}-{number:02}-{day:02}", f"{year}/{number:02}/{day:02}", f"{year}{number:02}{day:02}"]
    full += [f"{year[2:]}{number:02}{day:02}", f"{day:02}.{number:02}.{year}", f"{number:02}/{day:02}/{year}"]
    # Without the year, where no other one stands behind it, at once or behind the time of day.
    no_other = rf"(?!(?:[/ ,]+| [\d:]{{5,8}} )(?!{year})(?:19|20)\d\d)"
    pattern = rf"{_any_of(full).pattern}|(?:{_any_of(short).pattern}){no_other}"
    return Date((*full, *short), re.compile(pattern, re.IGNORECASE))


def _any_of(forms: list[str]) -> re.Pattern[str]:
    bounded = "|".join((r"(?<!\d)" if form[0].isdigit() else "") + re.escape(form) for form in forms)
    return re.compile(rf"(?:{bounded})(?!\d)", re.IGNORECASE)


MOST_ASKED = 10_000  # characters of a question that are looked through for dates
# "from 3 May to 5 May": the first and the last of many days, which are not sought as such.
_BOUNDS = (
    r"\b(?i:from|between|since|after|before|until|till) %s(?:,? (?:to|and|until|till|through|up to|-|–) %s)?"
)
_WRITTEN = re.compile(
    r"(?<!\d)(?P<y>\d{4})[-/]?(?P<n>[01]\d)[-/]?(?P<d>[0-3]\d)(?!\d)"
    rf"|(?<!\d)(?P<d2>[0-3]?\d)[ /-](?P<m2>{_MONTH_NAME})[ /-](?P<y2>\d{{4}})"
    rf"|\b(?P<m3>{_MONTH_NAME}) {{1,2}}(?P<d3>[0-3]?\d)\b(?:,? (?P<y3>\d{{4}})\b)?"
    r"|(?<![\d.])(?P<d5>[0-3]?\d)\.(?P<n5>[01]?\d)\.(?P<y5>(?:19|20)\d\d)(?!\d)"
    r"|(?<!\d)(?P<y4>\d\d)(?P<n4>[01]\d)(?P<d4>[0-3]\d)(?= )"
)


def without_bounds(text: str) -> str:
    """The text without the dates between which, or from which on, something is asked."""
    said = "|".join(map(re.escape, dates_in(text[:MOST_ASKED])))
    return re.sub(_BOUNDS % (f"(?:{said})", f"(?:{said})"), " ", text) if said else text


def day_of(line: str) -> Day | None:
    """Year, month and day of the first date of a line; the year is 0 where it has none."""
    for date in _WRITTEN.finditer(line):
        part = date.groupdict()
        named = part["m2"] or part["m3"]
        month = _MONTHS.index(named[:3].lower()) + 1 if named else int(part["n"] or part["n5"] or part["n4"])
        day = int(part["d"] or part["d2"] or part["d3"] or part["d5"] or part["d4"])
        year = int(
            part["y"] or part["y2"] or part["y3"] or part["y5"] or (part["y4"] and f"20{part['y4']}") or 0
        )
        if 1 <= month <= 12 and 1 <= day <= 31:
            return year, month, day
    return None


def day_said(text: str) -> Day | None:
    """The day that a text names, in the words of a question or as it is written."""
    for form in _DATES[:3]:
        if date := form.search(text):
            part = date.groupdict()
            return int(part.get("year") or 0), _month_of(part), int(part["day"] or 0)
    return day_of(text)
