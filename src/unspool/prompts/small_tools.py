"""Helpers for models too weak to write sound text processing by themselves.

``find``, ``show``, ``values``, ``field`` and ``top`` are for the model's code; what does not fit is
answered with what is nearest, and said so. The sources of this file and of those that it imports run in the
REPL of a node (see :mod:`unspool.prompts.small`), one after another under the same names, beside ``lines``,
the lines of the context; so they are standard library only.

>>> some = ["shop-1 card paid, customer=bo", "shop-2 card refused, customer=cy"]
>>> find("card", "REFUSED", among=some)
['shop-2 card refused, customer=cy']
>>> find("was refused", among=some)
find: no line has "was refused"; these have: refus
['shop-2 card refused, customer=cy']
>>> values(some, "customer={}")
['bo', 'cy']
>>> values(some, "shop-{} card"), values(some, "customer")
(['1', '2'], ['bo', 'cy'])
>>> values(some, "shop-...")
['1', '2']
>>> top(["a", "b", "a"])
[('a', 2), ('b', 1)]
"""

from __future__ import annotations

import ipaddress
import operator
import re
from collections import Counter
from collections.abc import Callable, Iterable, Sequence

from .small_code import functions
from .small_dates import Date, Day, dates_in, day_of, day_said
from .small_look import MOST_LINES, NUMBER, columns, print_forms
from .small_records import Row, field_list
from .small_words import asked_now, stem_of

MOST_SHOWN = 8  # fields
lines: list[str] = []  # set in the REPL


class Hits(list[str]):
    """Lines in their order; ``&`` and ``|`` are meant as of sets: those that are in both, or in any. A line
    that comes more than once stays so often, since lines are counted.

    >>> Hits(["a", "b", "b"]) & ["b", "c"], ["b", "a", "b"] | Hits(["c", "a"])
    (['b', 'b'], ['b', 'a', 'b', 'c'])
    """

    def __and__(self, other: Iterable[str]) -> Hits:
        both = set(other)
        return Hits(line for line in self if line in both)

    def __or__(self, other: Iterable[str]) -> Hits:
        mine = set(self)
        return Hits([*self, *(line for line in other if line not in mine)])

    def __rand__(self, other: Iterable[str]) -> Hits:
        return self & other

    def __ror__(self, other: Iterable[str]) -> Hits:
        return Hits(other) | self


def find(*texts: str, among: Iterable[str] | None = None) -> Hits:
    """The lines that contain all the texts, in any case; where there are none, those with most words."""
    return Hits(_found(texts, among))


def _found(texts: Sequence[str], among: Iterable[str] | None) -> list[str]:
    pool = lines if among is None and isinstance(lines, Sequence) else list(lines if among is None else among)
    for meant in (_plainly, _as_patterns, _compared, _of_dates, _called):
        if (hits := meant(texts, pool)) is not None:
            return hits
    return _with_most_words(texts, pool)


def _low(texts: Sequence[str]) -> list[str]:
    """The texts without case; of rows, which have "name=value" whatever the text had, as those have it."""
    low = [str(text).casefold() for text in texts]
    return [re.sub(r"(?<=\w) ?[=:] ", "=", text) for text in low] if columns else low


def _plainly(texts: Sequence[str], pool: Sequence[str]) -> list[str] | None:
    """The lines that have the texts."""
    wanted = [str(text).casefold() for text in texts]
    hits = [line for line in pool if all(text in line.casefold() for text in wanted)]
    if columns and not hits:
        wanted = _low(texts)
        hits = [line for line in pool if all(text in line.casefold() for text in wanted)]
    if columns and any(text.endswith(" ") for text in wanted):  # "shop-2 " is the whole of a value
        whole = [re.compile(rf"(?<!\w){re.escape(text.strip())}(?!\w)") for text in wanted]
        hits = [line for line in pool if all(each.search(line.casefold()) for each in whole)] or hits
    return hits if hits or not texts else None


def _as_patterns(texts: Sequence[str], pool: Sequence[str]) -> list[str] | None:
    """The lines that fit the texts as :func:`values` has them, with {} for what varies."""
    if not any("{}" in text for text in texts):
        return None
    forms = [[re.compile(form, re.IGNORECASE) for form in _forms_of_pattern(text)] for text in _low(texts)]
    return [
        line for line in pool if all(any(form.search(line[:MOST_IN_LINE]) for form in each) for each in forms)
    ] or None


