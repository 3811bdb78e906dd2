"""What kind of question is asked, by its words: which decides how an input too large for a window is read.

Contract: :func:`kind_of` takes any text, asks no model, and knows English words alone; what it does not know
is a needle. It is a guess, so nothing may be wrong for a guess that is: only cost and quality differ.

>>> for query in ("Which port does it listen on?", "How many logins failed?", "Which user failed most often?",
...               "Where was the author of the book that Eve cites born?", "Summarise the report."):
...     print(kind_of(query))
needle
count
groups
hop
whole
"""

from __future__ import annotations

import re
from typing import Literal

QuestionKind = Literal["needle", "hop", "list", "count", "groups", "whole"]
"""One passage has it; several passages lead to it; all that are so; how many there are; how many of each,
compared; all of the input is to be worked through (a summary, a translation)."""

# In the order in which they are tried.
_CUES: tuple[tuple[QuestionKind, str], ...] = (
    (
        "groups",
        r"\b(?:most|least|more|less) (?:common|frequent|often|popular)|\bmost often\b"
        r"|\bhow (?:often|many)\b.*\b(?:each|every|per)\b|\bper \w+\b.*\bhow many\b|\bfor each\b"
        r"|\b(?:the|had|has|have|with) (?:most|fewest|least|more|fewer)\b|\bdistribution\b"
        r"|\b(?:highest|lowest|largest|smallest) (?:number|count)"
        r"|\bgroup(?:ed)? by\b|\brank\b|\btop \d+\b|\bcompared? (?:to|with)\b",
    ),
    ("count", r"\bhow (?:many|often)\b|\bcount\b|\b(?:total|the) number of (?!the\b)\w|\bhow frequent"),
    (
        "whole",
        r"\bsummar|\btranslate\b|\brewrite\b|\boverview\b|\bmain (?:points|themes|topics)\b|\boutline\b"
        r"|\bwhat (?:topics|themes)\b"
        r"|\bwhat is (?:this|it|the (?:text|book|document|report|paper)) about\b",
    ),
    (
        "list",
        r"\b(?:list|name|find|extract|give) (?:me )?(?:all|every|each)\b|\bwhich \w+s (?:are|have|were)\b",
    ),
    (
        "hop",
        r"\bthe \w+ (?:of|who|that|which) (?:the )?\w+(?: \w+)? (?:that|who|which|of|whose)\b|\bwhose\b"
        r"|\bthe same \w+ (?:as|that)\b|[.?;] .*\b(?:this|that|these|those) \w+",
    ),
)
_COMPILED = tuple((kind, re.compile(cue, re.IGNORECASE | re.DOTALL)) for kind, cue in _CUES)


def kind_of(query: str) -> QuestionKind:
    """The kind whose words are found first."""
    query = query[:4_000]
    return next((kind for kind, cue in _COMPILED if cue.search(query)), "needle")
