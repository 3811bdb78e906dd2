"""What an answer says, however it is said: a number, a name, a list, pairs.

Contract: pure and strict. An answer is a value of any type or a text of a model; what cannot be read without
guessing is ``None``, and scores nothing. A text counts as the number in it only if there is one number, or if
it says which is the answer ("Answer: 12").

>>> number_in("There are 1,204 of them."), number_in("12 of 40"), number_in("Of 40, the answer is 12.")
(1204.0, None, 12.0)
>>> items_in("red, blue\\n- green"), items_in('["red", "blue"]')
(['red', 'blue', 'green'], ['red', 'blue'])
>>> pairs_in("(3, 1), (1, 3) and [2, 4]")
[('1', '3'), ('2', '4')]
"""

from __future__ import annotations

import json
import re
import string
from collections.abc import Iterable, Mapping

_NUMBER = re.compile(r"(?<![\w.])[-+]?(?:\d{1,3}(?:,\d{3})+|\d+)(?:\.\d+)?(?![\w]|\.\d)")
_ANSWER = re.compile(r"\banswer\b[\s*_`]*(?:is\b)?[\s*_`]*[:=]?[\s*_`]*", re.IGNORECASE)
_FENCED = re.compile(r"\s*```\w*\n(.*)\n```\s*", re.DOTALL)
_NO_MARKS = str.maketrans("", "", string.punctuation)
_ARTICLES = frozenset(("a", "an", "the"))
SCALES: Mapping[str, int] = {"thousand": 10**3, "million": 10**6, "billion": 10**9}
_EDGE = " \t\r\n\"'`*.,:;()[]<>{}"
_MARK = re.compile(r"^\s*(?:[-*•]|\d{1,3}[.)])\s+")
_PAIR = re.compile(r"[(\[]\s*[\"']?([\w.-]+)[\"']?\s*,\s*[\"']?([\w.-]+)[\"']?\s*[)\]]")


def plain_text(value: object) -> str:
    """The answer as text: what a list says is one item a line."""
    if isinstance(value, str):
        return value
    if isinstance(value, list | tuple | set | frozenset):
        return "\n".join(plain_text(item) for item in value)
    return "" if value is None else str(value)


def number_in(value: object) -> float | None:
    """The number that the answer is."""
    if isinstance(value, bool) or value is None:
        return None
    if isinstance(value, int | float):
        return float(value) if abs(value) < 1e300 else None
    if isinstance(value, list | tuple | Mapping) and len(value) == 1:
        return number_in(next(iter(value.values() if isinstance(value, Mapping) else value)))
    if not isinstance(value, str):
        return None
    said = [match for match in _ANSWER.finditer(value) if _NUMBER.match(value, match.end())]
    texts = [found[0] for match in said[-1:] if (found := _NUMBER.match(value, match.end())) is not None]
    numbers = {float(text.replace(",", "")) for text in texts or _NUMBER.findall(value)}
    return numbers.pop() if len(numbers) == 1 else None


def name_in(value: object) -> str:
    """The answer as a bare name: case, quotes, a full stop and spaces at its edges do not count."""
    if isinstance(value, list | tuple) and len(value) == 1:
        value = value[0]
    text = plain_text(value)
    if (said := list(_ANSWER.finditer(text))) and said[0].start() == 0:
        text = text[said[0].end() :]
    return " ".join(text.strip(_EDGE).casefold().split())


def items_in(value: object) -> list[str] | None:
    """The items that the answer lists, each as a bare name, in order."""
    if isinstance(value, str):
        parsed = _parsed(value)
        if isinstance(parsed, list):
            return items_in(parsed)
        body = _after_answer(value)
        parts: Iterable[object] = [_bare_item(part) for part in re.split(r"[,;\n]|\band\b", body)]
    elif isinstance(value, Mapping):
        parts = list(value)
    elif isinstance(value, list | tuple | set | frozenset):
        parts = value
    else:
        return None if value is None else [name_in(value)]
    return [name for part in parts if (name := name_in(part))]


def pairs_in(value: object) -> list[tuple[str, str]] | None:
    """The pairs that the answer lists, each with its lower name first, each once, in order."""
    if isinstance(value, str):
        found: list[tuple[str, str]] = _PAIR.findall(value)
    elif isinstance(value, list | tuple | set | frozenset):
        if not all(isinstance(pair, list | tuple) and len(pair) == 2 for pair in value):
            return pairs_in(plain_text(value)) if all(isinstance(pair, str) for pair in value) else None
        found = [(name_in(str(a)), name_in(str(b))) for a, b in value]
    else:
        return None
    return list(dict.fromkeys((min(a, b), max(a, b)) for a, b in found))


def bare_words(value: object) -> list[str]:
    """The words of a short answer as HotpotQA compares them: case, punctuation and articles do not count.

    >>> bare_words('Answer: "The U.S. Congress"'), bare_words(True)
    (['us', 'congress'], ['yes'])
    """
    if isinstance(value, bool):
        return ["yes" if value else "no"]
    text = plain_text(value)
    if (said := list(_ANSWER.finditer(text))) and said[0].start() == 0:
        text = text[said[0].end() :]
    words = text.casefold().translate(_NO_MARKS).split()
    return [word for word in words if word not in _ARTICLES]


def amount_in(value: object) -> tuple[float, int] | None:
    """The number that the answer is, and what "thousand", "million" or "billion" behind it makes of it.

    >>> amount_in("$55.2 million"), amount_in(12), amount_in("no number")
    ((55.2, 1000000), (12.0, 1), None)
    """
    found = number_in(value)
    if found is None:
        return None
    scales = {word for word in re.findall(r"[a-z]+", plain_text(value).casefold()) if word in SCALES}
    return (found, SCALES[scales.pop()] if scales else 1) if len(scales) < 2 else None


def _parsed(text: str) -> object:
    """The JSON that the whole text is, a fence around it left out."""
    try:
        return json.loads(unfenced(text))
    except (ValueError, RecursionError):
        return None


def _bare_item(text: str) -> str:
    """Without the mark of a list, and without what a colon introduces it with."""
    return _MARK.sub("", text).rpartition(": ")[2]


def unfenced(text: str) -> str:
    """A text in one fence as the text.

    >>> unfenced("```python\\nx = 1\\n```\\n"), unfenced("x")
    ('x = 1', 'x')
    """
    found = _FENCED.fullmatch(text)
    return found[1] if found else text


def _after_answer(text: str) -> str:
    """What stands after "answer:", where there is one."""
    said = list(_ANSWER.finditer(text))
    return text[said[-1].end() :] if said else text