def _called(texts: Sequence[str], pool: Sequence[str]) -> list[str] | None:
    """A call of code, which the signatures have and not the lines."""
    wanted = _low(texts)
    if not any(text.endswith("(") for text in wanted):
        return None
    return [each for each in functions if all(text in each.casefold() for text in wanted)] or None


def _with_most_words(texts: Sequence[str], pool: Sequence[str]) -> list[str]:
    """The lines that have most of the words, the rarest first, and says which."""
    low = [line.casefold() for line in pool[:MOST_LINES]]
    words = [stem_of(word) for text in _low(texts) for word in re.findall(r"[\w.:/-]{3,}", text)]
    words = [word for word in dict.fromkeys(words) if any(word in small for small in low)]
    words.sort(key=lambda word: sum(word in small for small in low))
    hits: list[str] = []
    kept: list[str] = []
    while words and not hits:
        hits = [line for line, small in zip(pool, low, strict=False) if all(word in small for word in words)]
        kept, words = words, words[:-1]
    named = ", ".join(f'"{text}"' for text in texts)
    print(f"find: no line has {named}" + (f"; these have: {', '.join(kept)}" if hits else ""))  # noqa: T201
    return hits


_COMPARED = re.compile(r"(.*?\S)\s*(<=|>=|<|>)\s*([-+]?\d[\d,]*(?:\.\d+)?)\s*")
_COMPARES: dict[str, Callable[[float, float], bool]] = {
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}


def _compared(texts: Sequence[str], pool: Sequence[str]) -> list[str] | None:
    """The lines whose number behind a word is as the text says ("price < 50"), and that have the others."""
    if not any(map(_COMPARED.fullmatch, texts)):
        return None
    hits = list(pool)
    for text in texts:
        if not (said := _COMPARED.fullmatch(text)):
            hits = [line for line in hits if text.casefold() in line.casefold()]
            continue
        limit, compare = float(said[3].replace(",", "")), _COMPARES[said[2]]
        behind = [f"(?i){_loose(f'{said[1]}={{}}')}"]  # with whatever stands between
        told = ((line, _number(value)) for line in hits for value in _values_by(behind, [line])[:1])
        hits = [line for line, number in told if number is not None and compare(number, limit)]
    return hits


def _of_dates(texts: Sequence[str], pool: Sequence[str]) -> list[str] | None:
    """The lines that have the dates of these texts in other forms, and all the rest of them."""
    dates: list[Date] = []
    others: list[str] = []
    for text in map(str, texts):
        rest = text
        for said, date in dates_in(text).items():
            rest = rest.replace(said, "\n", 1)
            dates.append(date)
        others += [part.strip().casefold() for part in rest.split("\n") if part.strip()]
    if not dates:
        return None
    low = ((line, line.casefold()) for line in pool)
    return [
        line
        for line, small in low
        if all(other in small for other in others) and all(date.fits(small) for date in dates)
    ] or None


def _each(hits: Iterable[str] | str) -> list[str]:
    return [hits] if isinstance(hits, str) else list(hits)


def show(hits: Iterable[str]) -> None:
    """Prints how many lines there are, and of which forms; of single words, the most frequent."""
    found = [str(hit) for hit in hits]
    print(f"{len(found):,} line{'' if len(found) == 1 else 's'}")  # noqa: T201
    if any(" " in each.strip() for each in found[:20]):
        print_forms(found, 3)
    else:
        print("most frequent:", top(found))  # noqa: T201


