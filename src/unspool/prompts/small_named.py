"""Files by their names: the lines of the file that a question names, or each line with its file.

Contract: :func:`narrowed` takes a question and a context of several texts with names (a mapping, a folder, an
archive), and gives the lines to look at, the names of their fields, and what to say of it; ``None`` where the
question is not about files, or the context has none. The source runs in the REPL (see
:mod:`unspool.prompts.small_tools`), so it is standard library only, in one file.

>>> files = {"shop/tea.py": "hour = 9\\ncups = 2", "shop/ice.py": "hour = 11"}
>>> narrowed("What is hour in ice.py?", files)
(['hour = 11'], [], 'lines: those of shop/ice.py alone')
>>> narrowed("Which file has cups?", files)[0]
['file=shop/tea.py, line=hour = 9', 'file=shop/tea.py, line=cups = 2', 'file=shop/ice.py, line=hour = 11']
>>> narrowed("What is hour?", files)
"""

from __future__ import annotations

import itertools
import re
from collections import Counter
from collections.abc import Iterable, Sequence

from .small_records import MOST_FILES, MOST_ROWS, Row, _is_file, _lines, records
from .small_words import says

_FILE_ASKED = re.compile(
    r"\b(?:which|what)\b[^.?!]{,30}\b(?:files?|paths?|modules?|documents?|scripts?)\b", re.IGNORECASE
)
SHORTEST_NAME = 4  # characters of a file's name that a question may have by chance
FIELDS = ("file", "line")


def narrowed(question: str, data: object) -> tuple[Sequence[str], list[str], str] | None:
    """The lines of the files that the question names; else of all, with their files, where one is asked."""
    names = _names_of(data)
    if len(names) < 2:
        return None
    if chosen := _named(question, names):
        texts = [data[name] for name in chosen]  # type: ignore[index]
        if not all(map(_is_text, texts)):
            return None  # tables, say, which have rows of their own
        rows, columns = records([line for text in texts for line in _lines(text)])
        return rows, columns, f"lines: those of {', '.join(chosen)} alone"
    if not _FILE_ASKED.search(question):
        return None
    each = ((name, line) for name, text in _texts_of(data) for line in _lines(text) if line.strip())
    rows = [Row.of(FIELDS, [name, line]) for name, line in itertools.islice(each, MOST_ROWS)]
    return rows, list(FIELDS), "lines: each with the file that it is of"


def files_for(question: str, data: object) -> list[Iterable[str]]:
    """The lines of each file that the question names; else of all of them. None where they have no names."""
    names = _names_of(data)
    chosen = set(_named(question, names) or names)
    return [_lines(text) for name, text in _texts_of(data) if name in chosen] if names else []


def _named(question: str, names: Sequence[str]) -> list[str]:
    """The files whose path the question has; else those whose last part it has, where one alone ends so."""
    ends = {name: name.rpartition("/")[2] for name in names}
    often = Counter(ends.values())
    alone = [name for name, end in ends.items() if often[end] == 1 and _names_file(question, end)]
    return [name for name in names if _names_file(question, name)] or alone


def _names_file(question: str, name: str) -> bool:
    return len(name) >= SHORTEST_NAME and says(question, name)


def _names_of(data: object) -> list[str]:
    if isinstance(data, dict):
        texts = all(isinstance(name, str) and _is_text(text) for name, text in data.items())
        return list(itertools.islice(data, MOST_FILES)) if texts else []
    return list(data.glob("**")[:MOST_FILES]) if hasattr(type(data), "texts") else []  # type: ignore[attr-defined]


def _is_text(text: object) -> bool:
    return isinstance(text, str) or _is_file(text)


def _texts_of(data: object) -> Iterable[tuple[str, object]]:
    every = data.items() if isinstance(data, dict) else data.texts()  # type: ignore[attr-defined]
    return itertools.islice(every, MOST_FILES)
