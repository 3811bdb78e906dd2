"""The first look at data for a weak model: which lines share words with the question, and of which forms.

``look`` prints it; :func:`groups_for` finds the lines. The source runs in the REPL (see
:mod:`unspool.prompts.small_tools`) beside ``lines``, the lines of the context, and ``columns``, the names of
their fields. Results are bounded, and at most ``MOST_LINES`` lines are looked at.

>>> groups_for("How often was a card refused?", ["card paid", "card refused, bo", "card refused, cy"])[0]
['card refused, bo', 'card refused, cy']
"""

from __future__ import annotations

import itertools
import math
import re
from collections import Counter
from collections.abc import Mapping, Sequence

from .small_code import PYTHON, classes, definitions, functions, imports, is_code, modules, named_in, owners
from .small_judged import asked_of, shared_out
from .small_named import files_for, narrowed
from .small_prose import blocks_of, follow, is_paragraphs, is_prose, is_wrapped, sentences_of
from .small_records import described, field_list, in_files, lines_of, records, without_marks
from .small_slots import SLOTS, slots_asked
from .small_tables import has_tables, table_lines
from .small_words import (
    AS_IT_IS,
    COMMON_WORDS,
    PAIR,
    WHOLE,
    Sought,
    examples_of,
    meant,
    neighbours,
    says,
    sought,
    without_examples,
)

MOST_LINES = 200_000  # that are looked at
NAMES = "ABC"  # of the groups of a look
WIDTH = 170
ALONE = 400  # characters of a line that is alone in its group
SHORT = 300  # characters up to which the description of the context shows all of it
MOST_FIELDS = 6  # at the start of lines that are looked at
MOST_LABELS = 60  # different first fields, up to which they are labels
MOST_VALUES = 20  # different values of another field, up to which it is one of levels or names
SHOWN_VALUE = 40  # characters
FREE_TEXT = "free text"  # what lines are said to be that only a reader can judge
PROSE = "A, B and C are sentences"  # what is said of groups in prose
MOST_SENTENCES = 4  # shown of a group
SURE = 3  # words of the question in one line
SHORTEST_MARK = 5  # characters of what names one thing: "shop-2", "24200"
MENTIONS = re.compile(r"\bmention(?:s|ed|ing)?\b", re.IGNORECASE)  # in whatever form of the word
WORTH = 0.3  # of the best form's weight, under which a form only distracts
MANY_ASKED = re.compile(
    r"\bhow (?:many|often)\b|\bcount\b|\b(?:most|least|fewest)\b|\blist\b|\beach\b|\bevery\b"
    r"|\bwhich (?:lines|items|messages|texts|ones)\b",
    re.IGNORECASE,
)
NUMBER = re.compile(r"[-+]?[$€£]?(?:\d{1,3}(?:,\d{3})+(?!\d)|\d+)(?:\.\d+)?(?:[eE][-+]?\d+)?%?")
DUNDER = "__"  # begins a name of code that is nothing else
NUMBERS = "numbers in: "  # before the fields that hold such
MOST_TOLD = 4  # fields whose values are shown
MOST_OF_TEXT = 3  # fields of records that are prose for the most part
LONGEST_COUNT = 18  # digits
SOME_ROWS = 2_000  # by which it is told
columns: list[str] = []  # the names of fields, set in the REPL
A: list[str] = []  # these three are set by ``look``
B: list[str] = []
C: list[str] = []
prose_now: list[str] = []  # the sentences of prose, set by ``look``
_CALENDAR = frozenset(re.findall("...", "MonTueWedThuFriSatSunJanFebMarAprMayJunJulAugSepOctNovDec"))


# What a question may call a field, and what such fields hold.
_SORTS = tuple(
    (re.compile(rf"\b(?:{asked})s?\b", re.IGNORECASE), re.compile(rf"\W*(?:{held})\W*", re.IGNORECASE))
    for asked, held in (
        (
            "level|severity",
            "trace|debug|info|notice|warn|warning|err|error|severe|crit|critical|fatal|alert|emerg|panic",
        ),
        (r"date|day", r"\d{6}|\d{8}|\d{2,4}[-/.]\d\d[-/.]\d{2,4}|mon|tue|wed|thu|fri|sat|sun"),
        ("address", r"\d+\.\d+\.\d+\.\d+(?::\d+)?"),
    )
)