def values(hits: Iterable[str] | str, pattern: str) -> list[str]:
    """What stands at {} in the lines that fit the pattern; without {}, what comes after it or looks like it.

    A value is one word where that fits, else several; ``^`` is the start of a line.
    """
    among = _each(hits)
    if "{}" not in pattern:
        pattern = re.sub(r"\.{3}|…", "{}", pattern)  # as questions and people write what varies
    are_rows = bool(columns and among) and all(isinstance(line, Row) for line in among)
    if are_rows and (of_field := _values_of_field(pattern, among)):
        return of_field
    forms = _forms_of_pattern(pattern)
    if "{}" not in pattern:
        found = _marked(pattern, forms, among)
    elif pattern.endswith(tuple(f"{mark}{{}}" for mark in _MARKS)) and pattern.count("{}") == 1:
        found = _all_by(forms[0], among)
    else:
        found = _values_by(forms, among)
    if not found and "(" not in pattern:
        found = _values_by([_loose(pattern)], among)
    if not found and re.search(r"\d", pattern) and "{}" not in pattern:
        # A value in place of a pattern: those that look like it are meant.
        found = _values_by([r"(?<!\w)" + re.sub(r"\d+", r"\\d+", re.escape(pattern)) + r"(?!\w)"], among)
    if not found:
        print("values: no line fits the pattern. Copy it from a line and put {} where the value stands.")  # noqa: T201
    return found


def _values_of_field(pattern: str, rows: Sequence[str]) -> list[str]:
    """What a pattern that names a field of records means; nothing where it names none."""
    name, _, value = pattern.removesuffix("{}").strip(" =:,").partition("=")
    if name in columns and not value:
        return field(rows, name)  # the whole of it, which may be several words
    if name in columns[:-1] and not pattern.endswith("{}"):
        if value.casefold() not in asked_now.casefold() and len({*field(rows, name)}) > 1:
            return field(rows, name)  # copied from one of the rows that were shown: the field is meant
        place = columns.index(name)  # what comes after this field, where a row is not too short
        fields = [row for row in map(field_list, rows) if len(row) > place + 1]
        return [row[place + 1] for row in fields if row[place] == value]
    return []


_BETWEEN = r"[\s=:]"
_WORD = r"\S+"
# Both bounded, so that a line of a megabyte without a space takes no longer than its length says.
MOST_IN_LINE = 50_000  # characters by which patterns are tried
_HOLES = (r"\S{1,400}?", ".{1,400}?")


def _values_by(forms: Sequence[str], hits: Sequence[str]) -> list[str]:
    compiled = [re.compile(form) for form in forms]
    found: list[str] = []
    for line in hits:
        match = next((match for form in compiled if (match := form.search(line[:MOST_IN_LINE]))), None)
        if match:
            found.append((match[1] if match.groups() else match[0]).removesuffix("):").strip(" ,;)]"))
    return found


_MARKS = ("_", "-")  # what begins a name, of which a line may have several


def _all_by(form: str, hits: Sequence[str]) -> list[str]:
    return [found.strip(" ,;)]") for line in hits for found in re.findall(form, line)]


def _marked(pattern: str, forms: Sequence[str], hits: Sequence[str]) -> list[str]:
    """What comes behind the pattern, or, where more lines have that, the words that begin with it: of a mark
    such as "blk_" all, since a line may have several."""
    by_form = [_values_by([form], hits) for form in forms]
    best = max(by_form, key=len)
    if best is by_form[0] or not pattern.endswith(_MARKS):
        return best
    return _all_by(forms[-1], hits)


def _forms_of_pattern(pattern: str) -> list[str]:
    """The regular expressions to try on each line, in order, by what was meant."""
    if "{}" not in pattern:
        if "(" in pattern:
            return [pattern]
        pattern = pattern.rstrip(" =:")
        begun = re.search(r"[\w-]*$", pattern)  # what follows may go on with the same word, as in blk_
        word = begun[0] if begun else ""
        known = re.escape(pattern)
        return [rf"{known}{_BETWEEN}+(\S+)", rf"{known.removesuffix(re.escape(word))}({re.escape(word)}\S+)"]
    start = "^" if pattern.startswith("^") else ""
    parts = [re.escape(part).replace(r"\ ", r"\s+") for part in pattern.removeprefix("^").split("{}")]
    return [
        start + parts[0] + "".join(f"({hole if part else _WORD}){part}" for part in parts[1:])
        for hole in _HOLES
    ]


def _loose(pattern: str) -> str:
    """The pattern with any of space, = and : where it has one of them."""
    parts = [re.escape(part) for part in re.split(r"[\s=:]+", pattern.removeprefix("^"))]
    return r"[\s=:#-]+".join(parts).replace(re.escape("{}"), r"(\S{1,400})")


