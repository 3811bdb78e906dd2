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

from .small_code import PYTHON
from .small_dates import without_bounds
from .small_judged import MEANINGS
from .small_look import FREE_TEXT, MANY_ASKED, NUMBERS, PROSE
from .small_slots import SLOTS
from .small_words import FORM

Kind = Literal[
    "read",
    "row",
    "find",
    "count",
    "clock",
    "different",
    "most",
    "field",
    "compute",
    "number",
    "slots",
    "place",
    "compare",
    "imports",
    "classes",
    "functions",
    "hop",
    "meaning",
    "judged",
    "prose",
    "word",
]
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
        r"|\b(?:contains?|mentions?|with) the \w+(?: \w+)? (?:that|which|who)\b",
    ),
    (
        "compute",
        r"\baverage\b|\bmean\b|\bsum\b|\bmedian\b|\bin total\b(?!, how many\b)|\bhow many characters\b"
        r"|\bcharacters long\b|\blength\b|\blonger\b|\blongest\b|\bshort(?:er|est)\b|\bhow long\b"
        r"|\b(?:slow|fast)est\b|\b(?:high|larg|great|low)est (?!number|count)",
    ),
    (
        "hop",
        r"^(?:when|at what time|how many|how often)\b"
        r".*\bthe (?:\w+ ){1,2}(?:that|which|who|whose) (?:had|has|was|were|\w+ed)\b"
        r"|\bthe (?:\w+ ){1,2}(?:where|in which|in whose|from which) the \w+"
        r"|^(?:in|at|on|from|to|for) (?:which|what) \w+ (?:was|is|were|are|does|did|do|has|had|lies) the \w+"
        r" of (?:the )?(?-i:[A-Z])",
    ),
    (
        "compare",
        r"\b(?:more|fewer)\b(?! than\b).*\bor\b|\bdid\b.*\bor\b.*\b(?:more|fewer)\b(?! than)"
        r"|\bwhich of (?:the |these |those )?\w+\b.*(?:\bor\b|:)"
        r"|\b(?:most|least|more) often: .*\bor\b",
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
_CODE = re.compile(
    r"\b(?:class(?:es)?|inherit\w*|derive\w*|sub-?class\w*|base"
    r"|(?P<functions>functions?|methods?|parameters?|arguments?|defaults?)|(?P<imports>imports?|imported))\b",
    re.IGNORECASE,
)
_PLACE = re.compile(
    r"\b(?:first|last) \d+ (?:of the )?(?:lines|rows|records|entries|messages|requests)\b"
    r"|\blines? \d+ (?:to|and|through|-) (?:line )?\d+\b",
    re.IGNORECASE,
)
FEW = 3  # lines that the first look shows whole, nearly
LONGEST_QUERY = 2_000  # characters: of a longer question its beginning and its end tell what is asked
_HOUR = re.compile(r"\bhours?\b", re.IGNORECASE)
_CLOCK = re.compile(r"\b\d{1,2}:\d\d\b")
_FIELD = re.compile(r"^field\(lines, \d+\): ", re.MULTILINE)
_NAMES = re.compile(r"^fields: (.+)$", re.MULTILINE)
_ONE_NAME = re.compile(r"(?:^|, )(\d{1,3}) (.*?)(?=, \d{1,3} |$)")  # with a comma in it, perhaps
_BY_FIELD = re.compile(
    r"\b(?:lines?|entries|logged|logs|wrote|written|labels?|class|level|category|component|date|day)\b",
    re.IGNORECASE,
)
_WHO = frozenset(("name", "user", "username", "author", "sender", "person", "customer", "owner"))
_FREE = re.compile(r"(?:text|message|msg|sms|question|sentence|review|comment|body|content)s?", re.IGNORECASE)
_LABEL = re.compile(r"\b(?:what|which)\b[^.?!]*\blabel\b", re.IGNORECASE)
_LABELS = re.compile(r"^field\(lines, 1\): ", re.MULTILINE)
_BEST = re.compile(r"^A: (\d[\d,]{,20}) lines?\b", re.MULTILINE)
_COMPILED = tuple((kind, re.compile(cue, re.IGNORECASE | re.DOTALL)) for kind, cue in _CUES)
JUDGED = re.compile(
    r"\bsentiment|\bmood\b|\btone\b|\bopinion|\bpositive\b|\bnegative\b|\bcomplain|\bpolite|\bangry\b"
    r"|\bby (?:its|their) meaning\b|\bby what (?:it|they) (?:says?|means?)\b|\bjudged?\b|\bdecide for\b"
    r"|\bclassify\b|\bassign\b|\bcategori[sz]e",
    re.IGNORECASE,
)
# These words may also be said of what code can read: they count where the lines are free text.
_MEANT = re.compile(
    r"\bask(?:s|ed|ing)? (?:about|for)\b|\b(?:type|kind)s? of (?:answer|question|message|text)s?\b",
    re.IGNORECASE,
)


_WORD = re.compile(
    r"\b(?:words?|terms?|phrases?|strings?) (?:[\"“”'‘’«`]|(?-i:[A-Z]{2}))"
    r"|\bof (?:all )?the words\b"
    r"|\bwords? (?:that |which )?(?:with|of|has|have|longer|shorter)\b.*\b(?:letters?|characters?)\b"
    r"|\b(?:most|least) (?:common|frequent|often used) (?:\w+ )?words?\b"
    r"|\bwhich (?:\w+ )?words?\b.*\b(?:most|least|more) (?:often|frequent)",
    re.IGNORECASE | re.DOTALL,
)


def kind_of(query: str, look: str = "", *, children: bool = True) -> Kind:
    """The kind of question, by its words and by what the first look printed.

    ``children``: whether there may be any, since those of kind ``hop`` are answered by them.
    """
    if len(query) > LONGEST_QUERY:  # the cues take long: any words may stand between those they look for
        query = f"{query[: LONGEST_QUERY // 2]} {query[-LONGEST_QUERY // 2 :]}"
    query = FORM.sub(" ", query)
    if MANY_ASKED.search(query) and _WORD.search(query):
        return "word"
    if MEANINGS in look:
        return "judged"
    if JUDGED.search(query) or (FREE_TEXT in look and (_MEANT.search(query) or MANY_ASKED.search(query))):
        return "meaning"
    if _PLACE.search(query):
        return "place"
    numbers = numbers_asked(query, look)
    if numbers and _HOW_MUCH.match(query):
        return "number"  # what follows says of what: "How cold was it? Give the lowest of that month."
    code = PYTHON in look and _CODE.search(query)
    for kind, cue in _COMPILED:
        if code and kind != "hop":
            return _of_code(query)
        if numbers and kind != "hop":
            return "number"
        if SLOTS in look and kind != "hop":
            return "slots"
        if (children or kind != "hop") and cue.search(query):
            bounded = _CLOCK.search(query) or without_bounds(query) != query
            if (kind == "count" and bounded) or (kind == "most" and _HOUR.search(query)):
                return "clock"
            return "field" if kind == "most" and _by_field(query, look) else kind
    if PROSE in look:
        return "prose"
    best = _BEST.findall(look)
    if not best:
        return "find"
    if named_fields(query, look) or (_LABEL.search(query) and _LABELS.search(look)):
        return "row"
    return "find" if int(best[-1].replace(",", "")) > FEW else "read"


def _of_code(query: str) -> Kind:
    """Imports before all, then what classes have in them, since both may be said of classes."""
    said = list(_CODE.finditer(query))
    groups = {found.lastgroup for found in said}
    of_classes = "functions" not in groups or said[0][0].casefold() == "classes"
    return "imports" if "imports" in groups else "classes" if of_classes else "functions"


def named_fields(query: str, look: str, *, free: bool = False) -> list[tuple[int, str]]:
    """The fields of records whose names are in the question, with their numbers from 1.

    ``free``: those of free text as well.

    >>> named_fields("Which ids have the complaints?", "fields: 1 id, 2 text")
    [(1, 'id')]
    >>> named_fields("Which ids?", "fields: 1 last, first, 2 id")
    [(2, 'id')]
    """
    if not (names := _NAMES.search(look)):
        return []
    words = {word.rstrip("s") for word in re.findall(r"\w+", query.casefold())}
    words |= _WHO if words & {"who", "whom", "whose"} else set()
    fields = _ONE_NAME.findall(names[1])
    named = [(int(n), name) for n, name in fields if name.casefold().rstrip("s") in words]
    return [(n, name) for n, name in named if free or not _FREE.fullmatch(name)]


_HELD = re.compile(rf"^{NUMBERS}(.+)$", re.MULTILINE)
_OF_SIZE = re.compile(
    r"\b(?:average|mean|median|sum|total|altogether|most|least|highest|lowest|greatest|largest|biggest"
    r"|smallest|longest|shortest|slowest|fastest|maximum|minimum|max|min|warmest|coldest|cheapest|dearest"
    r"|how (?:much|long))\b"
    r"|\b(?:over|under|above|below|at least|at most|from|between|exceed\w*"
    r"|(?:more|less|fewer|greater|higher|lower|longer|shorter) than)\b[^.?!]{,30}\d"
    r"|\d\S* ?(?:to|-|–) ?\d|[<>]=? ?\d",
    re.IGNORECASE,
)
_HOW_MUCH = re.compile(r"\s*how (?!many\b|often\b)\w+", re.IGNORECASE)
_CHARACTERS = re.compile(r"\bcharacters?\b|\bletters?\b|\bwords?\b", re.IGNORECASE)
_UNITS = frozenset("ms s sec seconds mm cm m km kb mb gb kg g eur usd c f pct".split())  # noqa: SIM905


def numbers_asked(query: str, look: str) -> bool:
    """Whether a field of numbers is named, and a sum, a mean, an extreme or a range of it is asked.

    >>> numbers_asked("Which town had the most rain?", "numbers in: 3 temp_min, 5 rain_mm")
    True
    >>> numbers_asked("Which town is named most often?", "numbers in: 3 temp_min, 5 rain_mm")
    False
    """
    held = _HELD.search(look)
    if not held or not _OF_SIZE.search(query) or _CHARACTERS.search(query):
        return False
    said = {word.rstrip("s") for word in re.findall(r"[^\W_]+", query.casefold())}
    for _, name in _ONE_NAME.findall(held[1]):
        words = {word.rstrip("s") for word in re.findall(r"[^\W_]+", name.casefold())}
        asked = (
            rf"\b(?:which|what) {re.escape(name.split()[0])}"  # the name of a thing, though it is a number
        )
        if words - _UNITS and words - _UNITS <= said and not re.search(asked, query, re.IGNORECASE):
            return True
    return False


def _by_field(query: str, look: str) -> bool:
    """Whether what is asked is in a field: of lines that have such, or one whose name is in the question."""
    if _NAMES.search(look):
        return bool(named_fields(query, look))
    return bool(_BY_FIELD.search(query) and _FIELD.search(look))
