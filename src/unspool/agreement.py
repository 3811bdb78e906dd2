"""Which answers are the same, and when the answers that are still to come cannot change the outcome.

Contract: :func:`normalised` maps answers that people would call the same to one key: numbers however they
are written, text but for case, space and punctuation, sets and mappings in any order; a list keeps its order.
:class:`Tally` counts keys. The key that most branches have wins; of those that as many have, the one that the
branch with the lowest number has. :meth:`Tally.decided` is exact: it holds as soon as nothing that can still
come makes another key win.

>>> normalised("The answer: 1,234.") == normalised("the  Answer 1234"), normalised("1,234.0") == normalised(
...     1234)
(True, True)
>>> tally = Tally(5)
>>> tally.add(1, "a"), tally.add(3, "b"), tally.add(2, "a"), tally.decided
(None, None, None, False)
>>> tally.add(5, "a"), tally.decided, tally.winner, tally.agreeing
(None, True, 'a', (1, 2, 5))
"""

from __future__ import annotations

import dataclasses
import datetime
import decimal
import enum
import math
import re
import unicodedata
from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass, field

from .contexts.identity import context_hash
from .errors import ConfigError, WrongSetting

MOST = 64  # branches of a run
Agree = Callable[[object], object]

_NUMBER = re.compile(r"[-+]?[$€£]?\s*(?:\d{1,3}(?:,\d{3})+|\d+)(?:\.\d+)?(?:[eE][-+]?\d+)?\s*%?\.?")
_GROUPED = re.compile(r"(?<=\d),(?=\d{3}\b)")


@dataclass(frozen=True, slots=True)
class Branches:
    """How many trajectories answer a question, and what makes two answers the same."""

    count: int
    agree: Agree | None = None

    @classmethod
    def of(cls, count: int, agree: Agree | None = None) -> Branches | None:
        """``None`` where there is one trajectory, which agrees with itself."""
        if type(count) is not int or not 1 <= count <= MOST:
            raise WrongSetting("branches", count, f"give a number from 1 to {MOST}")
        if agree is not None and not callable(agree):
            raise ConfigError(f"agree={agree!r}: give a function of an answer; equal results mean agreement")
        return None if count == 1 else cls(count, agree)

    @property
    def told(self) -> Mapping[str, str | int | float | None]:
        """What a run keeps of it."""
        name = getattr(self.agree, "__qualname__", type(self.agree).__name__)
        return {"branches": self.count, "agree": None if self.agree is None else str(name)}

    def key(self, answer: object) -> Hashable:
        """What an answer counts as. Raises what the function of the user's raises."""
        return normalised(answer if self.agree is None else self.agree(answer))


def normalised(answer: object) -> Hashable:
    """The key of an answer; see the module docstring."""
    if isinstance(answer, enum.Enum):
        answer = answer.value
    if answer is None or isinstance(answer, bool):
        return "text", str(answer).casefold()
    if isinstance(answer, int | float | decimal.Decimal):
        return _number(answer)
    if isinstance(answer, str):
        return _text(answer)
    if isinstance(answer, datetime.date | datetime.time):
        return "text", answer.isoformat()
    if isinstance(answer, list | tuple):
        return "list", tuple(normalised(item) for item in answer)
    if isinstance(answer, set | frozenset):
        return "set", frozenset(normalised(item) for item in answer)
    if isinstance(answer, Mapping):
        pairs = answer.items()
        return "mapping", frozenset((normalised(key), normalised(value)) for key, value in pairs)
    if hasattr(answer, "model_dump"):
        return normalised(answer.model_dump())
    if dataclasses.is_dataclass(answer) and not isinstance(answer, type):
        return normalised({f.name: getattr(answer, f.name) for f in dataclasses.fields(answer)})
    return "other", context_hash(answer) or repr(answer)


def _number(value: int | float | decimal.Decimal) -> Hashable:
    """Nine digits: sums in another order are the same number."""
    if isinstance(value, int):
        return "number", value
    number = float(value)
    if not math.isfinite(number):
        return "text", str(number)
    short = float(f"{number:.9g}")
    return "number", int(short) if short.is_integer() else short