def _number(text: str) -> float | None:
    found = NUMBER.match(text.strip())
    return float(re.sub(r"[^\d.eE+-]", "", found[0])) if found else None


def _at_hole(hits: Sequence[str], pattern: str) -> list[tuple[str, str]]:
    for forms in (_forms_of_pattern(pattern), [_loose(pattern)]):
        if found := [(line, value) for line in hits for value in _values_by(forms, [line])[:1]]:
            return found
    return []


_CLOCK = re.compile(r"(?<![\d:])([01]?\d|2[0-3]):([0-5]\d)(?::([0-5]\d))?(?![\d:])")


def times(hits: Iterable[str] | str) -> list[str]:
    """The first time of day in each of these lines, as HH:MM:SS; lines without one are left out."""
    found = (_CLOCK.search(line) for line in _each(hits))
    return [f"{int(clock[1]):02}:{clock[2]}:{clock[3] or '00'}" for clock in found if clock]


_ADDRESS = re.compile(
    r"(?<![\w.:])(?:\d{1,3}(?:\.\d{1,3}){3}(?![\w.]\w)|[0-9a-f:]*:[0-9a-f:]+(?![\w:]))", re.IGNORECASE
)


def field(hits: Iterable[str] | str, number: int | str) -> list[str]:
    """The field of that number, from 1, or of that name, of each of these lines; see ``field_list``."""
    if isinstance(number, str):
        if number not in columns:
            known = f", but {', '.join(columns)}" if columns else ""
            print(f"field: no field is called {number!r}{known}")  # noqa: T201
            return []
        number = columns.index(number) + 1
    fields = [field_list(line) for line in _each(hits)]
    found = [each[number - 1] for each in fields if len(each) >= number > 0]
    if fields and not found:
        print(f"field: there is no field {number}; a line has these: {fields[0][:MOST_SHOWN]}")  # noqa: T201
    return found


def rest(hits: Iterable[str] | str) -> list[str]:
    """These lines without their first field, which may be a label; of records, their last field."""
    if columns:
        return [fields[-1] for line in _each(hits) if (fields := field_list(line))]
    return [re.split(r"\t" if "\t" in line else r"(?<=\S) ", line, maxsplit=1)[-1] for line in _each(hits)]


def _address_in(line: str) -> str | None:
    for found in _ADDRESS.findall(line):
        try:
            ipaddress.ip_address(found)
        except ValueError:
            continue  # a time of day, say
        return str(found)
    return None


def addresses(hits: Iterable[str] | str) -> list[str]:
    """The first IP address in each of these lines; lines without one are left out."""
    return [found for line in _each(hits) if (found := _address_in(line))]


def between(hits: Iterable[str], start: str, end: str, *texts: str) -> list[str]:
    """The lines with a time of day, a date, or both, between the two, both included, in either order; and
    with these texts."""
    one, other = day_said(start), day_said(end)
    clocks = [*times([start]), *times([end])]
    if one and other:
        days = [(one, clocks[0]), (other, clocks[1])] if len(clocks) > 1 else [(one, ""), (other, "")]
        first, last = sorted(days)
        fit = [line for line in hits if _is_within(line, first, last if last[1] else (last[0], _LATEST))]
        return find(*texts, among=fit)
    begun, ended = sorted([*times([start]), "00:00:00"][:1] + [*times([end]), "23:59:59"][:1])
    fit = [line for line in hits if (clock := times(line)) and begun <= clock[0] <= ended]
    return find(*texts, among=fit)


_LATEST = "~"  # behind all times of day


def _is_within(line: str, first: tuple[Day, str], last: tuple[Day, str]) -> bool:
    """Whether the first date and time of a line are within; without a year, by month and day."""
    day = day_of(line)
    if not day:
        return False
    skip = not (day[0] and first[0][0] and last[0][0])
    return (first[0][skip:], first[1]) <= (day[skip:], (*times(line), "")[0]) <= (last[0][skip:], last[1])


def top(items: Iterable[object], n: int = 5) -> list[tuple[object, int]]:
    """The most frequent items, with how often each occurs."""
    return Counter(items).most_common(n)
