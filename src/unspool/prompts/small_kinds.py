"""What kind of question the small profile is asked, so that it can show the worked turns of that kind.

Contract: :func:`kind_of` reads the question (English words; any other text is ``read`` or ``find``) and
what the first look printed. It takes any text.

>>> kind_of("Which customer had the most refused cards?")
'most'
>>> kind_of("Who paid for order 77?", "A: 1 line\\n  1 like: ORDER 77 paid, customer=eve")
'read'
>>> kind_of("Who paid for order 77? How many orders did this customer create?")
'hop'
"""

from __future__ import annotations

import re
from typing import Literal, get_args

from .small_tools import FREE_TEXT

Kind = Literal["read", "find", "count", "clock", "different", "most", "field", "compute", "hop", "meaning"]
KINDS: tuple[Kind, ...] = get_args(Kind)

# Tried in this order; the first that is found decides.
_CUES: tuple[tuple[Kind, str], ...] = (
    (
        "hop",
        r"[?.;] +(?:how|when|at|in|give|tell|count|answer)\b"
        r".*\b(?:this|that|the same|its?|these|those|they)\b"
        r"|[?.;] +(?:what|who|which|where|from)\b(?! (?:is|was) the \w+ of (?:this|that|the)\b)"
        r".*\b(?:this|that|the same|these|those) \w+"
        r"|\band (?:how many|how often|what|when|who|which|where)\b"
        r"|^(?:take|find|look up|start)\b.*[.;,:] |\bthe same \w+(?: \w+)? (?:as|like)\b"
        r"|\b(?:contains?|mentions?|with) the \w+(?: \w+)? (?:that|which|who)\b"
        r"|^(?:when|at what time|how many|how often)\b"
        r".*\bthe (?:\w+ ){1,2}(?:that|which|who|whose) (?:had|has|was|were|\w+ed)\b",
    ),
    (
        "compute",
        r"\baverage\b|\bmean\b|\bsum\b|\bmedian\b|\bin total\b|\bhow many characters\b"
        r"|\bcharacters long\b|\blength\b|\blonger\b|\blongest\b"
        r"|\bshort(?:er|est)\b|\bhow long\b",
    ),
    ("different", r"\bdifferent\b|\bdistinct\b|\bunique\b"),
    (
        "most",
        r"\bmost\b|\bleast\b|\bfewest\b"
        r"|\b(?:greatest|highest|largest|lowest|smallest|biggest) (?:number|count)"
        r"|\bmore often than\b|\brarest\b|\bmost common\b",
    ),
    ("count", r"\bhow many\b|\bhow often\b|\bcount\b|\bnumber of\b|\bhow frequent"),
)
FEW = 3  # lines that the first look shows whole, nearly
_HOUR = re.compile(r"\bhours?\b", re.IGNORECASE)
_CLOCK = re.compile(r"\b\d{1,2}:\d\d\b")
_FIELD = re.compile(r"^field\(lines, \d+\): ", re.MULTILINE)
_BY_FIELD = re.compile(
    r"\b(?:lines?|entries|logged|logs|wrote|written|labels?|class|level|category|component|date|day)\b",
    re.IGNORECASE,
)
_BEST = re.compile(r"^A: (\d+) lines?$", re.MULTILINE)
_COMPILED = tuple((kind, re.compile(cue, re.IGNORECASE | re.DOTALL)) for kind, cue in _CUES)
MEANING = re.compile(
    r"\bsentiment|\bmood\b|\btone\b|\bopinion|\bpositive\b|\bnegative\b|\bcomplain|\bpolite|\bangry\b"
    r"|\bby (?:its|their) meaning\b|\bjudge\b|\bdecide for\b|\bclassify\b|\bassign\b|\bcategor"
    r"|\bask(?:s|ed|ing)? (?:about|for)\b|\b(?:type|kind)s? of (?:answer|question|message|text)s?\b",
    re.IGNORECASE,
)

_MANY_ASKED = re.compile(
    r"\bhow (?:many|often)\b|\bcount\b|\b(?:most|least|fewest)\b|\blist\b|\beach\b|\bevery\b"
    r"|\bwhich (?:lines|items|messages|texts|ones)\b",
    re.IGNORECASE,
)


def kind_of(query: str, look: str = "", *, children: bool = True) -> Kind:
    """The kind of question, by its words and by what the first look printed.

    ``children``: whether there may be any, since those of kind ``hop`` are answered by them.
    """
    free_text = FREE_TEXT in look
    if MEANING.search(query) or (free_text and _MANY_ASKED.search(query)):
        return "meaning"
    for kind, cue in _COMPILED:
        if (children or kind != "hop") and cue.search(query):
            if (kind == "count" and _CLOCK.search(query)) or (kind == "most" and _HOUR.search(query)):
                return "clock"
            by_field = kind == "most" and _BY_FIELD.search(query) and _FIELD.search(look)
            return "field" if by_field else kind
    best = _BEST.findall(look)
    return "read" if best and int(best[-1]) <= FEW else "find"