def _text(text: str) -> Hashable:
    text = unicodedata.normalize("NFKC", text).strip()
    if _NUMBER.fullmatch(text):
        bare = re.sub(r"[$€£,%\s]", "", text).rstrip(".")
        return _number(int(bare) if re.fullmatch(r"[-+]?\d{1,4000}", bare) else float(bare))
    text = _GROUPED.sub("", text).casefold()
    # A point or a sign inside a number is part of it: 1.5 is not 15, and -3 is not 3.
    text = re.sub(r"(?<!\d)[.](?!\d)|(?<=\d)[.](?!\d)|(?<!\d)[.](?=\D)|-(?!\d)|(?<=\w)-", " ", text)
    text = re.sub(r"(?<!\w)[+#]|(?<=\d)[+#]", " ", text)  # C++ is not C
    text = "".join(" " if unicodedata.category(c)[0] in "PS" and c not in ".-+#" else c for c in text)
    return "text", " ".join(text.split())


def agreed(agreeing: int, count: int, stopped: int, answered: int | None = None) -> str:
    """How ``count`` branches decided, in words: ``agreeing`` of them have the answer of the run, ``stopped``
    were stopped before they had one, ``answered`` have any, where that is known.

    >>> agreed(3, 5, 2)
    '3 of 3 branches that ended agree, 2 were stopped as they could not change it'
    >>> agreed(2, 3, 0), agreed(1, 3, 0, 3), agreed(1, 3, 0, 1)
    ('2 of 3 branches agree', 'no two of 3 branches agree', 'only 1 of 3 branches answered')
    """
    if not agreeing:
        return f"none of {count} branches answered"
    if agreeing == 1 and stopped:
        return "the other branches could not change it"
    if agreeing == 1:
        return (
            f"only 1 of {count} branches answered" if answered == 1 else f"no two of {count} branches agree"
        )
    if not stopped:
        return f"{agreeing} of {count} branches agree"
    were = "1 was stopped as it" if stopped == 1 else f"{stopped} were stopped as they"
    return f"{agreeing} of {count - stopped} branches that ended agree, {were} could not change it"


@dataclass(slots=True)
class Tally:
    """The keys of the branches that have answered. ``count`` branches in all, numbered from 1."""

    count: int
    _votes: dict[int, Hashable] = field(default_factory=dict)
    _silent: set[int] = field(default_factory=set)

    def add(self, number: int, key: Hashable) -> None:
        """A branch has answered."""
        self._votes[number] = key

    def ended(self, number: int) -> None:
        """A branch has ended without an answer."""
        self._silent.add(number)

    @property
    def answered(self) -> int:
        """How many have answered."""
        return len(self._votes)

    @property
    def open(self) -> list[int]:
        """The branches that have not ended, by number."""
        return [n for n in range(1, self.count + 1) if n not in self._votes and n not in self._silent]

    def _ranks(self) -> dict[Hashable, tuple[int, int]]:
        """Of each key: how many have it, and the lowest number of them, negative: more is better."""
        ranks: dict[Hashable, tuple[int, int]] = {}
        for number, key in self._votes.items():
            count, lowest = ranks.get(key, (0, -self.count - 1))
            ranks[key] = count + 1, max(lowest, -number)
        return ranks

    @property
    def winner(self) -> Hashable:
        """The key that wins as things stand; ``None`` while nobody has answered."""
        ranks = self._ranks()
        return max(ranks, key=lambda key: ranks[key], default=None)

    @property
    def agreeing(self) -> tuple[int, ...]:
        """The branches that have the winning key, by number."""
        winner = self.winner
        return tuple(sorted(n for n, key in self._votes.items() if key == winner)) if self._votes else ()

    @property
    def decided(self) -> bool:
        """Whether no answers of the branches that are open can make another key win."""
        ranks, left = self._ranks(), self.open
        if not ranks:
            return not left
        if not left:
            return True
        best = ranks.pop(self.winner)
        # The most that another key can come to: all that are open have it.
        rivals = [*ranks.values(), (0, -self.count - 1)]
        return all(best > (count + len(left), max(lowest, -left[0])) for count, lowest in rivals)
