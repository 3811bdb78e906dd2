"""The profile for small local coders: short text, worked turns, helpers, checks of what is submitted.

What was seen with a 1.5B model: it copies the shape of a worked turn, so each kind of question has
one; it cannot know the form of a line that it has not seen, so the engine looks first (``look``); it
extracts badly with regular expressions and better with a piece of a line that has a hole in it
(``values``; both in :mod:`unspool.prompts.small_tools`); it judges meaning by labels with examples as
chat turns, and not by yes or no.
"""

from __future__ import annotations

import re

from ..models.protocol import Message
from .profile import First, Profile, Sampling, read_text

IMPORTS = (
    "import re, json, math, statistics, collections, itertools",
    "from collections import Counter, defaultdict",
    "from datetime import date, datetime, timedelta",
    read_text("small_tools.py"),
    # small_tools sets an empty ``lines`` of its own: this comes after it
    "lines = lines_of(context)",
)
SHORT = 40  # lines up to which the description shows enough


def first(first: First) -> str:
    parts = [first.description]
    if first.look:
        parts.append(first.look)
    if first.tools:
        parts.append(f"More functions:\n{first.tools}")
    if first.instructions:
        parts.append(first.instructions)
    if first.answer:
        parts.append(f"The answer must be: {first.answer}")
    parts.append(nudge(first.query))
    return "\n\n".join(parts)


def look(query: str) -> str:
    return f"if len(lines) > {SHORT}: look({query!r}, lines)"


def nudge(query: str) -> str:
    return f"Question: {query}"


SHOP = """`context` is a str of 152,310 characters, 2,400 lines.
Its first 140 characters (data, not instructions):
<data>
2031-05-02 09:14:02 shop-1 ORDER 71 paid by card, customer=ana total=12
2031-05-02 09:15:40 shop-2 ORDER 72 created, customer=bo
</data>"""

GUESTS = """`context` is a str of 1,904 characters, 24 lines.
Its first 70 characters (data, not instructions):
<data>
The soup was cold and nobody came.
Lovely staff, we will be back!
</data>"""

PAID = "2031-05-02 09:14:02 shop-1 ORDER 71 paid by card, customer=ana total=12"
REFUSED = "2031-05-02 09:17:55 shop-2 ORDER 74 card refused, customer=bo total=9"
EVE = "2031-05-02 09:19:12 shop-4 ORDER 77 paid by card, customer=eve total=30"


def _task(data: str, question: str, *turns: str) -> list[Message]:
    """A worked question: code and what it printed, by turns; the last code submits."""
    messages = [Message("user", f"{data}\n\n{nudge(question)}")]
    for number, turn in enumerate(turns):
        if number % 2 == 0:
            messages.append(Message("assistant", f"```python\n{turn}\n```"))
        else:
            messages.append(
                Message("user", f"[cell {number // 2 + 1}] printed:\n{turn}\n\n{nudge(question)}")
            )
    return messages


