"""The profile for small local coders: short text, worked turns, helpers, checks of what is submitted.

What was seen with a 1.5B model: it copies the nearest worked turn, so each kind of question has its own
(:mod:`unspool.prompts.small_turns`); it cannot know the form of a line that it has not seen, so the engine
looks first (:mod:`unspool.prompts.small_look`); it extracts badly with regular expressions and better with a
piece of a line that has a hole in it (``values``), by the number of a field (``field``) or by the kind of
thing (``times``, ``addresses``; :mod:`unspool.prompts.small_tools`); it stops after the first of two steps,
so each step is a child's question; it judges meaning by labels, and not by yes or no.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence

from ..models.protocol import Message
from .feedback import Shown, turn_message
from .profile import First, Profile, Sampling, extras, read_text
from .small_judged import MOST_JUDGED
from .small_kinds import JUDGED, kind_of, named_fields
from .small_labels import fields_told, labels_of
from .small_split import steps_told
from .small_turns import worked

_OURS = re.compile(r"^from \.small_\w+ import (?:\([^)]*\)|.*)$", re.MULTILINE)


def _source(noun: str) -> str:
    """A file of helpers as the REPL can run it: what it takes from those before is there already."""
    return _OURS.sub("", read_text(f"small_{noun}.py"))


MOST_READ = 20_000  # characters of a question, however long it is, that say what is asked
HELPERS = (
    "formats",
    "records",
    "tables",
    "dates",
    "words",
    "judged",
    "code",
    "prose",
    "named",
    "several",
    "split",
    "slots",
    "look",
    "tools",
    "ask",
    "numbers",
)
IMPORTS = (
    "import re, json, math, statistics, collections, itertools",
    "from collections import Counter, defaultdict",
    "from datetime import date, datetime, timedelta",
    *map(_source, HELPERS),
    # small_tools sets an empty ``lines`` of its own: this comes after it
    "lines, columns = records([] if in_files(context) or has_tables(context) else "
    "context.lines() if hasattr(type(context), 'lines') else lines_of(context))",
)


def first(first: First) -> str:
    look = [first.look] if first.look else []
    read = first.query[:MOST_READ]
    kind = kind_of(read, first.look, children=bool(first.depth))
    asked = _asked(first.query, kind in ("meaning", "judged"))
    if kind == "hop":
        asked += steps_told(read)
    if kind == "meaning" and (labels := labels_of(read)):
        asked += f"\nThe labels: {json.dumps(labels, ensure_ascii=False)}"
    if kind in ("meaning", "compute"):
        told = named_fields(read, first.look, free=kind == "compute")
        asked += "".join(f"\nThe {name} of each line is in field(lines, {n})." for n, name in told)
    return "\n\n".join([first.description, *look, *extras(first, "More functions"), asked])


def look(query: str) -> str:
    labels, names = labels_of(query[:MOST_READ]), fields_told(query[:MOST_READ])
    told = f", {labels!r}, {names!r}" if labels or names else ""
    return f"look({query!r}, lines{told})"


def examples(query: str, look: str, depth_left: int) -> tuple[Message, ...]:
    return worked(kind_of(query[:MOST_READ], look, children=depth_left > 0))


def nudge(query: str) -> str:
    return _asked(query, JUDGED.search(query[:MOST_READ]) is not None)


def _asked(query: str, meaning: bool) -> str:
    return f"Question: {query}" + ("\nJudge the meaning of each line with classify." if meaning else "")


def feedback(cells: Sequence[Shown], *, hints: Sequence[str], nudge: str = "") -> str:
    """A weak model prints the answer and goes on: where one value was printed, it is told how to submit it.

    >>> from unspool.sandbox.protocol import CellResult
    >>> print(feedback([Shown(1, "print(2)", CellResult("ok", "2\\n", printed=2))], hints=()))
    [cell 1] printed:
    2
    <BLANKLINE>
    Nothing is submitted yet. If this is the answer, reply:
    ```python
    submit(2)
    ```
    """
    value = cells[-1].result.output.strip() if cells and cells[-1].result.outcome == "ok" else ""
    if not _VALUE.fullmatch(value) or len(value) > LONGEST_NAME:
        return turn_message(cells, hints=hints, nudge=nudge)
    written = value if re.fullmatch(r"-?\d+(?:\.\d+)?", value) else repr(value)
    told = f"Nothing is submitted yet. If this is the answer, reply:\n```python\nsubmit({written})\n```"
    return turn_message(cells, hints=[*hints, told], nudge=nudge)


LONGEST_NAME = 60  # characters
_VALUE = re.compile(r"(?!None$)[^\s\[\](){}]+(?: [^\s\[\](){}]+){0,4}")  # one value, and no list of them
_SHORT = re.compile(
    r"\b(?:who|whose|when|what time|how (?:many|often)|name|address|id|number|code|(?:default )?value)\b",
    re.IGNORECASE,
)
_MANY = re.compile(r"\bhow (?:many|often|much)\b|\bcount\b|\bhow long\b|\baverage\b", re.IGNORECASE)
_WHEN = re.compile(r"(?:^|[.?!;:,] |\band )when\b|\bwhat time\b|\bhh:mm", re.IGNORECASE)
_ADDRESS = re.compile(r"\b(?:ip|address)\b", re.IGNORECASE)
_NAME = re.compile(
    r"\b(?:who|whose|whom)\b|\bwhat (?:is|was|are|were) the (?:\w+ )?names?\b"
    r"|\b(?:which|what) (?!(?:is|are|was|were|does|do|did|has|have|the|of)\b)(?P<noun>\w+)",
    re.IGNORECASE,
)
_LISTED = re.compile(r"\blist (?:all|each|every|the(?:m|ir)?|its)\b|\bin any order\b", re.IGNORECASE)
_CHOICE = re.compile(r"\bor\b|:|\b(?:which|what) of\b|\bwhether\b", re.IGNORECASE)  # in it
_NUMBERED = re.compile(
    r"numbers?|ports?|codes?|ids?|years?|hours?|days?|minutes?|months?|digits?|sizes?|lengths?|totals?|sums?"
    r"|amounts?|values?|prices?|costs?|shares?|percent\w*|rates?|levels?|scores?|counts?|status(?:es)?|ages?"
    r"|versions?|lines?|rows?|pages?|process(?:es)?|threads?|quantity|maximum|minimum|average|mean|median",
    re.IGNORECASE,
)


_SOME = re.compile(r"\b(?:which|those|the ones)\b", re.IGNORECASE)
_WHICH = re.compile(r"\b(?:which|what)\b", re.IGNORECASE)
_MOST = re.compile(r"\b(?:more|most|fewer|fewest|least)\b", re.IGNORECASE)
FEWEST = 6  # lines that are a coincidence no longer


def _every_line(value: object) -> bool:
    """Whether these are the numbers of lines from the first one on, none left out."""
    return isinstance(value, list) and len(value) >= FEWEST and value == list(range(1, len(value) + 1))


def _one_asked(query: str) -> bool:
    """Whether a sentence asks which is the most or the least of something."""
    for sentence in re.split("[.?!]", query):
        if (found := _WHICH.search(sentence)) and _MOST.search(sentence, found.end()):
            return True
    return False


def _repeats(value: list[object]) -> bool:
    """Whether this is the label of each of many lines, and no list of the most frequent ones."""
    names = [name for name in value if isinstance(name, str)]
    return len(names) == len(value) >= FEWEST and len(set(names)) < len(names)


def _wrong_labels(query: str, value: object, sub_calls: int) -> str | None:
    """The reason to refuse an answer about what lines mean."""
    if sub_calls == 0 and JUDGED.search(query):
        return (
            "meaning was asked, and code cannot read it: use classify(lines, {'label': 'what it means', …}), "
            "then submit"
        )
    if sub_calls and _every_line(value) and _SOME.search(query):
        return (
            "this is every line. Without a label for the rest each line gets a wanted one: classify again, "
            "with 'other': 'anything else'. If it is all of them, submit it again"
        )
    if isinstance(value, list) and _repeats(value) and _one_asked(query):
        return (
            "one was asked, and this is the label of each line. Count them: "
            "submit(top(labels)[0][0]) for the most frequent one"
        )
    return None


def check_answer(query: str, value: object, sub_calls: int) -> str | None:
    """The reason to refuse an answer once, from the kind of thing that was asked; or ``None``."""
    number = isinstance(value, int | float) and not isinstance(value, bool)
    text = str(value)
    query = query[:MOST_READ]
    many = _MANY.search(query) is not None
    if wrong := _wrong_labels(query, value, sub_calls):
        return wrong
    alone = value[0] if isinstance(value, list) and len(value) == 1 else value
    if isinstance(alone, str) and len(alone) > LONGEST_NAME and alone.count(" ") > 5 and _SHORT.search(query):
        return (
            "this is a whole line. Take only what was asked from it: with values(), with times(), or by hand"
        )
    if " " in text and text.casefold() in query.casefold() and not _CHOICE.search(query):
        return (
            "this only says again what is in the question. Look at the lines: copy from them what was asked, "
            "then submit that"
        )
    if many and not number and not any(c.isdigit() for c in text):
        return "a number was asked, and this is none. Print the number, then submit it"
    if many and isinstance(value, int | float) and value == 0:
        return (
            "0 means that nothing matched: the text in the code is not as in the data. "
            "Copy it from a line that was shown, count again. If it is really 0, submit it again"
        )
    if many:
        return None
    if _LISTED.search(query) and isinstance(value, str) and not re.search(r"[,;\n]| and ", text.strip()):
        return "a list was asked, and this is one thing. If there are more, submit the list: submit(names)"
    if _WHEN.search(query) and isinstance(value, str | int | float) and not re.search(r"\d[:/.-]\d", text):
        return "a time was asked, and this is none. Print the line, copy the time from it, submit it as text"
    if _ADDRESS.search(query) and isinstance(value, str | int | float) and not re.search(r"\w[.:@]\w", text):
        return "an address was asked, and this is none. Print the values again and submit the address"
    asked = _NAME.search(query) if number else None
    if asked and not (asked["noun"] and _NUMBERED.fullmatch(asked["noun"])):
        return "a name was asked, and this is a number. Print the values and submit the name, not its count"
    return None


SMALL = Profile(
    name="small",
    system=read_text("small.md"),
    examples=examples,
    head=240,
    tail=80,
    ways=False,
    shown=1_200,
    imports=IMPORTS,
    asking=("ask", "read"),
    alone=worked("read"),
    sampling=Sampling(
        temperature=0.0,
        retry_temperature=1.0,
        max_tokens=400,
        stop=("\n```\n",),
        sub_temperature=0.0,
        sub_max_tokens=200,
    ),
    first=first,
    look=look,
    nudge=nudge,
    feedback=feedback,
    check_answer=check_answer,
    keep_repeats=False,
    most_items=MOST_JUDGED,
    own_examples=8,
    pack_items=12,
    pack_characters=3_000,
    packs_labels=False,
)
