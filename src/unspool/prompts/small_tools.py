"""Helpers for models too weak to write sound text processing by themselves.

``look`` is the first look at the data: which lines share words with the question, how many there are
of each form, and one of each. ``find``, ``show``, ``values`` and ``top`` are for the model's code;
what does not fit is answered with what is nearest, and said so. The source runs in the REPL of a node
(see :mod:`unspool.prompts.small`), beside ``lines``, the lines of the context; so it is standard
library only, in one file. Results are bounded, and at most ``MOST_LINES`` lines are looked at.

>>> groups_for("How often was a card refused?", ["card paid", "card refused, bo", "card refused, cy"])[0]
['card refused, bo', 'card refused, cy']
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
>>> top(["a", "b", "a"])
[('a', 2), ('b', 1)]
"""

from __future__ import annotations

import ipaddress
import itertools
import math
import re
from collections import Counter
from collections.abc import Iterable, Sequence

MOST_LINES = 200_000  # that are looked at
NAMES = "ABC"  # of the groups of a look
WIDTH = 170
ALONE = 400  # characters of a line that is alone in its group
SHORT = 40  # lines up to which the description of the context shows enough
MOST_FIELDS = 6  # at the start of lines that are looked at
MOST_LABELS = 60  # different first fields, up to which they are labels
MOST_VALUES = 20  # different values of another field, up to which it is one of levels or names
SHOWN_VALUE = 40  # characters
FREE_TEXT = "free text"  # what lines are said to be that only a reader can judge
MOST_PROSE = 200  # lines that classify takes
PAIR = 2.5  # the weight of two words of the question that stand side by side in a line, too
WHOLE = 0.5  # the weight of a word that stands there as it is asked, and not only its stem
AS_IT_IS = " as it is"
WORTH = 0.3  # of the best form's weight, under which a form only distracts

_COMMON_WORDS = frozenset(
    """
    a about after again all an and any are as at be been before being between both but by can could did
    do does each every few first for from get give had has have he her here him his how i if in into is
    it its just last least less like list log many me more most much must my name no nor not number of
    off often on once one only or other our out over own per please same she should so some somebody
    such tell than that the their them then there these they this those through time times to too two
    under until up very was we were what when where whether which while who whom whose why will with
    would you your line lines entry entries different distinct answer written write count text total
    item items value context data file contain contains say says said find found take mention mentions
    appear appears report reports
    """.split()  # noqa: SIM905
)
_CALENDAR = frozenset("Mon Tue Wed Thu Fri Sat Sun Jan Feb Mar Apr May Jun Jul Aug Sep Oct Nov Dec".split())  # noqa: SIM905 (short to read)
_ENDINGS = ("ings", "ing", "ies", "ed", "es", "s", "e", "y")


def groups_for(question: str, data: Sequence[str]) -> list[list[str]]:
    """The lines of ``data`` that share words with ``question``, by the words, the best group first."""
    question, among = _NOT_SOUGHT.sub(" ", question), list(data[:MOST_LINES])
    groups = _groups(among, _words(question))
    seen = Counter(word for words, group in groups.items() for word in words for _ in group)
    rare = {
        word: WHOLE if word.endswith(AS_IT_IS) else math.log(1.1 * len(among) / count)
        for word, count in seen.items()
    }
    pairs = _neighbours(question)
    weight = {
        words: sum(rare[word] for word in words) + PAIR * sum(bool(pair.search(group[0])) for pair in pairs)
        for words, group in groups.items()
    }
    best = max(weight.values(), default=0.0)
    ranked = sorted((words for words in groups if weight[words] >= best * WORTH), key=lambda w: -weight[w])
    return [groups[words] for words in ranked[: len(NAMES)]]


