"""A question that asks the same of several things taken apart by its own words: a reader finds one at a time.

Contract: :func:`each_of` gives one question for each of three things or more, or none where the words do not
say so. It takes any text. The source runs in the REPL (see :mod:`unspool.prompts.small_tools`), so it is
standard library only, in one file.

>>> each_of("What are the numbers of Ann Bell, Bo Cox and Cy Dee? List them, in any order.")
['What is the number of Ann Bell?', 'What is the number of Bo Cox?', 'What is the number of Cy Dee?']
>>> each_of("When were the mill, the inn and the well built?")
['When was the mill built?', 'When was the inn built?', 'When was the well built?']
>>> each_of("What are the owners of the mill and the inn?")
[]
"""

from __future__ import annotations

import re

FEWEST = 3  # things; two with "and" between them may be one
LONGEST_OF_SEVERAL = 2_000  # characters of a question that is taken apart
LONGEST_THING = 80  # characters
_OF = re.compile(r"(what|who) are the ((?:[\w-]+ ){0,3}?[\w-]+)s of ([^?.;:]+)\?", re.IGNORECASE)
_WERE = re.compile(
    r"(when|where|by whom|(?:in|on|at) (?:which|what) [\w-]+?)s? (were|are) ([^?.;:]+) (\w+)\?", re.IGNORECASE
)


def each_of(question: str) -> list[str]:
    """The same question about each of the things that it is about."""
    text = question.strip()[:LONGEST_OF_SEVERAL]
    if of := _OF.match(text):
        noun = f"{of[2][:-2]}y" if of[2].endswith("ie") else of[2]
        return [f"{of[1]} is the {noun} of {thing}?" for thing in _things(of[3])]
    if were := _WERE.match(text):
        verb = "was" if were[2].casefold() == "were" else "is"
        return [f"{were[1]} {verb} {thing} {were[4]}?" for thing in _things(were[3])]
    return []


def _things(listed: str) -> list[str]:
    """What stands between the commas, and behind the last "and"; none where these are too few."""
    *before, last = listed.split(", ")
    last = last.removeprefix("and ")
    things = [*before, *last.rsplit(" and ", 1)] if before else []
    things = [thing.strip() for thing in things]
    fit = len(things) >= FEWEST and all(0 < len(thing) <= LONGEST_THING for thing in things)
    return things if fit else []