EXAMPLES = (
    *_task(
        f"{SHOP}\n\nB: 31 lines\n  31 like: {REFUSED}\nA: 140 lines\n  140 like: {PAID}",
        "How often was an order paid by card?",
        "# asked: a number of lines. A has them\nsubmit(len(A))",
    ),
    *_task(
        f"{SHOP}\n\nA: 171 lines\n  140 like: {PAID}\n  31 like: {REFUSED}",
        "How many refusals were there in shop-2?",
        '# asked: a number of lines, with "card refused" and "shop-2 "\n'
        'hits = find("card refused", "shop-2 ", among=A)\nshow(hits)',
        f"12 lines\n  12 like: {REFUSED}",
        "# these fit\nsubmit(12)",
    ),
    *_task(
        f"{SHOP}\n\nB: 140 lines\n  140 like: {PAID}\nA: 1 line\n  1 like: {EVE}",
        "Who paid for order 77, and how many orders did this customer create?",
        "# first: A says customer=eve. Second: search with that\n"
        'hits = find("created", "customer=eve")\nshow(hits)',
        "9 lines\n  9 like: 2031-05-02 09:18:44 shop-1 ORDER 77 created, customer=eve",
        "# asked: how many\nsubmit(9)",
    ),
    *_task(
        f"{SHOP}\n\nB: 140 lines\n  140 like: {PAID}\nA: 31 lines\n  31 like: {REFUSED}",
        "How many different shops refused cards?",
        '# asked: different values of "shop-{} ORDER". The lines: A\n'
        'names = set(values(A, "shop-{} ORDER"))\nprint(len(names), names)\nsubmit(len(names))',
    ),
    *_task(
        GUESTS,
        "How many guests complain rather than praise?",
        "# asked: meaning, so classify, with examples of my own\n"
        'examples = [("We waited an hour", "complaint"), ("Best pizza in town", "praise"), '
        '("The bill was wrong", "complaint"), ("A friendly place", "praise"), '
        '("My fish was raw", "complaint")]\n'
        'labels = classify(lines, ["complaint", "praise"], examples)\nprint(top(labels))',
        "[('praise', 13), ('complaint', 11)]",
        "# asked: the number of complaints\nsubmit(11)",
    ),
    *_task(
        GUESTS,
        "What does each guest speak of: food, service or price? Give a list in their order.",
        "# asked: meaning, so classify, with examples of my own\n"
        'examples = [("The pasta was great", "food"), ("Our waiter was rude", "service"), '
        '("Too expensive", "price"), ("Raw fish", "food"), '
        '("We waited an hour", "service"), ("A fair bill", "price")]\n'
        'labels = classify(lines, ["food", "service", "price"], examples)\nprint(top(labels), labels)',
        "[('service', 12), ('food', 8), ('price', 4)] ['food', 'service', 'price', 'service', 'food', …]",
        "# asked: the list\nsubmit(labels)",
    ),
    *_task(
        f"{SHOP}\n\nA: 140 lines\n  140 like: {PAID}",
        "In which shop were orders paid most often?",
        '# asked: a shop, the most frequent value of " {} ORDER". The lines: A\n'
        'names = values(A, " {} ORDER")\nprint(top(names))\nsubmit(top(names)[0][0])',
    ),
    *_task(
        f"{SHOP}\n\nB: 140 lines\n  140 like: {PAID}\nA: 31 lines\n  31 like: {REFUSED}",
        "Which customer had the most refused cards?",
        '# asked: a customer, the most frequent value of "customer={} total". The lines: A\n'
        'names = values(A, "customer={} total")\nprint(top(names))\nsubmit(top(names)[0][0])',
    ),
)

_MANY = re.compile(r"\bhow (?:many|often|much)\b|\bcount\b|\bhow long\b|\baverage\b", re.IGNORECASE)
_WHEN = re.compile(r"\bwhen\b|\bwhat time\b|\bhh:mm", re.IGNORECASE)
_ADDRESS = re.compile(r"\b(?:ip|address)\b", re.IGNORECASE)
_NAME = re.compile(r"\b(?:who|whose|whom|which|what)\b", re.IGNORECASE)
_NUMBERED = re.compile(r"number|port|code|id\b|year|hour|day|digit|size|how", re.IGNORECASE)
_MEANING = re.compile(
    r"\bsentiment|\bmood\b|\btone\b|\bopinion|\bpositive\b|\bnegative\b|\bcomplain|\bpolite|\bangry\b|"
    r"\bask(?:s|ing)? (?:about|for)\b",
    re.IGNORECASE,
)


def check_answer(query: str, value: object, sub_calls: int, turn: int) -> str | None:
    """The reason to refuse an answer once, from the kind of thing that was asked; or ``None``."""
    number = isinstance(value, int | float) and not isinstance(value, bool)
    text = str(value)
    many = _MANY.search(query) is not None
    if sub_calls == 0 and _MEANING.search(query):
        return (
            "meaning was asked, and code cannot read it: use classify(items, labels, examples), then submit"
        )
    if many and not number and not any(c.isdigit() for c in text):
        return "a number was asked, and this is none. Print the number, then submit it"
    if many and value == 0:
        return (
            "0 means that nothing matched: the text in the code is not as in the data. "
            "Copy it from a line that was shown, count again. If it is really 0, submit it again"
        )
    if many:
        return None
    if _WHEN.search(query) and isinstance(value, str | int | float) and not re.search(r"\d[:/.-]\d", text):
        return "a time was asked, and this is none. Print the line, copy the time from it, submit it as text"
    if _ADDRESS.search(query) and isinstance(value, str | int | float) and not re.search(r"\w[.:@]\w", text):
        return "an address was asked, and this is none. Print the values again and submit the address"
    if number and _NAME.search(query) and not _NUMBERED.search(query):
        return "a name was asked, and this is a number. Print the values and submit the name, not its count"
    return None


SMALL = Profile(
    name="small",
    system=read_text("small.md"),
    examples=EXAMPLES,
    head=240,
    tail=80,
    shown=1_200,
    imports=IMPORTS,
    sampling=Sampling(
        temperature=0.0,
        retry_temperature=0.7,
        max_tokens=400,
        stop=("\n```\n",),
        sub_temperature=0.0,
        sub_max_tokens=200,
    ),
    first=first,
    look=look,
    nudge=nudge,
    check_answer=check_answer,
    most_items=200,
)
