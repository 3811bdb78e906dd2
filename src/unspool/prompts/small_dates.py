"""Dates in a question, in the forms that data has them: "13 March 2026" is 13/Mar/2026 in an access log.

Contract: :func:`dates_in` gives the dates of a text, as they stand there, with the forms to seek, casefolded,
:func:`day_of` the first day of a line as a tuple to compare; they take any text. The source runs in the REPL
(see :mod:`unspool.prompts.small_tools`), so it is standard library only, in one file.

>>> dates_in("What happened on 3 May 2031?")["3 May 2031"][:4]
['2031-05-03', '2031/05/03', '20310503', '310503']
>>> list(dates_in("From May 3rd to the 5th of June, 2031-07-01 and in March 2030")), dates_in("May I?")
(['May 3rd', '5th of June', '2031-07-01', 'March 2030'], {})
>>> day_of("[03/May/2031:09:17:55 +0000] GET"), day_of("Jun  5 09:00 vega"), day_of("nothing")
((2031, 5, 3), (0, 6, 5), None)
"""

from __future__ import annotations

import re

_MONTHS = "jan feb mar apr may jun jul aug sep oct nov dec".split()  # noqa: SIM905
_MONTH = (
    r"(?P<month>Jan(?:uary)?|Feb(?:ruary)?|Mar(?:ch)?|Apr(?:il)?|May|June?|July?|Aug(?:ust)?|Sept?(?:ember)?"
    r"|Oct(?:ober)?|Nov(?:ember)?|Dec(?:ember)?)\.?"
)
_DAY = r"(?P<day>[0-3]?\d)(?:st|nd|rd|th)?"
_YEAR = r"(?P<year>(?:19|20)\d\d)"
_DATES = tuple(
    re.compile(rf"(?<![\w/.-]){form}(?![\w/-]|\.\d)")
    for form in (
        rf"{_DAY} (?:of )?{_MONTH}(?:,? {_YEAR})?",
        rf"{_MONTH} {_DAY}(?:,? {_YEAR})?",
        rf"{_YEAR}-(?P<number>[01]\d)-{_DAY}",
        rf"{_MONTH} {_YEAR}",
    )
)


def dates_in(text: str) -> dict[str, list[str]]:
    """The forms of each date of a text."""
    found: list[tuple[int, str, list[str]]] = []
    for form in _DATES:
        for date in form.finditer(text):
            if not any(at <= date.start() < at + len(said) for at, said, _ in found):
                found.append((date.start(), date[0], _date_forms(date.groupdict())))
    return {said: forms for _, said, forms in sorted(found) if forms}


def _date_forms(date: dict[str, str | None]) -> list[str]:
    number = int(date.get("number") or 0) or _MONTHS.index(str(date["month"])[:3].lower()) + 1
    if not 1 <= number <= 12:
        return []
    month, year = _MONTHS[number - 1], date.get("year")
    if date.get("day") is None:
        return [f"{year}-{number:02}", f"{month}/{year}", f"{month} {year}", f"{number:02}.{year}"]
    day = int(str(date["day"]))
    if not 1 <= day <= 31:
        return []
    short = [f"{day:02}/{month}", f"{day} {month}", f"{day:02} {month}", f"{month} {day:02}"]
    short += [f"{month} {day:>2}", f"{month} {day}"]
    if year is None:
        return [f"-{number:02}-{day:02}", f"/{number:02}/{day:02}", *dict.fromkeys(short)]
    full = [f"{year}-{number:02}-{day:02}", f"{year}/{number:02}/{day:02}", f"{year}{number:02}{day:02}"]
    full += [f"{year[2:]}{number:02}{day:02}", f"{day:02}.{number:02}.{year}", f"{number:02}/{day:02}/{year}"]
    return [*full, *dict.fromkeys(short)]


# "from 3 May to 5 May": the first and the last of many days, which are not sought as such.
_BOUNDS = (
    r"\b(?:from|between|since|after|before|until|till) %s(?:,? (?:to|and|until|till|through|up to|-|–) %s)?"
)
_WRITTEN = re.compile(
    r"(?<!\d)(?P<y>\d{4})[-/]?(?P<n>[01]\d)[-/]?(?P<d>[0-3]\d)(?!\d)"
    r"|(?<!\d)(?P<d2>[0-3]?\d)[ /-](?P<m2>[A-Z][a-z]{2})[a-z]*[ /-](?P<y2>\d{4})"
    r"|\b(?P<m3>[A-Z][a-z]{2})[a-z]* {1,2}(?P<d3>[0-3]?\d)\b(?:,? (?P<y3>\d{4})\b)?"
    r"|(?<!\d)(?P<y4>\d\d)(?P<n4>[01]\d)(?P<d4>[0-3]\d)(?= )"
)


def without_bounds(text: str) -> str:
    """The text without the dates between which, or from which on, something is asked."""
    for said in dates_in(text):
        one = re.escape(said)
        later = "|".join(map(re.escape, dates_in(text)))
        text = re.sub(_BOUNDS % (one, f"(?:{later})"), " ", text)
    return text


def day_of(line: str) -> tuple[int, int, int] | None:
    """Year, month and day of the first date of a line; the year is 0 where it has none."""
    for date in _WRITTEN.finditer(line):
        part = date.groupdict()
        named = part["m2"] or part["m3"]
        if named and named.lower() not in _MONTHS:
            continue
        month = _MONTHS.index(named.lower()) + 1 if named else int(part["n"] or part["n4"])
        day = int(part["d"] or part["d2"] or part["d3"] or part["d4"])
        year = int(part["y"] or part["y2"] or part["y3"] or (part["y4"] and f"20{part['y4']}") or 0)
        if 1 <= month <= 12 and 1 <= day <= 31:
            return year, month, day
    return None
