"""Calls of one model that fail alike, one after the other: after so many of them no more are sent.

Contract: only failures that no other prompt would mend count (a refused key, a model that is not there, a
request that is wrong), in a row and with the same words but for their numbers; a reply, or any other failure,
begins anew. What is not sent fails as :class:`NotSent`, of the same kind, and says what the others failed of.

>>> streak = Streak()
>>> for _ in range(IN_A_ROW):
...     streak.failed(ModelError("unknown_model", "there is no m"))
>>> streak.check()
Traceback (most recent call last):
unspool.streak.NotSent: there is no m (not sent: 8 calls in a row have failed alike)
"""

from __future__ import annotations

import re

from .errors import ModelError
from .types import FailureKind

IN_A_ROW = 8  # failures: what one odd item may be the reason of is not yet a rule
_PERMANENT: frozenset[FailureKind] = frozenset({"auth", "unknown_model", "bad_request"})
_OWN = re.compile(r"\b[0-9a-f-]{8,}\b|\d+")  # what differs in the same words: numbers, ids of requests


class NotSent(Exception):
    """A call that was not made, for others have failed alike: the model has not failed at it."""

    def __init__(self, kind: FailureKind, message: str) -> None:
        super().__init__(message)
        self.kind: FailureKind = kind


class Streak:
    """See the module docstring."""

    def __init__(self) -> None:
        self._last: ModelError | None = None
        self._count = 0

    def failed(self, error: ModelError) -> None:
        alike = self._last is not None and _words(error) == _words(self._last)
        self._count = self._count + 1 if alike else 1
        self._last = error

    def went_well(self) -> None:
        self._last, self._count = None, 0

    def check(self) -> None:
        """Raises :class:`NotSent` where nothing more is to be sent."""
        last = self._last
        if last is not None and last.kind in _PERMANENT and self._count >= IN_A_ROW:
            why = f"(not sent: {IN_A_ROW} calls in a row have failed alike)"
            raise NotSent(last.kind, f"{last.message} {why}")

    def note(self, model: str) -> str:
        """For the notes of a run in which calls of this model were not sent."""
        why = self._last.message if self._last is not None else "not known"
        return f"sub-calls of {model} were not sent after {IN_A_ROW} that failed alike: {why}"


def _words(error: ModelError) -> tuple[FailureKind, str]:
    return error.kind, _OWN.sub("#", error.message)