def groups_for(question: str, data: Sequence[str]) -> list[list[str]]:
    """The lines of ``data`` that share words with ``question``, by the words, the best group first."""
    among = list(data[:MOST_LINES])
    words = sought(question)
    nearest = not MENTIONS.search(question)
    groups = _groups(among, words, nearest)
    if others := meant(question, {word for words in groups for word in words}):
        groups = _groups(among, words | others, nearest)
    seen = Counter(word for words, group in groups.items() for word in words for _ in group)
    rare = {
        word: WHOLE if word.endswith(AS_IT_IS) else math.log(1.1 * len(among) / count)
        for word, count in seen.items()
    }
    pairs = neighbours(without_examples(question))
    weight = {
        words: sum(rare[word] for word in words) + PAIR * sum(bool(pair.search(group[0])) for pair in pairs)
        for words, group in groups.items()
    }
    best = max(weight.values(), default=0.0)
    ranked = sorted((words for words in groups if weight[words] >= best * WORTH), key=lambda w: -weight[w])
    if ranked and sum(not word.endswith(AS_IT_IS) for word in ranked[0]) >= SURE:
        # What an event may be called elsewhere ("boot" for begin) says nothing beside lines like these.
        ranked = [words for words in ranked if not all(word.startswith("~") for word in words)]
    if any(word.startswith(DUNDER) for words in ranked for word in words):
        ranked = [words for words in ranked if any(word.startswith(DUNDER) for word in words)]
    if ranked and any(map(_is_mark, ranked[0])):
        # The question names one thing by its mark: what is said of others only distracts.
        ranked = [words for words in ranked if any(map(_is_mark, words))]
    return [groups[words] for words in ranked[: len(NAMES)]]


def _is_mark(word: str) -> bool:
    """Whether a word of the question is the name of one thing, such as an address, a number, a host."""
    return len(word) >= SHORTEST_MARK and not word.endswith(AS_IT_IS) and any(map(str.isdigit, word))


def look(
    question: str, data: Sequence[str], meanings: Mapping[str, str] | None = None, names: Sequence[str] = ()
) -> None:
    """Prints the groups, the best one last, since what is read last weighs most; names them A, B, C.

    A few lines of prose have no groups where many of them are asked about: they are for ``classify``, as are
    all lines where the question gives their labels (``meanings``). ``names``: those of fields that it gives.
    """
    globals().update(asked_now=question)
    data, shown = _in_memory(question, data)
    if names and not columns and (rows := described(data, names)):
        data = list(rows)
        globals().update(lines=data, columns=list(names))
    _print_columns(data)
    prose = is_prose(data) and len(columns) <= MOST_OF_TEXT
    if meanings and (names or not prose):
        _print_fields(_meant(question, fields_of(data)))
        wanted, told = asked_of(question, data, columns)
        globals().update(A=wanted, meanings=meanings)
        print(shared_out(len(wanted), told, meanings))  # noqa: T201
        return
    many = MANY_ASKED.search(without_examples(question)) is not None
    if prose:
        print(f"{len(data)} lines of {FREE_TEXT}: code cannot judge them, classify can.")  # noqa: T201
        if many:
            return
    elif shown and sum(map(len, data)) <= SHORT:
        return
    if code := is_code(data):
        _print_code(question, data)
    cut = not code and not columns and is_wrapped(data)
    wrapped = cut or (not code and not columns and not many and is_paragraphs(data))
    texts = sentences_of(blocks_of(data) if cut else data) if wrapped or prose else data
    groups = groups_for(question, texts)
    few = {} if wrapped or prose else fields_of(data)
    _print_fields(_meant(question, few))
    if not columns and texts is data and not code and (held := slots_asked(question, data)):
        print(SLOTS + ", ".join(f'"{slot}"' for slot in held))  # noqa: T201
    if labelled := _labelled(question, data, few if columns else {1: few[1]} if 1 in few else {}):
        groups = [labelled, *(group for group in groups[: len(NAMES) - 1] if group != labelled)]
    if groups and texts is not data:
        groups[0] = [*groups[0], *follow(groups[0], texts, question)]
        globals()["prose_now"] = texts
        reader = "; read lets a reader answer from them" if "read" in globals() else ""
        print(f"Prose: {PROSE}{reader}.")  # noqa: T201
    if not groups:
        globals()["A"] = data  # said of nothing: of all lines
    for name, group in reversed(list(zip(NAMES, groups, strict=False))):
        globals()[name] = group
        print(f"{name}: {len(group):,} line{'' if len(group) == 1 else 's'}")  # noqa: T201
        print_forms(group, 2 if texts is data else MOST_SENTENCES)