def look(question: str, data: Sequence[str]) -> None:
    """Prints the groups, the best one last, since what is read last weighs most; names them A, B, C.

    A few lines of prose have no groups: they are for ``classify``.
    """
    if not isinstance(data, list) and len(some := data[: MOST_LINES + 1]) > MOST_LINES:
        data = some[:-1]
        print(f"Looked at: the first {MOST_LINES:,} lines. find looks at all of them.")  # noqa: T201
    if is_prose(data):
        print(f"{len(data)} lines of {FREE_TEXT}: code cannot judge them, classify can.")  # noqa: T201
        return
    if len(data) <= SHORT:
        return
    groups = groups_for(question, data)
    few = fields_of(data)
    _print_fields(few)
    if 1 in few and (labelled := _labelled(question, data, few[1])):
        groups = [labelled, *groups[: len(NAMES) - 1]]
    for name, group in reversed(list(zip(NAMES, groups, strict=False))):
        globals()[name] = group
        print(f"{name}: {len(group):,} line{'' if len(group) == 1 else 's'}")  # noqa: T201
        _print_forms(group, 2)


def fields_of(data: Sequence[str]) -> dict[int, Counter[str]]:
    """By number from 1: the fields at the start of lines that hold a few values again and again."""
    among = [field_list(line) for line in data[:MOST_LINES]]
    few: dict[int, Counter[str]] = {}
    for place in range(MOST_FIELDS):
        held = Counter(fields[place] for fields in among if len(fields) > place)
        most = MOST_VALUES if place else MOST_LABELS
        again = 1 < len(held) <= min(most, held.total() // 2)
        if again and held.total() >= 0.9 * len(among):
            few[place + 1] = held
    return few


def field_list(line: str) -> list[str]:
    """The fields of a line: between tabs where it has any, else between spaces."""
    return line.split("\t") if "\t" in line else line.split()


def _print_fields(few: dict[int, Counter[str]]) -> None:
    for number, held in few.items():
        shown = ", ".join(f"{value[:SHOWN_VALUE]} {n:,}x" for value, n in held.most_common(3))
        more = f", … {len(held)} different" if len(held) > 3 else ""
        print(f"field(lines, {number}): {shown}{more}")  # noqa: T201


def _labelled(question: str, data: Sequence[str], starts: Counter[str]) -> list[str]:
    """The lines whose first field, or a part of it, is named in the question as it is spelt there."""
    words = set(re.findall(r"[\w:.-]*\w", _NOT_SOUGHT.sub(" ", question))) - _COMMON_WORDS
    named = {start for start in starts if start in words}
    named = named or {start for start in starts if words & set(re.split(r"[:./-]", start))}
    return [line for line in data[:MOST_LINES] if (fields := field_list(line)) and fields[0] in named]


def is_prose(data: Sequence[str]) -> bool:
    """Whether these are a few lines with words of their own each, and not entries of a few forms."""
    if not 1 < len(data) <= MOST_PROSE or any("\t" in line for line in data):
        return False
    words = [set(re.findall(r"[^\W\d_]{4,}", line)) for line in data]
    shared = Counter(word for line in words for word in line)
    usual = sum(count > len(data) // 2 for count in shared.values())
    return sum(map(len, words)) >= 2 * len(data) <= 2 * len(shared) and usual <= 1


def lines_of(data: object) -> list[str]:
    """The lines of a text, of the texts of a list or a mapping; other items as text, one line each."""
    if isinstance(data, str):
        return data.splitlines()
    if isinstance(data, dict):
        data = list(data.values())
    if not isinstance(data, list | tuple):
        return []
    return [line for item in data for line in (item.splitlines() if isinstance(item, str) else [str(item)])]


# What stands in a question and is not looked for: an example of what is asked ("such as X"), and a time of
# day that only bounds ("before 10:00"), since a line with just that time is not what is meant.
_NOT_SOUGHT = re.compile(
    r"\b(?:such as|as in|for example|for instance|e\.g\.|like),? +[^\s,)]+"
    r"|\b(?:before|after|since|until|till|between|from|to|and|by)\s+\d{1,2}:\d\d(?::\d\d)?\b",
    re.IGNORECASE,
)


def _words(question: str) -> dict[str, tuple[str, bool]]:
    """The words that may stand in the data: each with its stem, and whether its case matters."""
    words: dict[str, tuple[str, bool]] = {}
    for word in re.findall(r"[^\W_](?:[\w.:/@$\[\]-]*[^\W_])?", question):
        low = word.casefold()
        if low in _COMMON_WORDS or (len(word) == 1 and not word.isdigit()):
            continue
        exact = not word.isalpha() or not (word.islower() or word.istitle())
        stem = word if exact else _stem(low)
        if (stem, exact) not in words.values():
            words[word] = stem, exact
    return words


def _neighbours(question: str) -> list[re.Pattern[str]]:
    """Words that stand side by side in the question, as patterns of what may stand in a line."""
    words = re.findall(r"[\w.:/@-]*\w", question.casefold())
    return [
        re.compile(rf"\b{re.escape(_stem(one))}\w*\W+{re.escape(_stem(other))}", re.IGNORECASE)
        for one, other in itertools.pairwise(words)
        if one not in _COMMON_WORDS and other not in _COMMON_WORDS
    ]


def _groups(lines: Sequence[str], words: dict[str, tuple[str, bool]]) -> dict[tuple[str, ...], list[str]]:
    """The lines by the words of the question that they contain at the start of a word.

    A word that stands there as it is asked is named once more: "received" is nearer than "receiving".
    """
    starts = {word: re.compile(rf"(?<![^\W_]){re.escape(stem)}") for word, (stem, _) in words.items()}
    wholes = {
        word: re.compile(rf"(?<![^\W_]){re.escape(re.sub(r's$', '', word.casefold()))}s?(?![^\W_])")
        for word in words
    }
    groups: dict[tuple[str, ...], list[str]] = {}
    for line in lines:
        low = line.casefold()
        found: list[str] = []
        for word, (stem, exact) in words.items():
            text = line if exact else low
            if stem in text and starts[word].search(text):
                found.append(word)
                if wholes[word].search(low):
                    found.append(word + AS_IT_IS)
        if found:
            groups.setdefault(tuple(found), []).append(line)
    return groups


def forms_of(lines: Sequence[str], most: int) -> list[tuple[int, str]]:
    """The most usual forms of these lines: how many, and the first one of each.

    A form is made of the words that many of the lines have; where nearly every line has a form of its
    own, as in prose, there is only one.
    """
    words = [
        [word for word in line.split() if not re.search(r"\d", word) and word.strip("[](),") not in _CALENDAR]
        for line in lines
    ]
    usual = Counter(word for line in words for word in set(line))
    least = max(2, len(lines) // 50)
    forms = [" ".join(word for word in line if usual[word] >= least) for line in words]
    counts = Counter(forms).most_common(most)
    if len(lines) < 3 or sum(count for _, count in counts) < len(lines) // 2:
        return [(len(lines), lines[0])] if lines else []
    return [(count, lines[forms.index(form)]) for form, count in counts]


lines: list[str] = []  # set in the REPL; A, B, C by the first look
A: list[str] = []
B: list[str] = []
C: list[str] = []


def _print_forms(hits: Sequence[str], most: int) -> None:
    width = ALONE if len(hits) == 1 else WIDTH
    for count, line in forms_of(hits, most):
        print(f"  {count:,} like: {line if len(line) <= width else line[:width] + '…'}")  # noqa: T201


def _stem(word: str) -> str:
    for ending in _ENDINGS:
        if word.endswith(ending) and len(word) - len(ending) >= 4:
            return word[: -len(ending)]
    return word


def find(*texts: str, among: Iterable[str] | None = None) -> list[str]:
    """The lines that contain all the texts, in any case; where there are none, those with most words."""
    pool = lines if among is None and isinstance(lines, Sequence) else list(lines if among is None else among)
    wanted = [str(text).casefold() for text in texts]
    hits = [line for line in pool if all(text in line.casefold() for text in wanted)]
    if hits or not wanted:
        return hits
    low = [line.casefold() for line in pool[:MOST_LINES]]
    words = [_stem(word) for text in wanted for word in re.findall(r"[\w.:/-]{3,}", text)]
    words = [word for word in dict.fromkeys(words) if any(word in small for small in low)]
    words.sort(key=lambda word: sum(word in small for small in low))
    kept: list[str] = []
    while words and not hits:
        hits = [line for line, small in zip(pool, low, strict=False) if all(word in small for word in words)]
        kept, words = words, words[:-1]
    named = ", ".join(f'"{text}"' for text in texts)
    print(f"find: no line has {named}" + (f"; these have: {', '.join(kept)}" if hits else ""))  # noqa: T201
    return hits


def _each(hits: Iterable[str] | str) -> list[str]:
    return [hits] if isinstance(hits, str) else list(hits)


def show(hits: Iterable[str]) -> None:
    """Prints how many lines there are, and of which forms; of single words, the most frequent."""
    found = [str(hit) for hit in hits]
    print(f"{len(found):,} line{'' if len(found) == 1 else 's'}")  # noqa: T201
    if any(" " in each.strip() for each in found[:20]):
        _print_forms(found, 3)
    else:
        print("most frequent:", top(found))  # noqa: T201


def values(hits: Iterable[str] | str, pattern: str) -> list[str]:
    """What stands at {} in the lines that fit the pattern; without {}, what comes after it.

    A value is one word where that fits, else several; ``^`` is the start of a line.
    """
    among = _each(hits)
    forms = _forms_of_pattern(pattern)
    found = (
        _values_by(forms, among)
        if "{}" in pattern
        else max((_values_by([form], among) for form in forms), key=len)
    )
    if not found and "(" not in pattern:
        found = _values_by([_loose(pattern)], among)
    if not found:
        print("values: no line fits the pattern. Copy it from a line and put {} where the value stands.")  # noqa: T201
    return found


_BETWEEN = r"[\s=:]"
_WORD = r"\S+"
_HOLES = (r"\S+?", ".+?")


def _values_by(forms: Sequence[str], hits: Sequence[str]) -> list[str]:
    compiled = [re.compile(form) for form in forms]
    found: list[str] = []
    for line in hits:
        match = next((match for form in compiled if (match := form.search(line))), None)
        if match:
            found.append((match[1] if match.groups() else match[0]).strip(" ,;)]"))
    return found


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
    return f"{_BETWEEN}+".join(parts).replace(re.escape("{}"), f"({_WORD})")


_CLOCK = re.compile(r"(?<![\d:])([01]?\d|2[0-3]):([0-5]\d)(?::([0-5]\d))?(?![\d:])")


def times(hits: Iterable[str] | str) -> list[str]:
    """The first time of day in each of these lines, as HH:MM:SS; lines without one are left out."""
    found = (_CLOCK.search(line) for line in _each(hits))
    return [f"{int(clock[1]):02}:{clock[2]}:{clock[3] or '00'}" for clock in found if clock]


_ADDRESS = re.compile(
    r"(?<![\w.:])(?:\d{1,3}(?:\.\d{1,3}){3}(?![\w.]\w)|[0-9a-f:]*:[0-9a-f:]+(?![\w:]))", re.IGNORECASE
)


def field(hits: Iterable[str] | str, number: int) -> list[str]:
    """The field of that number, from 1, of each of these lines; see ``field_list``."""
    fields = [field_list(line) for line in _each(hits)]
    return [each[number - 1] for each in fields if len(each) >= number > 0]


def rest(hits: Iterable[str] | str) -> list[str]:
    """These lines without their first field, which may be a label."""
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


def between(hits: Iterable[str], start: str, end: str) -> list[str]:
    """The lines with a time of day between the two, both included, in either order."""
    first, last = sorted([*times([start]), "00:00:00"][:1] + [*times([end]), "23:59:59"][:1])
    return [line for line in hits if (clock := times(line)) and first <= clock[0] <= last]


def top(items: Iterable[object], n: int = 5) -> list[tuple[object, int]]:
    """The most frequent items, with how often each occurs."""
    return Counter(items).most_common(n)
