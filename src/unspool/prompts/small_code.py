"""What Python code defines, as the helpers of a weak model list it: no model of that size parses code.

``definitions`` fills ``classes``, ``functions`` and ``owners``, ``modules`` fills ``imports``.
The source runs in the REPL (see :mod:`unspool.prompts.small_tools`), so it is standard library only, in one
file. Code is taken line by line, so that what does not parse, or is of another version of Python, is read.

>>> definitions(["class Cat(Pet):", "    def feed(self,", "             food='fish'):", "def buy(pet): pass"])
(['Cat(Pet)'], ["Cat.feed(self, food='fish')", 'buy(pet)'], ['Cat'])
>>> modules(["import os.path, re as r", "  from json import loads", "from . import pets", "import the cat"])
['json', 'os', 're']
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from .small_words import asked_now

FEWEST_DEFINED, MOST_NAMED = 3, 2  # that make text code; that are shown
LONGEST_HEAD = 60  # lines of a signature
PYTHON = "Python code"  # what a first look calls it
_DEFINED = re.compile(r"(\s*)(class|(?:async )?def) (\w+)\s*([(:].*)")
classes: list[str] = []  # with their bases; these lists are set by ``look``
functions: list[str] = []  # with the class before them, and their parameters
owners: list[str] = []  # the class of each method
imports: list[str] = []  # the modules that each file imports, each once a file
_DOTTED = r"\w[\w.]*(?: +as +\w+)?"
_IMPORTED = re.compile(
    rf"\s*(?:import +({_DOTTED}(?: *, *{_DOTTED})*) *(?:[#;].*)?|from +(\w[\w.]*) +import\b.+)"
)


def definitions(data: Sequence[str]) -> tuple[list[str], list[str], list[str]]:
    """The classes, the functions (methods and inner ones, too) and, for each method, its class."""
    found: tuple[list[str], list[str], list[str]] = [], [], []
    within: list[tuple[int, str]] = []  # depth and name of the classes, "" for functions
    for place, line in enumerate(data):
        if not (head := _DEFINED.fullmatch(line)):
            continue
        depth, what, name = len(head[1].expandtabs()), head[2], head[3]
        while within and within[-1][0] >= depth:
            within.pop()
        owner = within[-1][1] if within else ""
        signature = _signature(data, place, head[4])
        if what == "class":
            found[0].append(name + signature)
        else:
            found[1].append((f"{owner}." if owner else "") + name + signature)
            if owner:
                found[2].append(owner)
        within.append((depth, name if what == "class" else ""))
    return found


def modules(data: Iterable[str]) -> list[str]:
    """The modules that the lines of one file import anywhere, by the first part of their names."""
    found: set[str] = set()
    for line in data:
        if match := _IMPORTED.fullmatch(line):
            found.update(each.split()[0].partition(".")[0] for each in (match[1] or match[2]).split(","))
    return sorted(found)


def named_in(question: str, defined: Sequence[str]) -> Sequence[str]:
    """Those of these classes or functions that a question names, a few; the first where it names none."""
    words = set(re.findall(r"\w+", question))
    named = [each for each in defined if each.partition("(")[0].rpartition(".")[2] in words]
    return named[:MOST_NAMED] or defined[:1]


def subclasses(base: str) -> list[str]:
    """The names of the classes that have it among their bases."""
    wanted = str(base).rpartition(".")[2]
    return [each.partition("(")[0] for each in classes if wanted in _bases(each)]


def bases(name: str) -> list[str]:
    """What a class inherits from directly; of one that is not defined here it is said what is below it.

    Raises: LookupError where the question asks for those below a class that it names: told as code.
    """
    wanted = str(name).rpartition(".")[2]
    defined = [each for each in classes if each.partition("(")[0] == wanted]
    said = set(re.findall(r"\w+", asked_now))
    below_it = "classes" in said and wanted in said and subclasses(wanted)
    from_it = re.search(rf"\b{re.escape(wanted)}\W+(?:inherit|derive|extend|subclass)", asked_now)
    above = [wanted] if below_it and not from_it else []
    if defined and wanted not in said:  # taken from a line that was shown
        above = [base for base in _bases(defined[0]) if base in said]
    if above:
        code = f'names = subclasses("{above[0]}")\nprint(names)\nsubmit(names)'
        raise LookupError(f"the question names {above[0]}, and asks for what is below it. Write:\n{code}")
    if not defined and (below := subclasses(wanted)):
        print(f"bases: {wanted} is not defined here; subclasses({wanted!r}) has {len(below)}")  # noqa: T201
    return _bases(defined[0]) if defined else []


def _bases(written: str) -> list[str]:
    inside, at, kept = written.partition("(")[2].removesuffix(")"), 0, ""
    while (begin := inside.find("[", at)) >= 0 and (end := inside.find("]", begin)) >= 0:
        kept, at = kept + inside[at:begin], end + 1  # Generic[T] is Generic
    inside = kept + inside[at:]
    return [each.strip().rpartition(".")[2] for each in inside.split(",") if "=" not in each]


def _signature(data: Sequence[str], place: int, text: str) -> str:
    """What stands between the brackets, in one line."""
    if not text.startswith("("):
        return ""
    for more in data[place + 1 : place + LONGEST_HEAD]:
        if text.count("(") <= text.count(")"):
            break
        text = f"{text} {more.partition('#')[0].strip()}"
    deep = 0
    for at, sign in enumerate(text):
        deep += (sign == "(") - (sign == ")")
        if not deep:
            return text[: at + 1]
    return text


def is_code(data: Sequence[str]) -> bool:
    some = list(data[:20_000])
    heads = sum(bool(_DEFINED.fullmatch(line)) for line in some)
    return heads >= max(FEWEST_DEFINED, len(some) // 200)
