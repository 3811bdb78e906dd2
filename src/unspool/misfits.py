"""Why a value does not fit, in plain words: what pydantic says of it is for who wrote the type.

Contract: total; a sentence that is not known here stays as it is, but for how it begins. What was given is
added by who knows it.

>>> plainly("Input should be a valid integer, unable to parse string as an integer")
'expected a whole number'
>>> plainly("Input should be greater than or equal to 1"), plainly("Field required")
('expected a value of at least 1', 'is missing')
>>> plainly("List should have at least 1 item after validation, not 0")
'expected at least 1 item, not 0'
"""

from __future__ import annotations

import re

# In this order: what begins a sentence first, then the kinds in it.
_WORDS = tuple(
    (re.compile(pattern), words)
    for pattern, words in (
        (r"^(?:Value error|Assertion failed), ", ""),
        (r"^(?:Field required|Missing required (?:keyword only )?argument)$", "is missing"),
        (r"^Extra inputs are not permitted$", "there is no such field"),
        (r"^Unexpected (?:keyword|positional) argument$", "there is no such argument"),
        (r"^Datetimes provided to dates should have zero time.*", "expected a date without a time"),
        (r"^Input should be greater than or equal to ", "expected a value of at least "),
        (r"^Input should be less than or equal to ", "expected a value of at most "),
        (r"^Input should be greater than ", "expected a value above "),
        (r"^Input should be less than ", "expected a value below "),
        (r"^Input should be an instance of ", "expected a "),
        (
            r"^Input should be (?:a valid )?(?:an? )?(?:dictionary|object) or .*",
            "expected a dict of its fields",
        ),
        (r"^Input should be in a valid time format.*", "expected a time"),
        (r"^Unable to parse input string as an? (\w+).*", r"expected a valid \1"),
        (
            r"^(?:Input|String|List|Tuple|Set|Frozenset|Dictionary|Value|Data) should (?:be|have) ",
            "expected ",
        ),
        (r"^String should match pattern ", "expected text that matches "),
        (r"^(expected a valid [^,]*), .*", r"\1"),  # why it could not be read: what was given shows that
        (r" after validation", ""),
        (r"\ba valid integer\b", "a whole number"),
        (r"\ba valid string\b", "text"),
        (r"\ba valid boolean\b", "true or false"),
        (r"\ba valid (?:dictionary|mapping)\b", "a dict"),
        (r"\ba valid decimal\b", "a number"),
        (r"\ba valid timedelta\b", "a length of time"),
        (r"\ba valid ", "a "),
    )
)


def plainly(said: str) -> str:
    """What pydantic said of one value, in our words."""
    for pattern, words in _WORDS:
        said = pattern.sub(words, said)
    return said
