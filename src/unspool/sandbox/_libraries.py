"""The libraries that take long to import, and which code asks for them.

Contract: :func:`names_a_library` is a guess from the text of code: most code that uses one names it, or what
is made of it. Where it is wrong, a library is imported when code asks for it.

>>> names_a_library("import pandas as pd"), names_a_library("print(len(context))")
(True, False)
"""

from __future__ import annotations

import re

from ._warm import LIBRARIES

_NAMED = re.compile(
    rf"\b(?:{'|'.join(LIBRARIES)}|scipy|sklearn|statsmodels|matplotlib|seaborn|DataFrame)\b|\.(?:table|arrow|to_pandas)\("
)


def names_a_library(code: str) -> bool:
    """Whether code speaks of what takes long to import."""
    return _NAMED.search(code) is not None
