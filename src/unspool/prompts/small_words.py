"""The words of a question that may stand in data, as the first look of a weak model's REPL seeks them.

Contract: :func:`sought` gives a pattern for each word that means something, :func:`meant` for what events may
be called instead, whatever the text. The source runs in the REPL (see :mod:`unspool.prompts.small_tools`),
so it is standard library only, in one file.

>>> list(sought("How often was a card refused, such as shop-2?"))
['card', 'refused']
>>> meant("Who logged in?", there=())["~logged in"].fits("session opened for ann", "session opened for ann")
True
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Collection
from dataclasses import dataclass

from .small_dates import dates_in, without_bounds

PAIR = 2.5  # the weight of two words of the question that stand side by side in a line, too
WHOLE = 0.5  # the weight of a word that stands there as it is asked, and not only its stem
AS_IT_IS = " as it is"

COMMON_WORDS = frozenset(
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
asked_now = ""  # the question of the node, set by ``look``
_ENDINGS = ("ings", "ing", "ies", "ers", "er", "ed", "es", "s", "e", "y")
# What an event is called in one place and in another. A line is sought by the others only where no line has
# the word of the question.
_SAME = tuple(
    (re.compile(rf"\b(?:{asked})\b", re.IGNORECASE), tuple(told.split()))
    for asked, told in (
        (
            r"log(?:ged|ging|s)? (?:in|on)|log-?ins?|sign(?:ed|s)? in",
            "accepted opened login logon authenticated",
        ),
        (r"log(?:ged|ging|s)? (?:out|off)|log-?outs?|sign(?:ed|s)? out", "closed logout logoff disconnected"),
        (
            r"refus(?:ed?|es|als?)|den(?:y|ied)|reject(?:s|ed)?|turned away",
            "refused denied rejected forbidden",
        ),
        (
            r"beg[ai]ns?|start(?:s|ed)?|launch(?:es|ed)?|boot(?:s|ed)?",
            "started starting launched begin boot init",
        ),
        (
            r"end(?:ed|s)?|stop(?:ped|s)?|finish(?:ed|es)?|shut down",
            "ended stopped finished terminated shutdown",
        ),
        (r"delet(?:ed?|es)|remov(?:ed?|es)|eras(?:ed?|es)", "deleted removed erased unlink"),
        (r"broke(?: down)?|crash(?:ed|es)?|died|abort(?:ed|s)?", "crashed fatal died aborted panic segfault"),
        (r"went wrong|unsuccessful(?:ly)?", "failed failure error unable"),
        (r"succe(?:ssful(?:ly)?|eded|ss)|worked", "succeeded success accepted"),
        (r"cop(?:y|ied|ies)|duplicat(?:ed?|es)", "copied replicate replicated transfer"),
    )
)


@dataclass(frozen=True)
class Sought:
    """A word as a line may have it: by its stems, whether their case matters, and as it is asked."""

    stems: tuple[str, ...]  # one of them is in every line that fits
    exact: bool
    start: re.Pattern[str]
    whole: re.Pattern[str] | None

    def fits(self, line: str, low: str) -> bool:
        """``low``: the line, casefolded."""
        text = line if self.exact else low
        return any(stem in text for stem in self.stems) and self.start.search(line) is not None

    def stands(self, low: str) -> bool:
        return self.whole is not None and self.whole.search(low) is not None


def sought(question: str) -> dict[str, Sought]:
    """The words of the question."""
    found: dict[str, Sought] = {}
    text = without_bounds(without_examples(question))
    for said, date in dates_in(text).items():
        text = text.replace(said, " ", 1)
        found[said] = Sought(date.forms, False, date.pattern, None)
    for said in re.findall(r"(?:\b__)?[^\W_](?:[\w.:/@$\[\]'’-]*[^\W_])?(?:__\b)?", text):
        word = re.sub(r"['’]s$", "", said)
        low = word.casefold()
        if low in COMMON_WORDS or (len(word) == 1 and not word.isdigit()):
            continue
        plain = re.sub(r"[-'’]", "", word)  # "Can't" and "Break-in" are as "Found" is
        exact = not plain.isalpha() or not (plain.islower() or plain.istitle() or word.istitle())
        stem = word if exact else stem_of(low)
        if all(((stem,), exact) != (other.stems, other.exact) for other in found.values()):
            start = rf"(?<![^\W_]){re.escape(stem)}" if exact else _beginning(stem)
            whole = rf"(?<![^\W_]){re.escape(re.sub(r's$', '', low))}s?(?![^\W_])"
            found[word] = Sought((stem,), exact, re.compile(start), re.compile(whole))
    return found


def meant(question: str, there: Collection[str]) -> dict[str, Sought]:
    """What events of the question may be called instead, where the data has none of its words for them."""
    found: dict[str, Sought] = {}
    for asked, told in _SAME:
        match = asked.search(without_examples(question))
        if match and not set(match[0].split()) & set(there):
            stems = tuple(map(stem_of, told))
            any_of = "|".join(map(_beginning, stems))
            found[f"~{match[0]}"] = Sought(stems, False, re.compile(any_of), None)
    return found


def _beginning(stem: str) -> str:
    """A word with this stem: "manag" is in managing, not in Management; "allocat" is in allocateBlock."""
    return rf"(?<![^\W_])(?i:{re.escape(stem)}[a-z]{{0,4}})(?![a-z])"


def says(question: str, value: str) -> bool:
    """Whether a question has this value of a field, or this name of a file, as it is spelt and as a whole.

    >>> says("How many are in tea.py?", "tea.py"), says("How many are in tea.py.bak?", "tea.py")
    (True, False)
    """
    bare = value.strip("[]():,")
    if bare not in question:  # before a pattern is made of it, which takes long where it is long
        return False
    if not re.search(r"\w", bare) or bare.casefold() in COMMON_WORDS:
        return False
    return re.search(rf"(?<![\w$.:/-]){re.escape(bare)}(?![\w$]|[.:/-]\w)", question) is not None


def without_examples(question: str) -> str:
    return _NOT_SOUGHT.sub(" ", question)


def examples_of(question: str) -> list[str]:
    """What the question names as an example of what is asked.

    >>> examples_of("Which label (such as LOC:city) is rare?")
    ['LOC:city']
    """
    return [found.rstrip("?.;:!") for found in _EXAMPLE.findall(question)]


# What only says in which form the answer is wanted, and what to do when several are as good.
FORM = re.compile(
    r"(?:(?<=[.?!;:])|^) *(?:please )?(?:answer|reply|respond) (?:with|in|by)\b"
    r"[^.?!]{,400}\b(?:alone|only|nothing else|nothing more)\b[.!]?"
    r"|(?:(?<=[.?!;:])|^) *(?:where|if|when) (?:several|there are several|two or more|more than one)\b"
    r"[^.?!]*[.!]?"
    r"|^\s*(?:the|this|your) (?:context|input) (?:is|are|has|holds|contains) [^.?!]{1,200}\.(?= +\S)",
    re.IGNORECASE,
)
# What stands in a question and is not looked for: the form of the answer, what the lines are called ("of the
# messages"), an example of what is asked ("such as X"), and a time of day that only bounds ("before 10:00"),
# since a line with just that time is not what is meant.
_SUCH_AS = r"\b(?:such as|as in|for example|for instance|e\.g\.|like),? +"
_EXAMPLE = re.compile(_SUCH_AS + r"([^\s,)]+)", re.IGNORECASE)
_NOT_SOUGHT = re.compile(
    FORM.pattern + r"|\b(?:of the|these|those|how many|each|every|which) +"
    r"(?:questions?|messages?|texts?|records?|rows?|lines?|items?|entr(?:y|ies)|sentences?|reviews?)\b|"
    + _SUCH_AS
    + r"[^\s,)]+"
    r"|\b(?:before|after|since|until|till|between|from|to|and|by)\s+\d{1,2}:\d\d(?::\d\d)?\b",
    re.IGNORECASE,
)


def neighbours(question: str) -> list[re.Pattern[str]]:
    """Words that stand side by side in the question, as patterns of what may stand in a line."""
    words = re.findall(r"[\w.:/@-]*\w", question.casefold())
    return [
        re.compile(rf"\b{re.escape(stem_of(one))}\w*\W+{re.escape(stem_of(other))}", re.IGNORECASE)
        for one, other in itertools.pairwise(words)
        if one not in COMMON_WORDS and other not in COMMON_WORDS
    ]


def stem_of(word: str) -> str:
    for ending in _ENDINGS:
        if word.endswith(ending) and len(word) - len(ending) >= 4:
            return word[: -len(ending)]
    return word