def _in_memory(question: str, data: Sequence[str]) -> tuple[list[str], bool]:
    """The lines to look at, and whether the description of the context shows them where they are few.

    Those of files and tables are read now, and ``lines`` and ``columns`` are set to them.
    """
    given = globals().get("context")
    if found := narrowed(question, given):
        data, names, told = found
        print(told)  # noqa: T201
        globals().update(lines=data, columns=names)
        return list(data), False
    if has_tables(given):
        data, names, all_told = table_lines(given)
        for each in all_told:
            print(each)  # noqa: T201
        globals().update(lines=data, columns=names)
    elif in_files(given):
        data, names = records(lines_of(given))
        if len(data) >= MOST_LINES:
            print(f"lines has the first {MOST_LINES:,} lines of these files.")  # noqa: T201
        globals().update(lines=data, columns=names)
    return _read(data), not in_files(given)


def _read(data: Sequence[str]) -> list[str]:
    """The lines of a context that is one file; ``lines`` and ``columns`` are set where they are records."""
    given = globals().get("context")
    if isinstance(data, list):
        return data
    some = list(data[: MOST_LINES + 1])
    read = min(len(some), MOST_LINES)
    found = without_marks(some[:read], getattr(given, "unit", ""))
    if read < len(some):
        print(f"Looked at: the first {MOST_LINES:,} lines. find looks at all of them.")  # noqa: T201
        return found
    rows, names = records(found)
    if names or len(rows) < read:
        globals().update(lines=rows, columns=names)
    return list(rows)


def _print_columns(data: Sequence[str]) -> None:
    if columns:
        print("fields: " + ", ".join(f"{n} {name}" for n, name in enumerate(columns, 1)))  # noqa: T201
        if held := _numeric(data):
            print(NUMBERS + ", ".join(f"{n} {columns[n - 1]}" for n in held))  # noqa: T201


def _print_code(question: str, data: Sequence[str]) -> None:
    for name, found in zip(("classes", "functions", "owners"), definitions(data), strict=True):
        globals()[name] = found
    files = files_for(question, globals().get("context")) or [data]
    globals()["imports"] = [module for file in files for module in modules(file)]
    print(  # noqa: T201
        f"{PYTHON}: classes ({len(classes)}), functions ({len(functions)}), owners ({len(owners)}), "
        f"imports ({len(imports)}), as"
    )
    for some in (named_in(question, classes), named_in(question, functions), owners[:1], imports[:1]):
        for each in some:
            print(f"  {each[:WIDTH]}")  # noqa: T201


