"""Calls of a model that has answered nothing yet and fail alike: after so many of them no more are sent.

Contract: only failures that no other prompt would mend count (a refused key, a model or an address that is
not there: ``ModelError.permanent``), in a row and with the same words but for their numbers. Any other
failure begins anew; one reply, and no call of that model is held back any more. What is not sent fails as
:class:`NotSent`, of the same kind, and says what the others failed of.

>>> answered = set[str]()
>>> streak = Streak("m", answered)
>>> for _ in range(IN_A_ROW):
...     streak.failed(ModelError("unknown_model", "there is no m"))
>>> streak.check()
Traceback (most recent call last):
unspool.streak.NotSent: there is no m (not sent: 8 calls in a row have failed alike)
>>> answered.add("m")
>>> streak.check()
"""

from __future__ import annotations

import re

from .errors import ModelError
from .types import FailureKind

IN_A_ROW = 8  # failures: what one odd item may be the reason of is not yet a rule
_WHY = f" (not sent: {IN_A_ROW} calls in a row have failed alike)"
_OWN = re.compile(r"\b[0-9a-f-]{8,}\b|\d+")  # what differs in the same words: numbers, ids of requests


class NotSent(Exception):
    """A call that was not made, for others have failed alike: the model has not failed at it."""

    def __init__(self, kind: FailureKind, message: str) -> None:
        super().__init__(message)
        self.kind: FailureKind = kind


class Streak:
    """See the module docstring. ``answered``: the models that have; who calls them adds to it."""

    def __init__(self, model: str, answered: set[str]) -> None:
        self._model, self._answered = model, answered
        self._first: ModelError | None = None
        self._count = 0

    def failed(self, error: ModelError) -> None:
        if self._first is not None and _words(error) == _words(self._first):
            self._count += 1
        else:
            self._first, self._count = error, 1

    def check(self) -> None:
        """Raises :class:`NotSent` where nothing more is to be sent."""
        first = self._first
        if first is None or not first.permanent or self._count < IN_A_ROW or self._model in self._answered:
            return
        raise NotSent(first.kind, f"{first.message}{_WHY}")


def unsent_note(model: str, message: str) -> str:
    """For the notes of a run in which calls of this model were not sent. ``message``: what they failed of."""
    why = message.replace(_WHY, "")
    return f"sub-calls of {model} were not sent after {IN_A_ROW} that failed alike: {why}"


def _words(error: ModelError) -> tuple[FailureKind, str]:
    return error.kind, _OWN.sub("#", error.message)