def fields_of(data: Sequence[str]) -> dict[int, Counter[str]]:
    """By number from 1: the fields at the start of lines that hold a few values again and again."""
    among = [field_list(line) for line in data[:MOST_LINES]]
    few: dict[int, Counter[str]] = {}
    for place in range(len(columns) or MOST_FIELDS):
        held = Counter(fields[place] for fields in among if len(fields) > place)
        most = MOST_VALUES if place and not columns else MOST_LABELS
        again = 1 < len(held) <= min(most, held.total() // 2)
        if again and held.total() >= 0.9 * len(among):
            few[place + 1] = held
    return few


def _numeric(data: Sequence[str]) -> list[int]:
    """By number from 1: the fields that hold numbers; those that only rise, or begin with 0, are
    marks."""
    among = [field_list(line) for line in data[:SOME_ROWS]]
    held: list[int] = []
    for place in range(len(columns)):
        texts = [text for fields in among if len(fields) > place and (text := fields[place].strip())]
        fit = sum(NUMBER.fullmatch(text) is not None for text in texts)
        counts = all(text.isdecimal() and len(text) <= LONGEST_COUNT for text in texts) and all(
            int(one) < int(next_one) for one, next_one in itertools.pairwise(texts)
        )
        codes = any(len(text) > 1 and text.isdecimal() and text[0] == "0" for text in texts)
        if fit >= 0.95 * len(texts) > 0 and not counts and not codes:
            held.append(place + 1)
    return held


def _print_fields(few: dict[int, Counter[str]]) -> None:
    for number, held in few.items():
        shown = ", ".join(f"{value[:SHOWN_VALUE]} {n:,}x" for value, n in held.most_common(3))
        more = f", … {len(held)} different" if len(held) > 3 else ""
        print(f"field(lines, {number}): {shown}{more}")  # noqa: T201


def _meant(question: str, few: dict[int, Counter[str]]) -> dict[int, Counter[str]]:
    """The fields that hold an example of the question ("such as X"), or the sort of thing it asks; else all.

    >>> sorted(_meant("Which level is rare?", {1: Counter(["Mon"]), 6: Counter(["[error]", "[notice]"])}))
    [6]
    """
    examples = [example.casefold() for example in examples_of(question)]
    by_example = {
        number: held
        for number, held in few.items()
        if any(example in value.casefold() for example in examples for value in held)
    }
    sorts = [held for asked, held in _SORTS if asked.search(question)]
    by_sort = {
        number: held
        for number, held in few.items()
        if any(sum(bool(sort.fullmatch(value)) for value in held) * 2 >= len(held) for sort in sorts)
    }
    return by_example or by_sort or _nearest(question, few)


def _nearest(question: str, few: dict[int, Counter[str]]) -> dict[int, Counter[str]]:
    """Of many fields of records those whose names or values the question has, then those with few values."""
    if not columns or len(few) <= MOST_TOLD:
        return few
    low = question.casefold()

    def far(number: int) -> tuple[bool, int]:
        told = columns[number - 1].casefold().rstrip("s") in low or any(
            says(question, v) for v in few[number]
        )
        return not told, len(few[number])

    return {number: few[number] for number in sorted(sorted(few, key=far)[:MOST_TOLD])}


def _labelled(question: str, data: Sequence[str], few: dict[int, Counter[str]]) -> list[str]:
    """The lines with fields that the question names as they are spelt; else by parts of the first one."""
    text = without_examples(question)
    said = {number: {value for value in held if says(text, value)} for number, held in few.items()}
    if not columns and 1 in few and any(value.strip("[](),") in _CALENDAR for value in few[1]):
        return []  # a line that begins with its day of the week has no label
    named = {number: values for number, values in said.items() if values}
    if (paired := _paired(text)) and (found := _having(data, paired | named)):
        return found
    if not named and 1 in few:
        words = {word for word in re.findall(r"[\w:.-]*\w", text) if word.casefold() not in COMMON_WORDS}
        named = {1: {start for start in few[1] if words & set(re.split(r"[:./-]", start))}}
    return _having(data, named) if named else []


def _having(data: Sequence[str], named: dict[int, set[str]]) -> list[str]:
    return [line for line in data[:MOST_LINES] if _has(field_list(line), named)]


def _paired(question: str) -> dict[int, set[str]]:
    """By number of the field: what stands behind its name in the question, as in "of thread 18"."""
    low = question.casefold()
    paired: dict[int, set[str]] = {}
    for number, name in enumerate(columns, 1):
        if name.casefold() in low:  # before a pattern is made of it
            behind = (
                rf"(?<!\w){re.escape(name)}(?!\w)[\"']?(?: is| was)? ?[=:]* ?[\"'(]?([\w.:/$@-]*\w)"
                rf"(?!\w| ?(?:to|and|or|-|–) ?\d)"
            )
            values = set(re.findall(behind, question, re.IGNORECASE))
            if values := {value for value in values if value.casefold() not in COMMON_WORDS}:
                paired[number] = values
    return paired


def _has(fields: list[str], named: dict[int, set[str]]) -> bool:
    return all(len(fields) >= number and fields[number - 1] in chosen for number, chosen in named.items())


def _groups(
    lines: Sequence[str], words: dict[str, Sought], nearest: bool
) -> dict[tuple[str, ...], list[str]]:
    """The lines by the words of the question that they contain at the start of a word.

    With ``nearest`` a word that stands there as it is asked is named once more: "received" is nearer than
    "receiving".
    """
    groups: dict[tuple[str, ...], list[str]] = {}
    for line in lines:
        low = line.casefold()
        found: list[str] = []
        for word, seek in words.items():
            if seek.fits(line, low):
                found.append(word)
                if nearest and seek.stands(low):
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


def print_forms(hits: Sequence[str], most: int) -> None:
    width = ALONE if len(hits) == 1 else WIDTH
    for count, line in forms_of(hits, most):
        print(f"  {count:,} like: {line if len(line) <= width else line[:width] + '…'}")  # noqa: T201
